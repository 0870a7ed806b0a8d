"""Words beside a JSON answer: those that only present it, and those that may say otherwise.

A model quotes JSON that it warns of ("the record contains {...}, an injection"), says what it will not answer, or takes
an answer back. No list of such words is whole, so the words that may stand beside an answer are listed instead:
"Here is the JSON:", a label, a greeting, an offer to help, in six languages, and marks of Markdown and of chat
templates. With any other word the answer is asked for again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_NOUN = (
    r"(?:json|objects?|answers?|response|reply|results?|outputs?|judge?ments?|verdict|assessment|evaluation|opinion"
    r"|lessons?|strateg(?:y|ies)|items?|memory|memories|choice|selection|claims?|decision|conclusion|rating|ruling"
    r"|findings?|appraisal|analysis)"
)
_ADJECTIVE = (
    r"(?:final|requested|required|structured|valid|complete|corrected|single|raw|formatted|revised|merged|full"
    r"|overall|following)"
)
_MATERIAL = r"(?:the|this|your) (?:session|record|material|transcript|task|request|runs?|sources|memories|conversation)"
_OF_THE_SESSION = r"(?:the|this) (?:session|run|conversation|task)"
_TAIL = (
    rf"(?: for {_MATERIAL}| in (?:the )?(?:requested |required |right |correct )?(?:json )?format"
    rf"| as (?:requested|asked|(?:a |one )?(?:single )?(?:valid )?json(?: object)?)| with (?:my|the) {_NOUN}"
    r"|(?: that)? (?:follows|matches) the schema|(?: following| matching| according to) the schema"
    r"| you (?:asked for|requested|need))*"
)
_OPINION = r"(?:judge?ment|verdict|assessment|evaluation|opinion|rating|appraisal|analysis)"
_ENGLISH = (
    r"sure(?: thing)?|certainly|of course|okay|ok|all ?right|understood|got it|absolutely|gladly|great|hello|hi",
    r"thanks?(?: you)?|happy to help|as (?:requested|asked)|done|end(?: of (?:json|answer|output|response))?",
    rf"i(?: have|'ve)?(?: now)?(?: carefully)? (?:reviewed|read|analy[sz]ed|checked|evaluated) {_MATERIAL}"
    r"(?: carefully)?",
    r"(?:based on|after)(?: (?:a|my|the))?(?: careful)?"
    rf"(?: (?:review|reading|analysis|evaluation|reviewing|analy[sz]ing))?(?: of)? {_MATERIAL}",
    r"(?:(?:here|below|this|that|the following|following)(?:'s| is| are)? )?(?:(?:the|my|your|an?|one) )?"
    rf"(?:{_ADJECTIVE} )*{_NOUN}(?:[ -]{_NOUN})*{_TAIL}(?: (?:is )?(?:below|as follows|follows|is|are))?",
    rf"(?:(?:here|below)(?:'s| is| are) )?(?:(?:the|my) )?(?:{_ADJECTIVE} )*{_OPINION} (?:of|on)"
    rf" {_OF_THE_SESSION}{_TAIL}",
    rf"(?:here(?:'s| is| are) )?(?:the |one |two |three )?(?:lessons?|strateg(?:y|ies)) from {_OF_THE_SESSION}",
    r"(?:here|below)(?: (?:it|you|they))?(?: (?:is|go|goes|are))|here it comes|assistant",
    r"(?:const|let|var|return|print)(?: (?:final )?(?:answer|result|output|response))?",
    r"(?:i )?(?:answer|respond|reply) (?:as follows|with the following|with this)",
)
_CLOSING = (
    r"(?:i )?hope (?:this|that|it) helps(?: you)?|(?:does|did) (?:this|that|it) help(?: you)?",
    r"that(?: is|'s) (?:all|it)",
    r"(?:please )?let me know(?: if (?:you|there)(?: have| need| want| is| are| would like)?(?: anything| any)?"
    r"(?: else| more| other| further)?(?: questions?| details?| clarifications?| help| information| assistance)?)?",
    r"(?:please )?feel free to (?:ask|reach out)"
    r"(?: if you (?:have|need) (?:any|more|further) (?:questions?|help|details?))?",
    r"is there anything else(?: (?:you need|i can (?:do|help)(?: (?:you )?with)?))?",
    r"(?:can|may) i help with anything else",
)
_OTHERS = (
    r"gerne?|natürlich|klar|selbstverständlich|verstanden|in ordnung|wie gewünscht",
    r"(?:ich )?hoffe|das hilft(?: dir| ihnen)?",
    r"(?:(?:hier|nachfolgend|unten|das|dies)(?: (?:ist|sind|kommt|folgt))? )?"
    r"(?:(?:das|die|der|mein|meine|ihre?|eine?) )?(?:(?:gewünscht|angefordert|endgültig|fertig|folgend)e[srn]? )*"
    r"(?:json|json-objekt|antwort|ergebnis(?:se)?|urteil|bewertung|objekt|ausgabe|json-antwort|lehren|strategien"
    r"|beurteilung|einschätzung|einstufung|entscheidung|auswertung|analyse|fazit|schlussfolgerung|meinung)"
    r"(?: (?:der|dieser|zur|zu dieser) (?:sitzung|aufgabe|ausführung))?"
    r"(?: (?:im json-format|als json|wie gewünscht|lautet|folgt|wie folgt))*",
    r"bien sûr|d'accord|certainement|très bien|entendu|j'espère que cela (?:aide|vous aide)",
    r"(?:(?:voici|voilà|ci-dessous) )?(?:(?:le|la|les|mon|ma|mes|votre|un|une|l') ?)?(?:objet |réponse |résultat )?"
    r"(?:json|réponse|résultats?|verdict|jugement|évaluation|objet|sortie|leçons|stratégies|appréciation|avis|décision"
    r"|conclusion|analyse|opinion)(?: (?:de (?:la|cette) session|sur (?:la|cette) session))?"
    r"(?: (?:demandée?s?|finale?|au format json|en json|attendue?))*",
    r"claro(?: que sí)?|por supuesto|de acuerdo|entendido|espero que (?:esto )?(?:te |le )?ayude",
    r"(?:(?:aquí|a continuación|este|esta)(?: (?:está|están|tiene|tienes|es))? )?"
    r"(?:(?:el|la|los|las|mi|su|tu|un|una) )?(?:objeto |respuesta )?"
    r"(?:json|respuesta|resultados?|veredicto|juicio|evaluación|objeto|salida|lecciones|estrategias|valoración|opinión"
    r"|dictamen|decisión|conclusión|análisis|calificación)(?: (?:de|sobre) (?:la|esta) sesión)?"
    r"(?: (?:solicitad[oa]s?|final|en formato json|en json))*",
    r"好的|当然(?:可以)?|没问题|明白了?|希望(?:这|对您|对你)(?:有所?)?帮助",
    r"(?:(?:以下|下面|这|如下|这里)(?:就?是|为)?)?(?:我的|您要的|所需的?|最终的?|完整的?|符合要求的?)?"
    r"(?:json|答案|结果|回答|输出|判断|评估|评价|评判|判定|意见|决定|分析|结论|裁决|经验|策略|对象|格式|数据|的)+(?:如下)?",
    r"はい|承知(?:いた)?しました|わかりました|もちろん(?:です)?|お役に立てば幸いです",
    r"(?:(?:以下|こちら|次|これ)(?:が|は|に|の)?)?(?:私の|最終的な|ご要望の|最終)?"
    r"(?:json|回答|結果|答え|判定|判断|意見|見解|結論|裁定|分析|出力|評価|教訓|戦略|オブジェクト|形式|の)*"
    r"(?:です|となります|を示します|になります|は以下の通りです)?",
)
_APOLOGY = re.compile(
    r"\A\s*(?:(?:my |i )?apolog(?:y|ies|i[sz]e)|(?:i'm |i am )?sorry)"
    r" for (?:the|my)(?: previous| earlier)? (?:mistake|confusion|error|invalid json|formatting|inconvenience)[.,!]",
    re.IGNORECASE,
)
"""Before an answer it excuses the one before; behind it, it would take it back."""
_CLOSES = re.compile("|".join(f"(?:{each})" for each in _CLOSING))
_PRESENTS = re.compile("|".join(f"(?:{each})" for each in (*_ENGLISH, *_CLOSING, *_OTHERS)))

_FENCE = re.compile(
    r"(?:```+|~~~+)[ \t]*(?:json[5cl]?|javascript|js|text|txt|plaintext|python|output|answer|typescript|ts)?(?![\w~])"
)
_TAG = re.compile(
    r"</?(?:answer|final|final_answer|json|output|response|result|tool_calls?|function_calls?|assistant|message|s"
    r"|judge?ment|opinion|end_of_turn|start_of_turn)/?>"
    r"|<\|/?(?:im_end|im_start|eot_id|eom_id|end|endoftext|end_of_text|begin_of_text|assistant|start_header_id"
    r"|end_header_id|channel|message|return|call|constrain|python_tag|eos|bos)\|>"
    r"|\[/?(?:INST|TOOL_CALLS|OUT|ASSISTANT|JSON|ANSWER)\]",
    re.IGNORECASE,
)
_NUMBERED_LINE = re.compile(r"^[ \t]*(?:[-*\u2022]|\d{1,2}[.)])[ \t]*$", re.MULTILINE)
_NUMBERED_LABEL = re.compile(r"(?:lesson|strategy|item|claim) \d{1,2}")
_WORD_IN_BRACES = re.compile(r"\{(\w{1,20})\}")
_MARKS = re.compile(r"[*_`#=}\])\u200b\ufeff]|(?<!\w)[-\u2013]+|[-\u2013]+(?!\w)|\((?=\s*$)", re.MULTILINE)
_STOPS = ".,;:!?\n\u3002\uff0c\uff1a\uff01\uff1f\uff1b\u2014"
_ASKS, _EXCLAIMS, _INTRODUCES = frozenset("?\uff1f"), frozenset("!\uff01"), frozenset(":\uff1a\n")
_CLAUSE = re.compile(rf"([^{_STOPS}]*)(!+|[{_STOPS}]|\Z)")
_QUOTED_WHOLE = frozenset({"''", '""', "\u201c\u201d"})
_FRACTION = re.compile(r"(?<=\d)[.,](?=\d)")


def only_presents(before: str, behind: str, answered: Mapping[str, object]) -> bool:
    """Return whether the words beside an answer say nothing but that here is the answer.

    Args:
        before: The words before the JSON.
        behind: The words behind it, and between its parts.
        answered: What the answer says, by its names: a sentence that says the same once more is harmless.
    """
    beside = f"{_APOLOGY.sub('', before)}\n{behind}"
    plain = _NUMBERED_LINE.sub("", _TAG.sub("\n", _FENCE.sub("\n", beside)))
    plain = _WORD_IN_BRACES.sub(r"\1", plain).replace("\u2019", "'")
    plain = _FRACTION.sub("\u00b7", _MARKS.sub(" ", plain).casefold())
    if "".join(plain.split()) in _QUOTED_WHOLE:
        return True
    again = _repeated(answered)
    pending = ""
    for clause, mark in _CLAUSE.findall(plain):
        words = " ".join(clause.split())
        if not words:
            if mark in _ASKS or mark[:1] in _EXCLAIMS:
                return False
            continue
        said, pending = f"{pending} {words}".strip(), ""
        if mark in _ASKS:
            if not _CLOSES.fullmatch(words):
                return False
        elif said in again or _NUMBERED_LABEL.fullmatch(words):
            continue
        elif mark in _INTRODUCES and any(each.startswith(f"{words} ") for each in again):
            pending = words
        elif not _PRESENTS.fullmatch(words):
            return False
    return True


def _repeated(answered: Mapping[str, object]) -> frozenset[str]:
    """Return sentences that say what an answer's short fields say."""
    said = set()
    for name, value in answered.items():
        if isinstance(value, (str, int, float)) and len(str(value).split()) <= 2:
            key, word = name.replace("_", " ").casefold(), _FRACTION.sub("\u00b7", str(value).casefold())
            said |= {f"{start}{key}{link} {word}" for start in ("", "the ", "my ", "final ") for link in ("", " is")}
    return frozenset(said)


