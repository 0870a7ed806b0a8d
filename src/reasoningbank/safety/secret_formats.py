"""Secrets that are known by their own shape: provider keys, tokens, private keys, passwords inside URLs.

The rules are in ``secret_formats.toml``. The runs of a text say which literals it may hold (``anchors``). A rule looks
for these with ``str.find`` and tries its expression only there, anchored; every repetition that a later part could also
match has a bound. So the time is proportional to the length of the text. Nearly every secret makes a word long, so only
literals in long words count; for one that may stand in a short word the rule says what else the text has then.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from reasoningbank.safety.anchors import Word
from reasoningbank.safety.secret_values import is_chosen, is_drawn, is_words_with_number


class SecretSpan(NamedTuple):
    """A stretch of text that is secret.

    Attributes:
        start, end: Code point offsets, end exclusive.
        kind: The name in the placeholder.
        rank: Of two overlapping spans the lower rank gives the name.
    """

    start: int
    end: int
    kind: str
    rank: int


class Format(NamedTuple):
    """A shape of secret.

    Attributes:
        kind: The name in the placeholder.
        literals: What the secret, or the stretch around it, begins with; empty where only long words are looked at.
        pattern: Tried where a literal stands. The named group is what is replaced, or the whole match without one.
        accepts: Says whether a match is a secret after all.
        wraps: True when the shape alone is proof enough to look for it across line breaks too.
        inside: True when a letter or digit may stand before the literal.
        lead: How many characters before the literal the match begins.
        short: What a text has, in lower case, where the literal stands in a word of fewer than ``LEAST_WORD``
            characters; empty where it never does.
        example: A text with such a secret, with slots for random characters.
        rank: Of two overlapping secrets the lower rank gives the name.
    """

    kind: str
    literals: tuple[str, ...]
    pattern: str
    accepts: Callable[[re.Match[str]], bool] | None = None
    wraps: bool = True
    inside: bool = False
    lead: int = 0
    short: str = ""
    example: str = ""
    rank: int = 1


RANK_PRIVATE_KEY = 0
RANK_FORMAT = 1
RANK_URL = 3

_PLACEHOLDER_VALUE = re.compile(r"[<${\[%*]|\.\.\.|x{4}|X{4}")


def _has_digit(match: re.Match[str]) -> bool:
    return any(map(str.isdigit, match.group("secret")))


def _is_opaque(match: re.Match[str]) -> bool:
    secret = match.group(match.lastgroup or 0)
    return any(map(str.isdigit, secret)) or (len(secret) >= 24 and secret.isalpha())


def _is_basic_credential(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 24) : match.start()].lower()
    if "authorization" in before:
        return True
    secret = match.group("secret").rstrip("=")
    try:
        decoded = base64.b64decode(secret + "=" * (-len(secret) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return ":" in decoded and decoded.isprintable()


def _is_drawn(match: re.Match[str]) -> bool:
    secret = match.group("secret")
    letters = sum(map(str.isalpha, secret))
    return len(secret) >= 16 and letters > 1 and len(secret) - letters > 1 and len(set(secret)) > 8


_RUN = re.compile("[a-z]+|[A-Z]+|[0-9]+")
_LEAST_RUNS = 6


def _is_mixed(match: re.Match[str]) -> bool:
    """Return whether a value changes between letters and digits as often as no name does."""
    secret = match.group(match.lastgroup or 0)
    return sum(map(str.isdigit, secret)) > 1 and len(_RUN.findall(secret)) >= _LEAST_RUNS


_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_CHECKSUM = 4
_MOST_WALLET = 38


def _is_wallet_key(match: re.Match[str]) -> bool:
    """Return whether a word is a private key as wallets export it: its last four bytes are its own checksum."""
    number = 0
    for digit in match.group():
        number = number * len(_BASE58) + _BASE58.index(digit)
    raw = number.to_bytes(_MOST_WALLET).removeprefix(b"\0")
    body, check = raw[:-_CHECKSUM], raw[-_CHECKSUM:]
    return hashlib.sha256(hashlib.sha256(body).digest()).digest()[:_CHECKSUM] == check


def _is_given(match: re.Match[str]) -> bool:
    secret = match.group("secret")
    return is_drawn(secret.removesuffix(":fx")) or is_chosen(secret) or is_words_with_number(secret)


def _is_chosen(match: re.Match[str]) -> bool:
    return is_chosen(match.group("secret"))


_CHECKS: Mapping[str, Callable[[re.Match[str]], bool]] = MappingProxyType(
    {
        "has_digit": _has_digit,
        "is_opaque": _is_opaque,
        "is_basic_credential": _is_basic_credential,
        "is_drawn": _is_drawn,
        "is_chosen": _is_chosen,
        "is_given": _is_given,
        "is_mixed": _is_mixed,
        "is_wallet_key": _is_wallet_key,
    }
)


@cache
def formats() -> tuple[Format, ...]:
    """Return the rules of ``secret_formats.toml``, read once."""
    text = files("reasoningbank.safety").joinpath("secret_formats.toml").read_text(encoding="utf-8")
    return tuple(_format(**rule) for rule in tomllib.loads(text)["format"])


def _format(
    *,
    kind: str,
    literals: list[str],
    pattern: str,
    accepts: str | None = None,
    wraps: bool = True,
    inside: bool = False,
    lead: int = 0,
    short: str = "",
    example: str = "",
    rank: int = RANK_FORMAT,
) -> Format:
    check = None if accepts is None else _CHECKS[accepts]
    return Format(kind, tuple(literals), pattern, check, wraps, inside, lead, short, example, rank)


LEAST_WORD = 18
"""A word of fewer characters holds no secret that is known by its shape alone."""
LEAST_BARE = 48
"""A word of fewer characters holds no secret whose format has no beginning."""
LEAST_WRAPPED = 13
"""A secret that lines cut has this many characters in all, and no white space."""


def long_words(words: Iterable[str]) -> str:
    """Return the long words, one a line."""
    return "\n".join([word for word in words if len(word) >= LEAST_WORD])


_DATABASE_SCHEME = re.compile(
    r"(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|oracle|clickhouse|cockroachdb|kafka|nats"
    r"|cassandra|neo4j|bolt)(?:\+[a-z0-9+]{1,20})?\Z"
)
_DATABASE_PASSWORD = re.compile(
    r"://[^\s:/@\"'`<>]{0,128}:(?![0-9]{1,5}(?:[/?#,\s]|\Z))(?P<secret>[^\s\"'`<>]{1,256})@(?=[A-Za-z0-9_\[$<{.*-])"
)
_URL_PASSWORD = re.compile(r"://[^\s:/@?#\"'`<>]{0,128}:(?P<secret>[^\s/?#\"'`<>]{1,256})@(?=[A-Za-z0-9_\[$<{.*-])")
_AWS_HINTS = ("AKIA", "ASIA", "aws", "AWS", "Aws", "ecret", "ECRET", "[REDACTED:aws-access-key]")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_AWS_REACH = 160
_URL_TOKEN = re.compile(r"://(?P<secret>(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,256})(?::x-oauth-basic)?@(?=[A-Za-z0-9])")
_SOCKET = re.compile(r"@(?:tcp|unix|//)")
_SOCKET_PASSWORD = re.compile(r"(?<![\w.@%+-])[\w.@%+-]{1,64}[:/](?P<secret>[^\s:/@\"'`<>${]{3,128})\Z")
_SOCKET_REACH = 200
_CRYPT_MARKS = ("$6$", "$5$", "$1$", "$9$", "$8$")
_CRYPT_HASH = re.compile(r"\$[15689]\$(?:rounds=[0-9]{1,9}\$)?[A-Za-z0-9./]{1,16}\$[A-Za-z0-9./]{22,86}")
_URL_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,24}\Z")
_PRIVATE_KEY = "PRIVATE KEY"
_PUTTY = "Private-Lines"
_OPENVPN = "OpenVPN Static"
_KEY_MARKS = (_PRIVATE_KEY, _PUTTY, _OPENVPN)
_PRIVATE_KEY_BEGIN = re.compile(r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_PRIVATE_KEY_END = re.compile(r"-{4,5} ?END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_PUTTY_KEY = re.compile(
    r"Private-Lines:[ \t]{0,2}[0-9]{1,4}\s{1,4}(?P<secret>(?:[A-Za-z0-9+/=]{1,80}(?:\s{1,4}|\Z)){1,400})"
)
_STATIC_KEY = re.compile(r"-{4,5}BEGIN OpenVPN Static key V1-{4,5}\s{1,4}(?P<secret>(?:[0-9a-f]{16,64}\s{1,4}){1,64})")
_KEY_GAP = re.compile(r"(?:\\+[nrt]|[\s\"'`+,\\>#*|;()]){1,64}")
_KEY_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Comment|Version|Charset|Hash)[ \t]{0,2}:[^\n\\]{0,120}")
_KEY_WORD = re.compile(r"[A-Za-z0-9/=](?:[A-Za-z0-9/=]|\+(?=[A-Za-z0-9/=+]))*")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]+")
_MAX_KEY = 65_536


def find_formats(text: str, lowered: str, there: Set[str], *, wrapped: bool = False) -> Iterator[SecretSpan]:
    """Yield the secrets in ``text`` that one of the formats describes.

    Args:
        text: The text.
        lowered: The text in lower case; empty to look at the long words alone.
        there: The words that may be in it.
        wrapped: Whether to ask only for those whose shape is proof.
    """
    long = ""
    for literal, rule in _possible(there):
        position = text.find(literal)
        if position < 0 or (wrapped and not rule.wraps):
            continue
        if found := list(_matches(text, literal, rule, position)):
            long = long or long_words(text.split())
            if _is_there(literal, rule, long, lowered):
                yield from found


def find_bare_formats(text: str, words: Sequence[str]) -> Iterator[SecretSpan]:
    """Yield the secrets whose format has no beginning of its own; only long words are looked at.

    Args:
        text: The text.
        words: Its words, or the long ones of them.
    """
    if max(map(len, words), default=0) >= LEAST_BARE:
        long = "\n".join([word for word in words if len(word) >= LEAST_BARE])
        for rule in _bare_formats():
            pattern = _compiled(rule.pattern)
            if pattern.search(long) is not None:
                for match in pattern.finditer(text):
                    if _is_secret(rule, match):
                        yield SecretSpan(*match.span(match.lastgroup or 0), rule.kind, rule.rank)


@cache
def _bare_formats() -> tuple[Format, ...]:
    return tuple(rule for rule in formats() if not rule.literals)


def may_wrap(words: str, there: Set[str]) -> bool:
    """Return whether one of the words, a line each, holds a secret whose shape alone is proof.

    Args:
        words: Put together from the ends of lines.
        there: The words of formats that may be in them.
    """
    for literal, rule in _possible(there):
        position = words.find(literal) if rule.wraps else -1
        if position >= 0 and next(_matches(words, literal, rule, position), None) is not None:
            return True
    return False


def _matches(text: str, literal: str, rule: Format, position: int) -> Iterator[SecretSpan]:
    """Yield what matches a rule from the first place of its literal on."""
    while position >= 0:
        after = position + 1
        if rule.inside or position == 0 or not text[position - 1].isalnum():
            match = _compiled(rule.pattern).match(text, max(0, position - rule.lead))
            if match is not None and _is_secret(rule, match):
                yield SecretSpan(*match.span(match.lastgroup or 0), rule.kind, rule.rank)
                after = match.end()
        position = text.find(literal, after)


_SIGNS = {code: " " for code in range(128) if not chr(code).isalnum()}
_BEGINNING = 2


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile an expression when it is first needed: most never are."""
    return re.compile(pattern)


