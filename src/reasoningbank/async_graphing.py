"""The graph and the lessons of the Bank for asynchronous programs; the methods run in a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path

from reasoningbank.bank import Bank
from reasoningbank.domain.belief import EXPLICIT_RECORD_CONFIDENCE
from reasoningbank.domain.graph import Edge, FieldValue, Node
from reasoningbank.domain.graph_search import (
    EdgeHit,
    GraphAdded,
    GraphAnswer,
    GraphFilter,
    GraphImport,
    GraphSize,
    NodeView,
)
from reasoningbank.domain.lesson import Lesson, LessonAnswer
from reasoningbank.domain.walk import WalkParameters, WalkResult
from reasoningbank.exploring import DEFAULT_SEEDS
from reasoningbank.lessoning import DEFAULT_LESSONS


class AsyncGraphing:
    """Bank's methods about the graph and about lessons, awaitable."""

    _bank: Bank

    async def graph_add(self, nodes: Iterable[Node] = (), edges: Iterable[Edge] = ()) -> GraphAdded:
        """See Bank.graph_add."""
        return await asyncio.to_thread(self._bank.graph_add, nodes, edges)

    async def graph_link(
        self, source: str, target: str, text: str, *, weight: float, tags: Iterable[str] = (), edge_id: str = ""
    ) -> Edge:
        """See Bank.graph_link."""
        return await asyncio.to_thread(
            self._bank.graph_link, source, target, text, weight=weight, tags=tags, edge_id=edge_id
        )

    async def graph_update(
        self,
        node_id: str,
        *,
        text: str | None = None,
        tags: Iterable[str] | None = None,
        fields: Mapping[str, FieldValue] | None = None,
        conv_id: str | None = None,
    ) -> Node:
        """See Bank.graph_update."""
        return await asyncio.to_thread(
            self._bank.graph_update, node_id, text=text, tags=tags, fields=fields, conv_id=conv_id
        )

    async def graph_update_edge(
        self, edge_id: str, *, text: str | None = None, weight: float | None = None, tags: Iterable[str] | None = None
    ) -> Edge:
        """See Bank.graph_update_edge."""
        return await asyncio.to_thread(self._bank.graph_update_edge, edge_id, text=text, weight=weight, tags=tags)

    async def graph_delete(self, node_id: str) -> None:
        """See Bank.graph_delete."""
        await asyncio.to_thread(self._bank.graph_delete, node_id)

    async def graph_delete_edge(self, edge_id: str) -> None:
        """See Bank.graph_delete_edge."""
        await asyncio.to_thread(self._bank.graph_delete_edge, edge_id)

    async def graph_import(self, source: str | Path, *, format: str | None = None) -> GraphImport:  # noqa: A002 - as in Bank
        """See Bank.graph_import."""
        return await asyncio.to_thread(self._bank.graph_import, source, format=format)

    async def graph_get(self, node_id: str) -> NodeView:
        """See Bank.graph_get."""
        return await asyncio.to_thread(self._bank.graph_get, node_id)

    async def graph_edge(self, edge_id: str) -> Edge:
        """See Bank.graph_edge."""
        return await asyncio.to_thread(self._bank.graph_edge, edge_id)

    async def graph_search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_SEEDS,
        budget: int | None = None,
        condition: GraphFilter | None = None,
        parameters: WalkParameters | None = None,
        user: str = "",
        role: str = "",
        bm25_weight: float = 0.5,
        dense_weight: float = 0.5,
        fusion: str = "weighted",
        min_score: float | None = None,
    ) -> GraphAnswer:
        """See Bank.graph_search."""
        return await asyncio.to_thread(
            self._bank.graph_search,
            query,
            limit=limit,
            budget=budget,
            condition=condition,
            parameters=parameters,
            user=user,
            role=role,
            bm25_weight=bm25_weight,
            dense_weight=dense_weight,
            fusion=fusion,
            min_score=min_score,
        )

    async def graph_search_edges(
        self,
        query: str,
        *,
        limit: int = DEFAULT_SEEDS,
        tags: Iterable[str] = (),
        bm25_weight: float = 0.5,
        dense_weight: float = 0.5,
        fusion: str = "weighted",
        min_score: float | None = None,
    ) -> tuple[EdgeHit, ...]:
        """See Bank.graph_search_edges."""
        return await asyncio.to_thread(
            self._bank.graph_search_edges,
            query,
            limit=limit,
            tags=tags,
            bm25_weight=bm25_weight,
            dense_weight=dense_weight,
            fusion=fusion,
            min_score=min_score,
        )

    async def graph_walk(self, seeds: Mapping[str, float], parameters: WalkParameters | None = None) -> WalkResult:
        """See Bank.graph_walk."""
        return await asyncio.to_thread(self._bank.graph_walk, seeds, parameters)

    async def conversation(self, conv_id: str) -> tuple[Node, ...]:
        """See Bank.conversation."""
        return await asyncio.to_thread(self._bank.conversation, conv_id)

    async def graph_nodes(
        self, condition: GraphFilter | None = None, *, limit: int = 0, offset: int = 0
    ) -> tuple[Node, ...]:
        """See Bank.graph_nodes."""
        return await asyncio.to_thread(self._bank.graph_nodes, condition, limit=limit, offset=offset)

    async def graph_size(self) -> GraphSize:
        """See Bank.graph_size."""
        return await asyncio.to_thread(self._bank.graph_size)

    async def lesson_add(
        self,
        key_lesson: str,
        context_to_prefer: str = "",
        tags: Iterable[str] = (),
        link_nodes: Iterable[str] = (),
        *,
        title: str = "",
        outcome: str = "success",
        confidence: float = EXPLICIT_RECORD_CONFIDENCE,
        session: str | None = None,
        vouched: bool = False,
    ) -> Lesson:
        """See Bank.lesson_add."""
        return await asyncio.to_thread(
            self._bank.lesson_add,
            key_lesson,
            context_to_prefer,
            tags,
            link_nodes,
            title=title,
            outcome=outcome,
            confidence=confidence,
            session=session,
            vouched=vouched,
        )

    async def lesson_get(self, lesson: int | str) -> Lesson:
        """See Bank.lesson_get."""
        return await asyncio.to_thread(self._bank.lesson_get, lesson)

    async def lesson_update(
        self,
        lesson: int | str,
        *,
        key_lesson: str | None = None,
        context_to_prefer: str | None = None,
        tags: Iterable[str] | None = None,
        link_nodes: Iterable[str] | None = None,
    ) -> Lesson:
        """See Bank.lesson_update."""
        return await asyncio.to_thread(
            self._bank.lesson_update,
            lesson,
            key_lesson=key_lesson,
            context_to_prefer=context_to_prefer,
            tags=tags,
            link_nodes=link_nodes,
        )

    async def lesson_link(self, lesson: int | str, link_nodes: Iterable[str], *, unlink: bool = False) -> Lesson:
        """See Bank.lesson_link."""
        return await asyncio.to_thread(self._bank.lesson_link, lesson, link_nodes, unlink=unlink)

    async def lesson_delete(self, lesson: int | str) -> None:
        """See Bank.lesson_delete."""
        await asyncio.to_thread(self._bank.lesson_delete, lesson)

    async def lesson_list(
        self, *, tags: Iterable[str] = (), linked_to: Iterable[str] | None = None, limit: int = 0, offset: int = 0
    ) -> tuple[Lesson, ...]:
        """See Bank.lesson_list."""
        return await asyncio.to_thread(
            self._bank.lesson_list, tags=tags, linked_to=linked_to, limit=limit, offset=offset
        )

    async def lesson_search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LESSONS,
        lesson_weight: float = 0.4,
        context_weight: float = 0.3,
        bm25_weight: float = 0.3,
        tags: Iterable[str] = (),
        linked_to: Iterable[str] | None = None,
        fusion: str = "weighted",
        min_score: float | None = None,
        session: str | None = None,
    ) -> LessonAnswer:
        """See Bank.lesson_search."""
        return await asyncio.to_thread(
            self._bank.lesson_search,
            query,
            limit=limit,
            lesson_weight=lesson_weight,
            context_weight=context_weight,
            bm25_weight=bm25_weight,
            tags=tags,
            linked_to=linked_to,
            fusion=fusion,
            min_score=min_score,
            session=session,
        )
