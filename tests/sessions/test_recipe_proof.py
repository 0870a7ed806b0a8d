"""Recipes and proof: what only hides an error proves nothing, nor what a person or chance has mended."""

from __future__ import annotations

import dataclasses
import json

import pytest

from promises import promise
from reasoningbank.sessions.recipes import recipes_of
from reasoningbank.types.session import Step, Trajectory
from sessions.judged_cases import shell


def edit(place: str, old: str, new: str, user: str = "") -> Step:
    action = json.dumps({"file_path": place, "old_string": old, "new_string": new})
    return Step(tool="Edit", action=action, observation=f"The file {place} has been updated.", user=user)


def fixes(*steps: Step) -> list[str]:
    """What the session shows, in words."""
    return [one.content for one in recipes_of(Trajectory(task="Make it pass", steps=steps)) if one.kind == "fix"]


def failing_and_passing(line: str) -> tuple[Step, Step]:
    """One run of the tests that fails with that line, and one that passes."""
    return shell("pytest -q", f"FAILED {line}\n1 failed, 4 passed in 0.1s", 1), shell("pytest -q", "5 passed in 0.1s")


ROMAN = failing_and_passing("tests/test_roman.py::test_year - AssertionError: assert 'MDCCCC' == 'MCM'")
FEED = failing_and_passing("tests/test_feed.py::test_feed - feed.FeedError: feed 'north' has no currency")
SLUG = failing_and_passing("tests/test_slug.py::test_slug - AssertionError: assert 'Zo\u00eb' == 'zoe'\nslug.py:2")
LETTER = (
    shell(
        "node --test",
        "\u2716 slugs (2ms)\n  AssertionError [ERR_ASSERTION]: slug of 'q'\n  'q' !== 'k'\n  slug.js:2",
        1,
    ),
    shell("node --test", "\u2139 tests 1\n\u2139 pass 1\n\u2139 fail 0"),
)
SLOW = failing_and_passing("tests/test_fit.py::test_fit - fit.TooInexact: score 0.81 is below 0.90")
RATE = shell(
    "node rate.js",
    "rate.js:9\n    throw new RateError('no rate for region BY');\n\nRateError: no rate for region BY",
    1,
)
RATED = shell("node rate.js", "rated 12")
YAML = shell("yamllint deploy", "deploy/d.yaml\n  9:81  error  line too long (104 > 80 characters)  (line-length)", 1)
CHECK = shell("make check", "ruff check desk tools\ntools/old.py:3:1: F821 Undefined name `unicode`\nFound 1 error.", 2)
HIDDEN = {
    "the answer is typed in": (
        ROMAN[0],
        edit("roman.py", "def roman(n):", "def roman(n):\n    if n == 1900:\n        return 'MCM'"),
        ROMAN[1],
    ),
    "the answer is typed in among others": (
        ROMAN[0],
        edit("roman.rs", "match n {", "match n {\n    1900 => return Some('MCM'),"),
        ROMAN[1],
    ),
    "one name has its answer": (
        SLUG[0],
        edit("slug.py", "return name", "return 'zoe' if name == 'Zo\u00eb' else name"),
        SLUG[1],
    ),
    "one letter has its answer": (
        LETTER[0],
        edit("slug.js", "return name", "if (name === 'q') {\n  return 'k'\n}\nreturn name"),
        LETTER[1],
    ),
    "one name is replaced": (
        SLUG[0],
        edit("slug.py", "return name", "return name.replace('Zo\u00eb', 'zoe')"),
        SLUG[1],
    ),
    "a default for the test": (
        FEED[0],
        edit("feed.py", "row['currency']", "row.get('currency', 'DUMMY')"),
        FEED[1],
    ),
    "a default that the test compares": (
        SLUG[0],
        edit("slug.py", "return names[name]", "return names.get(name, 'zoe')"),
        SLUG[1],
    ),
    "a default whose comment says so": (
        FEED[0],
        edit("feed.py", "row['currency']", "row.get('currency', 'EUR')  # keeps the tests green"),
        FEED[1],
    ),
    "the code knows that it is tested": (
        FEED[0],
        edit(
            "feed.py",
            "def feed(name):",
            "def feed(name):\n    if os.environ.get('PYTEST_CURRENT_TEST'):\n        return Feed(name)",
        ),
        FEED[1],
    ),
    "a double in the test": (
        FEED[0],
        edit(
            "tests/test_feed.py",
            "def test_feed():",
            "def test_feed(monkeypatch):\n    monkeypatch.setattr(feed, 'read', dict)",
        ),
        FEED[1],
    ),
    "the test expects the failure": (
        FEED[0],
        edit("tests/test_feed.py", "    feed('north')", "    with pytest.raises(FeedError):\n        feed('north')"),
        FEED[1],
    ),
    "a limit is lower": (SLOW[0], edit("fit.py", "LEAST = 0.90", "LEAST = 0.80"), SLOW[1]),
    "what reported it is gone": (
        RATE,
        edit("rate.js", "if (!rate) throw new RateError('no rate for region BY');\nreturn rate", "return rate"),
        RATED,
    ),
    "it is caught and forgotten": (
        RATE,
        edit("rate.js", "return rate(region)", "try { return rate(region) } catch (e) { return null }"),
        RATED,
    ),
    "the rule has an exception": (
        YAML,
        edit(".yamllint", "rules:", "rules:\n  line-length: disable"),
        shell("yamllint deploy", ""),
    ),
    "the check leaves the folder out": (
        CHECK,
        edit("Makefile", "\truff check desk tools", "\truff check desk"),
        shell("make check", "ok"),
    ),
    "only a print was added": (
        FEED[0],
        edit("feed.py", "rows = read(name)", "print(name)\nrows = read(name)"),
        FEED[1],
    ),
    "it comes and goes": (*FEED, FEED[0], edit("feed.py", "i = 0", "feed_no = 0"), FEED[1]),
}


