"""Our entries come and go; every other byte of a client's configuration stays."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_clients import PACKAGES, client_environment
from promises import promise
from reasoningbank.errors import InvalidInput, StoreUnavailable
from reasoningbank.integrations.agents_md import BLOCK, END, START, with_block
from reasoningbank.integrations.clients import CLIENTS, KEPT_COPIES, Target, Where, install, targets_of, uninstall
from sessions.learned_sessions import environment

RBANK = Path(sys.executable).parent / "rbank"
LEVELS = [
    (client, level) for client in CLIENTS for level in ("user", "project") if (client, level) != ("copilot", "project")
]
KEYS = st.sampled_from(["mcpServers", "hooks", "servers", "mcp", "theme", "reasoning", "a b", "é", "", "version"])
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
GROUPS = st.lists(
    st.fixed_dictionaries(
        {"hooks": st.lists(st.fixed_dictionaries({"command": st.sampled_from(["lint", "rbank list"])}))}
    ),
    max_size=2,
)
EVENTS = st.dictionaries(
    st.sampled_from(["Stop", "SessionStart", "stop", "preCompact", "sessionStart", "Own"]), GROUPS, max_size=3
)
SERVERS = st.dictionaries(
    st.sampled_from(["github", "own", "reasoning"]), st.just({"command": "x", "args": ["}", "//"]}), max_size=2
)


def where(folder: Path, level: str, command: str = "/opt/my tools/rbank") -> Where:
    """The places below a folder."""
    return Where(
        level="user" if level == "user" else "project", home=folder / "user", project=folder / "work", command=command
    )


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A JSON object as a person, a formatter or a client may have written it."""
    value: dict[str, object] = draw(st.dictionaries(KEYS, VALUES, max_size=4))
    for key, kind in (("mcpServers", SERVERS), ("servers", SERVERS), ("mcp", SERVERS), ("hooks", EVENTS)):
        if key in value or draw(st.booleans()):
            value[key] = draw(kind)
    text = json.dumps(value, indent=draw(st.sampled_from([None, 0, 2, 4, "\t"])), ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return text + draw(st.sampled_from(["", "\n", "\n\n", " \t\n"]))


@st.composite
def commented(draw: st.DrawFn) -> str:
    """The same with comments and trailing commas."""
    text = draw(documents())
    last = text.rstrip()[:-1].rstrip()
    if last != "{":
        end = len(last)
        text = text[:end] + draw(st.sampled_from(["", ",", " , // the last\n", "/* , } */"])) + text[end:]
    inside = draw(st.sampled_from(["", ' // a comment with } and "quotes"\n', "/* one */", "\n\n"]))
    text = text[:1] + inside + text[1:]
    return draw(st.sampled_from(["", "// head\n", "\ufeff"])) + text


def json_targets(folder: Path) -> list[tuple[str, Target]]:
    """Every JSON file of every client."""
    return [
        (f"{client} {target.path.name}", target)
        for client, level in LEVELS
        if not (client == "vscode" and level == "user")
        for target in targets_of(client, where(folder, level))
        if target.entries
    ]


@promise(
    "install:byte-identical",
    "Install and uninstall leave every byte of a JSON configuration, comments, trailing commas, line ends and byte "
    "order mark included; a second install changes nothing.",
    source="issue Hooks, It must show",
)
@settings(max_examples=120)
@given(text=documents() | commented(), number=st.integers(0, 100))
def test_install_and_uninstall_leave_every_byte(text: str, number: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        targets = json_targets(folder)
        name, target = targets[number % len(targets)]
        target.path.parent.mkdir(parents=True)
        target.path.write_bytes(text.encode("utf-8"))
        (first,) = install([target], folder / "data")
        assert first.action == "change", name
        installed = target.path.read_bytes()
        assert installed == first.text.encode("utf-8")
        assert first.backup is not None
        assert first.backup.read_bytes() == text.encode("utf-8")
        assert [one.action for one in install([target], folder / "data")] == ["none"]
        assert target.path.read_bytes() == installed
        assert [one.action for one in uninstall([target], folder / "data")] == ["change"]
        assert target.path.read_bytes() == text.encode("utf-8"), name
        assert [one.action for one in uninstall([target], folder / "data")] == ["none"]


@promise(
    "install:adds-only-ours",
    "What an installation adds to a JSON file is exactly our entries.",
    source="issue Hooks",
)
@settings(max_examples=80)
@given(text=documents(), number=st.integers(0, 100))
def test_what_is_added_is_exactly_our_entry(text: str, number: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        targets = json_targets(folder)
        target = targets[number % len(targets)][1]
        target.path.parent.mkdir(parents=True)
        target.path.write_bytes(text.encode("utf-8"))
        install([target], folder / "data")
        expected = json.loads(text)
        for entry in target.entries:
            place: Any = expected
            for key in entry.path[:-1]:
                place = place.setdefault(key, {})
            if entry.key is None:
                place[entry.path[-1]] = [entry.value, *place.get(entry.path[-1], [])]
            elif not entry.path:
                expected.setdefault(entry.key, entry.value)
            else:
                place.setdefault(entry.path[-1], {})[entry.key] = entry.value
        assert json.loads(target.path.read_bytes()) == expected


@promise(
    "install:creates-and-removes",
    "For every client and level a dry run says what will be done and does nothing; files that were made go again.",
    source="issue Hooks",
)
@pytest.mark.parametrize(("client", "level"), LEVELS)
@pytest.mark.parametrize("before", [None, "", "\n"])
def test_files_that_were_not_there_go_again_and_empty_ones_are_empty_again(
    tmp_path: Path, client: str, level: str, before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user" / ".config"))
    targets = targets_of(client, where(tmp_path, level))
    for target in targets:
        if before is not None:
            target.path.parent.mkdir(parents=True, exist_ok=True)
            target.path.write_text(before)
    planned = install(targets, tmp_path / "data", dry_run=True)
    assert all(target.path.exists() == (before is not None) for target in targets)
    assert not (tmp_path / "data").exists()
    done = install(targets, tmp_path / "data")
    assert [(one.path, one.action, one.text) for one in done] == [(one.path, one.action, one.text) for one in planned]
    for target in targets:
        text = target.path.read_text()
        assert "rbank" in text
        assert text.endswith("\n")
        assert target.whole or (tomllib.loads if target.server else json.loads)(text)
        assert tmp_path in target.path.parents
    uninstall(targets, tmp_path / "data")
    for target in targets:
        assert (target.path.read_text() if target.path.exists() else None) == before


@promise(
    "install:update",
    "An entry of ours is brought up to date, one written by hand is refused, and what others add meanwhile stays.",
    source="issue Hooks",
)
def test_an_entry_of_ours_is_brought_up_to_date_and_another_ones_is_left(tmp_path: Path) -> None:
    old, new = (targets_of("claude-code", where(tmp_path, "user", command)) for command in ("/old/rbank", "/new/rbank"))
    text = '{\n    "mcpServers": {\n        "github": {"command": "gh"}\n    }\n}\n'
    servers = old[0].path
    servers.parent.mkdir(parents=True)
    servers.write_text(text)
    install(old, tmp_path / "data")
    install(new, tmp_path / "data")
    assert "/old/rbank" not in servers.read_text() + old[1].path.read_text()
    assert servers.read_text().count("/new/rbank") == 1
    uninstall(new, tmp_path / "data")
    assert servers.read_text() == text
    assert not old[1].path.exists()
    by_hand = (
        '{"mcpServers": {"reasoningbank": {"command": "uvx", "args": ["reasoningbank", "serve"], "env": {"A": "b"}}}}'
    )
    servers.write_text(by_hand)
    with pytest.raises(InvalidInput, match="did not write"):
        install(new, tmp_path / "data")
    assert servers.read_text() == by_hand
    assert not new[1].path.exists()


@promise("install:byte-identical")
def test_an_entry_that_somebody_moved_below_a_comment_goes_without_it(tmp_path: Path) -> None:
    targets = targets_of("gemini", where(tmp_path, "user"))
    install(targets, tmp_path / "data")
    targets[0].path.write_text(
        '{"mcpServers": {"a": {}, // first\n  "reasoningbank": {"command": "x", },\n  /* last */ "b": {} }, }\n'
    )
    uninstall(targets, tmp_path / "data")
    left = targets[0].path.read_text()
    assert "// first\n" in left
    assert "/* last */" in left
    assert json.loads(left.replace("// first", "").replace("/* last */", "").replace(", }", "}")) == {
        "mcpServers": {"a": {}, "b": {}}
    }


@promise("install:update")
def test_what_others_add_meanwhile_stays(tmp_path: Path) -> None:
    targets = targets_of("claude-code", where(tmp_path, "project"))
    install(targets, tmp_path / "data")
    settings_file = targets[1].path
    grown = json.loads(settings_file.read_text())
    grown["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "notify"}]})
    grown["model"] = "opus"
    settings_file.write_text(json.dumps(grown, indent=4))
    uninstall(targets, tmp_path / "data")
    assert json.loads(settings_file.read_text()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "notify"}]}]},
        "model": "opus",
    }


