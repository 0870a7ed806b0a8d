"""Tell whether a change takes away the code that failed, so that nothing runs any more what failed before.

Four sorts of them are known. Code is put behind a condition that never holds. A body becomes an answer that says
nothing (``pass``, ``return null``), or ends before it does its work. A call that raised the error is deleted. A script
leaves out one of its commands. Where the error itself says that something is too much (unused, twice, unknown, not
allowed), or that a name is not there, deleting it is the repair.
"""

from __future__ import annotations

import json
import re

from reasoningbank.sessions.changes import Change
from reasoningbank.sessions.commands import parts
from reasoningbank.sessions.signatures import Signature

_NEVER = re.compile(
    r"\b(?:if|elif|unless|while)\b\s*\(?\s*(?:false|False|FALSE|0|nil|None)\s*\)?\s*(?:[:{]|then\b|&&|and\b|$)"
    r"|(?:\|\||\bor\b)\s*(?:true|True|1)\s*(?:[):{]|then\b|$)|(?:&&|\band\b)\s*(?:false|False|0)\s*(?:[):{]|then\b|$)"
    r"|^\s*#\s*if 0\s*$|^\s*-?\s*(?:when|if):\s*['\"]?(?:false|never|no)['\"]?\s*$"
    r"|^\s*(?:count|replicas)\s*[:=]\s*0\s*$",
    re.MULTILINE,
)
"""A condition that never holds, or always does beside the one that was asked."""
_NOTHING = (
    r"(?:null|None|nil|undefined|false|False|true|True|0|''|\"\"|\[\]|\{\}|\(\)|NULL|nullptr|Ok\(\(\)\)|this"
    r"|Promise\.resolve\(\)|:ok|Unit)"
)
_SAYS_NOTHING = re.compile(
    rf"^\s*(?:pass|\.\.\.|(?:return|exit|yield)(?:\s+{_NOTHING}|\s*\(\s*\))?|{_NOTHING}|continue|next|exit 0|:|noop"
    rf"|Ok\(\(\)\)|=>\s*{_NOTHING})\s*[;,]?\s*$"
)
"""A line that does nothing, or answers without having worked."""
_ENDS_EARLY = re.compile(rf"^\s*(?:return(?:\s+{_NOTHING})?|exit 0|(?:sys\.)?exit\(0\)|process\.exit\(0\))\s*;?\s*$")
_ASKS_FOR_END = re.compile(
    r"\breturn|\bexpected\b.*\b(?:block|type|statement|found)|mismatched|control path|\bbody\b|unreachable|fallthrough",
    re.IGNORECASE,
)
"""Errors of compilers that a plain ``return`` or ``pass`` answers."""
_DOES = re.compile(r"[\w)\]!?]\s*\(|\bawait\b|\byield\b|^\s*(?:raise|throw|assert|require)\b|\.\w+[!?]?\s*$|\|>")
_DECLARES = re.compile(
    r"^\s*(?:import|from|use|using|require|include|#include|library|@|//|#|\*|export \{|def |fn |func |function"
    r" |class )"
)
_TOO_MUCH = re.compile(
    r"unused|duplicat|already|redundant|unexpected|unknown|unsupported|unrecogni[sz]ed|invalid|not (?:expected|allowed"
    r"|supported|permitted|available|implemented)|no longer|deprecated|twice|redefin|redeclar|conflict|multiple"
    r"|circular|partially initiali[sz]ed|recursion|deadlock|more than once|\bextra\b|trailing|obsolete|removed"
    r"|ambiguous|shadow|unreachable|does(?: not|n't) exist|has no (?:attribute|member|method)|no such|not defined"
    r"|undefined|cannot find|not found|not a function|unresolved|unterminated|leak|in use|closed|locked|nested|too many"
    r"|after free|not in scope|undeclared|has no exported|did you mean|outside of|cannot be used",
    re.IGNORECASE,
)
"""An error that says that something is too much, or that what it asks for is not there."""
_DELETES = re.compile(r"ran: (?:git )?(?:rm|unlink)\s")
_SOURCE = re.compile(
    r"\s['\"]?(?![^\s]*(?:lock|cache|tmp|node_modules|/?(?:build|dist|target|out|gen(?:erated)?)/))[\w./~-]*\.(?:py|[cm]?[jt]sx?|go|rs"
    r"|rb|php|java|kts?|cs|swift|scala|exs?|hs|ml|c|cc|cpp|h|hpp|tf|hcl|ya?ml|sql|nix|dart|vue|svelte|R|jl|lua|pl)['\"]?(?:\s|$)"
)
"""A file that somebody wrote, and no program."""
_TWICE = re.compile(
    r"duplicat|already|redefin|redeclar|conflict|multiple|twice|more than once|circular|ambiguous|mismatch",
    re.IGNORECASE,
)
"""An error of which a whole file may be the cause."""
_SCRIPTS = re.compile(
    r"(?:^|/)(?:package\.json|composer\.json|deno\.jsonc?|[Mm]akefile|GNUmakefile|[Jj]ustfile|Rakefile|Taskfile\.ya?ml"
    r"|Dockerfile[\w.-]*|Jenkinsfile|Procfile|pyproject\.toml|tox\.ini|noxfile\.py)$|\.(?:sh|bash|mk|ya?ml)$"
)
"""Files whose lines are command lines."""
_RUNS_LINES = re.compile(
    r"(?:^|/)(?:[Mm]akefile|GNUmakefile|[Jj]ustfile|Dockerfile[\w.-]*|Jenkinsfile|package\.json)$|\.(?:sh|bash|mk)$"
)
_NEEDS = re.compile(r"^[\w./-]+:(?!=)\s+(?P<words>[\w./-]+(?:\s+[\w./-]+)+)\s*$")
"""A target of a Makefile with what is made before it."""
_COMMAND_OF_LINE = re.compile(
    r"^\s*(?:-\s*)?(?:['\"]?[\w:.-]+['\"]?\s*[:=]\s*(?P<quoted>\"(?:\\.|[^\"\\])*\")"
    r"|(?:RUN|CMD|run:|script:|cmd:|-)\s+(?P<told>\S.*)|[@-]*(?P<plain>\w.*))$"
)


