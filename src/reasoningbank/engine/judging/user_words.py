"""Verdicts in the words of a user: few, explicit, and nothing that politeness or a new wish could be taken for.

Only whole sentences about the work itself count: "it works now", "that fixed it", "that did not work", "still failing".
Thanks, agreement ("yes, that's correct", "that works for me", "looks good"), questions, conditions ("if it works ...")
and the description of a further task are no verdicts. English only: other languages yield none rather than a wrong one.
"""

from __future__ import annotations

import re

_MAX_TEXT = 4_000
_MAX_SENTENCE = 300
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^\s*(?:>|\||\$ |[+-]{1,3} ).*$", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;]*")

_OPENING = (
    r"(?:(?:no|nope|yes|yep|yeah|yup|ok|okay|well|hmm+|ugh|oh|ah|hey|hi|great|perfect|nice|cool|awesome|excellent|"
    r"wonderful|fantastic|brilliant|amazing|wow|super|sweet|hooray|yay|sorry|unfortunately|sadly|actually|and|but|so|"
    r"now|thanks|thank you|thx|thanks a lot|thank you so much|great job|good job|nice work|well done|confirmed|"
    r"i(?: just)? (?:checked|tested|tried|ran)(?: it| that| this)?(?: again)?|i(?: can)? confirm(?: that)?|"
    r"i'm afraid|i am afraid|wait)[,:\s-]+)*"
)
_WORK = (
    r"(?:it|that|this|everything|all of it|(?:the|your|that|this) (?:fix|changes?|solution|code|patch|script|build|"
    r"program|app|command|answer|result|output|implementation|version|approach))"
)
_TROUBLE = r"(?:(?:the|that|this) (?:bug|issue|problem|error|failure|crash|warning)|it|that|this)"
_TESTS = r"(?:all (?:of )?)?(?:the )?(?:tests?|checks?|specs?|test suite|build|ci)"
_WANTED = r"what i (?:want|wanted|need|needed|asked|asked for|meant|was looking for)"
_IS = r"(?: is| are| was| were|'s)"
_NOW = r"(?: (?:now|again|all|indeed|really|finally|already|actually|just|still|exactly|seems? to|appears? to))*"
_NOT = r"(?: (?:do|does|did|is|are|was|were|has|have)(?:n't| not)|'s not)"

