"""Two tenants with adversarial names: nothing of one appears in any answer or error of the other."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import settings as run_settings
from hypothesis import strategies as st

from reasoningbank.bank import Bank
from reasoningbank.domain.scope import directory_name
from reasoningbank.errors import BankError, EmptyProjectId, InvalidInput, MemoryNotFound, MissingTenantError
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder

CANARY = "canaryzebra"
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


@pytest.mark.promise("isolation:tenant", "contextd:66")
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
            alone = everything(stranger, secret.id, Path(folder) / "with")
            assert CANARY not in alone
            assert stranger.count() == 0
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
    answers.append(shown((bank.list(), bank.count(), bank.count(tags=[CANARY]), bank.rollup())))
    stats = bank.stats()
    answers.append(shown((stats.memories, dict(stats.weights), stats.by_state, stats.recalls, stats.last_confidence)))
    refused: list[Callable[[], object]] = [
        lambda: bank.get(foreign_id),
        lambda: bank.update(foreign_id, title="taken over"),
        lambda: bank.delete(foreign_id),
        lambda: bank.feedback(foreign_id, helpful=False),
        lambda: bank.outcome(foreign_id, succeeded=False),
        lambda: bank.history(foreign_id),
        lambda: bank.vector(foreign_id),
    ]
    for call in refused:
        with pytest.raises(MemoryNotFound) as caught:
            call()
        answers.append(caught.value.hint)
    answers.append(str(bank.export(folder / "export.jsonl")))
    answers.append("canary in file" if CANARY in (folder / "export.jsonl").read_text(encoding="utf-8") else "")
    backup = bank.backup(folder / "copy.db")
    answers.append("canary in backup" if CANARY.encode() in backup.read_bytes() else "")
    answers.append(shown(bank.check().problems))
    return "\n".join(answers)


@pytest.mark.promise("isolation:project")
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
            assert two.list() == ()
            assert two.get(kept.id).project == first


@pytest.mark.promise("isolation:names")
@run_settings(max_examples=300)
@given(first=NAMES, second=NAMES)
def test_different_names_never_share_a_file(first: str, second: str) -> None:
    assert (directory_name(first) == directory_name(second)) == (first == second)
    assert set(directory_name(first)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert len(directory_name(first)) <= 57


@pytest.mark.promise("isolation:fail-closed", "contextd:1", "contextd:66")
@pytest.mark.parametrize("tenant", [None, "", "  ", "\n"])
def test_without_a_tenant_nothing_opens(tmp_path: Path, tenant: str | None) -> None:
    with pytest.raises(MissingTenantError) as caught:
        Bank.open(tenant=tenant, project="p", embedder=HashingEmbedder(), settings=Settings(home=tmp_path / "home"))
    assert caught.value.hint
    assert not (tmp_path / "home").exists()


@pytest.mark.promise("isolation:fail-closed", "contextd:1")
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


@pytest.mark.promise("isolation:single-file")
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
    assert [[memory.title for memory in bank.list()] for bank in banks] == [[f"Lesson of bank {n}"] for n in range(3)]
    for bank in banks:
        bank.close()
    with Bank.open(url, tenant="b", project="p", embedder=HashingEmbedder(), settings=settings) as again:
        assert again.count() == 1


@pytest.mark.promise("isolation:errors")
def test_an_error_names_no_other_scope(tmp_path: Path) -> None:
    with open_bank(tmp_path, "hidden-tenant", "hidden-project") as bank:
        copy = bank.backup(tmp_path / "copy.db")
    with open_bank(tmp_path, "t", "p") as other, pytest.raises(BankError) as caught:
        other.restore(copy)
    assert "hidden" not in str(caught.value)
