"""The bank that an event belongs to."""

from __future__ import annotations

from pathlib import Path

from reasoningbank.bank import Bank
from reasoningbank.domain.scope import Scope
from reasoningbank.settings import Settings, client_directory, load_settings, local_tenant, project_of
from reasoningbank.storage import open_storage
from reasoningbank.surfaces.hooks.answering import Place
from reasoningbank.surfaces.hooks.payloads import Payload


def scope_of(payload: Payload, place: Place, settings: Settings) -> Scope:
    """Tenant and project: the options, then the settings, then the user and the directory of the client's project.

    The client's own directory of the project stands above the directory that its agent is in at the moment, so that a
    change of directory does not change the project.
    """
    project = place.project or settings.project
    if not project:
        project = project_of(client_directory() or Path(payload.directory or "."))
    return Scope(tenant=place.tenant or settings.tenant or local_tenant(), project=project)


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
    if not make and scope not in open_storage(url, home=settings.home).scopes(scope.tenant):
        return None
    return Bank.open(url, tenant=scope.tenant, project=scope.project, settings=settings, session=payload.session[:500])
