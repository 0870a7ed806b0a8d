"""The labelled sets that retrieval is measured on: real texts that nobody here wrote.

Each generator yields the sets that its source gives; a source whose files are absent yields nothing, and the evaluation
says so. The code sets are made at run time from the standard library of the running interpreter, nothing is copied.

A new set is one more generator in :data:`SOURCES`.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import importlib.util
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_QUERIES = 500
"""Queries taken of one set, chosen by hash."""
MAX_TEXT = 6_000
"""Characters kept of one document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One thing to be found: what it says, and when it applies if the source tells."""

    key: str
    content: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question with the keys of the documents that answer it; ``itself`` is taken out of the answer first."""

    text: str
    relevant: frozenset[str]
    itself: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSet:
    """Documents and queries that belong together.

    Attributes:
        name: Shown in the tables.
        domain: Sets of another domain are unrelated: their queries must find nothing here.
        documents: The bank.
        queries: At most ``MAX_QUERIES``.
    """

    name: str
    domain: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]


def half(text: str) -> int:
    """0 or 1 by hash: the half of a set that a query belongs to."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=1).digest()[0] & 1


def sample(queries: Sequence[Query], limit: int = MAX_QUERIES) -> tuple[Query, ...]:
    """At most ``limit`` queries, the same ones every time, spread evenly by hash."""
    ordered = sorted(queries, key=lambda query: hashlib.blake2b(query.text.encode("utf-8", "surrogatepass")).digest())
    return tuple(ordered[:limit])


def labelled(name: str, domain: str, documents: Sequence[Document], queries: Sequence[Query]) -> Iterator[LabelledSet]:
    """The set, unless it is empty."""
    if documents and queries:
        yield LabelledSet(name=name, domain=domain, documents=tuple(documents), queries=sample(queries))


def webarena(data: Path) -> Iterator[LabelledSet]:
    """Intents of web tasks: those of the same template are relevant, the query itself is left out."""
    path = data / "webarena_intents" / "intents.json"
    if not path.exists():
        return
    rows = json.loads(path.read_text(encoding="utf-8"))
    documents = [Document(key=str(row["task_id"]), content=row["intent"]) for row in rows]
    queries = []
    for row in rows:
        own = str(row["task_id"])
        relevant = frozenset(
            str(other["task_id"]) for other in rows if other["intent_template_id"] == row["intent_template_id"]
        )
        if len(relevant) > 1:
            queries.append(Query(text=row["intent"], relevant=relevant - {own}, itself=own))
    yield from labelled("webarena", "web tasks", documents, queries)


def banking(data: Path) -> Iterator[LabelledSet]:
    """Sentences of bank customers: test sentences find the training sentences of the same intent."""
    train, test = data / "banking77" / "train.csv", data / "banking77" / "test.csv"
    if not (train.exists() and test.exists()):
        return
    intents: dict[str, set[str]] = defaultdict(set)
    documents = []
    for number, (text, intent) in enumerate(_rows(train)):
        documents.append(Document(key=f"b{number}", content=text))
        intents[intent].add(f"b{number}")
    queries = [Query(text=text, relevant=frozenset(intents[intent])) for text, intent in _rows(test)]
    yield from labelled("banking77", "banking", documents, queries)


def _rows(path: Path) -> Iterator[tuple[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield row["text"], row["category"]


def reme(data: Path) -> Iterator[LabelledSet]:
    """Distilled memory items: ``when_to_use`` finds its own ``content``, a task finds the items that it gave."""
    for path in sorted((data / "reme").glob("*.jsonl")) if (data / "reme").is_dir() else ():
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        same: dict[str, set[str]] = defaultdict(set)
        tasks: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            same[row["when_to_use"]].add(row["memory_id"])
            tasks[row["metadata"].get("task_query") or ""].add(row["memory_id"])
        plain = [Document(key=row["memory_id"], content=row["content"]) for row in rows]
        described = [
            Document(key=row["memory_id"], content=row["content"], description=row["when_to_use"]) for row in rows
        ]
        name = path.stem.replace("_qwen3", "").replace("_v3", "")
        yield from labelled(f"reme {name}", "web tasks", plain, _queries(same))
        yield from labelled(f"reme {name} task", "web tasks", described, _queries(tasks))


def _queries(relevant: Mapping[str, set[str]]) -> list[Query]:
    return [Query(text=text, relevant=frozenset(keys)) for text, keys in relevant.items() if text]


def blame(data: Path) -> Iterator[LabelledSet]:
    """Logs of failed agents: the reason of the mistake, as a person wrote it, finds the step that holds it."""
    documents, queries = [], []
    for path in sorted((data / "who_and_when").glob("*.json")) if (data / "who_and_when").is_dir() else ():
        log = json.loads(path.read_text(encoding="utf-8"))
        for number, step in enumerate(log["history"]):
            if str(step["content"]).strip():
                documents.append(Document(key=f"{path.stem} {number}", content=str(step["content"])[:MAX_TEXT]))
        key = f"{path.stem} {log['mistake_step']}"
        if any(document.key == key for document in documents):
            queries.append(Query(text=log["mistake_reason"], relevant=frozenset({key})))
    yield from labelled("who and when", "agent logs", documents, queries)


def airline(data: Path) -> Iterator[LabelledSet]:
    """Chats with an airline: a customer's opening finds the other conversations about the same task."""
    path = data / "tau_bench_airline" / "trajectories.json"
    if not path.exists():
        return
    documents, queries = [], []
    tasks: dict[int, set[str]] = defaultdict(set)
    spoken: dict[str, list[str]] = {}
    for number, trial in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        said = [str(step["content"]) for step in trial["traj"] if step["role"] == "user" and step["content"]]
        key = f"t{number}"
        tasks[trial["task_id"]].add(key)
        spoken[key] = said
        documents.append(Document(key=key, content="\n".join(said)[:MAX_TEXT]))
    for keys in tasks.values():
        queries += [
            Query(text="\n".join(spoken[key][:3]), relevant=frozenset(keys - {key}), itself=key) for key in sorted(keys)
        ]
    yield from labelled("airline", "airline", documents, queries)


