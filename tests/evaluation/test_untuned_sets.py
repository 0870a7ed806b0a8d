"""The sets that no constant was chosen with, read from made-up copies of their sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from evaluation.retrieval import main
from evaluation.untuned_sets import paired, untuned_sets

from promises import promise

TLDR = """# made

> A made tool.

- [s]how what the tool has made:

`made {{file}}`

- Count all the things that it has made:

`made --count`

- Stop:

`made --stop`
"""
CRANFIELD = ".I 1\n.T\na wing\n.A\nnobody\n.W\na wing\n in a stream .\n.I 2\n.T\na plate\n.W\nheat of a plate .\n"
FILES: Mapping[str, str] = {
    "tldr/pages/common/made.md": TLDR,
    "peps/peps/pep-9999.rst": "PEP: 9999\nTitle: A made proposal of\n nothing\n\nAbstract\n========\n\nNothing.\n",
    "nl2bash/data/bash/all.nl": "List all of the files\nShow every one of the files\nWait\n",
    "nl2bash/data/bash/all.cm": "ls\nls\nsleep 1\n",
    "xquad/xquad.en.json": json.dumps(
        {"data": [{"paragraphs": [{"context": "It is made.", "qas": [{"question": "What has been made here?"}]}]}]}
    ),
    "cranfield/cran.all.1400": CRANFIELD,
    "cranfield/cran.qry": ".I 001\n.W\nwhat of\nwings\n.I 004\n.W\nwhat of plates\n",
    "cranfield/cranqrel": "1 1 2\n1 2 -1\n2 2 3\n",
}


@promise(
    "evaluation:untuned",
    "Search is measured on sets that no constant was chosen with; of a source that is absent it says what it needs.",
    source="issue Search",
)
def test_sets_that_nothing_was_tuned_on_are_read_from_their_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("PATH", "")
    said: list[str] = []
    found = {each.name: each for each in untuned_sets(tmp_path, said.append)}
    assert any(line.startswith("compiler errors: not measured, rustc is not here") for line in said)
    assert any("commits: not measured" in line and f"{tmp_path}/curl is not here" in line for line in said)
    (page,) = found["short pages"].documents
    (asked,) = found["short pages"].queries
    assert asked.text in {"show what the tool has made", "Count all the things that it has made"}
    assert asked.text not in page.content
    assert "Stop" in page.content
    assert [each.content for each in found["commands"].documents] == ["ls"]
    assert len(found["commands"].queries) == 2
    assert found["proposals"].queries[0].text == "A made proposal of nothing"
    assert "====" not in found["proposals"].documents[0].content
    assert found["encyclopedia"].documents[0].content == "It is made."
    assert {query.text: set(query.relevant) for query in found["cranfield"].queries} == {
        "what of wings": {"1"},
        "what of plates": {"2"},
    }
    assert "nobody" not in found["cranfield"].documents[0].content


@promise("evaluation:untuned")
def test_the_command_says_which_sources_are_absent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert paired("made", "made", []) is None
    assert main(["--untuned", str(tmp_path), "--sets", "no such set"]) == 0
    assert f"cranfield: not measured, {tmp_path}/cranfield with" in capsys.readouterr().out
