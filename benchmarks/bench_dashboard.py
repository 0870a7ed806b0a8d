"""How long the pages of the dashboard take on banks of two sizes: by the clock, and in processor time of the server.

    make bench-dashboard SIZES="10000 100000"

Prints each page with the median of several looks: while nothing is written, and each just after a write. On a busy
machine the processor time is the number to compare. What is above the aim by the clock is marked.
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
        **{
            f"memories, {name}": f"/memories?{query}"
            for name, query in (
                ("oldest first", "order=recorded"),
                ("last changed first", "order=changed"),
                ("most shown first", "order=shown"),
                ("anti-patterns", "outcome=failure"),
                ("archived", "state=archived"),
                ("all states", "state=all"),
                ("proven, surest first", "level=proven&order=confidence"),
                ("a tag", "tag=payments"),
                ("a tag, anti-patterns, most shown", "tag=team3&outcome=failure&order=shown"),
                ("a search for warnings", "outcome=failure&q=reset+the+cache"),
            )
        },
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
    """Print how long each page takes, and which take longer than they should."""
    limit = LIMITS.get(size, 500.0)
    with httpx2.Client(base_url=served.base, timeout=600, headers={"Origin": served.base}) as client:
        client.post("/dashboard/login", data={"token": served.token})
        print(f"{size:,} memories: medians of {LOOKS} looks after the first, in ms; the aim is {limit:g} ms")
        print(f"  {'':46} {'quiet':>7} {'processor':>10} {'written':>8} {'longest':>8} {'processor':>10}")
        for name, path in pages(bank).items():
            look(client, served, path)
            quiet = [look(client, served, path) for _ in range(LOOKS)]
            written = []
            for number in range(LOOKS):
                write(served, f"{name} {number} {time.monotonic_ns()}")
                written.append(look(client, served, path))
            (clock, used), (after, spent_after) = middle(quiet), middle(written)
            longest = max(each for each, _ in written)
            said = "  above the aim" if max(clock, after) > limit else ""
            print(f"  {name:46} {clock:7.0f} {used:10.0f} {after:8.0f} {longest:8.0f} {spent_after:10.0f}{said}")


def look(client: httpx2.Client, served: Served, path: str) -> tuple[float, float]:
    """Milliseconds of one look at a page: by the clock, and of the server's processor."""
    used, began = spent(served.process.pid), time.perf_counter()
    client.get(f"/dashboard{path}").raise_for_status()
    return (time.perf_counter() - began) * 1_000, spent(served.process.pid) - used


def middle(looks: list[tuple[float, float]]) -> tuple[float, float]:
    """The median by the clock and the mean of the processor, whose clock is coarse."""
    return statistics.median(each for each, _ in looks), statistics.fmean(used for _, used in looks)


def write(served: Served, text: str) -> None:
    """Record a memory, as an agent does between two looks."""
    httpx2.post(
        f"{served.base}/api/v1/memories",
        headers={"Authorization": f"Bearer {served.token}"},
        timeout=600,
        json={"title": f"Look after {text}", "content": f"Look at the page after {text}.", "outcome": "success"},
    ).raise_for_status()


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
