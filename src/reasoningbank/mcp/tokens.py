"""Bearer tokens of the HTTP server: whom each stands for and what it allows; only their digests are kept.

``http-token`` in the data directory is generated at the first start and stands for the server's own tenant, team and
org. Further tokens are made by ``rbank token create``. With banks in PostgreSQL they are rows of that database, which
all servers share; else they are entries of ``http-tokens.json``, which may be written by hand, too: a list of
``{"tenant": ..., "sha256": ...}``, the hexadecimal SHA-256 of the token, or with ``"token"`` the token itself;
``"scopes"`` says what it allows (everything, unless it is there), ``"team"`` and ``"org"`` where its projects belong,
``"name"`` what it is for.

A server notices a token that was made or revoked, within ``FRESH_SECONDS`` where it is in a database.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import os
import secrets
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from anyio import to_thread
from mcp.server.auth.provider import AccessToken

from reasoningbank.errors import ConfigurationError, InvalidInput, StoreUnavailable
from reasoningbank.lock_file import open_lock
from reasoningbank.safety.file_access import write_whole
from reasoningbank.settings import POSTGRESQL
from reasoningbank.system import user_id
from reasoningbank.types.access import ACCESSES, Access, BearerToken, TokenRegister
from reasoningbank.types.moment import as_moment
from reasoningbank.types.scope import Membership

TOKEN_FILE = "http-token"  # noqa: S105 - the name of the file
TENANTS_FILE = "http-tokens.json"
LOCK_FILE = "http-tokens.lock"
MAX_BYTES = 2**20
FRESH_SECONDS = 2.0
"""How long a server believes what a database has said of a token."""
PREFIX = "rbt_"
_MOST_BELIEVED = 10_000
_LEAST = 16
_TENANT_BYTES = 16
_SECRET_BYTES = 32
_log = logging.getLogger(__name__)


def new_token(
    tenant: str, *, scopes: Sequence[str], name: str, membership: Membership, created: datetime
) -> tuple[str, BearerToken]:
    """Return a new token and what is kept of it.

    Args:
        tenant: Whom it stands for.
        scopes: What it allows.
        name: What it is for, for people.
        membership: The team and org of its projects.
        created: Now.

    Raises:
        InvalidInput: When there is no such scope.
        MissingTenantError: When the tenant is blank.
    """
    membership.scopes(tenant)
    text = PREFIX + base64.urlsafe_b64encode(_place_of(tenant) + secrets.token_bytes(_SECRET_BYTES)).decode()
    kept = _token(_digest(text), tenant, membership)
    return text, replace(kept, scopes=_checked(scopes), name=name, created=created)


def register_of(url: str | None, home: Path) -> TokenRegister:
    """Return where the tokens of a place of banks are: in its database, else in a file of the data directory."""
    if url and urlsplit(url).scheme in POSTGRESQL:
        from reasoningbank.storage.postgres_tokens import PostgresTokens

        return PostgresTokens(url)
    return FileTokens(home)


class FileTokens:
    """The tokens in ``http-tokens.json``, read again when the file has changed.

    Args:
        home: The data directory.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / TENANTS_FILE
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._known: tuple[BearerToken, ...] = ()

    def all(self) -> tuple[BearerToken, ...]:
        """Return every token.

        Raises:
            ConfigurationError: When the file is a link, is readable by others, or is not what it should be.
        """
        with self._lock:
            mark = self._mark()
            if mark != self._seen:
                self._known = () if mark is None else tuple(_parse(self._path, _read_private(self._path)))
                self._seen = mark
            return self._known

    def tokens(self, tenant: str) -> list[BearerToken]:
        """Return the tokens of a tenant, oldest first."""
        return [token for token in self.all() if token.tenant == tenant]

    def found(self, place: str, sha256: str) -> BearerToken | None:  # noqa: ARG002 - one file holds all
        """Return the token of this digest, whatever tenant it claims."""
        return _matching(self.all(), sha256)

    def add(self, token: BearerToken) -> None:
        """Keep a new token."""
        with self._changing() as entries:
            entries.append(_entry(token))

    def revoke(self, tenant: str, token_id: str) -> bool:
        """Remove a tenant's token; return whether there was one."""
        with self._changing() as entries:
            kept = [each for each in entries if not _names(each, tenant, token_id)]
            found = len(kept) < len(entries)
            entries[:] = kept
        return found

    def _mark(self) -> tuple[int, int, int] | None:
        try:
            state = self._path.lstat()
        except FileNotFoundError:
            return None
        return state.st_ino, state.st_size, state.st_mtime_ns

    @contextmanager
    def _changing(self) -> Iterator[list[Mapping[str, object]]]:
        """Give the entries of the file, which are written when the block ends; one process at a time does so."""
        try:
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = open_lock(self._home / LOCK_FILE)
        except OSError as error:
            raise StoreUnavailable(f"{self._home / LOCK_FILE} cannot be written: {error.strerror}") from error
        try:
            lock.lock()
            self.all()
            entries = json.loads(_read_private(self._path)) if self._mark() else []
            yield entries
            with write_whole(self._path) as file:
                json.dump(entries, file, ensure_ascii=False, indent=1)
        finally:
            lock.close()


