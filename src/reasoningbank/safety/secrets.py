"""Find secrets in text and put typed placeholders in their place.

Four sources are combined: the detectors of ``redact-secret`` (about 130 providers, in Rust), the shapes of
``secret_formats``, the names of ``secret_names``, and all of these once more in what a disguise hides (``disguises``).
The reasons and the numbers are in docs/decisions/0003-secrets-and-tokens.md.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError, ModelMissing
from reasoningbank.safety.anchors import Anchors
from reasoningbank.safety.disguises import DISGUISE_WORDS, hidden_texts, shell_values
from reasoningbank.safety.secret_formats import (
    LEAST_WRAPPED,
    SecretSpan,
    find_aws_secrets,
    find_bare_formats,
    find_formats,
    find_password_hashes,
    find_private_keys,
    find_socket_passwords,
    find_url_passwords,
    is_sample,
    may_wrap,
    shape_words,
)
from reasoningbank.safety.secret_names import NAME_WORDS, find_assignments, find_cookies, lower_in_place
from reasoningbank.safety.secret_pairs import PAIR_WORDS, find_pairs
from reasoningbank.safety.secret_positions import find_positions, position_words
from reasoningbank.safety.secret_sentences import SENTENCE_WORDS, find_mentions
from reasoningbank.safety.secret_values import is_reference
from reasoningbank.safety.unicode import normalise

if TYPE_CHECKING:
    from redact_secret import Finding as DetectedSecret
    from redact_secret import WholeInputLimits

PLACEHOLDER = re.compile(r"\[REDACTED:[a-z][a-z0-9-]{1,63}\]")

_RANK_DETECTOR = 2
_RANK_DETECTOR_BY_CONTEXT = 6
_MAX_ROUNDS = 8
_MAX_DEPTH = 2
"""How many disguises, one within the other, are taken off."""
_MAX_JOINTS = 3
_WINDOW = 8_192
_WINDOW_OVERLAP = 768
_WINDOW_MARGIN = 128
_JOINT = re.compile(r"\n(?<=[A-Za-z0-9_+/=.~\\-]\n)[ \t]{0,40}(?:[>|#*] ?)?(?=[A-Za-z0-9_+/=.~-])")
_SEAM = "\1"
"""A character that no text has once it is normalised."""
_DIGIT = re.compile("[0-9]")
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
    spans = _secrets(text)
    if not spans:
        return Redacted(text, ())
    counts: Counter[str] = Counter()
    for _ in range(_MAX_ROUNDS):
        counts.update(span.kind for span in spans)
        text = _replace(text, spans)
        spans = _secrets(text)
        if not spans:
            break
    return Redacted(text, tuple(Finding(kind, count) for kind, count in sorted(counts.items())))


def is_safe(text: str) -> bool:
    """Return whether ``redact`` leaves a text as it is."""
    return normalise(text) == text and not _secrets(text)


def _secrets(text: str, depth: int = _MAX_DEPTH) -> list[SecretSpan]:
    """Return what is secret in a text, and in what it hides, as stretches that do not overlap."""
    words = [word for word in _JOINT.sub(_SEAM, text).split() if len(word) >= LEAST_WRAPPED]
    lowered = lower_in_place(text)
    there = _anchors().there(lowered)
    found = list(_readable(text, lowered, words, there))
    if depth:
        for hidden in hidden_texts(text, "\n".join(words).replace(_SEAM, "\n"), there):
            spans = _secrets(hidden.text, depth - 1)
            found += [SecretSpan(*hidden.origin(span.start, span.end), span.kind, span.rank) for span in spans]
        for joined, places in shell_values(text):
            for span in _secrets(joined, 0)[:1]:
                found += [SecretSpan(start, end, span.kind, span.rank) for start, end in places]
    return list(_outside_placeholders(text, _united(found))) if found else []


@cache
def _anchors() -> Anchors:
    """Return what tells which of the words may be in a text by which secrets are known; made for the first text."""
    return Anchors((*shape_words(), *NAME_WORDS, *position_words(), *PAIR_WORDS, *SENTENCE_WORDS, *DISGUISE_WORDS))


def _readable(text: str, lowered: str, words: Sequence[str], there: Set[str]) -> Iterator[SecretSpan]:
    """Yield what is secret in a text as it stands, of which the long words are known."""
    found = [
        *find_private_keys(text, there),
        *find_formats(text, lowered, there),
        *find_bare_formats(text, words),
        *find_aws_secrets(text, there),
        *find_password_hashes(text),
        *find_url_passwords(text),
        *find_socket_passwords(text),
        *find_assignments(text, lowered, there),
        *find_cookies(text, there),
        *find_positions(text, lowered, there),
        *find_pairs(text, lowered, there),
        *find_mentions(text, lowered, there),
        *(_detected(text) if _may_be_detected(text, words, there) else ()),
    ]
    yield from found
    if _may_be_wrapped(text, words):
        yield from _wrapped(text, frozenset(span.end for span in found))


def _may_be_wrapped(text: str, words: Sequence[str]) -> bool:
    """Return whether a word that is put together from several lines may be a secret: it has digits and a beginning."""
    if _SEAM in text:
        return True
    joined = "\n".join([word for word in words if _SEAM in word and _DIGIT.search(word)])
    joined = joined.replace(f"\\{_SEAM}", "").replace(_SEAM, "")
    return bool(joined) and may_wrap(joined, _anchors().there(lower_in_place(joined)))


_DETECTED_WORDS = frozenset(
    (*(word.text for word in (*NAME_WORDS, *PAIR_WORDS)), "Bearer", "bearer", "BEARER", "Basic", "basic", "jwt", "pw")
) - {"value", "content", "default"}
_TOKEN_LIKE = re.compile(r"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16}|[A-Za-z_-]{24}")


def _may_be_detected(text: str, words: Sequence[str], there: Set[str]) -> bool:
    """Return whether the detectors have something to look at: a name of a secret, an address, a long word."""
    return not there.isdisjoint(_DETECTED_WORDS) or "://" in text or _TOKEN_LIKE.search("\n".join(words)) is not None


@cache
def _detector() -> tuple[Callable[..., Sequence[DetectedSecret]], WholeInputLimits, type[Exception]]:
    """Return what scans a text, its limits and its error; loaded for the first text."""
    try:
        from redact_secret import SecretScanError, WholeInputLimits, scan
    except ImportError as error:
        raise ModelMissing(
            "the package redact-secret cannot be loaded, so no text can be checked for secrets",
            hint="Install reasoningbank again on a platform that redact-secret supports.",
        ) from error
    return scan, WholeInputLimits(max_input_bytes=4 * _WINDOW, max_findings=_WINDOW), SecretScanError


def _detected(text: str) -> Iterator[SecretSpan]:
    """Yield the findings of redact-secret, in overlapping windows because its time is quadratic in some long texts."""
    scan, limits, failure = _detector()
    for offset in range(0, max(1, len(text) - _WINDOW_OVERLAP), _WINDOW - _WINDOW_OVERLAP):
        try:
            findings = scan(text[offset : offset + _WINDOW], limits=limits)
        except failure as error:
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
    value = text[start:end].rstrip(")")
    if is_sample(value):
        return True
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
    for span in find_formats(joined, "", _anchors().there(lower_in_place(joined)), wrapped=True):
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
