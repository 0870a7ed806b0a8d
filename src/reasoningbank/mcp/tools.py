"""The tools of a server: any call gives an answer, errors included. What they do is imported at the first call."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from reasoningbank.errors import BankError, EmptyProjectId, MemoryNotFound, NodeNotFound, TrajectoryNotFound
from reasoningbank.mcp.calls import Caller, ToolAnswer
from reasoningbank.mcp.schemas import ToolSpec, profiles_of, tools_in, tools_of
from reasoningbank.operations.operation import inputs_of
from reasoningbank.settings import own_run

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.mcp.background import Background
    from reasoningbank.mcp.banks import Banks
    from reasoningbank.operations.arguments import Arguments
    from reasoningbank.operations.operation import Operation, Tool

_log = logging.getLogger(__name__)
REVIEW = "admin"
"""The profile with which a person reviews a bank: it shows what is in quarantine, marked."""
_ALWAYS_KNOWN = frozenset({"memory_distill", "memory_consolidate"})
"""Tools that make no bank of a project that has none, named or not."""


class Tools:
    """The tools of a profile over the banks of a server. Thread-safe.

    Args:
        banks: The banks.
        profile: Which tools there are: a profile, or several separated by commas.

    Raises:
        ConfigurationError: When there is no such profile.
    """

    def __init__(self, banks: Banks, *, profile: str = "core") -> None:
        self._banks = banks
        self._tenants: set[str] = set()
        self._specs = tools_of(profile)
        self._reviews = REVIEW in profiles_of(profile)
        self._operations = {tool.name: (operation, tool) for operation, tool in tools_in(profile)}
        self._background: Background | None = None

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools as they are listed, by name."""
        return self._specs

    def call(self, name: str, arguments: Mapping[str, object] | None, caller: Caller) -> ToolAnswer:
        """Run a tool of the profile; an error becomes an answer that says what to do next."""
        try:
            return self._run(name, arguments, caller)
        except BankError as error:
            return failure(error, self._specs[name])

    def warm(self, caller: Caller) -> None:
        """Open the bank and load the embedder, so that the first search need not wait; make no bank of its own."""
        from reasoningbank.mcp.banks import belonging

        try:
            project = self._banks.any_project(caller.tenant, caller.usual)
            if project in self._banks.existing(caller.tenant):
                with belonging(caller.membership), self._banks.use(caller.tenant, project) as bank:
                    bank.embedder.embed_queries(["warm up"])
        except EmptyProjectId:
            return
        except BankError as error:
            _log.warning("not ready yet: %s %s", error, error.hint)

    def look_after(self, *tenants: str) -> None:
        """Let the background work look after every bank of these tenants."""
        self._tenants.update(tenants)

    def work(self) -> None:
        """Start the background work; inside of a client that we run as a language model there is none."""
        if self._background is None and not own_run():
            from reasoningbank.mcp.background import Background

            self._background = Background(self._banks, self._tenants)
            self._background.start()

    @property
    def busy(self) -> bool:
        """Return whether background work is still under way."""
        return self._background is not None and self._background.busy

    @property
    def working(self) -> bool:
        """Return whether background work has a bank in hand."""
        return self._background is not None and self._background.working

    def close(self) -> None:
        """End the background work and close the banks."""
        if self._background is not None:
            self._background.stop()
        self._banks.close()

    def _run(self, name: str, arguments: Mapping[str, object] | None, caller: Caller) -> ToolAnswer:
        from reasoningbank.mcp.banks import belonging
        from reasoningbank.memories.standing import speaking
        from reasoningbank.operations.arguments import Arguments
        from reasoningbank.types.access import allows, check_access

        operation, tool = self._operations[name]
        try:
            check_access(caller.scopes, operation.needs)
            with belonging(caller.membership), speaking(caller.principal or caller.session, caller.session):
                spec = self._specs[name]
                given = Arguments(name, spec.inputs, spec.required, arguments)
                reviews = self._reviews and allows(caller.scopes, "admin")
                return answered(self._banks, operation, tool, caller, given, reviews=reviews)
        except BankError:
            raise
        except Exception as error:
            _log.exception("%s failed", name)
            raise BankError(
                f"{name} failed: {type(error).__name__}",
                hint="This is a defect of the server; its log says where. Run `rbank doctor`, then try again.",
            ) from error


