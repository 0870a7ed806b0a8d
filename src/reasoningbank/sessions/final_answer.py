"""What an agent's last answer says against its own work: it gave up, something is left to do, a goal was missed.

What an agent says against itself is believed, what it says for itself is not.
"""

from __future__ import annotations

import re

from reasoningbank.sessions.goals import missed_goal

_MAX_TEXT = 4_000
_MAX_SENTENCE = 300
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^\s*(?:>|\||\$ |[+-]{1,3} ).*$", re.MULTILINE)
_SENTENCE = re.compile("(?:[^.!?;\n\u3002\uff01\uff1f\uff1b]|[.](?=[^\\s.]))+[.!?;\u3002\uff01\uff1f\uff1b]*")
_OPENING = (
    r"(?:(?:no|nope|yes|ok|okay|well|sorry|unfortunately|sadly|actually|and|but|so|now|i'm afraid|i am afraid|"
    r"wait)[,:\s-]+)*"
)
_GAVE_UP = re.compile(
    rf"^(?:{_OPENING})?(?:(?:but|however|though|although|so far|after [\w ]{{1,40}},|despite [\w ]{{1,40}},)[, ]*)*(?:"
    r"(?:i|we)(?: was| were)? ?(?:(?:still|also|just|really|ultimately|unfortunately) )*"
    r"(?:could not|couldn't|unable to|not able to|did not manage to|didn't manage to"
    r"|failed to|have not been able to|haven't been able to) "
    r"(?!(?:find|see|identify|spot|think of) any|tell|say|run |verify|check|test |confirm|access|see )\w+"
    r"|(?:i|we)(?: must| have to| will|'ll)? ?(?:give|gave|giving) up\b"
    r"|(?:i|we)(?: still)? (?:did not|didn't|have not|haven't|never)(?: yet)? (?:get|got|gotten)(?: a?round)? to\b"
    r"|(?:i|we) (?:have not|haven't|did not|didn't)(?: yet)? (?:implement|finish|complete|start)(?:ed)?\b(?! any| new)"
    r"|(?:i|we) (?:have not|haven't|did not|didn't) yet \w+"
    r"|(?:i|we)(?: have|'ve)? (?:left out|omitted|postponed|deferred)\b"
    r"|(?:i|we)(?: have|'ve)? stopped (?:before|short of|halfway|there|at|after)\b"
    r"|(?:i|we)(?: have|'ve)? left [\w ,`'./-]{1,60} (?:undone|unfinished|half done|out|for (?:later|another|next|a ))"
    r"|(?:i|we)(?: have|'ve)? ran? out of (?:time|steps|context|budget|turns)\b"
    r")"
)
_STILL_WRONG = re.compile(
    r"(?:^|[,;:] |\b(?:but|and|because) )(?:it|this|that|the [\w ]{1,40}?)(?: is| are)? still "
    r"(?:fails?|failing|hangs?|crash(?:es|ing)?|broken|does not|doesn't|do not|don't|times? out|answers? \d)"
    r"|\b(?:is|are|was|were|remains?|stays?) (?:still |only )?(?:not (?:yet )?(?:done|implemented|finished|complete"
    r"|started|written|migrated|converted)|unfinished|unimplemented|incomplete|half done|partly done"
    r"|to be (?:done|implemented|written|migrated))\b"
)


