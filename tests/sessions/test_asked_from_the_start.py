"""What a session began with and ended with is what it was asked for, unless a check was made weaker in between."""

from __future__ import annotations

import json

import pytest

from promises import promise
from reasoningbank.sessions.judge import by_evidence
from reasoningbank.types.session import Judgement, Step, Trajectory
from sessions.judged_cases import NOW, shell


def edit(place: str, old: str, new: str) -> Step:
    action = json.dumps({"file_path": place, "old_string": old, "new_string": new})
    return Step(tool="Edit", action=action, observation=f"The file {place} has been updated.")


def judged(task: str, *steps: Step) -> Judgement:
    return by_evidence(Trajectory(task=task, steps=steps, created_at=NOW), at=NOW)


def around(action: str, *between: Step, said: str = "Error: it is not there", passed: str = "") -> tuple[Step, ...]:
    return (shell(action, said, 1), *between, shell(action, passed))


BUILD = "npm run build"
F401 = "src/a.py:3:8: F401 [*] `os` imported but unused\nFound 1 error."
SPLIT = edit("main.tf", "module.net.idx", "module.net.id")
REQUIRED = {
    "a plan": ("terraform plan is broken here. Get it to plan again.", around("terraform plan", SPLIT)),
    "a release": ("make release fails, repair it.", around("make release", edit("Makefile", "CHANGES", "CHANGES.md"))),
    "an image": ("Build the image.", around("docker build -t shop .", edit("Dockerfile", "FROM alpin", "FROM alpine"))),
    "a first build": ("Build it.", (shell("meson compile -C out", "44/44"),)),
    "a server": ("Start the api locally.", around("docker compose up -d", shell("cp .env.dist .env"))),
    "packages": ("Install the dependencies.", around("yarn install", shell("corepack enable"))),
    "a script in its own words": ("Train the small model.", around("python train.py", shell("git lfs pull"))),
    "a linter in two words": ("lint is red, sort it out pls", around("npm run lint", edit("a.js", "let b", "const b"))),
    "a program that is a verb": ("get make green", around("make", edit("a.c", "uint n", "unsigned n"))),
    "a target": ("sort out make docs", around("make docs", edit("docs/index.rst", "a", "a\nb"))),
    "a command as it is typed": ("npm ci doesnt work here", around("npm ci", shell("npm install", "added 3 packages"))),
    "a command alone": ("cargo build pls", around("cargo build", edit("src/main.rs", "totl", "total"))),
    "an installer": ("make poetry install work", around("poetry install", shell("poetry lock", "Writing lock file"))),
    "in German": ("mach den build gr\u00fcn", around(BUILD, edit("a.ts", "'1'", "1"))),
    "in French": ("le build est cass\u00e9, r\u00e9pare", around(BUILD, edit("a.ts", "'1'", "1"))),
    "the file that was complained of": (
        "fix lint",
        (
            shell("ruff check .", F401, 1),
            edit("src/a.py", "import os\n", ""),
            shell("ruff check src", "All checks passed!"),
        ),
    ),
    "a variable before it": (
        "The nightly export fails on this box, get it running.",
        (shell("bin/nightly-export", "no JAVA_HOME", 1), shell("JAVA_HOME=/opt/jdk bin/nightly-export")),
    ),
    "tests that are counted once they start": (
        "Run the widget tests.",
        around("flutter test", shell("flutter pub get"), passed="00:04 +17: All tests passed!"),
    ),
}


@promise("judging:asked-action")
@pytest.mark.parametrize("name", REQUIRED)
def test_what_failed_at_the_start_and_passes_at_the_end_is_a_success(name: str) -> None:
    task, steps = REQUIRED[name]
    assert judged(task, *steps).verdict == "success"