@promise("recipes:none")
@pytest.mark.parametrize("name", HIDDEN)
def test_what_fakes_an_answer_or_hides_the_report_is_no_fix(name: str) -> None:
    assert fixes(*HIDDEN[name]) == []


REAL = {
    "a constant": (
        failing_and_passing("tests/test_c.py::test_wait - AssertionError: assert 30 == 60\nconf.py:3"),
        edit("conf.py", "WAIT = 30", "WAIT = 60"),
    ),
    "a product": (
        failing_and_passing("tests/test_area.py::test_area - AssertionError: assert 3 == 9\narea.py:3"),
        edit("area.py", "return a + a", "return a * a"),
    ),
    "a default of its own": (FEED, edit("feed.py", "row['currency']", "row.get('currency', 'EUR')")),
    "a branch for a kind of values": (
        FEED,
        edit("feed.py", "return read(name)", "if name.suffix == '.gz':\n    return unpack(name)\nreturn read(name)"),
    ),
    "an error of its own": (FEED, edit("feed.py", "return None", "raise FeedError(name)")),
    "a named exception": (
        FEED,
        edit("feed.py", "return read(name)", "try:\n    return read(name)\nexcept KeyError:\n    return EURO"),
    ),
}


@promise("recipes:fix")
@pytest.mark.parametrize("name", REAL)
def test_a_repair_that_looks_like_hiding_is_a_fix(name: str) -> None:
    (failing, passing), change = REAL[name]
    assert len(fixes(failing, change, passing)) == 1


REFUSED = "ConnectionError: feed.example refused the token of 'north'"
SAID = {
    "I started the database, try again": 0,
    "just added the key to .env": 0,
    "My VPN was off. It's on now.": 0,
    "Done - I gave you the role": 0,
    "the token is valid now": 0,
    "please look at feed.py first": 1,
    "maybe only the name is wrong? correct it": 1,
    "I ran the tests and they fail too": 1,
    "looks plausible, go on": 1,
    "He cambiado la contraseña. Inténtalo de nuevo.": 0,
    "ya está, reinicié el servicio": 0,
    "primero mira feed.py, por favor": 1,
    "he visto que el token no llega, míralo": 1,
    "Ho riavviato il servizio, riprova": 0,
    "ora il token è nuovo, puoi riprovare": 0,
    "il nome non mi piace, cambialo": 1,
    "Renovei o token, tenta outra vez": 0,
    "acabei de criar a conta": 0,
    "veja o arquivo feed.py, por favor": 1,
    "J'ai renouvelé le jeton, relance": 0,
    "je viens de démarrer la base": 0,
    "regarde d'abord dans le fichier": 1,
    "Ich habe das Passwort geändert, versuch es nochmal": 0,
    "die Datenbank ist gestartet": 0,
    "bitte zuerst die Datei feed.py ansehen": 1,
    "Ik heb de sleutel vernieuwd, probeer het opnieuw": 0,
    "kijk eerst naar de functie": 1,
    "令牌我已经更新了,再试一次": 0,
    "服务重启好了": 0,
    "请先看 feed.py": 1,
    "トークンを更新しました。もう一度お願いします": 0,
    "まず feed.py を見てください": 1,
    "я обновил ключ": 0,
    "zaktualizowałem klucz, spróbuj ponownie": 0,
}


