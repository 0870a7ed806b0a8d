"""Judge how a session ended: evidence first; a language model only where that does not decide.

Every fact that still stands adds its weight to the log-odds of success, which start at 0 (probability 0.5):

    probability = 1 / (1 + exp(-sum)),   sum = over kinds (strongest fact for success - strongest fact against it)

============  ===  =======  ===========================================================================
kind          for  against  why
============  ===  =======  ===========================================================================
user_verdict  3.0      3.0  who asked for the work knows best (0.95 alone); 1.0 when not the last word
test_run      2.2      2.2  tests are written to decide, but may test something else (0.90 alone)
.. by status  1.5      2.1  a test command that counted nothing: its exit status may be about something else
commit        0.6      1.0  kept work was not thrown away, or a commit or push was refused; it may still be wrong
submission    0.4      2.2  handing something in proves little, ending with nothing to hand in much
repair        0.3        -  the agent got past an error; 1.2 when work was committed after that and kept
exit_code     0.3      0.6  actions that worked prove little; errors that stayed add up, to 1.8 at most; a build,
                            a linter or a type check that failed counts 1.0
last_word      1.5     2.2  a build that failed or a program that crashed, then at most failing tests; or an action
                            that failed, was tried again after a change, and failed: tests that passed stand beside it
admission       -      1.8  what an agent says against its own work is believed, but may be about a part of it
============  ===  =======  ===========================================================================

The weights are choices, not fitted to any set, made so that only tests, a user's words, or an error that was repaired
before a commit was kept make a success (from 0.85), and tests, a user's words, a run without a result, a crash at the
end, or several different failures beside which little worked, make a failure (up to 0.15). Without a user's word the
probability is at most 0.9: tests that pass do not say that the task was done. A success of a session whose actions name
none of the files that its task names is partial; only a short task counts, for a long one is a report that names files
as examples. Partial is also one whose failed tests came to pass because they were skipped, removed or made weaker, or
whose tests are of another part of the repository than its edits or its task, who accepted what was printed as what is
expected, whose last commit or push was refused, or whose agent
says itself that a part is missing. So is one that changed what a check can depend on after the last that passed and
tried nothing since (``later_edits``); where that check came before everything else, it is unknown. A user's verdict was
not the last word when the user
spoke again later, or when the agent went on working after a rejection. What sub-agents saw counts half, unless several
agents talk of whom none leads. Facts for success do not add up within a kind: ten passing runs beside a failing one are
no success. Between the borders facts of both signs make it partial, those of one sign leave it unknown: that nothing
went wrong is not a success (spec row H10), an error that stayed among much that worked is partial (H19).

What the task asks for is judged by its own last run (``asked_actions``): that it passed counts 1.5 as a last word, that
it failed 2.2, and passing tests before that stand beside it only where something was done after it. Tests that had
passed and fail in their last run are a failure, whatever was kept before. So is a last action that
failed and of which the agent says so itself, where no test passed and nothing was kept. What a person says last, with
nothing done after it, takes the probability to 0.5 at most unless it accepts the work (``last_words``). Failures that
were wanted or there before the session are left out (``foreign_failures``), and so are passing tests of another folder
than the one whose tests fail (``places``).

What no longer stands: an earlier fact of the same kind and name; a test run whose tests were run again within a wider
run; a passing run before a failing run of a part of it; passing runs and repairs before a build or crash as the last
word; an error that was repaired, or after which tests passed, unless it is that of a build, a linter or a type check
which those tests do not run; an undone commit before one that was kept; passing runs and repairs before edits were
thrown away or a commit was undone, and thrown edits before tests passed again; and whatever contradicts a later verdict
of the user. A sub-agent's fact makes only sub-agents' facts obsolete. The order is that of the steps;
facts without a step come last.

The session reaches the model as quoted data between marks that the session cannot contain, never among the
instructions, and the answer is read as a whole object with a closed set of verdicts: no word inside a sentence, of the
session or of the model, is ever taken for a verdict (paper.md, section 3, defects 6 to 11).
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import fmean
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema

from reasoningbank.errors import BudgetExhausted, ContextExceeded, InvalidInput, MalformedAnswer, ModelUnavailable
from reasoningbank.llm.exchange import exchange_within
from reasoningbank.safety.stored_text import clean_line, safe_line
from reasoningbank.sessions.asked_actions import asked_action
from reasoningbank.sessions.changes import SOURCE_FILE
from reasoningbank.sessions.commands import READING, command, only_reads, parts
from reasoningbank.sessions.digest import MIN_TOKENS, digest, shows_steps
from reasoningbank.sessions.facts import (
    CHECK,
    REFUSED,
    THROWN_AWAY,
    WORKED_AT,
    facts,
    failed_last,
    unaccepted_end,
    verdict_in,
)
from reasoningbank.sessions.final_answer import admission, says_blocked
from reasoningbank.sessions.foreign_failures import Foreign, asks_to_mend, asks_to_report, foreign_failures
from reasoningbank.sessions.judge_reasons import reason_problem
from reasoningbank.sessions.last_words import accepts, last_message, sentences
from reasoningbank.sessions.later_edits import LaterEdit, later_edit
from reasoningbank.sessions.mended_tests import was_mended
from reasoningbank.sessions.test_changes import elsewhere_runs, unproven_by_tests
from reasoningbank.sessions.test_runs import BY_STATUS, covers, without_marks
from reasoningbank.types.blank import is_blank
from reasoningbank.types.ports import LanguageModel
from reasoningbank.types.session import Evidence, EvidenceKind, Judgement, Step, Trajectory, Verdict

SUCCESS_FROM = 0.85
"""From this probability on evidence alone is a success."""
FAILURE_TO = 0.15
"""Up to this probability evidence alone is a failure."""
SUB_AGENT_SHARE = 0.5
"""What a fact counts that a sub-agent saw."""

_FOR: dict[EvidenceKind, float] = {
    "user_verdict": 3.0,
    "test_run": 2.2,
    "commit": 0.6,
    "submission": 0.4,
    "repair": 0.3,
    "exit_code": 0.3,
    "last_word": 1.5,
    "admission": 0.0,
}
_REPAIR_KEPT = 1.2
"""What a repair counts after which work was committed and kept."""
MOST_EVIDENT = 0.9
"""The highest probability that evidence alone gives, without a user's word."""
_AGAINST: dict[EvidenceKind, float] = {
    "user_verdict": 3.0,
    "test_run": 2.2,
    "commit": 1.0,
    "submission": 2.2,
    "exit_code": 0.6,
    "last_word": 2.2,
    "admission": 1.8,
}
_ERRORS_AT_MOST = 1.8
_CHECK_FAILED = 1.0
"""What a build, linter or type check counts that failed and was not repaired."""
_BY_STATUS = {True: 1.5, False: 2.1}
"""What a run of tests counts that only its exit status tells of, for and against success."""
_SUPERSEDED_WORD = 1.0
_NAMED = 4
_CLIP = 160