UNPROVEN = {
    "a verb and no program": ("make the button green", around("make", edit("a.css", "red", "green"))),
    "what is left alone": ("tests are slow; do not touch make lint", around("make lint", edit("a.py", "x", "y"))),
    "one file of two": (
        "fix lint",
        (
            shell("ruff check .", f"src/b.py:1:1: E711 x\n{F401}", 1),
            edit("src/a.py", "import os\n", ""),
            shell("ruff check src/a.py", "All checks passed!"),
        ),
    ),
    "fewer rules": (
        "fix lint",
        around("ruff check .", edit("pyproject.toml", 'select = ["F", "E"]', 'select = ["E"]'), said=F401),
    ),
    "something new": ("Build a landing page with a form.", around(BUILD, shell("npm install"))),
    "an edit came first": ("Build the settings page.", (edit("a.tsx", "x", "y"), shell(BUILD))),
    "more was asked": ("Compile the report and send it to finance.", around("latexmk a.tex", shell("tlmgr install b"))),
    "a feature beside it": ("Add a dark mode and build it.", around(BUILD, edit("a.tsx", "x", "y"))),
    "another target": (
        "Build the image of the gateway.",
        (shell("docker build -t a gateway", "not found", 1), shell("docker build -t b worker")),
    ),
    "another folder": (
        "Get terraform plan to work in eu.",
        (shell("cd eu && terraform plan", "Error: x", 1), shell("cd us && terraform plan")),
    ),
    "a part of it": (
        "terraform plan fails. Fix it.",
        (shell("terraform plan", "Error: Invalid index", 1), shell("terraform plan -target=module.web")),
    ),
    "only a try": ("make release must work.", (shell("make release", "no key", 1), shell("make -n release"))),
    "a script that does less": (
        f"{BUILD} fails with type errors, fix them.",
        around(BUILD, edit("package.json", '"build": "tsc && vite build"', '"build": "vite build"')),
    ),
    "a target without what it needs": (
        "make release must work.",
        around("make release", edit("Makefile", "release: build sign upload", "release: build upload")),
    ),
    "a file that is gone": ("terraform validate must pass.", around("terraform validate", shell("rm queue.tf"))),
    "a rule that is passed over": (
        "Get ansible-lint clean.",
        around("ansible-lint", edit(".ansible-lint", "skip_list: []", "skip_list:\n  - yaml")),
    ),
    "a question": ("Why does the nightly export fail?", around("bin/nightly-export", shell("bin/unlock"))),
}  # fmt: skip


@promise("judging:asked-action")
@pytest.mark.parametrize("name", UNPROVEN)
def test_a_run_that_passed_is_no_success_where_it_is_not_what_was_asked(name: str) -> None:
    task, steps = UNPROVEN[name]
    assert judged(task, *steps).verdict in {"partial", "unknown", "failure"}


RED = "--- FAIL: TestNested (0.00s)\n    p_test.go:31: got a, want b\nFAIL\tshop/p\t0.004s"
GREEN = "ok  \tshop/p\t0.003s"
DISGUISED = {
    "the test ends at once": around("go test ./p", edit("p/p_test.go", "{\n\tgot := P()", "{\n\treturn\n\tgot := P()"),
                                    said=RED, passed=GREEN),
    "the test is never asked": around(
        "go test ./p", edit("p/p_test.go", "\tif got != want {", "\tif false && got != want {"), said=RED, passed=GREEN
    ),
    "only waited": around("go test ./p", shell("sleep 5"), said=RED, passed=GREEN),
    "tried again by the runner": (
        shell("bazel test //net:all", "Executed 5 out of 5 tests: 4 tests pass and 1 fails locally.", 3),
        shell("bazel test --flaky_test_attempts=5 //net:all", "Executed 5 out of 5 tests: 5 tests pass."),
    ),
    "a script of checks leaves one out": around("./ci.sh", edit("ci.sh", "build\ncargo deny check", "build")),
    "the code does nothing, and the test wants that": around(
        "go test ./p", edit("p/p.go", "\treturn parse(text)", "\treturn nil"),
        edit("p/p_test.go", "\tassert.Equal(t, 3, got)", "\tassert.Nil(t, got)"), said=RED, passed=GREEN,
    ),
}  # fmt: skip


@promise("judging:disguised")
@pytest.mark.parametrize("name", DISGUISED)
def test_tests_that_ask_less_or_try_again_prove_nothing(name: str) -> None:
    assert judged("The parser test fails. Fix the parser.", *DISGUISED[name]).verdict == "partial"
