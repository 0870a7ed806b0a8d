"""Facts of a session that tell how it ended, found without a model: commits, tests, the words of the user.

Only whole sentences about the work itself count: "it works now", "that fixed it", "that did not work", "still failing".
Thanks, agreement ("yes, that's correct", "that works for me", "looks good"), questions, conditions ("if it works ...")
and the description of a further task are not verdicts. English is read here, eight other languages in ``replies``, and
in ``relief`` that a failure is gone; any other yields none rather than a wrong one. What a person says last and is no
verdict is read in ``last_words``.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from reasoningbank.sessions.changes import LINTERS, doings_of
from reasoningbank.sessions.commands import (
    READING,
    Program,
    attempt,
    attempts_passed,
    command,
    found_nothing,
    hides_its_status,
    only_reads,
    parts,
)
from reasoningbank.sessions.last_words import accepts, last_message, says_it_is_complete, sentences, unaccepted
from reasoningbank.sessions.places import folders_of, same_folder
from reasoningbank.sessions.relief import rest_beside_relief
from reasoningbank.sessions.replies import approves
from reasoningbank.sessions.strictness import as_strict_as, gives_up, strict_marks
from reasoningbank.sessions.test_runs import (
    TestRun,
    ci_run,
    covers,
    is_same_command,
    passed_again,
    passed_silently,
    ran_no_tests,
    run_of,
    same_command,
    stashes,
    tests_something,
)
from reasoningbank.types.session import Evidence, Step

_COMMITTED = re.compile(
    r"^\[(?P<branch>[^\]\n]{1,200}?) (?:\(root-commit\) )?(?P<hash>[0-9a-f]{6,40})\] (?P<subject>[^\n]*)", re.MULTILINE
)
_HEAD = re.compile(r"^(?:HEAD|@)(?:~(?P<count>\d{0,4})|(?P<carets>\^{1,20}))?$")
_HASH = re.compile(r"^[0-9a-f]{6,40}$")
_SHOWN = 80


THROWN_AWAY = "edits of"
"""With this begins the name of a fact that uncommitted edits were thrown away."""
REFUSED = "refused"
"""With this begins the name of a fact that a commit or push was refused and not made later."""
_PUSH_REFUSED = re.compile(r"^ ?! \[(?:remote )?rejected\]|^error: failed to push some refs", re.MULTILINE)
"""What git itself says of a push, also where the exit status is that of a filter behind it."""
_NOTHING_TO_DO = re.compile(
    r"nothing (?:added )?to commit|no changes added to commit|Everything up-to-date|unknown (?:option|switch)"
    r"|tell me who you are|unable to auto-detect email|not a git repository|^usage: git",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass
class _Commit:
    step: int
    name: str
    subject: str


@dataclass
class _History:
    kept: list[_Commit] = field(default_factory=list)
    undone: list[tuple[int, _Commit, str]] = field(default_factory=list)
    discarded: list[tuple[int, str, str]] = field(default_factory=list)
    stashed: list[int] = field(default_factory=list)


def commit_facts(steps: Sequence[Step]) -> list[Evidence]:
    """Return commits that were made in these steps and kept (positive) or reverted (negative), and edits thrown away.

    A commit that was amended or softly reset is neither: its work lives on. Reverting a commit from before the session
    is work, not a failure. Edits count as thrown away when nothing was committed after that and, where files are named,
    the session had worked on one of them. What was stashed and not brought back is thrown away.
    """
    history = _History()
    refused: dict[str, int] = {}
    for index, step in enumerate(steps):
        if "git" not in step.action:
            continue
        programs = [part for part in parts(command(step)) if part.program == "git" and len(part.words) > 1]
        if programs:
            _note_refusal(refused, index, step, _without_options(programs[-1]))
        for part in programs:
            plain = _without_options(part)
            if not step.failed:
                _follow(history, index, step, plain, steps[:index])
            if stashes(plain) is False and history.stashed:
                history.stashed.pop()
    history.discarded += [(index, "", "stash") for index in history.stashed]
    found = [
        Evidence(
            kind="commit",
            positive=True,
            detail=f"commit kept: {commit.subject}"[: _SHOWN * 2],
            step=commit.step,
            name=commit.name,
        )
        for commit in history.kept
    ]
    found += [
        Evidence(
            kind="commit",
            positive=False,
            detail=f"commit undone by git {how}: {commit.subject}"[: _SHOWN * 2],
            step=index,
            name=commit.name,
        )
        for index, commit, how in history.undone
    ]
    found += [
        Evidence(
            kind="commit",
            positive=False,
            detail=f"git {verb} was refused: {_clip(steps[index].error or steps[index].observation)}"[: _SHOWN * 2],
            step=index,
            name=f"{REFUSED} {verb}",
        )
        for verb, index in refused.items()
    ]
    last_commit = max((commit.step for commit in history.kept), default=-1)
    for index, files, how in history.discarded:
        if index > last_commit:
            what = files or "all uncommitted edits"
            found.append(
                Evidence(
                    kind="commit",
                    positive=False,
                    detail=f"thrown away by git {how}: {what}"[: _SHOWN * 2],
                    step=index,
                    name=f"{THROWN_AWAY} {files}"[: _SHOWN * 2],
                )
            )
    return found


def _note_refusal(refused: dict[str, int], index: int, step: Step, part: Program) -> None:
    """Remember that a commit or push failed, until one is made; one that goes past the checks leaves it as it was."""
    verb = part.word(1)
    if verb not in {"commit", "push"}:
        return
    said = f"{step.error}\n{step.observation}"
    if verb == "push" and _PUSH_REFUSED.search(said):
        refused[verb] = index
    elif not step.failed:
        if step.exit_code == 0 and "--no-verify" not in part.words and not (verb == "commit" and "-n" in part.words):
            refused.pop(verb, None)
    elif step.exit_code not in _NEVER_RAN and not _NOTHING_TO_DO.search(said):
        refused[verb] = index


def _without_options(part: Program) -> Program:
    words = list(part.words)
    while len(words) > 1 and words[1].startswith("-"):
        del words[1 : 3 if words[1] in {"-C", "-c", "--git-dir", "--work-tree"} else 2]
    return Program(tuple(words), part.folder)


def _follow(history: _History, index: int, step: Step, part: Program, before: Sequence[Step]) -> None:
    verb = part.word(1)
    options = {word for word in part.words[2:] if word.startswith("-")}
    operands = [word.strip("'\"") for word in part.words[2:] if not word.startswith("-")]
    if verb == "commit":
        _commit(history, index, step, amended="--amend" in options)
    elif verb == "revert" and not options & {"--abort", "--quit"}:
        for operand in operands or ["HEAD"]:
            _undo(history, index, _pointed(history, operand), "revert")
    elif verb == "reset":
        target = operands[0] if operands else "HEAD"
        gone = _above(history, target)
        if "--hard" in options:
            if not gone and _worked_on(before, ""):
                history.discarded.append((index, "", "reset --hard"))
            _undo(history, index, gone, "reset --hard")
        else:
            history.kept = [commit for commit in history.kept if commit not in gone]
    elif verb == "stash" and stashes(part):
        history.stashed.append(index)
    elif verb in {"checkout", "switch"} and options & {"-f", "--force", "--discard-changes"}:
        history.discarded += [(index, "", f"{verb} --force")] if _worked_on(before, "") else []
    elif verb in {"checkout", "restore"}:
        files = _files(verb, part, options)
        worked_on = [name for name in files if _worked_on(before, "" if name in _EVERYWHERE else name)]
        if worked_on:
            history.discarded.append((index, " ".join(worked_on), verb))


def _commit(history: _History, index: int, step: Step, *, amended: bool) -> None:
    match = _COMMITTED.search(step.observation)
    if match is None and (step.exit_code != 0 or "nothing to commit" in step.observation):
        return
    name = match["hash"] if match else f"commit at step {index}"
    subject = match["subject"][:_SHOWN] if match else "without a reported hash"
    if amended and history.kept:
        history.kept.pop()
    history.kept.append(_Commit(index, name, subject))


def _above(history: _History, target: str) -> list[_Commit]:
    """Return the session's commits that a reset to the target takes away."""
    head = _HEAD.match(target)
    if head:
        count = len(head["carets"]) if head["carets"] else int(head["count"] or 1) if head["count"] is not None else 0
        return (
            history.kept[len(history.kept) - count :]
            if 0 < count <= len(history.kept)
            else list(history.kept if count else ())
        )
    for place, commit in enumerate(history.kept):
        if _HASH.match(target) and (commit.name.startswith(target) or target.startswith(commit.name)):
            return history.kept[place + 1 :]
    return list(history.kept)


