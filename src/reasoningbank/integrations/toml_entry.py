"""Our block in a TOML file: between two marks at its end, checked by reading the whole before and after."""

from __future__ import annotations

import json
import re
import tomllib

from reasoningbank.errors import InvalidInput

START = "# reasoningbank:start"
END = "# reasoningbank:end"
_LINE_ADDED = " (the line end before this is ours)"
_SWITCH = "hooks = true # reasoningbank"
_BLOCK = re.compile(rf"{START}(?P<added>{re.escape(_LINE_ADDED)})?\r?\n.*?{END}\r?\n?", re.DOTALL)
_HEADER = re.compile(r"^[ \t]*\[[ \t]*features[ \t]*\][ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)", re.MULTILINE)


def put(text: str, server: dict[str, object], name: str) -> tuple[str, str]:
    """Return the text with the server's table and hooks switched on, and what a person has to do besides.

    Args:
        text: The file's text.
        server: The fields of the table ``mcp_servers.NAME``; texts, lists of texts, and texts by name.
        name: The server's name.

    Raises:
        InvalidInput: When the text is no TOML, or says something else about the server outside our block.
    """
    text = take(text)
    before = _read(text)
    servers = before.get("mcp_servers", {})
    if not isinstance(servers, dict) or name in servers:
        raise InvalidInput(
            f"mcp_servers.{name} is there already and `rbank install` did not write it",
            hint="Remove it from the file, then install again.",
        )
    features = before.get("features")
    advice, switch = "", ""
    if features is None:
        switch = "\n[features]\nhooks = true\n"
    elif not isinstance(features, dict) or features.get("hooks") is False:
        advice = "Hooks are switched off: set features.hooks = true in the file to switch them on."
    elif "hooks" not in features:
        header = _HEADER.search(text)
        if header is None or not header.group().endswith("\n"):
            advice = "Set features.hooks = true in the file to switch hooks on."
        else:
            text = f"{text[: header.end()]}{_SWITCH}\n{text[header.end() :]}"
    lines = "".join(f"{key} = {_toml(value)}\n" for key, value in server.items())
    lacking = bool(text) and not text.endswith("\n")
    mark = f"\n{START}{_LINE_ADDED}" if lacking else START
    after = f"{text}{mark}\n[mcp_servers.{name}]\n{lines}{switch}{END}\n"
    expected = {**before, "mcp_servers": {**servers, name: server}}
    if not advice:
        expected["features"] = {**(features if isinstance(features, dict) else {}), "hooks": True}
    if _read(after) != expected:
        raise InvalidInput("our table cannot be added to this file", hint="Add the server by hand.")
    return after, advice


def take(text: str) -> str:
    """Return the text without our block and our switch, as it was before ``put``."""
    match = _BLOCK.search(text)
    if match is not None:
        start = match.start()
        if match["added"] and match.end() == len(text) and text[:start].endswith("\n"):
            start -= 1
        text = text[:start] + text[match.end() :]
    return text.replace(f"{_SWITCH}\n", "", 1)


def names_server(text: str, name: str) -> bool:
    """Return whether the text has a table of the server, ours or another one.

    Raises:
        InvalidInput: When the text is no TOML.
    """
    servers = _read(text).get("mcp_servers")
    return isinstance(servers, dict) and name in servers


def server_in(text: str, name: str) -> object:
    """Return the table of the server; None when there is none.

    Raises:
        InvalidInput: When the text is no TOML.
    """
    servers = _read(text).get("mcp_servers")
    return servers.get(name) if isinstance(servers, dict) else None


def _toml(value: object) -> str:
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return f"{{ {', '.join(f'{json.dumps(name)} = {_toml(each)}' for name, each in value.items())} }}"


def _read(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(
            f"the file is not valid TOML: {error}", hint="Correct the file; nothing was changed."
        ) from error
