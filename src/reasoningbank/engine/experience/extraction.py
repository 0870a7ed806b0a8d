"""What one execution taught (seed 002 ``extract_strategy``): a strategy, or a structured default that is no lesson."""

from __future__ import annotations

import json

from pydantic import BaseModel

from reasoningbank.domain.experience import Strategy
from reasoningbank.domain.trajectory import Verdict
from reasoningbank.engine.hygiene import clean_line
from reasoningbank.engine.prompts import prompt
from reasoningbank.engine.reading import read_answer
from reasoningbank.ports import LanguageModel, Prompt

_MOST_TEXT = 8_000
_SHOWN_QUERY = 100


class StrategyAnswer(BaseModel):
    """What the model is asked for; three empty texts mean that there is nothing to reuse."""

    title: str
    description: str
    content: str


def material(query: str, approach: str, outcome: Verdict, results_summary: str, error_details: str) -> str:
    """The record as quoted data: one JSON object, so that no text in it can end the quotation."""
    record = {
        "task": query[:_MOST_TEXT],
        "approach": approach[:_MOST_TEXT],
        "outcome": outcome,
        "at_hand": results_summary[:_MOST_TEXT],
        "errors": error_details[:_MOST_TEXT],
    }
    return json.dumps({name: text for name, text in record.items() if text}, ensure_ascii=False, indent=1)


def question(query: str, approach: str, outcome: Verdict, results_summary: str, error_details: str) -> Prompt:
    """The prompt for an outcome: success asks for a strategy, anything else for a preventive lesson."""
    name = "strategy_success" if outcome == "success" else "strategy_failure"
    return prompt(name, material(query, approach, outcome, results_summary, error_details))


def extract(asked: Prompt, model: LanguageModel) -> Strategy | None:
    """The model's strategy, None when it sees nothing to reuse.

    Raises:
        ModelUnavailable, BudgetExhausted, MalformedAnswer: When there was no usable answer.
    """
    completion = model.complete(asked, StrategyAnswer.model_json_schema(), temperature=0.0)
    answer = read_answer(completion.text, StrategyAnswer)
    texts = (clean_line(answer.title), clean_line(answer.description), answer.content.strip())
    if not all(texts):
        return None
    title, description, content = texts
    return Strategy(
        title=title,
        description=description,
        content=content,
        extraction_model=completion.model,
        prompt=asked.label,
    )


def default(query: str, approach: str, outcome: Verdict) -> Strategy:
    """What is answered when the model fails (seed 002 DD-007); it names no model, so that it is never stored."""
    return Strategy(
        title=f"{outcome.capitalize()} trace",
        description=approach,
        content=f"Outcome: {outcome}. Query: {query[:_SHOWN_QUERY]}",
    )