def _pointed(history: _History, target: str) -> list[_Commit]:
    """Return the session's commits that the name means, none when it means an older one."""
    head = _HEAD.match(target)
    if head:
        back = len(head["carets"]) if head["carets"] else int(head["count"] or 1) if head["count"] is not None else 0
        return history.kept[-1 - back : len(history.kept) - back] if back < len(history.kept) else []
    if not _HASH.match(target):
        return []
    return [commit for commit in history.kept if commit.name.startswith(target) or target.startswith(commit.name)]


def _undo(history: _History, index: int, gone: Sequence[_Commit], how: str) -> None:
    for commit in gone:
        history.kept.remove(commit)
        history.undone.append((index, commit, how))


_EVERYWHERE = frozenset({".", "./", ":/", "*"})


def _files(verb: str, part: Program, options: set[str]) -> list[str]:
    """Return the files whose edits the command throws away; a branch is told from a file by what was worked on."""
    words = [word.strip("'\"") for word in part.words[2:]]
    if verb == "restore" and "--staged" in options and "--worktree" not in options:
        return []
    if "--" in words:
        return words[words.index("--") + 1 :]
    return [] if options & {"-b", "-B", "--orphan"} else [word for word in words if not word.startswith("-")]


def _worked_on(before: Sequence[Step], file: str) -> bool:
    """Return whether an earlier step did more with the file than look at it; without a file, with anything."""
    name = re.escape(file.rstrip("/").rsplit("/", 1)[-1])
    named = re.compile(rf"(?<![\w-]){name}(?![\w-])" if name else "")
    return any(step.action and named.search(step.action) and not only_reads(step) for step in before)


