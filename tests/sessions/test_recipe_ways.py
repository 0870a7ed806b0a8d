"""Fixes that stand in no file: another way to run what failed; and what looks like one and is none."""

from __future__ import annotations

import json

import pytest

from promises import promise
from reasoningbank.sessions.recipes import recipes_of
from reasoningbank.sessions.signatures import is_near, signature_of
from reasoningbank.types.session import Step, Trajectory
from sessions.judged_cases import shell

NO_SHOP = "E   ModuleNotFoundError: No module named 'shop'\n1 error in 0.10s"
NO_PYTEST = "/usr/bin/python3: No module named pytest"
FLAKY = "FAILED test_q.py::test_q - RuntimeError: queue worker did not answer\n1 failed in 0.05s"
PASSED = "2 passed in 0.11s"
RUST = "error[E0433]: cannot find module or crate `helper` in this scope\n --> src/lib.rs:2:5"
RUST_OK = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
SCRIPT = "s = open('cli.py').read()\nopen('cli.py', 'w').write(s.replace('in % of', 'in %% of'))\n"
HELP = "Traceback (most recent call last):\nTypeError: %o format: an integer is required, not dict"


def edit(place: str, old: str, new: str) -> Step:
    action = json.dumps({"file_path": place, "old_string": old, "new_string": new})
    return Step(tool="Edit", action=action, observation=f"The file {place} has been updated.")


def fixes(*steps: Step) -> list[str]:
    """What the session shows, in words."""
    return [one.content for one in recipes_of(Trajectory(task="Make it pass", steps=steps)) if one.kind == "fix"]


WAYS = {
    "a variable": (shell("pytest -q", NO_SHOP, 2), shell("PYTHONPATH=src pytest -q", PASSED)),
    "a folder": (
        shell("cargo build", "error: could not find `Cargo.toml` in `/srv/x` or any parent directory", 101),
        shell("cd core && cargo build", "    Finished `dev` profile"),
    ),
    "a flag": (
        shell("gcc area.c -o area", "area.c:(.text+0x39): undefined reference to `pow'", 1),
        shell("gcc area.c -o area -lm", ""),
    ),
    "another program": (shell("python3 -m pytest tests/a.py", NO_PYTEST, 1), shell("pytest tests/a.py", PASSED)),
    "another version of it": (
        shell("python -m desk", "bash: python: command not found", 127),
        shell("python3.11 -m desk", "serving"),
    ),
    "another script": (
        shell("npm test", 'npm error Missing script: "test"', 1),
        shell("npm run", "Scripts available: test:unit"),
        shell("npm run test:unit", "ok"),
    ),
    "what the output tells": (
        shell(
            "git push", "fatal: The branch has no upstream branch.\n\n    git push --set-upstream origin topic\n", 128
        ),
        shell("git push --set-upstream origin topic", "done"),
    ),
    "a module instead of a file": (
        shell("python pkg/main.py", "ImportError: attempted relative import with no known parent package", 1),
        shell("python -m pkg.main", "running"),
    ),
}


@promise(
    "recipes:ways",
    "A fix need not stand in a file: that the same action passed with a variable, a flag, from another folder or by "
    "another program is a recipe, and so is a command that made what was missing.",
    source="issue 11 Recipes",
)
@pytest.mark.parametrize("steps", WAYS.values(), ids=WAYS.keys())
def test_another_way_to_run_it_is_a_fix(steps: tuple[Step, ...]) -> None:
    (said,) = fixes(*steps)
    assert "\n- ran instead: " in said
    assert str(steps[-1].action) in said
    assert "Then it passed" in said


@promise("recipes:ways")
def test_a_command_that_makes_what_is_missing_is_a_fix() -> None:
    absent = shell("python app.py", "sqlite3.OperationalError: no such table: users", 1)
    (said,) = fixes(absent, shell("python manage.py migrate", "applied 1 migration"), shell("python app.py", "[]"))
    assert "- ran: python manage.py migrate" in said


@promise("recipes:ways")
def test_a_command_that_was_run_first_is_not_said_to_have_been_run_instead() -> None:
    told = "error: the index is old.\n\n    desk index --all\n"
    (said,) = fixes(shell("desk serve", told, 1), shell("desk index --all", "done"), shell("desk serve", "serving"))
    assert "- ran: desk index --all\nThen `desk serve` passed" in said


@promise("recipes:ways")
def test_a_variable_that_was_exported_before_is_no_other_way() -> None:
    """Exports do not last from one command of an agent to the next, so the same variable is set in another way."""
    absent = "Traceback (most recent call last):\nFileNotFoundError: [Errno 2] No such file or directory: 'data/in.csv'"
    (said,) = fixes(
        shell("export JOB_USER=x; python3 job.py", absent, 1),
        shell("mkdir -p data && cp sample.csv data/in.csv", ""),
        shell("JOB_USER=x python3 job.py", "3 rows"),
    )
    assert "data/in.csv" in said
    assert "ran instead" not in said


@promise("recipes:ways")
def test_a_failure_is_seen_behind_a_pipe() -> None:
    piped = "cargo test 2>&1 | tail -30"
    added = edit("src/lib.rs", "pub fn f()", "mod helper;\n\npub fn f()")
    (said,) = fixes(shell(piped, RUST), added, shell(piped, RUST_OK))
    assert "added `mod helper;`" in said


