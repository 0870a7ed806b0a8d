"""Values and patterns of the Cypher subset, read from its words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from reasoningbank.engine.graphing.cypher_tokens import Token, tokens
from reasoningbank.errors import InvalidInput

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]

_TIMES = frozenset({"datetime", "date", "localdatetime", "time", "localtime", "tostring"})
_WORDS: dict[str, Value] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What stands between round or square brackets: a variable, labels and properties, each of which may be missing."""

    variable: str = ""
    labels: tuple[str, ...] = ()
    properties: dict[str, Value] = field(default_factory=dict)

    @property
    def bare(self) -> bool:
        """Whether it is a variable and nothing more."""
        return not self.labels and not self.properties


class Words:
    """The words of a file, taken one after the other."""

    def __init__(self, text: str) -> None:
        self._tokens = list(tokens(text))
        self._next = 0

    @property
    def next(self) -> Token:
        """The word that comes next."""
        return self._tokens[self._next]

    @property
    def at_end(self) -> bool:
        """Whether no word is left."""
        return self.next.kind == "end"

    def take(self) -> Token:
        """The next word, which is then passed."""
        token = self.next
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def has(self, *names: str) -> bool:
        """Passes these keywords or signs, in any case, when they come next."""
        upcoming = self._tokens[self._next : self._next + len(names)]
        if len(upcoming) < len(names) or any(
            token.kind == "quoted" or token.text.upper() != name for token, name in zip(upcoming, names, strict=True)
        ):
            return False
        self._next += len(names)
        return True

    def sees(self, names: Iterable[str]) -> bool:
        """Whether one of these keywords or signs comes next."""
        return self.next.kind != "quoted" and self.next.text.upper() in names

    def need(self, sign: str) -> None:
        """Passes a sign; raises InvalidInput when another word comes."""
        if not self.has(sign):
            raise self.error(f"expected {sign!r}")

    def name(self) -> str:
        """Passes a name and gives it."""
        if self.next.kind != "name":
            raise self.error("expected a name")
        return self.take().text

    def error(self, message: str) -> InvalidInput:
        """An error about the word that comes next."""
        token = self.next
        found = "the end" if token.kind == "end" else repr(token.text[:40])
        return InvalidInput(
            f"line {token.line}: {message}, found {found}",
            hint="docs/explanation/graph.md says which statements are read.",
        )

    def skip_statement(self) -> None:
        """Passes everything up to the next semicolon."""
        while not self.at_end and not self.sees({";"}):
            self.take()

    def value(self) -> Value:
        """A text, number, truth value, null, list, map, or a time made of a text."""
        token = self.next
        if token.kind == "quoted":
            return self.take().text
        if token.kind == "number":
            number = self.take().text
            return float(number) if set(number) & set(".eE") else int(number)
        if self.has("["):
            listed: list[Value] = []
            while not self.has("]"):
                listed.append(self.value())
                if not self.sees({"]"}):
                    self.need(",")
            return listed
        if self.sees({"{"}):
            return dict(self.properties())
        if token.kind == "name":
            return self._word()
        raise self.error("expected a value")

    def properties(self) -> dict[str, Value]:
        """A map in braces."""
        self.need("{")
        found: dict[str, Value] = {}
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
        """A node in round brackets, or a relation in square ones."""
        self.need(opening)
        variable = self.take().text if self.next.kind == "name" else ""
        labels: list[str] = []
        while self.has(":"):
            labels.append(self.name())
        properties = self.properties() if self.sees({"{"}) else {}
        self.need(closing)
        return Pattern(variable=variable, labels=tuple(labels), properties=properties)

    def _word(self) -> Value:
        name = self.take().text
        known = name.lower()
        if known in _WORDS:
            return _WORDS[known]
        if known not in _TIMES:
            raise self.error(f"{name!r} is no value of the Cypher subset")
        self.need("(")
        value: Value = None
        if not self.sees({")"}):
            value = self.value()
        self.need(")")
        return value
