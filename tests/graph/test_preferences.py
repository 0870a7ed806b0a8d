"""Preferences: shown to whom they belong and to nobody else, newest first, with the history kept."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.walked_graphs import MOMENT, node
from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import InvalidInput, InvalidNode
from reasoningbank.graph.provenance import add, preferences
from reasoningbank.storage.sqlite_memory import ProcessStorage
from reasoningbank.storage.store import Store
from reasoningbank.testing import FrozenClock
from reasoningbank.types.graph import Node
from reasoningbank.types.graph_search import Preference
from reasoningbank.types.scope import Scope


def _texts(found: tuple[Preference, ...]) -> list[str]:
    return [each.text for each in found]


@promise(
    "memoria:P18",
    "Preferences belong to a user or a role, are shown to nobody else, and a newer one takes the place of an older "
    "one that is kept and linked.",
    source="spec/memoria_haios P18",
)
def test_feedback_becomes_a_preference_that_its_user_gets_first(open_bank: OpenBank, clock: FrozenClock) -> None:
    """Tables, no pie charts, dark theme; light theme from now on takes the place of dark; nobody else gets any."""
    bank = open_bank()
    tables = bank.preferences.add("report_style", "Tables, no pie charts.", user="u_1248", conv_id="c1")
    clock.advance(timedelta(minutes=1))
    dark = bank.preferences.add("theme", "Dark theme.", user="u_1248")
    assert _texts(bank.preferences.list(user="u_1248")) == ["Dark theme.", "Tables, no pie charts."]
    assert bank.preferences.list(user="u_0911") == ()
    assert bank.preferences.list(role="analyst") == ()
    clock.advance(timedelta(days=1))
    light = bank.preferences.add("Theme", "Light theme from now on.", user="u_1248")
    assert _texts(bank.preferences.list(user="u_1248")) == ["Light theme from now on.", "Tables, no pie charts."]
    whole = bank.preferences.list(user="u_1248", history=True)
    assert [(each.id, each.replaced_by) for each in whole] == [(light.id, ""), (tables.id, ""), (dark.id, light.id)]
    bank.close()
    assert _texts(open_bank().preferences.list(user="u_1248", preference_type="theme")) == ["Light theme from now on."]


@promise("memoria:P18")
def test_what_was_replaced_is_kept_and_linked_by_a_sentence(store: Store) -> None:
    """The edge runs from the new to the old preference and says so; the old node is as it was."""
    first = _preference("theme", "Dark theme.", user="ines")
    second = _preference("theme", "Light theme.", user="ines", minutes=5)
    for each in (first, second):
        with store.transaction() as transaction:
            add(transaction, each)
    (edge,) = store.graph.edges_of([first.id])
    assert (edge.source, edge.target, edge.tags) == (second.id, first.id, ("supersedes", "preference"))
    assert edge.text == "The wish 'Light theme.' of ines replaces the earlier wish 'Dark theme.'."
    assert store.graph.nodes([first.id])[first.id] == first
    assert store.check().problems == ()


@promise("memoria:P18")
def test_the_same_words_once_more_add_nothing(open_bank: OpenBank, clock: FrozenClock) -> None:
    """Also with other case and punctuation; an older wish that comes back is a new one."""
    bank = open_bank()
    dark = bank.preferences.add("theme", "Dark theme.", user="ines")
    assert bank.preferences.add("theme", "dark theme", user="ines").id == dark.id
    clock.advance(timedelta(days=1))
    bank.preferences.add("theme", "Light theme.", user="ines")
    clock.advance(timedelta(days=1))
    again = bank.preferences.add("theme", "Dark theme.", user="ines")
    assert again.id != dark.id
    assert _texts(bank.preferences.list(user="ines", history=True)) == ["Dark theme.", "Light theme.", "Dark theme."]


@promise("memoria:P18")
def test_what_was_replaced_holds_again_when_the_newer_is_deleted(open_bank: OpenBank, clock: FrozenClock) -> None:
    """Deleting a preference leaves no edge behind and gives the one before it back."""
    bank = open_bank()
    bank.preferences.add("theme", "Dark theme.", user="ines")
    clock.advance(timedelta(days=1))
    bank.graph.delete(bank.preferences.add("theme", "Light theme.", user="ines").id)
    assert _texts(bank.preferences.list(user="ines", history=True)) == ["Dark theme."]
    assert bank.admin.check().problems == ()


@promise("memoria:P18")
def test_a_roles_preference_holds_for_everybody_in_it_unless_they_have_their_own(open_bank: OpenBank) -> None:
    """One's own comes first and hides the role's of the same type; the role's of other types follow."""
    bank = open_bank()
    bank.preferences.add("theme", "Dark theme.", role="Supply Planner")
    bank.preferences.add("tone", "Short sentences.", role="Supply Planner")
    own = bank.preferences.add("theme", "Light theme.", user="ines")
    assert _texts(bank.preferences.list(user="ines", role="supply_planner")) == ["Light theme.", "Short sentences."]
    assert _texts(bank.preferences.list(user="tom", role="supply planner")) == ["Dark theme.", "Short sentences."]
    assert _texts(bank.preferences.list(user="tom")) == []
    assert _texts(bank.preferences.list(user="ines", role="buyer")) == ["Light theme."]
    hidden = bank.preferences.list(user="ines", role="supply planner", history=True)[-1]
    assert (hidden.text, hidden.replaced_by) == ("Dark theme.", own.id)


