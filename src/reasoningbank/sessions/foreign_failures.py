"""Find the failures of a session that are not its own: those that were wanted, and those that were there before it.

A failing run is wanted where the task asks to see a failure and not to mend it: to reproduce a bug, to write a test
that fails, to confirm that something is refused. It is the answer where the task only asks a question, or to be told or
shown something, and the session changed no file. It was there before where the same tests failed in the same way before
the first edit, or with the edits put aside, and the task is about something else. Neither says how the session ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reasoningbank.sessions.changes import doing_of
from reasoningbank.sessions.commands import command, parts, vocabulary
from reasoningbank.sessions.final_answer import admission
from reasoningbank.sessions.relevance import FAILED_NAMES, is_throwaway
from reasoningbank.sessions.test_runs import covers, stashes
from reasoningbank.sessions.test_summaries import summary_of
from reasoningbank.types.session import Evidence, EvidenceKind, Step, Trajectory

_MENDS = (
    r"(?:fix\w*|repair\w*|mend\w*|resolv\w*|solv\w*|correct\w*|patch\w*|implement\w*"
    r"|make\b[^.\n]{0,60}\b(?:pass|work|run|green|compile|build)\b"
    r"|get\b[^.\n]{0,40}\b(?:running|working|to (?:run|work|pass|build|compile|start)|green|through)\b"
    r"|beheb\w*|reparier\w*|korrigier\w*|l[o\u00f6]se?\b|corrige\w*|corrija\w*|r[\u00e9e]par\w*"
    r"|r[\u00e9e]sou\w*|arr[e\u00e9]gl\w*"
    r"|solucion\w*|resuelv\w*|correggi\w*|risolv\w*|sistema\b|consert\w*|resolv\w*|repareer\w*|herstel\w*|修复"
    r"|修正|修理"
    r"|解决|直して|直す|解決)"
)
_NOT_MENDED = re.compile(
    rf"\b(?:do not|don't|dont|not|never|without|instead of|rather than|nicht|ohne|sans|ne|sin|no|non|senza"
    rf"|n[\u00e3a]o|sem"
    rf"|niet|zonder)\s+(?:[\w']+\s+){{0,3}}{_MENDS}|{_MENDS}\s+(?:[\w']+\s+){{0,3}}(?:nicht|pas|niet|later|yet)\b"
    r"|(?:不要|先不|别|不用)\w{0,3}(?:修复|修正|修理|解决)|(?:修正|修理|直)\w{0,3}(?:しないで|さないで|せずに)",
    re.IGNORECASE,
)
_MENDING = re.compile(rf"(?:\b|(?=[\u3040-\u9fff])){_MENDS}", re.IGNORECASE)
_WANTED = re.compile(
    r"\brepro(?:duc\w*|s?\b)|\breproduz\w*|\breprodui\w*|\breproduc\w*|\briprodu\w*|\bnachstell\w*|复现|重现|再現"
    r"|\b(?:bisect|failing (?:unit |regression |integration )?test|red test|test (?:that|which) (?:\w+ ){0,2}fails?"
    r"|fehlschlagende\w* test|test qui [\u00e9e]chou\w*|(?:prueba|test) que falle|test che fallisc\w*"
    r"|teste que falh\w*"
    r"|falende test)\b|失败的测试|失敗するテスト"
    r"|\b(?:confirm|verify|show|prove|demonstrate|check"
    r"|(?:(?<![\w'] )|(?<=and )|(?<=to )|(?<=then )|(?<=please ))test|see|zeig\w*"
    r"|pr[\u00fcu]f\w*|best[\u00e4a]tig\w*|montre\w*"
    r"|v[\u00e9e]rifi\w*|confirm\w*|comprueba|muestra|verifica\w*|mostra\w*|mostre|controleer|toon)\b"
    r"(?:(?!\b(?:not?|never|no longer|doesn't|don't|nicht|kein\w*|pas|niet|geen|non|n[\u00e3a]o)\b)(?:[^.\n]"
    r"|\.(?=\w))){0,80}"
    r"\b(?:fails?|refus\w*|reject\w*|den(?:y|ies)|crash\w*|aborts?|raises?|throws?|errors? out|exits? (?:with|non)\w*"
    r"|returns? (?:an error|non-?zero|1)|is (?:refused|rejected|denied|blocked)|are (?:refused|rejected|denied"
    r"|blocked)"
    r"|fehlschl[\u00e4a]gt|verweiger\w*|ablehn\w*|abgelehnt|[\u00e9e]chou\w*|refus\w*|rechaz\w*|falla|rifiut\w*"
    r"|fallisc\w*"
    r"|falha|rejeit\w*|faalt|weiger\w*)\b",
    re.IGNORECASE,
)
_ABOUT_FAILURE = re.compile(
    r"\b(?:fail\w*|broken|break\w*|crash\w*|errors?|bugs?|red|green|pass(?:es|ing)?|flaky|tests? (?:run|work"
    r"|suite)|suite|ci"
    r"|fehler\w*|fehlschl\w*|gr[\u00fcu]n|erreurs?|[\u00e9e]chou\w*|error(?:es)?|fall(?:a|an|o|os)|errore"
    r"|errori|falli\w*"
    r"|erros?|falh\w*|fout\w*|faalt|falen)\b|错误|失败|报错|通过|エラー|失敗|通る",
    re.IGNORECASE,
)
_EXCUSED = re.compile(
    r"\b(?:before|already|pre-?exist\w*|unrelated|not related|nothing to do with|independent|vorher|bereits"
    r"|d\u00e9j\u00e0|ya"
    r"|gi\u00e0|j\u00e1|al)\b|之前|本来|以前|元から",
    re.IGNORECASE,
)
"""The words of an agent about a failure that is not its own."""
_START = (
    r"(?:^|[.!?:;,\n\u3002]\s*|\b(?:and|then|please|pls|now|just|also|to|you|me)\s+)(?:please |just |also |then |now )*"
)
_REPORTING = re.compile(
    rf"{_START}(?:tell me|report|list|show|explain|summari[sz]e|describe|review|analy[sz]e|investigate|diagnose|check"
    r"|find out|look (?:into|at)|give me|count|let me know|figure out|see (?:if|whether|which|what|how)|determine"
    r"|identify"
    r"|audit|compare|assess|evaluate|measure|profile|erkl\u00e4r\w*|zeig\w*|sag mir|nenn\w*|expli(?:que|ca|quez)\w*"
    r"|montre\w*"
    r"|muestra\w*|dime|spiega\w*|dimmi|mostra\w*|diga|leg uit|vertel)\b"
    r"|(?:^|[.!,:\n]\s*)(?:(?:hey|hi|ok|so|and|also)[, ]+)*(?:why|what|which|how|is|are|does|do|did|has|have|who"
    r"|where|when|was"
    r"|were|warum|wieso|weshalb|welche\w*|was|wie|pourquoi|quel\w*|combien|por qu\u00e9|cu\u00e1\w*|perch\u00e9|quali"
    r"|quanti|por que"
    r"|quais|waarom|welke|hoeveel)\b[^.\n?]*\?|为什么|なぜ|どうして",
    re.IGNORECASE,
)
"""What asks for an answer, not for work."""
_CHANGING = re.compile(
    rf"{_START}(?:(?:can|could|would|will) you )?(?:add|write|create|implement|make|update|change|remove|delete"
    rf"|rename|refactor"
    r"|migrate|move|replace|convert|bump|upgrade|deploy|publish|release|build|configure|set up|port|translate"
    r"|optimi[sz]e|speed up"
    r"|reduce|raise|increase|get|apply|push|commit|merge|roll ?out|extend|support|bring|let|ensure|use|clean|format"
    r"|adapt"
    r"|f\u00fcge?|schreib\w*|erstell\w*|bau\w*|ersetz\w*|entfern\w*|ajoute\w*|\u00e9cri\w*|cr\u00e9e\w*|a\u00f1ad\w*"
    r"|escrib\w*|aggiung\w*|scriv\w*"
    r"|adicion\w*|escrev\w*|voeg|schrijf|maak)\b",
    re.IGNORECASE,
)
_UNCHANGED = re.compile(
    r"\b(?:do not|don't|dont|never|without|no need to|nicht|ohne|ne|sans|no|sin|non|senza|n\u00e3o|sem|niet"
    r"|zonder)\s+[^.\n]{0,40}",
    re.IGNORECASE,
)
_MOST_ASKED = 2_000
_FAILURES: frozenset[EvidenceKind] = frozenset({"test_run", "exit_code", "last_word"})
_RUNS: frozenset[EvidenceKind] = frozenset({"test_run", "repair"})
_VARYING = re.compile(r"0x[0-9a-f]+|\d+")
_SPACE = re.compile(r"\s+")
_COMMON = vocabulary(
    "failed error fail fails stdout test tests should when with that this does from into case cases spec"
)
_COMPARED = 8_000


@dataclass(frozen=True, slots=True)
class Foreign:
    """Hold what says nothing about the session.

    Attributes:
        evidence: The facts that are left out.
        reason: Why, as a sentence; empty where nothing is left out.
    """

    evidence: frozenset[Evidence] = frozenset()
    reason: str = ""


def foreign_failures(trajectory: Trajectory, evidence: Sequence[Evidence]) -> Foreign:
    """Return the facts that tell of a failure which was wanted or there before, and why they say nothing.

    Promises: never raises. Nothing is left out of a session in which nothing failed.
    """
    failures = [fact for fact in evidence if fact.kind in _FAILURES and not fact.positive and fact.step is not None]
    if not failures:
        return Foreign()
    asked = "\n".join((trajectory.task, *(step.user for step in trajectory.steps if step.user)))
    mended = asks_to_mend(asked)
    beside = [fact for fact in evidence if fact.kind in _RUNS]
    if _WANTED.search(trajectory.task) is not None and not mended:
        return Foreign(
            frozenset((*failures, *beside)), "The task asked for a failure, so a failing run is none of its own."
        )
    if not mended and asks_to_report(asked) and not _edits_files(trajectory.steps):
        shown = [fact for fact in failures if _is_of_the_project(trajectory.steps, fact.step or 0)]
        if shown:
            reason = "The task only asked to see or explain, so a failing run is its answer."
            told = [fact for fact in evidence if fact.kind == "admission"]
            return Foreign(frozenset((*shown, *beside, *told)), reason)
    admits = bool(admission(trajectory.final_answer)) and not _EXCUSED.search(trajectory.final_answer)
    return Foreign() if admits else _there_before(trajectory.steps, failures, asked)


def asks_to_mend(asked: str) -> bool:
    """Return whether a person asks to mend something, and does not only say that it shall be left. Accepts any text."""
    return _MENDING.search(_NOT_MENDED.sub(" ", asked)) is not None


def asks_to_report(asked: str) -> bool:
    """Return whether a person asks a question, or to be told or shown something, and for nothing to be made.

    That something is to be mended is told by ``asks_to_mend``. Accepts any text.
    """
    text = asked[:_MOST_ASKED]
    if _REPORTING.search(text) is None:
        return False
    return _CHANGING.search(_UNCHANGED.sub(" ", text)) is None


def _edits_files(steps: Sequence[Step]) -> bool:
    return any(change.file and not is_throwaway(change.file) for step in steps for change in doing_of(step).changes)


def _is_of_the_project(steps: Sequence[Step], index: int) -> bool:
    """Return whether the step ran a command that was there to be run, not code that the session typed in itself."""
    line = command(steps[index]) if index < len(steps) else ""
    return bool(line) and "<<" not in line and not any(part.word(1) in {"-c", "-e"} for part in parts(line))


def _there_before(steps: Sequence[Step], failures: Sequence[Evidence], asked: str) -> Foreign:
    about_failure = _ABOUT_FAILURE.search(asked) is not None
    mending = _MENDING.search(asked) is not None
    last = max(fact.step or 0 for fact in failures)
    aside = list(_put_aside(steps))
    if about_failure or (mending and not aside) or last >= len(steps):
        return Foreign()
    first_edit = _first_edit(steps)
    for earlier in [*(fact.step for fact in failures if fact.step is not None and fact.step < first_edit), *aside]:
        if not 0 <= earlier < len(steps) or earlier == last or last < first_edit:
            continue
        if not _fails_alike(steps[earlier], steps[last]):
            continue
        names = _names(steps[last])
        if _shares_word(steps[last], asked) or (mending and not (names and earlier in aside)):
            continue
        gone = [fact for fact in failures if fact.step in {earlier, last} or _same_run(fact, failures, last)]
        reason = f"The failure at step {last} was there before the session's edits (step {earlier})."
        return Foreign(frozenset(gone), reason)
    return Foreign()


def _same_run(fact: Evidence, failures: Sequence[Evidence], last: int) -> bool:
    """Return whether a fact is an earlier failure of what failed last."""
    return any(
        other.step == last and other.kind == fact.kind and (other.name == fact.name or covers(other.name, fact.name))
        for other in failures
    )


def _first_edit(steps: Sequence[Step]) -> int:
    return next((index for index, step in enumerate(steps) if doing_of(step).changes), len(steps))


def _put_aside(steps: Sequence[Step]) -> Iterator[int]:
    """Yield the failed steps that ran while the edits were stashed."""
    aside = False
    for index, step in enumerate(steps):
        moves = [stashes(part) for part in parts(command(step))] if "stash" in step.action else []
        if aside or True in moves:
            yield index
        for move in moves:
            aside = aside if move is None else move


def _fails_alike(before: Step, after: Step) -> bool:
    """Return whether the later failure shows nothing that the earlier one did not."""
    old, new = _names(before), _names(after)
    if old or new:
        return bool(new) and new <= old
    counted = summary_of(before.observation), summary_of(after.observation)
    if counted[0] is not None and counted[1] is not None:
        sums = [(each.runner, each.failed, each.errors) for each in counted if each is not None]
        return sums[0] == sums[1] and sums[0][1:] != (0, 0)
    texts = [_plain(step.error or step.observation) for step in (before, after)]
    return command(before) == command(after) and texts[0] == texts[1] != ""


def _names(step: Step) -> frozenset[str]:
    found = FAILED_NAMES.finditer(step.observation[-_COMPARED:])
    return frozenset(name for match in found if (name := next(filter(None, match.groups()), "")))


def _plain(text: str) -> str:
    return _SPACE.sub(" ", _VARYING.sub("0", text[-_COMPARED:])).strip()


def _shares_word(failed: Step, asked: str) -> bool:
    """Return whether the task speaks of what a failed test, or its file, is called after."""
    text = " ".join(match[0] for match in FAILED_NAMES.finditer(failed.observation[-_COMPARED:]))
    words = set(re.findall(r"[a-z]{4,}", re.sub(r"([A-Z])", r" \1", text).lower()))
    return any(re.search(rf"\b{word}", asked.lower()) for word in words - _COMMON)
