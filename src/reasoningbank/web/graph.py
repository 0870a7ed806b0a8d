"""The graph and the lessons over REST: read, search, walk, add, change, delete."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from reasoningbank.errors import InvalidInput
from reasoningbank.operations.graph_answers import search_fields, walk_fields
from reasoningbank.operations.graph_fields import (
    answer_fields,
    edge_fields,
    lesson_fields,
    lesson_hit_fields,
    node_fields,
    report_fields,
    view_fields,
)
from reasoningbank.types.graph import LABEL_FIELDS, LIST_FIELDS, Edge, FieldValue, Label
from reasoningbank.types.graph_search import GraphFilter
from reasoningbank.types.walk import Preset, WalkParameters
from reasoningbank.web.requests import Desk, Fields, body_of, query_whole

if TYPE_CHECKING:
    from reasoningbank.bank import Bank

MOST = 200
"""Most nodes or lessons of one page."""
_SPECIAL = tuple(dict.fromkeys(name for names in LABEL_FIELDS.values() for name in names))


class Graph:
    """The endpoints of the graph.

    Args:
        desk: Where the banks are.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def nodes(self, request: Request) -> Response:
        """Handle ``GET /graph/nodes``: nodes in the order they were stored, by ``label``, ``tag`` and ``conv_id``."""
        labels = cast("tuple[Label, ...]", tuple(request.query_params.getlist("label")))
        condition = GraphFilter(
            labels=labels,
            tags=tuple(request.query_params.getlist("tag")),
            conv_id=request.query_params.get("conv_id"),
        )
        limit, offset = _page(request)
        found = await self._desk.use(request, lambda bank: bank.graph.list(condition, limit=limit, offset=offset))
        return JSONResponse({"nodes": [node_fields(node) for node in found]})

    async def add_node(self, request: Request) -> Response:
        """Handle ``POST /graph/nodes``: 201 for a new node, 200 for one that is there already."""
        from reasoningbank.conversations.format import derived_id
        from reasoningbank.graph.records import Reader

        body = await body_of(request)
        Fields(body, ("id", "label", "text", "conv_id", "tags", *_SPECIAL))
        reader = Reader(datetime.now(UTC))
        told = [str(body.get(name) or "") for name in ("label", "conv_id", "text")]
        reader.node({**body, "id": body.get("id") or derived_id("n", *told)})
        if reader.draft.ignored:
            raise InvalidInput(f"{next(iter(reader.draft.ignored))}: is no field of this label")
        added = await self._desk.use(request, lambda bank: bank.graph.add(nodes=reader.draft.nodes))
        return JSONResponse(node_fields(added.nodes[0]), status_code=201 if added.new else 200)

    async def node(self, request: Request) -> Response:
        """Handle ``GET /graph/nodes/{id}``: the node with its edges and lessons."""
        node_id = request.path_params["id"]
        return JSONResponse(view_fields(await self._desk.use(request, lambda bank: bank.graph.get(node_id))))

    async def change_node(self, request: Request) -> Response:
        """Handle ``PATCH /graph/nodes/{id}``: what is not named stays.

        New text is found at once, the old one no more.
        """
        node_id, body = request.path_params["id"], await body_of(request)
        fields = Fields(body, ("text", "tags", "conv_id", *_SPECIAL))
        special: dict[str, FieldValue] = {}
        for name in _SPECIAL:
            if body.get(name) is not None:
                special[name] = (fields.texts(name) or ()) if name in LIST_FIELDS else fields.text(name)
        changed = await self._desk.use(
            request,
            lambda bank: bank.graph.update(
                node_id,
                text=fields.optional("text"),
                tags=fields.texts("tags"),
                fields=special or None,
                conv_id=fields.optional("conv_id"),
            ),
        )
        return JSONResponse(node_fields(changed))

    async def delete_node(self, request: Request) -> Response:
        """Handle ``DELETE /graph/nodes/{id}``: with its edges, its links to lessons and its vectors."""
        node_id = request.path_params["id"]
        await self._desk.use(request, lambda bank: bank.graph.delete(node_id))
        return Response(status_code=204)

    async def add_edge(self, request: Request) -> Response:
        """Handle ``POST /graph/edges``: 201 for a new edge, 200 for one that is there already."""
        from reasoningbank.conversations.format import derived_id
        from reasoningbank.conversations.remember import why_bare

        fields = Fields(await body_of(request), ("id", "source", "target", "text", "weight", "tags"))
        source, target, text = (fields.text(name) for name in ("source", "target", "text"))
        if problem := why_bare(text, (source, target)):
            raise InvalidInput(f"text: {problem}", hint="Say in a whole sentence why and how they belong together.")
        weight = fields.number("weight")
        if weight is None:
            raise InvalidInput("weight: is missing; it is a number from 0 to 1")
        edge = Edge(
            id=fields.text("id") or derived_id("e", source, target, text),
            source=source,
            target=target,
            text=text,
            weight=weight,
            tags=fields.texts("tags") or (),
        )
        added = await self._desk.use(request, lambda bank: bank.graph.add(edges=[edge]))
        return JSONResponse(edge_fields(added.edges[0]), status_code=201 if added.new else 200)

    async def edge(self, request: Request) -> Response:
        """Handle ``GET /graph/edges/{id}``."""
        edge_id = request.path_params["id"]
        return JSONResponse(edge_fields(await self._desk.use(request, lambda bank: bank.edges.get(edge_id))))

    async def change_edge(self, request: Request) -> Response:
        """Handle ``PATCH /graph/edges/{id}``: text, weight and tags; the ends stay."""
        edge_id = request.path_params["id"]
        fields = Fields(await body_of(request), ("text", "weight", "tags"))
        changed = await self._desk.use(
            request,
            lambda bank: bank.edges.update(
                edge_id, text=fields.optional("text"), weight=fields.number("weight"), tags=fields.texts("tags")
            ),
        )
        return JSONResponse(edge_fields(changed))

    async def delete_edge(self, request: Request) -> Response:
        """Handle ``DELETE /graph/edges/{id}``."""
        edge_id = request.path_params["id"]
        await self._desk.use(request, lambda bank: bank.edges.delete(edge_id))
        return Response(status_code=204)

    async def search(self, request: Request) -> Response:
        """Return handle ``GET /graph/search?q=``: nodes that fit, paths from them, context within ``budget``."""
        query, limit = request.query_params.get("q", ""), query_whole(request, "limit", 3)
        budget = query_whole(request, "budget", 2_000)
        found = await self._desk.use(request, lambda bank: bank.graph.search(query, limit=limit, budget=budget))
        return JSONResponse({**search_fields(found)})

    async def walk(self, request: Request) -> Response:
        """Handle ``POST /graph/walk``: the paths from nodes that are known."""
        names = ("seeds", "tags", "preset", "max_depth", "max_branches", "min_activation", "max_paths")
        fields = Fields(await body_of(request), names)
        seeds = fields.mapping("seeds")
        if not seeds:
            raise InvalidInput("seeds: is missing; it maps ids of nodes to energies above 0")
        for name, score in seeds.items():
            if isinstance(score, bool) or not isinstance(score, (int, float)):
                raise InvalidInput(f"seeds: the energy of {name[:80]!r} must be a number")
        paths = fields.whole("max_paths", 0)
        parameters = WalkParameters(
            preset=cast("Preset", fields.text("preset", "default")),
            tags=fields.texts("tags") or (),
            max_depth=fields.whole("max_depth", 5),
            max_branches=fields.whole("max_branches", 3),
            min_activation=fields.number("min_activation", 0.005) or 0.0,
            max_paths=paths or None,
        )
        result = await self._desk.use(
            request, lambda bank: bank.graph.walk(cast("dict[str, float]", seeds), parameters)
        )
        return JSONResponse({**walk_fields(result)})

    async def conversation(self, request: Request) -> Response:
        """Handle ``GET /conversations/{conv_id}``: its nodes in the order in which they were ingested."""
        conv_id = request.path_params["conv_id"]
        found = await self._desk.use(request, lambda bank: bank.graph.conversation(conv_id))
        return JSONResponse({"conv_id": conv_id, "nodes": [node_fields(node) for node in found]})

    async def remember(self, request: Request) -> Response:
        """Handle ``POST /conversations``: stores a finished conversation, once."""
        body = await body_of(request)
        report = await self._desk.use(request, lambda bank: bank.conversations.remember(body))
        return JSONResponse(report_fields(report), status_code=201 if report.new else 200)

    async def ask(self, request: Request) -> Response:
        """Handle ``POST /questions``: paths and lessons for a question, or a question back."""
        names = ("question", "ask", "clarification", "history", "limit", "lessons", "budget", "user_id", "user_role")
        fields = Fields(await body_of(request), names)

        def work(bank: Bank) -> dict[str, object]:
            return answer_fields(
                bank.questions.ask(
                    fields.text("question"),
                    ask=fields.flag("ask", default=True),
                    clarification=fields.text("clarification"),
                    history=fields.texts("history") or (),
                    nodes=fields.whole("limit", 3),
                    lessons=fields.whole("lessons", 5),
                    budget=fields.whole("budget", 2_000),
                    user=fields.text("user_id"),
                    role=fields.text("user_role"),
                )
            )

        return JSONResponse(await self._desk.use(request, work))


