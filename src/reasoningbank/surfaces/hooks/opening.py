"""The bank that an event belongs to."""

from __future__ import annotations

from pathlib import Path

from reasoningbank.bank import Bank
from reasoningbank.domain.scope import Membership, Scope
from reasoningbank.settings import load_settings
from reasoningbank.storage import open_storage
from reasoningbank.surfaces.hooks.answering import Place
from reasoningbank.surfaces.hooks.payloads import Payload
from reasoningbank.surfaces.hooks.scoping import membership_of, scope_of


def open_bank(payload: Payload, place: Place, *, make: bool) -> Bank | None:
    """The bank of an event.

    Args:
        payload: The event.
        place: The command's options.
        make: Whether a bank that does not exist is made; otherwise the answer is None then.

    Raises:
        BankError: When a setting, the scope or the store is not usable.
    """
    settings = load_settings()
    scope = scope_of(payload, place, settings)
    url = place.url or settings.url or None
    membership = membership_of(place, settings)
    if not make and not has_any(scope, membership, url=url, home=settings.home):
        return None
    return Bank.open(
        url,
        tenant=scope.tenant,
        project=scope.project,
        team=membership.team,
        org=membership.org,
        settings=settings,
        session=payload.session[:500],
    )


def has_any(scope: Scope, membership: Membership, *, url: str | None, home: Path) -> bool:
    """Whether a project, its team or its org has a bank; asking makes none."""
    known = {scope, *membership.scopes(scope.tenant)}
    return not known.isdisjoint(open_storage(url, home=home).scopes(scope.tenant))
