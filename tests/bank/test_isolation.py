"""Two tenants with adversarial names: nothing of one appears in any answer or error of the other."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import settings as run_settings
from hypothesis import strategies as st

from linked_memories import add_lesson, change_lesson, find_lessons, list_lessons
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.context import Context
from reasoningbank.errors import (
    BankError,
    EdgeNotFound,
    EmptyProjectId,
    InvalidInput,
    MemoryNotFound,
    MissingTenantError,
    NodeNotFound,
    NotFound,
    WorkflowNotFound,
)
from reasoningbank.settings import Settings
from reasoningbank.storage import open_storage
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.document import DocumentChange, FileChange
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.scope import Level, Scope, directory_name

CANARY = "canaryzebra"
LEVELS: tuple[tuple[Level, str], ...] = (("team", "team"), ("org", "org"))
_LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
NAMES = (
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
    | st.sampled_from(
        ["a", "A", "a ", "\u0430", "a\u0301", "\u00e1", "%", "_", "a%", "'", '"', "a'--", "../a", "..", "/", "a/b",
         "a\\b",         "a\x00", "\n", "con", "nul", "*", "a" * 1_000, "tenant", "a--b", "-", ".", "a.db"]
    )
).filter(lambda name: bool(name.strip()))  # fmt: skip


def open_bank(home: Path, tenant: str, project: str) -> Bank:
    """A bank with the fast test embedder."""
    return Bank.open(
        tenant=tenant,
        project=project,
        embedder=HashingEmbedder(),
        settings=Settings(home=home),
        chance=random.Random(1),
        session="same",
    )


def shown(answer: object) -> str:
    """Everything an answer says."""
    return repr(asdict(answer) if is_dataclass(answer) and not isinstance(answer, type) else answer)


@promise(
    "isolation:tenant",
    "No public method shows anything of another tenant, whatever the names.",
    source="seed 000 FR-010",
)
@promise("contextd:66", "Without a tenant nothing runs; scope names cannot be injected.", source="spec/contextd row 66")
@run_settings(max_examples=40)
@given(first=NAMES, second=NAMES, project=NAMES)
@example(first="acme", second="acm", project="e")
@example(first="a/b", second="a", project="b")
@example(first="A", second="a", project="x")
def test_no_public_method_shows_anything_of_another_tenant(first: str, second: str, project: str) -> None:
    if first == second:
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with open_bank(home, first, project) as owner, open_bank(home, second, project) as stranger:
            secret = owner.record(
                title=f"{CANARY} title", content=f"{CANARY} content", outcome="success", tags=[CANARY], category=CANARY
            )
            owner.feedback(secret.id, helpful=True)
            canary = Node(id=CANARY, label="UserRequest", text=f"{CANARY} node", conv_id=CANARY, tags=(CANARY,))
            owner.graph.add([canary], [Edge(id=CANARY, source=CANARY, target=CANARY, text=CANARY, weight=1.0)])
            add_lesson(owner, f"{CANARY} lesson", CANARY, tags=[CANARY], link_nodes=[CANARY])
            owner.preferences.add("style", CANARY, user="same", tags=[CANARY])
            kept = DocumentChange(path=(CANARY,), key=CANARY, value={"text": CANARY}, texts=lambda _: [CANARY])
            owner.documents.keep("langgraph", [kept])
            owner.conversations.remember({"conv_id": CANARY, "request": CANARY, "answer": f"{CANARY} answer"})
            turn = owner.workflows.execute(f"{CANARY} question")
            owner.documents.change_files(lambda _: FileChange(writes={f"{CANARY}.txt": CANARY}))
            alone = everything(stranger, secret.id, Path(folder) / "with")
            assert CANARY not in alone
            assert stranger.memories.count() == 0
            with pytest.raises(NotFound):
                stranger.workflows.get(turn.id)
            before = owner.get(secret.id)
            owner.delete(secret.id)
            assert everything(stranger, secret.id, Path(folder) / "without") == alone
            assert before.confidence > 0.8


def everything(bank: Bank, foreign_id: str, folder: Path) -> str:
    """What every public method answers, ids, times and own names apart."""
    folder.mkdir()
    answers: list[str] = []
    searched = bank.search(CANARY, min_confidence=0.0, unproven=5, tags=[CANARY])
    answers.append(shown((searched.memories, searched.unproven, searched.message, searched.tokens)))
    free = bank.search(f"{CANARY} title content")
    answers.append(shown((free.memories, free.unproven, free.message)))
    answers.append(
        shown((bank.memories.list(), bank.memories.count(), bank.memories.count(tags=[CANARY]), bank.admin.roll_up()))
    )
    answers.append(
        shown(
            (bank.preferences.list(user="same", history=True), bank.graph.events(), bank.graph.actions(tags=[CANARY]))
        )
    )
    node = bank.graph.search(CANARY)
    answers.append(shown((node.seeds, node.walk.paths, node.context.text, node.message, bank.graph.size())))
    answers.append(shown((bank.graph.list(), bank.graph.conversation(CANARY), bank.edges.search(CANARY))))
    answers.append(shown(bank.graph.walk({CANARY: 1.0}).seeds).replace(CANARY, ""))
    lessons = find_lessons(bank, CANARY)
    answers.append(
        shown((lessons.lessons, lessons.message, list_lessons(bank), list_lessons(bank, linked_to=[CANARY])))
    )
    asked = bank.questions.ask(f"{CANARY} question", ask=False)
    assert asked.graph is not None
    answers.append(
        shown((asked.graph.seeds, asked.graph.context.text, asked.lessons, asked.sentences, asked.plan.tags))
    )
    answers.append(
        shown(
            (
                bank.curation.decay(dry_run=True),
                bank.curation.decay(),
                bank.curation.prune(dry_run=True),
                bank.curation.prune(),
            )
        )
    )
    answers.append(
        shown((bank.documents.list("langgraph"), bank.documents.get("langgraph", (CANARY,), CANARY) is None))
    )
    answers.append(
        shown((bank.documents.find("langgraph", (), CANARY), bank.documents.paths("langgraph"), bank.documents.files()))
    )
    stats = bank.admin.stats()
    answers.append(shown((stats.memories, dict(stats.weights), stats.by_state, stats.recalls, stats.last_confidence)))
    report = bank.report()
    answers.append(shown((report.sessions, report.with_memory, report.harmful, report.message)))
    refused: list[Callable[[], object]] = [
        lambda: bank.get(foreign_id),
        lambda: bank.update(foreign_id, title="taken over"),
        lambda: bank.delete(foreign_id),
        lambda: bank.feedback(foreign_id, helpful=False),
        lambda: bank.outcome(foreign_id, succeeded=False),
        lambda: bank.curation.report_stability(foreign_id, reverted=True),
        lambda: bank.memories.links(foreign_id),
        lambda: change_lesson(bank, foreign_id, content="taken over"),
        lambda: bank.memories.link(foreign_id, []),
        lambda: bank.delete(bank.memories.links(foreign_id).id),
        lambda: bank.memories.history(foreign_id),
        lambda: bank.memories.vector(foreign_id),
        lambda: bank.quarantine.add(memory_id=foreign_id, reason="not ours"),
        lambda: bank.quarantine.release(memory_id=foreign_id),
        lambda: bank.memories.versions(foreign_id),
        lambda: bank.memories.revert(foreign_id, 1),
        lambda: bank.at(datetime.now(UTC)).get(foreign_id),
    ]
    missing: list[Callable[[], object]] = [
        lambda: bank.sources.list(foreign_id),
        lambda: bank.workflows.get(foreign_id),
        lambda: bank.workflows.search(foreign_id),
        lambda: bank.workflows.execute("taken over", workflow_id=foreign_id),
        lambda: bank.workflows.answer(foreign_id, foreign_id, "taken over"),
        lambda: bank.workflows.cancel(foreign_id),
        lambda: bank.graph.get(CANARY),
        lambda: bank.graph.update(CANARY, text="taken over"),
        lambda: bank.graph.delete(CANARY),
        lambda: bank.edges.add(CANARY, CANARY, "taken over", weight=1.0),
        lambda: bank.edges.get(CANARY),
        lambda: bank.edges.update(CANARY, text="taken over"),
        lambda: bank.edges.delete(CANARY),
    ]
    for call in missing:
        with pytest.raises((NodeNotFound, EdgeNotFound, WorkflowNotFound)) as none:
            call()
        answers.append(none.value.hint)
    for call in refused:
        with pytest.raises(MemoryNotFound) as caught:
            call()
        answers.append(caught.value.hint)
    held = bank.quarantine.add(session="same", source="api", since=_LONG_AGO, reason="theirs")
    view = bank.at(datetime.now(UTC))
    answers.append(shown((held.quarantined, held.surfaced, bank.quarantine.list(), view.list(), view.notes)))
    answers.append(shown(view.search(f"{CANARY} title content").delivered))
    answers.append(str(bank.admin.export(folder / "export.jsonl")))
    answers.append("canary in file" if CANARY in (folder / "export.jsonl").read_text(encoding="utf-8") else "")
    backup = bank.admin.backup(folder / "copy.db")
    answers.append("canary in backup" if CANARY.encode() in backup.read_bytes() else "")
    answers.append(shown(bank.admin.check().problems))
    return "\n".join(answers)


@promise("isolation:project", "Projects of one tenant do not mix.", source="seed 000 FR-004")
@run_settings(max_examples=25)
@given(first=NAMES, second=NAMES)
def test_projects_of_one_tenant_do_not_mix(first: str, second: str) -> None:
    if first == second:
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with open_bank(home, "t", first) as one, open_bank(home, "t", second) as two:
            kept = one.record(title=f"{CANARY} title", content=CANARY, outcome="success")
            assert two.search(CANARY, min_confidence=0.0).delivered == ()
            assert two.memories.list() == ()
            assert two.get(kept.id).project == first


@promise("isolation:names", "Different names never share a file.", source="DESIGN D9")
@run_settings(max_examples=300)
@given(first=NAMES, second=NAMES)
def test_different_names_never_share_a_file(first: str, second: str) -> None:
    assert (directory_name(first) == directory_name(second)) == (first == second)
    assert set(directory_name(first)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert len(directory_name(first)) <= 57


@promise(
    "isolation:levels",
    "No project name reaches a team's or org's bank, and no tenant promotes, demotes or shares into another.",
    source="DESIGN D9",
)
@run_settings(max_examples=8)
@given(team=NAMES, project=NAMES)
@example(team="core", project="core")
@example(team="core", project="team--core")
@example(team="core", project="../core")
def test_no_name_of_a_project_reaches_the_bank_of_a_team_or_an_org(team: str, project: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with open_bank(home, "t", project) as stranger:
            known = []
            for level, word in LEVELS:
                scope = Scope(tenant="t", project=team, level=level)
                bank = Bank(
                    Context(open_storage(None, home=home), scope, HashingEmbedder(), settings=Settings(home=home))
                )
                known.append(bank.record(title=f"{CANARY} {word}", content=CANARY, outcome="success").id)
                bank.close()
            assert stranger.search(CANARY, min_confidence=0.0).delivered == ()
            assert stranger.briefing().items == ()
            assert (stranger.memories.list(), stranger.memories.count()) == ((), 0)
            assert stranger.curation.consolidate_all().total_processed == 0
            stranger.record(title="Own lesson", content=CANARY, outcome="success")
            for level, word in LEVELS:
                scope = Scope(tenant="t", project=team, level=level)
                bank = Bank(
                    Context(open_storage(None, home=home), scope, HashingEmbedder(), settings=Settings(home=home))
                )
                assert [memory.title for memory in bank.memories.list()] == [f"{CANARY} {word}"]
                bank.close()
        with open_bank(home, "t2", project) as foreign:
            for memory_id in known:
                with pytest.raises(MemoryNotFound):
                    foreign.sharing.demote(memory_id)


@promise("isolation:levels")
def test_no_tenant_promotes_demotes_or_shares_into_another(tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = Settings(home=home)

    def member(tenant: str, project: str) -> Bank:
        return Bank.open(
            tenant=tenant, project=project, team="core", org="o", embedder=HashingEmbedder(), settings=settings
        )

    with member("a", "p") as first, member("a", "q") as second, member("b", "p") as stranger:
        words = f"{CANARY} retry flaky network calls with backoff"
        ids = [bank.record(title=CANARY, content=words, outcome="success").id for bank in (first, second)]
        made = first.sharing.promote(first.sharing.candidates(ordinary=["p", "q"])[0], reviewer="r")
        assert stranger.sharing.candidates() == ()
        assert stranger.sharing.promotions() == ()
        assert stranger.sharing.memberships() == {"p": stranger.membership}
        for call in (
            lambda: stranger.sharing.promote(ids, reviewer="r"),
            lambda: stranger.sharing.propose(ids),
            lambda: stranger.sharing.demote(made.memory.id),
        ):
            with pytest.raises(MemoryNotFound):
                call()
        stranger.sharing.export(tmp_path / "share")
        assert not any(CANARY in path.read_text(encoding="utf-8") for path in (tmp_path / "share").iterdir())
        assert stranger.search(CANARY, min_confidence=0.0).delivered == ()


@promise(
    "isolation:fail-closed",
    "Without a tenant or a project nothing opens and nothing is made.",
    source="seed 000 FR-010",
)
@promise("contextd:1", "A bank needs a tenant and a project; it opens with nothing less.", source="spec/contextd row 1")
@promise("contextd:66")
@pytest.mark.parametrize("tenant", [None, "", "  ", "\n"])
def test_without_a_tenant_nothing_opens(tmp_path: Path, tenant: str | None) -> None:
    with pytest.raises(MissingTenantError) as caught:
        Bank.open(tenant=tenant, project="p", embedder=HashingEmbedder(), settings=Settings(home=tmp_path / "home"))
    assert caught.value.hint
    assert not (tmp_path / "home").exists()


@promise("isolation:fail-closed")
@promise("contextd:1")
def test_without_a_usable_project_nothing_opens(tmp_path: Path) -> None:
    for project, error in (
        ("", EmptyProjectId),
        (" ", EmptyProjectId),
        ("\ud800", InvalidInput),
        ("x" * 2_000, InvalidInput),
    ):
        with pytest.raises(error):
            Bank.open(
                tenant="t", project=project, embedder=HashingEmbedder(), settings=Settings(home=tmp_path / "home")
            )


@promise(
    "isolation:single-file",
    "A single file belongs to its first scope; others get files beside it.",
    source="issue Store",
)
def test_a_single_file_belongs_to_its_first_scope_and_others_stand_beside_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'notes.db'}"
    settings = Settings(home=tmp_path / "home")
    banks = [
        Bank.open(url, tenant=tenant, project=project, embedder=HashingEmbedder(), settings=settings)
        for tenant, project in (("a", "p"), ("b", "p"), ("a", "q"))
    ]
    for number, bank in enumerate(banks):
        bank.record(title=f"Lesson of bank {number}", content="Content.", outcome="success")
    assert (tmp_path / "notes.db").is_file()
    assert [[memory.title for memory in bank.memories.list()] for bank in banks] == [
        [f"Lesson of bank {n}"] for n in range(3)
    ]
    for bank in banks:
        bank.close()
    with Bank.open(url, tenant="b", project="p", embedder=HashingEmbedder(), settings=settings) as again:
        assert again.memories.count() == 1


@promise("isolation:errors", "An error names no other scope.", source="issue Bank")
def test_an_error_names_no_other_scope(tmp_path: Path) -> None:
    with open_bank(tmp_path, "hidden-tenant", "hidden-project") as bank:
        copy = bank.admin.backup(tmp_path / "copy.db")
    with open_bank(tmp_path, "t", "p") as other, pytest.raises(BankError) as caught:
        other.admin.restore(copy)
    assert "hidden" not in str(caught.value)