_MAX_TEXT = 4_000
_MAX_SENTENCE = 300
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^\s*(?:>|\||\$ |[+-]{1,3} ).*$", re.MULTILINE)
_SENTENCE = re.compile("(?:[^.!?;\n\u3002\uff01\uff1f\uff1b]|[.](?=[a-z]))+[.!?;\u3002\uff01\uff1f\uff1b]*")

_OPENING = (
    r"(?:(?:no|nope|yes|yep|yeah|yup|ok|okay|well|lgtm|looks good(?: to me)?|hm+|ugh|oh|ah|hey|hi|great|perfect|nice"
    r"|cool|awesome|excellent|"
    r"wonderful|fantastic|brilliant|amazing|wow|super|sweet|hooray|yay|sorry|unfortunately|sadly|actually|and|but|so|"
    r"now|thanks|thank you|thx|thanks a lot|thank you so much|great job|good job|nice work|well done|confirmed|"
    r"i(?: just)? (?:checked|tested|tried|ran)(?: it| that| this)?(?: again)?|i(?: can)? confirm(?: that)?|"
    r"i'm afraid|i am afraid|wait)[,:\s-]+)*"
)
_WORK = (
    r"(?:it|that|this|everything|all of it|(?:the|your|that|this) (?:fix|changes?|solution|code|patch|script|build|"
    r"program|app|command|answer|result|output|implementation|version|approach))"
)
_TROUBLE = r"(?:(?:the|that|this) (?:bug|issue|problem|error|failure|crash|warning)|it|that|this)"
_TESTS = r"(?:all (?:of )?)?(?:the )?(?:tests?|checks?|specs?|test suite|build|ci)"
_WANTED = r"what i (?:want|wanted|need|needed|asked|asked for|meant|was looking for)"
_IS = r"(?: is| are| was| were|'s)"
_NOW = r"(?: (?:now|again|all|indeed|really|finally|already|actually|just|still|exactly|seems? to|appears? to))*"
_NOT = r"(?: (?:do|does|did|is|are|was|were|has|have)(?:n't| not)|'s not)"