@cache
def _literals() -> Mapping[str, tuple[Format, ...]]:
    """Return the formats by their literals."""
    found: dict[str, tuple[Format, ...]] = {}
    for rule in formats():
        for literal in rule.literals:
            found[literal] = (*found.get(literal, ()), rule)
    return found


def _possible(there: Set[str]) -> Iterator[tuple[str, Format]]:
    """Yield the literals among the words that may be there, with their formats."""
    literals = _literals()
    return ((literal, rule) for literal in literals.keys() & there for rule in literals[literal])


def shape_words() -> Iterator[Word]:
    """Yield the words without which no secret is known by its shape."""
    yield from (Word(literal, rule.inside) for rule in formats() for literal in rule.literals)
    yield from (Word(hint, inside=True) for hint in (*_AWS_HINTS, *_KEY_MARKS))


def _is_there(literal: str, rule: Format, long: str, lowered: str) -> bool:
    """Return whether a literal stands where one is looked for: in a long word, or beside what its rule asks for."""
    if rule.short:
        return rule.short in lowered
    run = literal.translate(_SIGNS).split()[0]
    if rule.inside or not literal.startswith(run):
        return literal in long
    runs = long.translate(_SIGNS).split()
    if run != literal:
        return run in runs
    return literal in long and any(each.startswith(run[:_BEGINNING]) for each in runs)


