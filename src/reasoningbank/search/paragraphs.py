"""The paragraphs of a long query: prose and what is not prose, who said it, and below what name or in what tag.

Messages in JSON and chat markup (``<|im_start|>user``) are read as what they say. A paragraph ends at a blank line, a
fence, a tag, a heading, a speaker's name, and where prose and code, a list and what is none, meet. A line is not prose
when it looks like code, a trace, a log, a table or data, or is inside of a fence.

What a user said last is asked when nobody has answered it and nothing stands outside of the chat.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

TurnSide = Literal["", "user", "other"]

_MANY_SIGNS = 0.12
_LONGEST_LINE = 300
_MOST_FAILURES = 20
_FEW_PLAIN = 0.5
_LEAST_TOKENS = 3
_OPEN_ENDS = (",", "(", "[", "{", "\\")
"""A line of code that ends so goes on in the next."""
_DATA_LINES = "\n{\n{\n}\n}\n"
"""Lines that stand for JSON that holds no messages."""

_FENCE = re.compile(r"\s*(?:```|~~~)")
_TRACE = re.compile(
    r"""\s*(?:File\ ".*",\ line\ \d|at\ [\w$.<]+[\w$>]*[ (:]|Traceback\ |\.\.\.\ \d+\ more|Caused\ by:|[~^ ]+$|npm\ ERR!
    |Exception\ in\ thread|During\ handling\ of\ the|The\ above\ exception\ was|Require\ stack|goroutine\ \d|-\ /
    |diff\ --git|index\ [\da-f]{7}|@@\ |[-+]{3}\ |[-+]\s{2}|[-+]$|={9}|_{9}
    |\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\#\d+\ |node:|Node\.js\ v\d|[$>%]\ \S|\[\s*\d+\s*[%/])""",
    re.VERBOSE,
)
_DIFF = re.compile(r"(?:diff --git |--- \S|\+\+\+ \S|@@ -\d)")
_CODE = re.compile(
    r"""\s*(?:(?:async\ def|def|class)\ \w|import\ [\w.]+(?:\ as\ \w+|,.*|;)?\s*$|from\ \S+\ import\ |@\w|\#include|\#!
    |(?:return|elif|except|if|for|while|with|public|private|protected|const|let|var|function|export|package|namespace
    |using|struct|fn|impl|func|throw|SELECT|INSERT|UPDATE)\b[^?]*[=({;:][^?]*$
    |else:|try:|[\])}{(<]|//|/?\*\ \W|\"{3}|'{3}|[\w.\[\]"']+\s*(?:=|\+=|:=)\s|.*[;{]\s*$|.*\)\s*:\s*$)
    |(?:\s{2,}|\t)(?![-*\d\u2022])\S""",
    re.VERBOSE,
)
_DATA = re.compile(
    r"""\s*(?:\|.*\||[\w"'.-]+:(?:\s+[^\s].{0,60})?(?<![.?!])$|[\w"'.-]+(?:\s*[,\t]\s*\S[^,\t]{0,40}){3,}(?<![.?!])$)""",
    re.VERBOSE,
)
_ERROR = re.compile(
    r"\s*(?:E\s+)?(?:[\w.$]*(?:Error|Exception|Warning|Failure)|FAILED|ERROR|fatal|error|panic|warning)"
    r"(?:\[\w+\])?\s*[:( ]"
)
_SIGN = re.compile(r"[(){}\[\]=;<>|&\\]")
_PLAIN = re.compile(r"[\"'(\u201c]*[^\W\d_]+(?:['\u2019-][^\W\d_]+)*[\"'),.;:!?\u201d]*$")
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)]|\[[ xX]\])\s+\S")
_HEADING = re.compile(r"\s*(?:\#{1,6}\s+\S.{0,60}|\*\*[^*]{1,60}\*\*:?|[A-Z][^.?!:]{0,60}:)\s*$")
_NAME = (
    r"user(?:[ _](?:query|request|prompt|question|message|input))?|human|question|query|task|request|problem|prompt|ask"
    r"|frage|aufgabe|utilisateur|t\u00e2che|\u7528\u6237|\u95ee\u9898|\u4efb\u52a1"
)
_ROLE = re.compile(
    rf"\s*(?:\#{{1,6}}\s*|\*\*|[<\[(]\s*)?(?P<name>{_NAME})\s*"
    r"(?:\*\*\s*:?|:\s*\*\*|[>\])]\s*:?|[:\uff1a]|\s*$)\s*",
    re.IGNORECASE,
)
_OTHER_ROLE = re.compile(
    r"\s*(?:\*\*|[<\[(]\s*)?(?:assistant|ai|bot|system|model|tool|agent)\s*(?:\*\*\s*:?|[>\])]\s*:?|:)\s*",
    re.IGNORECASE,
)
_SPEAKS = re.compile(r"(?:user|human|utilisateur|\u7528\u6237)", re.IGNORECASE)
_TAG = re.compile(r"\s*<(?P<closes>/)?(?P<name>[A-Za-z][\w-]*)(?:\s[^<>]{0,200})?>\s*$")
_FIELD = re.compile(r"\s*<(?P<name>[A-Za-z][\w-]*)[^<>]{0,200}>(?P<said>.*)</(?P=name)>\s*$")
_ASKING_TAG = re.compile(rf"(?:{_NAME})$", re.IGNORECASE)
_CLOSING_TAG = re.compile(r"</\s*[\w-]+\s*>\s*$")
_MARKUP = re.compile(
    r"<\|(?:im_start|start_header_id|start)\|>\s*(?P<role>\w+)\s*(?:<\|(?:end_header_id|message)\|>)?"
    r"|<\|(?P<short>user|assistant|system|tool)\|>|(?P<instruction>\[INST\])|(?P<end><\|(?:im_end|eot_id|end)\|>|</s>|\[/INST\])"
)


