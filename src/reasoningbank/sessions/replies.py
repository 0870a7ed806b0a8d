"""Read whether a person's sentence approves or rejects work, in languages other than English.

These are German, French, Spanish, Italian, Portuguese, Dutch, Chinese and Japanese. One table of words per language,
one rule for all. A sentence is cut into clauses. A clause rejects when it says that something *still* goes wrong, when
it says of the work itself (*it*, *the tests*, *the result*) that it goes wrong, when nothing but that is said
("funktioniert nicht"), or when it asks to undo the work or says that it was not asked for. It approves only when the
whole sentence says nothing else than that the work is right now. Conditions, questions and the description of a further
task are neither. English is read in ``facts``.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """Hold the words of one language, as patterns of small letters without accents.

    Attributes:
        opening: Words that may stand before what is said: yes, no, thanks, unfortunately.
        work: What names the work itself: it, that, the tests, the result.
        still: Words for still and again.
        wrong: Ways to say that it does not work, fails, is wrong, or that the error remains.
        same: The same error.
        undo: The wish to have it undone.
        unasked: That it is not what was asked for.
        right: Ways to say that it works, is mended, or passes.
        around: Words that may stand around what is said, such as now, here, perfectly, thanks.
        open: Words of a condition, a question, a doubt or an explanation: with them nothing is decided.
        but: Words after which something else follows: beside them nothing is approved.
        spaced: Whether words are separated by spaces.
    """

    opening: str
    work: str
    still: str
    wrong: str
    same: str
    undo: str
    unasked: str
    right: str
    around: str
    open: str
    but: str
    spaced: bool = True


_GERMAN = Language(
    opening=r"ja|nein|ok|okay|hm+|leider|danke|vielen dank|super|toll|prima|perfekt|klasse|gut|sorry|also|und"
    r"|nun|jetzt"
    r"|doch|ach|schade|wunderbar|aber",
    work=r"(?:es|das|dies|alles|(?:der|die|das|dein|deine|diese|dieser|dieses) (?:fix|loesung|losung|aenderung(?:en)?"
    r"|anderung(?:en)?|korrektur|code|skript|programm|build|befehl|ergebnis|ausgabe|antwort|tests?|fehler|problem|bug"
    r"|patch|ansatz))",
    still=r"(?:immer noch|noch immer|weiterhin|nach wie vor|noch|wieder|schon wieder|erneut)",
    wrong=r"(?:(?:bringt|hilft|andert|aendert|behebt) (?:\w+ )?(?:gar |uberhaupt |ueberhaupt )?nichts(?! an)"
    r"|(?:hat|ist) (?:\w+ )?(?:gar |uberhaupt |ueberhaupt )?nichts (?:gebracht|geholfen|geandert"
    r"|geaendert|behoben|repariert|geloest|gelost)|(?:funktioniert|funktionieren|klappt|klappen|laeuft|lauft|laufen|stimmt|stimmen|hilft"
    r"|passt) (?:\w+ ){0,4}"
    r"nicht|(?:hat|haben|ist|sind) (?:\w+ ){0,4}nicht (?:funktioniert|geklappt|geholfen|richtig|korrekt|behoben"
    r"|geloest"
    r"|gelost|repariert|weg|gruen|grun)|(?:geht|gehen) (?:\w+ ){0,2}(?:noch|wieder) (?:\w+ )?nicht"
    r"|(?<!nicht )(?:falsch|kaputt|defekt)|schlag\w* (?:\w+ ){0,4}fehl|schlaegt (?:\w+ )"
    r"{0,4}fehl|fehlgeschlagen|scheiter\w*|stuerzt \w* ?ab|sturzt (?:\w+ ){0,3}ab|nicht (?:behoben|geloest"
    r"|gelost|richtig"
    r"|korrekt|weg)|(?:fehler|problem|bug) (?:ist|besteht|bleibt|tritt|kommt|erscheint)(?: (?:\w+ ){0,4}\w+)?"
    r"|(?:kommt|bekomme|erhalte|sehe) (?:\w+ ){0,3}fehler\w*|rot)",
    same=r"(?:(?:der|den) ?(?:selbe|selben|gleiche|gleichen)|gleicher) (?:fehler|problem)|das(?:selbe"
    r"| gleiche) problem",
    undo=r"(?:bitte )?(?:mach|mache|machen sie|nimm|setz|setze|dreh) (?:\w+ ){1,4}(?:rueckgaengig|ruckgangig"
    r"|zurueck|zuruck)",
    unasked=r"(?:das|dies|es) (?:ist|war) (?:\w+ )?nicht(?: das)?,? was ich (?:\w+ )?(?:wollte|will|brauche"
    r"|gesagt|gefragt"
    r"|gemeint|verlangt|meinte)",
    right=r"(?:funktioniert|klappt|laeuft|lauft|geht|stimmt|hat (?:funktioniert|geklappt|geholfen)"
    r"|(?:sind|ist) (?:\w+ )?(?:behoben|geloest|gelost|gruen|grun|weg|repariert)|laufen durch|bestehen"
    r"|tritt nicht mehr auf)",
    around=r"jetzt|nun|wieder|alle|alles|endlich|perfekt|super|gut|prima|einwandfrei|bestens|danke|vielen|dank"
    r"|hier|auch"
    r"|bei|mir|so|wie|gewuenscht|gewunscht|erwartet|durch|schoen|schon",
    open=r"wenn|falls|ob|sollte|sollten|muss|koennte|konnte|warum|wieso|wie|damit|dass|nicht so|so nicht",
    but=r"aber|jedoch|allerdings|nur|ausser|nicht|noch",
)
_FRENCH = Language(
    opening=r"oui|non|ok|d'accord|merci(?: beaucoup)?|super|parfait|genial|bien|desole|malheureusement|helas"
    r"|hm+|euh|alors"
    r"|bon|mais|et|maintenant",
    work=r"(?:ca|cela|c'est|il|elle|tout|le tout|(?:le|la|les|l'|ta|ton|tes|votre|vos|cette|ce) ?(?:correction"
    r"|correctif|code"
    r"|solution|script|programme|build|commande|resultat|sortie|reponse|tests?|erreurs?|probleme|bug|changements?"
    r"|modifications?))",
    still=r"(?:toujours|encore|a nouveau|de nouveau)",
    wrong=r"(?:n(?:e |')(?:change|resout|corrige|arrange|regle) rien"
    r"|n'a rien (?:change|corrige|resolu|arrange|regle|repare)"
    r"|n(?:e |')(?:\w+ ){0,2}(?:marche|marchent|fonctionne|fonctionnent|passe|passent|compile|resout"
    r"|corrige|va|est"
    r"|sont|a|ont|aide)(?: (?:toujours|encore|vraiment))?(?: pas)(?: (?:marche|fonctionne|aide|bon|correct"
    r"|corrige|resolu"
    r"|juste))?|(?:marche|fonctionne|passe|passent) (?:\w+ ){0,2}pas|ne (?:marche|fonctionne|passe) plus"
    r"|echou\w*|plante"
    r"|(?<!pas )(?:faux|fausse|incorrect|incorrecte|errone|erronee|casse|cassee)"
    r"|(?:erreur|probleme|bug) (?:\w+ ){0,2}(?:persiste|reste|demeure|revient|la|present|presente)|en echec"
    r"|pas (?:bon|correct|corrige|resolu))",
    same=r"(?:la |le )?meme (?:erreur|probleme|bug)",
    undo=r"(?:(?:s'il te plait|s'il vous plait|stp),? )?(?:annule|annulez|reviens en arriere|revenez en arriere"
    r"|defais"
    r"|retablis)(?:-(?:le|la|les|moi))?\b",
    unasked=r"ce n'est (?:\w+ )?(?:pas |du tout )+ce que (?:j'ai|j'avais|je) \w+",
    right=r"(?:marche|fonctionne|passent|passe|(?:est|sont) (?:\w+ )?(?:corrige|corrigee|resolu|resolue|regle|verts)"
    r"|a (?:marche|fonctionne|disparu))",
    around=r"maintenant|enfin|tous|tout|bien|parfaitement|merci|beaucoup|super|parfait|correctement|nickel|chez"
    r"|moi|ici|de"
    r"|nouveau|comme|prevu",
    open=r"si|quand|lorsque|pourquoi|comment|est-ce|assure|verifie|verifiez|devrait|faut|comme ca|comme cela|que",
    but=r"mais|cependant|sauf|pas|plus|encore|toujours",
)
_SPANISH = Language(
    opening=r"si|no|ok|vale|gracias|muchas gracias|perfecto|genial|bien|lo siento|lamentablemente"
    r"|desgraciadamente|hm+"
    r"|bueno|pero|y|ahora|estupendo|excelente",
    work=r"(?:eso|esto|todo|ello|(?:el|la|los|las|tu|tus|su|esta|este) (?:correccion|arreglo|solucion|codigo"
    r"|script|programa"
    r"|build|compilacion|comando|resultado|salida|respuesta|pruebas?|tests?|error|errores|problema|fallo|bug"
    r"|cambios?))",
    still=r"(?:todavia|aun|sigue|siguen|sigo|continua|otra vez|de nuevo)",
    wrong=r"(?:no (?:ha )?(?:cambi|arregl|solucion|resolv|resuelv|ayud|corrig|correg)\w* nada"
    r"|no (?:\w+ ){0,2}(?:funciona|funcionan|funciono|funcionando|sirve|sirvio|va|anda|pasa|pasan"
    r"|compila|arreglo"
    r"|arreglado|resuelto|soluciona|soluciono|ayuda|correcto|correcta|bien|ayudo)|sin (?:funcionar|pasar|compilar"
    r"|arreglarse|resolverse)|falla\w*|fallo|(?<!no )(?<!no esta )(?:mal|incorrecto|incorrecta|equivocado"
    r"|equivocada|roto"
    r"|rota|erroneo|erronea)|(?:error|problema|fallo) (?:\w+ ){0,2}(?:sigue|persiste|continua|ahi|aparece"
    r"|apareciendo|igual)"
    r"|(?:sigue|continua) (?:\w+ ){0,3}(?:error|problema|ahi|igual)|dando error|da error)",
    same=r"(?:el |la )?mismo (?:error|problema|fallo)",
    undo=r"(?:por favor,? )?(?:deshaz|deshazlo|deshaga|deshacer|revierte|reviertelo|revierta|anula)\b",
    unasked=r"(?:eso |esto )?no (?:es|era) (?:\w+ )?lo que (?:te |le )?(?:he )?(?:pedi|pedido|queria|quiero"
    r"|necesito|dije"
    r"|buscaba)",
    right=r"(?:funciona|funcionan|funciono|pasan|pasa|va|anda|(?:esta|quedo|quedan|estan"
    r"|ha sido) (?:\w+ )?(?:arreglado"
    r"|resuelto|solucionado|corregido|arreglada|resuelta|en verde)|desaparecio|ha desaparecido)",
    around=r"ahora|ya|por|fin|todo|todos|todas|bien|perfectamente|gracias|muchas|perfecto|correctamente|aqui|me"
    r"|a|mi|como"
    r"|esperaba|genial|si",
    open=r"si (?:no )?\w+|cuando|por que|como funciona|asegurate|comprueba|verifica|deberia|deberian|para que"
    r"|asi|que",
    but=r"pero|aunque|salvo|excepto|no|todavia|aun|sigue|siguen",
)
_ITALIAN = Language(
    opening=r"si|no|ok|va bene|grazie(?: mille)?|perfetto|ottimo|bene|purtroppo|mi dispiace|hm+|ma|e|ora|adesso"
    r"|grande",
    work=r"(?:questo|quello|cio|tutto|(?:il|la|i|le|lo|l'|la tua|il tuo|questa) ?(?:correzione|soluzione|codice"
    r"|script"
    r"|programma|build|comando|risultato|output|risposta|test|errore|problema|bug|modifica|modifiche))",
    still=r"(?:ancora|sempre|di nuovo|continua|continuano|tuttora|nuovamente)",
    wrong=r"(?:non (?:ha )?(?:cambi|risol|corre|aggiust|aiut)\w* (?:niente|nulla)"
    r"|non (?:\w+ ){0,2}(?:funziona|funzionano|funzionato|va|passa|passano|compila|risolto|risolve"
    r"|corretto|corretta"
    r"|giusto|aiutato|funzionare)|falli\w+|(?<!non e )(?:sbagliato|sbagliata|errato|errata|rotto|rotta)"
    r"|(?:errore|problema|bug) (?:\w+ ){0,2}(?:persiste|rimane|resta|c'e|presente)|c'e (?:\w+ ){0,3}(?:errore"
    r"|problema)"
    r"|a (?:fallire|dare errore))",
    same=r"(?:lo )?stesso (?:errore|problema)",
    undo=r"(?:per favore,? )?(?:annulla|annullalo|annulli|ripristina|torna indietro)\b",
    unasked=r"(?:questo |quello )?non (?:e|era) (?:\w+ )?(?:quello|cio) che (?:ti |ho |avevo |volevo|chiedevo"
    r"|intendevo)",
    right=r"(?:funziona|funzionano|passano|passa|ha funzionato|(?:e|sono) (?:\w+ )?(?:risolto|risolta|corretto"
    r"|sparito|verdi))",
    around=r"ora|adesso|finalmente|tutto|tutti|bene|perfettamente|grazie|mille|perfetto|correttamente|qui|da|me"
    r"|come|previsto",
    open=r"se|quando|perche|come funziona|assicurati|verifica|controlla|dovrebbe|dovrebbero|cosi|che",
    but=r"ma|pero|tranne|non|ancora",
)
_PORTUGUESE = Language(
    opening=r"sim|nao|ok|obrigad[oa]|muito obrigad[oa]|perfeito|otimo|bom|infelizmente|desculpe?|hm+|mas|e"
    r"|agora|legal",
    work=r"(?:isso|isto|ele|ela|tudo|(?:o|a|os|as|sua|seu|essa|esse|tua|teu) (?:correcao|solucao|codigo|script"
    r"|programa"
    r"|build|comando|resultado|saida|resposta|testes?|erro|problema|bug|mudancas?|alteracao|alteracoes))",
    still=r"(?:ainda|continua|continuam|de novo|novamente|outra vez)",
    wrong=r"(?:nao (?:mud|resolv|corrig|adiant|ajud|consert)\w* nada"
    r"|nao (?:\w+ ){0,2}(?:funciona|funcionam|funcionou|funcionando|passa|passam|compila|resolveu|resolvido"
    r"|corrigido|corrigiu|certo|certa|correto|correta|ajudou|deu certo)|falha\w*|falhou"
    r"|(?<!nao esta )(?:errado|errada|incorreto|incorreta|quebrado|quebrada)"
    r"|(?:erro|problema|bug) (?:\w+ ){0,2}(?:persiste|continua|permanece|la|aparece|aparecendo)|dando erro|da erro"
    r"|sem (?:funcionar|passar))",
    same=r"(?:o )?mesmo (?:erro|problema)",
    undo=r"(?:por favor,? )?(?:desfaca|desfaz|reverta|reverte|desfazer|anule)\b",
    unasked=r"(?:isso |isto )?nao (?:e|era|foi) (?:\w+ )?(?:o|aquilo) que (?:eu )?(?:pedi|queria|quero|preciso"
    r"|disse)",
    right=r"(?:funciona|funcionam|funcionou|passam|passa|passaram|deu certo|(?:esta|estao|foi) (?:\w+ )?(?:resolvido"
    r"|corrigido|funcionando|passando)|sumiu)",
    around=r"agora|ja|finalmente|tudo|todos|bem|perfeitamente|obrigad[oa]|muito|perfeito|corretamente|aqui|como"
    r"|esperado",
    open=r"se|quando|por que|porque nao|como funciona|verifique|certifique|deveria|deveriam|assim|que",
    but=r"mas|porem|exceto|nao|ainda",
)
_DUTCH = Language(
    opening=r"ja|nee|ok|oke|bedankt|dank je(?: wel)?|helaas|sorry|super|perfect|mooi|goed|hm+|maar|en|nu|top",
    work=r"(?:het|dit|dat|alles|(?:de|het|je|jouw|deze|die) (?:fix|oplossing|wijziging(?:en)?|code|script"
    r"|programma|build"
    r"|opdracht|resultaat|uitvoer|antwoord|tests?|testen|fout|probleem|bug|aanpassing(?:en)?))",
    still=r"(?:nog steeds|nog altijd|nog|weer|opnieuw|alweer)",
    wrong=r"(?:is (?:\w+ )?niets (?:veranderd|opgelost|beter)|(?:verandert|lost) niets(?: op)?"
    r"|(?:werkt|werken|klopt|kloppen|lukt|helpt|gaat|slaagt|slagen|is|zijn|werkte"
    r"|heeft) (?:\w+ ){0,4}(?:niet|niets)"
    r"(?: (?:gewerkt|geholpen|goed|opgelost|juist|correct))?|(?<!niet )(?:fout|verkeerd|kapot|stuk)(?!\w)|faalt"
    r"|falen|mislukt|mislukken|crasht"
    r"|(?:fout|probleem|bug) (?:\w+ ){0,3}(?:er|blijft|aanwezig|bestaat)|krijg (?:\w+ ){0,4}fout\w*"
    r"|niet (?:opgelost|goed|juist))",
    same=r"(?:de|het)?zelfde (?:fout|probleem)(?:melding)?",
    undo=r"(?:graag )?(?:draai|maak|zet|doe) (?:\w+ ){1,4}(?:terug|ongedaan)",
    unasked=r"(?:dit|dat|het) (?:is|was) (?:\w+ )?niet wat ik (?:\w+ )?(?:vroeg|wilde|wil|bedoelde|gevraagd|nodig)",
    right=r"(?:werkt|werken|slagen|klopt|lukt|heeft (?:gewerkt|geholpen)|(?:is|zijn) (?:\w+ )?(?:opgelost|weg"
    r"|groen|gemaakt))",
    around=r"nu|eindelijk|weer|alle|alles|goed|perfect|prima|bedankt|dank|je|wel|hier|bij|mij|zoals|verwacht|het",
    open=r"als|indien|of|wanneer|waarom|hoe|zorg|controleer|moet|zou|zodat|zo niet|niet zo",
    but=r"maar|echter|behalve|niet|nog",
)
_CHINESE = Language(
    opening=r"不|是的|对|嗯|好的?|谢谢(?:你|您)?|抱歉|可惜|不好意思|但是|可是|现在|太好了|很好|完美|多谢",
    work=r"(?:它|这个?|那个?|这样|(?:这个|你的|这次的?)?(?:测试|构建|编译|结果|程序|代码|修改|改动|修复|输出|问题|错误|脚本|方案))",
    still=r"(?:还是|还在|还没有?|还不|仍然?|依然|依旧|又|再次|总是|仍旧)",
    wrong=r"(?:(?:什么|啥)(?:都|也)没(?:有)?(?:解决|修好|修复|变|改变)?|没有?(?:任何)?(?:变化|改变|改善)|不(?:工作|行|对|管用|起作用|能用|能工作|正确|正常|好使|通过)|无法(?:工作|运行|使用)|没(?:有)?(?:用|修好|解决|生效|成功|通过|效果|修复|变)"
    r"|失败|报错|出错|错误|错了|错的|是错|有问题|不通过|崩溃|坏了|(?:问题|错误)(?:依然|仍然?|还是?)(?:存在|在|有)|没好|不能(?:用|工作|运行|通过))",
    same=r"(?:同样|一样|相同)的?(?:错误|问题|报错)",
    undo=r"(?:请)?(?:把[^,]{0,12})?(?:撤销|还原|回退|撤回|回滚|恢复原样)",
    unasked=r"不是我(?:想)?(?:要|要求|说|问|需要|想要)的",
    right=r"(?:(?:可以|能用|能工作|正常|好用|好|修好|解决|通过|成功|没问题|能运行|工作正常|运行正常|管用)了|(?:工作|运行)正常)",
    around=r"现在|都|已经?|全部|终于|完全|谢谢你?|非常|感谢|很好|完美|太好了|的",
    open=r"如果|是否|吗|假如|要是|为什么|怎么|确保|会不会|的话|检查一下|不是问题",
    but=r"但|可是|不过|除了|不|没(?!问题)|还",
    spaced=False,
)
_JAPANESE = Language(
    opening=r"はい|いいえ|いや|うーん|えっと|残念ながら|すみません|ありがとう(?:ございます)?|でも|しかし|今|完璧です|素晴らしい|よし",
    work=r"(?:これ|それ|あれ|この(?:修正|変更|コード)|(?:その|今回の)?(?:テスト|ビルド|結果|修正|変更|コード|出力|プログラム|エラー|問題|バグ|スクリプト))",
    still=r"(?:まだ|また|やはり|やっぱり|相変わらず|依然|いまだに|いまも|今も)",
    wrong=r"(?:動(?:き|か|作し|いて(?:い)?|作して(?:い)?)(?:ません|ない)|うまく(?:いか|いき|いって(?:い)?|動か|動き)(?:ません|ない|なかった)|失敗"
    r"|間違(?:い|え|って)|違(?:い|って)(?:ます|います|いる)|違う|直って(?:い)?(?:ません|ない)|解決(?:し|できて|して)(?:い)?(?:ません|ない)"
    r"|エラー(?:が|に|は)(?:\w{0,4})(?:出|なり|なる|残|発生|消え(?:ません|ない))|エラーのまま|落ち(?:ます|る)|壊れ|正しく(?:ありません|ない)"
    r"|何も(?:変わ|直|解決)\w{0,4}(?:ません|ない|なかった)"
    r"|おかしい|だめ|ダメ|駄目|できて(?:い)?(?:ません|ない)|通(?:り|って(?:い)?|ら)(?:ません|ない))",
    same=r"同じ(?:エラー|問題|バグ)",
    undo=r"[^,]{0,16}(?:元に戻して|取り消して|戻してください|取り消してください)",
    unasked=r"(?:頼んだ|お願いした|依頼した|欲しかった|求めて(?:い)?る|聞いた|言った)(?:もの|こと|の|内容)?(?:と|では|じゃ)?(?:は)?"
    r"(?:違|ない|ありません)",
    right=r"(?:(?:動き|動作し|直り|解決し|成功し|通り|うまくいき)ました|(?:動いた|直った|通った|解決した|うまくいった)"
    r"|(?:動作して|動いて|通って|うまくいって)(?:い)?ます|消えました)",
    around=r"今|これで|今度は|ちゃんと|全て|すべて|全部|完全に|正しく|ようやく|やっと|無事に?|ありがとう(?:ございます|ございました)?|は|が|も|で|よ|ね"
    r"|問題なく",
    open=r"もし|たら|なら|場合|かどうか|か$|ように|なぜ|どうして|どうやって|ときは|すると",
    but=r"けど|ただし|しかし|でも|ません|ない|まだ|以外",
    spaced=False,
)
LANGUAGES = (_GERMAN, _FRENCH, _SPANISH, _ITALIAN, _PORTUGUESE, _DUTCH, _CHINESE, _JAPANESE)
"""Every language beside English in which a person's verdict is read."""

