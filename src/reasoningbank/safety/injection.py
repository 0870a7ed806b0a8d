"""Detect prompt injection: text that gives orders to the agent that reads it (DESIGN D10).

A rule is tried where the words that each of its matches holds are in the text: ``sieve``.

Every pattern is linear in the length of the text. What is quoted or in code is not searched where it may be a subject:
a lesson may speak of ``<div>`` and of "ignore previous instructions" without being markup or an order.

The rules name what an order of an attacker is for: to run what a stranger serves, to give secrets or data away, to take
safety off, to hide something from people, to bind later sessions or wait for a sign, to destroy. A lesson that warns of
such a thing is none: what stands behind "never", "do not" or "avoid" in the same clause is a warning.

Every pattern looks a bounded way ahead. What is in quotation marks or code is read as well, other than by
``find_order``: a command is dangerous in backticks too. Only a lesson that is about such texts may quote them.

An order that is phrased like advice escapes every rule about orders. But to fetch, to give away or to redirect it has
to name a place, and a lesson hardly ever names one. So what an agent records with an address begins unproven, however
it is phrased. Places that every developer visits, reserved names and private networks are none; registries of packages
are some, for anybody may upload to them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice

from reasoningbank.safety.sieve import Reading, Sieve, Stretch
from reasoningbank.safety.unicode import apart, folded, forms, speaks
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
_NOTHINGS = "none n/a na null nil tbd todo string text title description content empty unknown"
_MARK_WORDS = frozenset(_NOTHINGS.split())


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
    """Return the words by which a text orders its reader to drop rules, hide something or give secrets away.

    Empty for none.

    What is quoted is not an order, unless there is nothing but the quotation.
    """
    reading = sieve().read(text)
    return _order(reading, sieve().near(reading, [_ORDER_NUMBER]).get(_ORDER_NUMBER, []))


def find_markup(title: str, description: str, content: str) -> str:
    """Return what of a model's wrapping is left in the texts, in words; empty for none.

    Code in the content is no markup.
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


def is_blank(text: str) -> bool:
    """Return whether a text is empty, has no letter, or is a mere mark for "nothing"."""
    return not any(map(str.isalpha, text)) or text.strip(" .<>[]()").casefold() in _MARK_WORDS


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_URL = r"(?:https?://|ftp://|www\.|\b(?:\d{1,3}\.){3}\d{1,3}\b|\b[\w.-]{2,60}@[\w-]{1,60}\.[a-z]{2,12}|\bgit@)"
_FETCH = r"(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|urlopen|requests\.get|http get)"
_SHELL = r"(?:(?:/(?:usr/)?bin/)?(?:ba|z|da|k|fi)?sh|bash|python[23]?|perl|ruby|node|php|iex|powershell|pwsh|sudo)"
_STRANGER = (
    rf"(?:{_URL}|\b(?:external|remote|outside|third[- ]party|collector|webhook|pastebin|gist|telegram|discord|slack"
    r"|ngrok|requestbin|mirror|attacker|pastes?)\b|\b[\w-]{2,60}\.(?:example|com|net|org|io|dev|ru|cn|xyz|app"
    r"|site|top)\b)"
)
_PRECIOUS = (
    r"(?:\.env\b|env(?:ironment)? (?:file|var\w*)|environment\b|credentials?|api[ _-]?keys?|access[ _-]?keys?|tokens?"
    r"|passwords?|secrets?|private[ _-]?keys?|ssh[ _-]?keys?|id_rsa|id_ed25519|\.ssh\b|\.aws\b|\.netrc\b|cookies?"
    r"|conversations?|chat (?:log|history)|transcripts?|source (?:code|files?)|open files?|customer (?:data|list"
    r"|records)"
    r"|system prompt|repository'?s? (?:secrets|contents?))"
)
_GIVE = (
    r"(?:send|post|upload|forward|e-?mail|mail|copy|transmit|share|exfiltrate|leak|report|append|attach|paste"
    r"|commit|push"
    r"|sync|submit|deliver|publish|pipe|write|include|disclose|reveal|print|add)(?:s|ed|ing)?"
)
_SAFETY = (
    r"(?:security|safety|permissions?|approvals?|confirmations?|authentication|authori[sz]ation|signatures?"
    r"|certificates?"
    r"|tls|ssl|sandbox(?:ing)?|audit(?:s|ing)?|guard ?rails?|firewall|antivirus|malware|virus|2fa|mfa|secret scanning"
    r"|code reviews?|content filters?|access controls?)"
)
_OFF = (
    r"(?:disable|deactivate|turn off|switch off|skip|bypass|circumvent|suppress|remove|override|ignore|drop|take off)"
)
_COMMANDED = r"(?:^|[.;:!?,(\n]\s*|\b(?:always|must|should|shall|please|then|first|and|to|you|instead)\s+)"
_AGENT = r"(?:ai|artificial intelligence|llms?|language models?|coding agents?|agents?|assistants?|chat ?bots?|models?)"
_SIGN = (
    r"(?:code ?word|trigger (?:word|phrase)|magic (?:word|phrase)|pass ?phrase is|activation (?:word|phrase|code)"
    r"|secret (?:word|phrase)|wake word|kill word)"
)

