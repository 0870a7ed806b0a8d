"""Labelled sets that no constant was chosen with: nine sources, each of another kind, decided before any was measured.

Three are made of what many machines hold (manual pages, installed packages, the Rust compiler), six of public
repositories that somebody has copied into one folder. Nothing of them is kept here. A source that is absent yields
nothing, and the evaluation says what it needs.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evaluation.sets import MAX_TEXT, Document, LabelledSet, Query, sample

MAX_DOCUMENTS, MAX_QUESTIONS = 1_500, 300
"""Documents and queries taken of one set, chosen by hash."""
_LEAST_WORDS = 4
_LEAST_BODY = 15


class Source(NamedTuple):
    """Where a set comes from.

    Attributes:
        name: Of the set.
        domain: Sets of another domain are unrelated.
        needs: What must be here, as a reader is told when it is not.
        pairs: Reads questions with the texts that answer them.
    """

    name: str
    domain: str
    needs: str
    pairs: Callable[[Path], Iterable[tuple[str, str]]]


def untuned_sets(folder: Path, say: Callable[[str], None]) -> Iterator[LabelledSet]:
    """Yield every set whose source is here; say of the others what they need.

    Args:
        folder: Holds copies of the public repositories, each in a folder of its name.
        say: Prints a line.
    """
    for source in SOURCES:
        made = paired(source.name, source.domain, source.pairs(folder))
        if made is None:
            say(f"{source.name}: not measured, {source.needs.format(folder=folder)} is not here")
        else:
            yield made
    collection = cranfield(folder / "cranfield")
    if collection is None:
        say(f"cranfield: not measured, {folder}/cranfield with cran.all.1400, cran.qry and cranqrel is not here")
    else:
        yield collection


def paired(name: str, domain: str, pairs: Iterable[tuple[str, str]]) -> LabelledSet | None:
    """Return the set in which every question finds the texts that it stands beside; None when there is no pair."""
    answers: dict[str, set[str]] = defaultdict(set)
    for question, text in pairs:
        if len(question.split()) >= _LEAST_WORDS and text.strip():
            answers[question].add(text.strip()[:MAX_TEXT])
    texts = sorted({text for each in answers.values() for text in each}, key=_by_hash)[:MAX_DOCUMENTS]
    keys = {text: f"d{number}" for number, text in enumerate(texts)}
    queries = [
        Query(text=question, relevant=frozenset(keys[text] for text in each if text in keys))
        for question, each in answers.items()
    ]
    answered = [query for query in queries if query.relevant]
    if not answered:
        return None
    documents = tuple(Document(key=key, content=text) for text, key in keys.items())
    return LabelledSet(name=name, domain=domain, documents=documents, queries=sample(answered, MAX_QUESTIONS))


def _by_hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


_HEADING = re.compile(r"^\.S[Hh] +", re.MULTILINE)
_ESCAPE = re.compile(r"\\f(?:\[\w*\]|\(..|.)|\\s[-+]?\d|\\[&/|^,:%]|\\\(..|\\\[\w+\]|\\\*(?:\(..|\[\w+\]|.)")
_MACRO = re.compile(r"^[.'][A-Za-z]{1,3}\b *")


def manual_pages(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what NAME says of a command, and its page without NAME; pages of a command's own commands are left out."""
    del folder
    for section in (1, 8):
        for path in sorted(Path(f"/usr/share/man/man{section}").glob(f"*.{section}.gz")):
            if "_" not in path.name and path.is_file():
                yield from _page(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))


def _page(source: str) -> Iterator[tuple[str, str]]:
    _, *sections = _HEADING.split(source)
    named = [each for each in sections if each.lstrip('"').casefold().startswith("name")]
    rest = [each for each in sections if each not in named]
    if not named or not rest:
        return
    first = named[0].partition("\n")[2]
    said = re.search(r"^\.Nd (.+)", first, re.MULTILINE) or re.search(r"\s(?:\\-|\\\(em|-|\\\(en)+\s+(.+)", first, re.S)
    if said:
        yield _plain(said.group(1)), _plain("\n".join(rest))


def _plain(source: str) -> str:
    """Return the text of a manual page without its markup."""
    lines = (line for line in source.splitlines() if not line.startswith(('.\\"', "'\\\"")))
    text = " ".join(_MACRO.sub("", line) for line in lines).replace("\\-", "-")
    return " ".join(_ESCAPE.sub("", text).replace("\\", "").replace('"', "").split())