class Grants:
    """All tokens that are accepted; the token verifier of the MCP SDK.

    Args:
        own: The token of the server's own tenant.
        file: Those in a file.
        register: Those in a database that several servers share; None without one.
    """

    def __init__(self, own: BearerToken, file: FileTokens, register: TokenRegister | None = None) -> None:
        self._own = own
        self._file = file
        self._register = register
        self._lock = threading.Lock()
        self._believed: dict[str, tuple[BearerToken | None, float]] = {}

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants that a token of this machine stands for."""
        return tuple(dict.fromkeys(token.tenant for token in (self._own, *self._file.all())))

    def of(self, token: str) -> BearerToken | None:
        """Return what is kept of a token; every digest is compared in constant time, whether or not one has matched.

        Raises:
            StoreUnavailable: When the database that would know it cannot be reached.
        """
        digest = _digest(token)
        found = _matching((self._own, *self._of_file()), digest)
        return found or self._registered(token, digest)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whom a token stands for: the tenant as subject, team and org as claims; the token is not handed on."""
        token = token.strip()
        if self._register is None:
            found = self.of(token)
        else:
            found = await to_thread.run_sync(self.of, token)
        return None if found is None else _access(found)

    @property
    def own(self) -> AccessToken:
        """Whom the token of the server's own tenant stands for."""
        return _access(self._own)

    def _of_file(self) -> Sequence[BearerToken]:
        try:
            return self._file.all()
        except ConfigurationError as error:
            _log.warning("the tokens of the file are refused until it is in order: %s", error.advice)
            return ()

    def _registered(self, token: str, digest: str) -> BearerToken | None:
        """Return what the database says of a token, or has said a moment ago."""
        place = _claimed_place(token)
        if self._register is None or place is None:
            return None
        now = time.monotonic()
        with self._lock:
            known, until = self._believed.get(digest, (None, 0.0))
        if now < until:
            return known
        found = self._register.found(place, digest)
        with self._lock:
            if len(self._believed) >= _MOST_BELIEVED:
                self._believed.clear()
            self._believed[digest] = (found, now + FRESH_SECONDS)
        return found


def _access(token: BearerToken) -> AccessToken:
    claims = {"team": token.membership.team, "org": token.membership.org}
    return AccessToken(token="", client_id=token.id, scopes=list(token.scopes), subject=token.tenant, claims=claims)


def load_grants(
    home: Path, tenant: str, membership: Membership | None = None, register: TokenRegister | None = None
) -> Grants:
    """Read both files; make the token of the server's own tenant when there is none.

    Args:
        home: The data directory.
        tenant: The server's own.
        membership: The server's own team and org; None for none.
        register: Where further tokens are, when that is a database.

    Raises:
        ConfigurationError: When a file is a link, is readable by others, or is not what it should be.
        StoreUnavailable: When the token cannot be written.
    """
    own = home / TOKEN_FILE
    if not own.is_symlink() and not own.exists():
        _make(own)
    text = _read_private(own).strip()
    if len(text) < _LEAST:
        raise ConfigurationError(
            f"{own} holds no token of at least {_LEAST} characters", hint="Delete the file; the server makes a new one."
        )
    token = _token(_digest(text), tenant, membership or Membership())
    file = FileTokens(home)
    if len({each.sha256 for each in (token, *file.all())}) != len(file.all()) + 1:
        raise ConfigurationError(
            f"{home / TENANTS_FILE} gives one token to two tenants", hint="Give every tenant a token of its own."
        )
    return Grants(token, file, register)


def _matching(tokens: Sequence[BearerToken], sha256: str) -> BearerToken | None:
    found = None
    for token in tokens:
        if hmac.compare_digest(token.sha256, sha256):
            found = token
    return found


