"""What is worth keeping: an action and a trigger that can be checked, in six languages."""

from __future__ import annotations

import pytest

from promises import promise
from reasoningbank.sessions.triggers import has_trigger
from reasoningbank.sessions.validation import examine
from reasoningbank.sessions.worth import is_motto, is_retold
from reasoningbank.types.session import Item, Step, Trajectory

TRIGGERS = {
    "English": (
        "When the build fails after an upgrade of the compiler",
        "If a migration locks a table that is written to",
        "Before a release branch is cut",
        "For paginated endpoints that sort by a column which changes",
        "Flaky tests that depend on the clock",
        "Whenever two workers write to one SQLite file",
        "A booking holds more than one passenger",
        "Certificate errors behind a corporate proxy",
    ),
    "German": (
        "Wenn der Build nach einem Upgrade des Compilers fehlschlägt",
        "Bevor eine Migration auf der Produktion läuft",
        "Bei Tests, die von der Uhrzeit abhängen",
        "Sobald zwei Prozesse dieselbe Datei schreiben",
        "Nach dem Umbenennen eines Moduls",
        "Schlägt der Login mit 401 fehl, obwohl das Token gültig ist",
        "Falls die Antwort seitenweise kommt",
        "Eine Buchung enthält mehrere Fluggäste",
        "Erstattung für Tickets der Basisklasse",
        "Ohne Schreibrecht auf /usr/local",
    ),
    "French": (
        "Quand la compilation échoue après une mise à jour",
        "Avant de supprimer une colonne encore lue",
        "En cas de réponse paginée",
        "Dès que deux processus écrivent dans le même fichier",
        "Si le test dépend de l'heure",
        "Lorsque le jeton expire pendant un envoi",
        "Face à une erreur 429 du fournisseur",
        "Une réservation comporte plusieurs passagers",
        "Résultats de recherche sans lien « suivant »",
        "Sous Windows, sur les exécuteurs de CI",
    ),
    "Spanish": (
        "Cuando la compilación falla tras actualizar el compilador",
        "Antes de borrar una columna que aún se lee",
        "Al importar un archivo con fechas locales",
        "En caso de respuestas paginadas",
        "Si la prueba depende de la hora",
        "Siempre que dos procesos escriben el mismo archivo",
        "Tras renombrar un módulo",
        "Una reserva tiene varios pasajeros",
        "Sin permiso de escritura en /usr/local",
        "Tareas que piden el elemento más antiguo",
    ),
    "Chinese": (
        "当编译器升级后构建失败时",
        "升级依赖后测试失败",
        "处理分页接口的返回结果",
        "需要并发写入同一个数据库文件",
        "适用于依赖系统时间的测试",
        "对于带有时区的日期字段",
        "调用支付接口之前",
        "遇到 401 错误而令牌仍然有效",
        "数据库迁移期间",
        "在生产环境中修改表结构",
        "日志文件超过磁盘配额的情况",
        "一旦两个进程写入同一文件",
        "接口返回 429",
        "搜索结果页没有“下一页”链接",
        "用户用另一种货币报价",
        "基础经济舱机票的退款请求",
    ),
    "Japanese": (
        "コンパイラの更新後にビルドが失敗するとき",
        "時刻に依存するテストの場合",
        "ページ分割された応答を処理する際",
        "テーブルの列を削除する前に",
        "二つのプロセスが同じファイルに書き込むなら",
        "トークンの期限が切れたら",
        "移行作業の間に書き込みが続く状況",
        "予約に複数の搭乗者が含まれる",
        "/usr/local に書き込み権限がない",
        "先頭列が日付の CSV エクスポート",
    ),
}
NONE = (
    "A good strategy",
    "In all situations",
    "Eine gute Strategie",
    "Bei jeder Aufgabe",
    "Une bonne pratique",
    "Pour toutes les tâches",
    "Una buena estrategia",
    "En cada tarea",
    "很好的策略",
    "任何任务",
    "良い方針",
    "すべてのタスクで",
    "Wenn man an einer Aufgabe arbeitet",
    "Beim Lösen von Problemen",
    "Lors de la résolution de problèmes",
    "Dans toutes les situations",
    "Al usar herramientas",
    "Útil en muchas situaciones",
    "解决问题的时候",
    "适用于多种情况",
    "問題を解決する際",
    "多くの状況で役立つ",
)


