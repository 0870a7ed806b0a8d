"""Other ways to run an action that failed: with a variable, a flag, from another folder, by another program.

Such a change stands in no file: the command that passed is itself what helped. It counts only where the action is
the same, which is told from its operands, and where the difference can be the cause. What makes an action smaller,
quieter or careless (``-k``, ``-q``, ``--force``) is no other way to do it, and neither is the same script with other
arguments, unless the script asked for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.sessions.changes import FILTERS, Change, Doing, cut_command
from reasoningbank.sessions.commands import SURROUNDINGS, Program, vocabulary
from reasoningbank.sessions.loosened_checks import accepts_failures
from reasoningbank.sessions.own_errors import is_misspelt
from reasoningbank.sessions.signatures import Signature
from reasoningbank.sessions.strictness import narrowing, patience
from reasoningbank.sessions.test_runs import tests_something

_LAUNCHERS = re.compile(r"^python[\d.]*$")
_INTERPRETERS = vocabulary("sh bash dash zsh ksh")
_ABSENT = re.compile(
    r"No such file|not found|No module named|[Cc]ould not find|[Cc]an(?:'t|not) (?:find|open|locate)|does not exist"
    r"|ENOENT|[Nn]ot a git repository|[Mm]issing|no tests? (?:ran|found)|[Nn]o (?:\S+ )?(?:file|package|project|target)"
)
_NO_SUCH_PART = re.compile(
    r"[Mm]issing script|No rule to make target|[Nn]o such (?:command|subcommand|script|task|target)"
    r"|[Uu]nknown (?:\w+ )?(?:command|subcommand|flag|option|task|target)|is not a \S+ command|invalid choice"
    r"|[Uu]nrecogni[sz]ed|no such (?:option|command)|[Nn]ot a valid (?:command|option)|Could not find task"
)
_ASKS = re.compile(
    r"\b(?:required|requires|must (?:be (?:given|set|specified)|specify)|unrecogni[sz]ed|invalid choice|usage)\b"
    r"|[Uu]nknown (?:\w+ )?(?:flag|option|argument)|[Nn]o such option|--\w",
)
_QUIET_FLAGS = vocabulary(
    "-v -vv -vvv -q -qq -s -l -ra -rf -rs -rx -rA -h --help --verbose --quiet --silent --no-header --color --no-color "
    "--version -V -x --exitfirst --maxfail --tb --durations --lf --ff --nf --stepwise --sw --bail --failfast -failfast "
    "--debug --trace --progress --no-progress --nocapture --show-output --full-trace --capture --reporter --list "
    "--listTests --dry-run -n --collect-only --co --stat --oneline --no-edit"
)
_SMALLER = vocabulary(
    "-k -m -t -g -run --grep --testNamePattern --ignore --ignore-glob --deselect --exclude --skip --no-verify --force "
    "-f --force-with-lease --hard --allow-empty --no-check --keep-going -i --ignore-errors --skip-tests -DskipTests "
    "--passWithNoTests --snapshot-update -u --update -update --update-snapshot --update-snapshots --fix --lib --bin "
    "--test --no-run --amend -D --no-deps --ignore-scripts"
)
_PART_RUNNERS = vocabulary(
    "npm yarn pnpm bun make just task cargo rake gradle gradlew mvn docker go poetry uv composer"
)
_ALIKE = (
    vocabulary("test tests check checks spec unit verify unittest"),
    vocabulary("lint check style format fmt ruff eslint"),
    vocabulary("build compile all dist bundle"),
    vocabulary("start serve dev run up"),
    vocabulary("install setup bootstrap deps init ci"),
    vocabulary("types typecheck tsc mypy"),
)
_SILENCES = re.compile(
    r"\bignore\b|\bsilent\b|--disable|-w$|^-Wno-|-fpermissive|=false$|^--no-(?:validate|check|verify|strict|lint|tests?|audit)\b"
    r"|^--insecure$|^--skip|^--without-tests?$"
)
_CHECKING = re.compile(r"(?:^|[/:_.-])(?:e2e|smoke|specs?|integration|acceptance|verify|checks?|ci)(?:$|[:_.-])")
_NOT_INSTALLED = vocabulary("ModuleNotFoundError ImportError shell SyntaxError")
_FIELD = re.compile(r"\.([A-Za-z_]\w*)")
_PROGRAM_VERSION = re.compile(r"-?\d+(?:\.\d+)*$")
_VARIABLE = re.compile(r"^[A-Z][A-Z0-9_]*=.")
_LEAST_TOLD = 2
_ADVICE = (
    r"(?:\b(?:run|running|execute|try|use|using|do|call|with|via|by|need|needs|first|fix|forget|type|invoke)\b[^\n]{0,40}?\s"
    r"|['`\"\u2018\u201c(>$\u2502\u2551]\s*|^\s+(?:\$ )?)(?:npx |pnpm |yarn |bundle exec |poetry run |uv run |sudo )?"
)
"""What stands before a command that an output tells to run."""
_LISTS = vocabulary("help list tasks --list --help -h -l --version -v -n --dry-run targets")
_LOUDNESS = re.compile(
    r"^(?:RUST_BACKTRACE|RUST_LOG|NO_COLOR|FORCE_COLOR|CI|DEBUG|VERBOSE|LOG_?LEVEL|TERM|COLUMNS|LINES|PYTEST_ADDOPTS"
    r"|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONFAULTHANDLER|PYTHONTRACEMALLOC|PAGER|GIT_PAGER|GIT_TRACE)="
)
_AROUND = re.compile(
    r"^(?:PYTHONWARNINGS=|HUSKY=|SKIP|.*SKIP\w*=|NO_VERIFY|.*IGNORE\w*=|GIT_SSL_NO_VERIFY|.*REJECT_UNAUTH)"
)
_PREPARES = re.compile(
    r"(?:^|[/:_.-])(?:migrate|makemigrations|setup|build|generate|codegen|compile|init|initdb|bootstrap|sync|seed|prepare"
    r"|configure|schema|link|download|install|upgrade|start|up|create|createdb|fetch|login|register|restore|unlock|fixtures?"
    r"|autogen|collectstatic|scaffold|provision|refresh|reindex|protos?)(?:$|[:_.-])"
)
_GENERATES = re.compile(
    r"(?:^|[/:_.-])(?:generate\w*|gen|codegen|protos?|autogen|grpc|stubs?|bindings|mocks?|types)(?:$|[:_.-])"
)
_GENERATORS = vocabulary(
    "protoc buf sqlc mockgen mockery wire stringer flatc thrift capnp openapi-generator openapi-generator-cli swag "
    "antlr4 bison yacc flex lex cbindgen bindgen swig sqlboiler ent gqlgen graphql-codegen prisma xcodegen "
    "build_runner pyuic5 pyuic6 pyrcc5 cython kubebuilder controller-gen easyjson templ diesel sea-orm-cli"
)
"""Programs that write source code or headers out of a description."""


def another_way(failed: Doing, passed: Doing, signature: Signature, said: str) -> Change | None:
    """Return how the action that failed was run when it passed; None when it is not the same action or no other way.

    Args:
        failed: The action that failed.
        passed: What was run later and passed.
        signature: The error's.
        said: What the action printed when it failed; what it tells to run is another way.
    """
    if not failed.programs or not passed.programs:
        return None
    old, new = failed.programs[-1], passed.programs[-1]
    if len(failed.programs) > 1 and failed.programs[:-1] != passed.programs[:-1]:
        return None
    if is_misspelt(old, new) or _is_careless(old, new):
        return None
    if not (
        _is_told(old, new, said)
        or _is_set(old, new)
        or _is_launched(old, new, signature)
        or _is_elsewhere(old, new, signature)
        or _is_other_program(old, new, signature)
        or _is_as_module(old, new, signature)
        or _is_other_part(old, new, signature)
        or _is_flagged(old, new, failed, signature)
        or _is_other_filter(old, new, signature)
    ):
        return None
    shown = cut_command(_shown(new, old))
    return Change(text=f"ran instead: {shown}", way=True)


def is_advised(programs: Sequence[Program], said: str) -> bool:
    """Return whether the output tells to run that: it names the program and its first argument as a command."""
    return any(
        re.search(rf"{_ADVICE}(?:\S+/)?{re.escape(' '.join(words))}(?![\w-])", said, re.MULTILINE) is not None
        for program in programs
        for words in [[program.program, *program.words[1:]][: _advised_words(program)]]
        if len(words) >= _LEAST_TOLD and not {*words} & _LISTS
    )


def _advised_words(program: Program) -> int:
    """Return how many words name what is done: of a script that an interpreter runs, its first argument too."""
    return _LEAST_TOLD + (program.program in _INTERPRETERS or _LAUNCHERS.match(program.program) is not None)


def prepares(doing: Doing) -> bool:
    """Return whether what was run makes something that other commands need: a database, generated code, a service."""
    if len(doing.programs) != 1:
        return False
    program = doing.programs[0]
    return any(_PREPARES.search(word) for word in (*program.words[1:4], program.program, program.source))


def generates(doing: Doing) -> bool:
    """Return whether what was run writes source code out of a description, or a target that is named so does."""
    if len(doing.programs) != 1:
        return False
    program = doing.programs[0]
    return program.program in _GENERATORS or any(
        _GENERATES.search(word) or word.rsplit("/", 1)[-1] in _GENERATORS or word == "grpc_tools.protoc"
        for word in (*program.words[1:4], program.program)
    )


def _shown(new: Program, old: Program) -> str:
    exported = [word for word in new.exported if word not in {*old.exported, *old.settings}]
    limits = [f"{word} &&" for word in exported if word.startswith("ulimit ")]
    exported = [word for word in exported if not word.startswith("ulimit ")]
    words = " ".join([*limits, *new.rights, *exported, *new.settings, *new.launcher, *new.words])
    words = f"{new.activated} && {words}" if new.activated and new.activated != old.activated else words
    return f"cd {new.folder} && {words}" if new.folder and new.folder != old.folder else words


def _is_told(old: Program, new: Program, said: str) -> bool:
    """Return whether the output of the program tells to run it just so."""
    words = " ".join(new.words)
    if len(new.words) <= _LEAST_TOLD or {*new.words} & _LISTS:
        return False
    told = re.search(rf"(?:^|[\s`'\"]){re.escape(words)}(?:$|[\s`'\"])", said, re.MULTILINE) is not None
    return told and old.program == new.program and old.words != new.words and not {*new.words} & _SMALLER


def _is_set(old: Program, new: Program) -> bool:
    """Return whether only variables were set that can be the cause."""
    if old.words != new.words or old.folder != new.folder:
        return False
    before = {*old.settings, *old.exported}
    added = [setting for setting in (*new.exported, *new.settings) if setting not in before]
    return bool(added) and not any(_LOUDNESS.match(one) or _AROUND.match(one) for one in added)


def _is_careless(old: Program, new: Program) -> bool:
    """Return whether what is wrong was filed as accepted, or tests were given more time or further attempts."""
    if accepts_failures(" ".join(new.words)):
        return True
    checks = tests_something(new) or any(map(_CHECKING.search, new.words[:4]))
    return checks and bool(patience(new) - patience(old))


def _is_launched(old: Program, new: Program, signature: Signature) -> bool:
    """Return whether the same was run with a display, in an environment, with other rights or by its package manager.

    A package manager and an environment help only where something was not found.
    """
    if old.words != new.words or old.folder != new.folder:
        return False
    given = [word for word in new.launcher if word.rsplit("/", 1)[-1] in SURROUNDINGS]
    if (given and new.launcher != old.launcher) or (new.rights and not old.rights):
        return True
    entered = (new.activated and new.activated != old.activated) or (new.launcher and not old.launcher)
    return bool(entered) and (signature.type in _NOT_INSTALLED or _ABSENT.search(signature.line) is not None)


def _is_elsewhere(old: Program, new: Program, signature: Signature) -> bool:
    """Return whether the same was run in another folder because something was not found."""
    if old.folder == new.folder or len(old.words) != len(new.words) or not _ABSENT.search(signature.line):
        return False
    pairs = zip(old.words, new.words, strict=True)
    return all(one == other or _placed(one, old) == _placed(other, new) for one, other in pairs)


def _placed(word: str, program: Program) -> str:
    place = word.removeprefix("./")
    return f"{program.folder}/{place}" if program.folder and not word.startswith(("/", "-")) else place


def _tool(program: Program) -> tuple[str, Sequence[str]]:
    """Return the program or the module that does the work, and its arguments."""
    words = program.words
    if _LAUNCHERS.match(program.program) and program.word(1) == "-m" and len(words) > 2:
        return words[2], words[3:]
    return program.program, words[1:]


def _operands(arguments: Sequence[str]) -> list[str]:
    return [word for word in arguments if not word.startswith("-")]


def _is_other_program(old: Program, new: Program, signature: Signature) -> bool:
    """Return whether another program, or another installation of it, did the same because the first was not there."""
    if old.words[0] == new.words[0] and old.words[:3] == new.words[:3]:
        return False
    (first, before), (second, after) = _tool(old), _tool(new)
    if _operands(before) != _operands(after) or {*after} & _SMALLER - {*before}:
        return False
    if old.program in _INTERPRETERS and new.program in _INTERPRETERS and old.program != new.program:
        return bool(_operands(before)) and signature.type == "shell"
    if old.program != new.program and _unversioned(old.program) == _unversioned(new.program):
        return len(old.words) > 1 and old.words[1:] == new.words[1:]
    missing = signature.type == "ModuleNotFoundError" or (
        signature.type == "shell"
        and bool(re.search(rf"\b{re.escape(old.program)}: (?:command )?not found", signature.line))
    )
    if first == second:
        return missing
    if _runs_itself(new):
        return False
    names_it = re.search(rf"(?<![\w.-]){re.escape(first)}(?![\w-])", signature.line) is not None
    return missing and names_it and bool(_operands(before))


def _unversioned(program: str) -> str:
    return _PROGRAM_VERSION.sub("", program)


def _runs_itself(program: Program) -> bool:
    """Return whether a file is only executed, which runs none of the tests in it."""
    return program.word(1) != "-m" and (
        _LAUNCHERS.match(program.program) is not None or program.program in _INTERPRETERS
    )


def _is_as_module(old: Program, new: Program, signature: Signature) -> bool:
    """Return whether the same file was run as a module of its package, because it imports its neighbours."""
    script = next((word for word in old.words[1:] if word.endswith(".py")), "")
    module = script.removeprefix("./").removesuffix(".py").replace("/", ".")
    imports = signature.type in {"ImportError", "ModuleNotFoundError"}
    return bool(module) and imports and new.word(1) == "-m" and new.word(2) == module


def _is_other_part(old: Program, new: Program, signature: Signature) -> bool:
    """Return whether another script or target of the same program was run because the first is not there."""
    if old.program != new.program or old.program not in _PART_RUNNERS or old.folder != new.folder:
        return False
    if not _NO_SUCH_PART.search(signature.line) or old.words == new.words:
        return False
    asked, given = ([word for word in program.words[1:] if word not in {"run", "run-script"}] for program in (old, new))
    if not asked or not given or any(word in _LISTS for word in given):
        return False
    first, second = (set(re.split(r"[:_.-]", word)) - {""} for word in (asked[0], given[0]))
    return bool(first & second) or any(first & words and second & words for words in _ALIKE)


def _is_other_filter(old: Program, new: Program, signature: Signature) -> bool:
    """Return whether the same file was read with another filter, because the first did not fit it."""
    if old.program != new.program or old.program not in FILTERS or signature.type != old.program:
        return False
    (first, *before), (second, *after) = (_operands(program.words[1:]) or [""] for program in (old, new))
    fields = set(_FIELD.findall(first)) & set(_FIELD.findall(second))
    return first != second and bool(fields) and before == after and old.source == new.source


def _is_flagged(old: Program, new: Program, failed: Doing, signature: Signature) -> bool:
    """Return whether only flags were added that can be the cause."""
    if old.program != new.program or old.folder != new.folder or old.settings != new.settings:
        return False
    rest = [*new.words[1:]]
    for word in old.words[1:]:
        if word in rest:
            rest.remove(word)
        elif not word.startswith("-"):
            return False
    added = [word for word in rest if word.startswith(("-", "+")) or _VARIABLE.match(word)]
    names = {word.split("=", 1)[0] for word in added}
    careless = names & _SMALLER or any(name.startswith("--allow-empty") for name in names)
    if not added or careless or names <= _QUIET_FLAGS or any(_SILENCES.search(word) for word in rest):
        return False
    if any(name not in signature.line for name in narrowing(new) - narrowing(old)):
        return False
    script = new.words.index(failed.script) if failed.script in new.words else len(new.words)
    if any(new.words.index(word) > script for word in added) and not _ASKS.search(signature.line):
        return False
    values = [word for word in rest if word not in added]
    places = {new.words[place + 1] for place, word in enumerate(new.words[:-1]) if word in added}
    return all(value in places for value in values)