@dataclass(frozen=True, slots=True)
class _Fact:
    evidence: Evidence
    place: float
    share: float
    last_word: bool

    @property
    def weight(self) -> float:
        if self.evidence.kind == "user_verdict" and not self.last_word:
            return _SUPERSEDED_WORD
        if self.evidence.kind == "test_run" and self.evidence.name.startswith(BY_STATUS):
            return _BY_STATUS[self.evidence.positive] * self.share
        if self.evidence.kind == "exit_code" and not self.evidence.positive and self.evidence.name.startswith(CHECK):
            return _CHECK_FAILED * self.share
        weights = _FOR if self.evidence.positive else _AGAINST
        return weights.get(self.evidence.kind, 0.0) * self.share

    def replaces(self, earlier: _Fact) -> bool:
        """Return whether the earlier fact no longer stands because of this one."""
        mine, old = self.evidence, earlier.evidence
        if self.share < earlier.share:
            return False
        if mine.kind == "user_verdict":
            return old.kind == "user_verdict" or old.positive != mine.positive
        if mine.kind == "test_run" and old.kind == "test_run":
            part_failed = old.positive and not mine.positive and covers(old.name, without_marks(mine.name))
            return part_failed or covers(mine.name, old.name)
        if mine.kind == "last_word" and not mine.positive and old.positive and old.kind in {"test_run", "repair"}:
            return old.kind == "repair" or not mine.name.startswith(WORKED_AT)
        if mine.kind == "test_run" and not mine.positive and old.kind == "repair":
            return covers(mine.name, old.name) or covers(old.name, mine.name)
        thrown = mine.kind == "commit" and not mine.positive and not mine.name.startswith(REFUSED)
        if thrown and old.positive and old.kind in {"test_run", "repair"}:
            return True
        if mine.positive and not old.positive:
            if mine.kind == "test_run" and old.kind == "exit_code":
                return not old.name.startswith(CHECK) or _program(mine.name) == _program(old.name)
            if mine.kind == "test_run" and old.kind == "commit" and old.name.startswith(THROWN_AWAY):
                return True
            if mine.kind == "repair" and old.kind in {"exit_code", "test_run"} and mine.name == old.name:
                return True
            if mine.kind == old.kind == "commit" and not old.name.startswith(REFUSED):
                return True
        both_errors = mine.kind == "exit_code" and not mine.positive and not old.positive
        same = mine.kind == old.kind and bool(mine.name) and mine.name == old.name
        return same and (self.share == earlier.share or not both_errors)


