"""Tell whether a change can be what took an error away: it has to do with the error, and it is no way around the check.

A change has to do with an error when its file is named where the error is shown or is what the command runs, or when
it holds a distinctive word of the error. Documentation and comments never take an error away. What skips, silences or
rewrites a check repairs nothing, and neither does writing the feature that a new test was waiting for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from reasoningbank.sessions.changes import DOCUMENT, Change, Doing
from reasoningbank.sessions.commands import vocabulary
from reasoningbank.sessions.machine_states import PORT_TAKEN, REFUSED
from reasoningbank.sessions.signatures import Signature
from reasoningbank.sessions.test_runs import tests_something
from reasoningbank.sessions.workarounds import TEST_DEFINED, TEST_PLACE, hides, is_comment, lines_that_differ

_TEXT = re.compile(r"(?<!CMakeLists)\.txt$")
_PINS = re.compile(r"(?:requirements|constraints)[^/]*\.txt$|(?:^|/)requirements/")
FAILED_NAMES = re.compile(
    r"^(?:FAILED|ERROR) \S+::(\w+)|^ *--- FAIL: (\w+)|^test (?:\S+::)?(\w+) \.\.\. FAILED"
    r"|^ *\u2716 (.{3,100}?)(?: \([\d.]+m?s\))?$"
    r"|^ *FAIL +\S+ > (?:.+ > )?(.{3,100})$|^ +\u25cf (?:.+ \u203a )?(.{3,100})$|^(?:FAIL|ERROR): (\w+) \("
    r"|^ *not ok \d+ - (.{3,100})$"
    r"|^---- (?:\S+::)?(\w+) stdout ----$|^\[ERROR\] +[A-Z]\w*\.(\w+):\d+",
    re.MULTILINE,
)
_WANTS_SETTING = re.compile(
    r"environment variable|must be set|(?:is|are) not set|not configured|\bSet the\b"
    r"|[Mm]issing (?:required )?(?:setting|config|env)"
    r"|(?:required|missing|undefined).{0,40}\b[A-Z]{2,}_[A-Z_]{2,}|KeyError: ['\"][A-Z]+_[A-Z_]+['\"]"
)
_WANTS_VERSION = re.compile(
    r"class file (?:major )?version|or (?:higher|newer|later) is required"
    r"|requires? (?:at least )?(?:\w+ )?(?:version )?[<>=^~]*v?\d"
    r"|[Uu]nsupported (?:engine|class file|version)|not compatible with|incompatible version"
)
_CHOOSES = re.compile(r"^ran: (?:rbenv|nvm|pyenv|asdf|volta|rustup|sdk|fnm|jenv|corepack|mise)\b")
_PACKAGE_WORDS = vocabulary(
    "lib dev devel bin common core types node js py go php ruby latest plugin all default save min"
)
_SETS = re.compile(r"(?:^|/)\.env[\w.]*$|(?:^|/)settings\.\w+$")
_UNSAVED = re.compile(
    r"unstaged|uncommitted|local changes|would be overwritten|index contains|stash them", re.IGNORECASE
)
_PUTS_ASIDE = re.compile(
    r"^ran: git (?:stash(?: push| -u| --include-untracked| save)?\b(?! pop| apply| drop)|commit|add)"
)
_MANIFEST = re.compile(
    r"(?:^|/)(?:Gemfile|package\.json|pyproject\.toml|Pipfile|composer\.json|go\.mod|Cargo\.toml|requirements[^/]*\.txt|setup\.(?:py|cfg))$"
)
_INSTALLS_ALL = re.compile(
    r"^ran: (?:bundle (?:install|update)|(?:npm|pnpm|bun) (?:i|install|ci)|yarn(?: install)?|(?:poetry|pipenv"
    r"|pdm) (?:install|lock|update)"
    r"|uv (?:sync|lock|pip install)|(?:python3? -m )?pip3? install|composer (?:install|update)|go mod tidy)\b"
)
"""Commands that install all that a project declares: an edit of the declaration does nothing without it."""
_FIXES_ITSELF = re.compile(
    r" (?:--fix|--unsafe-fixes|--write|-w|-i|--in-place|-a|-A|-F|--autocorrect\S*|fix|format)(?: |$)"
)
_FORMATS = re.compile(r"^ran: (?:\S+ )?(?:black|isort|autopep8|gofmt|goimports|rustfmt|cargo fmt|php-cs-fixer|pint)\b")
_PASSING = re.compile(
    r"^\S+\.\w+(?:::\S+)? (?:PASSED|SKIPPED|[.sx]+(?:\s|$)).*$|^\S+\s+\d+\s+\d+.*\d+%.*$", re.MULTILINE
)
_NAMED_FILE = re.compile(
    r"[\w.@+~/\\-]{0,200}[\w-]\.[A-Za-z]\w{0,9}\b"
    r"|[\w.@+~/\\-]{0,200}\b(?:[A-Z][a-z]+file|[Jj]ustfile|BUILD|WORKSPACE|Kconfig)\b"
)
_FRAME = re.compile(r"^[ \t]*File \"[^\"\n]+\", line \d+, in (?P<name>\w{4,})$", re.MULTILINE)
_CALLED = re.compile(r"^[>E]\s.*$", re.MULTILINE)
_CALL = re.compile(r"\b([A-Za-z_]\w{3,})\(")
_QUOTED = re.compile(r"(?<!\w\w)(?<!['\"`])['\"`\u2018]{1,2}([^'\"`\u2018\u2019\n]{2,120})['\"`\u2019]")
_WORD = re.compile(r"[A-Za-z_@][\w./@-]*\w")
_IDENTIFIER = re.compile(r"[A-Za-z]\d|_[A-Za-z]|[a-z][A-Z]|\w[./-]\w|[A-Z]{3}")
_COMMON = vocabulary(
    "able about already also annot any argument arguments array assert assertion attribute bytes call called can "
    "cannot class code command could data default defined denied dict directory does element empty error "
    "exception expected failed failure file files float found from function given got has have import index input "
    "instance int integer into invalid iterable keyword length line list long main method missing module more "
    "must name named need none nonetype not null number object only open operation option out output package "
    "parameter path permission please positional property range read required return returned running self set "
    "should size source str string such support supported syntax take takes test tests than that the this tuple "
    "type types undefined unexpected unknown unsupported use used using valid value values was were when with "
    "without wrong you your python site-packages"
)
_MISSING = re.compile(
    r"No module named|[Cc]an(?:not|'t) find (?:module|package|crate|-l)|not found|not installed|cannot find -l"
    r"|fatal error: \S+\.h|Could NOT find|[Cc]ould not find|cannot load such file|failed to resolve import"
    r"|could not be found"
    r"|does not contain an?\b|no package called|Can't locate"
    r"|[Nn]o (?:\w+ ){1,4}found\b|[Mm]issing from|[Nn]ot natively supported|could not start application"
    r"|[Cc]ould not find"
    r"|[Mm]issing go\.sum|Could not find a declaration|stubs not installed|cannot open shared object"
    r"|no required module|unresolved import|[Cc]ould not resolve|is required|ImportError"
)
_SUPPLIES = re.compile(
    r"^ran: .*\b(?:dump-?autoload|install|add|get|sync|ci|tidy)\b|\b(?:PYTHONPATH|NODE_PATH)=|^ran: (?:apt|brew"
    r"|npm i|cpanm|git submodule|git lfs)\b|\binstall\.packages\("
)
_UNREACHED = re.compile(
    rf"{REFUSED.pattern}|(?:can't|cannot|could not|failed to) connect|is the server running", re.IGNORECASE
)
_STARTS = re.compile(r"^ran: .*\b(?:start|restart|up|run|redis-server)\b")
_PASSES_BY_ITSELF = re.compile(
    r"connection (?:was )?(?:reset|aborted|closed)|ECONNRESET|time[d]?[ -]?out|ETIMEDOUT|temporar(?:y|ily)|EAI_AGAIN"
    r"|rate.?limit|too many requests|\b(?:429|50[0234])\b|service unavailable|bad gateway|internal server error"
    rf"|database (?:table )?is locked|try again|{PORT_TAKEN.pattern}|resource busy|EBUSY|could not get lock",
    re.IGNORECASE,
)
_ENDS = re.compile(r"^ran: .*\b(?:kill|pkill|killall|fuser|stop|down|terminate|rm)\b")
_NAMES_CAUSE = re.compile(
    r"time_?out|retr(?:y|ies)|backoff|prox(?:y|ies)|mirror|index-url|registry|busy_timeout|journal_mode|\bwal\b|\block"
    r"|\bkill|\bstop\b|dns|resolv|rate|delay|throttle",
    re.IGNORECASE,
)
_CONFIGURES = re.compile(
    r"\.(?:toml|ini|cfg|ya?ml|json|env|properties|gradle|mod|cmake|csproj|fsproj|vcxproj|cabal|sbt|bzl|bazel)$|\.(?:config|conf)\.\w{2,3}$"
    r"|(?:^|/)(?:[Mm]akefile|CMakeLists\.txt|Dockerfile|conftest\.py|setup\.py|\.[a-z]+rc(?:\.\w+)?|\.env[\w.]*|\.flake8"
    r"|meson\.(?:build|options)|meson_options\.txt|BUILD|WORKSPACE|SCons(?:truct|cript)|configure\.ac|Makefile\.am|pom\.xml"
    r"|build\.xml|Package\.swift|mix\.exs|[\w-]+\.gradle\.kts)$"
)
"""Files that every command reads, though no error names them."""
_PRINTS = re.compile(
    r"\s*(?:print|console\.\w+|(?:self\.|this\.|\w*_)?log(?:ger|ging)?[.:]{1,2}\w+|LOG(?:GER)?\.\w+|e?print(?:ln|f)?!?|dbg!|debug!?|fmt\.Print\w*|puts|pp?"
    r"|System\.(?:out|err)\.print\w*|var_dump|error_log|Log\.\w+|IO\.(?:puts|inspect)|Debug\.\w+|Console\.Write\w*|echo)[\s(].*$"
    r"|\s*import (?:logging|pprint)$"
)
_UNPRINTS = re.compile(r"^ran: sed -i\S* ['\"]?/[^/]*(?:DEBUG|print)[^/]*/d")
_THROWAWAY = re.compile(
    r"(?:^|[\s/_.-])(?:repro(?:_\w*|\d*|duc\w*)?|scratch|sandbox|playground|throwaway|experiments?)(?:$|[\s/_.-])"
)
_METADATA = re.compile(
    r"(?:[^\n]*version[^\n]*\n)?['\"]?(?:description|authors?|license|keywords|readme|homepage|classifiers)['\"]?\s*[:=][^\n]*,?$",
    re.IGNORECASE,
)
_CODE = re.compile(r"^[A-Z]{1,3}\d{3,5}$|^error$")
_VERSION = re.compile(r"\bversion\b|`v?\d+(?:\.\d+)+` became `v?\d+(?:\.\d+)+`")
_LACKS = re.compile(
    r"[Nn]o such (?:table|column|file|service|database|relation)|does not exist|ENOENT"
    r"|[Cc](?:annot|ould not|an't) (?:find|open|locate)"
    r"|doesn't exist|not up to date|[Nn]o [\w ]{2,40} (?:specified|configured|found)|has been specified"
    r"|not (?:been )?(?:built|generated|initiali[sz]ed|migrated|created|running)|[Mm]issing"
)
_IMPORTS = re.compile(
    r"^\s*(?:from\s+[\w.]+\s+import\b|(?:static |global )?using\s+[\w.]+;|import\b|use\s+[\w:\\]"
    r"|require(?:_relative)?[\s(]['\"]"
    r"|(?:const|let|var)\s+[\w{}, ]+=\s*require\(|#\s*include\b|library\(|open\s+[A-Z]\w*|alias\s+[A-Z]|@import\b"
    r"|\{-#\s*LANGUAGE\b|load\(|source\(|\(:require\b|with\s+[A-Z][\w.]*;|extern crate\b|mod\s+\w+;|@?require\s+[A-Z]"
    r"|pub use\s|export \* from\b)"
)
"""Lines that make the names of another module known, in any language."""
_ABSENT = re.compile(
    r"[Cc]ould not find function|uninitialized constant|isn't defined|was not declared|[Uu]nresolved reference"
    r"|undeclared"
    r"|does not exist in the (?:current context|namespace)|not in scope|[Uu]nbound (?:variable|value|identifier)"
    r"|[Ii]mplicit declaration|unknown type name|[Nn]o such (?:function|method)|Class ['\"].* not found"
    r"|No module named|cannot import name|has no attribute|is not defined|Cannot find (?:module|name)|undefined"
    r"|unresolved|is not a function|does not exist on type|no exported member|not found in"
    r"|cannot find (?:function|value|type|trait|macro|struct|symbol|associated)|no (?:method|field|function) named"
)
_UNQUOTED = re.compile(r"([\w.$]+)(?:\)|\(\.\.\.\))* is not (?:a function|defined|a constructor)")
_NO_ROOM = re.compile(r"[Nn]o space left|[Dd]isk (?:quota|full)|ENOSPC|[Tt]oo many open files|EMFILE|[Qq]uota exceeded")
_MAKES = re.compile(r"^ran: (?:mkdir|touch|cp|ln)\b")
_LEAST_STEM = 3
_SCRIPTS_OF = {
    "package.json": vocabulary("npm yarn pnpm bun"),
    "composer.json": vocabulary("composer"),
    "pyproject.toml": vocabulary("pdm hatch poe uv rye"),
    "deno.json": vocabulary("deno"),
}
"""Manifests that say what the scripts of a project do, and the programs that run those."""
_SCRIPT_LINE = re.compile(r"['\"]?([\w:.-]+)['\"]?\s*[:=]")


def repairs(
    signature: Signature,
    said: str,
    doing: Doing,
    changes: Sequence[Change],
    before: Sequence[Change],
    *,
    spoken: bool = False,
) -> tuple[Change, ...]:
    """Return those changes that have to do with the error; none when one of them is a way around the check.

    Args:
        signature: The error's.
        said: What the command printed when it failed.
        doing: The command that failed.
        changes: What was changed before it passed.
        before: What the session had changed before it failed.
        spoken: Whether a person said something meanwhile: then only a path, a name or a command that the error shows
            tells that the change helped, and not that person.
    """
    useful = [change for change in changes if not is_beside(change, said)]
    tested = any(tests_something(program) for program in doing.programs)
    if any(hides(signature, said, tested, change) for change in useful):
        return ()
    if _is_new_feature(signature, said, useful, before) or _is_own_work(signature, useful, before):
        return ()
    if _PASSES_BY_ITSELF.search(signature.line) or _PASSES_BY_ITSELF.search(signature.message):
        return tuple(change for change in useful if _names_cause(change, signature))
    shown = _PASSING.sub("", said)
    named = [
        change
        for change in useful
        if _names_file(change, shown, doing)
        or _shares_word(change, signature, shown)
        or _is_advised(change, shown)
        or _checks_and_rewrites(change, doing)
        or _sets_what_is_wanted(change, signature)
        or settles(signature, change)
        or _brings_what_is_named(change, doing, shown)
        or _opens(change, signature)
        or _imports(change, signature)
        or _chooses_version(change, shown)
    ]
    if spoken and not named:
        return ()
    ways = tuple(change for change in useful if change.way)
    if ways and len(useful) > len(ways):
        brought = tuple(change for change in useful if supplies(signature, change))
        others = tuple(change for change in named if not change.way)
        return (*brought, *ways) if lacks(signature) else others or ways
    brought = tuple(change for change in useful if supplies(signature, change))
    if not named and brought and len({change.said for change in brought}) == 1:
        return brought
    if not named and len(useful) > 1 and all(_configures(change, signature) for change in useful):
        return tuple(useful)
    if named or len(useful) != 1:
        verbs = {_verb(change) for change in named} - {""}
        declared = any(_MANIFEST.search(change.file) for change in named)
        return tuple(
            change
            for change in useful
            if change in named or _verb(change) in verbs or (declared and _INSTALLS_ALL.match(change.text))
        )
    (only,) = useful
    if only.way or _configures(only, signature):
        return (only,)
    supplied = supplies(signature, only)
    started = _UNREACHED.search(signature.line) and _STARTS.search(only.text)
    made = lacks(signature) and _MAKES.match(only.text)
    return (only,) if supplied or started or made else ()


def _configures(change: Change, signature: Signature) -> bool:
    """Return whether the change sets something that every command reads, and the error is of what commands look for.

    A new version number sets nothing.
    """
    if _CONFIGURES.search(change.file) is None or _VERSION.search(change.text) is not None:
        return False
    found = _CODE.match(signature.type) or _ABSENT.search(signature.line) or _MISSING.search(signature.line)
    return found is not None


def lacks(signature: Signature) -> bool:
    """Return whether the error says that something is not there, which a command can make."""
    return _MISSING.search(signature.line) is not None or _LACKS.search(signature.line) is not None


def is_absent(signature: Signature) -> bool:
    """Return whether the error says that a name is not there, which source code could define."""
    return _ABSENT.search(signature.line) is not None


def supplies(signature: Signature, change: Change) -> bool:
    """Return whether the change brings what the error says is missing, so that nothing else can have helped."""
    return _MISSING.search(signature.line) is not None and _SUPPLIES.search(change.text) is not None


def settles(signature: Signature, change: Change) -> bool:
    """Return whether git got what it asks for: work put aside or committed, or the commits of others fetched."""
    if signature.type == "rejected":
        return re.match(r"^ran: git (?:pull|fetch|rebase|merge)\b", change.text) is not None
    return _UNSAVED.search(signature.line) is not None and _PUTS_ASIDE.search(change.text) is not None


def _brings_what_is_named(change: Change, doing: Doing, said: str) -> bool:
    """Return whether a package was installed whose name, or a part of it, the output names."""
    if _SUPPLIES.search(change.text) is None:
        return False
    words = change.text.removeprefix("ran: ").split()
    names = [word for word in words[2:] if not word.startswith("-")]
    parts = {part for name in names for part in re.split(r"[^A-Za-z0-9]+", name.split("==")[0].split("@^")[0])}
    found = (
        part for part in parts if len(part) > 1 and part.casefold() not in {*_COMMON, doing.program, *_PACKAGE_WORDS}
    )
    return any(re.search(rf"(?<![A-Za-z0-9]){re.escape(part)}(?![A-Za-z0-9])", said, re.IGNORECASE) for part in found)


def answers_alone(signature: Signature, doing: Doing) -> bool:
    """Return whether one command, with nothing else done, can be told to have taken the error away.

    Of what comes and goes by itself it cannot, and of a failed test only where something is missing or not reached.
    """
    if _PASSES_BY_ITSELF.search(signature.line) or _PASSES_BY_ITSELF.search(signature.message):
        return False
    if not any(tests_something(program) for program in doing.programs):
        return True
    if signature.type == "AssertionError":
        return False
    said = f"{signature.line}\n{signature.message}"
    return any(
        pattern.search(said) for pattern in (_MISSING, _LACKS, _UNREACHED, _WANTS_SETTING, _WANTS_VERSION, _NO_ROOM)
    )


def _imports(change: Change, signature: Signature) -> bool:
    """Return whether nothing but imports were added, where the error says that a name is not known."""
    taken, put = lines_that_differ(change)
    lines = [line for line in put if line.strip()]
    return (
        bool(lines)
        and not any(line.strip() for line in taken)
        and all(map(_IMPORTS.match, lines))
        and _ABSENT.search(signature.line) is not None
    )


def _opens(change: Change, signature: Signature) -> bool:
    """Return whether what was denied was allowed: other rights, another owner or another place to write to."""
    denied = re.search(r"EACCES|EPERM|[Pp]ermission denied|[Aa]ccess denied|not permitted", signature.line)
    return (
        denied is not None
        and re.match(r"^ran: (?:chmod|chown|usermod|setfacl|\w+ config set prefix)\b", change.text) is not None
    )


def _chooses_version(change: Change, said: str) -> bool:
    """Return whether a version manager chose a version, as the output asks for another one."""
    asked = re.search(r"\bversion\b|^\s*SyntaxError: ", said, re.IGNORECASE | re.MULTILINE)
    return _CHOOSES.match(change.text) is not None and asked is not None


def _checks_and_rewrites(change: Change, doing: Doing) -> bool:
    """Return whether the linter that complained repaired the files itself."""
    if not change.text.startswith("ran: ") or not (_FIXES_ITSELF.search(change.text) or _FORMATS.search(change.text)):
        return False
    return doing.program != "" and f" {doing.program} " in f" {change.text.removeprefix('ran:')} "


def _sets_what_is_wanted(change: Change, signature: Signature) -> bool:
    """Return whether the error asks for a setting or a version, and the change is to the file that holds it."""
    if _WANTS_VERSION.search(signature.line) is not None:
        return _CONFIGURES.search(change.file) is not None and re.search(r"\d", change.text) is not None
    return _WANTS_SETTING.search(signature.line) is not None and _SETS.search(change.file) is not None


def is_beside(change: Change, said: str) -> bool:
    """Return whether the change is to documentation, comments or metadata, or takes prints out: no error shows it."""
    added = "\n".join(line for line in change.new.splitlines() if line not in change.old.splitlines())
    if _CONFIGURES.search(change.file) is not None and _METADATA.match(added.strip()):
        return True
    return _documents(change, said) or is_comment(change) or _only_prints(change, said)


def _only_prints(change: Change, said: str) -> bool:
    """Return whether only lines that print or log came or went; a print that a compiler refused is no such line."""
    taken, put = lines_that_differ(change)
    refused = rf"(?<![\w.-]){re.escape(_base(change.file))}:\d+(?::\d+)?:? (?:fatal )?(?:error|warning)\b"
    if change.file and (re.search(refused, said) or any(line.strip() and line.strip() in said for line in taken)):
        return False
    differing = [line for line in (*taken, *put) if line.strip()]
    return _UNPRINTS.search(change.text) is not None or (
        bool(differing) and not change.whole and all(_PRINTS.match(line) for line in differing)
    )


def is_throwaway(place: str) -> bool:
    """Return whether a file or folder is by its name made to try something out.

    Of a whole path only the file counts: the folders above it are the project's.
    """
    return _THROWAWAY.search(_base(place) if place.startswith("/") else place) is not None


def _verb(change: Change) -> str:
    """Return the program and what it was told to do; empty for an edit."""
    words = change.text.removeprefix("ran: ").split()
    return " ".join(words[:2]) if change.text.startswith("ran: ") and not change.file else ""


def _is_advised(change: Change, shown: str) -> bool:
    """Return whether the output itself says to run that."""
    verb = _verb(change)
    return " " in verb and re.search(rf"(?<![\w-]){re.escape(verb)}(?![\w-])", shown) is not None


def _documents(change: Change, said: str) -> bool:
    written = DOCUMENT.search(change.file) or (_TEXT.search(change.file) and not _PINS.search(change.file))
    return bool(written) and _base(change.file) not in said


def _is_new_feature(signature: Signature, said: str, changes: Sequence[Change], before: Sequence[Change]) -> bool:
    """Return whether the session wrote what was missing, or the failing test itself: a test that came first."""
    if _ABSENT.search(signature.line):
        absent = {*_QUOTED.findall(signature.line), *_UNQUOTED.findall(signature.line)}
        for name in {part.rsplit(".", 1)[-1] for part in absent}:
            defined = re.compile(
                rf"\b(?:def|class|function|const|let|var|fn|func|struct|type|interface)\s+{re.escape(name)}\b"
                rf"|^\s*(?:self\.)?{re.escape(name)}\s*(?::[^=\n]+)?=[^=]",
                re.MULTILINE,
            )
            for change in (each for each in changes if not _MANIFEST.search(each.file)):
                created = change.whole and _stem(change.file) == name
                renamed = _defines_the_same(defined, name, change)
                if created or (defined.search(change.new) and not defined.search(change.old) and not renamed):
                    return True
    tests = {signature.test, *(name for match in FAILED_NAMES.findall(said) for name in match)} - {""}
    if any(
        TEST_DEFINED.search(change.new)
        and re.search(rf"(?<!\w){re.escape(test)}(?!\w)", change.new)
        and test not in change.old
        for test in tests
        for change in before
    ):
        return True
    edits = all(change.file and not change.way for change in changes)
    written = [
        _base(change.file)
        for change in before
        if TEST_PLACE.search(change.file)
        and len(TEST_DEFINED.findall(change.new)) > len(TEST_DEFINED.findall(change.old))
    ]
    return edits and any(name in said for name in written)


def _defines_the_same(defined: re.Pattern[str], name: str, change: Change) -> bool:
    """Return whether what is defined now was there before under another name."""
    lines = [line.strip() for line in change.new.splitlines() if defined.search(line)]
    return any(re.search(re.escape(line).replace(re.escape(name), r"\w+", 1), change.old) is not None for line in lines)


def _is_own_work(signature: Signature, changes: Sequence[Change], before: Sequence[Change]) -> bool:
    """Return whether the session itself had taken away or renamed what the error says is not there."""
    if _ABSENT.search(signature.line) is None or not all(change.file for change in changes):
        return False
    names = {name.rsplit(".", 1)[-1] for name in (*_QUOTED.findall(signature.line), *_UNQUOTED.findall(signature.line))}
    for name in names:
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        if any(word.search(change.old) and not word.search(change.new) for change in before):
            return True
    return False


def _names_cause(change: Change, signature: Signature) -> bool:
    if PORT_TAKEN.search(signature.line):
        ports = re.findall(r"\b\d{4,5}\b", signature.line)
        other = change.way and re.search(r"port", change.text, re.IGNORECASE) is not None
        return other or bool(_ENDS.search(change.text)) or any(port in change.text for port in ports)
    return bool(_NAMES_CAUSE.search(change.text))


def _names_file(change: Change, shown: str, doing: Doing) -> bool:
    """Return whether the changed file is named where the error is shown, or is what the command runs or tests."""
    if not change.file:
        return False
    if any(_is_same_place(change.file, named) for named in _NAMED_FILE.findall(f"{shown}\n{doing.shown}")):
        return True
    if _base(change.file) == "Makefile" and doing.program == "make":
        return True
    if _is_script_run(change, doing):
        return True
    stem = _stem(change.file)
    name = re.escape(stem)
    tests = rf"\btest_{name}\b|\b{name}_(?:test|spec)\b|\b{name}\.(?:test|spec)\b|\b{name}(?:Tests?|Specs?|IT)\b"
    if stem and re.search(tests, f"{shown}\n{doing.shown}"):
        return True
    return len(stem) >= _LEAST_STEM and bool(re.search(rf"(?:^|[\s.]){name}(?:\s|$)", doing.shown.partition(" -m ")[2]))


def _is_script_run(change: Change, doing: Doing) -> bool:
    """Return whether the manifest says now otherwise what the script does that the command ran."""
    scripts = _SCRIPTS_OF.get(_base(change.file))
    if scripts is None or doing.program not in scripts:
        return False
    words = {word for program in doing.programs for word in program.words[1:]}
    _, put = lines_that_differ(change)
    return any(found[1] in words for line in put if (found := _SCRIPT_LINE.match(line.strip())))


def _is_same_place(one: str, other: str) -> bool:
    first, second = ([part for part in name.split("/") if part not in {"", ".", ".."}] for name in (one, other))
    common = min(len(first), len(second))
    if one.startswith("/") and other.startswith("/"):  # a container or another machine has other folders above
        common = min(common, 2)
    return bool(common) and first[-common:] == second[-common:]


def _shares_word(change: Change, signature: Signature, shown: str) -> bool:
    text = f"{change.text}\n{change.old}\n{change.new}".casefold()
    tokens = set(re.split(r"[^a-z0-9]+", text))
    strong, plain = _words(signature)
    called = {name for line in _CALLED.findall(shown) for name in _CALL.findall(line)} | set(_FRAME.findall(shown))
    strong |= {name.casefold() for name in called if not name.startswith("test")} - _COMMON
    return any(word in text for word in strong) or not plain.isdisjoint(tokens)


def _words(signature: Signature) -> tuple[set[str], set[str]]:
    """Return the error's names, which count wherever they stand, and its plain words, which count by themselves."""
    line = signature.line.partition(f"{signature.type}: ")[2] or signature.line
    strong = {part for name in _QUOTED.findall(line) for part in _parts(name)}
    plain = set[str]()
    for word in _WORD.findall(line):
        if _IDENTIFIER.search(word):
            strong |= set(_parts(word))
        elif len(word) > _LEAST_STEM:
            plain.add(word.casefold())
    return {word for word in strong if len(word) >= _LEAST_STEM and word not in _COMMON}, plain - _COMMON


def _parts(name: str) -> Iterable[str]:
    """Return a name and its last part: what is asked for of a module or a folder."""
    whole = name.casefold().strip("./ ")
    return () if " " in whole else (whole, whole.rsplit("/", 1)[-1], re.split(r"[./]", whole)[0])


def _base(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _stem(name: str) -> str:
    """Return the name of the module that a file is."""
    parts = [part for part in name.split("/") if part]
    stem = parts[-1].split(".", 1)[0] if parts else ""
    return parts[-2] if stem in {"__init__", "index", "mod"} and len(parts) > 1 else stem
