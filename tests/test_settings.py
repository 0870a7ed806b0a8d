"""Settings: where they come from, in which order, and what happens to unknown ones."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import ConfigurationError
from reasoningbank.settings import Settings, load_settings, local_tenant, normal_remote, project_of


@promise(
    "settings:precedence", "The environment wins over the file, the file over the default.", source="issue Package"
)
def test_the_environment_wins_over_the_file_and_the_file_over_the_default(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(
        'tenant = "from-file"\nembedder_timeout = 5.5\nbackups = 3\n', encoding="utf-8"
    )
    settings = load_settings({"REASONINGBANK_HOME": str(tmp_path), "REASONINGBANK_TENANT": "from-environment"})
    assert (settings.tenant, settings.embedder_timeout, settings.backups) == ("from-environment", 5.5, 3)
    assert (settings.home, settings.embedder) == (tmp_path, "local")


@promise("settings:unknown", "An unknown or unusable setting is an error with a suggestion.", source="issue Package")
def test_an_unknown_or_unusable_setting_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings({"REASONINGBANK_HOME": str(tmp_path), "REASONINGBANK_TENNANT": "x"})
    assert "REASONINGBANK_TENANT" in caught.value.hint
    with pytest.raises(ConfigurationError):
        load_settings({"REASONINGBANK_HOME": str(tmp_path), "REASONINGBANK_BACKUPS": "many"})
    for text in ("nonsense = 1", "backups = [1]", "tenant = 5", "not toml at all"):
        (tmp_path / "settings.toml").write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError):
            load_settings({"REASONINGBANK_HOME": str(tmp_path)})


@promise("settings:secret", "A key is never shown.", source="DESIGN D10")
def test_a_key_is_never_shown() -> None:
    assert "hush" not in repr(Settings(home=Path(), embedder_key="hush", llm_key="hush"))


@promise(
    "settings:switch",
    "A switch is true, 1, yes, on or false, 0, no, off; anything else is an error.",
    source="DESIGN 3 settings",
)
def test_a_switch_is_read_as_it_is_spelt_and_nothing_else_is_one(tmp_path: Path) -> None:
    def paid(value: str) -> bool:
        return load_settings({"REASONINGBANK_HOME": str(tmp_path), "REASONINGBANK_PAID_CALLS": value}).paid_calls

    assert [paid(value) for value in ("true", "1", "ON", "yes")] == [True] * 4
    assert [paid(value) for value in ("false", "0", "Off", "no")] == [False] * 4
    with pytest.raises(ConfigurationError):
        paid("perhaps")
    (tmp_path / "settings.toml").write_text("paid_calls = false\n", encoding="utf-8")
    assert not load_settings({"REASONINGBANK_HOME": str(tmp_path)}).paid_calls


@promise("settings:precedence")
def test_the_language_model_is_a_setting(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text('llm = "openai:small"\nllm_daily_tokens = 5000\n', encoding="utf-8")
    settings = load_settings({"REASONINGBANK_HOME": str(tmp_path), "REASONINGBANK_LLM_URL": "http://127.0.0.1:1/v1"})
    assert (settings.llm, settings.llm_url, settings.llm_key) == ("openai:small", "http://127.0.0.1:1/v1", "")
    assert (settings.llm_daily_tokens, settings.llm_timeout, settings.llm_votes) == (5000, 0.0, 1)


@promise(
    "settings:project",
    "A project is its normalised remote and the path inside, else its real path.",
    source="DESIGN D9",
)
@pytest.mark.parametrize(
    "remote",
    [
        "https://github.com/acme/shop.git",
        "https://user:token@github.com/acme/shop",
        "git@github.com:acme/shop.git",
        "ssh://git@github.com:22/acme/shop.git/",
        "https://GitHub.com/acme/shop/",
    ],
)
def test_all_spellings_of_a_remote_are_one_project(remote: str) -> None:
    assert normal_remote(remote) == "github.com/acme/shop"


@promise("settings:project")
def test_a_project_is_its_remote_and_the_path_inside_else_its_real_path(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    assert project_of(plain) == str(plain.resolve())
    clones = []
    for name in ("one", "two"):
        clone = tmp_path / name
        (clone / "packages" / "api").mkdir(parents=True)
        for command in (["init", "-q"], ["remote", "add", "origin", "git@github.com:acme/shop.git"]):
            subprocess.run(["git", "-C", str(clone), *command], check=True, capture_output=True)
        clones.append(clone)
    assert project_of(clones[0]) == project_of(clones[1]) == "github.com/acme/shop"
    assert project_of(clones[0] / "packages" / "api") == "github.com/acme/shop/packages/api"
    (tmp_path / "link").symlink_to(clones[0])
    assert project_of(tmp_path / "link") == "github.com/acme/shop"


@promise("settings:project")
@given(st.text(max_size=60))
def test_any_remote_has_a_name(remote: str) -> None:
    assert normal_remote(remote)


@promise("settings:tenant", "The local user is the tenant of a command that names none.", source="DESIGN D9")
def test_the_local_user_is_the_tenant_of_a_command() -> None:
    assert local_tenant().strip()


@promise(
    "settings:url",
    "A URL of a bank that holds a NUL, also an escaped one, is refused before anything is opened.",
    source="issue 10 (One error tree)",
)
@pytest.mark.parametrize("url", ["sqlite:////tmp/a\0b", "sqlite:////tmp/a%00b", "postgresql://a\0b"])
def test_a_url_with_a_nul_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="NUL"):
        Bank.open(url, tenant="acme", project="shop")