_RUNNER_PROGRAMS = {"maven": "mvn", "nextest": "cargo", "mvnw": "mvn", "gradlew": "gradle"}


def _program(name: str) -> str:
    """Return the program of an action or a test run: when its tests run, what it builds was built."""
    first = name.removeprefix(CHECK).strip().removeprefix(BY_STATUS).split(" ", 1)[0].split("@", 1)[0]
    return _RUNNER_PROGRAMS.get(first, first)


def by_evidence(trajectory: Trajectory, *, at: datetime, user: Evidence | None = None) -> Judgement:
    """Return what the trajectory's evidence says about how it ended; unknown when that does not decide it.

    Promises: never raises on a trajectory; a further latest fact against success never raises the probability, one
    for it never lowers it; facts of different steps may be given in any order.

    Args:
        trajectory: Its ``evidence`` is weighed; when that is empty, the facts of its steps.
        at: The time of the judgement.
        user: A verdict that a person gave just now: it decides alone.
    """
    evidence = trajectory.evidence or facts(trajectory.steps)
    if (thanks := _answered(trajectory)) is not None:
        evidence = (*evidence, thanks)
    asked = asked_action(trajectory)
    if asked is not None:
        evidence = (*evidence, asked)
    admitted = admission(trajectory.final_answer, _requests(trajectory))
    if admitted and trajectory.steps:
        words = f"the agent said: {admitted}"[:200]
        last = len(trajectory.steps) - 1
        evidence = (*evidence, Evidence(kind="admission", positive=False, detail=words, step=last))
    if user is not None:
        evidence = (*evidence, user)
    foreign = Foreign() if user is not None else foreign_failures(trajectory, evidence)
    counted = _of_its_own(trajectory, evidence, foreign)
    weighed = _weighed(trajectory, counted, user)
    standing = _standing(weighed)
    probability = 1.0 / (1.0 + math.exp(-_log_odds(standing, weighed)))
    said = [fact for fact in standing if fact.evidence.kind == "user_verdict"]
    missed = blocked = ""
    if broke_again := _broke_again(standing, weighed):
        probability = min(probability, FAILURE_TO)
    if not any(fact.evidence.positive for fact in said):
        missed = _unproven(trajectory, standing)
        probability = min(probability, _BELOW_SUCCESS if missed else MOST_EVIDENT)
        if untried := _untried(trajectory, standing):
            missed = missed or untried.reason
            probability = min(probability, _OPEN_END if untried.first else _BELOW_SUCCESS)
        if blocked := _blocked(trajectory, standing):
            probability = min(probability, FAILURE_TO)
    unaccepted = "" if user is not None else _unaccepted(trajectory)
    if unaccepted:
        probability = min(probability, _OPEN_END)
    verdict = _verdict(probability, standing)
    if missed and verdict == "unknown" and probability == _BELOW_SUCCESS:
        verdict = "partial"
    return Judgement(
        verdict=verdict,
        probability=probability,
        rationale=" ".join(
            filter(None, (_rationale(verdict, standing), foreign.reason, broke_again, blocked, missed, unaccepted))
        ),
        # What a transcript quotes of its user is evidence, and no person's word: whoever writes the file writes it.
        judge="evidence" if user is None else "user",
        evidence=evidence,
        at=at,
    )


