"""The branches of a folded context: what each is shown, and what its end is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput
from reasoningbank.safety.checks import session_name
from reasoningbank.types.argument import Budget, PositiveShare
from reasoningbank.types.memory import new_session
from reasoningbank.types.recall import BRANCH_SHARE, Brief, SessionOutcome
from reasoningbank.types.resource import checked
from reasoningbank.types.session import SessionSummary
from reasoningbank.types.signal import Rater

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.sessions.distillation import Distillation
    from reasoningbank.sessions.sessions import Sessions


@checked
class Branches:
    """Brief and credit the branches of a folded context (seed 001)."""

    def __init__(
        self,
        context: Context,
        sessions: Sessions,
        distillation: Distillation,
        briefing: Callable[[str, int, str], Brief],
    ) -> None:
        self._context = context
        self._sessions = sessions
        self._distillation = distillation
        self._briefing = briefing

    def briefing(
        self, description: str, budget: Budget, *, share: PositiveShare = BRANCH_SHARE, session: str | None = None
    ) -> Brief:
        """Return the memories for one branch of a folded context (seed 001, layer 1).

        Args:
            description: What the branch is to do.
            budget: The tokens of the branch's whole context.
            share: Which part of them memories may take, above 0 and at most 1.
            session: The branch's name. Left out: a new one, which is in the answer. Its outcome is reported under it.

        Raises:
            InvalidInput: When the description is blank or a number is not usable.
        """
        return self._briefing(description, int(budget * share), session_name(session) or new_session())

    def outcome(
        self,
        session: str,
        succeeded: bool,
        *,
        description: str = "",
        approach: str = "",
        result: str = "",
        avoid: str = "",
        rater: Rater = "agent",
    ) -> SessionOutcome:
        """Report how a branch ended: credit what it was shown, and learn from its account when it gives one.

        Args:
            session: The branch's name, from its briefing.
            succeeded: How it ended.
            description: What it was to do; with ``approach`` it becomes a lesson, as a summary of a session does.
            approach: How it went about it.
            result: What came of it.
            avoid: Of a failed branch: what not to do again.
            rater: Who says so.

        Raises:
            InvalidInput: When no session is named, or an account has only one of description and approach.
        """
        if bool(description.strip()) != bool(approach.strip()):
            raise InvalidInput("an account of a branch needs its description and its approach", hint="Give both.")
        report = self._sessions.outcome(session, succeeded, rater=rater)
        if not description.strip():
            return report
        summary = SessionSummary(
            session_id=report.session,
            project_id=self._context.scope.project,
            outcome="success" if succeeded else "failure",
            task=description,
            approach=approach,
            result=result,
            avoid=avoid,
        )
        return replace(report, learned=self._distillation.from_summary(summary))
