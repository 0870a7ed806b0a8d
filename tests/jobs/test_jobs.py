"""The worker: leases, heartbeats, pauses, dead jobs; no job is lost, none is done twice."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.context import SystemClock
from reasoningbank.errors import BankError, BudgetExhausted, ModelUnavailable, NotFound, StoreBusy, Undecided
from reasoningbank.jobs.worker import LEASE, LONGEST_PAUSE, MAX_ATTEMPTS, Handler, Worker
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.storage import open_storage
from reasoningbank.storage.store import Store
from reasoningbank.testing import FrozenClock
from reasoningbank.types.ports import Prompt
from reasoningbank.types.records import Job
from reasoningbank.types.scope import Scope
from sessions.made_lessons import FROZEN, lessons, opinion, solved, strategies, undecided

SCOPE = Scope(tenant="acme", project="shop")
FAR = datetime(2099, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    opened = open_storage(f"memory:{tmp_path.name}" if request.param == "memory" else None, home=tmp_path).open(SCOPE)
    yield opened
    opened.close()


def queued(store: Store, *keys: str, kind: str = "distill", due: datetime) -> None:
    """Stores jobs."""
    with store.transaction() as transaction:
        for key in keys:
            assert transaction.jobs.enqueue(Job(kind=kind, key=key, due=due))


def worker(store: Store, clock: FrozenClock, handler: Handler, lease: timedelta = LEASE) -> Worker:
    """A worker for one kind of job."""
    return Worker(store, {"distill": handler}, clock, lease=lease, chance=random.Random(3))


@promise(
    "worker:lease",
    "A job belongs to one worker until its lease has run out, then to the next one.",
    source="DESIGN D8",
)
def test_a_job_belongs_to_one_worker_until_its_lease_has_run_out(store: Store, clock: FrozenClock) -> None:
    done: list[tuple[str, int]] = []
    queued(store, "a", due=clock.now())
    with store.transaction() as transaction:
        held = transaction.jobs.claim(("distill",), lease="killed", at=clock.now(), until=clock.now() + LEASE)
    assert held is not None
    other = worker(store, clock, lambda job: done.append((job.key, job.attempts)))
    assert other.step() is None
    clock.advance(LEASE - timedelta(seconds=1))
    assert other.step() is None
    clock.advance(timedelta(seconds=1))
    report = other.step()
    assert report is not None
    assert (report.done, done) == (1, [("a", 2)])
    assert list(store.jobs.waiting(due=FAR)) == []
    with store.transaction() as transaction:
        assert not transaction.jobs.finish(held), (
            "the worker that was slow finds out that the job is not its own any more"
        )


@promise(
    "worker:heartbeat",
    "A job that takes longer than its lease stays with its worker as long as that lives.",
    source="issue Jobs",
)
def test_a_job_that_takes_longer_than_its_lease_stays_with_its_worker(store: Store) -> None:
    clock, lease, began = SystemClock(), timedelta(seconds=1.5), threading.Event()
    done: list[str] = []

    def slowly(job: Job) -> None:
        began.set()
        time.sleep(1.5 * lease.total_seconds())
        done.append(job.key)

    queued(store, "a", due=clock.now())
    slow = Worker(store, {"distill": slowly}, clock, lease=lease)
    thread = threading.Thread(target=slow.drain)
    thread.start()
    assert began.wait(10)
    stolen = []
    other = Worker(store, {"distill": lambda job: stolen.append(job.key)}, clock, lease=lease)
    while thread.is_alive():
        other.step()
        time.sleep(0.02)
    thread.join()
    assert (done, stolen) == (["a"], [])
    assert list(store.jobs.waiting(due=FAR)) == []


@promise(
    "worker:backoff",
    "A job that fails waits 1, 4, 16, 64 and 256 minutes, a fifth more or less.",
    source="issue Jobs",
)
@promise(
    "worker:dead",
    "A job that failed six times, or whose workers died six times, is buried with its error.",
    source="issue Jobs",
)
def test_a_job_that_fails_waits_longer_each_time_and_is_buried_in_the_end(store: Store, clock: FrozenClock) -> None:
    queued(store, "a", due=clock.now())

    def fails(job: Job) -> None:
        raise ModelUnavailable("no answer", hint="Wait.")

    failing = worker(store, clock, fails)
    pauses = []
    for attempt in range(1, MAX_ATTEMPTS):
        report = failing.drain()
        assert (report.done, report.postponed, report.buried) == (0, 1, 0)
        (job,) = store.jobs.waiting(due=FAR)
        assert (job.attempts, job.lease, job.error) == (attempt, "", "no answer")
        pauses.append((job.due - clock.now()) / timedelta(minutes=1))
        assert failing.step() is None, "it does not come before its time"
        clock.set(job.due)
    for pause, usual in zip(pauses, (1, 4, 16, 64, 256), strict=True):
        assert 0.8 * usual <= pause <= 1.2 * usual
    assert max(pauses) <= LONGEST_PAUSE / timedelta(minutes=1) * 1.2
    report = failing.drain()
    assert (report.buried, report.postponed) == (1, 0)
    assert "given up: no answer" in report.messages[0]
    assert list(store.jobs.waiting(due=FAR)) == []
    (dead,) = store.jobs.dead_jobs()
    assert (dead.key, dead.attempts, dead.error) == ("a", MAX_ATTEMPTS, "no answer")


@promise(
    "worker:budget",
    "A spent budget waits for the next UTC day, and waiting for it is not an attempt.",
    source="issue Jobs",
)
def test_a_spent_budget_waits_for_the_next_day_however_many_days_it_takes(store: Store, clock: FrozenClock) -> None:
    clock.set(datetime(2026, 3, 31, 18, 30, tzinfo=UTC))
    queued(store, "a", due=clock.now())

    def spent(job: Job) -> None:
        raise BudgetExhausted("no tokens are left")

    poor = worker(store, clock, spent)
    for day in range(3 * MAX_ATTEMPTS):
        assert poor.drain().postponed == 1
        (job,) = store.jobs.waiting(due=FAR)
        assert job.due == datetime(2026, 4, 1, tzinfo=UTC) + timedelta(days=day)
        assert job.attempts == 0, "waiting for a budget is not an attempt"
        clock.set(job.due + timedelta(hours=7))
    assert list(store.jobs.dead_jobs()) == []


@promise("worker:dead")
def test_a_job_whose_workers_die_again_and_again_is_buried(store: Store, clock: FrozenClock) -> None:
    queued(store, "poison", due=clock.now())
    for _ in range(MAX_ATTEMPTS):
        with store.transaction() as transaction:
            assert transaction.jobs.claim(("distill",), lease="dies", at=clock.now(), until=clock.now() + LEASE)
        clock.advance(LEASE)
    ran: list[str] = []
    report = worker(store, clock, lambda job: ran.append(job.key)).drain()
    assert (report.buried, ran) == (1, [])
    assert store.jobs.dead_jobs()[0].error == f"it was begun {MAX_ATTEMPTS} times and never ended"


@promise(
    "worker:abandoned-last",
    "A job whose worker was killed is tried again after those that nobody has begun, so that one that kills its worker "
    "does not keep the others waiting.",
    source="issue 11, It must show",
)
def test_a_job_whose_worker_died_comes_after_the_others(store: Store, clock: FrozenClock) -> None:
    queued(store, "a", due=clock.now())
    with store.transaction() as transaction:
        assert transaction.jobs.claim(("distill",), lease="dies", at=clock.now(), until=clock.now() + LEASE)
    clock.advance(LEASE)
    queued(store, "b", due=clock.now())
    ran: list[str] = []
    assert worker(store, clock, lambda job: ran.append(job.key)).drain().done == 2
    assert ran == ["b", "a"]


@promise(
    "worker:errors",
    "An unexpected error of one job is kept without secrets and does not end the worker.",
    source="issue Jobs",
)
def test_an_error_of_one_job_is_not_the_end_of_the_worker(store: Store, clock: FrozenClock) -> None:
    """A fault of the program, a thing that is gone, and one that cannot be decided: each ends its own way."""
    token = "gh" + "p_" + "Ab1" * 12

    def handle(job: Job) -> None:
        errors: dict[str, Exception] = {
            "a fault": KeyError(f"token {token}"),
            "gone": NotFound("no trajectory"),
            "open": Undecided("nobody knows"),
        }
        if job.key in errors:
            raise errors[job.key]

    queued(store, "a fault", "fine", "gone", "open", due=clock.now())
    report = worker(store, clock, handle).drain()
    assert (report.done, report.postponed, report.buried) == (2, 1, 1)
    (job,) = store.jobs.waiting(due=FAR)
    assert job.key == "a fault"
    assert job.error.startswith("the job ended with KeyError")
    assert token not in job.error
    assert [dead.key for dead in store.jobs.dead_jobs()] == ["open"]


@promise("worker:other-kinds", "A worker leaves jobs alone that it cannot do.", source="issue Jobs")
def test_a_worker_leaves_the_jobs_alone_that_it_cannot_do(store: Store, clock: FrozenClock) -> None:
    queued(store, "daily", kind="roll_up", due=clock.now())
    assert worker(store, clock, lambda _: None).drain().done == 0
    (job,) = store.jobs.waiting(due=FAR)
    assert (job.kind, job.attempts) == ("roll_up", 0)


@promise("worker:many", "Workers that share a bank do every job exactly once.", source="issue Jobs")
def test_workers_that_share_a_bank_do_every_job_once(store: Store) -> None:
    clock = SystemClock()
    keys = [f"job {number}" for number in range(30)]
    queued(store, *keys, due=clock.now())
    done: list[str] = []
    workers = [Worker(store, {"distill": lambda job: done.append(job.key)}, clock) for _ in range(4)]
    threads = [threading.Thread(target=each.drain) for each in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(done) == Counter(keys)
    assert list(store.jobs.waiting(due=FAR)) == []


@promise("worker:stop", "A worker that is told to stop finishes what it has in hand.", source="issue Jobs")
def test_a_worker_that_is_told_to_stop_finishes_what_it_has_in_hand(store: Store) -> None:
    clock, stop, began = SystemClock(), threading.Event(), threading.Event()
    done: list[str] = []

    def slowly(job: Job) -> None:
        began.set()
        assert stop.wait(10)
        done.append(job.key)

    queued(store, "a", "b", due=clock.now())
    thread = threading.Thread(target=Worker(store, {"distill": slowly}, clock).run, args=(stop,))
    thread.start()
    assert began.wait(10)
    stop.set()
    thread.join(10)
    assert not thread.is_alive()
    assert done == ["a"]
    assert [job.key for job in store.jobs.waiting(due=FAR)] == ["b"]


@promise("worker:busy", "A busy bank is waited for.", source="issue Jobs")
def test_a_busy_bank_is_waited_for(store: Store) -> None:
    """The claim, or the end of a job, meets a lock that is held too long: the worker goes on when it is free."""
    clock, stop = SystemClock(), threading.Event()
    calls: list[str] = []

    def busy(job: Job) -> None:
        calls.append(job.key)
        if len(calls) == 1:
            with store.transaction(), pytest.raises(StoreBusy), store.transaction():
                calls.append("inside")
            raise StoreBusy("held too long")
        stop.set()

    queued(store, "a", due=clock.now())
    running = Worker(store, {"distill": busy}, clock, chance=random.Random(1))
    assert running.step() is not None
    (job,) = store.jobs.waiting(due=FAR)
    assert job.error == "held too long"
    with store.transaction() as transaction:
        transaction.jobs.finish(job)
        transaction.jobs.enqueue(Job(kind="distill", key="a", due=clock.now()))
    report = running.run(stop, poll=0.01)
    assert (report.done, calls) == (1, ["a", "a"])


@promise(
    "worker:lost-lease",
    "A worker that lost its lease adds nothing to what the other has done.",
    source="issue Jobs",
)
def test_a_worker_that_lost_its_lease_adds_nothing_to_what_the_other_has_done(
    open_learning_bank: OpenBank, clock: FrozenClock
) -> None:
    """The first worker hangs in its model until a second one has taken the job over and finished it."""
    fast = open_learning_bank(ScriptedModel({"distil_success": strategies(FROZEN)}))
    found = dict(FROZEN, title="Pin the time zone", content="Set the zone to UTC in the fixture before each test runs.")

    def hangs(prompt: Prompt) -> str:
        clock.advance(LEASE + timedelta(seconds=1))
        assert fast.jobs.work().done == 1
        return strategies(found)

    slow = open_learning_bank(ScriptedModel({"distil_success": hangs}))
    kept = slow.sessions.keep(solved("s1"))
    report = slow.jobs.work(limit=1)
    assert (report.done, report.messages) == (0, ())
    (memory,) = slow.memories.list()
    assert memory.title == FROZEN["title"]
    assert [origin.kind for origin in slow.memories.origins(memory.id)] == ["distilled"]
    assert slow.sessions.list(pending=True) == ()
    assert slow.jobs.dead() == ()
    assert slow.sessions.list()[0].id == kept.id


@promise("worker:newer-verdict", "A verdict that comes while a job runs decides what is learned.", source="DESIGN D8")
def test_a_verdict_that_comes_while_a_job_runs_decides_what_is_learned(
    open_learning_bank: OpenBank, clock: FrozenClock
) -> None:
    """What was asked for the old judgement is not stored; the new one has a job of its own."""
    person = open_learning_bank()

    def interrupted(prompt: Prompt) -> str:
        clock.advance(timedelta(seconds=1))
        person.sessions.verdict(kept.id, "failure", note="It hides the defect.")
        return strategies(FROZEN)

    failure: dict[str, object] = {
        "title": "Freezing hides the defect",
        "description": "When a test fails only at night",
        "what_went_wrong": "The clock was frozen, so that the defect of the date stayed in the shop.",
        "do_instead": "Compare the dates in UTC in the code of the shop itself.",
        "steps": [1],
        "tags": [],
    }
    bank = open_learning_bank(ScriptedModel({"distil_success": interrupted, "distil_failure": lessons(failure)}))
    kept = bank.sessions.keep(solved("s1"))
    bank.jobs.work()
    (memory,) = bank.memories.list()
    assert (memory.outcome, memory.title) == ("failure", failure["title"])
    assert bank.sessions.list(pending=True) == ()
    assert bank.jobs.dead() == ()


@promise(
    "worker:revived",
    "A verdict takes up a job that was given up; nothing is asked again without a reason.",
    source="issue Jobs",
)
def test_a_verdict_takes_up_a_job_that_was_given_up(open_learning_bank: OpenBank, clock: FrozenClock) -> None:
    model = ScriptedModel({"judge": opinion("unknown", 0.5), "distil_success": strategies(dict(FROZEN, steps=[0]))})
    bank = open_learning_bank(model)
    kept = bank.sessions.keep(undecided("s1"))
    assert bank.jobs.work().buried == 1
    assert [job.key for job in bank.jobs.dead()] == [kept.id]
    assert bank.jobs.work() == bank.jobs.work(), "nothing is asked again without a reason"
    assert len(model.prompts) == 1
    clock.advance(timedelta(minutes=1))
    bank.sessions.verdict(kept.id, "success", note="The customer was content.")
    assert bank.jobs.dead() == ()
    assert bank.jobs.work().done == 1
    assert bank.memories.count() == 1


@promise("worker:heartbeat")
def test_a_heartbeat_ends_with_the_bank(open_learning_bank: OpenBank) -> None:
    """A bank that is closed under a running job is an error of the job, not of a thread nobody sees."""
    opened: list[Bank] = []

    def closes(prompt: Prompt) -> str:
        opened[0].close()
        time.sleep(0.2)
        return strategies(FROZEN)

    bank = open_learning_bank(ScriptedModel({"distil_success": closes}), clock=SystemClock())
    opened.append(bank)
    bank.sessions.keep(solved("s1"))
    with pytest.raises(BankError):
        bank.jobs.work(lease=timedelta(milliseconds=90))
