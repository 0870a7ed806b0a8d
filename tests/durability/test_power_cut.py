"""Simulated power cuts: what was acknowledged survives the loss of everything that was not forced to the disk."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from durability.recorded_writes import Image, Recording, images
from durability.workload import SCOPE, read_back
from promises import promise
from reasoningbank.storage.locks import BankLock
from reasoningbank.storage.sqlite_file import SqliteStorage
from torture_results import Tally

CUTS = 300
TORTURE_CUTS = 2_000
OPERATIONS = 40


@promise(
    "durability:power-cut",
    "After a simulated power cut at any moment the bank opens, is whole, and holds every acknowledged write and at "
    "most the one under way.",
    source="issue 2; DESIGN D2; spec/engineering B.2",
)
@pytest.mark.parametrize("layers", ["stacked", "plain"])
@pytest.mark.timeout(7_200)
def test_no_acknowledged_write_is_lost_in_a_power_cut(layers: str, tmp_path: Path, torture: bool, tally: Tally) -> None:
    """After each cut the bank opens, is whole, and holds every acknowledged operation and at most the one under way.

    ``stacked`` is the shipped configuration: page checksums on top of the file system that loses writes.
    """
    chance = random.Random(11)
    share = (TORTURE_CUTS if torture else CUTS) // 2
    recordings = 10 if torture else 1
    cuts = 0
    for seed in range(recordings):
        recording = _recorded(tmp_path / f"recording-{seed}", seed, layers)
        for image in images(recording, chance, share // recordings):
            _check(image, recording, tmp_path / "image", chance)
            cuts += 1
    subject = {"stacked": "with page checksums, as installed", "plain": "without page checksums"}[layers]
    tally.add("power cuts", subject, cuts, lost=0, torn=0)
    assert cuts >= share - recordings


def _recorded(directory: Path, seed: int, layers: str) -> Recording:
    """A recording made by a process of its own, whose default file system is the recording one."""
    directory.mkdir()
    tests = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent / "src")])}
    command = [sys.executable, "-m", "durability.recorded_writes", str(directory), str(seed), str(OPERATIONS), layers]
    subprocess.run(command, check=True, env=environment, timeout=120)
    recording = pickle.loads((directory / "recording.pickle").read_bytes())
    assert isinstance(recording, Recording)
    kinds = {(event.kind, event.file.removeprefix(recording.bank)) for event in recording.events}
    assert {("sync", ""), ("sync", "-wal"), ("write", ""), ("write", "-wal")} <= kinds
    return recording


def _check(image: Image, recording: Recording, directory: Path, chance: random.Random) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    for name, content in image.files.items():
        (directory / name).write_bytes(content)
    if image.opened and chance.random() < 0.7:
        lock = BankLock(directory / f"{recording.bank}.lock")
        lock.mark(chance.choice(image.noted[-3:]))
        lock.close()
    store = SqliteStorage(directory / recording.bank).open(SCOPE)
    try:
        assert store.check().problems == ()
        found = read_back(store)
    finally:
        store.close()
    allowed = recording.models[image.acknowledged : image.begun + 1]
    assert (found.versions, found.signals) in [(model.versions, model.signals) for model in allowed]
