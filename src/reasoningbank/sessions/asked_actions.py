"""Tell how the action ended that the task asks for: to publish, deploy, migrate, push, build, or to get a check clean.

What a session was asked to do is judged by its own last run, not by tests that passed before it. A command belongs to
what was asked when it is of the sort that the task speaks of (``helm upgrade`` where it says deploy), when the task
names its program, or when the task says to run what the command runs. Of several commands of one sort the last one
counts, so a second way to the same end is one. One that only tries, shows or takes back is none of them.

That it failed counts wherever the task speaks of it. That it passed counts only where the task asks for nothing but
that: it says in the imperative to publish, deploy, migrate, push or run, or it speaks of a check or build that does not
pass, and the session shows that it did not and then that it does, at least as strictly. Whatever the action is, it
counts too where the session began with it, before any edit, and ended with it (``_done_from_the_start``): then all
edits were made for it. A check that was made weaker in between, and a script that does less than it did, prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reasoningbank.sessions.changes import LINTERS, doings_of
from reasoningbank.sessions.commands import (
    Program,
    attempt,
    command,
    only_reads,
    parts,
    proven_by_status,
    vocabulary,
)
from reasoningbank.sessions.facts import WORKED_AT, describe_failure, failed
from reasoningbank.sessions.foreign_failures import asks_to_mend, asks_to_report
from reasoningbank.sessions.signatures import Signature, signature_of
from reasoningbank.sessions.strictness import as_strict_as, gives_up, only_tries, reaches
from reasoningbank.sessions.test_runs import tests_something
from reasoningbank.sessions.workarounds import hides
from reasoningbank.types.session import Evidence, Step, Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sort:
    """One sort of action.

    Attributes:
        spoken: How a task speaks of it.
        ordered: How a task orders it; empty for one that is only told by its end.
        programs: Programs that do it whatever they are told.
        words: Words that make other programs, scripts and targets do it.
    """

    spoken: re.Pattern[str]
    ordered: str
    programs: frozenset[str]
    words: frozenset[str]


def _sort(spoken: str, ordered: str, programs: str, words: str) -> _Sort:
    return _Sort(
        spoken=re.compile(rf"\b(?:re-?)?(?:{spoken})\b", re.IGNORECASE),
        ordered=ordered,
        programs=vocabulary(programs),
        words=vocabulary(words),
    )


_SORTS: dict[str, _Sort] = {
    "publish": _sort(
        r"publish\w*|upload\w*|releas\w*|pypi|crates\.io|npm registry|push\w*|ver\u00f6ffentlich\w*|publi\w+"
        r"|pubblic\w*",
        r"publish|upload|release|push",
        "goreleaser semantic-release",
        "publish upload release push deploy",
    ),
    "push": _sort(
        r"push\w*|open an? (?:pr|mr|pull request|merge request)", r"push|open an? (?:pr|mr|pull request)", "", ""
    ),
    "deploy": _sort(
        r"deploy\w*|roll(?:s|ed|ing)?(?: \w+){0,6} ?out|rollout|ship|shipping|apply|appl(?:ies|ied)|provision\w*"
        r"|go(?:es)? live|terraform"
        r"|ausroll\w*|d\u00e9ploi\w*|d\u00e9ploy\w*|despleg\w*|desplieg\w*|distribui\w*|implant\w*",
        r"deploy|roll|ship|apply|provision|install|upgrade|launch",
        "ansible-playbook argocd flux cap kamal",
        "deploy rollout apply up upgrade install sync reconcile ship provision promote wait",
    ),
    "migrate": _sort(
        r"migrat\w*|migraci\w*|migrier\w*|migre\w*|schema",
        r"migrate|run|apply|execute|upgrade",
        "",
        "migrate migrations",
    ),
    "build": _sort(
        r"build\w*|compil\w*|bundle|image|apk|ipa|docker|baut|bauen|kompilier\w*|construi\w*", "",
        "make cmake ninja msbuild xcodebuild meson bazel latexmk pdflatex xelatex lualatex tectonic typst nix-build",
        "build compile bundle assemble package release dist assemblerelease assembledebug",
    ),
    "lint": _sort(
        r"lint\w*|style(?:lint)?|warnings?|clean(?! ?up)|type[- ]?(?:check\w*|errors?)|typing|clippy|vet", "",
        " ".join(LINTERS | {"ansible-lint", "hadolint", "yamllint", "markdownlint", "oxlint", "ty"}),
        "lint clippy vet typecheck check analyze",
    ),
    "docs": _sort(
        r"docs?|documentation|site",
        "",
        "mkdocs sphinx-build hugo jekyll docusaurus mdbook doxygen typedoc",
        "docs doc site",
    ),
}  # fmt: skip
_BEGUN = {
    "build": re.compile(
        r"(?:build|compile|bundle|package|assemble|bau\w*|kompilier\w*|construi\w*)"
        r"(?! (?:me )?(?:an?|some|new|one|our own|us)\b(?! (?:\w+ )?(?:release|debug|production|wheel|image|apk|ipa"
        r"|bundle|binary|package|installer|docker|container)))\b",
        re.IGNORECASE,
    ),
    "start": re.compile(r"(?:start|launch|bring|boot|serve|spin)\b", re.IGNORECASE),
    "install": re.compile(
        r"install (?:\w+ ){0,3}(?:dependenc\w*|deps|packages|requirements|modules|gems|crates)\b", re.IGNORECASE
    ),
}
"""Orders of a task that may also ask for writing: to build an image is an action, to build a page is work."""
_STARTS = vocabulary("start serve up dev run launch")
_INSTALLS = vocabulary("install i ci sync restore get bootstrap setup")
_VERB = re.compile(r"(?:^|[.;:!?\n]\s*|\b(?:and|then|please|to|just|now)\s+)(?P<verb>[A-Za-z][\w-]{2,})\b")
_BESIDE = re.compile(
    r"(?:^|[.;:!?,\n]\s*|\b(?:and|then|please|just|now|also|you|to)\s+)(?:add|send|notify|post|announce|write|create|implement"
    r"|update|change|remove"
    r"|delete|rename|refactor|move|replace|convert|bump|port|translate|optimi[sz]e|speed|reduce|raise|increase|extend"
    r"|support|document|rewrite|design|introduce|improve|clean|split|extract|merge|free|turn|enable|disable|try)\b",
    re.IGNORECASE,
)
"""Orders to do something else, of which an action that passed says nothing."""
_FURTHER = re.compile(r"(?:\b(?:and|then)\b|[,;])\s*(?:then |also |please )*(?P<verb>[A-Za-z][\w-]{2,})\b")
_NEUTRAL = vocabulary(
    "run execute build compile fix repair mend make get let tell report see show look find keep start launch bring say "
    "the that this why what how please then also not but when until without have give check it's there our with for "
    "they you can could should must sort deal handle solve resolve take have help debug"
)
"""Words after "and" that order nothing beside what the session shows anyway."""
_OF_OWN_RULE = vocabulary("build compile bundle package assemble start launch bring boot serve spin install make")
"""Orders whose objects tell whether they mean an action (``_BEGUN``)."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MIGRATES = vocabulary(
    "alembic flask prisma knex sequelize typeorm diesel sqlx doctrine flyway liquibase dbmate goose sqitch"
)
"""Programs that also bring a database up to date."""
_MIGRATING = vocabulary("migrate upgrade push run up update deploy")
_DEPLOYS = vocabulary(
    "terraform tofu pulumi kubectl helm fly flyctl vercel netlify wrangler serverless sls cdk sam heroku railway "
    "gcloud firebase docker docker-compose podman nomad argocd flux eb aws az cf oc copilot ansible-playbook"
)
"""Programs whose ``apply``, ``up`` or ``install`` brings something into service; elsewhere it installs packages."""
_DEPLOYING = vocabulary("deploy publish release rollout ship provision promote")
_SHOWS = vocabulary(
    "get list ls logs describe show status plan validate fmt lint template diff history version info whoami images ps "
    "inspect search view top events help login logout init output graph console current heads check-config config env"
)
_TAKES_BACK = vocabulary("rollback undo destroy down uninstall delete remove downgrade revert reset clean prune stop")
_UNDOES = vocabulary("undo rollback revert")
_ASKED_TO_TAKE_BACK = re.compile(
    r"\b(?:roll(?:s|ed|ing)?(?: \S+){0,4} back|rollback|undo|revert|take(?: \S+){1,4} back|back out|go back|restore)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(?:if|when|should|otherwise|unless|in case|or else)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[.;!?\n]\s")