_DISSENT = re.compile(
    r"\b(?:not|no|never|cannot|\w+n't|but|however|wrong|incorrect|false|fake|instead|actually|rather|except|ignor\w+"
    r"|inject\w*|correct(?:ion|ed)|mistake\w*|should|would|quot\w+|example|real|disregard\w*|retract\w*|revis\w+"
    r"|reject\w*|invalid|nicht|kein\w*|nein|aber|falsch\w*|sondern|ne|pas|non|mais|faux|pero|falso|sino)\b"
    r"|[不没但非错否]|ない|ません|しかし|違",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"correct(?:ion|ed)|(?<!f)actual|retract|overrid|inject|quot|ignore|disregard|wrong|invalid|reject|disagree|instead"
    r"|however|revised|untrue|false|notmy|realverdict|trueverdict|dissent|withdrawn|fromrecord|claimedby"
)
_UNREAL = (
    r"(?:placeholders?|dummy|dummies|samples?|drafts?|templates?|mock(?:ed|-?ups?)?|fictional|fictitious|illustrative"
    r"|hypothetical|provisional|tentative|made[ -]up|lorem ipsum|platzhalter|beispiel(?:e|werte?)?|entwurf|vorläufig"
    r"|erfunden|exemples?|brouillon|fictives?|factices?|provisoires?|espaces? réservés?|ejemplos?|borrador|ficticios?"
    r"|marcadores de posición|provisionales|占位符?|示例|例子|草稿|样例|プレースホルダー?|ダミー|サンプル|下書き|見本"
    r"|仮の値)"
)
"""Words for what is written only to show how it would look."""
_VALUES = r"(?:values?|json|werte?|valeurs?|valores|值|値)"
_ANSWER = (
    r"(?:answers?|objects?|outputs?|response|result|reason|verdict|numbers?|fields?|entries|antwort|objekt|ausgabe"
    r"|angaben|zahlen|réponse|objet|sortie|respuesta|objeto|salida|回答|答案|对象|结果|输出|内容|答え|オブジェクト|出力)"
)
_THIS = (
    r"(?:this|these|my|the above|above|diese[rs]?|meine|obige|cette|ces?|ma|mes|est[aeo]s?|mis?|这些|这个|该|此|本|以上"
    r"|上述|この|これらの|上記の)"
)
_ALL = r"(?:(?:all|the|alle|die|toutes|tous|les|todos|los|所有|すべての)\s*)*"
_OURS = rf"(?:(?:{_THIS}\s*)?{_ALL}{_VALUES}|{_THIS}\s*{_ALL}{_ANSWER})"
"""The answer itself: "the answer" and "the result" alone may be what the session brought."""
_MERELY = (
    r"(?:is|are|was|were|only|just|merely|all|both|an?|the|ist|sind|nur|bloß|lediglich|alle|ein|eine|sont|est|n'est"
    r"|des|qu'un|que|seulement|juste|un|une|son|es|solo|sólo|solamente|todos|de|只是|仅为|仅是|都是|均为|是|为|仅|只|一个"
    r"|は|が|すべて|単なる|ただの|format|here|above|below)"
)
_ASKS_TO_IGNORE = (
    r"(?:please |bitte |veuillez |por favor,? |请)?"
    r"(?:ignor(?:e|ieren?|ez|er|a|en|ar)|disregard|discard|do not use|忽略|不要使用) ?(?:sie )?"
    rf"(?:{_THIS}|the|die|das|la|le|el)? ?(?:(?:above|whole|entire|previous) )?(?:{_VALUES}|{_ANSWER})"
    r"|(?:diese )?antwort (?:bitte )?ignorieren"
    r"|(?:この|本)?(?:回答|答え|json|出力)(?:は|を)?(?:無視|使用しない)"
)
_FORMAT_EXAMPLE = (
    r"(?:it is |only |just |merely |nur |lediglich )*(?:an? |ein |un |une )?"
    r"(?:example|sample|beispiel|exemple|ejemplo) (?:of|for|für|des|du|de|del) (?:the |das |le |el )?(?:json[ -]?)?"
    r"(?:output |answer |ausgabe)?(?:formats?|schema|structure|estructura|formato|json)"
    r"|(?:仅供|只是|仅为)?(?:格式|输出格式)(?:的)?(?:示例|例子|参考)|仅供参考|形式の(?:例|見本|サンプル)"
)
_WITHDRAWS = re.compile(
    r"(?:\A|[.!?;,(\[\n\u3002\uff01\uff1b\uff0c]|\bnote(?: that)?:?)[\s\W]*"
    r"(?:note(?: that)?:? |hinweis: ?|nota: ?|注意[:\uff1a]?)?"
    rf"(?:{_ASKS_TO_IGNORE}|{_FORMAT_EXAMPLE}"
    rf"|{_OURS}\s*(?:{_MERELY}\s*)+(?:{_UNREAL}|(?:for |as )?(?:an )?(?:example|illustration)"
    r"|to be (?:ignored|replaced|filled in)|not (?:real|final|my (?:real )?(?:answer|verdict))))",
    re.IGNORECASE,
)
_ONLY_UNREAL = re.compile(
    rf"\W*(?:(?:an?|the|only|just|ein|un|une|insert|your|some)\s+)*(?:{_UNREAL}|example|todo|tbd|to be filled in)"
    r"(?:\s+(?:text|values?|reason|answer|only|output|json|data|format|here))*\W*",
    re.IGNORECASE,
)
_THIS_FIRST = re.compile(
    r"\A\W*(?:(?:this|these|it|the following|that|dies|das|diese[rs]?|es|hier|ceci|cela|ce|c'|voici|esto|este|eso|esta"
    r"|这|此|以下|これ|以下|それ)\W*\s*(?:\w+\W?\s+)?)?"
    r"(?:(?:is|are|ist|sind|n'est|est|es|son|只是|仅是|是|仅为|为|は|only|just|merely|nur|bloß|lediglich|qu'un|que|sólo|solo"
    r"|simplemente|an?|ein|eine|un|une|一个|这|simple|mere|単なる|ただの)\W*\s*){1,5}"
    r"(?:examples?|sample|draft|template|placeholder|dummy|mock|illustration|test|beispiel\w*|entwurf|vorlage"
    r"|platzhalter|exemple|brouillon|modèle|ejemplo|borrador|plantilla|示例|例子|草稿|模板|占位符|样例|例|見本|サンプル|下書き"
    r"|テンプレート|プレースホルダ)(?:\s+(?:answer|response|text|reason(?:ing)?|output|json|values?|antwort))?"
    r"\s*(?:[.,;:!\u3002\uff0c\u3001)]|\Z|です|に過ぎ|でしか|だ)",
    re.IGNORECASE,
)
"""The first thing that is said: nothing stands before it that "this" could mean but the answer."""
_UNREAL_KEY = re.compile(
    r"(?:is|as|only|just)*(?:an?)?(?:placeholder|dummy|draft|template|mock|illustration|illustrative|hypothetical"
    r"|provisional|tentative|example|sample)s?(?:only|values?|answer|data|output|json)?"
)
_SHORT = 5
_VALID = re.compile(r"valid|accept|agree|correct|mine|own|final|true")


