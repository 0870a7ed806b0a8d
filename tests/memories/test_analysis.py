"""The words a text is found by."""

from __future__ import annotations

import time

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promises import promise
from reasoningbank.memories.words import MAX_QUERY_TERMS, MAX_WORD, STOP_WORDS, analyse, query_terms


@promise(
    "search:identifiers",
    "An identifier is found by its parts and by itself, in camel, snake, kebab, dotted and path form.",
    source="issue / DESIGN D13",
)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("getUserName", "get user name getusername"),
        ("HTTPServer", "http server httpserver"),
        ("snake_case", "snake case snakecase"),
        ("kebab-case", "kebab case kebabcase"),
        ("os.path.join", "os path join ospathjoin"),
        ("self.retry_count", "self retry count retrycount selfretrycount"),
        ("src/engine/fusion.py", "src engine fusion py srcenginefusionpy"),
        (r"C:\Users\me", "c users me usersme"),
        ("std::vector", "std vector stdvector"),
        ("parse URLs", "parse urls"),
        ("PostgreSQL", "postgre sql postgresql"),
        ("sha256", "sha256"),
        ("ECONNRESET", "econnreset"),
        ("it doesn't keep the user's pg_dump", "it doesnt keep the users pg dump pgdump"),
    ],
)
def test_an_identifier_gives_its_parts_and_itself(text: str, words: str) -> None:
    assert analyse(text) == words


@promise(
    "search:every-script",
    "Text of any script is findable, also where words are not separated by spaces.",
    source="issue",
)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Straße", "strasse"),
        ("\uff26\uff35\uff2c\uff2c", "full"),
        ("ﬁle", "file"),
        ("数据库", "数 据 库 数据 据库"),
        ("用Python写", "用 python 写"),
        ("हिन्दी", "हनद"),
        ("🎉 !?", ""),
    ],
)
def test_text_of_any_script_gives_words(text: str, words: str) -> None:
    assert analyse(text) == words


@promise("search:every-script")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("连接数据库失败", "数据库"),
        ("连接数据库失败", "库"),
        ("サーバーが落ちた", "サーバー"),
        ("서버가 응답하지 않음", "서버"),
        ("เซิร์ฟเวอร์ล่ม", "เซิร์ฟเวอร์"),
        ("Die Größe prüfen", "grösse"),
        ("выполнить запрос", "ЗАПРОС"),
        ("call HTTPServer.serve_forever()", "serve_forever"),
        ("call HTTPServer.serve_forever()", "http server"),
        ("retrying after the timeouts", "retry timeout"),
    ],
)
def test_the_text_index_finds_what_was_analysed(text: str, query: str) -> None:
    index = apsw.Connection(":memory:")
    index.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'porter unicode61 remove_diacritics 2')")
    index.execute("INSERT INTO t VALUES (?)", (analyse(text),))
    match = " AND ".join(f'"{term}"' for term in query_terms(query))
    assert index.execute("SELECT count(*) FROM t WHERE t MATCH ?", (match,)).fetchall() == [(1,)]


@promise(
    "search:query-terms",
    "A query is asked by its telling words, in order, once, at most 64; stop words only when there is nothing else.",
    source="spec/engines_models, lexical leg",
)
def test_a_query_is_asked_by_its_telling_words_in_order_and_once() -> None:
    assert query_terms("How do I fix the ECONNRESET that the proxy gives, the ECONNRESET?") == (
        "fix",
        "econnreset",
        "proxy",
    )


@promise("search:query-terms")
def test_a_query_of_stop_words_keeps_them_all() -> None:
    assert query_terms("to be or not to be") == ("to", "be", "or", "not")


@promise("search:query-terms")
def test_a_long_query_is_cut_to_its_first_terms() -> None:
    terms = query_terms(" ".join(f"word{number}" for number in range(200)))
    assert len(terms) == MAX_QUERY_TERMS
    assert terms[0] == "word0"


@promise(
    "search:analysis-total",
    "Any text becomes plain words that the text index accepts, in time linear in its length.",
    source="issue",
)
@given(st.text(max_size=400))
def test_any_text_becomes_plain_words(text: str) -> None:
    analysed = analyse(text)
    assert all(word.isalnum() and len(word) <= MAX_WORD * 2 for word in analysed.split(" ") if analysed)
    terms = query_terms(text)
    assert len(terms) == len(set(terms)) <= MAX_QUERY_TERMS
    assert not analysed or terms
    assert set(terms) <= set(analysed.split(" "))
    if any(term not in STOP_WORDS for term in terms):
        assert not STOP_WORDS & set(terms)


@promise("search:analysis-total")
@pytest.mark.parametrize("piece", ["aB", "\u0301\u0316", "x", "a.b ", "库", "é ", "_-", "a\u0301\u0316\uff9e"])
def test_time_grows_with_length_only(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        analyse(text)
        query_terms(text)
        return time.process_time() - start

    seconds(10_000)
    assert seconds(200_000) < 20 * max(seconds(50_000), 0.005)
