"""Tokens are counted offline, for any text, in bounded time."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promises import promise
from reasoningbank.llm.token_count import count_tokens


@promise("tokens:count", "Tokens are counted with the published cl100k vocabulary.", source="issue Choice of models")
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 9),
    ],
)
def test_counts_are_those_of_the_published_vocabulary(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@promise(
    "tokens:ordinary-text",
    "Names of special tokens in a text are counted as ordinary text.",
    source="issue Choice of models",
)
def test_names_of_special_tokens_are_ordinary_text() -> None:
    assert count_tokens("<|endoftext|>") > 1
    assert count_tokens("<|fim_prefix|> and <|endofprompt|>") > 5


@promise("tokens:any-text", "Any string has a token count.", source="issue Choice of models")
@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(codec=None), max_size=300))
@example("\ud800")
@example("\x00")
def test_any_text_has_a_count(text: str) -> None:
    count = count_tokens(text)
    assert (count > 0) == bool(text)
    assert count <= 4 * len(text)


@promise(
    "tokens:pieces",
    "Counting a long text in pieces gives the same number as counting it at once.",
    source="issue Choice of models",
)
@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(["word", "a", "  ", "\n", "x = 1;", "é", "long" * 40, "\n\n    "]), min_size=900))
def test_counting_in_pieces_equals_counting_at_once(words: list[str]) -> None:
    from reasoningbank.llm.token_count import _encoding

    text = " ".join(words)
    assert count_tokens(text) == len(_encoding().encode_ordinary(text))


@promise("tokens:linear", "A million repeated characters are counted in bounded time.", source="issue Choice of models")
@pytest.mark.parametrize("piece", ["a", " ", "\n", "^", "ab", "é", "\u3042", "0", "👩\u200d", "\ud800", " \n"])
def test_a_million_repeated_characters_are_counted_in_bounded_time(piece: str) -> None:
    count_tokens("load")
    started = time.process_time()
    assert count_tokens((piece * 1_000_000)[:1_000_000]) > 0
    assert time.process_time() - started < 10.0


@promise(
    "tokens:offline",
    "Counting tokens uses no network, no environment variable, writes no file and loads nothing before the first "
    "count.",
    source="seed 000; DESIGN D12",
)
def test_nothing_is_downloaded_written_or_looked_up_in_the_environment(tmp_path: Path) -> None:
    program = (
        "import os, sys, socket, tempfile\n"
        "def refuse(event, arguments):\n"
        "    writes = event == 'open' and isinstance(arguments[1], str) and set(arguments[1]) & set('wax+')\n"
        "    if event.startswith('socket.') or event == 'os.mkdir' or writes:\n"
        "        raise SystemExit(f'{event} {arguments}')\n"
        "sys.dont_write_bytecode = True\n"
        "import reasoningbank.llm.token_count as tokens\n"
        "assert 'tiktoken' not in sys.modules\n"
        "sys.addaudithook(refuse)\n"
        "print(tokens.count_tokens('hello world'))\n"
    )
    environment = {**_path(), "TIKTOKEN_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        env={**_path(), **environment},
    )
    assert (done.returncode, done.stdout.strip()) == (0, "2"), done.stderr
    assert list(tmp_path.iterdir()) == []


def _path() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
