"""Recipes: a check that was made weaker and an error that was taken back are none; clear fixes of many tools are."""

from __future__ import annotations

import json

import pytest

from promises import promise
from reasoningbank.sessions.recipes import recipes_of
from reasoningbank.sessions.signatures import signature_of
from reasoningbank.types.session import Step, Trajectory
from sessions.judged_cases import shell

Steps = tuple[Step, ...]


def edit(place: str, old: str, new: str) -> Step:
    action = json.dumps({"file_path": place, "old_string": old, "new_string": new})
    return Step(tool="Edit", action=action, observation=f"The file {place} has been updated.")


def fixes(steps: Steps) -> list[str]:
    """What the session shows, in words."""
    return [one.content for one in recipes_of(Trajectory(task="Make it pass", steps=steps)) if one.kind == "fix"]


def around(action: str, said: str, passed: str, *between: Step, status: int = 1) -> Steps:
    """A command that fails, what is done then, and the same command again."""
    return (shell(action, said, status), *between, shell(action, passed))


SLOW = (
    " FAIL  src/feed.test.ts > feed > loads all pages\nError: Test timed out in 5000ms.\n\n"
    " Test Files  1 failed (1)\n      Tests  1 failed | 3 passed (4)"
)
FAST = " Test Files  1 passed (1)\n      Tests  4 passed (4)"
LATE = "FAILED tests/test_sync.py::test_all - Failed: Timeout (>10.0s) from pytest-timeout.\n1 failed, 9 passed in 11s"
WAITED = (
    "  1) [chromium] \u203a tests/login.spec.ts:4:5 \u203a logs in\n\n    Test timeout of 30000ms exceeded.\n\n"
    "  1 failed\n  6 passed (40.1s)"
)
OLD_CART = (
    "FAIL legacy/cart.test.js\n  \u25cf Test suite failed to run\n\n    Cannot find module '../old/cart' from "
    "'legacy/cart.test.js'\n\nTest Suites: 1 failed, 4 passed, 5 total\nTests:       20 passed, 20 total"
)
NO_CART = "Test Suites: 4 passed, 4 total\nTests:       20 passed, 20 total"
UNUSED = "/srv/w/gen.js\n  4:7  error  'out' is assigned a value but never used  no-unused-vars\n\n\u2716 1 problem"
UNDEFINED = (
    " ------ ------\n  Line   src/Sender.php\n ------ ------\n  41     Call to an undefined method Queue::flushAll().\n"
    " ------ ------\n\n [ERROR] Found 1 error"
)
ROW = "src/grid.ts(8,22): error TS7006: Parameter 'row' implicitly has an 'any' type."
DENIED = (
    'The stream or file "/srv/w/storage/app.log" could not be opened in append mode: Failed to open stream: '
    "Permission denied"
)
PANIC = (
    "running 2 tests\ntest rate::reads ... FAILED\n\n---- rate::reads stdout ----\n\nthread 'rate::reads' panicked at "
    "src/rate.rs:14:38:\ncalled `Result::unwrap()` on an `Err` value: ParseFloatError { kind: Invalid }\n\n"
    "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
)
RUST_OK = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
SENDER = "FAILED tests/test_mail.py::test_sender - KeyError: 'MAIL_FROM'\n1 failed, 3 passed in 0.2s"
NO_BANK = (
    ' FAIL  e2e/pay.test.ts\nError: Failed to resolve import "../lib/bank" from "e2e/pay.test.ts". Does the file exist?'
    "\n\n Test Files  1 failed | 3 passed (4)\n      Tests  12 passed (12)"
)
STATIC = "PermissionError: [Errno 13] Permission denied: '/srv/w/static/css'"
CERTIFICATE = "SSLError: certificate verify failed: unable to get local issuer certificate for hub.example.com"
WEAKENED = {
    "Vitest waits longer": around(
        "npx vitest run", SLOW, FAST, edit("vitest.config.ts", "test: {", "test: {\n testTimeout: 30000,")
    ),
    "a flag lets it wait longer": (shell("npx vitest run", SLOW, 1), shell("npx vitest run --testTimeout=30000", FAST)),
    "pytest waits longer": around(
        "pytest -q", LATE, "10 passed in 15.2s", edit("pytest.ini", "timeout = 10", "timeout = 90")
    ),
    "Playwright waits longer": around(
        "npx playwright test",
        WAITED,
        "  7 passed (58.3s)",
        edit("playwright.config.ts", "timeout: 30_000", "timeout: 120_000"),
    ),
    "one test waits longer": around(
        "npx playwright test",
        WAITED,
        "  7 passed (58s)",
        edit("tests/login.spec.ts", "click()", "click({ timeout: 90000 })"),
    ),
    "longer lines are allowed": around(
        "flake8 app",
        "app/v.py:88:80: E501 line too long (104 > 79 characters)",
        "",
        edit("setup.cfg", "[flake8]", "[flake8]\nmax-line-length = 120"),
    ),
    "Jest passes a folder over": around(
        "npx jest",
        OLD_CART,
        NO_CART,
        edit("jest.config.js", "env: 1,", "env: 1,\n testPathIgnorePatterns: ['/legacy/'],"),
    ),
    "a longer list of what is passed over": around(
        "npx vitest run",
        NO_BANK,
        FAST,
        edit("vite.config.ts", "exclude: ['dist/**']", "exclude: ['dist/**', 'e2e/**']"),
    ),
    "a script passes a folder over": around(
        "npm run lint",
        UNUSED,
        "",
        edit("package.json", '"lint": "eslint ."', '"lint": "eslint . --ignore-pattern gen.js"'),
    ),
    "a list of ignored files": around("npx eslint .", UNUSED, "", shell("echo 'gen.js' >> .eslintignore", "")),
    "a baseline in the settings": around(
        "vendor/bin/phpstan analyse",
        UNDEFINED,
        " [OK] No errors",
        shell("vendor/bin/phpstan analyse --generate-baseline", "[OK] Baseline generated with 1 error."),
        edit("phpstan.neon", "parameters:", "includes:\n    - phpstan-baseline.neon\nparameters:"),
    ),
    "all is suppressed": around("npx eslint .", UNUSED, "", shell("npx eslint . --suppress-all", "")),
    "any type will do": around(
        "npx tsc", ROW, "", edit("src/grid.ts", "function draw(row) {", "function draw(row: any) {"), status=2
    ),
    "everybody may write": around("php artisan cache", DENIED, "cached", shell("chmod -R 777 storage", "")),
    "everybody may write, in letters": around(
        "python manage.py collect", STATIC, "128 files", shell("sudo chmod -R a+rwX static", "")
    ),
    "nobody is verified": around(
        "python fetch.py", CERTIFICATE, "12 rows", edit("fetch.py", "get(url)", "get(url, verify=False)  # certificate")
    ),
    "an empty value instead of a panic": around(
        "cargo test",
        PANIC,
        RUST_OK,
        edit("src/rate.rs", "text.parse().unwrap()", "text.parse().unwrap_or_default()"),
        status=101,
    ),
    "the tests set what is missing": around(
        "pytest -q",
        SENDER,
        "4 passed in 0.2s",
        edit("tests/conftest.py", "import os", "import os\nos.environ.setdefault('MAIL_FROM', 'a@example.com')"),
    ),
}


