"""The Bank for asynchronous programs: the same resources and methods, awaited; each runs in a worker thread."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from datetime import datetime
from types import TracebackType
from typing import Any, Concatenate, Generic, NoReturn, ParamSpec, Self, TypeVar

from reasoningbank.admin import Admin
from reasoningbank.bank import Bank
from reasoningbank.conversations.conversations import Conversations
from reasoningbank.conversations.questions import Questions
from reasoningbank.conversations.workflows import Workflows
from reasoningbank.curation.curation import Curation
from reasoningbank.curation.quarantine import Quarantines
from reasoningbank.curation.snapshot import Past
from reasoningbank.documents.documents import Documents
from reasoningbank.graph.edges import Edges
from reasoningbank.graph.graph import Graph
from reasoningbank.graph.provenance import Preferences
from reasoningbank.graph.sources import Sources
from reasoningbank.jobs.jobs import Jobs
from reasoningbank.matts.matts import Matts
from reasoningbank.memories.memories import Memories
from reasoningbank.search.experience import Experience
from reasoningbank.sessions.branches import Branches
from reasoningbank.sessions.distillation import Distillation
from reasoningbank.sessions.recipe_store import Recipes
from reasoningbank.sessions.sessions import Sessions
from reasoningbank.settings import Settings
from reasoningbank.sharing.scopes import Sharing
from reasoningbank.types.ports import Embedder, LanguageModel
from reasoningbank.types.scope import Membership, Scope

_Resource = TypeVar("_Resource")
_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")


class Awaited(Generic[_Resource]):
    """Hold the resource whose methods are awaited.

    Args:
        resource: The resource.
    """

    def __init__(self, resource: _Resource) -> None:
        self._resource = resource


def awaited(
    method: Callable[Concatenate[_Resource, _Arguments], _Answer],
) -> Callable[Concatenate[Awaited[_Resource], _Arguments], Coroutine[Any, Any, _Answer]]:
    """Return the method of a resource as a coroutine function; it runs in a worker thread."""

    @functools.wraps(method)
    async def call(self: Awaited[_Resource], /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Answer:
        return await asyncio.to_thread(method, self._resource, *args, **kwargs)

    return call


def delegated(
    method: Callable[Concatenate[_Resource, _Arguments], Coroutine[Any, Any, _Answer]],
) -> Callable[Concatenate[Awaited[_Resource], _Arguments], Coroutine[Any, Any, _Answer]]:
    """Return the coroutine method of a resource; it runs on the caller's event loop."""

    @functools.wraps(method)
    async def call(self: Awaited[_Resource], /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Answer:
        return await method(self._resource, *args, **kwargs)

    return call


def _opener(method: Callable[_Arguments, Bank]) -> Callable[_Arguments, Coroutine[Any, Any, AsyncBank]]:
    @functools.wraps(method)
    async def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> AsyncBank:
        return AsyncBank(await asyncio.to_thread(method, *args, **kwargs))

    return call


class AsyncMemories(Awaited[Memories]):
    """Memories, awaited."""

    list = awaited(Memories.list)
    count = awaited(Memories.count)
    history = awaited(Memories.history)
    identified = awaited(Memories.identified)
    news = awaited(Memories.news)
    meetings = awaited(Memories.meetings)
    vector = awaited(Memories.vector)
    versions = awaited(Memories.versions)
    revert = awaited(Memories.revert)
    origins = awaited(Memories.origins)
    links = awaited(Memories.links)
    link = awaited(Memories.link)


class AsyncExperience(Awaited[Experience]):
    """Experience, awaited."""

    search = awaited(Experience.search)
    report = awaited(Experience.report)
    traces = awaited(Experience.traces)
    extract_strategy = awaited(Experience.extract_strategy)
    extract_content = awaited(Experience.extract_content)
    ingest = awaited(Experience.ingest)


class AsyncSessions(Awaited[Sessions]):
    """Sessions, awaited."""

    capture = awaited(Sessions.capture)
    keep = awaited(Sessions.keep)
    get = awaited(Sessions.get)
    list = awaited(Sessions.list)
    states = awaited(Sessions.states)
    delete = awaited(Sessions.delete)
    judge = awaited(Sessions.judge)
    judgements = awaited(Sessions.judgements)
    shown = awaited(Sessions.shown)
    taught = awaited(Sessions.taught)
    verdict = awaited(Sessions.verdict)
    capture_later = awaited(Sessions.capture_later)
    outcome = awaited(Sessions.outcome)


class AsyncDistillation(Awaited[Distillation]):
    """Distillation, awaited."""

    run = awaited(Distillation.run)
    from_summary = awaited(Distillation.from_summary)
    assignment = awaited(Distillation.assignment)
    record = awaited(Distillation.record)
    skip = awaited(Distillation.skip)
    refusals = awaited(Distillation.refusals)


class AsyncRecipes(Awaited[Recipes]):
    """Recipes, awaited."""

    learn = awaited(Recipes.learn)
    briefing = awaited(Recipes.briefing)


class AsyncBranches(Awaited[Branches]):
    """Branches, awaited."""

    briefing = awaited(Branches.briefing)
    outcome = awaited(Branches.outcome)


class AsyncCuration(Awaited[Curation]):
    """Curation, awaited."""

    clusters = awaited(Curation.clusters)
    merge = awaited(Curation.merge)
    consolidate = awaited(Curation.consolidate)
    consolidate_all = awaited(Curation.consolidate_all)
    merges = awaited(Curation.merges)
    undo = awaited(Curation.undo)
    contradictions = awaited(Curation.contradictions)
    decay = awaited(Curation.decay)
    prune = awaited(Curation.prune)
    report_stability = awaited(Curation.report_stability)
    check_stability = awaited(Curation.check_stability)
    upkeep = awaited(Curation.upkeep)


class AsyncQuarantines(Awaited[Quarantines]):
    """Quarantines, awaited."""

    add = awaited(Quarantines.add)
    release = awaited(Quarantines.release)
    list = awaited(Quarantines.list)
    review = awaited(Quarantines.review)


class AsyncGraph(Awaited[Graph]):
    """Graph, awaited."""

    add = awaited(Graph.add)
    update = awaited(Graph.update)
    delete = awaited(Graph.delete)
    import_ = awaited(Graph.import_)
    get = awaited(Graph.get)
    search = awaited(Graph.search)
    restore = awaited(Graph.restore)
    walk = awaited(Graph.walk)
    list = awaited(Graph.list)
    size = awaited(Graph.size)
    conversation = awaited(Graph.conversation)
    actions = awaited(Graph.actions)
    events = awaited(Graph.events)


class AsyncEdges(Awaited[Edges]):
    """Edges, awaited."""

    add = awaited(Edges.add)
    update = awaited(Edges.update)
    delete = awaited(Edges.delete)
    get = awaited(Edges.get)
    search = awaited(Edges.search)


class AsyncSources(Awaited[Sources]):
    """Sources, awaited."""

    mentions = awaited(Sources.mentions)
    add = awaited(Sources.add)
    list = awaited(Sources.list)


class AsyncPreferences(Awaited[Preferences]):
    """Preferences, awaited."""

    add = awaited(Preferences.add)
    list = awaited(Preferences.list)


class AsyncConversations(Awaited[Conversations]):
    """Conversations, awaited."""

    remember = awaited(Conversations.remember)


class AsyncQuestions(Awaited[Questions]):
    """Questions, awaited."""

    plan = awaited(Questions.plan)
    ask = awaited(Questions.ask)
    answer = awaited(Questions.answer)


class AsyncWorkflows(Awaited[Workflows]):
    """Workflows, awaited."""

    execute = awaited(Workflows.execute)
    search = awaited(Workflows.search)
    get = awaited(Workflows.get)
    stalled = awaited(Workflows.stalled)
    answer = awaited(Workflows.answer)
    cancel = awaited(Workflows.cancel)


class AsyncDocuments(Awaited[Documents]):
    """Documents, awaited."""

    get = awaited(Documents.get)
    list = awaited(Documents.list)
    paths = awaited(Documents.paths)
    find = awaited(Documents.find)
    keep = awaited(Documents.keep)
    files = awaited(Documents.files)
    change_files = awaited(Documents.change_files)
    show_files = awaited(Documents.show_files)


class AsyncSharing(Awaited[Sharing]):
    """Sharing, awaited."""

    memberships = awaited(Sharing.memberships)
    candidates = awaited(Sharing.candidates)
    propose = awaited(Sharing.propose)
    promote = awaited(Sharing.promote)
    demote = awaited(Sharing.demote)
    promotions = awaited(Sharing.promotions)
    export_markdown = awaited(Sharing.export_markdown)
    import_markdown = awaited(Sharing.import_markdown)
    import_from = awaited(Sharing.import_from)
    export_skills = awaited(Sharing.export_skills)
    export = awaited(Sharing.export)
    import_ = awaited(Sharing.import_)


class AsyncMatts(Awaited[Matts]):
    """Matts, awaited."""

    scale = awaited(Matts.scale)
    ascale = delegated(Matts.ascale)


class AsyncAdmin(Awaited[Admin]):
    """Admin, awaited."""

    stats = awaited(Admin.stats)
    erase = awaited(Admin.erase)
    repair = awaited(Admin.repair)
    check_store = awaited(Admin.check_store)
    metrics = awaited(Admin.metrics)
    weights = awaited(Admin.weights)
    roll_up = awaited(Admin.roll_up)
    backup = awaited(Admin.backup)
    restore = awaited(Admin.restore)
    export = awaited(Admin.export)
    import_ = awaited(Admin.import_)
    reembed = awaited(Admin.reembed)
    check = awaited(Admin.check)


class AsyncJobs(Awaited[Jobs]):
    """Jobs, awaited."""

    work = awaited(Jobs.work)
    reconcile_vectors = awaited(Jobs.reconcile_vectors)
    work_until = awaited(Jobs.work_until)
    due = awaited(Jobs.due)
    dead = awaited(Jobs.dead)
    runs = awaited(Jobs.runs)
    waiting = awaited(Jobs.waiting)
    next_due = awaited(Jobs.next_due)


class AsyncPast(Awaited[Past]):
    """A project's bank as it stood at a moment, awaited."""

    get = awaited(Past.get)
    list = awaited(Past.list)
    count = awaited(Past.count)
    search = awaited(Past.search)

    @property
    def moment(self) -> datetime:
        """The moment whose state is shown."""
        return self._resource.moment

    async def notes(self) -> tuple[str, ...]:
        """Return what of the bank as a whole cannot be known any more, one sentence each."""
        return await asyncio.to_thread(lambda: self._resource.notes)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._resource.__getattr__(name)


def _viewer(
    method: Callable[Concatenate[Bank, _Arguments], Past],
) -> Callable[Concatenate[Awaited[Bank], _Arguments], Coroutine[Any, Any, AsyncPast]]:
    @functools.wraps(method)
    async def call(self: Awaited[Bank], /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> AsyncPast:
        return AsyncPast(await asyncio.to_thread(method, self._resource, *args, **kwargs))

    return call


class AsyncBank(Awaited[Bank]):
    """Bank with awaitable methods; arguments, results and errors are those of Bank.

    Args:
        resource: The bank.
    """

    def __init__(self, resource: Bank) -> None:
        super().__init__(resource)
        self.memories = AsyncMemories(resource.memories)
        self.experience = AsyncExperience(resource.experience)
        self.sessions = AsyncSessions(resource.sessions)
        self.distillation = AsyncDistillation(resource.distillation)
        self.recipes = AsyncRecipes(resource.recipes)
        self.branches = AsyncBranches(resource.branches)
        self.curation = AsyncCuration(resource.curation)
        self.quarantine = AsyncQuarantines(resource.quarantine)
        self.graph = AsyncGraph(resource.graph)
        self.edges = AsyncEdges(resource.edges)
        self.sources = AsyncSources(resource.sources)
        self.preferences = AsyncPreferences(resource.preferences)
        self.conversations = AsyncConversations(resource.conversations)
        self.questions = AsyncQuestions(resource.questions)
        self.workflows = AsyncWorkflows(resource.workflows)
        self.documents = AsyncDocuments(resource.documents)
        self.sharing = AsyncSharing(resource.sharing)
        self.matts = AsyncMatts(resource.matts)
        self.admin = AsyncAdmin(resource.admin)
        self.jobs = AsyncJobs(resource.jobs)

    open = staticmethod(_opener(Bank.open))
    record = awaited(Bank.record)
    search = awaited(Bank.search)
    briefing = awaited(Bank.briefing)
    get = awaited(Bank.get)
    feedback = awaited(Bank.feedback)
    outcome = awaited(Bank.outcome)
    update = awaited(Bank.update)
    delete = awaited(Bank.delete)
    report = awaited(Bank.report)
    at = _viewer(Bank.at)
    close = awaited(Bank.close)

    @property
    def scope(self) -> Scope:
        """The tenant and project, fixed for the bank's life."""
        return self._resource.scope

    @property
    def membership(self) -> Membership:
        """The team and org that this bank was opened with."""
        return self._resource.membership

    @property
    def session(self) -> str:
        """Return what searches and ratings count for when they name no session."""
        return self._resource.session

    @property
    def embedder(self) -> Embedder:
        """The embedder in use."""
        return self._resource.embedder

    @property
    def model(self) -> LanguageModel | None:
        """The language model in use, None when there is none."""
        return self._resource.model

    @property
    def settings(self) -> Settings:
        """The settings in use."""
        return self._resource.settings

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
