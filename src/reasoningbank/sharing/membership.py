"""Which projects are of a team and which teams are of an org, as each project's bank remembers it."""

from __future__ import annotations

from reasoningbank.errors import StoreError
from reasoningbank.storage.store import Store
from reasoningbank.types.scope import Membership


def remember(store: Store, membership: Membership) -> str:
    """Keep the membership in the project's bank; return why it could not be kept, empty when it is.

    A bank that is full, busy or damaged opens all the same; the next opening tries again.
    """
    try:
        if store.membership != membership:
            with store.transaction() as transaction:
                transaction.set_membership(membership)
    except StoreError as error:
        return f"The bank could not note its team and org: {error} {error.hint}"
    return ""