def _answered(trajectory: Trajectory) -> Evidence | None:
    """Return that a person accepted the answer to a question with thanks; None where work was asked for."""
    words = last_message(trajectory.steps)
    if not words or asks_to_mend(trajectory.task) or not asks_to_report(trajectory.task):
        return None
    spoken = sentences(words)
    if not spoken or not all(map(accepts, spoken)) or verdict_in(words) is not None:
        return None
    last = max(index for index, step in enumerate(trajectory.steps) if step.user)
    said = f"the user said: {spoken[-1]}"[:200]
    return Evidence(kind="user_verdict", positive=True, detail=said, step=last)


def _requests(trajectory: Trajectory) -> str:
    return "\n".join((trajectory.task, *(step.user for step in trajectory.steps if step.user)))


def _weighed(trajectory: Trajectory, evidence: Sequence[Evidence], user: Evidence | None) -> list[_Fact]:
    steps = trajectory.steps
    last_spoken = max((index for index, step in enumerate(steps) if step.user), default=-1)
    last_acted = max((index for index, step in enumerate(steps) if _advances(step)), default=-1)
    actors = {step.actor for step in steps}
    led = "" in actors or len(actors) == 1
    found = []
    for fact in evidence:
        place = math.inf if fact.step is None or fact is user else float(fact.step)
        by_sub_agent = led and 0 <= place < len(steps) and bool(steps[int(place)].actor)
        last_word = place >= last_spoken and (fact.positive or place > last_acted)
        found.append(_Fact(fact, place, SUB_AGENT_SHARE if by_sub_agent else 1.0, last_word))
    return sorted(found, key=lambda fact: fact.place)


_UNDOING = frozenset(("checkout", "restore", "revert", "reset", "stash", "clean"))


def _advances(step: Step) -> bool:
    """Return whether the step may have done what a person missed: neither looking nor undoing does."""
    if not step.action or only_reads(step):
        return False
    working = [part for part in parts(command(step)) if not part.silent and not part.reads]
    return not working or any(part.program != "git" or part.word(1) not in _UNDOING for part in working)


def _standing(found: Sequence[_Fact]) -> list[_Fact]:
    """Return the facts that no later one has made obsolete, in order. What is obsolete never comes back."""
    standing: list[_Fact] = []
    later: dict[tuple[str, bool, str, float], _Fact] = {}
    for fact in reversed(found):
        if not any(other.replaces(fact) for other in later.values()):
            standing.append(fact)
        evidence = fact.evidence
        later.setdefault((evidence.kind, evidence.positive, evidence.name, fact.share), fact)
    return standing[::-1]


def _of_its_own(trajectory: Trajectory, evidence: Sequence[Evidence], foreign: Foreign) -> Sequence[Evidence]:
    """Return the facts that say something about the session.

    Neither a failure that was wanted or there before does, nor tests that passed in another folder than those that
    failed. The steps are looked at again only where tests of a folder both failed and passed.
    """
    counted = [fact for fact in evidence if fact not in foreign.evidence]
    runs = [fact for fact in counted if fact.kind == "test_run"]
    if len({fact.positive for fact in runs}) < 2 or not any("@" in fact.name for fact in runs):
        return counted
    away = elsewhere_runs(trajectory)
    return [
        fact for fact in counted if not (fact.positive and fact.step in away and fact.kind in {"test_run", "repair"})
    ]


def _blocked(trajectory: Trajectory, standing: Sequence[_Fact]) -> str:
    """Return that the last action failed and the agent says so itself, as a sentence; empty otherwise.

    What was proven or kept before is not lost by that.
    """
    if any(fact.evidence.positive and fact.evidence.kind in {"test_run", "commit"} for fact in standing):
        return ""
    last = failed_last(trajectory.steps)
    against = {fact.evidence.step for fact in standing if not fact.evidence.positive}
    said = trajectory.final_answer or (trajectory.steps[-1].thought if trajectory.steps else "")
    if last is None or last not in against or not (says_blocked(said) or admission(said)):
        return ""
    return "The last action failed, and the agent says so itself."


