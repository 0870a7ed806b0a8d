"""The Bank: eight daily verbs, and resources for everything else."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from reasoningbank.context import Context
from reasoningbank.errors import InvalidInput, MissingTenantError
from reasoningbank.memories.standing import check_person, is_program_of_an_agent, readable, said_by
from reasoningbank.memories.states import refuse_quarantined
from reasoningbank.memories.voices import refuse_taking
from reasoningbank.safety.checks import MAX_SESSION, given_name, session_name
from reasoningbank.search.briefing import DEFAULT_BUDGET, DEFAULT_ITEMS
from reasoningbank.search.query import DEFAULT_SEARCH_LIMIT, checked_question
from reasoningbank.search.search import By, Search
from reasoningbank.settings import Settings, load_settings, project_of
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.argument import Budget, Confidence, Limit, SearchLimit, check_texts
from reasoningbank.types.belief import EXPLICIT_RECORD_CONFIDENCE, MIN_CONFIDENCE
from reasoningbank.types.graph_search import LessonWeights
from reasoningbank.types.memory import (
    KEPT_FOR,
    WITHDRAWN,
    Cause,
    Memory,
    OutcomeReport,
    Rating,
    State,
    check_outcome,
)
from reasoningbank.types.moment import as_moment
from reasoningbank.types.ports import Clock, Embedder, LanguageModel
from reasoningbank.types.quarantine import Reader
from reasoningbank.types.recall import Brief, BriefItem, Recall
from reasoningbank.types.resource import checked
from reasoningbank.types.scope import Level, Membership, Scope
from reasoningbank.types.signal import Rater
from reasoningbank.types.uplift import UpliftReport

if TYPE_CHECKING:
    from reasoningbank.admin import Admin
    from reasoningbank.conversations.conversations import Conversations
    from reasoningbank.conversations.questions import Questions
    from reasoningbank.conversations.workflows import Workflows
    from reasoningbank.curation.curation import Curation
    from reasoningbank.curation.quarantine import Quarantines
    from reasoningbank.curation.snapshot import Past
    from reasoningbank.curation.uplift import Uplift
    from reasoningbank.documents.documents import Documents
    from reasoningbank.graph.edges import Edges
    from reasoningbank.graph.graph import Graph
    from reasoningbank.graph.provenance import Preferences
    from reasoningbank.graph.sources import Sources
    from reasoningbank.jobs.jobs import Jobs
    from reasoningbank.matts.matts import Matts
    from reasoningbank.memories.admission import EnteredBy
    from reasoningbank.memories.memories import Memories
    from reasoningbank.search.briefing import Briefings
    from reasoningbank.search.cascade import Found
    from reasoningbank.search.experience import Experience
    from reasoningbank.sessions.branches import Branches
    from reasoningbank.sessions.distillation import Distillation, Distiller
    from reasoningbank.sessions.recipe_store import Recipes
    from reasoningbank.sessions.recorder import Recorder
    from reasoningbank.sessions.sessions import Sessions
    from reasoningbank.sessions.settlement import Settlement
    from reasoningbank.sharing.scopes import Sharing

_LESSON_WEIGHTS = LessonWeights()


@checked
class Bank:
    """The memory of one tenant's project. Thread-safe; use it as a context manager or close it.

    Example:
        with Bank.open(tenant="acme", project="shop") as bank:
            memory = bank.record(title="Retry flaky calls", content="Back off, then retry.", outcome="success")
            recall = bank.search("a network call fails now and then")
            bank.feedback(memory.id, helpful=True)
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._search = Search(context)

    @cached_property
    def _briefings(self) -> Briefings:
        """Make briefings."""
        from reasoningbank.search.briefing import Briefings

        return Briefings(self._context, self._search)

    @cached_property
    def memories(self) -> Memories:
        """Read memories, their versions and where they come from."""
        from reasoningbank.memories.memories import Memories

        return Memories(self._context)

    @cached_property
    def experience(self) -> Experience:
        """Search with the experience of earlier searches, and read texts into memories (seed 002)."""
        from reasoningbank.search.experience import Experience

        return Experience(self._context, self._search)

    @cached_property
    def sessions(self) -> Sessions:
        """Capture sessions, judge how they ended, and credit what they were shown."""
        from reasoningbank.sessions.sessions import Sessions

        return Sessions(self._context, self._recorder, self._settlement)

    @cached_property
    def _settlement(self) -> Settlement:
        """Credit memories with how the sessions ended that were shown them."""
        from reasoningbank.sessions.settlement import Settlement

        return Settlement(self._context, self._search)

    @cached_property
    def _recorder(self) -> Recorder:
        """Keep sessions as trajectories."""
        from reasoningbank.sessions.recorder import Recorder

        return Recorder(self._context, self._settlement)

    @cached_property
    def recipes(self) -> Recipes:
        """Make recipes of captured sessions without a model, and show the one for an error."""
        from reasoningbank.sessions.recipe_store import Recipes

        return Recipes(self._context, self.sessions, self._briefings)

    @cached_property
    def distillation(self) -> Distillation:
        """Distil lessons from captured sessions."""
        from reasoningbank.sessions.distillation import Distillation

        return Distillation(self._context, self.sessions, self._settlement, self._distiller)

    @cached_property
    def _distiller(self) -> Distiller:
        """Distil the sessions that wait, with a language model."""
        from reasoningbank.conversations.conversations import SessionGraph
        from reasoningbank.sessions.distillation import Distiller

        graph = SessionGraph(self._context)
        return Distiller(self._context, self.sessions, self._settlement, self.recipes, graph.remember)

    @cached_property
    def branches(self) -> Branches:
        """Brief and credit the branches of a folded context (seed 001)."""
        from reasoningbank.sessions.branches import Branches

        return Branches(self._context, self.sessions, self.distillation, self.briefing)

    @cached_property
    def curation(self) -> Curation:
        """Consolidate memories that say nearly the same, and let unused ones age."""
        from reasoningbank.curation.curation import Curation

        return Curation(self._context)

    @cached_property
    def quarantine(self) -> Quarantines:
        """Hold memories back with everything derived from them, and release them."""
        from reasoningbank.curation.quarantine import Quarantines

        return Quarantines(self._context)

    @cached_property
    def _uplift(self) -> Uplift:
        """Measure what memory is worth."""
        from reasoningbank.curation.uplift import Uplift

        return Uplift(self._context)

    @cached_property
    def graph(self) -> Graph:
        """The contextual graph: nodes, searches and walks (seed 003)."""
        from reasoningbank.graph.graph import Graph

        return Graph(self._context)

    @cached_property
    def edges(self) -> Edges:
        """Edges of the contextual graph: sentences with a weight."""
        from reasoningbank.graph.edges import Edges

        return Edges(self._context, self.graph)

    @cached_property
    def sources(self) -> Sources:
        """Sources and what they name and state."""
        from reasoningbank.graph.sources import Sources

        return Sources(self._context)

    @cached_property
    def preferences(self) -> Preferences:
        """Preferences of users and roles."""
        from reasoningbank.graph.provenance import Preferences

        return Preferences(self._context)

    @cached_property
    def conversations(self) -> Conversations:
        """Remember finished conversations (seed 003)."""
        from reasoningbank.conversations.conversations import Conversations

        return Conversations(self._context)

    @cached_property
    def questions(self) -> Questions:
        """Plan questions and answer them from the graph and the lessons."""
        from reasoningbank.conversations.questions import Questions

        return Questions(self._context, self._search)

    @cached_property
    def workflows(self) -> Workflows:
        """Workflows: conversations that a program drives turn by turn."""
        from reasoningbank.conversations.workflows import Workflows

        return Workflows(self._context, self.conversations, self.questions)

    @cached_property
    def documents(self) -> Documents:
        """Documents that frameworks file in a bank, and memories as files."""
        from reasoningbank.documents.documents import Documents

        return Documents(self._context)

    @cached_property
    def sharing(self) -> Sharing:
        """Promote reviewed lessons into wider scopes, and share banks as files."""
        from reasoningbank.sharing.scopes import Sharing

        return Sharing(self._context, self._search)

    @cached_property
    def matts(self) -> Matts:
        """Let an agent try a task several times and learn from all attempts together."""
        from reasoningbank.matts.matts import Matts

        return Matts(self._context, self._search, self._settlement, self._distiller)

    @cached_property
    def admin(self) -> Admin:
        """Care for a bank as a whole: counts, checks, copies, exports and its embedder."""
        from reasoningbank.admin import Admin

        return Admin(self._context)

    @cached_property
    def jobs(self) -> Jobs:
        """Do the background work of a bank."""
        from reasoningbank.conversations.conversations import ConversationWriter
        from reasoningbank.curation.upkeep import Upkeep
        from reasoningbank.graph.agent_edits import DeletedParts
        from reasoningbank.graph.nodes import GraphVectors
        from reasoningbank.graph.sources import Citations
        from reasoningbank.jobs.index import IndexUpkeep
        from reasoningbank.jobs.jobs import Jobs
        from reasoningbank.search.experience import TraceLearner
        from reasoningbank.search.vocabulary import Vocabulary

        vocabulary, vectors = Vocabulary(self._context), GraphVectors(self._context)
        upkeep, index = Upkeep(self._context, self.curation), IndexUpkeep(self._context)
        due = (vocabulary, self._distiller, upkeep, self._uplift, vectors, DeletedParts(self._context), index)
        return Jobs(
            self._context,
            [
                vocabulary,
                self._recorder,
                self._settlement,
                self._distiller,
                TraceLearner(self._context),
                upkeep,
                self._uplift,
                vectors,
                Citations(self._context),
                ConversationWriter(self._context),
                index,
            ],
            due=[queue.queue_due for queue in due],
        )

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        tenant: str | None = None,
        project: str | None = None,
        team: str | None = None,
        org: str | None = None,
        embedder: str | Embedder | None = None,
        model: str | LanguageModel | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        chance: random.Random | None = None,
        session: str | None = None,
        create: bool = True,
        level: Level = "project",
        by_agent: bool | None = None,
    ) -> Self:
        """Open the bank of a tenant's project, made when it does not exist; load no model.

        Args:
            url: Where banks live; None for one file per project below the data directory.
            tenant: The owner; None takes REASONINGBANK_TENANT.
            project: The project; None derives it from the working directory.
            team: The team it belongs to, whose memories searches find too; None takes the configured one, empty none.
            org: The org it belongs to, likewise.
            embedder: An embedder or the name of one; None takes the configured one.
            model: A language model or the name of one, to judge and distill; None takes the configured one, if any.
            settings: Instead of the environment and the settings file.
            clock: Instead of the real time, for tests.
            chance: Source of randomness of the unproven draw.
            session: What searches and ratings count for; None makes a name.
            create: Make a bank for a project that has none; else it is an empty bank that ends with the process.
            level: Whose bank it is: the project's, or for its upkeep that of the team or org of this name, which
                belongs to no further team and org.
            by_agent: Whether an agent runs this process, so that nothing in it is a person's word and all of it its
                client's; None finds out as a command does, by variables and the programs that it descends from.

        Raises:
            MissingTenantError: When no tenant is known: nothing runs without one.
            ConfigurationError: When a setting, the URL or the embedder's name is not usable.
            StoreError: When the place cannot be used.
        """
        from reasoningbank.client_sessions import speak_as_client
        from reasoningbank.embedding import configured_embedder, configured_reranker
        from reasoningbank.storage import open_storage

        settings = settings or load_settings()
        speak_as_client(settings.home, by_agent=by_agent, url=url or settings.url)
        owner = settings.tenant if tenant is None else tenant
        if not owner.strip():
            raise MissingTenantError("no tenant: every operation belongs to one tenant")
        name = (settings.project or project_of(Path.cwd())) if project is None else project
        if embedder is None or isinstance(embedder, str):
            embedder = configured_embedder(settings, name=embedder)
        if model is None or isinstance(model, str):
            from reasoningbank.llm import open_model

            model = open_model(
                settings.llm if model is None else model,
                url=settings.llm_url,
                key=settings.llm_key,
                timeout=settings.llm_timeout,
                daily_tokens=settings.llm_daily_tokens,
                output_tokens=settings.llm_output_tokens,
                context=settings.llm_context,
                paid_calls=settings.paid_calls,
                client_sessions=settings.client_daily_sessions,
                client_tokens=settings.client_daily_tokens,
                client_timeout=settings.client_timeout,
                home=settings.home,
            )
        storage = open_storage(
            url if url is not None else settings.url or None, home=settings.home, vectors=settings.vectors
        )
        if not create:
            from reasoningbank.storage.absent import AbsentAsEmpty

            storage = AbsentAsEmpty(storage)
        return cls(
            Context(
                storage,
                Scope(tenant=owner, project=name, level=level),
                embedder,
                settings=settings,
                clock=clock,
                chance=chance,
                session=session,
                model=model,
                membership=Membership(
                    team=settings.team if team is None else team, org=settings.org if org is None else org
                )
                if level == "project"
                else Membership(),
                reranker=configured_reranker(settings),
            )
        )

    def record(
        self,
        *,
        title: str,
        content: str,
        outcome: str,
        description: str = "",
        tags: Iterable[str] = (),
        category: str = "",
        confidence: Confidence = EXPLICIT_RECORD_CONFIDENCE,
        session: str | None = None,
        source: str = "api",
        vouched: bool = False,
        link_nodes: Iterable[str] = (),
    ) -> Memory:
        """Store a strategy (outcome success) or an anti-pattern (failure); it can be found at once.

        Secrets are replaced and invisible characters removed before anything is stored. Text that looks like a prompt
        injection is quarantined with the reason in its provenance, unless a person vouches for it.

        Args:
            title: What it is about, one line.
            content: What to do, or what to avoid.
            outcome: ``success`` for a strategy, ``failure`` for an anti-pattern.
            description: When it applies.
            tags: A label; several are allowed.
            category: The kind of knowledge, one word.
            confidence: What it starts with, from 0 to 1.
            session: What it is recorded in.
            source: Which entrance it came through.
            vouched: A person has read it and stands by it; else a text that looks like a prompt injection is
                quarantined.
            link_nodes: A node of the graph that it comes from; several are allowed, and every one must exist.

        Returns:
            The memory as it was stored, at exactly the given confidence; one that was quarantined at most at 0.6. When
            the bank held the same text before, ``provenance["same_text"]`` is that memory's id, and
            ``provenance["same_text_state"]`` is ``quarantined`` when it was in quarantine.

        Raises:
            InvalidMemory: When a rule of the memory is broken; the subclass names it.
            InvalidInput: When the session or the source looks like a prompt injection.
            NodeNotFound: When a node does not exist; nothing was stored.
            StoreFull: When there is no space; nothing was stored.
        """
        from reasoningbank.memories.admission import (
            AGENT_SOURCE,
            AGENT_SOURCES,
            admit,
            draft,
            prepare,
            with_twin,
            withheld,
        )
        from reasoningbank.memories.echoes import as_echo, note_echo
        from reasoningbank.memories.links import check_exist, checked_nodes, relink
        from reasoningbank.memories.standing import PRINCIPAL, counted_in, note_speaker, speaker_in

        nodes = checked_nodes(link_nodes)

        check_person("to vouch for a text", given=vouched)
        source = AGENT_SOURCE if is_program_of_an_agent() and source not in AGENT_SOURCES else source
        origin: EnteredBy = "agent" if source in AGENT_SOURCES and not vouched else "person"
        store = self._context.store()
        place = counted_in(store, session_name(session) or self._context.session)
        speaker = speaker_in(place)
        with observed("create_memory", store=self._context.place):
            memory = draft(
                project=self._context.scope.project,
                at=self._context.clock.now(),
                origin=origin,
                title=title,
                content=content,
                outcome=check_outcome(outcome),
                description=description,
                tags=tags,
                category=category,
                confidence=confidence,
                provenance={
                    "source": given_name(source, "source", MAX_SESSION),
                    "session": place,
                    **({PRINCIPAL: speaker} if speaker else {}),
                },
            )
            check_exist(store, nodes)
            memory = with_twin(store, memory)
            (ready,) = prepare([memory], self._context.embedder, origin=origin, vouched=vouched)
            if origin == "agent":
                ready = as_echo(store, ready, place, speaker)
            with store.transaction() as transaction:
                memory = note_echo(transaction, admit(transaction, ready, at=memory.created_at))
                note_speaker(transaction, place, speaker)
                if nodes:
                    relink(transaction, memory.id, nodes)
            self._context.keep_up()
            return withheld(memory) if origin == "agent" else memory

    def search(
        self,
        query: str,
        *,
        limit: SearchLimit = DEFAULT_SEARCH_LIMIT,
        min_confidence: Confidence = MIN_CONFIDENCE,
        outcome: str | None = None,
        tags: Iterable[str] = (),
        category: str | None = None,
        created_after: datetime | str | None = None,
        created_before: datetime | str | None = None,
        unproven: SearchLimit | None = None,
        session: str | None = None,
        by: By = "memory",
        k: Limit = 1,
        linked_to: Iterable[str] | None = None,
        weights: LessonWeights = _LESSON_WEIGHTS,
        logged: bool = True,
    ) -> Recall:
        """Find what is relevant to a task, best first; nothing when nothing is.

        A bank of fewer than 200 memories that knows nothing better shows weak hits, too.

        Args:
            query: The task or problem in words.
            limit: Most proven memories, 0 to 100.
            min_confidence: Proven means at least this.
            outcome: Only this outcome.
            tags: Only memories that carry all of these.
            category: Only this category.
            created_after: Only memories recorded at this time or later; a text is ISO 8601.
            created_before: Only memories recorded before this time.
            unproven: Most memories below ``min_confidence``, in a list of their own. By default the three best-ranked
                where nothing proven answers, beside an answer one that is drawn by chance (DESIGN D6).
            session: What the delivery counts for: how the session ends credits what it was shown.
            by: ``memory`` compares the query with memories, ``experience`` with the tasks they were learned from and
                brings whole experiences with all their items, proven or not, whatever the limits. ``lesson`` weighs
                what a memory says, when it applies and the words of that, and brings what is not proven as well.
            k: Most experiences.
            linked_to: Only memories that are linked with any of these nodes of the graph; by lesson only.
            weights: How a search by lesson weighs its legs.
            logged: Keep that it was delivered; False for a person who only looks at what an agent would be shown.

        Raises:
            EmptyQuery, NegativeLimit, InvalidConfidence, InvalidOutcome, InvalidInput: When an argument is not usable.
            ModelMismatch: When the bank was built with another embedder.
        """
        question = checked_question(
            query,
            limit=limit,
            min_confidence=min_confidence,
            outcome=outcome,
            tags=tags,
            category=category,
            created_after=created_after,
            created_before=created_before,
            unproven=unproven,
        )
        question = replace(question, weak=True)
        if by != "lesson" and (linked_to is not None or weights != _LESSON_WEIGHTS):
            raise InvalidInput(
                "linked_to, lesson_weight, context_weight, bm25_weight, fusion and min_score are of a search by lesson",
                hint="Search by lesson.",
            )
        question = self._search.heard(question)
        find: Callable[[Store], Found] = partial(self._search.near, question=question)
        if by == "experience":
            find = partial(self._search.by_task, question=question, count=k)
        elif by == "lesson":
            from reasoningbank.graph.search import by_lesson

            find = partial(
                by_lesson, embedder=self._context.embedder, question=question, linked_to=linked_to, weights=weights
            )
        elif by != "memory":
            raise InvalidInput(f"by is 'memory', 'experience' or 'lesson', not {str(by)[:80]!r}")
        return self._search.delivered(question, session, find, logged=logged)

    def briefing(
        self,
        task: str | None = None,
        budget: Budget = DEFAULT_BUDGET,
        session: str | None = None,
        *,
        outcome: str | None = None,
        limit: Limit = DEFAULT_ITEMS,
        repeat: bool = True,
        claims: bool = True,
        recipes: bool = True,
    ) -> Brief:
        """Return the best memories for an agent's context, as quoted evidence; nothing rather than the irrelevant.

        With a task: what a search finds above the relevance floor, the best proven memory first, then the unproven one
        to be tested, then the rest; where nothing proven answers, up to three unproven ones come first. Without a task:
        proven memories alone that are more than one agent session's claim, by the lower end of their interval and then
        by when they were last used. Near-duplicates are shown once. What is shown is logged for the session and is no
        evidence; how the session ends credits what was shown for a task, or before it and fits it. Only a briefing with
        a task is counted as a delivery. In a session that is held out (setting ``holdout``) nothing is shown; what
        would have been shown is left out with the reason ``held out``.

        Args:
            task: The task in words. Left out: it is not known yet.
            budget: Most cl100k tokens of the text, never exceeded.
            session: What the delivery counts for; without it a name made for this run.
            outcome: Only strategies (``success``) or only anti-patterns (``failure``).
            limit: Most memories.
            repeat: Show again what this session was shown before.
            claims: Show what only one agent session says; without a task it is never shown.
            recipes: Show what was made of errors; after one, only ``recipes.briefing`` finds what belongs to it.

        Raises:
            InvalidInput: When the task is blank, or the budget or an argument is not usable.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.search.briefing import choose, in_order, is_recipe
        from reasoningbank.search.placement import spread

        place = session_name(session) or self._context.session
        with observed("search_memory", store=self._context.place) as observation:
            store = self._context.store()
            query, found = self._briefings.considered(store, task, outcome)
            hits = [
                hit
                for hit in in_order(found.proven, found.drawn, query)
                if (claims or hit.standing != "claim") and (recipes or not is_recipe(hit.memory))
            ]
            ordered = hits if task is None else spread(hits, budget)
            seen = None if repeat else self._briefings.seen(store, place)
            brief = choose(
                partial(self._search.vectors_of, known=found.vectors),
                [BriefItem(hit=hit, scope=hit.scope) for hit in ordered],
                model_id=self._context.embedder.model_id,
                budget=budget,
                limit=limit,
                moment=self._context.clock.now(),
                shown_before=() if seen is None else seen.shown,
                words_first=task is None,
            )
            observation.delivered(len(brief.items))
            fitting = () if seen is None or task is None else seen.before_the_task(hits[:limit])
            brief = replace(brief, session=place, warnings=found.warnings)
            return self._briefings.kept(store, brief, query, fitting, seen)

    def get(self, memory_id: str, *, reader: Reader = "human") -> Memory:
        """Return the memory of an id, secrets removed once more.

        Args:
            memory_id: The memory.
            reader: Who is given it; an agent gets no memory in quarantine.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
            MemoryQuarantined: When it is in quarantine and an agent asks.
        """
        from reasoningbank.safety.stored_text import reveal

        return reveal(readable(self._context.owner(memory_id), memory_id, reader))

    def feedback(self, memory_id: str, *, helpful: bool, session: str | None = None, rater: Rater = "human") -> Rating:
        """Rate a memory; helpful never lowers its confidence and unhelpful never raises it.

        A human's ratings all count; an agent's once per memory and session.

        Args:
            memory_id: The memory.
            helpful: True when it helped.
            session: The session that the rating belongs to; without it a name made for this run.
            rater: Who rates: a person or an agent.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
            MemoryQuarantined: When it is in quarantine and an agent says so.
        """
        rater = said_by(rater)
        from reasoningbank.memories.evidence import rate

        at = self._context.clock.now()

        def write(transaction: Transaction, place: str) -> Rating:
            return rate(transaction, memory_id, helpful=helpful, session=place, rater=rater, at=at)

        with observed("feedback_memory", store=self._context.place):
            return self._context.written(memory_id, session_name(session) or self._context.session, write)

    def outcome(
        self, memory_id: str, *, succeeded: bool, session: str | None = None, rater: Rater = "human"
    ) -> OutcomeReport:
        """Report how a task ended that used a memory: once per memory and session, without a session every time.

        Args:
            memory_id: The memory.
            succeeded: True when the task succeeded.
            session: The task; each counts once. Without it every call counts.
            rater: Who says so: a person or an agent.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
            MemoryQuarantined: When it is in quarantine and an agent says so.
        """
        rater = said_by(rater)
        from reasoningbank.memories.evidence import report_outcome, settle_usage
        from reasoningbank.memories.exposure import decide_served, note_memories

        at = self._context.clock.now()

        def write(transaction: Transaction, place: str) -> OutcomeReport:
            report = report_outcome(transaction, memory_id, succeeded=succeeded, session=place, rater=rater, at=at)
            if report.recorded and place and not succeeded:  # what failed was not used, whoever says so first
                settle_usage(transaction, memory_id, used=False, session=place, at=at)
            return report

        def note(transaction: Transaction, place: str) -> None:
            decide_served(transaction, memory_id, session=place, succeeded=succeeded, at=at)
            note_memories(transaction, place, {memory_id: succeeded})

        place = session_name(session)
        with observed("outcome_memory", store=self._context.place):
            report = self._context.written(memory_id, place, write, note)
            if place and not report.recorded:  # what was said of the whole session may be said of this memory now
                self._settlement.settled(place)
            return report

    def update(
        self,
        memory_id: str,
        *,
        title: str | None = None,
        content: str | None = None,
        description: str | None = None,
        outcome: str | None = None,
        tags: Iterable[str] | None = None,
        category: str | None = None,
        state: State | None = None,
        link_nodes: Iterable[str] | None = None,
        reader: Reader = "human",
    ) -> Memory:
        """Change a memory; what is not given stays. The earlier version is kept, its evidence stays with it.

        An agent's change that says more than nearly the same, and any of its changes of what stands higher than a
        claim, becomes a memory of its own, which is returned: a claim without evidence. A quarantined memory stays in
        quarantine until it is released.

        Args:
            memory_id: The memory.
            title: A new title.
            content: A new content.
            description: A new description.
            outcome: A new outcome.
            tags: The new tags, all of them.
            category: A new category.
            state: A new state; archived and quarantined memories are never found by a search.
            link_nodes: The nodes of the graph that it links, all of them: links to others are removed.
            reader: Who changes it and is given it; an agent changes no memory in quarantine, and puts none there: an
                edit of an agent that looks like a prompt injection is refused.

        Raises:
            MemoryNotFound, NodeNotFound: When this tenant has no such memory, or no such node; nothing was changed.
            MemoryQuarantined: When it is in quarantine and an agent would change it; nothing was changed.
            PolicyError: When an agent would change the state of what a person stands by, or what is confirmed.
            InvalidMemory: When the changed memory breaks a rule, is in quarantine and would leave it, or looks like a
                prompt injection and an agent would change it; nothing was changed.
        """
        reader = said_by(reader)
        from reasoningbank.memories.links import checked_nodes
        from reasoningbank.memories.versions import rewrite

        nodes = None if link_nodes is None else checked_nodes(link_nodes)

        def changed(old: Memory) -> Memory:
            return replace(
                old,
                title=old.title if title is None else title,
                content=old.content if content is None else content,
                description=old.description if description is None else description,
                outcome=old.outcome if outcome is None else check_outcome(outcome),
                tags=old.tags if tags is None else tuple(check_texts(tags, "tags")),
                category=old.category if category is None else category,
                state=old.state if state is None else state,
            )

        with observed("update_memory", store=self._context.place), self._context.gated():
            store = self._context.owner(memory_id)
            return rewrite(self._context, store, memory_id, changed, reader=reader, nodes=nodes)

    def delete(self, memory_id: str, *, reader: Reader = "human") -> datetime | None:
        """Erase a memory, its words, vectors, evidence and earlier versions from the bank's files.

        Backups and exports made before still hold it. What an agent deletes is archived: no search finds it, a person
        makes it active again or erases it, and after 30 days the daily upkeep erases it. What a person stands by, and
        what is confirmed, only a person deletes.

        Args:
            memory_id: The memory.
            reader: Who deletes it; an agent deletes no memory in quarantine, and none that a person stands by.

        Returns:
            Until when it can be brought back; None when it is erased.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
            MemoryQuarantined: When it is in quarantine and an agent would delete it; nothing was changed.
            PolicyError: When a person stands by it, or it is confirmed, or another client's it is, and an agent would.
        """
        reader = said_by(reader)
        with observed("delete_memory", store=self._context.place):
            store, at = self._context.owner(memory_id), self._context.clock.now()
            with store.transaction() as transaction:
                if reader == "human":
                    transaction.memories.delete(memory_id, at=at)
                    return None
                memory = transaction.memories.get(memory_id)
                refuse_quarantined(transaction, memory, "an agent cannot delete it.")
                refuse_taking(transaction, [memory], "Nothing was deleted.", "rbank delete ID")
                cause = Cause(
                    at=at,
                    kind=WITHDRAWN,
                    reference=WITHDRAWN,
                    reason="An agent deleted it.",
                    by=self._context.session,
                )
                transaction.memories.update_state(replace(memory, state="archived"), cause=cause)
                return at + KEPT_FOR

    def at(self, moment: datetime | str) -> Past:
        """Return this project's bank as it stood then, to be read: texts, states, beliefs and evidence of that time.

        What cannot be known any more is said and never guessed; see ``Past``. The view reads this bank, and ends with
        it.

        Args:
            moment: A ``datetime`` with a time zone, or a text of ISO 8601; a text without a zone is UTC.

        Raises:
            InvalidInput: When it is not a time, has no time zone or lies in the future.
        """
        from reasoningbank.curation.snapshot import Past

        then = as_moment(moment, "moment")
        if then > self._context.clock.now():
            raise InvalidInput(f"{then.isoformat()} has not come yet", hint="Name a time that is over.")
        return Past(self._context.store(), self._context.embedder, then, session=self._context.session)

    def report(self) -> UpliftReport:
        """Return what memory is worth in this project: sessions that were shown some against sessions that were not.

        Memories that do harm are quarantined, as the daily upkeep does; when an agent asks they are only listed.
        """
        return self._uplift.report()

    @property
    def scope(self) -> Scope:
        """The tenant and project, fixed for the bank's life."""
        return self._context.scope

    @property
    def membership(self) -> Membership:
        """The team and org that this bank was opened with, fixed for its life; searches go on there."""
        return self._context.membership

    @property
    def session(self) -> str:
        """Return what searches and ratings count for when they name no session."""
        return self._context.session

    @property
    def embedder(self) -> Embedder:
        """The embedder in use."""
        return self._context.embedder

    @property
    def settings(self) -> Settings:
        """The settings in use."""
        return self._context.settings

    @property
    def model(self) -> LanguageModel | None:
        """The language model in use, None when there is none: then the calling agent distils, or nobody."""
        return self._context.model

    def close(self) -> None:
        """Release everything; a second time does nothing."""
        self._context.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
