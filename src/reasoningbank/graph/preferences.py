"""Preferences of users and roles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from reasoningbank.errors import (
    InvalidInput,
    InvalidNode,
)
from reasoningbank.storage.store import GraphText
from reasoningbank.telemetry import observed
from reasoningbank.types.graph import Node
from reasoningbank.types.graph_search import (
    Preference,
)
from reasoningbank.types.records import Job

if TYPE_CHECKING:
    from reasoningbank.context import Context


class Preferences:
    """Preferences of users and roles."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def add(
        self,
        preference_type: str,
        text: str,
        *,
        user: str = "",
        role: str = "",
        conv_id: str = "",
        tags: Iterable[str] = (),
    ) -> Preference:
        """Keep a preference out of somebody's feedback; it takes the place of the earlier one of its type and owner.

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
        from reasoningbank.graph.nodes import EMBED, EMBED_KEY, embedded
        from reasoningbank.graph.provenance import add
        from reasoningbank.memories.admission import check_items
        from reasoningbank.memories.vectors import check_space

        owner = _owner(user, role)
        if not preference_type.strip():
            raise InvalidNode("preference_type: cannot be empty")
        now = self._context.clock.now()
        node = Node(
            label="UserPreference",
            text=text,
            conv_id=conv_id,
            tags=tuple(dict.fromkeys(tags)),
            fields={"preference_type": preference_type.strip(), **owner},
            ingestion_time=now,
        )
        (node,) = check_items([node])
        store = self._context.store()
        check_space(store, self._context.embedder)
        vectors = embedded([GraphText(id=node.id, text=node.text)], self._context.embedder)
        with observed("create_memory", store=self._context.place), store.transaction() as transaction:
            kept = add(transaction, node)
            if kept.id == node.id:
                transaction.graph.put_graph_vectors("node", vectors, self._context.embedder.model_id)
                transaction.jobs.enqueue(Job(kind=EMBED, key=EMBED_KEY, due=now))
        return kept

    def list(
        self, *, user: str = "", role: str = "", preference_type: str = "", history: bool = False
    ) -> tuple[Preference, ...]:
        """Return what holds for a user, for a role, or for a user in a role; nobody else's preferences are looked at.

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
        from reasoningbank.graph.provenance import preferences
        from reasoningbank.safety.graph_text import reveal

        if not user.strip() and not role.strip():
            raise InvalidInput("user: say for whom; preferences are shown to nobody else", hint="Pass user= or role=.")
        with observed("search_memory", store=self._context.place):
            found = preferences(
                self._context.store(), user=user, role=role, preference_type=preference_type, history=history
            )
            shown = reveal([each.node for each in found])
        return tuple(replace(each, node=node) for each, node in zip(found, shown, strict=True))


def _owner(user: str, role: str) -> dict[str, str]:
    """Return the fields that say whose a preference is."""
    if bool(user.strip()) == bool(role.strip()):
        raise InvalidNode("user: a preference belongs to a user or to a role, to exactly one of both")
    return {"user_id": user} if user.strip() else {"user_role": role}
