"""The decisive line of an error as single tools print it: compilers, linters, build tools, test runners, databases.

Each reader looks for the shape of one tool's own output. What no reader knows is searched for a line that says what is
wrong in words of its own ("cannot ...", "... is not expected here"), which is taken only when it names something.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolError:
    """One error as a tool printed it.

    Attributes:
        type: The tool, the sort of error or its code.
        message: What it says.
        line: The decisive line as it was printed.
        test: The test that failed; empty when it was none.
    """

    type: str
    message: str
    line: str
    test: str = ""


_NODE_TEST = re.compile(
    r"^ *\u2716 (?P<test>[^\n]{1,120}?)(?: \([\d.]+m?s\))?\n\s*(?P<type>[A-Z]\w*(?:Error|Exception)?)"
    r"(?: \[\w+\])?: (?P<message>[^\n]+)(?P<more>(?:\n[ \t]*){1,3}\S[^\n]* !==? [^\n]*)?",
    re.MULTILINE,
)
_GO_PANIC = re.compile(
    r"^ *--- FAIL: (?P<test>\S+) \([\d.]+s\)\n(?:[^\n]*\n){0,6}?panic: (?P<message>[^\n]+?)(?: \[recovered[^\]]*\])?$",
    re.MULTILINE,
)
_VITEST = re.compile(
    r"^ *FAIL +\S+ > (?P<test>[^\n]{1,160})\n(?P<type>[A-Z]\w*(?:Error|Exception)): (?P<message>[^\n]+)$", re.MULTILINE
)
_JEST = re.compile(
    r"^ +\u25cf (?!Test suite failed|Console|Cannot)(?P<test>[^\n]{1,160})\n\n +(?P<message>\S[^\n]*)"
    r"(?P<more>(?:\n[^\n]*){0,6}?\n +Expected[^\n]*:[^\n]*\n +Received[^\n]*)?",
    re.MULTILINE,
)
_JEST_SUITE = re.compile(r"^ +\u25cf Test suite failed to run\n\n +(?P<message>\S[^\n]*)$", re.MULTILINE)
_RSPEC = re.compile(
    r"^ +\d{1,4}\) (?P<test>[^\n]{1,160})\n +Failure/Error: [^\n]*(?:\n(?!\n +\w)[^\n]*){0,6}\n\n?"
    r"(?: +(?P<type>(?:\w+::){0,5}[A-Z]\w*):\n)? +(?P<message>\S[^\n]*)(?P<more>\n +got: [^\n]*)?",
    re.MULTILINE,
)
_RUBY_LOAD = re.compile(
    r"^(?P<type>(?:\w+::){0,5}[A-Z]\w*(?:Error|NotFound|Exception)):\n\s+(?P<message>\S[^\n]*)$", re.MULTILINE
)
_RUBY_CLASS = re.compile(r"^(?P<type>(?:[A-Z]\w*::){1,5}[A-Z]\w*): (?P<message>\S[^\n]*)$", re.MULTILINE)
_PHP = re.compile(
    r"^(?:PHP )?(?:Fatal|Parse|Catchable fatal|Recoverable fatal) error: +(?:Uncaught )?(?:(?P<type>[A-Z][\w\\]*): )?"
    r"(?P<message>\S[^\n]*?)(?: in \S+?(?::\d+| on line \d+)?)?$",
    re.MULTILINE,
)
_OF_PHP = re.compile(r"^PHP |Uncaught|Parse error| in \S+(?::\d+| on line \d+)?$|\(\)")
_TRAPPED = re.compile(
    r"^(?:\S{1,300}\.swift:\d{1,7}: (?:Fatal error|Precondition failed|Assertion failed)"
    r"|Fatal error(?=: [^\n]+: file \S+\.swift\b)): (?P<message>\S[^\n]*?)(?:: file \S+, line \d+)?$",
    re.MULTILINE,
)
"""What Swift says before it stops a program with a signal."""
_R_RAISED = re.compile(r"^Error in [^\n]{1,200}? ?:\s+(?P<message>\S[^\n]*)$", re.MULTILINE)
_RUBY_RAISED = re.compile(
    r"^\S+\.rb:\d+:in [`'][^'\n]*': (?P<message>[^\n]+) \((?P<type>(?:\w+::){0,5}[A-Z]\w*)\)$", re.MULTILINE
)
_PHPUNIT = re.compile(
    r"^\d{1,4}\) (?:\w+\\)*(?P<test>\w+::\w+)[^\n]{0,80}\n"
    r"(?:(?P<type>[A-Z][\w\\]*(?:Error|Exception)): )?(?P<message>\S[^\n]*)$",
    re.MULTILINE,
)
_EXUNIT = re.compile(
    r"^ +\d{1,4}\) test (?P<test>[^\n]{1,120}) \([\w.]+\)\n[^\n]*\n +"
    r"(?:\*\* \((?P<type>[\w.]+)\) )?(?P<message>\S[^\n]*)$",
    re.MULTILINE,
)
_SUREFIRE = re.compile(
    r"^\[ERROR\] +(?P<test>[A-Z]\w*\.\w+):\d+(?:->[^\s:]+:\d+)* (?P<message>\S[^\n]*)$", re.MULTILINE
)
_MAVEN = re.compile(
    r"^\[ERROR\] \S+\.(?:java|kt|scala|groovy):(?:\[\d+,\d+\]|\d+:\d+:?) (?:error: )?(?P<message>\S[^\n]*)"
    r"(?:\n(?:\[ERROR\])? +symbol: +(?P<symbol>[^\n]+))?",
    re.MULTILINE,
)
_JAVAC = re.compile(
    r"^(?:e: )?\S+\.(?:java|kt|scala|groovy):\d+: error: (?P<message>cannot find symbol)"
    r"(?:(?:\n[^\n]*){0,4}?\n +symbol: +(?P<symbol>[^\n]+))?",
    re.MULTILINE,
)
_KOTLIN = re.compile(r"^e: (?:file://)?\S+\.kts?:(?:\d+:\d+| \(\d+, \d+\)):? (?P<message>\S[^\n]*)$", re.MULTILINE)
_GHC = re.compile(
    r"^\S+\.l?hs:\d+:\d+(?:-\d+)?: error:(?: \[[^\]\n]*\])*\n(?P<block>(?: {2,}[^\s|][^\n]*(?:\n|\Z)){1,4})",
    re.MULTILINE,
)
_SCALA = re.compile(
    r"^\[error\] (?:-- (?:\[E\d+\] )?(?P<kind>[^\n:]+): \S+\.scala:\d+:\d+ *-*\n"
    r"(?P<block>(?:\[error\][^\n]*\n){1,8})"
    r"|\S+\.scala:\d+(?::\d+)?: (?P<message>\S[^\n]*))",
    re.MULTILINE,
)
_GRADLE = re.compile(r"^\* What went wrong:\n(?P<block>(?:\S[^\n]*\n?|[ >][^\n]*\n?|(?<=:\n)\n){1,12})", re.MULTILINE)
_CMAKE = re.compile(
    r"^CMake Error(?: at [^\n]*| in [^\n]*)?:[ \t]*\n\n?(?P<block>(?:[ \t]+\S[^\n]*(?:\n+|\Z)){1,8})", re.MULTILINE
)
_SENTENCE_END = re.compile(r"(?<=[.)])[ \t]*\n[ \t]*\n")
"""The end of the first sentence of a message: a paragraph may end before, at a path on its own line."""
_TERRAFORM = re.compile(r"^[\u2502| ]*Error: (?P<message>[^\n]+)(?P<block>(?:\n[\u2502| ][^\n]*){0,12})", re.MULTILINE)
_PEER = re.compile(
    r"^npm (?:ERR!|error)\s+(?:code )?ERESOLVE\b(?:[^\n]*\n){1,30}?npm (?:ERR!|error)\s+"
    r"peer(?:Optional)? (?P<wanted>\S+?)@\S[^\n]*? from (?P<by>\S+?)@\d",
    re.MULTILINE,
)
"""What npm says of a dependency that another one does not go with."""
_ENGINE = re.compile(
    r"^npm (?:ERR!|error) (?:notsup|engine) (?:Not compatible with your version of node/npm: (?P<package>@?[^\s@]+)@)",
    re.MULTILINE,
)
"""What npm says of a package that wants another Node."""
_UNSOLVED = re.compile(
    r"version solving (?:has )?failed|No solution found when resolving dependencies|Unable to find a resolution"
    r"|supported Python range \([^)\n]*\) is not compatible with some of the required packages"
    r"|Could not find compatible versions$|Encountered problems while solving"
    r"|The following packages are not available from current channels",
    re.MULTILINE,
)
"""That a set of dependencies goes together in no way: Poetry, uv, PDM, Bundler, Conda."""
_BECAUSE = re.compile(
    r"\b[Bb]ecause (?P<reason>\S[\s\S]{1,600}?)"
    r"(?=,\s+(?:version solving|we can conclude|it follows|[\w.-]+ is forbidden)|\.\s|\.?\s*\Z)"
)
_UNSOLVED_ITEM = re.compile(
    r"^[ \t]*[-*] +(?P<item>\S[^\n]*?)(?:, so it will not[^\n]*)?$"
    r"|^The following requirement\(s\) can't be met: (?P<wanted>\S[^\n]*)$",
    re.MULTILINE,
)
_GO_MODULE = re.compile(r"^go: (?P<message>\S+ requires go >= [^\n]+)$", re.MULTILINE)
_STRICT_WARNING = re.compile(
    r"^WARNING +- +(?P<message>\S[^\n]*)$(?=[\s\S]*\bin strict mode\b)"
    r"|^Warning, treated as error:\n(?:\S+?:\d*:? ?)?(?P<sphinx>\S[^\n]*)$",
    re.MULTILINE,
)
"""A warning that stopped MkDocs or Sphinx because warnings are errors there."""
_LINTER = re.compile(
    r"^ *\S+?:\d{1,7}(?::\d{1,5})?:? (?:error |warning )?(?:[CWEFR]: (?:\[\w+\] )?)?"
    r"(?P<code>[A-Z]{1,5}\d{2,6}|[A-Z]\w+/\w+):? (?:\[\*\] )?(?P<message>\S[^\n]*)$",
    re.MULTILINE,
)
_RUFF = re.compile(r"^(?P<code>[A-Z]{1,5}\d{2,4}) (?:\[\*\] )?(?P<message>\S[^\n]*)\n +--> ", re.MULTILINE)
_ESLINT = re.compile(r"^ +\d+:\d+ +error +(?P<message>\S[^\n]*?)(?:  +(?P<code>[@\w/-]+))?$", re.MULTILINE)
_SHELLCHECK = re.compile(r"\b(?P<code>SC\d{4}) \((?:error|warning|info|style)\): (?P<message>[^\n]+)$", re.MULTILINE)
_PHPSTAN = re.compile(r"^ +(?:\d{1,6}|:\d{1,6}) {2,}(?P<message>[A-Z]\S+ \S[^\n]*)$", re.MULTILINE)
_PSQL = re.compile(
    r"^(?:psql:[^\n]{1,200}?:\d+: )?(?:ERROR|FATAL)(?:: {2}| \d+ \(\w+\)[^\n:]*: )(?P<message>\S[^\n]*)$", re.MULTILINE
)
_SQLITE = re.compile(
    r"^(?:Parse error|Runtime error|Error)(?: (?:near|on|in) line \d+)?(?: in [^\n:]+)?: (?P<message>(?:near |no such |"
    r"table |UNIQUE |NOT NULL |FOREIGN KEY |CHECK )[^\n]+)$",
    re.MULTILINE | re.IGNORECASE,
)
_REJECTED = re.compile(r"^ ! \[(?:remote )?rejected\] [^\n]* \((?P<message>[^)\n]+)\)$", re.MULTILINE)
_AT_PLACE = re.compile(
    r"^\S{1,200}\.\w{1,12} ?\(\d{1,7}(?:, ?\d{1,5})?\):? (?:fatal )?[Ee]rror: (?P<message>\S[^\n]*)$", re.MULTILINE
)
"""An error behind its file with the line in brackets, as Nim and others print it."""
_PROGRAM = re.compile(
    r"^(?P<program>(?!collect2|ld\b|clang|gcc|g\+\+"
    r"|error)[a-z][\w.-]{0,30}): error(?: \([^)\n]{0,200}\))?: (?P<message>\S[^\n]*)$",
    re.MULTILINE,
)
_DAEMON = re.compile(r"^Error response from daemon: (?P<message>\S[^\n]*)$", re.MULTILINE)
_INDENTED = re.compile(
    r"^[ \t]+\S[^\n:(]{0,200}:\d{1,7}(?::\d{1,7})?: fatal error: (?P<message>\S+: No such file or directory)$",
    re.MULTILINE,
)
_PLACED = re.compile(
    r"^\S{1,200}\.\w{1,12}:\d{1,7}(?::\d{1,7})?:? (?P<message>[A-Za-z\"'`\[]\S* [^\n]+)$", re.MULTILINE
)
_TELLS = re.compile(
    r"\b(?:cannot|can't|could not|couldn't|unable to|failed to|refus\w+|missing|no such|not found|not allowed"
    r"|not expected|conflicting|inconsistent|needed|pending|there is no|did not initiali[sz]e|out of sync"
    r"|unexpected|unknown|unrecogni[sz]ed|unsupported|invalid|undefined|unresolved|is required|must (?:be|not|have)"
    r"|\w*_mismatch|expected|no \w+[^.\n]{0,40} (?:specified|found|configured|given|provided|available)"
    r"|version\b[^\n]*\bbut"
    r"|should (?:be|return|not)"
    r"|is(?:n't| not) (?:defined|declared|assignable|valid|known)|does not|doesn't|changed significantly"
    r"|not up to date|out of date|conflicts? with"
    r"|(?:is|are|was|were)(?:n't| not) \w+ed|but only \d|duplicate"
    r"|too (?:low|small|old|few|many|large|long|short|high|new)|no space left"
    r"|quota exceeded|disk full|out of memory|already"
    r" (?:exists|defined|declared|in use)|contains? null|violates|denied|deprecated|mismatch|incompatible)\b",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"^(?:at |in |from |note|warning|hint|help|usage|see |try |\+ |\$ |> |#|//|\*|-+$|=+|collecting|downloading|info\b"
    r"|debug\b|traceback|found \d|\d+ (?:error|problem|failed|passed|warning)|compilation (?:failed|terminated)"
    r"|process (?:completed|exited)|command failed|exit(?:ed)? (?:code|status|with)|build failed|make)",
    re.IGNORECASE,
)
_HEADS = re.compile(
    r"^(?:[\u2502|]\s*|(?-i:error (?=[A-Z]))"
    r"|(?:ERROR|FATAL) +\[[\w.]+\] +|\*\* \([\w.]+\) |\[?(?:error|fatal|err|failed)\]?\s*[:\-]\s+"
    r"|\[\w[\w.:-]{0,20}\]:?\s+|x\s+"
    r"|\S+:\d{1,7}:\d{1,7}:? - |\u2716\s+"
    r"|[\u00d7\u2718\u2717]\s+|[a-z][\w.-]{1,20}: )+",
    re.IGNORECASE,
)
_HEADED = re.compile(
    r"^(?:[\u2718\u2717\u00d7] )?"
    r"(?:(?:FATAL )?ERROR[:!]|error(?= [A-Z][a-z])|fatal(?: error)?:|\[(?:ERROR|error|emerg|fatal)\]|[Ee]rror:)\s",
    re.ASCII,
)
"""A line that a tool itself calls its error."""
_MOST_LINES = 400
_LONGEST = 300
_LEAST_WORDS = 4
_LEAST_HEADED = 2
_BLOCK = 240
_PLUMBING = re.compile(
    r"execution failed for task|there were failing tests|see the compiler error output|compilation failed",
    re.IGNORECASE,
)
_ESM = re.compile(r"Cannot find (?P<what>module|package) '(?P<name>[^'\n]+)' imported from (?P<by>\S+)")
_GOAL = re.compile(
    r"Failed to execute goal \S+(?: \([^)\n]*\))?(?: on project [\w.-]+)?: (?P<message>.+?)(?: -> \[Help \d+\])?$"
)
_REFERENCE = re.compile(r" of ref [\w-]+::[\w:-]+")
_GUESS = re.compile(r" \(did you mean [^)\n]*\)")
_FROM_FILE = re.compile(r" (?:from|in) \"[^\"\n]*/[^\"\n]*\"\.?$")


def test_error(text: str) -> ToolError | None:
    """Return the first failed test of Node's runner, Vitest, Jest, RSpec or Surefire, with what it says."""
    for pattern, kind in (
        (_NODE_TEST, ""), (_VITEST, ""), (_JEST, "AssertionError"), (_RSPEC, "AssertionError"),
        (_PHPUNIT, "AssertionError"), (_EXUNIT, "AssertionError"), (_SUREFIRE, "AssertionError"), (_GO_PANIC, "panic"),
    ):  # fmt: skip
        match = pattern.search(text)
        if match is None:
            continue
        groups = match.groupdict()
        message = match["message"].rstrip(": ")
        more = _SPACE.sub(" ", groups.get("more") or "").strip()
        if more:
            message = f"{message} ({more})"
        test = _SPACE.sub(" ", match["test"].rsplit(" > ", 1)[-1].rsplit(" \u203a ", 1)[-1]).strip()
        raised = re.match(r"^(?P<type>(?:\w+\.)*[A-Z]\w*(?:Error|Exception)): (?P<message>\S.*)$", message)
        if raised is not None:
            return ToolError(type=raised["type"], message=raised["message"], line=message, test=test)
        return ToolError(type=groups.get("type") or kind, message=message, line=message, test=test)
    return None


