"""What ``rbank --help`` costs in processor time, from process start."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

LIMIT_SECONDS = 0.150
RUNS = 15
RBANK = Path(sys.executable).parent / "rbank"


def cpu_seconds(command: list[str], cache: Path) -> float:
    """User and system time of one process that finds its modules compiled below ``cache``, as an installed one does."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env={**environment, "PYTHONPYCACHEPREFIX": str(cache)}
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs a system that counts a child's processor time")
def test_help_costs_little_processor_time(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    help_command, bare = [str(RBANK), "--help"], [sys.executable, "-c", "pass"]
    for command in (help_command, bare):
        cpu_seconds(command, tmp_path)
    pairs = [(cpu_seconds(help_command, tmp_path), cpu_seconds(bare, tmp_path)) for _ in range(RUNS)]
    ours, theirs = (statistics.median(values) for values in zip(*pairs, strict=True))
    figures = f"{ours * 1_000:.0f} ms CPU, {ours / theirs:.1f} times a bare Python"
    benchmark.extra_info.update(help=figures)
    sys.stderr.write(f"\nrbank --help: {figures}\n")
    benchmark.pedantic(lambda: cpu_seconds(help_command, tmp_path), rounds=5)
    assert ours <= LIMIT_SECONDS