_APPROVAL = (
    rf"{_WORK}{_NOW} (?:works?|worked)",
    rf"{_WORK}{_IS}{_NOW} working",
    r"(?:works|worked|working|fixed|solved|resolved|lgtm|problem solved|issue resolved|bug fixed)",
    rf"{_WORK}{_NOW} (?:fixed|solved|resolved|did) (?:it|that|the (?:bug|issue|problem|error|trick))",
    rf"{_TROUBLE}(?:{_IS}| has been| got){_NOW} (?:fixed|solved|resolved|gone)",
    rf"{_TROUBLE} no longer (?:fails?|crash(?:es)?|happens?|occurs?|appears?|breaks?)",
    rf"{_TESTS}{_IS}?{_NOW} (?:pass|passes|passed|passing|green|succeeds?|succeeded)",
    rf"(?:{_WORK}(?:{_IS}| looks?){_NOW} )?(?:exactly|just) {_WANTED}",
    rf"{_WORK}(?:{_IS}| looks?){_NOW} {_WANTED}",
    r"you(?:'ve| have)? (?:fixed|solved) (?:it|that|the (?:bug|issue|problem|error))",
    r"that(?:'s| is) (?:it|the one|exactly it)",
    r"(?:i(?:'ve| have)? )?(?:confirmed|verified|validated)(?: (?:it|that|this))?(?: (?:on|in|with|against) [\w "
    r"./-]{1,40})?",
    r"(?:that|this|it) (?:fully )?(?:answers?|answered) (?:it|that|(?:my|the|all (?:my|the)|both(?: my)?) questions?"
    r"|everything)",
    r"(?:i(?:'ve| have)? |i'm )?(?:merged|merging|approved|accepted|shipped|shipping)"
    r"(?: (?:it|that|this|the (?:pr|branch|change|patch)|both))?",
)
_APPROVAL_END = (
    r"(?:,? (?:now|again|too|perfectly|great|fine|well|nicely|correctly|properly|as expected|as intended|like a charm|"
    r"flawlessly|on my (?:machine|side|end|computer)|here|locally|cheers|thanks|thank you|thx|so much|a lot|very much|"
    r"perfect|awesome|nice|good (?:job|work)|great (?:job|work)|well done|for (?:the|your) help))*\s*[.!;,:)]*"
)
_FAILS = r"(?:fail(?:s|ed|ing)?|broken|crash(?:es|ed|ing)?|wrong|red|(?:doesn't|does not) work|(?:isn't|not) working)"
_PERSISTS = (
    r"(?:happens?|happening|there|persists?|occurs?|exists?|present|not (?:fixed|solved|resolved|working|right))"
)
_SEE = r"(?:getting|seeing|get|see|have|having) (?:(?:the|that|an|this|same|exact|exactly) )*"
_SAME = r"(?:same|the same|the exact same|exactly the same)"
_DEFECT = r"(?:errors?|problems?|issues?|failures?|crash|bug|result|output)"
_PLACE = r"(?: (?:in|on|with|under) (?:(?:the|my|our|every|both) )?(?![\w/-]*\.\w)[\w-]+(?: [\w-]+)?(?=[.!,;]|$))?"
"""Where an error was seen again: a browser, a phone, staging; a file is where another one is to be mended."""
_GOES_ON = (
    r"(?:no(?:ne|thing)?|not|the same|same|there|blank|empty|missing|off|gone|slow(?:er)?|red|down|stuck|[45]\d\d|an? "
    r"(?:error|problem"
    r"|issue)|errors?|flickers?|hangs?|freezes?|leaks?|shows? (?:the|an?) (?:old|wrong|error)"
    r"|(?!work|pass|wait|look|review|test|think|check|go|run|learn|read|us|wonder|hop|try|need|want|hav|load|be)\w+ing)"
)
_REJECTION = (
    rf"(?:the|my) (?:[\w-]+ ){{1,4}}(?:is |are )?still {_FAILS}",
    r"(?:the|my) (?:[\w-]+ ){1,4}still (?:do|does|is|are)(?:n't| not) (?:work(?:ing)?|right|correct|pass(?:ing)?)",
    rf"{_WORK}{_NOW}{_NOT}{_NOW} (?:(?:yet|even|quite|fully|properly|correctly) )?"
    r"(?:work(?:ing|ed)?|help(?:ed)?|(?:fix|solve)(?:d|ed)?(?: (?:it|the \w+|anything))?|compile|right|correct|"
    rf"resolved|{_WANTED})",
    r"(?:do|does|did)(?:n't| not) (?:work|help|(?:fix|solve) (?:it|the \w+|anything))",
    rf"(?:still )?not (?:working|fixed|solved|resolved|correct|right|{_WANTED})",
    rf"(?:{_TROUBLE}|{_WORK}|{_TESTS})?{_IS}? ?still (?:the same |(?:is |are ))?(?:{_FAILS}|{_PERSISTS})",
    rf"(?:i'm |i am |i )?still {_SEE}{_DEFECT}",
    rf"(?:i'm |i am |i )?(?:(?:still )?{_SEE})?{_SAME} {_DEFECT}"
    rf"(?= (?:again|still|as before|here)|{_PLACE}(?:[.!,;]|$))",
    rf"(?:{_WORK} |you )?(?:just )?(?:fix|solv|chang|help|resolv|repair)(?:e?s|ed) (?:nothing|none of it)",
    rf"(?:{_WORK} )?(?:do|does|did)(?:n't| not) (?:fix|solve|change|help|resolve|repair) "
    r"(?:a (?:single )?thing|anything)",
    r"nothing (?:is|was|got|has been|gets) (?:fixed|solved|resolved|repaired|better)",
    rf"{_WORK}{_IS}{_NOW} (?:(?:completely|totally|simply) )?(?:wrong|incorrect|broken|worse|useless)",
    rf"{_WORK}{_NOW} (?:failed|no longer works?|made it worse|broke (?:it|everything|the \w+))",
    r"you(?:'ve| have)?(?: just)? (?:broke|broken) (?:it|that|everything|the \w+)",
    r"(?:please )?(?:revert|undo|roll back) (?:it|that|this|everything|(?:all )?(?:your|those|these) changes?)",
    r"(?:please )?(?:revert|undo|roll (?:(?:it|that|this) )?back|put (?:it|that|this) back)(?: please| "
    r"now)*(?=\s*[.!,;]|\s*$)",
    rf"(?:(?:it|that|this|everything|(?:the|my) (?:[\w-]+ ){{0,3}}[\w-]+)(?:{_IS})? |i(?: can)? (?:see|get) )?still "
    rf"{_GOES_ON}(?: [^?]*)?",
    r"i(?:'m| am)? still (?:get|see|getting|seeing) (?!it to|why|how|that you|the point)\w[^?]*",
    r"(?:it's |it is |exactly |just |the )*same (?:as before|thing|result|here|again|story|behaviou?r)",
    r"(?:it|that|this|they)(?:'s| is|'re| are) (?:the|a|still the) wrong \w[^?]*",
    r"nothing (?:happens?|happened|chang(?:es|ed)|works?|shows? up|appears?|helped)",
    r"(?:there(?:'s| is) )?no (?:change|difference|effect|luck|improvement)",
    r"(?:it|that|this|they) (?:do|does|did)(?:n't| not) (?!matter|need|have|hurt|bother|surprise|seem|mean|look|sound"
    r"|feel)\w+",
    r"(?:it|that|this|you|your (?:fix|changes?|patch))(?: just| now| also| has| have|'ve)? (?:broke|broken) "
    r"(?:(?:the|my|our|all) )?(?:[\w-]+ ){0,3}[\w-]+",
)
_REJECTION_END = (
    r"(?:,? (?:now|again|either|at all|for me|here|yet|anymore|though|sorry|completely|as before|as well|too))*"
    r"(?:\s*$|\s*[.!;,:(-]|\s(?:when|because|after|and|as|on|in|with|for|at|from|the|i|it)\b)"
)
_SINGLE_WORD = r"(?:wrong|incorrect)[.!]*$"
_APPROVES = re.compile(rf"{_OPENING}(?:{'|'.join(_APPROVAL)}){_APPROVAL_END}$")
_REJECTS = re.compile(rf"{_OPENING}(?:(?:{'|'.join(_REJECTION)}){_REJECTION_END}|{_SINGLE_WORD})")
_EXPLAINS = re.compile(r"\bwork(?:s|ed)? (?:like (?:this|that)|(?:that|this) way|by|as follows)\b")
_CLUES = re.compile(
    r"work|fix|solve|resolv|pass|green|succeed|correct|what i|looks? good|lgtm|did (?:it|that|the)|help|gone"
    r"|no longer|"
    r"fail|brok|crash|wrong|error|problem|issue|still|same|revert|undo|roll |compile|right|worse|useless"
    r"|s it\b|the one|confirm|verified|validated|answer|merg|approved|accepted|ship|n't|not |nothing"
    r"|no (?:change|diff|eff|luck|impr)|back"
)