def packages(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the short description of an installed package, and the long one."""
    del folder
    status = Path("/var/lib/dpkg/status")
    for entry in _text(status).split("\n\n") if status.exists() else ():
        described = re.search(r"^Description: (.+)\n((?: .*(?:\n|$))+)", entry, re.MULTILINE)
        if described:
            yield described.group(1), re.sub(r"^ \.?", "", described.group(2), flags=re.MULTILINE)


_MOST_CODES = 1_000


def compiler_errors(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the first sentence of what the Rust compiler explains of an error, and the rest."""
    del folder
    compiler = shutil.which("rustc")
    for number in range(_MOST_CODES) if compiler else ():
        asked = subprocess.run(
            [str(compiler), "--explain", f"E{number:04}"], capture_output=True, text=True, check=False, timeout=60
        )
        parts = [each for each in asked.stdout.split("\n\n") if not each.startswith("#### Note")]
        if asked.returncode == 0 and len(parts) > 1:
            sentence, _, more = " ".join(parts[0].split()).partition(". ")
            yield sentence, "\n\n".join([more, *parts[1:]])


_TRAILER = re.compile(r"^(?:[A-Z][\w-]*-by|Closes|Fixes|Follow-up to|Ref|Refs|Bug|URL|Assisted|CC|Cc)\b:? .*", re.M)
_COMMITS = 6_000


def commits(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the subject of a commit of curl, and what its message says below."""
    history = folder / "curl"
    if not history.is_dir():
        return
    shown = subprocess.run(
        ["git", "-C", str(history), "log", "--no-merges", f"-n{_COMMITS}", "--format=%s%x1f%b%x1e"],
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
        timeout=300,
    )
    for entry in shown.stdout.split("\x1e"):
        subject, _, body = entry.strip().partition("\x1f")
        body = _TRAILER.sub("", body)
        if len(body.split()) >= _LEAST_BODY:
            yield subject, body


_EXAMPLE = re.compile(r"^- (.+):\n\n`(.+)`$", re.MULTILINE)
_LEAST_EXAMPLES = 3


def short_pages(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what one example of a tldr page does, and the page without that example."""
    for kind in ("common", "linux"):
        for path in sorted((folder / "tldr" / "pages" / kind).glob("*.md")):
            page = re.sub(r"\[(\w)\]", r"\1", _text(path))
            long = [each for each in _EXAMPLE.finditer(page) if len(each.group(1).split()) > _LEAST_WORDS]
            if len(_EXAMPLE.findall(page)) >= _LEAST_EXAMPLES and long:
                chosen = min(long, key=lambda each: _by_hash(each.group()))
                yield chosen.group(1), page.replace(chosen.group(), "")


def proposals(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the title of a Python Enhancement Proposal, and its text."""
    for path in sorted((folder / "peps" / "peps").glob("pep-*.rst")):
        head, _, text = _text(path).partition("\n\n")
        title = re.search(r"^Title: (.+(?:\n .+)*)", head, re.MULTILINE)
        if title:
            yield " ".join(title.group(1).split()), re.sub(r"^[=\-~^*]{3,}$", "", text, flags=re.MULTILINE)


def commands(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what a person says that a shell command does, and the command (NL2Bash)."""
    described, written = (folder / "nl2bash" / "data" / "bash" / name for name in ("all.nl", "all.cm"))
    if described.exists() and written.exists():
        yield from zip(_text(described).splitlines(), _text(written).splitlines(), strict=False)


def encyclopedia(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield a question about a paragraph of an encyclopedia, and the paragraph (XQuAD, English)."""
    path = folder / "xquad" / "xquad.en.json"
    for article in json.loads(_text(path))["data"] if path.exists() else ():
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                yield asked["question"], paragraph["context"]


_IN_FOLDER = "a copy of the repository in {folder}/"
SOURCES: Sequence[Source] = (
    Source("manual pages", "shell", "a folder of manual pages, /usr/share/man,", manual_pages),
    Source("packages", "shell", "the status file of dpkg", packages),
    Source("compiler errors", "code", "rustc", compiler_errors),
    Source("commits", "code", _IN_FOLDER + "curl", commits),
    Source("short pages", "shell", _IN_FOLDER + "tldr", short_pages),
    Source("proposals", "code", _IN_FOLDER + "peps", proposals),
    Source("commands", "shell", _IN_FOLDER + "nl2bash", commands),
    Source("encyclopedia", "encyclopedia", _IN_FOLDER + "xquad", encyclopedia),
)
"""The sources of pairs."""


def cranfield(folder: Path) -> LabelledSet | None:
    """Return the Cranfield collection (Cleverdon, 1967): questions of aeronautics, abstracts, and who answers whom.

    Graded 1 to 4 is relevant. The judgements count the questions from 1 in the order of the file.
    """
    names = ("cran.all.1400", "cran.qry", "cranqrel")
    if not all((folder / name).exists() for name in names):
        return None
    abstracts, questions, judged = (_text(folder / name) for name in names)
    documents = [Document(key=key, content=text[:MAX_TEXT]) for key, text in _records(abstracts).items() if text]
    relevant: dict[int, set[str]] = defaultdict(set)
    known = {document.key for document in documents}
    for number, key, grade, *_ in (line.split() for line in judged.splitlines() if len(line.split()) > 2):
        if 1 <= int(grade) <= 4 and key in known:
            relevant[int(number)].add(key)
    queries = [
        Query(text=text, relevant=frozenset(relevant[number]))
        for number, text in enumerate(_records(questions).values(), start=1)
        if relevant[number]
    ]
    return LabelledSet(
        name="cranfield", domain="aeronautics", documents=tuple(documents), queries=sample(queries, MAX_QUESTIONS)
    )


def _records(source: str) -> Mapping[str, str]:
    """Return title and text of every record by its number."""
    found = {}
    for record in re.split(r"^\.I ", source, flags=re.MULTILINE)[1:]:
        number, _, rest = record.partition("\n")
        parts = re.findall(r"^\.[TW]\n((?:(?!\.[TABWI]\b).*(?:\n|$))*)", rest, re.MULTILINE)
        found[number.strip()] = " ".join(" ".join(parts).split())
    return found
