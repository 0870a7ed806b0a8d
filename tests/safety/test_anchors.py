"""What decides where a secret is looked for at all must never rule one out."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promises import promise
from reasoningbank.safety.anchors import Anchors, Word
from reasoningbank.safety.secret_formats import LEAST_WRAPPED, Format, formats, shape_words
from reasoningbank.safety.secret_names import NAME_WORDS, lower_in_place

_parser: Any = importlib.import_module("re._parser")
_WORDS = (*shape_words(), *NAME_WORDS)
_ANCHORS = Anchors(_WORDS)
_AROUND = st.text(st.sampled_from("aAkpPzZ09_-/=:. \n\t\u00e9\u0130\u212a\u5bc6"), max_size=6)
_WHITE_SPACE = frozenset(filter(str.isspace, map(chr, range(0x3001))))


@promise("hygiene:no-false-alarm")
@settings(max_examples=1_000, deadline=None)
@given(word=st.sampled_from(_WORDS), before=_AROUND, after=_AROUND)
def test_a_word_that_a_text_holds_is_named(word: Word, before: str, after: str) -> None:
    if before[-1:].isalnum() and not word.inside:
        before += " "
    text = before + word.text + after
    assert word.text in _ANCHORS.there(lower_in_place(text))


@promise("hygiene:no-false-alarm")
def test_what_was_learned_is_forgotten_without_harm() -> None:
    anchors = Anchors([Word("token", inside=True), Word("ghp_")])
    for number in range(40):
        anchors.there(" ".join(f"{chr(97 + number % 26)}{'x' * (place % 50)}{place:b}q{place}" for place in range(900)))
        assert anchors.there("a ghp_1 and mytokens") == {"token", "ghp_"}
    assert anchors.there("neither aghp nor to ken") == set()


@promise("hygiene:no-false-alarm")
@pytest.mark.parametrize(
    "rule", [rule for rule in formats() if rule.wraps], ids=lambda rule: " ".join((rule.kind, *rule.literals[:1]))
)
def test_a_format_that_lines_may_cut_is_long_and_holds_no_white_space(rule: Format) -> None:
    parsed = _parser.parse(rule.pattern)
    assert parsed.getwidth()[0] >= LEAST_WRAPPED
    assert not _WHITE_SPACE & _characters(parsed)


def _characters(parsed: Any) -> set[str]:
    """Every character up to U+3000 that a part of a pattern may consume."""
    found: set[str] = set()
    for operation, argument in parsed:
        name = operation.name
        if name == "LITERAL":
            found.add(chr(argument))
        elif name == "IN":
            for member, value in argument:
                assert member.name in {"LITERAL", "RANGE"}, (member, value)
                low, high = value if member.name == "RANGE" else (value, value)
                found |= set(map(chr, range(low, high + 1)))
        elif name == "SUBPATTERN":
            found |= _characters(argument[-1])
        elif name == "BRANCH":
            found = found.union(*map(_characters, argument[1]))
        elif name == "MAX_REPEAT":
            found |= _characters(argument[2])
        else:
            # A dot stands for a character of the literal, which was compared before.
            assert name in {"ANY", "AT", "ASSERT", "ASSERT_NOT"}, name
    return found
