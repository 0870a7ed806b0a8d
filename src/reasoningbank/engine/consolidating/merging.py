"""One text for several memories: a model's, checked claim by claim against them, or the best of them word for word."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from reasoningbank.domain.consolidation import Merge, SimilarityCluster
from reasoningbank.domain.memory import MAX_TAGS, Memory
from reasoningbank.engine.consolidating.grounds import check_claim
from reasoningbank.engine.distilling.quoting import fence, quote
from reasoningbank.engine.distilling.signs import find_markup, is_about_memory
from reasoningbank.engine.gate import verdict
from reasoningbank.engine.hygiene import admit, clean_line, reveal
from reasoningbank.engine.prompts import prompt
from reasoningbank.engine.reading import read_answer
from reasoningbank.errors import MalformedAnswer
from reasoningbank.ports import LanguageModel

MOST_MATERIAL = 60_000
"""Characters of sources that a model is shown; longer ones are not cut, but the best source is kept word for word."""
_TEMPERATURE = 0.0
_MOST_CLAIMS = 40
_MOST_TAGS = 8
_REFUSED = "Nothing was changed; the next run asks again."


class Claim(BaseModel):
    """One statement of the merged memory and the numbers of the sources that make it."""

    text: str
    sources: list[int]


class MergedAnswer(BaseModel):
    """What the model is asked for."""

    title: str
    description: str
    claims: list[Claim] = Field(max_length=_MOST_CLAIMS)
    outcome: str
    tags: list[str] = []
    attribution: str = ""


def merge(cluster: SimilarityCluster, model: LanguageModel | None) -> Merge:
    """The text that stands for a cluster.

    Without a model, for sources of the same text, and for sources too long to be shown whole, it is the best source's.

    Raises:
        ModelUnavailable, BudgetExhausted: When there was no answer.
        MalformedAnswer: When the answer is none, or says what the sources do not; nothing is repaired.
    """
    sources = [reveal(memory) for memory in cluster.members]
    shown = material(sources)
    same = len({memory.fingerprint for memory in sources}) == 1
    if model is None or same or len(shown) > MOST_MATERIAL:
        return verbatim(sources)
    asked = prompt("merge", shown)
    completion = model.complete(asked, MergedAnswer.model_json_schema(), temperature=_TEMPERATURE)
    answer = read_answer(completion.text, MergedAnswer)
    return checked(answer, sources, model=completion.model or model.name, label=asked.label)


def best(sources: Sequence[Memory]) -> Memory:
    """The source that is believed most surely, then the one used most, then the oldest."""
    return min(sources, key=lambda each: (-each.belief.lower_bound, -each.usage_count, each.created_at, each.id))


def verbatim(sources: Sequence[Memory]) -> Merge:
    """The best source's text, word for word."""
    kept = best(sources)
    number = [memory.id for memory in sources].index(kept.id) + 1
    return Merge(
        title=kept.title,
        description=kept.description,
        content=kept.content,
        type="deduplicated",
        tags=kept.tags,
        category=kept.category,
        verbatim=kept.id,
        attribution=f"The text of source {number} of {len(sources)}; the others are its evidence.",
    )


def material(sources: Sequence[Memory]) -> str:
    """The sources as quoted data (DESIGN D10)."""
    records = [
        f"SOURCE {number}, outcome {memory.outcome}, confidence {memory.confidence:.2f}, used {memory.usage_count}x\n"
        f"title\n{quote(memory.title)}applies\n{quote(memory.description)}content\n{quote(memory.content)}"
        f"tags\n{quote(', '.join(memory.tags))}"
        for number, memory in enumerate(sources, start=1)
    ]
    return fence(f"{len(sources)} memories", "\n".join(records))


def checked(answer: MergedAnswer, sources: Sequence[Memory], *, model: str, label: str) -> Merge:
    """The merged text, once every claim of it stands in the sources that it names.

    Raises:
        MalformedAnswer: When one does not, a source is behind no claim, the outcome is another one, or the texts may
            not be stored.
    """
    if answer.outcome != sources[0].outcome:
        raise _refusal(f"its outcome is not that of its sources, {sources[0].outcome}")
    claims = [Claim(text=claim.text.strip(), sources=sorted(set(claim.sources))) for claim in answer.claims]
    if not claims:
        raise _refusal("it claims nothing")
    known = range(1, len(sources) + 1)
    for number, claim in enumerate(claims, start=1):
        if not claim.text or not claim.sources:
            raise _refusal(f"claim {number} is empty or names no source")
        if any(source not in known for source in claim.sources):
            raise _refusal(f"claim {number} names a source that does not exist")
        problem = check_claim(claim.text, [_whole(sources[source - 1]) for source in claim.sources])
        if problem:
            raise _refusal(f"claim {number} {problem}")
    unused = set(known) - {source for claim in claims for source in claim.sources}
    if unused:
        raise _refusal(f"source {min(unused)} is behind no claim")
    everything = [_whole(memory) for memory in sources]
    for name, text in (("title", answer.title), ("description", answer.description)):
        problem = check_claim(text, everything) if text.strip() else ""
        if problem:
            raise _refusal(f"the {name} {problem}")
    own_tags = {tag.casefold(): tag for memory in sources for tag in memory.tags}
    named = [own_tags[tag.strip().casefold()] for tag in answer.tags if tag.strip().casefold() in own_tags]
    categories = {memory.category for memory in sources}
    admitted = admit(
        answer.title,
        answer.description,
        "\n".join(claim.text for claim in claims),
        tuple(dict.fromkeys(named or list(own_tags.values())))[: min(_MOST_TAGS, MAX_TAGS)],
        categories.pop() if len(categories) == 1 else "",
    )
    _check_form(admitted.title, admitted.description, admitted.content)
    if danger := verdict(admitted.title, admitted.description, admitted.content, *admitted.tags, admitted.category):
        raise _refusal(f"it {danger}")
    shared = all(len(claim.sources) > 1 for claim in claims)
    return Merge(
        title=admitted.title,
        description=admitted.description,
        content=admitted.content,
        type="synthesized" if shared else "merged",
        tags=admitted.tags,
        category=admitted.category,
        attribution=clean_line(answer.attribution)[:500] or _attribution(claims),
        model=clean_line(model),
        prompt=label,
        extra={"claims": ";".join(",".join(map(str, claim.sources)) for claim in claims)},
    )


def _check_form(title: str, description: str, content: str) -> None:
    """Refuses what no distilled lesson may hold either."""
    if not title or not content:
        raise _refusal("its title or content says nothing")
    if markup := find_markup(title, description, content):
        raise _refusal(markup)
    if is_about_memory(title, content):
        raise _refusal("it is about the memory that lessons are kept in")


def _attribution(claims: Sequence[Claim]) -> str:
    parts = [f"claim {number} from {_listed(claim.sources)}" for number, claim in enumerate(claims, start=1)]
    return ", ".join(parts)[:500]


def _listed(numbers: Sequence[int]) -> str:
    return f"{'source' if len(numbers) == 1 else 'sources'} {' and '.join(map(str, numbers))}"


def _whole(memory: Memory) -> str:
    return "\n".join((memory.title, memory.description, memory.content, " ".join(memory.tags)))


def _refusal(reason: str) -> MalformedAnswer:
    return MalformedAnswer(f"the merged memory was refused: {reason}", hint=_REFUSED)
