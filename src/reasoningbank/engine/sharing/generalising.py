"""The text of a lesson without what belongs to one project alone: a model's, or the best source's after fixed rules.

Neither is believed: whoever has written it, a text with a name, path, host, user or secret left in it is refused, and
so is one that orders its reader about. A model's claims must stand in the sources that they name
(``consolidating.grounds``). The rules put a common noun in the place of what they take out; where that would change a
command, or take out more than a part of the text, they refuse, and a person has to write it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.domain.memory import Memory
from reasoningbank.domain.sharing import GeneralText
from reasoningbank.engine.consolidating.grounds import stems
from reasoningbank.engine.consolidating.merging import MOST_MATERIAL, MergedAnswer, best, checked, material
from reasoningbank.engine.distilling.signs import find_markup, find_order, is_about_memory
from reasoningbank.engine.hygiene import admit, reveal
from reasoningbank.engine.prompts import prompt
from reasoningbank.engine.reading import read_answer
from reasoningbank.engine.sharing.private import Private
from reasoningbank.errors import InvalidInput, MalformedAnswer
from reasoningbank.ports import LanguageModel

MOST_TAKEN_OUT = 0.3
"""The rules refuse when they would take out more than this share of a text."""
LEAST_LEFT = 3
"""So many words that carry meaning must be left of a content."""
_IN_PLACE = {"project": "the project", "path": "a path of the project", "host": "the host", "person": "a colleague"}
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|^\s*\$ .*$", re.DOTALL | re.MULTILINE)
_WRITE = "Write the text yourself: pass title=... and content=..., or --title and --content."


def generalise(sources: Sequence[Memory], private: Private, model: LanguageModel | None) -> GeneralText:
    """A text for a wider scope.

    Raises:
        InvalidInput: When the rules cannot make one; the message says why.
        ModelUnavailable, BudgetExhausted: When the model gave no answer.
        MalformedAnswer: When the model's answer is none, says what the sources do not, or leaves a private name in.
    """
    shown = [reveal(memory) for memory in sources]
    if model is None:
        return by_rules(shown, private)
    records = material(shown)
    if len(records) > MOST_MATERIAL:
        return by_rules(shown, private)
    asked = prompt("generalise", records)
    completion = model.complete(asked, MergedAnswer.model_json_schema(), temperature=0.0)
    merged = checked(
        read_answer(completion.text, MergedAnswer), shown, model=completion.model or model.name, label=asked.label
    )
    text = GeneralText(
        title=merged.title,
        description=merged.description,
        content=merged.content,
        tags=kept_tags(merged.tags, private),
        category=merged.category,
        source="model",
        model=merged.model,
        prompt=merged.prompt,
    )
    problem = problem_of(text, private)
    if problem:
        raise MalformedAnswer(f"the general text was refused: {problem}", hint=_WRITE)
    return text


def by_rules(sources: Sequence[Memory], private: Private) -> GeneralText:
    """The best source's text with common nouns for what belongs to its project.

    Raises:
        InvalidInput: When that would change a command, take out too much, or leave something in.
    """
    chosen = best(sources)
    text = GeneralText(
        title=_without("title", chosen.title, private),
        description=_without("description", chosen.description, private),
        content=_without("content", chosen.content, private),
        tags=kept_tags(tuple(dict.fromkeys(tag for memory in sources for tag in memory.tags))[:8], private),
        category=chosen.category if not private.leaks(chosen.category) else "",
    )
    if len(stems(text.content)) < LEAST_LEFT:
        raise InvalidInput("the content says too little without the project's own names", hint=_WRITE)
    problem = problem_of(text, private)
    if problem:
        raise InvalidInput(problem, hint=_WRITE)
    return text


def reviewed(text: GeneralText, private: Private) -> GeneralText:
    """A text as a person has written it, cleaned, once nothing is in it that must not cross.

    Raises:
        InvalidInput: When something is; the message names it.
    """
    admitted = admit(text.title, text.description, text.content, kept_tags(text.tags, private), text.category)
    if admitted.findings:
        kinds = ", ".join(sorted({finding.kind for finding in admitted.findings}))
        raise InvalidInput(f"the text holds a secret ({kinds})", hint="Take it out, and have it replaced by a new one.")
    cleaned = GeneralText(
        title=admitted.title,
        description=admitted.description,
        content=admitted.content,
        tags=admitted.tags,
        category=admitted.category,
        source=text.source,
        model=text.model,
        prompt=text.prompt,
    )
    problem = problem_of(cleaned, private)
    if problem:
        raise InvalidInput(
            problem, hint=f"{_WRITE} A name that is meant as an ordinary word can be passed as such: ordinary=[...]."
        )
    return cleaned


def problem_of(text: GeneralText, private: Private) -> str:
    """What keeps a text out of a wider scope, as a sentence; empty when nothing does."""
    for name, part in (("title", text.title), ("description", text.description), ("content", text.content)):
        leaks = private.leaks(part)
        if leaks:
            return f"the {name} still names a {leaks[0]}"
    for name, part in (("category", text.category), *(("tag", tag) for tag in text.tags)):
        if private.leaks(part):
            return f"a {name} still names what belongs to one project"
    for part in (text.title, text.description, text.content):
        if order := find_order(part):
            return f"it orders its reader about: {order[:80]!r}"
    if markup := find_markup(text.title, text.description, text.content):
        return markup
    if is_about_memory(text.title, text.content):
        return "it is about the memory that lessons are kept in"
    return ""


def kept_tags(tags: Sequence[str], private: Private) -> tuple[str, ...]:
    """The tags that name nothing of one project."""
    return tuple(tag for tag in tags if not private.leaks(tag))


def _without(name: str, text: str, private: Private) -> str:
    leaks = private.leaks(text)
    if not leaks:
        return text
    code = [match.span() for match in _CODE.finditer(text)]
    for leak in leaks:
        if leak.kind == "secret":
            raise InvalidInput(f"the {name} holds a secret", hint=_WRITE)
        if any(start < leak.end and leak.start < end for start, end in code):
            raise InvalidInput(f"a command in the {name} needs the {leak}", hint=_WRITE)
    if sum(leak.end - leak.start for leak in leaks) > MOST_TAKEN_OUT * len(text):
        raise InvalidInput(f"most of the {name} belongs to the project alone", hint=_WRITE)
    parts: list[str] = []
    place = 0
    for leak in leaks:
        before = text[place : leak.start]
        noun = _IN_PLACE[leak.kind]
        article = re.search(r"\b(?:the|our|an?)\s+$", before, re.IGNORECASE)
        parts += [before, noun.partition(" ")[2] if article and noun.startswith(("the ", "a ")) else noun]
        place = leak.end
    written = "".join([*parts, text[place:]])
    return written[:1].upper() + written[1:] if text[:1].isupper() else written