def tool_error(text: str) -> ToolError | None:
    """Return the error that a compiler, linter, build tool or database printed in its own form; None without one."""
    for read in (_structured, _simple):
        if (found := read(text)) is not None:
            return found
    return None


def said_error(text: str, specific: Callable[[str], int]) -> ToolError | None:
    """Return the first line that says in words what is wrong, when it is long enough to tell it from other errors.

    Args:
        text: What a failed command printed.
        specific: Counts the words of a line that tell it from other errors.
    """
    match = _PLACED.search(text)
    if match is not None and (specific(match["message"]) >= _LEAST_WORDS - 1 or _names(match["message"])):
        return ToolError(type="error", message=match["message"], line=match[0])
    for raw in text.splitlines()[:_MOST_LINES]:
        line = _HEADS.sub("", raw.strip()).strip()
        headed = _HEADED.match(raw.strip()) is not None
        if len(line) > _LONGEST or _NOISE.match(line) or not (headed or _TELLS.search(line)):
            continue
        if specific(line) >= (_LEAST_HEADED if headed else _LEAST_WORDS) or (specific(line) and _names(line)):
            return ToolError(type="error", message=_FROM_FILE.sub("", line), line=raw.strip())
    return None


def _names(line: str) -> bool:
    """Return whether the line names something in quotation marks."""
    return re.search(r"['\"`\u2018][\w@./-]{2,60}['\"`\u2019]", line) is not None


