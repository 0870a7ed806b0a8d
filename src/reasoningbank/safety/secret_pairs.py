"""Secrets whose name is itself a value: ``{"name": "DB_PASSWORD", "value": ...}``, and columns of tables and of SQL.

Lists of variables (Kubernetes, ECS, Terraform, settings in XML and SQL) write a name and a value side by side. Which
field holds the name is known from a few words; the name has to end as the name of a secret does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set

from reasoningbank.safety.anchors import Word
from reasoningbank.safety.secret_formats import SecretSpan, is_sample
from reasoningbank.safety.secret_values import digits_and_letters, is_chosen, is_generated, is_reference

RANK_PAIR = 5

_VALUE_WORDS = ("value", "content", "default")
_COLUMN_WORDS = ("pass", "pwd", "pw", "secret", "token", "key", "credential", "jwt", "auth ")
PAIR_WORDS = (*(Word(word, inside=True) for word in _VALUE_WORDS), Word("auth "))
"""The words without which no name and value stand side by side."""

_VALUE = re.compile(
    r"[\"']?[ \t]{0,4}(?:[:=]|=>)[ \t]{0,4}"
    r"(?:(?P<quote>[\"'])(?P<literal>[^\"'\n]{3,4096})(?P=quote)|(?P<bare>[^\s\"'{}\[\],;<>&|*]{4,512}))"
)
_AFTER_VALUE = ('"', "'", ":", "=", " ", "\t")
_NAMING = re.compile(
    r"(?:(?<![a-z])(?:name|key|variable|label|id|field|option|parameter|property|setting|env|optionname|parameterkey|variablename"
    r"|secretname)[\"']?[ \t]{0,4}(?:[:=]|=>)[ \t]{0,4}|(?:variable|output|secret|env)[ \t]{1,4}(?=[\"']))"
    r"(?:[\"'](?P<quoted>[^\"'\n]{2,80})[\"']|(?P<plain>[\w.:/-]{2,80}))"
)
_SECRET_NAME = re.compile(
    r"(?P<password>pass(?:word|wd|phrase|code)?|pwd|(?<![a-z])pw|psk|credentials?|mdp|senha|passwort)"
    r"|(?P<token>secret|token|auth|key|jwt|dsn|(?<![a-z])pat|salt)"
)
_SECRET_NAME_END = re.compile(
    rf"(?:{_SECRET_NAME.pattern})(?:[._ -]?(?:value|prod|dev|staging|test|live|base|b64|v?[0-9]{{1,2}}))?\Z"
)
_NO_SECRET_NAME = re.compile(r"(?:public|primary|foreign|cache|sort|partition|row|object|i18n|hot|short)[._ -]?key\Z")
_OBJECT_BACK, _OBJECT_AHEAD = 240, 160
_OBJECT_END = re.compile(r"[{}]|\n-|\n\n")
_DELIMITERS = "|,;\t"
_CELL_END = re.compile(r"(?:word|wd|phrase|code)?[\"'`*]{0,2}[ \t]{0,40}[|,;\t\n]")
_MOST_ROWS = 200
_LEAST_COLUMNS = 2
_COLUMN_NAME = re.compile(r"[\w /#-]{0,40}")
_INSERT = re.compile(
    r"insert[ \t]{1,4}(?:ignore[ \t]{1,4})?into[ \t]{1,4}[\w.\"`\[\]]{1,80}\s{0,4}"
    r"\((?P<columns>[^()]{3,600})\)\s{0,4}values\s{0,4}",
    re.IGNORECASE,
)
_ROW = re.compile(r"\((?P<cells>(?:[^()'\n]|'[^'\n]*'|\([^()]{0,40}\)){1,2000})\)\s{0,4},?\s{0,4}")
_CELL = re.compile(
    r"\s{0,4}(?:n?'(?P<literal>[^'\n]*)'|(?P<other>(?:[^,'()]|\([^()]{0,40}\))*))\s{0,4}(?:,|\Z)", re.IGNORECASE
)


def find_pairs(text: str, lowered: str, there: Set[str]) -> Iterator[SecretSpan]:
    """Yield the values of names that stand in a field of their own, and what stands in columns of secrets.

    Args:
        text: The text.
        lowered: The text in lower case, of the same length.
        there: The words that may be in it.
    """
    words = [word for word in _COLUMN_WORDS if word in there]
    if not words:
        return
    for word in _VALUE_WORDS:
        if word in there:
            position = lowered.find(word)
            while position >= 0:
                end = position + len(word)
                value = _VALUE.match(text, end) if text[end : end + 1] in _AFTER_VALUE else None
                if value is not None:
                    yield from _named(lowered, value, words)
                position = lowered.find(word, end)
    if "insert" in lowered:
        yield from _inserted(text)
    if "\n" in text and ("|" in text or "," in text or ";" in text or "\t" in text):
        yield from _columns(text, lowered, words)


def _named(lowered: str, value: re.Match[str], words: Sequence[str]) -> Iterator[SecretSpan]:
    """Yield a value when the name beside it, before or after, is one of a secret."""
    before = lowered[max(0, value.start() - _OBJECT_BACK) : value.start()]
    names = _names(before[max(before.rfind("}"), before.rfind("\n\n"), before.rfind(")")) + 1 :], words)
    if not names:
        after = lowered[value.end() : value.end() + _OBJECT_AHEAD]
        names = _names(_OBJECT_END.split(after, 1)[0], words)[:1]
    kind = secret_kind(names[-1]) if names else None
    group = "literal" if value["literal"] is not None else "bare"
    if kind is not None and _is_secret(kind, value[group]):
        yield SecretSpan(*value.span(group), kind, RANK_PAIR)


def _names(stretch: str, words: Sequence[str]) -> Sequence[str]:
    """Return what stands in the fields of names, if the stretch holds one of the words."""
    for word in words:
        if word.rstrip() in stretch:
            return [match["quoted"] or match["plain"] for match in _NAMING.finditer(stretch)]
    return ()


def secret_kind(name: str) -> str | None:
    """Return "password" or "token" for the name of a secret, in lower case, else nothing."""
    found = _SECRET_NAME_END.search(name)
    if found is None or _NO_SECRET_NAME.search(name) is not None:
        return None
    return found.lastgroup


def _is_secret(kind: str, value: str) -> bool:
    if is_reference(value) or is_sample(value) or len(value) < 4 or len(value.split()) > 1:
        return False
    digits, letters = digits_and_letters(value)
    if kind == "password":
        return (digits > 0 and letters > 0) or len(value) > digits + letters or digits >= 6 or len(value) >= 8
    return is_generated(value) or is_chosen(value) or (digits > 1 and letters > 1 and len(value) >= 16)


def _columns(text: str, lowered: str, words: Sequence[str]) -> Iterator[SecretSpan]:
    """Yield what stands below the heading of a column of secrets, in a table of any of four delimiters."""
    done = 0
    for start, end in _lines_with(lowered, words):
        if start >= done:
            found = _heading(lowered[start:end])
            done = end
            if found is not None:
                table, done = _below(text, end + 1, *found)
                yield from table


def _lines_with(lowered: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines, but for the last, in which a word ends a cell, by their start and end."""
    for word in words:
        position = lowered.find(word)
        while position >= 0:
            after = _CELL_END.match(lowered, position + len(word))
            end = lowered.find("\n", position)
            if end < 0:
                break
            if after is not None:
                yield lowered.rfind("\n", 0, position) + 1, end
                position = end
            position = lowered.find(word, position + len(word))


