"""Texts with and without secrets, made at test time from the files in tests/safety and a seeded generator."""

from __future__ import annotations

import base64
import hashlib
import random
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

LOOKED_AT = "looked at"
KEPT_APART = "kept apart"
LOOKED_AT_LATER = "looked at later"
KEPT_APART_LATER = "kept apart later"

_FOLDER = Path(__file__).resolve().parent / "safety"
_SLOT = re.compile("\u2039(\\w+)(?::(\\d+))?\u203a")
_MARKED = re.compile(r"⟦(.*?)⟧", re.DOTALL)
_DISGUISED = re.compile(r"@(\w+)\((.*)\)", re.DOTALL)

_BASE64 = string.ascii_letters + string.digits + "+/"
_URL_SAFE = string.ascii_letters + string.digits + "-_"
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_ALPHABETS = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "an": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "low": string.ascii_lowercase + string.digits,
    "UP": string.ascii_uppercase + string.digits,
    "UP32": string.ascii_uppercase + "234567",
    "UPBECH": _BECH32.upper(),
    "lowbech": _BECH32,
    "num": string.digits,
    "b64": _BASE64,
    "url": _URL_SAFE,
}
_WORDS = (
    *("maple", "tiger", "copper", "harbor", "window", "falcon", "garnet", "meadow", "lantern", "quartz", "saddle"),
    *("thunder", "velvet", "walnut", "ember", "canyon", "breeze", "pepper", "rocket", "silver"),
)


@dataclass(frozen=True)
class SampleText:
    """Holds one text, the kind it stands for, and what must not stay readable of it (empty for a harmless text)."""

    group: str
    kind: str
    text: str
    secrets: tuple[str, ...]


@cache
def texts_with_secrets(seed: int = 13) -> tuple[SampleText, ...]:
    """Make the texts with a secret; the same seed makes the same values."""
    return tuple(_read(_FOLDER / "secret_texts.txt", seed))


@cache
def harmless_texts(seed: int = 13) -> tuple[SampleText, ...]:
    """Make the texts without one; the same seed makes the same values."""
    return tuple(_read(_FOLDER / "harmless_texts.txt", seed))


def fill(example: str, seed: int) -> str:
    """Return an example with a random value in each of its slots."""
    return _sample("", "", example, random.Random(seed)).text


