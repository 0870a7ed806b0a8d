"""Read the memories of other products as texts that become claims here."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reasoningbank.errors import InvalidInput, StoreUnavailable
from reasoningbank.memories.front_matter import MOST_BYTES, split_front_matter, text_field
from reasoningbank.safety.file_access import digest_at, read_text
from reasoningbank.sharing.claimed_texts import BroughtText
from reasoningbank.storage.other_sqlite import table_rows
from reasoningbank.types.memory import Outcome
from reasoningbank.types.transfer import PRODUCTS

MOST_JSON = 256 << 20
"""The longest JSON file that is read, in bytes."""
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*$")
_CODE_FENCE = re.compile(r"^\s*(```|~~~)")
_OWN_BLOCK = re.compile(r"<!-- reasoningbank:start -->.*?<!-- reasoningbank:end -->", re.DOTALL)
_INCLUDE = re.compile(r"^@\S+$", re.MULTILINE)
_INDEX = "MEMORY.md"
_NAMED = frozenset({"contextd", "mcp-memory-service", "mem0"})
"""Products whose memories have a name that no other memory has, in whatever file they are exported."""


def claims_of(product: str, path: Path) -> Sequence[BroughtText]:
    """Return the texts of another product's file or folder.

    Args:
        product: Whose it is.
        path: The file; for ``claude-memory`` the folder.

    Raises:
        InvalidInput: When there is no such product, or the file is none of it.
        StoreUnavailable: When it cannot be read.
    """
    if product not in _READERS:
        raise InvalidInput(f"nothing is known of {product[:80]!r}", hint=f"Name one of {', '.join(PRODUCTS)}.")
    if not path.exists():
        raise StoreUnavailable(f"there is no {path}", hint="Name the file or folder of that product.")
    try:
        digest = "" if path.is_dir() else digest_at(path)
        file = "" if product in _NAMED else str(path.resolve())
        found = [replace(each, digest=each.digest or digest, file=file) for each in _READERS[product](path)]
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            f"{path.name[:80]} is not a file of {product}: {type(error).__name__}: {str(error)[:200]}",
            hint="docs/how-to/move-memory.md says which file is meant.",
        ) from error
    return found


# ---- Markdown that people and agents write


def _instructions(path: Path) -> Iterator[BroughtText]:
    """Give each section of a CLAUDE.md or an AGENTS.md; what we wrote there ourselves is left out."""
    text = _INCLUDE.sub("", _OWN_BLOCK.sub("", read_text(path, most=MOST_BYTES)))
    file, places = _name_in_project(path), Counter[str]()
    for headings, body in _sections(split_front_matter(text)[1]):
        yield BroughtText(place=_place(file, headings, places), title=" / ".join(headings), content=body)


def _name_in_project(path: Path) -> str:
    """Return the name of a file that tells it from others of its name: from its repository or the home on."""
    whole = path.resolve()
    root = next((each for each in whole.parents if (each / ".git").exists()), None)
    if root is not None:
        return whole.relative_to(root).as_posix()
    home = Path.home().resolve()
    return f"~/{whole.relative_to(home).as_posix()}" if home in whole.parents else path.name


def _place(file: str, headings: Sequence[str], places: Counter[str]) -> str:
    """Return where a section stands; of several below the same headings which of them it is."""
    place = f"{file}#{' / '.join(headings) or 0}"
    places[place] += 1
    return place if places[place] == 1 else f"{place} ({places[place]})"


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Give the headings above each text of a Markdown page, and the text; a heading inside of code is none."""
    headings: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = ""
    for line in [*text.splitlines(), None]:
        opened = None if line is None else _CODE_FENCE.match(line)
        if opened:
            fence = "" if fence == opened[1] else fence or opened[1]
        heading = None if line is None or fence else _HEADING.match(line)
        if line is not None and heading is None:
            lines.append(line)
            continue
        if body := "\n".join(lines).strip():
            yield tuple(words for _, words in headings), body
        lines = []
        if heading is not None:
            level = len(heading[1])
            headings = [each for each in headings if each[0] < level] + [(level, heading[2].strip())]


