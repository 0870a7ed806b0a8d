"""``rbank graph ask`` and ``remember``."""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.cli import graph_questions as graph_asking
from reasoningbank.cli.call import Call
from reasoningbank.cli.graph_actions.options import Options, subjects_of


def ask(call: Call, subjects: Sequence[str], options: Options) -> None:
    """Plans what to look up, or asks one question back, and answers from paths and lessons."""
    from reasoningbank.graph.graph import DEFAULT_SEEDS

    (question,) = subjects_of("ask", subjects, "a query")
    graph_asking.ask(
        call,
        question,
        limit=DEFAULT_SEEDS if options["limit"] is None else options["limit"],
        budget=options["budget"],
        asks=not options["silent"],
        clarification=options["clarification"],
        user=options["user"],
        role=options["role"],
    )


def remember(call: Call, subjects: Sequence[str], options: Options) -> None:  # noqa: ARG001 - it has none of its own
    """Stores a finished conversation, once."""
    (source,) = subjects_of("remember", subjects, "a file")
    graph_asking.remember(call, source)
