"""Recipes of many tools: what took the error away is quoted whole, what only hides it is none, and who is shown it."""

from __future__ import annotations

import json

import pytest

from opened_banks import OpenBank
from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.sessions.recipes import passed_commands, recipes_of
from reasoningbank.sessions.signatures import signature_of
from reasoningbank.types.session import Step, Trajectory
from sessions.judged_cases import shell


def edit(place: str, old: str, new: str) -> Step:
    action = json.dumps({"file_path": place, "old_string": old, "new_string": new})
    return Step(tool="Edit", action=action, observation=f"The file {place} has been updated.")


def fixes(*steps: Step) -> list[str]:
    """What the session shows, in words."""
    return [one.content for one in recipes_of(Trajectory(task="Make it pass", steps=steps)) if one.kind == "fix"]


TABS = shell("make pages", "GNUmakefile:12: *** missing separator.  Stop.", 2)
NO_ZMQ = (
    "CMake Error at cmake/Find.cmake:8 (message):\n  Could NOT find ZeroMQ (missing:\n  ZMQ_LIB)\n\n"
    "-- Configuring incomplete, errors occurred!"
)
NO_SUFFIX = (
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/srv/w/lib/tax' imported from /srv/w/bin/pay.js\n"
    "  code: 'ERR_MODULE_NOT_FOUND'"
)
PORTS = "OSError: [Errno 98] Address already in use"
ROUNDS = (
    "\u2716 rounds up (2.1ms)\n  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n  7 !== 8\n\n"
    "      at file:///srv/w/test/fee.test.js:4:3\n\u2139 tests 1\n\u2139 pass 0\n\u2139 fail 1"
)
ROUNDED = (
    "\u2714 rounds up (1.1ms)\n\u2139 tests 1\n\u2139 suites 0\n\u2139 pass 1\n\u2139 fail 0\n"
    "\u2139 cancelled 0\n\u2139 skipped 0\n\u2139 todo 0\n\u2139 duration_ms 48.2"
)
NO_CLOCK = (
    "[ERROR] /srv/w/src/main/java/w/Till.java:[9,5] cannot find symbol\n"
    "  symbol:   class Clock\n  location: class w.Till"
)
QUOTED = {
    "make": (TABS, shell("sed -i 's/^  */\\t/' GNUmakefile", ""), shell("make pages", "ok")),
    "CMake": (
        shell("cmake -B out", NO_ZMQ, 1),
        shell("sudo apt-get install -y libzmq3-dev", "done"),
        shell("cmake -B out", "-- Generating done"),
    ),
    "a module without its suffix": (
        shell("cd web && node bin/pay.js", NO_SUFFIX, 1),
        shell("cd web && sed -i \"s#lib/tax'#lib/tax.js'#\" bin/pay.js", ""),
        shell("cd web && node bin/pay.js", "paid"),
    ),
    "a schema that is read as input": (
        shell("sqlite3 till.db < tables.sql", 'Parse error near line 2: near "CREAT": syntax error', 1),
        shell("sed -i 's/CREAT /CREATE /' tables.sql", ""),
        shell("sqlite3 till.db < tables.sql", ""),
    ),
    "a linter that repairs": (
        shell("ruff check lib", "lib/a.py:1:8: F401 [*] `sys` imported but unused\nFound 1 error.", 1),
        shell("ruff check --fix lib", "Found 1 error (1 fixed, 0 remaining)."),
        shell("ruff check lib", "All checks passed!"),
    ),
    "another filter": (
        shell("jq '.rows[].id' all.json", "jq: error (at all.json:3): Cannot iterate over null (null)", 5),
        shell("jq 'keys' all.json", '["page"]'),
        shell("jq '.page.rows[].id' all.json", "4\n5"),
    ),
    "a process that was ended": (
        shell("python3 desk.py", PORTS, 1),
        shell("kill $(cat run/desk.pid | head -1)", ""),
        shell("python3 desk.py", "listening"),
    ),
    "a port that was freed": (
        shell("python3 desk.py", PORTS, 1), shell("sudo fuser -k 5050/tcp", "5050/tcp: 77"),
        shell("python3 desk.py", "listening"),
    ),
    "heads that were merged": (
        shell("alembic upgrade head", "FAILED: Multiple head revisions are present for given argument 'head'", 255),
        shell("alembic merge -m both heads", "done"),
        shell("alembic upgrade head", "INFO running"),
    ),
    "a service that was started": (
        shell("python3 desk.py", "ConnectionError: Error 111 connecting to localhost:6379. Connection refused.", 1),
        shell("redis-server --daemonize yes", ""), shell("python3 desk.py", "listening"),
    ),
    "settings from the example": (
        shell("python3 desk.py", "KeyError: 'DESK_TOKEN'", 1), shell("cp .env.sample .env", ""),
        shell("python3 desk.py", "listening"),
    ),
    "two commands of one line": (
        shell("python3 -m desk", "FileNotFoundError: [Errno 2] No such file or directory: 'etc/desk.ini'", 1),
        shell("mkdir -p etc && cp share/desk.ini etc/desk.ini", ""),
        shell("python3 -m desk", "listening"),
    ),
}  # fmt: skip