_NOT_DONE_BY = vocabulary(
    "rm cp mv mkdir chmod chown ln touch kill pkill sed perl git pip pip3 apt apt-get brew tar zip unzip echo curl wget"
)
"""Programs that are seldom what a task asks to run, though the task names what they are given."""
_GENERIC = vocabulary(
    "python python3 node ruby bash sh java php perl npm npx yarn pnpm bun make just task rake cargo go mvn gradle "
    "gradlew docker git uv poetry bundle dotnet swift mix rails pip test tests run src main app lib build index setup"
)
_JOINING = vocabulary("rebase merge cherry-pick")
"""What git is asked to do with branches; a commit ends it where it met conflicts."""
_NEVER_RAN = frozenset((124, 126, 127, 130, 137, 143))
"""Statuses of a command that was not there, ran out of time or was stopped: they say nothing of what it does."""
_NEGATED = re.compile(
    r"\b(?:do not|don't|dont|not|never|without|before|until|no need to|instead of|rather than|when|if|once|after"
    r"|nicht|ohne|sans"
    r"|ne|no|non|sin|senza|sem|niet|zonder)\s+(?:[\w']+\s+){0,2}$",
    re.IGNORECASE,
)
_ORDER = (
    r"(?:^|[.;:!?,\n]\s*|\b(?:and|then|please|pls|now|also|just|you|(?<!how )to)\s+)(?:please |then |now |also |just )*"
)
_RUNS = re.compile(r"run|execute|start|re-?run|launch|invoke|apply|rebase|merge|cherry-pick")
_RUN = re.compile(rf"{_ORDER}(?:{_RUNS.pattern})\b", re.IGNORECASE)
_REGISTRY = re.compile(
    r"\b(?:on|onto|to|into) (?:the )?(?:public )?(?:pypi|rubygems|npm|crates\.io|maven central|docker hub|nuget"
    r"|packagist|hex|marketplace|app store|play store|registry|github pages)\b",
    re.IGNORECASE,
)
"""Where something is brought by publishing it, whatever the task calls that."""
_BY = re.compile(r"\b(?:with|using|via|by running) [`'\"]?(?:\./)?[\w-]+\.(?:sh|py|rb|js|ts|pl|ps1)\b", re.IGNORECASE)
"""The script by which the task is to be done."""
_ORDER_BEFORE = re.compile(rf"{_ORDER}$", re.IGNORECASE)
_BEFORE = 60
_ORDERED = re.compile(
    rf"{_ORDER}(?:re-?)?"
    rf"(?P<verb>{'|'.join(sort.ordered for sort in _SORTS.values() if sort.ordered)}|{_RUNS.pattern})\b",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"\b(?:fail\w*|broken|breaks?|error\w*|green|clean\w*|pass(?:es|ing)?|works?|working|again|red|fix\w*|without "
    r"warnings?"
    r"|complain\w*|go(?:es)? (?:through|red)|succeed\w*|repair\w*|die[sd]?|breaks|refuses|no longer"
    r"|(?:must|has to|have to|should|get|make|needs? to)\b[^.\n]{0,60}\b(?:build|compile|run|validate"
    r"|lint)\w*"
    r"|unbreak|problems?|findings?|warnings?|happy|unhappy|upset|explod\w*|chok\w*|bails?|blows? up|no go"
    r"|(?:is|are|goes?|went|turned|gone|all) red"
    r"|gr\u00fcn|rot|kaputt|bricht|l\u00e4uft|verde|roj[oa]|rot[oa]|vert|rouge|cass\u00e9\w*|rosso|rott[oa]|quebrad[oa]"
    r"|groen|rood|kapot|sort(?:ed)?(?: it| this| that)? out|(?:wo|do|does|ca|is|are)n['\u2019]?t|cannot|will not)\b",
    re.IGNORECASE,
)
"""What says of an action how it ends or ought to end."""
_NAMED_ALONE = re.compile(
    r"(?:\b(?:fix|repair|unbreak|mend|run|get|plain|our|the)\s+|[`'\"])(?P<after>make|just|task)\b"
    r"(?!\s+(?:sure|it|this|that|these|those|the|a|an|them|all|my|our|us|you|me|one|enough)\b)"
    r"|(?:^|[.,;!?\n]\s*)(?P<before>make|just|task)\s+(?:is|fails?|failed|breaks?|broke|dies|died|errors?|crashes|stops?"
    r"|won'?t|doesn'?t|does not|no longer|explodes|stopped|green|again|pls|please)\b|^\s*(?P<whole>make)\s*$",
    re.IGNORECASE,
)
"""A program whose name is a word of the language too, named as a program."""
_NEVER_SEEN = frozenset((124, 130, 137, 143))
"""Statuses of a command that ran out of time or was stopped; one that was not there failed as well."""
_NO_SIGNATURE = Signature(type="error", message="", line="")
_LEAST_WORD = 4
_MAX_TASK = 500
_NAMES = re.compile(r"[A-Za-z][\w.-]{2,}")
_WORDS = re.compile(r"[-_:./=]")


