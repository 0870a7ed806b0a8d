"""Tell whether a step accepted what the program printed as what the tests expect, instead of meeting an expectation.

Snapshots, golden files and inline expectations are rewritten by a flag (``jest -u``, ``--snapshot-update``,
``-update``), a variable (``UPDATE_GOLDEN=1``), a command (``cargo insta accept``) or a script that is named so. Tests
that pass because of that say only that the program does what it does.
"""

from __future__ import annotations

import re

from reasoningbank.sessions.commands import Program, command, parts, vocabulary
from reasoningbank.sessions.test_runs import tests_something
from reasoningbank.types.session import Step

_SHORT = vocabulary("jest vitest ava tap playwright react-scripts bun npm yarn pnpm mocha")
"""Programs, and runners of scripts, to which ``-u`` says that snapshots are to be rewritten."""
_REWRITES = r"(?:updat\w*|accept\w*|bless\w*|approv\w*|regen\w*|overwrit\w*|rewrit\w*|refresh\w*|record\w*|renew\w*)"
_EXPECTED = r"(?:snap\w*|gold\w*|expect\w*|baselines?|fixtures?|approvals?|cassettes?|outputs?|references?|goldens?)"
_OPTION = re.compile(
    rf"^--?(?:test\.)?(?:{_REWRITES}|{_REWRITES}[-_.]?{_EXPECTED}|{_EXPECTED}[-_.]?{_REWRITES}|force-regen"
    rf"|inline-snapshot=(?:\w+,)*(?:fix|create|update)[\w,]*)(?:=(?!false|0|no|none).*)?$",
    re.IGNORECASE,
)
_SETTING = re.compile(
    r"^(?:\w*_)?(?:(?:UPDATE|ACCEPT|BLESS|REGEN\w*|OVERWRITE|REWRITE|RECORD)_?\w*(?:SNAP|GOLD|EXPECT|BASELINE"
    r"|FIXTURE)\w*"
    r"|(?:SNAP\w*|GOLD\w*|EXPECT\w*|INSTA|BASELINES?|FIXTURES?)_(?:UPDATE|ACCEPT|REGEN\w*|OVERWRITE"
    r"|FORCE_PASS)\w*|BLESS"
    r"|TRYBUILD)=(?!['\"]?(?:0|false|no|new|auto|off|wip)?['\"]?$)",
    re.IGNORECASE,
)
_SCRIPT = re.compile(
    rf"(?:^|[/:_.-])(?:{_REWRITES}[-_:]?(?:the[-_:])?(?:{_EXPECTED}|tests?)|(?:{_EXPECTED}"
    rf"|tests?)[-_:]{_REWRITES})(?:$|[:_.-])",
    re.IGNORECASE,
)
_SCRIPT_RUNNERS = vocabulary("npm yarn pnpm bun make just task rake python python3 node bash sh ruby")
_READS = vocabulary("grep rg cat ls find git echo sed")


def accepts_expectations(step: Step) -> bool:
    """Return whether the step rewrote what tests expect with what the program printed. Accepts any step."""
    return any(map(_accepts, parts(command(step))))


def _accepts(part: Program) -> bool:
    words = part.words
    if part.program in _READS or part.reads:
        return False
    if any(map(_SETTING.match, (*part.settings, *part.exported))):
        return True
    if part.program == "export" and any(map(_SETTING.match, words[1:])):
        return True
    after = words[1:] if part.program == "cargo" and part.word(1) == "insta" else words
    if after[0].rsplit("/", 1)[-1] in {"insta", "cargo-insta"}:
        return after[1:2] in {("accept",), ("review",)} or any(word.startswith("--accept") for word in after[1:])
    if tests_something(part):
        short = part.program in _SHORT and "-u" in words[1:]
        if short or any(map(_OPTION.match, words[1:])):
            return True
    named = words[:3] if part.program in _SCRIPT_RUNNERS else words[:1]
    return any(_SCRIPT.search(word) for word in named if not word.startswith("-"))