def _unaccepted(trajectory: Trajectory) -> str:
    """Return that the person's last words do not accept the work, as a sentence; empty when they do, or said none."""
    words = unaccepted_end(trajectory.steps)
    return f'Nothing was done after the person said "{words[:_CLIP]}".' if words else ""


_BELOW_SUCCESS = 0.84
_OPEN_END = 0.5
"""The highest probability where a person's last words, after which nothing was done, do not accept the work."""
_SHORT_TASK = 500


def untouched(trajectory: Trajectory) -> str:
    """Return the files that the task names when the session acted and no action names one of them; empty otherwise.

    A test file that failed and then passed was worked on, though its name stands only in what the tests printed, or the
    command ran all tests.
    """
    if len(trajectory.task) > _SHORT_TASK:
        return ""
    named = dict.fromkeys(match["base"] for match in SOURCE_FILE.finditer(trajectory.task))
    actions = [step.action for step in trajectory.steps if step.action]
    worked = any(step.action and not only_reads(step) for step in trajectory.steps)
    if not named or not worked or any(base in action for base in named for action in actions):
        return ""
    if any(was_mended(base, trajectory.steps) for base in named):
        return ""
    return ", ".join([*named][:_NAMED])


def _broke_again(standing: Sequence[_Fact], found: Sequence[_Fact]) -> str:
    """Return that tests which had passed fail in their last run, as a sentence; empty when none do.

    What was done well before does not speak for the state that was left. A verdict of the user comes first.
    """
    runs = [fact for fact in standing if fact.evidence.kind == "test_run"]
    if any(fact.evidence.kind == "user_verdict" for fact in standing) or not runs or runs[-1].evidence.positive:
        return ""
    last = runs[-1]
    if last.share < 1 or any(fact.evidence.positive for fact in runs):
        return ""
    for fact in found:
        name = fact.evidence.name
        earlier = fact.evidence.kind == "test_run" and fact.evidence.positive and fact.place < last.place
        if earlier and (covers(name, last.evidence.name) or covers(last.evidence.name, name)):
            return "Tests that had passed fail in their last run."
    return ""


def _unproven(trajectory: Trajectory, standing: Sequence[_Fact]) -> str:
    """Return why what speaks for success does not prove that the task was done, as a sentence; empty without a reason.

    The steps are looked at again only where tests passed: nothing else could be disguised.
    """
    if names := untouched(trajectory):
        return f"No action names {names}, which the task names."
    against = [fact.evidence for fact in standing if not fact.evidence.positive]
    if any(fact.kind == "admission" for fact in against):
        return "The agent says itself that something was not done."
    if refused := [fact for fact in against if fact.kind == "commit" and fact.name.startswith(REFUSED)]:
        return f"The last git {refused[-1].name.removeprefix(REFUSED).strip()} was refused."
    if any(fact.evidence.kind == "test_run" and fact.evidence.positive for fact in standing):
        return unproven_by_tests(trajectory)
    return ""


def _untried(trajectory: Trajectory, standing: Sequence[_Fact]) -> LaterEdit | None:
    """Return what was changed after the last check that passed and not tried since; None when nothing was."""
    last = max(
        (
            fact.place
            for fact in standing
            if fact.evidence.positive and fact.evidence.kind in {"test_run", "last_word"} and fact.place < math.inf
        ),
        default=-1.0,
    )
    return later_edit(trajectory.steps, int(last)) if last >= 0 else None


