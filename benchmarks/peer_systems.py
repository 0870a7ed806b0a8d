"""The systems that bench_peers compares, each behind the same few calls, in a process with its own environment.

    python peer_systems.py SYSTEM FOLDER DATA

It reads one JSON object a line from its input, ``{"do": NAME, "number": N}``, and answers with the seconds of CPU and
of the clock that the call took, both of this whole process. DATA is a folder that bench_peers made: vectors as raw
32-bit floats, and texts. Nothing of this file needs an environment but the one of its system.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import sqlite3
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

TOP = 10
DIMENSION = 384
MODEL = "benchmark/384"


class Data:
    """The same memories and questions for every system.

    Args:
        folder: What bench_peers wrote.
    """

    def __init__(self, folder: Path) -> None:
        self._vectors = (folder / "vectors.f32").open("rb")
        self._count = (folder / "vectors.f32").stat().st_size // (DIMENSION * 4)
        self._queries = (folder / "queries.f32").open("rb")
        self.texts: list[str] = json.loads((folder / "texts.json").read_text())
        self.questions: list[str] = json.loads((folder / "questions.json").read_text())
        self.titles: list[str] = json.loads((folder / "titles.json").read_text())
        self.exported = folder / "export-{size}.jsonl"

    def vector(self, number: int) -> list[float]:
        """Return the vector of a memory; those of later ones are those of the first again."""
        return _read(self._vectors, number % self._count)

    def query(self, number: int) -> list[float]:
        """Return the vector of a question."""
        return _read(self._queries, number % len(self.questions))

    def question(self, number: int) -> str:
        """Return the text of a question."""
        return self.questions[number % len(self.questions)]

    def text(self, number: int) -> str:
        """Return the text of a memory."""
        return self.texts[number % len(self.texts)]


def _read(file: Any, number: int) -> list[float]:
    file.seek(number * DIMENSION * 4)
    found = array("f")
    found.frombytes(file.read(DIMENSION * 4))
    return found.tolist()


class Ours:
    """ReasoningBank: an import of a file, searches by words and vector with their log, and records."""

    def __init__(self, folder: Path, data: Data) -> None:
        self._data, self._folder = data, folder
        self._next: list[list[float]] = []
        settings: Any = importlib.import_module("reasoningbank.settings")
        bank: Any = importlib.import_module("reasoningbank.bank")
        self._bank = bank.Bank.open(
            tenant="bench", project="bench", settings=settings.Settings(home=folder), embedder=self, session="bench"
        )

    name = "given"
    model_id = MODEL
    dimension = DIMENSION

    def embed_queries(self, texts: Sequence[str]) -> Any:
        """Return the vectors that were laid ready."""
        numpy: Any = importlib.import_module("numpy")
        return numpy.array(self._next[: len(texts)], dtype=numpy.float32)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """Return vectors by chance for texts that were recorded."""
        numpy: Any = importlib.import_module("numpy")
        numbers = [random.randrange(10_000) for _ in texts]
        return numpy.array([self._data.vector(number) for number in numbers], dtype=numpy.float32)

    def load(self, count: int) -> None:
        """Import a file with so many memories."""
        report = self._bank.admin.import_(str(self._data.exported).format(size=count), vouched=True)
        assert len(report.imported) == count

    def search(self, number: int) -> None:
        """Search as a user does."""
        self._next = [self._data.query(number)]
        assert self._bank.search(self._data.question(number), limit=TOP).query

    def dense(self, number: int) -> None:
        """Compare vectors alone."""
        recall: Any = importlib.import_module("reasoningbank.types.recall")
        numpy: Any = importlib.import_module("numpy")
        query = numpy.array(self._data.query(number), dtype=numpy.float32)
        store = self._bank._context.store()
        assert store.search.nearest("content", query, recall.Filter(), TOP)

    def record(self, number: int) -> None:
        """Record one memory."""
        self._bank.record(
            title=f"{self._data.titles[number]} {number}",
            content=f"{self._data.text(number)} {number}",
            outcome="success",
        )

    def export(self, number: int) -> None:
        """Export all of it."""
        self._bank.admin.export(self._folder / f"export-{number}.jsonl")

    def backup(self, number: int) -> None:
        """Make a backup."""
        self._bank.admin.backup(self._folder / f"backup-{number}.db")

    def check(self, _: int) -> None:
        """Read and check every row."""
        assert self._bank.admin.check_store() == ()


class Chroma:
    """Chroma, persistent: vectors, texts and an HNSW index."""

    def __init__(self, folder: Path, data: Data) -> None:
        self._data = data
        chroma: Any = importlib.import_module("chromadb")
        settings: Any = importlib.import_module("chromadb.config")
        client = chroma.PersistentClient(path=str(folder), settings=settings.Settings(anonymized_telemetry=False))
        self._collection = client.get_or_create_collection("bench", embedding_function=None)

    def load(self, count: int) -> None:
        """Add so many texts with vectors, in batches."""
        for start in range(0, count, 1_000):
            numbers = range(start, min(count, start + 1_000))
            self._collection.add(
                ids=[str(number) for number in numbers],
                embeddings=[self._data.vector(number) for number in numbers],
                documents=[self._data.text(number) for number in numbers],
            )

    def search(self, number: int) -> None:
        """Find the nearest with their texts."""
        found = self._collection.query(query_embeddings=[self._data.query(number)], n_results=TOP)
        assert len(found["ids"][0]) == TOP

    dense = search

    def record(self, number: int) -> None:
        """Add one text with its vector."""
        self._collection.add(
            ids=[f"r{number}"],
            embeddings=[self._data.vector(number)],
            documents=[f"{self._data.text(number)} {number}"],
        )


class LanceDB:
    """LanceDB without an index of its own: it compares all vectors; words through its text index."""

    def __init__(self, folder: Path, data: Data) -> None:
        self._data = data
        lance: Any = importlib.import_module("lancedb")
        self._database = lance.connect(str(folder))
        names = self._database.list_tables().tables
        self._table = self._database.open_table("bench") if "bench" in names else None

    def load(self, count: int) -> None:
        """Write so many rows at once."""
        arrow: Any = importlib.import_module("pyarrow")
        flat = array("f")
        for number in range(count):
            flat.extend(self._data.vector(number))
        vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(flat, arrow.float32()), DIMENSION)
        rows = arrow.table(
            {
                "id": [str(number) for number in range(count)],
                "text": [self._data.text(number) for number in range(count)],
                "vector": vectors,
            }
        )
        self._table = self._database.create_table("bench", rows)

    def search(self, number: int) -> None:
        """Find the nearest with their texts."""
        assert self._table is not None
        assert len(self._table.search(self._data.query(number)).limit(TOP).to_list()) == TOP

    dense = search

    def record(self, number: int) -> None:
        """Add one row."""
        assert self._table is not None
        self._table.add(
            [{"id": f"r{number}", "text": f"{self._data.text(number)} {number}", "vector": self._data.vector(number)}]
        )


class Qdrant:
    """qdrant-client without a server: its local mode compares all vectors."""

    def __init__(self, folder: Path, data: Data) -> None:
        self._data = data
        qdrant: Any = importlib.import_module("qdrant_client")
        self._models: Any = importlib.import_module("qdrant_client.models")
        self._client = qdrant.QdrantClient(path=str(folder))
        if not self._client.collection_exists("bench"):
            self._client.create_collection(
                "bench", self._models.VectorParams(size=DIMENSION, distance=self._models.Distance.COSINE)
            )

    def load(self, count: int) -> None:
        """Upload so many points."""
        for start in range(0, count, 1_000):
            self._put(range(start, min(count, start + 1_000)))

    def _put(self, numbers: Sequence[int]) -> None:
        points = [
            self._models.PointStruct(
                id=number, vector=self._data.vector(number), payload={"text": self._data.text(number)}
            )
            for number in numbers
        ]
        self._client.upsert("bench", points)

    def search(self, number: int) -> None:
        """Find the nearest with their texts."""
        assert len(self._client.query_points("bench", query=self._data.query(number), limit=TOP).points) == TOP

    dense = search

    def record(self, number: int) -> None:
        """Put one point."""
        self._put([10_000_000 + number])


class LangGraph:
    """LangGraph's SqliteStore with its vector extension."""

    def __init__(self, folder: Path, data: Data) -> None:
        self._data = data
        self._next: list[list[float]] = []
        sqlite: Any = importlib.import_module("langgraph.store.sqlite")
        folder.mkdir(parents=True, exist_ok=True)
        index = {"dims": DIMENSION, "embed": self._embed, "fields": ["text"]}
        # Its vectors need an extension of SQLite, which some builds of Python cannot load: then it keeps none.
        self._index = index if hasattr(sqlite3.Connection, "enable_load_extension") else None
        self._held = sqlite.SqliteStore.from_conn_string(str(folder / "store.db"), index=self._index)
        self._store = self._held.__enter__()
        self._store.setup()

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._next[number % len(self._next)] for number in range(len(texts))]

    def load(self, count: int) -> None:
        """Put so many items in batches."""
        base: Any = importlib.import_module("langgraph.store.base")
        for start in range(0, count, 1_000):
            numbers = range(start, min(count, start + 1_000))
            self._next = [self._data.vector(number) for number in numbers]
            self._store.batch(
                [base.PutOp(("bench",), str(number), {"text": self._data.text(number)}) for number in numbers]
            )

    def search(self, number: int) -> None:
        """Find the nearest items."""
        if self._index is None:
            raise RuntimeError("this Python loads no extension of SQLite, so there are no vectors")
        self._next = [self._data.query(number)]
        assert len(self._store.search(("bench",), query=self._data.question(number), limit=TOP)) == TOP

    dense = search

    def record(self, number: int) -> None:
        """Put one item that is not searched by meaning."""
        self._store.put(("bench",), f"r{number}", {"text": f"{self._data.text(number)} {number}"}, index=False)


