"""The closed loop: an agent works on banking77 with the real MCP server and learns from its own reports (issue 4).

``python -m evaluation.loop`` starts one server process for each seed and client, speaks to it as any client does,
and prints success in windows of tasks, with memory and without, with 95 % intervals over the seeds; ``--picture``
writes the same as SVG. Tasks are sentences, the family is the intent, one of k strategies works in a family, and the
agent is told neither. After the change every family's strategy is another one. With ``--clients 2`` two clients do
the tasks in turn, and it is said how many tasks lie between a record and the first answer that calls it confirmed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import operator
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from evaluation.loop_agent import Agent, Caller
from evaluation.loop_curve import TARGET, Life, Window, reached, recovery, windows
from evaluation.loop_picture import picture
from evaluation.loop_world import STRATEGIES, Sentences, Task, banking, planned
from reasoningbank.demo.client import served
from reasoningbank.errors import InvalidInput

REPORTED_HALF = 1
"""Half of the intents are for trying out while building, the other half for what is reported."""
RECOVERY_WINDOW = 10


class Standings:
    """When lessons were recorded, and when an answer first called them confirmed, in tasks.

    Attributes:
        task: The number of the task that is done now.
        recorded: By id, the task in which a lesson was recorded.
        confirmed: By id, the first task in which an answer called it confirmed.
        shown: The ids of what any answer held.
    """

    def __init__(self) -> None:
        self.task = 0
        self.recorded: dict[str, int] = {}
        self.confirmed: dict[str, int] = {}
        self.shown: set[str] = set()

    def note(self, tool: str, answer: Mapping[str, object]) -> None:
        """Notes what an answer says."""
        if tool == "memory_record":
            self.recorded.setdefault(str(answer["id"]), self.task)
        for name in ("memories", "unproven"):
            found = answer.get(name)
            for hit in found if isinstance(found, list) else ():
                self.shown.add(str(hit["id"]))
                if hit["standing"] == "confirmed":
                    self.confirmed.setdefault(str(hit["id"]), self.task)

    def line(self) -> str:
        """How many were confirmed, and how long that took."""
        waited = sorted(self.confirmed[one] - self.recorded[one] for one in self.confirmed if one in self.recorded)
        known = f"{len(self.recorded)} lessons recorded, {len(self.shown & set(self.recorded))} shown again"
        if not waited:
            return f"{known}, none called confirmed"
        median = statistics.median(waited)
        nine = waited[min(len(waited) - 1, int(0.9 * len(waited)))]
        return f"{known}, {len(waited)} called confirmed: after {median:g} tasks (median), nine in ten after {nine}"


class Remote:
    """Calls the tools of a server that a process of its own started: a client of its own, and so another principal."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """See Caller.call."""
        self._connection.send((tool, dict(arguments)))
        answer: Mapping[str, object] = await asyncio.to_thread(self._connection.recv)
        return answer


@asynccontextmanager
async def client(home: Path) -> AsyncIterator[Remote]:
    """Starts a process that speaks to a server of its own over the bank; ends it afterwards."""
    mine, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_spoken, args=(theirs, home))
    process.start()
    try:
        yield Remote(mine)
    finally:
        mine.send(None)
        process.join()


def _spoken(connection: Connection, home: Path) -> None:
    asyncio.run(_answered(connection, home))


async def _answered(connection: Connection, home: Path) -> None:
    async with served(home, tenant="evaluation", project="loop") as tools:
        while (request := await asyncio.to_thread(connection.recv)) is not None:
            connection.send(dict(await tools.call(*request)))


class Noting:
    """Calls tools and notes the standings in their answers."""

    def __init__(self, tools: Caller, standings: Standings) -> None:
        self._tools, self._standings = tools, standings

    async def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """See Caller.call."""
        answer = await self._tools.call(tool, arguments)
        self._standings.note(tool, answer)
        return answer


async def lived(
    tasks: Sequence[Task],
    *,
    seed: int,
    strategies: int,
    home: Path | None,
    clients: int = 1,
    standings: Standings | None = None,
) -> Life:
    """One life over these tasks, of an agent or of several in turn.

    Args:
        tasks: In order.
        seed: Decides what the agent tries.
        strategies: How many of ``STRATEGIES`` it can choose from.
        home: An empty folder for the server's bank; None for an agent without memory.
        clients: How many agents do the tasks in turn, each with a server of its own over one bank.
        standings: Notes when lessons are confirmed.

    Raises:
        BankError: When the server fails.
    """
    chance = random.Random(f"agent {seed}")
    repertoire = STRATEGIES[:strategies]
    standings = standings or Standings()
    if home is None:
        succeeded = await _worked([Agent(None, repertoire, chance)], tasks, standings)
        return Life(seed=seed, tasks=tuple(tasks), succeeded=succeeded)
    async with AsyncExitStack() as stack:
        agents = [
            Agent(Noting(await stack.enter_async_context(client(home)), standings), repertoire, chance)
            for _ in range(clients)
        ]
        return Life(seed=seed, tasks=tuple(tasks), succeeded=await _worked(agents, tasks, standings))


async def _worked(agents: Sequence[Agent], tasks: Sequence[Task], standings: Standings) -> tuple[bool, ...]:
    ends = []
    for number, task in enumerate(tasks):
        standings.task = number
        agent = agents[number % len(agents)]
        ends.append(await agent.work(task.text, f"task-{number}", partial(operator.eq, task.works)))
    return tuple(ends)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the evaluation; returns 0."""
    parser = argparse.ArgumentParser(prog="evaluation.loop", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the data")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5], help="one life for each")
    parser.add_argument("--families", type=int, default=10, help="families, drawn for each seed; 77 for all")
    parser.add_argument("--tasks", type=int, default=400, help="tasks before the change")
    parser.add_argument("--after", type=int, default=600, help="tasks after the change; 0 for no change")
    parser.add_argument("--strategies", type=int, default=5, help="strategies to choose from")
    parser.add_argument("--clients", type=int, default=1, help="agents that do the tasks in turn, a server for each")
    parser.add_argument("--window", type=int, default=40, help="tasks of one window")
    parser.add_argument("--half", type=int, choices=[0, 1], default=REPORTED_HALF, help="which half of the intents")
    parser.add_argument("--picture", type=Path, help="write the curve to this SVG file")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    options = parser.parse_args(arguments)
    folder = options.data / "banking77"
    try:
        sentences = banking(folder, half=None if options.families > 30 else options.half)
    except InvalidInput as error:
        _print(f"skipped: {error} {error.hint}")
        return 0
    began = time.monotonic()
    with_memory, without = [], []
    for seed in options.seeds:
        life, blind = asyncio.run(_both(sentences, options, seed))
        with_memory.append(life)
        without.append(blind)
        _note(f"seed {seed}: {sum(life.succeeded)} of {len(life.tasks)} tasks ({time.monotonic() - began:.0f} s)")
    show(with_memory, without, options)
    return 0


async def _both(sentences: Sentences, options: argparse.Namespace, seed: int) -> tuple[Life, Life]:
    """The lives of one seed with memory and without."""
    tasks = planned(
        sentences,
        families=options.families,
        tasks=options.tasks,
        after=options.after,
        strategies=options.strategies,
        seed=seed,
    )
    with tempfile.TemporaryDirectory(prefix="reasoningbank-evaluation-") as home:
        standings = Standings()
        life = await lived(
            tasks,
            seed=seed,
            strategies=options.strategies,
            home=Path(home),
            clients=options.clients,
            standings=standings,
        )
    _note(f"seed {seed}: {standings.line()}")
    return life, await lived(tasks, seed=seed, strategies=options.strategies, home=None)


def show(with_memory: Sequence[Life], without: Sequence[Life], options: argparse.Namespace) -> None:
    """Prints the curve of these lives, and writes its picture when the options name a file for it."""
    found, control = windows(with_memory, options.window), windows(without, options.window)
    again = recovery(with_memory, RECOVERY_WINDOW)
    if options.picture is not None:
        title = f"{options.families} families of banking77, one of {options.strategies} strategies works in each"
        curves = [("with memory", found), ("without memory", control)]
        options.picture.parent.mkdir(parents=True, exist_ok=True)
        options.picture.write_text(picture(title, curves, options.tasks), encoding="utf-8")
    if options.json:
        parts = {"with_memory": found, "without_memory": control, "after_the_change_by_family": again}
        _print(json.dumps({name: [asdict(window) for window in each] for name, each in parts.items()}, indent=1))
        return
    changes = f", every strategy changes after task {options.tasks}" if again else ""
    _print(
        f"{len(with_memory)} seeds, {options.families} families drawn for each, {options.strategies} strategies "
        f"(chance {1 / options.strategies:.0%}){changes}"
    )
    _print("\ntasks          with memory                   without memory")
    for window, other in zip(found, control, strict=True):
        _print(f"{window.first:4} to {window.last:4}   {_written(window)}   {_written(other)}")
    _print(_rise([window for window in found if window.last <= options.tasks], options.tasks))
    if again:
        _print("\ntasks of each family after the change")
        for window in again:
            _print(f"{window.first:4} to {window.last:4}   {_written(window)}")
        _print(_recovered(again))


def _written(window: Window) -> str:
    return f"{window.rate:6.1%} ({window.low:6.1%} to {window.high:6.1%})"


def _rise(found: Sequence[Window], tasks: int) -> str:
    first = reached(found)
    if first is None:
        return f"Success does not reach {TARGET:.0%} within {tasks} tasks."
    return f"Success is at {TARGET:.0%} or above from tasks {first.first} to {first.last} on."


def _recovered(again: Sequence[Window]) -> str:
    first = reached(again)
    if first is None:
        return f"Success does not come back to {TARGET:.0%} within {again[-1].last} tasks of each family."
    return f"Success is back at {TARGET:.0%} or above from tasks {first.first} to {first.last} of each family on."


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _note(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