_APPROVAL = (
    rf"{_WORK}{_NOW} (?:works?|worked)",
    rf"{_WORK}{_IS}{_NOW} working",
    r"(?:works|worked|working|fixed|solved|resolved|lgtm|problem solved|issue resolved|bug fixed)",
    rf"{_WORK}{_NOW} (?:fixed|solved|resolved|did) (?:it|that|the (?:bug|issue|problem|error|trick))",
    rf"{_TROUBLE}(?:{_IS}| has been| got){_NOW} (?:fixed|solved|resolved|gone)",
    rf"{_TROUBLE} no longer (?:fails?|crash(?:es)?|happens?|occurs?|appears?|breaks?)",
    rf"{_TESTS}{_IS}?{_NOW} (?:pass|passes|passed|passing|green|succeeds?|succeeded)",
    rf"(?:{_WORK}(?:{_IS}| looks?){_NOW} )?(?:exactly|just) {_WANTED}",
    rf"{_WORK}(?:{_IS}| looks?){_NOW} {_WANTED}",
    r"you(?:'ve| have)? (?:fixed|solved) (?:it|that|the (?:bug|issue|problem|error))",
)
_APPROVAL_END = (
    r"(?:,? (?:now|again|too|perfectly|great|fine|well|nicely|correctly|properly|as expected|as intended|like a charm|"
    r"flawlessly|on my (?:machine|side|end|computer)|here|locally|thanks|thank you|thx|so much|a lot|very much|"
    r"perfect|awesome|nice|good (?:job|work)|great (?:job|work)|well done|for (?:the|your) help))*\s*[.!;,:)]*"
)
_FAILS = r"(?:fail(?:s|ed|ing)?|broken|crash(?:es|ed|ing)?|wrong|red|(?:doesn't|does not) work|(?:isn't|not) working)"
_PERSISTS = (
    r"(?:happens?|happening|there|persists?|occurs?|exists?|present|not (?:fixed|solved|resolved|working|right))"
)
_SEE = r"(?:getting|seeing|get|see|have|having) (?:(?:the|that|an|this|same|exact|exactly) )*"
_SAME = r"(?:same|the same|the exact same|exactly the same)"
_DEFECT = r"(?:errors?|problems?|issues?|failures?|crash|bug|result|output)"
_REJECTION = (
    rf"{_WORK}{_NOW}{_NOT}{_NOW} (?:(?:yet|even|quite|fully|properly|correctly) )?"
    r"(?:work(?:ing|ed)?|help(?:ed)?|(?:fix|solve)(?:d|ed)?(?: (?:it|the \w+|anything))?|compile|right|correct|"
    rf"resolved|{_WANTED})",
    r"(?:do|does|did)(?:n't| not) (?:work|help|(?:fix|solve) (?:it|the \w+|anything))",
    rf"(?:still )?not (?:working|fixed|solved|resolved|correct|right|{_WANTED})",
    rf"(?:{_TROUBLE}|{_WORK}|{_TESTS})?{_IS}? ?still (?:the same |(?:is |are ))?(?:{_FAILS}|{_PERSISTS})",
    rf"(?:i'm |i am |i )?still {_SEE}{_DEFECT}",
    rf"(?:i'm |i am |i )?(?:(?:still )?{_SEE})?{_SAME} {_DEFECT}(?= (?:again|still|as before|here)|[.!,;]|$)",
    rf"{_WORK}{_IS}{_NOW} (?:(?:completely|totally|simply) )?(?:wrong|incorrect|broken|worse|useless)",
    rf"{_WORK}{_NOW} (?:failed|no longer works?|made it worse|broke (?:it|everything|the \w+))",
    r"you(?:'ve| have)?(?: just)? (?:broke|broken) (?:it|that|everything|the \w+)",
    r"(?:please )?(?:revert|undo|roll back) (?:it|that|this|everything|(?:all )?(?:your|those|these) changes?)",
)
_REJECTION_END = (
    r"(?:,? (?:now|again|either|at all|for me|here|yet|anymore|though|sorry|completely|as before|as well|too))*"
    r"(?:\s*$|\s*[.!;,:(-]|\s(?:when|because|after|and|as|on|in|with|for|at|from|the|i|it)\b)"
)
_SINGLE_WORD = r"(?:wrong|incorrect)[.!]*$"
_APPROVES = re.compile(rf"{_OPENING}(?:{'|'.join(_APPROVAL)}){_APPROVAL_END}$")
_REJECTS = re.compile(rf"{_OPENING}(?:(?:{'|'.join(_REJECTION)}){_REJECTION_END}|{_SINGLE_WORD})")
_EXPLAINS = re.compile(r"\bwork(?:s|ed)? (?:like (?:this|that)|(?:that|this) way|by|as follows)\b")
_CLUES = re.compile(
    r"work|fix|solve|resolv|pass|green|succeed|correct|what i|looks? good|lgtm|did (?:it|that|the)|help|gone|no longer|"
    r"fail|brok|crash|wrong|error|problem|issue|still|same|revert|undo|roll back|compile|right|worse|useless"
)


def verdict_in(text: str) -> tuple[bool, str] | None:
    """The user's last explicit verdict in a message: whether it approves, and the sentence; None without one.

    Accepts any text; of a long one only the beginning, because a verdict comes first and a pasted log after it.
    """
    words = text[:_MAX_TEXT].lower().replace("\u2019", "'")
    if not _CLUES.search(words):
        return None
    found: tuple[bool, str] | None = None
    for match in _SENTENCE.finditer(_QUOTED_LINE.sub("", _FENCED.sub("\n", words))):
        sentence = " ".join(match[0].split()).strip("*_\"'() ")
        if not sentence or sentence.endswith("?") or len(sentence) > _MAX_SENTENCE:
            continue
        if _APPROVES.match(sentence):
            found = (True, sentence)
        elif _REJECTS.match(sentence) and not _EXPLAINS.search(sentence):
            found = (False, sentence)
    return found