def verdict_in(text: str) -> tuple[bool, str] | None:
    """Return the user's last explicit verdict in a message: whether it approves, and the sentence; None without one.

    Accepts any text; of a long one only the beginning, because a verdict comes first and a pasted log after it.
    """
    words = text[:_MAX_TEXT].lower().replace("\u2019", "'")
    english = _CLUES.search(words) is not None
    found: tuple[bool, str] | None = None
    for match in _SENTENCE.finditer(_QUOTED_LINE.sub("", _FENCED.sub("\n", words))):
        sentence = " ".join(match[0].split()).strip("*_\"'() ")
        if not sentence or sentence.endswith("?") or len(sentence) > _MAX_SENTENCE:
            continue
        beside = rest_beside_relief(sentence)
        if beside is not None:
            gone = _verdict_beside_relief(beside)
            found = found if gone is None else (gone, sentence)
        elif english and _APPROVES.match(sentence):
            found = (True, sentence)
        elif english and _REJECTS.match(sentence) and not _EXPLAINS.search(sentence):
            found = (False, sentence)
        elif (approved := approves(sentence)) is not None:
            found = (approved, sentence)
    return found


def _verdict_beside_relief(rest: str) -> bool | None:
    """Return what a sentence says of the work that says that a failure is gone, and the rest given beside that."""
    if not rest or accepts(rest) or all(accepts(each) or says_it_is_complete(each) for each in rest.split(", ")):
        return True
    rejected = _REJECTS.match(rest) is not None or approves(rest) is False
    return False if rejected else None


def unaccepted_end(steps: Sequence[Step]) -> str:
    """Return the sentence of a person's last message that leaves open whether the work is accepted; empty without one.

    Only a message after which nothing was done counts. Beside a plain approval a sentence counts only where it names a
    fault.
    """
    text = last_message(steps)[:_MAX_TEXT]
    verdicts = [(sentence, said[0]) for sentence in sentences(text) if (said := verdict_in(sentence)) is not None]
    rejected = [sentence for sentence, positive in verdicts if not positive]
    if rejected and not verdicts[-1][1]:
        return rejected[-1]
    unread = [each for each in unaccepted(text) if verdict_in(each[0]) is None]
    return next((sentence for sentence, names_fault in unread if names_fault or not verdicts), "")


def failed_last(steps: Sequence[Step]) -> int | None:
    """Return the last action that did more than look or prepare, when it failed; None when it did not."""
    for index in range(len(steps) - 1, -1, -1):
        step = steps[index]
        programs = parts(command(step))
        prepares = bool(programs) and all(part.silent for part in programs)
        if not step.action or prepares or only_reads(step):
            continue
        return index if failed(step) else None
    return None


_ERROR_START = re.compile(
    r"^(?:error|fatal|failed)\b[^\n]{0,20}?:|^Error (?:executing|running|calling) ", re.IGNORECASE
)
_EXCEPTION = re.compile(r"^(?:\w+\.){0,6}\w*(?:Error|Exception|Interrupt|Exit)\b(?::|$)")
_TRACEBACK = "Traceback (most recent call last):"
_NOT_FOUND = re.compile(
    r"^(?:/bin/)?(?:ba|z|da)?sh: (?:line \d+: )?[^\n]{1,120}: (?:command )?not found$", re.MULTILINE
)
_BETWEEN = 5
_BROKE = re.compile(
    r"^(?:g?make(?:\[\d+\])?: \*\*\* .*(?:Error \d|No rule|Stop)|ninja: build stopped|BUILD FAILED|FAILURE: Build "
    r"failed"
    r"|\[\w+\] BUILD FAILURE|npm (?:ERR!|error) (?:code|Lifecycle)|error: could not compile|error\[E\d+\]|ERROR: "
    r"failed to (?:solve|build)"
    r"|\S+:\d+:\d+: (?:fatal )?error: |\S+\(\d+,\d+\): error TS\d+:|Found [1-9]\d* errors? in |\u2716 \d+ problems? "
    r"\([1-9])",
    re.MULTILINE,
)
"""What a build or a check prints that failed, by which it is known where its exit status is that of a filter."""
_LAST_LINES = 4_000
"""Characters at the end of an output in which that is looked for."""


