"""What the tools of the profile ``graph`` do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from reasoningbank.errors import InvalidInput, NodeNotFound
from reasoningbank.mcp.arguments import Arguments
from reasoningbank.mcp.calls import Answer, Caller
from reasoningbank.mcp.memory_tools import unknown_project
from reasoningbank.mcp.schemas import (
    GRAPH_ADD,
    GRAPH_GET,
    GRAPH_LINK,
    GRAPH_PATHS,
    GRAPH_SEARCH,
    LESSON_SEARCH,
    REMEMBER,
)
from reasoningbank.mcp.text import PREFACE, cut, fitted

if TYPE_CHECKING:
    from reasoningbank.mcp.banks import Banks
    from reasoningbank.mcp.memory_tools import Verb
    from reasoningbank.types.conversation import QuestionAnswer

MOST_NODES, MOST_LESSONS, MOST_PATHS, MOST_SHOWN = 20, 20, 20, 200
MAX_BUDGET = 6_000
"""Most tokens of a context over MCP: clients cut longer answers off."""
_LISTS = ("analysis_types", "metrics")


def search(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Answer a question from graph and lessons; of a project that has no bank, nothing, and makes none."""
    from reasoningbank.context import checked_limit
    from reasoningbank.search.searches import usable_query
    from reasoningbank.types.conversation import QuestionAnswer, QuestionPlan

    query, session = usable_query(arguments.text("query")), arguments.session(caller.session)
    limit, budget = checked_limit(arguments.whole("limit", 3)), arguments.whole("budget", 2_000)
    if budget < 0:
        raise InvalidInput(f"a budget cannot be negative: {budget}", hint="Name the most tokens, for example 2000.")
    project = _known(banks, caller, arguments)
    if project is None:
        said = unknown_project(arguments.optional_text("project_id") or "")
        return _searched(QuestionAnswer(plan=QuestionPlan(question=query), message=said))
    with banks.use(caller.tenant, project) as bank:
        found = bank.questions.ask(
            query,
            ask=arguments.has("ask") and arguments.flag("ask"),
            clarification=arguments.optional_text("clarification") or "",
            nodes=min(limit, MOST_NODES),
            budget=min(budget, MAX_BUDGET),
            user=arguments.optional_text("user_id") or "",
            role=arguments.optional_text("user_role") or "",
            session=session,
        )
    return _searched(found)


