"""Whether a text orders its reader about, in any disguise: what no lesson needs to say (DESIGN D10).

The rules name what an order of an attacker is for: to run what a stranger serves, to give secrets or data away, to take
safety off, to hide something from people, to bind later sessions or wait for a sign, to destroy. A lesson that warns of
such a thing is none: what stands behind "never", "do not" or "avoid" in the same clause is a warning.

Every pattern looks a bounded way ahead. What is in quotation marks or code is read as well, other than by
``find_order``: a command is dangerous in backticks too. Only a lesson that is about such texts may quote them.
"""

from __future__ import annotations

import re

from reasoningbank.engine.distilling.signs import ORDER, find_order
from reasoningbank.engine.gate.folding import forms
from reasoningbank.engine.gate.needed import Sieve

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
_COMPILED = tuple((what, re.compile(rule, re.IGNORECASE | re.MULTILINE)) for what, rule in _RULES)
_SIEVE = Sieve([*(rule for _, rule in _RULES), ORDER.pattern])
_WARNED = re.compile(
    r"\b(?:never|do not|don't|must not|mustn't|should not|shouldn't|avoid|refuse(?:s|d)? to|instead of|rather than"
    r"|not to|forbid\w*|prohibit\w*|dangerous to|unsafe to|cannot|can't|beware of|stop|warn\w*"
    r" against)\b[^.;!?\n]{0,80}$",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"""`[^`\n]{1,300}`|"[^"\n]{1,300}"|“[^”\n]{1,300}”|(?<!\w)'[^'\n]{1,300}'(?!\w)""")
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
    """What a text orders its reader to do, in words and with the words that say it; empty for a lesson.

    Args:
        texts: The texts of one memory, read as one.
    """
    for form in forms(". ".join(filter(None, texts))):
        if found := _found(form):
            return found
    return ""


def _found(text: str) -> str:
    passed = _SIEVE.passed(text)
    if not passed:
        return ""
    rest = _QUOTED.sub(" ", text)
    if _SUBJECT.search(rest):
        text = rest
    if order := find_order(text):
        return f"orders its reader about: {_short(order)}"
    for what, rule in [_COMPILED[number] for number in passed if number < len(_COMPILED)]:
        for match in rule.finditer(text):
            before = text[max(0, match.start() - 120) : match.start()]
            if what == _HIDING or not _WARNED.search(before):
                return f"{what}: {_short(match.group())}"
    return ""


def _short(words: str) -> str:
    line = " ".join(words.split())
    return repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}\u2026")