class Lessons:
    """The endpoints of lessons.

    Args:
        desk: Where the banks are.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def listed(self, request: Request) -> Response:
        """Handle ``GET /lessons``: in the order they were recorded, by ``tag`` and ``linked_to``."""
        limit, offset = _page(request)
        tags, linked = request.query_params.getlist("tag"), request.query_params.getlist("linked_to")
        found = await self._desk.use(
            request,
            lambda bank: bank.lessons.list(tags=tags, linked_to=linked or None, limit=limit, offset=offset),
        )
        return JSONResponse({"lessons": [lesson_fields(lesson) for lesson in found]})

    async def search(self, request: Request) -> Response:
        """Handle ``GET /lessons/search?q=``."""
        query, limit = request.query_params.get("q", ""), query_whole(request, "limit", 5)
        tags, linked = request.query_params.getlist("tag"), request.query_params.getlist("linked_to")
        found = await self._desk.use(
            request, lambda bank: bank.lessons.search(query, limit=limit, tags=tags, linked_to=linked or None)
        )
        return JSONResponse({"lessons": [lesson_hit_fields(hit) for hit in found.lessons], "message": found.message})

    async def add(self, request: Request) -> Response:
        """Handle ``POST /lessons``."""
        fields = Fields(
            await body_of(request), ("key_lesson", "context_to_prefer", "tags", "link_nodes", "title", "outcome")
        )
        added = await self._desk.use(
            request,
            lambda bank: bank.lessons.add(
                fields.text("key_lesson"),
                fields.text("context_to_prefer"),
                fields.texts("tags") or (),
                fields.texts("link_nodes") or (),
                title=fields.text("title"),
                outcome=fields.text("outcome", "success"),
            ),
        )
        return JSONResponse(lesson_fields(added), status_code=201)

    async def get(self, request: Request) -> Response:
        """Handle ``GET /lessons/{id}``: by its row id or by the id of its memory."""
        name = _lesson_name(request)
        return JSONResponse(lesson_fields(await self._desk.use(request, lambda bank: bank.lessons.get(name))))

    async def change(self, request: Request) -> Response:
        """Handle ``PATCH /lessons/{id}``."""
        name = _lesson_name(request)
        fields = Fields(await body_of(request), ("key_lesson", "context_to_prefer", "tags", "link_nodes"))
        changed = await self._desk.use(
            request,
            lambda bank: bank.lessons.update(
                name,
                key_lesson=fields.optional("key_lesson"),
                context_to_prefer=fields.optional("context_to_prefer"),
                tags=fields.texts("tags"),
                link_nodes=fields.texts("link_nodes"),
            ),
        )
        return JSONResponse(lesson_fields(changed))

    async def delete(self, request: Request) -> Response:
        """Handle ``DELETE /lessons/{id}``: with its links; the nodes stay."""
        name = _lesson_name(request)
        await self._desk.use(request, lambda bank: bank.lessons.delete(name))
        return Response(status_code=204)


def _page(request: Request) -> tuple[int, int]:
    limit = query_whole(request, "limit", 50)
    return (min(limit, MOST) if limit > 0 else limit or MOST), query_whole(request, "offset", 0)


def _lesson_name(request: Request) -> int | str:
    name: str = request.path_params["id"]
    return int(name) if name.isascii() and name.isdigit() and len(name) < 19 else name
