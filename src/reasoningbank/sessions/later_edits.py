"""Find what a session changed after the last check that passed, and never tried.

A check speaks only for what was changed before it. What programs do not read counts as no change: documents, comments,
layout, notes beside the work. A program that was run after the edit and worked tried it, too: a build, a linter, the
program itself, or a commit that a check had refused before. Looking at files or keeping them in git tries nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reasoningbank.sessions.changes import DOCUMENT, SOURCE_FILE, Change, Doing, doings_of
from reasoningbank.sessions.commands import command, only_shows, vocabulary
from reasoningbank.sessions.facts import failed, runs_of
from reasoningbank.sessions.idle_edits import is_layout
from reasoningbank.types.session import Step

_UNREAD = re.compile(
    r"(?:^|/)(?:docs?|man|\.github|\.gitlab|\.claude|\.cursor|\.vscode|\.idea)/(?!.*\.(?:py|js|ts|rb)$)"
    r"|(?:^|/)\.(?:git(?:ignore|attributes|keep|lab-ci\.yml)|editorconfig|mailmap)$"
    r"|(?:^|/)(?:TODO|NOTES?|CONTRIBUTING|CODEOWNERS|COPYING|SECURITY|HISTORY|NEWS)(?:\.\w+)?$"
    r"|\.(?:log|out|patch|diff|svg|png|jpe?g|gif|pdf|docx?|bak|orig)$|^/(?:dev|var/tmp)/|^/tmp/[^/]+$"
)
"""Files beside the work that no check of it reads."""
_KEEPS = vocabulary("git gh glab hg jj sleep wait echo printf true")
"""Programs that try nothing of the work."""
_APPLIES = ("ran: git apply", "ran: git am", "ran: git cherry-pick", "ran: patch")
_MOVES = ("ran: mv", "ran: cp", "ran: ln", "ran: git mv")
_REMOVES = ("ran: rm", "ran: git rm", "ran: unlink")
_CHANGES_NO_LINE = ("ran: chmod", "ran: touch", "ran: chown", "ran: mkdir")
_LOOKS = re.compile(r"browser|playwright|puppeteer|chrome|screenshot|preview", re.IGNORECASE)
"""Tools that try a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterEdit:
    """Hold the last thing that was changed and not tried.

    Attributes:
        step: The step that changed it.
        file: The file, or an empty text where the step does not say it.
        first: True when nothing at all had been changed or had failed before the check.
    """

    step: int
    file: str
    first: bool

    @property
    def reason(self) -> str:
        """Return why the check proves too little, as a sentence."""
        what = self.file or "something"
        return f"Nothing was run after {what} was changed at step {self.step}."


def later_edit(steps: Sequence[Step], checked: int) -> LaterEdit | None:
    """Return what was changed after a check that passed and was not tried since; None when nothing was.

    Args:
        steps: The session's.
        checked: The step of the last check that passed.
    """
    doings = doings_of(steps)
    tried = checked
    found: tuple[int, str] | None = None
    refused: set[str] = set()
    for index in range(checked + 1, len(steps)):
        if failed(steps[index]):
            refused.add(doings[index].ran)
            continue
        names = [*_edited(steps, index, doings[index])]
        if names:
            found = index, names[-1]
        elif _tries(steps[index], doings[index]) or (doings[index].ran and doings[index].ran in refused):
            tried = index
    if found is None or found[0] < tried:
        return None
    runs, _ = runs_of(steps)
    first = not any(doing.changes for doing in doings[: checked + 1]) and all(
        run.succeeded for index, run in runs.items() if index <= checked
    )
    return LaterEdit(step=found[0], file=found[1], first=first)


def _tries(step: Step, doing: Doing) -> bool:
    """Return whether a step ran something that may have shown a mistake of an edit."""
    if not command(step):
        return bool(step.action) and _LOOKS.search(step.tool) is not None
    return not doing.changes and any(part.program not in _KEEPS and not only_shows(part) for part in doing.programs)


def _edited(steps: Sequence[Step], index: int, doing: Doing) -> Iterator[str]:
    """Yield the files that a step changed and a check can depend on; an empty name where it does not say one."""
    for change in doing.changes:
        for name in _names(change, steps, index):
            if not (DOCUMENT.search(name) or _UNREAD.search(name) or is_layout(change)):
                yield name


def _names(change: Change, steps: Sequence[Step], index: int) -> Sequence[str]:
    words = [word.strip("'\"") for word in change.text.removeprefix("ran: ").split()]
    if change.text.startswith(_REMOVES):
        named = [word for word in words[1:] if SOURCE_FILE.fullmatch(word)]
        return [word for word in named if not _wrote(steps[:index], word)]
    if change.text.startswith(_MOVES):
        return [words[-1]] if SOURCE_FILE.fullmatch(words[-1]) else []
    if change.text.startswith(_CHANGES_NO_LINE):
        return []
    if change.file:
        return [change.file]
    if change.text.startswith(_APPLIES):
        return [""]
    if change.text.startswith("ran: ") or change.text.strip() == "edited":
        return []
    return [match[0] for match in SOURCE_FILE.finditer(change.text)][:1] or [""]


def _wrote(before: Sequence[Step], file: str) -> bool:
    """Return whether the session had made the file itself."""
    name = file.rsplit("/", 1)[-1]
    made = (change for doing in doings_of(before) for change in doing.changes if change.whole and change.file)
    return any(change.file.rsplit("/", 1)[-1] == name for change in made)