def _below(
    text: str, position: int, delimiter: str, cells: int, columns: Mapping[int, str]
) -> tuple[Sequence[SecretSpan], int]:
    """Return what stands in the columns of secrets of the rows that begin at a position, and where they end."""
    found: list[SecretSpan] = []
    for _ in range(_MOST_ROWS):
        end = text.find("\n", position)
        line = text[position : end if end >= 0 else len(text)]
        pieces = line.split(delimiter)
        if len(pieces) != cells:
            break
        for number, piece in enumerate(pieces):
            value = piece.strip(" \t\r\"'`") if number in columns else ""
            if value and _is_secret(columns[number], value) and (is_chosen(value) or is_generated(value)):
                start = position + piece.index(value)
                found.append(SecretSpan(start, start + len(value), columns[number], RANK_PAIR))
            position += len(piece) + 1
        if end < 0:
            break
    return found, position


def _heading(line: str) -> tuple[str, int, Mapping[int, str]] | None:
    """Return the delimiter, the number of cells and the columns of secrets of a line that is a heading."""
    if len(line) > 1_000 or not any(word in line for word in _COLUMN_WORDS):
        return None
    for delimiter in _DELIMITERS:
        if delimiter not in line:
            continue
        cells = line.split(delimiter)
        names = [cell.strip(" \t\r\"'`*") for cell in cells]
        if len([name for name in names if name]) < _LEAST_COLUMNS or not all(map(_COLUMN_NAME.fullmatch, names)):
            continue
        columns = {number: kind for number, name in enumerate(names) if (kind := secret_kind(name)) is not None}
        if columns:
            return delimiter, len(cells), columns
    return None


def _inserted(text: str) -> Iterator[SecretSpan]:
    """Yield the literals of an INSERT that go to columns of secrets."""
    for statement in _INSERT.finditer(text):
        columns = [secret_kind(name.strip(' \t\n"`[]').lower()) for name in statement["columns"].split(",")]
        position = statement.end()
        while any(columns) and (row := _ROW.match(text, position)) is not None:
            position = row.end()
            start, stop = row.span("cells")
            for kind in columns:
                cell = _CELL.match(text, start, stop)
                if cell is None:
                    break
                if kind is not None and cell["literal"] is not None and _is_secret(kind, cell["literal"]):
                    yield SecretSpan(*cell.span("literal"), kind, RANK_PAIR)
                start = cell.end()