def _log_odds(standing: Sequence[_Fact], found: Sequence[_Fact]) -> float:
    total = 0.0
    kept = max(
        (fact.place for fact in standing if fact.evidence.kind == "commit" and fact.evidence.positive), default=-1.0
    )
    repaired = [
        fact for fact in found if fact.evidence.kind == "repair" and fact.evidence.positive and fact.place <= kept
    ]
    if repaired:
        total += (_REPAIR_KEPT - _FOR["repair"]) * max(fact.share for fact in repaired)
    for kind in _FOR:
        of_kind = [fact for fact in standing if fact.evidence.kind == kind]
        total += max((fact.weight for fact in of_kind if fact.evidence.positive), default=0.0)
        against = [fact.weight for fact in of_kind if not fact.evidence.positive]
        total -= min(sum(against), _ERRORS_AT_MOST) if kind == "exit_code" else max(against, default=0.0)
    return total


def _verdict(probability: float, standing: Sequence[_Fact]) -> Verdict:
    if probability >= SUCCESS_FROM:
        return "success"
    if probability <= FAILURE_TO:
        return "failure"
    signs = {fact.evidence.positive for fact in standing if fact.weight > 0}
    return "partial" if len(signs) > 1 else "unknown"


def _rationale(verdict: Verdict, standing: Sequence[_Fact]) -> str:
    strongest = sorted(standing, key=lambda fact: -fact.weight)
    pieces = []
    for positive, words in ((True, "for success"), (False, "against it")):
        named = [_words(fact.evidence) for fact in strongest if fact.evidence.positive is positive and fact.weight > 0]
        if named:
            more = f", and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
            pieces.append(f"{words}: {'; '.join(named[:_NAMED])}{more}")
    if not pieces:
        return "Nothing in the session proves how it ended."
    text = "Evidence " + ". Evidence ".join(pieces) + "."
    return f"{text} That does not decide it." if verdict == "unknown" else text


def _words(evidence: Evidence) -> str:
    kind = evidence.kind.replace("_", " ")
    detail = " ".join(evidence.detail[: 2 * _CLIP].split())
    detail = detail if len(detail) <= _CLIP else detail[: _CLIP - 1] + "\u2026"
    where = "" if evidence.step is None else f" (step {evidence.step})"
    return f"{kind}{where}" + (f", {detail}" if detail else "")


Fulfilment = Literal["met", "not met", "unclear"]
_TENTHS = WithJsonSchema({"type": "number", "enum": [tenth / 10 for tenth in range(11)]})
"""A grammar lets a model write nothing but a tenth."""
_SAME_WORD = {
    "failed": "failure",
    "fail": "failure",
    "succeeded": "success",
    "successful": "success",
    "passed": "success",
    "partially successful": "partial",
    "partial success": "partial",
    "undetermined": "unknown",
}
"""Other forms of the verdicts; "unsuccessful" and what has two meanings is none."""
_SAME_CHECK = {
    "yes": "met",
    "true": "met",
    "no": "not met",
    "false": "not met",
    "unmet": "not met",
    "unknown": "unclear",
}
_SURE = 0.6
_STATUSES: frozenset[EvidenceKind] = frozenset({"exit_code", "test_run", "last_word"})


_OWN_VERDICT = re.compile(
    r"\b(?:my|the (?:right|correct|real|actual|final)) verdict\W+(?:(?:is|would be|should be|must be)\W+)?"
    r"(success|failure|partial|unknown)\b",
    re.IGNORECASE,
)


def _verdict_word(value: object) -> object:
    """Return the verdict that a word is another form of; anything else is left to be refused."""
    return _SAME_WORD.get(value.strip().lower(), value.strip().lower()) if isinstance(value, str) else value


def _check_word(value: object) -> object:
    """Return the outcome of a check that a word or a truth value is another form of; anything else is left."""
    if isinstance(value, bool):
        return "met" if value else "not met"
    return _SAME_CHECK.get(value.strip().lower(), value.strip().lower()) if isinstance(value, str) else value


def _said_something(text: str) -> str:
    if is_blank(text):
        raise ValueError("the reason says nothing")
    return text


