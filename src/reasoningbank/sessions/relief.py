"""Tell whether a person says that a failure is gone: "it no longer crashes", "der Fehler tritt nicht mehr auf".

A word for a failure means the opposite under a negation of persistence (*no longer*, *nicht mehr*, *ne ... plus*). The
same negation beside a word for success says that something broke ("it no longer works"), so such a clause is none. What
may be meant as a message that ought to be there ("the error message is no longer shown") is none either.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from reasoningbank.sessions.replies import plain_words


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wording:
    """The words of one language, as patterns of small letters without accents.

    Attributes:
        ended: What says that something does not go on.
        failure: Words for a failure.
        success: Words for what ought to go on: beside them the clause is not relief.
        joins: What joins two clauses, beside punctuation.
    """

    ended: str
    failure: str
    success: str
    joins: str = ""


_ENGLISH = _Wording(
    ended=r"\bno longer\b|\bno more\b|(?:n't|\bnot|\bnothing|\bnone|\bnobody|\bnever|\bno)\b.*\b(?:any ?more"
    r"|any longer)\b"
    r"|\b(?:has |have )?stopped (?=(?:fail|crash|hang|leak|throw|break|freez|flicker)\w*ing)",
    failure=r"\b(?:fail\w*|crash\w*|errors?(?! (?:message|page|text|box))|exceptions?|problems?|issues?|bugs?"
    r"|break\w*|hangs?"
    r"|hanging|leak\w*|throw\w*|freez\w*|flicker\w*|timeouts?|tim(?:es|ed|e|ing) out|warnings?|deadlock\w*)\b",
    success=r"\b(?:works?|working|worked|pass\w*|compil\w*|builds?|starts?|loads?|runs?|responds?|shows?|shown"
    r"|displayed|reported"
    r"|logged|caught|raised|visible|reproduce|mentions?)\b",
    joins=r"\band\b|\bso\b|\bwhile\b",
)
_WORDINGS = (
    _ENGLISH,
    _Wording(
        ended=r"\b(?:nichts?|nie|niemals|niemand|kein\w*)\b.*\bmehr\b|\bnimmer\b",
        failure=r"\b(?:fehler(?:n|s|haft)?|probleme?n?|bugs?|absturze?n?|abstuerze?n?|sturzt|stuerzt|sturzen"
        r"|stuerzen|schlagt"
        r"|schlaegt|scheiter\w*|hangt|haengt|crash\w*|kracht?|bricht|falsch|kaputt|warnung(?:en)?|timeouts?"
        r"|exceptions?)\b",
        success=r"\b(?:funktionier\w*|klapp\w*|lauft|laeuft|laufen|geht|gehen|startet|baut|kompiliert|stimmt"
        r"|passt|angezeigt"
        r"|gemeldet|geladt|ladt|laedt|behoben)\b",
        joins=r"\bund\b|\bdoch\b",
    ),
    _Wording(
        ended=r"\bn(?:e |')\w.*\bplus\b(?! que\b)|^plus (?:d'|de |aucune? )(?!.*\b(?:que|qu')\b)"
        r"|\brien ne\b.*\bplus\b",
        failure=r"\b(?:erreurs?|problemes?|bugs?|plant\w*|crash\w*|echou\w*|echecs?|bloqu\w*|casse\w*|rame"
        r"|avertissements?"
        r"|exceptions?)\b",
        success=r"\b(?:marche\w*|fonctionn\w*|passe\w*|compile\w*|demarre\w*|charge\w*|affich\w*|signal\w*)\b"
        r"|\bmessage d'",
        joins=r"\bet\b|\bdonc\b",
    ),
    _Wording(
        ended=r"\bya no\b|\bno\b.*\bmas\b|\b(?:dejo|dejado|dejaron) de\b|\bnunca mas\b|\bningun\w*\b.*\bmas\b",
        failure=r"\b(?:falla\w*|fallo|error(?:es)?|problemas?|bugs?|romp\w*|cuelga\w*|colg\w*|cae|caen|crash\w*"
        r"|bloque\w*"
        r"|excepcion(?:es)?|avisos?)\b",
        success=r"\b(?:funcion\w*|sirve\w*|pasan?|compila\w*|arranca\w*|carga\w*|muestra\w*|mensaje)\b",
        joins=r"\by\b",
    ),
    _Wording(
        ended=r"\bnon\b.*\bpiu\b|\b(?:nessun\w*|niente)\b.*\bpiu\b|\bsmesso di\b",
        failure=r"\b(?:error[ei]|problem[ai]|bug|falli\w*|crash\w*|blocc\w*|rompe\w*|eccezion[ei]|avvis[oi])\b",
        success=r"\b(?:funzion\w*|passa\w*|compila\w*|parte|partono|carica\w*|mostra\w*|messaggio)\b",
        joins=r"\be\b|\bed\b",
    ),
    _Wording(
        ended=r"\bnao\b.*\bmais\b|\bja nao\b|\b(?:parou|pararam|deixou) de\b|\bnenhum\w*\b.*\bmais\b|\bnunca mais\b",
        failure=r"\b(?:erros?|falha\w*|problemas?|bugs?|trav\w*|quebr\w*|crash\w*|caiu|cai|excec\w*|avisos?)\b",
        success=r"\b(?:funcion\w*|passa\w*|compila\w*|roda\w*|abre\w*|inicia\w*|carrega\w*|mostra\w*|mensagem)\b",
        joins=r"\be\b",
    ),
    _Wording(
        ended=r"\b(?:niet|niets|geen|nooit|niemand)\b.*\bmeer\b",
        failure=r"\b(?:fout(?:en)?|probleem|problemen|bugs?|crash\w*|faalt|falen|mislukt|mislukken|vast|hangt"
        r"|hapert|kapot"
        r"|uitzondering(?:en)?|waarschuwing(?:en)?)\b",
        success=r"\b(?:werkt|werken|lukt|lukken|slaagt|slagen|start|starten|bouwt|klopt|laadt|getoond|gemeld)\b",
        joins=r"\ben\b|\bdus\b",
    ),
    _Wording(
        ended=r"不再|再也(?:不|没)|不会再|没(?:有)?再|没(?:有)?.{0,8}了|不(?:会)?(?:报错|崩溃|出错|失败|闪退"
        r"|卡).{0,2}了",
        failure="报错|错误|出错|崩溃|失败|问题|闪退|卡死|卡住|不卡|异常|警告",
        success="工作|运行|能用|可用|显示|通过|正常|修|解决|提示",
        joins="而且|并且",
    ),
    _Wording(
        ended="なくなり|なくなっ|もう.*(?:ません|ない)|二度と.*(?:ません|ない)",
        failure="エラー(?!メッセージ)|落ち|クラッシュ|失敗|バグ|問題|例外|固ま|フリーズ|警告",
        success="動|通|表示|保存|開|でき|直|しか|解決",
    ),
)  # fmt: skip
_PUNCTUATION = r"[,:\u3001\u3002!.;()]+|\s+-+\s+"
_MAX_CLAUSE = 120


@dataclass(frozen=True, slots=True)
class _Patterns:
    ended: re.Pattern[str]
    failure: re.Pattern[str]
    success: re.Pattern[str]
    cut: re.Pattern[str]


@functools.cache
def _patterns() -> tuple[_Patterns, ...]:
    return tuple(
        _Patterns(
            re.compile(each.ended),
            re.compile(each.failure),
            re.compile(each.success),
            re.compile(f"{_PUNCTUATION}|{each.joins}" if each.joins else _PUNCTUATION),
        )
        for each in _WORDINGS
    )


def rest_beside_relief(sentence: str) -> str | None:
    """Return what a sentence says beside that a failure is gone; None when it does not say that.

    Promises: never raises, and takes time proportional to the sentence.
    """
    words = plain_words(sentence)
    if words.rstrip().endswith("?"):
        return None
    for each in _patterns():
        if each.ended.search(words) is None:
            continue
        clauses = [clause.strip(" \t'\"*_") for clause in each.cut.split(words)]
        rest = [clause for clause in clauses if not _is_relief(clause, each)]
        if len(rest) < len(clauses):
            return ", ".join(filter(None, rest))
    return None


def _is_relief(clause: str, each: _Patterns) -> bool:
    return (
        len(clause) <= _MAX_CLAUSE
        and each.ended.search(clause) is not None
        and each.failure.search(clause) is not None
        and each.success.search(each.failure.sub("", clause)) is None
    )
