"""The tags of a question that nobody gave tags for: its own words."""

from __future__ import annotations

import re
from dataclasses import replace

from reasoningbank.domain.walk import MAX_QUERY_TAGS, WalkParameters

_WORD = re.compile(r"\w+")
_LONGEST = 3


def question_tags(question: str) -> tuple[str, ...]:
    """The words of a question, and each two and three of them that stand together, as tags for a default walk.

    Words that are no tag of the graph have no effect there, because tags never take energy away; so no list of the
    graph's tags is needed. Single words come first, and at most 128 of all are kept.
    """
    words = [word.casefold() for word in _WORD.findall(question.replace("_", " "))]
    found: dict[str, None] = {}
    for length in range(1, _LONGEST + 1):
        for start in range(len(words) - length + 1):
            found[" ".join(words[start : start + length])] = None
    return tuple(found)[:MAX_QUERY_TAGS]


def asked_with(question: str, parameters: WalkParameters | None) -> WalkParameters:
    """The parameters of a walk for a question: the question's own words are its tags when it is given none.

    The preset ``memoria`` is left as it is: there, tags that match nothing take energy away.
    """
    parameters = parameters or WalkParameters()
    if parameters.tags or parameters.preset != "default":
        return parameters
    return replace(parameters, tags=question_tags(question))
