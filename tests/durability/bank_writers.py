"""Writers of memories, sessions, documents and the graph, that get killed: what each does, and what must hold then."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from durability.writers import (
    Report,
    Seen,
    Writer,
    by_name,
    check_indexed,
    check_sound,
    content,
    holding,
    opened,
    recorded,
    step,
    word,
)
from reasoningbank.bank import Bank
from reasoningbank.testing import FrozenClock
from reasoningbank.types.document import DocumentChange
from reasoningbank.types.graph import Edge, Node
from sessions.learned_sessions import repaired

FILES = 5
PER_FILE = 12
SESSIONS = 30
LESSONS = 24
QUERY = "a call fails now and then"


# Memories: recorded, edited, rated and erased


def _begin(home: Path) -> None:
    with opened(home) as bank:
        for number in range(10):
            recorded(bank, f"old-{number}")


def _record(home: Path, report: Report) -> None:
    with opened(home) as bank:
        ids: dict[str, str] = {}
        report("ready")
        for number in count():
            name = f"n{number}"
            with step(report, f"record {name}"):
                ids[name] = recorded(bank, name).id
            if number % 3 == 1:
                with step(report, f"edit {name}"):
                    bank.update(ids[name], content=content(name, 2))
            if number % 3 == 2:
                with step(report, f"rate {name}"):
                    bank.feedback(ids[name], helpful=True)
            if number % 5 == 4:
                with step(report, f"erase n{number - 2}"):
                    bank.delete(ids[f"n{number - 2}"])


def _followed(steps: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Version and ratings of each memory after these steps."""
    state = {f"old-{number}": (1, 0) for number in range(10)}
    for each in steps:
        kind, name = each.split(" ")
        if kind == "record":
            state[name] = (1, 0)
        elif kind == "edit":
            state[name] = (2, 0)
        elif kind == "rate":
            state[name] = (1, 1)
        else:
            del state[name]
    return state


def _check_record(home: Path, seen: Seen) -> None:
    with opened(home) as bank:
        check_sound(bank)
        found = {}
        for name, memory in by_name(bank.memories.list(limit=0)).items():
            assert memory.content == content(name, memory.version), f"torn text: {name}"
            ratings = len(bank._context.store().evidence.signals(memory.id))
            assert (memory.confidence > 0.8) == (ratings == 1), f"torn evidence: {name}"
            assert len(bank.memories.versions(memory.id)) == memory.version, f"torn history: {name}"
            check_indexed(bank, memory)
            found[name] = (memory.version, ratings)
        assert found in (_followed(seen.done), _followed(seen.maybe)), seen
        recorded(bank, "after")


# Imports of exports


def _make_exports(home: Path) -> None:
    folder = home / "exports"
    folder.mkdir(parents=True)
    for number in range(FILES):
        with opened(home / "elsewhere", f"project-{number}") as bank:
            for each in range(PER_FILE):
                memory = recorded(bank, f"f{number}-{each}")
                bank.feedback(memory.id, helpful=bool(each % 3))
            nodes = [Node(id=f"f{number}-{each}", label="AgentAnswer", text=f"Answer {each}.") for each in range(4)]
            edge = Edge(id=f"f{number}", source=nodes[0].id, target=nodes[1].id, text="Explains.", weight=0.5)
            bank.graph.add(nodes, [edge])
            bank.documents.keep("notes", [DocumentChange(path=(), key=f"f{number}", value={"note": number})])
            bank.admin.export(folder / f"{number}.jsonl")


def _import(home: Path, report: Report) -> None:
    with opened(home) as bank:
        report("ready")
        for number in range(FILES):
            with step(report, f"f{number}"):
                bank.admin.import_(home / "exports" / f"{number}.jsonl")


def _parts(bank: Bank) -> list[tuple[int, int, int, int]]:
    """Memories, nodes, edges and documents that are there of each file."""
    memories = bank.memories.list(limit=0)
    signals = bank._context.store().evidence.signals
    assert all(len(signals(memory.id)) == 1 for memory in memories), "memories without the evidence that came with them"
    lessons = Counter(name.partition("-")[0] for name in by_name(memories))
    nodes = Counter(node.id.partition("-")[0] for node in bank.graph.list())
    edges = Counter(edge.id for edge in bank._context.store().graph.edge_page(limit=0))
    notes = Counter(document.key for document in bank.documents.list("notes"))
    return [(lessons[name], nodes[name], edges[name], notes[name]) for name in map("f{}".format, range(FILES))]


