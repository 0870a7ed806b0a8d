"""How many secrets are found, and how many harmless texts are changed, in texts written before the rules were read."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.safety.secret_formats import Format, formats
from reasoningbank.safety.secrets import PLACEHOLDER, redact
from secret_texts import (
    KEPT_APART,
    KEPT_APART_LATER,
    LOOKED_AT,
    LOOKED_AT_LATER,
    SampleText,
    fill,
    harmless_texts,
    is_readable,
    texts_with_secrets,
)

_FOUND = 0.95
_FALSE = 0.005
_NAMES = re.compile("pass|token|secret|key", re.IGNORECASE)
_LIBRARY = ("getpass.py", "smtplib.py", "imaplib.py", "ftplib.py", "netrc.py", "poplib.py", "secrets.py", "hmac.py")


def _library_lines() -> list[str]:
    """Two hundred lines of the standard library that speak of passwords, tokens, secrets and keys."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    lines = [
        line
        for name in (*_LIBRARY, "urllib/request.py", "token.py", "tokenize.py", "ssl.py", "configparser.py")
        for line in folder.joinpath(name).read_text(encoding="utf-8").splitlines()
        if _NAMES.search(line)
    ]
    return lines[:: max(1, len(lines) // 200)][:200]


@promise(
    "hygiene:kinds",
    "Of 400 texts with a secret in 40 kinds, written before the rules were read, at least 95 % lose it, disguised ones "
    "among them; of at least 600 harmless ones at most 0.5 % are changed.",
    source="issue Hard to break 4",
)
@pytest.mark.parametrize("group", [LOOKED_AT, KEPT_APART])
def test_secrets_of_forty_kinds_are_found(group: str) -> None:
    texts = [text for text in texts_with_secrets() if text.group == group]
    assert len(texts) == 200 and len({text.kind for text in texts}) == 20
    assert len(readable := _readable(texts)) <= (1 - _FOUND) * len(texts), readable


@promise(
    "hygiene:plain-passwords",
    "A password that reads like a name, such as two words with a number, is replaced behind its name, and so is any "
    "value in a block of YAML or behind any scheme of an Authorization header; honest code with such names stays.",
    source="issue Hard to break 4",
)
@pytest.mark.parametrize("group", [LOOKED_AT_LATER, KEPT_APART_LATER])
def test_secrets_that_read_like_names_are_found(group: str) -> None:
    texts = [text for text in texts_with_secrets() if text.group == group]
    assert len(texts) == 70 and len({text.kind for text in texts}) == 7
    assert len(readable := _readable(texts)) <= (1 - _FOUND) * len(texts), readable


def _readable(texts: Sequence[SampleText]) -> list[tuple[str, str]]:
    """Return the texts of which a secret stays readable."""
    return [
        (text.kind, text.text)
        for text in texts
        if any(is_readable(secret, redact(text.text).text) for secret in text.secrets)
    ]


@promise("hygiene:kinds")
@pytest.mark.parametrize(
    "text",
    [
        r"\u0070assword: Zq81mmKx",
        r"\u{70}assword: Zq81mmKx",
        r"\U00000070assword: Zq81mmKx",
        r"\x{70}assword: Zq81mmKx",
        'password="S3cr3t.Zq8"',
        "password=S3mQx2Lp",
        "token=dnQSIZIovwBEJockZq81mmKxyR",
        "auth_token = dnQSIZIovwBEJockZqKxmxRyXwMvWb",
        "ALTER USER app WITH PASSWORD 'correct-Zq81mmKx-7';",
        "create role app login password 'walnut-harbour-7'",
        'bcrypt.checkpw("Zq81mmKx!", stored)',
        '"adminPassword": {"type": "string", "value": "Zq81mmKx"}',
        "DBPassword:\n  Type: String\n  NoEcho: true\n  Default: Zq81mmKx",
        'variable "db_password" {\n  type = string\n  default = "Zq81mmKx"\n}',
        "Passwort walnut_Harbour7",
        "crypto isakmp key Zq81mmKx address 192.0.2.7",
        "winrm -u ops -p Zq81mmKx",
    ],
)
def test_a_secret_is_found_however_its_name_or_its_value_is_written(text: str) -> None:
    assert redact(text).findings, text


@promise("hygiene:kinds")
@pytest.mark.parametrize(
    "text",
    [
        "private_key: Ed25519PrivateKey | None",
        "key_type: x25519",
        "password_hash = sha512-crypt",
        "encoding token: cl100k_base",
        "token: v1.2.3-beta",
        "signing_key = es256k",
        "token_provider = getUserNameFromDatabaseByIdentifier",
        "password:\n  type: string\n  default: null",
        '"password": {"type": "string", "minLength": 8}',
        "PasswordLength: {default: 12}",
        "token:\n    default: ${TOKEN}",
        "Set password_encryption to scram-sha-256 before creating roles.",
        "Pass -o DPkg::Lock::Timeout=120 to apt-get so that it waits.",
        "The login page is /auth/login2?next=%2Fdashboard",
        "alter user settings, then log in with password 'required'",
    ],
)
def test_algorithms_versions_and_names_of_programs_are_no_secrets(text: str) -> None:
    assert redact(text).findings == (), text


@promise("hygiene:kinds")
def test_harmless_texts_are_left_alone() -> None:
    texts = [text.text for text in harmless_texts()] + _library_lines()
    changed = [text for text in texts if redact(text).findings]
    assert len(texts) >= 600
    assert len(changed) <= _FALSE * len(texts), changed


@promise(
    "hygiene:formats",
    "Every format of secret_formats.toml has an example: with a value it is replaced, with its slots open it is not.",
    source="issue Hard to break 4",
)
@pytest.mark.parametrize("rule", formats(), ids=lambda rule: " ".join((rule.kind, *rule.literals[:1])))
def test_every_example_of_a_format_is_replaced_and_its_pattern_is_not(rule: Format) -> None:
    for seed in range(4):
        filled = redact(fill(rule.example, seed))
        assert PLACEHOLDER.search(filled.text), filled.text
    shown = re.sub("\u2039[^\u203a]*\u203a", "<...>", rule.example)
    assert redact(shown).findings == ()
