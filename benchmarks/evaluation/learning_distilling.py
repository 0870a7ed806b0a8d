"""How many memories sessions give, and why proposed items are refused; through a real bank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evaluation.learning_estimates import average, share
from evaluation.learning_sources import (
    AIRLINE,
    BLAMED,
    CLAUDE,
    CODING,
    Session,
    Setup,
    airline,
    blamed,
    chosen,
    unlabelled,
)
from evaluation.learning_tables import Cell, Table, absent
from reasoningbank.bank import Bank
from reasoningbank.errors import BankError
from reasoningbank.settings import Settings
from reasoningbank.types.session import DistilReport, SessionSummary, Trajectory

_TITLE = "Distilling: memories per session, through a real bank"
_SHOWN = 1_000
_NOTES = (
    "model: capture, then judge by evidence and by the model, then distill; nobody says how a session ended.",
    "template: distill_session with a summary made by rule (task, tools used, last answer); its outcome is the label,",
    "as an agent that summarises its session says it itself. It cannot be made where the files hold no label.",
    "per session has a bootstrap interval over whole tasks, refused of proposed a Wilson interval.",
)


@dataclass
class Yield:
    """What one way made of one set.

    Attributes:
        memories: For every session, how many new memories it gave.
        reasons: Refused items by reason.
        waits: Sessions that were not distilled, by why.
    """

    name: str
    way: str
    groups: list[str] = field(default_factory=list)
    memories: list[int] = field(default_factory=list)
    corroborated: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    waits: Counter[str] = field(default_factory=Counter)

    def add(self, group: str, report: DistilReport) -> None:
        """Counts what became of one session."""
        self.groups.append(group)
        self.memories.append(len(report.distilled))
        self.corroborated += len(report.corroborated)
        self.reasons.update(refusal.reason for refusal in report.refused)

    def row(self) -> dict[str, Cell]:
        """The row of the table."""
        refused, made = self.reasons.total(), sum(self.memories)
        return {
            "set": self.name,
            "way": self.way,
            "sessions": len(self.memories),
            "memories": made,
            "per session": average(self.memories, self.groups),
            "corroborated": self.corroborated,
            "refused of proposed": share(refused, refused + made + self.corroborated),
            "waiting": ", ".join(f"{count} {why}" for why, count in sorted(self.waits.items())) or "0",
        }


def distilling(setup: Setup) -> Iterator[Table]:
    """Yield and refusal reasons of every way that can be run."""
    sets = {
        AIRLINE: airline(setup),
        BLAMED: blamed(setup),
        CODING: unlabelled(setup, CODING),
        CLAUDE: unlabelled(setup, CLAUDE),
    }
    if not any(sets.values()):
        yield absent("distilling", _TITLE, *sets)
        return
    results: list[Yield] = []
    for name, sessions in sets.items():
        if sessions:
            results.append(captured(setup, name, sessions))
            if all(session.succeeded is not None for session in sessions):
                results.append(templated(setup, name, sessions))
    notes = (*_NOTES, *(f"{name} is not in the data folder" for name, sessions in sets.items() if not sessions))
    if setup.model is None:
        notes = (*notes, "No language model is configured: captured sessions wait, nothing is made up for them.")
    yield Table(name="distilling", title=_TITLE, rows=tuple(each.row() for each in results), notes=notes)
    rows: tuple[dict[str, Cell], ...] = tuple(
        {"set": each.name, "way": each.way, "reason": reason, "of refused": share(count, each.reasons.total())}
        for each in results
        for reason, count in each.reasons.most_common()
    )
    yield Table(name="refusals", title="Refused items by reason", rows=rows, notes=() if rows else ("None.",))


def captured(setup: Setup, name: str, sessions: Sequence[Session]) -> Yield:
    """Captures the sessions and distills what waits, with the model or without one."""
    model = setup.model
    found = Yield(name=name, way=model.name if model else "no model")
    wanted = chosen(sessions, setup.sample) if model else sessions
    with _bank(setup, f"{name} {'model' if model else 'waiting'}") as bank:
        for session in wanted:
            for known in bank.sessions.capture(session.path).trajectories:
                report = bank.distillation.run(known.id)
                found.add(session.group, report)
                if report.messages:
                    unknown = bank.sessions.judgements(known.id)[-1].verdict == "unknown"
                    why = "no model" if model is None else "undecided" if unknown else "without a usable answer"
                    found.waits[why] += 1
    return found


def templated(setup: Setup, name: str, sessions: Sequence[Session]) -> Yield:
    """Makes a lesson of each session by template; its outcome is the label."""
    found = Yield(name=name, way="template")
    with _bank(setup, f"{name} template") as bank:
        for session in sessions:
            try:
                report = bank.distillation.from_summary(summary_of(session, bank.scope.project))
            except BankError as error:
                report = DistilReport()
                found.waits[type(error).__name__] += 1
            found.add(session.group, report)
    return found


def summary_of(session: Session, project: str) -> SessionSummary:
    """The session in the words of a rule: its task, the tools in the order of use, its last answer."""
    trajectory = session.trajectory
    used = list(dict.fromkeys(step.tool for step in trajectory.steps if step.tool))
    return SessionSummary(
        session_id=session.key,
        project_id=project,
        outcome="success" if session.succeeded else "failure",
        task=trajectory.task[:_SHOWN],
        approach=f"Used in this order: {', '.join(used)}." if used else "Answered without a tool.",
        result=last_words(trajectory)[:_SHOWN],
    )


def last_words(trajectory: Trajectory) -> str:
    """What the agent said last."""
    spoken = (step.thought for step in reversed(trajectory.steps) if step.thought.strip())
    return trajectory.final_answer.strip() or next(spoken, "")


def _bank(setup: Setup, project: str) -> Bank:
    settings = Settings(home=setup.scratch / "banks", llm_votes=setup.votes, graph_from_sessions="never")
    return Bank.open(
        tenant="evaluation",
        project=project,
        embedder=setup.embedder,
        model=setup.model,
        settings=settings,
        by_agent=False,
    )
