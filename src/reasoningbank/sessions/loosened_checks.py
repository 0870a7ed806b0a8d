"""Tell whether a change makes a check see less, wait longer or ask less, instead of repairing what it found.

Five sorts of them are known. The settings of a test runner or a linter get a higher limit, leave out more places or
name fewer rules. What is wrong today is accepted as a baseline. A type that allows everything takes the place of one
that was checked. Files are opened to every account, or a connection is no longer verified. A test brings the setting
that was missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from reasoningbank.sessions.changes import Change

_CHECK_SETTINGS = re.compile(
    r"(?:^|/)(?:"
    r"(?:vitest|jest|playwright|cypress|karma|wdio|nightwatch|ava|testcafe|eslint|stylelint|biome|detox|codecept|vite)"
    r"[\w.-]*\.(?:\w*js|\w*ts|json\w?)"
    r"|\.(?:mocharc|eslintrc|stylelintrc|jshintrc|flake8|pylintrc|rubocop|rspec|nycrc|c8rc|coveragerc|taprc|swiftlint"
    r"|golangci|markdownlint|yamllint|pre-commit-config|hadolint|shellcheckrc|credo|scalafmt|bandit)[\w.-]*"
    r"|(?:pytest|tox|mypy)\.ini|setup\.cfg|pyproject\.toml|conftest\.py|(?:ruff|nextest|clippy)\.toml|psalm\.xml"
    r"|phpunit[\w.]*|phpstan[\w.-]*|codecov\.ya?ml|checkstyle\.xml|detekt\.ya?ml|analysis_options\.yaml|package\.json"
    r"|\.?[\w-]*(?:lint|luacheck|audit|semgrep|trivy|deny)[\w-]*(?:\.(?:ya?ml|toml|json\w?|ini|cfg|hcl|[cm]?[jt]s))?"
    r"|tsconfig[\w.]*\.json|(?:jest|vitest|tests?)[.-]?setup[\w.]*|setup-?tests?\.\w+|setupTests\.\w+)$"
)
"""Files that say what a check looks at and how long it waits, and code that only tests run first."""
_NUMBER = r"['\"]?\s*[:=(]\s*[\[{(]?['\"]?\d"
_LIMIT = re.compile(
    r"^\s*['\"]?[\w.-]*?(?:[tT]ime_?out|retries|reruns|[tT]hreshold|complexity|fail[-_]under|line[-_]?length|[eE]rror_?[lL]evel"
    r"|level|[mM]ax[-_]?(?:line|len|warnings|depth|params|statements|nesting|errors|args|locals|branches|returns"
    rf"|attributes|public|diff|size|duration|failures)\w*|min[-_]?(?:coverage|score|similarity)\w*)[\w.-]*{_NUMBER}"
)
_WAITS = re.compile(
    rf"\b(?:test|hook|teardown|global|navigation|action|pageLoad|defaultCommand)Timeout{_NUMBER}"
    r"|\b(?:jest|test)\.setTimeout\(|\bsetDefaultTimeout\(|\bthis\.(?:timeout|retries)\(|\bmark\.(?:timeout|flaky)\b"
    r"|\btest\.slow\(|\bslowTestThreshold|@Timeout\(|@RetryingTest|\bretry_?times\(|--(?:test-?|hook-?)?timeout[ =]\d"
    r"|--(?:retries|reruns)[ =]\d|--repeat[ =]until-pass|\bflaky[-_]test[-_]attempts\b|\bPatienceConfig\b"
    r"|\bflaky\s*=\s*[Tt]rue"
)
"""What raises the patience of tests wherever it stands."""
_AGAIN = re.compile(r"retr|rerun|flaky|attempts|until-pass", re.IGNORECASE)
_WAITS_IN_TEST = re.compile(r"\btime_?out\w*['\"]?\s*[:=(]\s*[\d_]|^\s*\}\s*,\s*[\d_]+\s*\)", re.IGNORECASE)
_LEAVES_OUT = re.compile(
    r"\b(?:\w*[pP]athIgnorePatterns|ignore(?:s|d|Patterns|Files|Paths|_paths|-paths|-patterns|-words)?|extend-ignore"
    r"|(?:extend[-_])?excludes?(?:Paths|Files|_paths|_files|_dirs|_lines|-rules)?|excludePaths|excludes_analyse|norecursedirs|omit"
    r"|skip(?:Files|Dirs|_glob|_list|_rules)?|warn_list|suppress\w*|waive\w*|per-file-ignores|coveragePathIgnorePatterns|linterOptions|disabled?_?(?:rules)?)['\"]?\s*[:=]\s*"
    r"(?P<value>\[[^\]]*\]?|\{[^}]*\}?|[^\n]*(?:\n[ \t]+[^\n=:\[]+(?=\n|\Z))*)"
)
_CHOOSES = re.compile(
    r"(?<![\w-])(?:(?:extend[-_])?select|enable|enabled|enable_error_code|extends|linters|plugins|rules_enabled|only_rules|opt_in_rules)"
    r"['\"]?\s*[:=]\s*(?P<value>\[[^\]]*\]?|[^\n]*(?:\n[ \t]+- [^\n]*)*)"
)
"""A list of what a check looks for."""
_FLOOR = re.compile(
    r"^\s*['\"]?(?P<name>[\w.-]*(?:threshold|fail[-_]under|coverage|min[-_]?\w*)|lines|branches|functions|statements)['\"]?"
    r"\s*[:=]\s*['\"]?(?P<number>\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
"""A setting below whose number a check fails."""
_OPTION_LEAVES_OUT = re.compile(
    r"--(?:deselect|ignore|ignore-glob)[= ]\s*\S+|(?:^|\s)-[km][= ]?\s*['\"]?not\b[^'\"\n]*"
)
"""An option of a test runner, written in its settings, that leaves tests out."""
_RULES = re.compile(r"[\w.@/:-]+")
_PLACES = re.compile(r"[\w.*/@|\\^$-]{2,}")
_IGNORE_FILE = re.compile(r"(?:^|/)\.(?!git|docker|npm|helm|gcloud|hg|eb|cf|vercel|slug|vscode)\w+ignore$")
"""A list of files that a check passes over; others say what is not kept or sent."""
_LEFT_OUT_BY_FLAG = re.compile(
    r"\b(?:ruff|flake8|pylint|mypy|pyright|eslint|tsc|biome|pytest|jest|vitest|mocha|phpunit|phpstan|rubocop|golangci-lint"
    r"|clippy|cargo test|go test|rspec|stylelint|bandit|shellcheck)\b[^\n]*?\s(?P<flag>--?(?:(?:extend-)?exclude|ignore"
    r"|skip|deselect|testPathIgnore)[\w-]*(?:[= ]['\"]?[\w./*-]+)?)"
)
_ACCEPTS = re.compile(
    r"--(?:generate|set|update|write|create|use)-?baseline\b|--suppress-(?:all|rule)\b|--auto-gen-config\b"
    r"|--regenerate-todo\b|--update-todo\b|--add-(?:noqa|ignore)\b|\bbaseline\s+(?:sync|create|update|generate)\b"
    r"|\b\w*[a-z]Baseline\b|\bupdate-?baseline\b|--pass-on-unpruned-suppressions\b"
)
_BASELINE = re.compile(r"baseline[\w.-]*|rubocop_todo|suppressions\.json", re.IGNORECASE)
_ANYTHING = re.compile(
    r"[:\[,]\s*[Aa]ny\b|->\s*[Aa]ny\b|<any\b|\bany\[\]|\bas\s+(?:any|unknown\s+as)\b|\bcast\(\s*['\"]?Any\b"
)
_TYPED_CODE = re.compile(r"\.(?:ts|tsx|mts|cts|vue|svelte|py|pyi)$")
_OPEN_TO_ALL = re.compile(
    r"\bchmod\s+(?:-\S+\s+)*['\"]?(?:0?[0-7][0-7][2367]\b|(?:[rwxXst=+-]*,)?[ugoa]*[ao][ugoa]*[+=][rxXst]*w)"
    r"|\bumask\s+0{1,4}\b|\bsetfacl\b.*\bo(?:ther)?::?[rx-]*w|\bicacls\b.*\bEveryone:\S*F"
)
_UNVERIFIED = re.compile(
    r"\bverify\s*=\s*False|[rR]ejectUnauthorized['\"]?\s*[:=]\s*false|\bstrict-ssl\s+false|\bssl_?verify\s*=?\s*['\"]?(?:false|0)\b"
    r"|\bInsecureSkipVerify:\s*true|\bcheck_hostname\s*=\s*False|\bCERT_NONE\b|_create_unverified_context|VERIFY_NONE"
    r"|\bNODE_TLS_REJECT_UNAUTHORIZED\b|--trusted-host\b|--insecure\b|\bStrictHostKeyChecking[ =]no\b"
    r"|SSL_VERIFY(?:PEER|HOST)\W+(?:false|0)",
    re.IGNORECASE,
)
_ANSWERS_NOTHING = re.compile(
    r"\.unwrap_or_default\(\)|\.unwrap_or\(\s*(?:0(?:\.0)?|\"\"|false|None|String::new\(\)|vec!\[\])\s*\)|\.ok\(\)\?"
)
"""Rust that goes on with an empty value where it had stopped."""
_SETS = re.compile(
    r"\bos\.environ(?:\.setdefault\(\s*['\"](?P<one>\w+)['\"]\s*,|\[['\"](?P<two>\w+)['\"]\]\s*=(?!=))"
    r"|\bprocess\.env\.(?P<three>\w+)\s*(?:\?\?|\|\|)?=(?!=)|\bENV\[['\"](?P<four>\w+)['\"]\]\s*(?:\|\|)?=(?!=)"
    r"|\b(?:putenv|os\.Setenv|t\.Setenv|setProperty|set_var|stubEnv)\(\s*['\"](?P<five>[\w.]+)"
)
_OF_SURROUNDINGS = re.compile(r"_?(?:MODULE|PATH|HOME|PLATFORM|DISPLAY|TZ|LANG|LC_\w+|ENV|BACKEND|ENCODING|THREADS)$")
"""Variables that say where and how a program runs, and not what it is to know."""
_SETUP = re.compile(
    r"(?:^|/)(?:conftest\.py|(?:jest|vitest|tests?)[.-]?setup[\w.]*|setup-?tests?\.\w+|setupTests\.\w+)$"
)


def loosens_check(change: Change, *, in_test: bool) -> bool:
    """Return whether the change makes a check weaker.

    Args:
        change: What was changed.
        in_test: Whether its file holds tests.
    """
    typed = change.said if change.text.startswith("ran") else ""
    put = "\n".join(_added(change))
    if accepts_failures(typed) or any(
        each.search(text) for each in (_OPEN_TO_ALL, _UNVERIFIED) for text in (put, typed)
    ):
        return True
    if _IGNORE_FILE.search(change.file) or _BASELINE.search(change.file):
        return True
    if any(_WAITS.search(line) for line in (*put.splitlines(), typed)):
        return True
    if _TYPED_CODE.search(change.file) and _more(_ANYTHING, change):
        return True
    if in_test and any(_WAITS_IN_TEST.search(line) for line in put.splitlines()):
        return True
    if _leaves_out_by_flag(change) or ((in_test or _SETUP.search(change.file)) and _sets_what_was_missing(put)):
        return True
    if _CHECK_SETTINGS.search(change.file) is None:
        return False
    limits = any(_LIMIT.search(line) for line in put.splitlines())
    if _chooses_less(change):
        return True
    return limits or _BASELINE.search(put) is not None or _leaves_out_more(change)


def lowers_bar(change: Change) -> bool:
    """Return whether the settings of a check now leave out more than before, or ask for less coverage."""
    if change.whole or _CHECK_SETTINGS.search(change.file) is None:
        return False
    put = change.new if change.old or change.new else change.text
    options, before = ({match[0].strip() for match in _OPTION_LEAVES_OUT.finditer(text)} for text in (put, change.old))
    old, new = (
        {match["name"]: float(match["number"]) for line in text.splitlines() if (match := _FLOOR.match(line))}
        for text in (change.old, change.new)
    )
    lower = any(name in old and number < old[name] for name, number in new.items())
    return lower or bool(options - before) or _leaves_out_more(change)


def tries_again(change: Change) -> bool:
    """Return whether the settings of a check, or a test, let it try again what failed."""
    put = [line for line in _added(change) if _AGAIN.search(line)]
    limits = _CHECK_SETTINGS.search(change.file) is not None and any(map(_LIMIT.search, put))
    return not change.whole and (limits or any(map(_WAITS.search, put)))


def accepts_failures(line: str) -> bool:
    """Return whether a command files what is wrong today as accepted, so that the check is silent about it."""
    return _ACCEPTS.search(line) is not None


def answers_nothing(change: Change) -> bool:
    """Return whether the code goes on with an empty value where it had stopped."""
    return _more(_ANSWERS_NOTHING, change)


def _added(change: Change) -> Iterator[str]:
    before = {line.strip() for line in change.old.splitlines()}
    return (line for line in change.new.splitlines() if line.strip() not in before)


def _more(pattern: re.Pattern[str], change: Change) -> bool:
    text = change.new if change.old or change.new else change.text
    return len(pattern.findall(text)) > len(pattern.findall(change.old))


def _leaves_out_more(change: Change) -> bool:
    """Return whether a list of what a check passes over holds a place that no such list held before."""
    before, after = (
        {place for match in _LEAVES_OUT.finditer(text) for place in _PLACES.findall(match["value"])}
        for text in (change.old, change.new)
    )
    return bool(after - before)


def _chooses_less(change: Change) -> bool:
    """Return whether a list of what a check looks for got shorter, and nothing came into it."""
    before, after = (
        {rule for match in _CHOOSES.finditer(text) for rule in _RULES.findall(match["value"])}
        for text in (change.old, change.new)
    )
    return after < before


def _leaves_out_by_flag(change: Change) -> bool:
    """Return whether a script that runs a check tells it now to pass something over."""
    before, after = (
        {match["flag"] for line in text.splitlines() for match in _LEFT_OUT_BY_FLAG.finditer(line)}
        for text in (change.old, change.new)
    )
    return bool(after - before)


def _sets_what_was_missing(put: str) -> bool:
    """Return whether code that only tests run sets a variable that the program has to be given."""
    names = chain.from_iterable(match.groups() for match in _SETS.finditer(put))
    return any(name and _OF_SURROUNDINGS.search(name) is None for name in names)