@promise("recipes:fix")
@pytest.mark.parametrize("name", QUOTED)
def test_what_took_the_error_away_is_quoted_whole(name: str) -> None:
    steps = QUOTED[name]
    (said,) = fixes(*steps)
    change = str(steps[-1 if name == "another filter" else 1].action)
    assert f": {change}\n" in said


RATE = "FAILED tests/test_rate.py::test_rate - ValueError: no rate for 'CHF' today\n1 failed, 4 passed in 0.10s"
FAILS, PASSES = shell("pytest -q", RATE, 1), shell("pytest -q", "5 passed in 0.10s")
WANTS = (
    "FAIL test/fee.test.js\n  \u25cf rounds up\n\n    expect(received).toBe(expected)\n\n"
    "    Expected: 8\n    Received: 7\n"
)
JEST = (shell("npx jest", f"{WANTS}\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 total", 1),
        shell("npx jest", "Test Suites: 1 passed, 1 total\nTests:       1 passed, 1 total"))  # fmt: skip
LINT = shell("npx eslint .", "/srv/w/a.js\n  2:1  error  Unexpected console statement  no-console\n\n1 problem", 1)
UNUSED = shell("make", "a.c:4:7: error: unused variable 'total' [-Werror=unused-variable]", 2)
NEW_GO = edit(
    "sum_test.go",
    "func TestB(",
    'func TestMean(t *testing.T) {\n\tif Mean(1) != 1 {\n\t\tt.Fatal("no")\n}}\nfunc TestB(',
)
HIDDEN = {
    "the test is a comment": (FAILS, shell("sed -i '/def test_rate/,/^$/ s/^/# /' tests/test_rate.py", ""), PASSES),
    "the test has another name": (FAILS, shell("sed -i 's/def test_rate/def _rate/' tests/test_rate.py", ""), PASSES),
    "the test is marked in a program": (
        FAILS,
        shell("python - <<'X'\np='tests/test_rate.py'\ns=open(p).read()\n"
              "s=s.replace('def test_rate', '@pytest.mark.xfail\\ndef test_rate')\nopen(p,'w').write(s)\nX", ""),
        PASSES,
    ),
    "its lines are deleted": (FAILS, shell("sed -i '10,20d' tests/test_rate.py", ""), PASSES),
    "the assertion is weaker": (JEST[0], shell("sed -i 's/toBe(8)/toBeTruthy()/' test/fee.test.js", ""), JEST[1]),
    "an edit that is undone, after which it passes too": (
        FAILS, edit("rate.py", "return rates[name]", "log(rates)\nreturn rates[name]"), PASSES,
        edit("rate.py", "log(rates)\nreturn rates[name]", "return rates[name]"), PASSES,
    ),
    "a type that is not looked at": (
        shell("npx tsc", "a.ts(4,9): error TS2345: Argument of type 'string' is not assignable to type 'Id'.", 2),
        edit("a.ts", "ring(name)", "ring(name as any)"), shell("npx tsc", ""),
    ),
    "the rule is off": (LINT, edit("eslint.config.js", "rules: {", "rules: {\n  'no-console': 'off',"),
                        shell("npx eslint .", "")),
    "warnings are not errors": (UNUSED, shell("sed -i 's/-Werror//' Makefile", ""), shell("make", "done")),
    "the check is left out": (
        shell("kubectl apply -f w.yaml", "error: error validating \"w.yaml\": unknown field \"prot\" in Service", 1),
        shell("kubectl apply -f w.yaml --validate=false", "service/w created"),
    ),
    "a test of its own in Go": (
        NEW_GO, shell("go test ./...", "./sum_test.go:3:5: undefined: Mean\nFAIL\tw [build failed]\nFAIL", 1),
        edit("sum.go", "package w", "package w\n\nfunc Mean(x int) int { return x }"),
        shell("go test ./...", "ok  \tw\t0.003s"),
    ),
    "a name that it took away itself": (
        shell("sed -i 's/def put(/def store(/' desk.py && pytest -q",
              "E   AttributeError: 'Desk' object has no attribute 'put'\n1 failed, 2 passed in 0.10s", 1),
        shell("sed -i 's/desk.put(/desk.store(/' till.py && pytest -q", "3 passed in 0.10s"),
    ),
    "a look at services": (
        shell("docker build .", "ERROR: Cannot connect to the Docker daemon at unix:///run/d.sock. Is it running?", 1),
        shell("docker ps", ""), shell("docker build .", "done"),
    ),
    "a script of commands that is not shown": (
        shell("shellcheck a.sh", "SC2086 (info): Double quote to prevent globbing and word splitting.", 1),
        shell("sed -i -f rules.sed a.sh", ""), shell("shellcheck a.sh", ""),
    ),
}  # fmt: skip


