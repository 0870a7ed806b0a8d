"""Nothing crosses a scope unless it was promoted or shared on purpose: whatever happens, in whatever order."""

from __future__ import annotations

import random
import re
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import settings as run_settings
from hypothesis import strategies as st

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import BankError
from reasoningbank.settings import Settings
from reasoningbank.storage import open_storage
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.memory import STATES
from reasoningbank.types.recall import Filter
from reasoningbank.types.scope import Scope

PLACES = (
    ("red", "warm", "earth"),
    ("warm", "warm", "earth"),
    ("blue", "cold", "earth"),
    ("mars", "cold", "mars"),
    ("lone", "", ""),
)
"""Project, team and org; one project has the name of a team and one that of an org."""
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["record", "search", "brief", "rate", "outcome", "session", "promote", "demote", "propose"]),
        st.integers(0, len(PLACES) - 1),
        st.integers(0, 9),
    ),
    max_size=30,
)


def opened(url: str | None, home: Path, place: tuple[str, str, str]) -> Bank:
    """The bank of a project."""
    return Bank.open(
        url,
        tenant="acme",
        project=place[0],
        team=place[1],
        org=place[2],
        embedder=HashingEmbedder(256),
        settings=Settings(home=home),
        clock=FrozenClock(),
        chance=random.Random(3),
        session="same",
    )


class Life:
    """Banks of several projects, and what each of them may know: a canary per memory, by where it was recorded."""

    def __init__(self, home: Path, url: str | None = None) -> None:
        self.home, self.url = home, url
        self.banks = [opened(url, home, place) for place in PLACES]
        self.recorded: list[tuple[int, str, str]] = []
        self.promoted: list[str] = []
        self.allowed: set[tuple[str, str]] = set()

    def run(self, operation: str, place: int, number: int) -> None:
        """One operation; what the bank refuses has changed nothing that matters here."""
        bank = self.banks[place]
        try:
            getattr(self, operation)(bank, number)
        except BankError as error:
            assert error.hint

    def record(self, bank: Bank, number: int) -> None:
        """A lesson with a word that nobody else has."""
        canary = f"canary{len(self.recorded)}x"
        content = f"Retry network calls with backoff {canary}, {number} times."
        memory = bank.record(title=f"Retry calls {canary}", content=content, outcome="success")
        self.recorded.append((self.banks.index(bank), memory.id, canary))

    def search(self, bank: Bank, number: int) -> None:
        """A search in a session that every project has a session of that name of."""
        bank.search("retry network calls with backoff", min_confidence=0.0 if number % 2 else 0.7)

    def brief(self, bank: Bank, number: int) -> None:
        """A briefing with or without a task."""
        bank.briefing("retry network calls" if number % 2 else None, budget=2_000)

    def rate(self, bank: Bank, number: int) -> None:
        """A rating by id, from wherever in the tenant."""
        if self.recorded:
            bank.feedback(self.recorded[number % len(self.recorded)][1], helpful=bool(number % 3))

    def outcome(self, bank: Bank, number: int) -> None:
        """An outcome by id of something promoted."""
        if self.promoted:
            bank.outcome(self.promoted[number % len(self.promoted)], succeeded=True, session=f"s{number}")

    def session(self, bank: Bank, number: int) -> None:
        """How the session ended."""
        bank.sessions.outcome("same", succeeded=bool(number % 2))

    def propose(self, bank: Bank, number: int) -> None:
        """Looking at what waits changes nothing."""
        bank.sharing.candidates()
        if self.recorded:
            bank.sharing.propose([self.recorded[number % len(self.recorded)][1]])

    def promote(self, bank: Bank, number: int) -> None:
        """A person promotes one memory to the team, or one of the team's to the org."""
        if number % 3 == 0 and self.promoted:
            source = self.promoted[number % len(self.promoted)]
            canary = f"canary{1000 + len(self.promoted)}x"
            made = bank.sharing.promote(
                [source], to="org", reviewer="d", title=f"Org {canary}", content=f"Retry {canary}."
            )
        elif self.recorded:
            source = self.recorded[number % len(self.recorded)][1]
            canary = f"canary{1000 + len(self.promoted)}x"
            made = bank.sharing.promote([source], reviewer="d", title=f"Team {canary}", content=f"Retry {canary}.")
        else:
            return
        if made.created:
            self.promoted.append(made.memory.id)
            self.allowed.add((f"{made.level} {made.name}", canary))

    def demote(self, bank: Bank, number: int) -> None:
        """A person takes it out again."""
        if self.promoted:
            bank.sharing.demote(self.promoted[number % len(self.promoted)])

    def close(self) -> None:
        """Closes every bank."""
        for bank in self.banks:
            bank.close()

    def check(self) -> None:
        """Every canary stands where it was recorded or promoted to, and is shown where its scope is searched."""
        homes = {canary: f"project {PLACES[place][0]}" for place, _, canary in self.recorded}
        homes |= {canary: where for where, canary in self.allowed}
        storage = open_storage(self.url, home=self.home)
        for scope in storage.scopes("acme"):
            said = "\n".join(self.everything(scope))
            for canary in re.findall(r"canary\d+x", said):
                assert homes[canary] == f"{scope.level} {scope.project}"
            if scope.level != "project":
                assert "same" not in said
                assert "retry network" not in said
        for bank, (project, team, org) in zip(self.banks, PLACES, strict=True):
            reached = {f"project {project}", *([f"team {team}"] if team else []), *([f"org {org}"] if org else [])}
            shown = repr(bank.search("retry network calls with backoff", min_confidence=0.0, limit=100))
            shown += bank.briefing(budget=20_000, limit=100).text
            for canary in re.findall(r"canary\d+x", shown):
                assert homes[canary] in reached

    def everything(self, scope: Scope) -> list[str]:
        """All that a bank holds in words."""
        store = open_storage(self.url, home=self.home).open(scope)
        try:
            memories = store.memories.page(Filter(states=STATES), limit=0, offset=0)
            said = [repr((each.title, each.content, dict(each.provenance))) for each in memories]
            said += [repr((log.query, log.session)) for log in store.deliveries.recalls(limit=0)]
            said += [repr(signal.session) for each in memories for signal in store.evidence.signals(each.id)]
            said += [repr(trace.query) for trace in store.sessions.traces()]
            assert not store.check().problems
            return said
        finally:
            store.close()


@promise(
    "scopes:crossing",
    "Nothing crosses a scope unless it was promoted, whatever operations run in whatever order.",
    source="issue 4 Scopes",
)
@run_settings(max_examples=60)
@given(OPERATIONS)
def test_nothing_crosses_a_scope_unless_it_was_promoted(operations: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Path(folder) / "home", f"memory://{folder}")
        try:
            for operation, place, number in operations:
                life.run(operation, place, number)
            life.check()
        finally:
            life.close()


@promise("scopes:crossing")
def test_the_walk_really_promotes_and_shows_what_was_promoted(tmp_path: Path) -> None:
    life = Life(tmp_path / "home")
    for step in [("record", 0, 0), ("promote", 1, 1), ("promote", 1, 0), ("search", 1, 1), ("session", 1, 1)]:
        life.run(*step)
    life.check()
    assert {where for where, _ in life.allowed} == {"team warm", "org earth"}
    assert [hit.scope for hit in life.banks[2].search("Retry Org canary1001x", min_confidence=0.0).delivered] == ["org"]
    life.close()
