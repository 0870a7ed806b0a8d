"""Reads a language model's answer: tolerant of how it is written, strict about what it says.

Forgiven is what leaves one meaning: code fences, words that only present it (module ``presentation``), the thoughts of
a reasoning model before it, slips of JSON (module ``relaxed_json``), a wrapping object or list, keys in another
spelling, a number in quotes, one entry where a list was asked for. Where a shape has items, each is read by itself: one
that cannot be read costs only itself, and an answer that was cut keeps its whole items. Content is not touched: an
answer of another type, incomplete, in two minds, or beside which something else is said, is malformed, and nothing is
filled in or guessed (DESIGN D8).
"""

from __future__ import annotations

import html
import json
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin

from reasoningbank.errors import MalformedAnswer
from reasoningbank.llm.presentation import flags, is_label, only_presents, plain_key, takes_back, withdraws
from reasoningbank.llm.prompt_echoes import texts_in
from reasoningbank.llm.relaxed_json import UnreadableError, read_relaxed
from reasoningbank.types.blank import is_blank

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

MAX_ANSWER = 200_000
"""Longest answer that is read, in characters: twenty times the longest that a prompt of ours can earn."""
ITEMS = "items_of_answer"
"""Name of the class attribute of a shape that names its lists whose entries are read one by one."""

Shape = TypeVar("Shape", bound="BaseModel")

_OPENING = re.compile(r"\{(?=\s*(?:[\"'\u201c}A-Za-z_/]|$))|\[")
_OBJECT_IN_LIST = re.compile(r"\[\s*\{\s*[\"'\u201cA-Za-z_]")
_THOUGHTS = re.compile(r"<(?P<name>think|thinking|thought|reasoning)>.*?</(?P=name)>|\[THINK\].*?\[/THINK\]", re.S)
_ENDED_THOUGHTS = re.compile(r"\A.*(?:</(?:think|thinking|thought|reasoning)>|\[/THINK\])", re.S)
_OPEN_THOUGHTS = re.compile(r"<(?:think|thinking|thought|reasoning)>|\[THINK\]")
_FINAL_CHANNEL = re.compile(r"\A.*<\|channel\|>final(?:\s*<\|constrain\|>\s*\w+)?<\|message\|>", re.S)
_MOST_PROSE_BRACKETS = 20
_CUT_OFF = "Let the model answer at greater length, or give it less to read."


def read_answer(text: str, shape: type[Shape]) -> Shape:
    """Return the one object of this shape that the answer holds.

    Args:
        text: The answer as it came.
        shape: What was asked for. Keys it does not know are ignored at every depth; the lists that its attribute
            ``items_of_answer`` names are read entry by entry.

    Raises:
        MalformedAnswer: The answer is empty, longer than ``MAX_ANSWER``, not JSON, cut off before its first whole item,
            of other types, incomplete, or holds two different objects; the message says what is wrong and where, and
            quotes no value.
    """
    if len(text) > MAX_ANSWER:
        raise MalformedAnswer(f"the answer has {len(text):,} characters; at most {MAX_ANSWER:,} are read")
    spoken = _written_plainly(_without_thoughts(text))
    if not spoken.strip():
        raise MalformedAnswer("the answer is empty")
    value, missing = _only_object(spoken, shape)
    return _validated(value, shape, missing)


def _without_thoughts(text: str) -> str:
    """Return the text with a reasoning model's thoughts blanked, so that places stay what they are."""
    bare = text
    for thought in _THOUGHTS.finditer(text):
        if "{" in bare[: thought.start()]:
            raise MalformedAnswer("behind the answer there are thoughts; they may say otherwise")
        bare = bare[: thought.start()] + _blank(thought.group()) + bare[thought.end() :]
    for ended in (_FINAL_CHANNEL, _ENDED_THOUGHTS):
        if found := ended.match(bare):
            bare = _blank(found.group()) + bare[found.end() :]
    opened = _OPEN_THOUGHTS.search(bare)
    if opened and not bare[: opened.start()].strip("\ufeff \t\r\n"):
        raise MalformedAnswer("the answer ends inside the model's thoughts", hint=_CUT_OFF)
    return bare


