"""Where claims stand among the hits of a search (DESIGN D16): nothing is hidden, and nothing pushes others away.

A claim comes after everything that stands higher and answers the question as well. One that holds the words of the
question shows by them that it was written for it, not that it answers it: it comes after all that stands higher and
would be found without it. Of claims that say nearly the same the best is shown in its place and the others last. A
claim that says the opposite of what stands higher is named there and never takes its place. Of one source at most two
claims are among the first five while other sources have an answer: one session that recorded a hundred texts does not
fill every answer. What is over stands behind the first five, and is left out of an answer that has no such places: a
larger limit shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from reasoningbank.memories.contradiction import contradicts
from reasoningbank.memories.rewrites import VERSION_OF
from reasoningbank.memories.similarity import cosine_similarity, is_near, least_cosine, threshold
from reasoningbank.memories.standing import recorded_by
from reasoningbank.memories.voices import is_held
from reasoningbank.memories.words import overlap, polarity, query_words, terms
from reasoningbank.search.fusion import FLOOR
from reasoningbank.types.consolidation import SIMILARITY_THRESHOLD
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import FITTING, Fit, Hit

if TYPE_CHECKING:
    from reasoningbank.types.ports import Vector

FIRST = 5
"""The places that one source cannot fill."""
MOST_OF_A_SOURCE = 2
"""The most of them that the claims of one source have while others answer."""
COPIED = 0.75
"""The share of a question's words that makes a claim a copy of it. Of 1,341 pairs of a question and what answers it, in
the words of other people, 2.0 % share so many (4 to 12 % in the four small sets)."""
LEAST_COPIED = 3
"""A question of fewer words is not copied: its words are names."""
SAME_SUBJECT = 0.7
"""Lessons so near, on the scale of the seed's 0.8, may contradict each other (``memories/contradiction.py``)."""
_BANDS: Mapping[Fit, int] = {"strong": 0, "fair": 1, "weak": 2}


def source_of(memory: Memory) -> str:
    """Return who a memory comes from: the principal that spoke, else the session; its own id where nobody knows."""
    return recorded_by(memory.provenance) or memory.id


class Voice(NamedTuple):
    """Hold what decides the place of an answer: who it comes from, and whether that is a rival for a place.

    Attributes:
        source: Who it comes from.
        claim: Whether it is no more than a claim.
        answers: Whether it answers the question.
    """

    source: str
    claim: bool
    answers: bool = True


def voice_of(hit: Hit) -> Voice:
    """Return who a hit comes from, and whether it answers."""
    return Voice(source_of(hit.memory), hit.standing == "claim", hit.relevance >= FITTING)


def is_crowded(hits: Sequence[Hit]) -> bool:
    """Return whether the claims of one source take more of the first places than they may have."""
    sources = Counter(source_of(hit.memory) for hit in hits[:FIRST] if hit.standing == "claim")
    return any(count > MOST_OF_A_SOURCE for count in sources.values())


def placed(
    hits: Sequence[Hit],
    vectors: Mapping[str, Vector],
    model_id: str,
    limit: int,
    *,
    question: str = "",
    floor: float = FLOOR,
) -> list[Hit]:
    """Return the hits in the order in which they are shown, all that there is room for.

    Args:
        hits: Best first.
        vectors: Of titles and contents, by id; a hit without one is like no other.
        model_id: The vector space.
        limit: Most of them that are shown.
        question: What was asked.
        floor: The relevance at which a memory is found by itself.
    """
    if not any(hit.standing == "claim" for hit in hits):
        return list(hits[:limit])
    ordered = _copies_behind(behind(hits), question, floor)
    return shared(_told_once(ordered, vectors, model_id), whole=limit > FIRST)[:limit]