class Utterance(NamedTuple):
    """A part of a text and who said it: nobody where it stands outside of a chat."""

    speaker: TurnSide
    text: str


@dataclass(slots=True)
class Paragraph:
    """Lines that stand together.

    Attributes:
        lines: What they say, without a speaker's name.
        code: Whether they are code, a trace, a log, a table, data.
        listed: Whether they are a list, not the details of the prose right above.
        heading: Whether they are a heading.
        asked: Whether they follow a name or tag that says that something is asked.
        said: Whether the user said them in the same turn.
        said_before: Whether somebody else said them, or the user earlier.
        section: Whether they stand below a heading that does not say that something is asked.
        elsewhere: Whether they stand in a tag that does not say so, in what was said before, or below such a heading
            where another says so.
    """

    lines: list[str] = field(default_factory=list)
    code: bool = False
    listed: bool = False
    heading: bool = False
    section: bool = False
    asked: bool = False
    said: bool = False
    said_before: bool = False
    elsewhere: bool = False

    @property
    def text(self) -> str:
        """All of it on one line."""
        return " ".join(" ".join(self.lines).split())


def paragraphs(text: str) -> list[Paragraph]:
    """Return the paragraphs of a text that say something, in their order."""
    utterances = [each for each in _utterances(text) if each.text.strip()]
    chat = any(each.speaker for each in utterances)
    outside = any(not each.speaker for each in utterances)
    last = max((place for place, each in enumerate(utterances) if each.speaker == "user"), default=-1)
    found: list[Paragraph] = []
    for place, utterance in enumerate(utterances):
        here = _Reader().read(utterance.text.splitlines())
        if chat and utterance.speaker:
            now = place == last and (not outside or place == len(utterances) - 1)
            for number, each in enumerate(here):
                each.said, each.said_before = now, not now
                each.asked = now and (each.asked or number == 0 or len(here) == 1)
                each.elsewhere = each.elsewhere or not now
        found += here
    return found


def _utterances(text: str) -> Iterator[Utterance]:
    """Yield what is said in a text: messages in JSON, chat markup, and what stands outside of them.

    Other JSON stays where it is, as lines of code, so that a tag around it still holds for what follows.
    """
    outside = ""
    for part in _values(text):
        if isinstance(part, str):
            outside += part
        elif messages := list(_messages(part)):
            yield from _outside(outside)
            yield from messages
            outside = ""
        else:
            outside += _DATA_LINES
    yield from _outside(outside)


