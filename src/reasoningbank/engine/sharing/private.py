"""What belongs to one project alone and must not stand in a text for a team or an org.

Five kinds of things are found: names of projects and teams, with their remotes and paths; paths; hosts; people;
secrets. Names are found however their words are joined (``my-app``, ``my_app``, ``MyApp``), and in every part that
still names the project (``acme/shop`` and ``shop`` of ``github.com/acme/shop``). It is strict: an ordinary word that is
a project's name is found too, until a person says that it is meant as an ordinary word.

What cannot be found: names of people that are not known from a path, an address or the tenant, and names of one or two
letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from reasoningbank.engine.redaction import redact

Kind = Literal["project", "path", "host", "person", "secret"]
_SHORTEST_NAME = 3
_JOINED = re.compile(r"[^\W_]+", re.UNICODE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HOME = re.compile(r"(?:/home/|/Users/|\b[A-Za-z]:\\Users\\)([^/\\\s\"'`<>|:*?]+)")
_COMMON_USERS = frozenset(
    {"user", "users", "root", "runner", "ubuntu", "vscode", "shared", "public", "name", "you", "me"}
)
_ADDRESS = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,100}@[\w-]+(?:\.[\w-]+)+(?!\S*:)"
    r"|(?<![\w.`@])@(?!(?:property|staticmethod|classmethod|dataclass|override|cached_property|abstractmethod"
    r"|contextmanager|test|transactional|autowired|component|bean|media|import|param|return|deprecated)\b)"
    r"[a-z][\w-]{2,38}\b(?![./(\w])",
    re.IGNORECASE,
)
_URL = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,15}://[^\s<>\"'`)\]]+|(?<![\w.-])[\w.-]{1,100}@[\w.-]+:[\w./~-]+", re.IGNORECASE
)
_NEAR_HOSTS = ("localhost", "127.0.0.1", "0.0.0.0", "[::1]", "example.com", "example.org", "example.net")  # noqa: S104
_HOST = re.compile(
    r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])"
    r"|(?<![\w.@/-])(?:[a-z0-9-]+\.)+(?:com|net|org|local|internal|corp|lan|intra|intranet|home)\b(?![(\w-])"
    r"|(?<![\w.@/-])(?:[a-z0-9-]+\.){2,}(?:io|dev|cloud|app|ai|de|eu|uk|us|co)\b(?![(\w-])"
    r"|(?<![\w.@/-])[a-z][a-z0-9]*(?:-[a-z0-9]+)+:\d{2,5}\b",
    re.IGNORECASE,
)
_SYSTEM_ROOTS = ("/etc", "/usr", "/bin", "/sbin", "/dev", "/proc", "/sys", "/tmp", "/lib", "/var/log", "/var/run")  # noqa: S108
_PATH = re.compile(
    r"(?<![\w.:/<])/(?:[\w.@+~-]+/)+[\w.@+~-]*"
    r"|(?<![\w/])(?:~|\$HOME|\$\{HOME\})/[\w.@+~/-]+"
    r"|\b[A-Za-z]:\\[^\s\"'`<>|*?]+|\\\\[\w.-]+\\[^\s\"'`<>|*?]+"
    r"|(?<![\w/.:@])(?:\.{1,2}/)?(?:[\w.-]+/)+[\w-]+\.[A-Za-z]\w{0,7}\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """One place of a text that belongs to one project alone."""

    kind: Kind
    text: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.kind} {self.text[:80]!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Private:
    """The names that must not be left, and the words that a person has said are ordinary ones.

    Attributes:
        projects: Names of projects, teams and remotes, in whole and in parts.
        people: Names of users.
        ordinary: Texts that are no leak, in lower case.
    """

    projects: tuple[str, ...]
    people: tuple[str, ...] = ()
    ordinary: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, scopes: Iterable[str], texts: Iterable[str], *, people: Iterable[str] = (), ordinary: Iterable[str] = ()
    ) -> Private:
        """What sources of these scopes know that others must not.

        Args:
            scopes: Names of the sources' projects and teams.
            texts: The sources' own texts, in which paths may name users.
            people: Names of users that are known.
            ordinary: Texts that a person vouches for.
        """
        named = [*scopes]
        users = {match.group(1) for text in (*named, *texts) for match in _HOME.finditer(text)}
        users |= set(people)
        return cls(
            projects=tuple(dict.fromkeys(part for name in named for part in _parts(name))),
            people=tuple(sorted(user for user in users if user.casefold() not in _COMMON_USERS and _is_name(user))),
            ordinary=frozenset(word.strip().casefold() for word in ordinary if word.strip()),
        )

    def leaks(self, text: str) -> list[Leak]:
        """Everything in the text that belongs to one project alone, in its order; no two overlap."""
        found = sorted(self._found(text), key=lambda leak: (leak.start, -leak.end))
        kept: list[Leak] = []
        for leak in found:
            if leak.text.casefold().strip("/") in self.ordinary:
                continue
            if not kept or leak.start >= kept[-1].end:
                kept.append(leak)
        return kept

    def _found(self, text: str) -> Iterator[Leak]:
        if redact(text).text != text:
            yield Leak(kind="secret", text="a secret", start=0, end=len(text))
        for kind, pattern in _PATTERNS:
            for match in pattern.finditer(text):
                if not _is_common(kind, match.group()):
                    yield Leak(kind=kind, text=match.group(), start=match.start(), end=match.end())
        names: Sequence[tuple[Kind, Sequence[str]]] = (("project", self.projects), ("person", self.people))
        for kind, listed in names:
            for name in listed:
                for match in _spelled(name).finditer(text):
                    yield Leak(kind=kind, text=match.group(), start=match.start(), end=match.end())


_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("host", _URL),
    ("person", _ADDRESS),
    ("host", _HOST),
    ("path", _PATH),
)


def _is_common(kind: Kind, text: str) -> bool:
    """Whether a place or host is the same on every machine."""
    lower = text.casefold()
    if kind == "host":
        host = lower.partition("://")[2] or lower
        return any(host.startswith(near) for near in _NEAR_HOSTS)
    if kind == "path":
        return any(lower == root or lower.startswith(f"{root}/") for root in _SYSTEM_ROOTS)
    return False


def _parts(name: str) -> Iterator[str]:
    """The name, and every ending of it that still names the project: ``acme/shop`` and ``shop``."""
    pieces = [piece for piece in re.split(r"[/\\]+", name.strip()) if piece not in {"", ".", ".."}]
    for start in range(len(pieces)):
        ending = "/".join(pieces[start:])
        if _is_name(ending):
            yield ending
    if len(pieces) > 1 and "." in pieces[0] and _is_name(pieces[0]):
        yield pieces[0]


def _is_name(text: str) -> bool:
    return sum(len(word) for word in _JOINED.findall(text)) >= _SHORTEST_NAME


def _spelled(name: str) -> re.Pattern[str]:
    """The name as whole words, however they are joined and whatever their case."""
    words = [re.escape(word) for word in _JOINED.findall(_HUMP.sub(" ", name))]
    return re.compile(r"(?<![^\W_])" + r"[\W_]{0,2}".join(words) + r"(?![^\W_])", re.IGNORECASE | re.UNICODE)