def spread(hits: Sequence[Hit], budget: int) -> list[Hit]:
    """Return the hits of a briefing in an order that may be cut off anywhere.

    The first claim of each source that answers comes before the second of any, and one that takes more than half of
    the budget behind those of others that do not: else the texts of one source fill the budget.

    Args:
        hits: Best first.
        budget: Most tokens of the briefing.
    """
    waiting, ordered = list(hits), []
    taken: Counter[str] = Counter()
    while waiting:
        place = next(
            (
                number
                for number, hit in enumerate(waiting)
                if hit.standing != "claim" or not _gives_way(hit, waiting[number + 1 :], taken, budget)
            ),
            0,
        )
        hit = waiting.pop(place)
        taken[source_of(hit.memory)] += 1
        ordered.append(hit)
    return ordered


def _gives_way(hit: Hit, later: Sequence[Hit], taken: Mapping[str, int], budget: int) -> bool:
    """Return whether another source has an answer that was shown less, or takes less room."""
    source, long = source_of(hit.memory), 2 * hit.memory.tokens > budget
    for other in later:
        if not _answers(other, source):
            continue
        if taken.get(source_of(other.memory), 0) < taken.get(source, 0):
            return True
        if long and 2 * other.memory.tokens <= budget and not taken.get(source_of(other.memory), 0):
            return True
    return False


def disputed(hits: Sequence[Hit], vectors: Mapping[str, Vector], model_id: str) -> list[Hit]:
    """Return all hits, those that stand higher with the claims among them that say the opposite.

    A claim says the opposite when it is nearly the same text with the other outcome, or one of the two advises against
    something and the other against nothing; when it is of the same subject and the words of one advise against what the
    other advises; and when it is what an agent wanted to make of the memory.

    Args:
        hits: In any order.
        vectors: Of titles and contents, by id; a hit without one is like no other.
        model_id: The vector space.
    """
    claims = [hit for hit in hits if hit.standing == "claim"]
    if not claims or not any(is_held(hit.memory) for hit in hits):
        return list(hits)
    nearly, subject = least_cosine(SIMILARITY_THRESHOLD, model_id), least_cosine(SAME_SUBJECT, model_id)

    def dispute(hit: Hit, claim: Hit) -> bool:
        if claim.memory.provenance.get(VERSION_OF) == hit.id:
            return True
        other = claim.outcome != hit.outcome
        if other and claim.memory.fingerprint == hit.memory.fingerprint:
            return True
        cosine = cosine_similarity(vectors.get(hit.id, ()), vectors.get(claim.id, ()))
        if cosine >= nearly and (other or polarity(claim.content) != polarity(hit.content)):
            return True
        return cosine >= subject and not other and contradicts(claim.content, hit.content)

    return [
        replace(hit, disputed_by=tuple(sorted(claim.id for claim in claims if dispute(hit, claim))))
        if is_held(hit.memory)
        else hit
        for hit in hits
    ]


