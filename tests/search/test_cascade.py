"""One search over project, team and org: the most specific first, each hit labelled, deliveries counted at home."""

from __future__ import annotations

from pathlib import Path

import pytest

from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.context import Context
from reasoningbank.errors import InvalidInput, StoreCorrupt
from reasoningbank.settings import Settings
from reasoningbank.storage import open_storage
from reasoningbank.storage.sqlite_connection import ConnectionSource
from reasoningbank.storage.store import Store
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.ports import Embedder
from reasoningbank.types.promotion import PROMOTED_FROM, Reference
from reasoningbank.types.records import Link
from reasoningbank.types.scope import SCOPE_WEIGHTS, Scope
from sharing.scoped import NEVER_RETRY, QUERY, RETRY, Counting, plant

OTHER = (
    ("Retry flaky calls of the network", "A network call that fails now and then succeeds when it is tried once more."),
    ("Network calls may fail now and then", "Put a time limit on each network call, and retry those that fail twice."),
)


def wider(home: Path, level: str, name: str) -> Store:
    """The bank of a team or an org."""
    scope = Scope(tenant="acme", project=name, level="team" if level == "team" else "org")
    return open_storage(None, home=home).open(scope)


@promise(
    "scopes:cascade",
    "A search looks into project, team and org with weights 1.0 / 0.9 / 0.8, labels each hit, embeds the query once, "
    "and holds limit, filters, floor and unproven draw for the whole answer.",
    source="spec/contextd section 5",
)
@promise("contextd:5")
def test_all_scopes_are_searched_weighed_and_labelled_and_the_query_is_embedded_once(
    open_team_bank: OpenBank, home: Path, local_embedder: Embedder
) -> None:
    counting = Counting(local_embedder)
    bank = open_team_bank(embedder=counting)
    own = bank.record(title=RETRY[0], content=RETRY[1], outcome="success")
    for level, name, (title, content) in (("team", "payments", OTHER[0]), ("org", "globex", OTHER[1])):
        plant(home, local_embedder, "team" if level == "team" else "org", name, title=title, content=content)
    counting.queries = 0
    recall = bank.search(QUERY)
    assert counting.queries == 1
    assert [hit.scope for hit in recall.memories] == ["project", "team", "org"]
    assert recall.memories[0].id == own.id
    alone = {
        level: Bank(
            Context(
                open_storage(None, home=home),
                Scope(tenant="acme", project=name, level="team" if level == "team" else "org"),
                local_embedder,
                settings=Settings(home=home),
            )
        )
        for level, name in (("team", "payments"), ("org", "globex"))
    }
    for level, single in alone.items():
        plain = single.search(QUERY).memories[0]
        hit = next(hit for hit in recall.memories if hit.scope == level)
        assert hit.relevance == pytest.approx(plain.relevance * SCOPE_WEIGHTS[plain.scope])
        assert plain.scope == level
        single.close()
    assert recall.tokens == sum(hit.memory.tokens for hit in recall.memories)


@promise("scopes:cascade")
def test_limit_filters_floor_and_the_unproven_draw_hold_for_the_whole_answer(
    open_team_bank: OpenBank, home: Path, local_embedder: Embedder
) -> None:
    bank = open_team_bank()
    bank.record(title=RETRY[0], content=RETRY[1], outcome="success", tags=["net"])
    plant(home, local_embedder, "team", "payments", title=OTHER[0][0], content=OTHER[0][1], tags=("net",))
    plant(home, local_embedder, "org", "globex", title=OTHER[1][0], content=OTHER[1][1], confidence=0.4)
    plant(
        home, local_embedder, "org", "globex", title="Water the plants", content="Basil wants water every second day."
    )
    assert [hit.scope for hit in bank.search(QUERY, limit=1).memories] == ["project"]
    assert bank.search(QUERY, limit=0, unproven=0).delivered == ()
    assert [hit.scope for hit in bank.search(QUERY, tags=["net"]).delivered] == ["project", "team"]
    assert bank.search(QUERY, outcome="failure").delivered == ()
    found = bank.search(QUERY)
    assert [(hit.scope, hit.unproven) for hit in found.delivered] == [
        ("project", False),
        ("team", False),
        ("org", True),
    ]
    assert bank.search(QUERY, unproven=0).unproven == ()
    assert bank.search(QUERY, min_confidence=0.3).unproven == ()
    assert len(bank.search(QUERY, min_confidence=0.3).memories) == 3