_ENTITIES = re.compile(r"&(?:quot|#34|#x22);", re.IGNORECASE)
_ESCAPED = re.compile(r"\s*[{\[]\s*(?:\\n\s*)*(?:\{\s*)?\\\"")


def _written_plainly(text: str) -> str:
    """Return an answer that was written as the text of a page or of another JSON text as it was meant."""
    if '"' not in text and _ENTITIES.search(text):
        return html.unescape(text)
    bare = text.strip()
    inner = f'"{bare}"' if _ESCAPED.match(bare) else bare
    if inner[:1] == '"' == inner[-1:] and len(inner) > 1:
        try:
            read = json.loads(inner, strict=False)
        except (ValueError, RecursionError):
            return text
        return read if isinstance(read, str) else text
    return text


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


@dataclass(frozen=True, slots=True)
class _Found:
    """One JSON object or list of an answer.

    Attributes:
        place: Where it begins.
        end: The place behind it.
        value: What it holds.
        missing: What it lacks because the text ended inside of it.
        comments: Words of comments in it.
    """

    place: int
    end: int
    value: dict[str, object] | list[object]
    missing: str = ""
    comments: str = ""


def _only_object(text: str, shape: type[BaseModel]) -> tuple[dict[str, object], str]:
    """Return the object that answers, and what it lacks because the text ended inside of it."""
    values = [*_values(text)]
    found: list[tuple[_Found, dict[str, object]]] = []
    others: list[_Found] = []
    strange: list[int] = []
    for each in values:
        shaped = _shaped(each.value, shape)
        if shaped is not None:
            found.append((each, shaped))
        elif isinstance(each.value, dict):
            others.append(each)
        elif not all(isinstance(entry, (int, float)) for entry in each.value):
            strange.append(each.place)
    if strange:
        _refuse(text, strange[0], "a list stands where an object was asked for")
    if not found and others and isinstance(others[0].value, dict):
        return others[0].value, others[0].missing
    if not found:
        kind = "a list stands where an object was asked for" if text.lstrip()[:1] == "[" else "there is no JSON object"
        raise MalformedAnswer(f"{kind} in the answer")
    (first, value), missing = found[0], found[0][0].missing
    for other, shaped in found[1:]:
        joined = _joined(value, shaped, shape)
        if joined is None:
            _refuse(text, other.place, f"a second object contradicts the one at {_place(text, first.place)}")
        value, missing = joined, missing or other.missing
    for other in others:
        if other.missing or (other.value and not (isinstance(other.value, dict) and _is_schema(other.value))):
            _refuse(text, other.place, "a further object says something else")
    _check_beside(text, values, value)
    return value, missing


_LETTER = re.compile(r"[^\W\d_]")


def _check_beside(text: str, values: Sequence[_Found], answered: Mapping[str, object]) -> None:
    """Refuse words beside the JSON, or in its comments, that may say otherwise."""
    before, end = text[: values[0].place], values[0].end
    behind = ""
    for each in values[1:]:
        behind += text[end : each.place] + ("\n" if isinstance(each.value, dict) else " ")
        end = each.end
    if not only_presents(before, behind + text[end:], answered):
        raise MalformedAnswer("beside the JSON there are words that do not only present it; they may say otherwise")
    if any(_LETTER.search(each.comments) for each in values):
        raise MalformedAnswer("a comment in the JSON may say otherwise")


def _joined(value: dict[str, object], other: dict[str, object], shape: type[BaseModel]) -> dict[str, object] | None:
    """Return two objects as one: the same twice, or items that were given one after the other; None for others."""
    if json.dumps(other, sort_keys=True) == json.dumps(value, sort_keys=True):
        return value
    name = _only_list(shape)
    if name and _SPREAD in value and _SPREAD in other:
        first, second = value[name], other[name]
        if isinstance(first, list) and isinstance(second, list):
            return {name: [*first, *second], _SPREAD: True}
    return None


_SPREAD = "\x00spread"
"""Marks an object that we made around items which stood alone."""
_WRAPPINGS = 5
_SCHEMA_WORDS = frozenset({"type", "enum", "anyOf", "$ref", "items", "properties"})


