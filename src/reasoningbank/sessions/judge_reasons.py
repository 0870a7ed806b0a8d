"""Tell a reason that takes the judge's answer back, or speaks for another verdict than the one beside it.

That a reason shares no word with the record says nothing against it: it may be written in another language, or say
in other words what happened.
"""

from __future__ import annotations

import re

DISOWNED = "the reason takes the answer back"
OPPOSED = "the reason states another verdict than the answer"

_NOT_LOOKED = re.compile(
    r"\b(?:i|we)\b(?:'ve|'m| have| am)?(?: \w+)? (?:(?:did|do|could|can|was|were|have|had|has)(?: not|n't)|cannot|never"
    r"|unable|not)\b(?: (?:been|able|to|actually|really|yet|even|fully))*"
    r" (?:read|seen?|look(?:ed)?|tell|know|judged?|decide|determine|review(?:ed)?|open(?:ed)?|analy[sz]ed?|check(?:ed)?"
    r"|evaluate|assess|process(?:ed)?|access|given)\b"
    r"|\b(?:i|we)(?: have|'ve)?(?: just| only| simply)? (?:made (?:this|it|these|that|all|everything) up|invented"
    r"|guess(?:ed)?|made up)\b"
    r"|\bich (?:habe|kann|konnte|weiß)\b[^.;]{0,60}\b(?:nicht|erfunden|geraten)\b"
    r"|\bje (?:n'ai|ne|n')[^.;]{0,40}\b(?:pas|jamais)\b|\bj'ai (?:inventé|deviné)"
    r"|\bno (?:he|pude|puedo|sé)\b[^.;]{0,40}|\bhe inventado\b"
    r"|我(?:没有|没|无法|不能|并未)(?:阅读|看|读|判断|查看|确定)|我(?:编造|猜)"
    r"|(?:読んでいません|読んでいない|判断できません|わかりません|作り話)",
    re.IGNORECASE,
)
"""A judge that speaks of itself as not having looked, or not knowing."""
_NO_PROOF = re.compile(r"\b(?:find|see|saw|found|identify|locate|observe)\b", re.IGNORECASE)
_OWN = (
    r"(?:the|this|my|das|dieses|mein|le|ce|mon|el|este|mi)\s+(?:verdict|judge?ments?|rating|reason(?:ing)?|assessment"
    r"|evaluation|opinion|probability|urteil|bewertung|begründung|verdict|jugement|évaluation|veredicto|juicio)"
)
_OWN_TAKEN_BACK = re.compile(
    rf"\b{_OWN}\b(?:\s+(?:above|below|here|given|oben|unten|ci-dessus|ci-dessous|anterior|siguiente))?\s+"
    r"(?:is|are|was|ist|war|est|es|should be|must be|has to be)\s+"
    r"(?:\w+\s+){0,2}?(?:wrong|incorrect|false|invalid|not\b|replaced|ignored|random|invented|made|guess(?:ed)?|dummy"
    r"|placeholder|example|draft|template|falsch|nicht|erfunden|faux|fausse|pas\b|falso|incorrecto|no\b)"
    r"|(?:判断|结论|评判|裁决|判定)(?:是)?(?:错误的|不对|错的|随机|虚构)|(?:判定|判断|結論)は(?:誤り|間違い|仮)",
    re.IGNORECASE,
)


def disowns(reason: str) -> bool:
    """Return whether a reason says that its writer did not look, or that the answer is none."""
    plain = reason.replace("\u2019", "'")
    looked = [found for found in _NOT_LOOKED.finditer(plain) if not _NO_PROOF.search(found.group())]
    return bool(looked) or _OWN_TAKEN_BACK.search(plain) is not None


_SUCCESS = (
    r"(?:success(?:ful)?|erfolg(?:reich)?|gelungen|réussie?|réussite|succès|éxito|exitos[ao]|lograd[oa]|成功(?!率))"
)
_FAILURE = (
    r"(?:failure|failed|unsuccessful|fehlschlag|misserfolg|gescheitert|fehlgeschlagen|échec|échoué|fracaso|fallid[oa]"
    r"|fracasado|失败|失敗)"
)
_WHOLE = (
    r"(?:(?:the|this) (?:whole |overall )?(?:task|session|run|outcome|verdict|judge?ment)"
    r"|(?:die|diese) (?:aufgabe|sitzung)|das (?:urteil|ergebnis)"
    r"|(?:la|cette) (?:tâche|session)|(?:la|esta) (?:tarea|sesión)|任务|会话|タスク|セッション)"
)
_THIS = r"(?:this|it|that|dies|das|es|c'|ce|esto)"
_THUS = (
    r"(?:so|therefore|thus|hence|consequently|accordingly|in short|overall|conclusion|also|daher|deshalb|folglich|somit"
    r"|donc|ainsi|por tanto|por lo tanto|así que|因此|所以|故|したがって|よって)"
)
_BE = (
    r"\s*(?:is|was|are|counts as|amounts to|ended (?:as|in|with)|must be|should be|has|have|had|ist|war|hat|est|était|a"
    r"|es|fue|ha|是|判定为|为|は|了|已|:)?\s*"
)
_ARTICLE = r"(?:(?:an?|the|ein|eine|un|une|clear(?:ly)?|plain(?:ly)?|donc|also|daher|complete|total|überhaupt)\s+){0,3}"
_LABELLED = r"(?:(?:verdict|judge?ment|result|outcome|urteil|ergebnis|veredicto|判定|判断|结论|結論)\s*[:=\uff1a])"
_STOPPED = r"(?=\s*(?:[.,;:!)\u3002\uff0c\uff1a]|\Z|because|since|as the|weil|car|porque|です|だ|と|了))"
_NEGATED = re.compile(
    r"\b(?:not|n't|never|no|nicht|kein\w*|pas|if|unless|would|wenn|si)\W*\Z|[不没未非]\Z", re.IGNORECASE
)


def _stated(word: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:{_WHOLE}{_BE}{_ARTICLE}|{_THUS}\W*\s*(?:{_THIS}{_BE})?{_ARTICLE}){word}{_STOPPED}"
        rf"|\b{_THIS}\s*(?:is|was|ist|war|est|es|fue)\s+{_ARTICLE}{word}{_STOPPED}(?=\W*\Z)"
        rf"|\A\W*{_LABELLED}\W*{word}{_STOPPED}|[.;\u2014\u3002\uff1b]\s*{_LABELLED}?\W*{word}\W*\Z",
        re.IGNORECASE,
    )


_STATES = {
    "success": _stated(rf"(?:{_SUCCESS}|succeeded|accomplished)"),
    "failure": _stated(_FAILURE),
}
_OPPOSITE = {"success": "failure", "failure": "success"}


def opposes(reason: str, verdict: str) -> bool:
    """Return whether a reason concludes plainly with the opposite of a verdict."""
    opposite = _OPPOSITE.get(verdict)
    if opposite is None:
        return False
    return any(not _NEGATED.search(reason[: found.start()]) for found in _STATES[opposite].finditer(reason))


def reason_problem(reason: str, verdict: str) -> str:
    """Return why a reason cannot stand beside its verdict; empty when it can.

    Args:
        reason: The reason.
        verdict: What is concluded from it.
    """
    if verdict != "unknown" and disowns(reason):
        return DISOWNED
    return OPPOSED if opposes(reason, verdict) else ""
