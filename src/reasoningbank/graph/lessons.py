"""Keep and find memories with their links to the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput, MemoryNotFound, NodeNotFound
from reasoningbank.safety.arguments import checked_limit, checked_offset, clean_tags, session_name
from reasoningbank.search.search import MAX_SEARCH_LIMIT, usable_query
from reasoningbank.storage.graph_tables import Pointer
from reasoningbank.storage.store import Store, StoreReader, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.belief import EXPLICIT_RECORD_CONFIDENCE
from reasoningbank.types.graph import MAX_POINTERS, check_graph_id
from reasoningbank.types.graph_search import BM25_LEG, CONTEXT_LEG, LESSON_LEG, Lesson, LessonAnswer, LessonHit
from reasoningbank.types.memory import EDITED, Cause, Memory, check_memory_id, check_outcome
from reasoningbank.types.recall import Filter, Hit, Recall

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.search.search import Search

DEFAULT_LESSON_LIMIT = 5
"""Most lessons of a search that names no limit (seed 003)."""
_UPDATE_ATTEMPTS = 5


class Lessons:
    """Keep and find memories with their links to the graph."""

    def __init__(self, context: Context, search: Search) -> None:
        self._context = context
        self._search = search

    def add(
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
        """Store a lesson as a memory, with links to the nodes it comes from; it can be found at once.

        Like every memory, one that looks like a prompt injection is quarantined unless a person vouches for it.

        Args:
            key_lesson: What to do, or what to avoid: the memory's content.
            context_to_prefer: When it applies: the memory's description.
            tags: Words to filter by.
            link_nodes: Nodes of the graph; every one must exist.
            title: One line; empty takes the beginning of the lesson.
            outcome: ``success``, or ``failure`` for what to avoid.
            confidence: What it starts with, from 0 to 1.
            session: What it is recorded in.
            vouched: Whether a person has read it and stands by it.

        Raises:
            InvalidMemory, TextTooLong: When a rule of the memory is broken; nothing was stored.
            NodeNotFound: When a node does not exist; nothing was stored.
        """
        from reasoningbank.graph.search import lessons_of, title_of
        from reasoningbank.memories.admission import admit, draft, prepare

        nodes = _checked_nodes(link_nodes)
        with observed("create_memory", store=self._context.place):
            memory = draft(
                project=self._context.scope.project,
                at=self._context.clock.now(),
                origin="person",
                title=title or title_of(key_lesson),
                content=key_lesson,
                outcome=check_outcome(outcome),
                description=context_to_prefer,
                tags=tuple(tags),
                category="",
                confidence=confidence,
                provenance={"source": "lesson", "session": session_name(session) or self._context.session},
            )
            store = self._context.store()
            _check_exist(store, nodes)
            (ready,) = prepare([memory], self._context.embedder, origin="person", vouched=vouched)
            with store.transaction() as transaction:
                _check_exist(transaction, nodes)
                admit(transaction, ready, at=memory.created_at)
                for node_id in nodes:
                    transaction.graph.link_node(Pointer(node_id=node_id, memory_id=memory.id))
                added = lessons_of(transaction, [memory.id])[memory.id]
            self._context.keep_up()
            return added

    def get(self, lesson: int | str) -> Lesson:
        """Return the lesson of a row id (``rb_id``) or of a memory's id, secrets removed once more.

        Args:
            lesson: Its number, or the id of its memory.

        Raises:
            MemoryNotFound: When this project has no such memory.
        """
        from reasoningbank.graph.search import lessons_of

        store = self._context.store()
        memory_id = _memory_id(store, lesson)
        return lessons_of(store, [memory_id])[memory_id]

    def update(
        self,
        lesson: int | str,
        *,
        key_lesson: str | None = None,
        context_to_prefer: str | None = None,
        tags: Iterable[str] | None = None,
        link_nodes: Iterable[str] | None = None,
    ) -> Lesson:
        """Change a lesson; what is None stays. The earlier version is kept, its evidence stays with it.

        Args:
            lesson: Its ``rb_id``, or the id of its memory.
            key_lesson: What to do.
            context_to_prefer: When it applies.
            tags: All of its tags.
            link_nodes: All of its nodes: links to others are removed.

        Raises:
            MemoryNotFound, NodeNotFound: When the lesson or a node does not exist; nothing was changed.
            InvalidMemory: When the changed memory breaks a rule; nothing was changed.
        """
        from reasoningbank.graph.search import lessons_of
        from reasoningbank.memories.admission import clean

        nodes = None if link_nodes is None else _checked_nodes(link_nodes)
        with observed("update_memory", store=self._context.place):
            store = self._context.store()
            memory_id = _memory_id(store, lesson)
            for _ in range(_UPDATE_ATTEMPTS):
                old = store.memories.get(memory_id)
                new = clean(
                    replace(
                        old,
                        content=old.content if key_lesson is None else key_lesson,
                        description=old.description if context_to_prefer is None else context_to_prefer,
                        tags=old.tags if tags is None else tuple(tags),
                    )
                )
                if self._replaced(store, old, new, nodes):
                    return lessons_of(store, [memory_id])[memory_id]
            raise InvalidInput(f"memory {memory_id[:80]!r} is being edited by others", hint="Try again.")

    def link(self, lesson: int | str, link_nodes: Iterable[str], *, unlink: bool = False) -> Lesson:
        """Add links between a lesson and nodes, or removes them; the others stay.

        Raises:
            MemoryNotFound, NodeNotFound: When the lesson or a node does not exist; nothing was changed.
        """
        from reasoningbank.graph.search import lessons_of

        nodes = _checked_nodes(link_nodes)
        with observed("update_memory", store=self._context.place), self._context.store().transaction() as transaction:
            memory_id = _memory_id(transaction, lesson)
            _check_exist(transaction, nodes)
            for node_id in nodes:
                pointer = Pointer(node_id=node_id, memory_id=memory_id)
                _ = transaction.graph.unlink_node(pointer) if unlink else transaction.graph.link_node(pointer)
            changed = lessons_of(transaction, [memory_id])[memory_id]
            _check_links(changed.link_nodes)
            return changed

    def delete(self, lesson: int | str) -> None:
        """Erase a lesson: the memory with all that hangs on it, and its links; the nodes stay.

        Raises:
            MemoryNotFound: When this project has no such memory.
        """
        with observed("delete_memory", store=self._context.place), self._context.store().transaction() as transaction:
            transaction.memories.delete(_memory_id(transaction, lesson), at=self._context.clock.now())

    def list(
        self, *, tags: Iterable[str] = (), linked_to: Iterable[str] | None = None, limit: int = 0, offset: int = 0
    ) -> tuple[Lesson, ...]:
        """Return lessons in the order they were recorded, those of quarantined and archived memories left out.

        Args:
            tags: Only lessons that carry all of these.
            linked_to: Only lessons linked with any of these nodes.
            limit: At most so many; 0 means all.
            offset: So many are passed over.
        """
        from reasoningbank.graph.search import lessons_of

        store = self._context.store()
        condition = Filter(tags=clean_tags(tags))
        if linked_to is None:
            ids = [
                memory.id
                for memory in store.memories.page(condition, limit=checked_limit(limit), offset=checked_offset(offset))
            ]
        else:
            pointers = store.graph.pointers(node_ids=_checked_nodes(linked_to))
            numbers = store.graph.row_ids({pointer.memory_id for pointer in pointers})
            memories = store.memories.many(list(numbers))
            met = sorted((name for name in memories if condition.accepts(memories[name])), key=numbers.__getitem__)
            begin = checked_offset(offset)
            ids = met[begin : begin + limit] if checked_limit(limit) else met[begin:]
        found = lessons_of(store, ids)
        return tuple(found[name] for name in ids if name in found)

    def search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LESSON_LIMIT,
        lesson_weight: float = 0.4,
        context_weight: float = 0.3,
        bm25_weight: float = 0.3,
        tags: Iterable[str] = (),
        linked_to: Iterable[str] | None = None,
        fusion: str = "weighted",
        min_score: float | None = None,
        session: str | None = None,
    ) -> LessonAnswer:
        """Find lessons by three legs: what they say, when they apply, and the words of when they apply.

        The score is the seed's: cosines as ``(1 + s) / 2``, BM25 as ``2 / pi * arctan(x)``, times the weights, divided
        by their sum; what one leg alone has found can be in the answer. A delivery counts as one of the memories.

        Args:
            query: The task or problem in words; words that every text has do not count.
            limit: Most lessons, 0 to 100.
            lesson_weight: The weight of the meaning of ``key_lesson``, from 0 to 1; 0 switches the leg off.
            context_weight: The weight of the meaning of ``context_to_prefer``.
            bm25_weight: The weight of the words of ``context_to_prefer``.
            tags: Only lessons that carry all of these.
            linked_to: Only lessons linked with any of these nodes.
            fusion: ``weighted``, or ``rrf`` for reciprocal rank fusion with the same weights.
            min_score: At least this score, from 0 to 1; None leaves out what nothing speaks for.
            session: What the delivery counts for.

        Raises:
            EmptyQuery, NegativeLimit, InvalidInput: When an argument is not usable, or all weights are 0.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.graph.search import LessonQuestion, find_lessons, lessons_of
        from reasoningbank.memories.admission import check_space
        from reasoningbank.search.fusion import check_fusion, check_least, check_weights

        weights = {LESSON_LEG: lesson_weight, CONTEXT_LEG: context_weight, BM25_LEG: bm25_weight}
        question = LessonQuestion(
            text=usable_query(query),
            limit=min(checked_limit(limit), MAX_SEARCH_LIMIT),
            weights=check_weights(weights),
            condition=Filter(tags=clean_tags(tags)),
            linked_to=None if linked_to is None else _checked_nodes(linked_to),
            fusion=check_fusion(fusion),
            min_score=check_least(min_score),
        )
        with observed("search_memory", store=self._context.place) as observation:
            store = self._context.store()
            check_space(store, self._context.embedder)
            found = find_lessons(store, self._context.embedder, question)
            lessons = lessons_of(store, [each.id for each in found.lessons])
            hits = tuple(
                LessonHit(lesson=lessons[each.id], score=each.score, legs=each.legs)
                for each in found.lessons
                if each.id in lessons
            )
            observation.delivered(len(hits))
            answer = LessonAnswer(lessons=hits, query=question.text, message=found.message or _found(len(hits)))
            if not hits:
                return answer
            recalled = tuple(Hit(memory=hit.lesson.memory, relevance=hit.score, legs=hit.legs) for hit in hits)
            logged = self._search.logged(store, self._recalled(question.text, recalled, session))
            return replace(answer, warnings=logged.warnings)

    def _recalled(self, query: str, hits: tuple[Hit, ...], session: str | None) -> Recall:
        return Recall(
            memories=hits,
            query=query,
            session=session_name(session) or self._context.session,
            embedder=self._context.embedder.name,
            tokens=sum(hit.memory.tokens for hit in hits),
            message=_found(len(hits)),
            at=self._context.clock.now(),
        )

    def _replaced(self, store: Store, old: Memory, new: Memory, nodes: Sequence[str] | None) -> bool:
        """Write the changed memory and its links; False when somebody else has changed it meanwhile."""
        from reasoningbank.graph.search import relink
        from reasoningbank.memories.admission import edit, prepare_edit

        at = self._context.clock.now()
        ready = prepare_edit(old, new, self._context.embedder, at=at) if new != old else None
        with store.transaction() as transaction:
            current = transaction.memories.get(old.id)
            if current.version != old.version:
                return False
            if nodes is not None:
                _check_exist(transaction, nodes)
                missing, surplus = relink(transaction, old.id, nodes)
                for pointer in missing:
                    transaction.graph.link_node(pointer)
                for pointer in surplus:
                    transaction.graph.unlink_node(pointer)
            if ready is not None:
                edit(transaction, ready, cause=Cause(at=at, kind=EDITED, by=self._context.session))
        return True


