"""Whether a lesson says when it applies, in a way that can be checked: in six languages, by structure.

A trigger is a condition ("when the build fails after an upgrade") or a situation that is stated or named ("a booking
holds two passengers", "flaky tests that depend on the clock"). What fits every task is none, and an order is none.
"""

from __future__ import annotations

import re

from reasoningbank.memories.words import STOP_WORDS
from reasoningbank.safety.injection import words
from reasoningbank.sessions.lesson_language import (
    LANGUAGES,
    LessonLanguage,
    is_vague_purpose,
    language_of,
    subject_words,
)

_CONDITION = re.compile(
    r"\b(?:when|whenever|if|while|before|after|during|once|upon|unless|until|as soon as|in case|wherever"
    r"|where|whether"
    r"|prior to|provided|assuming|(?:every|each) time|as long as|^should(?= an? | the )|in the (?:event"
    r"|presence|absence) of|given|faced with|facing|confronted with|on (?:an?|any|every|each)"
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
    r"|时候|时(?:$|\W)|之际|期间|过程中|的(?:情况|情形|场景|任务|问题|场合|项目|接口|测试)"
    r"|(?<=\w\w)[前后](?!端|台|缀|续|面|者|来|提|门|天)"
    r"|対して|とき|時|場合|際|たら|れば|なら|前に|後に|まえに|あとに|うちに|間に|次第|において|に関する"
    r"|向け|ために|ケース|状況|場面"
    r"|때|경우|하면|전에|후에"
    r"|\b(?:cas|caso|fall) (?:où|de|von)\b"
    r"|^(?:schlägt|gibt|fehlt|bricht|meldet|ist|hat|wird|läuft|kommt|zeigt|scheitert)(?= [^.?]{3,80},)",
    re.IGNORECASE,
)
_SITUATION = re.compile(
    r"\b(?:behind|inside|outside|within|beyond|during|through|via|for|with|in|on|against|involving|around"
    r"|about|of|that|which|to|under|across|between|from|without|by)\b",
    re.I,
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
    "always never do don't ensure make verify check use avoid be keep remember try test run validate "
    "confirm implement "
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
    r"|\b(?:en|para) (?:cada|todas?|todos|cualquier) (?:l[ao]s )?(?:tareas?|casos?|situación|situaciones"
    r"|problemas?)\b"
    r"|\bsiempre(?! que\b)"
    r"|(?:在|对于?|处理)?(?:任何|所有|每个|一切|各种)(?:的)?(?:任务|情况|场景|问题|时候|工作)(?:下|中|时)?"
    r"|始终|总是|永远"
    r"|(?:どんな|すべての|全ての|あらゆる|どの)(?:タスク|場合|状況|作業|問題|とき|時)(?:でも|に|において"
    r"|で)?|常に|いつも",
    re.IGNORECASE,
)
_MOST_SPECIFIC = 3
_LEAST_WORDS_OF_A_STATE = 2
_LEAST_WORDS_OF_A_STATEMENT = 3
_DETERMINER = re.compile(r"\W*(?:the|an?|two|several|some|no) (?=\w)", re.IGNORECASE)


def has_trigger(description: str, title: str, content: str) -> bool:
    """Return whether the texts say when the lesson applies.

    The description does with a condition ("when the build fails after an upgrade", also in a few other languages) or a
    situation of at least two specific words ("flaky tests that depend on the clock"). A condition that is true of any
    task ("when working on a problem") is none. A description without either is forgiven when the title or the content's
    first sentence begins with a condition.
    """
    language = LANGUAGES.get(language_of(f"{description}\n{title}\n{content}"))
    if language is not None:
        if _ALWAYS.search(description) and not subject_words(_ALWAYS.sub(" ", description), language):
            return False
        return _checkable(description, language) or any(
            language.condition.match(text) is not None and _checkable(text[:200], language) for text in (title, content)
        )
    if _names_condition(description) or _names_situation(description):
        return True
    if _ALWAYS.search(description) and not specific_words(_ALWAYS.sub(" ", description)):
        return False
    return any(
        (found := _CONDITION.match(text)) is not None and bool(specific_words(text[found.end() :][:200]))
        for text in (title, content)
    )


def _checkable(text: str, language: LessonLanguage) -> bool:
    """Return whether a text of another language than English names a condition or a situation of a subject."""
    if is_vague_purpose(text, language):
        return False
    remaining = _ALWAYS.sub(" ", text)
    about = subject_words(remaining, language)
    if language.condition.search(remaining) is not None:
        return about >= 1
    return about >= _LEAST_WORDS_OF_A_STATE and language.order.search(remaining) is None


def _names_condition(text: str) -> bool:
    remaining = _ALWAYS.sub(" ", text)
    for found in _CONDITION.finditer(remaining):
        after = remaining[found.end() :]
        scope = re.split(r"[.;\n]", after, maxsplit=1)[0]
        if specific_words(scope) or (
            not found.group().isascii() and specific_words(remaining.replace(found.group(), " "))
        ):
            return True
    return False


def _names_situation(text: str) -> bool:
    remaining = _ALWAYS.sub(" ", text)
    specific = specific_words(remaining)
    if len(specific) >= 2 and _LEADING_GERUND.match(remaining):
        return True
    stated = _DETERMINER.match(remaining) is not None and len(specific) >= _LEAST_WORDS_OF_A_STATEMENT
    if len(specific) >= 2 and (stated or _SITUATION.search(remaining) is not None) and not _is_order(remaining):
        return True
    return remaining.count(",") >= _MOST_SPECIFIC and len(specific) > _MOST_SPECIFIC


def _is_order(text: str) -> bool:
    """Return whether the text begins as an order or a praise rather than naming a situation."""
    first = (words(_DETERMINER.sub("", text)) or [""])[0].casefold()
    return first in _ORDERS or (first in _NOTHING_SPECIFIC and _DETERMINER.match(text) is not None)


def specific_words(text: str) -> set[str]:
    """Return the English words of a text that neither hold it together nor fit every task."""
    return {word for word in map(str.casefold, words(text)) if word not in STOP_WORDS and word not in _NOTHING_SPECIFIC}