def steps(data: Path) -> Iterator[LabelledSet]:
    """Work of coding agents: the thought before a step finds the action and what came of it."""
    documents, queries = [], []
    for path in sorted((data / "swe_agent").glob("*.traj")) if (data / "swe_agent").is_dir() else ():
        for number, step in enumerate(json.loads(path.read_text(encoding="utf-8")).get("trajectory", ())):
            action, thought = str(step.get("action", "")).strip(), str(step.get("thought", "")).strip()
            if not action:
                continue
            key = f"{path.stem} {number}"
            documents.append(Document(key=key, content=f"{action}\n{step.get('observation', '')}"[:MAX_TEXT]))
            if len(thought) > 20:
                queries.append(Query(text=thought, relevant=frozenset({key})))
    yield from labelled("swe agent steps", "code", documents, queries)


CODE_MODULES = (
    "argparse", "ast", "asyncio.base_events", "asyncio.queues", "asyncio.streams", "asyncio.subprocess",
    "asyncio.tasks", "base64", "bdb", "bisect", "bz2", "calendar", "cmd", "code", "codecs", "collections",
    "concurrent.futures._base", "concurrent.futures.thread", "configparser", "contextlib", "copy", "csv", "datetime",
    "difflib", "dis", "doctest", "email.message", "email.utils", "email.header", "enum", "filecmp", "fileinput",
    "fnmatch", "fractions", "ftplib", "functools", "getopt", "getpass", "gettext", "glob", "gzip", "hashlib", "heapq",
    "hmac", "html.parser", "http.client", "http.cookiejar", "http.server", "imaplib", "importlib.util", "inspect", "io",
    "ipaddress", "json", "json.decoder", "linecache", "locale", "logging", "logging.handlers", "lzma", "mailbox",
    "mimetypes", "multiprocessing.pool", "multiprocessing.queues", "netrc", "ntpath", "numbers", "opcode", "operator",
    "optparse", "os", "pathlib", "pdb", "pickle", "pickletools", "pkgutil", "platform", "plistlib", "poplib",
    "posixpath", "pprint", "profile", "pydoc", "queue", "quopri", "random", "reprlib", "sched", "secrets", "selectors",
    "shelve", "shlex", "shutil", "signal", "smtplib", "socket", "socketserver", "ssl", "stat", "statistics", "string",
    "subprocess", "symtable", "sysconfig", "tarfile", "telnetlib", "tempfile", "textwrap", "threading", "timeit",
    "token", "tokenize", "trace", "traceback", "tracemalloc", "turtle", "types", "typing", "unittest.case",
    "unittest.mock", "urllib.parse", "urllib.request", "uuid", "venv", "warnings", "wave", "weakref", "webbrowser",
    "wsgiref.handlers", "xml.dom.minidom", "xml.etree.ElementTree", "xmlrpc.client", "zipfile", "zoneinfo",
)  # fmt: skip
"""Modules of the standard library whose functions are the code sets; those that are gone are skipped."""