_COUNTED = (
    r"(?:\d{1,6}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|some|several|a few|many|most|half)"
)
_DONE = (
    r"(?:ported|migrated|converted|translated|done|finished|complete|completed|fixed|pass|passes|passing|builds?|works?"
    r"|working|green|updated|covered|replaced|implemented|compiles?|succeed(?:s|ed)?|renamed|moved|documented|typed)"
)
_LEFT_TO_DO = re.compile(
    r"\b(?:other|others|remaining|rest|last)\b(?:(?!\b(?:you|users?|reviewers?)\b)[^.,;]){0,60}?\b(?:still |also )?"
    r"(?:(?:needs?|has|have|must) (?:still )?to be|must be|needs? (?:more|work)|still (?:needs?|has to|have to|must))\b"
    r"|(?<!\byou )\b(?:still|yet) (?:needs?|has|have) (?:to be |more |work)"
    rf"|\b{_COUNTED}\b[^.,;]{{0,60}}\b(?:is|are) (?:still )?(?:left(?! (?:as|alone|un\w+|intact|in|to you))"
    rf"|outstanding|undone|failing|to (?:do|go))\b"
    rf"|\b{_COUNTED}\b(?: more| other| of them)?(?: [\w-]+){{0,4}} (?:still )?remains?\b(?! [\w-])"
    r"|\bstill (?:shows?|reports?|gives?|prints?) (?:[\w-]+ ){0,3}?(?:errors?|failures?|problems?|findings?)\b"
    rf"|\bhas (?:at least )?{_COUNTED} more (?:[\w-]+ )?(?:errors?|failures?|findings?|problems?|warnings?)\b"
)
_PART_DONE = re.compile(
    rf"\b(?P<some>{_COUNTED}) of (?:the |all |our |your )?(?P<all>{_COUNTED})\b[^.,;]{{0,60}}\b{_DONE}\b"
)
_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12,
}  # fmt: skip
_GOAL = r"(?:goal|target|limit|budget|threshold|requirement|aim|mark|bar)s?\b"
_GOAL_MISSED = re.compile(
    rf"\bmiss(?:es|ed|ing)?\b[^.,;]{{0,40}}\b{_GOAL}|\b(?:falls?|fell|is|are|stays?|comes?|came) (?:[\w-]+ "
    rf")?short\b(?! of \w+ing)"
    rf"|\bstill (?:[\w-]+ )?(?:above|over|below|under|beyond|outside|short of|exceeds?|away "
    rf"from)\b[^.;]{{0,40}}\b{_GOAL}"
    r"|(?:\b(?:is|was|are|were|has|have|did|does|do|though|but|yet|still|we're|we are|it's)(?:n't| not| not yet)|\bnot)"
    r"(?: yet| quite| been| fully| completely)* (?:reach(?:ed)?|met|meet|hit|achieved?|(?:at|below|under|above|over"
    r"|within)"
    r"(?: the| your| our)? ?[\d<>])"
    rf"|\b(?:did|does|do|has|have|could)(?:n't| not)(?: yet| quite)* (?:get|come|make)[^.;]{{0,40}}\b{_GOAL}"
    r"|\bto (?:really )?(?:reach|hit|meet|achieve|get (?:to|below|under|above|over)) (?:the|your|that|this|it"
    r"|\d)[^.;]{0,60}"
    r"\b(?:would|needs?|requires?|required|must|have to|has to)\b"
)
"""What says that a number which was asked for is not there."""
_NO_SHORTFALL = re.compile(
    r"\b(?:before|previously|earlier|initially|originally|at first|unrelated|pre-?existing|existed|on purpose|by design"
    r"|intentional\w*|deliberate\w*|optional\w*|expected|third[- ]party|no longer|if you (?:like|want|wish|prefer)|in "
    r"(?:the )?future"
    r"|out of scope|as (?:asked|requested|agreed|planned)|needed? no|not? (?:needed|necessary|affected)|nothing"
    r"|were already|was already|are already|is already)\b"
)
"""Beside which a sentence tells of something else than what is missing of the work."""


_CLUES = re.compile(
    r"left|remain|other|rest|last|still|yet|miss|short|n't|not |outstanding|undone|failing|fail|unable|up\b|ran out"
    r"|run out|omit|postpon|defer|unfinish|unimpl|incompl|half|part|to (?:be|do|go|r|hit|meet|ach|get)| of |more "
)
"""One of these is in every sentence that admits something."""


