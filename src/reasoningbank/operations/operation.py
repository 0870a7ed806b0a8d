"""What an operation is: a method of the bank, and where it is offered as a command, a tool and a route.

Nothing is imported here but the standard library, so that ``rbank --help`` and a listing of tools cost little. Entries
are named tuples, which are made in a third of the time of a dataclass.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from reasoningbank.types.identifier import IdKind

Json: TypeAlias = dict[str, Any]
"""A JSON object."""
Section: TypeAlias = Literal[
    "Every day", "Memories", "Sessions", "Curation", "Graph", "Sharing", "Agents and servers", "The bank"
]


SECTIONS: tuple[Section, ...] = (
    "Every day",
    "Memories",
    "Sessions",
    "Curation",
    "Graph",
    "Sharing",
    "Agents and servers",
    "The bank",
)
"""The sections of ``rbank --help`` in their order."""


PROFILES: tuple[str, ...] = ("core", "briefing", "curation", "learning", "experience", "admin", "graph")
"""The profiles of the MCP server; a server offers one or several of them (``core,graph``).

``learning`` and ``curation`` are the core, for configurations that name them."""


API = "/api/v1"
"""What the path of every endpoint of the table begins with; its version changes when an answer loses a field."""

_NONE: Mapping[str, Any] = MappingProxyType({})
_MEMORY_PROFILES = ("core", "briefing", "curation", "learning", "experience", "admin")


class Command(NamedTuple):
    """How an operation is a command.

    Attributes:
        name: Its name; two words for a command of a group.
        section: The section of ``rbank --help``.
        arguments: The parameters that are given by position, in their order.
        options: Other names of options, by the parameter.
        words: Of a truth value that is given by position: the word for yes and the word for no.
        stdin: The texts for which ``-`` reads standard input.
        files: The texts that are read from a file.
        ids: What an argument names by an id, where the name of the argument alone does not say it; the beginning of an
            id is enough (``cli/identifiers.py``).
        clears: The lists that an option ``--no-...`` empties.
        changes: At least one option must be given.
        confirm: A question to ask on a terminal first; empty for none. ``{name}`` stands for an argument, ``{it}`` for
            what ``look`` gives.
        look: The method that shows what the question is about; empty when it says all.
        hide: The parameters that the command does not have.
        past: The method of the bank as it stood at ``--as-of``; empty when there is none.
        makes: It stores something new, so that a named project without a bank gets one; what neither makes nor only
            reads says that there is no such project.
        served: The user's shared server does it when it runs, because it needs the embedding model.
        asks: On a terminal, without options, a person is asked about each item (``cli/reviewer.py``).
    """

    name: str
    section: Section
    arguments: tuple[str, ...] = ()
    options: Mapping[str, str] = _NONE
    words: Mapping[str, tuple[str, str]] = _NONE
    stdin: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    ids: Mapping[str, IdKind] = _NONE
    clears: tuple[str, ...] = ()
    changes: bool = False
    confirm: str = ""
    look: str = ""
    hide: tuple[str, ...] = ()
    past: str = ""
    makes: bool = False
    served: bool = False
    asks: bool = False


class Tool(NamedTuple):
    """How an operation is a tool of the MCP server.

    Attributes:
        name: Its name.
        profiles: The profiles that offer it.
        description: When an agent calls it.
        inputs: Its arguments in their order, ``given=parameter`` where the names differ; ``!`` marks a required one.
        outputs: The fields of the answer that the schema names; of ``name{...}`` the fields inside as well.
        about: What the schema says of an argument; only where an agent would err without it.
        most: The largest number that is taken, by parameter; a larger one is an error that names it.
        defaults: What it takes instead of the method's own defaults.
        fixed: Arguments that every call has.
        only: The answer holds the named outputs and nothing else.
        anywhere: A memory is found in every project of the tenant (DESIGN D9).
        reads: It changes nothing.
        destroys: It removes what was there.
        repeatable: Calling it again with the same arguments changes nothing more.
    """

    name: str
    profiles: tuple[str, ...]
    description: str
    inputs: str
    outputs: str
    about: Mapping[str, str] = _NONE
    most: Mapping[str, int] = _NONE
    defaults: Mapping[str, object] = _NONE
    fixed: Mapping[str, object] = _NONE
    only: bool = False
    anywhere: bool = False
    reads: bool = False
    destroys: bool = False
    repeatable: bool = False


class Route(NamedTuple):
    """How an operation is an endpoint.

    Attributes:
        method: The HTTP method.
        path: Its path below ``API``; ``{name}`` and ``{name:path}`` are arguments.
        inputs: Its other arguments, of the query of GET and of the JSON body else; ``given=parameter`` where the names
            differ. ``*`` takes the whole body as the parameter after it.
        created: ``always`` for 201, ``new`` for 201 when the answer says that something is new.
        most: The largest number that is taken, by parameter; a larger one is an error that names it.
        limit: What holds when no limit is given; the largest one as well for 0.
    """

    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: str
    inputs: str = ""
    created: Literal["", "always", "new"] = ""
    most: Mapping[str, int] = _NONE
    defaults: Mapping[str, object] = _NONE

    @property
    def place(self) -> str:
        """Its whole path as people and OpenAPI write it."""
        return f"{API}{self.path}".replace(":path}", "}")


class Operation(NamedTuple):
    """One operation.

    Attributes:
        method: The method of a bank (``search``, ``graph.walk``), or ``+name`` for a function of
            ``reasoningbank.operations.composed`` and ``+module.name`` for one of another module beside it.
        summary: What it does, in one line.
        command, tool, route: Where it is offered.
        reads: It only asks, so that a project without a bank is an empty one and none is made.
        admin: Over HTTP it takes a token with the scope ``admin``: what was stored is gone or hidden after it.
        defaults: What the entrances take instead of the method's own defaults.
        fixed: Arguments that the command line always passes.
        parts: The fields of an options object that are offered; the others keep their defaults.
        choices: The values of a parameter, for schemas; the bank checks them.
        plural: The name of the list when the method gives several things.
        echo: The arguments that stand in the answer.
        raw: Its answer holds texts that the gate has not passed, such as transcripts and queries. Over HTTP each that
            looks like a prompt injection is withheld.
        shows: Its answer gives an agent memories to read, though it may change some; what only asks always does.
    """

    method: str
    summary: str
    command: Command | None = None
    tool: Tool | None = None
    route: Route | None = None
    reads: bool = False
    defaults: Mapping[str, object] = _NONE
    fixed: Mapping[str, object] = _NONE
    parts: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = _NONE
    plural: str = ""
    echo: tuple[str, ...] = ()
    raw: bool = False
    shows: bool = False
    admin: bool = False

    @property
    def needs(self) -> Literal["read", "write", "admin"]:
        """The scope that a token must have for it."""
        return "admin" if self.admin else "read" if self.reads else "write"


class Input(NamedTuple):
    """One argument of a tool or of a route.

    Attributes:
        given: Its name in a call.
        parameter: The parameter of the operation; ``project_id`` is of no operation.
        required: True when it must be given.
        spread: True when it stands for several arguments: the special fields of a node, or a whole body.
    """

    given: str
    parameter: str
    required: bool = False
    spread: bool = False


def inputs_of(words: str) -> tuple[Input, ...]:
    """Return the arguments that a tool or a route names."""
    found = []
    for word in words.split():
        given, _, parameter = word.strip("!*").partition("=")
        required, spread = word.startswith("!"), word.startswith("*")
        found.append(Input(given=given, parameter=parameter or given, required=required, spread=spread))
    return tuple(found)
