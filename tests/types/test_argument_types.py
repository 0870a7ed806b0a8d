"""A program that is not type-checked gets an error of the tree for an argument of another type, and nothing is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promises import promise
from reasoningbank import Bank
from reasoningbank.errors import InvalidConfidence, InvalidInput
from reasoningbank.types.graph import Node

LESSON: dict[str, Any] = {"title": "Prune figs", "content": "Prune figs in late winter.", "outcome": "success"}
WRONG: dict[str, Callable[[Any, str], object]] = {
    "title must be a text, not 1 (int)": lambda bank, _: bank.record(**LESSON | {"title": 1}),
    "content must be a text, not None (NoneType)": lambda bank, _: bank.record(**LESSON | {"content": None}),
    "tags must be a list of texts, not 'figs' (str)": lambda bank, _: bank.record(**LESSON, tags="figs"),
    "tags must be a list of texts, not 5 (int)": lambda bank, _: bank.record(**LESSON, tags=5),
    "tags must be a text, not 5 (int)": lambda bank, _: bank.record(**LESSON, tags=[5]),
    "confidence must be a number, not 'high' (str)": lambda bank, _: bank.record(**LESSON, confidence="high"),
    "query must be a text, not None (NoneType)": lambda bank, _: bank.search(None),
    "limit must be a whole number, not '5' (str)": lambda bank, _: bank.search("figs", limit="5"),
    "task must be a text, not 5 (int)": lambda bank, _: bank.briefing(5),
    "budget must be a whole number, not 'much' (str)": lambda bank, _: bank.briefing("figs", budget="much"),
    "memory_id must be a text, not None (NoneType)": lambda bank, _: bank.get(None),
    "vouched must be True or False, not 'no' (str)": lambda bank, _: bank.record(**LESSON, vouched="no"),
    "reverted must be True or False, not 'no' (str)": lambda bank, name: bank.curation.report_stability(
        name, reverted="no"
    ),
    "human or agent, not 'Agent'": lambda bank, name: bank.get(name, reader="Agent"),
    "human or agent, not 'cat'": lambda bank, name: bank.feedback(name, helpful=True, rater="cat"),
    "succeeded must be True or False, not 'yes' (str)": lambda bank, _: bank.sessions.outcome("s", "yes"),
    "helpful must be True or False, not 'no' (str)": lambda bank, name: bank.feedback(name, helpful="no"),
    "succeeded must be True or False, not None (NoneType)": lambda bank, name: bank.outcome(name, succeeded=None),
    "tags must be a list of texts, not 'ripe' (str)": lambda bank, name: bank.update(name, tags="ripe"),
    "states must be a list of texts, not 'active' (str)": lambda bank, _: bank.memories.list(states="active"),
    "offset must be a whole number, not 1.5 (float)": lambda bank, _: bank.memories.list(offset=1.5),
    "each of nodes must be a Node, not {'id': 'x'} (dict)": lambda bank, _: bank.graph.add([{"id": "x"}]),
    "nodes must be a list of Node": lambda bank, _: bank.graph.add(Node(id="x", label="Event", text="It rained.")),
    "budget cannot be negative: -1": lambda bank, _: bank.branches.briefing("figs", -1),
    "seeds must be a Mapping, not ['x'] (list)": lambda bank, _: bank.graph.walk(["x"]),
    "options must be a ConsolidationOptions": lambda bank, _: bank.curation.consolidate({"dry_run": True}),
}


@promise(
    "types:arguments",
    "An argument of another type than the method takes is an error that names the argument, what it must be and what "
    "was given; nothing is stored.",
    source="issue 10",
)
@pytest.mark.parametrize("said", WRONG)
def test_an_argument_of_another_type_is_named(local_bank: Bank, said: str) -> None:
    memory = local_bank.record(**LESSON)
    with pytest.raises((InvalidInput, InvalidConfidence)) as error:
        WRONG[said](local_bank, memory.id)
    assert said in error.value.message
    assert error.value.hint
    assert local_bank.memories.list() == (memory,)
    assert local_bank.graph.list() == ()