class WarmUp:
    """Open the server's bank and load its embedder on a thread of its own, at most once."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, caller: Caller) -> None:
        """Start at the first call; does nothing afterwards."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._tools.warm, args=(caller,), name="reasoningbank-warm-up", daemon=True
                )
                self._thread.start()

    @property
    def busy(self) -> bool:
        """Return whether it still runs."""
        return self._thread is not None and self._thread.is_alive()


def answered(
    banks: Banks, operation: Operation, tool: Tool, caller: Caller, arguments: Arguments, *, reviews: bool = False
) -> ToolAnswer:
    """Run an operation with the arguments of a call and return its answer.

    Args:
        banks: The banks.
        operation: What is run.
        tool: The tool that was called.
        caller: Who calls.
        arguments: The arguments of the call.
        reviews: The server is a person's for a review: it shows what is in quarantine.
    """
    from reasoningbank.mcp.text import answer_of
    from reasoningbank.operations.methods import run

    values = values_of(operation, tool, caller, arguments)
    if reviews and operation.reads and "reader" in values:
        values["reader"] = "human"
    named = arguments.optional_text("project_id")
    if tool.anywhere:
        with banks.use(caller.tenant, banks.any_project(caller.tenant, caller.usual), reads=True) as bank:
            if named is not None:
                _check_project(bank, str(values["memory_id"]), banks.project(named))
            return answer_of(operation, tool, run(operation, bank, values), values)
    project = banks.project(named, caller.usual)
    unknown = (named is not None or tool.name in _ALWAYS_KNOWN) and not banks.has(caller.tenant, project)
    if unknown and tool.name in _NOTHING:
        nothing = _NOTHING[tool.name](
            {**values, "project": project}, f"Nothing is known of project {project[:80]!r} yet."
        )
        if nothing is not None:
            return answer_of(operation, tool, nothing, values)
    with banks.use(caller.tenant, project, reads=operation.reads) as bank:
        return answer_of(operation, tool, run(operation, bank, values), values)


def values_of(operation: Operation, tool: Tool, caller: Caller, arguments: Arguments) -> dict[str, Any]:
    """Return the arguments of a call by the names of the operation's parameters."""
    from reasoningbank.operations.arguments import check_most
    from reasoningbank.operations.methods import interface
    from reasoningbank.types.graph import LABEL_FIELDS

    signature = interface(operation)
    values: dict[str, Any] = {**operation.defaults, **tool.defaults}
    for each in inputs_of(tool.inputs):
        if each.spread:
            special = dict.fromkeys(name for names in LABEL_FIELDS.values() for name in names)
            values[each.parameter] = {name: arguments.value(name) for name in special if arguments.has(name)}
        elif each.parameter == "session":
            values["session"] = arguments.session(caller.session)
        elif each.parameter != "project_id" and arguments.has(each.given):
            value = arguments.value(each.given)
            scores = signature.named(each.parameter).kind == "scores"
            values[each.parameter] = dict.fromkeys(value, 1.0) if scores else value
    check_most(values, tool.inputs, tool.most)
    values.update(tool.fixed)
    return values


def failure(error: BankError, spec: ToolSpec) -> ToolAnswer:
    """Return an error as an answer: what happened and what to do next, in the tool's one shape when it has one."""
    from reasoningbank.operations.json import to_json

    fields = {**spec.blank, **to_json(error)}
    reason = getattr(error, "reason", "")
    if reason:
        fields["reason"] = reason
    return ToolAnswer(fields=fields, text=error.advice, failed=True)


def _check_project(bank: Bank, memory_id: str, wanted: str) -> None:
    if bank.get(memory_id).project != wanted:
        raise MemoryNotFound(
            f"no memory {memory_id[:80]!r} in project {wanted[:80]!r}",
            hint="Leave project_id out to look in every project, or search for the memory.",
        )


def _no_recall(values: Mapping[str, Any], said: str) -> object:
    from reasoningbank.search.query import checked_question
    from reasoningbank.types.recall import Recall

    names = ("limit", "min_confidence", "outcome", "tags", "unproven")
    checked_question(values["query"], **{name: values[name] for name in names if name in values})
    return Recall(session=values["session"], message=said)


