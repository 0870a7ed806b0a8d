"""From a search whose task has ended to a strategy: extracted in the background, checked like any lesson (row H4)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from reasoningbank.domain.experience import Strategy, Trace
from reasoningbank.domain.learning import Item, Refusal
from reasoningbank.domain.memory import Memory, Outcome
from reasoningbank.domain.trajectory import Step, Trajectory
from reasoningbank.engine.distilling.lessons import MAX_TASK, candidate_memory, twin_of
from reasoningbank.engine.distilling.validate import examine
from reasoningbank.engine.experience.extraction import extract, question
from reasoningbank.memories.admission import admit, prepare
from reasoningbank.ports import Embedder, LanguageModel, Store

_SHOWN = 5
_SHOWN_CHARACTERS = 1_000


def learn_from_trace(store: Store, embedder: Embedder, model: LanguageModel, trace_id: str, *, at: datetime) -> None:
    """Extracts the strategy of a search whose outcome is known and stores it, or notes that there is none.

    The memory, its link to the trace and the trace's state are one transaction; a trace is extracted from once for
    its outcome. A strategy that breaks a rule of lessons is kept as a refusal that names the trace.

    Raises:
        ModelUnavailable, BudgetExhausted, MalformedAnswer: When there was no usable answer; nothing was stored, and the
            trace still waits.
    """
    trace = store.trace(trace_id)
    if trace.state != "waiting" or trace.outcome == "unknown":
        return
    shown = store.many(trace.results[:_SHOWN])
    summary = "\n\n".join(
        f"{memory.title}\n{memory.content[:_SHOWN_CHARACTERS]}"
        for memory in (shown[one] for one in trace.results if one in shown)
    )
    asked = question(
        trace.query, "used what earlier sessions had learned", trace.outcome, summary, trace.failure_reason
    )
    memory, refused = _examined(store.scope.project, trace, extract(asked, model), at)
    ready = prepare([memory], embedder, origin="model")[0] if memory is not None else None
    with store.transaction() as transaction:
        current = transaction.trace(trace_id)
        if current.state != "waiting" or current.outcome != trace.outcome:
            return
        for refusal in refused:
            transaction.refuse(refusal)
        if ready is None:
            transaction.update_trace(replace(current, state="nothing"))
            return
        twin = twin_of(store, transaction, ready.memory, ready.indexed)
        taught = (twin or admit(transaction, ready, at=at)).id
        transaction.update_trace(
            replace(current, state="extracted", strategies=tuple(dict.fromkeys((*current.strategies, taught))))
        )


def _examined(
    project: str, trace: Trace, strategy: Strategy | None, at: datetime
) -> tuple[Memory | None, tuple[Refusal, ...]]:
    """The strategy as a memory to be tested, None when there is none; and why not, when it breaks a rule of lessons."""
    if strategy is None:
        return None, ()
    outcome: Outcome = "success" if trace.outcome == "success" else "failure"
    item = Item(
        title=strategy.title,
        description=strategy.description,
        content=strategy.content,
        outcome=outcome,
        steps=(0,),
    )
    steps = (Step(thought=trace.approach),)
    record = Trajectory(id=trace.id, task=trace.query, steps=steps, session=trace.session, created_at=at)
    model, label = strategy.extraction_model, strategy.prompt
    accepted, refused = examine((item,), record, outcome, limit=1, model=model, prompt=label, at=at)
    if not accepted:
        return None, refused
    (kept,) = accepted
    provenance = {
        "source": "experience",
        "session": trace.session,
        "trace": trace.id,
        "task": trace.query[:MAX_TASK],
        "model": model,
        "prompt": label,
    }
    return candidate_memory(project, kept, provenance, at=at), ()
