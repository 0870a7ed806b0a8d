"""Tell which of two runs of a program asks more: the laxer one takes nothing back of what the stricter one said.

``go test`` after a failed ``go test -race`` proves nothing of the race, ``make`` after a failed
``make CFLAGS=-Werror`` nothing of the warnings, and a run that only tries (``--dry-run``) or gives up (``--abort``)
nothing at all. What makes a run stricter is told by the words for it: errors out of warnings, sanitizers, races, leaks,
thresholds, all features. A run of tests that may try again, or wait longer, asks less too.
"""

from __future__ import annotations

import re

from reasoningbank.sessions.commands import Program, command, parts, vocabulary
from reasoningbank.types.session import Step

_STRICT = re.compile(
    r"(?<![a-z])(?:strict|pedantic|race|leaks?|memcheck|deny|fatal|sanitiz\w*|[atml]san|ubsan|threshold"
    r"|w?errors?)(?![a-z])"
    r"|warnaserror|-Werror|-D ?warnings|max-warn|warnings?[-_](?:as|are|is)|treat[-_]?warn|fail[-_](?:under|on|level)"
    r"|all[-_](?:features|targets)",
    re.IGNORECASE,
)
"""What in an option or a setting says that more is asked."""
_HOLDS_OPTIONS = re.compile(r"(?:FLAGS|OPTIONS|OPTS|WARNINGS)$|^-+(?:config|preset|profile)$", re.IGNORECASE)
"""The names of settings whose values are options again."""
_LAX = re.compile(
    r"^-+(?:no|non|not|without|disable|skip|ignore|allow)[-_]|^-Wno-|=(?:0|false|off|none|no)$", re.IGNORECASE
)
"""What says that less is asked, whatever else the word holds."""
_DENIES = vocabulary("error errors warnings unused clippy::all clippy::pedantic")
"""What follows ``-W`` or ``-D`` where a compiler is told what it shall not accept."""
_WATCHERS = vocabulary("valgrind")
"""Programs that watch another one for what it does wrong."""
_WARNINGS_COUNT = vocabulary("sphinx-build")
"""Programs to which ``-W`` alone says that a warning is an error."""
_TRIES = vocabulary(
    "--help -h --version --dry-run --dryrun --just-print --plan-only --validate-only --no-run --collect-only --list "
    "--list-tests --show-only --preview"
)
_TRIES_OF = {
    "make": vocabulary("-n -q --question"),
    "rsync": vocabulary("-n"),
    "ansible-playbook": vocabulary("--check -C --syntax-check"),
    "ninja": vocabulary("-n"),
    "xcodebuild": vocabulary("-showsdks -list -version -showBuildSettings -showdestinations"),
}
"""Programs to which other options say the same."""
_GIVES_UP = vocabulary("--abort --quit --skip")
_PATIENT = re.compile(
    r"^-{1,2}(?:[\w-]*time-?out|retries|reruns|retry[\w-]*|repeat[\w-]*|[\w-]*attempts|max-?retries|flaky[\w-]*)(?:=|$)",
    re.IGNORECASE,
)
"""Options that let tests wait longer or try again."""
_PATIENT_SETTING = re.compile(r"^\w*(?:RETR(?:Y|IES)|RERUN|FLAK|ATTEMPT|TIME_?OUT|PATIENCE)\w*=", re.IGNORECASE)
_NARROW = vocabulary(
    "--target -target --only --stage --filter --scope --tags --limit --skip-tags -x --exclude-task --include --exclude "
    "-pl --projects --start-at-task --step --select --skip"
)
"""Options that let a program do a part of its work."""
_MAX_MARK = 40
_SEARCHED = 20_000
_FILE = re.compile(r"\w\.[A-Za-z]\w{0,5}$")
_FOUND_IN = re.compile(r"^\s*(?:--> )?(?P<file>[\w.@+~/\\-]{1,200}\.[A-Za-z]\w{0,5})(?:[:(]\d|$)", re.MULTILINE)
"""The file that a check complains of, as checks name it: before a line number, or on a line of its own."""