def _outside(text: str) -> Iterator[Utterance]:
    if _MARKUP.search(text):
        yield from _marked_up(text)
    else:
        yield Utterance("", text)


def _marked_up(text: str) -> Iterator[Utterance]:
    speaker: TurnSide = ""
    start = 0
    for match in _MARKUP.finditer(text):
        if text[start : match.start()].strip():
            yield Utterance(speaker, text[start : match.start()])
        start = match.end()
        role = match["role"] or match["short"] or ("user" if match["instruction"] else "")
        speaker = _speaker(role) if role else ""
    if text[start:].strip():
        yield Utterance(speaker, text[start:])


def _values(text: str) -> Iterator[Any]:
    """Yield the JSON values that begin a line and are more than a line's worth of code, and the texts between them."""
    if '"' not in text:
        yield text
        return
    decoder = json.JSONDecoder()
    start = failures = 0
    for match in re.finditer(r"^[ \t]*(?=[\[{])", text, re.MULTILINE):
        if match.end() < start or failures >= _MOST_FAILURES:
            continue
        try:
            value, end = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            failures += 1
            continue
        if not _holds_objects(value):
            continue
        if text[start : match.start()].strip():
            yield text[start : match.start()]
        yield value
        start = end
    if text[start:].strip():
        yield text[start:]


def _holds_objects(value: Any) -> bool:
    return (isinstance(value, dict) and bool(value)) or (
        isinstance(value, list) and any(isinstance(each, dict) for each in value)
    )


def _messages(value: Any) -> Iterator[Utterance]:
    """Yield the messages in a JSON value as clients of language models write them."""
    if isinstance(value, list):
        for each in value:
            yield from _messages(each)
        return
    if not isinstance(value, dict):
        return
    role = value.get("role", value.get("from"))
    said = value.get("content", value.get("parts", value.get("value")))
    if isinstance(role, str) and said is not None:
        yield Utterance(_speaker(role), "\n\n".join(_texts(said)))
        return
    for name in ("system", "messages", "input", "contents", "conversations"):
        if isinstance(value.get(name), (list, dict)):
            yield from _messages(value[name])


def _texts(said: Any) -> Iterator[str]:
    if isinstance(said, str):
        yield said
    elif isinstance(said, list):
        for each in said:
            yield from _texts(each)
    elif isinstance(said, dict) and isinstance(said.get("text"), str):
        yield said["text"]


def _speaker(role: str) -> TurnSide:
    return "user" if role.casefold() in {"user", "human"} else "other"


