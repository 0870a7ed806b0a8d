"""Which bank an event belongs to, told without opening it."""

from __future__ import annotations

from pathlib import Path

from reasoningbank.domain.scope import Membership, Scope
from reasoningbank.settings import Settings, client_directory, local_tenant, project_of
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


def membership_of(place: Place, settings: Settings) -> Membership:
    """The team and org that an event's bank belongs to: the options, then the settings."""
    return Membership(
        team=settings.team if place.team is None else place.team, org=settings.org if place.org is None else place.org
    )
