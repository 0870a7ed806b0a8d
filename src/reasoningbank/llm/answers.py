"""Reads a language model's answer: tolerant of how the JSON is wrapped, strict about what it says.

Wrapping is forgiven: code fences, a sentence before or after, the thoughts of a reasoning model, keys nobody asked
for, line breaks inside strings. Content is not: an answer that is cut off, of another type, or in two minds is
malformed, and nothing is filled in, converted or guessed (DESIGN D8).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn, TypeVar

from reasoningbank.errors import MalformedAnswer

if TYPE_CHECKING:
    from pydantic import BaseModel

MAX_ANSWER = 200_000
"""Longest answer that is read, in characters: twenty times the longest that a prompt of ours can earn."""

Shape = TypeVar("Shape", bound="BaseModel")

_OPENING = re.compile(r"\{(?=\s*(?:[\"'}]|$))|\[")
_OBJECT_IN_LIST = re.compile(r"\[\s*\{\s*[\"']")
_THOUGHTS = ("<think>", "</think>")
_MOST_PROSE_BRACKETS = 20
_CUT_OFF = "Let the model answer at greater length, or give it less to read."


def read_answer(text: str, shape: type[Shape]) -> Shape:
    """Return the one object of this shape that the answer holds.

    Args:
        text: The answer as it came.
        shape: What was asked for. Types are taken strictly; keys it does not know are ignored at every depth.

    Raises:
        MalformedAnswer: The answer is empty, longer than ``MAX_ANSWER``, not JSON, cut off, a list, of wrong types,
            incomplete, or holds two different objects; the message says what is wrong and where, and quotes no value.
    """
    if len(text) > MAX_ANSWER:
        raise MalformedAnswer(f"the answer has {len(text):,} characters; at most {MAX_ANSWER:,} are read")
    spoken = _without_thoughts(text)
    if not spoken.strip():
        raise MalformedAnswer("the answer is empty")
    return _validated(_only_object(spoken, _names(shape)), shape)


def _without_thoughts(text: str) -> str:
    """Return the text with a reasoning model's leading thoughts blanked, so that places stay what they are."""
    opening, closing = _THOUGHTS
    start = len(text) - len(text.lstrip("\ufeff \t\r\n"))
    if not text.startswith(opening, start):
        return text
    end = text.find(closing, start)
    if end < 0:
        raise MalformedAnswer("the answer ends inside the model's thoughts", hint=_CUT_OFF)
    return re.sub(r"[^\n]", " ", text[: end + len(closing)]) + text[end + len(closing) :]


def _only_object(text: str, names: frozenset[str]) -> dict[str, object]:
    """Return the object that answers: the only one, or the only one that has a key that was asked for."""
    found: list[tuple[int, dict[str, object]]] = []
    lists: list[int] = []
    for place, value in _values(text):
        if isinstance(value, dict):
            found.append((place, value))
        elif any(isinstance(entry, (dict, list)) for entry in value):
            lists.append(place)
    answering = [(place, value) for place, value in found if names & value.keys()] or found
    if lists:
        _refuse(text, lists[0], "a list stands where an object was asked for")
    if not answering:
        kind = "a list stands where an object was asked for" if text.lstrip()[:1] == "[" else "there is no JSON object"
        raise MalformedAnswer(f"{kind} in the answer")
    place, value = answering[0]
    for other_place, other in answering[1:]:
        if json.dumps(other, sort_keys=True) != json.dumps(value, sort_keys=True):
            _refuse(text, other_place, f"a second object contradicts the one at {_place(text, place)}")
    return value


def _values(text: str) -> Iterator[tuple[int, dict[str, object] | list[object]]]:
    """Yield every outermost JSON object or list with its place; brackets that are mere prose are passed over."""
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_unambiguous, parse_constant=_no_number)
    position = 0
    prose = 0
    while match := _OPENING.search(text, position):
        start = match.start()
        try:
            value, position = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if match.group() == "[" and not _OBJECT_IN_LIST.match(text, start):
                prose += 1
                if prose > _MOST_PROSE_BRACKETS:
                    _refuse(text, start, "too many brackets that are no JSON")
                position = start + 1
                continue
            if error.pos >= len(text.rstrip("` \t\r\n")) or error.msg.startswith("Unterminated string"):
                raise MalformedAnswer(
                    f"the object that begins at {_place(text, start)} of the answer is cut off", hint=_CUT_OFF
                ) from error
            _refuse(text, error.pos, f"no valid JSON: {error.msg}", error)
        except _AmbiguousError as error:
            _refuse(text, start, str(error), error)
        except (RecursionError, ValueError) as error:
            _refuse(text, start, "the JSON is nested too deeply or has a number too long", error)
        else:
            yield start, value


class _AmbiguousError(ValueError):
    """A key or number that can be taken in two ways."""


def _unambiguous(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in pairs:
        if key in result and result[key] != value:
            raise _AmbiguousError(f"the key {key[:60]!r} has two values")
        result[key] = value
    return result


def _no_number(name: str) -> NoReturn:
    raise _AmbiguousError(f"{name} is not a JSON number")


def _names(shape: type[BaseModel]) -> frozenset[str]:
    aliases = {field.alias for field in shape.model_fields.values() if field.alias}
    return frozenset(shape.model_fields.keys() | aliases)


def _validated(value: dict[str, object], shape: type[Shape]) -> Shape:
    from pydantic import ValidationError

    try:
        return shape.model_validate_json(json.dumps(value), strict=True, extra="ignore")
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        first = problems[0]
        where = ".".join(str(part)[:60] for part in first["loc"]) or "the whole"
        more = f", and {len(problems) - 1} further problems" if len(problems) > 1 else ""
        raise MalformedAnswer(f"the answer does not follow its schema at {where}: {first['msg'][:300]}{more}") from None


def _refuse(text: str, place: int, what: str, cause: Exception | None = None) -> NoReturn:
    raise MalformedAnswer(f"{what}, at {_place(text, place)} of the answer") from cause


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    return f"line {line}, column {position - text.rfind(chr(10), 0, position)}"
