"""What the bank itself shows to an agent, and how it is known again in a transcript.

A lesson that the bank injected must never be learned a second time from the transcript in which it was read: that would
be the bank's own echo, and each echo would look like an independent session that found the same. So everything the
bank shows is marked here, and capture takes it out again, keeping only which memories were seen.
"""

from __future__ import annotations

import re

BLOCK_START = "<reasoningbank-memories"
"""Begins the opening tag of an injected block; attributes may follow, then ``>``."""
BLOCK_END = "</reasoningbank-memories>"
"""Closes an injected block."""
OWN_TOOLS = frozenset(
    {
        "memory_search",
        "memory_search_with_experience",
        "memory_get",
        "memory_list",
        "memory_record",
        "memory_feedback",
        "memory_outcome",
        "memory_delete",
        "memory_stats",
        "memory_distill",
        "memory_consolidate",
        "memory_export",
        "memory_briefing",
    }
)
"""The bank's MCP tools, whatever a client puts before the name."""
GRAPH_TOOLS = frozenset(
    {
        "graph_search",
        "graph_add",
        "graph_link",
        "graph_get",
        "graph_paths",
        "lesson_search",
        "remember_conversation",
    }
)
"""The bank's MCP tools of the graph; others have tools of such names too, so they are known by the server's name."""
SHOWING_VERBS = frozenset({"search", "search_with_experience", "experience", "get", "list", "briefing"})
"""Those tools (after ``memory_``) and commands whose answers show memories to the agent."""

_NAME = "reasoningbank"
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_SHOWN = re.compile(
    rf"(?:(?<![A-Za-z0-9_])(?:memory_)?id[\"'\\]{{0,5}}\s{{0,2}}[:=]?\s{{0,2}}[\"'\\]{{0,5}}|^)({_UUID})(?![0-9a-f-])",
    re.MULTILINE,
)
_BLOCK = re.compile(
    rf"(?:<|&lt;){BLOCK_START[1:]}(?=[\s>&])[^<>]{{0,500}}?(?:>|&gt;)"
    rf".*?(?:(?:<|&lt;)/{BLOCK_END[2:-1]}(?:>|&gt;)|\Z)",
    re.DOTALL,
)
_SEPARATORS = re.compile(r"__|[.:/-]")
_COMMAND = re.compile(r"\s*(?:\S{1,200}/)?(?P<name>rbank|reasoningbank)(?P<verb>[ \t]+[a-z-]+)?(?:[ \t][^;&\n]*)?\s*\Z")


def memories_in(text: str) -> list[str]:
    """The ids of memories that an answer or block of the bank names, in order, none twice."""
    return list(dict.fromkeys(match.group(1) for match in _SHOWN.finditer(text)))


def without_blocks(text: str) -> tuple[str, list[str]]:
    """The text without the bank's injected blocks, and the ids of the memories that stood in them.

    A block that is cut off ends with the text. A text that only names the tag, as source code does, stays as it is.
    """
    if BLOCK_START[1:] not in text:
        return text, []
    seen: list[str] = []
    for match in _BLOCK.finditer(text):
        seen += memories_in(match.group())
    return _BLOCK.sub("", text), list(dict.fromkeys(seen))


def shows_memories(name: str) -> bool:
    """Whether this tool or command of the bank answers with memories."""
    verb = re.split(r"memory_|\s+", name)[-1]
    return verb in SHOWING_VERBS or (_NAME in name.lower() and name.endswith(("graph_search", "lesson_search")))


def is_own_tool(tool: str) -> bool:
    """Whether the name is one of the bank's tools, with or without a prefix such as ``mcp__reasoningbank__``."""
    if not tool:
        return False
    last = _SEPARATORS.split(tool)[-1]
    return last in OWN_TOOLS or (_NAME in tool.lower() and tool.endswith((*OWN_TOOLS, *GRAPH_TOOLS)))


def own_command(command: str) -> str:
    """The beginning of a shell command that is one call of the bank's command line, such as ``rbank search``; or ""."""
    if "rbank" not in command and _NAME not in command:
        return ""
    match = _COMMAND.match(command)
    return "" if match is None else f"{match['name']}{match['verb'] or ''}"
