"""Whether a lesson says when it applies: a condition, or a kind of situation, that is not "always"."""

from __future__ import annotations

import re

from reasoningbank.engine.analysis import STOP_WORDS
from reasoningbank.engine.distilling.signs import words

_CONDITION = re.compile(
    r"\b(?:when|whenever|if|while|before|after|during|once|upon|unless|until|as soon as|in case|wherever|where|whether"
    r"|prior to|in the (?:event|presence|absence) of|given|faced with|facing|confronted with|on (?:an?|any|every|each)"
    r"|in (?:an?|any|every|each)|applies to|apply (?:this )?to|applicable (?:to|for|in)"
    r"|use(?:ful|d)? (?:for|with|in|on|to)"
    r"|use (?:this|it) (?:for|with|in|on|to)|relevant (?:to|for)|meant for|intended for|suited (?:to|for)"
    r"|tasks? (?:that|which|with|involving|requiring|of|like|about)"
    r"|wenn|falls|sobald|bevor|nachdem|beim|quand|lorsque|lors|avant|après|cuando|antes de|después de|quando|prima di"
    r"|dopo|als|wanneer|voordat|jeśli|kiedy|gdy|när|om|når|hvis|когда|если|перед|при|после)\b"
    r"|当|在.{1,40}(?:时|前|后|之前|之后|中)|如果|若|遇到"
    r"|対して|とき|時|場合|際|たら|れば|前に|後に|때|경우|하면|전에|후에"
    r"|\b(?:cas|caso|fall) (?:où|de|von)\b",
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
    r"|\bany ?time\b|\bat all times\b",
    re.IGNORECASE,
)
_MOST_SPECIFIC = 3


def has_trigger(description: str, title: str, content: str) -> bool:
    """Whether the texts say when the lesson applies.

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
    """Whether the text begins as an order or a praise rather than naming a situation."""
    first = (words(text) or [""])[0].casefold()
    return first in _ORDERS


def _specific(text: str) -> set[str]:
    return {word for word in map(str.casefold, words(text)) if word not in STOP_WORDS and word not in _NOTHING_SPECIFIC}