def told(message: str) -> str:
    """Return a message without what a tool adds of this one run, and with the names that folders would hide.

    What Maven was to do and where its help stands is left out, as far as it says more than that.
    """
    goal = _GOAL.match(message)
    if goal is not None:
        message = goal["message"]
    found = _ESM.search(message)
    if found is not None:
        message = f"Cannot find {found['what']} '{_last(found['name'])}' imported from '{_last(found['by'])}'"
    return _GUESS.sub("", _REFERENCE.sub("", message))


def _last(path: str) -> str:
    return path.rstrip("/.").rsplit("/", 1)[-1]


def _symbol(text: str) -> str:
    """Return the symbol that a Java compiler did not find, its name in quotation marks."""
    kind, _, name = _SPACE.sub(" ", text).strip().partition(" ")
    return f": {kind} '{name.partition('(')[0]}'"


def _structured(text: str) -> ToolError | None:
    for pattern in (_MAVEN, _JAVAC):
        match = pattern.search(text)
        if match is not None:
            symbol = _symbol(match["symbol"]) if match["symbol"] else ""
            return ToolError(type="error", message=f"{match['message']}{symbol}", line=f"{match['message']}{symbol}")
    match = _CMAKE.search(text)
    if match is not None:
        message = _SPACE.sub(" ", _SENTENCE_END.split(match["block"], maxsplit=1)[0]).strip()[:_BLOCK]
        message = re.split(r",? (?:try to set|\(missing:)|\. {1,2}You are running", message)[0]
        return ToolError(type="CMake", message=message, line=f"CMake Error: {message}")
    match = _KOTLIN.search(text)
    if match is not None:
        return ToolError(type="kotlin", message=match["message"], line=match[0])
    match = _GHC.search(text)
    if match is not None:
        message = _SPACE.sub(" ", re.split(r"\u2022 In |\n {4,}In ", match["block"])[0]).strip("\u2022 ")
        return ToolError(type="ghc", message=message[:_BLOCK], line=message[:_BLOCK])
    match = _SCALA.search(text)
    if match is not None:
        rows = [row.removeprefix("[error]").lstrip(" |") for row in (match["block"] or "").splitlines()]
        what = " ".join(row for row in rows if row and row[0] not in "^-0123456789")
        message = match["message"] or f"{match['kind']}: {_SPACE.sub(' ', what)}"
        return ToolError(type="scala", message=message[:_BLOCK], line=message[:_BLOCK])
    match = _GRADLE.search(text)
    if match is not None:
        lines = [line.strip(" >^") for line in match["block"].splitlines() if line.strip(" >^")]
        telling = [line for line in lines if not _PLUMBING.search(line)]
        if telling and not re.search(r"\.(?:java|kt):\d+: error", text):
            line = next((each for each in telling[::-1] if _TELLS.search(each) or each.endswith(".")), telling[-1])
            message = re.sub(r"^BUG! .* source unit '[^']*' ", "", line)
            return ToolError(type="gradle", message=message, line=line)
    if (match := _PEER.search(text)) is not None:
        message = f"ERESOLVE unable to resolve dependency tree: peer {match['wanted']} from {match['by']}"
        return ToolError(type="npm", message=message, line=message)
    if (match := _ENGINE.search(text)) is not None:
        message = f"EBADENGINE {match['package']} is not compatible with your version of node"
        return ToolError(type="npm", message=message, line=message)
    if (found := _unsolved(text)) is not None:
        return found
    if (match := _STRICT_WARNING.search(text)) is not None:
        message = match["message"] or match["sphinx"]
        return ToolError(type="mkdocs" if match["message"] else "sphinx", message=message, line=message)
    match = _TERRAFORM.search(text)
    if match is not None and "\u2502" in match[0]:
        detail = [re.split(r"(?<=\.) ", line.strip("\u2502| "))[0] for line in match["block"].splitlines()]
        said = next((line for line in detail if line.endswith(".") and _TELLS.search(line)), "")
        message = f"{match['message']}: {said}" if said else match["message"]
        return ToolError(type="Error", message=message, line=message)
    return None


