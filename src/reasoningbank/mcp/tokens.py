"""Bearer tokens of the HTTP server: which token stands for which tenant, kept in files that only their owner can read.

``http-token`` is generated at the first start and stands for the server's own tenant, team and org.
``http-tokens.json`` is optional and written by hand: a list of ``{"tenant": ..., "sha256": ...}``, the hexadecimal
SHA-256 of the token, or with ``"token"`` the token itself; ``"team"`` and ``"org"`` say where its projects belong.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp.server.auth.provider import AccessToken

from reasoningbank.errors import ConfigurationError, InvalidInput, StoreUnavailable
from reasoningbank.system import user_id
from reasoningbank.types.scope import Membership

TOKEN_FILE = "http-token"  # noqa: S105 - the name of the file
TENANTS_FILE = "http-tokens.json"
MAX_BYTES = 2**20
_LEAST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One token's digest, the tenant it stands for and its team and org; the token itself is not kept."""

    digest: bytes
    tenant: str
    membership: Membership = field(default_factory=Membership)

    @property
    def name(self) -> str:
        """Tells tokens apart without giving them away."""
        return hashlib.sha256(self.digest).hexdigest()[:16]


class Grants:
    """All tokens that are accepted; the token verifier of the MCP SDK."""

    def __init__(self, grants: Sequence[Grant]) -> None:
        self._grants = tuple(grants)

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants that any token stands for."""
        return tuple(dict.fromkeys(grant.tenant for grant in self._grants))

    @property
    def names(self) -> tuple[str, ...]:
        """What tells the tokens apart."""
        return tuple(grant.name for grant in self._grants)

    def of(self, token: str) -> Grant | None:
        """Return the grant of a token; every digest is compared in constant time, whether or not one has matched."""
        digest = _digest(token)
        found = None
        for grant in self._grants:
            if hmac.compare_digest(grant.digest, digest):
                found = grant
        return found

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whom a token stands for: the tenant as subject, team and org as claims; the token is not handed on."""
        grant = self.of(token.strip())
        if grant is None:
            return None
        claims = {"team": grant.membership.team, "org": grant.membership.org}
        return AccessToken(token="", client_id=grant.name, scopes=[], subject=grant.tenant, claims=claims)


def load_grants(home: Path, tenant: str, membership: Membership | None = None) -> Grants:
    """Read both files; make the token of the server's own tenant when there is none.

    Args:
        home: The data directory.
        tenant: The server's own.
        membership: The server's own team and org; None for none.

    Raises:
        ConfigurationError: When a file is a link, is readable by others, or is not what it should be.
        StoreUnavailable: When the token cannot be written.
    """
    own = home / TOKEN_FILE
    if not own.is_symlink() and not own.exists():
        _make(own)
    token = _read_private(own).strip()
    if len(token) < _LEAST:
        raise ConfigurationError(
            f"{own} holds no token of at least {_LEAST} characters", hint="Delete the file; the server makes a new one."
        )
    grants = [Grant(digest=_digest(token), tenant=tenant, membership=membership or Membership())]
    shared = home / TENANTS_FILE
    if shared.is_symlink() or shared.exists():
        grants += _parse(shared, _read_private(shared))
    if len({grant.digest for grant in grants}) != len(grants):
        raise ConfigurationError(
            f"{shared} gives one token to two tenants", hint="Give every tenant a token of its own."
        )
    return Grants(grants)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _make(path: Path) -> None:
    """Write a new token; of two servers that start at once, one writes and both read the same."""
    partial = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, f"{secrets.token_urlsafe(32)}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.link(partial, path)
        except FileExistsError:
            return
        finally:
            partial.unlink()
    except OSError as error:
        raise StoreUnavailable(f"the token file {path} cannot be written: {error.strerror}") from error


def _read_private(path: Path) -> str:
    """Return the text of a plain file that belongs to this user alone."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if path.is_symlink():
            raise ConfigurationError(f"{path} is a symbolic link", hint="Put the file itself there.") from error
        raise ConfigurationError(
            f"{path} cannot be read: {error.strerror}", hint="Check its owner and mode."
        ) from error
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_size > MAX_BYTES:
            raise ConfigurationError(f"{path} is no small plain file", hint="Delete it and start again.")
        if (user := user_id()) is not None and (state.st_mode & 0o077 or state.st_uid != user):
            raise ConfigurationError(
                f"{path} can be read by others", hint=f"Run `chmod 600 {path}` and replace the tokens in it."
            )
        try:
            return file.read(MAX_BYTES).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"{path} is not UTF-8 text", hint="Write it again.") from error


def _parse(path: Path, text: str) -> list[Grant]:
    wrong = ConfigurationError(
        f"{path} is not a list of tenants and tokens",
        hint='Write [{"tenant": "acme", "sha256": "<64 hexadecimal digits>"}], one entry for each token.',
    )
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise wrong from error
    if not isinstance(entries, list):
        raise wrong
    return [_grant(entry, wrong) for entry in entries]


def _membership(tenant: str, named: Mapping[object, object], wrong: ConfigurationError) -> Membership:
    """Return the team and org of an entry; nothing else may stand in it."""
    team, org = named.get("team", ""), named.get("org", "")
    if named.keys() - {"team", "org"} or not isinstance(team, str) or not isinstance(org, str):
        raise wrong
    membership = Membership(team=team, org=org)
    try:
        membership.scopes(tenant)
    except InvalidInput as error:
        raise wrong from error
    return membership


def _grant(entry: object, wrong: ConfigurationError) -> Grant:
    match entry:
        case {"tenant": str() as tenant, "sha256": str() as digits, **rest} if tenant.strip():
            try:
                digest = bytes.fromhex(digits)
            except ValueError as error:
                raise wrong from error
            if len(digest) == hashlib.sha256().digest_size:
                return Grant(digest=digest, tenant=tenant, membership=_membership(tenant, rest, wrong))
        case {"tenant": str() as tenant, "token": str() as token, **rest} if tenant.strip():
            if len(token) >= _LEAST:
                return Grant(digest=_digest(token), tenant=tenant, membership=_membership(tenant, rest, wrong))
        case _:
            pass
    raise wrong