class Opinion(BaseModel):
    """Give an opinion in this order: reasons come before the verdict."""

    reason: Annotated[str, AfterValidator(_said_something)] = Field(
        description="One to three sentences: what decides it, with step numbers."
    )
    completeness: Annotated[Fulfilment, BeforeValidator(_check_word)] = Field(
        description="Whether every part and constraint of the task was done."
    )
    grounding: Annotated[Fulfilment, BeforeValidator(_check_word)] = Field(
        description="Whether everything claimed or reported was seen in an observation."
    )
    right_target: Annotated[Fulfilment, BeforeValidator(_check_word)] = Field(
        description="Whether the work was done on exactly what the task named."
    )
    verdict: Annotated[Literal["success", "failure", "partial", "unknown"], BeforeValidator(_verdict_word)] = Field(
        description="How the session ended; unknown when the record does not show it."
    )
    probability: Annotated[float, _TENTHS] = Field(
        ge=0.0, le=1.0, description="How likely the task succeeded, from 0 to 1."
    )

    @property
    def split(self) -> str:
        """Why the verdict is asked for again: it is half of two, and no check says what is missing; else empty."""
        open_checks = {self.completeness, self.grounding, self.right_target} - {"met"}
        return "" if self.verdict != "partial" or open_checks else "a partial end leaves a check that is not met"

    @property
    def doubt(self) -> str:
        """Why the verdict is not believed: it contradicts checks, probability or reason; empty when it does not."""
        if any(said.casefold() != self.verdict for said in _OWN_VERDICT.findall(self.reason)):
            return "its reason names another verdict"
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


PROMPT = "judge"
"""Name of the prompt that asks for an opinion."""
MAX_VOTES = 9
_MAX_RATIONALE = 2_000


@dataclass(frozen=True, slots=True)
class _Vote:
    verdict: Verdict
    probability: float
    reason: str


@functools.cache
def schema() -> dict[str, object]:
    """Return the JSON schema of the answer that is asked for."""
    return Opinion.model_json_schema()


def judge(
    trajectory: Trajectory,
    model: LanguageModel | None,
    *,
    at: datetime,
    votes: int = 1,
    tokens: int = 6_000,
    patient: bool = False,
) -> Judgement:
    """Return how the session ended: by evidence where that decides, else by the model's opinion.

    Promises: evidence that says success or failure is never overruled, the model is not even asked. Without a model,
    or for a session in whose steps nothing happened, the evidence's judgement is the answer. No verdict is given on a
    record that shows no step, nor for a reason that names steps which do not exist. No answer, a malformed one and
    a spent budget leave it unknown at 0.5 with the reason, never a failure. Temperature is 0.

    Args:
        trajectory: The session.
        model: Who is asked where evidence does not decide; None asks nobody.
        at: The time of the judgement.
        votes: How often the model is asked, at most ``MAX_VOTES``: more than half of the votes decide, anything else
            is unknown; the probability is the mean. More than one guards against a provider whose answers vary.
        tokens: Most tokens of the session that the model is shown; fewer when its context is small.
        patient: Somebody will ask again later: then no answer is an error, and so is one that cannot be read
            and leaves it unknown, instead of a judgement.

    Raises:
        ModelUnavailable, BudgetExhausted, MalformedAnswer: Only when ``patient``.
        InvalidInput: A number of votes below 1 or above ``MAX_VOTES``.
    """
    if not 1 <= votes <= MAX_VOTES:
        raise InvalidInput(f"a judge is asked 1 to {MAX_VOTES} times, not {votes}")
    proven = by_evidence(trajectory, at=at)
    if model is None or proven.verdict in {"success", "failure"} or not _happened(trajectory):
        return proven
    shown = trajectory if trajectory.evidence else replace(trajectory, evidence=facts(trajectory.steps))
    cast: list[_Vote] = []
    malformed: MalformedAnswer | None = None
    for _ in range(votes):
        try:
            cast.append(_ask(model, shown, tokens))
        except (ModelUnavailable, BudgetExhausted) as error:
            if patient:
                raise
            return _unknown(proven, model, f"The model gave no answer, so nothing was judged: {error.message}")
        except MalformedAnswer as error:
            malformed = error
            cast.append(_Vote("unknown", 0.5, f"The model's answer could not be read: {error.message}"))
    counted = _not_against_a_status(_counted(cast, proven, model), shown)
    if patient and malformed is not None and counted.verdict == "unknown":
        raise malformed
    return counted


