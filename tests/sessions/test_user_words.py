"""Verdicts in the words of a user, and words that are none."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.sessions.facts import verdict_in

APPROVALS = (
    "It works now, thanks!",
    "that fixed it",
    "Great, that works perfectly.",
    "Perfect! All tests pass now.",
    "Works like a charm",
    "LGTM",
    "yes, it's working now",
    "The bug is fixed.",
    "Thanks! The error is gone now",
    "Now it works.",
    "I tested it, and it works",
    "exactly what I wanted",
    "That did the trick",
    "You fixed it!",
    "the issue has been resolved",
    "That didn't work. Oh wait, now it works!",
    "No, it works.",
    "works",
)
REJECTIONS = (
    "That did not work",
    "that didn't work, same error",
    "it is not working",
    "It's still not working",
    "not working",
    "No, that's wrong.",
    "Still failing",
    "still getting the same error",
    "I'm still seeing the error when I run it",
    "The tests still fail",
    "the build is still broken",
    "You broke the build",
    "revert that",
    "Please undo your changes",
    "That's not what I asked for",
    "It doesn't work when the list is empty",
    "Hmm, that didn\u2019t fix it",
    "this is incorrect",
    "Wrong.",
    "nope, still broken",
    "same error",
    "It works now. But the tests still fail.",
    "the fix does not work",
    "The problem still persists",
    "it no longer works",
    "That is not right.",
    "nope, same problem on my phone, nothing is fixed",
    "Same error in the console",
    "that didn't fix a thing",
    "your change solved nothing",
)
NEITHER = (
    "thanks",
    "Thank you so much for your help!",
    "ok",
    "yes, please go ahead",
    "Perfect! Yes, please proceed with that.",
    "Does it work?",
    "If it works, commit it",
    "make sure it works",
    "Check that it works before you commit",
    "It works by hashing the key",
    "I don't think so",
    "Can you fix the error?",
    "The login page is not working, please fix it",
    "Fix the failing tests",
    "please explain how it works",
    "How does that work?",
    "> it works now\nwhat does he mean",
    "```\nstill failing\n```\nexplain",
    "It works on Linux but not on Windows",
    "that would work for me",
    "The same issue exists in b.py",
    "It doesn't work like that, it's lazy",
    "great job so far, next add docs",
    "Nein, das geht nicht",
    "unsuccessful",
    "It doesn't matter",
    "revert commit abc123 in the other repo",
    "Add a check that fails when the input is wrong",
    "What is wrong?",
    "I want all tests to pass",
    "I really appreciate your help with this. Thank you.",
    "the result should be correct",
    "Looks good to me. Please commit.",
    "the same error in b.py should be fixed too",
    "The same error in the docs is meant, leave it",
    "Yes, that's correct.",
    "That works for me!",
    "Everything looks correct.",
)

OTHER_PIECES = ("es ", "immer noch ", "toujours la ", "还是", "まだ", "danke, ")
OTHER_REJECTIONS = (
    "Es funktioniert immer noch nicht, die Summe ist falsch.",
    "Geht immer noch nicht.",
    "Das hat gar nichts gebracht",
    "Ça n'a rien changé",
    "No ha solucionado nada",
    "Non ha risolto niente",
    "Não mudou nada",
    "Er is niets veranderd",
    "什么都没修好",
    "何も解決していません",
    "Nein, das ist falsch.",
    "Die Tests schlagen weiterhin fehl",
    "Der Fehler tritt immer noch auf",
    "Immer noch derselbe Fehler",
    "Die Summe stimmt noch nicht",
    "Bitte mach das rückgängig",
    "Das ist nicht das, was ich wollte",
    "Das hat leider nicht funktioniert",
    "Ça ne marche toujours pas, la somme est fausse.",
    "Cela ne fonctionne pas",
    "Non, c'est faux",
    "Toujours la même erreur",
    "L'erreur persiste",
    "Ce n'est pas ce que j'ai demandé",
    "Annule tes changements",
    "Les tests échouent encore",
    "La somme est encore fausse",
    "Sigue sin funcionar, la suma está mal.",
    "Todavía no funciona",
    "No funciona",
    "El error persiste",
    "No es lo que pedí",
    "Deshaz los cambios",
    "Las pruebas siguen fallando",
    "El total sigue mal",
    "Sigue dando el mismo error",
    "Non funziona ancora, la somma è sbagliata",
    "Ancora lo stesso errore",
    "I test falliscono ancora",
    "Non è quello che ho chiesto",
    "Annulla le modifiche",
    "Ainda não funciona, a soma está errada",
    "Continua dando erro",
    "O erro persiste",
    "Não é o que eu pedi",
    "Os testes ainda falham",
    "Het werkt nog steeds niet, de som klopt niet",
    "Nog steeds dezelfde fout",
    "De tests falen nog steeds",
    "Dat is niet wat ik vroeg",
    "Maak dat ongedaan",
    "还是不行\uff0c总和不对。",
    "仍然报错",
    "这不是我要的",
    "测试还是失败",
    "还是同样的错误",
    "请撤销修改",
    "没有解决",
    "总和还是错的",
    "まだ動きません。合計が間違っています",
    "同じエラーが出ます",
    "これは間違っています",
    "元に戻してください",
    "頼んだこととは違います",
    "テストがまだ失敗しています",
    "まだ直っていません",
    "合計がまだ違います",
)
OTHER_APPROVALS = (
    "Funktioniert jetzt, danke!",
    "Es klappt jetzt",
    "Die Tests laufen durch, super",
    "Ça marche maintenant, merci",
    "Le problème est résolu",
    "Ahora funciona, gracias",
    "Ya funciona",
    "Las pruebas pasan, perfecto",
    "Ora funziona, grazie",
    "Agora funciona, obrigado",
    "Het werkt nu, bedankt",
    "现在可以了\uff0c谢谢",
    "问题解决了",
    "動きました、ありがとうございます",
    "直りました",
)
OTHER_NEITHER = (
    "Danke",
    "Es ändert nichts an der API, gut",
    "Wenn es immer noch nicht funktioniert, sag Bescheid",
    "Stelle sicher, dass die Tests nicht fehlschlagen",
    "Die Login-Seite funktioniert nicht, bitte reparieren",
    "Funktioniert es jetzt?",
    "Es funktioniert auf Linux, aber nicht auf Windows",
    "Schreibe einen Test, der bei falschen Werten fehlschlägt",
    "Merci beaucoup",
    "La page de connexion ne marche pas, corrige-la",
    "Si ça ne marche pas, dis-le moi",
    "Vérifie que les tests passent",
    "Gracias",
    "La página de inicio no funciona, arréglala",
    "Si no funciona, avísame",
    "Asegúrate de que las pruebas pasan",
    "¿Funciona?",
    "Grazie mille",
    "Se non funziona, dimmelo",
    "Obrigado",
    "Se não funcionar, avise",
    "Bedankt",
    "Als het niet werkt, zeg het",
    "谢谢",
    "如果还是不行就告诉我",
    "登录页面不能用\uff0c请修复",
    "请添加一个测试",
    "ありがとうございます",
    "もし動かなければ教えてください",
    "ログイン画面を直してください",
    "テストを追加してください",
    "Das ist nicht falsch",
    "Es funktioniert nicht so, es ist lazy",
    "Please use the same problem as in b.py",
    "non-empty lists only",
    "The total is in dat file",
    "Jetzt noch die Dokumentation",
    "Ahora añade las pruebas",
    "Maintenant ajoute les tests",
    "Was ist falsch?",
    "die fehlermeldung soll rot sein",
    "no errors in the log",
    "Das Ergebnis soll nicht negativ sein",
    "so no",
)


@promise("judging:user-verdicts")
@pytest.mark.parametrize("text", [*APPROVALS, *OTHER_APPROVALS])
def test_explicit_approval(text: str) -> None:
    said = verdict_in(text)
    assert said is not None
    assert said[0] is True


@promise("judging:user-verdicts")
@pytest.mark.parametrize("text", [*REJECTIONS, "The sum is still wrong.", *OTHER_REJECTIONS])
def test_explicit_rejection(text: str) -> None:
    said = verdict_in(text)
    assert said is not None
    assert said[0] is False


@promise("judging:user-verdicts")
@pytest.mark.parametrize("text", [*NEITHER, *OTHER_NEITHER])
def test_no_verdict(text: str) -> None:
    assert verdict_in(text) is None


@promise("judging:never-raises")
@given(
    st.text(max_size=400)
    | st.lists(st.sampled_from([*APPROVALS, *REJECTIONS, *NEITHER, *OTHER_REJECTIONS]), max_size=6).map(" ".join)
)
def test_any_text_is_read(text: str) -> None:
    verdict_in(text)


@promise("judging:never-raises")
@pytest.mark.parametrize(
    "piece",
    [
        "i ",
        "thanks ",
        "it still ",
        "ok, ",
        "it now ",
        "still the same ",
        "now again ",
        "``` ",
        "> x\n",
        "es ",
        "immer noch ",
        "toujours la ",
        "还是",
        "まだ",
        "danke, ",
    ],
)
def test_long_texts_take_no_time(piece: str) -> None:
    start = time.process_time()
    verdict_in((piece * 2_000)[:299])
    verdict_in(piece * 2_000)
    assert time.process_time() - start < 1.0