def _token(sha256: str, tenant: str, membership: Membership) -> BearerToken:
    """Return a token that allows everything; its id tells it apart from others without giving it away."""
    name = hashlib.sha256(bytes.fromhex(sha256)).hexdigest()[:16]
    return BearerToken(id=name, sha256=sha256, tenant=tenant, membership=membership)


def _place_of(tenant: str) -> bytes:
    return hashlib.sha256(tenant.encode()).digest()[:_TENANT_BYTES]


def _claimed_place(token: str) -> str | None:
    """Return the digest of the tenant's name that a token of ours begins with; None for any other token."""
    try:
        raw = base64.urlsafe_b64decode(token.removeprefix(PREFIX)) if token.startswith(PREFIX) else b""
    except ValueError:
        return None
    return raw[:_TENANT_BYTES].hex() if len(raw) == _TENANT_BYTES + _SECRET_BYTES else None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _checked(scopes: Sequence[str]) -> tuple[Access, ...]:
    for scope in scopes:
        if scope not in ACCESSES:
            raise InvalidInput(
                f"a token has no scope {str(scope)[:80]!r}", hint=f"The scopes are {', '.join(ACCESSES)}."
            )
    if not scopes:
        raise InvalidInput("a token needs a scope", hint=f"The scopes are {', '.join(ACCESSES)}.")
    return tuple(scope for scope in ACCESSES if scope in scopes)


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
            raise ConfigurationError(f"{path} is not a small plain file", hint="Delete it and start again.")
        if (user := user_id()) is not None and (state.st_mode & 0o077 or state.st_uid != user):
            raise ConfigurationError(
                f"{path} can be read by others", hint=f"Run `chmod 600 {path}` and replace the tokens in it."
            )
        try:
            return file.read(MAX_BYTES).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"{path} is not UTF-8 text", hint="Write it again.") from error


def _parse(path: Path, text: str) -> list[BearerToken]:
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
    return [_of_entry(entry, wrong) for entry in entries]


def _of_entry(entry: object, wrong: ConfigurationError) -> BearerToken:
    match entry:
        case {"tenant": str() as tenant, "sha256": str() as digits, **rest} if tenant.strip():
            try:
                digest = bytes.fromhex(digits).hex()
            except ValueError as error:
                raise wrong from error
            if len(digest) == 2 * hashlib.sha256().digest_size:
                return _described(digest, tenant, rest, wrong)
        case {"tenant": str() as tenant, "token": str() as token, **rest} if tenant.strip():
            if len(token) >= _LEAST:
                return _described(_digest(token), tenant, rest, wrong)
        case _:
            pass
    raise wrong


def _described(digest: str, tenant: str, said: Mapping[object, object], wrong: ConfigurationError) -> BearerToken:
    """Return a token with what else an entry says of it; nothing that is not known may stand in it."""
    texts = {name: said.get(name, "") for name in ("team", "org", "name", "created")}
    scopes = said.get("scopes", list(ACCESSES))
    if said.keys() - {*texts, "scopes"} or not isinstance(scopes, list):
        raise wrong
    if not all(isinstance(text, str) for text in (*texts.values(), *scopes)):
        raise wrong
    membership = Membership(team=str(texts["team"]), org=str(texts["org"]))
    try:
        membership.scopes(tenant)
        checked = _checked(scopes)
        created = as_moment(str(texts["created"]), "created") if texts["created"] else None
    except InvalidInput as error:
        raise wrong from error
    token = _token(digest, tenant, membership)
    return replace(token, scopes=checked, name=str(texts["name"]), created=created)


def _entry(token: BearerToken) -> dict[str, object]:
    """Return a token as an entry of the file."""
    entry: dict[str, object] = {"tenant": token.tenant, "sha256": token.sha256, "scopes": list(token.scopes)}
    texts = {"name": token.name, "team": token.membership.team, "org": token.membership.org}
    entry |= {name: text for name, text in texts.items() if text}
    if token.created is not None:
        entry["created"] = token.created.isoformat()
    return entry


def _names(entry: Mapping[str, object], tenant: str, token_id: str) -> bool:
    """Return whether an entry of the file, which was read before, is this token."""
    digest = str(entry["sha256"]).lower() if "sha256" in entry else _digest(str(entry["token"]))
    return entry["tenant"] == tenant and _token(digest, tenant, Membership()).id == token_id