def behind(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with every claim behind what stands higher and answers as well."""
    ordered: list[Hit] = []
    waiting: list[Hit] = []
    left = Counter(_band(hit) for hit in hits if hit.standing != "claim")
    for hit in hits:
        waiting.append(hit)
        if hit.standing != "claim":
            ordered.append(waiting.pop())
            left[_band(hit)] -= 1
        held = [any(left[band] for band in range(_band(one) + 1)) for one in waiting]
        ordered += [one for one, waits in zip(waiting, held, strict=True) if not waits]
        waiting = [one for one, waits in zip(waiting, held, strict=True) if waits]
    return [*ordered, *waiting]


def _copies_behind(hits: Sequence[Hit], question: str, floor: float) -> list[Hit]:
    """Return the hits with every claim that copies the question behind what stands higher and is found without it."""
    last = max(
        (place for place, hit in enumerate(hits) if hit.standing != "claim" and hit.relevance >= floor), default=0
    )
    if not last:
        return list(hits)
    copies = {hit.id for hit in hits[:last] if hit.standing == "claim" and is_copy(hit.memory, question)}
    first = [hit for hit in hits[: last + 1] if hit.id not in copies]
    return [*first, *(hit for hit in hits[:last] if hit.id in copies), *hits[last + 1 :]]


def is_copy(memory: Memory, question: str) -> bool:
    """Return whether a memory holds the words of a question of at least three."""
    asked = set(query_words(question).content)
    if len(asked) < LEAST_COPIED:
        return False
    return overlap(asked, terms(f"{memory.title}\n{memory.description}\n{memory.content}")) >= COPIED


def _told_once(hits: Sequence[Hit], vectors: Mapping[str, Vector], model_id: str) -> list[Hit]:
    """Return the hits with every claim last that says nearly what an earlier claim says."""
    claims = [hit for hit in hits if hit.standing == "claim" and hit.id in vectors]
    if len(claims) < 2:
        return list(hits)
    import numpy

    rows = numpy.asarray([vectors[hit.id] for hit in claims], dtype=numpy.float32)
    lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
    rows /= numpy.where(lengths > 0.0, lengths, 1.0)
    alike = rows @ rows.T
    told: list[int] = []
    again: set[str] = set()
    for place, hit in enumerate(claims):
        near = (one for one in told if alike[place, one] >= threshold(model_id))
        if any(is_near(hit.memory, claims[one].memory, float(alike[place, one]), model_id) for one in near):
            again.add(hit.id)
        else:
            told.append(place)
    return [*(hit for hit in hits if hit.id not in again), *(hit for hit in hits if hit.id in again)]


def shared(
    hits: Sequence[Hit],
    places: int = FIRST,
    *,
    whole: bool = True,
    before: Sequence[Hit] = (),
    others: Sequence[Hit] = (),
) -> list[Hit]:
    """Return the hits with what one source has too many of behind the first places, while others answer.

    Args:
        hits: Best first.
        places: How many of them one source cannot fill.
        whole: Whether there is room behind the first places; else what one source has too many of is left out.
        before: What has such places already.
        others: What else was found, that is not shown.
    """
    voices = [voice_of(hit) for hit in hits]
    kept = in_places(
        voices, places, whole=whole, before=[voice_of(hit) for hit in before], others=[voice_of(hit) for hit in others]
    )
    return [hits[place] for place in kept]


def in_places(
    voices: Sequence[Voice],
    places: int = FIRST,
    *,
    whole: bool = True,
    before: Sequence[Voice] = (),
    others: Sequence[Voice] = (),
) -> list[int]:
    """Return the order of answers in which one source has at most two of the first places while others answer.

    Args:
        voices: Who each answer comes from, best first.
        places: How many of them one source cannot fill.
        whole: Whether there is room behind the first places; else what one source has too many of is left out.
        before: Who has such places already.
        others: Who else has an answer that is not shown.

    Returns:
        The numbers of the answers that are shown.
    """
    first: list[int] = []
    over: set[int] = set()
    taken = Counter(each.source for each in before)
    for place, voice in enumerate(voices):
        if len(first) == places:
            break
        rivals = voices[place + 1 :] if whole else (*before, *voices, *others)
        full = voice.claim and taken[voice.source] >= MOST_OF_A_SOURCE
        if full and any(each.answers and each.source != voice.source for each in rivals):
            over.add(place)
            continue
        taken[voice.source] += 1
        first.append(place)
    if not over:
        return list(range(len(voices)))
    if not whole and len(first) < places:
        return first
    shown = set(first)
    return [*first, *(place for place in range(len(voices)) if place not in shown)]


def _answers(hit: Hit, source: str) -> bool:
    """Return whether the hit is another source's answer."""
    return hit.relevance >= FITTING and source_of(hit.memory) != source


def _band(hit: Hit) -> int:
    """Return how well a hit answers, in steps: hits of one step answer as well as each other."""
    if hit.fit:
        return _BANDS[hit.fit]
    return 0 if hit.relevance >= FITTING else len(_BANDS) - 1