def takes_away(change: Change, signature: Signature, said: str, *, tested: bool, in_test: bool) -> bool:
    """Return whether the change takes away what failed and puts nothing in its place.

    Args:
        change: What was changed.
        signature: The error's.
        said: What the command printed when it failed.
        tested: Whether what failed were tests: they still ask of the program what they asked before.
        in_test: Whether the changed file holds tests.
    """
    if _DELETES.match(change.text):
        return _SOURCE.search(change.text) is not None and _TWICE.search(signature.line) is None
    if change.whole or not change.file or not (change.old or change.new):
        return False
    if leaves_off(change):
        return True
    if _leaves_out_commands(change) and _TOO_MUCH.search(signature.line) is None:
        return True
    taken, put = _lines(change)
    if taken and put and all(map(_SAYS_NOTHING.match, put)):
        return not all(map(_SAYS_NOTHING.match, taken))
    if put and not taken and any(map(_ENDS_EARLY.match, put)) and len(put) <= 1:
        return _ASKS_FOR_END.search(signature.line) is None
    if put or _TOO_MUCH.search(signature.line):
        return False
    gone = [line for line in taken if _DOES.search(line) and not _DECLARES.match(line)]
    if in_test or not tested:
        return bool(gone) or len(taken) > 1
    return any(line.strip() in said for line in gone)


def leaves_off(change: Change) -> bool:
    """Return whether code was put behind a condition that never holds, or a script does less than it did."""
    if change.whole or not change.file:
        return False
    never = any(match[0] not in change.old for match in _NEVER.finditer(change.new))
    return never or _drops_command(change)


def leaves_out_commands(change: Change) -> bool:
    """Return whether a script of the project does not run any more what it ran, and nothing else instead."""
    return _leaves_out_commands(change) or (not change.whole and _drops_command(change))


def _leaves_out_commands(change: Change) -> bool:
    if change.whole or _RUNS_LINES.search(change.file) is None:
        return False
    taken, put = _lines(change)
    return bool(taken) and not put and any(_commands(line) for line in taken)


def does_nothing(change: Change) -> bool:
    """Return whether code now does nothing, or ends before it did its work."""
    if change.whole or not (change.old or change.new):
        return False
    taken, put = _lines(change)
    ends = bool(put) and any(map(_ENDS_EARLY.match, put))
    return (
        leaves_off(change) or (ends and len(put) <= 1) or (bool(taken and put) and all(map(_SAYS_NOTHING.match, put)))
    )


def _lines(change: Change) -> tuple[list[str], list[str]]:
    """Return the lines of code that the change took, and those that it put; one that only moved is neither."""
    old, new = (
        [line for line in text.splitlines() if line.strip() and not re.match(r"\s*(?:#(?!include)|//|/?\*|--|%)", line)]
        for text in (change.old, change.new)
    )
    before, after = {line.strip() for line in old}, {line.strip() for line in new}
    bare = {"}", "{", ")", "]", "end", "});", "})", "};"}
    return (
        [line for line in old if line.strip() not in after and line.strip() not in bare],
        [line for line in new if line.strip() not in before and line.strip() not in bare],
    )


def _drops_command(change: Change) -> bool:
    """Return whether a script of the project runs the rest of what it ran, without one of its commands."""
    if _SCRIPTS.search(change.file) is None:
        return False
    taken, put = _lines(change)
    for before, after in zip(taken, put, strict=False):
        old, new = _commands(before), _commands(after)
        if new and len(new) < len(old) and all(command in old for command in new):
            return True
    return False


def _commands(line: str) -> list[tuple[str, ...]]:
    """Return the commands that a line of a script runs one after the other; none where it is not a chain or command."""
    if (needs := _NEEDS.match(line)) is not None:
        return [(word,) for word in needs["words"].split()]
    match = _COMMAND_OF_LINE.match(line.rstrip().rstrip(","))
    if match is None:
        return []
    text = match["told"] or match["plain"] or ""
    if match["quoted"]:
        try:
            text = str(json.loads(match["quoted"]))
        except ValueError:
            return []
    return [part.words for part in parts(text) if not part.silent]