def _happened(trajectory: Trajectory) -> bool:
    """Return whether there is anything to judge: an environment that never started teaches nothing (defect 13).

    A final answer alone is a claim that no step supports.
    """
    return any(step.action.strip() or step.thought.strip() or step.observation.strip() for step in trajectory.steps)


def _ask(model: LanguageModel, shown: Trajectory, tokens: int) -> _Vote:
    def material(room: int) -> str:
        made = digest(shown, tokens=room)
        if not shows_steps(made):
            raise ContextExceeded(f"{model.name} cannot be shown one step of the session within {room:,} tokens.")
        return made

    def check(opinion: Opinion) -> str:
        return (
            _unknown_steps(opinion.reason, len(shown.steps))
            or opinion.split
            or reason_problem(opinion.reason, opinion.verdict)
        )

    opinion = exchange_within(model, PROMPT, material, Opinion, most=tokens, least=MIN_TOKENS, check=check).answer
    doubt = opinion.doubt
    reason = clean_line(opinion.reason)[:_MAX_RATIONALE]
    if doubt:
        return _Vote("unknown", 0.5, f"{reason} (Not taken as {opinion.verdict}: {doubt}.)")
    return _Vote(opinion.verdict, opinion.probability, reason)


_STEP_NAMED = re.compile(
    r"(?:\b(?:steps?|schritte?n?|étapes?|pasos?)|ステップ|手順|步骤)[\s_-]*(?:no\.?|number|nr\.?|#)?\s*(?P<numbers>\d{1,6}"
    r"(?:\s*(?:,|-|\u2013|~|、|和|から|and|or|to|through|und|oder|bis|et|ou|à|y|o|a)+\s*\d{1,6})*)"
    r"|第\s*(?P<ordinal>\d{1,6})\s*(?:步|个步骤|ステップ)|(?P<before>\d{1,6})\s*番目のステップ",
    re.IGNORECASE,
)


def _unknown_steps(reason: str, count: int) -> str:
    """Return that a reason names steps which the session does not have; empty when it names none of these."""
    named = {int(number) for found in _STEP_NAMED.finditer(reason) for number in re.findall(r"\d+", found.group())}
    unknown = sorted(number for number in named if number >= count)
    if not unknown:
        return ""
    numbers = ", ".join(map(str, unknown[:_NAMED]))
    return f"the reason names steps that do not exist ({numbers}); the record has {count}, numbered from 0"


def _counted(cast: Sequence[_Vote], proven: Judgement, model: LanguageModel) -> Judgement:
    """Return the majority: more than half of the votes for one verdict, else unknown."""
    verdict, count = Counter(vote.verdict for vote in cast).most_common(1)[0]
    decided = 2 * count > len(cast)
    if not decided:
        verdict = "unknown"
    reason = next((vote.reason for vote in cast if vote.verdict == verdict), cast[0].reason)
    if len(cast) > 1:
        tally = f"{count} of {len(cast)} votes for {verdict}" if decided else f"No majority of {len(cast)} votes"
        reason = f"{tally}. {reason}"
    return replace(
        proven,
        verdict=verdict,
        probability=fmean(vote.probability for vote in cast),
        rationale=reason[:_MAX_RATIONALE],
        judge=model.name,
    )


def _not_against_a_status(judged: Judgement, trajectory: Trajectory) -> Judgement:
    """Return the model's judgement; a success beside a failure that stayed is partial, whatever the model says."""
    if judged.verdict != "success":
        return judged
    failures = [
        fact.evidence
        for fact in _standing(_weighed(trajectory, trajectory.evidence, None))
        if fact.evidence.kind in _STATUSES and not fact.evidence.positive and fact.evidence.name != READING
    ]
    if not failures:
        return judged
    reason = f"{judged.rationale} (Not taken as success: {_words(failures[-1])}.)"
    return replace(
        judged,
        verdict="partial",
        probability=min(judged.probability, _BELOW_SUCCESS),
        rationale=reason[:_MAX_RATIONALE],
    )


def _unknown(proven: Judgement, model: LanguageModel, reason: str) -> Judgement:
    return replace(
        proven, verdict="unknown", probability=0.5, rationale=safe_line(reason)[:_MAX_RATIONALE], judge=model.name
    )
