"""The demonstration: two sessions of a scripted agent, in which the second does better because of the first.

The agent, the project and the week between the sessions are made up. Everything else is real: the commands, the hooks
and the server as ``rbank install claude-code`` has written them, the transcripts, and what the bank makes of them. It
all happens below one temporary directory, which is removed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from reasoningbank.demo.agent import REPORT_IDEAS, SETTINGS_IDEAS, Ran, reach
from reasoningbank.demo.checkout import check_out
from reasoningbank.demo.client import connected
from reasoningbank.demo.hooked import HookedSession, Installed, PlainShell, read_installed
from reasoningbank.errors import BankError
from reasoningbank.lock_file import open_lock
from reasoningbank.operations.text import history_text
from reasoningbank.settings import Settings, child_environment, matching_environment

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.types.memory import Memory
    from reasoningbank.types.session import SessionState

TENANT, PROJECT = "demo", "github.com/acme/shop"
TASK = "Make the tests of the orders pass in this fresh checkout, then print today's report."
LATER = "Is the tax on an invoice rounded down? A test should know."
ORDERS = "python -m unittest tests.test_orders"
INVOICES = "python -m unittest tests.test_invoices"
REPORT = "./report.sh"
_PATIENCE = 60.0
_LEAVE = 20.0
_LOOK = 0.1
_IDLE_MINUTES = "0.05"


class ExecutedCommand(TypedDict):
    """One command of a session, and what came of it."""

    command: str
    exit_code: int
    output: str
    shown: str


class RecipeConfidence(TypedDict):
    """One memory of the bank, with its confidence before and after the second session."""

    id: str
    title: str
    before: float
    after: float


class Check(TypedDict):
    """One thing that should have happened, and whether it did."""

    what: str
    ok: bool


class DemoAnswer(TypedDict):
    """Everything the demonstration did."""

    tools: list[str]
    first: list[ExecutedCommand]
    second: list[ExecutedCommand]
    without_memory: int
    verdict: str
    recipes: list[RecipeConfidence]
    why: list[str]
    checks: list[Check]
    seconds: float
    ok: bool


def run(say: Callable[[str], None]) -> DemoAnswer:
    """Run the demonstration below a temporary directory, and remove it.

    Args:
        say: Takes what happens, as it happens.

    Raises:
        BankError: When something cannot be run; a step that ends otherwise than it should is a check that is not ok.
    """
    started = time.monotonic()
    place = Path(tempfile.mkdtemp(prefix="rbank-demo-")).resolve()
    try:
        answer = asyncio.run(_perform(place, say))
        answer["checks"].append(Check(what="no server is left", ok=_servers_ended(place / "run")))
    finally:
        _wait_for_hooks(place / "bank")
        _remove(place)
    answer["checks"].append(Check(what="no file is left", ok=not place.exists()))
    answer["seconds"] = round(time.monotonic() - started, 2)
    answer["ok"] = all(check["ok"] for check in answer["checks"])
    return answer


def _install(place: Path) -> tuple[Installed, dict[str, str]]:
    """Install into a client of a user below the directory; return what was written, and the user's environment."""
    programs = Path(sys.executable).parent
    home = place / "home"
    home.mkdir()
    own = {
        "HOME": str(home),
        "PATH": str(programs),
        "REASONINGBANK_HOME": str(place / "bank"),
        "REASONINGBANK_RUN_DIRECTORY": str(place / "run"),
        "REASONINGBANK_IDLE_MINUTES": _IDLE_MINUTES,
    }
    kept = matching_environment(("REASONINGBANK_SHARED",))
    variables = child_environment(own | kept, without=("REASONINGBANK_", "XDG_", "CLAUDE", "GIT_"))
    words = ["--tenant", TENANT, "--project", PROJECT, "install", "claude-code"]
    done = subprocess.run(  # noqa: S603 - this program
        [sys.executable, "-m", "reasoningbank.cli", *words],
        cwd=place,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BankError(f"rbank install failed: {done.stderr.strip()}", hint="Run rbank doctor.")
    search = [str(programs), *filter(None, os.get_exec_path())]
    return read_installed(home), {**variables, "PATH": os.pathsep.join(dict.fromkeys(search))}


async def _perform(place: Path, say: Callable[[str], None]) -> DemoAnswer:
    installed, variables = _install(place)
    say(
        "The agent here is a script. The rest is real: its commands, the hooks and the server as `rbank install\n"
        "claude-code` wrote them, and what the bank learns. No model, no key, no lesson written by hand."
    )
    async with connected([*installed.server], {**variables, **installed.variables}, place) as tools:
        names = await tools.names()
        empty = await tools.call("memory_search", {"query": TASK})
        first, earlier = await _session_of_orders(place, installed, variables, say, empty["message"])
        say(f"\nA WEEK LATER (in truth: at once), in another checkout: {LATER}")
        checkout = check_out(place / "second")
        session = HookedSession(installed, checkout, place / "transcripts" / "second.jsonl", variables, LATER)
        second = reach(session, "Run the tests.", INVOICES, SETTINGS_IDEAS)
        session.end("The tests of the invoices pass.")
        _tell(second, say)
        plain = reach(PlainShell(check_out(place / "plain"), variables), "", INVOICES, SETTINGS_IDEAS)
        say(f"  {len(second)} commands. Without the hook this agent needs {len(plain)} here, as in session 1.")
        state, later = await asyncio.to_thread(_learned, place, session.id)
    recipes = _compared(earlier, later)
    why = _why(place, recipes[0]["id"]) if recipes else []
    _tell_credit(state, recipes, why, say)
    return DemoAnswer(
        tools=names,
        first=[_told(each) for each in first],
        second=[_told(each) for each in second],
        without_memory=len(plain),
        verdict=state.verdict,
        recipes=recipes,
        why=why,
        checks=_checks(empty["count"], first, second, plain, state, recipes),
        seconds=0.0,
        ok=False,
    )


async def _session_of_orders(
    place: Path, installed: Installed, variables: Mapping[str, str], say: Callable[[str], None], found: str
) -> tuple[list[Ran], tuple[Memory, ...]]:
    """Play the first session; return its commands until the tests passed, and what the bank learned."""
    say(f"\nSESSION 1: {TASK}\n  The agent searches the bank first: {found}")
    checkout = check_out(place / "first")
    session = HookedSession(installed, checkout, place / "transcripts" / "first.jsonl", variables, TASK)
    tests = reach(session, "Run the tests.", ORDERS, SETTINGS_IDEAS)
    report = reach(session, "Now the report.", REPORT, REPORT_IDEAS)
    session.end("The tests of the orders pass, and the report is printed.")
    _tell(tests, say)
    say(f"  {len(tests)} commands until the tests pass. Then the report:")
    _tell(report, say)
    begun = time.monotonic()
    _, memories = await asyncio.to_thread(_learned, place, session.id)
    say(f"The session ended; {time.monotonic() - begun:.1f} s later the bank has learned from its transcript:")
    for memory in memories:
        say(f"  confidence {memory.confidence:.3f}, {memory.state}: {memory.title}")
    return tests, memories


def _bank(place: Path) -> Bank:
    from reasoningbank.bank import Bank

    return Bank.open(tenant=TENANT, project=PROJECT, settings=Settings(home=place / "bank"), by_agent=False)


def _learned(place: Path, session: str) -> tuple[SessionState, tuple[Memory, ...]]:
    """Wait until everything that needs no model was done for a session; return its state and the bank's memories.

    Raises:
        BankError: When that takes too long.
    """
    from reasoningbank.types.session import CAPTURE, CREDIT, RECIPES

    needed = {CAPTURE, RECIPES, CREDIT}
    deadline = time.monotonic() + _PATIENCE
    with _bank(place) as bank:
        while time.monotonic() < deadline:
            known = [state for state in bank.sessions.states() if state.session == session]
            if known and not needed & {job.kind for job in bank.jobs.waiting()}:
                return known[0], bank.memories.list()
            time.sleep(_LOOK)
    raise BankError("the session was not captured", hint="Look into the hooks with rbank status.")


def _why(place: Path, memory_id: str) -> list[str]:
    """Return the evidence for a memory, and the sum that gives its confidence."""
    from reasoningbank.operations import composed

    with _bank(place) as bank:
        _, *events, total = history_text(composed.history(bank, memory_id)).splitlines()
    return [*sorted(line.split("  ")[-1].partition(", by ")[0] for line in events if " evidence " in line), total]


def _compared(earlier: Sequence[Memory], later: Sequence[Memory]) -> list[RecipeConfidence]:
    """Return what the first session taught, that which changed most first."""
    after = {memory.id: memory.confidence for memory in later}
    known = [
        RecipeConfidence(id=memory.id, title=memory.title, before=memory.confidence, after=after.get(memory.id, 0.0))
        for memory in earlier
    ]
    return sorted(known, key=lambda each: -abs(each["after"] - each["before"]))


def _told(ran: Ran) -> ExecutedCommand:
    return ExecutedCommand(command=ran.command, exit_code=ran.exit_code, output=ran.output, shown=ran.shown)


def _tell(commands: Sequence[Ran], say: Callable[[str], None]) -> None:
    """Show commands as a terminal does; of an output its decisive line, of what a hook added the quoted lines."""
    said = ""
    for ran in commands:
        line = ran.last_line
        shown = f"exit {ran.exit_code}, {'the same error' if line == said else line}" if ran.exit_code else ""
        passed = line if not ran.exit_code and ran.command in {ORDERS, INVOICES, REPORT} else ""
        say(f"  $ {ran.command}" + (f"   [{shown or passed}]" if shown or passed else ""))
        said = line if ran.exit_code else said
        quoted = [each for each in ran.shown.splitlines() if each.startswith("| ")]
        if quoted:
            say("  The hook of the failed command shows the agent:")
            say("\n".join(f"    {each}" for each in quoted))


def _tell_credit(
    state: SessionState, recipes: Sequence[RecipeConfidence], why: Sequence[str], say: Callable[[str], None]
) -> None:
    say(f"The session is judged by its exit statuses: {state.verdict}. That is credited to what it was shown, alone:")
    for recipe in recipes:
        moved = "as before" if recipe["before"] == recipe["after"] else f"was {recipe['before']:.3f}"
        say(f"  confidence {recipe['after']:.3f} ({moved}): {recipe['title']}")
    say(f"  Why: {'; '.join(why[:-1]).lower()}.\n  {why[-1] if why else ''}")


def _checks(
    found: int,
    first: Sequence[Ran],
    second: Sequence[Ran],
    plain: Sequence[Ran],
    state: SessionState,
    recipes: Sequence[RecipeConfidence],
) -> list[Check]:
    shown = "\n".join(ran.shown for ran in second)
    credited, *others = recipes or [RecipeConfidence(id="", title="", before=0.0, after=0.0)]
    return [
        Check(what="the bank was empty", ok=not found),
        Check(what="the tests failed at first and passed in the end, in both sessions", ok=_mended(first, second)),
        Check(what="session 1 taught two recipes at confidence 0.6", ok=_confidences(recipes) == [0.6, 0.6]),
        Check(what="nothing was shown in session 1", ok=not any(ran.shown for ran in first)),
        Check(what="the hook showed the recipe of the error in session 2", ok=f"| {credited['title']}" in shown),
        Check(what="and no other", ok=not any(other["title"] in shown for other in others)),
        Check(what="the agent needed fewer commands", ok=len(second) < len(first) == len(plain)),
        Check(what="session 2 was judged a success", ok=state.verdict == "success"),
        Check(what="the confidence of what was shown rose", ok=credited["after"] > credited["before"]),
        Check(what="and no other moved", ok=all(other["after"] == other["before"] for other in others)),
    ]


def _confidences(recipes: Sequence[RecipeConfidence]) -> list[float]:
    return [round(recipe["before"], 6) for recipe in recipes]


def _mended(*sessions: Sequence[Ran]) -> bool:
    return all(ran[0].exit_code and not ran[-1].exit_code for ran in sessions)


def _servers_ended(folder: Path) -> bool:
    """Wait for the shared server, which ends by itself soon after its last window was closed."""
    deadline = time.monotonic() + _LEAVE
    while time.monotonic() < deadline:
        if not [*folder.glob("*.sock")]:
            return True
        time.sleep(_LOOK)
    return False


def _wait_for_hooks(home: Path) -> None:
    """Wait for the processes of hooks that still look whether there is work."""
    deadline = time.monotonic() + _LEAVE
    for path in home.glob("run/hook-*.lock"):
        with closing(open_lock(path)) as lock:
            while not lock.try_lock() and time.monotonic() < deadline:
                time.sleep(_LOOK)


def _remove(place: Path) -> None:
    """Remove the directory; a process that is just ending may write into it once more."""
    deadline = time.monotonic() + _LEAVE
    while place.exists() and time.monotonic() < deadline:
        shutil.rmtree(place, ignore_errors=True)
        time.sleep(_LOOK)
