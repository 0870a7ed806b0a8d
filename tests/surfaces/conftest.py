"""Servers for the tests of the protocol: real processes, and the tools inside this one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from mcp_processes import SERVER, RawServer, StartServer, clean_environment
from reasoningbank.mcp.banks import Banks
from reasoningbank.mcp.tools import Tools
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Starts raw servers on one data directory and ends those that still run."""
    servers: list[RawServer] = []

    def start(arguments: Sequence[str] = SERVER, *, errors: int | None = subprocess.DEVNULL) -> RawServer:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env=clean_environment(tmp_path / "home"),
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        servers.append(RawServer(process))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait(timeout=10)
        for stream in (server.process.stdin, server.process.stdout, server.process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    """The tools inside this process, over the real store and an embedder without a model."""
    banks = Banks(Settings(home=tmp_path / "home"), project="Shop-API", embedder=HashingEmbedder())
    made = Tools(banks)
    yield made
    made.close()