def admission(answer: str, task: str = "") -> str:
    """Return the sentence of an agent's last answer that admits that the work is not done; empty without one.

    What it cannot do now ("I cannot change a paid booking") may be a rule that it keeps: only what it could not do
    counts, what it says is left to do, and a goal of the task that it says, or its numbers show, was missed.

    Args:
        answer: Any text.
        task: What was asked for; without it no number is compared.
    """
    words = _QUOTED_LINE.sub("", _FENCED.sub("\n", answer[:_MAX_TEXT].lower().replace("\u2019", "'")))
    for match in _SENTENCE.finditer(words) if _CLUES.search(words) is not None else ():
        for clause in re.split(r", (?=but |however |though |although )", match[0]):
            said = " ".join(clause.split()).strip("*_\"'() ")
            if said.endswith("?") or len(said) > _MAX_SENTENCE:
                continue
            if _GAVE_UP.match(said) or _STILL_WRONG.search(said) or _falls_short(said, task):
                return said
    return missed_goal(task, words) if task else ""


def _falls_short(said: str, task: str) -> bool:
    """Return whether a sentence says that a part of the work is left, or that a goal was missed."""
    if _NO_SHORTFALL.search(said) is not None:
        return False
    if _LEFT_TO_DO.search(said) is not None or (_GOAL_MISSED.search(said) is not None and not _is_within(said, task)):
        return True
    parts = _PART_DONE.search(said)
    counts = [_count(parts[name]) for name in ("some", "all")] if parts is not None else []
    return len(counts) == 2 and 0 < counts[0] < counts[1]


_WITHIN = re.compile(r"\bstill (?:[\w-]+ )?(?P<side>above|over|below|under)\b")
_UPPER = re.compile(
    r"\b(?:under|below|less|fewer|at most|within|reduc\w*|shrink|lower|cut|faster|speed)\b|<", re.IGNORECASE
)


def _is_within(said: str, task: str) -> bool:
    """Return whether a number that is still on one side of a goal is on the right one."""
    match = _WITHIN.search(said)
    if match is None:
        return False
    return (match["side"] in {"below", "under"}) == (_UPPER.search(task) is not None)


def _count(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS.get(word, 0)


_BLOCKED = re.compile(
    r"\b(?:access ?denied|forbidden|unauthori[sz]ed|permission denied|not permitted|no permission|40[13]\b"
    r"|blocked|stuck"
    r"|refus(?:es|ed)|rejected|denied|impossible|not possible|not available|unavailable|unreachable"
    r"|(?:did|does|do|was|were|is|are|can|could|would|will)(?: not|n't|not) (?:work|succeed|help|go through"
    r"|complete|finish"
    r"|able|possible|be)|failed|fails|fail|unsuccessful|without success|in vain"
    r"|verweiger\w*|blockiert|nicht m\u00f6glich|nicht gelungen|konnte nicht|funktioniert nicht|fehlgeschlagen"
    r"|scheitert"
    r"|refus[\u00e9e]\w*|bloqu\u00e9\w*|impossible|n'a pas fonctionn\u00e9|\u00e9chou\w*|bloquead[oa]"
    r"|denegad[oa]|no pude|no se pudo"
    r"|no funciona|fall[\u00f3o]|bloccat[oa]|negato|non sono riuscit[oa]|non funziona|n\u00e3o consegui|negado"
    r"|n\u00e3o funciona"
    r"|falhou|geblokkeerd|geweigerd|mislukt|niet gelukt|werkt niet)\b|无法|拒绝|失败|被阻止|できません|拒否|失敗",
    re.IGNORECASE,
)


def says_blocked(answer: str) -> bool:
    """Return whether an agent's last answer says that something failed or stood in its way.

    By itself that proves nothing: it may tell of what was mended. Accepts any text.
    """
    words = answer[-_MAX_TEXT:].lower().replace("\u2019", "'")
    return _BLOCKED.search(_QUOTED_LINE.sub("", _FENCED.sub("\n", words))) is not None