def _claude_memory(path: Path) -> Iterator[BroughtText]:
    """Give each file of Claude Code's memory folder; of its index only what is not a link to another file."""
    folder = path if path.is_dir() else path.parent
    files = sorted(folder.rglob("*.md")) if path.is_dir() else [path]
    for file in files:
        if file.is_symlink():
            continue
        place, text, digest = file.relative_to(folder).as_posix(), read_text(file, most=MOST_BYTES), digest_at(file)
        if file.name == _INDEX:
            text = "\n".join(
                line for line in text.splitlines() if not re.match(r"\s*[-*] \[[^\]]*\]\([^)]*\.md\)", line)
            )
            places = Counter[str]()
            for headings, body in _sections(text):
                where = _place(place, headings, places) if headings else f"{place}#"
                yield BroughtText(place=where, title=" / ".join(headings), content=body, digest=digest)
            continue
        fields, body = split_front_matter(text)
        more = fields.get("metadata")
        kind = text_field(fields, "type") or (text_field(more, "type") if isinstance(more, Mapping) else "")
        if body:
            yield BroughtText(
                place=place,
                title=text_field(fields, "name") or file.stem,
                description=text_field(fields, "description"),
                content=body,
                tags=(kind,) if kind else (),
                digest=digest,
            )


# ---- JSON


def _json_of(path: Path) -> Any:
    try:
        return json.loads(read_text(path, most=MOST_JSON))
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{path.name[:80]} is not JSON: {error}") from error


def _mem0(path: Path) -> Iterator[BroughtText]:
    """Give each memory of what mem0's ``get_all`` returned."""
    value = _json_of(path)
    for each in value["results"] if isinstance(value, dict) else value:
        more = each.get("metadata") or {}
        tags = [*each.get("categories", ()), *(text for text in more.values() if isinstance(text, str))]
        yield BroughtText(
            place=str(each["id"]), content=each["memory"], tags=_tags(tags), written=_moment(each.get("created_at"))
        )


def _memory_service(path: Path) -> Iterator[BroughtText]:
    """Give each memory of mcp-memory-service: its JSON export, or its SQLite file."""
    if _is_sqlite(path):
        columns = ("content_hash", "content", "tags", "memory_type", "created_at", "deleted_at")
        rows = table_rows(path, "memories", columns)
        if rows is None:
            raise InvalidInput(f"{path.name[:80]} has no memories of mcp-memory-service")
        found: Sequence[Mapping[str, Any]] = [row for row in rows if row.get("deleted_at") is None]
    else:
        found = _json_of(path)["memories"]
    for each in found:
        tags = each.get("tags") or ()
        yield BroughtText(
            place=str(each["content_hash"]),
            content=each["content"],
            tags=_tags([*(tags.split(",") if isinstance(tags, str) else tags), each.get("memory_type") or ""]),
            written=_moment(each.get("created_at")),
        )


