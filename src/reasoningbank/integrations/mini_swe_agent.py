"""mini-swe-agent as an agent of ``Bank.scale``: it is run with memories and gives back a redacted trajectory.

The package is not a dependency, because it requires litellm, which this project does not install (DESIGN D7). It runs
without: the extra ``mini-swe-agent`` brings what it needs for its own loop, then
``pip install --no-deps mini-swe-agent`` the agent itself. Which model it uses is up to its caller.
"""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Protocol, cast

from reasoningbank.errors import ConfigurationError, InvalidInput, UnreadableTranscript
from reasoningbank.integrations.agent_command import block
from reasoningbank.llm.run_folders import run_folder
from reasoningbank.safety.quotation import memories_in
from reasoningbank.sessions.readers import Skipped, prepare, read
from reasoningbank.settings import data_directory, secret_variables, set_default_variable
from reasoningbank.types.matts import Task
from reasoningbank.types.memory import new_id
from reasoningbank.types.recall import Hit
from reasoningbank.types.session import Step, Trajectory

WORKSPACE = "workspace"
"""The key of a trajectory's metadata that holds the directory the agent worked in."""
SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""What mini-swe-agent's environments take as the end of the work."""
REMOVED = "[REDACTED:environment-secret]"

_SLOT = "reasoningbank_memories"
_TEMPLATE = "\n\n{{ " + _SLOT + " }}"
_GIT_TIMEOUT = 60


class MiniSweAgent:
    """A callable that lets mini-swe-agent work on a task in a repository, with memories after the task.

    With ``workspaces`` every attempt gets a copy of the repository of its own, so that several can run at the same
    time; none is removed. Without it the agent works in the repository itself, one attempt at a time. A task to check
    earlier work goes on in the directory of that work.

    What it runs sees none of this process's secrets, and their values are taken out of the record whatever the agent
    did to find them.

    Example:
        agent = MiniSweAgent(".", lambda: OpenRouterModel(model_name="..."), workspaces="/tmp/attempts")
        scaled = bank.matts.scale("make the tests pass", agent, k=3)
        print(agent.patch(scaled.trajectory))

    Args:
        repository: The directory to work on.
        model: Makes a new model of mini-swe-agent for each attempt.
        workspaces: Directory for the copies; it is made when it is missing.
        config: Name or path of one of mini-swe-agent's configuration files.
        step_limit: Most calls of the model in one attempt; 0 for no limit.
        cost_limit: Most that one attempt may cost, in the model's own reckoning; 0 for no limit.
        seconds: Most seconds of one attempt; 0 for no limit.
        command_seconds: Most seconds of one command.
        visible: Names of variables that hold secrets and that commands may see all the same.
    """

    def __init__(
        self,
        repository: str | Path,
        model: Callable[[], object],
        *,
        workspaces: str | Path | None = None,
        config: str = "mini.yaml",
        step_limit: int = 50,
        cost_limit: float = 3.0,
        seconds: int = 0,
        command_seconds: int = 120,
        visible: Collection[str] = (),
    ) -> None:
        self._repository = Path(repository).expanduser().resolve()
        if not self._repository.is_dir():
            raise InvalidInput(f"there is no directory {str(repository)[:200]}", hint="Name the repository to work on.")
        self._model = model
        self._workspaces = None if workspaces is None else Path(workspaces).expanduser().resolve()
        if self._workspaces is not None and self._workspaces.is_relative_to(self._repository):
            raise InvalidInput("copies of the repository cannot lie inside it", hint="Choose another directory.")
        self._config = config
        self._limits: Mapping[str, float] = {
            "step_limit": step_limit,
            "cost_limit": cost_limit,
            "wall_time_limit_seconds": seconds,
        }
        self._command_seconds = command_seconds
        self._visible = frozenset(visible)
        self._busy = threading.Lock()

    def __call__(self, task: Task, memories: Sequence[Hit]) -> Trajectory:
        """Run one attempt, or continue one; return what happened in it.

        Raises:
            ConfigurationError: When mini-swe-agent is not installed or its configuration cannot be used.
            InvalidInput: When the repository is in use by another attempt or cannot be copied.
            Exception: Whatever the model raises.
        """
        package = _package()
        shown = block(memories)
        with self._place(task) as place:
            record = self._run(package, task, shown, place)
        trajectory = replace(_trajectory(record, task, place), memories=tuple(memories_in(shown)))
        return trajectory if task.previous is None else _checked(task.previous, trajectory)

    def patch(self, trajectory: Trajectory) -> str:
        """Return what an attempt has changed in its copy since the last commit, as git prints it; new files included.

        Raises:
            InvalidInput: When its directory is gone or no git repository.
        """
        place = Path(trajectory.metadata.get(WORKSPACE, ""))
        if not trajectory.metadata.get(WORKSPACE) or not place.is_dir():
            raise InvalidInput("the directory of that attempt is gone")
        _git(place, "add", "--intent-to-add", "--all")
        return _git(place, "diff", "HEAD")

    def _place(self, task: Task) -> AbstractContextManager[Path]:
        earlier = "" if task.previous is None else task.previous.metadata.get(WORKSPACE, "")
        if self._workspaces is None:
            return _Alone(self._busy, self._repository)
        if earlier and Path(earlier).is_dir() and Path(earlier).is_relative_to(self._workspaces):
            return nullcontext(Path(earlier))
        target = self._workspaces / new_id()
        try:
            self._workspaces.mkdir(parents=True, exist_ok=True)
            shutil.copytree(self._repository, target, symlinks=True)
        except OSError as error:
            raise InvalidInput(f"the repository cannot be copied to {target}: {error}") from error
        return nullcontext(target)

    def _run(self, package: _Package, task: Task, shown: str, place: Path) -> Mapping[str, object]:
        secrets = secret_variables()
        hidden = dict.fromkeys((name for name in secrets if name not in self._visible), "")
        model = self._model()
        try:
            settings = package.configuration(self._config)
            templates = settings["agent"]
            variables = cast("Mapping[str, str]", settings.get("environment", {}).get("env", {}))
            agent = package.agent(
                model,
                package.environment(cwd=str(place), timeout=self._command_seconds, env={**variables, **hidden}),
                system_template=templates["system_template"],
                instance_template=str(templates["instance_template"]) + _TEMPLATE,
                **self._limits,
            )
        except (OSError, KeyError, ValueError) as error:
            raise ConfigurationError(
                f"mini-swe-agent cannot use the configuration {self._config[:80]!r}: {error}",
                hint="Name one of its files with system_template and instance_template, for example mini.yaml.",
            ) from error
        agent.run(task.text, **{_SLOT: shown})
        values = sorted(secrets.values(), key=len, reverse=True)
        return cast("Mapping[str, object]", _without(values, agent.serialize()))


