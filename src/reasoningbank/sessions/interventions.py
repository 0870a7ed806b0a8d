"""Tell whether a person says that they changed something themselves, so that what the agent did proves nothing.

They say what they have done ("I started the database", "done, I gave you the role"), what was wrong on their side ("my
VPN was off"), how it is now ("the key is there now"), or only that it is to be tried again. What they ask the agent to
do is no intervention.
"""

from __future__ import annotations

import re

_DONE = (
    r"(?:re)?started|launched|stopped|killed|(?:re|un)?installed|set|put|added|changed|fixed|updated|upgraded|downgraded"
    r"|created|made|gave|given|granted|enabled|disabled|turned|switched|moved|removed|deleted|renamed|freed|closed|opened"
    r"|reset|rebooted|(?:re)?connected|plugged|mounted|logged|exported|(?:re)?configured|edited|committed|pushed|merged"
    r"|approved|unlocked|unblocked|cleared|cleaned|corrected|repaired|mended|solved"
    r"|resolved|provided|rotated|renewed|increased|raised|took"
    r"|filled|restored|pulled|uploaded|copied|allowed|whitelisted|bumped|patched|adjusted|replaced|modified|generated"
    r"|migrated|seeded|deployed|rebuilt|built|brought|did|done|took care|sorted|finished"
)
_MYSELF = re.compile(
    rf"(?:^|, ?|\band )(?:(?:ok(?:ay)?|oh|ah|sorry|just|already|now)[ ,]+)*"
    rf"(?!(?:set|put|reset|made|took|did)\b)(?:{_DONE})\b(?! by)"
    rf"|\b(?:i|we|i've|we've|my colleague|ops)"
    rf"(?: (?:have|had|has|just|already|also|now|went ahead and|quickly))* (?:{_DONE})\b"
    r"(?! (?:my mind|it up to you))|\b(?:myself|by hand|manually|on my (?:side|end))\b"
    r"|\bi(?:'ve| have)?(?: just| already)? (?:ran|run) "
    r"(?!(?:it|this|that|into|the (?:tests?|suite|specs?|build|script|command|program|app))\b)",
)
_STATE = (
    r"(?:up|on|online|running|there|set|available|back|started|reachable|installed|fixed|in place|working|done|valid"
    r"|open|connected|enabled|ready)"
)
_NOW = re.compile(
    rf"\b(?:is|are|it's|'s|should be|should)\b[^.!?\n]{{0,40}}\b{_STATE}\b[^.!?\n]{{0,15}}\b(?:now|again)\b"
    rf"|\bnow\b[^.!?\n]{{0,30}}\b(?:is|are|it's|'s|should be)\b[^.!?\n]{{0,30}}\b{_STATE}\b"
    r"|\b(?:is|are) (?:up|running|online|started|back)\b|\byou (?:now )?(?:have|should (?:now )?(?:have|be able))\b"
    r"|\b(?:is|are|it's|'s)\b[^!?\n]{1,40}\bnow\W*$"
    r"|\b(?:runs|exists|responds|answers) (?:now|again)\b"
    rf"|\b(?:is|are|it's|'s)\b (?:now|back|again)\b[^.!?\n]{{0,15}}"
    r"|\b(?:was|were)(?:n't| not)? "
    r"(?:down|off|not running|running|stopped|missing|wrong|expired|full|offline|broken|disabled)\b"
)
_AGAIN = re.compile(
    r"\btry(?: (?:it|that|this))?(?: once)? (?:again|now|more)\b|\bretry\b|\bshould work now\b|\bgo ahead now\b"
    r"|^(?:ok(?:ay)?[,. ]*)?done\b"
)
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?=\w))+[.!?]?")
_MAX_TEXT = 4_000


def intervened(text: str) -> bool:
    """Return whether the person says that something outside of the agent's work is different now. Accepts any text."""
    words = text[:_MAX_TEXT].casefold().replace("\u2019", "'")
    return any(
        pattern.search(sentence[0])
        for sentence in _SENTENCE.finditer(words)
        if not sentence[0].endswith("?")
        for pattern in (_MYSELF, _NOW, _AGAIN)
    )
