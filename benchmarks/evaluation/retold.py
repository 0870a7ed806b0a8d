"""Count what a session records after it was shown a similar lesson, and what of that is called an echo.

``python -m evaluation.retold`` below ``benchmarks``. The lessons are in ``attacks/retold_lessons.toml``: forty that one
client recorded each, told again in other words by a client that a search has shown them, and sixty that honest clients
record after the same search. Odd lessons choose a number, even ones are kept apart. Honest lessons are also recorded
behind a share of the shown lesson's words, as who quotes a lesson before the own one does.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from evaluation.learning_estimates import share
from evaluation.learning_tables import Cell, Table, text_of
from reasoningbank.bank import Bank
from reasoningbank.memories.similarity import cosine_similarity
from reasoningbank.memories.standing import speaking
from reasoningbank.memories.words import overlap, terms
from reasoningbank.settings import Settings
from reasoningbank.types.memory import Memory
from reasoningbank.types.standing import ECHO_OF

FILE = Path(__file__).with_name("attacks") / "retold_lessons.toml"
QUOTED = (0.25, 0.5, 0.75, 0.9, 1.0)
"""Shares of the words of the shown lesson that stand before an honest one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Hold a lesson that a search shows, and what is recorded after that.

    Attributes:
        told: The lesson: title, then content.
        again: The same in other words.
        further: What honest sessions record.
        apart: Whether it is kept apart.
    """

    told: tuple[str, str]
    again: tuple[str, str]
    further: tuple[tuple[str, str], ...]
    apart: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Hold what was recorded after a search.

    Attributes:
        kind: What it is.
        apart: Whether it is kept apart.
        echo: Whether it was called an echo.
        cosine: The cosine to the shown lesson.
        words: The share of its words that the shown lesson has.
    """

    kind: str
    apart: bool
    echo: bool
    cosine: float
    words: float


def lessons(path: Path = FILE) -> list[Lesson]:
    """Return the lessons of the file."""
    return [
        Lesson(
            told=_parts(each["told"]),
            again=_parts(each["again"]),
            further=tuple(map(_parts, each["further"])),
            apart=number % 2 == 0,
        )
        for number, each in enumerate(tomllib.loads(path.read_text(encoding="utf-8"))["lesson"], start=1)
    ]


def recorded(bank: Bank, chosen: Sequence[Lesson]) -> list[Recorded]:
    """Return what sessions record that were shown the lessons; each by a client of its own, and erased after that."""
    originals = [
        _of(f"author {number}", bank, *lesson.told, session=f"of author {number}")
        for number, lesson in enumerate(chosen)
    ]
    found, numbers = [], count()
    for original, lesson in zip(originals, chosen, strict=True):
        for kind, title, content in _said(lesson):
            writer = f"writer {next(numbers)}"
            with speaking(writer, writer):
                bank.search(original.title, limit=10, unproven=5, session=writer)
            memory = _of(writer, bank, title, content, session=writer)
            vectors = [bank.memories.vector(each.id) for each in (memory, original)]
            words = [set(terms(f"{each.title}\n{each.content}")) for each in (memory, original)]
            found.append(
                Recorded(
                    kind=kind,
                    apart=lesson.apart,
                    echo=ECHO_OF in memory.provenance,
                    cosine=cosine_similarity(*(() if each is None else each for each in vectors)),
                    words=overlap(*words),
                )
            )
            bank.delete(memory.id)
    return found


def table(found: Sequence[Recorded]) -> Table:
    """Return by kind and half what was called an echo, and how near it is to what was shown."""
    rows: list[Mapping[str, Cell]] = []
    for kind in dict.fromkeys(each.kind for each in found):
        for apart in (False, True):
            these = [each for each in found if (each.kind, each.apart) == (kind, apart)]
            if these:
                rows.append(
                    {
                        "recorded": f"{kind}{' (apart)' if apart else ''}",
                        "called an echo": share(sum(each.echo for each in these), len(these)),
                        "median cosine": f"{_median([each.cosine for each in these]):.3f}",
                        "median words in common": f"{_median([each.words for each in these]):.2f}",
                    }
                )
    return Table(name="retold", title="Lessons that are recorded after a similar one was shown", rows=tuple(rows))


def separation(found: Sequence[Recorded], allowed: float = 0.03) -> str:
    """Return how many retold lessons the cosine finds that calls at most this share of the honest ones an echo.

    The cosine is chosen on one half and counted on the other.
    """
    again, further = ([each for each in found if each.kind == kind] for kind in ("in other words", "honest"))
    honest = sorted((each.cosine for each in further if not each.apart), reverse=True)
    least = honest[int(len(honest) * allowed)]
    hit, wrong = (sum(each.cosine > least for each in part if each.apart) for part in (again, further))
    return (
        f"A cosine above {least:.3f} finds {hit} of {sum(each.apart for each in again)} that were kept apart, and "
        f"calls {wrong} of {sum(each.apart for each in further)} honest ones an echo."
    )


def _said(lesson: Lesson) -> Iterator[tuple[str, str, str]]:
    yield ("in other words", *lesson.again)
    for title, content in lesson.further:
        yield ("honest", title, content)
    words = lesson.told[1].split()
    title, content = lesson.further[0]
    for part in QUOTED:
        quoted = " ".join(words[: round(len(words) * part)])
        yield (f"honest, behind {part:.0%} of the shown words", title, f"{quoted} {content}")


def _of(speaker: str, bank: Bank, title: str, content: str, *, session: str) -> Memory:
    with speaking(speaker, session):
        return bank.record(title=title, content=content, outcome="success", source="mcp", session=session)


def _parts(text: str) -> tuple[str, str]:
    title, _, content = text.partition(" | ")
    return title, content


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def main() -> None:
    """Print what was measured."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home))
        with Bank.open(tenant="acme", project="shop", settings=settings, by_agent=False) as bank:
            found = recorded(bank, lessons())
    print(text_of(table(found)))
    print(separation(found))


if __name__ == "__main__":
    main()
