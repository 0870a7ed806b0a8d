"""The words that the gate looks for first: what they leave out, no rule matches."""

from __future__ import annotations

import re

from evaluation.attacks import texts
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.safety.injection import _RULES, ORDER, Sieve

PATTERNS = [*(rule for _, rule in _RULES), ORDER.pattern]
WORDS = sorted({word for pattern in PATTERNS for word in re.findall(r"[a-z]{2,}|https?://", pattern)})
SIEVE = Sieve(PATTERNS)


@promise("attack:gate")
@given(st.lists(st.sampled_from([*WORDS, ".env", "evil.example", "|", "&&", "to", "the", "\u212aeys"]), max_size=14))
def test_a_rule_that_matches_is_never_left_out(words: list[str]) -> None:
    text = " ".join(words)
    passed = set(SIEVE.passed(text))
    for number, pattern in enumerate(PATTERNS):
        if re.search(pattern, text, re.IGNORECASE | re.MULTILINE):
            assert number in passed


@promise("attack:gate")
def test_every_rule_that_matches_a_known_attack_is_passed() -> None:
    groups = [value for value in vars(texts).values() if isinstance(value, tuple)]
    known = [text for group in groups for text in group if isinstance(text, str)]
    assert len(known) > 50
    for text in known:
        matching = [n for n, rule in enumerate(PATTERNS) if re.search(rule, text, re.IGNORECASE | re.MULTILINE)]
        assert set(matching) <= set(SIEVE.passed(text))
