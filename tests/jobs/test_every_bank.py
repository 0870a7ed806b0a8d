"""What runs by itself for every bank of a user: seen from outside, with real servers, workers and hooks."""

from __future__ import annotations

import fcntl
import hashlib
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from curation.similar_lessons import OTHER, TEXTS
from mcp_processes import INITIALIZE, INITIALIZED
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.integrations.hook_work import FOLDER
from reasoningbank.jobs.rounds import Rounds
from reasoningbank.jobs.worker import WorkReport
from reasoningbank.settings import Settings
from reasoningbank.storage import open_storage
from reasoningbank.testing import FrozenClock, HashingEmbedder
from reasoningbank.types.scope import Level, Membership, Scope
from reasoningbank.types.session import CAPTURE, RECIPES
from sessions.learned_sessions import RBANK, REPAIRED, environment, eventually

TENANT = "acme"
STEPS = {"activate", "consolidate", "decay", "prune", "roll-up", "tend"}


def opened(home: Path, project: str, clock: FrozenClock | None = None) -> Bank:
    """A project's bank with the embedder that the processes have."""
    return Bank.open(tenant=TENANT, project=project, settings=Settings(home=home), clock=clock)


def overdue(home: Path, project: str, days: int = 40) -> None:
    """Leave a bank whose upkeep has been due for a long time."""
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=days))
    with opened(home, project, clock) as bank:
        for text in (TEXTS[0], TEXTS[1], OTHER):
            bank.record(title="Mind the file", content=text, outcome="success", source="mcp")
        assert bank.jobs.work() == WorkReport()