@promise(
    "scopes:same-text",
    "Of one text in two scopes, and of a promoted memory and its source, the most specific is shown and names the "
    "other.",
    source="spec/contextd section 5",
)
def test_of_one_text_in_two_scopes_the_most_specific_is_shown_and_names_the_other(
    open_team_bank: OpenBank, home: Path, local_embedder: Embedder
) -> None:
    bank = open_team_bank()
    own = bank.record(title=RETRY[0], content=RETRY[1], outcome="success")
    team = plant(home, local_embedder, "team", "payments", title=RETRY[0], content=RETRY[1], confidence=0.95)
    hits = bank.search(QUERY).delivered
    assert [(hit.id, hit.duplicates) for hit in hits] == [(own.id, (team.id,))]
    for _ in range(4):
        bank.feedback(own.id, helpful=False)
    assert bank.get(own.id).confidence < 0.7
    recall = bank.search(QUERY)
    assert recall.memories == ()
    assert [hit.id for hit in recall.unproven] == [own.id]


@promise(
    "scopes:conflict",
    "What says the opposite of a more specific, believed memory gives way and is named in the hit or in the warnings.",
    source="spec/contextd section 5",
)
def test_what_contradicts_a_more_specific_scope_gives_way_and_is_named(
    open_team_bank: OpenBank, home: Path, local_embedder: Embedder
) -> None:
    bank = open_team_bank()
    own = bank.record(title=NEVER_RETRY[0], content=NEVER_RETRY[1], outcome="failure")
    team = plant(home, local_embedder, "team", "payments", title=RETRY[0], content=RETRY[1], confidence=0.95)
    recall = bank.search(QUERY)
    assert [(hit.id, hit.conflicts) for hit in recall.memories] == [(own.id, (team.id,))]
    only = bank.search(QUERY, outcome="success")
    assert only.delivered == ()
    assert team.id in " ".join(only.warnings)
    assert own.id in " ".join(only.warnings)
    for _ in range(12):
        bank.feedback(own.id, helpful=False)
    assert bank.get(own.id).confidence < 0.5
    assert [hit.id for hit in bank.search(QUERY).memories] == [team.id]


@promise("trust:power")
def test_a_claim_of_the_project_hides_nothing_that_stands_higher_in_a_wider_scope(
    open_team_bank: OpenBank, home: Path, local_embedder: Embedder
) -> None:
    bank = open_team_bank()
    team = plant(home, local_embedder, "team", "payments", title=RETRY[0], content=RETRY[1])
    same = bank.record(title=RETRY[0], content=RETRY[1], outcome="success", source="mcp")
    opposite = bank.record(title=NEVER_RETRY[0], content=NEVER_RETRY[1], outcome="failure", source="mcp")
    assert {hit.id for hit in bank.search(QUERY).memories} == {team.id, same.id, opposite.id}


@promise("trust:power")
def test_of_one_text_the_memory_that_stands_higher_is_shown(open_team_bank: OpenBank) -> None:
    bank = open_team_bank()
    own = bank.record(title=RETRY[0], content=RETRY[1], outcome="success", confidence=0.75)
    claim = bank.record(title=RETRY[0], content=RETRY[1], outcome="success", source="mcp", confidence=1.0)
    assert [(hit.id, hit.duplicates) for hit in bank.search(QUERY).memories] == [(own.id, (claim.id,))]


