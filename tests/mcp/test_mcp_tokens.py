"""The files that hold bearer tokens."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.errors import ConfigurationError
from reasoningbank.mcp.tokens import TENANTS_FILE, TOKEN_FILE, load_grants

SECRET = "a-token-of-another-tenant"


def tenants(home: Path, entries: object) -> None:
    """Writes the file of tenants, private."""
    path = home / TENANTS_FILE
    path.write_text(entries if isinstance(entries, str) else json.dumps(entries))
    path.chmod(0o600)


@promise(
    "mcp:http-token-files",
    "Token files are private plain files; links and files others can read are refused; tokens are never shown.",
    source="spec/engineering B.3 (21)",
)
def test_the_first_start_makes_one_private_token_that_later_starts_keep(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: load_grants(home, "acme"), range(8)))
    file = home / TOKEN_FILE
    token = file.read_text().strip()
    assert len(token) >= 40
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert [path.name for path in home.iterdir()] == [TOKEN_FILE]
    grant = load_grants(home, "acme").of(token)
    assert grant is not None
    assert grant.tenant == "acme"
    for wrong in ("", token[:-1], token + "x", token.swapcase(), "\ud800"):
        assert load_grants(home, "acme").of(wrong) is None


@promise("mcp:http-token-files")
def test_further_tenants_come_from_a_list_of_hashes_or_tokens(tmp_path: Path) -> None:
    load_grants(tmp_path, "acme")
    digest = hashlib.sha256(SECRET.encode()).hexdigest()
    tenants(tmp_path, [{"tenant": "Globex", "sha256": digest}, {"tenant": "initech", "token": SECRET * 2}])
    grants = load_grants(tmp_path, "acme")
    assert [grant and grant.tenant for grant in (grants.of(SECRET), grants.of(SECRET * 2), grants.of(digest))] == [
        "Globex",
        "initech",
        None,
    ]


@promise("mcp:http-token-files")
@pytest.mark.parametrize(
    "entries",
    [
        "",
        "{",
        "[" * 100_000,
        {},
        ["x"],
        [{"tenant": "x"}],
        [{"tenant": " ", "token": SECRET}],
        [{"tenant": "x", "token": "short"}],
        [{"tenant": "x", "sha256": "abc"}],
        [{"tenant": "x", "sha256": "zz" * 32}],
        [{"tenant": "x", "token": SECRET, "admin": True}],
        [{"tenant": "x", "token": SECRET}, {"tenant": "y", "token": SECRET}],
    ],
)
def test_an_unusable_list_of_tenants_is_refused_without_showing_a_token(entries: object, tmp_path: Path) -> None:
    load_grants(tmp_path, "acme")
    tenants(tmp_path, entries)
    with pytest.raises(ConfigurationError) as caught:
        load_grants(tmp_path, "acme")
    assert SECRET not in f"{caught.value} {caught.value.hint}"


@pytest.mark.skipif(os.name != "posix", reason="modes and links as on POSIX")
@promise("mcp:http-token-files")
@pytest.mark.parametrize("name", [TOKEN_FILE, TENANTS_FILE])
def test_a_token_file_that_is_a_link_or_readable_by_others_is_refused(name: str, tmp_path: Path) -> None:
    load_grants(tmp_path, "acme")
    tenants(tmp_path, [])
    file = tmp_path / name
    for mode in (0o640, 0o604, 0o660):
        file.chmod(mode)
        with pytest.raises(ConfigurationError, match="can be read by others"):
            load_grants(tmp_path, "acme")
    file.chmod(0o600)
    load_grants(tmp_path, "acme")

    real = tmp_path / "elsewhere"
    file.rename(real)
    file.symlink_to(real)
    with pytest.raises(ConfigurationError, match="symbolic link"):
        load_grants(tmp_path, "acme")
    real.unlink()
    with pytest.raises(ConfigurationError, match="symbolic link"):
        load_grants(tmp_path, "acme")
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ConfigurationError):
        load_grants(tmp_path, "acme")


@promise("mcp:http-token-files")
def test_an_empty_token_file_is_refused(tmp_path: Path) -> None:
    load_grants(tmp_path, "acme")
    (tmp_path / TOKEN_FILE).write_text("\n")
    with pytest.raises(ConfigurationError, match="no token"):
        load_grants(tmp_path, "acme")