def asked_action(trajectory: Trajectory) -> Evidence | None:
    """Return how the action ended that the task asks for; None when it asks for none, or the session does not show it.

    Promises: never raises, and takes time proportional to the steps.
    """
    asked = [
        text for text in (trajectory.task, *(step.user for step in trajectory.steps)) if 0 < len(text) <= _MAX_TASK
    ]
    if not asked or not trajectory.steps:
        return None
    wanted = _Wanted("\n".join(asked))
    undone = _taken_back(trajectory.steps, wanted)
    tried = list(_tried(trajectory.steps, wanted, undone))
    if undone and not any(index > undone[-1] for index, _ in tried):
        return _undone(trajectory.steps, tried, undone)
    if not tried:
        return _done_from_the_start(trajectory.steps, wanted)
    last: dict[str, int] = {sort: index for index, sorts in tried for sort in sorts}
    steps = trajectory.steps
    lost = [index for index in last.values() if failed(steps[index])]
    if lost:
        return _lost(steps, max(lost))
    mended = not wanted.only_asks and wanted.is_covered(steps) and _was_mended(steps, tried, wanted)
    if wanted.is_ordered_only(tuple(last)) or mended:
        index = max(last.values())
        if all(_is_proven(steps[each], wanted) for each in last.values()) and not _is_weaker(steps, tried):
            return _passed(steps, index)
        return None
    return _done_from_the_start(steps, wanted)


