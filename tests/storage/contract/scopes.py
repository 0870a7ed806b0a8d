"""Scopes and places: nothing crosses from one scope to another; what was written outlives what wrote it."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from promises import promise
from reasoningbank.errors import ScopeViolation, StoreCorrupt, StoreUnavailable
from reasoningbank.storage.store import Storage, Store
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import CONTENT_LEG
from reasoningbank.types.records import WeightChange, WordsWorth
from reasoningbank.types.scope import LEVELS, Membership, Scope
from reasoningbank.types.signal import ProjectWeights
from storage.contract.base import (
    EAST,
    EVERYTHING,
    MODEL,
    SCOPE,
    START,
    Conformance,
    fill,
    indexed,
    lesson,
    refuses,
    signal,
    vector,
)

LONG = "n" * 999
ADVERSARIAL_NAMES = (
    "shop",
    "Shop",
    "SHOP",
    "shop ",
    " shop",
    "sho",
    "shopp",
    "shop/",
    "shop%",
    "sh_p",
    "sh%",
    "s'hop",
    'sh"op',
    "shop;--",
    "\u0455hop",
    "sho\u0440",
    "\u017fhop",
    "caf\u00e9",
    "cafe\u0301",
    "..",
    ".",
    "../shop",
    "/",
    "\\",
    "a/b",
    "a\\b",
    "a-b",
    "a_b",
    "con",
    "~",
    "$HOME",
    "*",
    "\x00",
    "shop\x00",
    "\n",
    "\u202eshop",
    "\U0001f9e0",
    LONG,
    LONG + "m",
)
"""Names that careless stores take for one another, or for something other than a name. Blank ones are left out."""


class ScopeConformance(Conformance):
    """What a store owes to its scope and its place."""

    @promise(
        "isolation:storage",
        "No adversarial tenant or project name reaches into another scope's bank.",
        source="DESIGN D9; issue 2 isolation",
    )
    @promise("contextd:20")
    def test_no_name_reaches_into_another_scope(self) -> None:
        """Prefixes, case, look-alikes, wildcards, quotes, separators and thousand characters, as project and tenant."""
        names = [name for name in ADVERSARIAL_NAMES if name.strip()]
        storage = self.storage()
        scopes = [Scope(tenant="acme", project=name) for name in names]
        scopes += [Scope(tenant=name, project="shop") for name in names]
        for number, scope in enumerate(scopes):
            _write(storage, scope, f"canary {number}")
        for number, scope in enumerate(scopes):
            store = storage.open(scope)
            try:
                assert store.scope == scope
                assert [memory.title for memory in store.memories.page(EVERYTHING, limit=0, offset=0)] == [
                    f"canary {number}"
                ]
                assert store.memories.count(EVERYTHING) == 1
                assert [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 99)] == ["m1"]
                assert store.search.matching("kiwi", EVERYTHING, 99).documents == 1
                assert len(store.evidence.signals("m1")) == 1
            finally:
                store.close()

    @promise("isolation:scopes", "A tenant is shown its own scopes only, by exact name.", source="DESIGN D9")
    def test_a_tenant_sees_the_scopes_it_has_and_no_others(self) -> None:
        """By exact name, ordered by project; an unknown tenant has none, and asking makes none."""
        storage = self.storage()
        for tenant, project in (("acme", "shop"), ("acme", "Bakery"), ("Acme", "other"), ("acme%", "x"), ("ac", "y")):
            storage.open(Scope(tenant=tenant, project=project)).close()
        assert [scope.project for scope in storage.scopes("acme")] == ["Bakery", "shop"]
        assert {scope.tenant for scope in storage.scopes("acme")} == {"acme"}
        assert [scope.project for scope in storage.scopes("Acme")] == ["other"]
        assert list(storage.scopes("nobody")) == list(storage.scopes("acm")) == list(storage.scopes("%")) == []
        assert list(storage.scopes("nobody")) == []

    @promise(
        "scopes:storage",
        "Every store keeps projects, teams and orgs of equal names apart, lists them by level, answers whether one "
        "exists without making it, and keeps a project's membership with its transactions and backups.",
        source="issue 4 Scopes",
    )
    @promise("isolation:storage")
    def test_a_project_a_team_and_an_org_of_one_name_are_three_scopes(self) -> None:
        """Whatever the name is; they are listed by level, exist once they are opened, and asking makes none."""
        storage = self.storage()
        names = [name for name in ADVERSARIAL_NAMES if name.strip()][::3]
        scopes = [Scope(tenant="acme", project=name, level=level) for level in LEVELS for name in names]
        assert not any(storage.has(scope) for scope in scopes)
        assert list(storage.scopes("acme")) == []
        for number, scope in enumerate(scopes):
            _write(storage, scope, f"canary {number}")
        assert all(storage.has(scope) for scope in scopes)
        assert not storage.has(Scope(tenant="acm", project="shop", level="team"))
        for number, scope in enumerate(scopes):
            assert _titles(storage, scope) == [f"canary {number}"]
        found = list(storage.scopes("acme"))
        assert found == sorted(scopes, key=lambda scope: (LEVELS.index(scope.level), scope.project))
        newest, count = storage.latest("acme", 2)
        assert (newest, count) == ([scopes[len(names) - 1], scopes[len(names) - 2]], len(names))
        assert storage.latest("acm", 2) == ([], 0)
        with self.directory() as directory:
            team = storage.open(Scope(tenant="acme", project="shop", level="team"))
            team.backup(directory / "team.backup")
            team.close()
            for level in ("project", "org"):
                with refuses(ScopeViolation):
                    storage.restore(Scope(tenant="acme", project="shop", level=level), directory / "team.backup")
            storage.restore(Scope(tenant="acme", project="shop", level="team"), directory / "team.backup")

    @promise("scopes:storage")
    def test_a_project_remembers_its_team_and_org(self) -> None:
        """All or nothing with its transaction, in a backup too."""
        storage = self.storage()
        store = storage.open(SCOPE)
        with self.directory() as directory:
            try:
                assert store.membership == Membership()
                member = Membership(team="te\u00e4m; --", org="o'rg\n")
                with store.transaction() as transaction:
                    transaction.set_membership(member)
                assert store.membership == member
                with suppress(LookupError), store.transaction() as transaction:
                    transaction.set_membership(Membership(team="other"))
                    raise LookupError
                assert store.membership == member
                store.backup(directory / "b")
                with store.transaction() as transaction:
                    transaction.set_membership(Membership())
                assert store.membership == Membership()
                storage.restore(SCOPE, directory / "b")
                assert store.membership == member
                assert self.reopened(storage).open(SCOPE).membership == member
            finally:
                store.close()

    @promise(
        "storage:backup",
        "A restored backup is the bank of its time; one that is damaged or of another scope is refused.",
        source="issue 2 Bank backup, restore",
    )
    def test_a_restored_backup_is_the_bank_of_its_time(self) -> None:
        """Stores that are open go on with it, and write to it."""
        storage = self.storage()
        store = storage.open(SCOPE)
        with self.directory() as directory:
            try:
                fill(store, [(lesson("m1"), indexed("kiwi")), (lesson("m2"), indexed("kiwi lamp"))])
                with store.transaction() as transaction:
                    transaction.evidence.add_signal(signal("m1", day=-40), once=True)
                    transaction.evidence.roll_up(START - timedelta(days=30), START)
                    transaction.evidence.add_signal(signal("m1", session="s2"))
                    transaction.set_words_worth(WordsWorth(factor=0.25, model_id=MODEL, memories=40))
                saved = _state(store)
                target = directory / "saved bank.backup"
                store.backup(target)
                store.backup(target)
                with store.transaction() as transaction:
                    transaction.memories.delete("m1")
                    transaction.memories.insert(lesson("m9"), indexed("zebra"))
                    transaction.set_words_worth(WordsWorth(factor=0.5, model_id=MODEL, memories=60))
                assert _state(store) != saved
                storage.restore(SCOPE, target)
                assert _state(store) == saved
                fill(store, [(lesson("m3"), indexed("zebra"))])
                again = self.reopened(storage).open(SCOPE)
                assert again.memories.get("m3") == lesson("m3")
                assert [hit.id for hit in again.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 9)] == [
                    "m1",
                    "m2",
                    "m3",
                ]
                with again.transaction() as transaction:
                    assert not transaction.evidence.add_signal(signal("m1"), once=True)
                again.close()
                storage.restore(SCOPE, target)
                assert _state(store) == saved
            finally:
                store.close()

    @promise("storage:backup")
    def test_a_backup_of_another_scope_or_a_damaged_one_is_refused(self) -> None:
        """The bank stays as it is."""
        storage = self.storage()
        other = Scope(tenant="acme", project="shop2")
        with self.directory() as directory:
            _write(storage, SCOPE, "mine")
            _write(storage, other, "theirs")
            target = directory / "theirs.backup"
            store = storage.open(other)
            store.backup(target)
            with refuses(StoreUnavailable):
                store.backup(directory / "no such directory" / "x.backup")
            store.close()
            damaged = directory / "damaged.backup"
            damaged.write_bytes(target.read_bytes()[: target.stat().st_size // 2])
            nonsense = directory / "nonsense.backup"
            nonsense.write_bytes(b"this is not a bank" * 500)
            with refuses(ScopeViolation):
                storage.restore(SCOPE, target)
            with refuses(ScopeViolation):
                storage.restore(Scope(tenant="Acme", project="shop2"), target)
            with refuses(StoreCorrupt):
                storage.restore(other, damaged)
            with refuses(StoreCorrupt):
                storage.restore(SCOPE, nonsense)
            with refuses(StoreUnavailable):
                storage.restore(SCOPE, directory / "missing.backup")
            assert _titles(storage, SCOPE) == ["mine"]
            assert _titles(storage, other) == ["theirs"]

    @promise(
        "storage:durable",
        "Everything that was written is there when the place is opened again.",
        source="issue 2 Store; spec/contextd row 39",
    )
    @promise("contextd:39")
    def test_what_was_written_is_there_when_the_place_is_opened_again(self) -> None:
        """Everything, through a new storage object; a scope that was restored without being open as well."""
        storage = self.storage()
        store = storage.open(SCOPE)
        fill(store, [(lesson("m1"), indexed("kiwi")), (lesson("m2"), indexed("lamp"))])
        with store.transaction() as transaction:
            transaction.evidence.add_signal(signal("m1", day=-40), once=True)
            transaction.evidence.roll_up(START - timedelta(days=30), START)
            transaction.evidence.add_signal(signal("m1", session="s2"), once=True)
            transaction.evidence.set_weights(
                WeightChange(at=START, weights=ProjectWeights(project=SCOPE.project, usage_beta=6.0), signal_id="s")
            )
            transaction.memories.delete("m2")
        before = _state(store)
        with self.directory() as directory:
            store.backup(directory / "b")
            store.close()
            if not self.durable:
                return
            second = self.reopened(storage)
            assert [scope.project for scope in second.scopes(SCOPE.tenant)] == [SCOPE.project]
            store = second.open(SCOPE)
            assert _state(store) == before
            assert store.model_id is not None
            store.close()
            empty = self.storage()
            empty.restore(SCOPE, directory / "b")
            store = empty.open(SCOPE)
            assert _state(store) == before
            store.close()


def _write(storage: Storage, scope: Scope, title: str) -> None:
    store = storage.open(scope)
    memory = Memory(id="m1", project=scope.project, title=title, content="c", outcome="success")
    with store.transaction() as transaction:
        transaction.memories.insert(memory, indexed("kiwi", vector(*EAST)))
        transaction.evidence.add_signal(signal("m1"), once=True)
    store.close()


def _titles(storage: Storage, scope: Scope) -> list[str]:
    store = storage.open(scope)
    titles = [memory.title for memory in store.memories.page(EVERYTHING, limit=0, offset=0)]
    store.close()
    return titles


def _state(store: Store) -> tuple[object, ...]:
    memories = list(store.memories.page(EVERYTHING, limit=0, offset=0))
    return (
        memories,
        list(store.evidence.weight_history()),
        store.words_worth,
        [(list(store.evidence.signals(memory.id)), store.evidence.aggregate(memory.id)) for memory in memories],
        [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 99)],
        [[hit.id for hit in store.search.matching(word, EVERYTHING, 99).hits] for word in ("kiwi", "lamp", "zebra")],
    )