_RULES: tuple[tuple[str, str], ...] = (
    ("runs what a stranger serves", rf"\b{_FETCH}\b[^\n]{{0,200}}?\|\s*(?:sudo\s+(?:-\S+\s+)?)?{_SHELL}\b"),
    (
        "runs what a stranger serves",
        rf"\b(?:{_SHELL}\s+-c|eval|source|exec|\.)\s*[\"'(]*\s*(?:\$\(|`|<\()\s*{_FETCH}\b|<\(\s*{_FETCH}\b",
    ),
    ("runs what a stranger serves", rf"\b(?:exec|eval|os\.system|popen|subprocess\.\w+)\s*\([^\n]{{0,120}}?{_FETCH}\b"),
    ("runs what a stranger serves", rf"\b{_FETCH}\b[^\n]{{0,200}}?(?:&&|;)\s*(?:chmod \+?\w+ |sudo |{_SHELL} |\./)"),
    (
        "runs what a stranger serves",
        rf"\b(?:fetch|download|pull|load|get|read|open|visit|retrieve"
        rf"|install)\b[^\n.]{{0,80}}?{_STRANGER}[^\n]{{0,100}}?"
        r"\b(?:and|then|,)\s+(?:always |then |immediately )?(?:run|execute|eval\w*|launch|start|follow|obey"
        r"|apply|do|trust)\b",
    ),
    (
        "runs what a stranger serves",
        rf"\b(?:run|execute|launch|eval|install|source)\b[^\n.]{{0,60}}?(?:https?://|ftp://)\S+|"
        rf"\bpipe\b[^\n.]{{0,80}}?{_STRANGER}[^\n.]{{0,80}}?\b(?:shell|{_SHELL})\b|"
        r"\bbase64\b[^\n]{0,60}?\|\s*(?:sudo\s+)?(?:ba|z)?sh\b|\bdecode\b[^\n]{0,120}?\b(?:execute|run|eval"
        r"|follow|obey)\b",
    ),
    (
        "obeys a stranger",
        rf"\b(?:follow|obey|execute|treat|trust|accept|do)\b[^\n.]{{0,60}}?(?:instructions?|orders?|commands?"
        rf"|prompts?|says)\b"
        rf"[^\n.]{{0,60}}?{_STRANGER}|{_STRANGER}\S*[^\n]{{0,60}}?\bas (?:the |your |a )?(?:system prompt"
        rf"|instructions?|authority)\b|"
        rf"\bdo (?:exactly |just )?(?:what|whatever|as)\b[^\n.]{{0,40}}?{_STRANGER}",
    ),
    (
        "installs from a stranger",
        r"\b(?:pip|pip3|uv|npm|yarn|pnpm|gem|cargo|go|poetry|conda|apt|brew|choco)\b[^\n]{0,120}?"
        r"(?:--(?:extra-)?index-url|--registry|--trusted-host|--source)[= ]\s*(?:http://|\S*\d{1,3}(?:\.\d{1,3}){3})|"
        r"\b(?:registry|index|mirror|repository|update server|package source|dependency)\b[^\n.]{0,60}?"
        r"\b(?:to|by|from|at|with)\s+http://",
    ),
    (
        "gives secrets or data away",
        rf"\b{_GIVE}\b[^\n.;]{{0,80}}?{_PRECIOUS}[^\n;]{{0,80}}?\b(?:to|into|at|with|via|on|there"
        rf"|through)\b[^\n;]{{0,40}}?{_STRANGER}|"
        rf"\b{_GIVE}\b[^\n.;]{{0,30}}?\b(?:to|into|at|via|on)\b[^\n.;]{{0,30}}?{_STRANGER}[^\n;]{{0,80}}?{_PRECIOUS}|"
        rf"{_STRANGER}[^\n]{{0,80}}?\b{_GIVE}\b[^\n.;]{{0,60}}?{_PRECIOUS}[^\n.;]{{0,40}}?\b(?:there|to it|to them)\b",
    ),
    (
        "gives secrets or data away",
        r"(?:id_rsa|id_ed25519|\.aws/|\.ssh/|\.netrc|\.env\b|/etc/(?:passwd|shadow)|\bprintenv\b"
        r"|\$\(env\))[^\n]{0,100}?"
        r"(?:\||>|-d|--data|-F|-T|--upload-file|@)?\s*(?:\b(?:nc|ncat|curl|wget|scp|rsync|socat|telnet|openssl)\b)|"
        r"\b(?:curl|wget|nc|scp|rsync)\b[^\n]{0,120}?(?:id_rsa|id_ed25519|\.aws/|\.ssh/|\.netrc|\.env\b"
        r"|/etc/(?:passwd|shadow)"
        r"|\bprintenv\b|\$\w*(?:TOKEN|SECRET|KEY|PASSWORD))",
    ),
    (
        "opens a way in",
        r"/dev/tcp/|\bnc\b[^\n]{0,40}? -e\b|\bauthorized_keys\b|\bsudoers\b|\bNOPASSWD\b|\bbash -i\b|"
        r"\b(?:grant|give|add)\b[^\n.]{0,30}?\b(?:admin|root|owner|sudo|maintainer)\b[^\n.]{0,30}?\b(?:to"
        r"|for)\b[^\n.]{0,30}?"
        rf"{_STRANGER}|\b(?:backdoor|reverse shell|rootkit|keylogger)\b",
    ),
    (
        "takes safety off",
        rf"{_COMMANDED}{_OFF}\s+(?:all |any |every |the |its |their |your |this |that )*(?:\w+ ){{0,2}}?{_SAFETY}\b|"
        r"\bNODE_TLS_REJECT_UNAUTHORIZED\s*=\s*[\"']?0|\bGIT_SSL_NO_VERIFY\b|\bsslverify\s*[= ]\s*false|"
        r"\b(?:without|no need to) ask(?:ing)? (?:anyone|anybody|(?:the )?(?:user|owner|human|operator)|for"
        r" (?:confirmation|"
        r"permission|approval)|first)\b|\b(?:approve|merge|accept|grant|allow|delete|drop|pay|buy|purchase"
        r"|transfer|refund|"
        r"deploy|push|publish)\b[^\n.]{0,80}?\bwithout (?:a |any |further )?(?:review|approval|confirmation"
        r"|permission|asking|"
        r"checks?|checking|looking)\b",
    ),
    (
        "hides something from people",
        r"(?:do not|don't|never|must not|without|no need to|avoid)\s+(?:ever )?(?:tell|inform|mention|notif\w+"
        r"|alert|reveal"
        r"|disclos\w+|show|report)(?:ing)?\b[^\n.]{0,40}?\b(?:users?|humans?|operators?|owners?|reviewers?"
        r"|developers?"
        r"|anyone|anybody|people|this (?:rule|step|note|instruction|message))\b|"
        r"\b(?:silently|secretly|covertly|quietly|stealthily|unnoticed)\s+(?:\w+ ){0,2}?(?:run|send|upload|post"
        r"|execute|add"
        r"|append|copy|forward|install|replace|push|change|redirect|switch|transmit|commit|write)\b|"
        r"\b(?:nobody|no one|the user|users|people|humans) (?:has to|must not|should not|need not|needs? to not"
        r"|must never) "
        r"(?:know|see|learn|notice)\b|\b(?:keep (?:it|this|that) (?:between us|secret|quiet|hidden)|leave (?:it"
        r"|that|this) out "
        r"of the (?:summary|report|log))\b|\bhide (?:it|this|that|them|the \w+) from\b",
    ),
    (
        "binds its reader",
        rf"\b(?:note|notice|message|attention|instructions?|important)\b[^\n.]{{0,20}}? (?:to|for) (?:all |any "
        rf"|the )?{_AGENT}\b"
        rf"\s*[:,-]|\b(?:all|any|every|{_AGENT} and) {_AGENT}\b[^\n.]{{0,60}}?\b(?:must|shall|have to|has to|are"
        rf" required)\b|"
        rf"\b{_AGENT}\b (?:working|operating|running)\b[^\n.]{{0,60}}?\b(?:must|shall|have to)\b|"
        rf"\bas an? {_AGENT}\b[^\n.]{{0,20}}?\byou (?:must|shall|have to|are)\b|\brequires (?:you"
        rf"|{_AGENT})\b[^\n.]{{0,10}}? to\b|"
        r"\byou (?:must|shall|will|have to) (?:now |always |never )?(?:obey|comply|serve|report to|answer to)\b|"
        r"\byou are (?:now|no longer|henceforth|from now on)\b|\bfrom now on\b[^\n.]{0,20}?\b(?:you|always|never)\b|"
        r"\b(?:forget|disregard|ignore|override)\b[^\n.]{0,40}?\b(?:you were told|you have been told|you know"
        r"|your (?:rules|"
        r"guidelines|instructions|training|values|orders)|instructions|safety rules|the rules)\b|"
        r"\b(?:supersedes?|overrides?|takes? precedence over|replaces?)\b[^\n.]{0,30}?\b(?:your|the system|all"
        r"|previous|other)\b"
        r"[^\n.]{0,20}?\b(?:guidelines?|instructions?|prompts?|rules?|polic\w+)\b|"
        rf"\bover the user\b|\b(?:operator|owner|developer)s?\b[^\n.]{{0,20}}?\bpre-?approved\b",
    ),
    (
        "binds later sessions",
        r"\b(?:remember|memori[sz]e|store|save|keep|record|note)\b[^\n.]{0,20}?\b(?:this |that |it"
        r" )?(?:permanently|forever"
        r"|for all (?:future|later|coming)|in (?:your|long-term|the agent'?s) memory|for (?:all|every) (?:later"
        r"|future|coming|"
        r"next) (?:sessions?|tasks?|conversations?))|\bremember\s*:\s*(?:always|never|from|you|to)\b|"
        r"\bat the (?:start|beginning) of (?:every|each) (?:session|conversation"
        r"|task)\b[^\n.]{0,60}?(?:https?://|\bsend\b)",
    ),
    (
        "waits for a sign",
        rf"\b{_SIGN}\b|\buntil then\b[^\n.]{{0,20}}?\b(?:behave|act|work|do nothing|pretend|be)\b|"
        r"\b(?:behave|act|work) (?:as usual|normally)\b[^\n.]{0,10}?[,;]? (?:until|except|unless)|"
        r"\b(?:stay|remain|lie) (?:dormant|silent|inactive|hidden) (?:until|unless)\b|"
        r"\bwait (?:until|for)\b[^\n;]{0,60}?\b(?:is|are|gets?) (?:mentioned|said|typed|named|written)\b",
    ),
    (
        "deceives people",
        r"\b(?:report|claim|state|say|pretend|write|answer)\b(?: that)?[^\n.]{0,20}?\b(?:success|it passed|they"
        r" passed|all tests"
        r" passed|was reviewed|was tested)\b[^\n.]{0,30}?(?:although|even if|even though|regardless|anyway|whatever)"
        r"|\bmark (?:them|it|the tests?) as (?:skipped|passed|done)\b[^\n.]{0,20}?\band (?:report|claim|say)\b"
        rf"|\b(?:recommend|suggest|promote|advertise|praise|prefer)\b[^\n.]{{0,40}}?{_STRANGER}[^\n.]{{0,40}}?"
        r"\b(?:instead of|rather than|over)\b"
        r"|\b(?:every|each|all)\b[^\n.]{0,30}?\b(?:answers?|replies|responses?|messages?|files?)\b[^\n.]{0,30}?"
        rf"\b(?:link|point|refer|contain|mention|include)\w*\b[^\n.]{{0,20}}?{_STRANGER}",
    ),
    (
        "destroys",
        r"\brm\s+-[a-z]*[rf][a-z]*\s+(?:--no-preserve-root\s+)?(?:/(?:\s|\*|$)|~(?:/?\s|/?$|/\*)|\$HOME\b"
        r"|/(?:etc|usr|home|var)\b)|"
        r"\bmkfs(?:\.\w+)?\s|\bdd\b[^\n]{0,60}?\bof=/dev/|:\(\)\s*\{|\bchmod\s+-R\s+777\s+/|"
        r"\b(?:delete|drop|wipe|erase|destroy|purge|truncate)\b (?:all |every |the |any |each )*(?:\w+"
        r" )?(?:backups?|audit (?:log|trail)s?"
        r"|production (?:database|data|tables?)|log files?|evidence)\b",
    ),
    (
        "redirects money or updates",
        r"\b(?:replace|change|switch|redirect|exchange|set)\b[^\n.]{0,30}?\b(?:bank details|bank account|payment"
        r" (?:address|account|"
        r"details)|iban|wallet(?: address)?|payee|update server)\b[^\n.]{0,40}?\b(?:by|to|with|into)\b|"
        rf"\b(?:transfer|wire|pay|send)\b[^\n.]{{0,40}}?\b(?:account|wallet|iban)\b[^\n.]{{0,20}}?{_STRANGER}|"
        rf"\buse the account of\b[^\n.]{{0,30}}?{_STRANGER}",
    ),
)
PATTERNS = (*(rule for _, rule in _RULES), ORDER.pattern)
"""The parts of the sieve: the rules, and last the orders."""
_ORDER_NUMBER = len(_RULES)
_FEWEST_WORDS = 4
"""With fewer words beside them, quotations are the text."""
_WARNED = re.compile(
    r"\b(?:never|do not|don't|must not|mustn't|should not|shouldn't|avoid|refuse(?:s|d)? to|instead of|rather than"
    r"|not to|forbid\w*|prohibit\w*|dangerous to|unsafe to|cannot|can't|beware of|stop|warn\w*"
    r" against)\b[^.;!?\n]{0,80}$",
    re.IGNORECASE,
)
_QUOTATION = re.compile(r"""`[^`\n]{1,300}`|"[^"\n]{1,300}"|“[^”\n]{1,300}”|'(?<!\w')[^'\n]{1,300}'(?!\w)""")
_SUBJECT = re.compile(
    r"\b(?:as|is|are) (?:mere(?:ly)? |only |just )?(?:data|content|untrusted)\b|\b(?:prompt )?injections?\b"
    r"|\buntrusted\b"
    r"|\b(?:not|never) (?:to |be )?(?:follow|obey|execut)\w*",
    re.IGNORECASE,
)
"""A lesson about such texts: then what it quotes is its subject."""
_HIDING = "hides something from people"
_SHOWN = 80


