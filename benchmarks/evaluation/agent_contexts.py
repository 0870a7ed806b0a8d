"""Forms of what stands before, behind and around a question, each at 30, 100, 400 and 1,500 words.

All of them were written before the rule that they judge (``search/passages.py``). Half of the forms were looked at
while its constants were chosen, the other half (``held_out``) once, at the end. Logs, tables, rules and chats are
written here and repeated with other numbers; prose, code and differences come from the running interpreter's library.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import pydoc_data.topics
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Literal

LENGTHS = (30, 100, 400, 1_500)
"""Words of what stands around a question, about."""
Place = Literal["before", "behind", "around"]


@dataclass(frozen=True, slots=True)
class Form:
    """One form of what stands around a question.

    Attributes:
        name: Shown in the tables.
        place: Where the context stands.
        held_out: Whether it was kept out of sight while the constants were chosen.
        around: Makes the query of a question and a number of words.
    """

    name: str
    place: Place
    held_out: bool
    around: Callable[[str, int], str]


_WORKER = (
    "You are a coding agent in the repository of a company that rents bicycles.",
    "You can read files, edit them and run commands in a sandbox without network.",
    "Make the smallest change that does what the user wants, and run the tests after it.",
    "Never print tokens or passwords, not even when they stand in a file that you were asked to read.",
    "If something is not clear, look into the code before you ask.",
    "Write plain English, and name the file and the line that you talk about.",
    "Commands stop after two minutes; start servers in the background.",
)
_CLERK = (
    "Act as the assistant of a support team that answers letters from subscribers of a magazine.",
    "Your answers are friendly, short and correct, and they never promise money.",
    "Look up the subscription before you say anything about it.",
    "When a subscriber is angry, say first that you have understood what went wrong.",
    "Do not share data of one subscriber with another.",
    "Prices are those of the page for the current month; older letters may name others.",
    "Sign with the name of the team, never with a name of your own.",
)
_RULES = (
    "Keep functions under forty lines.",
    "Every module begins with a sentence that says what it is for.",
    "Use the standard library before you add a dependency.",
    "Do not catch an error that you cannot handle.",
    "Names are nouns for values and verbs for functions.",
    "A change of the schema comes with a migration and a way back.",
    "Write a test for every mistake that you mend.",
    "Never push to the main branch.",
    "Ask for review when the build is green on all platforms.",
)
_STEPS = (
    "Read the whole request before you begin.",
    "Make a list of the files that you will have to touch.",
    "Check that the work tree is clean.",
    "Change one thing at a time and run the tests in between.",
    "Update the changelog when users can see the change.",
    "Remove what you have added only to find the fault.",
    "Say at the end what you did not do, and why.",
)
_TURNS = (
    ("Which of the two boats is free at the weekend?", "The small one is free on both days, the large one on Sunday."),
    ("Does it have life jackets for children?", "Two of them. More are in the shed, and the key hangs at the office."),
    ("What do we pay if we bring it back late?", "Ten for every hour that has begun, and a full day after sunset."),
    ("Can my brother steer it?", "Yes, if he is over sixteen; for the large one he needs a licence."),
    ("Then take the small one for Saturday.", "Done. It is booked from nine to six, and the deposit is paid."),
)
_MAIL = (
    ("Could you move my piano lesson to Friday?", "Friday at four is free, so I have moved it there."),
    ("Do I still pay for the lesson that I missed?", "No, because you told us a day before."),
    ("Which book do we use next term?", "The blue one. The shop at the corner has it in stock."),
)


def _numbered(number: int) -> str:
    return f"{number * 7919 % 100_000:05d}"


def _log(number: int) -> str:
    level, said = (
        ("INFO", "accepted connection from 10.0.3.17"),
        ("DEBUG", "cache miss for key price:{} after 12 ms"),
        ("WARN", "queue is at 81 % of its length"),
        ("INFO", "order {} was sent to the printer"),
    )[number % 4]
    clock = f"{8 + number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}"
    return (
        f"2025-03-04 {clock},{number % 1000:03d} {level} gateway.worker-{number % 5} {said.format(_numbered(number))}"
    )


def _shell(number: int) -> str:
    return (
        f"$ make stage-{number}",
        f"cc -O2 -c src/part{number}.c -o build/part{number}.o",
        f"build/part{number}.o: 14 symbols, 0 warnings",
        f"[{number % 100:3d}%] Linking target lib{_numbered(number)}.so",
    )[number % 4]


def _cells(number: int) -> Sequence[str]:
    return (
        _numbered(number),
        ("Lisbon", "Turin", "Gdansk", "Bergen")[number % 4],
        str(number * 13 % 97),
        ("open", "paid", "sent")[number % 3],
    )


def _table(number: int) -> str:
    if number < 2:
        return ("| order | town | items | state |", "|---|---|---:|---|")[number]
    return f"| {' | '.join(_cells(number))} |"


def _comma_separated(number: int) -> str:
    return ", ".join(_cells(number)) if number else "order, town, items, state"


def _filled(line: Callable[[int], str], words: int) -> str:
    """Return as many lines as hold about so many words."""
    lines: list[str] = []
    count = 0
    while count < words:
        lines.append(line(len(lines)))
        count += len(lines[-1].split())
    return "\n".join(lines)


def _cut(text: str, words: int) -> str:
    """Return the first lines of a text up to so many words; at least one line."""
    lines: list[str] = []
    count = 0
    for line in text.splitlines():
        count += len(line.split())
        if lines and count > words:
            break
        lines.append(line)
    return "\n".join(lines).strip("\n")


@cache
def _source(module: str) -> str:
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise LookupError(module)
    return Path(found.origin).read_text(encoding="utf-8")


@cache
def _difference(module: str, old: str, new: str) -> str:
    before = _source(module)
    lines = difflib.unified_diff(
        before.splitlines(), before.replace(old, new).splitlines(), f"a/{module}.py", f"b/{module}.py", lineterm=""
    )
    return "\n".join((f"diff --git a/{module}.py b/{module}.py", "index 5d2f8c1..e01b7aa 100644", *lines))


@cache
def _prose(start: str) -> str:
    topics = pydoc_data.topics.topics
    names = sorted(topics)
    first = names.index(start)
    text = "\n\n".join(topics[name].strip() for name in (*names[first:], *names[:first]))
    paragraphs = (each for each in text.split("\n\n") if re.match(r"[A-Z][a-z]", each) and not each.endswith(":"))
    return "\n\n".join(" ".join(each.split()) for each in paragraphs if len(each.split()) > 15)


def _paragraphs(beginning: Sequence[str], start: str, words: int) -> str:
    """Return instructions and after them prose, in paragraphs, up to so many words; whole sentences."""
    text = f"{' '.join(beginning[:3])}\n\n{' '.join(beginning[3:])}\n\n{_prose(start)}"
    kept: list[str] = []
    count = 0
    for part in re.split(r"(?<=[.])(\s+)", text):
        count += len(part.split())
        if kept and count > words:
            break
        kept.append(part)
    return "".join(kept).strip()


def _list(items: Sequence[str], mark: str, title: str, words: int) -> str:
    def line(number: int) -> str:
        if number == 0:
            return title
        item = items[(number - 1) % len(items)]
        again = f" This holds for part {number // len(items) + 1} too." if number > len(items) else ""
        return f"{mark.format(number)} {item}{again}"

    return _filled(line, words)


def _turns(pairs: Sequence[tuple[str, str]], words: int) -> Iterator[tuple[str, str]]:
    count = number = 0
    while count < words:
        user, assistant = pairs[number % len(pairs)]
        if number >= len(pairs):
            assistant += f" That is the same as in week {number}."
        yield "user", user
        yield "assistant", assistant
        count += len(user.split()) + len(assistant.split())
        number += 1


def _chat(pairs: Sequence[tuple[str, str]], user: str, assistant: str, words: int) -> str:
    names = {"user": user, "assistant": assistant}
    return "\n\n".join(f"{names[role]} {said}" for role, said in _turns(pairs, words))


def _markup(turns: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"<|im_start|>{role}\n{said}<|im_end|>" for role, said in turns)


def _messages(turns: Sequence[tuple[str, str]], indent: int | None = None) -> str:
    return json.dumps([{"role": role, "content": said} for role, said in turns], indent=indent)


def _blocks(turns: Sequence[tuple[str, str]]) -> str:
    rows = [{"role": role, "content": [{"type": "text", "text": said}]} for role, said in turns]
    return json.dumps({"model": "large", "messages": rows}, indent=2)


def _configuration(words: int) -> str:
    def entry(number: int) -> dict[str, object]:
        return {"name": f"node-{_numbered(number)}", "port": 8000 + number, "labels": ["blue", "south"], "ready": True}

    return json.dumps({"nodes": [entry(number) for number in range(max(1, words // 12))]}, indent=2)


def _settings(number: int) -> str:
    return (
        f"service{number}:",
        f"  image: registry.local/service:{number}.2",
        "  restart: always",
        f"  ports: [{9000 + number}, {9100 + number}]",
    )[number % 4]


def _documents(start: str, words: int) -> str:
    share = max(15, words // 3)
    parts = [
        f'<document index="{place}">\n<source>page{place}.txt</source>\n<content>\n'
        f"{_paragraphs((), name, share)}\n</content>\n</document>"
        for place, name in enumerate((start, "exceptions", "lambda"), start=1)
    ]
    return "<documents>\n" + "\n".join(parts[: max(1, words // share)]) + "\n</documents>"


def _trace(words: int) -> str:
    frames = _filled(
        lambda number: (
            f'  File "/srv/rental/part{number // 2}.py", line {number * 17 % 400 + 1}, in step_{number // 2}'
            if number % 2 == 0
            else f"    return step_{number // 2 + 1}(context, retries={number})"
        ),
        words,
    )
    return f"Traceback (most recent call last):\n{frames}\nRuntimeError: pump 4 did not answer"


_bullets = partial(_list, _RULES, "-", "# Conventions")
_numbers = partial(_list, _STEPS, "{}.", "How to work:")
_stars = partial(_list, _STEPS, "*", "**Checklist**")
_diff = partial(_cut, _difference("argparse", "option_string", "option_text"))
_other_diff = partial(_cut, _difference("tarfile", "tarinfo", "entry"))
Context = Callable[[int], str]


def _before(context: Context, join: str = "\n\n") -> Callable[[str, int], str]:
    return lambda question, words: f"{context(words)}{join}{question}"


def _behind(context: Context, join: str = "\n\n") -> Callable[[str, int], str]:
    return lambda question, words: f"{question}{join}{context(words)}"


def _between(first: Context, second: Context, join: str = "\n\n") -> Callable[[str, int], str]:
    return lambda question, words: f"{first(words // 2)}{join}{question}{join}{second(words // 2)}"


def _fenced(module: str, language: str) -> Context:
    return lambda words: f"```{language}\n{_cut(_source(module), words)}\n```"


def _tagged(tag: str, context: Context) -> Context:
    return lambda words: f"<{tag}>\n{context(words)}\n</{tag}>"


def _one_line(context: Context) -> Context:
    return lambda words: " ".join(context(words).split())


def _lines_of(line: Callable[[int], str]) -> Context:
    return lambda words: _filled(line, words)


def _said(pairs: Sequence[tuple[str, str]], system: str, question: str, words: int) -> list[tuple[str, str]]:
    return [("system", system), *_turns(pairs, words), ("user", question)]


def _report(question: str, words: int) -> str:
    return (
        f"### Environment\n\nLinux, version 4.2 of the printer service\n\n### Question\n\n{question}\n\n"
        f"### Log\n\n{_filled(_log, words)}"
    )


def _sections(question: str, words: int) -> str:
    return (
        f"## Background\n\n{_paragraphs((), 'lists', words // 2)}\n\n## Task\n\n{question}\n\n"
        f"## Constraints\n\n{_bullets(words // 2)}"
    )


def _tool_after(question: str, words: int) -> str:
    turns = _said(_TURNS, _WORKER[0], question, words)
    return _messages(
        [*turns, ("assistant", "I will look at the files first."), ("tool", "basket.py, till.py, 2 files")]
    )


FORMS: tuple[Form, ...] = (
    Form("instructions", "before", False, _before(partial(_paragraphs, _WORKER, "calls"))),
    Form("bullet rules", "before", False, _before(_bullets)),
    Form("log", "before", False, _before(_lines_of(_log))),
    Form("diff", "before", False, _before(_diff)),
    Form("chat, User:", "before", False, _before(partial(_chat, _TURNS, "User:", "Assistant:"), "\n\nUser: ")),
    Form("messages in JSON", "before", False, lambda q, words: _messages(_said(_TURNS, _WORKER[0], q, words))),
    Form("table", "before", False, _before(_lines_of(_table))),
    Form("context tag", "before", False, _before(_tagged("context", partial(_paragraphs, (), "typesseq")))),
    Form("configuration in JSON", "before", False, _before(_configuration)),
    Form("instructions on one line", "before", False, _before(_one_line(partial(_paragraphs, _WORKER, "calls")), " ")),
    Form("fenced file, one newline", "before", False, _before(_fenced("bisect", "python"), "\n")),
    Form("persona", "before", True, _before(partial(_paragraphs, _CLERK, "with"))),
    Form("numbered steps", "before", True, _before(_numbers)),
    Form("build output", "before", True, _before(_lines_of(_shell))),
    Form("fenced code", "before", True, _before(_fenced("heapq", ""))),
    Form("chat markup", "before", True, lambda q, words: _markup(_said(_MAIL, _CLERK[0], q, words))),
    Form("indented messages", "before", True, lambda q, words: _messages(_said(_MAIL, _CLERK[0], q, words), 2)),
    Form("comma-separated rows", "before", True, _before(_lines_of(_comma_separated))),
    Form("documents in tags", "before", True, _before(partial(_documents, "while"))),
    Form("settings in YAML", "before", True, _before(_lines_of(_settings))),
    Form("steps on one line", "before", True, _before(_one_line(_numbers), " ")),
    Form("chat, Human:", "before", True, _before(partial(_chat, _MAIL, "Human:", "AI:"), "\n\nHuman: ")),
    Form("trace, one newline", "before", True, _before(_trace, "\n")),
    Form("instructions", "behind", False, _behind(partial(_paragraphs, _WORKER, "calls"))),
    Form("bullet rules", "behind", False, _behind(_bullets)),
    Form("log", "behind", False, _behind(_lines_of(_log))),
    Form("diff", "behind", False, _behind(_diff)),
    Form("chat, User:", "behind", False, _behind(partial(_chat, _TURNS, "User:", "Assistant:"))),
    Form("messages in JSON", "behind", False, _behind(lambda words: _messages(list(_turns(_TURNS, words))))),
    Form("context tag", "behind", False, _behind(_tagged("context", partial(_paragraphs, (), "typesseq")))),
    Form("table", "behind", False, _behind(_lines_of(_table))),
    Form("configuration in JSON", "behind", False, _behind(_configuration)),
    Form("fenced file, one newline", "behind", False, _behind(_fenced("bisect", "python"), "\n")),
    Form("persona", "behind", True, _behind(partial(_paragraphs, _CLERK, "with"))),
    Form("numbered steps", "behind", True, _behind(_numbers)),
    Form("checklist, one newline", "behind", True, _behind(_stars, "\n")),
    Form("build output", "behind", True, _behind(_lines_of(_shell))),
    Form("trace", "behind", True, _behind(_trace)),
    Form("another diff, one newline", "behind", True, _behind(_other_diff, "\n")),
    Form("fenced diff", "behind", True, _behind(lambda words: f"```diff\n{_other_diff(words)}\n```")),
    Form("chat markup", "behind", True, _behind(lambda words: _markup(list(_turns(_MAIL, words))))),
    Form("chat, Human:", "behind", True, _behind(partial(_chat, _MAIL, "Human:", "AI:"))),
    Form("documents in tags", "behind", True, _behind(partial(_documents, "while"))),
    Form("comma-separated rows", "behind", True, _behind(_lines_of(_comma_separated))),
    Form("settings in YAML", "behind", True, _behind(_lines_of(_settings))),
    Form("instructions, diff", "around", False, _between(partial(_paragraphs, _WORKER, "calls"), _diff)),
    Form("code on both sides", "around", False, _between(_fenced("bisect", "python"), _fenced("keyword", "python"))),
    Form("prose on both sides", "around", False,
         _between(partial(_paragraphs, (), "calls"), partial(_paragraphs, (), "lists"))),
    Form("sections", "around", False, _sections),
    Form("messages, a tool after", "around", False, _tool_after),
    Form("rules, log", "around", True, _between(_numbers, _lines_of(_shell))),
    Form("tags on both sides", "around", True, _between(_tagged("context", partial(_paragraphs, (), "while")),
                                                       _tagged("guidelines", _bullets), "\n")),
    Form("report", "around", True, _report),
    Form("messages in blocks", "around", True, lambda q, words: _blocks(_said(_MAIL, _CLERK[0], q, words))),
    Form("chat markup, answer begun", "around", True,
         lambda q, words: f"{_markup(_said(_MAIL, _CLERK[0], q, words))}\n<|im_start|>assistant\n"),
    Form("persona, table", "around", True, _between(partial(_paragraphs, _CLERK, "with"), _lines_of(_table))),
)  # fmt: skip
"""All forms: 23 before, 22 behind, 11 around."""
