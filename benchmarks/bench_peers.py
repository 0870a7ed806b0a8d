"""What a search, a record, a load and a start cost here and in other memories, on one machine in one run.

    python benchmarks/bench_peers.py [--sizes 1000 10000 100000] [--rounds 30] [--only NAME ...] [--write FILE]

It installs each system from the package index into an environment of its own below build/peers and gives all of them
the same texts and vectors. The systems answer in turns, round by round, so that a busy moment meets all of them; the
ratio is the median over the rounds of our figure by theirs. A figure above 1 means that ours takes longer. The table
says what the others do not do. It is not part of the tests: it needs the package index.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import corpus
import numpy
from stdio_connection import StdioConnection

OURS = "ReasoningBank"
PACKAGES = {
    "Chroma": ("chromadb==1.5.9",),
    "LanceDB": ("lancedb==0.40.0", "pyarrow"),
    "Qdrant (local)": ("qdrant-client==1.20.0",),
    "LangGraph SqliteStore": ("langgraph-checkpoint-sqlite==3.1.2",),
    "mem0": ("mem0ai==2.2.1",),
}
SERVERS = {
    "mcp-memory-service": ("mcp-memory-service==12.4.0",),
    "basic-memory": ("basic-memory==0.24.1",),
}
EXTENDING = {"LangGraph SqliteStore", "mcp-memory-service"}
"""What needs a Python whose sqlite3 loads extensions."""
REFERENCE = "@modelcontextprotocol/server-memory@2026.8.31"
BUILD = Path("build/peers")
MOST_LOADED = 1_000
"""mem0 has no call for many texts and is not loaded with more."""
STARTED = 120.0
NOT_COMPARABLE = """
What the figures do not say. ReasoningBank alone redacts secrets, screens for injections and waits for the disk at
each record (one fsync); its search ranks words, titles and contents, fuses them and logs what it delivered. Chroma,
LanceDB, Qdrant and mem0 compare vectors alone and log nothing; Chroma's index is approximate. LangGraph's record is
put without a vector. The reference server of MCP keeps no vectors and matches words; the two other servers embed with
models of their own.
""".strip()


@dataclass
class System:
    """A system in a process of its own.

    Attributes:
        name: Which.
        process: What answers.
        failed: What it failed at, in its own words.
    """

    name: str
    process: subprocess.Popen[str]
    failed: dict[str, str] = field(default_factory=dict)

    def call(self, do: str, number: int = 0) -> tuple[float, float]:
        """Let it do something; return seconds of CPU and of the clock, not a number where it failed."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps({"do": do, "number": number}) + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        if "error" in answer:
            self.failed[do] = answer["error"]
            return math.nan, math.nan
        return float(answer["cpu"]), float(answer["wall"])

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclass
class Row:
    """One line of the table.

    Attributes:
        name: What was measured.
        unit: Of the figures.
        figures: By system, one for each round.
    """

    name: str
    unit: str
    figures: dict[str, list[float]] = field(default_factory=dict)

    def median(self, system: str) -> float:
        """Return the median of a system's rounds."""
        return statistics.median(self.figures[system])

    def ratio(self, system: str) -> float:
        """Return the median over the rounds of our figure by the system's."""
        return statistics.median(a / b for a, b in zip(self.figures[OURS], self.figures[system], strict=True) if b > 0)

    def text(self) -> str:
        """Return the row for a person."""
        parts = []
        for system, found in self.figures.items():
            if any(figure != figure for figure in found):
                parts.append(f"{system} failed")
            elif system == OURS or OURS not in self.figures:
                parts.append(f"{system} {self.median(system):.3g}")
            else:
                parts.append(f"{system} {self.median(system):.3g} ({self.ratio(system):.2f})")
        return f"{self.name} [{self.unit}]: " + " | ".join(parts)


def environment(name: str, packages: Sequence[str], python: str) -> Path | None:
    """Return the interpreter of an environment with these packages, made when there is none; None when it cannot be."""
    folder = (BUILD / "".join(letter if letter.isalnum() else "-" for letter in name)).absolute()
    interpreter = folder / "bin" / "python"
    ready = folder / ".ready"
    if ready.exists() and ready.read_text() == "\n".join(packages):
        return interpreter
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run([python, "-m", "venv", str(folder)], capture_output=True, text=True, check=False)
    if made.returncode == 0:
        command = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        print(f"{name} is left out: it cannot be installed: {(made.stderr.strip() or 'no reason')[-300:]}", flush=True)
        return None
    ready.write_text("\n".join(packages))
    return interpreter