def strict_marks(part: Program) -> frozenset[str]:
    """Return what makes this run of a program stricter than a plain one; nothing where nothing does."""
    found = {_mark(word) for word in (*part.settings, *part.exported) if _asks_more(word)}
    if part.program in _WATCHERS:
        found.add(part.program)
    for place, word in enumerate(part.words[1:], 1):
        if word in {"-W", "-D"}:
            follows = part.word(place + 1)
            if follows in _DENIES or follows.startswith("error") or part.program in _WARNINGS_COUNT:
                found.add(f"{word}{follows if follows in _DENIES else ''}")
        elif (word.startswith("-") or "=" in word) and _asks_more(word):
            found.add(_mark(word))
    return frozenset(found)


def _asks_more(word: str) -> bool:
    name, _, value = word.partition("=")
    if _LAX.search(word):
        return False
    return _STRICT.search(name) is not None or (
        bool(value) and _HOLDS_OPTIONS.search(name) is not None and _STRICT.search(value) is not None
    )


def _mark(word: str) -> str:
    """Return the word without a number, which may be any: a higher threshold is not told from a lower one."""
    return re.sub(r"[\s\d%]+", "_", word.strip("'\"").lstrip("-"))[:_MAX_MARK].lower()


def patience(part: Program) -> frozenset[str]:
    """Return the options and settings of a run of tests that let it wait longer or try again."""
    words = [word for word in part.words[1:] if _PATIENT.search(word)]
    return frozenset((*words, *(word for word in (*part.settings, *part.exported) if _PATIENT_SETTING.search(word))))


def narrowing(part: Program) -> frozenset[str]:
    """Return the options by which the program does only a part of its work."""
    return frozenset({word.partition("=")[0] for word in part.words[1:]} & _NARROW)


def gives_up(part: Program) -> bool:
    """Return whether the program ends what it was at (``git rebase --abort``), or only shows how it is used."""
    options = {word.partition("=")[0] for word in part.words[1:]}
    return part.program == "git" and not options.isdisjoint(_GIVES_UP)


def only_tries(part: Program) -> bool:
    """Return whether the program was asked to show what it would do, and not to do it."""
    tries = _TRIES | _TRIES_OF.get(part.program, frozenset())
    return not tries.isdisjoint({word.partition("=")[0] for word in part.words[1:]})


def as_strict_as(later: Step, earlier: Step) -> bool:
    """Return whether a later try of the same action, alone or with others, asks at least as much as an earlier one."""
    new, old = _working(later), _working(earlier)
    if not new or not old:
        return True
    marks = frozenset[str]().union(*map(strict_marks, new))
    narrower = frozenset[str]().union(*map(narrowing, new)) - narrowing(old[-1])
    return not narrower and strict_marks(old[-1]) <= marks and (only_tries(old[-1]) or not only_tries(new[-1]))


def reaches(later: Step, earlier: Step) -> bool:
    """Return whether a later run of a program looks at all files that an earlier, failed run named in its output.

    ``ruff check src/a.py`` says nothing of what ``ruff check .`` found in another file. Runs of other programs, and
    those that are given the same, reach as far.
    """
    new, old = _working(later), _working(earlier)
    if not new or not old or new[-1].program != old[-1].program:
        return True
    places = _places(new[-1])
    if not places or places >= _places(old[-1]) or places & {".", "./"}:
        return True
    named = {match["file"].removeprefix("./") for match in _FOUND_IN.finditer(earlier.observation[:_SEARCHED])}
    return all(any(_holds(place, file) for place in places) for file in named)


def _places(part: Program) -> frozenset[str]:
    """Return the files and folders that a program is given."""
    words = (word.strip("'\"") for word in part.words[1:] if not word.startswith("-"))
    return frozenset(word for word in words if "/" in word or word == "." or _FILE.search(word))


def _holds(place: str, file: str) -> bool:
    """Return whether a place is the file, or a folder that it lies in; either may be told from another folder on."""
    inner = place.removeprefix("./").rstrip("/*")
    return file == inner or file.startswith(f"{inner}/") or file.endswith(f"/{inner}") or f"/{inner}/" in file


def _working(step: Step) -> list[Program]:
    return [part for part in parts(command(step)) if not part.silent and not part.reads]