@promise(
    "install:refuses",
    "A file that is not understood is left as it is with an error that names it.",
    source="issue Hooks",
)
@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '"text"',
        '{"mcpServers": []}',
        '{"mcpServers": "x"}',
        '{"mcpServers": {}, "mcpServers": {}}',
        '{"a": 01}',
        "{'a': 1}",
        '{"a": 1} trailing',
        '{"a" 1}',
        "[" * 5_000,
        '{"a": "\t"}',
        "{,}",
    ],
)
def test_a_file_that_is_not_understood_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    targets = targets_of("cursor", where(tmp_path, "user"))
    targets[0].path.parent.mkdir(parents=True)
    targets[0].path.write_text(text)
    with pytest.raises(InvalidInput, match=r"mcp\.json") as caught:
        install(targets, tmp_path / "data")
    assert caught.value.hint
    assert targets[0].path.read_text() == text
    assert sorted(path.name for path in targets[0].path.parent.iterdir()) == ["mcp.json"]


@promise("install:refuses")
def test_what_cannot_be_read_or_is_not_known_is_said(tmp_path: Path) -> None:
    place = where(tmp_path, "project")
    for client, at in (("emacs", place), ("copilot", place)):
        with pytest.raises(InvalidInput):
            targets_of(client, at)
    (target,) = targets_of("gemini", place)
    target.path.parent.mkdir(parents=True)
    target.path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InvalidInput, match="UTF-8"):
        install([target], tmp_path / "data")
    target.path.unlink()
    target.path.mkdir()
    with pytest.raises(StoreUnavailable):
        install([target], tmp_path / "data")


