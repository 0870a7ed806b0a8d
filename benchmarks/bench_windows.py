"""What windows cost: processes of `rbank serve` that are relays to a shared server, and ones that serve by themselves.

Run it with ``python benchmarks/bench_windows.py [windows] [runs]``. It needs Linux: CPU and memory are read from /proc.
It ends with status 1 when a relay is above its limits.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from stdio_connection import StdioConnection

MOST_SECONDS, MOST_MEGABYTES = 0.1, 30.0
"""What a relay may cost in CPU and in memory."""
WINDOWS, RUNS = 8, 5
_TICK = os.sysconf("SC_CLK_TCK")


def window(home: Path, run_directory: Path | None) -> StdioConnection:
    """Return a process of ``rbank serve`` that was started just now: a relay where there is a run directory."""
    own = {"REASONINGBANK_HOME": str(home), "REASONINGBANK_PROJECT": "bench"}
    own |= (
        {"REASONINGBANK_RUN_DIRECTORY": str(run_directory), "REASONINGBANK_IDLE_MINUTES": "0.05"}
        if run_directory
        else {"REASONINGBANK_SHARED": "false"}
    )
    return StdioConnection([str(Path(sys.executable).parent / "rbank"), "serve"], home, own)


def used(pid: int) -> tuple[float, float, float]:
    """CPU seconds of a process, and megabytes it has held at most and shares with nobody now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    most = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    share = next(int(line.split()[1]) for line in rollup if line.startswith("Pss:")) / 1024
    return (int(fields[11]) + int(fields[12])) / _TICK, most, share


def servers_in(folder: Path) -> list[int]:
    """The shared servers whose sockets are in the directory."""
    running = [process for process in Path("/proc").iterdir() if process.name.isdigit()]
    return [int(process.name) for process in running if f"{folder}/".encode() in _opened(process)]


def _opened(process: Path) -> bytes:
    """What a process maps and has open, in one text."""
    found = b""
    with suppress(OSError):
        for each in (process / "fd").iterdir():
            with suppress(OSError):
                found += bytes(each.readlink()) + b"\n"
    return found


def end(folder: Path) -> None:
    """End the shared servers and wait until they are gone."""
    for pid in servers_in(folder):
        os.kill(pid, signal.SIGTERM)
    while servers_in(folder):
        time.sleep(0.02)


@dataclass
class Measured:
    """Seconds and megabytes, one value for each window."""

    initialize: list[float] = field(default_factory=list)
    tools: list[float] = field(default_factory=list)
    search: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)
    total_cpu: list[float] = field(default_factory=list)
    total_share: list[float] = field(default_factory=list)

    def take(self, windows: list[StdioConnection], folder: Path | None, searching: bool) -> None:
        """Note what windows do and cost."""
        for each in windows:
            self.initialize.append(each.hello())
            each.ask("tools/list")
            self.tools.append(time.perf_counter() - each.began)
        if searching:
            for each in windows:
                self.search.append(each.call("memory_search", {"query": "a flaky network call"}))
        costs = [used(each.process.pid) for each in windows]
        beside = [used(pid) for pid in servers_in(folder)] if folder else []
        self.cpu += [cpu for cpu, _, _ in costs]
        self.most += [most for _, most, _ in costs]
        self.total_cpu.append(sum(cpu for cpu, _, _ in costs + beside))
        self.total_share.append(sum(share for _, _, share in costs + beside))
        for each in windows:
            each.close()

    def say(self, title: str) -> None:
        """Print the medians and the largest."""

        def line(name: str, values: list[float], unit: str, factor: float = 1.0) -> None:
            if values:
                middle, most = statistics.median(values) * factor, max(values) * factor
                print(f"  {name:34} median {middle:8.0f} {unit}   most {most:8.0f} {unit}")

        print(title)
        line("initialize answered after", self.initialize, "ms", 1_000)
        line("tools listed after", self.tools, "ms", 1_000)
        line("first search takes", self.search, "ms", 1_000)
        line("CPU of a window", self.cpu, "ms", 1_000)
        line("memory of a window at most", self.most, "MB")
        line("CPU of all, server included", self.total_cpu, "ms", 1_000)
        line("memory of all (shared pages once)", self.total_share, "MB")


def measured(home: Path, folder: Path | None, windows: int, runs: int, *, warm: bool, searching: bool) -> Measured:
    """Start so many windows at once, several times; the first time, which fills the file cache, is not counted."""
    found = Measured()
    for run in range(runs + 1):
        if folder and not warm:
            end(folder)
        result = found if run else Measured()
        result.take([window(home, folder) for _ in range(windows)], folder, searching)
    if folder:
        end(folder)
    return found


def main() -> int:
    """Print what one window and several cost, both ways."""
    windows = int(sys.argv[1]) if len(sys.argv) > 1 else WINDOWS
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else RUNS
    base = Path(tempfile.mkdtemp(prefix="rb-"))
    try:
        home, folder = base / "home", base / "run"
        home.mkdir()
        folder.mkdir(mode=0o700)
        first = window(home, None)
        first.hello()
        first.call(
            "memory_record", {"title": "Retry flaky network calls", "content": "Back off.", "outcome": "success"}
        )
        first.close()
        relay = measured(home, folder, 1, 2 * runs, warm=True, searching=False)
        relay.say("one window, a relay, the server runs; only connected")
        measured(home, folder, 1, runs, warm=True, searching=True).say("one window, a relay, the server runs")
        measured(home, folder, 1, runs, warm=False, searching=True).say("one window, a relay that starts the server")
        measured(home, None, 1, runs, warm=False, searching=True).say("one window that serves by itself")
        measured(home, folder, windows, runs, warm=False, searching=True).say(f"{windows} windows, relays")
        measured(home, None, windows, runs, warm=False, searching=True).say(f"{windows} windows by themselves")
    finally:
        end(base / "run")
        shutil.rmtree(base, ignore_errors=True)
    fine = statistics.median(relay.cpu) <= MOST_SECONDS and max(relay.most) <= MOST_MEGABYTES
    print("within the limits" if fine else "ABOVE THE LIMITS")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
