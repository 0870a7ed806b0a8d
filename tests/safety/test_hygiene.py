"""What may be stored, and what may leave."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promises import promise
from reasoningbank.errors import TextTooLong
from reasoningbank.safety.secrets import Finding
from reasoningbank.safety.stored_text import MAX_INPUT, clean, clean_line, reveal, safe_texts
from reasoningbank.types.memory import MAX_TITLE, Memory

PASSWORD = "hun" + "ter2"
TOKEN = "gh" + "p_" + "Ab1" * 12
INVISIBLE = "\u200b\u200c\u200d\ufe0f\ufe0e\u202e\u2066\ufeff\U000e0041\ud83d\ude00\r\n\t\x1b["
ANY_TEXT = st.text(
    st.one_of(
        st.characters(codec=None),
        st.sampled_from(
            "\u200b\u200c\u200d\ufe0f\ufe0e\u202e\u2066\ufeff\U000e0041\ud83d\ude00\r\n\t\x1b[👩❤क्ر\u0301a "
        ),
    ),
    max_size=60,
)


@promise(
    "hygiene:invisible",
    "Control, zero-width, bidi and tag characters never reach the store; texts are NFC and valid Unicode.",
    source="issue Hygiene",
)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x00b\x07c\x7fd\x9fe", "abcde"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("one\r\ntwo\rthree\x0bfour\u2028five\x85six", "one\ntwo\nthree\nfour\nfive\nsix"),
        ("pass\u200bword\u2060\ufeff", "password"),
        ("abc\u202edcba\u2066x\u2069\u200f", "abcdcbax"),
        ("hello" + "".join(chr(0xE0000 + ord(letter)) for letter in "ignore all"), "hello"),
        ("a\ufe0fb\U000e0101c", "abc"),
        ("\x1b[31mred\x1b[0m \x1b]8;;https://example.com\x07link", "red link"),
        ("e\u0301", "\u00e9"),
        ("\ud800x", "\ufffdx"),
        ("\ud83d\ude00", "\U0001f600"),
        ("  trimmed \n", "trimmed"),
        ("gh\u200dp_", "ghp_"),
    ],
)
def test_characters_that_nobody_sees_are_removed(text: str, expected: str) -> None:
    assert clean(text) == expected


@promise(
    "hygiene:readable",
    "Emoji, and scripts that are written with joiners, stay as they are.",
    source="issue Hygiene",
)
@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d💻 and 👨🏽\u200d👩🏽\u200d👧",
        "🏳\ufe0f\u200d🌈 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3 ✔\ufe0f",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "क्\u200dष",
        "中文、日本語、한국어 — ünïcödé ½ → ≥",
        "🇩🇪",
    ],
)
def test_emoji_and_scripts_with_joiners_stay_as_they_are(text: str) -> None:
    assert clean(text) == text


@promise("hygiene:invisible")
@settings(max_examples=500, deadline=None)
@given(ANY_TEXT)
@example("a\ufe0f\u200d👩")
@example("\U0001d15e\ufe0f")
@example("a\u200c\u0301")
def test_cleaning_settles_and_leaves_no_control_character(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert unicodedata.is_normalized("NFC", cleaned)
    cleaned.encode("utf-8")
    assert not any(unicodedata.category(character) in {"Cc", "Cs"} for character in cleaned if character not in "\n\t")
    assert not any(
        character in "\u200b\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff" for character in cleaned
    )
    assert not any(0xE0000 <= ord(character) <= 0xE0FFF for character in cleaned)


@promise("hygiene:readable")
@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=80))
def test_plain_text_is_only_trimmed(text: str) -> None:
    assert clean(text) == text.strip()


@promise(
    "hygiene:linear",
    "The time of cleaning and redaction grows with the length of the text, not faster, on hostile text too.",
    source="spec/engineering B.3 (7)",
)
def test_long_runs_of_combining_marks_are_cut_in_linear_time() -> None:
    started = time.process_time()
    assert len(clean("a" + "\u0301\u0316" * 150_000)) < 40
    assert time.process_time() - started < 2.0


@promise("hygiene:one-line", "Titles, tags and queries are one line with single spaces.", source="issue Hygiene")
@settings(max_examples=200, deadline=None)
@given(ANY_TEXT)
@example(" two \r\n\t lines ")
def test_a_line_has_no_line_break_and_single_spaces(text: str) -> None:
    line = clean_line(text)
    assert line == " ".join(line.split())
    assert clean_line(line) == line


@promise(
    "hygiene:admit",
    "Secrets are taken out of title, description, content, tags and category before anything is stored.",
    source="issue Hygiene; DESIGN D10",
)
def test_every_field_is_cleaned_and_redacted() -> None:
    admitted = safe_texts(
        title=f"Rotate\n{TOKEN}",
        description=f"password={PASSWORD}",
        content=f"export PGPASSWORD={PASSWORD}\u200b\r\nThen rerun.",
        tags=["db", f"token-{TOKEN}", " db ", "", "\u200b", "ci"],
        category=f"{TOKEN}",
    )
    assert admitted.title == "Rotate [REDACTED:github-token]"
    assert admitted.description == "password=[REDACTED:password]"
    assert admitted.content == "export PGPASSWORD=[REDACTED:password]\nThen rerun."
    assert admitted.tags == ("db", "token-[REDACTED:github-token]", "ci")
    assert admitted.category == "[REDACTED:github-token]"
    assert admitted.findings == (Finding("github-token", 3), Finding("password", 2))


@promise("hygiene:admit")
def test_a_secret_that_a_line_break_cuts_is_found_in_a_title() -> None:
    assert (
        safe_texts(f"Use {TOKEN[:12]}\n{TOKEN[12:]} here", "", "c", (), "").title == "Use [REDACTED:github-token] here"
    )
    assert PASSWORD not in safe_texts(f"password:\n{PASSWORD}", "", "c", (), "").title


@promise(
    "hygiene:bounded-input",
    "More than a million characters are refused with a hint before any rule runs.",
    source="issue Hygiene (lengths are bounded with a clear error)",
)
def test_a_huge_input_is_refused_before_any_rule_runs() -> None:
    started = time.process_time()
    with pytest.raises(TextTooLong) as caught:
        safe_texts("t", "", "x" * (MAX_INPUT + 1), (), "")
    assert caught.value.hint
    endless = iter(lambda: "tag", None)
    with pytest.raises(TextTooLong):
        safe_texts("t", "", "c", endless, "")
    assert time.process_time() - started < 1.0


def _stored(**changes: str) -> Memory:
    texts = {"title": "Retry flaky calls", "content": "Wait, then try again. " * 30, "description": "When a call fails"}
    return Memory(project="p", outcome="success", tags=("net", "retry"), **{**texts, **changes})  # type: ignore[arg-type]


@promise(
    "hygiene:reveal",
    "A secret that is in the store does not leave it; a memory without one leaves unchanged, and reading never fails "
    "for length.",
    source="issue Hygiene (again on the way out)",
)
def test_a_safe_memory_leaves_as_the_same_object() -> None:
    memory = _stored()
    assert reveal(memory) is memory
    assert reveal(memory) is memory


@promise("hygiene:reveal")
def test_a_secret_that_is_in_the_store_does_not_leave() -> None:
    memory = Memory(
        project="p",
        outcome="failure",
        title=f"Do not commit {TOKEN}",
        description=f"password={PASSWORD}",
        content=f"postgres://app:{PASSWORD}@db/shop\u202e",
        tags=(f"{TOKEN}", f"{TOKEN}", "x"),
        category=f"{TOKEN}",
    )
    for _ in range(2):
        shown = reveal(memory)
        assert TOKEN not in repr(shown) and PASSWORD not in repr(shown)
        assert shown.content == "postgres://app:[REDACTED:database-password]@db/shop"
        assert shown.tags == ("[REDACTED:github-token]", "x")
        assert (shown.id, shown.belief, shown.version) == (memory.id, memory.belief, memory.version)
        assert reveal(shown) is shown


@promise("hygiene:reveal")
def test_reading_never_fails_because_a_placeholder_is_longer_than_the_secret() -> None:
    title = "x" * (MAX_TITLE - 17) + f" password={PASSWORD}"
    assert len(title) == MAX_TITLE
    shown = reveal(_stored(title=title))
    assert len(shown.title) == MAX_TITLE and PASSWORD not in shown.title
    assert reveal(_stored(title="\u200b", content="\u200b")).title == "\ufffd"


@promise(
    "hygiene:reveal-speed",
    "Checking a memory that was checked before takes less than 50 microseconds.",
    source="issue Hygiene",
)
def test_revealing_a_known_memory_takes_microseconds() -> None:
    memory = _stored()
    reveal(memory)
    best = min(_seconds_for_a_thousand(memory) for _ in range(5))
    assert best < 0.05


def _seconds_for_a_thousand(memory: Memory) -> float:
    started = time.process_time()
    for _ in range(1_000):
        reveal(memory)
    return time.process_time() - started