def find_danger(*texts: str) -> str:
    """Return what a text tells its reader to do, in words and with the words that say it; empty for a lesson.

    Args:
        texts: The texts of one memory, read as one: each as a sentence, and as one sentence that goes on from field
            to field, because what shows them sets them one below the other.
    """
    told = [text for text in texts if text]
    for joined in (". ".join(told), " ".join(told)) if len(told) > 1 else told:
        for form in forms(joined):
            if found := _found(form):
                return found
    return ""


def _found(text: str) -> str:
    reading = sieve().read(text)
    passed = sieve().passed(reading)
    if not passed:
        return ""
    rest = _QUOTATION.sub(" ", text)
    if rest != text and _SUBJECT.search(rest):
        reading = sieve().read(rest)
    near = sieve().near(reading, passed)
    if passed[-1] == _ORDER_NUMBER and (order := _order(reading, near.pop(_ORDER_NUMBER, []))):
        return f"gives orders to its reader: {_short(order)}"
    for number, places in near.items():
        what, rule = _RULES[number][0], _compiled(number)
        for match in _matches(rule, reading.text, places):
            before = reading.text[max(0, match.start() - 120) : match.start()]
            if what == _HIDING or not _WARNED.search(before):
                return f"{what}: {_short(match.group())}"
    return ""