_LABEL = re.compile(
    r"(?:my|the|short|brief|detailed|final|key|additional|supporting|main|overall|step|task|session|agent|user|tool"
    r"|judge?ment|verdict|lesson|strategy|item|memory|json)*"
    r"(?:explanations?|rationales?|reasons?|reasoning|analys[ie]s|thoughts?|thinking|summary|justifications?|evidence"
    r"|details?|why|basis|context|background|observations?|findings?|steps?|criteria|checks?|confidence|certainty|ids?"
    r"|uuid|type|names?|titles?|model|date|time|timestamp|lang(?:uage)?|format|version|role|schema|session|task|goal"
    r"|agent|user|domain|categor(?:y|ies)|topics?|tags?|keywords?|labels?|severity|priority|impact|scope|run|index"
    r"|number|tool|function|required|additionalproperties|description|content|strateg(?:y|ies)|lessons?|items?"
    r"|insights?|conditions?|triggers?|whentouse|actions?|rules?|causes?|rootcause|effects?|consequences?|outcome"
    r"|begründung(?:en)?|erklärung|analyse|zusammenfassung|belege?|sprache|titel|schritte?|aufgabe|sitzung"
    r"|explication|justification|résumé|preuves?|langue|titre|étapes?|tâche|explicación|justificación|resumen|análisis"
    r"|evidencias?|idioma|título|pasos?|tarea|razón"
    r"|解释|理由|说明|分析|总结|依据|证据|语言|标题|步骤|任务|原因|説明|要約|根拠|言語|タイトル|手順|タスク)\d*"
)
"""Names of what explains or labels an answer. What stands under any other name may be about the answer itself."""


