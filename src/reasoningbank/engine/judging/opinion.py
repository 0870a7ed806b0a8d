"""The shape of a model's opinion on how a session ended, and when it is not believed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

Check = Literal["met", "not met", "unclear"]
_SURE = 0.6


def _plain(value: object) -> object:
    """A word without case and surrounding white space; anything else, and any other word, is left to be refused."""
    return value.strip().lower() if isinstance(value, str) else value


class Opinion(BaseModel):
    """What the model is asked for, in this order: reasons come before the verdict."""

    reason: str = Field(min_length=1, description="One to three sentences: what decides it, with step numbers.")
    completeness: Annotated[Check, BeforeValidator(_plain)] = Field(
        description="Whether every part and constraint of the task was done."
    )
    grounding: Annotated[Check, BeforeValidator(_plain)] = Field(
        description="Whether everything claimed or reported was seen in an observation."
    )
    right_target: Annotated[Check, BeforeValidator(_plain)] = Field(
        description="Whether the work was done on exactly what the task named."
    )
    verdict: Annotated[Literal["success", "failure", "partial", "unknown"], BeforeValidator(_plain)] = Field(
        description="How the session ended; unknown when the record does not show it."
    )
    probability: float = Field(ge=0.0, le=1.0, description="How likely the task succeeded, from 0 to 1.")

    @property
    def doubt(self) -> str:
        """Why the verdict is not believed: it contradicts the checks or the probability; empty when it does not."""
        checks = {"completeness": self.completeness, "grounding": self.grounding, "right target": self.right_target}
        if self.verdict == "success":
            open_checks = [name for name, check in checks.items() if check != "met"]
            if open_checks:
                return f"{' and '.join(open_checks)} not shown"
            if self.probability < _SURE:
                return f"a probability of {self.probability:.2f}"
        if self.verdict == "failure":
            if set(checks.values()) == {"met"}:
                return "every check was met"
            if self.probability > 1 - _SURE:
                return f"a probability of {self.probability:.2f}"
        return ""