def _taken_back(steps: Sequence[Step], wanted: _Wanted) -> list[int]:
    """Return the steps that took back what the session did, though nobody asked just for that."""
    if wanted.asks_to_take_back:
        return []
    return [
        index
        for index, step in enumerate(steps)
        if step.action and not step.actor and not failed(step) and any(map(_takes_back, parts(command(step))))
    ]


def _takes_back(part: Program) -> bool:
    """Return whether a program other than git brings the state back that was there before."""
    if part.silent or part.reads or only_tries(part) or part.program in _NOT_DONE_BY:
        return False
    told = (_base(part.words[0]), *(word for word in part.words[1:5] if not word.startswith("-")))
    pieces = {piece.lower() for word in told[:4] for piece in _pieces(word)}
    deploys = part.program in _DEPLOYS and not pieces.isdisjoint(_UNDOES)
    return deploys or "rollback" in {piece.lower() for word in told[:3] for piece in _WORDS.split(word)}


def _only_waits(part: Program) -> bool:
    """Return whether the program only waits for what another one began, and says how that ended."""
    return part.program in _DEPLOYS and (part.words[1:3] == ("rollout", "status") or "wait" in part.words[1:4])


def _undone(
    steps: Sequence[Step], tried: Sequence[tuple[int, frozenset[str]]], undone: Sequence[int]
) -> Evidence | None:
    """Return that what was asked failed and was taken back; None where nothing failed before that.

    It is no proof in either case: what was done does not stand any more.
    """
    last = undone[-1]
    programs = {part.program for part in parts(command(steps[last]))}
    lost = [
        index
        for index, step in enumerate(steps[:last])
        if failed(step)
        and step.exit_code not in _NEVER_SEEN - {124}
        and (any(index == each for each, _ in tried) or programs & {part.program for part in parts(command(step))})
    ]
    begun = [index for index, _ in tried if index < last]
    if not lost and begun:
        lost = [index for index in range(begun[-1] + 1, last) if failed(steps[index])]
    if not lost:
        return None
    index = lost[-1]
    detail = f"what the task asks for failed and was taken back: {describe_failure(steps[index])}"
    return Evidence(kind="last_word", positive=False, detail=detail, step=last, name=attempt(steps[index]))


