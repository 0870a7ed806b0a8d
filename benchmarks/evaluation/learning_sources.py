"""Sessions that learning is measured on: real ones that nobody here wrote, without their labels.

A label is taken away before anything of ours reads the session: a copy that holds only the messages is written below a
scratch folder, and that copy is what is captured, judged and distilled.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reasoningbank.errors import BankError
from reasoningbank.sessions.readers import Skipped, read
from reasoningbank.types.ports import Embedder, LanguageModel
from reasoningbank.types.session import Trajectory

AIRLINE, BLAMED, CODING, CLAUDE = "tau_bench_airline", "who_and_when", "swe_agent", "claude_code"
REFLEXION = "reflexion_alfworld"
_COMPARED = 60
_MARKERS = re.compile(
    r"\b(?:stuck in a loop|however|forgot|unsuccessful|instead of|without|mistake|wrong|failed|did not|couldn't)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What all parts of the evaluation need.

    Attributes:
        data: Folder of the data.
        scratch: Where everything is written; its owner removes it.
        model: The language model; None for none.
        sample: Most sessions of one set that the language model is asked about; 0 for all.
        votes: How often the judge is asked.
    """

    data: Path
    scratch: Path
    embedder: Embedder
    model: LanguageModel | None = None
    sample: int = 0
    votes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What people, or the agent itself, marked as the mistake.

    Attributes:
        reason: The mistake in their words.
        step: Index of the trajectory's step that holds it; None when the files name none.
        agent: Who made it; empty when the files name nobody.
    """

    reason: str
    step: int | None = None
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session.

    Attributes:
        key: Its name here.
        group: Sessions of one group are alike, for example trials of one task.
        path: The file without labels.
        trajectory: What was captured from it.
        succeeded: The label; None when there is none.
        mark: The marked mistake; None when there is none.
    """

    key: str
    group: str
    path: Path
    trajectory: Trajectory
    succeeded: bool | None = None
    mark: Mark | None = None


def airline(setup: Setup) -> list[Session]:
    """Chats with an airline's agent; the label is the benchmark's reward, the group the task."""
    path = setup.data / AIRLINE / "trajectories.json"
    if not path.is_file():
        return []
    sessions = []
    for number, trial in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        copy = _copy(setup, f"{AIRLINE}-{number}", [{"traj": trial["traj"]}])
        for trajectory in _captured(copy):
            task = f"task {trial['task_id']}"
            won = trial["reward"] == 1
            sessions.append(Session(key=copy.stem, group=task, path=copy, trajectory=trajectory, succeeded=won))
    return sessions


def blamed(setup: Setup) -> list[Session]:
    """Failed logs of several agents; people marked the step, the agent and the reason of the mistake."""
    sessions = []
    for path in _files(setup.data / BLAMED):
        log = json.loads(path.read_text(encoding="utf-8"))
        copy = _copy(setup, f"{BLAMED}-{path.stem}", {key: log[key] for key in ("question", "history")})
        for trajectory in _captured(copy):
            mark = Mark(
                reason=log["mistake_reason"],
                step=step_of(log["history"], int(log["mistake_step"]), trajectory),
                agent=log["mistake_agent"],
            )
            sessions.append(
                Session(key=path.stem, group=path.stem, path=copy, trajectory=trajectory, succeeded=False, mark=mark)
            )
    return sessions


def unlabelled(setup: Setup, folder: str) -> list[Session]:
    """Sessions of coding agents as they are; nothing in the files says how they ended."""
    return [
        Session(key=path.name, group=path.name, path=path, trajectory=trajectory)
        for path in _files(setup.data / folder)
        for trajectory in _captured(path)
    ]


def reflections(setup: Setup) -> list[tuple[str, str, Mark | None]]:
    """Every different reflection of an agent on its own failed trial: environment, text, and the mistake it names.

    The mistake is the first sentence with a word such as "stuck in a loop", "however", "forgot", "instead of".
    """
    found: dict[tuple[str, str], None] = {}
    for path in _files(setup.data / REFLEXION):
        for row in json.loads(path.read_text(encoding="utf-8")):
            found |= dict.fromkeys((row["name"], " ".join(text.split())) for text in row["memory"] if text.strip())
    return [(name, text, diagnosis(text)) for name, text in found]


def diagnosis(reflection: str) -> Mark | None:
    """The sentence of a reflection that names the mistake; None when none does."""
    marked = (part for part in _SENTENCE.split(reflection) if _MARKERS.search(part))
    sentence = next(marked, "")
    return Mark(reason=sentence) if sentence else None


def step_of(history: Sequence[Mapping[str, object]], marked: int, trajectory: Trajectory) -> int | None:
    """The step that holds the message which the mark counts; None when messages and steps cannot be matched.

    A message that begins no step is what the step before it observed.
    """
    said = [_letters(f"{step.user} {step.thought} {step.action}") for step in trajectory.steps]
    current, found = -1, None
    for number, message in enumerate(history):
        words = _letters(str(message.get("content", "")))[:_COMPARED]
        if current + 1 < len(said) and words and words in said[current + 1]:
            current += 1
        if number == marked:
            found = max(current, 0)
    return found if current == len(said) - 1 else None


def chosen(sessions: Sequence[Session], limit: int) -> list[Session]:
    """At most ``limit`` sessions, the same ones every time, spread by hash; 0 takes all."""
    ordered = sorted(sessions, key=lambda session: hashlib.blake2b(session.key.encode()).digest())
    return ordered[:limit] if limit else list(sessions)


def _letters(text: str) -> str:
    return re.sub(r"\W", "", text)


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else ()


def _copy(setup: Setup, name: str, session: object) -> Path:
    folder = setup.scratch / "without labels"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(session), encoding="utf-8")
    return path


def _captured(path: Path) -> Iterator[Trajectory]:
    """The sessions of a file; what cannot be read is counted by the part that parses."""
    try:
        yield from (found for found in read(path) if not isinstance(found, Skipped))
    except BankError:
        return