def _no_brief(values: Mapping[str, Any], said: str) -> object:
    from reasoningbank.search.query import checked_question
    from reasoningbank.types.recall import Brief

    if values.get("task") is not None:
        checked_question(values["task"])
    _check_budget(values)
    return Brief(session=values["session"], message=said)


def _no_experience(values: Mapping[str, Any], said: str) -> object:
    from reasoningbank.search.experience import checked_mode
    from reasoningbank.search.query import checked_question
    from reasoningbank.types.experience import ExperienceAnswer, Reasoning

    checked_mode(values.get("mode", "semantic"))
    checked_question(values["query"], limit=values.get("limit") or 0)
    reasoning = Reasoning(strategy_used="", learned_from=0, outcome="unknown", execution_time_ms=0, message=said)
    return ExperienceAnswer(results=(), reasoning=reasoning)


def _no_answer(values: Mapping[str, Any], said: str) -> object:
    from reasoningbank.safety.checks import checked_limit
    from reasoningbank.search.query import usable_query
    from reasoningbank.types.conversation import QuestionAnswer, QuestionPlan

    checked_limit(values.get("nodes", 0))
    _check_budget(values)
    return QuestionAnswer(plan=QuestionPlan(question=usable_query(values["question"])), message=said)


def _no_paths(values: Mapping[str, Any], _: str) -> object:
    from reasoningbank.operations.composed import walked
    from reasoningbank.types.walk import SEED_NOT_FOUND, WalkResult, WalkSeed, check_seeds

    check_seeds(values["seeds"])
    seeds = (WalkSeed(id=name, score=1.0, found=False, reason=SEED_NOT_FOUND) for name in values["seeds"])
    return walked(WalkResult(seeds=tuple(seeds)))


def _no_lessons(values: Mapping[str, Any], said: str) -> object:
    from reasoningbank.safety.checks import checked_limit, clean_tags
    from reasoningbank.search.query import usable_query
    from reasoningbank.types.graph import check_graph_id
    from reasoningbank.types.graph_search import LessonAnswer

    checked_limit(values.get("limit", 0))
    clean_tags(values.get("tags", ()))
    for name in values.get("linked_to", ()):
        check_graph_id("linked_to", name)
    return LessonAnswer(query=usable_query(values["query"]), message=said)


def _no_consolidation(_: Mapping[str, Any], said: str) -> object:
    from reasoningbank.types.consolidation import ConsolidationResult

    return ConsolidationResult(messages=(said,))


def _no_assignment(values: Mapping[str, Any], said: str) -> object:
    from reasoningbank.operations.composed import Assigned

    if values.get("trajectory_id") is not None or values.get("nothing_in") is not None:
        raise TrajectoryNotFound(said)
    return Assigned()


def _no_record(values: Mapping[str, Any], said: str) -> object:
    if values.get("trajectory_id") is not None:
        raise TrajectoryNotFound(said, hint="Name the project_id that memory_distill was given.")
    return None


def _no_node(_: Mapping[str, Any], said: str) -> object:
    raise NodeNotFound(said)


def _no_stats(values: Mapping[str, Any], said: str) -> object:
    from reasoningbank.mcp.text import NoStats

    return NoStats(project=values["project"], message=said)


def _check_budget(values: Mapping[str, Any]) -> None:
    from reasoningbank.errors import InvalidInput

    if values.get("budget", 0) < 0:
        raise InvalidInput(f"a budget cannot be negative: {values['budget']}", hint="Name the most tokens.")


_NOTHING: Mapping[str, Callable[[Mapping[str, Any], str], object]] = {
    "graph_get": _no_node,
    "graph_link": _no_node,
    "graph_paths": _no_paths,
    "graph_search": _no_answer,
    "lesson_search": _no_lessons,
    "memory_briefing": _no_brief,
    "memory_consolidate": _no_consolidation,
    "memory_distill": _no_assignment,
    "memory_record": _no_record,
    "memory_search": _no_recall,
    "memory_search_with_experience": _no_experience,
    "memory_stats": _no_stats,
}
"""What a tool answers of a project that has no bank, so that reading makes none; None goes on and makes it."""