def _check_import(home: Path, seen: Seen) -> None:
    whole, nothing = (PER_FILE, 4, 1, 1), (0, 0, 0, 0)
    with opened(home) as bank:
        check_sound(bank)
        for number, found in enumerate(_parts(bank)):
            name = f"f{number}"
            possible = {whole} if name in seen.done else {whole, nothing} if name == seen.pending else {nothing}
            assert found in possible, f"{name}: {found}, {seen}"
        for number in range(FILES):
            bank.admin.import_(home / "exports" / f"{number}.jsonl")
        assert _parts(bank) == [whole] * FILES
        bank.jobs.work()
        check_sound(bank)


# Imports of graph files


def _make_graph_files(home: Path) -> None:
    folder = home / "graphs"
    folder.mkdir(parents=True)
    for number in range(FILES):
        nodes = [
            {"id": f"g{number}-{each}", "label": "AgentAnswer", "text": f"Answer {each} of {word(f'g{number}')}."}
            for each in range(60)
        ]
        edges = [
            {"id": f"g{number}-{each}", "source": f"g{number}-{each}", "target": f"g{number}-{each + 1}"}
            | {"text": "Leads on.", "weight": 0.5}
            for each in range(59)
        ]
        (folder / f"{number}.json").write_text(json.dumps({"nodes": nodes, "edges": edges}), encoding="utf-8")
    opened(home).close()


def _import_graph(home: Path, report: Report) -> None:
    with opened(home) as bank:
        report("ready")
        for number in range(FILES):
            with step(report, f"g{number}"):
                bank.graph.import_(home / "graphs" / f"{number}.json")


def _check_graph(home: Path, seen: Seen) -> None:
    with opened(home) as bank:
        check_sound(bank)
        nodes = [node.id for node in bank.graph.list()]
        edges = [edge.id for edge in bank._context.store().graph.edge_page(limit=0)]
        for number in range(FILES):
            name = f"g{number}"
            found = tuple(sum(each.startswith(f"{name}-") for each in ids) for ids in (nodes, edges))
            possible = {(60, 59)} if name in seen.done else {(60, 59), (0, 0)} if name == seen.pending else {(0, 0)}
            assert found in possible, f"{name}: {found}, {seen}"
        for number in range(FILES):
            bank.graph.import_(home / "graphs" / f"{number}.json")
        bank.jobs.work()
        size = bank.graph.size()
        assert (size.nodes, size.edges, size.pending) == (60 * FILES, 59 * FILES, 0)
        assert bank.graph.search(f"answer 7 of {word('g3')}").seeds[0].node.id.startswith("g3-")
        check_sound(bank)


# Sessions: captured, queued, and made into recipes


def _make_transcripts(home: Path) -> None:
    folder = home / "transcripts"
    folder.mkdir(parents=True)
    for number in range(SESSIONS):
        (folder / f"{number}.jsonl").write_text(repaired(number), encoding="utf-8")
    opened(home).close()


def _capture(home: Path, report: Report) -> None:
    with opened(home) as bank:
        report("ready")
        for number in range(SESSIONS):
            path = home / "transcripts" / f"{number}.jsonl"
            with step(report, f"cc-{number}"):
                if number % 3 == 2:
                    bank.sessions.capture_later(path)
                else:
                    bank.sessions.capture(path)
            if number % 5 == 4:
                bank.jobs.work(limit=4)


def _check_capture(home: Path, seen: Seen) -> None:
    # What a killed process had claimed is free again by then.
    with opened(home, clock=FrozenClock(datetime.now(UTC) + timedelta(days=1))) as bank:
        check_sound(bank)
        bank.jobs.work()
        names = [entry.session for entry in bank.sessions.list()]
        assert len(names) == len(set(names)), "a session is there twice"
        assert set(seen.done) <= set(names) <= set(seen.maybe), seen
        assert all(len(bank.sessions.get(entry.id).steps) == 5 for entry in bank.sessions.list())
        assert not bank.jobs.dead()
        bank.sessions.capture(*(home / "transcripts" / f"{number}.jsonl" for number in range(SESSIONS)))
        bank.jobs.work()
        entries = bank.sessions.list()
        assert sorted(entry.session for entry in entries) == sorted(f"cc-{number}" for number in range(SESSIONS))
        for entry in entries:
            shown = bank._context.store().sessions.origins(trajectory=entry.id)
            assert len({origin.memory_id for origin in shown}) == len(shown), "a recipe was made twice"
        check_sound(bank)


# Documents, several at once


def _keep_documents(home: Path, report: Report) -> None:
    with opened(home) as bank:
        report("ready")
        for number in count():
            changes = [DocumentChange(path=("a",), key=f"d{key}", value={"turn": number}) for key in range(6)]
            with step(report, str(number)):
                bank.documents.keep("notes", changes)