@promise("scopes:same-text")
def test_a_source_in_the_answer_stands_for_what_was_promoted_from_it(
    open_team_bank: OpenBank, home: Path, local_embedder: Embedder
) -> None:
    bank = open_team_bank()
    own = bank.record(title=RETRY[0], content=RETRY[1], outcome="success")
    team = plant(home, local_embedder, "team", "payments", title=OTHER[0][0], content=OTHER[0][1])
    assert [hit.scope for hit in bank.search(QUERY).memories] == ["project", "team"]
    store = wider(home, "team", "payments")
    with store.transaction() as transaction:
        transaction.memories.link(
            Link(source=team.id, target=str(Reference.to(bank.scope, own.id)), kind=PROMOTED_FROM)
        )
    store.close()
    assert [(hit.id, hit.duplicates) for hit in bank.search(QUERY).memories] == [(own.id, (team.id,))]
    bank.delete(own.id)
    assert [hit.id for hit in bank.search(QUERY).memories] == [team.id]


@promise(
    "scopes:own-bank",
    "Deliveries, ratings and outcomes are logged and counted in the memory's own bank, once per session, without the "
    "query; a session's outcome is shared over all scopes.",
    source="issue 4 Scopes",
)
def test_deliveries_and_ratings_are_kept_where_the_memory_lives_without_the_query(
    open_team_bank: OpenBank, home: Path, local_embedder: Embedder
) -> None:
    bank = open_team_bank(session="the session of alice")
    own = bank.record(title=RETRY[0], content=RETRY[1], outcome="success")
    team = plant(home, local_embedder, "team", "payments", title=OTHER[0][0], content=OTHER[0][1])
    for _ in range(2):
        bank.search(QUERY)
    store = wider(home, "team", "payments")
    logs = store.deliveries.recalls(limit=0)
    assert [[entry.memory_id for entry in log.entries] for log in logs] == [[team.id], [team.id]]
    assert {log.query for log in logs} == {""}
    assert not any("alice" in log.session for log in logs)
    assert (store.memories.get(team.id).usage_count, len(store.evidence.signals(team.id))) == (2, 0)
    assert bank.get(own.id).usage_count == 2
    rating = bank.feedback(team.id, helpful=True, rater="agent")
    assert rating.counted
    assert not bank.feedback(team.id, helpful=True, rater="agent").counted
    assert bank.outcome(team.id, succeeded=True, session="run").recorded
    assert not bank.outcome(team.id, succeeded=True, session="run").recorded
    assert bank.sessions.outcome(bank.session, True).credited
    assert {signal.type for signal in store.evidence.signals(team.id)} == {"usage", "explicit", "outcome"}
    assert not any("alice" in signal.session or signal.session == "run" for signal in store.evidence.signals(team.id))
    store.close()
    assert bank.memories.history(team.id)
    assert bank.update(team.id, title="Retry flaky calls of a network").version == 2