class _Reader:
    """Reads the lines of one text, or of what one message says."""

    def __init__(self) -> None:
        self._found: list[Paragraph] = []
        self._tags: list[str] = []
        self._asks = False
        self._section = False
        self._speaker: TurnSide = ""
        self._turn: list[TurnSide] = []

    def read(self, lines: Sequence[str]) -> list[Paragraph]:
        """Return the paragraphs."""
        fences = [place for place, line in enumerate(lines) if _FENCE.match(line)]
        opened = {*fences[: len(fences) // 2 * 2]}  # one that is never closed holds nothing
        diff = fenced = False
        fresh = True
        for place, line in enumerate(lines):
            if _FENCE.match(line):
                fenced, fresh = fenced ^ (place in opened), True
                continue
            if not line.strip():
                fresh = True
                continue
            if fenced:
                self._add(line, code=True, fresh=fresh)
                fresh = False
                continue
            diff = bool(_DIFF.match(line)) or (diff and (line[0] in " +-\\@" or bool(_TRACE.match(line))))
            if diff:
                self._add(line, code=True, fresh=fresh)
                fresh = False
                continue
            if self._tag(line):
                fresh = True
                continue
            if (label := self._label(line)) is not None:
                fresh = not label
                if label:
                    self._add(label, code=False, fresh=True)
                continue
            alone = not any(0 <= other < len(lines) and lines[other].strip() for other in (place - 1, place + 1))
            goes_on = not fresh and self._found[-1].code and self._found[-1].lines[-1].rstrip().endswith(_OPEN_ENDS)
            self._add(line, code=goes_on or _is_code(line) or (not alone and _is_data(line)), fresh=fresh)
            fresh = False
        return self._settled()

    def _tag(self, line: str) -> bool:
        """Note a tag that stands on a line of its own."""
        if (field_ := _FIELD.match(line)) is not None:
            self._add(field_["said"], code=False, fresh=True)
            self._found[-1].asked = bool(_ASKING_TAG.match(field_["name"]))
            self._found[-1].elsewhere = not self._found[-1].asked
            return True
        match = _TAG.match(line)
        if match is None:
            return False
        name = match["name"].casefold()
        if not match["closes"]:
            self._tags.append(name)
        elif name in self._tags:
            while self._tags and self._tags.pop() != name:
                pass
        return True

    def _label(self, line: str) -> str | None:
        """Note a speaker's name or a heading; return what is said behind it on the line, None when there is none."""
        role = _ROLE.match(line)
        if role is not None:
            self._speaker = "user" if _SPEAKS.match(role["name"]) else ""
            self._asks, self._section = True, False
            return self._said(line[role.end() :])
        other = _OTHER_ROLE.match(line)
        if other is not None:
            self._speaker = "other"
            self._asks = self._section = False
            return self._said(line[other.end() :])
        if _HEADING.match(line) and not _ITEM.match(line) and not _is_code(line.lstrip("# ")):
            self._asks, self._section = False, self._section or line.lstrip().startswith("#")
            self._add(line.strip(" #*"), code=False, fresh=True)
            self._found[-1].heading = True
            return ""
        return None

    def _said(self, text: str) -> str:
        return _CLOSING_TAG.sub("", text).strip()

    def _add(self, line: str, *, code: bool, fresh: bool) -> None:
        item = not code and bool(_ITEM.match(line))
        said = _CLOSING_TAG.sub("", line).strip() if not code else line
        last = self._found[-1] if self._found else None
        details = item and last is not None and not last.heading  # of what stands right above
        begins = fresh or last is None or last.code != code or (last.listed != item and not details)
        if begins or last is None:
            inside = bool(self._tags)
            asking = inside and any(_ASKING_TAG.match(name) for name in self._tags)
            last = Paragraph(code=code, listed=item, asked=self._asks or asking)
            last.elsewhere, last.section = inside and not asking, self._section
            self._found.append(last)
            self._turn.append(self._speaker)
            if not code:
                self._asks = False
        if said.strip():
            last.lines.append(said)

    def _settled(self) -> list[Paragraph]:
        """Return the paragraphs, those that a user said last marked, unless somebody has answered."""
        turns, found = self._turn, self._found
        last = max((place for place, speaker in enumerate(turns) if speaker == "user"), default=-1)
        answered = "other" in turns[last + 1 :]
        begun = last
        while begun > 0 and turns[begun - 1] == "user":
            begun -= 1
        for place, each in enumerate(found):
            if turns[place] == "user":
                now = not answered and place >= begun
                each.said = now
                each.asked = each.asked and now
                each.elsewhere = each.elsewhere or not now
            elif turns[place] == "other" and (place < len(found) - 1 or _began(turns, place)):
                each.elsewhere = True
        if any(each.asked for each in found):
            for each in found:
                each.elsewhere = each.elsewhere or (each.section and not each.asked)
        return [each for each in found if each.lines]


def _began(turns: Sequence[TurnSide], place: int) -> bool:
    return place == 0 or turns[place - 1] != turns[place]


def _is_code(line: str) -> bool:
    """Return whether a line is code, part of a trace or of a log, or of a table."""
    if len(line) > 12 and len(_SIGN.findall(line)) > _MANY_SIGNS * len(line):
        return True
    if len(line) > _LONGEST_LINE:
        return False
    return bool(_TRACE.match(line) or _CODE.match(line) or _ERROR.match(line))


def _is_data(line: str) -> bool:
    """Return whether a line beside others is a row of data: a name and a value, cells, or hardly a plain word."""
    if len(line) > _LONGEST_LINE:
        return False
    if _DATA.match(line):
        return True
    tokens = line.split()
    plain = sum(bool(_PLAIN.match(token)) for token in tokens)
    return len(tokens) >= _LEAST_TOKENS and plain < _FEW_PLAIN * len(tokens)