@dataclass(frozen=True, slots=True)
class _Function:
    key: str
    name: str
    summary: str
    source: str
    messages: tuple[str, ...]


def standard_library(data: Path) -> Iterator[LabelledSet]:
    """Functions of the interpreter's own library: by docstring, by error message, by an identifier they alone use."""
    del data
    functions = [function for module in CODE_MODULES for function in _functions(module)]
    documents = [Document(key=function.key, content=function.source[:MAX_TEXT]) for function in functions]
    summaries: dict[str, set[str]] = defaultdict(set)
    messages: dict[str, set[str]] = defaultdict(set)
    users: dict[str, set[str]] = defaultdict(set)
    for function in functions:
        if len(function.summary.split()) >= 4:
            summaries[function.summary].add(function.key)
        for message in function.messages:
            messages[message].add(function.key)
        for identifier in set(re.findall(r"\w+", function.source[:MAX_TEXT])):
            users[identifier].add(function.key)
    rare = {
        name: keys
        for name, keys in users.items()
        if len(keys) == 1 and len(name) > 6 and "_" in name and any(letter.isalpha() for letter in name)
    }
    yield from labelled("code docstrings", "code", documents, _queries(summaries))
    yield from labelled("code errors", "code", documents, _queries(messages))
    yield from labelled("code identifiers", "code", documents, sample(_queries(rare), 200))


def _functions(module: str) -> Iterator[_Function]:
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return
    if found is None or found.origin is None or not found.origin.endswith(".py"):
        return
    text = Path(found.origin).read_text(encoding="utf-8")
    tree = ast.parse(text)
    owners: list[ast.Module | ast.ClassDef] = [tree]
    owners += [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for owner in owners:
        for node in owner.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _function(module, owner, node)


def _function(
    module: str, owner: ast.Module | ast.ClassDef, node: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[_Function]:
    summary = (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ").strip()
    if not summary or len(node.body) < 2:
        return
    messages = tuple(dict.fromkeys(_messages(node)))
    node.body = node.body[1:]
    name = f"{owner.name}.{node.name}" if isinstance(owner, ast.ClassDef) else node.name
    yield _Function(f"{module}.{name}:{node.lineno}", name, summary, ast.unparse(node), messages)


def _messages(node: ast.AST) -> Iterator[str]:
    """``ValueError: message`` for every error that is raised with a fixed text of at least three words."""
    for part in ast.walk(node):
        call = part.exc if isinstance(part, ast.Raise) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
            first = call.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and len(first.value.split()) >= 3:
                yield f"{call.func.id}: {first.value}"


SOURCES: tuple[Callable[[Path], Iterator[LabelledSet]], ...] = (
    webarena,
    banking,
    reme,
    blame,
    airline,
    steps,
    standard_library,
)
"""All sources of labelled sets."""


def labelled_sets(data: Path) -> Iterator[LabelledSet]:
    """Every set that the data folder and the interpreter give."""
    for source in SOURCES:
        yield from source(data)