def megabytes(folder: Path) -> float:
    """Return how much the files of an environment take, each counted once."""
    files = {(each.stat().st_ino, each.stat().st_size) for each in folder.rglob("*") if each.is_file()}
    return sum(size for _, size in files) / 1_000_000


def write_data(folder: Path, sizes: Sequence[int]) -> None:
    """Write the vectors, texts and exports that all systems load."""
    most = max(sizes)
    corpus.vectors(most, 5).astype(numpy.float32).tofile(folder / "vectors.f32")
    corpus.vectors(400, 99).astype(numpy.float32).tofile(folder / "queries.f32")
    texts: list[str] = []
    titles: list[str] = []
    lines: list[str] = []
    for number, (memory, _) in enumerate(corpus.memories(most, described=True)):
        titles.append(memory.title)
        texts.append(f"{memory.title}\n{memory.content}")
        at = memory.created_at.isoformat()
        body = {
            "belief": {"negative": 0, "positive": 0, "prior": 1_600_000_000},
            "category": "",
            "consolidation_id": None,
            "content": memory.content,
            "created_at": at,
            "description": memory.description,
            "id": str(uuid.UUID(int=(0x01A2 << 112) | (7 << 76) | (2 << 62) | number)),
            "last_used": None,
            "outcome": memory.outcome,
            "provenance": {"entered": "person", "session": "bench", "source": "api"},
            "state": "active",
            "tags": list(memory.tags),
            "title": memory.title,
            "tokens": 0,
            "updated_at": at,
            "usage_count": 0,
            "version": 1,
        }
        lines.append(json.dumps({"aggregate": None, "links": [], "memory": body, "origins": [], "signals": []}))
        if number + 1 in sizes:
            head = json.dumps({"format": "reasoningbank", "project": "bench", "version": 1})
            (folder / f"export-{number + 1}.jsonl").write_text("\n".join([head, *lines]) + "\n")
    for name, found in (("texts", texts), ("titles", titles), ("questions", corpus.questions(400))):
        (folder / f"{name}.json").write_text(json.dumps(found))


