"""What the calling agent is handed when it is to distil a session itself, because no model is configured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from reasoningbank.domain.learning import MAX_ITEMS, Item
from reasoningbank.domain.trajectory import Judgement, Trajectory
from reasoningbank.engine.distilling.digest import DIGEST_TOKENS, digest
from reasoningbank.engine.distilling.extract import prompt_name
from reasoningbank.engine.distilling.validate import (
    MAX_ITEM_CONTENT,
    MAX_ITEM_DESCRIPTION,
    MAX_ITEM_TAGS,
    MAX_ITEM_TITLE,
)
from reasoningbank.engine.prompts import prompt

AGENT = "agent"
"""What stands for the model in the provenance of these lessons."""
ASSIGNMENT_TOKENS = 8_000
"""Most tokens of record, instructions and schema together, at the usual length of the record."""


class Proposal(BaseModel):
    """One item as the calling agent records it."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(max_length=MAX_ITEM_TITLE, description="A short name.")
    description: str = Field(max_length=MAX_ITEM_DESCRIPTION, description="When it applies, and when not.")
    content: str = Field(
        max_length=MAX_ITEM_CONTENT, description="What to do, or what went wrong and what to do instead."
    )
    outcome: Literal["success", "failure"] = Field(description="success for a strategy, failure for a lesson.")
    steps: list[int] = Field(default=[], description="Numbers of the steps it was learned from.")
    tags: list[str] = Field(default=[], max_length=MAX_ITEM_TAGS, description="Lower-case words.")

    def item(self) -> Item:
        """The item as the validator examines it."""
        return Item(
            title=self.title,
            description=self.description,
            content=self.content,
            outcome=self.outcome,
            steps=tuple(self.steps),
            tags=tuple(self.tags),
        )


class Proposals(BaseModel):
    """All items of one session; none is a good answer."""

    model_config = ConfigDict(extra="forbid")

    items: list[Proposal] = Field(max_length=MAX_ITEMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A session to be distilled by the calling agent.

    Attributes:
        trajectory: Id of the session's trajectory; every item is recorded with it.
        instructions: What to do.
        record: The session as quoted data, secrets removed.
        schema: A JSON schema of what is wanted.
        prompt: Name and version of the instructions, for the provenance.
    """

    trajectory: str
    instructions: str
    record: str
    schema: Mapping[str, object]
    prompt: str


def assign(trajectory: Trajectory, judgement: Judgement, *, tokens: int = DIGEST_TOKENS) -> Assignment:
    """What the agent needs to distil a session: at most about 8,000 tokens with the usual length of the record.

    Args:
        trajectory: The session.
        judgement: How it ended.
        tokens: Most tokens of the record.

    Raises:
        InvalidInput: When it is unknown how the session ended.
    """
    prompt_name(judgement.verdict)
    asked = prompt("distil_agent", digest(trajectory, judgement, tokens=tokens))
    return Assignment(
        trajectory=trajectory.id,
        instructions=asked.instructions,
        record=asked.material,
        schema=Proposals.model_json_schema(),
        prompt=asked.label,
    )
