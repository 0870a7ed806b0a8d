"""Extract a strategy from a search whose task has ended (seed 002)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

from pydantic import BaseModel

from reasoningbank.llm.exchange import exchange
from reasoningbank.llm.prompts import prompt
from reasoningbank.memories.admission import admit, prepare
from reasoningbank.safety.stored_text import clean_line
from reasoningbank.sessions.lessons import MAX_TASK, candidate_memory, twin_of
from reasoningbank.sessions.validation import examine
from reasoningbank.storage.store import Store
from reasoningbank.types.experience import Strategy, Trace
from reasoningbank.types.memory import Memory, Outcome
from reasoningbank.types.ports import Embedder, LanguageModel, Prompt
from reasoningbank.types.session import Item, Refusal, Step, Trajectory, Verdict

_MOST_TEXT = 8_000
_SHOWN_QUERY = 100


class StrategyAnswer(BaseModel):
    """Give one strategy; three empty texts mean that there is nothing to reuse."""

    title: str
    description: str
    content: str


def material(query: str, approach: str, outcome: Verdict, results_summary: str, error_details: str) -> str:
    """Return the record as quoted data: one JSON object, so that no text in it can end the quotation."""
    record = {
        "task": query[:_MOST_TEXT],
        "approach": approach[:_MOST_TEXT],
        "outcome": outcome,
        "at_hand": results_summary[:_MOST_TEXT],
        "errors": error_details[:_MOST_TEXT],
    }
    return json.dumps({name: text for name, text in record.items() if text}, ensure_ascii=False, indent=1)


def question(query: str, approach: str, outcome: Verdict, results_summary: str, error_details: str) -> Prompt:
    """Return the prompt for an outcome: success asks for a strategy, anything else for a preventive lesson."""
    name = "strategy_success" if outcome == "success" else "strategy_failure"
    return prompt(name, material(query, approach, outcome, results_summary, error_details))


def extract(asked: Prompt, model: LanguageModel) -> Strategy | None:
    """Return the model's strategy, None when it sees nothing to reuse.

    Raises:
        ModelUnavailable, BudgetExhausted, MalformedAnswer: When there was no usable answer.
    """
    found = exchange(model, asked, StrategyAnswer)
    answer = found.answer
    texts = (clean_line(answer.title), clean_line(answer.description), answer.content.strip())
    if not all(texts):
        return None
    title, description, content = texts
    return Strategy(
        title=title,
        description=description,
        content=content,
        extraction_model=found.model,
        prompt=asked.label,
    )


def default(query: str, approach: str, outcome: Verdict) -> Strategy:
    """Return what is answered when the model fails (seed 002 DD-007); it names no model, so that it is never stored."""
    return Strategy(
        title=f"{outcome.capitalize()} trace",
        description=approach,
        content=f"Outcome: {outcome}. Query: {query[:_SHOWN_QUERY]}",
    )


_SHOWN = 5
_SHOWN_CHARACTERS = 1_000


def learn_from_trace(store: Store, embedder: Embedder, model: LanguageModel, trace_id: str, *, at: datetime) -> None:
    """Extract the strategy of a search whose outcome is known and store it, or notes that there is none.

    The memory, its link to the trace and the trace's state are one transaction; a trace is extracted from once for
    its outcome. A strategy that breaks a rule of lessons is kept as a refusal that names the trace.

    Raises:
        ModelUnavailable, BudgetExhausted, MalformedAnswer: When there was no usable answer; nothing was stored, and the
            trace still waits.
    """
    trace = store.sessions.trace(trace_id)
    if trace.state != "waiting" or trace.outcome == "unknown":
        return
    shown = store.memories.many(trace.results[:_SHOWN])
    summary = "\n\n".join(
        f"{memory.title}\n{memory.content[:_SHOWN_CHARACTERS]}"
        for memory in (shown[one] for one in trace.results if one in shown and shown[one].state != "quarantined")
    )
    asked = question(
        trace.query, "used what earlier sessions had learned", trace.outcome, summary, trace.failure_reason
    )
    memory, refused = _examined(store.scope.project, trace, extract(asked, model), at)
    ready = prepare([memory], embedder, origin="model")[0] if memory is not None else None
    with store.transaction() as transaction:
        current = transaction.sessions.trace(trace_id)
        if current.state != "waiting" or current.outcome != trace.outcome:
            return
        for refusal in refused:
            transaction.sessions.refuse(refusal)
        if ready is None:
            transaction.sessions.update_trace(replace(current, state="nothing"))
            return
        twin = twin_of(store, transaction, ready.memory, ready.indexed)
        taught = (twin or admit(transaction, ready, at=at)).id
        transaction.sessions.update_trace(
            replace(current, state="extracted", strategies=tuple(dict.fromkeys((*current.strategies, taught))))
        )


def _examined(
    project: str, trace: Trace, strategy: Strategy | None, at: datetime
) -> tuple[Memory | None, tuple[Refusal, ...]]:
    """Return the strategy as a memory to be tested, None when there is none.

    And why not, when it breaks a rule of lessons.
    """
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