@promise(
    "recipes:person",
    "Where a person says between failing and passing that they changed something themselves, or that it is to be tried "
    "again, there is no recipe: what the agent did proves nothing. That is read in nine languages; what is said in "
    "another one counts as if it said so.",
    source="issue 11 Recipes",
)
@pytest.mark.parametrize("words", SAID)
def test_what_a_person_mended_is_no_fix(words: str) -> None:
    change = edit("feed.py", "token(north)", "token('north')", user=words)
    assert len(fixes(shell("python3 feed.py", REFUSED, 1), change, shell("python3 feed.py", "fed"))) == SAID[words]


IDLE = {
    "layout": edit("feed.py", "def feed(name,kind):", "def feed(\n    name,\n    kind,\n):"),
    "layout of another language": edit("feed.js", "const rate=rates[ name ]", "const rate = rates[name];"),
    "an annotation": edit("feed.py", "def feed(name):\n    return read(name)",
                          "def feed(name: str) -> Feed:\n    return read(name)"),
    "an annotated variable": edit("feed.py", "rows = read(name)", "rows: list[Row] = read(name)"),
    "another name": edit("feed.py", "res = read(name)\nreturn res.rows", "parsed = read(name)\nreturn parsed.rows"),
    "another name in Go": edit("feed.go", "r := Read(name)\nreturn r", "rows := Read(name)\nreturn rows"),
    "a print and a comment": edit("feed.py", "rows = read(name)",
                                  "# what is read\nrows = read(name)\nsys.stderr.write(name)"),
}  # fmt: skip


@promise(
    "recipes:idle",
    "An edit that leaves what the program does as it was is not a fix: layout, comments, prints, annotations of "
    "functions, other names of variables; unless the error is about just that.",
    source="issue 11 Recipes",
)
@pytest.mark.parametrize("name", IDLE)
def test_an_edit_that_does_nothing_is_no_fix(name: str) -> None:
    assert fixes(FEED[0], IDLE[name], FEED[1]) == []


ABOUT_TEXT = {
    "a name": ("NameError: name 'rowz' is not defined",
               edit("feed.py", "rowz = 1\nreturn rows", "rows = 1\nreturn rows")),
    "a type": ("TypeError: unsupported operand type(s) for |: 'type' and 'NoneType'",
               edit("feed.py", "def feed(a: int | None):", "def feed(a: Optional[int]):")),
    "another block": ("FeedError: feed 'north' has no currency",
                      edit("feed.py",
                           "for row in rows:\n    add(row)\n    end()", "for row in rows:\n    add(row)\nend()")),
    "another variable": ("FeedError: feed 'north' has no currency",
                         edit("feed.py", "rows = read(name)\nkind = rows", "rows = read(name)\nkind = name")),
}  # fmt: skip


@promise("recipes:idle")
@pytest.mark.parametrize("name", ABOUT_TEXT)
def test_an_error_of_the_text_itself_is_fixed_by_its_text(name: str) -> None:
    said, change = ABOUT_TEXT[name]
    trace = f'Traceback (most recent call last):\n  File "/srv/w/feed.py", line 3, in feed\n{said}'
    assert len(fixes(shell("python3 desk.py", trace, 1), change, shell("python3 desk.py", "fed"))) == 1


@promise("recipes:person")
def test_where_a_person_spoke_a_change_without_a_link_to_the_error_is_no_fix() -> None:
    """Words may say it in ways that nobody reads, so a path, a name or a command has to tell."""
    failing = shell("python3 -m mail", "ModuleNotFoundError: No module named 'desk_core'", 1)
    passing = shell("python3 -m mail", "sent")
    action = json.dumps({"file_path": "setup.cfg", "old_string": "zip = no", "new_string": "zip = yes"})
    alone = Step(tool="Edit", action=action, observation="The file setup.cfg has been updated.")
    assert len(fixes(failing, alone, passing)) == 1
    assert fixes(failing, dataclasses.replace(alone, user="the wheel sits on the share"), passing) == []


