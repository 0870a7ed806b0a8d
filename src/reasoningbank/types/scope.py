"""Who owns a memory: a tenant, then one project, team or org inside it. There is no scope that means "all"."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from reasoningbank.errors import EmptyProjectId, InvalidInput, MissingTenantError

MAX_NAME_LENGTH = 1_000
"""The longest name of a tenant, project, team or org, in characters."""

Level = Literal["project", "team", "org"]

LEVELS: tuple[Level, ...] = ("project", "team", "org")
"""How wide a scope is, the most specific first."""

SCOPE_WEIGHTS: Mapping[Level, float] = MappingProxyType({"project": 1.0, "team": 0.9, "org": 0.8})
"""What relevance counts for in a search that cascades (spec/contextd section 5, layer 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One project, team or org of one tenant: the boundary no operation crosses.

    Names are compared exactly, character by character: no case folding, no normalisation, so that two names that
    merely look alike are two scopes. A team and a project of equal names are two scopes too.

    Attributes:
        tenant: The owner.
        project: The name: of the project, or of the team or org when that is the level.
        level: A project, a team or an org.

    Raises:
        MissingTenantError: When the tenant is empty or blank.
        EmptyProjectId: When the name is empty or blank.
        InvalidInput: When a name is too long or cannot be written as UTF-8, or there is no such level.
    """

    tenant: str
    project: str
    level: Level = "project"

    def __post_init__(self) -> None:
        if not self.tenant.strip():
            raise MissingTenantError("no tenant: every operation belongs to one tenant")
        if self.level not in LEVELS:
            raise InvalidInput(f"scope must be one of {', '.join(LEVELS)}, not {str(self.level)[:80]!r}")
        if not self.project.strip():
            raise EmptyProjectId(f"{self.level} id cannot be empty")
        check_name("tenant", self.tenant)
        check_name(self.level, self.project)

    @property
    def file_name(self) -> str:
        """A file-system name that no other scope of the tenant has; a project's is that of its name alone."""
        name = directory_name(self.project)
        return name if self.level == "project" else f"{self.level}--{name}"

    @property
    def shown(self) -> str:
        """The level and the name, for a person."""
        return f"{self.level} {self.project[:80]!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Which team and org a project belongs to; empty names for none."""

    team: str = ""
    org: str = ""

    def __bool__(self) -> bool:
        return bool(self.team or self.org)

    def scopes(self, tenant: str) -> tuple[Scope, ...]:
        """Return the team and the org as scopes of the tenant, the more specific first.

        Raises:
            EmptyProjectId, InvalidInput: When a name is blank or not usable.
        """
        named: tuple[tuple[Level, str], ...] = (("team", self.team), ("org", self.org))
        return tuple(Scope(tenant=tenant, project=name, level=level) for level, name in named if name)


def check_name(role: str, name: str) -> None:
    """Refuse a name that no file system or database could keep faithfully."""
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidInput(f"the {role} name has {len(name)} characters; the limit is {MAX_NAME_LENGTH}")
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the {role} name is not valid Unicode text") from error


def directory_name(name: str) -> str:
    """Give a file-system name that is readable, safe and different for different names.

    The readable part keeps lower-case letters, digits and single dashes; the rest is 16 hexadecimal digits of the
    SHA-256 of the exact name, so that names that differ only in case, in look-alike letters or in separators never
    share a file.
    """
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-")
    digest = hashlib.sha256(name.encode("utf-8")).hexdigest()[:16]
    return f"{readable}-{digest}" if readable else digest


def session_in(scope: Scope, session: str, origin: Scope) -> str:
    """Return the name under which a session of one scope is known in another.

    In every project it is its own name. A team or an org learns only that it was one session, the same one each time,
    and neither its name nor its project: two projects that name their sessions alike have two sessions there.
    """
    if not session or scope == origin or scope.level == "project":
        return session
    text = "\x00".join((origin.level, origin.project, session))
    return f"session-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
