"""Prompts as files, in our own words; each names its version, and its label changes with its words."""

from __future__ import annotations

import functools
import hashlib
from importlib.resources import files

from reasoningbank.errors import InvalidInput
from reasoningbank.types.ports import Prompt

_VERSION = "version: "


def prompt(name: str, material: str) -> Prompt:
    """Return the prompt of this name with its material.

    Args:
        name: Name of a file beside this module, without its ending.
        material: Quoted data; it is never put among the instructions (DESIGN D10).

    Raises:
        InvalidInput: When there is no such prompt.
    """
    version, instructions = _read(name)
    return Prompt(name=name, version=version, instructions=instructions, material=material)


@functools.cache
def _read(name: str) -> tuple[str, str]:
    try:
        text = files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InvalidInput(f"there is no prompt {name[:80]!r}") from error
    first, _, instructions = text.partition("\n")
    digest = hashlib.blake2b(instructions.encode(), digest_size=4).hexdigest()
    return f"{first.removeprefix(_VERSION).strip()}-{digest}", instructions.strip()
