"""Whether the reason of an opinion speaks of the session that was shown, and for the verdict beside it.

A model that did not look writes an example, a draft or an excuse in place of a reason, and no list of such words is
whole. So a reason has to say something of the session: a word or a number of what was shown, or nothing but the words
in which any session is judged.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

SILENT = "the reason names nothing of the record; name what decides it, with step numbers"
DISOWNED = "the reason takes the answer back"
OPPOSED = "the reason states another verdict than the answer"

_WORD = re.compile(r"[^\W_]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
_PLAIN_WORDS = (
    # English
    "a about above according actual actually after again against agent agents all also although although always an "
    "and another any anything are as asked asks assistant at be because been before being below both but by can "
    "cannot carried check checked checks clear clearly complete completed completely completeness completion "
    "condition conditions constraint constraints correct correctly could decided decides demanded demands did do "
    "does doing done each either end ended ends entire entirely error errors every everything evidence evident "
    "exactly expected fail failed fails failure final finally finish finished first for from fulfilled fully gave "
    "given goal goals good had has have he her here his how however i if in incomplete instead intended into is it "
    "its itself just know known last later left less like likely made make many matched may met might missed "
    "missing more most must my named necessary neither no nor not nothing observation observations observed of on "
    "once one only or order other others otherwise our out outcome over own part partial partially partly parts "
    "passed people per performed person point points possible problem problems process proof proper properly "
    "proved proves purpose reached remained remains request requested requests required requirement requirements "
    "requires result results right run runs said same satisfied second see seems seen session sessions she should "
    "show showed showing shown shows since so solved some something step steps still stopped succeed succeeded "
    "success successful successfully such taken target task tasks than that the their them then there therefore "
    "these they this those though three through thus to together too tool tools two unclear under unfinished "
    "unknown until up us user users verified very was way we well were what when where whether which while who "
    "get gets go goes going got came come comes want wanted wants went fine ok okay "
    "whole whose why will with within without work worked works would yes yet you your nobody never nowhere "
    # German
    "agent agenten aber alle allem allen alles als also am an andere auch auf aufgabe auftrag aus bei beide beim "
    "bis bleibt da dabei dafür daher damit dann das dass dem den denn der des deshalb die dies diese dieser doch "
    "ein eine einem einen einer eines erfolg erfolgreich erfüllt ergebnis erledigt erreicht es fehler fehlt fehlte "
    "für ganz gemacht gescheitert gewünscht hat hatte ihm ihr im in ist ja jede jeder kein keine korrekt man mit "
    "nach nicht nichts noch nur nutzer nutzerin oder ohne richtig richtige schritt schritte sehr seine sich sie "
    "sind sitzung so sondern teil teile teilweise um und unklar verlangt vollständig von vor war waren was weil "
    "wie wird wurde wurden ziel zu zum zur "
    # French
    "accompli accomplie atteint atteinte au aucun aucune aussi aux avec but car ce ceci cela ces cette chaque "
    "clair comme complète complètement dans de demandé demandée des donc du elle en est et fait faite il ils la le "
    "les leur mais ne ni objectif on ont ou par partie partiellement pas pour qu que qui rien réussi réussie "
    "réussite s sa sans se session ses son sont succès sur tout toute toutes tâche un une utilisateur échec échoué "
    "étape étapes été l d c n j y "
    # Spanish
    "agente al alcanzado algo ante aunque cada como completa completada completado con correcta correctamente "
    "correcto cumplida cumplido de del desde el ella en es esa ese esta este esto está exitosamente fallo "
    "fallido fracasado fracaso fue ha hecho la las lo logrado los no nada objetivo para parcial parcialmente "
    "parte paso pasos pero por porque que realizada realizado resultado se sesión si sin solicitado son su sus "
    "tarea toda todas todo todos un una usuario y éxito"
)
_PLAIN = frozenset(_PLAIN_WORDS.split())
"""Words of any language's grammar, and those in which any session is judged. They say nothing of this one, and a reason
that has no others says nothing wrong either."""
_ANSWER_WORDS = (
    "example examples reasoning reason sample draft template placeholder dummy answer verdict judgement judgment "
    "response record text note format json schema field fields value values beispiel antwort urteil exemple réponse "
    "ejemplo respuesta veredicto"
)
_UNSPOKEN = frozenset(_ANSWER_WORDS.split())
"""Words of the answer itself: that one of them stands in what was shown as well does not make it speak of that."""
_WIDE_PLAIN = re.compile(
    r"任务|目标|完成|成功|失败|用户|代理|智能体|助手|步骤|要求|全部|所有|部分|正确|没有|已经|结果|检查|满足|未能|未|已|不|的|了|是|被"
    r"|タスク|目的|完了|正常|成功|失敗|ユーザー|エージェント|ステップ|要求|すべて|全て|一部|正しく|結果|確認|達成|され|しま|した|です|ます|いる|ない|[ぁ-ん]"
)
_OF_THE_SESSION = ("|", "[step ")
_STEMS = 3
_SHORTEST_STEM = 4


def speaks_of(reason: str, shown: str) -> bool:
    """Return whether a reason says anything of what was shown, or nothing but what is said of every session."""
    words = {word for word in _words(reason) if _stems(word).isdisjoint(_plain_stems())}
    pairs = _pairs(_WIDE_PLAIN.sub(" ", reason))
    if not words and not pairs:
        return True
    stems = frozenset[str]().union(*map(_stems, words - _UNSPOKEN))
    return not (stems.isdisjoint(_shown_stems(shown)) and pairs.isdisjoint(_pairs(shown)))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(_WIDE.sub(" ", text.casefold())))


def _stems(word: str) -> frozenset[str]:
    """Return a word with and without what may be its ending."""
    shorter = (word[:-cut] for cut in range(1, _STEMS + 1) if len(word) - cut >= _SHORTEST_STEM)
    return frozenset((word, *shorter))


@cache
def _plain_stems() -> frozenset[str]:
    return frozenset[str]().union(*map(_stems, _PLAIN))


@lru_cache(maxsize=8)
def _shown_stems(shown: str) -> frozenset[str]:
    return frozenset[str]().union(*map(_stems, _words(shown)))


def _pairs(text: str) -> frozenset[str]:
    """Return two by two the characters of scripts that put no space between words."""
    return frozenset(run[at : at + 2] for run in _WIDE.findall(text) for at in range(len(run) - 1))


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
_STOPPED = r"(?=\s*(?:[.,;:!)\u3002\uff0c\uff1a]|\Z|because|since|as the|weil|car|porque|です|だ|と|了))"
_NEGATED = re.compile(
    r"\b(?:not|n't|never|no|nicht|kein\w*|pas|if|unless|would|wenn|si)\W*\Z|[不没未非]\Z", re.IGNORECASE
)


def _stated(word: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:{_WHOLE}{_BE}{_ARTICLE}|{_THUS}\W*\s*(?:{_THIS}{_BE})?{_ARTICLE}){word}{_STOPPED}"
        rf"|\b{_THIS}\s*(?:is|was|ist|war|est|es|fue)\s+{_ARTICLE}{word}{_STOPPED}(?=\W*\Z)",
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


def reason_problem(reason: str, verdict: str, shown: str) -> str:
    """Return why a reason cannot stand beside its verdict; empty when it can.

    Args:
        reason: The reason.
        verdict: What is concluded from it.
        shown: The digest that was judged.
    """
    if verdict != "unknown" and disowns(reason):
        return DISOWNED
    if opposes(reason, verdict):
        return OPPOSED
    return "" if speaks_of(reason, _quoted(shown)) else SILENT


def _quoted(shown: str) -> str:
    """Return what a digest shows of the session, without our words around it."""
    return "\n".join(line for line in shown.splitlines() if line.startswith(_OF_THE_SESSION))
