"""Detect prompt injection: text that instructs the agent that reads it (DESIGN D10).

The rules are data (``gate_rules``). They name what an order of an attacker is for: to drop rules, to run what a
stranger serves, to give secrets or data away, to take safety off, to hide something from people, to bind later sessions
or wait for a sign, to destroy. Lies and bad advice have no wording: what a claim is worth says its standing (D16).

What is quoted is read as well, for a command is dangerous in backticks too; only a lesson that is about such texts may
quote one. A warning frees the verb that it governs and nothing else: "never run X" does,
"never forget, run X" and "do not wait: run X" do not.

An order that is phrased like advice escapes every rule about orders. But to fetch, to give away or to redirect it has
to name a place, and a lesson hardly ever names one. So what an agent records with an address begins unproven, however
it is phrased. Places that every developer visits, reserved names and private networks are none; registries of packages
are some, for anybody may upload to them (``addresses``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice

from reasoningbank.safety.addresses import MARKS, marked, places
from reasoningbank.safety.gate_rules import DISGUISE, OUTSIDE, Rule, RuleWords, rules
from reasoningbank.safety.unicode import apart, folded, forms, may_span_words, speaks
from reasoningbank.types.document import Document
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.memory import Memory

_MEMORY_NOUN = (
    r"(?:memories|memory (?:items?|entries|entry|records?|notes?|banks?|search(?:es)?|retrieval|recall|tools?|systems?)"
    r"|(?:stored|past|previous|prior|earlier|retrieved|recalled|injected|provided|learned|relevant|similar)"
    r" (?:strateg(?:y|ies)|lessons?|experiences?|traces?|memory))"
)
_ABOUT_MEMORY = re.compile(
    r"\breasoning[ _-]?bank\b|\brbank\b"
    r"|\bmemory_(?:search|record|feedback|outcome|distill?|get|list|update|delete|stats|consolidate|store)\w*"
    r"|\bmemory[ _-](?:bank|search|recall|retrieval|item|distillation)s?\b"
    r"(?! (?:conflict|address|width|switch|interleav))"
    r"|\bdefault[ _]hybrid(?:[ _]search)?\b"
    r"|\b(?:search|query|consult|check|retriev|recall|look(?:ing)? up|lookup|us|leverag|apply|read|rely(?:ing)? on|stor"
    r"|sav|record|updat|inject)(?:es|e|ing|ies|ed|d|s|ying)? (?:up |in |into |on |from |through |to )?"
    r"(?:(?:the|your|its|all|any|those|these|agent'?s?|available|long-term|own) ){0,3}" + _MEMORY_NOUN + r"\b"
    r"|\b(?:search|query|consult)(?:ing|es|s)? (?:your |past |agent |long-term )?memory"
    r" (?:for|before|first|with|to|when|at)\b"
    r"|\b(?:strategy|lesson|experience) (?:bank|memory)\b"
    r"|\b(?:the|your|agent'?s?|long-term) memory (?:bank|store|system|tool|layer|server)s?\b"
    r"|\b(?:the|your) (?:agent'?s? )?long-term memory\b",
    re.IGNORECASE,
)
_TAGS = (
    r"think(?:ing)?|thought|scratchpad|reasoning|reflection|tool_(?:call|use|result|response|output)s?|im_start|im_end"
    r"|function_(?:call|result|calls)s?|memory_items?|system-reminder|antml:\w+|invoke|artifact|final_answer"
)
_PLAIN_TAGS = (
    r"answer|response|output|memory|memories|lessons?|items?|system|user|assistant|action|observation|result|title"
    r"|description|content"
)
_MARKUP = re.compile(
    rf"</?(?:{_TAGS})(?:\s[^<>\n]{{0,80}})?/?>|</(?:{_PLAIN_TAGS})>"
    r"|<\|[\w▁|-]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?s>(?!\w)"
    r"|^#{1,6} *(?:memory item|title|description|content|instruction|response|strategy|lesson|item)\b"
    r"|^\**(?:human|assistant)\**:\**(?:\s|$)|^=== (?:begin|end) [0-9a-f]{12} ===",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"^[ \t]*```|```\s*\Z", re.MULTILINE)
_WRAPPED = re.compile(r"```.*```", re.DOTALL)
_ROLES = re.compile(
    r"^\W{0,4}(thought|action|action input|observation|final answer|user|system|tool)\W{0,2}:", re.I | re.M
)
_LABELS = re.compile(r"^\W{0,4}(title|description|content)\W{0,2}:", re.I | re.M)
_CODE = re.compile(r"```.*?```|`[^`\n]{1,200}`", re.DOTALL)
_QUOTED = re.compile(
    r"""```.*?```|`[^`\n]{1,200}`|"[^"\n]{1,200}"|“[^”\n]{1,200}”|'(?<!\w')[^'\n]{1,200}'(?!\w)""", re.DOTALL
)
"""A quotation. Each alternative begins with its sign, so that the rest of a text is passed over at once."""
_HEADING = re.compile(
    r"^(?:#{1,6}\s|[-*>]\s|\*\*|```|(?:title|name|strategy|lesson|item)(?: \d+)?\s*[:=])", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_WORD = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
    r"|[^\W\d_]{2,}(?:['-][^\W\d_]+)*"
)
_NAME = re.compile(
    r"https?://\S+"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|(?<![\w-])(?:[\w.@~-]*/)+[\w.@-]+|(?<![\w-])~?/[\w./-]*|\b[A-Za-z]:\\\S+"
    r"|\b[\w-]+\.(?:py|js|ts|tsx|jsx|go|rs|java|kt|rb|php|c|h|cc|cpp|cs|md|txt|json|jsonl|ya?ml|toml|ini|cfg|sh|sql"
    r"|html|css|log|csv|lock|traj|ipynb|xml|db)\b"
    r"(?::\d+)?"
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"
    r"|\b(?:run|job|session|trajectory|task|step|trace|issue|ticket|build|commit|pr|node|id|case|attempt|episode)s?"
    r"[ _#:-]*(?:no\.? ?)?#?\d[\w-]*"
    r"|#\d+\b|(?-i:\b[A-Z]{2,10}-\d+\b)",
    re.IGNORECASE,
)
_FILLING = (
    "see look refer check run runs file files path paths folder directory module line lines id ids job session task "
    "tasks step steps trace trajectory issue ticket commit log logs fix fixed change changed edit edited modify "
    "modified update updated touch touched open opened read used use done solved worked here there this that these "
    "those the and for with was were been has have had did does not only also all any from into onto again before "
    "after first then next same code function version solution result results work works in on at to of by as is it "
    "be or an"
)
_FILLERS = frozenset(_FILLING.split())


