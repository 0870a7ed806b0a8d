"""The outside interface is what the golden files say; ``--update-golden`` writes them anew."""

from __future__ import annotations

import difflib
import inspect
import re
import subprocess
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

import pytest

import reasoningbank
from golden.normal import Normaliser, as_json
from golden.outside import RBANK, enter, rbank, rbank_process
from golden.remote import PROFILES, profile_story, web_story
from golden.story import STORIES, tell
from mcp_processes import INITIALIZED, RawServer
from promises import promise

pytestmark = promise(
    "outside:unchanged",
    "Help texts, tools, endpoints, what a story answers as JSON, and public signatures are those of the golden files.",
    source="issue, Interface exactly",
)
FOLDER = Path(__file__).parent
MOST_LINES = 400
"""Most lines of the difference of one file."""

_DECIMAL = re.compile(r"\d+\.\d{3,}")
_NEAR = 0.002
"""So far apart are scores of one text on processors that multiply the whole numbers of the model in different ways."""

Compare = Callable[[Mapping[str, str]], None]


def settled(kept: str, found: str) -> str:
    """Return what was found with the scores that were kept, where those are nearly the same."""
    old, new = kept.splitlines(keepends=True), found.splitlines(keepends=True)
    for kind, start, end, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace" and end - start == last - first:
            pairs = zip(old[start:end], new[first:last], strict=True)
            new[first:last] = [one if _is_near(one, other) else other for one, other in pairs]
    return "".join(new)


def _is_near(one: str, other: str) -> bool:
    if _DECIMAL.split(one) != _DECIMAL.split(other):
        return False
    numbers = zip(_DECIMAL.findall(one), _DECIMAL.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= _NEAR for a, b in numbers)


@pytest.fixture
def compare(request: pytest.FixtureRequest) -> Compare:
    """Compare texts with golden files, by their names, or write these anew."""
    update = bool(request.config.getoption("--update-golden"))

    def check(found: Mapping[str, str]) -> None:
        differences = []
        for name, written in found.items():
            place = FOLDER / name
            kept = place.read_text(encoding="utf-8") if place.exists() else ""
            text = settled(kept, written)
            if update:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
                continue
            lines = list(difflib.unified_diff(kept.splitlines(), text.splitlines(), f"kept {name}", f"found {name}"))
            differences += lines[:MOST_LINES] + (["..."] if len(lines) > MOST_LINES else [])
        if differences:
            pytest.fail("\n".join(differences), pytrace=False)

    return check


@pytest.fixture
def no_others(request: pytest.FixtureRequest) -> Callable[[str, set[str]], None]:
    """Check that a folder holds these golden files and no others, or remove the others."""
    update = bool(request.config.getoption("--update-golden"))

    def check(folder: str, names: set[str]) -> None:
        others = {place for place in (FOLDER / folder).iterdir() if place.name not in names}
        if update:
            for place in others:
                place.unlink()
        else:
            assert not others

    return check


def listed_commands(text: str) -> list[str]:
    """Return the commands of a list in a help text."""
    return re.findall(r"^  ([a-z][a-z-]*) ", text, flags=re.MULTILINE)


def shown_help(*words: str) -> str:
    """Return the help text of a command."""
    said = rbank(*words, "--help")
    assert (said.status, said.err) == (0, "")
    return said.out


def test_every_help_text_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compare: Compare, no_others: Callable[[str, set[str]], None]
) -> None:
    enter(monkeypatch, tmp_path)
    whole = rbank("--help")
    assert rbank_process("--help") == whole
    commands = listed_commands(whole.out.partition("Every day:\n")[2].partition("Exit status:")[0])
    assert len(commands) > 50
    found = {"rbank.txt": whole.out}
    for command in commands:
        found[f"{command}.txt"] = said = shown_help(command)
        for action in listed_commands(said.partition("\nCommands:\n")[2]):
            found[f"{command}-{action}.txt"] = shown_help(command, action)
    compare({f"help/{name}": text for name, text in found.items()})
    no_others("help", set(found))


@pytest.mark.parametrize("name", STORIES)
def test_every_story_over_the_command_line_is_told_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compare: Compare
) -> None:
    enter(monkeypatch, tmp_path)
    compare({f"story/{name}.json": as_json(steps) for name, steps in tell(tmp_path, name).items()})


@pytest.mark.parametrize("profile", PROFILES)
def test_the_tools_of_every_profile_are_the_same_and_answer_the_same(
    profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compare: Compare
) -> None:
    listed, steps = profile_story(tmp_path, profile, monkeypatch)
    compare({f"tools/{profile}.json": as_json(listed), f"mcp/{profile}.json": as_json(steps)})


def test_a_server_on_standard_input_says_and_lists_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compare: Compare
) -> None:
    enter(monkeypatch, tmp_path)
    process = subprocess.Popen(
        [str(RBANK), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    server = RawServer(process)
    try:
        info = {"name": "golden", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        said = server.ask({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})["result"]
        server.tell(INITIALIZED)
        listed = server.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})["result"]
        listed["tools"].sort(key=lambda tool: str(tool["name"]))
        compare({"tools/stdio.json": as_json(Normaliser({}).replace({"initialize": said, "list": listed}))})
        assert server.end() == 0
    finally:
        process.kill()
        process.wait(timeout=10)
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            stream.close()


def test_every_endpoint_of_the_web_is_the_same_and_answers_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compare: Compare
) -> None:
    routes, steps = web_story(tmp_path, monkeypatch)
    compare({"routes.json": as_json(routes), "web.json": as_json(steps)})


def test_every_public_name_has_the_same_signature(compare: Compare) -> None:
    names = {name: _signature(getattr(reasoningbank, name)) for name in reasoningbank.__all__}
    methods = {
        bank.__name__: {
            name: _signature(inspect.getattr_static(bank, name)) for name in dir(bank) if not name.startswith("_")
        }
        for bank in (reasoningbank.Bank, reasoningbank.AsyncBank)
    }
    compare({"python.json": as_json({"names": names, **methods})})


def _signature(value: object) -> str:
    """Return the kind and the signature of a function, a class or a member; of a constant its value."""
    if isinstance(value, cached_property):
        return f"resource -> {value.func.__annotations__['return']}"
    kind = type(value).__name__
    inner = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if isinstance(value, property):
        return f"property -> {inspect.signature(value.fget).return_annotation}" if value.fget else kind
    if not callable(inner):
        return f"{kind} {value!r}"
    try:
        return f"{kind} {inspect.signature(inner)}"
    except ValueError:
        return kind
