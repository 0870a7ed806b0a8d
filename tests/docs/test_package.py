"""What comes with the package: licence, locks, targets."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from promises import promise

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("lock.txt", "dev.txt")
APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"


@promise(
    "package:licence",
    "LICENSE is Apache-2.0 word for word; NOTICE names the origin of bundled data.",
    source="issue, Package",
)
def test_the_licence_is_apache_2_word_for_word_and_the_notice_names_the_origin() -> None:
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    (origin,) = re.findall(r"src/\S+ORIGIN\.md", notice)
    assert (ROOT / origin).is_file()


@promise(
    "package:lock",
    "The lock files pin every dependency by hash and name no index address or path.",
    source="issue, Package",
)
@pytest.mark.parametrize("name", LOCKS)
def test_locks_pin_every_file_by_hash_and_name_no_place(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    assert not re.search(r"://|^-|^ *--(?!hash=sha256:[0-9a-f]{64}\b)| @ |/", text, flags=re.MULTILINE)
    for requirement in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(r"[a-z0-9.-]+==\S+", requirement), requirement[:80]
        assert "--hash=sha256:" in requirement, requirement[:80]


@promise("package:lock")
def test_the_locks_hold_every_declared_dependency_at_the_same_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pins = {name: _pins(ROOT / "requirements" / name) for name in LOCKS}
    extras = project["project"]["optional-dependencies"]
    declared = [*project["project"]["dependencies"], *extras["remote"], *extras["otel"]]
    assert {_name(requirement) for requirement in declared} <= pins["lock.txt"].keys()
    assert {_name(requirement) for requirement in project["dependency-groups"]["dev"]} <= pins["dev.txt"].keys()
    assert pins["lock.txt"].items() <= pins["dev.txt"].items()


@promise("package:typed", "The package is typed and ships the example graph.", source="issue, Package")
def test_the_package_is_typed_and_ships_its_data() -> None:
    package = files("reasoningbank")
    for name in ("py.typed", "demo/shop_graph.json"):
        assert package.joinpath(name).is_file()


@promise("package:make", "make lists every target with its help.", source="issue, Package")
def test_make_lists_every_target_with_its_help() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in phony.split():
        assert re.search(rf"^  make {target} +\w", listed, flags=re.MULTILINE), target
    assert {"demo", "test", "check", "bench", "torture", "eval-retrieval", "guarantees", "clean"} <= set(phony.split())


def _pins(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE))


def _name(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match
    return match.group().lower().replace("_", "-")
