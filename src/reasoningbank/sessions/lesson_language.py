"""The language that a lesson is written in, and the words of it that say nothing about a subject.

Six are known: English, German, French, Spanish, Chinese and Japanese. What is told apart in each are words that only
hold a sentence together, words that fit every task, and how an order, a story and a praise are built.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Code = Literal["en", "de", "fr", "es", "zh", "ja"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonLanguage:
    """Hold the words of one language.

    Attributes:
        function: Words that hold a sentence together.
        general: Beginnings of words, or words of a script without spaces, that fit every task.
        condition: Words after which a condition stands, or that stand at its end.
        order: How a description begins that gives an order instead of naming a situation.
        directive: How a part of a sentence is built that says what to do.
        story: How a sentence is built that tells what happened.
        praise: How a sentence is built that only says what something is good for.
        purpose: How a clause begins, or ends, that says what for; None where it is not known.
        least_things: With fewer words for things, what is done for a purpose fits every task.
        spaced: Whether words are separated by spaces.
    """

    function: frozenset[str]
    general: re.Pattern[str]
    condition: re.Pattern[str]
    order: re.Pattern[str]
    directive: re.Pattern[str]
    story: re.Pattern[str]
    praise: re.Pattern[str]
    purpose: re.Pattern[str] | None = None
    least_things: int = 0
    spaced: bool = True


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_GERMAN = LessonLanguage(
    function=_words(
        "der die das den dem des ein eine einen einem einer eines kein keine keinen und oder aber auch "
        "nicht nur noch "
        "schon als wie so es er sie man wir ihr ich ist sind war waren wird werden wurde wurden hat haben hatte kann "
        "können muss müssen soll sollen sollte darf wenn falls sobald sofern solange bevor nachdem während bei beim "
        "nach vor trotz für mit ohne von vom zu zum zur zwischen an am auf aus in im ins um über unter "
        "durch gegen bis "
        "seit wo wer was welche welcher welches dass ob weil da dann dort hier sehr mehr sich dieser diese dieses "
        "diesem diesen jede jeder jedes jedem jeden alle allen aller gilt gelten ihre seine seiner dabei davon"
    ),
    general=_pattern(
        r"aufgabe|arbeit|problem|situation|f[aä]ll(?:e|en|s)?$|werkzeug|sitzung|benutz|verwend|nutz|nütz"
        r"|lös(?:en|ung)"
        r"|bearbeit|erledig|allgemein|grundsätz|generell|immer|strateg|wichtig|gute?[rnsm]?$|praxis|praktik"
        r"|viele?[rn]?$"
        r"|anwend|vorgeh|methode|lehre|tipp|hilf|sinnvoll|empfehl|beliebig|verschieden|jeweil|kontext"
        r"|umst[aä]nd|agent"
        r"|assistent|schritt|ähnlich|mach|tun$|etwas|richtig|best|besser|ergebnis|unsicher|anfrag|art(?:en)?$|trick"
        r"|jederzeit|notwendig|nötig|bedarf|projekt|möglich|ziele?n?$|erfolg|qualität|sorgfalt|sorgfältig|zuverlässig"
    ),
    condition=_pattern(
        r"\b(?:wenn|falls|sobald|sofern|solange|bevor|nachdem|während|bei|beim|nach|vor|trotz|für|auf|in|im"
        r"|ohne|unter"
        r"|wo|gilt|angesichts|sooft|seit|mit|zwischen|gegen|am|an)\b"
        r"|^(?:schlägt|gibt|fehlt|bricht|meldet|ist|hat|wird|läuft|kommt|zeigt|scheitert|nennt|sind|liefert)\b"
        r"|(?:aufgaben|fällen|projekten), (?:die|in denen|bei denen)"
    ),
    order=_pattern(
        r"^(?:(?:nie(?:mals)?|nicht) )?(?:[a-zäöüß]+e (?:immer|nie|den|die|das|zuerst|vor|nach)\b|stelle sicher)"
    ),
    directive=_pattern(
        r"^(?:(?:dann|danach|zuerst|erst|und|sonst|stattdessen|also|immer|nie|niemals|vorher|anschließend) )*"
        r"(?:[a-zäöüß]{2,}e(?= (?-i:[a-zäöü\d`X]))|[a-zäöüß]+iere|(?:prüf|setz|nutz|start|lösch|füg"
        r"|vergleich|leg|schreib|ruf"
        r"|verwend|send|frag|öffn|schalt|bau|nenn|such|rechn|führ|speicher|schließ|stopp|trenn|zähl)e|gib"
        r"|nimm|lies|sieh|wirf|triff|hilf|sprich|vergiss|miss|tritt|tu|lass|geh|halt|komm)"
        r"(?= (?!ist|sind|war|wird|hat|führt|ist|war|waren|wurde)\w|$)(?<!die)(?<!eine)(?<!keine)(?<!diese)(?<!jede)"
        r"(?<!gute)(?<!solche)(?<!alle)(?<!beide)(?<!viele)(?<!seine)(?<!ihre)"
        r"|^(?!.*\b(?:hat|haben|hatte|ist|sind|war|waren|wird|werden|wurden?|konnten?|kann|können|führt|lässt)\b)"
        r"(?:.* )?(?-i:[a-zäöüß]{2,}(?:en|ern|eln))$"
        r"|\b(?:muss|müssen|sollte|sollten|soll|sollen|darf|dürfen|musst|solltest)\b|\b(?:ist|sind) [^.]*zu \w+en$"
    ),
    story=_pattern(
        r"^(?:der|die|das) \w+ (?:war|waren) |^(?:der|die|das|dieser|diese|dieses) (?:\w+ )?(?:agent"
        r"|agentin|assistent|modell|nutzer|benutzer|sitzung|lauf"
        r"|vorgehen|ansatz|ablauf)\b|\b(?:wurde|wurden|konnte|konnten|gelang|hatte|hatten)\b"
    ),
    praise=_pattern(
        r"\b(?:ist|sind) (?:\w+ ){0,3}?(?:schlüssel|wesentlich|entscheidend|wichtig|unerlässlich|grundlegend|zentral)"
        r"|\b(?:führt|führen) (?:\w+ )*?zu\b|\b(?:stärkt|fördert|verbessert|zeugt|beweist|gewährleistet"
        r"|sichert|sorgte?"
        r"|vermeidet|hilft|trägt|schafft|erhöht|ermöglicht|zeigt|unterstreicht|garantiert)\b"
    ),
    purpose=_pattern(
        r"\bum (?!\d)[^,.;:]*?\b(?:zu|\w{2,}zu\w{3,}) ?\w*|\bdamit\b(?! (?:ist|sind|wird|hat)\b)|\bzwecks\b"
        r"|\bim (?:interesse|sinne|dienste)\b|\b(?:zur|zum|aus) \w+(?:heit|keit|schutz|gründen)\b|\bmit dem ziel\b"
        r"|^für (?:eine?n? )?(?:\w+e[sn]? )?\w+ (?:ist|sind|braucht)\b"
    ),
    least_things=2,
)
_FRENCH = LessonLanguage(
    function=_words(
        "le la les l un une des du de d et ou mais aussi ne pas plus que qui quoi dont où ce cet cette ces "
        "son sa ses "
        "leur leurs il elle on nous vous ils elles je tu est sont était a ont avait être avoir fait faire "
        "peut doit en "
        "dans sur sous sans pour par avec chez entre vers à au aux quand lorsque lorsqu lors si s avant après dès "
        "pendant tant chaque tout toute tous toutes comme y se qu n c j m t très trop bien déjà encore face cas fois"
    ),
    general=_pattern(
        r"t[aâ]ches?$|travail|problèm|situation|cas$|outils?$|session|utilis|résolu|résou|traite?|généra"
        r"|toujours|stratég"
        r"|important|bonnes?$|bons?$|pratique|nombreu|méthode|leçon|conseil|utile|approche|différent|contexte|agent"
        r"|assistant|étape|similaire|meilleur|projet|moment|temps$|chose|résultat|demande|types?$|astuce"
        r"|applica|sûre?s?$"
        r"|nécessaire|besoin|réussir|possible"
    ),
    condition=_pattern(
        r"\b(?:quand|lorsqu\w*|lors|si|s'|avant|après|dès|face|pendant|tant|chaque fois|en|dans|sur|sous"
        r"|sans|pour|chez"
        r"|avec|entre|à)\b|\b(?:s|lorsqu|d)['\u2019]|^(?:tâches|cas|fichiers|requêtes) qui\b"
    ),
    order=_pattern(r"^(?:ne (?:pas|jamais) )?(?:[a-zàâçéèêëîïôûù]{2,}(?:er|ir|ez)|utilise|vérifie|assure-toi)\b"),
    directive=_pattern(
        r"^(?:(?:puis|ensuite|et|d['\u2019]abord|enfin|sinon|toujours|alors|donc|ou"
        r"|d['\u2019]abord) )*(?:ne (?:pas|jamais) )?"
        r"(?:(?:les?|la|l['\u2019]|en|y) ?)?"
        r"(?!hier\b|fier\b|premier|dernier|papier|fichier|cahier|entier|danger|désir|plaisir|avenir|cette\b"
        r"|une\b|toute\b"
        r"|chaque\b|notre\b|votre\b|elle\b|comme\b|le\b|ce\b|de\b|autre\b|entre\b|contre\b|rez\b|chez\b|assez\b)"
        r"[a-zàâçéèêëîïôûù]{2,}(?:er|ir|re|ez|e|is|ds|ts)(?:-l\w+)?"
        r"(?! (?:est|sont|était|a|ont|permet|aide|garantit|assure|mène|évite|reste)\b)(?=[ ,]|$)"
        r"|\b(?:il faut|doit|doivent|devez|devrait|on doit|il convient de|pensez à|n['\u2019]\w+ez)\b"
    ),
    story=_pattern(
        r"^(?:l['\u2019]|le |la |les |cette |ce |cet )(?:agent|assistant|modèle|utilisateur|session"
        r"|démarche|approche|exécution"
        r"|séquence|client)\b|\b(?:a|ont|avait|avaient) (?:été |d['\u2019]abord |ensuite |bien )?\w+(?:é|ée"
        r"|és|i|u|it|is)\b"
    ),
    praise=_pattern(
        r"\b(?:est|sont) (?:\w+ ){0,2}?(?:la clé|clé|essentiel|crucial|important|primordial|indispensable"
        r"|fondamental)"
        r"|\bm[eè]ne(?:nt)? à\b|\b(?:évite|aide|renforce|améliore|témoigne|démontre|garantit|assure"
        r"|favorise|contribue|permet|souligne"
        r"|montre)(?:nt)?\b"
    ),
)
_SPANISH = LessonLanguage(
    function=_words(
        "el la los las lo un una unos unas y o u e pero también no ni más que quien cual cuyo cuya donde "
        "cuando si este "
        "esta estos estas ese esa eso esto su sus se le les me te nos es son era ser estar está están haya "
        "hay ha han "
        "había puede debe de del en a al con sin por para sobre bajo entre hacia desde hasta tras ante antes después "
        "mientras durante cada todo toda todos todas nada nunca bien mal como muy ya aún solo sólo "
        "vez veces caso siempre una"
    ),
    general=_pattern(
        r"tareas?$|trabaj|problema|situaci|casos?$|herramient|sesi[oó]n|us[aeoá]|utiliz|resol|resuelv"
        r"|trat[ae]|general"
        r"|siempre|estrateg|important|buen[ao]?s?$|práctica|much[ao]s$|método|lección|consejo|útil|enfoque|diferente"
        r"|contexto|agente|asistente|paso|similar|mejor|proyecto|cualquier|momento|algo$|hacer|resultado"
        r"|aplica|segur[oa]s?$"
        r"|petici|tipos?$|truco|necesari|posible|objetivo|éxito|calidad|cuidado|fiabilidad"
    ),
    condition=_pattern(
        r"\b(?:cuando|si|mientras|antes|después|tras|al|en|siempre que|cada vez|frente|durante|para|sin|con|ante|bajo"
        r"|una vez|sobre|entre|desde)\b|^(?:tareas|casos|archivos|peticiones) (?:que|en)\b"
    ),
    order=_pattern(r"^(?:no |nunca )?(?:[a-záéíóúñ]{2,}(?:ar|er|ir)(?:l[aeo]s?)?|usa|verifica|asegúrate|utiliza)\b"),
    directive=_pattern(
        r"^(?:(?:luego|después|y|e|primero|siempre|nunca|entonces|o|por último|no|además|así que) )*"
        r"(?!esta\b|este\b|la\b|una\b|cada\b|otra\b|que\b|para\b|sobre\b|entre\b|cuya\b|donde\b|ante\b"
        r"|fue\b|toda\b|nuestra\b"
        r"|buena\b|gran\b|lugar\b|mujer\b|ayer\b)"
        r"[a-záéíóúñ]{2,}(?:ar|er|ir|a|e|á|é)(?:l[aeo]s?|se|me)?"
        r"(?! (?:(?:el|la|los|las|un|una)(?: \w+){1,2} (?:\w+ )*)?(?:es|son|era|permite|ayuda|garantiza"
        r"|asegura|lleva|evita"
        r"|resulta|sirve|fue)\b)(?=[ ,]|$)"
        r"|^(?:haz|pon|di|ve|sal|ten|ven|pide|mira)\b"
        r"|\b(?:hay que|debe|deben|debería|conviene|es necesario|recuerda|se debe)\b"
    ),
    story=_pattern(
        r"^(?:el|la|los|este|esta) (?:agente|asistente|modelo|usuario|sesión|enfoque|ejecución|secuencia"
        r"|cliente|proceso)\b"
        r"|\b\w+(?:ó|aron|ieron)\b|\bfue(?:ron)?\b|\b(?:ha|han|había|habían) \w+(?:ado|ido)\b"
    ),
    praise=_pattern(
        r"\b(?:es|son) (?:\w+ ){0,2}?(?:clave|esencial|crucial|importante|fundamental|primordial|imprescindible)"
        r"|\bllevan? a\b|\b(?:evita|ayuda|refuerza|mejora|demuestra|garantiza|garantizó|asegura|favorece"
        r"|contribuye|permite|subraya"
        r"|muestra|fortalece)n?\b"
    ),
    purpose=_pattern(
        r"\bpara (?:que\b|(?:no |así |poder )?(?:l[aeo]s? )?\w*(?:[aeií]r)(?:l[aeo]s?|se|me)?\b)"
        r"|\b(?:a|con el|con) (?:fin|objeto|objetivo|propósito) de\b|\ben aras de\b|\bpor \w+(?:dad|encia|ancia)\b"
    ),
    least_things=4,
)
_CHINESE = LessonLanguage(
    function=_words(
        "的 了 在 时 当 和 与 或 是 有 要 被 把 将 对 为 以 其 该 这 "
        "那 个 之 于 中 下 上 里 前 后 一 都 也 而 并 从 到 给 让 等 及 能 "
        "可"
    ),
    general=_pattern(
        r"任务|工作|问题|情况|情形|场景|场合|工具|会话|对话|步骤|策略|经验|方法|用户|代理|智能体|助手|处理"
        r"|解决|使用|执行"
        r"|进行|完成|需要|适用于?|用于|对于|针对|任何|所有|一切|各种|多种|许多|很多|一般来说|一般|通常|总是|始终|永远"
        r"|非常|重要|良好|习惯|很好|最佳|实践|有用|每次|每个|每一|如果|时候|之前|之后|期间|以后|以前|类似"
        r"|相关|建议|技巧"
        r"|必须|应该|必要|项目|想要|编写|的时候|事情|更好|结果|不确定|类型|请求|做事?|实用|普遍|可能|有事"
    ),
    condition=_pattern(
        r"当|如果|若|遇到|一旦|每当|每次|凡是|只要|万一|假如|倘若|要是|适用于|适合|用于|对于|针对|面对|涉及"
        r"|需要|时|前|后"
        r"|期间|过程中|情况|场合|场景|上$|中$|下$|里$"
    ),
    order=_pattern(r"^(?:请|应该?|必须|务必|不要|切勿|始终|总是|先|确保|避免|检查|验证|记得|注意)"),
    directive=_pattern(
        r"^(?:然后|之后|再|先|首先|最后|接着|并|并且|否则|此时|同时)*(?:先|再|应|须|必须|务必|需要|需|要|请"
        r"|不要|切勿|勿|别|不得|避免"
        r"|用|把|将|按|分别|一直|改为|改用|在[^\uff0c。]{1,12}[^了]{0,2}(?:中|前|后|里|上)?)?"
        r"(?:检查|读取|等待|执行|比较|打印|复制|查找|统计|核对|解析|重新|设置|设为|换算|翻页|新建|安装|排序"
        r"|查看|确认|运行|"
        r"调用|删除|添加|记录|验证|测试|启动|停止|使用|写入?|取|传入?|改|加|查|看|读|算|试|问|列出|筛选"
        r"|过滤|转换|保存|提交"
        r"|回滚|备份|关闭|打开|清理|更新|创建|发送|重试|重发|跳过|保留|限制|指定|选择|计算|询问|提供|给出"
        r"|写明|比对|拆分|合并)"
        r"(?!了|是|有助|对|能|可以|体现|保证)"
        r"|^(?:请|应当?|必须|务必|不要|切勿|勿|别|先|再|用|把|将|按)|(?:应该?|必须|需要?|不要|切勿)(?!了)"
    ),
    story=_pattern(
        r"^(?:代理|智能体|助手|用户|模型|系统|会话|本次|该方法|客户)[^\uff0c。\uff1b]{0,30}(?:了|得到|通过)"
        r"|^(?:成功|最终|首先)?[^\uff0c。]{1,8}了"
        r"|(?:代理|智能体|助手)(?:首先|先|最终|成功|准确|随后|[^\uff0c。]{1,6}了)|得到了|进行得"
    ),
    praise=_pattern(
        r"(?:关键|重要|至关重要|必不可少|核心)(?:的|所在)?$|是[^\uff0c。]{0,10}(?:关键|重要|核心|基础)|体现"
        r"|突出|彰显|展示了|保证了?|确保了"
        r"|带来|增强|提升|提高|有助于|促进|有利于"
    ),
    spaced=False,
)
_JAPANESE_PRAISE = (
    "(?:(?<!べき)である|です|(?<!べき)だ|重要|不可欠|大切|鍵|をもたらす|を高める|を示す|につながる"
    "|向上させる|を保証する|を証明する|に役立つ"
    "|を強調している|を示している|は[^、。]*を(?:減らす|強める|深める|防ぐ)|を強化する|を支える|に貢献する"
    "|が高まる|を促す)"
)
_JAPANESE = LessonLanguage(
    function=_words(
        "の に は を が と で も や へ な た て だ る す い れ ら り し さ く か ま せ こ そ あ え け め ん"
    ),
    general=_pattern(
        r"タスク|作業|問題|状況|場合|場面|ケース|とき|時|際|ツール|セッション|ステップ|手順|戦略|方針|方法"
        r"|習慣|ユーザー|エージェント"
        r"|アシスタント|処理|解決|使用|使う|使い|利用|取り組|実行|多く|役立|良い|よい|重要|とても|非常|常に"
        r"|いつも|一般|通常|毎回|どんな"
        r"|すべて|全て|あらゆる|プロジェクト|より良い|結果|種類|依頼|何か|コツ|不明|有用|便利|適用|経験"
        r"|教訓|対応|前|後|中|間|必要|正しい|適切|目標|目的|達成|成功|品質|課題|ベストプラクティス"
    ),
    condition=_pattern(
        r"とき|時|場合|際|たら|れば|なら|前|後|まえ|あと|うち|間|次第|において|に関する|向け|ために|ケース"
        r"|状況|場面|では$|で$|ない|対して"
    ),
    order=_pattern(
        r"^(?:必ず|常に|まず|いつも)|(?:こと|ください|べき|ましょう|なさい)[。]?$"
        r"|^[^がはに]*を[^がは]*(?:する|行う|使う|確認)[。]?$"
    ),
    directive=_pattern(
        rf"^(?!.*{_JAPANESE_PRAISE}$).*"
        r"(?:[うくすつぬふむゆるぐずづぶ]|ない|こと|べき|べきだ|べきである|ください|ましょう|なさい|よう"
        r"|ように)$|てから"
    ),
    story=_pattern(r"(?:た|だった|ました|でした|んだ)$|^エージェントは|^アシスタントは|^ユーザーは"),
    praise=_pattern(rf"{_JAPANESE_PRAISE}$"),
    purpose=_pattern(
        r"(?:[うくすつぬふむゆるぐぶ]|の)ため(?:に(?:は|も)?)?(?:[、,]|$)|念のため|(?:よう|様)に(?:[、,]|$)|べく[、,]"
    ),
    least_things=5,
    spaced=False,
)
LANGUAGES: dict[Code, LessonLanguage] = {
    "de": _GERMAN,
    "fr": _FRENCH,
    "es": _SPANISH,
    "zh": _CHINESE,
    "ja": _JAPANESE,
}
"""All but English, which has rules of its own in ``triggers`` and ``worth``."""

_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[^\W\d_]+")
_MARKS = {"de": "äöüß", "fr": "àâçèêëîïôûœ", "es": "ñ¿¡áíóú"}
_ENGLISH = _words(
    "the a an of to in is are for and or that with not when if it on by as at be from this before after which than "
    "their then only where do does has have its into without while"
)
_CODE = re.compile(r"`[^`]*`|\"[^\"]*\"|\u201e[^\u201c\u201d]*[\u201c\u201d]|\u00ab[^\u00bb]*\u00bb")


@lru_cache(maxsize=256)
def language_of(text: str) -> Code:
    """Return the language a text is written in, by its script and its function words; English when nothing speaks."""
    plain = _CODE.sub(" ", text)
    if _KANA.search(plain):
        return "ja"
    letters = sum(map(str.isalpha, plain)) or 1
    if len(_HAN.findall(plain)) * 5 >= letters:
        return "zh"
    words = [word.casefold() for word in _WORD.findall(plain)]
    scores: dict[Code, float] = {"en": float(sum(word in _ENGLISH for word in words))}
    for code in ("de", "fr", "es"):
        marks = sum(any(mark in word for mark in _MARKS[code]) for word in words)
        scores[code] = sum(word in LANGUAGES[code].function for word in words) + 0.5 * marks
    return max(scores, key=lambda code: scores[code])


_ANCHOR = re.compile(
    r"[`\d]|\b[A-Z]{2,}|\b[A-Za-z]+[._/][A-Za-z]+|\b[a-z]+[A-Z]\w*|(?<!\w)-{1,2}[A-Za-z]\w*|(?<!\w)[./~]\w"
    r"|[\u3040-\u30ff\u3400-\u9fff]\s?[A-Za-z]{2,}|[A-Za-z]{2,}\s?[\u3040-\u30ff\u3400-\u9fff]"
)
_FORM_OF_A_VERB = re.compile(r"\w+(?:ar|er|ir|mente)(?:l[aeo]s?|se|me)?$")


def is_vague_purpose(text: str, language: LessonLanguage) -> bool:
    """Return whether a text says what to do for a purpose and names hardly a thing.

    A purpose is no condition: whoever wants no mistakes has every task. It tells tasks apart by the things that it and
    its advice name; a command, a number, a file or a name is one at once.
    """
    if language.purpose is None or language.purpose.search(text) is None or _ANCHOR.search(text) is not None:
        return False
    return things(text, language) < language.least_things


def things(text: str, language: LessonLanguage) -> int:
    """Return how many words name a thing.

    In German these have a capital letter. In Spanish they are what is left without the first word of a clause, which
    is its verb, without infinitives and adverbs. In Japanese they are counted as words of two signs.
    """
    if not language.spaced:
        return subject_words(text, language)
    found: set[str] = set()
    for clause in re.split(r"[,.;:!?]\s*", text):
        for word in re.findall(r"[^\W_]+", clause)[1:]:
            named = word[0].isupper() if language is _GERMAN else _FORM_OF_A_VERB.match(word.casefold()) is None
            if named and word.casefold() not in language.function and not language.general.match(word.casefold()):
                found.add(word.casefold())
    return len(found)


def named_words(text: str, language: LessonLanguage) -> set[str]:
    """Return the words of a text with spaces that neither hold it together nor fit every task."""
    words = [word.casefold() for word in re.findall(r"[^\W_]+(?:[._/-][^\W_]+)*", text)]
    return {word for word in words if word not in language.function and not language.general.match(word)}


def subject_words(text: str, language: LessonLanguage) -> int:
    """Return how many words of a text are about a subject: neither hold it together nor fit every task."""
    if language.spaced:
        return len(named_words(text, language))
    rest = language.general.sub(" ", text)
    latin = len(set(re.findall(r"[A-Za-z0-9]{2,}", rest)))
    signs = [sign for sign in rest if _HAN.match(sign) or "\u30a1" <= sign <= "\u30fc"]
    return latin + sum(sign not in language.function for sign in signs) // 2