@promise(
    "install:files",
    "Links stay links, permissions stay, the newest five private copies are kept and no litter is left.",
    source="issue Hooks",
)
def test_links_permissions_and_copies(tmp_path: Path) -> None:
    (target,) = targets_of("gemini", where(tmp_path, "user"))
    real = tmp_path / "dotfiles" / "gemini.json"
    real.parent.mkdir()
    real.write_text('{"theme": "dark"}\n')
    real.chmod(0o640)
    target.path.parent.mkdir(parents=True)
    target.path.symlink_to(real)
    for _ in range(KEPT_COPIES + 2):
        install([target], tmp_path / "data")
        uninstall([target], tmp_path / "data")
    assert target.path.is_symlink()
    assert real.read_text() == '{"theme": "dark"}\n'
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    copies = list((tmp_path / "data" / "backups" / "clients").iterdir())
    assert len(copies) == KEPT_COPIES
    assert {stat.S_IMODE(copy.stat().st_mode) for copy in copies} == {0o600}
    assert [path.name for path in real.parent.iterdir()] == ["gemini.json"]


TABLES = st.lists(
    st.sampled_from(
        [
            'model = "gpt"\n',
            "# a comment\n",
            "\n",
            '[mcp_servers.github]\ncommand = "gh"\n',
            "[features] # switches\nweb = true\n",
            "[ features ]\n",
            "[features]\nhooks = true\n",
            "[features]\nhooks = false\n",
            "[features]\nhooks = true # reasoning\n",
            '[projects."/home/dev"]\ntrust_level = "trusted"\n',
            '[notes]\ntext = """\n[features]\n"""\n',
            "features = {web = true}\n",
            "[mcp_servers]\n",
        ]
    ),
    max_size=5,
    unique=True,
)