def _is_secret(rule: Format, match: re.Match[str]) -> bool:
    return (rule.accepts is None or rule.accepts(match)) and not is_sample(match.group(match.lastgroup or 0))


_SAMPLE_WORDS = frozenset(("password", "passwd", "pass", "pwd", "secret", "token", "user", "example", "yourpassword"))
_SAME = 2


def is_sample(value: str) -> bool:
    """Return whether a value is one that documents show: a word for a secret, an EXAMPLE, one character repeated."""
    return (
        value.lower().replace("_", "").replace("-", "") in _SAMPLE_WORDS
        or "EXAMPLE" in value[-12:]
        or (len(value) > LEAST_WORD and len(set(value[-LEAST_WORD:])) <= _SAME)
    )


def find_aws_secrets(text: str, there: Set[str]) -> Iterator[SecretSpan]:
    """Yield AWS secret keys: 40 characters of three classes within 160 characters after a word about AWS or secrets."""
    if there.isdisjoint(_AWS_HINTS):
        return
    for hint in _AWS_HINTS:
        done = 0
        position = text.find(hint)
        while position >= 0:
            for match in _AWS_SECRET.finditer(text, max(position, done), position + _AWS_REACH):
                whole = _AWS_SECRET.match(text, match.start()) is not None
                if whole and all(any(map(test, match.group())) for test in (str.islower, str.isupper, str.isdigit)):
                    yield SecretSpan(*match.span(), "aws-secret-key", RANK_FORMAT)
            done = max(done, position + _AWS_REACH - 40)
            position = text.find(hint, position + len(hint))