@promise("recipes:ways")
@pytest.mark.parametrize("typed", ["python fix.py", "python - <<'X'\n" + SCRIPT + "X"])
def test_a_program_that_says_what_it_replaces_is_quoted(typed: str) -> None:
    wrote = shell(f"cat > fix.py <<'X'\n{SCRIPT}X", "")
    steps = (wrote,) if typed == "python fix.py" else ()
    broken, works = shell("python cli.py --help", HELP, 1), shell("python cli.py --help", "usage: cli.py")
    (said,) = fixes(broken, *steps, shell(typed, ""), works)
    assert "- in cli.py: `in % of` became `in %% of`" in said


NONE = {
    "fewer tests": (shell("pytest -q", FLAKY, 1), shell("pytest -q -k other", PASSED)),
    "another file": (shell("pytest -q a.py", FLAKY, 1), shell("pytest -q b.py", PASSED)),
    "other arguments of a script": (
        shell("python t.py 0", "RuntimeError: shard count must be positive here", 1),
        shell("python t.py --count 5", "20"),
    ),
    "the warning is ignored": (
        shell("pytest -q", "FAILED t.py::test_o - DeprecationWarning: o is deprecated\n1 failed in 0.1s", 1),
        shell("pytest -q -W ignore::DeprecationWarning", PASSED),
    ),
    "a check is left out": (
        shell("git commit -m two", "error: lint failed in a.txt", 1),
        shell("git commit -m two --no-verify", "[main 12ab34c] two"),
    ),
    "the tests of a file are not run by executing it": (
        shell("python -m pytest tests/a.py", NO_PYTEST, 1),
        shell("python tests/a.py", ""),
    ),
    "the targets are only listed": (
        shell("npm test", 'npm error Missing script: "test"\n  npm run', 1),
        shell("npm run", "Scripts available: test:unit"),
    ),
    "a build beside a test that fails now and then": (
        shell("pytest -q", FLAKY, 1),
        shell("make build", "built"),
        shell("pytest -q", PASSED),
    ),
    "metadata beside a test that fails now and then": (
        shell("pytest -q", FLAKY, 1),
        edit("pyproject.toml", 'name = "x"', 'name = "x"\ndescription = "queue things"'),
        shell("pytest -q", PASSED),
    ),
    "the function that a new test waits for": (
        shell(
            "npx vitest run",
            "TypeError: triple is not a function\n Test Files  1 failed (1)\n      Tests  1 failed (1)",
            1,
        ),
        edit("n.js", "export const one = 1;", "export const one = 1;\nexport const triple = (x) => 3 * x;"),
        shell("npx vitest run", " Test Files  1 passed (1)\n      Tests  1 passed (1)"),
    ),
    "its own attempt": (
        shell("python3 try.py", "ModuleNotFoundError: No module named 'reproduce_app'", 1),
        shell("mkdir reproduce_app && touch reproduce_app/__init__.py", ""),
        shell("python3 try.py", "fine"),
    ),
}


@promise("recipes:ways")
@pytest.mark.parametrize("steps", NONE.values(), ids=NONE.keys())
def test_what_only_looks_like_another_way_is_none(steps: tuple[Step, ...]) -> None:
    assert fixes(*steps) == []


@promise("recipes:ways")
@pytest.mark.parametrize(
    ("output", "text"),
    [
        (
            "thread 'tests::lower' (18740) panicked at src/lib.rs:14:9:\nassertion `left == right` failed\n  left: -1\n"
            " right: 0\nerror: test failed, to rerun pass `--lib`",
            "panic in lower: assertion `left == right` failed (left: N right: N)",
        ),
        ("Makefile:2: *** missing separator.  Stop.", "make: missing separator. Stop"),
        ("bin/build: line 3: BUILD_DIR: unbound variable", "shell: BUILD_DIR: unbound variable"),
        ("E       fixture 'client' not found", "pytest: fixture 'client' not found"),
        ("n.py:2: error: Incompatible return value type", "error: Incompatible return value type"),
        ("Traceback (most recent call last):\nZeroDivisionError: division by zero", None),
    ],
)
def test_the_decisive_line_is_found(output: str, text: str | None) -> None:
    found = signature_of(output)
    assert (found.text if found is not None else None) == text


@promise("recipes:ways")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("OSError: [Errno 98] Address already in use", "ValidationError: Email address already in use by another user"),
        ("Error: ENOSPC: no space left on device, write", "Error: ENOSPC: no space left on device, watch '/srv/w'"),
        ("sqlite3.OperationalError: no such table: users", "sqlite3.OperationalError: no such table: invoices"),
        (
            "a.c:1:1: fatal error: conf.h: No such file or directory",
            "a.c:1:1: fatal error: x.h: No such file or directory",
        ),
    ],
)
def test_another_name_is_another_error(one: str, other: str) -> None:
    first, second = signature_of(one), signature_of(other)
    assert first is not None
    assert second is not None
    assert not is_near(first, second)
    assert first.key != second.key