@promise(
    "install:toml",
    "Codex gets its server's table and hooks switched on in a marked block; every other byte stays, and what is "
    "appended later survives.",
    source="spec/clients 4a, 4c",
)
@settings(max_examples=150)
@given(parts=TABLES, end=st.sampled_from(["", "\n", "cut"]), windows=st.booleans())
def test_codex_gets_its_table_and_every_other_byte_stays(parts: list[str], end: str, windows: bool) -> None:
    text = "".join(parts)
    text = text.rstrip("\n") if end == "cut" else text + end
    text = text.replace("\n", "\r\n") if windows else text
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        before = None
    with tempfile.TemporaryDirectory() as scratch:
        target = targets_of("codex", where(Path(scratch), "user"))[0]
        target.path.parent.mkdir(parents=True)
        target.path.write_bytes(text.encode())
        data = Path(scratch) / "data"
        try:
            (change,) = install([target], data)
        except InvalidInput:
            assert before is None or "[features]\n" in text.replace("\r", "") or "features = {" in text
            assert target.path.read_bytes() == text.encode()
            return
        assert before is not None
        after = tomllib.loads(target.path.read_bytes().decode())
        assert after["mcp_servers"]["reasoningbank"] == {"command": "/opt/my tools/rbank", "args": ["serve"]}
        assert after.get("features", {}).get("hooks") is True or change.advice
        del after["mcp_servers"]["reasoningbank"]
        rest = {key: value for key, value in after.items() if key not in {"features", "mcp_servers"}}
        assert rest == {key: value for key, value in before.items() if key not in {"features", "mcp_servers"}}
        assert [one.action for one in install([target], data)] == ["none"]
        uninstall([target], data)
        assert (target.path.read_bytes() if target.path.exists() else b"") == text.encode()


@promise("install:toml")
def test_a_table_that_codex_appends_after_ours_survives(tmp_path: Path) -> None:
    target = targets_of("codex", where(tmp_path, "user"))[0]
    target.path.parent.mkdir(parents=True)
    target.path.write_text('model = "gpt"')
    install([target], tmp_path / "data")
    with target.path.open("a") as file:
        file.write('\n[projects."/home/dev"]\ntrust_level = "trusted"\n')
    uninstall([target], tmp_path / "data")
    left = tomllib.loads(target.path.read_text())
    assert left == {"model": "gpt", "projects": {"/home/dev": {"trust_level": "trusted"}}}
    text = '# mine\nmodel = "gpt" # keep\n\n[features] # switches\nweb = true\n'
    target.path.write_text(text)
    install([target], tmp_path / "data")
    target.path.write_text(target.path.read_text().replace("web = true", "web = false") + "# added later\n")
    uninstall([target], tmp_path / "data")
    assert target.path.read_text() == text.replace("web = true", "web = false") + "# added later\n"
    target.path.write_text('[mcp_servers.reasoningbank]\ncommand = "uvx"\n')
    with pytest.raises(InvalidInput, match="did not write"):
        install([target], tmp_path / "data")


@promise(
    "install:agents-md",
    "The block of AGENTS.md is kept once between its marks and the rest stays.",
    source="spec/clients 4c",
)
@given(text=st.text() | st.text("ab\n\r# "), windows=st.booleans())
def test_the_block_of_agents_md_is_kept_once_and_the_rest_stays(text: str, windows: bool) -> None:
    once = with_block(text)
    assert once.startswith(text)
    assert once.endswith(BLOCK)
    assert with_block(once) == once
    old = once.replace("quoted data", "old words")
    assert with_block(old + "after") == once + "after"
    for broken in (START, END, f"{END}{START}", BLOCK + BLOCK):
        with pytest.raises(InvalidInput):
            with_block(f"{text}{broken}")