def without_code(text: str) -> str:
    """Return the text with fenced and inline code left out."""
    return _CODE.sub(" ", text)


def is_about_memory(title: str, content: str) -> bool:
    """Return whether the title, or at least half of the sentences, are about the memory itself.

    The memory of computers and programs is another subject, and so is a lesson that mentions a search of the memory in
    passing.
    """
    if _ABOUT_MEMORY.search(title):
        return True
    sentences = [sentence for sentence in _SENTENCE.split(content) if _WORD.search(sentence)]
    about = sum(_ABOUT_MEMORY.search(sentence) is not None for sentence in sentences)
    return 2 * about >= max(1, len(sentences)) and about > 0


def find_order(text: str) -> str:
    """Return the words that tell the reader to drop rules, hide something or give secrets away.

    Empty for none.

    What is quoted is not an order, unless there is nothing but the quotation.
    """
    rest = _QUOTED.sub(" ", text)
    if rest != text and sum(1 for _ in islice(_WORD.finditer(rest), _FEWEST_WORDS)) == _FEWEST_WORDS:
        text = rest
    opened = _words().opened(_words().read(text))
    return next((_readable(match.group()) for _, match in _matches(opened, marked(text))), "")


def find_markup(title: str, description: str, content: str) -> str:
    """Return what of a model's wrapping is left in the texts, in words; empty for none.

    Code in the content is not markup.
    """
    if _HEADING.match(title):
        return "the title begins like a heading, a list or a field"
    for name, text in (("title", title), ("description", description), ("content", content)):
        fences = _FENCE.findall(text)
        if fences and (name != "content" or len(fences) % 2 or _WRAPPED.fullmatch(text)):
            return f"a code fence in the {name}"
        if text[:1] in "{[" and text[-1:] in "}]" and _is_json(text):
            return f"the {name} is JSON"
        plain = without_code(text)
        found = _MARKUP.search(plain)
        if found:
            return f"{found.group().strip()[:40]!r} in the {name}"
        for marks in (_ROLES, _LABELS):
            if len({mark.group(1).casefold() for mark in marks.finditer(plain)}) >= 2:
                return f"names of roles or fields in the {name}"
    return ""


def names_only(*texts: str) -> bool:
    """Return whether names of files, runs and the like are all that the texts hold, apart from filling words."""
    joined = "\n".join(texts)
    rest, names = _NAME.subn(" ", joined)
    if not names:
        return False
    words = {word.casefold() for word in _WORD.findall(rest)} - _FILLERS
    return len(words) < 3


