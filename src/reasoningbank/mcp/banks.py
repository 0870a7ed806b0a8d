"""The open banks of a server: one per tenant and project, opened at the first call, a bounded number kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reasoningbank.errors import EmptyProjectId, StoreClosed
from reasoningbank.safety.checks import project_name
from reasoningbank.types.scope import Membership, Scope

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.settings import Settings
    from reasoningbank.storage.store import Storage
    from reasoningbank.types.ports import Embedder

KEPT = 16
"""How many banks stay open when nobody uses them."""


class _Key(NamedTuple):
    scope: Scope
    membership: Membership


_membership: ContextVar[Membership | None] = ContextVar("membership", default=None)


@contextmanager
def belonging(membership: Membership) -> Iterator[None]:
    """Give has every bank that is used in the block opened as of this team and org."""
    token = _membership.set(membership)
    try:
        yield
    finally:
        _membership.reset(token)


class UsualProject:
    """The project of calls that name none: a configured one, else that of a directory, derived when it is needed first.

    Args:
        name: The configured one; blank for none.
        directory: The directory; None for the working directory.
    """

    def __init__(self, name: str, directory: Path | None = None) -> None:
        self._name = name
        self._directory = directory
        self._lock = threading.Lock()

    def name(self) -> str:
        """Return the project (DESIGN D9); a directory without a repository is one too, the home directory included.

        Raises:
            EmptyProjectId: When none is configured and the directory is the root of the file system, where a server is
                started by the system or by a client that has no directory.
        """
        with self._lock:
            if not self._name.strip():
                from reasoningbank.settings import project_of

                here = (self._directory or Path.cwd()).resolve()
                if here == Path(here.anchor):
                    raise EmptyProjectId(
                        f"no project: the server was started in {here}",
                        hint="Pass project_id, or start the server with --project or in a project's directory.",
                    )
                self._name = project_of(here)
            return self._name


@dataclass(slots=True)
class _Kept:
    bank: Bank
    users: int = 0
    visited: bool = False
    """Return whether only background work has used it: then it is closed after that."""


class Banks:
    """Opens banks when they are first needed and shares one embedder among them. Thread-safe.

    Args:
        settings: Where banks live and which embedder they use.
        url: Instead of the configured place.
        project: The project of calls that name none; None derives it from the configuration or the working directory.
        embedder: Instead of the configured one, for tests.
        kept: How many unused banks stay open.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        url: str | None = None,
        project: str | None = None,
        embedder: Embedder | None = None,
        kept: int = KEPT,
    ) -> None:
        self._settings = settings
        self._url = url
        self._usual = UsualProject(settings.project if project is None else project)
        self._embedder = embedder
        self._most = kept
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._closed = False

    def __len__(self) -> int:
        """Return how many banks are open."""
        with self._lock:
            return len(self._kept)

    def project(self, named: str | None, usual: UsualProject | None = None) -> str:
        """Return the project of a call: the one it names, else the caller's usual one, else the server's.

        Args:
            named: What the call names.
            usual: The caller's, when it has one of its own.

        Raises:
            EmptyProjectId: When none is named and the server was started in the root of the file system.
            InvalidInput: When there can be no project of that name (``project_name``).
        """
        if named is not None:
            return project_name(named)
        return (usual or self._usual).name()

    def any_project(self, tenant: str, usual: UsualProject | None = None) -> str:
        """Return a project of the tenant to start looking for a memory from: the usual one, else one that exists.

        Raises:
            EmptyProjectId: When there is neither.
        """
        try:
            return self.project(None, usual)
        except EmptyProjectId:
            existing = self.existing(tenant)
            if not existing:
                raise
            return existing[0]

    def existing(self, tenant: str) -> list[str]:
        """Return the projects of a tenant that have a bank."""
        return [scope.project for scope in self.storage().scopes(tenant) if scope.level == "project"]

    def storage(self) -> Storage:
        """Return the place of all banks."""
        from reasoningbank.storage import open_storage

        url = self._url if self._url is not None else self._settings.url or None
        return open_storage(url, home=self._settings.home)

    def has(self, tenant: str, project: str) -> bool:
        """Return whether the tenant's project has a bank; asking makes none.

        Raises:
            InvalidInput: When there can be no project of that name.
        """
        scope = Scope(tenant=tenant, project=project)
        with self._lock:
            known = any(kept.scope == scope for kept in self._kept)
        return known or scope.project in self.existing(tenant)

    def opened(self) -> list[tuple[str, str]]:
        """Return tenant and project of every bank that is open now."""
        with self._lock:
            scopes = [key.scope for key in self._kept if key.scope.level == "project"]
        return list(dict.fromkeys((scope.tenant, scope.project) for scope in scopes))

    @contextmanager
    def use(self, tenant: str, project: str, *, reads: bool = False) -> Iterator[Bank]:
        """Give the bank of a tenant's project; it stays open at least until the block ends.

        Args:
            tenant: The owner.
            project: The project.
            reads: The call only reads: then a project without a bank is an empty one, and none is made.

        Raises:
            StoreClosed: When the server is stopping.
            BankError: When the bank cannot be opened.
        """
        key = self._key(tenant, project)
        if reads and not self.has(tenant, project):
            with self._open(key, create=False) as bank:
                yield bank
            return
        with self._used(key) as bank:
            yield bank

    @contextmanager
    def visit(self, scope: Scope, membership: Membership) -> Iterator[Bank]:
        """Give the bank of a project, team or org for background work; one that was not open is closed after the block.

        Raises:
            StoreClosed: When the server is stopping.
            BankError: When the bank cannot be opened.
        """
        with self._used(_Key(scope, membership), visit=True) as bank:
            yield bank

    @contextmanager
    def _used(self, key: _Key, *, visit: bool = False) -> Iterator[Bank]:
        kept = self._taken(key, visit=visit)
        if kept is None:
            with self._opening:
                kept = self._taken(key, visit=visit) or self._opened(key, visit=visit)
        try:
            yield kept.bank
        finally:
            for bank in self._returned(kept):
                bank.close()

    def close(self) -> None:
        """Close every bank that nobody uses, the others when their call ends."""
        with self._lock:
            self._closed = True
            surplus = self._surplus()
        for bank in surplus:
            bank.close()

    def _key(self, tenant: str, project: str) -> _Key:
        """Return the bank of the call that is being answered; outside of one any bank of the project that is open."""
        scope, membership = Scope(tenant=tenant, project=project), _membership.get()
        if membership is None:
            with self._lock:
                kept = next((key for key in self._kept if key.scope == scope), None)
            return kept or _Key(scope, Membership())
        return _Key(scope, membership)

    def _taken(self, key: _Key, *, visit: bool) -> _Kept | None:
        with self._lock:
            if self._closed:
                raise StoreClosed("the server is stopping", hint="Start it again.")
            kept = self._kept.get(key)
            if kept is not None:
                if not visit:
                    self._kept.move_to_end(key)
                    kept.visited = False
                kept.users += 1
            return kept

    def _opened(self, key: _Key, *, visit: bool) -> _Kept:
        bank = self._open(key)
        with self._lock:
            kept = self._kept[key] = _Kept(bank, users=1, visited=visit)
        return kept

    def _open(self, key: _Key, *, create: bool = True) -> Bank:
        from reasoningbank.bank import Bank

        bank = Bank.open(
            self._url,
            tenant=key.scope.tenant,
            project=key.scope.project,
            level=key.scope.level,
            team=key.membership.team,
            org=key.membership.org,
            embedder=self._embedder,
            settings=self._settings,
            create=create,
            by_agent=False,
        )
        self._embedder = bank.embedder
        return bank

    def _returned(self, kept: _Kept) -> list[Bank]:
        with self._lock:
            kept.users -= 1
            return self._surplus()

    def _surplus(self) -> list[Bank]:
        """Take out the banks that need not stay open, longest unused first."""
        idle = [key for key, kept in self._kept.items() if not kept.users]
        visited = [key for key in idle if self._kept[key].visited]
        rest = [key for key in idle if not self._kept[key].visited]
        most = 0 if self._closed else self._most
        surplus = max(0, len(self._kept) - len(visited) - most)
        return [self._kept.pop(key).bank for key in (*visited, *rest[:surplus])]
