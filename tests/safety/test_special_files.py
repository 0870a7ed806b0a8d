"""Pipes, devices, links and directories where a file is expected: refused at once, by every command that reads one."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_processes import clean_environment
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import BankError, InvalidInput, StoreUnavailable
from reasoningbank.safety.file_access import open_regular, read_text

pytestmark = pytest.mark.skipif(os.name != "posix", reason="named pipes and devices are those of POSIX")

READING = {
    "capture": ("capture",),
    "import": ("import",),
    "graph import": ("graph", "import"),
    "share import": ("share", "import"),
    "graph source": ("graph", "source"),
    "graph remember": ("graph", "remember"),
}


@promise(
    "hardness:special-files",
    "A pipe, a device or a directory in the place of a file is refused at once by every command that reads a file.",
    source="issue 13",
)
@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
def test_what_is_not_a_file_is_refused_at_once(command: str, kind: str, tmp_path: Path) -> None:
    place = tmp_path / "special"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "device":
        place = Path("/dev/zero")
    else:
        place.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "reasoningbank.cli", *READING[command], str(place)],
        env=clean_environment(tmp_path / "home"),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if kind == "directory" and command in {"capture", "share import"}:
        assert "Traceback" not in done.stderr
        return
    assert done.returncode not in {0, 1}, done.stdout
    assert "Traceback" not in done.stderr
    assert "error:" in done.stderr


@promise("hardness:special-files")
def test_a_shared_directory_is_read_and_written_without_following_links(
    open_bank: Callable[..., Bank], tmp_path: Path
) -> None:
    bank = open_bank()
    bank.record(title="Close before a move", content="Close the shop, then copy.", outcome="success")
    shared, elsewhere = tmp_path / "shared", tmp_path / "elsewhere"
    (file,) = bank.sharing.export(shared).files
    elsewhere.write_text(Path(file).read_text())
    Path(file).unlink()
    Path(file).symlink_to(elsewhere)
    with pytest.raises(StoreUnavailable, match="symbolic link"):
        bank.sharing.import_(shared)
    partial = Path(f"{file}.partial")
    partial.symlink_to(tmp_path / "precious")
    (tmp_path / "precious").write_text("precious")
    with pytest.raises(StoreUnavailable, match="symbolic link"):
        bank.sharing.export(shared)
    Path(file).unlink()
    bank.sharing.export(shared)
    assert (tmp_path / "precious").read_text() == "precious"
    assert not Path(file).is_symlink()
    attributes = shared / ".gitattributes"
    attributes.unlink()
    attributes.symlink_to(tmp_path / "precious")
    with pytest.raises(BankError, match="symbolic link"):
        bank.sharing.export(shared)
    assert (tmp_path / "precious").read_text() == "precious"


@promise("hardness:special-files")
def test_a_text_is_read_up_to_its_limit(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"one\r\ntwo\rthree\n")
    assert read_text(file, most=16) == "one\ntwo\nthree\n"
    with pytest.raises(InvalidInput, match="more than"):
        read_text(file, most=8)
    file.write_bytes(b"\xff")
    with pytest.raises(InvalidInput, match="UTF-8"):
        read_text(file, most=8)
    with pytest.raises(StoreUnavailable), open_regular(tmp_path / "missing"):
        pass
    with pytest.raises(StoreUnavailable), open_regular(Path("a\0b")):
        pass


@promise("hardness:special-files")
def test_one_bad_file_does_not_hold_up_the_next(open_bank: Callable[..., Bank], tmp_path: Path) -> None:
    bank = open_bank()
    pipe = tmp_path / "pipe"
    pipe.touch()
    good = tmp_path / "good.jsonl"
    good.write_text(
        "".join(
            json.dumps({"role": role, "content": content}) + "\n"
            for role, content in (("user", "Fix the date test."), ("assistant", "I ran it with TZ=UTC."))
        )
    )
    bank.sessions.capture_later(pipe)
    bank.sessions.capture_later(good)
    pipe.unlink()
    os.mkfifo(pipe)
    report = bank.jobs.work()
    assert (report.done, report.buried) == (1, 1)
    assert [job.error for job in bank.jobs.dead()] == [f"{tmp_path / 'pipe'} cannot be read: it is not a regular file"]


@promise(
    "hardness:special-queued",
    "A pipe, a device or a directory is refused at once when it is to be captured later, and nothing is queued.",
    source="issue 13",
)
@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
def test_a_special_file_is_not_queued(kind: str, open_bank: Callable[..., Bank], tmp_path: Path) -> None:
    special = Path("/dev/zero") if kind == "device" else tmp_path / kind
    if kind == "pipe":
        os.mkfifo(special)
    elif kind == "directory":
        special.mkdir()
    good = tmp_path / "good.jsonl"
    good.touch()
    bank = open_bank()
    with pytest.raises(StoreUnavailable, match="not a regular file"):
        bank.sessions.capture_later(good, special)
    assert bank.jobs.work().done == 0
    assert bank.jobs.dead() == ()


@promise(
    "hardness:special-configuration",
    "A pipe in the place of a client's configuration is refused at once by rbank install, and passed over by rbank "
    "status.",
    source="issue 13",
)
@pytest.mark.parametrize("words", [("install", "claude-code", "--scope", "project"), ("status", "--quick")])
def test_a_pipe_is_no_configuration(words: tuple[str, ...], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".mcp.json")
    done = subprocess.run(
        [sys.executable, "-m", "reasoningbank.cli", *words],
        env=clean_environment(tmp_path / "home"),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert (done.returncode == 0) == (words[0] == "status")
    assert words[0] == "status" or ".mcp.json: it is not a regular file" in done.stderr


@promise(
    "hardness:special-targets",
    "An export never replaces a pipe, a socket, a link or a directory: it says what is there, and leaves it.",
    source="issue 13",
)
@pytest.mark.parametrize("kind", ["pipe", "socket", "link", "directory"])
def test_no_export_replaces_what_is_not_a_file(kind: str, open_bank: Callable[..., Bank], tmp_path: Path) -> None:
    bank = open_bank()
    bank.record(title="Close before a move", content="Close the shop, then copy.", outcome="success")
    place, folder = tmp_path / "export.jsonl", tmp_path / "shared"
    (shared,) = (Path(name) for name in bank.sharing.export(folder).files)
    shared.unlink()
    for special in (place, shared):
        if kind == "pipe":
            os.mkfifo(special)
        elif kind == "socket":
            os.mknod(special, stat.S_IFSOCK | 0o600)
        elif kind == "link":
            special.symlink_to(tmp_path / "missing")
        else:
            special.mkdir()
    before = [special.lstat() for special in (place, shared)]
    with pytest.raises(StoreUnavailable, match="cannot be written: it is"):
        bank.admin.export(place)
    with pytest.raises(StoreUnavailable, match="cannot be written: it is"):
        bank.sharing.export(folder)
    after = [special.lstat() for special in (place, shared)]
    assert [(each.st_ino, each.st_mode) for each in after] == [(each.st_ino, each.st_mode) for each in before]
    assert not (tmp_path / "missing").exists()
