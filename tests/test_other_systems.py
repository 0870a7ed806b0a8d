"""What can be said here of macOS and Windows: the program without what only Linux has, names, quoting, encodings."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path, PureWindowsPath

import pytest

from bare_system import AS_WINDOWS, IMPORT_ALL, RUN, TAKEN, bare
from mcp_processes import RawServer, clean_environment
from promises import promise
from reasoningbank import Bank
from reasoningbank.system import shell_line
from reasoningbank.types.scope import Scope, directory_name
from sessions.learned_sessions import REPAIRED

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
OWNER = ("--tenant", "t", "--project", "p")
LESSON = ("record", "--title", "Close the shop", "--content", "Close it, then copy.", "--outcome", "success")


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return clean_environment(tmp_path / "home")


def shared(variables: dict[str, str]) -> dict[str, str]:
    """The variables of one who wants a shared server, as users do."""
    return variables | {"REASONINGBANK_SHARED": "true"}


def done(program: str, words: tuple[str, ...], variables: dict[str, str], said: str = "") -> str:
    """What a program without the things of Unix prints; it succeeds."""
    answer = subprocess.run(
        bare(program, *words),
        env=variables,
        input=said,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@promise(
    "systems:bare",
    "Every module can be imported, and record, search, hook, backup and serve work, in a Python that has no fcntl, "
    "fork, Unix socket, user ids or any other function that only Unix has; what would be shared runs in-process.",
    source="issue 13 item 9",
)
def test_every_module_is_imported_without_what_only_unix_has(variables: dict[str, str]) -> None:
    assert int(done(IMPORT_ALL, (), variables)) > 250


@promise("systems:bare")
def test_commands_and_hooks_work_without_what_only_unix_has(variables: dict[str, str], tmp_path: Path) -> None:
    done(RUN, (*OWNER, *LESSON), variables)
    assert "Close it, then copy." in done(RUN, (*OWNER, "search", "how is a shop copied"), variables)
    prompt = json.dumps({"prompt": "how is a shop copied", "session_id": "s-1"})
    told = json.loads(done(RUN, ("hook", "user-prompt-submit", *OWNER), variables, prompt))
    assert "Close it, then copy." in told["hookSpecificOutput"]["additionalContext"]
    transcript = tmp_path / "cc-1.jsonl"
    transcript.write_text(REPAIRED)
    ended = json.dumps({"session_id": "cc-1", "transcript_path": str(transcript)})
    done(RUN, ("hook", "session-end", *OWNER), variables, ended)
    sessions = json.loads(done(RUN, (*OWNER, "trajectories", "--json"), variables))
    assert [each["verdict"] for each in sessions["trajectories"]] == ["success"], "the hook did what was due itself"
    done(RUN, (*OWNER, "backup", str(tmp_path / "copy.db")), variables)
    assert (tmp_path / "copy.db").stat().st_size > 0
    assert not (tmp_path / "home" / "hooks.log").exists()


@promise("systems:bare")
def test_a_server_works_without_what_only_unix_has(variables: dict[str, str]) -> None:
    done(RUN, (*OWNER, *LESSON), variables)
    process = subprocess.Popen(
        bare(RUN, *OWNER, "serve"), env=shared(variables), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    server = RawServer(process)
    try:
        server.hello()
        asked = {"name": "memory_search", "arguments": {"query": "how is a shop copied"}}
        answer = server.ask({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": asked}, seconds=60)
        assert "Close it, then copy." in json.dumps(answer)
        assert server.end() == 0
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@promise("systems:bare")
def test_http_is_served_without_what_only_unix_has(variables: dict[str, str]) -> None:
    process = subprocess.Popen(
        bare(RUN, *OWNER, "serve", "--http", "127.0.0.1:0"), env=shared(variables), stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        assert any(re.search(r"http://127\.0\.0\.1:\d+", line) for line in lines)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) in {0, -signal.SIGTERM}
    finally:
        process.kill()
        process.communicate()


COUNT = """
import sys
from pathlib import Path
from reasoningbank.lock_file import open_lock
lock = open_lock(Path(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    if not lock.try_lock():
        lock.lock()
    lock.write_note(b"%08d" % (int(lock.read_note(8) or 0) + 1))
    lock.unlock()
lock.close()
"""
HOLD = """
import sys, time
from pathlib import Path
from reasoningbank.lock_file import open_lock
lock = open_lock(Path(sys.argv[1]))
assert lock.try_lock()
print("held", flush=True)
time.sleep(600)
"""
KINDS = {"the queue of Unix": "", "the locked byte of Windows": AS_WINDOWS, "a file in its place": TAKEN}


@promise(
    "systems:locks",
    "The lock of a bank keeps processes apart by flock, by the byte lock of Windows and, where Python has neither, by "
    "a file; none of them outlives its process.",
    source="issue 13 item 9",
)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_lock_keeps_processes_apart_and_dies_with_its_process(
    kind: str, variables: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "lock"
    command = bare(KINDS[kind] + HOLD, str(path))
    holder = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        counters = [subprocess.Popen(bare(KINDS[kind] + COUNT, str(path), "40"), env=variables) for _ in range(3)]
        time.sleep(1)
        assert [each.poll() for each in counters] == [None] * 3, "all wait"
    finally:
        holder.kill()
        holder.communicate()
    assert [each.wait(timeout=60) for each in counters] == [0] * 3
    assert path.read_bytes()[:8] == b"00000120"


RESERVED = ["CON", "con", "NUL", "nul.txt", "aux", "COM1", "lpt9.log"]
CHANGED = [
    "a.",
    "a ",
    "a",
    "A",
    "a:b",
    "a/b",
    "a\\b",
    "C:\\Users\\x",
    "C:/Users/x",
    "\\\\srv\\share",
    "e\u0301",
    "\u00e9",
]
"""Names that a file system would change, or take for one another."""


@promise(
    "systems:names",
    "A tenant, project, team or org of any name has a file of its own whose name every file system takes: no reserved "
    "name of Windows, no separator, colon, trailing dot or space, and no two that differ in case alone.",
    source="issue 13 item 9",
)
@pytest.mark.parametrize(
    "name",
    [*RESERVED, *CHANGED, "x" * 900, "naïve", "名前", "a\tb", '?*<>|"', "~", "-rf", "..", "../.."],
)
def test_names_become_files_that_every_system_can_keep(name: str, tmp_path: Path) -> None:
    reserved = {"con", "prn", "aux", "nul", *(f"{kind}{number}" for kind in ("com", "lpt") for number in range(10))}
    with Bank.open(f"sqlite:///{tmp_path}/banks", tenant=name, project=name, team=name, org=name) as bank:
        bank.record(title="Close", content="Close it, then copy.", outcome="success")
        copy = bank.admin.backup(tmp_path / "copy.db")
    assert Path(str(copy.path if hasattr(copy, "path") else copy)).exists()
    made = [path.relative_to(tmp_path) for path in (tmp_path / "banks").rglob("*")]
    assert made
    for part in {part for path in made for part in path.parts}:
        assert re.fullmatch(r"[a-z0-9.-]{1,120}", part), part
        assert part.split(".")[0] not in reserved
        assert not part.endswith(".")


@promise("systems:names")
def test_names_that_look_alike_on_other_systems_have_files_of_their_own() -> None:
    names = [*RESERVED, *CHANGED]
    files = {Scope(tenant="t", project=name).file_name.lower() for name in names}
    assert len(files) == len(names) == len({directory_name(name).lower() for name in names})


@promise(
    "systems:drive",
    "A URL with the drive of a Windows path means that path there.",
    source="issue 13 item 9",
)
@pytest.mark.parametrize("path", ["C:/banks/shop.db", "C:\\banks\\shop.db", "D:/my%20banks", "//server/share/shop.db"])
def test_a_drive_makes_a_url_absolute_on_windows(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from reasoningbank import settings

    monkeypatch.setattr(settings, "Path", PureWindowsPath)
    assert settings.absolute_url(f"sqlite:///{path}") == f"sqlite:///{path}"


@promise(
    "systems:quoting",
    "A hook's command line is quoted for the shell that runs it: on Windows with double quotes, and with slashes in "
    "the program's path, which both cmd and the bash of Git read.",
    source="issue 13 item 9",
)
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["rbank", "hook", "stop"], "rbank hook stop"),
        (["C:\\Users\\Jo Doe\\rbank.exe", "hook", "stop"], '"C:/Users/Jo Doe/rbank.exe" hook stop'),
        (["rbank", "--home", "C:\\my data\\"], 'rbank --home "C:\\my data\\\\"'),
        (["rbank", "--tenant", 'a "b" & c'], 'rbank --tenant "a \\"b\\" & c"'),
        (["rbank", "--team", ""], 'rbank --team ""'),
    ],
)
def test_a_line_for_a_shell_of_windows_holds_the_words(words: list[str], line: str) -> None:
    assert shell_line(words, windows=True) == line
    assert shlex.split(line) == [words[0].replace("\\", "/"), *words[1:]], "as the bash of Git reads it"
    assert shlex.split(shell_line(words, windows=False)) == words


def run(words: tuple[str, ...], variables: dict[str, str], said: bytes = b"") -> bytes:
    """What the program prints; it succeeds."""
    command = [sys.executable, "-m", "reasoningbank.cli", *OWNER, *words]
    answer = subprocess.run(command, env=variables, input=said, capture_output=True, timeout=120, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@promise(
    "systems:console",
    "On a console that cannot show every character each command answers, and shows what it cannot by an escape.",
    source="issue 13 item 9",
)
def test_a_console_of_windows_gets_every_answer(variables: dict[str, str]) -> None:
    narrow = variables | {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    text = "Schließe → 閉じる ✓"
    run(("record", "--title", text, "--content", "-", "--outcome", "success"), narrow, text.encode())
    for words in (
        ("list",),
        ("search", "schließe"),
        ("briefing",),
        ("status",),
        ("history", "--help"),
        ("list", "--json"),
    ):
        shown = run(words, narrow).decode("cp1252")
        if words[0] in {"list", "search", "briefing"}:
            assert ("\\u9589" in shown) and ("Schließe" in shown or "Schlie\\u00dfe" in shown), words
    told = json.loads(run(("list", "--json"), narrow))
    assert told["memories"][0]["content"] == text, "what is stored is whole"
    prompt = json.dumps({"prompt": "schließe", "session_id": "s-1"}).encode()
    hooked = json.loads(run(("hook", "user-prompt-submit"), narrow, prompt))["hookSpecificOutput"]
    assert text in hooked["additionalContext"]


@promise(
    "systems:line-ends",
    "Settings, imports, shared files, transcripts, graphs and texts on stdin may end their lines as Windows does "
    "and begin with a byte order mark.",
    source="issue 13 item 9",
)
def test_files_with_the_line_ends_and_the_mark_of_windows_are_read(variables: dict[str, str], tmp_path: Path) -> None:
    def as_windows_writes(path: Path, text: str) -> str:
        path.write_bytes(BYTE_ORDER_MARK + text.replace("\n", "\r\n").encode())
        return str(path)

    said = BYTE_ORDER_MARK + b"Close it,\r\nthen copy.\r\n"
    run(("record", "--title", "Close", "--content", "-", "--outcome", "success"), variables, said)
    run(("export", str(tmp_path / "one.jsonl")), variables)
    shared = tmp_path / "shared"
    run(("share", "export", str(shared)), variables)
    (file,) = shared.rglob("*.jsonl")
    as_windows_writes(tmp_path / "home" / "settings.toml", 'project = "other"\nreminders = false\n')
    other = {**variables, "REASONINGBANK_PROJECT": "other"}
    exported = as_windows_writes(tmp_path / "two.jsonl", (tmp_path / "one.jsonl").read_text())
    command = [sys.executable, "-m", "reasoningbank.cli", "--tenant", "t"]
    done = subprocess.run([*command, "import", exported], env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.startswith("1 imported")) == (0, True), done
    told = json.loads(subprocess.run([*command, "list", "--json"], env=other, capture_output=True, check=True).stdout)
    assert [each["content"] for each in told["memories"]] == ["Close it,\nthen copy."]
    run(("share", "import", as_windows_writes(file, file.read_text())), variables)
    captured = run(("capture", as_windows_writes(tmp_path / "cc-1.jsonl", REPAIRED), "--json"), variables)
    assert b"success" in captured
    graph = '{"nodes": [{"id": "r", "label": "UserRequest", "user_id": "u", "text": "Where is it?"}],\n"edges": []}\n'
    run(("graph", "import", as_windows_writes(tmp_path / "graph.json", graph)), variables)