def _shaped(value: object, shape: type[BaseModel], depth: int = 0) -> dict[str, object] | None:
    """Return the object of this shape that a value is or wraps; None when it is neither."""
    if isinstance(value, list):
        name = _only_list(shape)
        if (
            name
            and value
            and all(isinstance(each, dict) and _is_item(each, _item_shape(shape, name)) for each in value)
        ):
            return {name: value, _SPREAD: True}
        return _shaped(value[0], shape, depth + 1) if len(value) == 1 and isinstance(value[0], dict) else None
    if not isinstance(value, dict):
        return None
    if _has(value, shape):
        return value
    if depth >= _WRAPPINGS or _is_schema(value):
        return None
    name = _only_list(shape)
    if name and _is_item(value, _item_shape(shape, name)):
        return {name: [value], _SPREAD: True}
    inner = {key: _shaped(_decoded(each), shape, depth + 1) for key, each in value.items()}
    held = {key: each for key, each in inner.items() if each is not None}
    if not all(_wraps(key, shape) for key in held):
        return None
    if len(held) > 1 and name and _numbered(value) and all(_SPREAD in each for each in held.values()):
        return {name: [item for each in held.values() for item in _entries(each[name])], _SPREAD: True}
    if len(held) != 1 or not _only_labels(value, *held):
        return None
    return next(iter(held.values()))


_WRAPPING = re.compile(
    r"(?=.)(?:final|my|the|your|model|requested|structured|tool|function)*"
    r"(?:answer|result|response|output|reply|data|judge?ment|opinion|verdict|evaluation|assessment|json|object|arguments?"
    r"|args|param(?:eter)?s?|inputs?|content|function|calls?|properties|message|choices?|values?|payload|body|return"
    r"|text|root|items?|lessons?|strateg(?:y|ies)|memory|run)?s?\d*"
    r"|antwort|ergebnis|urteil|bewertung|ausgabe|daten|réponse|résultat|jugement|évaluation|sortie|données"
    r"|respuesta|resultado|juicio|evaluación|veredicto|salida|datos|答案|结果|回答|输出|判断|评估|评价|判定|結果|答え|出力|評価"
)
_KINDS = {"strategies": "strateg", "lessons": "lesson"}
"""Names of lists of items, and what every spelling of them has."""
_OF_A_CALL = re.compile(r"(?:arguments?|args|param(?:eter)?s?|inputs?)")


def _wraps(key: str, shape: type[BaseModel]) -> bool:
    """Return whether a key is a name for an answer; what stands under "injected" or "rejected" is none.

    Nor is a list of mistakes one of ways that worked, whatever its items look like.
    """
    plain = plain_key(key)
    own = _KINDS.get(_only_list(shape))
    if own and own not in plain and any(kind in plain for kind in _KINDS.values()):
        return False
    return _WRAPPING.fullmatch(plain) is not None or plain in _spellings(shape) or plain == shape.__name__.casefold()


_TOOL_NAMES = frozenset({"tool", "name", "toolname", "function", "functionname"})
_OF_A_TOOL = re.compile(r"(?:result|output|response|return|reply|content|text|data)s?")


def _only_labels(value: Mapping[str, object], held: str) -> bool:
    """Return whether what stands beside a wrapped answer only labels it, as the name of a called tool does.

    What a tool gave back, or a user said, is no answer of the model.
    """
    others = {plain_key(key): each for key, each in value.items() if key != held}
    name = plain_key(held)
    of_a_tool = _OF_A_TOOL.fullmatch(name) is not None
    if (of_a_tool and not _TOOL_NAMES.isdisjoint(others)) or others.get("role", "assistant") not in _ANSWERING:
        return False
    called = _OF_A_CALL.fullmatch(name) is not None
    return all(_is_label(key, each, called=called) for key, each in others.items())


_ANSWERING = ("assistant", "model", "ai")


