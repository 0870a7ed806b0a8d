"""Secrets that are known by their name: ``password=``, ``"api_key": "..."``, ``--token ...`` in any kind of text.

The name says that a value follows; whether the value is the secret itself or only a reference to it (a variable, a
call, a path, a sentence, a placeholder) is decided by ``_is_secret``. In doubt a quoted literal is a secret and a bare
word is not, because bare words are how code and prose refer to secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from reasoningbank.engine.secret_formats import Span

RANK_ASSIGNMENT = 5

_HINTS = ("pass", "pwd", "secret", "key", "token", "credential")
_NAME = re.compile(
    r"(?P<password>password|passwd|passphrase|passwort|pwd)|(?P<secret>secret)|(?P<token>token)|(?P<key>keys?)"
    r"|(?P<credential>credentials?)|(?P<short>pass)"
)
_KEY_OWNER = re.compile(
    r"(?:api|secret|access|account|auth|encryption|signing|master|private|subscription|service|shared|storage)[ _-]?\Z"
)
_API = re.compile(r"api[ _-]?\Z")
_BARE = r"[^\s\"'`,;&<>(){}\[\]|\\]"
_VALUE = (
    r"(?:(?P<quote>\\{0,3}[\"'`])(?P<literal>[^\n]{1,4096}?)(?P=quote)"
    rf"|(?P<bare>{_BARE}{{1,128}})(?P<next>[(\[.{{]?))"
)
_ASSIGNED = re.compile(
    r"(?P<number>[_-]?[0-9]{0,2})(?P<close>\\{0,3}[\"'`]?\]?)"
    rf"(?P<left>[ \t]{{0,8}})(?P<separator>=>|:=|==|!=|=|:|\()(?P<right>[ \t]{{0,8}}){_VALUE}"
)
_OPTION = re.compile(r"--[a-z-]{0,20}\Z")
_OPTION_VALUE = re.compile(rf"[ \t]{{1,4}}{_VALUE}")
_SENTENCE = re.compile(rf"[ \t]{{1,2}}(?:is|was|are)[ \t]{{0,2}}:?[ \t]{{0,2}}{_VALUE}")
_NAMED = re.compile(r"name[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?[a-z0-9_.-]{0,60}\Z")
_NAMED_VALUE = re.compile(
    rf"[\"']?[ \t]{{0,4}},?[ \t]{{0,4}}\n[ \t]{{0,80}}[\"']?value[\"']?[ \t]{{0,4}}:[ \t]{{0,4}}{_VALUE}"
)
_ELEMENT = re.compile(r"<[a-z0-9_:-]{0,40}\Z")
_ELEMENT_VALUE = re.compile(r">(?P<literal>[^<>\n]{1,512})</")
_NETRC = re.compile(r"login[ \t]{1,4}[^\s]{1,128}\s{1,8}\Z")
_NETRC_VALUE = re.compile(r"[ \t]{1,4}(?P<bare>[^\s\"']{3,256})")
_REST = re.compile(f"{_BARE}*")
_LOOK_BACK = 160


class _Form(NamedTuple):
    """A way to write a value after a name: what stands before the name, what may follow it, and the value.

    The certainty says what a bare word is: "certain" a secret, "operator" as the operator tells, "option" a secret
    unless it is only letters, "sentence" a secret only when somebody seems to have chosen it.
    """

    value: re.Pattern[str]
    certainty: str
    before: re.Pattern[str] | None = None
    next: str = ""


_FORMS = (
    _Form(_ASSIGNED, "operator"),
    _Form(_SENTENCE, "sentence", next=" \t"),
    _Form(_OPTION_VALUE, "option", _OPTION, " \t"),
    _Form(_NETRC_VALUE, "certain", _NETRC, " \t"),
    _Form(_ELEMENT_VALUE, "operator", _ELEMENT, ">"),
    _Form(_NAMED_VALUE, "certain", _NAMED),
)

_NOT_A_SECRET = frozenset(
    {
        "required",
        "optional",
        "string",
        "integer",
        "number",
        "boolean",
        "object",
        "array",
        "null",
        "none",
        "nil",
        "true",
        "false",
        "undefined",
        "unset",
        "empty",
        "missing",
        "invalid",
        "incorrect",
        "wrong",
        "correct",
        "expired",
        "hidden",
        "masked",
        "removed",
        "redacted",
        "secret",
        "secrets",
        "password",
        "passwd",
        "passphrase",
        "token",
        "tokens",
        "apikey",
        "api_key",
        "hashed",
        "encrypted",
        "hash",
        "bearer",
        "basic",
        "default",
        "unknown",
        "changed",
        "unchanged",
        "rotated",
        "disabled",
        "enabled",
        "forbidden",
        "mandatory",
        "private",
        "public",
        "value",
        "values",
        "field",
        "fields",
        "prompt",
        "stdin",
        "keyring",
        "keychain",
        "vault",
        "environment",
        "env",
        "placeholder",
        "example",
        "sample",
        "dummy",
        "username",
        "plaintext",
        "plain",
        "text",
        "varchar",
        "return",
        "returns",
        "argument",
        "parameter",
        "reset",
        "forgot",
        "confirm",
        "strong",
        "weak",
        "here",
        "there",
        "please",
        "should",
        "cannot",
        "before",
        "after",
        "within",
        "without",
    }
)
_COMMON_PASSWORD = re.compile(
    r"(?:letmein|changeme|qwert|super-?secret|top-?secret|my-?secret|my-?pass|admin|welcome|iloveyou|hunter|trustno|correct-?horse|monkey|dragon|passw0rd|p@ss)"
    r"[A-Za-z0-9!@#$%^&*]*$",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"[<${%!&*@~/#\[(?+,).;:|=]|-+$|\.\.|x{3,}|your|my[_-]?(?:api|token|key)|insert[_-]|replace[_-]|put[_-]|enter[_-]"
    r"|todo|fixme|redacted|example|dummy|placeholder|arn:|vault:|ssm:|env:|file:|op:|os\.|process\.|sys\.",
    re.IGNORECASE,
)
_ALGORITHM = re.compile(
    r"(?:sha|md|aes|hs|rs|es|ps|rsa|ec|utf|oauth|argon|bcrypt|scrypt|pbkdf|base|x|ed|hmac|v|tls|ssl|http|s|ipv|k|cl|pkcs)"
    r"[-_]?[0-9][\w.-]{0,12}$",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+$")
_IDENTIFIER_OF_A_SECRET = re.compile(
    r"(?=\w*(?:pass|pwd|secret|token|key|cred|user|conf|env|arg))[a-z_][a-z0-9]*(?:_[a-z0-9]+)*$"
)
_CONSTANT_OF_A_SECRET = re.compile(r"(?=\w*(?:PASS|PWD|SECRET|TOKEN|KEY|CRED))[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")
_LOWER_PATH = re.compile(r"[a-z0-9_.~-]+(?:/[a-z0-9_.~-]+)+/?$")
_SLUG = re.compile(r"[a-z]+[0-9]{0,2}(?:[-_.][a-z0-9]{1,12})+$")


def lower_in_place(text: str) -> str:
    """The text in lower case with every character at its own offset (U+0130 alone would become two)."""
    return text.replace("\u0130", "I").lower()


def find_assignments(text: str) -> Iterator[Span]:
    """The values in ``text`` that are given to a name of a secret; the name stays readable."""
    lowered = lower_in_place(text)
    for hint in _HINTS:
        position = lowered.find(hint)
        while position >= 0:
            after = position + len(hint)
            name = _NAME.match(lowered, position)
            if name is not None and name.lastgroup is not None:
                span = _secret_of(text, lowered, name, name.lastgroup)
                if span is not None:
                    yield span
                    after = span.end
            position = lowered.find(hint, after)


def _secret_of(text: str, lowered: str, name: re.Match[str], kind: str) -> Span | None:
    before = max(0, name.start() - _LOOK_BACK)
    if kind == "key" and _KEY_OWNER.search(lowered, before, name.start()) is None:
        return None
    if kind in ("secret", "token") and _API.search(lowered, before, name.start()) is not None:
        kind = "key"
    if kind == "short" and lowered[max(0, name.start() - 1) : name.start()].isalpha():
        return None
    after = lowered[name.end() : name.end() + 1]
    for form in _FORMS:
        if form.next and after not in form.next:
            continue
        if form.before is not None and form.before.search(lowered, before, name.start()) is None:
            continue
        value = form.value.match(lowered, name.end())
        if value is not None:
            return _span(text, name, value, kind, form.certainty)
    return None


def is_reference(value: str) -> bool:
    """Whether the value stands for a secret that is elsewhere: a placeholder, a variable, a path, an algorithm."""
    return (
        _PLACEHOLDER.match(value) is not None
        or "://" in value
        or value.casefold() in _NOT_A_SECRET
        or _ALGORITHM.match(value) is not None
        or _LOWER_PATH.match(value) is not None
        or _CONSTANT_OF_A_SECRET.match(value) is not None
        or not any(character.isalnum() for character in value)
    )


def _span(text: str, name: re.Match[str], match: re.Match[str], kind: str, certainty: str) -> Span | None:
    groups = match.groupdict()
    quoted = groups.get("literal") is not None
    start, end = match.span("literal" if quoted else "bare")
    if quoted:
        secret = _is_secret_literal(kind, text[start:end], called=groups.get("separator") == "(")
    else:
        value = text[start:end].rstrip(".:?")
        secret = _is_secret_word(text, name, match, kind, value, certainty)
        rest = _REST.match(text, end) if secret else None
        end = rest.end() if rest is not None and rest.group() else start + len(value)
    if secret and "[REDACTED:" not in text[start:end]:
        return Span(start, end, _placeholder_kind(text, name, kind), RANK_ASSIGNMENT)
    return None


def _placeholder_kind(text: str, name: re.Match[str], kind: str) -> str:
    if kind in ("password", "short"):
        return "password"
    owner = text[max(0, name.start() - 20) : name.start()].lower().replace("_", "").replace("-", "").replace(" ", "")
    if kind == "key" and owner.endswith("secretaccess"):
        return "aws-secret-key"
    if kind == "key":
        return "api-key" if owner.endswith("api") else "secret-key"
    return kind


def _is_secret_literal(kind: str, value: str, *, called: bool) -> bool:
    if is_reference(value) or (called and kind != "password"):
        return False
    digits, letters = _digits_and_letters(value)
    if any(map(str.isspace, value)):
        few = kind == "password" and len(value.split()) <= 8
        return few and digits > 0 and re.search(r"\w[!@#$%^&*]\w", value) is not None
    slug = _SLUG.match(value) is not None
    if kind == "short":
        return digits > 0 and letters > 0 and len(value) >= 5
    if kind == "secret":
        return len(value) >= 4 and not slug and (digits > 0 or len(value) >= 8)
    if kind in ("token", "credential"):
        return len(value) >= 8 and not slug and (digits > 0 or (len(value) >= 24 and letters == len(value)))
    if digits or len(value) > digits + letters:
        return len(value) >= 4 and not (kind == "key" and slug and len(value) < 16)
    titled = value[:1].isupper() and value[1:].islower() and _COMMON_PASSWORD.match(value) is None
    return not called and value.isascii() and len(value) >= 6 and not titled


def _is_secret_word(
    text: str, name: re.Match[str], match: re.Match[str], kind: str, value: str, certainty: str
) -> bool:
    groups = match.groupdict()
    separator = groups.get("separator")
    if is_reference(value) or separator in ("==", "!=", "(") or groups.get("next"):
        return False
    digits, letters = _digits_and_letters(value)
    mixed = digits > 0 and letters > 0
    common = _COMMON_PASSWORD.match(value) is not None and len(value) >= 7
    tight = separator == "=" and not groups.get("left") and not groups.get("right")
    if certainty == "certain" or (tight and _is_setting(text, name)):
        if kind in ("token", "credential"):
            return mixed and len(value) >= 8 and not _SLUG.match(value)
        return len(value) >= 4 and (letters < len(value) or len(value) >= 6)
    if kind == "short":
        return False
    if certainty == "sentence":
        ends = text[match.start("bare") + len(value) : match.end("bare") + 2].strip(".,;:!?)")
        named = kind == "password" and value[0].isalpha() and value.isalnum() and not ends.strip()
        return mixed and len(value) >= 6 and (named or _looks_chosen(value))
    if _REFERENCE.match(value) or _IDENTIFIER_OF_A_SECRET.match(value):
        return common
    if kind in ("token", "credential"):
        return mixed and len(value) >= 12 and not _SLUG.match(value)
    if kind in ("key", "secret") and (_SLUG.match(value) or len(value) < 6):
        return False
    if mixed or common:
        return len(value) >= 5
    if digits:
        return len(value) >= 5 if kind == "password" else kind == "key" and tight and len(value) >= 8
    if len(value) > letters > 0:
        return kind == "password" and len(value) >= 8 and re.search(r"\w[!@#$%^&*]", value) is not None
    followed = text[match.end("bare") : match.end("bare") + 1]
    return tight and len(value) >= 6 and value.islower() and followed not in (",", ")")


def _is_setting(text: str, name: re.Match[str]) -> bool:
    """Whether the name is an environment variable or a query parameter, where a bare word is a literal."""
    if name.start() == 0:
        return text[: name.end()].isupper()
    if text[name.start() : name.end()].isupper():
        return True
    return text[max(0, name.start() - 40) : name.start()].rstrip("_-abcdefghijklmnopqrstuvwxyz")[-1:] in ("?", "&")


def _looks_chosen(value: str) -> bool:
    mixed = any(map(str.islower, value)) and any(map(str.isupper, value)) and any(map(str.isdigit, value))
    return mixed or any(character in "!@#$%^&*" for character in value)


def _digits_and_letters(value: str) -> tuple[int, int]:
    return sum(map(str.isdigit, value)), sum(map(str.isalpha, value))
