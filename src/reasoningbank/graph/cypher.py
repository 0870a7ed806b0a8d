"""Read the Cypher subset that a graph file may be written in.

Read are ``MATCH`` with ``WHERE``, ``MERGE`` and ``CREATE`` of nodes and of relations between them, ``SET`` (also after
``ON CREATE`` and ``ON MATCH``), ``WITH`` and ``RETURN``; statements about indexes and constraints are passed over. A
pattern with several matches makes a relation for each of them: so one edge id can come with several ends, which the
import reports as duplicates. A pattern with an id that the file does not make means a node of the bank.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from reasoningbank.errors import InvalidInput, InvalidNode
from reasoningbank.graph.import_records import RecordReader

TokenKind = Literal["name", "quoted", "number", "sign", "end"]

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
  | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))
  | (?P<name>[^\W\d]\w*|`[^`]+`)
  | (?P<sign>->|<-|\+=|<>|<=|>=|[(){}\[\]:,.;=<>*|+\-$])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Token:
    """One word: names without back quotes, quoted texts without quotes and escapes."""

    kind: TokenKind
    text: str
    line: int


def tokens(text: str) -> Iterator[Token]:
    """Yield the words of a file, comments left out, and an end.

    Raises:
        InvalidInput: At what is not a word of the language; the message names the line.
    """
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise InvalidInput(f"line {line}: {text[position : position + 20]!r} is not a part of the Cypher subset")
        kind, found = str(match.lastgroup), match.group()
        if kind == "quoted":
            yield Token("quoted", _ESCAPE.sub(_unescaped, found[1:-1]), line)
        elif kind == "name":
            yield Token("name", found.strip("`"), line)
        elif kind == "number":
            yield Token("number", found, line)
        elif kind == "sign":
            yield Token("sign", found, line)
        line += found.count("\n")
        position = match.end()
    yield Token("end", "", line)


def _unescaped(match: re.Match[str]) -> str:
    escape = match.group(1)
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _ESCAPED.get(escape, escape)


CypherValue = str | int | float | bool | None | list["CypherValue"] | dict[str, "CypherValue"]

_TIMES = frozenset({"datetime", "date", "localdatetime", "time", "localtime", "tostring"})
_WORDS: dict[str, CypherValue] = {"true": True, "false": False, "null": None}
_DEEPEST = 50
"""So many lists and maps may lie in each other: each takes a call of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Hold what stands between brackets: a variable, labels and properties, each of which may be missing."""

    variable: str = ""
    labels: tuple[str, ...] = ()
    properties: dict[str, CypherValue] = field(default_factory=dict)

    @property
    def bare(self) -> bool:
        """Return whether it is a variable and nothing more."""
        return not self.labels and not self.properties


class Words:
    """The words of a file, taken one after the other."""

    def __init__(self, text: str) -> None:
        self._tokens = list(tokens(text))
        self._next = 0
        self._depth = 0

    @property
    def next(self) -> Token:
        """The word that comes next."""
        return self._tokens[self._next]

    @property
    def at_end(self) -> bool:
        """Return whether no word is left."""
        return self.next.kind == "end"

    def take(self) -> Token:
        """Return the next word, which is then passed."""
        token = self.next
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def has(self, *names: str) -> bool:
        """Pass these keywords or signs, in any case, when they come next."""
        upcoming = self._tokens[self._next : self._next + len(names)]
        if len(upcoming) < len(names) or any(
            token.kind == "quoted" or token.text.upper() != name for token, name in zip(upcoming, names, strict=True)
        ):
            return False
        self._next += len(names)
        return True

    def sees(self, names: Iterable[str]) -> bool:
        """Return whether one of these keywords or signs comes next."""
        return self.next.kind != "quoted" and self.next.text.upper() in names

    def need(self, sign: str) -> None:
        """Pass a sign; raise InvalidInput when another word comes."""
        if not self.has(sign):
            raise self.error(f"expected {sign!r}")

    def name(self) -> str:
        """Pass a name and give it."""
        if self.next.kind != "name":
            raise self.error("expected a name")
        return self.take().text

    def error(self, message: str) -> InvalidInput:
        """Return an error about the word that comes next."""
        token = self.next
        found = "the end" if token.kind == "end" else repr(token.text[:40])
        return InvalidInput(
            f"line {token.line}: {message}, found {found}",
            hint="docs/explanation/graph.md says which statements are read.",
        )

    def skip_statement(self) -> None:
        """Pass everything up to the next semicolon."""
        while not self.at_end and not self.sees({";"}):
            self.take()

    def value(self) -> CypherValue:
        """Return a text, number, truth value, null, list, map, or a time made of a text.

        Raises:
            InvalidInput: When there is none, or it lies in too many lists and maps.
        """
        token = self.next
        if token.kind == "quoted":
            return self.take().text
        if token.kind == "number":
            number = self.take().text
            return float(number) if set(number) & set(".eE") else int(number)
        if self.sees({"[", "{"}):
            return self._nested()
        if token.kind == "name":
            return self._word()
        raise self.error("expected a value")

    def _nested(self) -> CypherValue:
        """Return a list or a map."""
        if self._depth == _DEEPEST:
            raise self.error(f"lists and maps are nested more than {_DEEPEST} deep")
        self._depth += 1
        if self.sees({"{"}):
            found: CypherValue = dict(self.properties())
        else:
            self.need("[")
            listed: list[CypherValue] = []
            while not self.has("]"):
                listed.append(self.value())
                if not self.sees({"]"}):
                    self.need(",")
            found = listed
        self._depth -= 1
        return found

    def properties(self) -> dict[str, CypherValue]:
        """Return a map in braces."""
        self.need("{")
        found: dict[str, CypherValue] = {}
        while not self.has("}"):
            key = self.take()
            if key.kind not in {"name", "quoted"}:
                raise self.error("expected the name of a property")
            self.need(":")
            found[key.text] = self.value()
            if not self.sees({"}"}):
                self.need(",")
        return found

    def pattern(self, opening: str, closing: str) -> Pattern:
        """Return a node in round brackets, or a relation in square ones."""
        self.need(opening)
        variable = self.take().text if self.next.kind == "name" else ""
        labels: list[str] = []
        while self.has(":"):
            labels.append(self.name())
        properties = self.properties() if self.sees({"{"}) else {}
        self.need(closing)
        return Pattern(variable=variable, labels=tuple(labels), properties=properties)

    def _word(self) -> CypherValue:
        name = self.take().text
        known = name.lower()
        if known in _WORDS:
            return _WORDS[known]
        if known not in _TIMES:
            raise self.error(f"{name!r} is not a value of the Cypher subset")
        self.need("(")
        value: CypherValue = None
        if not self.sees({")"}):
            value = self.value()
        self.need(")")
        return value


_Properties = dict[str, CypherValue]
_Row = dict[str, str]
_Test = Callable[[_Row], bool]

_CLAUSES = frozenset(
    {"MATCH", "OPTIONAL", "MERGE", "CREATE", "SET", "ON", "WITH", "RETURN", "WHERE", "LIMIT", "ORDER", "SKIP", ";"}
)
_SCHEMA = frozenset({"CONSTRAINT", "INDEX", "FULLTEXT", "VECTOR", "RANGE", "TEXT", "LOOKUP", "POINT"})
_MAX_ROWS = 10_000


def read_cypher(text: str, reader: RecordReader) -> None:
    """Run the statements and hand what they make to the reader.

    Raises:
        InvalidInput: At a statement that is not read; the message names the line.
    """
    graph = _Graph()
    words = Words(text)
    while not words.at_end:
        if words.has(";"):
            continue
        if words.has(":"):
            words.skip_statement()
        else:
            _Statement(words, graph).run()
    reader.draft.remarks += [
        f"Line {line}: nothing in the file meets the MATCH, so no relation was made. "
        "A node of the bank is named by its id, as in MATCH (a {id: 'N1'})."
        for line in graph.unmet
    ]
    for properties in graph.nodes.values():
        reader.node(properties)
    for (source, target, _), properties in graph.edges.items():
        reader.edge(properties | {"source": source, "target": target})


class _Graph:
    """Hold what the statements have made so far."""

    def __init__(self) -> None:
        self.nodes: dict[str, _Properties] = {}
        self.edges: dict[tuple[str, str, str], _Properties] = {}
        self.unmet: list[int] = []
        """Lines with a relation for which nothing was matched."""

    def matching(self, pattern: Pattern) -> list[str]:
        """Return ids of the nodes that a pattern means."""
        name = pattern.properties.get("id")
        if isinstance(name, str) and name not in self.nodes:
            return [name]
        candidates = [name] if isinstance(name, str) else list(self.nodes)
        return [each for each in candidates if self._meets(each, pattern)]

    def _meets(self, name: str, pattern: Pattern) -> bool:
        properties = self.nodes[name]
        return all(properties["label"] == label for label in pattern.labels) and all(
            properties.get(key) == value for key, value in pattern.properties.items()
        )


class _Statement:
    """One statement: rows of variables that stand for nodes, and the relations it has made."""

    def __init__(self, words: Words, graph: _Graph) -> None:
        self._words = words
        self._graph = graph
        self._rows: list[_Row] = [{}]
        self._relations: dict[str, list[tuple[str, str, str]]] = {}

    def run(self) -> None:
        """Run its clauses up to the semicolon or the end."""
        words = self._words
        while not words.at_end and not words.has(";"):
            if words.has("OPTIONAL", "MATCH") or words.has("MATCH"):
                self._match()
            elif words.sees({"MERGE", "CREATE", "DROP"}):
                verb = words.take().text.upper()
                if verb == "DROP" or words.sees(_SCHEMA):
                    words.skip_statement()
                    return
                self._make()
            elif words.has("ON", "CREATE", "SET") or words.has("ON", "MATCH", "SET") or words.has("SET"):
                self._set()
            elif words.has("WITH") or words.has("RETURN"):
                while not words.at_end and not words.sees(_CLAUSES):
                    words.take()
            else:
                raise words.error("expected MATCH, MERGE, CREATE, SET, WITH or RETURN")

    def _match(self) -> None:
        words = self._words
        while True:
            pattern = words.pattern("(", ")")
            if words.sees({"-", "<-"}):
                raise words.error("a MATCH of relations is not read")
            self._bind(pattern)
            if not words.has(","):
                break
        if words.has("WHERE"):
            while True:
                test = self._condition()
                self._rows = [row for row in self._rows if test(row)]
                if not words.has("AND"):
                    break

    def _bind(self, pattern: Pattern) -> None:
        """Give the pattern's variable every meaning it can have in every row."""
        if pattern.bare and pattern.variable and any(pattern.variable in row for row in self._rows):
            return
        found = self._graph.matching(pattern)
        self._rows = [row | {pattern.variable: name} for row in self._rows for name in found]
        if len(self._rows) > _MAX_ROWS:
            raise self._words.error(f"the patterns before have more than {_MAX_ROWS} matches")

    def _condition(self) -> _Test:
        words = self._words
        variable = words.name()
        if words.has(":"):
            label = words.name()
            return lambda row: self._property(row, variable, "label") == label
        words.need(".")
        key = words.name()
        if words.has("="):
            wanted = words.value()
            return lambda row: self._property(row, variable, key) == wanted
        for keywords, holds in _COMPARISONS:
            if words.has(*keywords):
                return self._compared(variable, key, holds, words.value())
        raise words.error("expected =, CONTAINS, STARTS WITH, ENDS WITH or IN")

    def _compared(
        self, variable: str, key: str, holds: Callable[[CypherValue, CypherValue], bool], value: CypherValue
    ) -> Callable[[_Row], bool]:
        return lambda row: holds(self._property(row, variable, key), value)

    def _property(self, row: _Row, variable: str, key: str) -> CypherValue:
        if variable not in row:
            raise self._words.error(f"{variable!r} was not matched before")
        name = row[variable]
        return name if key == "id" else self._graph.nodes.get(name, {}).get(key)

    def _make(self) -> None:
        """Make a node, or a chain of relations between nodes that are matched or made on the way."""
        words = self._words
        while True:
            left = self._node(words.pattern("(", ")"))
            while words.sees({"-", "<-"}):
                backward = words.take().text == "<-"
                relation = words.pattern("[", "]")
                if not words.has("->"):
                    words.need("-")
                    if not backward:
                        raise words.error("a relation needs a direction")
                right = self._node(words.pattern("(", ")"))
                self._relate(relation, *((right, left) if backward else (left, right)))
                left = right
            if not words.has(","):
                return

    def _node(self, pattern: Pattern) -> str:
        """Return the variable of a node that is matched, or made when its id is new."""
        variable = pattern.variable or f" {id(pattern)}"
        if pattern.bare:
            if not all(variable in row for row in self._rows):
                raise self._words.error(f"{pattern.variable!r} was not matched before")
            return variable
        name = pattern.properties.get("id")
        if not isinstance(name, str):
            raise self._words.error("a node that is made needs an id")
        properties = self._graph.nodes.get(name)
        if properties is None and pattern.labels:
            properties = self._graph.nodes[name] = {"id": name, "label": _one_label(name, pattern.labels)}
        if properties is not None:
            if pattern.labels and properties["label"] != _one_label(name, pattern.labels):
                raise InvalidNode(
                    f"label: node {name[:80]!r} is given the labels {properties['label']} and {pattern.labels[0]}"
                )
            properties.update(pattern.properties)
        for row in self._rows:
            row[variable] = name
        return variable

    def _relate(self, relation: Pattern, source: str, target: str) -> None:
        made = []
        name = relation.properties.get("id", "")
        if not self._rows:
            self._graph.unmet.append(self._words.next.line)
        for row in self._rows:
            place = (row[source], row[target], str(name))
            self._graph.edges.setdefault(place, {}).update(relation.properties)
            made.append(place)
        if relation.variable:
            self._relations[relation.variable] = made

    def _set(self) -> None:
        words = self._words
        while True:
            variable = words.name()
            if words.has("+=") or words.has("="):
                self._assign(variable, words.properties())
            elif words.has("."):
                key = words.name()
                words.need("=")
                self._assign(variable, {key: words.value()})
            else:
                raise words.error("expected an assignment of properties")
            if not words.has(","):
                return

    def _assign(self, variable: str, properties: _Properties) -> None:
        if "id" in properties:
            raise self._words.error("an id is not changed by SET; name it in the pattern")
        for place in self._relations.get(variable, ()):
            self._graph.edges[place].update(properties)
        for row in self._rows:
            if variable in row and row[variable] in self._graph.nodes:
                self._graph.nodes[row[variable]].update(properties)


def _one_label(name: str, labels: tuple[str, ...]) -> str:
    if len(labels) != 1:
        raise InvalidNode(f"label: node {name[:80]!r} has exactly one label, not {len(labels)}: {', '.join(labels)}")
    return labels[0]


def _contains(value: CypherValue, part: CypherValue) -> bool:
    return isinstance(value, str) and isinstance(part, str) and part in value


def _starts(value: CypherValue, part: CypherValue) -> bool:
    return isinstance(value, str) and isinstance(part, str) and value.startswith(part)


def _ends(value: CypherValue, part: CypherValue) -> bool:
    return isinstance(value, str) and isinstance(part, str) and value.endswith(part)


def _among(value: CypherValue, listed: CypherValue) -> bool:
    if not isinstance(listed, list):
        raise InvalidInput("IN needs a list")
    return value in listed


_COMPARISONS: tuple[tuple[tuple[str, ...], Callable[[CypherValue, CypherValue], bool]], ...] = (
    (("CONTAINS",), _contains),
    (("STARTS", "WITH"), _starts),
    (("ENDS", "WITH"), _ends),
    (("IN",), _among),
)