def _is_label(key: str, value: object, *, called: bool) -> bool:
    """Return whether a key beside a wrapped answer labels it; beside the arguments of a call any single word does."""
    if flags(key, value) and not (isinstance(value, dict) and _is_schema(value)):
        return False
    if isinstance(value, dict):
        return _is_schema(value) or all(isinstance(each, (int, float)) or each is None for each in value.values())
    if isinstance(value, list) and value:
        return False
    if takes_back(key, value):
        return False
    if not isinstance(value, str) or not value.strip():
        return True
    return len(value.split()) == 1 if called else is_label(key) and len(value.split()) <= _LONGEST_LABEL


_LONGEST_LABEL = 3


_NUMBERED = re.compile(r"(?:[a-z]+[ _-]?)?\d{1,3}", re.IGNORECASE)


def _numbered(value: Mapping[str, object]) -> bool:
    """Return whether an object is a list whose entries were given numbers for keys."""
    return bool(value) and all(_NUMBERED.fullmatch(key) for key in value)


def _entries(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _is_schema(value: Mapping[str, object]) -> bool:
    """Return whether an object describes an answer and is none: what stands under its properties are types."""
    described = value.get("properties")
    if not isinstance(described, dict):
        return "properties" in value
    return any(isinstance(each, dict) and not _SCHEMA_WORDS.isdisjoint(each) for each in described.values())


_LEAST_TEXTS = 3 / 4


def _is_item(value: Mapping[str, object], shape: type[BaseModel]) -> bool:
    """Return whether an object that stands where none of its list is named has nearly all texts of an item."""
    given = {plain_key(key) for key in value}
    texts = [plain_key(name) in given for name, field in shape.model_fields.items() if field.annotation is str]
    return sum(texts) >= max(1, _LEAST_TEXTS * len(texts))


def _decoded(value: object) -> object:
    """Return what a text that is JSON itself holds, as the arguments of a call of a tool do."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return value
    return value


def _has(value: Mapping[str, object], shape: type[BaseModel]) -> bool:
    names = _spellings(shape)
    return any(plain_key(key) in names for key in value)


def _spellings(shape: type[BaseModel]) -> dict[str, str]:
    """Return the names of a shape by their plain spelling."""
    found = {}
    for name, field in shape.model_fields.items():
        found[plain_key(name)] = field.alias or name
        if field.alias:
            found[plain_key(field.alias)] = field.alias
    return found


def items_of(shape: type[BaseModel]) -> frozenset[str]:
    """Return the names of a shape's lists whose entries are read one by one."""
    named: frozenset[str] = getattr(shape, ITEMS, frozenset())
    return named


def _only_list(shape: type[BaseModel]) -> str:
    """Return the one list of a shape whose entries are read one by one; empty when there is not exactly one."""
    names = items_of(shape)
    return next(iter(names)) if len(names) == 1 == len(shape.model_fields) else ""


def _item_shape(shape: type[BaseModel], name: str) -> type[BaseModel]:
    (entry,) = get_args(shape.model_fields[name].annotation)
    shaped: type[BaseModel] = entry
    return shaped


def _values(text: str) -> Iterator[_Found]:
    """Yield every outermost JSON object or list with its place and what it lacks; prose is passed over."""
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
                    _refuse(text, start, "too many brackets that are not JSON")
                position = start + 1
                continue
            try:
                relaxed = read_relaxed(text.rstrip("` \t\r\n"), start)
            except UnreadableError as worse:
                if text[start] == "{" and not re.match(r"\{\s*[\"'\u201c}]", text[start : start + 80]):
                    position = start + 1
                    prose += 1
                    if prose > _MOST_PROSE_BRACKETS:
                        _refuse(text, start, "too many brackets that are not JSON")
                    continue
                what = str(worse) if "two values" in str(worse) else f"no valid JSON: {error.msg}"
                _refuse(text, error.pos, what, error)
            except RecursionError as worse:
                _refuse(text, start, "the JSON is nested too deeply or has a number too long", worse)
            position = relaxed.end
            yield _Found(start, relaxed.end, relaxed.value, relaxed.missing, relaxed.comments)
        except _AmbiguousError as error:
            _refuse(text, start, str(error), error)
        except (RecursionError, ValueError) as error:
            _refuse(text, start, "the JSON is nested too deeply or has a number too long", error)
        else:
            yield _Found(start, position, value)


class _AmbiguousError(ValueError):
    """A key or number that can be taken in two ways."""


def _unambiguous(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in pairs:
        if key in result and result[key] != value:
            shown = f"the key {key!r}" if re.fullmatch(r"[A-Za-z_]{1,30}", key) else "a key"
            raise _AmbiguousError(f"{shown} has two values")
        result[key] = value
    return result


def _no_number(name: str) -> NoReturn:
    raise _AmbiguousError(f"{name} is not a JSON number")


def _validated(value: dict[str, object], shape: type[Shape], missing: str) -> Shape:
    value = _named(value, shape)
    apart = items_of(shape)
    complete = missing != "cut" and value.keys() >= {field.alias or name for name, field in shape.model_fields.items()}
    if missing and not complete and not any(value.get(name) for name in apart):
        raise MalformedAnswer("the object in the answer is cut off", hint=_CUT_OFF)
    problem: MalformedAnswer | None = None
    for name in apart:
        whole = name in value
        entries = _repaired(value.get(name, [] if missing else None), shape.model_fields[name])
        if not isinstance(entries, list):
            if whole:
                value[name] = entries
            continue
        kept = []
        for entry in entries:
            try:
                kept.append(_item(entry, _item_shape(shape, name)))
            except MalformedAnswer as error:
                problem = problem or error
        if whole or missing:
            value[name] = kept
    if problem is not None and not any(value.get(name) for name in apart):
        raise problem
    for name, field in shape.model_fields.items():
        key = field.alias or name
        if name not in apart and key in value:
            value[key] = _repaired(value[key], field)
    return _checked(value, shape)


def _item(entry: object, shape: type[BaseModel]) -> dict[str, object]:
    """Return one entry of a list as it was meant.

    Raises:
        MalformedAnswer: It is not an item.
    """
    if not isinstance(entry, dict) or not _has(entry, shape):
        raise MalformedAnswer("an entry of the list is not an object of the kind that was asked for")
    named = _named(entry, shape)
    for name, field in shape.model_fields.items():
        if name in named:
            named[name] = _repaired(named[name], field)
    _checked(named, shape)
    return named


def _named(value: Mapping[str, object], shape: type[BaseModel]) -> dict[str, object]:
    """Return the object with its keys as the shape spells them.

    Raises:
        MalformedAnswer: Two spellings of one key have different values.
    """
    names = _spellings(shape)
    result: dict[str, object] = {}
    for key, each in value.items():
        known = names.get(plain_key(key))
        if known is None:
            plain = plain_key(key)
            if (
                takes_back(plain, each, _not_chosen(value, shape))
                or (key != _SPREAD and flags(key, each))
                or _counts_otherwise(key, each, value)
                or (not all(map(is_blank, texts_in(each))) and not is_label(plain, names))
            ):
                raise MalformedAnswer("a further key of the answer may say otherwise")
            continue
        if isinstance(each, str) and withdraws(each):
            raise MalformedAnswer(f"the text of {known!r} takes the answer back")
        if known in result and result[known] != each:
            raise MalformedAnswer(f"the key {known!r} has two values in the answer")
        result[known] = each
    return result


def _counts_otherwise(key: str, number: object, value: Mapping[str, object]) -> bool:
    """Return whether a further key gives another number for what a key of the answer counts."""
    known = {plain_key(name): each for name, each in value.items() if name != key and isinstance(each, (int, float))}
    plain = plain_key(key)
    return isinstance(number, (int, float)) and any(name in plain and each != number for name, each in known.items())


def _not_chosen(value: Mapping[str, object], shape: type[BaseModel]) -> set[str]:
    """Return the words of an answer's closed lists that it has not chosen."""
    names = _spellings(shape)
    chosen = {_plain_word(each) for key, each in value.items() if plain_key(key) in names and isinstance(each, str)}
    closed = [get_args(field.annotation) for field in shape.model_fields.values()]
    words = {_plain_word(word) for each in closed for word in each if isinstance(word, str)}
    return words - chosen


def _repaired(value: object, field: FieldInfo) -> object:
    """Return the value with harmless slips mended; what has no single meaning stays for the check to refuse."""
    most = next((limit.le for limit in field.metadata if hasattr(limit, "le")), None)
    mended = _mended(value, field.annotation)
    if mended is None and field.default in ("", []) and not field.is_required():
        return field.default
    if isinstance(mended, (int, float)) and not isinstance(mended, bool) and most == 1 and 10 < mended <= 100:
        return mended / 100
    return mended


_PERCENT = re.compile(r"\s*(\d{1,3}(?:[.,]\d{1,6})?)\s*%\s*")
_DECIMAL = re.compile(r"\s*-?\d{1,9}(?:[.,]\d{1,9})?\s*")
_STEP_RANGE = re.compile(r"\s*(?:steps?)?\s*(\d{1,6})\s*(?:-|\u2013|to)\s*(\d{1,6})\s*", re.IGNORECASE)
_LONGEST_RANGE = 20
_STEP_NUMBER = re.compile(r"\s*(?:steps?|#|no\.?|number|run|source)?\s*(\d{1,6})\s*", re.IGNORECASE)


def _mended(value: object, annotation: Any) -> object:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        known = [each for each in arguments if each is not type(None)]
        return _mended(value, known[0]) if len(known) == 1 and value is not None else value
    if origin in (list, tuple):
        return _list(value, arguments[0])
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], (str, int, float)):
        value = value[0]
    if origin is Literal:
        return _word(value, arguments)
    if annotation is float and isinstance(value, str):
        return _number(value)
    if annotation is int:
        return _whole(value)
    if annotation is str and isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return " ".join(each.strip() for each in value)
    if isinstance(value, dict) and hasattr(annotation, "model_fields"):
        named = _named(value, annotation)
        return {key: _repaired(each, annotation.model_fields[key]) for key, each in named.items()}
    return value