@promise("recipes:none")
@pytest.mark.parametrize("name", WEAKENED)
def test_a_check_that_was_made_weaker_is_no_fix(name: str) -> None:
    assert fixes(WEAKENED[name]) == []


SETTINGS = (
    "ERROR tests/test_o.py - django.core.exceptions.ImproperlyConfigured: Requested setting INSTALLED_APPS, but "
    "settings are not configured. You must either define the environment variable DJANGO_SETTINGS_MODULE.\n"
    "1 error in 0.1s"
)
REPAIRED = {
    "a narrow type": around("npx tsc", ROW, "", edit("src/grid.ts", "draw(row) {", "draw(row: Row) {"), status=2),
    "a folder that is seen again": around(
        "npx tsc -p .",
        "a.ts(1,20): error TS6307: File '/srv/w/src/gen/api.ts' is not listed in project 'tsconfig.json'.",
        "",
        edit("tsconfig.json", '"exclude": ["dist", "src/gen"]', '"exclude": ["dist"]'),
        status=2,
    ),
    "a type that is spelled right": around(
        "mypy app",
        'app/a.py:3: error: Function "builtins.any" is not valid as a type  [valid-type]',
        "Success: no issues",
        edit("app/a.py", "-> dict[str, any]:", "-> dict[str, Any]:"),
    ),
    "the group may write": around("php artisan cache", DENIED, "cached", shell("chmod -R g+w storage", "")),
    "a script may be run": around(
        "./go.sh", "bash: ./go.sh: Permission denied", "gone", shell("chmod +x go.sh", ""), status=126
    ),
    "a client that waits longer": around(
        "node sync.js",
        "Error: connect ETIMEDOUT 10.0.0.4:443",
        "synced",
        edit("src/client.js", "timeout: 200", "timeout: 5000"),
    ),
    "where the settings of the tests are": around(
        "pytest -q",
        SETTINGS,
        "4 passed in 0.2s",
        edit(
            "tests/conftest.py",
            "import os",
            "import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')",
        ),
        status=2,
    ),
}


