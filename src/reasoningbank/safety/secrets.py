"""Find secrets in text and put typed placeholders in their place.

The name says that a value follows; whether the value is the secret itself or only a reference to it (a variable, a
call, a path, a sentence, a placeholder) is decided by ``_is_secret``. In doubt a quoted literal is a secret and a bare
word is not, because bare words are how code and prose refer to secrets.

Three sources are combined: the detectors of ``redact-secret`` (about 130 providers, in Rust), the shapes of
``secret_formats`` and the names of ``secret_assignments``. The reasons and the numbers are in
docs/decisions/0003-secrets-and-tokens.md.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from reasoningbank.errors import BankError, ModelMissing
from reasoningbank.safety.secret_formats import (
    SecretSpan,
    find_aws_secrets,
    find_formats,
    find_private_keys,
    find_url_passwords,
)
from reasoningbank.safety.unicode import normalise

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
    """Return the text in lower case with every character at its own offset (U+0130 alone would become two)."""
    return text.replace("\u0130", "I").lower()


def find_assignments(text: str) -> Iterator[SecretSpan]:
    """Yield the values in ``text`` that are given to a name of a secret; the name stays readable."""
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


def _secret_of(text: str, lowered: str, name: re.Match[str], kind: str) -> SecretSpan | None:
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
    """Return whether the value only stands for a secret: a placeholder, a variable, a path, an algorithm."""
    return (
        _PLACEHOLDER.match(value) is not None
        or "://" in value
        or value.casefold() in _NOT_A_SECRET
        or _ALGORITHM.match(value) is not None
        or _LOWER_PATH.match(value) is not None
        or _CONSTANT_OF_A_SECRET.match(value) is not None
        or not any(character.isalnum() for character in value)
    )


def _span(text: str, name: re.Match[str], match: re.Match[str], kind: str, certainty: str) -> SecretSpan | None:
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
        return SecretSpan(start, end, _placeholder_kind(text, name, kind), RANK_ASSIGNMENT)
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
    """Return whether the name is an environment variable or a query parameter, where a bare word is a literal."""
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


PLACEHOLDER = re.compile(r"\[REDACTED:[a-z][a-z0-9-]{1,63}\]")

_RANK_DETECTOR = 2
_RANK_DETECTOR_BY_CONTEXT = 6
_MAX_ROUNDS = 8
_MAX_JOINTS = 3
_WINDOW = 4_096
_WINDOW_OVERLAP = 768
_WINDOW_MARGIN = 128
_JOINT = re.compile(r"\n(?<=[A-Za-z0-9_+/=.~\\-]\n)[ \t]{0,40}(?:[>|#*] ?)?(?=[A-Za-z0-9_+/=.~-])")
_ENCODED = re.compile(r"(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{12}")
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_CODE = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*(?:[\[(]|\.[A-Za-z_]\w*$)")
_KINDS = {
    "aws_access_key_id": "aws-access-key",
    "aws_secret_access_key": "aws-secret-key",
    "contextual_secret": "secret",
    "vendor_prefixed_credential": "token",
    "authorization_credential": "authorization",
    "connection_string_password": "database-password",
    "github_fine_grained_personal_access_token": "github-token",
    "openai_api_key": "openai-key",
    "anthropic_api_key": "anthropic-key",
    "google_oauth_client_secret": "google-oauth-secret",
    "stripe_credential": "stripe-key",
    "stripe_webhook_signing_secret": "stripe-webhook-secret",
    "sendgrid_api_key": "sendgrid-key",
    "npm_access_token": "npm-token",
    "pypi_api_token": "pypi-token",
    "microsoft_entra_client_secret": "azure-client-secret",
}
_BY_CONTEXT = frozenset({"contextual_secret", "authorization_credential", "connection_string_password", "bearer_token"})


@dataclass(frozen=True, slots=True)
class Finding:
    """How often one kind of secret was replaced; it never holds the secret.

    Attributes:
        kind: The name in the placeholder, such as ``aws-access-key``.
        count: How many stretches of text were replaced, at least 1.
    """

    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without the secrets that are known by shape or by name.

    Attributes:
        text: The normalised text with ``[REDACTED:kind]`` in place of each secret.
        findings: What was replaced, sorted by kind; empty when nothing was.
    """

    text: str
    findings: tuple[Finding, ...]


def redact(text: str) -> Redacted:
    """Replace every secret in ``text`` by a placeholder that names its kind.

    The text is normalised first (``characters.normalise``), so that no invisible character hides a secret. Promises:
    every ``str`` is accepted; redacting the result again changes nothing; placeholders that are there stay as they are;
    the time is proportional to the length.

    Raises:
        ModelMissing: When the detector package cannot be loaded; the text must then not be stored.
    """
    text = normalise(text)
    counts: Counter[str] = Counter()
    for _ in range(_MAX_ROUNDS):
        spans = _secrets(text)
        if not spans:
            break
        counts.update(span.kind for span in spans)
        text = _replace(text, spans)
    return Redacted(text, tuple(Finding(kind, count) for kind, count in sorted(counts.items())))


