"""Tell whether an error was the session's own doing, which it then only took back: that helps nobody else.

A word of the command was misspelt, or a command before had removed, stopped or chosen what the later one brings back,
starts or chooses otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

from reasoningbank.sessions.changes import Change
from reasoningbank.sessions.commands import Program, command, vocabulary
from reasoningbank.types.session import Step

_LEAST_LETTERS = 4
_LETTERS = re.compile(r"[^\W\d_]{4,}")
_TAKING = vocabulary(
    "rm rmdir unlink mv uninstall remove stop down kill pkill killall fuser disable "
    "delete drop purge prune clean unset deactivate dropdb "
    "dropuser shutdown rmi un erase detach disconnect"
)
_VERBS = _TAKING | vocabulary(
    "install i add ci get update upgrade start restart up compose run exec enable create config set use global local "
    "default sudo container service image volume init build"
)
_STARTING = vocabulary("start restart up --daemonize reload unpause redis-server pg_ctlcluster")
_ENDING = vocabulary("kill pkill killall fuser stop down shutdown")
_BRINGING = vocabulary("install i ci sync update build restore venv vendor tidy")
_INSTALLED = vocabulary("node_modules vendor venv .venv env target dist build .next __pycache__ Pods deps _build")
_CHOOSERS = vocabulary("nvm rbenv pyenv asdf volta rustup sdk fnm jenv n mise corepack")
_MODES = vocabulary("chmod chown setfacl")
_SETS_UP = re.compile(
    r"(?:^|/)etc/|\.(?:conf|cnf|ini|toml|ya?ml|json|properties|service|cfg)$|(?:^|/)(?:\.env[\w.]*|Dockerfile[\w.-]*)$"
)
"""Files that a service reads when it starts."""
_VERSION = re.compile(r"(?<=\w)(?:\[[\w,]*\])?(?:[=<>~!]=?|@)[^/]*$|(?<=\w)[<>]\S*$")


_IN_BACKGROUND = re.compile(
    r"(?<![&>|\d])&(?!&|>)\s*(?:$|\n|echo\b|sleep\b|disown\b)|\bnohup\b|\bsetsid\b", re.MULTILINE
)
_LEFT_RUNNING = re.compile(r"\brunning in (?:the )?background\b", re.IGNORECASE)
_NUMBER_OF_JOB = re.compile(r"^(?:\[\d+\] )?(\d+)$", re.MULTILINE)
"""The number of a process, as a shell says it of a job or ``echo $!`` prints it."""


def is_misspelt(failed: Program, passed: Program) -> bool:
    """Return whether nothing but a misspelt word tells the command that failed from the one that passed."""
    first, second = (
        [*program.settings, program.folder, *program.launcher, *program.words] for program in (failed, passed)
    )
    if len(first) != len(second):
        return False
    differing = [(one, other) for one, other in zip(first, second, strict=True) if one != other]
    return bool(differing) and all(_is_slip(one, other) for one, other in differing)


def takes_back(change: Change, before: Iterable[Change]) -> bool:
    """Return whether a command brings back what an earlier one of the session had removed, stopped or chosen.

    Args:
        change: What took the error away.
        before: What the session had changed before it first saw the error.
    """
    later = _words(change)
    return bool(later) and any(_is_taken_back(earlier, later) for each in before if (earlier := _words(each)))


def starts_what_it_set_up(change: Change, before: Iterable[Change]) -> bool:
    """Return whether a command only starts anew what the session had given other settings before the error."""
    words = _words(change)
    return bool(words) and _starts(words) and any(_SETS_UP.search(each.file) for each in before)


def ends_its_own(change: Change, before: Iterable[Step]) -> bool:
    """Return whether a command ends a process that the session itself had started in the background."""
    words = _words(change)
    if not words or _base(words[0]) not in _ENDING:
        return False
    told = [word for word in words[1:] if not word.startswith("-")]
    for step in before:
        line = command(step)
        if not _IN_BACKGROUND.search(line) and not _LEFT_RUNNING.search(step.observation):
            continue
        numbers = _NUMBER_OF_JOB.findall(step.observation)
        if any(word in numbers or word.startswith("%") or (not word.isdigit() and word in line) for word in told):
            return True
    return False


def moves_a_service(change: Change) -> bool:
    """Return whether a command started anew what is in service: where that fails, it is out of service."""
    return _moves(_words(change))


def _words(change: Change) -> list[str]:
    if not change.text.startswith("ran"):
        return []
    return [word.strip("'\"") for word in change.text.partition(": ")[2].split()]


def _is_taken_back(earlier: Sequence[str], later: Sequence[str]) -> bool:
    first, second = _names(earlier), _names(later)
    if _starts(later) and (_ends_all(earlier, first) or (_moves(earlier) and first & second)):
        return True
    if any(word in _TAKING for word in earlier[:3]):
        if any(word in _TAKING - {"mv"} for word in later[:3]):
            return False
        if first & second or (not first and not second and earlier[0] == later[0]):
            return True
        emptied = bool(first & _INSTALLED) or earlier[:2] == ["git", "clean"]
        return emptied and any(word in _BRINGING for word in later[:4])
    if earlier[0] != later[0] or [*earlier] == [*later]:
        return False
    if earlier[0] in _MODES:
        return bool(first & second)
    if earlier[0] in _CHOOSERS:
        return earlier[1:2] == later[1:2]
    if "config" in earlier[1:2]:
        return earlier[:4] == later[:4]
    chosen = {_bare(word) for word in earlier[2:] if _bare(word) != word}
    return earlier[1:2] == later[1:2] and bool(chosen & second)


def _starts(words: Sequence[str]) -> bool:
    """Return whether a command brings something into service."""
    return any(word in _STARTING or re.match(r"(?:re)?start\b", _base(word)) for word in words[:5])


def _ends_all(words: Sequence[str], names: Set[str]) -> bool:
    """Return whether a command ended what it did not name: all of a project's services, or a process by its number."""
    return not names and any(word in _ENDING for word in words[:3])


def _moves(words: Sequence[str]) -> bool:
    """Return whether a command started anew, or loaded anew, what is in service."""
    return any(word in {"restart", "reload", "force-recreate", "--force-recreate", "reboot"} for word in words[:4])


def _base(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def _names(words: Sequence[str]) -> set[str]:
    """Return the names of what a command was told to work on, without folders and versions."""
    return {
        _bare(word).rstrip("/").rsplit("/", 1)[-1]
        for word in words[1:]
        if not word.startswith("-") and word not in _VERBS and not word.isdigit()
    } - {""}


def _bare(word: str) -> str:
    return _VERSION.sub("", word)


def _is_slip(one: str, other: str) -> bool:
    """Return whether two words differ by one letter that was left out, added, changed or swapped with the next.

    A longer word that begins or ends with the other is another word, such as the plural, and so is another number.
    """
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    first, second = one[start : len(one) - end], other[start : len(other) - end]
    if not (first + second).isalpha() or not start or not end:
        return False
    swapped = len(first) == 2 and first == second[::-1]
    if not swapped and (len(first) > 1 or len(second) > 1):
        return False
    around, meant = _around(one, start), _around(other, start)
    if min(len(around), len(meant)) < _LEAST_LETTERS or around[0] != meant[0]:
        return False
    return not any(long.startswith(short) or long.endswith(short) for long, short in ((around, meant), (meant, around)))


def _around(word: str, place: int) -> str:
    """Return the letters of the part of a word that the place is in."""
    return next((match[0] for match in _LETTERS.finditer(word) if match.start() <= place <= match.end()), "")
