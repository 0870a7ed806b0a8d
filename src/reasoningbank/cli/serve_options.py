"""The options of ``rbank serve`` on stdio, read without click: a client waits, and each of its windows pays for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_NAMED = frozenset({"url", "tenant", "project", "team", "org", "profile"})


def plain_options(words: Sequence[str]) -> Mapping[str, str] | None:
    """Return the options of a server on stdio by their names; None when click has to read the line.

    That is so when it asks for anything else: another command, HTTP, help, or what is not an option.
    """
    found: dict[str, str] = {}
    command, waiting = "", ""
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if waiting:
            found[waiting], waiting = word, ""
        elif not word.startswith("-"):
            if command or word != "serve":
                return None
            command = word
        elif not word.startswith("--"):
            return None
        elif name == "no-shared" and not equals and command:
            found[name] = ""
        elif name not in _NAMED or (name == "profile" and not command):
            return None
        elif equals:
            found[name] = value
        else:
            waiting = name
    return found if command and not waiting else None