def worker(home: Path, *arguments: str) -> subprocess.Popen[str]:
    """A worker of the whole tenant, in a directory that is not a project."""
    return subprocess.Popen(
        [str(RBANK), "--tenant", TENANT, "worker", "--json", *arguments],
        env=environment(home),
        cwd=home.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def server(home: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A stdio server whose client has said hello, and nothing else."""
    process = subprocess.Popen(
        [str(RBANK), "--tenant", TENANT, "serve", *arguments],
        env=environment(home),
        cwd=home.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for message in (INITIALIZE, INITIALIZED):
        process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    with process:
        process.stdout.readline()
        yield process
        process.stdin.close()
        assert process.wait(timeout=30) == 0


def capture(home: Path, project: str, transcript: Path) -> None:
    """A client's hook at the end of a session."""
    event = {"hook_event_name": "SessionEnd", "session_id": "s-1", "transcript_path": str(transcript), "cwd": "/tmp"}
    done = subprocess.run(
        [str(RBANK), "--tenant", TENANT, "--project", project, "hook", "session-end"],
        input=json.dumps(event).encode(),
        env=environment(home),
        cwd=home.parent,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


@contextmanager
def hooks_only_queue(home: Path, project: str) -> Iterator[None]:
    """Let no hook do the work of this bank by itself: they find that another hook's process is at it."""
    name = hashlib.sha256(f"{TENANT}\x00{project}".encode()).hexdigest()[:24]
    home.joinpath(FOLDER).mkdir(mode=0o700, parents=True)
    with home.joinpath(FOLDER, f"hook-{name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def captured(home: Path, project: str) -> bool:
    """Whether a project's bank holds its one session, and every job of it is done that needs no model."""
    with opened(home, project) as bank:
        runs = [run.kind for run in bank.jobs.runs() if not run.failed]
        return len(bank.sessions.list()) == 1 and set(runs) >= {CAPTURE, RECIPES} and not bank.jobs.due()


@promise(
    "background:new-bank",
    "A session that a hook has queued in a project's new bank is captured within a minute when any server or worker "
    "runs, whatever project that one was started in.",
    source="issue 11",
)
@pytest.mark.parametrize("by", ["server", "worker"])
def test_a_session_queued_in_a_bank_that_a_hook_has_just_made_is_captured(tmp_path: Path, by: str) -> None:
    home, transcript = tmp_path / "home", tmp_path / "session.jsonl"
    transcript.write_text(REPAIRED)
    with hooks_only_queue(home, "fresh"):
        if by == "server":
            with server(home, "--project", "elsewhere"):
                capture(home, "fresh", transcript)
                eventually(lambda: captured(home, "fresh"), seconds=60)
            return
        with worker(home) as process:
            capture(home, "fresh", transcript)
            eventually(lambda: captured(home, "fresh"), seconds=60)
            process.terminate()
            out, _ = process.communicate(timeout=30)
    assert (process.returncode, json.loads(out)["done"]) == (0, 2)


@promise(
    "background:every-bank",
    "A worker does the daily upkeep of every bank of the user: roll-up, activation, consolidation of near-duplicates, "
    "decay and pruning; rbank jobs says when each was done and what came of it.",
    source="issue 11",
)
def test_the_daily_upkeep_of_every_bank_is_done_and_said(tmp_path: Path) -> None:
    home = tmp_path / "home"
    projects = ("one", "two", "three")
    for project in projects:
        overdue(home, project)
    out, _ = worker(home, "--once").communicate(timeout=120)
    assert json.loads(out)["done"] >= len(projects)
    for project in projects:
        said = subprocess.run(
            [str(RBANK), "--tenant", TENANT, "--project", project, "jobs", "--json"],
            env=environment(home),
            capture_output=True,
            check=True,
            timeout=60,
        )
        jobs = json.loads(said.stdout)
        runs = {run["kind"]: run for run in jobs["runs"]}
        assert set(runs) >= STEPS
        assert not any(run["failed"] for run in runs.values())
        assert runs["consolidate"]["said"].startswith("2 memories became 1; rbank undo")
        assert runs["decay"]["said"].startswith("3 memories")
        assert {job["kind"] for job in jobs["waiting"]} >= {"tend", "roll_up"}
        with opened(home, project) as bank:
            (made,) = [each for each in bank.memories.list() if "consolidation" in each.provenance]
            assert made.content in TEXTS
            assert len(bank.curation.undo(made.id).restored) == 2


@promise(
    "background:wider",
    "Teams and orgs have their daily upkeep too, by any server and any worker of the user that is not for one project.",
    source="issue 11",
)
@pytest.mark.parametrize("by", ["server", "worker"])
def test_the_banks_of_teams_and_orgs_have_their_upkeep(tmp_path: Path, by: str) -> None:
    home = tmp_path / "home"
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=40))
    settings = Settings(home=home)
    wider: tuple[Level, ...] = ("team", "org")
    with Bank.open(tenant=TENANT, project="shop", team="red", org="corp", settings=settings, clock=clock) as bank:
        known = bank.record(title="Mind the file", content=OTHER, outcome="success", source="mcp")
        for to in wider:
            known = bank.sharing.promote([known.id], reviewer="dana", to=to).memory
    names = dict(zip(wider, ("red", "corp"), strict=True))

    def of(level: Level, at: FrozenClock | None = None) -> Bank:
        return Bank.open(tenant=TENANT, project=names[level], level=level, settings=settings, clock=at)

    for level in wider:
        with of(level, clock) as bank:
            assert [memory.content for memory in bank.memories.list()] == [OTHER]
            for text in TEXTS[:2]:
                bank.record(title="Mind the file", content=text, outcome="success", source="mcp")
            assert bank.membership == Membership()
            assert bank.jobs.work() == WorkReport()

    def kept_up() -> bool:
        kinds = []
        for level in wider:
            with of(level) as bank:
                kinds.append({run.kind for run in bank.jobs.runs() if not run.failed})
        return all(each >= STEPS for each in kinds)

    if by == "worker":
        worker(home, "--once").communicate(timeout=120)
        assert kept_up()
    else:
        with server(home, "--project", "elsewhere"):
            eventually(kept_up, seconds=60)
    for level in wider:
        with of(level) as bank:
            (made,) = [each for each in bank.memories.list() if "consolidation" in each.provenance]
            assert bank.admin.check().problems == ()
        with Bank.open(tenant=TENANT, project="shop", team="red", org="corp", settings=settings) as bank:
            assert len(bank.curation.undo(made.id).restored) == 2
            assert bank.admin.check().problems == ()


@promise(
    "background:once",
    "The daily upkeep of a bank is done once, however many servers and workers run.",
    source="issue 11",
)
def test_several_workers_do_the_upkeep_of_a_bank_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for project in ("one", "two", "three"):
        overdue(home, project)
    workers = [worker(home, "--once") for _ in range(3)]
    reports = [json.loads(each.communicate(timeout=180)[0]) for each in workers]
    with opened(home, "one") as bank:
        assert bank.jobs.dead() == ()
        consolidated = [each for each in bank.memories.list() if "consolidation" in each.provenance]
    assert len(consolidated) == 1
    for project in ("one", "two", "three"):
        with opened(home, project) as bank:
            assert [job.kind for job in bank.jobs.waiting()].count("tend") == 1
    # One upkeep and one look at the words per bank at most: nothing that a second worker could have repeated.
    assert 3 <= sum(report["done"] for report in reports) <= 6
    assert all(report["buried"] == 0 for report in reports)


class Watched:
    """Opens banks and counts how often."""

    def __init__(self, home: Path, clock: FrozenClock) -> None:
        self.home, self.clock = home, clock
        self.count = 0

    @contextmanager
    def use(self, scope: Scope, membership: Membership) -> Iterator[Bank]:
        self.count += 1
        with Bank.open(
            tenant=scope.tenant,
            project=scope.project,
            team=membership.team,
            org=membership.org,
            level=scope.level,
            embedder=HashingEmbedder(),
            settings=Settings(home=self.home),
            clock=self.clock,
        ) as bank:
            yield bank


@promise(
    "background:idle",
    "An idle server or worker opens no bank: only one whose files were written, or in which something is due.",
    source="issue 11",
)
def test_a_bank_is_opened_only_when_it_was_written_or_something_is_due(tmp_path: Path, clock: FrozenClock) -> None:
    home, stop = tmp_path / "home", threading.Event()
    watched = Watched(home, clock)
    for number in range(5):
        with watched.use(Scope(tenant=TENANT, project=f"p{number}"), Membership()) as bank:
            bank.record(title="A lesson", content=f"Number {number}.", outcome="success")
    rounds = Rounds(open_storage(None, home=home), lambda: (TENANT,), watched.use, clock=clock)
    for _ in range(4):
        rounds.make(stop)
    watched.count = 0
    for _ in range(20):
        assert rounds.make(stop) == WorkReport()
    assert watched.count == 0
    with watched.use(Scope(tenant=TENANT, project="p3"), Membership()) as bank:
        bank.record(title="A lesson", content="Another one.", outcome="success")
    watched.count = 0
    rounds.make(stop)
    assert watched.count == 1
    with watched.use(Scope(tenant=TENANT, project="new"), Membership()):
        watched.count = 0
    rounds.make(stop)
    assert watched.count >= 1
    clock.advance(timedelta(hours=25))
    assert rounds.finish(stop).done == 6


@promise(
    "background:membership",
    "Background work opens a project as the member of the team and org that it was last opened with.",
    source="DESIGN D12",
)
def test_background_work_keeps_a_projects_team_and_org(tmp_path: Path, clock: FrozenClock) -> None:
    home, seen = tmp_path / "home", list[Membership]()
    watched = Watched(home, clock)
    with watched.use(Scope(tenant=TENANT, project="shop"), Membership(team="red", org="corp")):
        pass

    @contextmanager
    def use(scope: Scope, membership: Membership) -> Iterator[Bank]:
        seen.append(membership)
        with watched.use(scope, membership) as bank:
            yield bank

    Rounds(open_storage(None, home=home), lambda: (TENANT,), use, clock=clock).make(threading.Event())
    assert seen == [Membership(team="red", org="corp")]
