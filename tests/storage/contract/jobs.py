"""The queue: a job waits once, belongs to one worker at a time, and is never lost."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime, timedelta

from promises import promise
from reasoningbank.errors import InvalidInput, StoreClosed
from reasoningbank.storage.store import Store
from reasoningbank.types.records import Job
from storage.contract.base import SCOPE, START, Conformance, refuses

HOUR = timedelta(hours=1)


class JobConformance(Conformance):
    """What a store owes to its workers."""

    @promise(
        "jobs:claim",
        "The job that has been due longest is handed out to one worker, with its attempts counted up.",
        source="issue 3 Jobs",
    )
    def test_the_job_that_has_been_due_longest_is_handed_out_to_one_worker(self) -> None:
        """Of the kinds asked for, not before it is due, with its payload, its attempts counted up."""
        jobs = [
            Job(kind="distil", key="late", due=START + HOUR, payload={"path": "ä/b"}),
            Job(kind="distil", key="first", due=START - HOUR, payload={"n": "1"}, attempts=2, error="it broke"),
            Job(kind="other", key="oldest", due=START - 9 * HOUR),
            Job(kind="distil", key="second", due=START),
        ]
        with self.fresh() as store:
            assert _claimed(store, START) is None
            assert not store.jobs.claimable(("distil", "other"), at=START)
            _enqueue(store, *jobs)
            assert store.jobs.claimable(("distil",), at=START)
            assert not store.jobs.claimable(("distil",), at=START - 2 * HOUR)
            assert not store.jobs.claimable(("unknown",), at=START)
            assert not store.jobs.claimable((), at=START)
            first = _claimed(store, START, lease="one", until=START + 9 * HOUR)
            assert first == replace(jobs[1], lease="one", attempts=3)
            second = _claimed(store, START, lease="two", until=START + 9 * HOUR)
            assert second is not None
            assert (second.key, second.attempts, second.lease) == ("second", 1, "two")
            assert _claimed(store, START) is None
            assert _claimed(store, START, kinds=()) is None
            assert not store.jobs.claimable(("distil",), at=START)
            assert store.jobs.claimable(("distil",), at=START + HOUR)
            assert _claimed(store, START + HOUR, lease="three", until=START + 2 * HOUR) is not None
            listed = [(job.key, job.lease) for job in store.jobs.waiting(due=START + HOUR)]
            assert listed == [("oldest", ""), ("first", "one"), ("second", "two"), ("late", "three")]

    @promise(
        "jobs:lease",
        "A lease that runs out frees the job, and its former holder can change nothing more.",
        source="issue 3 Jobs",
    )
    def test_a_lease_that_runs_out_frees_the_job_and_its_holder_can_do_nothing_more(self) -> None:
        """The next worker gets it; what the first one says of it afterwards is False and changes nothing."""
        with self.fresh() as store:
            _enqueue(store, Job(kind="distil", key="a", due=START))
            lost = _claimed(store, START, lease="one", until=START + HOUR)
            assert lost is not None
            assert _claimed(store, START + HOUR - timedelta(microseconds=1)) is None
            held = _claimed(store, START + HOUR, lease="two", until=START + 3 * HOUR)
            assert held == replace(lost, lease="two", attempts=2)
            with store.transaction() as transaction:
                assert not transaction.jobs.extend(lost, START + 9 * HOUR)
                assert not transaction.jobs.finish(lost)
                assert not transaction.jobs.put_back(lost, due=START + 9 * HOUR, error="too late")
                assert not transaction.jobs.bury(lost, at=START, error="too late")
            assert list(store.jobs.waiting(due=START + HOUR)) == [held]
            assert list(store.jobs.dead_jobs()) == []
            with store.transaction() as transaction:
                assert transaction.jobs.extend(held, START + 5 * HOUR)
            assert _claimed(store, START + 4 * HOUR) is None
            with store.transaction() as transaction:
                assert transaction.jobs.finish(held)
                assert not transaction.jobs.finish(held)
                assert not transaction.jobs.extend(held, START + 9 * HOUR)
            assert list(store.jobs.waiting(due=START + 99 * HOUR)) == []

    @promise("jobs:lease")
    def test_a_holder_that_is_late_but_was_not_replaced_keeps_its_job(self) -> None:
        """A lease is lost to another worker, not to the clock."""
        with self.fresh() as store:
            _enqueue(store, Job(kind="distil", key="a", due=START))
            held = _claimed(store, START, lease="one", until=START + HOUR)
            assert held is not None
            with store.transaction() as transaction:
                assert transaction.jobs.extend(held, START + 9 * HOUR)
            assert _claimed(store, START + 8 * HOUR) is None
            assert _claimed(store, START + 9 * HOUR, lease="two", until=START + 10 * HOUR) is not None

    @promise(
        "jobs:put-back",
        "A failed job waits for its next attempt with its error and its attempts.",
        source="issue 3 Jobs",
    )
    def test_a_failed_job_waits_for_its_next_attempt_with_its_error(self) -> None:
        """Its attempts are kept; nobody who never claimed it can give it back."""
        with self.fresh() as store:
            waiting = Job(kind="distil", key="a", due=START)
            _enqueue(store, waiting)
            with store.transaction() as transaction:
                assert not transaction.jobs.put_back(waiting, due=START + HOUR, error="never claimed")
                assert not transaction.jobs.extend(waiting, START + HOUR)
                assert not transaction.jobs.bury(waiting, at=START, error="never claimed")
            assert list(store.jobs.waiting(due=START)) == [waiting]
            held = _claimed(store, START, lease="one")
            assert held is not None
            with store.transaction() as transaction:
                assert transaction.jobs.put_back(held, due=START + HOUR, error="no answer \ud800" + "x" * 9_000)
                assert not transaction.jobs.put_back(held, due=START, error="a second time")
            (job,) = store.jobs.waiting(due=START + HOUR)
            assert (job.attempts, job.lease, job.due) == (1, "", START + HOUR)
            assert job.error.startswith("no answer ?x")
            assert len(job.error) == 2_000
            assert _claimed(store, START) is None
            again = _claimed(store, START + HOUR, lease="one", until=START + 2 * HOUR)
            assert again is not None
            assert (again.attempts, again.error) == (2, job.error)
            with store.transaction() as transaction:
                assert transaction.jobs.put_back(replace(again, attempts=1), due=START, error="that was not an attempt")
            (uncounted,) = store.jobs.waiting(due=START)
            assert (uncounted.attempts, uncounted.lease) == (1, "")

    @promise(
        "jobs:dead",
        "A buried job is seen with its error, is not handed out, and begins anew when it is revived.",
        source="issue 3 Jobs",
    )
    def test_a_buried_job_is_seen_stays_dead_and_can_be_revived(self) -> None:
        """It is not handed out, a second one of its kind and key is not stored, and it begins anew when revived."""
        with self.fresh() as store:
            jobs = [Job(kind="distil", key=key, due=START, payload={"k": key}) for key in ("a", "b", "c")]
            _enqueue(store, *jobs)
            for hours, expected in enumerate(("a", "b")):
                held = _claimed(store, START, lease=f"lease {hours}", until=START + HOUR)
                assert held is not None
                assert held.key == expected
                with store.transaction() as transaction:
                    assert transaction.jobs.bury(held, at=START - hours * HOUR, error=f"error {expected}")
            dead = list(store.jobs.dead_jobs())
            assert [(job.key, job.error, job.attempts, job.lease) for job in dead] == [
                ("b", "error b", 1, ""),
                ("a", "error a", 1, ""),
            ]
            assert [dict(job.payload) for job in dead] == [{"k": "b"}, {"k": "a"}]
            assert [job.key for job in store.jobs.waiting(due=START)] == ["c"]
            with store.transaction() as transaction:
                assert not transaction.jobs.enqueue(jobs[0])
                assert not transaction.jobs.revive("distil", "c", due=START)
                assert not transaction.jobs.revive("distil", "nobody", due=START)
                assert transaction.jobs.revive("distil", "a", due=START + HOUR)
                assert not transaction.jobs.revive("distil", "a", due=START + HOUR)
            assert [job.key for job in store.jobs.dead_jobs()] == ["b"]
            revived = store.jobs.waiting(due=START + HOUR)[1]
            assert (revived.key, revived.attempts, revived.error) == ("a", 0, "error a")

    @promise("jobs:once", "A job that is waiting, running or dead is not stored again.", source="issue 3 Jobs")
    def test_a_job_that_is_waiting_running_or_dead_is_not_stored_again(self) -> None:
        """Only after its end it may come again; its lease is never that of the caller."""
        job = Job(kind="distil", key="a", due=START)
        with self.fresh() as store:
            assert _enqueue(store, job, replace(job, due=START - HOUR)) == [True, False]
            held = _claimed(store, START, lease="one")
            assert held is not None
            assert _enqueue(store, job) == [False]
            with store.transaction() as transaction:
                transaction.jobs.bury(held, at=START, error="e")
            assert _enqueue(store, job) == [False]
            with store.transaction() as transaction:
                assert transaction.jobs.finish(job)
                assert transaction.jobs.enqueue(replace(job, lease="claimed by nobody"))
            assert list(store.jobs.waiting(due=START)) == [job]
            assert list(store.jobs.dead_jobs()) == []

    @promise(
        "jobs:finish",
        "A job without a lease is finished whoever holds it, as the daily roll-up is.",
        source="seed 004 roll-up",
    )
    def test_a_job_without_a_lease_is_finished_whoever_holds_it(self) -> None:
        """As the daily roll-up does, which no worker claims; one that does not exist is finished too."""
        with self.fresh() as store:
            daily = Job(kind="roll_up", key="daily", due=START)
            _enqueue(store, daily)
            assert _claimed(store, START, kinds=("roll_up",), lease="one") is not None
            with store.transaction() as transaction:
                assert transaction.jobs.finish(daily)
                assert transaction.jobs.finish(daily)
                assert transaction.jobs.enqueue(replace(daily, due=START + HOUR))
            assert [job.due for job in store.jobs.waiting(due=START + HOUR)] == [START + HOUR]

    @promise("jobs:by-key", "A job that is asked for by its key is held alone, and no other.", source="issue 13")
    def test_a_job_that_is_asked_for_by_its_key_is_held_alone(self) -> None:
        """And one that is queued anew meanwhile is not removed by whoever holds the earlier one."""
        with self.fresh() as store:
            first, wanted = Job(kind="distil", key="a", due=START), Job(kind="distil", key="b", due=START + HOUR)
            _enqueue(store, first, wanted)
            with store.transaction() as transaction:
                early = transaction.jobs.claim(("distil",), lease="one", at=START, until=START + HOUR, key="b")
                assert early is None
                late = START + HOUR
                held = transaction.jobs.claim(("distil",), lease="one", at=late, until=late + HOUR, key="b")
                assert held is not None
                assert held.key == "b"
                again = transaction.jobs.claim(("distil",), lease="two", at=late, until=late + HOUR, key="b")
                assert again is None
                transaction.jobs.finish(wanted)
                transaction.jobs.enqueue(wanted)
            with store.transaction() as transaction:
                assert not transaction.jobs.finish(held)
            assert list(store.jobs.waiting(due=late)) == [first, wanted]

    @promise("jobs:atomic", "A step of a job that is not committed never happened.", source="DESIGN D1")
    def test_a_claim_that_is_not_committed_never_happened(self) -> None:
        """And the same for every other step of a job."""
        with self.fresh() as store:
            job = Job(kind="distil", key="a", due=START)
            _enqueue(store, job)
            try:
                with store.transaction() as transaction:
                    held = transaction.jobs.claim(("distil",), lease="one", at=START, until=START + HOUR)
                    assert held is not None
                    transaction.jobs.finish(held)
                    transaction.jobs.enqueue(replace(job, key="b"))
                    raise KeyError("the worker stops here")
            except KeyError:
                assert list(store.jobs.waiting(due=START)) == [job]
            held = _claimed(store, START, lease="one")
            assert held is not None
            before = list(store.jobs.waiting(due=START))
            for step in ("finish", "bury", "put back"):
                try:
                    with store.transaction() as transaction:
                        if step == "finish":
                            assert transaction.jobs.finish(held)
                        elif step == "bury":
                            assert transaction.jobs.bury(held, at=START, error="e")
                        else:
                            assert transaction.jobs.put_back(held, due=START, error="e")
                        raise KeyError(step)
                except KeyError:
                    assert list(store.jobs.waiting(due=START)) == before
                    assert list(store.jobs.dead_jobs()) == []

    @promise("jobs:refused", "An unusable job or claim is refused with a clear error.", source="issue 3 Jobs")
    def test_an_unusable_job_or_claim_is_refused(self) -> None:
        """A kind without a name, a lease that nobody could know, and times that say nothing."""
        naive = datetime(2026, 1, 1)
        with self.fresh() as store, store.transaction() as transaction:
            for call in (
                lambda: transaction.jobs.enqueue(Job(kind=" ", key="a", due=START)),
                lambda: transaction.jobs.enqueue(Job(kind="k", key="a", due=naive)),
                lambda: transaction.jobs.enqueue(Job(kind="k", key="a", due=START, attempts=-1)),
                lambda: transaction.jobs.claim(("k",), lease="", at=START, until=START + HOUR),
                lambda: transaction.jobs.claim(("k",), lease="one", at=START, until=START),
                lambda: transaction.jobs.claim(("k",), lease="one", at=naive, until=START),
                lambda: transaction.jobs.extend(Job(kind="k", key="a", due=START, lease="one"), naive),
                lambda: transaction.jobs.revive("k", "a", due=naive),
            ):
                with refuses(InvalidInput):
                    call()

    @promise("jobs:threads", "No job is done twice by eight workers, and none is left.", source="issue 3 Jobs")
    def test_no_job_is_done_twice_by_eight_workers(self) -> None:
        """All 200 jobs are handed out, each to one worker."""
        done: list[str] = []
        failures: list[BaseException] = []
        with self.fresh() as store:
            _enqueue(store, *(Job(kind="distil", key=f"k{number}", due=START) for number in range(200)))

            def work(worker: int) -> None:
                try:
                    turn = 0
                    while True:
                        turn += 1
                        job = _claimed(store, START, lease=f"{worker}/{turn}")
                        if job is None:
                            return
                        with store.transaction() as transaction:
                            if transaction.jobs.finish(job):
                                done.append(job.key)
                except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
                    failures.append(error)

            threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failures == []
            assert sorted(done) == sorted(f"k{number}" for number in range(200))
            assert list(store.jobs.waiting(due=START)) == []

    @promise(
        "jobs:durable",
        "Held and dead jobs are the same after reopening and after a restore.",
        source="issue 3 Jobs",
    )
    def test_a_held_and_a_dead_job_are_the_same_when_the_place_is_opened_again(self) -> None:
        """And after a backup was restored: with lease, attempts, error and the end of the lease."""
        storage = self.storage()
        store = storage.open(SCOPE)
        _enqueue(store, *(Job(kind="distil", key=key, due=START) for key in ("a", "b")))
        held = _claimed(store, START, lease="one", until=START + HOUR)
        buried = _claimed(store, START, lease="two", until=START + HOUR)
        assert held is not None
        assert buried is not None
        with store.transaction() as transaction:
            transaction.jobs.bury(buried, at=START, error="broken")
        with self.directory() as directory:
            store.backup(directory / "b")
            store.close()
            with refuses(StoreClosed):
                store.jobs.dead_jobs()
            again = self.reopened(storage)
            if self.durable:
                self._check_again(again.open(SCOPE), held)
            again.restore(SCOPE, directory / "b")
            self._check_again(again.open(SCOPE), held)

    @staticmethod
    def _check_again(store: Store, held: Job) -> None:
        assert list(store.jobs.waiting(due=START)) == [held]
        assert [(job.key, job.error, job.attempts) for job in store.jobs.dead_jobs()] == [("b", "broken", 1)]
        assert _claimed(store, START + HOUR - timedelta(seconds=1)) is None
        with store.transaction() as transaction:
            assert transaction.jobs.extend(held, START + HOUR)
        late = _claimed(store, START + HOUR, lease="late", until=START + 2 * HOUR)
        assert late is not None
        assert late.attempts == 2
        store.close()


def _enqueue(store: Store, *jobs: Job) -> list[bool]:
    with store.transaction() as transaction:
        return [transaction.jobs.enqueue(job) for job in jobs]


def _claimed(
    store: Store,
    at: datetime,
    *,
    kinds: tuple[str, ...] = ("distil",),
    lease: str = "a lease",
    until: datetime | None = None,
) -> Job | None:
    with store.transaction() as transaction:
        return transaction.jobs.claim(kinds, lease=lease, at=at, until=until or at + HOUR)
