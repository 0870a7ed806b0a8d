"""Sessions that the tests learn from."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from reasoningbank.bank import Bank
from reasoningbank.settings import Settings
from reasoningbank.storage.store import Store
from reasoningbank.types.ports import Embedder
from reasoningbank.types.scope import Scope
from reasoningbank.types.session import Judgement, Step, Trajectory, Verdict

AT = datetime(2026, 1, 1, tzinfo=UTC)
SCOPE = Scope(tenant="acme", project="shop")


def kept(
    store: Store, session: str = "s1", *, task: str = "Make the nightly test pass", memories: tuple[str, ...] = ()
) -> Trajectory:
    """A stored trajectory of three steps, the second of which failed."""
    trajectory = Trajectory(
        task=task,
        steps=(
            Step(thought="Look", action="cat tests/test_checkout.py", tool="bash", exit_code=0),
            Step(action="pytest", tool="bash", observation="1 failed", exit_code=1),
            Step(action="pytest", tool="bash", observation="12 passed", exit_code=0),
        ),
        session=session,
        memories=memories,
        created_at=AT,
    )
    with store.transaction() as transaction:
        assert transaction.sessions.keep(trajectory)
    return trajectory


def judged(verdict: Verdict = "success", judge: str = "evidence", at: datetime = AT) -> Judgement:
    """A judgement of that verdict."""
    return Judgement(verdict=verdict, probability=0.5, rationale="Tests say so.", judge=judge, at=at)


def found(home: Path, embedder: Embedder, query: str) -> list[tuple[str, bool, float]]:
    """What a bank delivers that was opened anew: id, whether it is unproven, and confidence."""
    with Bank.open(tenant="acme", project="shop", embedder=embedder, settings=Settings(home=home)) as bank:
        recall = bank.search(query, unproven=3)
    return [(hit.id, hit.unproven, hit.confidence) for hit in recall.delivered]