_MARKS = re.compile("[\u0300-\u036f]")
_CLAUSE = re.compile(r"[,:\u3001\u3002!.;()]+|\s+-+\s+")
_MAX_CLAUSE = 100
"""Characters of a clause, at most: a verdict is short."""


@dataclass(frozen=True, slots=True)
class _Patterns:
    language: Language
    opening: re.Pattern[str]
    undecided: re.Pattern[str]
    unasked: re.Pattern[str]
    still_wrong: re.Pattern[str]
    wrong_work: re.Pattern[str]
    right: re.Pattern[str]
    polite: re.Pattern[str]
    but: re.Pattern[str]


def plain_words(text: str) -> str:
    """Return the text in small letters, without accents and with one form of each mark. Accepts any text."""
    apart = _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold().replace("\u2019", "'")))
    return unicodedata.normalize("NFC", apart)


def approves(sentence: str) -> bool | None:
    """Return whether a sentence that is not English approves (True) or rejects (False) the work; None for neither.

    Promises: never raises, and takes time proportional to the sentence.
    """
    words = plain_words(sentence).strip()
    if words.endswith("?"):
        return None
    clauses = [clause for each in _CLAUSE.split(words) if (clause := each.strip(" \t'\"*_"))]
    for patterns in _languages():
        verdict = _verdict(clauses, words, patterns)
        if verdict is not None:
            return verdict
    return None


