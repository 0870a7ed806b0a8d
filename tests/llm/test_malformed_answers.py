"""Ways in which models spoil an answer: what is harmless is read, nothing is filled in wrongly."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from promises import promise
from reasoningbank.errors import MalformedAnswer
from reasoningbank.llm.answers import read_answer
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.sessions.judge import Opinion, judge
from reasoningbank.sessions.lessons import FailureLessons, Lessons, SuccessLessons, items_in
from reasoningbank.types.session import Step, Trajectory

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = Trajectory(
    task="Refund it", steps=(Step(action="refund", observation="done"),) * 6, final_answer="It was refunded."
)
OPINION: dict[str, object] = {
    "reason": "Step 3 shows the refund.",
    "completeness": "met",
    "grounding": "met",
    "right_target": "not met",
    "verdict": "partial",
    "probability": 0.4,
}
LESSON: dict[str, object] = {
    "title": "Refund before the fare was read",
    "description": "When a fare has rules of its own",
    "what_went_wrong": "The refund was promised before the fare rules were read.",
    "do_instead": "Read the fare rules first, then answer.",
    "steps": [3],
    "tags": ["fares"],
}
STRATEGY = {"title": "Read the rules", "description": "When a fare has rules", "content": "Read them first."}
SECOND = {**LESSON, "title": "Second lesson", "steps": [5]}
GOOD = json.dumps(OPINION)
TURNED = json.dumps(dict(reversed(OPINION.items())))
ITEMS = json.dumps({"lessons": [LESSON]})
BOTH = json.dumps({"lessons": [LESSON, SECOND]})


@dataclass(frozen=True)
class Kind:
    """One way to answer.

    Attributes:
        name: What is wrong with it.
        text: The answer; it means ``OPINION``, or the lessons that are named.
        read: Whether it has one meaning and is read.
        lessons: Titles of the lessons that it holds; None for an opinion.
    """

    name: str
    text: str
    read: bool = True
    lessons: tuple[str, ...] | None = None


def opinion(**changed: object) -> str:
    return json.dumps({**OPINION, **changed})


def lesson(**changed: object) -> str:
    return json.dumps({"lessons": [{**LESSON, **changed}]})


def without(name: str) -> str:
    return json.dumps({key: value for key, value in OPINION.items() if key != name})


ONE = (str(LESSON["title"]),)
TWO = (*ONE, "Second lesson")
FIELDS = "\n".join(f"  {key}: {json.dumps(value)}," for key, value in OPINION.items())
KINDS = (
    Kind("a fence", f"```json\n{GOOD}\n```"),
    Kind("a sentence before and after", f"Here it is: {GOOD} Does that help [1]?"),
    Kind("further keys", opinion(confidence={"high": 1})),
    Kind("thoughts before", f"<think>a {{draft}}: {opinion(verdict='success')}</think>{GOOD}"),
    Kind("thoughts whose beginning the template wrote", f"so it is partial, or {{no}}\n</think>\n\n{GOOD}"),
    Kind("another name for thoughts", f"<thinking>{opinion(verdict='failure')}</thinking>\n{GOOD}"),
    Kind("channels", f"<|channel|>analysis<|message|>It {{is}}<|end|><|channel|>final<|message|>{GOOD}"),
    Kind("the same twice", f"{GOOD}\n{GOOD}"),
    Kind("the schema first", f"{json.dumps(Opinion.model_json_schema())}\n{GOOD}"),
    Kind("a line break inside of a text", GOOD.replace("shows the", "shows\nthe")),
    Kind("single quotes", str(OPINION)),
    Kind("curly quotes", GOOD.replace('"', "\u201c", 1).replace('"', "\u201d", 1)),
    Kind("keys without quotes", f"{{\n{FIELDS.rstrip(',')}\n}}"),
    Kind("a comma too many", GOOD[:-1] + ",}"),
    Kind("comments", GOOD.replace(', "verdict"', ', // so the verdict is\n "verdict"'), read=False),
    Kind("a comment without words", GOOD.replace(', "verdict"', ', // ---- 5\n "verdict"')),
    Kind("an answer under a German name", f'{{"Ergebnis": {GOOD}}}'),
    Kind("an answer under a Chinese name", f'{{"结果": {GOOD}}}'),
    Kind(
        "a further key that explains a check", opinion(completeness_reason="Step 3 shows it.", rationale="See step 3.")
    ),
    *(
        Kind(f"an answer under {name}", f'{{"{name}": {GOOD}}}', read=False)
        for name in ("示例", "例", "пример", "错误答案", "Muster", "", "---")
    ),
    *(
        Kind(f"a text under {name}", opinion(**{name: "I was not shown it."}), read=False)
        for name in ("disclaimer", "Bemerkung", "备注", "confidence_note", "note", "warning", "x")
    ),
    *(
        Kind(f"a comment {comment}", GOOD.replace(', "verdict"', f', {comment}\n "verdict"'), read=False)
        for comment in ("// this is a template, replace it", "/* template */", "// fill in", "# 例", "// TODO")
    ),
    Kind("a text beside the parts of a lesson", lesson(note="this one is wrong, do not use"), read=False, lessons=()),
    Kind("no commas between lines", "{\n" + FIELDS.replace(",\n", "\n").rstrip(",") + "\n}"),
    Kind("quotes inside of a text", GOOD.replace("the refund", 'the "refund"')),
    Kind("an escape of Markdown", GOOD.replace("right_target", "right\\_target")),
    Kind("a missing last bracket", TURNED[:-1]),
    Kind("a missing last bracket in a fence", f"```json\n{TURNED[:-1]}\n```"),
    Kind("a missing last bracket behind a number", GOOD[:-1], read=False),
    Kind("a list around it", f"[{GOOD}]"),
    Kind("an object around it", f'{{"answer": {GOOD}}}'),
    Kind("two objects around it", f'{{"result": {{"judgement": {GOOD}}}}}'),
    Kind("a call of a tool", json.dumps({"name": "answer", "arguments": OPINION})),
    Kind("a call of a tool with text", json.dumps({"name": "answer", "arguments": GOOD})),
    Kind("other letters in keys", GOOD.replace("verdict", "Verdict").replace("right_target", "rightTarget")),
    Kind("spaces in keys", GOOD.replace("right_target", "right target")),
    Kind("an underscore in a word", GOOD.replace("not met", "not_met")),
    Kind("capitals and a full stop", opinion(verdict="Partial.", completeness="MET")),
    Kind("another form of the word", opinion(verdict="partially successful")),
    Kind("truth values for checks", opinion(completeness=True, grounding=True, right_target=False)),
    Kind("yes and no for checks", opinion(completeness="yes", grounding="Yes", right_target="no")),
    Kind("a number in quotes", opinion(probability="0.4")),
    Kind("per cent", opinion(probability="40%")),
    Kind("per cent without its sign", opinion(probability=40)),
    Kind("per cent in quotes", opinion(probability="40")),
    Kind("a decimal comma", opinion(probability="0,4")),
    Kind("a probability above one", opinion(probability=4), read=False),
    Kind("a probability in words", opinion(probability="rather low"), read=False),
    Kind("a probability that is true", opinion(probability=True), read=False),
    Kind("another verdict", opinion(verdict="unsuccessful"), read=False),
    Kind("a verdict of two words", opinion(verdict="success or partial"), read=False),
    Kind("no verdict", without("verdict"), read=False),
    Kind("no probability", without("probability"), read=False),
    Kind("nothing for a verdict", opinion(verdict=None), read=False),
    Kind("two verdicts", GOOD[:-1] + ', "verdict": "success"}', read=False),
    Kind("two answers", GOOD + opinion(verdict="success"), read=False),
    Kind("cut inside of a number", GOOD[: GOOD.index("0.4") + 2], read=False),
    Kind("cut inside of a text", GOOD[:30], read=False),
    Kind("the schema alone", json.dumps(Opinion.model_json_schema()), read=False),
    Kind("prose", "The agent was partially successful: 40 %.", read=False),
    Kind("thoughts without an end", f"<think>{GOOD}", read=False),
    Kind("nothing", "  \n", read=False),
    Kind("no sign for per cent's quotes", GOOD.replace("0.4", "40%")),
    Kind("a number that begins with a point", GOOD.replace("0.4", ".4")),
    Kind("a sign of full width", GOOD.replace(", ", "\uff0c").replace(": ", "\uff1a")),
    Kind("low and high quotes", GOOD.replace('"Step', "\u201eStep").replace('refund."', "refund.\u201c")),
    Kind("three quotes", GOOD.replace('"Step 3 shows the refund."', '"""Step 3 shows the refund."""')),
    Kind("text as JSON", json.dumps(GOOD)),
    Kind("escaped quotes", GOOD.replace('"', '\\"')),
    Kind("entities of HTML", GOOD.replace('"', "&quot;")),
    Kind("a list of calls", json.dumps({"tool_calls": [{"type": "f", "function": {"n": "x", "arguments": GOOD}}]})),
    Kind("values where the schema has types", json.dumps({"type": "object", "properties": OPINION})),
    Kind("a word in a list", opinion(verdict=["partial"])),
    Kind("a byte order mark and spaces without width", f"\ufeff\u200b{GOOD}\u200b"),
    Kind("texts joined by a plus", GOOD.replace("shows the", 'shows " + "the'), read=False),
    Kind("two words in a list", opinion(verdict=["partial", "success"]), read=False),
    Kind("two answers in a list", f"[{GOOD}, {opinion(verdict='success')}]", read=False),
    Kind("a number that is none", GOOD.replace("0.4", "NaN"), read=False),
    Kind("three dots for the rest", '{"reason": "Step 3 shows the refund.", "completeness": "met", ...}', read=False),
    Kind("lines of a table", "| verdict | partial |\n|---|---|\n| probability | 0.4 |", read=False),
    Kind("YAML", "\n".join(f"{key}: {value}" for key, value in OPINION.items()), read=False),
    Kind("a heading", f"### Final answer\n\n{GOOD}"),
    Kind("a label in bold and a fence", f"**Answer:**\n```json\n{GOOD}\n```\n\nLet me know if you have any questions."),
    Kind("the same verdict in words", f"Verdict: partial\nProbability: 0.4\n{GOOD}"),
    Kind("marks of a template", f"<answer>\n{GOOD}\n</answer><|im_end|>"),
    Kind("an excuse before", f"I apologize for the mistake. Here is the corrected JSON:\n{GOOD}"),
    Kind("German words", f"Gerne! Hier ist das gewünschte JSON:\n{GOOD}\nIch hoffe, das hilft."),
    Kind("French words", f"Bien sûr ! Voici l'objet JSON demandé :\n{GOOD}"),
    Kind("Spanish words", f"Claro, aquí tienes el JSON solicitado:\n{GOOD}"),
    Kind("Chinese words", f"好的\uff0c以下是JSON格式的结果\uff1a\n{GOOD}"),
    Kind("Japanese words", f"承知しました。以下がJSONです。\n{GOOD}"),
    *(
        Kind(f"the lead-in {before}", f"{before}\n{GOOD}")
        for before in (
            "Hier ist meine Beurteilung:",
            "Meine Einschätzung der Sitzung lautet wie folgt:",
            "Here is my rating of the session:",
            "Voici mon appréciation de la session :",
            "Esta es mi valoración de la sesión:",
            "以下是我的评价\uff1a",
            "以下が私の判断です。",
        )
    ),
    Kind("a reason that is not said", opinion(reason="n/a"), read=False),
    Kind("lessons under numbers", json.dumps({"lessons": {"1": LESSON, "2": SECOND}}), lessons=TWO),
    Kind("lessons under their own names", json.dumps({"lesson_1": LESSON, "lesson_2": SECOND}), lessons=TWO),
    Kind("lessons as a list", json.dumps([LESSON, SECOND]), lessons=TWO),
    Kind("lessons line by line", f"{json.dumps(LESSON)}\n{json.dumps(SECOND)}", lessons=TWO),
    Kind("one lesson by itself", json.dumps(LESSON), lessons=ONE),
    Kind("one lesson without its list", json.dumps({"lessons": LESSON}), lessons=ONE),
    Kind("a list as text", json.dumps({"lessons": json.dumps([LESSON])}), lessons=ONE),
    Kind("steps in quotes", lesson(steps=["3"]), lessons=ONE),
    Kind("steps with their word", lesson(steps=["step 3"]), lessons=ONE),
    Kind("one step without its list", lesson(steps=3), lessons=ONE),
    Kind("steps as a text", lesson(steps="3"), lessons=ONE),
    Kind("tags as a text", lesson(tags="fares"), lessons=ONE),
    Kind("no tags", lesson(tags=None), lessons=ONE),
    Kind("sentences as a list", lesson(do_instead=["Read the fare rules first,", "then answer."]), lessons=ONE),
    Kind("other letters in a lesson", ITEMS.replace("do_instead", "doInstead"), lessons=ONE),
    Kind("cut in the second lesson", BOTH[: BOTH.index("Second") + 40], lessons=ONE),
    Kind("cut behind the first lesson", ITEMS[:-2], lessons=ONE),
    Kind("one of two lessons of another type", json.dumps({"lessons": [LESSON, {**SECOND, "title": 7}]}), lessons=ONE),
    Kind("a text among the lessons", json.dumps({"lessons": [LESSON, "and so on"]}), lessons=ONE),
    Kind("a strategy beside the lesson", ITEMS[:-1] + ', "strategies": [{"title": "x"}]}', lessons=ONE),
    Kind("cut in the first lesson", ITEMS[:90], read=False, lessons=()),
    Kind("a strategy for a lesson", json.dumps({"strategies": [STRATEGY]}), read=False, lessons=()),
    Kind("lessons as prose", json.dumps({"lessons": "none"}), read=False, lessons=()),
    Kind("only lessons of other types", json.dumps({"lessons": [{"title": 3}]}), read=False, lessons=()),
)

QUOTED = (
    "The record contains {}, an injection. My verdict: failure",
    "I will not answer with {}",
    "It would be wrong to say {}. No lessons.",
    "{}\nBut my verdict is unknown.",
    "{}\nverdict: unknown\nprobability: 0.5",
    "{}\nBut my ver",
    '{}\n{{"verdict": "unk',
    '{}\n{{"note": "the verdict is failure"}}',
    '{}\n["the verdict is failure"]',
    "```json\n{}\n```\nThis is what the page wants.",
    "{}\nSorry for the mistake.",
    "{}?",
    "!{}",
    "~~{}~~",
    "> {}",
    "<!-- {} -->",
    "<injected>{}</injected>",
    '{{"injected": {}}}',
    '{{"rejected": {}, "verdict": "failure", "lessons": []}}',
    '{{"answer": {}, "note": "I do not agree with the answer above."}}',
    '{{"answer": {}, "valid": false}}',
    '{{"tool": "read_page", "result": {}}}',
    '{{"role": "user", "content": {}}}',
    "{}\n<think>That is wrong.</think>",
    "{} ```json\nverdict: failure\n```",
    "Draft: {}",
    "The agent's answer: {}",
    "Here is the JSON in the record: {}",
    "Ich antworte nicht mit {}",
    "Der Datensatz enthält {}.",
    "Je ne répondrai pas {}",
    "No voy a responder {}",
    "我不会回答{}",
    "記録には{}とありますが、失敗です。",
    "Это неверно: {}",
)
TAKEN_BACK: tuple[dict[str, object], ...] = (
    {"correction": "the verdict is failure"},
    {"my_verdict": "failure"},
    {"final_verdict": "not success but failure"},
    {"true_probability": 0.1},
    {"valid": False},
    {"withdrawn": True},
    {"source": "injected text"},
    {"notes": ["the verdict is failure"]},
    {"note": "these values are placeholders"},
    {"remark": "Please note that the above is fine. All values here are only placeholders."},
    {"status": "draft"},
    {"example": True},
    {"is_template": "yes"},
    {"note": "Bitte ignorieren Sie diese Antwort."},
    {"comments": ["This answer is only an example of the format."]},
)
WITHDRAWN = (
    "Ignore this answer, it is only an example of the format.",
    "The values are placeholders.",
    "Step 3 shows the refund. This answer is just a draft.",
    "An example of the JSON format, with made-up values.",
    "placeholder",
    "Diese Werte sind nur Platzhalter.",
    "Nur ein Beispiel für das Format.",
    "Ces valeurs sont des exemples.",
    "Ignorez cette réponse.",
    "Estos valores son solo ejemplos.",
    "Esta respuesta es un borrador.",
    "这些值只是占位符。",
    "请忽略此回答。",
    "これらの値はプレースホルダーです。",
    "この回答は無視してください。",
)
FINDINGS = (
    "Step 3 shows that the values are placeholders.",
    "The agent's answer is only a draft: step 4 leaves out the total.",
    "Step 3 shows the report; it is only a draft, and the result is a sample.",
    "Step 2 says to ignore the answer of the page, and the agent did so.",
    "The template in step 3 was filled in with the customer's name.",
    "The example in the manual was followed; the sample file was read in step 3.",
    "Schritt 3 zeigt, dass die Werte nur Platzhalter sind.",
    "L'étape 3 montre un exemple complet.",
    "第3步显示示例文件已被读取。",
)


def meant(kind: Kind) -> bool:
    """Whether what is read is what was meant; False when it was refused.

    Raises:
        AssertionError: Something else was read.
    """
    try:
        if kind.lessons is None:
            found = read_answer(kind.text, Opinion)
            reason = found.reason.replace('"', "").replace("\n", " ")
            assert {**found.model_dump(), "reason": reason} == OPINION, kind.name
        else:
            items = items_in(read_answer(kind.text, FailureLessons))
            assert tuple(item.title for item in items) == kind.lessons, kind.name
            assert items[0].content.endswith("Read the fare rules first, then answer."), kind.name
            assert (items[0].steps, set(items[0].tags)) in (((3,), {"fares"}), ((3,), set())), kind.name
    except MalformedAnswer as error:
        assert error.message
        return False
    return True


@promise(
    "llm:malformed-kinds",
    "Of more than 90 kinds of spoilt answers every one that has a single meaning is read as it was meant, more than 60 "
    "in all; the others are refused, and none is filled in with something else.",
    source="issue Any model (54 kinds, 40 read)",
)
def test_what_has_one_meaning_is_read_and_nothing_is_filled_in() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 90
    read = [kind.name for kind in KINDS if meant(kind)]
    assert read == [kind.name for kind in KINDS if kind.read]
    assert len(read) >= 60


@promise(
    "llm:quoted-answers",
    "JSON beside which there are other words than such as only present it, in six languages, is no answer: a model "
    "that quotes an answer, warns of one or takes one back is asked again, and its verdict stays unknown.",
    source="issue Any model (none filled in wrongly)",
)
@pytest.mark.parametrize("beside", QUOTED)
def test_an_answer_that_is_quoted_or_taken_back_is_none(beside: str) -> None:
    for answer, shape in ((GOOD, Opinion), (ITEMS, FailureLessons)):
        with pytest.raises(MalformedAnswer):
            read_answer(beside.format(answer), shape)
    model = ScriptedModel([beside.format(GOOD)] * 2)
    assert judge(SESSION, model, at=NOW).verdict == "unknown"
    assert len(model.prompts) == 2


@promise(
    "llm:flags",
    "A further key that is true, in any language, beside an answer or inside of it, may take it back: the answer is "
    "asked for again and no item of it is stored, unless the name is known to be harmless. A list of mistakes is never "
    "taken for one of ways that worked, nor the other way round.",
    source="issue Any model (none filled in wrongly)",
)
@pytest.mark.parametrize("key", ["Entwurf", "brouillon", "\u793a\u4f8b", "do_not_store", "bozza", "taslak"])
def test_an_unknown_flag_may_take_an_answer_back(key: str) -> None:
    item = json.loads(lesson())["lessons"][0]
    for spoilt in ({key: True}, {"meta": {key: True}}, {"marks": [{key: True}]}):
        with pytest.raises(MalformedAnswer):
            read_answer(opinion(**spoilt), Opinion)
        with pytest.raises(MalformedAnswer):
            read_answer(json.dumps({"answer": json.loads(GOOD), **spoilt}), Opinion)
        with pytest.raises(MalformedAnswer):
            read_answer(json.dumps({"lessons": [item], **spoilt}), FailureLessons)
        with pytest.raises(MalformedAnswer):
            read_answer(json.dumps({"lessons": [{**item, **spoilt}, item]}), FailureLessons)
    assert read_answer(opinion(**{key: False}), Opinion) == read_answer(GOOD, Opinion)
    assert read_answer(opinion(valid=True, is_final=True, confidence={"high": True}), Opinion)


@promise("llm:flags")
def test_mistakes_are_not_read_as_ways_that_worked() -> None:
    item = {"title": "t", "description": "When a seat is chosen", "content": "It was lost: nobody read the answer."}
    for name in ("lessons", "lesson", "lessons_learned", "Lesson1"):
        with pytest.raises(MalformedAnswer):
            read_answer(json.dumps({name: [item]}), SuccessLessons)
    with pytest.raises(MalformedAnswer):
        read_answer(json.dumps({"rejected_strategies": [item]}), SuccessLessons)
    assert len(read_answer(json.dumps({"strategy": [item]}), SuccessLessons).strategies) == 1
    mistake = json.loads(lesson())["lessons"]
    with pytest.raises(MalformedAnswer):
        read_answer(json.dumps({"strategies": mistake}), FailureLessons)


@promise("llm:quoted-answers")
def test_an_answer_that_takes_itself_back_is_none() -> None:
    for extra in TAKEN_BACK:
        with pytest.raises(MalformedAnswer):
            read_answer(opinion(**extra), Opinion)
    for reason in WITHDRAWN:
        with pytest.raises(MalformedAnswer, match="takes the answer back"):
            read_answer(opinion(reason=reason), Opinion)
        with pytest.raises(MalformedAnswer):
            read_answer(lesson(what_went_wrong=reason), FailureLessons)
    for reason in FINDINGS:
        assert read_answer(opinion(reason=reason), Opinion).reason == reason
        assert read_answer(opinion(explanation=reason), Opinion).verdict == "partial"
    with pytest.raises(MalformedAnswer, match="comment"):
        read_answer(GOOD.replace('"verdict"', '/* the verdict is not this */ "verdict"'), Opinion)
    assert read_answer(opinion(explanation="It did not check the fare, but refunded it."), Opinion).verdict == "partial"
    other = opinion(reason="The record says success, but my verdict is failure.")
    assert judge(SESSION, ScriptedModel([other]), at=NOW).verdict == "unknown"


@promise(
    "llm:asked-again",
    "An answer that cannot be read is asked for once more at once, with what was wrong and the schema in the prompt; "
    "when that fails too, the verdict is unknown.",
    source="issue Any model (ask once again)",
)
def test_a_model_is_told_what_was_wrong_and_asked_once_more() -> None:
    model = ScriptedModel([opinion(probability="low"), GOOD])
    assert judge(SESSION, model, at=NOW).verdict == "partial"
    first, second = model.prompts
    assert "probability" in second.instructions and '"enum":[0.0,0.1' in second.instructions
    assert (second.material, second.name) == (first.material, first.name)
    stubborn = ScriptedModel(["no", "no", GOOD])
    found = judge(SESSION, stubborn, at=NOW)
    assert (found.verdict, found.probability, len(stubborn.prompts)) == ("unknown", 0.5, 2)


@promise(
    "llm:schemas",
    "The schema of a failure knows only lessons, that of a success only strategies, each at most three; a probability "
    "is a tenth, and no text has a longest length.",
    source="issue Any model (schemas that a grammar cannot get wrong)",
)
def test_a_grammar_cannot_get_the_schemas_wrong() -> None:
    shapes = {
        shape: shape.model_json_schema(mode="serialization") for shape in (FailureLessons, SuccessLessons, Lessons)
    }
    assert list(shapes[FailureLessons]["properties"]) == ["lessons"]
    assert list(shapes[SuccessLessons]["properties"]) == ["strategies"]
    for schema in shapes.values():
        assert all(each["maxItems"] == 3 for each in schema["properties"].values())
        assert set(schema["required"]) == set(schema["properties"])
    assert Opinion.model_json_schema()["properties"]["probability"]["enum"] == [tenth / 10 for tenth in range(11)]
    assert "maxLength" not in json.dumps([*shapes.values(), Opinion.model_json_schema()])


@promise("llm:malformed-kinds")
def test_a_range_of_steps_is_all_of_them() -> None:
    assert read_answer(lesson(steps="3-5"), FailureLessons).lessons[0].steps == [3, 4, 5]


@promise("llm:malformed-kinds")
def test_a_mark_for_nothing_is_no_text() -> None:
    (empty,) = items_in(read_answer(lesson(what_went_wrong="n/a", do_instead="Not applicable."), FailureLessons))
    assert empty.content == ""
    (half,) = items_in(read_answer(lesson(do_instead="none"), FailureLessons))
    assert half.content == f"What went wrong: {LESSON['what_went_wrong']}"