def _secrets(text: str) -> list[SecretSpan]:
    found = [
        *find_private_keys(text),
        *find_formats(text),
        *find_aws_secrets(text),
        *find_url_passwords(text),
        *find_assignments(text),
        *_detected(text),
    ]
    found.extend(_wrapped(text, frozenset(span.end for span in found)))
    if not found:
        return []
    return list(_outside_placeholders(text, _united(found)))


def _detected(text: str) -> Iterator[SecretSpan]:
    """Yield the findings of redact-secret, in overlapping windows because its time is quadratic in some long texts."""
    try:
        from redact_secret import SecretScanError, WholeInputLimits, scan
    except ImportError as error:
        raise ModelMissing(
            "the package redact-secret cannot be loaded, so no text can be checked for secrets",
            hint="Install reasoningbank again on a platform that redact-secret supports.",
        ) from error
    limits = WholeInputLimits(max_input_bytes=4 * _WINDOW, max_findings=_WINDOW)
    for offset in range(0, max(1, len(text) - _WINDOW_OVERLAP), _WINDOW - _WINDOW_OVERLAP):
        try:
            findings = scan(text[offset : offset + _WINDOW], limits=limits)
        except SecretScanError as error:
            raise BankError(
                f"redact-secret could not check the text: {error}", hint="Nothing was stored; report the kind of text."
            ) from error
        for finding in findings:
            seen_before = offset > 0 and finding.start < _WINDOW_MARGIN and finding.end <= _WINDOW_OVERLAP
            start, end = offset + finding.start, offset + finding.end
            if not seen_before and not _is_false_alarm(text, start, end, finding.type):
                kind = _KINDS.get(finding.type, finding.type.replace("_", "-"))
                by_context = finding.type in _BY_CONTEXT
                yield SecretSpan(start, end, kind, _RANK_DETECTOR_BY_CONTEXT if by_context else _RANK_DETECTOR)


def _is_false_alarm(text: str, start: int, end: int, kind: str) -> bool:
    value = text[start:end]
    if kind == "private_key":
        return True
    if kind not in _BY_CONTEXT:
        return text[start - 1 : start] == "/" and _HASH.fullmatch(value) is not None
    if kind == "connection_string_password":
        return False
    return is_reference(value) or _CODE.match(value) is not None or not any(map(str.isdigit, value))


def _wrapped(text: str, complete: frozenset[int]) -> Iterator[SecretSpan]:
    """Yield secrets that line breaks cut in up to four pieces, at the offsets of ``text``.

    Where a secret is already ``complete`` at the end of a line, the next line belongs to it only if it looks encoded.
    """
    pieces: list[str] = []
    starts: list[int] = []
    shifts: list[int] = []
    closed: list[bool] = []
    position = length = 0
    for joint in _JOINT.finditer(text):
        stop = joint.start() - (text[joint.start() - 1] == "\\")
        if stop < position:
            continue
        pieces.append(text[position:stop])
        length += stop - position
        position = joint.end()
        starts.append(length)
        shifts.append(position - length)
        closed.append(stop in complete and _ENCODED.match(text, position) is None)
    if not starts:
        return
    joined = "".join([*pieces, text[position:]])
    for span in find_formats(joined, wrapped=True):
        first = bisect_right(starts, span.start)
        last = bisect_right(starts, span.end - 1)
        if any(closed[first:last]):
            continue
        if 1 <= last - first <= _MAX_JOINTS and any(map(str.isdigit, joined[span.start : span.end])):
            start = span.start + (shifts[first - 1] if first else 0)
            yield SecretSpan(start, span.end + shifts[last - 1], span.kind, span.rank)


def _united(spans: Iterable[SecretSpan]) -> Iterator[SecretSpan]:
    """Yield overlapping spans become one that covers them all and has the name of the lowest rank."""
    ordered = sorted(spans)
    current = ordered[0]
    for span in ordered[1:]:
        if span.start < current.end:
            best = min(current, span, key=lambda candidate: candidate.rank)
            current = SecretSpan(current.start, max(current.end, span.end), best.kind, best.rank)
        else:
            yield current
            current = span
    yield current


def _outside_placeholders(text: str, spans: Iterable[SecretSpan]) -> Iterator[SecretSpan]:
    placeholders = iter([match.span() for match in PLACEHOLDER.finditer(text)])
    placeholder = next(placeholders, None)
    for span in spans:
        start = span.start
        while placeholder is not None and placeholder[0] < span.end:
            if placeholder[1] > start:
                if any(map(str.isalnum, text[start : placeholder[0]])):
                    yield SecretSpan(start, placeholder[0], span.kind, span.rank)
                start = placeholder[1]
            if placeholder[1] > span.end:
                break
            placeholder = next(placeholders, None)
        if any(map(str.isalnum, text[start : span.end])):
            yield SecretSpan(start, span.end, span.kind, span.rank)


def _replace(text: str, spans: Iterable[SecretSpan]) -> str:
    pieces: list[str] = []
    position = 0
    for span in spans:
        pieces.append(text[position : span.start])
        pieces.append(f"[REDACTED:{span.kind}]")
        position = span.end
    pieces.append(text[position:])
    return "".join(pieces)