def find_url_passwords(text: str) -> Iterator[SecretSpan]:
    """Yield passwords in ``scheme://user:password@host``; user and host stay readable."""
    position = text.find("://")
    while position >= 0:
        scheme = _URL_SCHEME.search(text, max(0, position - 25), position)
        if scheme is not None:
            database = _DATABASE_SCHEME.match(scheme.group().lower()) is not None
            match = (_DATABASE_PASSWORD if database else _URL_PASSWORD).match(text, position)
            value = "" if match is None else match.group("secret")
            named = match is not None and value == text[position + 3 : match.start("secret") - 1]
            if match is not None and not (named or _PLACEHOLDER_VALUE.match(value) or is_sample(value)):
                kind = "database-password" if database else "url-password"
                yield SecretSpan(*match.span("secret"), kind, RANK_URL)
            elif match is None and (token := _URL_TOKEN.match(text, position)) is not None:
                yield SecretSpan(*token.span("secret"), "url-token", RANK_URL)
        position = text.find("://", position + 3)


def find_socket_passwords(text: str) -> Iterator[SecretSpan]:
    """Yield passwords in ``user:password@tcp(host)`` and ``user/password@//host``, which name no scheme."""
    if "@" not in text or not ("@tcp" in text or "@unix" in text or "@//" in text):
        return
    for socket in _SOCKET.finditer(text):
        match = _SOCKET_PASSWORD.search(text, max(0, socket.start() - _SOCKET_REACH), socket.start())
        if match is not None and not is_sample(match["secret"]):
            yield SecretSpan(*match.span("secret"), "database-password", RANK_URL)


