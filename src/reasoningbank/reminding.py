"""The part of a bank that answers from its graph by what a node is: preferences, events, sources and actions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from reasoningbank.domain.graph import Node
from reasoningbank.domain.reminders import (
    ACTION_OUTCOMES,
    Action,
    ActionOutcome,
    Occurrence,
    Preference,
    Source,
    time_window,
)
from reasoningbank.errors import InvalidInput, InvalidNode
from reasoningbank.ports import GraphText, Job
from reasoningbank.scaling import Scaling
from reasoningbank.telemetry import observed
from reasoningbank.upkeep import checked_limit

DEFAULT_LIMIT = 20


class Reminding(Scaling):
    """Keeps preferences, and answers what happened when, what an answer rests on, and how something was done."""

    def preference_add(
        self,
        preference_type: str,
        text: str,
        *,
        user: str = "",
        role: str = "",
        conv_id: str = "",
        tags: Iterable[str] = (),
    ) -> Preference:
        """Keeps a preference out of somebody's feedback; it takes the place of the earlier one of its type and owner.

        The earlier one is kept, linked by a sentence, and shown with ``preferences(history=True)``; it holds again when
        the node of the newer one is deleted. The same words once more add nothing.

        Args:
            preference_type: What it is about, for example ``report_style``; of one type only the newest holds.
            text: The rule, for example "tables, no pie charts".
            user: Whose it is, by id.
            role: Or the role for which it holds. Exactly one of both is given.
            conv_id: The conversation in which it was said.
            tags: Words to find it by.

        Raises:
            InvalidNode: When the type or the text is empty, or not exactly one owner is given.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.engine.graph.preferences import add
        from reasoningbank.engine.graphing.indexing import EMBED, EMBED_KEY, embedded
        from reasoningbank.engine.index import check_space
        from reasoningbank.memories.admission import check_items

        owner = _owner(user, role)
        if not preference_type.strip():
            raise InvalidNode("preference_type: cannot be empty")
        now = self._clock.now()
        node = Node(
            label="UserPreference",
            text=text,
            conv_id=conv_id,
            tags=tuple(dict.fromkeys(tags)),
            fields={"preference_type": preference_type.strip(), **owner},
            ingestion_time=now,
        )
        (node,) = check_items([node])
        store = self._open_store()
        check_space(store, self._embedder)
        vectors = embedded([GraphText(id=node.id, text=node.text)], self._embedder)
        with observed("create_memory", store=self._place()), store.transaction() as transaction:
            kept = add(transaction, node)
            if kept.id == node.id:
                transaction.put_graph_vectors("node", vectors, self._embedder.model_id)
                transaction.enqueue(Job(kind=EMBED, key=EMBED_KEY, due=now))
        return kept

    def preferences(
        self, *, user: str = "", role: str = "", preference_type: str = "", history: bool = False
    ) -> tuple[Preference, ...]:
        """What holds for a user, for a role, or for a user in a role; nobody else's preferences are looked at.

        The user's own come first, then the role's, where the user has none of the same type. A preference that names no
        owner belongs to whom its conversation was held with.

        Args:
            user: Who asks, by id.
            role: In which role.
            preference_type: Only this type.
            history: Whether those that were replaced follow, each with the id of what holds instead.

        Raises:
            InvalidInput: When neither a user nor a role is given.
        """
        from reasoningbank.engine.graph.preferences import preferences
        from reasoningbank.engine.graphing.admission import reveal

        if not user.strip() and not role.strip():
            raise InvalidInput("user: say for whom; preferences are shown to nobody else", hint="Pass user= or role=.")
        with observed("search_memory", store=self._place()):
            found = preferences(
                self._open_store(), user=user, role=role, preference_type=preference_type, history=history
            )
            shown = reveal([each.node for each in found])
        return tuple(replace(each, node=node) for each, node in zip(found, shown, strict=True))

    def events(
        self,
        since: date | None = None,
        until: date | None = None,
        *,
        tags: Iterable[str] = (),
        recency: bool = False,
        limit: int = DEFAULT_LIMIT,
    ) -> tuple[Occurrence, ...]:
        """What happened in a window of time, each event with the answers that it led to.

        An event counts when any part of it lies in the window.

        Args:
            since: The first day, or a time with a zone; None for no beginning.
            until: The last day, all of it in the window, or a time with a zone, which is not in it; None for no end.
            tags: Only events with at least one of them; those with more of them come first.
            recency: Whether among equals the later ones come first; else they are in the order they were stored.
            limit: At most so many; 0 for all.

        Raises:
            InvalidInput: When the window ends before it begins, or a time has no zone.
        """
        from reasoningbank.engine.graph.events import events
        from reasoningbank.engine.graphing.admission import reveal
        from reasoningbank.engine.graphing.walks import reveal_paths

        window = time_window(since, until)
        with observed("search_memory", store=self._place()):
            found = events(self._open_store(), window, tags=tuple(tags), recency=recency, limit=checked_limit(limit))
            return tuple(
                replace(
                    each,
                    event=reveal([each.event])[0],
                    answers=reveal_paths(each.answers),
                    answer_nodes=tuple(reveal(each.answer_nodes)),
                )
                for each in found
            )

    def sources(self, answer_id: str) -> tuple[Source, ...]:
        """The data sources that an answer or an action rests on, at most three hops away, the surest first.

        Raises:
            NodeNotFound: When this project has no such node.
            InvalidNode: When it is neither an answer nor an action.
        """
        from reasoningbank.engine.graph.provenance import sources
        from reasoningbank.engine.graphing.admission import reveal
        from reasoningbank.engine.graphing.walks import reveal_paths

        with observed("search_memory", store=self._place()):
            found = sources(self._open_store(), answer_id)
            nodes = reveal([each.node for each in found])
            paths = reveal_paths([each.path for each in found])
        return tuple(Source(node=node, path=path) for node, path in zip(nodes, paths, strict=True))

    def actions(
        self,
        *,
        tags: Iterable[str] = (),
        conv_id: str | None = None,
        outcome: ActionOutcome | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> tuple[Action, ...]:
        """How things were done, with parameters word for word; what failed is shown as failed.

        Args:
            tags: Only actions with at least one of them; those with more of them come first.
            conv_id: Only those of this conversation.
            outcome: Only ``success``, ``failure`` or ``unknown``.
            limit: At most so many; 0 for all.

        Raises:
            InvalidInput: For another outcome, or a limit below zero.
        """
        from reasoningbank.engine.graph.provenance import actions
        from reasoningbank.engine.graphing.admission import reveal

        if outcome is not None and outcome not in ACTION_OUTCOMES:
            raise InvalidInput(f"outcome: must be one of {', '.join(ACTION_OUTCOMES)}, not {str(outcome)[:80]!r}")
        with observed("search_memory", store=self._place()):
            found = actions(
                self._open_store(), tags=tuple(tags), conv_id=conv_id, outcome=outcome, limit=checked_limit(limit)
            )
            return tuple(Action(node=node) for node in reveal([each.node for each in found]))


def _owner(user: str, role: str) -> dict[str, str]:
    """The fields that say whose a preference is."""
    if bool(user.strip()) == bool(role.strip()):
        raise InvalidNode("user: a preference belongs to a user or to a role, to exactly one of both")
    return {"user_id": user} if user.strip() else {"user_role": role}