@promise(
    "distil:triggers",
    "A trigger is recognised by its structure in English, German, French, Spanish, Chinese and Japanese, and one that "
    "fits every task is none.",
    source="issue Any model (triggers in six languages)",
)
@pytest.mark.parametrize("language", TRIGGERS)
def test_triggers_are_recognised_in_six_languages(language: str) -> None:
    assert [text for text in TRIGGERS[language] if not has_trigger(text, "", "")] == []


@promise("distil:triggers")
@pytest.mark.parametrize("text", NONE)
def test_what_fits_every_task_is_no_trigger(text: str) -> None:
    assert not has_trigger(text, "", "")


VAGUE_PURPOSES = (
    "Um Fehler zu vermeiden, arbeite immer gründlich.",
    "Damit nichts schiefgeht, gehe in jedem Fall mit Bedacht vor.",
    "Prüfe alles zweimal, damit keine Fehler entstehen.",
    "Para ir sobre seguro, comprueba todo minuciosamente.",
    "Para que nada salga mal, actúa en todo momento con prudencia.",
    "Con el propósito de evitar errores, actúa con responsabilidad.",
    "ミスを防ぐために、常に丁寧に作業すること。",
    "失敗しないように、どんなときも慎重に進める。",
    "念のため、いつもすべてをしっかり確認する。",
)
OWN_PURPOSES = (
    "Um Rundungsfehler bei Beträgen zu vermeiden, rechne in Cent mit ganzen Zahlen.",
    "Damit die Suche Tippfehler verzeiht, lege einen Index aus Trigrammen an.",
    "Um eine Rechnung zu stornieren, öffne zuerst den Beleg im Archiv.",
    "Para evitar errores de redondeo en los importes, calcula en céntimos con enteros.",
    "Para liberar el puerto 8080, detén primero el contenedor antiguo con docker stop.",
    "二重注文を防ぐために、読み取る前に行をロックする。",
    "CSV出力で文字化けを防ぐために、utf-8-sig でファイルを書き出す。",
)


@promise(
    "distil:purposes",
    "In German, Spanish and Japanese a purpose that names no thing is neither a trigger nor makes advice a lesson; one "
    "that names what it is about does.",
    source="issue Any model (what is worth keeping)",
)
@pytest.mark.parametrize("text", [*VAGUE_PURPOSES, *OWN_PURPOSES])
def test_a_purpose_that_every_task_has_is_no_trigger(text: str) -> None:
    own = text in OWN_PURPOSES
    assert has_trigger(text, "", text) is own
    assert is_motto("", text) is not own


@promise(
    "distil:worth",
    "A content that only tells what happened, only praises, or is advice that fits every task and names nothing, is "
    "refused; one that says what to do is kept. Both hold in six languages.",
    source="issue Any model (what is worth keeping)",
)
@pytest.mark.parametrize(
    ("content", "retold", "motto"),
    [
        ("The agent successfully called the service and then sent the answer to the customer.", True, False),
        ("After confirming the order, the assistant cancelled it and told the user.", True, False),
        ("Der Agent hat zuerst die Datei gelesen und dann den Test repariert.", True, False),
        ("代理首先读取文件, 然后修复测试。", True, False),
        ("Always verify authentication requirements and include valid tokens in requests.", False, True),
        ("Validate all inputs and handle errors gracefully.", False, True),
        ("Break down complex tasks into explicit steps and verify the results of each step.", False, True),
        ("Pass `recursive=True` when the parent folder may be missing.", False, False),
        ("Press the brake pedal and lock the doors before the engine is started.", False, False),
        ("Collect every page before the most played artist is counted.", False, False),
        ("Prüfe zuerst die Zeitzone der Spalte und rechne dann in UTC um.", False, False),
        ("先检查列的时区, 再转换为 UTC。", False, False),
        ("Good parsing leads to accurate outcomes and improves user trust.", False, True),
        ("Gutes Einlesen führt zu genauen Ergebnissen und stärkt das Vertrauen.", False, True),
        ("Beide Grenzen vor dem Vergleich in UTC umrechnen; das sichert die letzte Zeile.", False, False),
        ("L'utilisateur a été informé et la session s'est bien terminée.", True, False),
        ("Une bonne lecture mène à des résultats précis.", False, True),
        ("Continuer jusqu'à ce qu'une page en contienne moins.", False, False),
        ("El agente instaló Python 3.11 y la compilación terminó bien.", True, False),
        ("Comprender la estructura de los datos es esencial para el éxito.", False, True),
        ("Leer Retry-After, esperar ese tiempo y enviar la misma petición una vez.", False, False),
        ("用户得到了通知, 会话顺利结束。", True, False),
        ("耐心是可靠系统的关键。", False, True),
        ("一直翻页, 直到某页条数少于上限。", False, False),
        ("エージェントは Python を入れ、その後ビルドが通った。", True, False),
        ("データ構造の理解は成功に不可欠である。", False, True),
        ("先にコピーを取り、書き込み後にチェックサムを比較する。", False, False),
        ("What went wrong: It failed. The agent then retried it.\nDo instead: Read `Retry-After` first.", False, False),
        ("Set the user's role before the seed script runs; it was read once at start.", False, False),
    ],
)
def test_stories_and_mottos_are_not_kept(content: str, retold: bool, motto: bool) -> None:
    assert is_retold(content) is retold
    assert is_motto("", content) is (motto and not retold) or retold