def _passed(steps: Sequence[Step], index: int) -> Evidence:
    detail = f"what the task asks for passed in its last run: {command(steps[index])[:120]}"
    return Evidence(kind="last_word", positive=True, detail=detail, step=index, name=f"asked: {attempt(steps[index])}")


def _is_weaker(steps: Sequence[Step], tried: Sequence[tuple[int, frozenset[str]]]) -> bool:
    """Return whether what failed passed only after a check was made weaker, or a script left something out."""
    failures = [index for index, _ in tried if failed(steps[index])]
    if not failures:
        return False
    first, last = failures[0], tried[-1][0]
    signature = signature_of(steps[first].observation or steps[first].error, command(steps[first])) or _NO_SIGNATURE
    said = steps[first].observation
    return any(
        hides(signature, said, False, change)
        for doing in doings_of(steps)[first + 1 : last + 1]
        for change in doing.changes
        if not change.way
    )


def _done_from_the_start(steps: Sequence[Step], wanted: _Wanted) -> Evidence | None:
    """Return that the session began with what the task speaks of, and ended with it passed; None otherwise.

    Nothing was edited before it was run first. Where it failed then, the very same command has to pass, in the same
    folder and as strictly; where it passed at once, nothing may have been edited at all, and the task orders just that.
    Nothing else may fail after it.
    """
    if _BESIDE.search(wanted.text) is not None or wanted.only_asks:
        return None
    doings = doings_of(steps)
    done = [
        index
        for index, step in enumerate(steps)
        if step.action
        and not step.actor
        and step.exit_code not in _NEVER_SEEN
        and any(wanted.means(part) for part in parts(command(step)) if not (part.silent or part.reads))
    ]
    orders = wanted.orders_an_action or any(wanted.orders(steps[index]) for index in done)
    if not done or not (orders or wanted.asks_for_an_end):
        return None
    if not wanted.is_covered(steps):
        return None
    edits = [index for index, doing in enumerate(doings) if any(change.file for change in doing.changes)]
    last = done[-1]
    failures = [index for index in done if failed(steps[index])]
    if (edits and edits[0] < done[0]) or any(not only_reads(step) and failed(step) for step in steps[last:]):
        return None
    if not failures and (edits or not orders):
        return None
    mended = all(_passes_later(steps, index, done) for index in failures)
    proven = steps[last].exit_code == 0 and any(wanted.means(part) for part in proven_by_status(command(steps[last])))
    every = all(not failed(step) for step in (steps[index] for index in _last_of_each(steps, done)))
    if not (mended and proven and every) or _is_weaker(steps, [(index, frozenset()) for index in done]):
        return None
    return _passed(steps, last)


def _last_of_each(steps: Sequence[Step], done: Sequence[int]) -> list[int]:
    last = {attempt(steps[index]): index for index in done}
    return [*last.values()]


def _passes_later(steps: Sequence[Step], start: int, done: Sequence[int]) -> bool:
    """Return whether the command that failed passed later: the same words in the same folder, options may be added."""
    old = _operands(steps[start])
    return any(
        index > start
        and steps[index].exit_code == 0
        and old is not None
        and (new := _operands(steps[index])) is not None
        and old[0] == new[0]
        and set(old[1]) <= set(new[1])
        and as_strict_as(steps[index], steps[start])
        for index in done
    )


