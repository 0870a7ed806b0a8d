"""Prompts as files, in our own words; each names its version, and its label changes with its words.

The first line is ``version: N``; a second one, ``answer: N``, says how many tokens a good answer has at most. A file
``NAME_short.md`` says the same as ``NAME.md`` in about 200 words, with one example, for models with a small context.
"""

from __future__ import annotations

import functools
import hashlib
from importlib.resources import files

from reasoningbank.errors import InvalidInput
from reasoningbank.types.ports import Prompt

_VERSION, _ANSWER = "version: ", "answer: "


def prompt(name: str, material: str, *, short: bool = False) -> Prompt:
    """Return the prompt of this name with its material.

    Args:
        name: Name of a file beside this module, without its ending.
        material: Quoted data; it is never put among the instructions (DESIGN D10).
        short: Take the short words where there are any.

    Raises:
        InvalidInput: When there is no such prompt.
    """
    version, instructions, answer = _read(f"{name}_short" if short and f"{name}_short" in _short_ones() else name)
    return Prompt(name=name, version=version, instructions=instructions, material=material, answer_tokens=answer)


@functools.cache
def prompt_texts() -> tuple[str, ...]:
    """Return the instructions of all prompts."""
    return tuple(_read(name)[1] for name in sorted(_names()))


@functools.cache
def _short_ones() -> frozenset[str]:
    return frozenset(name for name in _names() if name.endswith("_short"))


def _names() -> frozenset[str]:
    found = (each.name for each in files(__name__).iterdir())
    return frozenset(name.removesuffix(".md") for name in found if name.endswith(".md"))


@functools.cache
def _read(name: str) -> tuple[str, str, int]:
    try:
        text = files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InvalidInput(f"there is no prompt {name[:80]!r}") from error
    first, _, instructions = text.partition("\n")
    answer = 0
    if instructions.startswith(_ANSWER):
        second, _, instructions = instructions.partition("\n")
        answer = int(second.removeprefix(_ANSWER))
    digest = hashlib.blake2b(instructions.encode(), digest_size=4).hexdigest()
    version = first.removeprefix(_VERSION).strip() + ("-short" if name.endswith("_short") else "")
    return f"{version}-{digest}", instructions.strip(), answer