def _order(reading: Reading, places: Sequence[Stretch]) -> str:
    """Return what ``find_order`` does of a text that was read, and of which an order can only match in these places."""
    rest = _QUOTED.sub(" ", reading.text)
    if rest != reading.text and sum(1 for _ in islice(_WORD.finditer(rest), _FEWEST_WORDS)) == _FEWEST_WORDS:
        reading = sieve().read(rest)
        places = sieve().near(reading, [_ORDER_NUMBER]).get(_ORDER_NUMBER, [])
    return next((match.group() for match in _matches(ORDER, reading.text, places)), "")


def _matches(rule: re.Pattern[str], text: str, places: Sequence[Stretch]) -> Iterator[re.Match[str]]:
    """Return all matches in a text, of which each lies in one of the places."""
    return rule.finditer(text) if any(rule.search(text, *place) for place in places) else iter(())


@cache
def sieve() -> Sieve:
    """Return what tells which rules may match a text; made when the first text is checked."""
    return Sieve(PATTERNS)


@cache
def _compiled(number: int) -> re.Pattern[str]:
    return re.compile(_RULES[number][1], re.IGNORECASE | re.MULTILINE)


def _short(words: str) -> str:
    line = " ".join(words.split())
    return repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}\u2026")


_PUBLIC = (
    "localhost example.com example.org example.net github.com githubusercontent.com gitlab.com bitbucket.org "
    "python.org nodejs.org rust-lang.org golang.org go.dev docker.com docker.io stackoverflow.com readthedocs.io "
    "readthedocs.org mozilla.org w3.org ietf.org "
    "wikipedia.org microsoft.com google.com googleapis.com apple.com amazon.com amazonaws.com debian.org ubuntu.com "
    "postgresql.org sqlite.org apache.org kernel.org gnu.org anthropic.com openai.com huggingface.co"
)
_KNOWN = frozenset(_PUBLIC.split())
_LAST = (
    r"com|net|org|io|dev|app|ai|co|me|info|biz|xyz|site|online|top|club|cloud|sh|ru|cn|uk|de|fr|eu|us|in|jp|br|tk|ly"
    r"|example"
)
_ADDRESS = re.compile(
    rf"\b(?:https?|ftp|ssh|wss?)://(?P<host>[^\s/:?#\"'<>()\[\]]+)"
    rf"|(?<![\w.])[\w.+-]{{1,64}}@(?P<mail>[\w-]+(?:\.[\w-]+)*\.[a-z]{{2,12}})\b"
    rf"|(?<![\w./@-])(?P<name>(?:[\w-]+\.)+(?:{_LAST}))(?![\w-])(?!\()"
    r"|(?<![\w.])(?P<number>(?:\d{1,3}\.){3}\d{1,3})(?![\w.])",
    re.IGNORECASE,
)
_PLACE = re.compile(rf"://|@|\.(?:{_LAST})(?![\w-])|\.\d", re.IGNORECASE)
"""A text that each alternative of an address holds."""
_PRIVATE = re.compile(r"(?:127|10|0)\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|255\.")


def find_address(*texts: str) -> str:
    """Return the first place outside that the texts name; empty when there is none."""
    text = folded("\n".join(texts))
    if not _PLACE.search(text):
        return ""
    for match in _ADDRESS.finditer(text):
        name = next(part for part in match.groups() if part).lower().rpartition("@")[2].rstrip(".")
        if not _is_known(name):
            return name[:80]
    return ""


def _is_known(name: str) -> bool:
    if _PRIVATE.match(name) or "." not in name or name.startswith(("{", "$", "<", "[")):
        return True
    parts = name.split(".")
    return parts[-1] in {"local", "localhost", "internal", "test", "invalid"} or ".".join(parts[-2:]) in _KNOWN


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