def _list(value: object, entry: Any) -> object:
    if isinstance(value, str):
        decoded = _decoded(value)
        if isinstance(decoded, (list, dict)):
            value = decoded
        elif entry is int and (numbers := _range(value)):
            value = numbers
        elif entry is str or (entry is int and re.fullmatch(r"[\sa-zA-Z#.]*\d[\sa-zA-Z#.\d,;]*", value)):
            value = [part for part in re.split(r"[,;\n]|\band\b", value) if part.strip()]
    if isinstance(value, dict) and _numbered(value):
        value = [*value.values()]
    if isinstance(value, dict) or (entry is int and isinstance(value, int) and not isinstance(value, bool)):
        value = [value]
    if not isinstance(value, list):
        return value
    if entry is str:
        return [each.strip() if isinstance(each, str) else each for each in value]
    return [_mended(each, entry) for each in value]


def _range(text: str) -> list[object]:
    """Return the numbers from the first to the last that a text names; nothing when it is no such text."""
    found = _STEP_RANGE.fullmatch(text)
    first, last = (int(found[1]), int(found[2])) if found else (1, 0)
    return [*range(first, last + 1)] if first < last <= first + _LONGEST_RANGE else []


def _word(value: object, known: tuple[object, ...]) -> object:
    """Return the one of the known words that is meant; anything else is left as it is, to be refused."""
    if not isinstance(value, str):
        return value
    plain = _plain_word(value)
    return next((word for word in known if isinstance(word, str) and _plain_word(word) == plain), value)


def _plain_word(text: str) -> str:
    return " ".join(re.sub(r"[_-]", " ", text).strip(" \t\r\n.!*`\"'").casefold().split())


def _number(text: str) -> object:
    if found := _PERCENT.fullmatch(text):
        return float(found[1].replace(",", ".")) / 100
    return float(text.replace(",", ".")) if _DECIMAL.fullmatch(text) else text


def _whole(value: object) -> object:
    if isinstance(value, str) and (found := _STEP_NUMBER.fullmatch(value)):
        return int(found[1])
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _checked(value: dict[str, object], shape: type[Shape]) -> Shape:
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