@promise("recipes:fix")
@pytest.mark.parametrize("name", REPAIRED)
def test_what_looks_like_a_weaker_check_and_repairs_the_cause_is_a_fix(name: str) -> None:
    assert len(fixes(REPAIRED[name])) == 1


USAGE = (
    "ERROR: usage: pytest [options]\npytest: error: argument --tb: invalid choice: 'shrt' (choose from 'auto', 'short')"
)
NO_EXPRESS = "Error: Cannot find module 'express'\nRequire stack:\n- /srv/w/server.js"
OWN = {
    "a misspelt flag": (shell("pytest -q --tb=shrt", USAGE, 4), shell("pytest -q --tb=short", "10 passed in 1.2s")),
    "a misspelt script": (
        shell("npm run biuld", 'npm error Missing script: "biuld"', 1),
        shell("npm run build", "built in 2.31s"),
    ),
    "a misspelt program": (
        shell("dcoker compose up -d", "bash: dcoker: command not found", 127),
        shell("docker compose up -d", "Started"),
    ),
    "a misspelt folder": (
        shell("cd fronted && npm run build", "bash: cd: fronted: No such file or directory", 1),
        shell("cd frontend && npm run build", "built in 1.2s"),
    ),
    "a package that it had removed": (
        shell("pip uninstall -y requests", "Successfully uninstalled requests-2.31.0"),
        *around(
            "python f.py", "ModuleNotFoundError: No module named 'requests'", "200", shell("pip install requests", "ok")
        ),
    ),
    "a folder that it had emptied": (
        shell("rm -rf node_modules", ""),
        *around("node server.js", NO_EXPRESS, "listening", shell("npm install", "added 57 packages")),
    ),
    "a service that it had stopped": (
        shell("docker stop cache", "cache"),
        *around(
            "node w.js", "Error: connect ECONNREFUSED 127.0.0.1:6379", "ready", shell("docker start cache", "cache")
        ),
    ),
    "rights that it had taken": (
        shell("chmod 644 bin/release", ""),
        *around(
            "bin/release",
            "bash: bin/release: Permission denied",
            "done",
            shell("chmod 755 bin/release", ""),
            status=126,
        ),
    ),
    "a file that it had moved": (
        shell("mv config.yml config.off", ""),
        *around(
            "python run.py",
            "FileNotFoundError: [Errno 2] No such file or directory: 'config.yml'",
            "ok",
            shell("mv config.off config.yml", ""),
        ),
    ),
    "a version that it had chosen": (
        shell("npm install react@19", "added 1 package"),
        *around(
            "npm run build",
            "npm error ERESOLVE could not resolve react@19.0.0 for react-dates",
            "built in 2s",
            shell("npm install react@18", "added 1 package"),
        ),
    ),
    "a name that it had changed elsewhere": (
        edit("src/config.ts", "export const region = 'eu';", "export const zone = 'eu';"),
        *around(
            "npx tsc",
            "src/app.ts(3,10): error TS2305: Module '\"./config\"' has no exported member 'region'.",
            "",
            edit("src/app.ts", "import { region }", "import { zone }"),
            status=2,
        ),
    ),
}