VAGUE_LESSONS = (
    ("If something goes wrong", "Find the cause and fix it properly."),
    ("When things get difficult", "Take a step back and think about it carefully before you continue."),
    ("When you hit a snag", "Stay focused and work through it with discipline."),
    ("If the login fails with 401 although the token is valid", "Deal with it right away instead of waiting."),
    ("Wenn etwas schiefgeht", "Suche die Ursache und behebe sie ordentlich."),
    ("Nach jeder Änderung", "Schau nach, ob alles noch passt."),
    ("Vor einer Entscheidung", "Wäge Vor- und Nachteile ab und nimm das Passendste."),
    ("Si quelque chose ne va pas", "Cherche la cause et règle-la proprement."),
    ("Quand c'est difficile", "Prends du recul et réfléchis bien avant de continuer."),
    ("Si algo sale mal", "Busca la causa y corrígela correctamente."),
    ("Tras un cambio", "Comprueba que todo siga bien."),
    ("出现错误时", "找到原因并妥善解决。"),
    ("当事情变得困难时", "退一步好好思考再继续。"),
    ("エラーが発生した場合", "原因を見つけて適切に解決する。"),
    ("迷ったとき", "最も安全な選択をして慎重に進める。"),
)
OWN_LESSONS = (
    ("If something goes wrong during a download", "Resume it with a range request and compare the checksum."),
    ("When an error occurs", "Run `git bisect` between the last good commit and HEAD."),
    ("If the kettle shows limescale", "Boil vinegar in the kettle and rinse twice before tea is made."),
    ("Wenn der Drucker klemmt", "Öffne die hintere Klappe und zieh das Papier heraus."),
    ("Wenn ein Ordner fehlt", "Lege den Ordner vor dem Kopieren an."),
    ("Si le cache rend d'anciens prix", "Supprime la clé après chaque écriture."),
    ("Si la réponse est paginée", "Lis toutes les pages jusqu'à la dernière."),
    ("Si hay celdas combinadas", "Separa las celdas antes de leer."),
    ("端口被占用时", "向系统申请空闲端口。"),
    ("时区混用时", "把所有时间换算成UTC。"),
    ("ポートが使用中のとき", "システムに空きポートを要求する。"),
    ("結合セルがある表のとき", "読み込み前にセルを分割する。"),
)


@promise(
    "distil:vague",
    "A lesson whose condition and action both name nothing, or whose action names nothing, is refused in six "
    "languages; a command, a number or a name is something.",
    source="issue Any model (what is worth keeping)",
)
@pytest.mark.parametrize(("description", "content"), [*VAGUE_LESSONS, *OWN_LESSONS])
def test_a_vague_condition_and_a_vague_action_are_no_lesson(description: str, content: str) -> None:
    item = Item(title="Resume what was cut off", description=description, content=content, outcome="success")
    session = Trajectory(task="Publish the report", steps=(Step(action="ls"),))
    accepted, refused = examine([item], session, "success", model="m")
    own = (description, content) in OWN_LESSONS
    assert bool(accepted) is own, refused
    assert own or refused[0].reason in {"no_trigger", "no_action"}, refused
