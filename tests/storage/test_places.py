"""What a URL of a bank means, and what is refused because it means something else than it seems."""

from __future__ import annotations

from pathlib import Path

import pytest

from promises import promise
from reasoningbank.errors import ConfigurationError
from reasoningbank.storage import open_storage
from reasoningbank.types.scope import Scope

SCOPE = Scope(tenant="t", project="p")


@promise(
    "storage:forgotten-slash",
    "A URL that lacks the fourth slash of an absolute path is refused with a hint, instead of making a bank below the "
    "working directory.",
    source="issue 2 storage; note of the first session",
)
def test_an_absolute_path_with_a_slash_too_few_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``sqlite://`` in front of an absolute path is a relative one, as the convention has it: nobody wants that."""
    monkeypatch.chdir(tmp_path)
    forgotten = f"sqlite://{tmp_path / 'banks' / 'one.db'}"
    with pytest.raises(ConfigurationError) as caught:
        open_storage(forgotten, home=tmp_path)
    assert "four" in caught.value.hint or "sqlite:////" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


@promise("storage:forgotten-slash")
@pytest.mark.parametrize("path", ["banks/one.db", "./tmp/one.db", "one.db", "new/deep/one.db"])
def test_relative_paths_are_taken_as_they_are(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    open_storage(f"sqlite:///{path}", home=tmp_path).open(SCOPE).close()
    assert (tmp_path / path).exists()
