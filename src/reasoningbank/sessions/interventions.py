"""Tell whether a person says that they changed something themselves, so that what the agent did proves nothing.

They say what they have done ("I started the database", "done, I gave you the role"), what was wrong on their side ("my
VPN was off"), how it is now ("the key is there now"), or only that it is to be tried again. What they ask the agent to
do is not an intervention.

The same is read in Spanish, Italian, Portuguese, French, German, Dutch, Chinese and Japanese. A message in a language
that is not known here may say so too, so it counts as an intervention.
"""

from __future__ import annotations

import re

from reasoningbank.sessions.commands import vocabulary

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
_CLAUSE = r"[^.!?\n]"
_SPANISH = re.compile(
    r"\b(?:he|hemos|se han?)\s+(?:ya |tambi[eé]n )?(?!visto|le[ií]do|ejecutado|corrido|probado|mirado|revisado|pensado"
    r"|notado|dicho|encontrado)\w+(?:[aií]do|ierto|uesto|echo|elto)\b|\bacab(?:o|amos) de \w+r(?:l[aeo]s?|te)?\b"
    r"|\b(?:arregl|instal|cambi|repar|reinici|inici|configur|añad|agregu|actualic|activ|cre|borr|elimin|quit|copi"
    r"|mont|conect|levant|arranqu|modifiqu|edit|ajust|corrig|liber|aument|resolv|export|puls|abr|sub)[éí]\b"
    r"|\b(?:puse|hice|te di)\b"
    rf"|\b(?:prueb\w*|prob[ae]\w*|pruéb\w+|int[eé]nt\w+|ejec[uú]t\w+|l[aá]nz\w+){_CLAUSE}{{0,30}}"
    r"\b(?:otra vez|de nuevo|nuevamente|ahora|ya)\b|\breint[eé]nt\w+|\bvuelve a (?:probar|intentar|ejecutar)"
    r"|\bya (?:est[aá]n?|funciona|puedes|tienes|hay|existe|deber[ií]a)\b"
    r"|\bahora (?:s[ií]|ya|deber[ií]a|funciona|puedes|tienes|est[aá]n?)\b|^(?:listo|hecho|arreglado)\b"
)
_ITALIAN = re.compile(
    r"\b(?:ho|abbiamo)\s+(?:già |appena |ora |anche )?(?!visto|letto|eseguito|lanciato|provato|guardato|notato"
    r"|detto|pensato|controllato|trovato)\w+(?:[aiu]to|[trlns]to|so)\b|\b(?:riprova|ritenta|rilancia)\w*"
    rf"|\bprova(?:ci|re)?\b{_CLAUSE}{{0,25}}\b(?:di nuovo|ancora|ora|adesso)\b"
    r"|\b(?:ora|adesso) (?:è|ci|c'è|dovrebbe|funziona|puoi|hai|sono)(?!\w)"
    r"|\bdovrebbe(?:ro)? (?:ora )?(?:funzionare|andare)\b|^(?:fatto|sistemato|a posto)\b"
)
_PORTUGUESE = re.compile(
    r"\b(?:consert|arrum|ajust|mud|alter|troqu|instal|reinstal|reinici|inici|ativ|desativ|adicion|acrescent|coloqu"
    r"|apagu|delet|cri|configur|atualiz|liber|fech|copi|mont|conect|edit|modifiqu|habilit|export|aument|renov|lig"
    r"|deslig|subi|par)ei\b|\b(?:corrigi|removi|resolvi|abri|excluí|fiz|pus|(?:te|lhe) dei)\b"
    r"|\bacab(?:ei|amos) de \w+r\b"
    rf"|\b(?:tent[ae]\w*|rod[ae]|execut[ae]|test[ae])\b{_CLAUSE}{{0,30}}\b(?:de novo|novamente|outra vez|agora)\b"
    r"|\b(?:já|agora) (?:está|estão|funciona|pode|tem|existe|deve|sim|já)(?!\w)"
    r"|^(?:pronto|feito|corrigido)\b"
)
_FRENCH = re.compile(
    r"\b(?:j'ai|je (?:l'|t'|les |vous |lui |leur )ai|(?:nous |on )(?:les |l')?(?:avons|a))\s+(?:déjà |aussi )?"
    r"(?!vu\b|lu\b|lancé|exécuté|essayé|regardé|vérifié|testé|trouvé|remarqué|pensé|dit\b)"
    r"\w+(?:[ée]|is|it|ert|ait|u|i)e?s?\b|\bje viens d(?:e |')\w+|\bc'est (?:bon|corrig|fait|répar|régl|install)"
    rf"|\b(?:r[eé]essa|relanc)\w+|\bessa(?:ie|ye|yez)\b{_CLAUSE}{{0,25}}\b(?:nouveau|encore|maintenant)\b"
    rf"|\bmaintenant\b{_CLAUSE}{{0,30}}\b(?:marche|fonctionne|devrait)"
    r"|\bdevrai(?:t|ent) (?:\w+ )?(?:marcher|fonctionner)"
    r"|\bça (?:marche|fonctionne)\b|^(?:corrigé|réparé|réglé)"
)
_GERMAN = re.compile(
    rf"\b(?:ich hab|hab\w* ich|wir haben|haben wir|hab die|hab den|hab das|hab's)"
    rf"{_CLAUSE}{{0,60}}?\b(?!gesehen|gelesen|"
    r"ausgeführt|geprüft|probiert|ausprobiert|versucht|gedacht|bemerkt|ange(?:schaut|sehen)|gefunden|getestet|gemerkt)"
    r"(?:\w*ge\w{2,}(?:t|en|an)|\w+iert|(?:be|er|ver|ent|zer)\w{2,}(?:t|en))\b"
    r"|\b(?:ist|sind|wurden?)\b[^.!?\n]{0,40}\b(?:behoben|repariert|korrigiert|erledigt|angepasst|gestartet|gesetzt)\b"
    rf"|\b(?:versuch|probier|start|test|mach)\w*\b{_CLAUSE}{{0,25}}\b(?:noch ?mals?|noch einmal|erneut|wieder|jetzt)\b"
    rf"|\bjetzt\b{_CLAUSE}{{0,30}}\b(?:gehen|geht|da|läuft|laufen|klappt|klappen|funktionier\w+)\b"
    rf"|\b(?:sollte|müsste)\w*\b{_CLAUSE}{{0,20}}\b(?:jetzt|nun|wieder)\b|^(?:erledigt|fertig|behoben)\b"
)
_DUTCH = re.compile(
    rf"\b(?:ik heb|heb ik|we hebben|hebben we|heb de|heb het){_CLAUSE}{{0,60}}?\b(?!gezien|gelezen|gedraaid|getest"
    r"|bekeken|gekeken|geprobeerd|gedacht|gevonden|gemerkt)(?:\w*ge\w{2,}(?:d|t|en|an)|(?:ver|her|be|ont)\w{2,}(?:d|t|en))\b"
    r"|\b(?:is|zijn|staat|staan)\b[^.!?\n]{0,40}\b(?:opgelost|hersteld|aangepast|geïnstalleerd|gestart|gerepareerd)\b"
    rf"|\b(?:probeer|draai|start|test)\b{_CLAUSE}{{0,25}}\b(?:opnieuw|nog (?:een|eens)|nogmaals|weer|nu)\b"
    rf"|\b(?:zou|werkt){_CLAUSE}{{0,12}}\b(?:nu|weer)\b|\bnu{_CLAUSE}{{0,15}}\b(?:werkt|werken)\b|^(?:klaar|gedaan)\b"
)
_CHINESE = re.compile(
    r"(?:修(?:复|復|正|好|改)|改|装|裝|安装|安裝|(?:重)?启动|重启|啟動|加|添加|设置|设|設定|配置"
    r"|打开|开|关|删(?:除)?|更新|创建|弄|搞|解决|解決|调整|调|给|换|清理|恢复|授权|连|处理)(?:好|完|上|掉)?了"
    r"|(?:我|已|刚)[^\u3002\uff01\uff1f\n]{0,15}(?:修复|修正|修改|修好|安装|启动|重启|设置|配置|更新|添加|调整|授权|解决|开通|处理)"
    r"|再(?:试|試|跑|运行|執行|执行|来)|重试|重試|重新(?:试|运行|跑|执行)|搞定|好了"
    r"|(?:现在|現在|应该|應該)[^\u3002\uff01\uff1f\n]{0,12}(?:可以|行了|正常|没问题|能)"
)
_JAPANESE = re.compile(
    r"(?:直し|修正し|変更し|設定し|追加し|インストールし|起動し|付け|付与し|与え|更新し|作成し|作り|削除し|対応し|解決し"
    r"|変え|入れ|開け|開放し|有効にし|無効にし|調整し|許可し)(?:ておき)?(?:ました|た|ておいた|といた|てある)"
    r"|もう一度|もう一回|再度|再試行|再実行|やり直して|直(?:りました|った)"
    r"|(?:今は|もう|これで)[^\u3002\uff01\uff1f\n]{0,12}(?:動|大丈夫|できます|通ります)"
)
_SAYS_SO = (
    _MYSELF, _NOW, _AGAIN, _SPANISH, _ITALIAN, _PORTUGUESE, _FRENCH, _GERMAN, _DUTCH, _CHINESE, _JAPANESE,
)  # fmt: skip
_READ = vocabulary(
    "a about all also an and are as at be but by can could do does first fix for from go have how i if in into is it "
    "just keep let like look looks make maybe more need no not now of ok okay on one only or out please run see should "
    "so some still test tests than thanks that the then there these they this to try use wait was what when where why "
    "will with yes you your "
    "al con de del el en es esta está la las lo los no para pero por que sí si sin su también tu un una y ya "
    "che è di e gli il le ma nel non per poi se sono un' anche ancora con da del della questo "
    "ainsi au aux avec ce cette dans de des du elle est et il je les mais ne nous on ou par pas pour que qui sur tu "
    "une vous ao com da do dos e ela ele em eu isso mas não na no os ou para pode por que se também um uma você "
    "aber auch auf aus bei bitte das dass dem den der die du ein eine einen erst es für ich im ist ja kann mit nach "
    "nicht noch nur oder sich sie sind und von vor warum was weiter wenn wie wir zu zum zur "
    "aan dat de deze die dit een eerst en er het hoe ik in is je maar met naar niet nog of om ook op te uit van voor "
    "waarom wat we zijn"
)
"""Small words of the languages that are read here."""
_EAST = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_LETTERS = re.compile(r"[^\W\d_]+")
_LEAST_UNREAD = 3
_SENTENCE = re.compile(r"(?:[^.!?\u3002\uff01\uff1f\n]|[.!?](?=\w))+[.!?\u3002\uff01\uff1f]?")
_MAX_TEXT = 4_000


def intervened(text: str) -> bool:
    """Return whether the person says that something outside of the agent's work is different now. Accepts any text."""
    words = text[:_MAX_TEXT].casefold().replace("\u2019", "'")
    return _is_unread(words) or any(
        pattern.search(sentence[0].strip(" \u00a1\u00bf"))
        for sentence in _SENTENCE.finditer(words)
        if not sentence[0].endswith(("?", "\uff1f", "\u5417\u3002", "\u304b\u3002"))
        for pattern in _SAYS_SO
    )


def _is_unread(words: str) -> bool:
    """Return whether no word is known, so that nobody can tell what the person did."""
    if _EAST.search(words):
        return False
    found = _LETTERS.findall(words)
    foreign = any(not word.isascii() for word in found)
    return not _READ.intersection(found) and (len(found) >= _LEAST_UNREAD or foreign)