@promise("recipes:none")
@pytest.mark.parametrize("name", HIDDEN)
def test_what_only_hides_the_error_is_no_fix(name: str) -> None:
    assert fixes(*HIDDEN[name]) == []


NO_CONFIG = "FileNotFoundError: [Errno 2] No such file or directory: 'index.html'"
NO_MODULE = "w.go:5:2: no required module provides package gopkg.in/yaml.v3; to add it:"
NO_EXTENSION = (
    "Your requirements could not be resolved to an installable set of packages.\n\n  Problem 1\n"
    "    - acme/till 2.1 requires ext-zip * -> it is missing from your system. Install PHP's zip."
)
TAKEN = "Error: listen EADDRINUSE: address already in use :::4000"
MANIFEST = "error: failed to parse manifest at `/w/{name}/Cargo.toml`\n\nCaused by:\n  {cause}\n"
UNPARSED = (
    " FAIL  src/cart.test.js\n  \u25cf Test suite failed to run\n\n    Jest encountered an unexpected token\n\n"
    "    Details:\n\n    /w/{file}:1\n\n    SyntaxError: {said}\n\nTests:       0 total"
)

SHOWN = {
    "another test": (
        (shell("node --test", ROUNDS, 1), edit("fee.js", "floor(x)", "ceil(x)"), shell("node --test", ROUNDED)),
        ("node --test", ROUNDS),
        ("node --test", ROUNDS.replace("rounds up", "joins names").replace("fee.test", "name.test")),
    ),
    "another symbol": (
        (shell("mvn -q compile", NO_CLOCK, 1),
         edit("src/main/java/w/Till.java", "import a;", "import a;\nimport w.Clock;"),
         shell("mvn -q compile", "")),
        ("mvn -q compile", NO_CLOCK.replace("Till", "Desk")),
        ("mvn -q compile", NO_CLOCK.replace("Clock", "Money")),
    ),
    "a file that another command misses": (
        (shell("python3 -m desk", NO_CONFIG, 1), shell("npm run build", "built"), shell("python3 -m desk", "ok")),
        ("python3 -m desk", NO_CONFIG),
        ("python3 -m mail", NO_CONFIG),
    ),
    "another file that is refused": (
        (shell("./release.sh", "bash: ./release.sh: Permission denied", 126), shell("chmod +x release.sh", ""),
         shell("./release.sh", "released")),
        ("./release.sh", "bash: ./release.sh: Permission denied"),
        ("date > /srv/stamp.txt", "bash: /srv/stamp.txt: Permission denied"),
    ),
    "another cause of a manifest": (
        (shell("cargo build", MANIFEST.format(name="till", cause="no targets specified in the manifest"), 101),
         edit("Cargo.toml", "[lib]", '[lib]\npath = "lib.rs"'), shell("cargo build", "Finished dev")),
        ("cargo build", MANIFEST.format(name="till", cause="no targets specified in the manifest")),
        ("cargo build", MANIFEST.format(name="till", cause="feature `edition2024` is required")),
    ),
    "another sort of file for Jest": (
        (shell("npx jest", UNPARSED.format(file="node_modules/ky/i.js", said="Cannot use import statement"), 1),
         edit("jest.config.js", "transformIgnorePatterns: []", "transformIgnorePatterns: ['node_modules/(?!ky)']"),
         shell("npx jest", "Tests:       4 passed, 4 total")),
        ("npx jest", UNPARSED.format(file="node_modules/ky/lib.js", said="Cannot use import statement")),
        ("npx jest", UNPARSED.format(file="src/logo.svg", said="Unexpected token '<'")),
    ),
    "another version of Java": (
        (shell("mvn package", "[ERROR] Fatal error compiling: error: release version 21 not supported", 1),
         shell("sdk use java 21.0.2-tem", "Using java version 21.0.2-tem"), shell("mvn package", "BUILD SUCCESS")),
        ("mvn package", "[ERROR] Fatal error compiling: error: release version 21 not supported"),
        ("mvn package", "[ERROR] Fatal error compiling: error: release version 25 not supported"),
    ),
    "another module": (
        (shell("go vet ./...", NO_MODULE, 1), shell("go get gopkg.in/yaml.v3", "go: added"), shell("go vet ./...", "")),
        ("go vet ./...", NO_MODULE),
        ("go vet ./...", NO_MODULE.replace("gopkg.in/yaml.v3", "github.com/google/uuid")),
    ),
    "another extension": (
        (shell("composer install", NO_EXTENSION, 2), shell("sudo apt-get install -y php8.2-zip", "done"),
         shell("composer install", "Generating autoload files")),
        ("composer install", NO_EXTENSION),
        ("composer install", NO_EXTENSION.replace("zip", "soap")),
    ),
    "a port, in other words": (
        (shell("node app.js", TAKEN, 1), shell("kill 4122", ""), shell("node app.js", "listening on 4000")),
        ("node app.js", "Error: listen EADDRINUSE :::4100"),
        ("node worker.js", TAKEN.replace("4000", "4100")),
    ),
    "a service that refuses, in other words": (
        (shell("npm start", "Error: connect ECONNREFUSED 127.0.0.1:5432", 1), shell("docker start pg", "pg"),
         shell("npm start", "listening")),
        ("npm start", 'error: connection to server at "localhost" (::1), port 5432 failed: Connection refused'),
        ("npm start", "Error: connect ECONNREFUSED 127.0.0.1:6379"),
    ),
    "an edit of another file": (
        (shell("python3 a.py", 'File "fee.py", line 3, in fee\nKeyError: \'net_total\'', 1),
         edit("fee.py", "row['net_total']", "row.get('net_total', 0)"), shell("python3 a.py", "ok")),
        ("python3 b.py", 'File "fee.py", line 4, in fee\nKeyError: \'net_total\''),
        ("python3 c.py", 'File "tax.py", line 9, in tax\nKeyError: \'net_total\''),
    ),
}  # fmt: skip