def _verdict(clauses: list[str], words: str, patterns: _Patterns) -> bool | None:
    undecided = patterns.undecided
    for clause in clauses:
        said = patterns.opening.sub("", clause, count=1)
        if len(clause) <= _MAX_CLAUSE and any(
            pattern.match(each) for each in (said, clause) for pattern in (patterns.still_wrong, patterns.wrong_work)
        ):
            return None if undecided.search(clause) and not patterns.unasked.match(clause) else False
    if patterns.unasked.match(words):
        return False
    if undecided.search(words) or patterns.but.search(words):
        return None
    approved = [patterns.right.fullmatch(patterns.opening.sub("", clause, count=1)) for clause in clauses]
    polite = (
        match is not None or patterns.polite.fullmatch(clause) for match, clause in zip(approved, clauses, strict=True)
    )
    return True if any(approved) and all(polite) else None


@functools.cache
def _languages() -> tuple[_Patterns, ...]:
    return tuple(map(_patterns, LANGUAGES))


def _patterns(language: Language) -> _Patterns:
    each = language
    gap, edge, start = (r"\s+", r"\b", r"\b") if each.spaced else (r"\s*", "", "")
    few = r"(?:[\w'-]+ ){0,6}?" if each.spaced else r"[^\s,]{0,14}?\s?"
    between = r"(?:[\w'-]+ ){0,3}?" if each.spaced else r"[^\s,]{0,5}?"
    still, wrong = f"{start}{each.still}{edge}", f"{start}{each.wrong}{edge}"
    end = rf"(?:{gap}(?:{each.around}|{each.still}))*\s*$"
    particle = "" if each.spaced else "[はがもで]?"
    still_wrong = (
        rf"(?=.*{still}){few}{wrong}|{few}{still}{gap}{few}{wrong}|(?:{few}{still}{gap}{between})?{start}(?:{each.same}){edge}"
        rf"|(?:{each.undo})|(?:{each.work}{particle}{gap})?(?:{each.unasked})"
    )
    article = r"(?:l'|\w{1,3} )?" if each.spaced else ""
    wrong_work = rf"{each.work}{particle}{gap}{between}{wrong}|{article}{wrong}{end}"
    around = rf"(?:{each.around})"
    right = rf"(?:{around}{gap})*(?:{each.work}{particle}{gap})?(?:{around}{gap})*{each.right}(?:{gap}{around})*"
    return _Patterns(
        each,
        re.compile(rf"^(?:(?:{each.opening}){gap if each.spaced else ''})+"),
        re.compile(rf"{start}(?:{each.open}){edge}"),
        re.compile(rf"(?:(?:{each.opening})[\s,]*)*(?:{each.work}{particle}{gap})?(?:{each.unasked})"),
        re.compile(still_wrong),
        re.compile(wrong_work),
        re.compile(right),
        re.compile(rf"(?:(?:{each.opening}|{each.around})\s*)+"),
        re.compile(rf"{start}(?:{each.but}){edge}"),
    )
