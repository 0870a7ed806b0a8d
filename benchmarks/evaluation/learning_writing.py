"""What a model writes besides lessons of one session: from several runs, from alike memories, from conversations."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

from evaluation.learning_estimates import share
from evaluation.learning_sources import AIRLINE, Session, Setup, airline
from evaluation.learning_tables import Cell, Table, absent
from reasoningbank.bank import Bank
from reasoningbank.errors import MalformedAnswer, ModelUnavailable
from reasoningbank.sessions.lessons import contrast
from reasoningbank.sessions.validation import examine
from reasoningbank.settings import Settings
from reasoningbank.types.session import MAX_CONTRAST_ITEMS, Judgement

_CONTRAST = "Contrast: what several trials of one task teach; verdicts are the labels"
_MERGE = "Merging: pairs that say nearly the same, through a consolidation"
_WRITE_BACK = "Write-back: conversations that are told to the bank"
PAIRS = (
    ("Wait for the lock file", "A second installer must wait until the lock file of the first one is gone."),
    ("Compare times in UTC", "Convert both times to UTC before they are compared, or the night of the change fails."),
    ("Read every page", "Follow the next link until there is none, because one page holds at most fifty rows."),
    ("Escape the table name", "Quote a table name that holds a dash with backticks, else the statement is cut."),
)
"""Lessons of our own, each told once more in other words."""
AGAIN = (
    "A second installer must wait as long as the lock file of the first one is there.",
    "Convert both of the times to UTC before they are compared, or the night of the change fails.",
    "Follow the next link until there is none left, because one page holds fifty rows at most.",
    "Quote a table name that holds a dash with backticks, or else the statement is cut.",
)
CONVERSATIONS = (
    (
        "Which supplier delivered late in March, and what did we decide about it?",
        "Norden delivered eleven days late. You decided on 2 April to order from Adler until July.",
    ),
    (
        "Why did the nightly export fail?",
        "The export ran out of disk at 03:10, because the old dumps were kept. I moved the dumps; the next run passed.",
    ),
)


def writing(setup: Setup) -> Iterator[Table]:
    """Contrast, merge and write-back with the configured model."""
    if setup.model is None:
        why = "skipped: no language model is configured"
        yield from (
            Table(name=name, title=title, skipped=why)
            for name, title in (("contrast", _CONTRAST), ("merge", _MERGE), ("write-back", _WRITE_BACK))
        )
        return
    yield _contrasted(setup)
    yield _merged(setup)
    yield _written_back(setup)


def _contrasted(setup: Setup) -> Table:
    groups: dict[str, list[Session]] = defaultdict(list)
    for session in airline(setup):
        groups[session.group].append(session)
    mixed = [runs for runs in groups.values() if len({run.succeeded for run in runs}) > 1]
    if not mixed:
        return absent("contrast", _CONTRAST, AIRLINE)
    assert setup.model is not None
    read = proposed = kept = 0
    reasons: Counter[str] = Counter()
    chosen = mixed[: setup.sample] if setup.sample else mixed
    for runs in chosen:
        told = [(run.trajectory, _labelled(run)) for run in runs]
        try:
            found = contrast(told, setup.model)
        except (MalformedAnswer, ModelUnavailable):
            continue
        read += 1
        proposed += len(found.items)
        for item, run in zip(found.items, found.runs, strict=True):
            good, refused = examine(
                [item], told[run][0], told[run][1].verdict, limit=MAX_CONTRAST_ITEMS, model=found.model
            )
            kept += len(good)
            reasons.update(refusal.reason for refusal in refused)
    row: dict[str, Cell] = {
        "tasks": len(chosen),
        "answers read": share(read, len(chosen)),
        "items": proposed,
        "kept": share(kept, proposed),
        "refused as": ", ".join(f"{count} {why}" for why, count in reasons.most_common()) or "-",
    }
    return Table(name="contrast", title=_CONTRAST, rows=(row,))


def _labelled(run: Session) -> Judgement:
    return Judgement(
        verdict="success" if run.succeeded else "failure",
        probability=1.0 if run.succeeded else 0.0,
        rationale="The benchmark says so.",
        judge="user",
        at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def _merged(setup: Setup) -> Table:
    with _bank(setup, "merge") as bank:
        for (title, first), second in zip(PAIRS, AGAIN, strict=True):
            for text in (first, second):
                bank.record(title=title, content=text, outcome="success", description=f"When {title.lower()}")
        report = bank.curation.consolidate()
        left = len([*bank.memories.list()])
    row: dict[str, Cell] = {
        "pairs": len(PAIRS),
        "merged": share(len(report.created_memories), len(PAIRS)),
        "memories left": left,
        "told": "; ".join(report.messages)[:120] or "-",
    }
    return Table(name="merge", title=_MERGE, rows=(row,))


def _written_back(setup: Setup) -> Table:
    nodes = edges = lessons = refused = waiting = 0
    with _bank(setup, "write-back") as bank:
        for number, (question, answer) in enumerate(CONVERSATIONS):
            report = bank.conversations.remember(
                {
                    "conv_id": f"talk-{number}",
                    "messages": [{"role": "user", "text": question}, {"role": "assistant", "text": answer}],
                }
            )
            nodes, edges = nodes + len(report.nodes), edges + len(report.edges)
            lessons += report.lesson is not None
            refused, waiting = refused + len(report.refused), waiting + bool(report.waiting)
    row: dict[str, Cell] = {
        "conversations": len(CONVERSATIONS),
        "nodes": nodes,
        "edges": edges,
        "lessons": lessons,
        "refused parts": refused,
        "waiting": waiting,
    }
    return Table(name="write-back", title=_WRITE_BACK, rows=(row,))


def _bank(setup: Setup, name: str) -> Bank:
    return Bank.open(
        "memory://",
        tenant="evaluation",
        project=name,
        embedder=setup.embedder,
        model=setup.model,
        settings=Settings(home=setup.scratch / name, graph_from_sessions="never"),
        by_agent=False,
    )