@promise(
    "recipes:same-cause",
    "An error that says nothing of its cause shows a recipe only where the same test or command failed, what is "
    "missing or refused has to be the same thing, and the edit of a file is shown only where that file has to do with "
    "the error. That a port is taken, a service refuses or the disk is full is one error in whatever words and of "
    "whatever command, where it is the same port, or the same service on the same host or behind the same socket; for "
    "the same command it is one at any port, and the recipe quotes the port that it was seen with.",
    source="issue 11 Recipes",
)
@pytest.mark.parametrize("name", SHOWN)
def test_the_same_words_of_another_cause_show_no_recipe(open_learning_bank: OpenBank, name: str) -> None:
    steps, same, other = SHOWN[name]
    bank = open_learning_bank(None)
    bank.sessions.keep(Trajectory(task="Make it pass", steps=steps, session="s1"))
    bank.jobs.work()
    assert shown(bank, *other) == ""
    assert "What changed:" in shown(bank, *same)


def shown(bank: Bank, command: str, error: str) -> str:
    return bank.recipes.briefing(error, session=f"later {command}", command=command).text


@promise("recipes:fact")
@pytest.mark.parametrize(
    ("command", "said"),
    [("node --test", ROUNDED), ("cd web && npm test", "all fine"), ("uv run pytest", "3 passed in 1s")],
)
def test_the_command_of_a_fact_is_whole(command: str, said: str) -> None:
    (passed,) = passed_commands(Trajectory(task="Test it", steps=(shell(command, said),)))
    assert (passed.purpose, passed.command) == ("tests", command)