def _unsolved(text: str) -> ToolError | None:
    """Return what a resolver of dependencies says, with its first reason; without one it says nothing of the cause."""
    head = _UNSOLVED.search(text)
    if head is None:
        return None
    item, because = _UNSOLVED_ITEM.search(text, head.end()), _BECAUSE.search(text)
    if because is not None and (item is None or head[0].startswith(("version", "No solution", "Could not"))):
        reason = because["reason"]
    elif item is not None:
        reason = item["item"] or item["wanted"]
    else:
        return None
    message = f"{head[0]}: {_SPACE.sub(' ', reason).strip()}"[:_BLOCK]
    return ToolError(type="resolver", message=message, line=message)


def _simple(text: str) -> ToolError | None:
    tables = "------" in text
    for pattern, kind in (
        (_RUBY_LOAD, ""), (_RUBY_RAISED, ""), (_RUBY_CLASS, ""), (_INDENTED, "error"), (_SHELLCHECK, ""), (_RUFF, ""),
        (_LINTER, ""), (_ESLINT, "eslint"), (_PHPSTAN, "phpstan"), (_PSQL, "sql"), (_SQLITE, "sqlite"),
        (_REJECTED, "rejected"), (_GO_MODULE, "go"), (_PROGRAM, ""), (_DAEMON, "docker"), (_JEST_SUITE, "Error"),
        (_TRAPPED, "Fatal error"), (_R_RAISED, "R"), (_PHP, "php"), (_AT_PLACE, "error"),
    ):  # fmt: skip
        match = pattern.search(text)
        if match is None or (pattern is _PHPSTAN and not tables):
            continue
        groups = match.groupdict()
        if pattern is _PHP and not groups["type"] and not _OF_PHP.search(match[0]):
            kind = "Fatal error"
        named = groups.get("code") or groups.get("type") or groups.get("program") or kind
        return ToolError(type=re.split(r"::|\\", named)[-1], message=match["message"], line=match[0])
    return None