@promise(
    "install:command",
    "rbank install, uninstall and agents-md work from process start, for the user and for a project.",
    source="issue, Interface exactly",
)
def test_the_commands_from_process_start(tmp_path: Path) -> None:
    user, work, data = tmp_path / "user", tmp_path / "work", tmp_path / "data"
    user.mkdir()
    work.mkdir()

    def rbank(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(RBANK), *words],
            env={**environment(data), "HOME": str(user), "XDG_CONFIG_HOME": str(user / ".config")},
            cwd=work,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def files() -> list[str]:
        return sorted(
            str(path.relative_to(tmp_path)) for root in (user, work) for path in root.rglob("*") if path.is_file()
        )

    tried = rbank("install", "claude-code", "--scope", "project", "--dry-run")
    assert tried.returncode == 0
    assert '+    "reasoningbank": {' in tried.stdout
    assert files() == []
    answer = json.loads(rbank("install", "claude-code", "--json").stdout)
    assert (answer["client"], answer["level"], answer["dry_run"]) == ("claude-code", "user", False)
    assert [one["action"] for one in answer["files"]] == ["create", "create"]
    twice = rbank("install", "claude-code", "--scope", "project", "--json")
    assert (twice.returncode, "--scope user" in json.loads(twice.stderr)["hint"]) == (2, True)
    assert files() == ["user/.claude.json", "user/.claude/settings.json"]
    program = json.loads((user / ".claude.json").read_text())["mcpServers"]["reasoningbank"]
    assert program == {"command": str(RBANK), "args": ["serve"], "env": {"REASONINGBANK_HOME": str(data)}}
    stop = json.loads((user / ".claude" / "settings.json").read_text())["hooks"]["Stop"][0]["hooks"][0]
    done = subprocess.run(
        [stop["command"], *stop["args"]], input="{}", env=environment(data), capture_output=True, text=True, check=True
    )
    assert done.stdout == "{}\n"
    assert rbank("uninstall", "claude-code").returncode == 0
    assert rbank("install", "claude-code", "--scope", "project").returncode == 0
    assert files() == ["work/.claude/settings.json", "work/.mcp.json"]
    assert json.loads((work / ".mcp.json").read_text())["mcpServers"]["reasoningbank"]["command"] == "rbank"
    assert rbank("uninstall", "claude-code", "--scope", "project").returncode == 0
    assert files() == []
    unnamed = rbank("install", "codex", "--project", "--dry-run", "--json")
    assert (unnamed.returncode, "--scope project" in json.loads(unnamed.stderr)["hint"]) == (2, True)
    nowhere = rbank("install", "codex", "--scope", "galaxy", "--json")
    assert (nowhere.returncode, json.loads(nowhere.stderr)["error"]) == (2, "usage")
    assert rbank("install", "emacs").returncode == 2
    assert rbank("agents-md").stdout == BLOCK
    (work / "AGENTS.md").write_text("# Ours\n")
    assert json.loads(rbank("agents-md", "--write", "--json").stdout)["changed"] is True
    assert json.loads(rbank("agents-md", "--write", "--json").stdout)["changed"] is False
    assert (work / "AGENTS.md").read_text() == f"# Ours\n\n{BLOCK}"