@promise("recipes:none")
@pytest.mark.parametrize("name", OWN)
def test_an_error_of_the_sessions_own_that_it_took_back_is_no_fix(name: str) -> None:
    assert fixes(OWN[name]) == []


REDIS = "redis.exceptions.ConnectionError: Error 111 connecting to localhost:6379. Connection refused."
NEARLY_OWN = {
    "another service was stopped": (
        shell("sudo systemctl stop apache2", ""),
        *around("python w.py", REDIS, "ok", shell("sudo systemctl start redis", "")),
    ),
    "emptied because of the error": around(
        "npm run build",
        "Error: Cannot find module '@rollup/rollup-linux-x64-gnu'",
        "built in 2.1s",
        shell("rm -rf node_modules && npm ci", "added 200 packages"),
    ),
    "the plural is another target": (
        shell("make test", "make: *** No rule to make target 'test'.  Stop.", 2),
        shell("make tests", "all passed"),
    ),
}


@promise("recipes:fix")
@pytest.mark.parametrize("name", NEARLY_OWN)
def test_an_error_that_only_looks_like_the_sessions_own_is_a_fix(name: str) -> None:
    assert len(fixes(NEARLY_OWN[name])) == 1


PENDING = "Migrations are pending. To resolve this issue, run:\n\n        bin/rails db:migrate RAILS_ENV=test\n"
OUTDATED_GO = "go: updates to go.mod needed; to update it:\n\tgo mod tidy"
TAKEN = "Error: listen EADDRINUSE: address already in use :::3000"
OLD_PYTHON = '  File "/srv/w/gen.py", line 7\n    type Row = dict[str, int]\n         ^^^\nSyntaxError: invalid syntax'
OLD_NODE = (
    "file:///srv/w/merge.mjs:3\nimport data from './a.json' with { type: 'json' };\n    ^^^^\n"
    "SyntaxError: Unexpected token 'with'"
)
DIGITAL = "Error: error:0308010C:digital envelope routines::unsupported\n  code: 'ERR_OSSL_EVP_UNSUPPORTED'"
NO_BROWSER = (
    "Error: browserType.launch: Executable doesn't exist at /root/.cache/chrome\n"
    "\u2551 Please run the following command to download new browsers: \u2551\n"
    "\u2551     npx playwright install \u2551\n  1 failed"
)
SCRIPT = '"build": "webpack"', '"build": "NODE_OPTIONS=--openssl-legacy-provider webpack"'
LIBRARIES = (
    "    Error: Please make sure the libxml2 and libxslt development packages are installed.\n"
    "error: subprocess-exited-with-error"
)
FOUND: dict[str, tuple[Steps, str]] = {
    "system packages": (
        around(
            "pip install lxml",
            LIBRARIES,
            "Successfully installed lxml-5.1.0",
            shell("apk add libxml2-dev", "OK: 120 MiB"),
        ),
        "- ran: apk add libxml2-dev",
    ),
    "a role of the database": (
        around(
            "psql -U ledger dev -c 'select 1'",
            'psql: error: FATAL:  role "ledger" does not exist',
            " 1",
            shell("sudo -u postgres createuser -s ledger", ""),
            status=2,
        ),
        "- ran: sudo -u postgres createuser -s ledger",
    ),
    "a command with a variable of its own": (
        around(
            "bin/rails test",
            'ActiveRecord::StatementInvalid: PG::UndefinedTable: ERROR:  relation "invoices" does not exist',
            "12 runs, 30 assertions, 0 failures, 0 errors, 0 skips",
            shell("RAILS_ENV=test bin/rails db:migrate", "== CreateInvoices: migrated"),
        ),
        "- ran: RAILS_ENV=test bin/rails db:migrate",
    ),
    "a database": (
        around(
            "python manage.py migrate",
            "OperationalError: (1049, \"Unknown database 'orders'\")",
            "OK",
            shell("mysql -u root -e 'CREATE DATABASE orders'", ""),
        ),
        "- ran: mysql -u root -e 'CREATE DATABASE orders'",
    ),
    "what the error says to run": (
        around(
            "bin/rails test",
            PENDING,
            "12 runs, 30 assertions, 0 failures, 0 errors, 0 skips",
            shell("bin/rails db:migrate RAILS_ENV=test", "== AddSeats: migrated"),
        ),
        "- ran: bin/rails db:migrate RAILS_ENV=test",
    ),
    "what Go says to run": (
        around("go build ./...", OUTDATED_GO, "", shell("go mod tidy", "go: downloading uuid")),
        "- ran: go mod tidy",
    ),
    "with what starts it": (
        around("npx playwright test", NO_BROWSER, "  7 passed (8.3s)", shell("npx playwright install", "downloaded")),
        "- ran: npx playwright install",
    ),
    "a display": (
        (
            shell("npm run e2e", "[ERROR:ozone_platform_x11.cc(240)] Missing X server or $DISPLAY", 1),
            shell("xvfb-run -a npm run e2e", "  3 passing (4s)"),
        ),
        "- ran instead: xvfb-run -a npm run e2e",
    ),
    "an environment": (
        (
            shell("python -m pytest -q", "/usr/bin/python: No module named pytest", 1),
            shell("source .venv/bin/activate && python -m pytest -q", "6 passed in 0.2s"),
        ),
        "- ran instead: source .venv/bin/activate && python -m pytest -q",
    ),
    "by its package manager": (
        (shell("tsc --noEmit", "bash: tsc: command not found", 127), shell("npx tsc --noEmit", "")),
        "- ran instead: npx tsc --noEmit",
    ),
    "other rights": (
        (
            shell("nginx -t", 'nginx: [emerg] open() "/run/nginx.pid" failed (13: Permission denied)', 1),
            shell("sudo nginx -t", "test is successful"),
        ),
        "sudo nginx -t",
    ),
    "a setting in a script": (
        around("npm run build", DIGITAL, "compiled", edit("package.json", *SCRIPT)),
        "NODE_OPTIONS=--openssl-legacy-provider",
    ),
    "generated code": (
        around("go build ./...", "api/user.go:14:12: undefined: db.GetUserByEmail", "", shell("sqlc generate", "")),
        "- ran: sqlc generate",
    ),
    "generated code of a target": (
        around(
            "python -m app",
            "ModuleNotFoundError: No module named 'wire_pb2'",
            "up",
            shell("make proto", "protoc wire.proto"),
        ),
        "- ran: make proto",
    ),
    "a port that is freed": (
        around("npm start", TAKEN, "listening", shell("lsof -ti:3000 | xargs kill -9", "")),
        "- ran: lsof -ti:3000 | xargs kill -9",
    ),
    "a newer Python": (
        (shell("python3 gen.py", OLD_PYTHON, 1), shell("python3.12 gen.py", "generated 4 files")),
        "- ran instead: python3.12 gen.py",
    ),
    "a newer Node": (
        around("node merge.mjs", OLD_NODE, "merged 4", shell("nvm use 20", "Now using node v20.11.1")),
        "- ran: nvm use 20",
    ),
    "what a Ruby file requires": (
        around(
            "ruby x.rb",
            "x.rb:5:in `<main>': uninitialized constant JSON (NameError)",
            "4 rows",
            edit("x.rb", "require 'csv'", "require 'csv'\nrequire 'json'"),
        ),
        "added `require 'json'`",
    ),
    "an error of collection": (
        around(
            "pytest -q",
            "ERROR tests/test_a.py - ModuleNotFoundError: No module named 'shop'\n1 error in 0.1s",
            "4 passed in 0.2s",
            edit("pyproject.toml", "[tool.pytest.ini_options]", '[tool.pytest.ini_options]\npythonpath = ["src"]'),
            status=2,
        ),
        "pythonpath",
    ),
}