def facts(steps: Sequence[Step]) -> tuple[Evidence, ...]:
    """Return everything in the steps that speaks for or against success, in the order of the steps.

    * ``test_run``: each run of a test runner that counted tests, and one that ended with status 0 without a count after
      the same tests had failed; its name is equal for runs of the same tests.
    * ``repair``: something that failed and later succeeded, with the steps in between.
    * ``exit_code``: what failed last and was not repaired, once per name; and, when anything was done, how many actions
      reported no error (for the whole session: it has no step).
    * ``commit``: commits kept or undone, edits thrown away.
    * ``user_verdict``: explicit words of the user, from the second turn on.
    * ``commit`` against success also says that a commit or push was refused.
    * ``last_word``: the last thing that was run, failing tests aside, is a build that failed or a program that crashed,
      or an action that had failed before, and fails again after something was changed.

    Promises: never raises, changes nothing, and takes time proportional to the text.
    """
    runs, passed_over = runs_of(steps)
    found = [
        Evidence(kind="test_run", positive=run.succeeded, detail=run.detail, step=index, name=run.name)
        for index, run in runs.items()
    ]
    found += _attempts(steps, runs, passed_over)
    found += commit_facts(steps)
    found += _user_verdicts(steps)
    found += _last_word(steps, runs, passed_over) or _never_worked(steps, runs, passed_over)
    return tuple(sorted(found, key=lambda fact: len(steps) if fact.step is None else fact.step))


def runs_of(steps: Sequence[Step]) -> tuple[Mapping[int, TestRun], frozenset[int]]:
    """Return the test runs by step, and the steps to pass over: they ran on other code than the session's.

    That is while its edits were stashed, and during ``git bisect``.
    """
    return _runs_of(tuple(steps))


@functools.lru_cache(maxsize=2)
def _runs_of(steps: tuple[Step, ...]) -> tuple[Mapping[int, TestRun], frozenset[int]]:
    """Return what ``runs_of`` does; who judges a session asks for what who read it has just asked for."""
    runs: dict[int, TestRun] = {}
    passed_over: set[int] = set()
    open_failures: dict[str, TestRun] = {}
    known: dict[tuple[object, ...], TestRun] = {}
    aside = pushed = bisecting = False
    for index, step in enumerate(steps):
        programs = parts(command(step)) if "bisect" in step.action else ()
        bisects = [part.word(2) for part in programs if (part.program, part.word(1)) == ("git", "bisect")]
        pushed = pushed or ("git" in step.action and _PUSH.search(step.action) is not None)
        moves = [stashes(part) for part in parts(command(step))] if "stash" in step.action else []
        if aside or True in moves or bisecting or bisects:
            passed_over.add(index)
        elif run := (
            run_of(step) or _by_status(steps, index, open_failures.values()) or (ci_run(step) if pushed else None)
        ):
            run = same_command(run, known.values())
            if run.counted_by:
                for place, old in runs.items():
                    if not old.counted_by and not old.succeeded and is_same_command(old.part, run.part):
                        runs[place] = replace(old, name=run.name)
                        open_failures.pop(old.name, None)
                        open_failures[run.name] = runs[place]
            known.setdefault((run.part.words, run.part.folder, run.part.settings), run)
            runs[index] = run
            open_failures = {name: old for name, old in open_failures.items() if not covers(run.name, name)}
            if not run.succeeded:
                open_failures[run.name] = run
        for move in moves:
            aside = aside if move is None else move
        bisecting = bisects[-1] != "reset" if bisects else bisecting
    return MappingProxyType(runs), frozenset(passed_over)


_PUSH = re.compile(r"\bgit\b[^\n;&|]{0,80}\bpush\b")


def _by_status(steps: Sequence[Step], index: int, failures: Collection[TestRun]) -> TestRun | None:
    """Return the run that passed without a count: of tests that had failed, or of others.

    Of others there is none where the same program failed otherwise and was not repaired, and none that is a script
    which the session itself wrote. What only shows something is not a run.
    """
    step = steps[index]
    if all(part.silent or part.reads for part in parts(command(step))):
        return None
    if (again := passed_again(step, failures)) is not None:
        return again
    run = passed_silently(step)
    if run is None or any(failure.part.program == run.part.program for failure in failures):
        return None
    own = "/" in run.part.words[0] and _worked_on(steps[:index], run.part.program)
    return None if own else run


def _user_verdicts(steps: Sequence[Step]) -> list[Evidence]:
    found = []
    worked = False
    for index, step in enumerate(steps):
        said = verdict_in(step.user) if worked and step.user else None
        if said is not None:
            positive, words = said
            found.append(
                Evidence(kind="user_verdict", positive=positive, detail=f"the user said: {words}"[:200], step=index)
            )
        worked = worked or bool(step.action or step.thought or step.tool)
    return found


