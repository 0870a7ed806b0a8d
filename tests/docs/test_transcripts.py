"""Every command and program of the README, the tutorial and the how-to pages runs and prints what the page shows."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.pages import ROOT, run_pages
from docs.transcripts import Run, blocks, commands
from promises import promise


def name(page: Path) -> str:
    """Return a page's place as the name of its test."""
    return str(page.relative_to(ROOT))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Start a shell in an empty home and end it."""
    started = Run(tmp_path)
    yield started
    started.close()


@promise(
    "docs:transcripts",
    "Every command and program of the README, the tutorial and the how-to pages runs and prints what the page shows.",
    source="issue, README",
)
@pytest.mark.parametrize("page", run_pages(), ids=name)
def test_a_page_prints_what_it_shows(page: Path, run: Run) -> None:
    differences = run.page(page.read_text(encoding="utf-8")).differences
    assert not differences, "\n\n".join(map(str, differences)) + "\n\nIf this is wanted: make transcripts"


@promise("docs:transcripts")
@pytest.mark.parametrize("page", run_pages(), ids=name)
def test_a_page_has_only_blocks_that_are_checked(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "toml":
            tomllib.loads(block.text)
        else:
            made = all(line.startswith("make ") for line in block.text.splitlines())
            assert made or block.language in ("console", "python", "text"), block.text
        assert not block.skipped or len(block.skipped) > 10


@promise("docs:transcripts")
def test_few_blocks_are_passed_over() -> None:
    found = [block for page in run_pages() for block in blocks(page.read_text(encoding="utf-8"))]
    runnable = [block for block in found if block.language in ("console", "python")]
    assert sum(bool(block.skipped) for block in runnable) * 4 <= len(runnable)


@promise("docs:transcripts")
def test_a_transcript_that_lies_is_found(run: Run) -> None:
    page = (
        "```console\n$ echo 01a2033e-676e-7fe0-825d-90641a92fe6e > kept\n$ cat kept\n"
        "01a2033e-676e-7fe0-825d-90641a92fe6e\n$ printf '%s\\n' a b c\na\n...\nc\n$ false\n[exit status 1]\n"
        "$ rbank get 01a2033e-676e-7fe0-825d-90641a92fe6e\n...\n[exit status 3]\n```\n\n"
        "```console\n$ echo true\nfalse\n$ false\n$ printf '%s\\n' a b\na\n```\n\n"
        "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n\n"
        "*Not run in the tests: it needs a printer.*\n\n```console\n$ lpr page\n```\n"
    )
    ran = run.page(page)
    assert [difference.command.splitlines()[0] for difference in ran.differences] == [
        "echo true",
        "false",
        "printf '%s\\n' a b",
        "python -W error - <<'END_OF_PROGRAM'",
    ]
    assert run.page(ran.text).differences == []


@promise("docs:transcripts")
def test_an_id_of_the_page_stands_for_the_id_of_the_run(run: Run) -> None:
    page = (
        "```console\n$ python -c 'import uuid; print(uuid.uuid4())' | tee kept\n"
        "01a2033e-676e-7fe0-825d-90641a92fe6e\n"
        '$ test "$(cat kept)" = 01a2033e-676e-7fe0-825d-90641a92fe6e\n$ cat kept\n'
        "01a2033e-0000-7fe0-825d-90641a92fe6e\n```\n"
    )
    assert [difference.command for difference in run.page(page).differences] == ["cat kept"]
    assert "01a2033e-0000" not in run.page(page).text


@promise("docs:transcripts")
def test_commands_may_have_several_lines() -> None:
    first, second = commands("$ cat <<'END'\n> one\n> END\none\n$ true\n")
    assert (first.text, first.output, second.text) == ("cat <<'END'\none\nEND", ["one"], "true")
