"""How many searches a second the HTTP server answers, against servers of other versions of this program.

Every server has a bank with the same memories and answers the same clients, in turns on the same machine: seconds say
little, ratios do. Each client is a protocol session with a connection of its own that sends its next search when the
last one is answered; the clients are one process, which ``top`` shows beside the server.

    python benchmarks/bench_http.py [--clients 64] [--seconds 10] [--rounds 3] [--busy 2] [OTHER_PYTHON ...]

``OTHER_PYTHON`` is the interpreter of an environment with another version; ``--busy`` keeps so many cores busy
meanwhile. It ends with status 1 when a search failed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import corpus

MEMORIES = 300
SLOWEST = 0.99
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}


@dataclass
class Server:
    """A server of one version, and what it has answered so far."""

    name: str
    port: int
    token: str
    process: subprocess.Popen[bytes]
    rates: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    cpu: float = 0.0
    failed: int = 0

    @property
    def slowest(self) -> float:
        """The 99th percentile of the waiting times in seconds."""
        return sorted(self.waits)[math.ceil(SLOWEST * len(self.waits)) - 1]

    def spent(self) -> float:
        """Seconds of CPU that the process has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Client:
    """One client: a connection and a session."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._session = ""
        self._number = 0

    async def connect(self) -> None:
        """Opens the connection and the session."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._server.port)
        head, _ = await self._sent(INITIALIZE)
        lines = head.decode("latin-1").split("\r\n")
        self._session = next(line.split(": ")[1] for line in lines if line.lower().startswith("mcp-session-id: "))
        await self._sent({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, name: str, arguments: Mapping[str, object]) -> bool:
        """Calls a tool; returns whether it was answered without an error."""
        self._number += 1
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        _, body = await self._sent(message)
        result = json.loads(body or b"{}").get("result", {})
        return "content" in result and not result.get("isError")

    def close(self) -> None:
        """Hangs up."""
        self._writer.close()

    async def _sent(self, message: object) -> tuple[bytes, bytes]:
        body = json.dumps(message).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self._server.port}\r\n"
            f"Authorization: Bearer {self._server.token}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n"
        )
        if self._session:
            head += f"Mcp-Session-Id: {self._session}\r\nMCP-Protocol-Version: 2025-11-25\r\n"
        self._writer.write(head.encode() + b"\r\n" + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        lines = answer.lower().split(b"\r\n")
        length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")), 0)
        return answer, await self._reader.readexactly(length)


async def load(server: Server, clients: int, seconds: float, queries: Sequence[str], seed: int) -> None:
    """Has the clients search for so long; what they met is added to the server's figures."""
    choice = random.Random(seed)
    connected = [Client(server) for _ in range(clients)]
    for client in connected:
        await client.connect()
    waits: list[float] = []
    spent, began = server.spent(), time.perf_counter()
    end = began + seconds

    async def search(client: Client) -> None:
        while time.perf_counter() < end:
            sent = time.perf_counter()
            if await client.call("memory_search", {"query": choice.choice(queries)}):
                waits.append(time.perf_counter() - sent)
            else:
                server.failed += 1

    await asyncio.gather(*(search(client) for client in connected))
    server.rates.append(len(waits) / (time.perf_counter() - began))
    server.cpu += server.spent() - spent
    server.waits += waits
    for client in connected:
        client.close()


async def fill(server: Server, count: int) -> None:
    """Records memories of real sentences."""
    client = Client(server)
    await client.connect()
    choice = random.Random(3)
    for number in range(count):
        title, *body = choice.choices(corpus.sentences(), k=4)
        content = f"{' '.join(body)} See case {number}."
        recorded = {"title": f"{title[:150]} ({number})", "content": content, "outcome": "success"}
        server.failed += not await client.call("memory_record", recorded)
    client.close()


@contextmanager
def serving(python: str, home: Path, *, url: str = "") -> Iterator[Server]:
    """Starts the server of a version over an empty directory, or a place for banks; stops it at the end."""
    home.mkdir(mode=0o700)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REASONINGBANK_")}
    environment |= {"REASONINGBANK_HOME": str(home), "OMP_NUM_THREADS": "1"}
    environment |= {"REASONINGBANK_URL": url} if url else {}
    program = "from reasoningbank.cli import main; main()"
    if subprocess.run([python, "-c", "import reasoningbank.cli"], capture_output=True, check=False).returncode:
        program = "from reasoningbank.surfaces.cli import main; main()"
    command = [python, "-c", program, "serve", "--http", "127.0.0.1:0", "--tenant", "bench", "--project", "bench"]
    process = subprocess.Popen(command, env=environment, cwd=home, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        assert process.stderr is not None
        said = process.stderr.readline().decode()
        if not said.startswith("Serving "):
            raise SystemExit(f"{python} does not serve: {said}{process.stderr.read().decode()}")
        port = int(said.split("/mcp")[0].rpartition(":")[2])
        yield Server(python, port, (home / "http-token").read_text().strip(), process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


@contextmanager
def busy(cores: int) -> Iterator[None]:
    """Keeps cores busy with work that nobody needs."""
    others = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(cores)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.join()


def _spin() -> None:
    while True:
        sum(range(10_000))


def main() -> int:
    """Prints the figures of each version, and the ratios of this one to the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("others", nargs="*", metavar="OTHER_PYTHON")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--busy", type=int, default=0, help="cores that are kept busy meanwhile")
    chosen = parser.parse_args()
    queries = corpus.questions(2_000)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        pythons = [*chosen.others, sys.executable]
        servers = [
            stack.enter_context(serving(python, Path(folder) / str(number))) for number, python in enumerate(pythons)
        ]
        for server in servers:
            asyncio.run(fill(server, chosen.memories))
        with busy(chosen.busy):
            for number in range(chosen.rounds):
                for server in servers:
                    asyncio.run(load(server, chosen.clients, chosen.seconds, queries, number))
        return report(servers)


def report(servers: Sequence[Server]) -> int:
    """Prints a line for each server; this version's ratio to each is that of the medians."""
    ours = servers[-1]
    for server in servers:
        rate = statistics.median(server.rates)
        print(
            f"{rate:7.1f} searches/s   p50 {statistics.median(server.waits):6.2f} s   p99 {server.slowest:6.2f} s   "
            f"{server.cpu / len(server.waits) * 1_000:6.1f} ms of CPU each   failed {server.failed}   "
            f"ours/this {statistics.median(ours.rates) / rate:5.2f}   {server.name}"
        )
    return int(any(server.failed for server in servers))


if __name__ == "__main__":
    sys.exit(main())
