"""Who owns a memory: a tenant, then one project inside it. There is no scope that means "all"."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from reasoningbank.errors import EmptyProjectId, InvalidInput, MissingTenantError

MAX_NAME_LENGTH = 1_000
"""The longest tenant or project name, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One tenant's project: the boundary no operation crosses.

    Names are compared exactly, character by character: no case folding, no normalisation, so that two names that
    merely look alike are two scopes.

    Raises:
        MissingTenantError: When the tenant is empty or blank.
        EmptyProjectId: When the project is empty or blank.
        InvalidInput: When a name is too long or cannot be written as UTF-8.
    """

    tenant: str
    project: str

    def __post_init__(self) -> None:
        if not self.tenant.strip():
            raise MissingTenantError("no tenant: every operation belongs to one tenant")
        if not self.project.strip():
            raise EmptyProjectId("project id cannot be empty")
        check_name("tenant", self.tenant)
        check_name("project", self.project)


def check_name(role: str, name: str) -> None:
    """Refuses a name that no file system or database could keep faithfully."""
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidInput(f"the {role} name has {len(name)} characters; the limit is {MAX_NAME_LENGTH}")
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the {role} name is not valid Unicode text") from error


def directory_name(name: str) -> str:
    """Gives a file-system name that is readable, safe and different for different names.

    The readable part keeps lower-case letters, digits and dashes; the rest is 16 hexadecimal digits of the SHA-256 of
    the exact name, so that names that differ only in case, in look-alike letters or in separators never share a file.
    """
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-")
    digest = hashlib.sha256(name.encode("utf-8")).hexdigest()[:16]
    return f"{readable}-{digest}" if readable else digest
