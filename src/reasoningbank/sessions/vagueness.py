"""Refuse lessons whose condition and action both name nothing: "If something goes wrong, fix it properly".

A condition can be checked, and an action carried out, when they name a thing. The words that name none are listed here
in six languages: that something happens or is hard, what care is taken, that one thinks, tries, fixes and goes on. They
are counted together with the words that hold a sentence together or fit every task (module ``lesson_language``).
"""

from __future__ import annotations

import re

from reasoningbank.sessions.lesson_language import LANGUAGES, Code, language_of, named_words, subject_words
from reasoningbank.sessions.triggers import specific_words
from reasoningbank.types.session import DO_INSTEAD

_ENGLISH = (
    "accordingly account accurate accurately act acting action actions actually adapt address addressed "
    "adjust admit advantages again agile ahead alert alternative analyse analyze angle anyone apologise "
    "apologize appear appeared appears appropriately arise arises assess assume assumption assumptions "
    "attempt attempts attention aware awareness away awry back bad badly bar barrier bases basics beginning "
    "belief believe big bigger bit block blocked blocks break breaks bring brings broken bug bugs calm calmly "
    "care carry cause causes caution cautious cautiously certain certainty challenge challenges challenging "
    "change changed changes changing check checking checks choice choose chosen clarify clarity clean cleanly "
    "clear clearly close closely closer comes commit common complex complicated concentrate confess "
    "confidence confident confused confusing cons consider considered consistent consistently continue cool "
    "cope copes core count counts cover creative creativity critical curiosity curious danger dangerous deal "
    "dealing decide decided decision decisions deep deeply detail details determination determined "
    "differently difficult difficulties difficulty dig digging diligent diligently directly disadvantages "
    "disappoint disappointing disappoints discipline disciplined double doubt doubts down drop drops earlier "
    "early easy effective effectively efficient efficiently effort efforts else end ends energy enough entire "
    "error errors essential essentials evaluate everyone exact exactly examine expectation expectations fail "
    "failed failing fails failures fall falls fast feel feeling feels felt few figure finally find finding "
    "fine finish finished first fit fits fitting fix fixed fixes fixing flexibility flexible focus focused "
    "forward found fundamentals get gets getting gist give given gives giving go goes going gone got great "
    "gut happen happened happens hard harder haste hasty head heart help hit hits hold honest honestly hope "
    "hopes however hurdle hurdles hurry idea ideas identify imaginative immediately information initiative "
    "inspect instead instinct intuition inventive investigate judgement judgment keep keeps know knowing "
    "known large last late later learn let lets little logic logical logically long look looking looks loose "
    "lose loses lost lot made make makes making manage manageable managed many matter matters measures "
    "meticulous meticulously mind mindful mindfully mistake most motivated motivation move moving much neat "
    "neatly news next nice nobody noone nothing notice noticed notices obstacle obstacles occur occurred "
    "occurs odd off okay onto open optimal optimally optimistic option options orderly others otherwise out "
    "overview overwhelmed own ownership panic part parts patience patient pause pay people persevere persist "
    "persistent perspective picture piece pieces plan planning plans point points polish polished positive "
    "precaution precautions precise precisely pressure principle principles priorities prioritise prioritised "
    "prioritize prioritized priority proactive proactively proceed professional professionally progress "
    "promptly pros put puts quick quickly raise raised rational react ready really reason reasonable "
    "reasonably reasons reassess reconsider reflect reflecting regroup remain remember repair repaired "
    "requirement requirements reset resolve resolved resolving respond responsible responsibly rest restart "
    "rethink review reviewed reviewing rigorous rigorously risk risks risky root rush rushing safe safely "
    "safer safest seem seems sense sensible sensibly serious seriously set setback setbacks sets several "
    "severe short sight sights simple slow slowly small smaller smart smooth smoothly snag somebody somehow "
    "soon sound spot standard standards start stay stop straight strange stress stressed stuck stuff "
    "suboptimal suffer suffers suitable suited suits support sure systematic systematically tackle tackled "
    "take taken takes taking thing things think thinking thorough thoroughly thought thread through tired "
    "together tough track tricky tried tries trouble troubles truly trust trusted try trying turn turned "
    "turns twice uncertain unclear understand understanding understood unexpected unexpectedly unsatisfactory "
    "unsatisfying unsure until unusual up update updated urgent valuable value view vigilant wait waiting way "
    "ways weigh weird well went whatever wherever whole wisely worry worse worst worthwhile wrong yourself"
)
_PATTERNS: dict[Code, str] = {
    "de": (
        r"etwas|irgend|nichts|alles|anderes?|was$|worauf|wie$|du$|dich|dir$|dein|mich|mein|uns|euch|ihn|ihm|"
        r"ihnen|sein$|geh(?:t|en|e)?$|läuft|schief|schwierig|schwer|kompli|komplex|unklar|klar|klapp|"
        r"funktionier|passt?$|passen|stimm|fehler|ursache|grund|gründ|störung|panne|hindern|herausford|"
        r"zweifel|(?:sicher|sicherheit)|wichtig|ernst|dring|groß|klein|lang|kurz|einfach|schnell|langsam|"
        r"eile?$|druck$|zeit$|später|früh|spät|letzt|erst|nächst|wieder|zurück|weiter|vor$|voran|beheb|"
        r"beseitig|reparier|korrigier|klär|änder|anpass|pass(?:e|en)$|verbesser|handl|handel|tu|tust|denk|"
        r"überleg|nachdenk|bedenk|überdenk|frag(?:e|en)? ?dich|frag$|frage$|achte|achten|aufmerk|konzentr|"
        r"fokus|detail|einzelheit|doppelt|zweimal|prüf|überprüf|kontroll|schau|sieh|sehen|seh(?:e|en)?$|wähl|"
        r"entscheid|option|wege?n?$|weg$|behutsam|vorsicht|umsicht|bedacht|sauber|ordentlich|gründlich|genau|"
        r"ruhig|ruhe|geduld|gewissenhaft|versuch|probier|bis$|mach|such(?:e|en)?$|find(?:e|en)?$|erkenn|"
        r"versteh|begreif|analys|untersuch|beobacht|sache|ding|dinge?n?$|ganze|teil|stück|bereich|wesentlich|"
        r"kern$|plan|mühe|kraft|genug|wenig|bisschen|viel|einige|anforderung|erwartung|annahme|fertig|schluss|"
        r"ende|anfang|beginn|kommt|komm|tritt|treten|auftr|auftauch|zeigt|auffäll|merk|bemerk|seltsam|komisch|"
        r"merkwürdig|unerwartet|ungewöhn|danach|davor|sofort|gleich|direkt|bewusst|sinn|ordnung|strukturier|"
        r"systemat|verantwort|ehrlich|konsequent|hilfe|rat$|reagier|nimm|nehm|gib|geb|lass|bleib|halt|"
        r"setz(?:e|en)?$|steh|stell(?:e|en)? (?:sicher)|jed|stets|möglichst|überall|anders|neu(?:e[nrsm]?)?$|"
        r"hak(?:t|en)$|enttäusch|überblick|gefühl|fühl|anfühl|falsch|idee|einfall|aufgeh|rückschlag|"
        r"niederlage|entscheidung|entscheide|dran$|disziplin|vertrau|urteil|bauchgefühl|instinkt|sortier|"
        r"priorit|kreativ|einfallsreich|wertvoll|passend|passendst|geeignet|nachteil|vorteil|vor-$|wäg|abwäg|"
        r"lern|daraus|mal$|beim$|anlauf|wag|neuanfang|resultat|bilanz|motiv|zuversicht|positiv|neugier|offen|"
        r"flexib|beweglich|eigeninitiative|professionell|achtsam|wachsam|präzis|exakt|akribisch|effektiv|"
        r"effizient|optimal|reibungslos|vernünft|verstand|logik|logisch|hektik|hast|panik|stress|überforder|"
        r"müde|risiko|risiken|gefahr|gefähr|maßnahme|blick|perspektive|sicht|kern|punkt|erledig|bring|dennoch|"
        r"trotzdem|konzept|mut|mutig|entschlossen|beharr|ausdauer|hartnäck|selbstkrit|haltung|hindernis|"
        r"passier|gescheh|kopf|kühl|bewahr|eins$|zeitdruck|leid|leidet|messlatte|höher|hoch|feil|rest$|"
        r"information|eintreff|berücksicht|beachte|niemand|jemand|kenn|weiß|wiss|grab|tief|tiefer|standard|"
        r"maßstab|zugeb|eingesteh|entschuldig|glaub|hoff|neuigkeit|aktualisier|qualität|lös|beseit|unser"
    ),
    "fr": (
        r"quelque|rien|tout|toute?s?$|autre|ça$|cela|va$|vas$|aller?$|vont|marche|fonctionn|mal$|bien|"
        r"difficile|dur|compliqu|complexe|clair|flou|erreurs?$|faute|cause|raison|pannes?$|obstacle|défi|"
        r"doutes?$|sûr|certain|incertain|importan|grave|urgent|grand|petit|long|court|simple|facile|vite|"
        r"rapide|lente?s?$|lentement|pression|tard|tôt|premi|derni|prochain|nouveau|arrière|avant$|corrig|"
        r"répar|règl|régl|arrang|chang|modif|ajust|adapt|amélior|agis|agir|fais|pense|réfléch|demande-?toi|"
        r"toi$|te$|concentr|attention|détail|double|deux|vérif|contrôl|regard|choisi|options?$|choix|voie|"
        r"prudemment|prudence|soin|soigneu|proprement|propre|correct|sérieu|calme|patien|essaie|essay|tent|"
        r"jusqu|continu|avanc|progress|arrêt|attend|plutôt|immédiat|aussitôt|directement|cherch|trouv|compren|"
        r"analys|examin|observ|identifi|sait|savoir|connaî|chose|ensemble|parties?$|morceau|essentiel|fond$|"
        r"principe|plans?$|effort|énergie|assez|peu$|beaucoup|plusieurs|exigence|attente|hypothèse|fini|fin$|"
        r"début|survien|arrive|apparaî|produi(?:re|sent)$|passent?$|semble|étrange|bizarre|inattendu|"
        r"inhabituel|conséquence|remarqu|aperçoi|reste|prends|prendre|recul|donne[rz]?$|mets$|nature|organis|"
        r"systémat|responsab|honnê|aide|réagi|es$|aux?$|vraiment|partout|chaque|m[eê]me|coinc|déçoi|décev|"
        r"perds?$|perdre|fil$|esprit|cloch|idées?$|échou|échec|revers|décision|décid|rest|disciplin|fie$|fie-|"
        r"jugement|instinct|intuition|ordre|remet|priorit|fix|créati|inventi|imagin|valeur|valable|convien|"
        r"convenable|adapté|pour-?$|contre|pès|peser|avantage|inconvénient|leçon|tire|appren|apprend|fois|"
        r"mieux|meilleur|démarche|repens|retent|chance|résultat|commenc|motiv|confian|positi|curi|ouvert|"
        r"soupl|flexib|initiative|professionnel|vigilan|précis|exact|méticul|efficac|optimal|fluide|"
        r"raisonnable|sens$|bon$|logique|hâte|précipit|panique|stress|débord|fatigu|risque|danger|mesure|"
        r"précaution|perspective|vue$|angle|point|cœur|courage|détermin|persévér|persist|humble|attitude|barr|"
        r"route|chemin|moyen|contourn|commis|commett|assum|tête|froid|garde|haut|barre|peaufin|baiss|qualité|"
        r"place|information|nouvelles?$|arriv|compte$|personne|creus|standard|norme|avou|excus|croi|espér|"
        r"met$|mettre"
    ),
    "es": (
        r"algo|nada|todo|otr[ao]|otros|así|va$|vas$|ir$|van|sal[eg]|salir|mal$|bien|difícil|dur[ao]|complic|"
        r"complej|claro|confus|errore?s?$|error|falla$|fallo|causas?$|razón|motivo|obstácul|desaf|reto|"
        r"dudas?$|segur|insegur|importan|importa|grave|urgent|grande|pequeñ|larg|cort[ao]|simple|sencill|"
        r"fácil|rápid|lent[ao]s?$|lentamente|presión|tarde|pronto|primer|últim|siguiente|nuev[ao]|atrás|"
        r"adelante|arregl|corrig|corrij|correc|repar|soluc|cambi|ajust|adapt|mejor|actú|actua|haz|hag|piens|"
        r"pens|reflexion|pregúntate|pregunta$|concentr|atención|detalle|doble|dos$|verific|compr[uo]eb|"
        r"comprob|revis|control|mira|elig|escog|opci|camino|vía|cuidado|cautel|pruden|limpi|forma$|maner|"
        r"orden$|serio|calma|pacien|intent|continú|continu|sig[au]|sigue|seguir|avanz|avance|progres|par[ae]$|"
        r"detén|esper|inmediat|directamente|busca|encuentr|entien|entend|comprend|analiz|examin|observ|"
        r"identif|sabe|saber|cosas?$|conjunto|partes?$|trozo|esencial|fondo|principio|plan$|planes$|esfuerz|"
        r"energ|bastante|poco|much|vari[ao]s|requisit|expectativ|supuest|termin|fin$|final|inicio|comienz|"
        r"ocurr|suced|pasa$|aparec|surg|parec|extrañ|rar[ao]|inesperad|consecuencia|not[aeo]s?$|dese?$|presta|"
        r"dar?$|da$|funcion|estés|estás|esté|seas|sea$|organiz|sistemát|responsab|honest|ayuda|reaccion|"
        r"realmente|qué$|qu[eé]$|nunca|tod[ao]s?$|d[eo]nde|respons|veces|atasc|decepcion|pierd|perd|hilo|"
        r"encaj|idea|revés|fracas|decisi|decid|mant[eé]n|manten|disciplin|conf[íi]|confian|criterio|instinto|"
        r"intuici|priorid|priorizar?|fij[ae]|creativ|inventiv|imaginaci|valios|valor|conven|conveng|adecuad|"
        r"apropiad|pros$|contras?$|sopes|ventaj|desventaj|aprend|lección|vez$|próxim|replant|repiens|reorgan|"
        r"recuper|empie|empez|motiv|positiv|curios|abiert|flexib|iniciativ|profesional|vigil|precis|exact|"
        r"meticul|eficaz|eficien|óptim|fluid|razonabl|sentido|común|lógic|prisa|precipit|pánico|estrés|estres|"
        r"agobi|cansad|riesg|peligr|medid|precauci|mirad|perspectiv|vista|ángulo|punto|núcleo|corazón|valent|"
        r"determinaci|persever|persist|humild|actitud|convien|tom[ae]$|pon$|ponlo|poner|resultad|hacerlo|"
        r"hazlo|cierr|paso$|rode|comet|reconoc|enmiend|enmend|cabeza|frí|mantén|calidad|baj|sub|listón|pul|"
        r"rest|información|lleg|tenl|nadie|alguien|profundi|qued|estándar|norma|admit|disculp|cree|altur|alto"
    ),
    "zh": (
        r"出了?问题|出错|事情|变得|变化|困难|复杂|麻烦|错误|原因|故障|障碍|挑战|疑问|疑虑|怀疑|不?确定|清楚|"
        r"明白|重要|严重|紧急|简单|容易|压力|第一时间|最后|下一步|修好|修复|修改|修正|改正|改进|改善|调整|"
        r"适应|改变|换个|换一|正确|妥善|合理|适当|认真|仔细|小心|谨慎|耐心|冷静|好好|努力|尽力|想想|想一想|"
        r"思考|考虑|反思|注意|关注|集中|专注|细节|反复|两遍|检查|确认|核实|查看|看看|选择|做法|办法|方式|方案|"
        r"行事|行动|不行|正常|一切|全部|尝试|试试|直到|为止|继续|前进|推进|停下来?|等待|立刻|马上|直接|找到|"
        r"找出|寻找|弄清|了解|理解|分析|调查|观察|识别|知道|东西|整体|部分|小块|关键|本质|原则|计划|足够|一点|"
        r"几个|要求|期望|假设|结束|开始|发生|出现|产生|看起来|奇怪|异常|意外|照做|然后|退一步|什么|怎么|"
        r"为什么|安全|保险|确保|保持|遵循|按照|自己|别的|其他|另一|真正|彻底|及时|失败|出现的|及早|逐一|逐个|"
        r"逐步|[我你它好不没再很更最就才会地得做]|瓶颈|失望|不满意|头绪|思路|思绪|想法|主意|创意|感觉|不对劲|"
        r"行不通|挫折|决定|决策|权衡|利弊|轻重|缓急|优先|有条不紊|专心|相信|信任|判断|直觉|理顺|整理|梳理|"
        r"发挥|更好|最好|最合适|合适|适合|有价值|价值|重新|审视|再来一次|再次|吸取|教训|学习|下次|太多|遭遇|"
        r"积极|主动|乐观|自信|信心|开放|灵活|专业|警惕|精准|准确|精确|严谨|高效|有效|最优|顺利|理性|逻辑|常识|"
        r"匆忙|慌张|慌乱|疲惫|风险|危险|措施|预防|角度|全局|大局|核心|要点|勇气|坚持|毅力|谦虚|态度|遇到|令人|"
        r"失去|分清|做得|想出|挡路|绕过|犯了?|承认|弥补|头脑|一次|一件|质量|下降|标准|精益求精|信息|加以|更新|"
        r"没人|没有人|有人|答案|深入|挖掘|道歉|水平"
    ),
    "ja": (
        r"何か|何|なに|うまく|いか|いく|行か|難し|困難|複雑|大変|厄介|間違|誤り|ミス|エラー|原因|理由|障害|壁|"
        r"挑戦|疑問|迷い?|迷っ|自信|確信|不安|明確|曖昧|大事|重大|深刻|緊急|急ぎ|急い|大き|小さ|長い|短い|"
        r"簡単|容易|早く|速く|遅|時間|後で|最初|最後|最も|次|再び|もう一度|直し?|直す|修正|改善|変更|変え|"
        r"調整|適応|きちん|適切|丁寧|慎重|注意|冷静|落ち着|我慢|忍耐|努力|一歩|下が|よく|考え|思考|検討|反省|"
        r"振り返|集中|細部|細か|二重|二度|確認|チェック|見直|見る|見て|選択|選び|選ぶ|選ん|やり方|やる|道|"
        r"進め|進む|進ん|正常|動か|動く|動作|別の|他の|違う|試し?|試す|まで|続け|止ま|待つ|待っ|すぐ|直ち|"
        r"直接|見つけ|探し|探す|突き止|理解|分析|調査|観察|把握|知る|物事|全体|部分|本質|要点|原則|計画|十分|"
        r"少し|多い|要求|期待|仮定|完了|終わ|終え|始め|発生|起き|起こ|現れ|出た|出る|見え|奇妙|変な|おかし|"
        r"予想|意外|それに|それ|これ|従っ|従う|行動|行う|安全|確実|保つ|守る|しっかり|徹底|責任|誠実|もの|"
        r"こと|自分|みんな|全て|すべて|全部|一つ|ひとつ|ずつ|小分け|気を|付け|つけ|焦ら|行き詰ま|期待外れ|"
        r"混乱|違和感|案|だめ|駄目|失敗|決断|判断|頭|整理|優先|順位|規律|保ち|信じ|整え|工夫|価値|高い|片付け|"
        r"学び|上手|長所|短所|比べ|合う|挑む|取り組|良い|より|積極|主体|楽観|柔軟|専門|警戒|正確|精密|厳密|"
        r"効率|効果|最適|円滑|合理|論理|常識|焦り|慌て|圧力|疲れ|危険|リスク|対策|予防|視点|全体像|大局|核心|"
        r"勇気|粘り|根気|謙虚|態度|姿勢|気持ち|感じ|回り道|塞|犯し|認め|正す|追われ|品質|落ち|基準|磨き|上げ|"
        r"情報|届い|考慮|更新|誰|答え|明らか|掘り下げ|謝|水準"
    ),
}
_INFLECTIONS: dict[Code, str] = {
    "de": r"(?:e|en|er|es|em|n|s|t|st|et|te|ten|ung|ungen|ig|lich|nd|nd\w{1,2}|ier\w{1,2}|ere[nrs]?|est\w{0,2})?$",
    "fr": r"\w{0,5}(?:-\w+)*$",
    "es": r"\w{0,5}$",
    "zh": "",
    "ja": "",
}
"""Endings of these words; a longer word, as a compound, is another word."""
_VAGUE = {code: re.compile(rf"(?:{pattern}){_INFLECTIONS[code]}", re.IGNORECASE) for code, pattern in _PATTERNS.items()}
_VAGUE_ENGLISH = frozenset(_ENGLISH.split())
_ANCHOR = re.compile(
    r"[`\d]|(?<![A-Za-z])[A-Z]{2,}|\b[A-Za-z]+[._/][A-Za-z]+|\b[a-z]+[A-Z]\w*|(?<!\w)-{1,2}[A-Za-z]\w*|\"[^\"]{2,60}\"|\u201e|\u300c|\u00ab"
)
_MOST_UNNAMED = {0: 3, 1: 2}
"""With so many words for things in the trigger, so many in the action are too few."""
_MOST_UNNAMED_SIGNS = {0: 3, 1: 1}
"""The same in scripts without spaces, where two signs count as a word: fewer are counted."""


def is_vague(description: str, content: str) -> str:
    """Return what of a lesson names nothing: its ``trigger``, its ``action``; empty when they can be told.

    A vague trigger is forgiven where the action names several things, and an action that names one where the trigger
    does. A command, a number, a file or a quoted word is a thing at once.
    """
    action = content.partition(DO_INSTEAD)[2] or content
    code = language_of(f"{description}\n{action}")
    if _ANCHOR.search(action) is not None:
        return ""
    done = _things(action, code)
    if done == 0:
        return "action"
    if not description.strip() or _ANCHOR.search(description) is not None:
        return ""
    named = _things(description, code)
    too_few = _MOST_UNNAMED_SIGNS if code in {"zh", "ja"} else _MOST_UNNAMED
    if done > too_few.get(named, 0):
        return ""
    return "action" if named else "trigger"


def _things(text: str, code: Code) -> int:
    """Return how many words of a text name something."""
    language = LANGUAGES.get(code)
    if language is None:
        return len({word for word in specific_words(text) if word not in _VAGUE_ENGLISH})
    if not language.spaced:
        return subject_words(_VAGUE[code].sub(" ", text), language)
    return sum(_VAGUE[code].match(word) is None for word in named_words(text, language))