def plain_key(key: str) -> str:
    """Return the name of a field in small letters and without marks, as all its spellings have it."""
    return re.sub(r"[\W_]", "", key.casefold())


def is_label(key: str, names: Collection[str] = ()) -> bool:
    """Return whether a further key of an answer explains or labels it, so that a text may stand there.

    Args:
        key: The key, in small letters without marks.
        names: The answer's own keys, of which such a key may say more.
    """
    own = next((name for name in sorted(names, key=len, reverse=True) if key.startswith(name)), "")
    return _LABEL.fullmatch(key.removeprefix(own) or key) is not None


_HARMLESS_FLAG = re.compile(
    r"(?:is|json|schema|answer|verdict|format)*"
    r"(?:valid|final|complete|completed|confident|certain|verified|checked|ok|okay|done|accepted|correct|finished|high"
    r"|medium|low|met|strict|stream|readonly|usedtools?)(?:answer|json|format|schema)?"
)
"""Names under which "true" says nothing against an answer."""


def flags(key: str, value: object) -> bool:
    """Return whether a further key of an answer sets a flag that may take it back, itself or inside of it.

    Which words do so is no whole list in any language; so "true" may stand only under names that are known.

    Args:
        key: The key.
        value: Its value.
    """
    if isinstance(value, Mapping):
        return any(flags(str(name), each) for name, each in value.items())
    if isinstance(value, list):
        return any(flags(key, each) for each in value)
    plain = plain_key(key)
    return value is True and not (_HARMLESS_FLAG.fullmatch(plain) or is_label(plain))


