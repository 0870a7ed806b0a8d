CREATE TABLE memories (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        content_hash TEXT UNIQUE NOT NULL,
                        content TEXT NOT NULL,
                        tags TEXT,
                        memory_type TEXT,
                        metadata TEXT,
                        created_at REAL,
                        updated_at REAL,
                        created_at_iso TEXT,
                        updated_at_iso TEXT,
                        deleted_at REAL DEFAULT NULL
                    , store TEXT DEFAULT 'default', parent_id TEXT, version INTEGER DEFAULT 1, confidence REAL DEFAULT 1.0, last_accessed INTEGER, superseded_by TEXT, embedding_pending INTEGER NOT NULL DEFAULT 0);
INSERT INTO memories VALUES (1,'6dad60d94348277ee1d083780943871d11755ea5bbccf4ac036051e2ce308afd','The nightly build needs Java 21; with 17 it stops at the second module.','build,java','observation','{}',1.79569588426218366625e+09,1.79569588426218366625e+09,'2026-11-26T12:24:44.262184Z','2026-11-26T12:24:44.262184Z',NULL,'default',NULL,1,1.0,NULL,NULL,0);
INSERT INTO memories VALUES (2,'839068a50f955f364a50515c099ad19a7ba1738734b9046bb3252f4edceff423','Ask before the billing tables are changed.','billing','decision','{}',1.79569588426917195315e+09,1.79569588426917195315e+09,'2026-11-26T12:24:44.269172Z','2026-11-26T12:24:44.269172Z',NULL,'default',NULL,1,1.0,NULL,NULL,0);