class _Agent(Protocol):
    def run(self, task: str, **variables: str) -> object: ...
    def serialize(self) -> object: ...


class _Package:
    """The parts of mini-swe-agent that are used; the package is typed only in part."""

    def __init__(self) -> None:
        self.agent = cast("Callable[..., _Agent]", _module("agents.default").DefaultAgent)
        self.environment = cast("Callable[..., object]", _module("environments.local").LocalEnvironment)
        self.configuration = cast(
            "Callable[[str], Mapping[str, Mapping[str, object]]]", _module("config").get_config_from_spec
        )


class _Alone:
    """A directory that only one attempt may use at a time."""

    def __init__(self, lock: threading.Lock, place: Path) -> None:
        self._lock = lock
        self._place = place

    def __enter__(self) -> Path:
        if not self._lock.acquire(blocking=False):
            raise InvalidInput(
                "another attempt is at work in this repository",
                hint="Give MiniSweAgent a directory for workspaces, so that each attempt has its own copy.",
            )
        return self._place

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _package() -> _Package:
    set_default_variable("MSWEA_SILENT_STARTUP", "1")
    try:
        return _Package()
    except ImportError as error:
        raise ConfigurationError(
            f"mini-swe-agent cannot be loaded: {error}",
            hint="Run: pip install jinja2 python-dotenv pyyaml rich && pip install --no-deps mini-swe-agent",
        ) from error


def _module(name: str) -> _Module:
    return cast("_Module", importlib.import_module(f"minisweagent.{name}"))


class _Module(Protocol):
    @property
    def DefaultAgent(self) -> object: ...  # noqa: N802 - its own name
    @property
    def LocalEnvironment(self) -> object: ...  # noqa: N802 - its own name
    @property
    def get_config_from_spec(self) -> object: ...


def _trajectory(record: Mapping[str, object], task: Task, place: Path) -> Trajectory:
    with run_folder(data_directory()) as folder:
        path = folder / "run.traj.json"
        path.write_text(json.dumps(record, default=str), encoding="utf-8")
        entries = list(read(path, format="mini-swe-agent"))
    for entry in entries:
        if not isinstance(entry, Skipped):
            return prepare(replace(entry, task=task.goal, metadata={**entry.metadata, WORKSPACE: str(place)}))
    reasons = "; ".join(entry.reason for entry in entries if isinstance(entry, Skipped))
    raise UnreadableTranscript(f"mini-swe-agent left no record that can be read: {reasons or 'it did nothing'}")


def _checked(previous: Trajectory, current: Trajectory) -> Trajectory:
    """Return a check of earlier work.

    Of one that found nothing to do only what was thought, with the answer as it was.
    """
    if any((step.action.strip() or step.tool.strip()) and not _submits(step) for step in current.steps):
        return current
    thoughts = tuple(Step(thought=step.thought) for step in current.steps if step.thought.strip())
    return replace(current, steps=thoughts, evidence=(), final_answer=previous.final_answer)


def _submits(step: Step) -> bool:
    command = step.action.strip()
    return command.startswith("echo") and SUBMIT in command.partition("\n")[0]


def _without(values: Sequence[str], record: object) -> object:
    """Return the record with every one of these texts replaced, also in keys; longer values come first."""
    if isinstance(record, str):
        for value in values:
            if value in record:
                record = record.replace(value, REMOVED)
        return record
    if isinstance(record, Mapping):
        return {str(_without(values, str(key))): _without(values, value) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return [_without(values, one) for one in record]
    return record


def _git(place: Path, *arguments: str) -> str:
    try:
        answer = subprocess.run(  # noqa: S603 - fixed program and arguments
            ["git", "-C", str(place), *arguments],  # noqa: S607 - the user's own git
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_GIT_TIMEOUT,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise InvalidInput(f"git cannot tell what changed in {place.name}: {error}") from error
    return answer.stdout