def _check_documents(home: Path, seen: Seen) -> None:
    with opened(home) as bank:
        check_sound(bank)
        turns = {json.loads(document.value)["turn"] for document in bank.documents.list("notes", ("a",))}
        possible = [{int(each)} for each in (*seen.done[-1:], *((seen.pending,) if seen.pending else ()))]
        assert turns in possible or (not turns and not seen.done), f"{turns}, {seen}"


# Erasure of memories and of sessions


def _fill_to_erase(home: Path) -> None:
    with opened(home) as bank:
        for number in range(LESSONS):
            recorded(bank, f"e{number}")
        for number in range(LESSONS // 4):
            bank.search("What to turn first", session=f"told-{word(f's{number}')}")
        backup = bank.admin.backup(home / "copy.db")
        bank.admin.restore(backup)
        backup.unlink()


def _erase(home: Path, report: Report) -> None:
    with opened(home) as bank:
        ids = {name: memory.id for name, memory in by_name(bank.memories.list(limit=0)).items()}
        report("ready")
        for number in range(LESSONS):
            with step(report, f"e{number}"):
                bank.delete(ids[f"e{number}"])
            if number < LESSONS // 4:
                with step(report, f"s{number}"):
                    bank.admin.erase(session=f"told-{word(f's{number}')}")


def _check_erased(home: Path, seen: Seen) -> None:
    with opened(home) as bank:
        check_sound(bank)
        names = set(by_name(bank.memories.list(limit=0)))
        assert names.isdisjoint(seen.done), "an erased memory came back"
        assert {f"e{number}" for number in range(LESSONS)} - set(seen.maybe) <= names, "more was erased than was asked"
        bank.admin.check()
    for name in seen.done:
        text = word(name) if name.startswith("e") else f"told-{word(name)}"
        assert holding(home, text) == [], f"{name} is still on the disk"
    again = [name for name in (seen.pending, f"e{LESSONS - 1}") if name in names]
    with opened(home) as bank:
        for memory in bank.memories.list(limit=0):
            if memory.title.removeprefix("Lesson ") in again:
                bank.delete(memory.id)
    assert not [name for name in again if holding(home, word(name))]


# Promotion, which writes to the banks of a project and of its team


def _make_team(home: Path) -> None:
    for project in ("shop", "till"):
        with opened(home, project, team="payments") as bank:
            for number in range(6):
                bank.record(
                    title=f"Lesson {number}", content=f"Do {word(str(number))} at the {project}.", outcome="success"
                )


def _promote(home: Path, report: Report) -> None:
    with opened(home, team="payments") as shop, opened(home, "till", team="payments") as till:
        sources = [by_name(bank.memories.list(limit=0)) for bank in (shop, till)]
        report("ready")
        for number in range(6):
            with step(report, str(number)):
                shop.sharing.promote(
                    [known[str(number)].id for known in sources],
                    reviewer="dana",
                    title=f"General {number}",
                    content=f"Do {word(str(number))} first.",
                )


def _check_promoted(home: Path, seen: Seen) -> None:
    for again in (False, True):
        with opened(home, team="payments") as bank:
            check_sound(bank)
            found = {each.memory.title: each for each in bank.sharing.promotions()}
            assert len(found) == len(bank.sharing.promotions()), "a lesson was promoted twice"
            done = range(6) if again else [int(each) for each in seen.done]
            maybe = range(6) if again else [int(each) for each in seen.maybe]
            assert {f"General {number}" for number in done} <= set(found) <= {f"General {number}" for number in maybe}
            for number in done:
                promotion = found[f"General {number}"]
                assert len(promotion.sources) == 2
                assert not (promotion.doubtful or promotion.gone)
        if not again:
            _promote(home, lambda _: None)


BANK_WRITERS = (
    Writer(name="record, edit, rate, erase", prepare=_begin, write=_record, check=_check_record, steps=20),
    Writer(name="import of an export", prepare=_make_exports, write=_import, check=_check_import),
    Writer(name="import of a graph", prepare=_make_graph_files, write=_import_graph, check=_check_graph),
    Writer(name="capture of sessions", prepare=_make_transcripts, write=_capture, check=_check_capture, steps=12),
    Writer(name="documents", prepare=_begin, write=_keep_documents, check=_check_documents, steps=10),
    Writer(name="erasure", prepare=_fill_to_erase, write=_erase, check=_check_erased, steps=6),
    Writer(name="promotion to a team", prepare=_make_team, write=_promote, check=_check_promoted),
)
