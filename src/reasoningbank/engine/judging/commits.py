"""What became of the work in git: commits that stayed, commits and edits that were thrown away."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from reasoningbank.domain.trajectory import Evidence, Step
from reasoningbank.engine.judging.commands import Part, command, parts

_COMMITTED = re.compile(
    r"^\[(?P<branch>[^\]\n]{1,200}?) (?:\(root-commit\) )?(?P<hash>[0-9a-f]{6,40})\] (?P<subject>[^\n]*)", re.MULTILINE
)
_HEAD = re.compile(r"^(?:HEAD|@)(?:~(?P<count>\d{0,4})|(?P<carets>\^{1,20}))?$")
_HASH = re.compile(r"^[0-9a-f]{6,40}$")
_SHOWN = 80


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


def commit_facts(steps: Sequence[Step]) -> list[Evidence]:
    """Commits that were made in these steps and kept (positive) or reverted (negative), and edits thrown away.

    A commit that was amended or softly reset is neither: its work lives on. Reverting a commit from before the session
    is work, not a failure. Edits thrown away count only when nothing was committed and those files were not touched
    after that.
    """
    history = _History()
    for index, step in enumerate(steps):
        if "git" not in step.action or step.failed:
            continue
        for part in parts(command(step)):
            if part.program == "git" and len(part.words) > 1:
                _follow(history, index, step, _without_options(part))
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
    last_commit = max((commit.step for commit in history.kept), default=-1)
    for index, files, how in history.discarded:
        later = (step.action for step in steps[index + 1 :] if step.action and not step.failed)
        if index > last_commit and not any(_touches(action, files) for action in later):
            what = files or "all uncommitted edits"
            found.append(
                Evidence(
                    kind="commit",
                    positive=False,
                    detail=f"thrown away by git {how}: {what}"[: _SHOWN * 2],
                    step=index,
                    name=f"edits of {files}"[: _SHOWN * 2],
                )
            )
    return found


def _without_options(part: Part) -> Part:
    words = list(part.words)
    while len(words) > 1 and words[1].startswith("-"):
        del words[1 : 3 if words[1] in {"-C", "-c", "--git-dir", "--work-tree"} else 2]
    return Part(tuple(words), part.folder)


def _follow(history: _History, index: int, step: Step, part: Part) -> None:
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
            if not gone and _HEAD.match(target) and not target.strip("HEAD@"):
                history.discarded.append((index, "", "reset --hard"))
            _undo(history, index, gone, "reset --hard")
        else:
            history.kept = [commit for commit in history.kept if commit not in gone]
    elif verb in {"checkout", "restore"}:
        files = _files(verb, part, options)
        if files:
            history.discarded.append((index, files, verb))


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
    """The session's commits that a reset to the target takes away."""
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
    """The session's commits that the name means, none when it means an older one."""
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


def _files(verb: str, part: Part, options: set[str]) -> str:
    words = [word.strip("'\"") for word in part.words[2:]]
    if verb == "checkout":
        if "--" in words:
            return " ".join(words[words.index("--") + 1 :])
        return "." if words == ["."] else ""
    if "--staged" in options and "--worktree" not in options:
        return ""
    return " ".join(word for word in words if not word.startswith("-"))


def _touches(action: str, files: str) -> bool:
    return not files or any(name in action for name in files.split() if name != ".") or files == "."