def _memory_server(path: Path) -> Iterator[BroughtText]:
    """Give each entity of the reference memory server with what is known of it, its relations as sentences."""
    entities: list[Mapping[str, Any]] = []
    relations: list[Mapping[str, Any]] = []
    for number, line in enumerate(read_text(path, most=MOST_JSON).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            each = json.loads(line)
        except json.JSONDecodeError as error:
            raise InvalidInput(f"{path.name[:80]}, line {number}: not JSON: {error}") from error
        (entities if each["type"] == "entity" else relations).append(each)
    for entity in entities:
        name = str(entity["name"])
        known = [str(each) for each in entity["observations"]]
        known += [
            f"{each['from']} {each['relationType']} {each['to']}."
            for each in relations
            if name in {each["from"], each["to"]}
        ]
        if known:
            content = "\n".join(f"- {each}" for each in known)
            yield BroughtText(place=name, title=name, content=content, tags=_tags([str(entity.get("entityType", ""))]))


def _without_envelope(value: Any) -> Any:
    """Return what a tool has answered, out of the envelopes of MCP around it: a response, a result, a text of JSON."""
    while isinstance(value, dict):
        content = value.get("content")
        texts = [each.get("text") for each in content if isinstance(each, dict)] if isinstance(content, list) else []
        if isinstance(value.get("structuredContent"), dict):
            value = value["structuredContent"]
        elif isinstance(value.get("result"), dict):
            value = value["result"]
        elif texts and isinstance(texts[0], str):
            try:
                return json.loads(texts[0])
            except json.JSONDecodeError as error:
                raise InvalidInput(f"the tool's answer is no JSON: {texts[0][:80]!r}") from error
        else:
            return value
    return value


def _contextd(path: Path) -> Iterator[BroughtText]:
    """Give each memory of an answer of contextd's tool memory_search that was saved as JSON."""
    value = _without_envelope(_json_of(path))
    if isinstance(value, dict) and "memories" not in value:
        raise InvalidInput(
            f"{path.name[:80]} has no memories of contextd", hint="Save the answer of its tool memory_search as JSON."
        )
    for each in value["memories"] if isinstance(value, dict) else value:
        outcome: Outcome = "failure" if each.get("outcome") == "failure" else "success"
        yield BroughtText(
            place=str(each["id"]),
            title=each["title"],
            content=each["content"],
            outcome=outcome,
            tags=_tags(each.get("tags") or ()),
        )


# ---- SQLite


def _claude_mem(path: Path) -> Iterator[BroughtText]:
    """Give each observation of claude-mem's database, and what its summaries say was learned."""
    columns = ("id", "project", "type", "title", "subtitle", "narrative", "facts", "text", "concepts", "created_at")
    observations = table_rows(path, "observations", columns) if _is_sqlite(path) else None
    if observations is None:
        raise InvalidInput(
            f"{path.name[:80]} is not a database of claude-mem", hint="It is ~/.claude-mem/claude-mem.db."
        )
    for each in observations:
        facts = [f"- {fact}" for fact in _list_in(each.get("facts"))]
        content = "\n\n".join(filter(None, (str(each.get("narrative") or each.get("text") or ""), "\n".join(facts))))
        if content:
            yield BroughtText(
                place=f"observation {each['id']}",
                title=str(each.get("title") or ""),
                description=str(each.get("subtitle") or ""),
                content=content,
                tags=_tags([str(each.get("type") or ""), *_list_in(each.get("concepts"))]),
                written=_moment(each.get("created_at")),
            )
    for each in table_rows(path, "session_summaries", ("id", "request", "learned", "created_at")) or ():
        if each.get("learned"):
            yield BroughtText(
                place=f"summary {each['id']}",
                description=str(each.get("request") or ""),
                content=str(each["learned"]),
                written=_moment(each.get("created_at")),
            )


def _list_in(value: object) -> list[str]:
    """Return the texts of a JSON list in a column; none when there is no list."""
    if not isinstance(value, str) or not value.strip():
        return []
    try:
        found = json.loads(value)
    except json.JSONDecodeError:
        return [value]
    return [str(each) for each in found] if isinstance(found, list) else [value]


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _tags(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in words if word and word.strip()))


def _moment(value: object) -> datetime | None:
    """Return a time that a file writes as ISO 8601 or as seconds since 1970; None when it writes none."""
    try:
        if isinstance(value, (int, float)):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str) and value:
            found = datetime.fromisoformat(value)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


_READERS: Mapping[str, Callable[[Path], Iterator[BroughtText]]] = {
    "claude-md": _instructions,
    "agents-md": _instructions,
    "claude-memory": _claude_memory,
    "mem0": _mem0,
    "mcp-memory-service": _memory_service,
    "claude-mem": _claude_mem,
    "memory-server": _memory_server,
    "contextd": _contextd,
}
