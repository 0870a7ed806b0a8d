"""Tell whether what a person said last accepts the work, where it is not a plain verdict.

A message after which nothing was done is the only sign of what the person saw. It accepts the work when it is nothing
but thanks, praise or agreement, when it says that something is right, and when it goes on to other work: who asks for
the next thing, or asks how it is used, has usually taken the last one. Everything else may be a complaint about what is
seen ("the page is blank now"), and in a language that is not known here anything may be: it leaves the end open. A wish
to change the same thing again (*fix*, *check*, *put back*) and a question why something is as it is are not new work.

Known are English, German, French, Spanish, Italian, Portuguese, Dutch, Chinese and Japanese.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from reasoningbank.sessions.commands import only_reads, vocabulary
from reasoningbank.sessions.replies import plain_words
from reasoningbank.types.session import Step

_GOOD = vocabulary(
    "thanks thank thx ty cheers appreciate appreciated great perfect nice cool awesome excellent wonderful fantastic "
    "brilliant amazing super sweet good fine correct right lgtm ok okay yes yep yeah yup sure works worked "
    "working match "
    "matches matched passes passed pass green approved approve merging merged ship done bye goodbye happy "
    "solved resolved "
    "lovely neat clean sense cheers understood agreed exactly exit quit alright confirmed better love beautiful "
    "danke dank dankeschon dankeschoen prima toll klasse gut perfekt wunderbar einverstanden stimmt passt "
    "richtig korrekt "
    "funktioniert klappt lauft laeuft ja tschuss fertig spitze hervorragend genau "
    "merci parfait genial bien bon bravo impeccable nickel oui correct juste marche fonctionne accord exact termine "
    "gracias perfecto genial vale bien bueno estupendo excelente correcto si funciona listo exacto "
    "grazie perfetto ottimo bene bravo giusto corretto funziona eccellente fatto esatto "
    "obrigado obrigada perfeito otimo bom legal certo correto funciona sim valeu pronto exato "
    "bedankt dankjewel mooi goed prachtig klopt werkt juist oke top akkoord uitstekend"
)
"""Words that accept, alone or in an agreement."""
_FILLER = vocabulary(
    "a the it that this that's it's its i i'm i've we you your is are was looks look looking seems sounds to me "
    "us for of "
    "on my our end side machine here locally so very much really all both everything everyone now finally again "
    "too also "
    "just as expected intended wanted asked what help work job well great and with at well will do does can go "
    "let's in ah oh makes make "
    "one today lot ton many as always quick quickly has have been be charm like had no-one from "
    "dir ihnen euch es das der die ist sind sieht sehen schon aus mir alles jetzt nun so wie gewunscht "
    "gewuenscht erwartet vielen fur fuer "
    "sehr gute arbeit deine hilfe bei und auch endlich wieder "
    "c'est ca cela tout le la les est sont me semble maintenant beaucoup tres pour ton votre aide travail comme "
    "prevu et "
    "enfin a l'air d' vous te "
    "te os eso esto todo el los las esta estan muy mucho muchas por tu su ayuda trabajo como esperaba ahora y "
    "me parece ya "
    "ti vi questo quello tutto il lo gli e sono molto mille per il tuo aiuto lavoro come previsto ora adesso mi "
    "sembra "
    "isso isto tudo o os as esta estao muito pela sua ajuda trabalho como esperado agora e parece "
    "het dat dit alles de is zijn ziet er uit heel erg je wel voor hulp werk zoals verwacht nu en"
)
"""Words that may stand beside them and say nothing by themselves."""
_ARTICLES = vocabulary(
    "the all both my our every der die das alle mein unsere le la les l' tous toutes el los las todos todas il "
    "lo i gli le "
    "tutti tutte o os a as de het"
)
_MOST_NAMED = 4
"""Most words that name what is right."""
_EVERYTHING = re.compile(
    r"^(?:now |jetzt |maintenant |ahora |ora |agora |nu )?"
    r"(?:everything|all|alles?|tout|tous|todos?|tutto|tutti|tudo|全部|都|すべて|全て)"
)
"""What says of everything how it is."""
_TROUBLE = re.compile(
    r"\b(?:not|no|nor|never|nothing|none|nobody|without|cannot|still|again|yet|instead|back|wrong\w*|worse"
    r"|missing|lost|gone"
    r"|blank|empty|broken|broke|breaks?|error\w*|bugs?|fail\w*|crash\w*|problem\w*|issues?|why|but|however"
    r"|though|although"
    r"|except|only|supposed|expected|same|old|anymore|longer|slow\w*|strange|weird|odd|incorrect\w*|bad\w*|undo"
    r"|revert|stop"
    r"|instead|properly|unfortunately|too|actually)\b|n't\b"
    r"|\b(?:nicht\w*|kein\w*|nie|ohne|noch|wieder|falsch\w*|kaputt|fehl\w*|leer\w*|weg|warum|wieso|weshalb|aber"
    r"|jedoch|statt"
    r"|schlechter|schlimmer|zuruck|zurueck|leider|nur|problem\w*|abstu\w*)\b"
    r"|\b(?:pas|plus|rien|aucun\w*|jamais|sans|encore|toujours|faux|fausse|vide\w*|casse\w*|erreur\w*|pourquoi"
    r"|mais|sauf|pire"
    r"|disparu\w*|manqu\w*|malheureusement|probleme\w*)\b|\bn'"
    r"|\b(?:nada|nunca|ningun\w*|sin|todavia|aun|sigue\w*|mal|roto|rota|vaci[oa]s?|falt\w*|fall\w*|pero|salvo"
    r"|peor|mismo|misma"
    r"|por que|problema\w*)\b"
    r"|\b(?:non|niente|nessun\w*|mai|senza|ancora|sbagliat\w*|rott[oa]|vuot[oaie]|errore|errori|perche|ma"
    r"|tranne|peggio|manca\w*"
    r"|purtroppo|stess[oa])\b"
    r"|\b(?:nao|nenhum\w*|sem|ainda|errad\w*|quebrad\w*|vazi[oa]s?|erros?|mas|exceto|pior|mesm[oa]|sumiu"
    r"|infelizmente)\b"
    r"|\b(?:niet\w*|geen|nooit|zonder|nog|weer|fout\w*|kapot|leeg|leeg\w*|waarom|maar|behalve|slechter|zelfde"
    r"|helaas|weg)\b"
    r"|[不没无未]|还是|仍|又|错|空白|但|可是|为什么|怎么会|失败|坏|旧"
    r"|ない|ません|なく|まだ|また|違|間違|空|失敗|エラー|壊|なぜ|どうして|けど|しかし|でも|消え|おかしい|変です|古い"
)
"""Words beside which nothing is taken as acceptance: what is denied, missing, wrong, old, or set against something."""
_COURTESY = (
    r"(?:(?:please|pls|now|next|then|also|and|so|ok|okay|great|thanks|thank you|perfect|nice|cool|good|yes|sure"
    r"|alright|fine"
    r"|lgtm|looks good|could you|can you|would you|will you|you can|you may|let's|lets|let us|go ahead and"
    r"|i want you to"
    r"|i'd like you to|i would like you to|we can|finally|after that|as a next step|next step|bitte|jetzt|nun"
    r"|dann|noch|auch"
    r"|danke|super|gut|als nachstes|als naechstes|kannst du|konntest du|koennen sie|s'il te plait"
    r"|s'il vous plait|maintenant"
    r"|ensuite|aussi|et|merci|parfait|peux-tu|tu peux|pouvez-vous|pourrais-tu|por favor|ahora|luego|tambien|y|gracias"
    r"|perfecto|puedes|podrias|per favore|ora|adesso|poi|anche|e|grazie|perfetto|puoi|potresti|agora|depois"
    r"|tambem|obrigad[oa]"
    r"|perfeito|pode|podes|poderia|alsjeblieft|graag|nu|daarna|ook|en|bedankt|kun je|kan je|wil je"
    r"|zou je)\b[,.:! -]*)*"
)
_NEW_WORK = re.compile(
    rf"^{_COURTESY}(?:"
    r"(?:add|create|write|implement|document|commit|push|merge|release|publish|deploy|tag|bump|rename|extract"
    r"|squash|rebase"
    r"|continue|proceed|go ahead|go on|carry on|move on|explain|show me how|describe|summari[sz]e|translate"
    r"|extend|port|open an?"
    r"|draft|tell me how|list|do the same (?:for|in|with)|next|ship|close|start with|begin|prepare|generate"
    r"|set up|upgrade)\b"
    r"|(?:we|i) (?:also|next|now also) (?:need|want|have)\b|(?:another|one more|next) (?:thing|task|step|request)\b"
    r"|(?:fuge|fuege|erganze|ergaenze|schreib\w*|erstell\w*|dokumentier\w*|commit\w*|push\w*|merge|veroffentlich\w*"
    r"|veroeffentlich\w*|benenn\w*|mach weiter|weiter mit|fahr\w* fort|erklar\w*|erklaer\w*|beschreib\w*|ubersetz\w*"
    r"|uebersetz\w*|leg\w* an)\b"
    r"|(?:ajoute\w*|ecri[st]\w*|ecrivez|cree\w*|documente\w*|commite\w*|pousse\w*|fusionne\w*|publie\w*"
    r"|renomme\w*|continue\w*"
    r"|poursui\w*|passe\w* a|explique\w*|decri\w*|tradui\w*)\b"
    r"|(?:anad[ei]\w*|agreg\w*|escrib\w*|crea\w*|documenta\w*|haz (?:el |un )?(?:commit|push)|sube\w*"
    r"|fusiona\w*|publica\w*"
    r"|renombra\w*|continua\w*|sigue con|explica\w*|describe\w*|traduc\w*)\b"
    r"|(?:[\w'-]+ ){1,8}(?:schreiben|hinzufugen|hinzufuegen|erganzen|ergaenzen|anlegen|erstellen|committen"
    r"|pushen|mergen"
    r"|dokumentieren|veroffentlichen|veroeffentlichen|umbenennen|weitermachen|toevoegen|schrijven|aanmaken)$"
    r"|(?:aggiung\w*|scriv\w*|crea\w*|documenta\w*|committa\w*|pubblica\w*|rinomina\w*|continua\w*|procedi\w*"
    r"|spiega\w*"
    r"|descriv\w*|traduc\w*|passa a)\b"
    r"|(?:adicion\w*|acrescent\w*|escrev\w*|crie|cria\w*|documente\w*|faca (?:o |um )?(?:commit|push)"
    r"|publique\w*|renomei\w*"
    r"|continue\w*|prossiga\w*|explique\w*|descrev\w*|traduz\w*)\b"
    r"|(?:voeg\w*|schrijf\w*|documenteer\w*|publiceer\w*|hernoem\w*|ga (?:door|verder)|leg\b.*\buit"
    r"|beschrijf\w*|vertaal\w*"
    r"|maak (?:een|ook))\b"
    r")"
    r"|^(?:好的?[, ]*|谢谢[, ]*|请|现在|接下来|下一步|然后|再|帮我)*(?:添加|加(?:上|一个)|写|创建|提交|推送"
    r"|合并|发布|继续|解释|说明|介绍|重命名|翻译|补充|生成)"
    r"|(?:追加|作成|コミット|プッシュ|マージ|公開|説明|翻訳|リリース|続行)(?:も)?(?:し|を)?(?:て|お願い)|書いて"
    r"|作って|続けて|進めて|教えて"
)
"""Wishes that begin other work."""
_ASKS = re.compile(
    r"^(?:[\w']+[,!.] )?(?:(?:can|could|would|will|shall|should|may) (?:you|we|i)\b|how (?:do|can|could|would"
    r"|should) (?:i|we|you)\b"
    r"|what (?:does|do|is|are|would)\b|which\b|do (?:you|we|i)\b|does (?:it|this) also\b|is (?:it|there)\b|are there\b"
    r"|(?:and )?what about\b|why did you (?:use|choose|pick|prefer|go)\b"
    r"|(?:kannst|konntest|koenntest|konnen|koennen|wurdest|wuerdest|soll|sollen|wie|was (?:macht|ist|bedeutet)"
    r"|welche\w*|gibt es)\b"
    r"|(?:peux|pouvez|pourrais|pourriez|peut-on|comment|que fait|qu'est-ce que|quel\w*|faut-il|dois-je|y a-t-il)\b"
    r"|(?:puedes|podrias|puede|podemos|como|que (?:hace|es|significa)|cual\w*|debo|hay)\b"
    r"|(?:puoi|potresti|possiamo|come|(?:che )?cosa (?:fa|e)|quale|quali|devo|c'e)\b"
    r"|(?:pode|podes|poderia|podemos|como|o que (?:faz|e)|qual|quais|devo|ha)\b"
    r"|(?:kun|kan|kunt|zou|zullen|hoe|wat (?:doet|is|betekent)|welke|moet|moeten|is er)\b"
    r"|(?:能|可以|可否|能否|如何|怎么(?:用|运行|做)|什么是|哪|要不要|你能))"
    r"|(?:(?:くれ|もらえ|いただけ|でき)ます|どうやって|何です|どれです|とは何)"
)
"""Questions that ask for more, for leave, or how something is used."""
_ASKED = re.compile("(?:[?\uff1f]|\u5417\u3002?|\u304b\u3002?)$")
_EAST_GOOD = re.compile(
    "(?:(?:非常|太)?(?:感谢|谢谢)(?:你|您|啦|了)?|多谢|辛苦了|(?:太|很|真)?(?:好|棒|完美)(?:了|的|啊|极了)?"
    "|可以(?:了|的)?|没问题(?:了)?|不错|行|是的|对(?:的|了)?|嗯|看起来|现在|都|一切|正常(?:了)?|就是这样"
    "|(?:どうも|本当に|大変)?ありがとう(?:ございます|ございました)?|助かりました|完璧(?:です)?|いいです(?:ね)?"
    "|良い(?:です)?(?:ね)?|素晴らしい(?:です)?|大丈夫(?:です)?|問題(?:ありません|ないです|なし)|はい"
    "|了解(?:です|しました)?|お疲れ様(?:です|でした)?|バッチリ(?:です)?|です|ね|よ|これで)+"
)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^\s*(?:>|\||\$ ).*$", re.MULTILINE)
_SENTENCE = re.compile("(?:[^.!?;\n\u3002\uff01\uff1f\uff1b]|[.](?=\\w))+[.!?;\u3002\uff01\uff1f\uff1b]*")
_CLAUSE = re.compile(r"[,:\u3001\u3002!.;()]+|\s+-+\s+|\uff0c")
_WORD = re.compile(r"[^\W_][\w'-]*")
_EAST = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_NO_LETTER = re.compile(r"[^\w]*")
_HARMLESS = re.compile(
    r"\b(?:no (?:problem|worries|thanks|further|more questions)|nothing else|kein problem|pas de probleme"
    r"|(?:no, )?that(?:'s| is) (?:all|it)|why did you (?=use|choose|pick|prefer|go))\b"
)
_IN_A_WISH = re.compile(
    r"noch|nog|weer|same|ancora|too|ainda|aun|empty|error\w*|fail\w*|bugs?|issues?|problem\w*|blank|slow\w*|only|expected"
    r"|incorrect\w*|bad\w*|without|ohne|sans|sin|senza|sem|zonder|leer\w*|fehl\w*|vide\w*|erreur\w*|probleme\w*"
    r"|vaci[oa]s?"
    r"|fall\w*|errore|errori|vuot[oaie]|erros?|vazi[oa]s?|fout\w*|leeg\w*|non|no|plus|空白|空|无|失败|失敗|エラー"
)
"""Words for a fault that may also say what the new work is about: a test for empty input, a page for errors."""
_MAX_TEXT = 4_000


_ALSO = vocabulary("noch nog ancora too ainda aun")
"""Words for more of the same that also say that a fault goes on."""


def last_message(steps: Sequence[Step]) -> str:
    """Return what a person said after the last work; empty when they said nothing after it.

    A message after which the agent only looked something up or answered is one after which nothing was done.
    """
    for step in reversed(steps):
        worked = bool(step.action) and not only_reads(step)
        if step.user.strip() and not worked:
            return step.user
        if worked:
            return ""
    return ""


def sentences(text: str) -> list[str]:
    """Return the sentences of a message without what is quoted in it, in small letters."""
    words = plain_words(_QUOTED_LINE.sub("", _FENCED.sub("\n", text[:_MAX_TEXT])))
    if words.lstrip().startswith("/"):
        return []
    found = (" ".join(match[0].split()).strip("*_\"'() ") for match in _SENTENCE.finditer(words))
    return [sentence for sentence in found if not _NO_LETTER.fullmatch(sentence)]


def unaccepted(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a message that do not accept the work, and whether each names a fault."""
    going_on = False
    for sentence in sentences(text):
        fault = _TROUBLE.search(sentence) is not None
        if _goes_on(sentence):
            going_on = True
        elif not accepts(sentence) and not (going_on and not fault and _is_known(sentence)):
            yield sentence, fault