def _operands(step: Step) -> tuple[str, tuple[str, ...]] | None:
    working = [part for part in parts(command(step)) if not (part.silent or part.reads)]
    if not working:
        return None
    last = working[-1]
    return last.folder, tuple(word for word in last.words if not word.startswith("-"))


class _Wanted:
    """What a task asks for.

    Args:
        text: The words of the task and of later requests.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.speaks_of_state = _STATE.search(text) is not None
        self.ordered = [_sorts_ordered(match["verb"].lower()) for match in _ORDERED.finditer(text)]
        anyhow = frozenset(_SORTS) if self.speaks_of_state else frozenset[str]().union(*self.ordered)
        self.sorts = {name for name, sort in _SORTS.items() if _says(sort.spoken, text, anyhow=name in anyhow)}
        if _says(_REGISTRY, text, anyhow=True):
            self.sorts.add("publish")
        if not self.ordered and _BY.search(text) is not None:
            self.ordered.append(frozenset({"named"}))
        self.names = {name.rstrip(".").lower() for name in _NAMES.findall(text)} - _GENERIC
        self.spoken = {piece.lower() for name in _NAMES.findall(text) for piece in (*_pieces(name), name)}
        self.runs = _RUN.search(text) is not None
        self.alone = {word.lower() for match in _NAMED_ALONE.finditer(text) for word in match.groups() if word}
        self.asks_to_take_back = any(
            _ASKED_TO_TAKE_BACK.search(each) is not None and _CONDITION.search(each) is None
            for each in _SENTENCE.split(text)
        )
        conditional = _ASKED_TO_TAKE_BACK.search(text) is not None and not self.asks_to_take_back
        self.takes_back = not conditional and any(word in self.names for word in _TAKES_BACK)

    def sorts_of(self, part: Program) -> frozenset[str]:
        """Return the sorts of what was asked that the program did; those without a name of their own are ``named``."""
        if part.silent or part.reads or only_tries(part) or gives_up(part) or tests_something(part):
            return frozenset()
        if self.forbids(part):
            return frozenset()
        told = [word for word in part.words[1:5] if not word.startswith("-")]
        shows = not _only_waits(part) and any(word in _SHOWS and word not in self.names for word in told[:3])
        if shows or (not self.takes_back and any(word in _TAKES_BACK for word in told[:3])):
            return frozenset()
        found = self.sorts & _sorts_of(part, told)
        if found:
            return frozenset(found)
        program = part.program.lower()
        if program == "git" and self.names & _JOINING and (part.word(1) in self.names or part.word(1) == "commit"):
            return frozenset({"named"})
        if part.program in _NOT_DONE_BY:
            return frozenset()
        if self.names_command(part):
            return frozenset({"named"})
        if program in self.names or (told and program in _GENERIC and "." in told[0] and _base(told[0]) in self.names):
            return frozenset({"named"})
        if (
            self.runs
            and program not in LINTERS
            and any({_base(word), _base(word).partition(".")[0]} & self.names for word in (*told, part.words[0]))
        ):
            return frozenset({"named"})
        return frozenset()

    def names_command(self, part: Program) -> bool:
        """Return whether the text holds the command as it is typed: "npm ci is red", or "get make green"."""
        if len(part.words) == 1:
            return part.program.lower() in self.alone
        return any(not self._is_negated(place) for place in self._typed(part))

    def forbids(self, part: Program) -> bool:
        """Return whether the text holds the command only to say that it is not meant: "do not touch make lint"."""
        places = self._typed(part)
        return bool(places) and all(map(self._is_negated, places))

    def _typed(self, part: Program) -> list[int]:
        """Return where the text holds the program with what it was told to do."""
        told = part.word(1)
        if not told or told.startswith("-") or part.program in _NOT_DONE_BY:
            return []
        name = rf"(?<![\w-]){re.escape(part.program)} {re.escape(told)}(?![\w-])"
        return [match.start() for match in re.finditer(name, self.text, re.IGNORECASE)]

    def _is_negated(self, place: int) -> bool:
        return _NEGATED.search(self.text[max(0, place - _BEFORE) : place]) is not None

    def means(self, part: Program) -> bool:
        """Return whether the task may speak of what the program did, as far as their words tell."""
        if part.silent or part.reads or only_tries(part) or gives_up(part) or self.forbids(part):
            return False
        if self.sorts_of(part):
            return True
        told = [word for word in part.words[1:5] if not word.startswith("-")]
        if any(word in _TAKES_BACK and word not in self.spoken for word in told[:3]):
            return False
        told = [word for word in told if word not in _SHOWS or word in self.spoken]
        pieces = {piece.lower() for word in (part.program, *told[:3]) for piece in _pieces(word)}
        begun = {
            "build": bool(pieces & (_SORTS["build"].words | {"build", "compile"}))
            or part.program in _SORTS["build"].programs,
            "start": bool(pieces & _STARTS),
            "install": bool(pieces & _INSTALLS),
        }
        if any(did and self.begun(sort) for sort, did in begun.items()):
            return True
        return bool({piece for piece in pieces if len(piece) >= _LEAST_WORD} & (self.spoken - _GENERIC))

    def begun(self, sort: str) -> bool:
        """Return whether the task orders to build, start or install something."""
        return any(_BEGUN[sort].match(self.text, match.start("verb")) for match in _VERB.finditer(self.text))

    @property
    def only_asks(self) -> bool:
        """Return whether the task only asks for an answer."""
        return asks_to_report(self.text) and not asks_to_mend(self.text) and not self.ordered

    @property
    def orders_an_action(self) -> bool:
        """Return whether the task orders to build, start or install something."""
        return any(map(self.begun, _BEGUN))

    @property
    def asks_for_an_end(self) -> bool:
        """Return whether the task says that something fails or is to work, or orders an action of a known sort."""
        return self.speaks_of_state or asks_to_mend(self.text) or bool(self.ordered)

    def is_covered(self, steps: Sequence[Step]) -> bool:
        """Return whether all further orders ("and upload it") were carried out by a command of that name."""
        verbs = {match["verb"].lower() for match in _FURTHER.finditer(self.text)} - _NEUTRAL
        further = {verb for verb in verbs if not asks_to_mend(verb)}
        pieces = {
            piece.lower()
            for step in steps
            if further and step.exit_code == 0
            for part in parts(command(step))
            for word in part.words[:4]
            for piece in _pieces(_base(word))
        }
        return further <= pieces

    def orders(self, step: Step) -> bool:
        """Return whether the task orders in the imperative just what the step ran: "sync", "pull", "train"."""
        programs = parts(command(step))
        typed = (place for part in programs for place in self._typed(part))
        if any(_ORDER_BEFORE.search(self.text[max(0, place - _BEFORE) : place]) for place in typed):
            return True
        pieces = {piece.lower() for part in programs for word in part.words[:4] for piece in _pieces(_base(word))}
        return any(
            len(match["verb"]) >= _LEAST_WORD and match["verb"].lower() in pieces - _OF_OWN_RULE
            for match in _VERB.finditer(self.text)
        )

    def is_ordered_only(self, found: Sequence[str]) -> bool:
        """Return whether the task orders just what was done, and nothing to mend beside it."""
        if asks_to_mend(self.text) or not self.ordered:
            return False
        return all(sorts.intersection(found) for sorts in self.ordered)


def _sorts_ordered(verb: str) -> frozenset[str]:
    found = {name for name, sort in _SORTS.items() if sort.ordered and re.fullmatch(sort.ordered, verb)}
    return frozenset(found | {"named"} if _RUNS.fullmatch(verb) else found)


def _says(pattern: re.Pattern[str], text: str, *, anyhow: bool) -> bool:
    """Return whether the text orders what the pattern tells, or, ``anyhow``, speaks of it and not to leave it."""
    for match in pattern.finditer(text):
        before = text[max(0, match.start() - _BEFORE) : match.start()]
        if _NEGATED.search(before) is None and (anyhow or _ORDER_BEFORE.search(before) is not None):
            return True
    return False


def _pieces(word: str) -> list[str]:
    return [piece for piece in _WORDS.split(_CAMEL.sub("-", word.strip("'\""))) if piece]


def _base(word: str) -> str:
    return word.strip("'\"").rstrip("/").rsplit("/", 1)[-1].lower()


def _sorts_of(part: Program, told: Sequence[str]) -> set[str]:
    program = part.program
    if program == "git":
        return {"push"} if part.word(1) == "push" else set()
    if program in {"gh", "glab"}:
        created = part.word(1) in {"pr", "mr"} and part.word(2) == "create"
        return {"push"} if created else {"publish"} if part.word(1) == "release" else set()
    if program in _NOT_DONE_BY:
        return set()
    words = {piece.lower() for word in (program, *told[:3]) for piece in _WORDS.split(word) if piece}
    found = {
        name
        for name, sort in _SORTS.items()
        if program in sort.programs or (part.word(1) in sort.programs) or (name != "deploy" and words & sort.words)
    }
    if words & _DEPLOYING or (program in _DEPLOYS and words & _SORTS["deploy"].words):
        found.add("deploy")
    if program in {"kubectl", "oc"} and "set" in told[:3] and "image" in told:
        found.add("deploy")
    if program in _MIGRATES and words & _MIGRATING:
        found.add("migrate")
    if program == "make" and told and not words & _SORTS["build"].words - {"make"}:
        found.discard("build")
    return found


def _tried(steps: Sequence[Step], wanted: _Wanted, undone: Sequence[int] = ()) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield the steps that did what was asked, with its sorts.

    Neither what takes it back is among them, nor what waits only for that.
    """
    if not wanted.sorts and not wanted.names:
        return
    known: dict[str, frozenset[str]] = {}
    after_undone = False
    for index, step in enumerate(steps):
        if not step.action or step.actor or step.exit_code in _NEVER_RAN:
            continue
        sorts = known.get(step.action)
        if sorts is None:
            working = [part for part in parts(command(step)) if not (part.silent or part.reads)]
            sorts = frozenset[str]().union(*map(wanted.sorts_of, working)) if working else frozenset()
            known[step.action] = sorts
        if index in undone:
            after_undone = True
            continue
        if not sorts:
            continue
        if after_undone and all(_only_waits(part) for part in parts(command(step)) if not (part.silent or part.reads)):
            continue
        after_undone = False
        yield index, sorts


