"""How long a client waits for ``initialize`` of a server that is not shared, against a bare one of the same SDK.

Both are started alternately on the same machine; the difference of the medians is what our own code costs. Run it with
``python benchmarks/bench_initialize.py [runs]``; it ends with status 1 when the difference is above the limit.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from stdio_connection import StdioConnection

LIMIT_MILLISECONDS = 100.0
"""What our code may add to the SDK's own time."""
RUNS = 10

BARE = """
import anyio
import mcp.types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server


async def list_tools(context, params):
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema={"type": "object"})])


async def call_tool(context, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="echo")])


async def main():
    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


anyio.run(main)
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Seconds from starting the process to its answer, one value for each run."""

    ours: tuple[float, ...]
    bare: tuple[float, ...]

    @property
    def added(self) -> float:
        """Difference of the medians in milliseconds."""
        return (statistics.median(self.ours) - statistics.median(self.bare)) * 1_000

    @property
    def ratio(self) -> float:
        """Ratio of the medians."""
        return statistics.median(self.ours) / statistics.median(self.bare)


def compare(runs: int = RUNS) -> Comparison:
    """Start both servers alternately; the first pair, which fills the file cache, is not counted."""
    ours: list[float] = []
    bare: list[float] = []
    with tempfile.TemporaryDirectory() as home:
        for _ in range(runs + 1):
            bare.append(seconds_to_answer(["-c", BARE], Path(home)))
            ours.append(seconds_to_answer(["-m", "reasoningbank.mcp"], Path(home)))
    return Comparison(tuple(ours[1:]), tuple(bare[1:]))


def seconds_to_answer(arguments: list[str], home: Path) -> float:
    """Return the seconds from starting Python with these arguments to the answer to ``initialize``."""
    own = {"REASONINGBANK_HOME": str(home), "REASONINGBANK_SHARED": "false"}
    with closing(StdioConnection([sys.executable, *arguments], home, own)) as connection:
        return connection.hello()


def main() -> int:
    """Print the medians, their ratio and their difference."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    comparison = compare(runs)
    for name, values in (("bare SDK", comparison.bare), ("reasoningbank", comparison.ours)):
        spread = f"{min(values) * 1_000:.0f} to {max(values) * 1_000:.0f}"
        print(f"{name:14} median {statistics.median(values) * 1_000:7.0f} ms   ({spread}, {runs} runs)")
    print(f"ratio {comparison.ratio:.3f}   added {comparison.added:+.0f} ms   limit {LIMIT_MILLISECONDS:+.0f} ms")
    return 0 if comparison.added <= LIMIT_MILLISECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