def find_password_hashes(text: str) -> Iterator[SecretSpan]:
    """Yield hashes of passwords in the formats of ``crypt`` that are numbered, as in ``/etc/shadow`` and in routers."""
    for mark in _CRYPT_MARKS if "$" in text else ():
        if mark in text:
            for match in _CRYPT_HASH.finditer(text):
                yield SecretSpan(*match.span(), "password-hash", RANK_FORMAT)
            return


def find_private_keys(text: str, there: Set[str]) -> Iterator[SecretSpan]:
    """Yield whole private key blocks: up to the END line, or as far as the key material goes when that is cut off.

    A BEGIN line without key material, as in a sentence about key files, is not a secret.
    """
    if there.isdisjoint(_KEY_MARKS):
        return
    for mark, pattern in ((_PUTTY, _PUTTY_KEY), (_OPENVPN, _STATIC_KEY)):
        for match in pattern.finditer(text) if mark in text else ():
            last = match.start("secret") + len(match["secret"].rstrip())
            yield SecretSpan(match.start("secret"), last, "private-key", RANK_PRIVATE_KEY)
    if _PRIVATE_KEY not in text:
        return
    begins = list(_PRIVATE_KEY_BEGIN.finditer(text))
    covered = 0
    for number, begin in enumerate(begins):
        limit = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        end = _PRIVATE_KEY_END.search(text, begin.end(), min(limit, begin.end() + _MAX_KEY))
        stop = _end_of_key_material(text, begin.end(), end.start() if end else limit)
        if stop is not None:
            covered = end.end() if end else stop
            yield SecretSpan(begin.start(), covered, "private-key", RANK_PRIVATE_KEY)
    for end in _PRIVATE_KEY_END.finditer(text, covered):
        start = _start_of_key_material(text, covered, end.start())
        if start is not None:
            yield SecretSpan(start, end.end(), "private-key", RANK_PRIVATE_KEY)
        covered = end.end()


def _end_of_key_material(text: str, position: int, limit: int) -> int | None:
    stop: int | None = None
    while position < limit:
        gap = _KEY_GAP.match(text, position, limit) or _KEY_HEADER.match(text, position, limit)
        if gap is not None:
            position = gap.end()
            continue
        word = _KEY_WORD.match(text, position, limit)
        if word is None or not _looks_encoded(word.group()):
            break
        position = stop = word.end()
    return stop


def _start_of_key_material(text: str, floor: int, position: int) -> int | None:
    """Return where the lines of key material begin that end at ``position``; a key whose BEGIN line was cut off."""
    start: int | None = None
    floor = max(floor, position - _MAX_KEY)
    while position > floor:
        line_start = max(floor, text.rfind("\n", floor, position) + 1)
        material = text[line_start:position].strip(" \t\"'`+,\\>#*|")
        if material:
            if _KEY_LINE.fullmatch(material) is None or not _looks_encoded(material):
                break
            start = line_start
        position = line_start - 1
    return start


def _looks_encoded(word: str) -> bool:
    return len(word) >= 20 or re.search(r"[0-9+/=]|[a-z][A-Z]", word) is not None
