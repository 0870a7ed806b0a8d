"""Text of a lesson without what belongs to one project alone.

Five kinds of things are found: names of projects and teams, with their remotes and paths; paths; hosts; people;
secrets. Names are found however their words are joined (``my-app``, ``my_app``, ``MyApp``), and in every part that
still names the project (``acme/shop`` and ``shop`` of ``github.com/acme/shop``). It is strict: an ordinary word that is
a project's name is found too, until a person says that it is meant as an ordinary word.

What cannot be found: names of people that are not known from a path, an address or the tenant, and names of one or two
letters.

Neither is believed: whoever has written it, a text with a name, path, host, user or secret left in it is refused, and
so is one that looks like a prompt injection. A model's claims must stand in the sources that they name
(``consolidating.grounds``). The rules put a common noun in the place of what they take out; where that would change a
command, or take out more than a part of the text, they refuse, and a person has to write it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from reasoningbank.curation.consolidation import MOST_MATERIAL, MergedAnswer, best, checked, material
from reasoningbank.errors import ContextExceeded, InvalidInput, MalformedAnswer
from reasoningbank.llm.exchange import exchange
from reasoningbank.llm.prompts import prompt
from reasoningbank.memories.claims import stems
from reasoningbank.safety.injection import find_markup, find_order, is_about_memory
from reasoningbank.safety.secrets import is_safe
from reasoningbank.safety.stored_text import reveal, safe_texts
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import LanguageModel
from reasoningbank.types.promotion import GeneralText

PrivateKind = Literal["project", "path", "host", "person", "secret"]
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

    kind: PrivateKind
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
        ordinary: Texts that are not a leak, in lower case.
    """

    projects: tuple[str, ...]
    people: tuple[str, ...] = ()
    ordinary: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, scopes: Iterable[str], texts: Iterable[str], *, people: Iterable[str] = (), ordinary: Iterable[str] = ()
    ) -> Private:
        """Return what sources of these scopes know that others must not.

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
        """Return everything in the text that belongs to one project alone, in its order; no two overlap."""
        found = sorted(self._found(text), key=lambda leak: (leak.start, -leak.end))
        kept: list[Leak] = []
        for leak in found:
            if leak.text.casefold().strip("/") in self.ordinary:
                continue
            if not kept or leak.start >= kept[-1].end:
                kept.append(leak)
        return kept

    def _found(self, text: str) -> Iterator[Leak]:
        if not is_safe(text):
            yield Leak(kind="secret", text="a secret", start=0, end=len(text))
        for kind, pattern in _PATTERNS:
            for match in pattern.finditer(text):
                if not _is_common(kind, match.group()):
                    yield Leak(kind=kind, text=match.group(), start=match.start(), end=match.end())
        names: Sequence[tuple[PrivateKind, Sequence[str]]] = (("project", self.projects), ("person", self.people))
        for kind, listed in names:
            for name in listed:
                for match in _spelled(name).finditer(text):
                    yield Leak(kind=kind, text=match.group(), start=match.start(), end=match.end())


_PATTERNS: tuple[tuple[PrivateKind, re.Pattern[str]], ...] = (
    ("host", _URL),
    ("person", _ADDRESS),
    ("host", _HOST),
    ("path", _PATH),
)


def _is_common(kind: PrivateKind, text: str) -> bool:
    """Return whether a place or host is the same on every machine."""
    lower = text.casefold()
    if kind == "host":
        host = lower.partition("://")[2] or lower
        return any(host.startswith(near) for near in _NEAR_HOSTS)
    if kind == "path":
        return any(lower == root or lower.startswith(f"{root}/") for root in _SYSTEM_ROOTS)
    return False


def _parts(name: str) -> Iterator[str]:
    """Yield the name, and every ending of it that still names the project: ``acme/shop`` and ``shop``."""
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
    """Return the name as whole words, however they are joined and whatever their case."""
    words = [re.escape(word) for word in _JOINED.findall(_HUMP.sub(" ", name))]
    return re.compile(r"(?<![^\W_])" + r"[\W_]{0,2}".join(words) + r"(?![^\W_])", re.IGNORECASE | re.UNICODE)


MOST_TAKEN_OUT = 0.3
"""The rules refuse when they would take out more than this share of a text."""
LEAST_LEFT = 3
"""So many words that carry meaning must be left of a content."""
_IN_PLACE = {"project": "the project", "path": "a path of the project", "host": "the host", "person": "a colleague"}
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|^\s*\$ .*$", re.DOTALL | re.MULTILINE)
_WRITE = "Write the text yourself: pass title=... and content=..., or --title and --content."


def generalise(sources: Sequence[Memory], private: Private, model: LanguageModel | None) -> GeneralText:
    """Return a text for a wider scope.

    Raises:
        InvalidInput: When the rules cannot make one; the message says why.
        ModelUnavailable, BudgetExhausted: When the model gave no answer.
        MalformedAnswer: When the model's answer is none, says what the sources do not, or leaves a private name in.
    """
    shown = [reveal(memory) for memory in sources]
    if model is None:
        return by_rules(shown, private)
    records = material(shown)
    if len(records) > MOST_MATERIAL:
        return by_rules(shown, private)
    asked = prompt("generalise", records)
    try:
        answered = exchange(model, asked, MergedAnswer)
    except ContextExceeded:
        return by_rules(shown, private)
    merged = checked(answered.answer, shown, model=answered.model, label=asked.label)
    text = GeneralText(
        title=merged.title,
        description=merged.description,
        content=merged.content,
        tags=kept_tags(merged.tags, private),
        category=merged.category,
        source="model",
        model=merged.model,
        prompt=merged.prompt,
    )
    problem = problem_of(text, private)
    if problem:
        raise MalformedAnswer(f"the general text was refused: {problem}", hint=_WRITE)
    return text


def by_rules(sources: Sequence[Memory], private: Private) -> GeneralText:
    """Return the best source's text with common nouns for what belongs to its project.

    Raises:
        InvalidInput: When that would change a command, take out too much, or leave something in.
    """
    chosen = best(sources)
    text = GeneralText(
        title=_without("title", chosen.title, private),
        description=_without("description", chosen.description, private),
        content=_without("content", chosen.content, private),
        tags=kept_tags(tuple(dict.fromkeys(tag for memory in sources for tag in memory.tags))[:8], private),
        category=chosen.category if not private.leaks(chosen.category) else "",
    )
    if len(stems(text.content)) < LEAST_LEFT:
        raise InvalidInput("the content says too little without the project's own names", hint=_WRITE)
    problem = problem_of(text, private)
    if problem:
        raise InvalidInput(problem, hint=_WRITE)
    return text


def reviewed(text: GeneralText, private: Private) -> GeneralText:
    """Return a text as a person has written it, cleaned, once nothing is in it that must not cross.

    Raises:
        InvalidInput: When something is; the message names it.
    """
    admitted = safe_texts(text.title, text.description, text.content, kept_tags(text.tags, private), text.category)
    if admitted.findings:
        kinds = ", ".join(sorted({finding.kind for finding in admitted.findings}))
        raise InvalidInput(f"the text holds a secret ({kinds})", hint="Take it out, and have it replaced by a new one.")
    cleaned = GeneralText(
        title=admitted.title,
        description=admitted.description,
        content=admitted.content,
        tags=admitted.tags,
        category=admitted.category,
        source=text.source,
        model=text.model,
        prompt=text.prompt,
    )
    problem = problem_of(cleaned, private)
    if problem:
        raise InvalidInput(
            problem, hint=f"{_WRITE} A name that is meant as an ordinary word can be passed as such: ordinary=[...]."
        )
    return cleaned


def problem_of(text: GeneralText, private: Private) -> str:
    """Return what keeps a text out of a wider scope, as a sentence; empty when nothing does."""
    for name, part in (("title", text.title), ("description", text.description), ("content", text.content)):
        leaks = private.leaks(part)
        if leaks:
            return f"the {name} still names a {leaks[0]}"
    for name, part in (("category", text.category), *(("tag", tag) for tag in text.tags)):
        if private.leaks(part):
            return f"a {name} still names what belongs to one project"
    for part in (text.title, text.description, text.content):
        if order := find_order(part):
            return f"it looks like a prompt injection: {order[:80]!r}"
    if markup := find_markup(text.title, text.description, text.content):
        return markup
    if is_about_memory(text.title, text.content):
        return "it is about the memory that lessons are kept in"
    return ""


def kept_tags(tags: Sequence[str], private: Private) -> tuple[str, ...]:
    """Return the tags that name nothing of one project."""
    return tuple(tag for tag in tags if not private.leaks(tag))


def _without(name: str, text: str, private: Private) -> str:
    leaks = private.leaks(text)
    if not leaks:
        return text
    code = [match.span() for match in _CODE.finditer(text)]
    for leak in leaks:
        if leak.kind == "secret":
            raise InvalidInput(f"the {name} holds a secret", hint=_WRITE)
        if any(start < leak.end and leak.start < end for start, end in code):
            raise InvalidInput(f"a command in the {name} needs the {leak}", hint=_WRITE)
    if sum(leak.end - leak.start for leak in leaks) > MOST_TAKEN_OUT * len(text):
        raise InvalidInput(f"most of the {name} belongs to the project alone", hint=_WRITE)
    parts: list[str] = []
    place = 0
    for leak in leaks:
        before = text[place : leak.start]
        noun = _IN_PLACE[leak.kind]
        article = re.search(r"\b(?:the|our|an?)\s+$", before, re.IGNORECASE)
        parts += [before, noun.partition(" ")[2] if article and noun.startswith(("the ", "a ")) else noun]
        place = leak.end
    written = "".join([*parts, text[place:]])
    return written[:1].upper() + written[1:] if text[:1].isupper() else written