def _attempts(steps: Sequence[Step], runs: Mapping[int, TestRun], passed_over: Set[int]) -> list[Evidence]:
    open_failures: dict[str, int] = {}
    # Tests that fail do not take back that they could not be run before: only tests that pass do.
    before_runs: dict[str, int] = {}
    repaired: list[Evidence] = []
    folders = folders_of(steps)
    tried = clean = 0
    for index, step in enumerate(steps):
        run = runs.get(index)
        name = run.name if run else attempt(step)
        if not name or index in passed_over or (run is None and step.failed and ran_no_tests(step)):
            continue
        if run is None and "git" in step.action and any(map(gives_up, parts(command(step)))):
            continue
        tried += 1
        if not run.succeeded if run else failed(step):
            if run and name in open_failures and open_failures[name] not in runs:
                before_runs[name] = open_failures[name]
            open_failures[name] = index
            continue
        if run is None and hides_its_status(command(step)):
            # Nothing is known of it: neither that it failed again, nor that it was mended.
            if name in open_failures and as_strict_as(step, steps[open_failures[name]]):
                del open_failures[name]
                before_runs.pop(name, None)
            continue
        clean += 1
        mended = [earlier for earlier in open_failures if run and (earlier == name or covers(name, earlier))]
        # Only a run of tests takes back that tests failed; listing them has the same name as an action.
        mended += [
            each
            for each in (dict.fromkeys((attempt(step), *attempts_passed(step))) if open_failures else ())
            if (start := open_failures.get(each)) is not None
            and start not in runs
            and each not in mended
            and (run or same_folder(folders[start], folders[index]))
            and as_strict_as(step, steps[start])
        ]
        for earlier in mended:
            start = open_failures.pop(earlier)
            before_runs.pop(earlier, None)
            if earlier != READING:
                repaired.append(_repair(steps, earlier, start, index))
    found = repaired
    failed_runs = {run.name for run in runs.values()}
    found += [
        Evidence(
            kind="exit_code",
            positive=False,
            detail=describe_failure(steps[index]),
            step=index,
            name=_named(name, steps[index]),
        )
        for name, index in (*open_failures.items(), *before_runs.items())
        if name not in failed_runs or index == before_runs.get(name)
    ]
    if clean:
        found.append(Evidence(kind="exit_code", positive=True, detail=f"{clean} of {tried} actions reported no error"))
    return found


def _named(name: str, step: Step) -> str:
    """Return the name under which a failed action is kept. What never ran, or complains of style, is not a check."""
    checks = name.split(" ", 1)[0] in LINTERS or any(map(strict_marks, parts(command(step))))
    built = _BUILD.search(name) is not None and not _STYLE.search(command(step))
    return f"{CHECK} {name}" if (checks or built) and step.exit_code not in _NEVER_RAN else name


_BUILD = re.compile(
    r"^g?make(?: (?:-\S+|all|build|compile|dist|install))*$"
    r"|^(?:\S*/)?(?:cmake|ninja|tsc|gcc|g\+\+|cc|clang|javac|rustc|webpack|vite build|cargo (?:build|check)"
    r"|go build|mvnw?|gradlew?|msbuild|dotnet build|swift build|docker build"
    r"|(?:npm|yarn|pnpm|bun) (?:run )?build|python3? -m build|python3? setup\.py)(?:\s|$)"
)


_STYLE = re.compile(r"lint|checkstyle|spotless|format|\bfmt|spotbugs|\bpmd\b|detekt", re.IGNORECASE)
CHECK = "check:"
"""With this begins the name of a build, a linter or a type check that failed: tests that pass take nothing of it back.
"""
_NEVER_RAN = frozenset((124, 126, 127, 130, 137, 143))
"""Statuses of a command that was not found, ran out of time, or was stopped from outside."""
_CRASH = re.compile(
    r"\bTraceback \(most recent call last\):|^panic: |\bSegmentation fault\b|\bcore dumped\b"
    r"|^thread '[^'\n]{1,80}' panicked|^Exception in thread |^Unhandled(?:PromiseRejection| exception)"
    r"|^\s*throw new \w+|^Uncaught \w+",
    re.MULTILINE,
)


def _last_word(steps: Sequence[Step], runs: Mapping[int, TestRun], passed_over: Set[int]) -> list[Evidence]:
    """Return that the session ended with a failed build or a crash, when the last thing that was run says so.

    Tests that fail after it take nothing of that back. What was typed in to try something says nothing: it may be meant
    to fail. Neither does a command that was not found or was stopped, or a complaint about style.
    """
    then = ""
    for index in range(len(steps) - 1, -1, -1):
        step = steps[index]
        programs = parts(command(step))
        prepares = bool(programs) and all(part.silent or part.program == "git" for part in programs)
        if not step.action or prepares or only_reads(step) or index in passed_over or ran_no_tests(step):
            continue
        if index in runs and not runs[index].succeeded:
            then = " before failing tests"
            continue
        if index in runs or not failed(step) or (step.exit_code is None and not command(step)):
            return []
        working = [" ".join(part.words[:3]) for part in programs if not part.silent and not part.reads]
        if any(part.word(1) in {"-c", "-e"} for part in programs) or "<<" in command(step):
            return []
        if step.exit_code in _NEVER_RAN or (working and _STYLE.search(working[-1])):
            return []
        built = bool(working) and _BUILD.search(working[-1]) is not None
        if not built and not _CRASH.search(step.observation or step.error):
            return []
        what = "a failed build" if built else "a crash"
        detail = f"the last thing that was run{then} is {what}: {describe_failure(step)}"
        return [Evidence(kind="last_word", positive=False, detail=detail, step=index, name=attempt(step))]
    return []