def start(name: str, interpreter: Path, folder: Path, data: Path) -> System:
    """Start a system over a folder."""
    known = {key: value for key, value in os.environ.items() if not key.startswith("REASONINGBANK_")}
    known |= {"OMP_NUM_THREADS": "1", "HOME": str(folder.parent), "ANONYMIZED_TELEMETRY": "False"}
    program = Path(__file__).with_name("peer_systems.py")
    process = subprocess.Popen(
        [str(interpreter), str(program), name, str(folder), str(data)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=known,
    )
    return System(name, process)


def compared(
    interpreters: Mapping[str, Path], size: int, rounds: int, folder: Path, data: Path
) -> tuple[list[Row], list[str]]:
    """Load so many memories into each system, then search and record in turns; return rows and what failed."""
    load = Row(f"load {size:,}, vectors given", "CPU s")
    first = Row(f"open and first search of a process at {size:,}", "s")
    hybrid = Row(f"search at {size:,}, vector given", "CPU ms")
    waited = Row("the same", "ms")
    dense = Row(f"vectors alone at {size:,}", "CPU ms")
    record = Row(f"record at {size:,}, vector given", "CPU ms")
    recorded = Row("the same", "ms")
    rows = [load, first, hybrid, waited, dense, record, recorded]
    failures: list[str] = []
    with ExitStack() as stack:
        running: list[System] = []
        for name, interpreter in interpreters.items():
            if name == "mem0" and size > MOST_LOADED:
                continue
            place = folder / f"{name.split()[0]}-{size}"
            loader = start(name, interpreter, place, data)
            loader.call("open")
            load.figures[name] = [loader.call("load", size)[0]]
            loader.close()
            if loader.failed:
                failures.append(f"{name} at {size:,}: {loader.failed}")
                load.figures.pop(name)
                continue
            system = start(name, interpreter, place, data)
            stack.callback(system.close)
            opened = system.call("open")[1]
            first.figures[name] = [opened + system.call("search", 399)[1]]
            running.append(system)
        if OURS in load.figures:
            rows += _ours_alone(next(system for system in running if system.name == OURS), size)
        for number in range(rounds + 2):
            for system in running:
                searched = system.call("search", number)
                dense_took = system.call("dense", number + 200)
                took = system.call("record", number)
                if number < 2:
                    continue  # the first calls of a process are measured apart
                for row, figure in (
                    (hybrid, searched[0] * 1_000),
                    (waited, searched[1] * 1_000),
                    (dense, dense_took[0] * 1_000),
                    (record, took[0] * 1_000),
                    (recorded, took[1] * 1_000),
                ):
                    row.figures.setdefault(system.name, []).append(figure)
        failures += [f"{system.name} at {size:,}: {system.failed}" for system in running if system.failed]
    return rows, failures


def _ours_alone(system: System, size: int) -> list[Row]:
    """Return what only ReasoningBank has, of a bank of this size."""
    names = {"check": "doctor's check", "export": "export", "backup": "backup"}
    return [Row(f"{name} of {size:,}", "CPU s", {OURS: [system.call(do)[0]]}) for do, name in names.items()]


@dataclass
class Server:
    """An MCP server over its standard input and output.

    Attributes:
        command: What starts it.
        tool: What records a text.
        arguments: Of the tool; ``{n}`` and ``{text}`` in texts are filled in.
        variables: Of its environment.
    """

    command: Sequence[str]
    tool: str
    arguments: Mapping[str, Any]
    variables: Mapping[str, str] = field(default_factory=dict)


class Session:
    """A server that records texts, started for it.

    Args:
        server: The server.
        home: A directory of its own.
    """

    def __init__(self, server: Server, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._server = server
        self.connection = StdioConnection(server.command, home, {"HOME": str(home)} | dict(server.variables))

    def record(self, number: int) -> float:
        """Record a text; return the seconds it took."""
        text = corpus.sentences()[number]
        filled = json.dumps(self._server.arguments).replace("{n}", str(number)).replace('"{text}"', json.dumps(text))
        return self.connection.call(self._server.tool, json.loads(filled))

    def held(self) -> float:
        """Return the megabytes that the process and its children have to themselves or share in parts."""
        found, queue = 0.0, [self.connection.process.pid]
        while queue:
            pid = queue.pop()
            with suppress(OSError):
                rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                found += next(int(line.split()[1]) for line in rollup if line.startswith("Pss:")) / 1_000
                queue += [
                    int(child)
                    for task in Path(f"/proc/{pid}/task").iterdir()
                    for child in (task / "children").read_text().split()
                ]
        return found


def servers(folder: Path, newer: str, extending: str) -> dict[str, Server]:
    """Return the MCP servers that can be started here, with these interpreters for two of them."""
    ours = str(Path(sys.executable).parent / "rbank")
    found = {
        OURS: Server(
            [ours, "serve"],
            "memory_record",
            {"title": "Lesson {n}", "content": "{text}", "outcome": "success"},
            {
                "REASONINGBANK_HOME": str(folder / "bank"),
                "REASONINGBANK_PROJECT": "bench",
                "REASONINGBANK_RUN_DIRECTORY": str(folder / "run"),
                "REASONINGBANK_IDLE_MINUTES": "0.05",
            },
        )
    }
    if interpreter := environment("mcp-memory-service", SERVERS["mcp-memory-service"], extending):
        found["mcp-memory-service"] = Server(
            [str(interpreter.parent / "memory"), "server"],
            "memory_store",
            {"content": "{text}", "metadata": {"tags": "bench"}},
            {"MCP_MEMORY_BASE_DIR": str(folder / "service"), "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec"},
        )
    if newer and (interpreter := environment("basic-memory", SERVERS["basic-memory"], newer)):
        found["basic-memory"] = Server(
            [str(interpreter.parent / "basic-memory"), "mcp"],
            "write_note",
            {"title": "Lesson {n}", "content": "{text}", "directory": "bench"},
            {"BASIC_MEMORY_HOME": str(folder / "notes")},
        )
    elif not newer:
        print("basic-memory is left out: it needs Python 3.12; name one with --newer-python", flush=True)
    if npm := shutil.which("npm"):
        place = (BUILD / "npm").absolute()
        place.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(
            [npm, "install", "--silent", "--prefix", str(place), REFERENCE], capture_output=True, text=True, check=False
        )
        if made.returncode == 0:
            found["reference server"] = Server(
                [str(place / "node_modules" / ".bin" / "mcp-server-memory")],
                "create_entities",
                {"entities": [{"name": "Lesson {n}", "entityType": "lesson", "observations": ["{text}"]}]},
                {"MEMORY_FILE_PATH": str(folder / "reference.jsonl")},
            )
        else:
            print(f"the reference server is left out: {made.stderr.strip()[-300:]}", flush=True)
    return found


def started(found: Mapping[str, Server], rounds: int, folder: Path) -> tuple[list[Row], list[str]]:
    """Start each server in turns, and let it record; return rows and what failed."""
    first = Row("a server's initialize", "s")
    idle = Row("memory of an idle server", "MB")
    record = Row("record over MCP, with what embedding each has", "ms")
    failures: list[str] = []
    left = dict(found)
    for number in range(3):
        for name, server in list(left.items()):
            session = Session(server, folder / f"home-{name.replace(' ', '-')}")
            try:
                first.figures.setdefault(name, []).append(session.connection.hello())
                time.sleep(1.0)
                idle.figures.setdefault(name, []).append(session.held())
                session.record(1_000 + number)
            except (EOFError, ValueError, OSError) as error:
                failures.append(f"{name}: {error}")
                left.pop(name)
                for row in (first, idle):
                    row.figures.pop(name, None)
            finally:
                session.connection.close()
    with ExitStack() as stack:
        sessions = {name: Session(server, folder / f"home-{name.replace(' ', '-')}") for name, server in left.items()}
        for session in sessions.values():
            stack.callback(session.connection.close)
            session.connection.hello()
            session.record(2_000)
        for number in range(rounds):
            for name, session in sessions.items():
                record.figures.setdefault(name, []).append(session.record(3_000 + number) * 1_000)
    return [first, idle, record], failures


def main() -> int:
    """Compare, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", nargs="*", default=None, help="systems to compare with; all without it")
    parser.add_argument("--newer-python", default=shutil.which("python3.12") or "", help="for basic-memory")
    extending = f"for {' and '.join(sorted(EXTENDING))}: its sqlite3 must load extensions"
    parser.add_argument("--extending-python", default=sys.executable, help=extending)
    parser.add_argument("--no-servers", action="store_true", help="leave out what is started over MCP")
    parser.add_argument("--write", type=Path, help="a file for all figures, as JSON")
    chosen = parser.parse_args()
    interpreters = {OURS: Path(sys.executable)}
    for name, packages in PACKAGES.items():
        if chosen.only is None or name in chosen.only:
            made = environment(name, packages, chosen.extending_python if name in EXTENDING else sys.executable)
            if made is not None:
                interpreters[name] = made
    rows: list[Row] = []
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "data"
        data.mkdir()
        write_data(data, chosen.sizes)
        for size in chosen.sizes:
            found, failed = compared(interpreters, size, chosen.rounds, Path(scratch), data)
            rows += found
            failures += failed
            for row in found:
                print(row.text(), flush=True)
        if not chosen.no_servers:
            there = servers(Path(scratch), chosen.newer_python, chosen.extending_python)
            found, failed = started(there, chosen.rounds, Path(scratch))
            rows += found
            failures += failed
            for row in found:
                print(row.text(), flush=True)
    installed = Row("install", "MB")
    fresh = environment(OURS, (str(Path.cwd()),), sys.executable)
    for name, interpreter in (interpreters | ({OURS: fresh} if fresh else {})).items():
        installed.figures[name] = [megabytes(interpreter.parents[1])]
    print(installed.text())
    for failure in failures:
        print(f"failed: {failure}")
    print(f"\n{NOT_COMPARABLE}")
    if chosen.write:
        chosen.write.write_text(json.dumps([row.__dict__ for row in [*rows, installed]], indent=1) + "\n")
    return 1 if any(failure.startswith(OURS) for failure in failures) else 0


if __name__ == "__main__":
    sys.exit(main())