def add(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Keep one node; the same one again changes nothing."""
    from reasoningbank.conversations.format import derived_id
    from reasoningbank.graph.records import Reader
    from reasoningbank.types.graph import LABEL_FIELDS, LABELS

    label, text = arguments.text("label"), arguments.text("text")
    conv_id = arguments.optional_text("conv_id") or ""
    allowed = LABEL_FIELDS[label] if label in LABELS else ()
    given: dict[str, object] = {}
    for name in GRAPH_ADD.inputs:
        if name in {"label", "text", "id", "conv_id", "tags", "project_id"} or not arguments.has(name):
            continue
        if allowed and name not in allowed:
            raise InvalidInput(f"{name}: is no field of {label}", hint=f"Its fields are {', '.join(allowed)}.")
        given[name] = list(arguments.texts(name)) if name in _LISTS else arguments.text(name)
    record = {"label": label, "text": text, "conv_id": conv_id, "tags": list(arguments.texts("tags")), **given}
    record["id"] = arguments.optional_text("id") or derived_id("n", label, conv_id, text)
    reader = Reader(datetime.now(UTC))
    reader.node(record)
    with banks.use(caller.tenant, banks.project(arguments.optional_text("project_id"))) as bank:
        added = bank.graph.add(nodes=reader.draft.nodes)
    (node,) = added.nodes
    said = f"{'Added' if added.new else 'Known already:'} {node.label} {node.id}."
    return Answer(fields={"id": node.id, "new": bool(added.new), "message": said}, text=said)


def link(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Connect two nodes; the same sentence again changes nothing."""
    from reasoningbank.conversations.format import derived_id
    from reasoningbank.conversations.remember import why_bare
    from reasoningbank.types.graph import Edge

    source, target, text = (arguments.text(name) for name in ("source", "target", "text"))
    if problem := why_bare(text, (source, target)):
        raise InvalidInput(
            f"text: {problem}", hint="Say in a whole sentence why and how the one has to do with the other."
        )
    edge = Edge(
        id=derived_id("e", source, target, text),
        source=source,
        target=target,
        text=text,
        weight=arguments.number("weight", 0.0),
        tags=tuple(dict.fromkeys(arguments.texts("tags"))),
    )
    project = _known(banks, caller, arguments)
    if project is None:
        raise NodeNotFound(unknown_project(arguments.optional_text("project_id") or ""))
    with banks.use(caller.tenant, project) as bank:
        added = bank.graph.add(edges=[edge])
    kept = added.edges[0]
    said = f"{'Linked' if added.new else 'Known already:'} {kept.id}, weight {kept.weight:g} ({kept.band})."
    return Answer(fields={"id": kept.id, "band": kept.band, "new": bool(added.new), "message": said}, text=said)


def get(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Show a node, or the nodes of a conversation."""
    from reasoningbank.operations.graph_fields import node_fields, view_fields

    node_id, conv_id = arguments.optional_text("id"), arguments.optional_text("conv_id")
    if (node_id is None) == (conv_id is None):
        raise InvalidInput("graph_get needs either id or conv_id", hint="Pass the id of a node, or of a conversation.")
    project = _known(banks, caller, arguments)
    if project is None:
        raise NodeNotFound(unknown_project(arguments.optional_text("project_id") or ""))
    with banks.use(caller.tenant, project) as bank:
        if node_id is not None:
            return _shown(view_fields(bank.graph.get(node_id)))
        nodes = bank.graph.conversation(conv_id or "")
    return _shown({"nodes": [node_fields(node) for node in nodes[:MOST_SHOWN]]})


def paths(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Walk from known nodes."""
    from reasoningbank.context import checked_limit
    from reasoningbank.graph.render import to_llm_context
    from reasoningbank.operations.graph_answers import walk_fields
    from reasoningbank.types.walk import WalkParameters, WalkResult, WalkSeed, check_seeds

    seeds = dict.fromkeys(arguments.texts("seeds"), 1.0)
    check_seeds(seeds)
    parameters = WalkParameters(
        tags=tuple(dict.fromkeys(arguments.texts("tags"))),
        max_depth=arguments.whole("depth", 5),
        max_paths=max(1, min(checked_limit(arguments.whole("limit", 10)), MOST_PATHS)),
    )
    project = _known(banks, caller, arguments)
    if project is None:
        unknown = tuple(WalkSeed(id=name, score=1.0, found=False, reason="seed_not_found") for name in seeds)
        result = WalkResult(seeds=unknown)
    else:
        with banks.use(caller.tenant, project) as bank:
            result = bank.graph.walk(seeds, parameters)
    context = to_llm_context(result, budget=MAX_BUDGET)
    fields = {**walk_fields(result), "context": context.text, "tokens": context.tokens}
    missing = [seed.id for seed in result.seeds if not seed.found]
    said = f"There is no node {', '.join(repr(name[:80]) for name in missing)}." if missing else ""
    return _answered(fields, "\n".join(part for part in (said, context.text or "No path begins there.") if part))


def lessons(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Find lessons."""
    from reasoningbank.context import checked_limit, clean_tags
    from reasoningbank.operations.graph_fields import lesson_hit_fields
    from reasoningbank.search.searches import usable_query
    from reasoningbank.types.graph import check_graph_id
    from reasoningbank.types.lesson import LessonAnswer

    query, session = usable_query(arguments.text("query")), arguments.session(caller.session)
    limit, tags = checked_limit(arguments.whole("limit", 5)), clean_tags(arguments.texts("tags"))
    linked = tuple(check_graph_id("linked_to", name) for name in arguments.texts("linked_to"))
    project = _known(banks, caller, arguments)
    if project is None:
        found = LessonAnswer(query=query, message=unknown_project(arguments.optional_text("project_id") or ""))
    else:
        with banks.use(caller.tenant, project) as bank:
            found = bank.lessons.search(
                query,
                limit=min(limit, MOST_LESSONS),
                tags=tags,
                linked_to=linked if arguments.has("linked_to") else None,
                session=session,
            )
    fields = {"lessons": [lesson_hit_fields(hit) for hit in found.lessons], "message": found.message}
    return _shown(fields, found.message)


def remember(banks: Banks, caller: Caller, arguments: Arguments) -> Answer:
    """Store a finished conversation."""
    from reasoningbank.operations.graph_fields import report_fields, report_text

    with banks.use(caller.tenant, banks.project(arguments.optional_text("project_id"))) as bank:
        report = bank.conversations.remember(arguments.mapping("conversation"))
    return _answered(report_fields(report), report_text(report))


def _known(banks: Banks, caller: Caller, arguments: Arguments) -> str | None:
    """Return the project of a call that only reads; None when it is named and has no bank, which is not made then."""
    named = arguments.optional_text("project_id")
    project = banks.project(named)
    return None if named is not None and not banks.has(caller.tenant, project) else project


def _searched(found: QuestionAnswer) -> Answer:
    from reasoningbank.operations.graph_fields import answer_fields

    fields = answer_fields(found)
    fields.pop("plan")
    return _answered(fields, str(fields["context"]) or found.message)


def _shown(fields: Mapping[str, object], said: str = "") -> Answer:
    """Return fields as their own text, quoted as data."""

    def build(length: int | None) -> Answer:
        shortened = cast("dict[str, object]", _cut(fields, length))
        lines = [line for line in (said, PREFACE, json.dumps(shortened, ensure_ascii=False)) if line]
        return Answer(fields=shortened, text="\n".join(lines))

    return fitted(build)


def _answered(fields: Mapping[str, object], text: str) -> Answer:
    def build(length: int | None) -> Answer:
        return Answer(fields=cast("dict[str, object]", _cut(fields, length)), text=text)

    return fitted(build)


def _cut(value: object, length: int | None) -> object:
    """Return the value with every text in it at most so long, and lists as far as they then fit."""
    if length is None:
        return value
    if isinstance(value, str):
        return cut(value, length)
    if isinstance(value, Mapping):
        return {name: each if name == "context" else _cut(each, length) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cut(each, length) for each in value[: max(10, length)]]
    return value


GRAPH_VERBS: Mapping[str, Verb] = MappingProxyType(
    {
        GRAPH_SEARCH.name: search,
        GRAPH_ADD.name: add,
        GRAPH_LINK.name: link,
        GRAPH_GET.name: get,
        GRAPH_PATHS.name: paths,
        LESSON_SEARCH.name: lessons,
        REMEMBER.name: remember,
    }
)
"""What runs for each tool of the profile, by its name."""