@promise("memoria:P18")
def test_the_shipped_preferences_belong_to_their_users(shop_bank: Bank) -> None:
    """Imported preferences are found like captured ones."""
    assert _texts(shop_bank.preferences.list(user="oskar")) == [
        "The managing director wants costs as a table with one line per decision, no pie charts, and the assumption "
        "beside each number."
    ]
    assert shop_bank.preferences.list(user="agnes") == ()


@promise("memoria:P18")
def test_the_next_question_of_the_same_user_gets_the_preference_first(shop_bank: Bank) -> None:
    """A search that says who asks puts their preferences before the paths; one of somebody else does not."""
    question = "margin per parcel of the carrier"
    shop_bank.preferences.add("theme", "Dark theme.", user="u_1248")
    mine = shop_bank.graph.search(question, user="u_1248").context
    assert mine.text.splitlines()[2:4] == ["What the reader of the answer wants:", "| theme: Dark theme."]
    assert mine.paths
    for other in (shop_bank.graph.search(question), shop_bank.graph.search(question, user="u_0911", role="theme")):
        assert "Dark theme." not in other.context.text
        assert other.context.preferences == ()


@promise("memoria:P18")
def test_an_imported_preference_without_an_owner_is_its_conversations(store: Store) -> None:
    """It belongs to the one person who asked in that conversation; with two of them, to nobody."""
    asked = {"user_id": "ines", "user_role": "planner"}
    nodes = [
        _request("r1", "one", asked),
        _request("r2", "two", asked),
        _request("r3", "two", {"user_id": "tom"}),
        node("p1", "Tables.", "UserPreference", conv_id="one", fields={"preference_type": "style"}),
        node("p2", "Charts.", "UserPreference", conv_id="two", fields={"preference_type": "style"}),
    ]
    with store.transaction() as transaction:
        transaction.graph.put_nodes([(each, "") for each in nodes])
    assert _texts(preferences(store, user="ines")) == ["Tables."]
    assert preferences(store, user="tom") == ()


@promise("memoria:P18")
def test_whose_it_is_must_be_said(open_bank: OpenBank) -> None:
    """Neither nor both owners, an empty type or text, and a question for nobody are refused; nothing is stored."""
    bank = open_bank()
    for owner in ({}, {"user": "ines", "role": "buyer"}, {"user": " "}):
        with pytest.raises(InvalidNode, match=r"^user:"):
            bank.preferences.add("theme", "Dark.", **owner)
    with pytest.raises(InvalidNode, match=r"^preference_type:"):
        bank.preferences.add(" ", "Dark.", user="ines")
    with pytest.raises(InvalidNode, match=r"^text:"):
        bank.preferences.add("theme", " ", user="ines")
    with pytest.raises(InvalidInput, match=r"^user:"):
        bank.preferences.list()
    assert bank.preferences.list(user="ines", history=True) == ()


@promise("memoria:P18")
def test_a_preference_holds_no_secret(open_bank: OpenBank) -> None:
    """What looks like a key is replaced before it is stored."""
    kept = open_bank().preferences.add("login", "Use ghp_" + "a1B2" * 9 + " for all.", user="ines")
    assert "a1B2" not in kept.text


@promise("memoria:P18")
@settings(max_examples=30)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from([("ines", ""), ("tom", ""), ("", "buyer")]),
            st.sampled_from(["theme", "tone"]),
            st.sampled_from(["a", "b", "c"]),
        ),
        max_size=14,
    )
)
def test_of_one_type_and_owner_only_the_last_word_holds(steps: list[tuple[tuple[str, str], str, str]]) -> None:
    """Whatever is said in which order: what holds is what was said last, and all else is history."""
    store = ProcessStorage().open(Scope(tenant="t", project="p"))
    last: dict[tuple[tuple[str, str], str], str] = {}
    changes = 0
    for number, ((user, role), kind, text) in enumerate(steps):
        with store.transaction() as transaction:
            add(transaction, _preference(kind, text, user=user, role=role, minutes=number))
        changes += last.get(((user, role), kind)) != text
        last[(user, role), kind] = text
    for user, role in (("ines", ""), ("tom", ""), ("", "buyer")):
        found = preferences(store, user=user, role=role)
        assert {each.preference_type: each.text for each in found} == {
            kind: text for (owner, kind), text in last.items() if owner == (user, role)
        }
        whole = preferences(store, user=user, role=role, history=True)
        assert [each for each in whole if not each.replaced_by] == list(found)
        ids = {each.id for each in whole}
        assert all(each.replaced_by in ids for each in whole if each.replaced_by)
    total = sum(
        len(preferences(store, user=u, role=r, history=True)) for u, r in (("ines", ""), ("tom", ""), ("", "buyer"))
    )
    assert total == changes


def _preference(kind: str, text: str, *, user: str = "", role: str = "", minutes: int = 0) -> Node:
    owner = {"user_id": user} if user else {"user_role": role}
    return Node(
        label="UserPreference",
        text=text,
        fields={"preference_type": kind, **owner},
        ingestion_time=MOMENT + timedelta(minutes=minutes),
    )


def _request(name: str, conversation: str, fields: dict[str, str]) -> Node:
    return node(name, "What is up?", "UserRequest", conv_id=conversation, fields=fields)