def _memory_id(reader: StoreReader | Transaction, lesson: int | str) -> str:
    if isinstance(lesson, str):
        reader.memories.get(check_memory_id(lesson))
        return lesson
    if isinstance(lesson, bool) or not isinstance(lesson, int):
        raise InvalidInput(f"a lesson is named by its rb_id or its memory's id, not {str(lesson)[:80]!r}")
    found = reader.graph.at_row_ids([lesson]).get(lesson) if 0 < lesson < 2**63 else None
    if found is None:
        raise MemoryNotFound(f"no lesson with the rb_id {lesson} in this project")
    return found


def _checked_nodes(link_nodes: Iterable[str]) -> tuple[str, ...]:
    if isinstance(link_nodes, str):
        raise InvalidInput("link_nodes: must be a list of node ids, not one text")
    nodes = tuple(dict.fromkeys(check_graph_id("link_nodes", each) for each in link_nodes))
    _check_links(nodes)
    return nodes


def _check_links(nodes: Sequence[str]) -> None:
    if len(nodes) > MAX_POINTERS:
        raise InvalidInput(f"link_nodes: a lesson links at most {MAX_POINTERS} nodes, not {len(nodes)}")


def _check_exist(reader: StoreReader, nodes: Sequence[str]) -> None:
    found = reader.graph.nodes(nodes) if nodes else {}
    missing = [name for name in nodes if name not in found]
    if missing:
        raise NodeNotFound(f"link_nodes: no node {', '.join(repr(name[:80]) for name in missing[:10])} in this project")


def _found(count: int) -> str:
    return f"{count} {'lesson' if count == 1 else 'lessons'}."