WORKED_AT = "worked at:"
"""With this begins the name of an action that the session worked at and that failed in its last run."""
_STOPPED = frozenset((130, 143))
"""Statuses of a command that a person or its own session stopped."""
_OUT_OF_TIME = 124


def _never_worked(steps: Sequence[Step], runs: Mapping[int, TestRun], passed_over: Set[int]) -> list[Evidence]:
    """Return that the action which the session worked at still failed in its last run.

    That is an action that failed, was tried again after something was changed, failed again, and behind which nothing
    was run that passed: tests that fail take nothing of it back. A program that runs until it is stopped may run out of
    time: of such an end only tests and builds say something.
    """
    tail: list[int] = []
    for index in range(len(steps) - 1, -1, -1):
        step = steps[index]
        programs = parts(command(step))
        prepares = all(part.silent or part.program == "git" for part in programs)
        if not programs or prepares or only_reads(step) or index in passed_over:
            continue
        if index in runs and not runs[index].succeeded:
            continue
        if not failed(step) or index in runs:
            break
        tail.append(index)
    if not tail:
        return []
    earliest: dict[str, int] = {}
    changed: list[int] = []
    for index, doing in enumerate(doings_of(steps)):
        if index not in passed_over and _says_it_failed(steps[index]):
            earliest.setdefault(attempt(steps[index]), index)
        changed.append(index if doing.changes else changed[-1] if changed else -1)
    for last in tail:
        name = attempt(steps[last])
        first = earliest.get(name, last)
        if first < last and _says_it_failed(steps[last]) and changed[last - 1] > first:
            detail = f"failed at step {first} and again in its last run: {describe_failure(steps[last])}"
            return [Evidence(kind="last_word", positive=False, detail=detail, step=last, name=f"{WORKED_AT} {name}")]
    return []


def _says_it_failed(step: Step) -> bool:
    """Return whether a command ended in a way that says that it does not work, and was not typed in as a trial."""
    line = command(step)
    working = [part for part in parts(line) if not part.silent and not part.reads]
    if not working or not failed(step) or step.exit_code in _STOPPED or "<<" in line:
        return False
    if any(part.word(1) in {"-c", "-e"} for part in working) or ran_no_tests(step):
        return False
    name = attempt(step)
    return step.exit_code != _OUT_OF_TIME or tests_something(working[-1]) or _BUILD.search(name) is not None


def failed(step: Step) -> bool:
    """Return whether the step failed by its status, its error, or the unmistakable end of what an execution printed."""
    if step.failed:
        return not found_nothing(step)
    if not step.observation:
        return False
    text = step.observation
    if hides_its_status(command(step)) and _BROKE.search(text[-_LAST_LINES:]) is not None:
        return True
    if step.exit_code is not None:
        return False
    if not command(step):
        return _reports_error(text)
    if only_reads(step):
        return False
    if _TRACEBACK in text and _EXCEPTION.match(text.rstrip()[-2_000:].rsplit("\n", 1)[-1]):
        return True
    return len(text) < 2_000 and _NOT_FOUND.search(text) is not None


def _reports_error(text: str) -> bool:
    """Return whether a tool answered with nothing but an error, as plain text or as a JSON object."""
    if _ERROR_START.match(text):
        return "\n" not in text.strip()
    if not text.startswith("{") or len(text) > 20_000 or '"error"' not in text[:200].lower():
        return False
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return bool(answer.get("error"))


def describe_failure(step: Step) -> str:
    """Return what the step ran, how it ended and the beginning of what it said."""
    status = f"exit status {step.exit_code}" if step.exit_code not in {None, 0} else "an error"
    words = (step.error or step.observation).strip()
    return f"{_short(step)} ended with {status}: {_clip(words)}" if words else f"{_short(step)} ended with {status}"


def _repair(steps: Sequence[Step], name: str, start: int, end: int) -> Evidence:
    between = [f"{index} {_short(steps[index])}" for index in range(start + 1, end) if steps[index].action]
    shown = "; ".join(between[-_BETWEEN:]) or "nothing"
    return Evidence(
        kind="repair",
        positive=True,
        detail=f"{_clip(name)} failed at step {start} and succeeded at step {end}; in between: {shown}",
        step=end,
        name=name,
    )


def _short(step: Step) -> str:
    return _clip(command(step) or f"{step.tool} {step.action}".strip() or "the turn")


def _clip(text: str) -> str:
    line = " ".join(text[: _SHOWN * 4].split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "\u2026"
