"""What a distilled item must be before it is stored; an item that is not is kept with the reason.

Two sessions that read one page are not two witnesses: whoever writes the page would decide what is proven. So a session
in which the words of a lesson stand in what a tool answered, and not in what its agent did or thought, is none for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice, pairwise

from reasoningbank.errors import TextTooLong
from reasoningbank.memories.words import STOP_WORDS, polarity, terms
from reasoningbank.safety.injection import find_danger, find_markup, is_about_memory, is_blank, names_only, words
from reasoningbank.safety.quotation import clip
from reasoningbank.safety.stored_text import safe_texts
from reasoningbank.sessions.worth import is_motto, is_retold
from reasoningbank.types.memory import MAX_TAG, Memory, fingerprint
from reasoningbank.types.session import (
    DO_INSTEAD,
    MAX_ITEMS,
    TEMPLATE,
    Item,
    Refusal,
    RefusalReason,
    Trajectory,
    Verdict,
)

_CONDITION = re.compile(
    r"\b(?:when|whenever|if|while|before|after|during|once|upon|unless|until|as soon as|in case|wherever|where|whether"
    r"|prior to|in the (?:event|presence|absence) of|given|faced with|facing|confronted with|on (?:an?|any|every|each)"
    r"|in (?:an?|any|every|each)|applies to|apply (?:this )?to|applicable (?:to|for|in)"
    r"|use(?:ful|d)? (?:for|with|in|on|to)"
    r"|use (?:this|it) (?:for|with|in|on|to)|relevant (?:to|for)|meant for|intended for|suited (?:to|for)"
    r"|tasks? (?:that|which|with|involving|requiring|of|like|about)"
    r"|wenn|falls|sobald|sofern|solange|bevor|nachdem|während|bei|beim|nach|vor|trotz|für (?:aufgaben|den fall|fälle)"
    r"|im fall|angesichts|sooft|quand|lorsqu|lorsque|lors|avant|après|dès|si|s'il|face à|pendant|tant qu|tant que"
    r"|en (?:cas|présence|l'absence) d|en (?:cas|présence|l'absence) de|chaque fois"
    r"|pour (?:les|des|toute) (?:tâches?|cas)"
    r"|cuando|mientras|antes de|después de|tras|al|en caso de|siempre que|cada vez|frente a|durante|en presencia de"
    r"|para (?:las )?(?:tareas|casos)|quando|prima di|se"
    r"|dopo|als|wanneer|voordat|jeśli|kiedy|gdy|när|om|når|hvis|когда|если|перед|при|после)\b"
    r"|当|在.{1,40}(?:时|前|后|之前|之后|中|下|里|上)|如果|若|遇到|一旦|每当|每次|凡是|只要|万一|假如|倘若|要是"
    r"|适用于|适合|用于|对于|针对|面对|涉及|需要|想要|必须|处理|调用|使用|执行|进行|编写|修改|运行"
    r"|时候|时(?:$|\W)|之际|期间|过程中|的(?:情况|情形|场景|任务|问题|场合|项目|接口|测试)|(?<=\w\w)[前后](?!端|台|缀|续|面|者|来|提|门|天)"
    r"|対して|とき|時|場合|際|たら|れば|なら|前に|後に|まえに|あとに|うちに|間に|次第|において|に関する|向け|ために|ケース|状況|場面"
    r"|때|경우|하면|전에|후에"
    r"|\b(?:cas|caso|fall) (?:où|de|von)\b"
    r"|^(?:schlägt|gibt|fehlt|bricht|meldet|ist|hat|wird|läuft|kommt|zeigt|scheitert)(?= [^.?]{3,80},)",
    re.IGNORECASE,
)
_SITUATION = re.compile(
    r"\b(?:for|with|in|on|against|involving|around|about|of|that|which|to|under|across|between|from|without|by)\b", re.I
)
_LEADING_GERUND = re.compile(r"^(?:\W*)(?:[a-z]+ly )?[a-z]{3,}ing\b", re.IGNORECASE)
_GENERAL_WORDS = (
    "task tasks work works working worked problem problems issue issues situation situations case cases thing "
    "things code codebase project projects agent agents assistant user users session sessions step steps time times "
    "kind kinds type types need needed needs necessary possible applicable appropriate useful helpful required "
    "similar related relevant future general generally generic any anything every everything all always anytime "
    "whenever best practice practices good better right correct correctly properly proper well careful carefully "
    "important solve solving solved complete completing completed start starting starts begin beginning doing done "
    "perform performing performed execute executing handle handling approach approaches strategy strategies lesson "
    "lessons learned learning tip tips advice pattern patterns method methods way ways solution solutions goal "
    "goals result results success successful failure apply applies applying use used using help helps helping "
    "improve improves improving ensure ensures ensuring avoid avoids avoiding mistake mistakes performance "
    "efficiency quality reliability development software programming coding engineering available given new "
    "different various many other another come comes came something somebody someone instruction instructions "
    "request requests asked ask asking universal universally broad broadly scenario scenarios context contexts "
    "circumstance circumstances condition conditions moment place sake"
)
_NOTHING_SPECIFIC = frozenset(_GENERAL_WORDS.split())
_OPENING_WORDS = (
    "always never do don't ensure make verify check use avoid be keep remember try test run validate confirm implement "
    "follow write read add remove this these it that a the prefer provides provide helps help improves improve shows "
    "show explains explain describes describe prevents prevent increases reduces allows enables teaches demonstrates"
)
_ORDERS = frozenset(_OPENING_WORDS.split())
_ALWAYS = re.compile(
    r"\b(?:in|at|under|for|to) (?:all|any|every|each|most) (?:\w+ ){0,2}?"
    r"(?:tasks?|situations?|cases?|times?|circumstances|contexts?|scenarios?|projects?|sessions?|problems?)\b"
    r"|\b(?:always|universally|generally) (?:\w+ )?(?:applicable|applies|apply|relevant|useful|valid)\b"
    r"|\bany ?time\b|\bat all times\b"
    r"|\b(?:bei|für|in) (?:jede[rsmn]?|alle[nr]?) (?:aufgaben?|arbeit(?:en)?|fall|fälle[n]?|situation(?:en)?)\b"
    r"|\bimmer\b"
    r"|\b(?:pour|dans|lors de) (?:toute?s?|chaque|tous) (?:les? |la )?(?:tâches?|cas|situations?|problèmes?)\b"
    r"|\btoujours\b"
    r"|\b(?:en|para) (?:cada|todas?|todos|cualquier) (?:l[ao]s )?(?:tareas?|casos?|situación|situaciones|problemas?)\b"
    r"|\bsiempre(?! que\b)"
    r"|(?:在|对于?|处理)?(?:任何|所有|每个|一切|各种)(?:的)?(?:任务|情况|场景|问题|时候|工作)(?:下|中|时)?"
    r"|始终|总是|永远"
    r"|(?:どんな|すべての|全ての|あらゆる|どの)(?:タスク|場合|状況|作業|問題|とき|時)(?:でも|に|において|で)?|常に|いつも",
    re.IGNORECASE,
)
_MOST_SPECIFIC = 3


def has_trigger(description: str, title: str, content: str) -> bool:
    """Return whether the texts say when the lesson applies.

    The description does with a condition ("when the build fails after an upgrade", also in a few other languages) or a
    situation of at least two specific words ("flaky tests that depend on the clock"). A condition that is true of any
    task ("when working on a problem") is none. A description without either is forgiven when the title or the content's
    first sentence begins with a condition.
    """
    if _names_condition(description) or _names_situation(description):
        return True
    if _ALWAYS.search(description) and not _specific(_ALWAYS.sub(" ", description)):
        return False
    return any(
        (found := _CONDITION.match(text)) is not None and bool(_specific(text[found.end() :][:200]))
        for text in (title, content)
    )


def _names_condition(text: str) -> bool:
    remaining = _ALWAYS.sub(" ", text)
    for found in _CONDITION.finditer(remaining):
        after = remaining[found.end() :]
        scope = re.split(r"[.;\n]", after, maxsplit=1)[0]
        if _specific(scope) or (not found.group().isascii() and _specific(remaining.replace(found.group(), " "))):
            return True
    return False


def _names_situation(text: str) -> bool:
    remaining = _ALWAYS.sub(" ", text)
    specific = _specific(remaining)
    if len(specific) >= 2 and _LEADING_GERUND.match(remaining):
        return True
    if len(specific) >= 2 and _SITUATION.search(remaining) is not None and not _is_order(remaining):
        return True
    return remaining.count(",") >= _MOST_SPECIFIC and len(specific) > _MOST_SPECIFIC


def _is_order(text: str) -> bool:
    """Return whether the text begins as an order or a praise rather than naming a situation."""
    first = (words(text) or [""])[0].casefold()
    return first in _ORDERS


def _specific(text: str) -> set[str]:
    return {word for word in map(str.casefold, words(text)) if word not in STOP_WORDS and word not in _NOTHING_SPECIFIC}


MAX_ITEM_TITLE = 160
MAX_ITEM_DESCRIPTION = 1_500
MAX_ITEM_CONTENT = 4_000
"""Longest texts of a distilled item: a lesson has a few sentences, and an agent pays for every one of them."""
MAX_ITEM_TAGS = 8
MAX_PROPOSED = 100
"""Items beyond this number are not even kept as refused ones: no session teaches that much."""

_LEAST_WORDS = 4
_SAME = 0.8
_RESTATED = 0.8
_RESTATED_PAIRS = 0.5
_KEPT = 500


def examine(
    items: Sequence[Item],
    trajectory: Trajectory,
    verdict: Verdict,
    *,
    limit: int = MAX_ITEMS,
    model: str = "",
    prompt: str = "",
    at: datetime | None = None,
) -> tuple[tuple[Item, ...], tuple[Refusal, ...]]:
    """Divide items into those that may be stored and those that may not, each of these with the first reason found.

    Accepted items are clean: invisible characters and secrets are gone from them, tags are lower-case and at most
    eight, and their steps are steps of the trajectory. Refusals are clean in the same way. Nothing is repaired that
    would change what an item says.

    Args:
        items: What a model, an agent or the template proposes, in order of worth.
        trajectory: What they were learned from.
        verdict: How it ended: a failure teaches no strategy; a partial session teaches strategies only from steps that
            worked; a success teaches a lesson only from a step that failed; an unknown one teaches nothing.
        limit: Most items that are accepted.
        model: Kept with each refusal.
        prompt: Kept with each refusal.
        at: Time of the refusals; now when None.

    Raises:
        ModelMissing: When texts cannot be checked for secrets; nothing else is ever raised.
    """
    accepted: list[Item] = []
    refused: list[Refusal] = []
    moment = at or datetime.now(UTC)
    for item in items[:MAX_PROPOSED]:
        safe, reason, detail = _examined(item, trajectory, verdict, accepted, from_model=model != TEMPLATE)
        if reason is None and len(accepted) >= limit:
            reason, detail = "too_many", f"at most {limit} items are kept of one trajectory"
        if reason is None:
            accepted.append(safe)
            continue
        refused.append(
            Refusal(
                trajectory=trajectory.id,
                reason=reason,
                detail=detail,
                title=clip(safe.title, _KEPT),
                description=clip(safe.description, 2 * _KEPT),
                content=clip(safe.content, 4 * _KEPT),
                model=model,
                prompt=prompt,
                at=moment,
            )
        )
    return tuple(accepted), tuple(refused)


def _examined(
    item: Item, trajectory: Trajectory, verdict: Verdict, accepted: Sequence[Item], *, from_model: bool
) -> tuple[Item, RefusalReason | None, str]:
    """Return the item as it may be kept, and why it is refused."""
    try:
        admitted = safe_texts(item.title, item.description, item.content, item.tags, "")
    except TextTooLong as error:
        cut = replace(
            item, title=item.title[:_KEPT], description=item.description[:_KEPT], content=item.content[:_KEPT]
        )
        return replace(cut, tags=()), "too_long", error.message
    tags = dict.fromkeys(tag.casefold() for tag in admitted.tags)
    known = range(len(trajectory.steps))
    safe = replace(
        item,
        title=admitted.title,
        description=admitted.description,
        content=admitted.content,
        tags=tuple(tag for tag in tags if len(tag) <= MAX_TAG)[:MAX_ITEM_TAGS],
        steps=tuple(sorted({step for step in item.steps if step in known})),
    )
    reason = (
        _wrong_texts(safe)
        or (_markup(safe) if from_model else None)
        or _wrong_subject(safe)
        or (_wrong_form(safe, trajectory) if from_model else None)
        or _wrong_outcome(safe, trajectory, verdict)
    )
    if reason is None and any(says_the_same(safe, other) for other in accepted):
        reason = "same_text", "an earlier item of this trajectory says the same"
    return (safe, *reason) if reason else (safe, None, "")


def _wrong_texts(item: Item) -> tuple[RefusalReason, str] | None:
    for name, text, limit in (
        ("title", item.title, MAX_ITEM_TITLE),
        ("description", item.description, MAX_ITEM_DESCRIPTION),
        ("content", item.content, MAX_ITEM_CONTENT),
    ):
        if len(text) > limit:
            return "too_long", f"the {name} has {len(text)} characters; the limit is {limit}"
        if is_blank(text):
            return "incomplete", f"the {name} says nothing"
    if item.outcome == "failure" and item.content.startswith(DO_INSTEAD):
        return "incomplete", "it does not say what went wrong"
    if len(words(item.content)) < _LEAST_WORDS:
        return "incomplete", f"the content has fewer than {_LEAST_WORDS} words"
    return None


def _wrong_subject(item: Item) -> tuple[RefusalReason, str] | None:
    if danger := find_danger(item.title, item.description, item.content, *item.tags):
        return "instruction", f"it {danger}"
    if is_about_memory(item.title, item.content):
        return "about_memory", "it is about the memory that lessons are kept in"
    return None


def _markup(item: Item) -> tuple[RefusalReason, str] | None:
    found = find_markup(item.title, item.description, item.content)
    return ("markup", found) if found else None


def _wrong_form(item: Item, trajectory: Trajectory) -> tuple[RefusalReason, str] | None:
    if names_only(item.content):
        return "only_names", "the content names only files, runs or ids"
    if not has_trigger(item.description, item.title, item.content):
        return "no_trigger", "it does not say when it applies"
    if is_retold(item.content):
        return "retold", "the content tells what happened instead of what to do"
    if is_motto(item.title, item.content):
        return "no_action", "the content is advice that fits every task and names nothing that could be carried out"
    if restates(item.content, trajectory.task):
        return "restated_task", "the content says only what the task says"
    return None


def _wrong_outcome(item: Item, trajectory: Trajectory, verdict: Verdict) -> tuple[RefusalReason, str] | None:
    steps = [trajectory.steps[number] for number in item.steps]
    if verdict == "unknown":
        return "wrong_outcome", "it is unknown how the session ended"
    if item.outcome == "success" and verdict == "failure":
        return "wrong_outcome", "a session that failed teaches no strategy that worked"
    if not trajectory.steps:
        return None
    if item.outcome == "success" and verdict == "partial" and all(step.failed for step in steps):
        return "wrong_outcome", "it names no step that worked, in a session that only partly did"
    if item.outcome == "failure" and verdict == "success" and not any(step.failed for step in steps):
        return "wrong_outcome", "it names no step that failed, in a session that succeeded"
    return None


def restates(text: str, task: str) -> bool:
    """Return whether nearly all words of the text, and half of its pairs of neighbouring words, stand in the task."""
    said, asked = terms(text), terms(task)
    if not said or not asked:
        return False
    if len(set(said) & set(asked)) < _RESTATED * len(set(said)):
        return False
    pairs, asked_pairs = set(pairwise(said)), set(pairwise(asked))
    return not pairs or len(pairs & asked_pairs) >= _RESTATED_PAIRS * len(pairs)


def says_the_same(item: Item, other: Item) -> bool:
    """Return whether two items of one outcome have the same words, or nearly so."""
    if item.outcome != other.outcome:
        return False
    if fingerprint(item.title, item.content) == fingerprint(other.title, other.content):
        return True
    first, second = set(terms(item.content)), set(terms(other.content))
    if not first or not second:
        return False
    return len(first & second) >= _SAME * len(first | second) and polarity(item.content) == polarity(other.content)


RUN = 4
"""So many words in a row are not put together by chance."""
SHARE = 0.5
"""From this share of a lesson's runs on, its words are somebody else's."""
_MOST_CHARACTERS = 200_000


def is_hearsay(memory: Memory, trajectory: Trajectory) -> bool:
    """Return whether at least half of the lesson's runs of words stand in what tools answered in the session."""
    said = _runs(memory.content)
    if not said:
        return False
    read = "\n".join(step.observation for step in trajectory.steps)
    return len(said & _runs(read[:_MOST_CHARACTERS])) >= SHARE * len(said)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = terms(text)
    return set(zip(*(islice(words, start, None) for start in range(RUN)), strict=False))