def _lost(steps: Sequence[Step], index: int) -> Evidence:
    """Return that what was asked failed in its last run.

    Where something was changed or worked after that, the tests beside it are not made worthless by it.
    """
    after = range(index + 1, len(steps))
    moved = any(doing.changes for doing in doings_of(steps)[index + 1 :]) or any(
        steps[each].exit_code == 0 and _works(steps[each]) for each in after
    )
    name = attempt(steps[index])
    detail = f"what the task asks for failed in its last run: {describe_failure(steps[index])}"
    return Evidence(
        kind="last_word", positive=False, detail=detail, step=index, name=f"{WORKED_AT} {name}" if moved else name
    )


def _works(step: Step) -> bool:
    """Return whether the step did something that may have reached what was asked in another way."""
    if only_reads(step):
        return False
    working = [part for part in parts(command(step)) if not part.silent and not part.reads]
    return any(
        part.program != "git" and not tests_something(part) and not {*part.words[1:6]} & (_SHOWS | _TAKES_BACK)
        for part in working
    )


def _is_proven(step: Step, wanted: _Wanted) -> bool:
    """Return whether the exit status says that the step did what was asked."""
    return step.exit_code == 0 and any(wanted.sorts_of(part) for part in proven_by_status(command(step)))


def _was_mended(steps: Sequence[Step], tried: Sequence[tuple[int, frozenset[str]]], wanted: _Wanted) -> bool:
    """Return whether the task is about an action that fails, which failed in the session and was mended."""
    last, sorts = tried[-1]
    before = [index for index, also in tried[:-1] if also & sorts and failed(steps[index])]
    if not before or not wanted.speaks_of_state:
        return False
    return all(as_strict_as(steps[last], steps[index]) and reaches(steps[last], steps[index]) for index in before)