@promise("recipes:ways")
@pytest.mark.parametrize("name", FOUND)
def test_a_clear_fix_is_found_and_quoted(name: str) -> None:
    steps, quoted = FOUND[name]
    (said,) = fixes(steps)
    assert quoted in said


@promise("recipes:none")
def test_an_edit_after_a_syntax_error_is_no_fix() -> None:
    """What was written wrong once is not written wrong again."""
    edited = edit("gen.py", "type Row = dict[str, int]", "Row = dict[str, int]")
    assert fixes(around("python3 gen.py", OLD_PYTHON, "generated 4 files", edited)) == []


UNVERIFIED = (
    "requests.exceptions.SSLError: HTTPSConnectionPool(host='api.example.org', port=443): Max retries exceeded with "
    "url: /v1/items (Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate "
    "verify failed: unable to get local issuer certificate (_ssl.c:1006)')))"
)
OLD_JAVA = (
    "[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.11.0:compile (default-compile) on "
    "project shop: Fatal error compiling: error: release version 21 not supported -> [Help 1]"
)


@promise(
    "recipes:decisive",
    "The signature of a long error keeps the cause that it ends with, that of a missing module the folder it is in.",
    source="issue 11 Recipes",
)
@pytest.mark.parametrize(
    ("said", "title"),
    [
        (OLD_JAVA, "error: Fatal error compiling: error: release version 21 not supported"),
        (
            "#9 1.2 npm error\n#9 1.3 npm error Missing: ky@1.2.3 from lock file\n#9 ERROR: process did not complete "
            "successfully: exit code: 1",
            "npm: Missing: ky@N from lock file",
        ),
        ("Error: Cannot find module './helpers/util'", "Error: Cannot find module './helpers/util'"),
        ("Error: Cannot find module '../../money/util'", "Error: Cannot find module './money/util'"),
        ("Error: Cannot find module './util'", "Error: Cannot find module './util'"),
        ("Error: Cannot find module '/srv/a/dist/main.js'", "Error: Cannot find module 'main.js'"),
        ("python: can't open file './tools/gen.py': [Errno 2]", "python: can't open file 'gen.py': [Errno N]"),
        ("python: can't open file '/srv/w/tools/gen.py': [Errno 2]", "python: can't open file 'gen.py': [Errno N]"),
    ],
)
def test_a_signature_keeps_the_decisive_words(said: str, title: str) -> None:
    found = signature_of(said, "python tools/gen.py")
    assert found is not None
    assert found.text == title


