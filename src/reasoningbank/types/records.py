"""What goes into a store and comes out of it, besides the domain's own nouns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from reasoningbank.types.belief import Belief
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import Filter, Leg
from reasoningbank.types.session import Judgement, Origin, SaidBy, Verdict
from reasoningbank.types.signal import SIGNAL_TYPES, ProjectWeights, Signal, SignalType, Witness
from reasoningbank.types.uplift import Shown

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from reasoningbank.types.experience import Trace
    from reasoningbank.types.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """Hold what is derived from a memory and stored with it.

    Attributes:
        text: Analysed words for the lexical leg.
        model_id: The vector space of the vectors.
        vectors: One unit vector per dense leg that the memory has text for.
        context: Where in ``text`` the words of the description stand: the number of words before them, and how many.
    """

    text: str
    model_id: str
    vectors: Mapping[str, Vector]
    context: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One memory's score in one leg."""

    id: str
    score: float


class LessonTexts(NamedTuple):
    """Hold the words of a question to the lessons.

    Attributes:
        context: Those that are looked for in descriptions; empty when they are not.
        words: Those that are looked for in whole texts.
        function_words: Further words of the question, which count half there.
    """

    context: str
    words: str
    function_words: str


class LessonMatches(NamedTuple):
    """Hold what a search by lesson is made of, from one state of the bank.

    Attributes:
        dense: The best of each dense leg of the fused search.
        words: The best by the words of the descriptions.
        model_id: The vector space; empty when there are no vectors.
        lexical: The best by the words of the whole texts.
        vectors: The vectors in the content leg of those that come first in each leg.
        whole: Returns the same with all that the legs have found; naming what few want costs more than finding it.
    """

    dense: Mapping[str, Sequence[Scored]]
    words: Sequence[Scored]
    model_id: str
    lexical: LexicalMatches
    vectors: Mapping[str, Vector]
    whole: Callable[[], LessonMatches]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosePairs:
    """Pairs of memories that are close in a dense leg, closest first: columns, for there may be millions.

    Attributes:
        ids: The memories that are in any pair, oldest first.
        first, second: Where in ``ids`` the two of each pair stand; the first is always the older one.
        scores: Their cosines, at most 1.
    """

    ids: tuple[str, ...]
    first: NDArray[numpy.int32]
    second: NDArray[numpy.int32]
    scores: NDArray[numpy.float32]

    def __len__(self) -> int:
        return len(self.scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalTerm:
    """One term of a query: how many of the bank's memories contain it (0: nothing to match)."""

    text: str
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalMatches:
    """The lexical leg's answer: hits by descending BM25, and what its terms are worth in this bank.

    Attributes:
        hits: At most as many as asked for, best first; scores are positive.
        terms: The query's terms that are not stop words.
        documents: How many memories the bank's text index holds.
        function_words: Of each hit that holds function words of the query, what they add to its score.
    """

    hits: tuple[Scored, ...] = ()
    terms: tuple[LexicalTerm, ...] = ()
    documents: int = 0
    function_words: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The memories that one list of an answer is chosen from, and how many of them each leg brings.

    Attributes:
        condition: What a memory must be.
        dense: Most memories that each dense leg brings.
        lexical: Most memories that the lexical leg brings.
    """

    condition: Filter
    dense: int
    lexical: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsWorth:
    """Hold what a bank has learned that words are worth in it.

    Attributes:
        factor: What the fusion's weight of words is multiplied by.
        model_id: The vector space it was learned in; it says nothing about another.
        memories: How many memories the bank had then.
    """

    factor: float = 1.0
    model_id: str = ""
    memories: int = 0


SourceOutcomes = Mapping[str, tuple[int, int]]
"""How often what a source recorded was followed by success and by failure, by the source's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Hold what the legs brought from one pool.

    Attributes:
        dense: Per dense leg the inner products of all candidates that have a vector in it, whichever leg brought them.
        lexical: What the lexical leg brought.
        vectors: The vectors in the content leg of all candidates that have one there.
        words_worth: What words are worth in the bank.
        model_id: The vector space of the vectors; empty when it is not known.
        sources: How what each source recorded has turned out.
        warnings: What went wrong with the search, although it was made.
    """

    dense: Mapping[str, Mapping[str, float]]
    lexical: LexicalMatches
    words_worth: WordsWorth = field(default=WordsWorth(), compare=False)
    model_id: str = field(default="", compare=False)
    vectors: Mapping[str, Vector] = field(default_factory=dict, compare=False)
    sources: SourceOutcomes = field(default_factory=dict, compare=False)
    warnings: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """Hold what was done to make an index of vectors equal to its bank.

    Attributes:
        place: Where the index is.
        memories: How many memories the bank has, and the index now too.
        written: How many were missing there or were different.
        removed: How many were there that the bank does not have any more.
    """

    place: str
    memories: int = 0
    written: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCounts:
    """Hold the numbers of memories in a bank.

    Attributes:
        memories: All of them.
        by_state, by_outcome: The same, split.
        recallable: Those that searches may return.
        proven: Those of the recallable ones from a confidence on.
    """

    memories: int
    by_state: Mapping[str, int]
    by_outcome: Mapping[str, int]
    recallable: int
    proven: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Durable background work, stored in the transaction that made it necessary.

    Attributes:
        kind: What to do.
        key: Idempotency key: a second job of the same kind and key is not stored.
        due: Not before this time.
        attempts: How many times it was claimed.
        lease: What proves that this worker has claimed it; empty when nobody has.
        error: What went wrong the last time; empty when nothing did.
    """

    kind: str
    key: str
    due: datetime
    payload: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 0
    lease: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The last time that a kind of background work was done in a bank.

    Attributes:
        kind: What was done.
        at: When it ended.
        said: What came of it, one line; empty when there is nothing to say.
        failed: True when it could not be done; then ``said`` is the reason.
    """

    kind: str
    at: datetime
    said: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A directed relation between two memories."""

    source: str
    target: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """A recallable memory that has not been active, with what decides what becomes of it.

    Attributes:
        provenance: The memory's.
        active: When it was last used, rated, reported on, changed, recorded or made recallable.
        disused: The time of its newest disuse signal; None when it has none.
    """

    id: str
    belief: Belief
    provenance: Mapping[str, str]
    active: datetime
    disused: datetime | None = None


class RatedMemory(NamedTuple):
    """A memory that was rated, with what its confidence was before the evidence that is kept one by one.

    Attributes:
        prior: Of its belief, in billionths.
        positive: The rolled-up weights that speak for it, in billionths.
        negative: The same against it.
        rolled: How many ratings were rolled up.
        consolidated: Whether it was made of others.
    """

    id: str
    prior: int
    positive: int
    negative: int
    rolled: int
    consolidated: bool


class Given(NamedTuple):
    """Hold what a signal that counts once has said.

    Attributes:
        positive: True when it speaks for the memory.
        weight: Its weight in billionths; None when an earlier version has rolled it up, and it cannot be taken back.
        rater: Who gave it.
    """

    type: SignalType
    session: str
    positive: bool
    weight: int | None
    rater: Witness


class Voices(NamedTuple):
    """Hold what was said of a memory, which trajectories taught it, and which sessions were shown it; in no order.

    Attributes:
        signals: The individual ones.
        origins: Who taught it.
        rolled: Signals that count once and were rolled up.
        shown: Sessions that a search, a briefing or a hook has shown it.
        principals: The principals of sessions whose names callers gave.
    """

    signals: list[Signal]
    origins: list[Origin]
    rolled: list[Given]
    shown: set[str]
    principals: dict[str, str]

    def principal(self, session: str) -> str:
        """Return who speaks in a session: the session itself unless a caller named it."""
        return self.principals.get(session, session)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightChange:
    """One entry of the weights' history: the weights after a rating."""

    at: datetime
    weights: ProjectWeights
    signal_id: str

    @property
    def shares(self) -> Mapping[str, float]:
        """The normalised weight of each type of signal since then."""
        return {name: self.weights.weight_for(name) for name in SIGNAL_TYPES}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallEntry:
    """One delivered item of a logged recall."""

    memory_id: str
    rank: int
    unproven: bool
    relevance: float
    legs: Mapping[str, Leg]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallLog:
    """Hold what one search delivered, as it was logged; deleted memories are gone from it."""

    id: str
    at: datetime
    query: str
    session: str
    embedder: str
    tokens: int
    entries: tuple[RecallEntry, ...]


class SimilarTraces(NamedTuple):
    """Hold similar searches, and what they taught.

    Attributes:
        traces: Best first, each with its cosine.
        strategies: The memories that they taught, by id; how many more ratings call each helpful than unhelpful.
    """

    traces: Sequence[tuple[Trace, float]] = ()
    strategies: Mapping[str, tuple[Memory, int]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReport:
    """Hold what a check of a store found.

    Attributes:
        engine: Name and version of the engine.
        location: Where it lives, for a person.
        schema: Version of the schema.
        sizes: Bytes per part.
        problems: One sentence per defect; empty when everything is in order.
    """

    engine: str
    location: str
    schema: int
    sizes: Mapping[str, int]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedSessions:
    """Hold how much of sessions was erased.

    Attributes:
        sessions: Names of sessions that nothing names any more.
        searches: Logged searches, with their queries.
        exposures: Notes of what sessions were shown.
        trajectories: Records of what happened in sessions.
        workflows: Workflows with their questions and answers.
        signals: Ratings, outcomes and uses that became sums without a name; no confidence has changed.
        renamed: Further places that named a session and now have an invented name.
    """

    sessions: int = 0
    searches: int = 0
    exposures: int = 0
    trajectories: int = 0
    workflows: int = 0
    signals: int = 0
    renamed: int = 0

    @property
    def some(self) -> bool:
        """Return whether anything was there."""
        return bool(
            self.searches or self.exposures or self.trajectories or self.workflows or self.signals or self.renamed
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """Hold what was taken out of a damaged bank, and what is known to be missing.

    Attributes:
        recovered: Whole rows, by table.
        missing: Rows that are known to have been there and are not whole, by table; at least so many.
        pages: How many pages the damaged file has.
        damaged_pages: How many of them do not hold what was written to them.
        cut: Part of the file is gone, so that rows may be missing that nothing is left of to count them by.
    """

    recovered: Mapping[str, int]
    missing: Mapping[str, int]
    pages: int
    damaged_pages: int
    cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryEntry:
    """A stored trajectory in a list.

    Attributes:
        judgement: The latest; None before the first.
        distilled: When it was distilled, with or without a lesson; None while it waits.
        memories: What its session was shown by hooks, searches and tools, and how.
        verdict: How it ended, as far as it is known now.
        said_by: Whose word that is.
    """

    id: str
    task: str
    session: str
    source: str
    steps: int
    at: datetime
    judgement: Judgement | None
    distilled: datetime | None
    memories: tuple[Shown, ...] = ()
    verdict: Verdict = "unknown"
    said_by: SaidBy = ""