def is_readable(secret: str, text: str) -> bool:
    """Say whether a text shows half of a secret, at least six characters of it, in one piece."""
    width = max(min(len(secret), 6), len(secret) // 2)
    return any(secret[at : at + width] in text for at in range(len(secret) - width + 1))


def _read(path: Path, seed: int) -> list[SampleText]:
    texts: list[SampleText] = []
    group = kind = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        if line.startswith("## "):
            group, _, kind = line[3:].partition(": ")
        elif line and not line.startswith("# "):
            texts.append(_sample(group, kind, line, random.Random(f"{seed} {path.name} {number}")))
    return texts


def _sample(group: str, kind: str, line: str, dice: random.Random) -> SampleText:
    filled = _SLOT.sub(lambda slot: _value(slot[1], int(slot[2] or 0), dice), line.replace("↵", "\n"))
    secrets: list[str] = []

    def unmark(marked: re.Match[str]) -> str:
        disguised = _DISGUISED.fullmatch(marked[1])
        if disguised is None:
            secrets.extend(marked[1].split("\n"))
            return marked[1]
        disguise, plain = _DISGUISES[disguised[1]], disguised[2]
        shown = disguise(plain)
        value = max(re.split(r"[=:@\s\"/]+", plain), key=len)
        secrets.append(value)
        if disguised[1] in _BY_CHARACTER:
            secrets.append(disguise(value))
        else:
            secrets.extend(re.findall(r"[^'\"\s]{4,}", shown))
        return shown

    text = _MARKED.sub(unmark, filled)
    return SampleText(group, kind, text, tuple(secrets))


def _value(name: str, length: int, dice: random.Random) -> str:
    if name in _ALPHABETS:
        return _random(_ALPHABETS[name], length, dice)
    if name in ("spaced", "dashed"):
        return (" " if name == "spaced" else "-").join(_random(_ALPHABETS["an"], length, dice))
    if name == "lines":
        return "\n".join(_random(_BASE64, 64, dice) for _ in range(length))
    return _NAMED[name](dice)


def _random(alphabet: str, length: int, dice: random.Random) -> str:
    """Draw characters as a generator of keys does; at least one is a digit where the alphabet has digits."""
    drawn = [dice.choice(alphabet) for _ in range(length)]
    digits = [character for character in alphabet if character.isdigit()]
    if length > 1 and digits and not any(character.isdigit() for character in drawn):
        drawn[dice.randrange(1, length - 1) if length > 2 else 1] = dice.choice(digits)
    return "".join(drawn)


def _password(dice: random.Random) -> str:
    """Choose a password as people do: a word with digits, random characters, some words, letters read as digits."""
    style = dice.randrange(4)
    first, second = dice.sample(_WORDS, 2)
    if style == 0:
        return f"{first.capitalize()}{dice.randrange(10, 9999)}{dice.choice('!#*+')}"
    if style == 1:
        return _random(string.ascii_letters + string.digits + "!#*+_-", dice.randrange(12, 20), dice)
    if style == 2:
        return f"{first}-{second}-{dice.randrange(10, 999)}"
    return f"{first}{dice.choice('_.')}{second}".translate(str.maketrans("aeo", "430")) + dice.choice("!7#1")


def _plain_password(dice: random.Random) -> str:
    """Choose one of letters and digits, which every shell and address takes as it is."""
    if dice.randrange(2):
        return f"{dice.choice(_WORDS).capitalize()}{dice.choice(_WORDS).capitalize()}{dice.randrange(10, 9999)}"
    return _random(string.ascii_letters + string.digits, dice.randrange(12, 18), dice)


def _password_like_a_name(dice: random.Random) -> str:
    """Choose a password that a program could have as a name: words with digits at the end and hardly a sign."""
    first, second = dice.sample(_WORDS, 2)
    number = dice.randrange(1, 2500)
    return dice.choice(
        (
            f"{first.capitalize()}.{second.capitalize()}{number}",
            f"{first}_{second}{number}",
            f"{first}-{second}{number}",
            f"{first}{second}{number}",
        )
    )


def _wallet_key(dice: random.Random) -> str:
    """Make a private key of Bitcoin as wallets export it: base58 with a checksum."""
    raw = b"\x80" + dice.randbytes(32) + dice.choice((b"", b"\x01"))
    raw += hashlib.sha256(hashlib.sha256(raw).digest()).digest()[:4]
    number, digits = int.from_bytes(raw), ""
    while number:
        number, digit = divmod(number, len(_BASE58))
        digits = _BASE58[digit] + digits
    return digits


def _uuid(dice: random.Random) -> str:
    digits = _random(_ALPHABETS["hex"], 32, dice)
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _signed_token(dice: random.Random) -> str:
    head = _base64url('{"alg":"HS256","typ":"JWT"}')
    body = _base64url(f'{{"sub":"{dice.randrange(10**9)}","iat":1767225600,"role":"service"}}')
    return f"{head}.{body}.{_random(_URL_SAFE, 43, dice)}"


def _private_key_in_base64(dice: random.Random) -> str:
    kind = "PRIVATE KEY"
    return _base64(f"-----BEGIN {kind}-----\n{_value('lines', 4, dice)}\n-----END {kind}-----\n")


def _seed_phrase(dice: random.Random) -> str:
    return " ".join(dice.sample(_WORDS, 12))


_NAMED: dict[str, Callable[[random.Random], str]] = {
    "pw": _password,
    "pws": _plain_password,
    "pn": _password_like_a_name,
    "wif": _wallet_key,
    "uuid": _uuid,
    "jwt": _signed_token,
    "base64pem": _private_key_in_base64,
    "seed": _seed_phrase,
}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _base64url(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _pieces(text: str, joint: str) -> str:
    size = max(4, len(text) // 5)
    bounds = [*range(0, len(text), size), len(text)]
    return joint.join(f'"{text[start:end]}"' for start, end in pairwise(bounds) if start < end)


def _full_width(text: str) -> str:
    return "".join(chr(ord(character) + 0xFEE0) if "!" <= character <= "~" else character for character in text)


_DISGUISES: dict[str, Callable[[str], str]] = {
    "base64": _base64,
    "base64url": _base64url,
    "hex": lambda text: text.encode().hex(),
    "spacedhex": lambda text: text.encode().hex(" "),
    "unicode": lambda text: "".join(f"\\u{ord(character):04x}" for character in text),
    "hexescape": lambda text: "".join(f"\\x{ord(character):02x}" for character in text),
    "octal": lambda text: "".join(f"\\{ord(character):03o}" for character in text),
    "percent": lambda text: "".join(f"%{ord(character):02X}" for character in text),
    "entities": lambda text: "".join(f"&#{ord(character)};" for character in text),
    "hexentities": lambda text: "".join(f"&#x{ord(character):x};" for character in text),
    "fullwidth": _full_width,
    "zerowidth": lambda text: "\u200b".join(text),
    "plus": lambda text: _pieces(text, " + "),
    "comma": lambda text: _pieces(text, ", "),
    "dot": lambda text: _pieces(text, " . "),
    "adjacent": lambda text: _pieces(text, " "),
}

_BY_CHARACTER = frozenset(
    {"unicode", "hexescape", "octal", "percent", "entities", "hexentities", "fullwidth", "zerowidth"}
)