def withdraws(text: str) -> bool:
    """Return whether a text of an answer says of the answer itself that it is an example, a draft or to be ignored.

    Only a sentence about the answer says so: that a session's values were placeholders is a finding.
    """
    return _ONLY_UNREAL.fullmatch(text) is not None or any(each.search(text) for each in (_WITHDRAWS, _THIS_FIRST))


def takes_back(key: str, value: object, others: Collection[str] = ()) -> bool:
    """Return whether a further key of an answer says that the answer is another one.

    Args:
        key: The key, in small letters without marks.
        value: Its value.
        others: Words of closed lists that the answer has not chosen.
    """
    if value is None or value in ("", [], {}):
        return False
    if _TAKEN_BACK.search(key) or _UNREAL_KEY.fullmatch(key):
        return value is not False
    if value is False:
        return _VALID.search(key) is not None
    if isinstance(value, (Mapping, list)):
        inside = value.values() if isinstance(value, Mapping) else value
        return any(isinstance(each, str) and withdraws(each) for each in inside) or (
            bool(others) and any(takes_back("", each, others) for each in inside)
        )
    if not isinstance(value, str):
        return False
    if withdraws(value):
        return True
    plain = " ".join(value.casefold().replace("_", " ").split())
    short = len(plain.split()) <= _SHORT
    said = r"(?<!\w)" if short else r"\b(?:verdict|answer|judge?ment|result)\b[^.]{0,40}\b"
    return (short and _DISSENT.search(plain) is not None) or any(
        re.search(said + re.escape(each) + r"\b", plain) for each in others
    )