def run_rbank(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The installed command with a user, a project and a data directory below a folder."""
    (folder / "user").mkdir(exist_ok=True)
    (folder / "work").mkdir(exist_ok=True)
    own = {"HOME": str(folder / "user"), "XDG_CONFIG_HOME": str(folder / "user" / ".config"), **variables}
    return subprocess.run(
        [str(RBANK), *words],
        env={**environment(folder / "data"), **own},
        cwd=folder / "work",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


OPTIONS = ("--tenant", "acme", "--project", "the shop", "--team", "web", "--org", "initech", "--url", "memory://")


@promise(
    "install:options",
    "What is named at rbank install reaches the server and every hook that is written: tenant, project, team, org, "
    "url, profile and the data directory.",
    source="issue 11",
)
@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_named_reaches_the_server_and_the_hooks(client: str, tmp_path: Path) -> None:
    done = run_rbank(tmp_path, "install", client, "--json", "--profile", "core,graph", *OPTIONS)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["registration"]["state"] == "unknown"
    texts = [Path(file["path"]).read_text() for file in answer["files"]]
    for text in texts:
        assert str(tmp_path / "data") in text
        for word in OPTIONS:
            assert word in text
    assert "core,graph" in texts[0]
    again = run_rbank(tmp_path, "install", client, "--json", "--profile", "core,graph", *OPTIONS)
    assert [file["action"] for file in json.loads(again.stdout)["files"]] == ["none"] * len(texts)
    changed = run_rbank(tmp_path, "install", client, "--json", "--profile", "admin")
    assert "change" in [file["action"] for file in json.loads(changed.stdout)["files"]]
    assert "the shop" not in "".join(Path(file["path"]).read_text() for file in answer["files"])
    assert run_rbank(tmp_path, "uninstall", client).returncode == 0
    assert not any(Path(file["path"]).exists() for file in answer["files"])


@promise("relay:relative-url")
def test_a_relative_url_is_written_as_an_absolute_one(tmp_path: Path) -> None:
    forgotten = run_rbank(tmp_path, "install", "claude-code", "--json", "--url", f"sqlite://{tmp_path}/banks")
    assert (forgotten.returncode, json.loads(forgotten.stderr)["error"]) == (2, "configuration_error")
    done = run_rbank(tmp_path, "install", "claude-code", "--json", "--url", "sqlite:///own/banks")
    assert done.returncode == 0, done.stderr
    for file in json.loads(done.stdout)["files"]:
        assert "sqlite:////" in (text := Path(file["path"]).read_text())
        assert "/own/banks" in text


@promise("install:options")
def test_a_hook_that_was_written_with_options_uses_the_bank_that_they_name(tmp_path: Path) -> None:
    here = ("--tenant", "acme", "--project", "the shop")
    lesson = ("--title", "Close files", "--content", "Close the file before it is moved.", "--outcome", "success")
    assert run_rbank(tmp_path, *here, "record", *lesson).returncode == 0
    assert run_rbank(tmp_path, "install", "claude-code", *here).returncode == 0
    hooks = json.loads((tmp_path / "user" / ".claude" / "settings.json").read_text())["hooks"]
    (handler,) = hooks["UserPromptSubmit"][0]["hooks"]
    payload = {"session_id": "s", "cwd": str(tmp_path), "prompt": "How do I move a file?"}
    plain = {name: value for name, value in environment(tmp_path / "x").items() if name != "REASONINGBANK_HOME"}
    done = subprocess.run(
        [handler["command"], *handler["args"]],
        env={**plain, "HOME": str(tmp_path / "nobody")},
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Close the file before it is moved." in done.stdout


@promise(
    "install:distill",
    "--distill client, agent, none or MODEL says who makes lessons of sessions; the settings file keeps its other "
    "lines, and what cannot be is refused before anything is written.",
    source="issue 11",
)
def test_who_distills_is_written_into_the_settings(tmp_path: Path) -> None:
    path = tmp_path / "data" / "settings.toml"
    path.parent.mkdir()
    before = '# mine\nbackups = 3\nllm = "openai:small" # for now\n'
    path.write_text(before)
    for wrong in ("client:emacs", "nonsense"):
        assert run_rbank(tmp_path, "install", "codex", "--distill", wrong).returncode == 2
    refused = run_rbank(tmp_path, "install", "cursor", "--distill", "client", "--json")
    assert "client:claude-code" in json.loads(refused.stderr)["hint"]
    assert path.read_text() == before
    assert not (tmp_path / "user" / ".codex").exists()
    for who, llm, reminders in (
        ("client", "client:codex", True),
        ("agent", "", True),
        ("none", "", False),
        ("openai:qwen3", "openai:qwen3", True),
        ("client:gemini/gemini-2.5-flash", "client:gemini/gemini-2.5-flash", True),
    ):
        done = run_rbank(tmp_path, "install", "codex", "--distill", who, "--json")
        assert done.returncode == 0, done.stderr
        assert tomllib.loads(path.read_text()) == {"backups": 3, "llm": llm, "reminders": reminders}
        assert "# mine\nbackups = 3\n" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    told = run_rbank(tmp_path, "install", "codex", "--distill", "agent").stdout
    assert ("Lessons are made by the agent" in told, "Nothing was changed" in told) == (True, False)


@promise(
    "install:single",
    "A client that has the server already, from the plugin or at another scope, is not given a second one.",
    source="issue 11",
)
def test_a_plugin_or_another_scope_is_not_doubled(tmp_path: Path) -> None:
    settings_file = tmp_path / "user" / ".claude" / "settings.json"
    settings_file.parent.mkdir(parents=True)
    settings_file.write_text('{"enabledPlugins": {"reasoningbank@market": true}}')
    done = run_rbank(tmp_path, "install", "claude-code", "--json")
    assert (done.returncode, "reasoningbank@market" in json.loads(done.stderr)["message"]) == (2, True)
    settings_file.write_text('{"enabledPlugins": {"reasoningbank@market": false}}')
    assert run_rbank(tmp_path, "install", "claude-code").returncode == 0
    for client in ("codex", "gemini", "cursor", "opencode"):
        assert run_rbank(tmp_path, "install", client, "--scope", "project").returncode == 0
        done = run_rbank(tmp_path, "install", client, "--json")
        assert (done.returncode, "scope project" in json.loads(done.stderr)["message"]) == (2, True)
    secret = run_rbank(tmp_path, "install", "vscode", "--scope", "project", "--url", "postgresql://me:secret@db/bank")
    assert (secret.returncode, "password" in secret.stderr) == (2, True)


@promise(
    "install:verified",
    "An installation is checked with the client's own command, and what a person still has to do is said.",
    source="issue 11",
)
@pytest.mark.timeout(240)
@pytest.mark.parametrize("client", PACKAGES)
def test_the_real_client_knows_what_was_installed(client: str, tmp_path: Path) -> None:
    variables = client_environment(client, tmp_path / "user", "http://127.0.0.1:9")
    own = {name: value for name, value in variables.items() if name in {"PATH", "NO_COLOR"} or "OPENCODE" in name}
    first = run_rbank(tmp_path, "install", client, "--json", **own)
    assert (first.returncode, bool(json.loads(first.stdout)["to_do"])) == (0, True)
    done = run_rbank(tmp_path, "install", client, "--json", **own)
    answer = json.loads(done.stdout)
    assert answer["registration"]["state"] in {"connected", "listed"}, answer["registration"]
    assert not any(each.startswith("Restart") for each in answer["to_do"])
    assert run_rbank(tmp_path, "uninstall", client, **own).returncode == 0
    assert asked_as(client, tmp_path, own) == "missing"


@promise("install:creates-and-removes")
@pytest.mark.parametrize("client", ["claude-code", "gemini", "cursor"])
def test_nothing_is_left_where_another_data_directory_takes_it_out(client: str, tmp_path: Path) -> None:
    folder = tmp_path / "user"
    where = Where(level="user", home=folder, project=tmp_path, command="rbank")
    targets = targets_of(client, where)
    for target in targets:
        target.path.parent.mkdir(parents=True, exist_ok=True)
        target.path.write_text('{"theme": "dark", "hooks": {"Own": [{"command": "mine"}]}}')
    install(targets, tmp_path / "data")
    uninstall(targets, tmp_path / "other")
    assert [json.loads(target.path.read_text()) for target in targets] == [
        {"theme": "dark", "hooks": {"Own": [{"command": "mine"}]}} for _ in targets
    ]


@promise("install:verified")
def test_a_person_is_told_to_approve_only_what_a_project_has(tmp_path: Path) -> None:
    told: dict[str, list[str]] = {}
    for level in ("project", "user"):
        done = run_rbank(tmp_path, "install", "claude-code", "--scope", level, "--json")
        told[level] = json.loads(done.stdout)["to_do"]
        assert run_rbank(tmp_path, "uninstall", "claude-code", "--scope", level).returncode == 0
    assert told["user"] == ["Restart Claude Code."]
    assert told["project"][:1] == told["user"]
    assert "approved" in told["project"][1]


@promise(
    "install:unverified",
    "When the client does not show the server that was installed, that is said with what to do; when there was nothing "
    "to write either, the exit status is 1.",
    source="review, first installation",
)
@pytest.mark.parametrize(
    ("says", "told"),
    [("echo 'No MCP server found' >&2; exit 1", "does not know"), ("echo 'reasoningbank: failed'", "cannot start")],
)
def test_an_entry_that_the_client_does_not_show_is_said(says: str, told: str, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    client = programs / "claude"
    client.write_text(f"#!/bin/sh\n{says}\n")
    client.chmod(0o700)
    path = f"{programs}:{os.environ['PATH']}"
    written = run_rbank(tmp_path, "install", "claude-code", PATH=path)
    assert written.returncode == 0
    assert "To do: Restart Claude Code." in written.stdout
    again = run_rbank(tmp_path, "install", "claude-code", PATH=path)
    assert again.returncode == 1
    assert "Nothing was changed." in again.stdout
    assert "Restart" not in again.stdout
    for said in (written.stdout, again.stdout):
        assert told in said
        assert "The entry could not be verified. Run `claude mcp get reasoningbank` yourself" in said


@promise(
    "install:asking-is-no-session",
    "What rbank install and rbank status ask a client's own command is not a session: the hooks that it fires note "
    "nothing.",
    source="review, real clients",
)
def test_asking_the_client_leaves_no_trace_of_a_session(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / "data").mkdir(mode=0o700)
    payload = json.dumps({"session_id": "s", "cwd": str(tmp_path), "transcript_path": str(tmp_path / "none.jsonl")})
    (tmp_path / "payload").write_text(payload)
    client = programs / "claude"
    client.write_text(
        f"#!/bin/sh\n'{RBANK}' hook session-end < '{tmp_path}/payload'\n'{RBANK}' hook stop < '{tmp_path}/payload'\n"
        "echo reasoningbank:\necho '  Status: connected'\n"
    )
    client.chmod(0o700)
    path = f"{programs}:{os.environ['PATH']}"
    installed = run_rbank(tmp_path, "install", "claude-code", "--json", PATH=path)
    assert json.loads(installed.stdout)["registration"]["state"] == "connected", installed.stderr
    for _ in range(2):
        found = json.loads(run_rbank(tmp_path, "status", "--json", PATH=path).stdout)
        assert (found["hooks_last_ran"], found["errors"]) == ("", [])
    assert subprocess.run([client], env=environment(tmp_path / "data"), check=True, capture_output=True).stdout
    deadline = time.monotonic() + 20
    found = {"hooks_last_ran": ""}
    while not found["hooks_last_ran"] and time.monotonic() < deadline:
        found = json.loads(run_rbank(tmp_path, "status", "--json", "--quick").stdout)
    assert found["hooks_last_ran"], "a session of the user is noted"
    assert found["errors"] == [], "a session in which nothing was said is not an error"


def asked_as(client: str, folder: Path, variables: dict[str, str]) -> str:
    """What a fresh process says of a client's registration."""
    script = "import sys; from pathlib import Path; from reasoningbank.integrations.registration import asked; "
    done = subprocess.run(
        [sys.executable, "-c", f"{script} print(asked(sys.argv[1], Path('.')).state)", client],
        env={**environment(folder / "data"), **variables, "HOME": str(folder / "user")},
        cwd=folder / "work",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