@promise("recipes:lookup")
@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("GNUmakefile:3: *** missing separator (did you mean TAB instead of 8 spaces?).  Stop.",
         "make: missing separator. Stop"),
        ("x.go:4:2: no required module provides package gopkg.in/a.v3; to add it:",
         "go: no required module provides package gopkg.in/a.v3; to add it"),
        (NO_SUFFIX, "Error: Cannot find module 'tax' imported from 'pay.js'"),
        (NO_ZMQ, "CMake: Could NOT find ZeroMQ"),
        ("\u2502 Error: Unsupported argument\n\u2502 \n\u2502 An argument named \"sise\" is not expected here.",
         "Error: Unsupported argument: An argument named \"sise\" is not expected here"),
        ("fatal: unable to auto-detect email address (got 'kim@desk.(none)')",
         "error: unable to auto-detect email address (got '<account>')"),
        ("LoadError:\n  cannot load such file -- ox\n# ./a.rb:1", "LoadError: cannot load such file -- ox"),
        ("psql:a.sql:3: ERROR:  relation \"desk\" does not exist", "sql: relation \"desk\" does not exist"),
    ],
)  # fmt: skip
def test_the_line_of_further_tools_is_read(output: str, text: str) -> None:
    found = signature_of(output)
    assert found is not None
    assert found.text == text


BAD_ROW = shell(
    "python load.py", "Traceback (most recent call last):\nValueError: could not convert string to float: 'n/a'", 1
)
LOADED = shell("python load.py", "99 rows")


@promise("recipes:none")
@pytest.mark.parametrize(
    "change",
    [
        shell("sed -i '17d' data/prices.csv"),
        shell("sed -i.bak -e '17,18d;20d' 'data/prices.csv'"),
        edit("data/prices.csv", "17;apple;n/a\n", ""),
        edit("data/seed.json", '  {"id": 17, "price": "n/a"},\n', ""),
    ],
)
def test_rows_that_were_taken_out_of_the_data_mend_nothing(change: Step) -> None:
    assert fixes(BAD_ROW, change, LOADED) == []


PEERS = (
    "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error Found: react@19.0.0\n"
    'npm error peer react@"^18.0.0" from react-table@8.1.0'
)
STOPPED = {
    "npm": (
        shell("npm install", PEERS, 1),
        edit("package.json", '"react-table": "8.1.0"', '"react-table": "8.20.0"'),
        shell("npm install", "added 4 packages"),
        "peer react from react-table",
    ),
    "MkDocs": (
        shell(
            "mkdocs build --strict", "WARNING -  Doc file 'a.md' contains a link 'b.md'\n\nAborted in strict mode!", 1
        ),
        edit("docs/a.md", "[b](b.md)", "[b](c/b.md)"),
        shell("mkdocs build --strict", "INFO - Documentation built"),
        "contains a link 'b.md'",
    ),
    "Sphinx": (
        shell(
            "sphinx-build -W docs out", "Warning, treated as error:\n/srv/w/docs/api.rst:14:undefined label: 'setup'", 2
        ),
        edit("docs/api.rst", ":ref:`setup`", ":ref:`install`"),
        shell("sphinx-build -W docs out", "build succeeded."),
        "undefined label: 'setup'",
    ),
    "a limit": (
        shell("python train.py", "OSError: [Errno 24] Too many open files: 'part.bin'", 1),
        shell("ls parts", "part.bin"),
        shell("ulimit -n 4096 && python train.py", "epoch 1 done"),
        "ulimit -n 4096 && python train.py",
    ),
}


@promise("recipes:fix")
@pytest.mark.parametrize("name", STOPPED)
def test_what_stopped_a_tool_is_named_and_how_it_went_on(name: str) -> None:
    failed, change, passed, said = STOPPED[name]
    (found,) = fixes(failed, change, passed)
    assert said in found