@promise("scopes:own-bank")
def test_a_sessions_outcome_credits_what_every_scope_has_shown_in_equal_parts(
    open_team_bank: OpenBank, home: Path, local_embedder: Embedder
) -> None:
    bank = open_team_bank()
    own = bank.record(title=RETRY[0], content=RETRY[1], outcome="success")
    team = plant(home, local_embedder, "team", "payments", title=OTHER[1][0], content=OTHER[1][1])
    other = open_team_bank("till")
    other.search(QUERY, session="s")
    brief = bank.briefing(QUERY, session="s", budget=1_000)
    assert [item.scope for item in brief.items] == ["project", "team"]
    assert "scope team" in brief.text
    report = bank.sessions.outcome("s", succeeded=True)
    assert {credit.memory_id for credit in report.credited} == {own.id, team.id}
    store = wider(home, "team", "payments")
    weights = [signal.weight for signal in store.evidence.signals(team.id) if signal.type == "outcome"]
    store.close()
    mine = [event for event in bank.memories.history(own.id) if event.kind == "outcome"]
    assert len(weights) == len(mine) == 1
    assert weights[0] == pytest.approx(294_117_647 // 2, abs=1)
    assert bank.sessions.outcome("s", succeeded=True).credited == ()
    assert bank.briefing(QUERY, session="s", budget=1_000, repeat=False).items == ()


@promise(
    "scopes:briefing",
    "A briefing cascades with and without a task and prints each item's scope.",
    source="issue 4 Injection",
)
def test_a_briefing_without_a_task_cascades_too(open_team_bank: OpenBank, home: Path, local_embedder: Embedder) -> None:
    bank = open_team_bank()
    bank.record(title=RETRY[0], content=RETRY[1], outcome="success")
    plant(home, local_embedder, "team", "payments", title=RETRY[0], content=RETRY[1])
    plant(
        home, local_embedder, "org", "globex", title="Water the plants", content="Basil wants water every second day."
    )
    assert [item.scope for item in bank.briefing(budget=1_000).items] == ["project", "org"]


@promise("scopes:briefing")
def test_a_briefing_of_a_team_alone_forgets_nothing_of_what_the_session_met(
    open_team_bank: OpenBank, home: Path, local_embedder: Embedder
) -> None:
    bank = open_team_bank()
    own = bank.record(title=RETRY[0], content=RETRY[1], outcome="success")
    first = bank.briefing(QUERY, session="s")
    plant(home, local_embedder, "team", "payments", title=OTHER[0][0], content=OTHER[0][1])
    second = bank.briefing(QUERY, session="s", repeat=False)
    assert [[item.scope for item in brief.items] for brief in (first, second)] == [["project"], ["team"]]
    met = bank._context.store().deliveries.exposure("s")
    assert met is not None
    assert [(one.memory_id, one.how) for one in met.shown] == [(own.id, "injected")]
    assert met.tokens == first.tokens + second.tokens


@promise(
    "scopes:robust",
    "A team or org that is damaged, busy or of another embedder is left out and named; the project's answer stands.",
    source="issue 4 Scopes",
)
def test_a_wider_scope_that_cannot_be_searched_is_named_and_takes_nothing_away(
    open_team_bank: OpenBank, home: Path, local_embedder: Embedder
) -> None:
    bank = open_team_bank()
    own = bank.record(title=RETRY[0], content=RETRY[1], outcome="success")
    plant(home, HashingEmbedder(), "team", "payments", title=OTHER[0][0], content=OTHER[0][1])
    plant(home, local_embedder, "org", "globex", title=OTHER[1][0], content=OTHER[1][1])
    recall = bank.search(QUERY)
    assert [hit.scope for hit in recall.memories] == ["project", "org"]
    assert "team 'payments'" in recall.warnings[0]
    assert bank.briefing(budget=1_000).warnings
    org = next((home / "banks").rglob("org--*.db"))
    bank.close()
    for log in (*org.parent.glob("org--*-wal"), *org.parent.glob("org--*-shm")):
        log.unlink()
    org.write_bytes(b"no bank" * 1_000)
    again = open_team_bank()
    recall = again.search(QUERY)
    assert [hit.id for hit in recall.memories] == [own.id]
    assert any("org 'globex'" in warning for warning in recall.warnings)
    assert again.feedback(own.id, helpful=True).counted
    elsewhere = open_team_bank("till")
    assert elsewhere.feedback(own.id, helpful=True).counted
    with pytest.raises(StoreCorrupt):
        elsewhere.feedback("nobody", helpful=True)


@promise(
    "scopes:free",
    "Searching makes no bank, and a team or org costs a search no statement until it has a bank.",
    source="issue 4 Scopes",
)
def test_searching_makes_no_bank_and_a_bank_without_a_team_does_nothing_more(
    open_team_bank: OpenBank, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    run = ConnectionSource.run

    def counted(self: ConnectionSource, sql: str, values: object = ()) -> object:
        statements.append(sql)
        return run(self, sql, values)  # type: ignore[arg-type]

    alone, member = open_team_bank("shop", team="", org=""), open_team_bank("till")
    for bank in (alone, member):
        for title, content in (RETRY, *OTHER):
            bank.record(title=title, content=content, outcome="success")
        bank.search(QUERY)
    monkeypatch.setattr(ConnectionSource, "run", counted)
    counts = []
    for bank in (alone, member):
        statements.clear()
        bank.search(QUERY)
        counts.append(len(statements))
    assert counts[0] == counts[1]
    assert [path.name.split("--")[0] for path in (home / "banks").rglob("*--*.db")] == []


@promise("scopes:cascade")
def test_the_level_of_a_scope_is_checked() -> None:
    with pytest.raises(InvalidInput):
        Scope(tenant="acme", project="p", level="galaxy")  # type: ignore[arg-type]
