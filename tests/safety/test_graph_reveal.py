"""What leaves the graph is looked at for secrets, and what was found safe is not looked at again."""

from __future__ import annotations

from datetime import UTC, datetime

from promises import promise
from reasoningbank.safety.graph_text import reveal
from reasoningbank.types.graph import Edge, Node

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
KEY = "ghp_" + "a1B2" * 9


def node(name: str, text: str, status: str = "success") -> Node:
    return Node(id=name, label="AgentAction", text=text, fields={"status": status}, ingestion_time=MOMENT)


@promise("graph:hygiene")
def test_a_secret_is_replaced_every_time_whatever_was_shown_before() -> None:
    safe = [node(f"n{number}", f"Nothing to hide in {number}.") for number in range(100)]
    assert reveal(safe) == safe
    for place in (0, 63, 64, 100):
        for secret in (node("s", f"Use {KEY} for it."), node("s", "Nothing to hide in 1.", status=f"token {KEY}")):
            for _ in range(2):
                shown = reveal([*safe[:place], secret, *safe[place:]])
                assert [*shown[:place], *shown[place + 1 :]] == safe
                assert KEY not in repr(shown)
                assert "[REDACTED:github-token]" in repr(shown[place])


@promise("graph:hygiene")
def test_a_text_that_was_safe_in_one_place_is_looked_at_in_another() -> None:
    first = Edge(id="e", source="a", target="b", text="token", weight=0.5, tags=("x",), created_time=MOMENT)
    assert reveal([first]) == [first]
    second = Edge(id="e", source="a", target="b", text="token", weight=0.5, tags=(KEY,), created_time=MOMENT)
    assert KEY not in repr(reveal([second]))
