"""What survives what."""

from __future__ import annotations

from promised.promise import Promise

DURABILITY: tuple[Promise, ...] = (
    Promise(
        "durability:kill",
        "issue 2; DESIGN D2; spec/engineering B.2",
        "kill -9 at random moments of one or several writers loses no acknowledged write and leaves nothing torn: row, text index, tags, vectors and evidence belong to one state.",
    ),
    Promise(
        "durability:power-cut",
        "issue 2; DESIGN D2; spec/engineering B.2",
        "After a simulated power cut at any moment the bank opens, is whole, and holds every acknowledged write and at most the one under way.",
    ),
    Promise(
        "durability:many-writers",
        "issue 2; DESIGN D2",
        "16 processes that write at once beside 4 readers lose nothing, never see 'locked', and wait their fair turn.",
    ),
    Promise(
        "durability:first-open",
        "issue 2; DESIGN D2",
        "8 processes that create one bank at once all succeed, in the directory layout and in a named file.",
    ),
    Promise(
        "durability:disk-full",
        "issue 2; spec/engineering B.2",
        "A full disk is StoreFull with a hint, wherever it strikes: nothing of that write is stored, reads go on, every acknowledged memory is there, and writing resumes with the space.",
    ),
    Promise(
        "durability:sidecar-full", "DESIGN D3", "A search answers the same when its sidecar file cannot be written."
    ),
    Promise(
        "durability:corruption",
        "issue 2; spec/engineering B.2",
        "Random damage to the main file, the log, the shared memory or the sidecars (foreign ones included) gives the right answer or a StoreError that names it: never a traceback, never a wrong answer, never silently a shorter history.",
    ),
    Promise(
        "durability:misdirected",
        "spec/engineering B.2",
        "A page written to a wrong place, which no page checksum can see, is named by the check.",
    ),
    Promise(
        "durability:sidecar-derived",
        "DESIGN D1, D3",
        "A sidecar that is missing, emptied, swapped or of another time changes no answer.",
    ),
    Promise(
        "durability:log-bounded", "spec/engineering B.2", "The write-ahead log stays bounded while readers never stop."
    ),
    Promise(
        "durability:private-files",
        "issue 2",
        "Every file of a bank is 0600 and every directory 0700, whatever the umask.",
    ),
    Promise(
        "durability:no-links",
        "spec/engineering B.3 (21)",
        "A bank is never opened through a symbolic link; what the link points to is not touched.",
    ),
    Promise(
        "durability:foreign-file",
        "spec/engineering B.2",
        "A database of another program or a file that is no database is refused and left as it is.",
    ),
    Promise(
        "durability:too-new",
        "issue 2",
        "A bank of a newer version is StoreTooNew and its bytes are not touched, also when it was upgraded while open.",
    ),
    Promise(
        "durability:emptied",
        "spec/engineering B.2",
        "An emptied file, a lost log or an old copy in the bank's place is StoreCorrupt with the number of lost changes, never answered from as if whole.",
    ),
    Promise(
        "durability:erased",
        "DESIGN D2 (secure_delete); spec/engineering B.2",
        "After a deletion neither words nor vector bytes are in any of the bank's files; a bank above 16 MiB is rewritten when it is closed or checked.",
    ),
    Promise(
        "durability:own-transaction",
        "issue 2",
        "A nested transaction, one that has ended and one of a closed bank are refused at once.",
    ),
    Promise(
        "durability:migration",
        "issue 2; spec/engineering B.2",
        "Before each migration a whole backup is kept; a migration happens whole or not at all.",
    ),
    Promise(
        "durability:restore-live",
        "issue 2",
        "A process that has the bank open goes on in the restored bank: what it writes after the restore is there.",
    ),
    Promise(
        "durability:restore-damaged",
        "issue 2",
        "A bank too damaged to be opened is restored all the same, and the damaged files are kept.",
    ),
    Promise(
        "durability:restore-refused",
        "issue 2",
        "A missing, damaged, foreign or newer backup is refused and changes nothing; a backup never overwrites the bank.",
    ),
)