@promise("recipes:decisive")
def test_the_cause_of_a_wrapped_error_is_not_cut_off() -> None:
    found = signature_of(UNVERIFIED)
    assert found is not None
    assert "unable to get local issuer certificate" in found.text
    assert "api.example.org" not in found.text


@promise(
    "recipes:process",
    "No recipe quotes the number of a process: it says what finds the process, or there is none.",
    source="issue 11 Recipes",
)
@pytest.mark.parametrize(
    ("error", "steps", "said"),
    [
        (TAKEN, ("lsof -ti:3000", "4411\n", "kill 4411"), "kill PID (PID: what `lsof -ti:3000` shows)"),
        (TAKEN, ("ls", "a.txt", "kill -9 4411"), "kill -9 PID (PID: the process that held port 3000)"),
        (
            "OSError: [Errno 98] Address already in use (pid 4411)",
            ("ls", "a.txt", "kill -s TERM 4411"),
            "kill -s TERM PID (PID: the one that the error names)",
        ),
        ("OSError: [Errno 98] Address already in use", ("ls", "a.txt", "kill 4411"), ""),
    ],
)
def test_a_recipe_finds_the_process_that_was_ended(error: str, steps: tuple[str, str, str], said: str) -> None:
    finder, printed, ending = steps
    found = fixes(
        (shell("npm start", error, 1), shell(finder, printed), shell(ending, ""), shell("npm start", "listening"))
    )
    assert [f"- ran: {said}" in content for content in found] == ([True] if said else [])
    assert not any("4411" in content.partition("What changed:")[2] for content in found)