@promise(
    "signatures:wrapper",
    "The closing line of a wrapper (exited with, unexpected signal, did not complete) is no signature where the output "
    "says the cause.",
    source="issue 11 Recipes",
)
@pytest.mark.parametrize(
    ("output", "said"),
    [
        (
            "Cart/Cart.swift:12: Fatal error: Index out of range\nerror: Exited with unexpected signal code 5",
            "Fatal error: Index out of range",
        ),
        (
            "Error: Cannot find module 'left-pad'\nerror: script \"test\" exited with code 1",
            "Error: Cannot find module 'left-pad'",
        ),
        (
            "KeyError: 'DATABASE_URL'\nERROR: process \"/bin/sh -c x\" did not complete successfully: exit code: 1",
            "KeyError: 'DATABASE_URL'",
        ),
        ("error: Exited with unexpected signal code 5", "error: Exited with unexpected signal code N"),
    ],
)
def test_a_wrappers_closing_line_does_not_hide_the_cause(output: str, said: str) -> None:
    found = signature_of(output, "make test")
    assert found is not None
    assert found.text == said


REFUSED_PRINT = "count.c:9:16: error: format '%d' expects argument of type 'int' [-Werror=format=]\nmake: *** Error 1"
NIL_MAP = (
    "panic: assignment to entry in nil map\n\ngoroutine 7 [running]:\n/build/kv/cache/cache.go:14 +0x1d\nexit status 2"
)
NO_NAME = "E   ImportError: cannot import name 'rates' from 'shop.tax' (/srv/w/shop/tax/__init__.py)\n1 error in 0.1s"
NO_SYMBOL = (
    "/usr/bin/ld: CMakeFiles/kite.dir/kite.c.o: in function `pack':\nkite.c:(.text+0x2f): undefined reference to "
    "`deflateInit_'\ncollect2: error: ld returned 1 exit status"
)
OTHERS = {
    "a print that the compiler refused": (
        shell("make", REFUSED_PRINT, 2),
        edit("count.c", 'printf("%d", n);', 'printf("%zu", n);'),
        shell("make", "cc -o count count.o"),
    ),
    "a trace from a container": (
        shell("go run ./cmd", NIL_MAP, 1),
        edit("/srv/w/kv/cache/cache.go", "return &Cache{}", "return &Cache{items: map[string]int{}}"),
        shell("go run ./cmd", "listening"),
    ),
    "a name and its export": (
        shell("pytest -q", NO_NAME, 2),
        edit("shop/tax/table.py", "rate_table = load()", "rates = load()"),
        edit("shop/tax/__init__.py", "", "from shop.tax.table import rates\n"),
        shell("pytest -q", "4 passed in 0.1s"),
    ),
    "what a target needs, found and linked": (
        shell("cmake --build out", NO_SYMBOL, 2),
        edit("CMakeLists.txt", "project(kite C)", "project(kite C)\nfind_package(ZLIB REQUIRED)"),
        edit("CMakeLists.txt", "# links", "target_link_libraries(kite PRIVATE ZLIB::ZLIB)"),
        shell("cmake --build out", "[100%] Built target kite"),
    ),
    "a language standard in two places": (
        shell("ninja -C out", "/srv/w/till.cpp:9:6: error: 'std::span' is only available from C++20 onwards", 1),
        edit("meson.build", "meson_version: '>=0.50'", "meson_version: '>=0.57'"),
        edit("meson.options", "value: 'c++17'", "value: 'c++20'"),
        shell("ninja -C out", "[9/9] Linking target till"),
    ),
    "a dependency that is declared and used": (
        shell("cargo build", "error[E0432]: unresolved import `csv`\n --> src/main.rs:2:5", 101),
        edit("Cargo.toml", "[dependencies]", '[dependencies]\ncsv = "1.3"'),
        edit("src/main.rs", "use csv::Reader;", "use csv::{Reader, StringRecord};"),
        shell("cargo build", "Finished dev"),
    ),
    "a process of somebody else": (
        shell("node app.js", TAKEN, 1),
        shell("kill 4122", ""),
        shell("node app.js", "listening on 4000"),
    ),
}


@promise("recipes:fix")
@pytest.mark.parametrize("name", [*OTHERS])
def test_what_was_mended_is_found_whatever_the_edit_looks_like(name: str) -> None:
    assert len(fixes(*OTHERS[name])) == 1


@promise("recipes:none")
def test_ending_a_process_that_the_session_has_started_itself_mends_nothing() -> None:
    begun = shell("node app.js &", "[1] 4122\nlistening on 4000")
    assert fixes(begun, *OTHERS["a process of somebody else"]) == []