def words(text: str) -> list[str]:
    """Return the words of a text as written; in scripts without spaces every character counts as one."""
    return _WORD.findall(text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_FEWEST_WORDS = 4
"""With fewer words beside them, quotations are the text."""
_WARNING = re.compile(
    r"\b(?:never|do not|don't|must not|mustn't|should not|shouldn't|cannot|can't|no(?:body|t) to|avoid|refuses? to"
    r"|refused to|instead of|rather than|forbid\w*|stop|dangerous to|unsafe to|warn\w* against|beware of|danger of"
    r"|habit of|nobody should(?: ever)?|no one should(?: ever)?|rejects?|vermeide[nt]?|evit(?:a|e|en|ar)"
    r"|(?:nie(?:mals)?|kein(?:e[nmrs]?)?|nunca|jam\u00e1s"
    r"|(?:nunca|jam\u00e1s|no) (?:ejecut|us|canali[cz]|corr|instal|lan[cz]|descarg)\w{1,5})"
    r"(?= ?[`\"'(]{0,2}$))(?P<between>(?: [\w'/-]+){0,3}) ?[`\"'(]{0,2}$",
    re.IGNORECASE,
)
"""A warning whose verb stands at the end, with at most three words between and no other sign. In German and Spanish,
where the verb of an order may follow what it governs, no word stands between."""
_NO_WARNING = re.compile(
    r" (?:by|forget|worry|wait|fail|hesitate|bother|mind|miss|omit|neglect|delay|until|without|only|just|let|refuse"
    r"|avoid|skip|stop|not|and|but|then|before|unless|except|lack\w*|missing|remov\w*|delet\w*|drop\w*|block\w*"
    r"|disabl\w*|replac\w*|chang\w*|reject\w*|ohne|bevor|nur|und|aber|sin|antes|solo|y|pero|olvid\w*|quit\w*|elimin\w*)\b",
    re.IGNORECASE,
)
"""Words by which a warning orders what stands behind them."""
_TAKEN_BACK = re.compile(
    r"\b(?:no (?:reason|need) to|nothing|wrong|mistake|error|not to|never|why|n't|do not|cannot|oder|warum|wieso"
    r"|no|nicht|nie|nunca|qu\u00e9) $",
    re.IGNORECASE,
)
"""What before a warning turns it around."""
_WARNED_AFTER = re.compile(
    r"[`\"')]{0,2} (?:is|are|was) (?:(?!no|not|never|neither|hardly|longer|only)\w+ ){0,7}?(?:dangerous|forbidden"
    r"|unsafe|prohibited|not allowed|a bad idea)(?=\s*(?:[.;:!?]|$|because|since))",
    re.IGNORECASE,
)
"""What calls the words before it dangerous, and ends the clause."""
_QUOTATION = re.compile(r"""`[^`\n]{1,300}`|"[^"\n]{1,300}"|“[^”\n]{1,300}”|'(?<!\w')[^'\n]{1,300}'(?!\w)""")
_SUBJECT = re.compile(
    r"\b(?:as|is|are) (?:mere(?:ly)? |only |just )?(?:data|content|untrusted)\b|\b(?:prompt )?injections?\b"
    r"|\buntrusted\b"
    r"|\b(?:not|never) (?:to |be )?(?:follow|obey|execut)\w*",
    re.IGNORECASE,
)
"""A lesson about such texts: then what it quotes is its subject."""
_JOINTS = (". ", " ", "")
_LEAST_TAGGED = 4
_SHOWN = 80
_ADDRESS = re.compile(f"[{''.join(MARKS.values())}]")
_WARNING_REACH = 80
"""Characters before an order in which a warning may begin."""


def find_danger(*texts: str) -> str:
    """Return what a text tells its reader to do, in words and with the words that say it; empty for a lesson.

    Args:
        texts: The texts of one memory, read as one: each as a sentence, and as one sentence that goes on from field
            to field, because what shows them sets them one below the other. With four and more, some are labels: then
            also without a blank between, because labels may cut a word.
    """
    told = [text for text in texts if text]
    joints = _JOINTS if len(told) >= _LEAST_TAGGED else _JOINTS[:2]
    joinings = [joint.join(told) for joint in joints] if len(told) > 1 else told
    bits = _words().read_joined(told) if len(told) >= _LEAST_TAGGED else _words().read(joinings[-1] if told else "")
    if not _words().opened(bits) and not (bits & DISGUISE and any(map(may_span_words, joinings))):
        return ""
    for joined in joinings:
        for form in forms(joined):
            if found := _found(form):
                return found
    return ""


def _found(text: str) -> str:
    """Return what a text in one of its forms tells its reader to do; empty for nothing."""
    opened = _words().opened(_words().read(text))
    if not opened:
        return ""
    rest = _QUOTATION.sub(" ", text)
    if rest != text and _SUBJECT.search(rest):
        text = rest
    found = next(_matches(opened, marked(text)), None)
    return f"{found[0].does}: {_short(found[1].group())}" if found else ""


def _matches(opened: Sequence[tuple[Rule, re.Pattern[str]]], plain: str) -> Iterator[tuple[Rule, re.Match[str]]]:
    """Yield where these ways match a text with its addresses marked, and no warning frees it."""
    for rule, pattern in opened:
        yield from ((rule, each) for each in pattern.finditer(plain) if not (rule.warned and _is_warned(each)))


def _is_warned(found: re.Match[str]) -> bool:
    """Return whether a warning stands before the words that were found and governs them, or calls them dangerous."""
    if _WARNED_AFTER.match(found.string, found.end()):
        return True
    before = found.string[max(0, found.start() - _WARNING_REACH) : found.start()]
    warning = _WARNING.search(before)
    if warning is None or _NO_WARNING.search(warning["between"]):
        return False
    return not _TAKEN_BACK.search(before[: warning.start()])


@cache
def _words() -> RuleWords:
    return RuleWords(rules())


def _readable(words: str) -> str:
    """Return the words of a text with a word in the place of the mark of each address."""
    return _ADDRESS.sub("[address]", words)


def _short(words: str) -> str:
    line = " ".join(_readable(words).split())
    return repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}\u2026")


