"""Weights run only when they are the published file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.embedding.models import granite, minilm, verify_file
from reasoningbank.embedding.onnx_session import OnnxEmbedder
from reasoningbank.errors import ModelMissing


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@promise(
    "embedding:hash",
    "Weights run only when their sha256 is the published one; the check is made once per file and repeated when it "
    "changed.",
    source="issue (Choice of models)",
)
@pytest.mark.parametrize("model", [granite, minilm])
def test_weights_with_a_wrong_hash_do_not_run(model: Callable[..., OnnxEmbedder], tmp_path: Path) -> None:
    forged = tmp_path / "model.onnx"
    forged.write_bytes(b"something else")
    embedder = model(cache=tmp_path / "cache", path=forged)
    with pytest.raises(ModelMissing, match="not the published one"):
        embedder.embed_queries(["text"])
    with pytest.raises(ModelMissing, match="cannot be read"):
        model(cache=tmp_path / "cache", path=tmp_path / "absent").embed_queries(["text"])


@promise("embedding:hash")
def test_a_file_that_changed_after_its_check_is_checked_again(tmp_path: Path) -> None:
    file, cache = tmp_path / "weights", tmp_path / "cache"
    file.write_bytes(b"good")
    verify_file(file, _hash(b"good"), cache=cache)
    verify_file(file, _hash(b"good"), cache=cache)
    file.write_bytes(b"evil")
    os.utime(file, ns=(1, 1))
    with pytest.raises(ModelMissing):
        verify_file(file, _hash(b"good"), cache=cache)


@promise("embedding:hash")
def test_a_checked_file_is_not_hashed_again(tmp_path: Path) -> None:
    file, cache = tmp_path / "weights", tmp_path / "cache"
    file.write_bytes(b"good")
    verify_file(file, _hash(b"good"), cache=cache)
    status = file.stat()
    file.write_bytes(b"evil")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    verify_file(file, _hash(b"good"), cache=cache)
    assert cache.stat().st_mode & 0o077 == 0


@promise("embedding:hash")
@pytest.mark.parametrize("stamp", [b"", b"[]", b"{", b"\xff\xfe"])
def test_a_damaged_stamp_or_an_unwritable_cache_only_costs_time(tmp_path: Path, stamp: bytes) -> None:
    file, cache = tmp_path / "weights", tmp_path / "cache"
    file.write_bytes(b"good")
    (cache / "verified").mkdir(parents=True)
    (cache / "verified" / f"{_hash(b'good')}.json").write_bytes(stamp)
    verify_file(file, _hash(b"good"), cache=cache)
    blocked = tmp_path / "blocked"
    blocked.write_bytes(b"a file where the cache should be")
    verify_file(file, _hash(b"good"), cache=blocked)