def _goes_on(sentence: str) -> bool:
    """Return whether a sentence asks for other work, or asks something that is about no fault."""
    faults = {match[0] for match in _TROUBLE.finditer(_HARMLESS.sub("", sentence))}
    if faults <= _ALSO and _ASKED.search(sentence) is not None and _ASKS.search(sentence) is not None:
        return True
    clauses = (each.strip() for each in _CLAUSE.split(sentence))
    return all(map(_IN_A_WISH.fullmatch, faults)) and any(map(_NEW_WORK.search, clauses))


def accepts(sentence: str) -> bool:
    """Return whether a sentence says nothing but thanks, praise, agreement, or that something is right.

    Accepts any text.
    """
    words = plain_words(sentence)
    if _ASKED.search(words.strip()):
        return False
    words = _HARMLESS.sub("ok", words)
    clauses = [clause for each in _CLAUSE.split(words) if (clause := each.strip(" \t'\"*_"))]
    return bool(clauses) and all(map(_accepts, clauses)) and any(map(_praises, clauses))


def says_it_is_complete(clause: str) -> bool:
    """Return whether a clause says of everything something that is not a complaint. Accepts any text."""
    words = plain_words(clause).strip()
    return _EVERYTHING.search(words) is not None and _TROUBLE.search(words) is None


def _accepts(clause: str) -> bool:
    if _EAST.search(clause):
        return _EAST_GOOD.fullmatch(clause.replace(" ", "")) is not None
    found = _WORD.findall(clause)
    unknown = [place for place, word in enumerate(found) if word not in _GOOD and word not in _FILLER]
    if not unknown:
        return True
    named = len(unknown) <= _MOST_NAMED and found[0] in _ARTICLES and _TROUBLE.search(clause) is None
    return named and any(word in _GOOD for word in found[unknown[-1] + 1 :])


def _praises(clause: str) -> bool:
    if _EAST.search(clause):
        return True
    return any(word in _GOOD for word in _WORD.findall(clause))


@functools.cache
def _known_words() -> frozenset[str]:
    return frozenset(_GOOD | _FILLER | _ARTICLES)


def _is_known(sentence: str) -> bool:
    """Return whether the sentence is in a language that is read here, as far as its small words tell."""
    return _EAST.search(sentence) is not None or not _known_words().isdisjoint(_WORD.findall(sentence))