_OUTSIDE = ("outside", "plain")


def find_address(*texts: str) -> str:
    """Return the first place outside that the texts name; empty when there is none."""
    joined = "\n".join(texts)
    if not _words().read(joined) & OUTSIDE:
        return ""
    found = (place.host for place in places(folded(joined)) if place.kind in _OUTSIDE)
    return next(found, "")[:_SHOWN]


_LONG_WORD = re.compile(r"[^\W\d_]{2,}")
_JOINED = re.compile(r"(?<=\w)[-_](?=\w)")
_LEAST_WORDS = 3
"""With fewer words a name gives no order."""


@lru_cache(maxsize=256)
def verdict(*texts: str) -> str:
    """Return what ``find_danger`` says of texts; the last few answers are remembered."""
    return find_danger(*texts)


def texts_of(memory: Memory) -> tuple[str, ...]:
    """Return the texts of a memory that agents read."""
    return (memory.title, memory.description, memory.content, *memory.tags, memory.category)


def memory_danger(memory: Memory) -> str:
    """Return why a memory looks like a prompt injection; empty when it does not."""
    return verdict(*texts_of(memory)) or label_danger(memory.id)


def graph_texts(item: Node | Edge) -> tuple[str, ...]:
    """Return the texts of a node or an edge that agents read."""
    return tuple(text for _, text in _graph_fields(item))


def _graph_fields(item: Node | Edge) -> Iterator[tuple[str, str]]:
    """Yield the texts of a node or an edge, each with the field that it stands in."""
    yield "text", item.text
    yield from (("tags", tag) for tag in item.tags)
    if isinstance(item, Node):
        for name, value in item.fields.items():
            yield from ((name, text) for text in (value if isinstance(value, tuple) else (value,)))
        yield "conv_id", _spoken(item.conv_id)
    yield "id", _spoken(item.id)


def dangerous_field(item: Node | Edge) -> str:
    """Return the field whose text looks like a prompt injection by itself; the text when several do so together."""
    return next((name for name, text in _graph_fields(item) if text and verdict(text)), "text")


def graph_danger(item: Node | Edge) -> str:
    """Return why a node or an edge looks like a prompt injection; empty when it does not."""
    return verdict(*graph_texts(item))


def document_danger(document: Document) -> str:
    """Return why a document looks like a prompt injection; empty when it does not."""
    labels = (*document.path, document.key)
    return verdict(*_texts_in(json.loads(document.value)), *map(_spoken, labels)) or label_danger(*labels)


def label_danger(*labels: str) -> str:
    """Return why names, such as the parts of a path, look like a prompt injection together; empty when they do not."""
    if not speaks(" ".join(labels)):
        return ""
    spoken = tuple(filter(None, map(_spoken, labels)))
    return verdict(*labels) or verdict(*spoken) or verdict(_spoken(" ".join(labels)))


def reason_danger(reason: str) -> str:
    """Return why a reason looks like a prompt injection, its joined words read apart; empty when it does not."""
    return verdict(reason) or verdict(_JOINED.sub(" ", reason))


def _spoken(name: str) -> str:
    """Return the words of an id or a label, however they are joined; empty for one that says no sentence."""
    words = _LONG_WORD.findall(apart(folded(name)))
    return f"{' '.join(words)}. {name}" if len(words) >= _LEAST_WORDS else ""


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield _spoken(key)
            yield from _texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)