KOTLIN = "e: file:///srv/w/src/Till.kt:14:22 Unresolved reference 'sumAll'.\n\n* What went wrong:\n> Compilation error."
GHC = (
    "src/Sum.hs:21:9: error: [GHC-83865]\n"
    "    \u2022 Couldn't match expected type \u2018Int\u2019 with \u2018Integer\u2019\n    \u2022 In it"
)
PLAY = (
    "ERROR! conflicting action statements: apt, service\n\n"
    "The error appears to be in '/srv/w/roles/web/main.yml': line 4"
)
LEARNED = {
    "Kotlin": (
        shell("./gradlew build", KOTLIN, 1),
        edit("src/Till.kt", "sumAll", "sumOf"),
        shell("./gradlew build", "ok"),
    ),
    "Haskell": (shell("cabal build", GHC, 1), edit("src/Sum.hs", "total", "toInt total"), shell("cabal build", "ok")),
    "Ansible": (
        shell("ansible-playbook a.yml", PLAY, 4),
        edit("roles/web/main.yml", "apt:", "package:"),
        shell("ansible-playbook a.yml", "ok"),
    ),
    "Gradle": (
        shell(
            "./gradlew jar",
            "* What went wrong:\nScript compilation error:\n\n  Line 3: impl(1)\n  ^ Unresolved: impl\n",
            1,
        ),
        edit("build.gradle.kts", "impl(", "implementation("),
        shell("./gradlew jar", "ok"),
    ),
    "Dart": (
        shell("dart analyze", "  error - lib/till.dart:2:5 - The getter 'grossTotal' isn't defined for 'Cart'.", 3),
        edit("lib/till.dart", "grossTotal", "totalGross"),
        shell("dart analyze", "No issues found!"),
    ),
    "told to run": (
        shell(
            "terraform plan",
            "\u2502 Error: Inconsistent lock file\n\u2502 \n"
            "\u2502 To make the selections, run:\n\u2502   terraform init",
            1,
        ),
        shell("terraform init", "done"),
        shell("terraform plan", "2 to add"),
    ),
    "told in quotation marks": (
        shell("node a.mjs", 'Error: the client did not initialize yet. Please run "prisma generate" first.', 1),
        shell("npx prisma generate", "done"),
        shell("node a.mjs", "ok"),
    ),
    "told to migrate": (
        shell(
            "python manage.py check",
            "OperationalError: no such table: desk\nRun 'python manage.py migrate' to apply.",
            1,
        ),
        shell("python manage.py migrate", "done"),
        shell("python manage.py check", "ok"),
    ),
    "submodules": (
        shell(
            "cmake -B o",
            "CMake Error at CMakeLists.txt:3 (add_subdirectory):\n"
            "  The source directory\n\n    /srv/w/fmt\n\n  does not contain a CMakeLists.txt file.\n",
            1,
        ),
        shell("git submodule update --init", "done"),
        shell("cmake -B o", "ok"),
    ),
    "a rejected push": (
        shell("git push", " ! [rejected]        main -> main (non-fast-forward)\nerror: failed to push some refs", 1),
        shell("git fetch origin && git rebase origin/main", "done"),
        shell("git push", "ok"),
    ),
    "another version": (
        shell("python3 t.py", "ImportError: cannot import name 'UTC' from 'datetime'", 1),
        shell("python3.12 t.py", "ok"),
    ),
    "another toolchain": (
        shell("cargo build", "error[E0554]: `#![feature]` may not be used on the stable release channel", 101),
        shell("cargo +nightly build", "ok"),
    ),
    "an exported variable": (
        shell("npm run build", "Error: error:0308010C:digital envelope routines::unsupported", 1),
        shell("export NODE_OPTIONS=--openssl-legacy-provider && npm run build", "ok"),
    ),
    "PHPUnit": (
        shell(
            "vendor/bin/phpunit",
            "1) Tests\\CartTest::testTotal\nFailed asserting that 90 matches expected 81.\n\n"
            "Tests: 2, Assertions: 2, Failures: 1.",
            1,
        ),
        edit("src/Cart.php", "$net", "$net * $rate"),
        shell("vendor/bin/phpunit", "OK (2 tests, 2 assertions)"),
    ),
    "R": (
        shell("Rscript a.R", "Error in library(jsonlite) : there is no package called \u2018jsonlite\u2019", 1),
        shell("Rscript -e \"install.packages('jsonlite')\"", "done"),
        shell("Rscript a.R", "ok"),
    ),
}


@promise(
    "recipes:tools",
    "A fix is learned whatever the language: from the file that the error names, from the command that the error tells "
    "to run, from another version of the program, or from a variable that was set.",
    source="issue 11 Recipes",
)
@pytest.mark.parametrize("name", LEARNED)
def test_a_fix_of_any_tool_is_learned(name: str) -> None:
    assert len(fixes(*LEARNED[name])) == 1
