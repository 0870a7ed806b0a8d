"""Code stability: commits that stand for seven days speak for the lesson they came from, reverted ones against it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from curation.aged_banks import DAY, told
from curation.git_repository import Git
from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.curation.stability import Repository, ties
from reasoningbank.errors import InvalidInput, MemoryNotFound, StoreUnavailable
from reasoningbank.testing import FrozenClock
from reasoningbank.types.memory import Memory
from reasoningbank.types.session import Origin, Step, Trajectory

EXPLICIT = 7 / 17


def learned(bank: Bank, commit: str, *, outcome: str = "success") -> Memory:
    """A memory that a captured session taught which committed under this abbreviated name."""
    memory = told(bank, f"What came of {len(bank.memories.list())}.", outcome=outcome)
    step = Step(
        tool="bash",
        action="git commit -m 'Fix it'",
        observation=f"[main {commit}] Fix it\n 1 file changed, 1 insertion(+)",
        exit_code=0,
    )
    kept = bank.sessions.keep(Trajectory(task="Fix it", steps=(step,), session=commit, final_answer=commit))
    with bank._context.store().transaction() as transaction:
        transaction.sessions.add_origin(Origin(memory_id=memory.id, trajectory=kept.id, kind="distilled"))
    return memory


@promise(
    "lifecycle:stability",
    "A commit that stood for seven days raises a memory tied to it, a reverted one lowers it, each once per memory "
    "and commit.",
    source="seed 001",
)
def test_a_commit_counts_once_as_standing_and_once_as_reverted(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    memory = told(bank)
    weight = round(EXPLICIT * 1e9 * 2 / 3) / 1e9
    stood = bank.curation.report_stability(memory.id, reverted=False, commit="ABCDEF1")
    assert stood.counted
    assert stood.new_confidence == pytest.approx((1.6 + weight) / (2 + weight), abs=1e-9)
    again = bank.curation.report_stability(memory.id, reverted=False, commit="abcdef1234567890abcdef1234567890abcdef12")
    assert not again.counted
    assert again.new_confidence == stood.new_confidence
    reverted = bank.curation.report_stability(memory.id, reverted=True, commit="abcdef1")
    assert reverted.counted
    assert reverted.new_confidence == pytest.approx((1.6 + weight) / (2 + 2 * weight), abs=1e-9)
    assert not bank.curation.report_stability(memory.id, reverted=True, commit="abcdef1").counted
    assert bank.curation.report_stability(memory.id, reverted=True, commit="1234567").counted
    assert bank.curation.report_stability(memory.id, reverted=False).counted
    assert not bank.curation.report_stability(memory.id, reverted=False).counted
    details = [event.detail for event in bank.memories.history(memory.id) if event.kind == "stability"]
    assert details[0].startswith("The code it is tied to has stood for seven days: evidence for it, weight 0.275")
    assert details[1].startswith("The code it is tied to was reverted: evidence against it")
    assert bank.admin.check().problems == ()
    with pytest.raises(MemoryNotFound):
        bank.curation.report_stability("nobody", reverted=True)


@promise(
    "lifecycle:evaluator",
    "What the seed's confidence evaluator takes, feedback, usage, code stability and decay of all, the bank takes "
    "itself.",
    source="seed 001",
)
def test_the_bank_takes_every_signal_of_the_seeds_evaluator(open_bank_in_session: OpenBank, clock: FrozenClock) -> None:
    bank = open_bank_in_session()
    memory = told(bank)
    assert bank.feedback(memory.id, helpful=True, rater="human").new_confidence > 0.8
    assert bank.outcome(memory.id, succeeded=False, rater="human").recorded
    assert bank.curation.report_stability(memory.id, reverted=False, commit="abcdef1", rater="human").counted
    assert not bank.curation.report_stability(memory.id, reverted=False, commit="abcdef1", rater="human").counted
    before = bank.get(memory.id).confidence
    clock.advance(30 * DAY)
    assert len(bank.curation.decay().decayed) == 1
    assert bank.curation.decay().decayed == ()
    assert bank.get(memory.id).confidence == pytest.approx(before - 0.05, abs=1e-9)
    assert bank.feedback(memory.id, helpful=False, session="s", rater="agent").counted
    assert not bank.feedback(memory.id, helpful=False, session="s", rater="agent").counted
    assert bank.outcome(memory.id, succeeded=True, session="s", rater="agent").recorded
    assert not bank.outcome(memory.id, succeeded=True, session="s", rater="agent").recorded


@promise(
    "lifecycle:fates",
    "Git says which commits stood, were reverted, are too young or unknown; reverts of reverts and other branches are "
    "told apart.",
    source="issue 4",
)
def test_git_says_what_became_of_commits(git: Git) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    kept, gone, back, fresh = (git.commit(f"change {n}", at=start + n * DAY) for n in (0, 1, 2, 7))
    git.revert(gone, at=start + 8 * DAY)
    first = git.revert(back, at=start + 8 * DAY)
    git.revert(first, at=start + 9 * DAY)
    git.run("checkout", "-q", "-b", "aside", at=start)
    aside = git.commit("on another branch", at=start)
    git.run("checkout", "-q", "main", at=start)
    blob = git.run("rev-parse", "HEAD:0.txt", at=start)
    names = [kept, gone[:7], back, fresh, aside, blob, "0" * 40, "HEAD", "--help", "", "a\nb"]
    fates = Repository(git.path).fates(names, now=start + 13 * DAY)
    assert fates == {
        kept: "stood",
        gone[:7]: "reverted",
        back: "stood",
        fresh: "waiting",
        aside: "unknown",
        blob: "unknown",
        "0" * 40: "unknown",
        "HEAD": "unknown",
        "--help": "unknown",
        "": "unknown",
        "a\nb": "unknown",
    }
    assert Repository(git.path).fates([fresh], now=start + 14 * DAY) == {fresh: "stood"}
    assert Repository(git.path).fates([], now=start) == {}


@promise("lifecycle:fates")
def test_a_repository_that_cannot_be_asked_is_an_error_with_a_hint(git: Git, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    for path in (tmp_path / "plain", git.path, tmp_path / "missing"):
        with pytest.raises(InvalidInput) as caught:
            Repository(path)
        assert caught.value.hint
    git.commit("one", at=datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(StoreUnavailable) as slow:
        Repository(git.path, timeout=0.0)
    assert slow.value.hint


@promise(
    "lifecycle:read-only",
    "Looking at a repository writes nothing there and runs nothing that its configuration names.",
    source="issue 4",
)
def test_looking_runs_nothing_that_the_repository_names_and_writes_nothing(git: Git, tmp_path: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    commit = git.commit("one", at=start)
    trap = tmp_path / "ran"
    script = tmp_path / "trap.sh"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n", encoding="utf-8")
    script.chmod(0o755)
    for name in ("gpg.program", "core.fsmonitor", "core.pager", "core.sshCommand", "diff.external"):
        git.run("config", name, str(script), at=start)
    git.run("config", "log.showSignature", "true", at=start)

    def state() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in git.path.rglob("*") if path.is_file()}

    before = state()
    assert Repository(git.path).fates([commit], now=start + 8 * DAY) == {commit: "stood"}
    assert state() == before
    assert not trap.exists()


@promise(
    "lifecycle:ties",
    "A strategy is tied to the commits its sessions kept and to those it names.",
    source="issue 4",
)
def test_lessons_are_tied_to_the_commits_of_their_sessions_and_to_those_they_name(
    open_bank_in_session: OpenBank,
) -> None:
    bank = open_bank_in_session()
    from_session = learned(bank, "3f2a9c1")
    named = told(bank, "As in 4be0d21 and commit 4be0d215555; not 1234567, deadbee, v3f2a9c1x or path/4be0d22/x.")
    told(bank, "Names nothing.")
    learned(bank, "5f2a9c1", outcome="failure")
    assert ties(bank._context.store()) == {from_session.id: ("3f2a9c1",), named.id: ("4be0d215555",)}
    bank.update(named.id, state="archived")
    assert set(ties(bank._context.store())) == {from_session.id}
    (origin,) = bank._context.store().sessions.origins(memory_id=from_session.id)
    bank.sessions.delete(origin.trajectory)
    assert ties(bank._context.store()) == {}


@promise(
    "lifecycle:checked",
    "A look at the repository moves each tied memory once, however often it is repeated.",
    source="issue 4",
)
@promise("lifecycle:stability")
def test_a_look_at_the_repository_moves_the_lessons_once(
    open_bank_in_session: OpenBank, clock: FrozenClock, git: Git
) -> None:
    bank = open_bank_in_session(repository=str(git.path))
    start = clock.now()
    first, second = git.commit("one", at=start), git.commit("two", at=start)
    lasting, broken = learned(bank, first[:7]), learned(bank, second[:9])
    lost = learned(bank, "0123abc")
    report = bank.curation.check_stability()
    assert (report.commits, report.waiting, report.unknown, report.reports) == (3, 2, 1, ())
    git.revert(second, at=start + 3 * DAY)
    clock.advance(7 * DAY)
    planned = bank.curation.check_stability(dry_run=True)
    assert planned.dry_run
    assert [bank.get(each.id).confidence for each in (lasting, broken)] == [0.8, 0.8]
    report = bank.curation.check_stability(git.path)
    assert report.reports == planned.reports
    assert {each.memory_id: each.reverted for each in report.reports} == {lasting.id: False, broken.id: True}
    assert bank.get(lasting.id).confidence > 0.8 > bank.get(broken.id).confidence
    assert bank.get(lost.id).confidence == 0.8
    assert bank.curation.check_stability().reports == ()
    bank.admin.export(git.path.parent / "export.jsonl")
    other = open_bank_in_session("other")
    other.admin.import_(git.path.parent / "export.jsonl")
    assert not other.curation.report_stability(lasting.id, reverted=False, commit=first).counted
    clock.advance(40 * DAY)
    bank.admin.roll_up()
    assert bank.curation.check_stability(dry_run=True).reports == ()
    assert bank.curation.check_stability().reports == ()
    git.revert(first, at=clock.now())
    (late,) = bank.curation.check_stability().reports
    assert (late.memory_id, late.reverted) == (lasting.id, True)
    assert bank.get(lasting.id).confidence < 0.8
    assert bank.admin.check().problems == ()


@promise("lifecycle:consolidated")
def test_a_commit_counts_once_for_what_is_consolidated(open_bank_in_session: OpenBank) -> None:
    bank = open_bank_in_session()
    text = "Retry a flaky network call with exponential backoff and jitter, at most five times in a row"
    sources = [told(bank, f"{text} {n}", title="Retry flaky calls") for n in (1, 2)]
    before: dict[str, Memory] = {}
    for source in sources:
        bank.curation.report_stability(source.id, reverted=False, commit="abcdef1")
        bank.curation.report_stability(source.id, reverted=False, commit=f"{len(before)}bcdef1")
        before[source.id] = bank.get(source.id)
    (created,) = bank.curation.consolidate().created_memories
    store = bank._context.store()
    assert sorted(signal.session for signal in store.evidence.signals(created)) == ["0bcdef1", "1bcdef1", "abcdef1"]
    assert not bank.curation.report_stability(created, reverted=False, commit="abcdef1").counted
    assert bank.curation.report_stability(created, reverted=True, commit="abcdef1").counted
    assert bank.admin.check().problems == ()
    assert bank.curation.undo(created).moved_signals == 1
    moved = [name for name, memory in before.items() if bank.get(name).belief != memory.belief]
    assert len(moved) >= 1
    assert all(bank.get(name).belief.negative > before[name].belief.negative for name in moved)
    assert bank.admin.check().problems == ()
