"""What a person's last words, after which nothing was done, do to a session whose tests pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.sessions.facts import unaccepted_end, verdict_in
from reasoningbank.sessions.judge import by_evidence
from reasoningbank.types.session import Judgement, Step
from sessions.judged_cases import NOW, session, shell, suite

EDIT = Step(tool="Edit", action='{"file_path": "sums.py"}', observation="done")
GREEN = (suite(False), EDIT, suite(True))


def ended(text: str, *after: Step) -> Judgement:
    return by_evidence(session(*GREEN, Step(user=text, thought=""), *after), at=NOW)


COMPLAINTS = (
    "The list is empty after the second click.",
    "I see the banner twice.",
    "it prints 7 but I wanted 8",
    "Nothing arrives in the queue.",
    "Great. The chart covers the legend now.",
    "Thanks, but the dates are off by one.",
    "it works now. But the footer is gone.",
    "the export takes four minutes",
    "Why is the sidebar grey?",
    "Where has the search box gone?",
    "Did you run it at all?",
    "Fix the rounding, I get 3.3",
    "put the old icon back",
    "I will do it by hand",
    "Can you look at why the numbers differ?",
    "Die Tabelle zeigt nur eine Zeile.",
    "Jetzt kommt gar keine Antwort mehr",
    "Warum ist der Rand rot?",
    "Le formulaire ne s'ouvre plus",
    "La liste est vide maintenant",
    "Pourquoi le titre est en bas ?",
    "Ahora el botón está fuera de la pantalla",
    "La app ya no arranca",
    "Il grafico mostra i dati di ieri",
    "Agora o gráfico aparece cortado",
    "De knop staat nu onder de tabel",
    "点击之后没有反应",
    "列表里只有一行",
    "一覧に何も表示されません",
    "Теперь список пуст",
    "Przycisk zniknął",
    "버튼이 사라졌어요",
    "Liste şimdi boş",
    "Почему кнопка серая?",
)
ACCEPTED = (
    "Thanks a lot!",
    "Nice, thank you.",
    "Looks great to me.",
    "The dates are right now.",
    "Perfect, merge it.",
    "No, that's all. Thanks!",
    "/clear",
    "Danke dir, sieht gut aus.",
    "Merci, c'est parfait.",
    "Muchas gracias, todo bien",
    "Grazie mille!",
    "Muito obrigado",
    "Bedankt, ziet er goed uit",
    "太好了\uff0c谢谢",
    "ありがとうございました",
)
FURTHER = (
    "Now write the release notes.",
    "Please commit this and open a pull request.",
    "Add a test for an empty file as well. It should cover both formats.",
    "Great, next add the French texts",
    "Do the same for the import page",
    "Could you also document the flag?",
    "How do I run the importer by hand?",
    "Why did you choose a set here?",
    "Jetzt schreib noch einen Eintrag ins Changelog.",
    "Kannst du das auch noch dokumentieren?",
    "Ajoute maintenant une page d'aide",
    "Ahora escribe la documentación",
    "Ora aggiungi un esempio",
    "Agora crie a página de ajuda",
    "Voeg nu een voorbeeld toe",
    "请再添加一个例子",
    "次に例を追加してください",
)


@promise(
    "judging:last-words",
    "What a person says last, with nothing done after it, leaves a session with passing tests a success only where it "
    "is read as thanks, agreement, other work or a question about its use; any other statement, and any in a language "
    "that is not read, makes it unknown or a failure.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize("text", COMPLAINTS)
def test_a_statement_that_accepts_nothing_leaves_the_end_open(text: str) -> None:
    end = ended(text)
    assert end.verdict in {"unknown", "partial", "failure"}
    assert end.probability <= 0.5
    assert ended(text, shell("cat sums.py", "total = 1")).verdict != "success", "looking is not a repair"
    assert ended(text, EDIT, suite(True)).verdict == "success" or verdict_in(text) is not None


@promise("judging:last-words")
@pytest.mark.parametrize("text", [*ACCEPTED, *FURTHER])
def test_thanks_and_other_work_leave_it_a_success(text: str) -> None:
    assert ended(text).verdict == "success"


@promise("judging:last-words")
def test_the_reason_quotes_what_was_said() -> None:
    assert "the chart covers the legend now." in ended("Great. The chart covers the legend now.").rationale


@promise(
    "judging:relief",
    "That something fails no longer is an approval in every language that is read; that something works no longer is "
    "none.",
    source="issue 11 Judge",
)
@pytest.mark.parametrize(
    "text",
    [
        "It doesn't crash any more.",
        "No more errors, thanks!",
        "The upload no longer fails and everything arrives",
        "Nothing hangs anymore",
        "Der Absturz kommt nicht mehr, es gibt keinen Fehler mehr",
        "Jetzt scheitert nichts mehr, alles wird gespeichert",
        "Es gibt keine Fehler mehr, danke",
        "Ça n'échoue plus, merci",
        "Il n'y a plus d'erreur",
        "Ya no se cuelga, gracias",
        "Ha dejado de fallar",
        "Non fallisce più",
        "Adesso non si blocca più, grazie",
        "Agora não trava mais",
        "O erro já não aparece, obrigado",
        "Het crasht niet meer",
        "Er is geen fout meer, bedankt",
        "现在不再崩溃了",
        "没有报错了\uff0c谢谢",
        "もう落ちません",
        "エラーが出なくなりました、ありがとうございます",
    ],
)
def test_a_failure_that_is_gone_is_an_approval(text: str) -> None:
    said = verdict_in(text)
    assert said is not None
    assert said[0] is True
    judged = ended(text)
    assert (judged.verdict, judged.judge) == ("success", "evidence")
    assert any(fact.kind == "user_verdict" and fact.positive for fact in judged.evidence)


@promise("judging:relief")
@pytest.mark.parametrize(
    "text",
    [
        "It no longer works",
        "The error message is no longer shown",
        "It no longer crashes, but the total is wrong",
        "Es läuft nicht mehr",
        "Die Fehlermeldung wird nicht mehr angezeigt",
        "Es stürzt nicht mehr ab, aber die Summe ist immer noch falsch",
        "Ça ne marche plus",
        "Il y a plus d'erreurs qu'avant",
        "Ya no funciona nada",
        "Non funziona più",
        "Não funciona mais",
        "Het werkt niet meer",
        "不再工作了",
        "もう動きません",
        "If it no longer fails, commit it",
        "Does it no longer crash?",
    ],
)
def test_what_works_no_longer_is_no_approval(text: str) -> None:
    said = verdict_in(text)
    assert said is None or said[0] is False
    assert ended(text).verdict != "success" or text.endswith(("?", "commit it"))


@promise("judging:never-raises")
@given(st.lists(st.sampled_from([*COMPLAINTS, *ACCEPTED, *FURTHER, "?", "```", "> x\n"]) | st.text(max_size=40)))
def test_any_last_words_are_read(texts: list[str]) -> None:
    unaccepted_end([EDIT, Step(user=" ".join(texts))])
