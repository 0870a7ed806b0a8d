"""How long the pages of the dashboard take on banks of two sizes: by the clock, and in processor time of the server.

    PYTHONPATH=tests:benchmarks python benchmarks/bench_dashboard.py [MEMORIES ...]

Prints each page with the median of several looks. On a busy machine the processor time is the number to compare.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import httpx2

from web.dashboard_banks import TEAM, Filled, fill
from web.servers import Served, serving

SIZES = (10_000, 100_000)
LIMITS = {10_000: 200.0, 100_000: 500.0}
LOOKS = 7


def pages(bank: Filled) -> dict[str, str]:
    """The pages that read most, by their names."""
    return {
        "overview": "",
        "memories": "/memories",
        "memories, surest first, page 50": "/memories?order=confidence&page=50",
        "memories, a search": "/memories?q=" + quote("the payment provider times out"),
        "one memory": f"/memories/{bank.rated}",
        "sessions": "/sessions",
        "one session": f"/sessions/{bank.session}",
        "claims": "/review",
        "quarantine": "/review/quarantine",
        "promotions": "/review/promotions",
        "merges": "/review/merges",
        "graph, a question": "/graph?q=" + quote("Which frost lesson decides when the fern sale may start?"),
        "jobs": "/jobs",
        "settings": "/settings",
    }


def spent(process: int) -> float:
    """Milliseconds of processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000 / os.sysconf("SC_CLK_TCK")


def measure(served: Served, bank: Filled, size: int) -> None:
    """Print how long each page takes."""
    with httpx2.Client(base_url=served.base, timeout=600, headers={"Origin": served.base}) as client:
        client.post("/dashboard/login", data={"token": served.token})
        print(f"{size:,} memories: median of {LOOKS} looks after the first; the aim is {LIMITS.get(size, 500.0):g} ms")
        for name, path in pages(bank).items():
            client.get(f"/dashboard{path}").raise_for_status()
            clock, processor = [], spent(served.process.pid)
            for _ in range(LOOKS):
                began = time.perf_counter()
                client.get(f"/dashboard{path}").raise_for_status()
                clock.append((time.perf_counter() - began) * 1_000)
            used = (spent(served.process.pid) - processor) / LOOKS
            print(f"  {name:34} {statistics.median(clock):8.0f} ms by the clock {used:8.0f} ms of processor time")


def main() -> None:
    """Measure every size that is asked for."""
    for size in map(int, sys.argv[1:] or map(str, SIZES)):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "home"
            home.mkdir(mode=0o700)
            bank = fill(home, size)
            (home / "settings.toml").write_text(f'team = "{TEAM}"\n')
            with serving(home) as served:
                measure(served, bank, size)


if __name__ == "__main__":
    main()