class Mem0:
    """mem0 with its default local store; texts are added as they are, without a language model."""

    def __init__(self, folder: Path, data: Data) -> None:
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(folder / "home")
        os.environ.setdefault("OPENAI_API_KEY", "none")
        self._data = data
        self._next: list[list[float]] = []
        memory: Any = importlib.import_module("mem0")
        self._memory = memory.Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(folder / "qdrant"),
                        "on_disk": True,
                        "embedding_model_dims": DIMENSION,
                        "collection_name": "bench",
                    },
                },
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = self

    def embed(self, _text: str, memory_action: str = "") -> list[float]:
        """Return the vector that was laid ready."""
        assert memory_action is not None
        return self._next[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "") -> list[list[float]]:
        """Return that vector for each text."""
        return [self.embed(text, memory_action) for text in texts]

    def load(self, count: int) -> None:
        """Add one text after the other: it has no call for many."""
        for number in range(count):
            self.record(number)

    def search(self, number: int) -> None:
        """Search as its users do."""
        self._next = [self._data.query(number)]
        found = self._memory.search(self._data.question(number), filters={"user_id": "bench"}, top_k=TOP)
        assert found["results"]

    dense = search

    def record(self, number: int) -> None:
        """Add one text."""
        self._next = [self._data.vector(number)]
        added = self._memory.add(f"{self._data.text(number)} {number}", user_id="bench", infer=False)
        assert added["results"]


SYSTEMS: dict[str, Callable[[Path, Data], Any]] = {
    "ReasoningBank": Ours,
    "Chroma": Chroma,
    "LanceDB": LanceDB,
    "Qdrant (local)": Qdrant,
    "LangGraph SqliteStore": LangGraph,
    "mem0": Mem0,
}


def main(name: str, folder: Path, data: Path) -> None:
    """Answer calls until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a system prints is no answer
    began = time.perf_counter(), time.process_time()
    held = Data(data)
    system: Any = None
    for line in sys.stdin:
        call = json.loads(line)
        wall, cpu = time.perf_counter(), time.process_time()
        answer: dict[str, object] = {}
        try:
            if call["do"] == "open":
                wall, cpu = began
                system = SYSTEMS[name](folder, held)
            else:
                getattr(system, call["do"])(call["number"])
        except Exception as error:  # noqa: BLE001 - bench_peers says which system failed at what, and goes on
            answer["error"] = f"{type(error).__name__}: {error}"[:300]
        answer |= {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
