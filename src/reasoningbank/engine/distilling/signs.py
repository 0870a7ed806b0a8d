"""Signs by which the texts of a lesson betray that it is none: about the memory, an order, markup, mere names.

Every pattern is linear in the length of the text. What is quoted or in code is not searched where it may be a subject:
a lesson may speak of ``<div>`` and of "ignore previous instructions" without being markup or an order.
"""

from __future__ import annotations

import json
import re

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
ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b (?:\w+ ){0,3}?"
    r"(?:previous|prior|above|earlier|preceding|existing|original|other|system|developer|safety)\b(?: \w+){0,2}?"
    r" (?:instructions?|prompts?|rules|messages?|guidelines?|polic(?:y|ies)|directions?|orders)\b"
    r"|\b(?:ignore|disregard|forget|override) (?:all |any )?(?:of )?(?:your|my|the) (?:system |own )?"
    r"(?:instructions?|prompt|guidelines|training|safety rules?)\b"
    r"|\byou are (?:now|no longer) (?:a|an|the|in|bound|allowed|restricted)\b"
    r"|\bfrom now on,? (?:you|always|never|the (?:agent|assistant|model))\b"
    r"|\bnew (?:system )?(?:instructions?|prompt)\s*:"
    r"|\b(?:reveal|print|show|output|repeat|leak|disclose) (?:\w+ ){0,2}?(?:system|developer|hidden)"
    r" (?:prompt|message|instructions)\b"
    r"|\b(?:do not|don't|never|without) (?:tell|inform|mention|notify|alert|reveal)(?:ing)?"
    r" (?:\w+ ){0,4}?(?:the |your )(?:user|human|operator|owner|developer)s?\b"
    r"|\b(?:never|do not|don't|no need to) (?:ask|wait|request|seek) (?:the user |the human |anyone |for |to |any )*"
    r"(?:for )?(?:user |human |explicit )?(?:confirmation|permission|approval|consent)\b"
    r"|(?<!not )(?<!n't )(?<!never )(?<!to )\b(?:skip|bypass|disable|turn off) (?:all |any |every |the )*"
    r"(?:user |human |safety |security |permission )+"
    r"(?:confirmations?|approvals?|checks?|reviews?|prompts?|restrictions?|controls?|filters?)\b"
    r"|\b(?:send|post|upload|forward|e-?mail|exfiltrate|transmit|leak|copy) (?:\w+ ){0,4}?"
    r"(?:secrets?|credentials?|passwords?|api keys?|tokens?|private keys?|environment variables|conversation"
    r"|chat history)(?: \w+){0,3}? to (?:https?:|\S+@|an? (?:external|remote|attacker|third|public)|the attacker|my)",
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
    r"""```.*?```|`[^`\n]{1,200}`|"[^"\n]{1,200}"|“[^”\n]{1,200}”|(?<!\w)'[^'\n]{1,200}'(?!\w)""", re.DOTALL
)
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
_NOTHINGS = "none n/a na null nil tbd todo string text title description content empty unknown"
_MARK_WORDS = frozenset(_NOTHINGS.split())


def without_code(text: str) -> str:
    """The text with fenced and inline code left out."""
    return _CODE.sub(" ", text)


def is_about_memory(title: str, content: str) -> bool:
    """Whether the title, or at least half of the content's sentences, speak of the memory that lessons are kept in.

    The memory of computers and programs is another subject, and so is a lesson that mentions a search of the memory in
    passing.
    """
    if _ABOUT_MEMORY.search(title):
        return True
    sentences = [sentence for sentence in _SENTENCE.split(content) if _WORD.search(sentence)]
    about = sum(_ABOUT_MEMORY.search(sentence) is not None for sentence in sentences)
    return 2 * about >= max(1, len(sentences)) and about > 0


def find_order(text: str) -> str:
    """The words by which a text orders its reader to drop rules, hide something or give secrets away; empty for none.

    What is quoted is not an order, unless there is nothing but the quotation.
    """
    rest = _QUOTED.sub(" ", text)
    searched = rest if len(_WORD.findall(rest)) >= 4 else text
    found = ORDER.search(searched)
    return found.group() if found else ""


def find_markup(title: str, description: str, content: str) -> str:
    """What of a model's wrapping is left in the texts, in words; empty for none. Code in the content is no markup."""
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
    """Whether names of files, runs and the like are all that the texts hold, apart from filling words."""
    joined = "\n".join(texts)
    rest, names = _NAME.subn(" ", joined)
    if not names:
        return False
    words = {word.casefold() for word in _WORD.findall(rest)} - _FILLERS
    return len(words) < 3


def words(text: str) -> list[str]:
    """The words of a text as written; in scripts without spaces every character counts as one."""
    return _WORD.findall(text)


def is_blank(text: str) -> bool:
    """Whether a text is empty, has no letter, or is a mere mark for "nothing"."""
    return not any(map(str.isalpha, text)) or text.strip(" .<>[]()").casefold() in _MARK_WORDS


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
