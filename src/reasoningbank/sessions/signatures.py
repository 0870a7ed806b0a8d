"""Signatures of errors: the type and the message without what differs from one occurrence to the next.

Paths, addresses, ids, dates and numbers differ between two occurrences of one error; they are replaced. What remains is
compared exactly by its key, and nearly by its words. A text whose decisive line cannot be told, or is so general that
everything fits it ("assert 1 == 2", "Command failed"), has no signature.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

from reasoningbank.sessions.causes import cause_below
from reasoningbank.sessions.commands import vocabulary
from reasoningbank.sessions.machine_states import PORT_TAKEN, MachineState, state_of, stated_line
from reasoningbank.sessions.tool_errors import ToolError, said_error, test_error, told, tool_error

MAX_LINE = 160
"""Most characters of a signature: a longer message is cut."""
MAX_TEST = 60
"""Most characters of a test's name in a signature."""
MAX_QUOTE = 300
"""Most characters of the decisive line as it was printed."""
NEAR = 0.6
"""Two signatures of one type are near from this share of common words on."""
_SEARCHED = 60_000
_LEAST_WORDS = 2
_LEAST_NEAR = 3
_LEAST_NAME = 3

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_BUILT = re.compile(r"^#\d{1,4} \d{1,6}\.\d{1,6} ", re.MULTILINE)
"""The step and the seconds that a build of an image prints before each line of what it runs."""
_TYPE = (
    r"(?:(?:[A-Za-z_]\w{0,60}\.){0,8}(?:[A-Z]\w{0,60})?"
    r"(?:Error|Exception|Warning|Failure|Fault|Interrupt|DoesNotExist|Configured|Found|Refused|Denied|Expired|Timeout)"
    r"|(?:[A-Za-z_]\w{0,60}\.){1,8}(?:[A-Z][a-z]\w{0,60}|error|gaierror|herror)(?=: ))"
)
_RAISED = re.compile(rf"^(?:E {{3,}})?(?P<type>{_TYPE})(?: \[[A-Z_]+\])?(?:: ?(?P<message>\S[^\n]*))?$", re.MULTILINE)
_UNCAUGHT = re.compile(
    rf"^(?:Uncaught |[^\s|]{{1,80}} +\| |Exception in thread \"[^\"\n]{{1,80}}\" |Caused by: |\[?ERROR\]? +)?"
    rf"(?P<type>{_TYPE}): (?P<message>\S[^\n]*)$",
    re.MULTILINE,
)
_PYTEST = re.compile(
    rf"^(?:FAILED|ERROR) (?P<place>\S+?)(?:::(?P<test>[\w:\[\]-]+))?"
    rf"(?: - (?:(?P<type>{_TYPE}): ?)?(?P<message>[^\n]+))?$",
    re.MULTILINE,
)
_COLLECTED = re.compile(
    r"^(?:E {3,}(?P<fixture>fixture '[^'\n]{1,80}' not found)|(?P<mismatch>import file mismatch):)", re.MULTILINE
)
_ASSERTED = re.compile(
    r"^(?:> +|    )(?P<code>(?:assert\b|self\.assert\w+\(|(?:t\.)?assert[.(]|expect\()[^\n]{1,200})$", re.MULTILINE
)
"""The line of code that asserts, as a runner or a traceback quotes it."""
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (?P<test>\w+) \([\w.]+\)$", re.MULTILINE)
_PYTHON = re.compile(r"^\S*python[\d.]*: (?P<message>(?:No module named|can't open file)[^\n]+)$", re.MULTILINE)
_COMPILER = re.compile(
    r"^(?:\S[^\n:(]{0,300}[:(]\d{1,7}(?:[:,]\d{1,7})?\)?:? )(?:- )?(?P<type>(?:fatal )?error)"
    r"(?: (?P<code>[A-Z]{1,5}\d{1,6}))?: (?P<message>\S[^\n]*)$",
    re.MULTILINE,
)
_RUST = re.compile(
    r"^error(?:\[(?P<code>E\d{4})\])?: (?P<message>(?!aborting|could not compile|test failed|subprocess-exited"
    r"|metadata-generation|\d+ target)\S[^\n]*)$",
    re.MULTILINE,
)
_GO = re.compile(r"^(?:\./|\S+/)?\S+\.go:\d{1,7}:\d{1,7}: (?P<message>\S[^\n]*)$", re.MULTILINE)
_PANIC = re.compile(r"^(?:panic: |thread '[^'\n]{1,80}' panicked at )(?P<message>\S[^\n]*)$", re.MULTILINE)
_PANICKED = re.compile(
    r"^thread '(?P<test>[^'\n]{1,80})'(?: \(\d{1,10}\))? panicked at [^\n]{1,300}:\d+:\d+:\n(?P<message>\S[^\n]*)"
    r"(?P<sides>(?:\n +(?:left|right): [^\n]*){0,2})",
    re.MULTILINE,
)
_TAP = re.compile(
    r"^ *not ok \d{1,6} - (?P<test>[^\n]{1,120})\n(?:(?! *(?:not )?ok \d)[^\n]*\n){0,12}? +error: "
    r"(?:\|-\n +(?P<block>\S[^\n]*)|'(?P<message>[^\n]*)'|\"(?P<quoted>[^\n]*)\")$(?:\n +(?!name: )[^\n]*){0,3}"
    r"(?:\n +name: '(?P<type>\w+)')?",
    re.MULTILINE,
)
_GO_TEST = re.compile(
    r"^ *--- FAIL: (?P<test>\S+) \([^\n]*\n +\S+_test\.go:\d{1,7}: (?P<message>\S[^\n]*)$", re.MULTILINE
)
_SHELL = re.compile(
    r"^(?:/bin/|/usr/bin/)?(?:ba|z|da|k)?sh: (?:line )?(?:\d{1,5}: )?(?P<message>[^\n:]{1,200}: (?:command )?not found"
    r"|[^\n:]{1,200}: (?:No such file or directory|Permission denied|Is a directory))$",
    re.MULTILINE,
)
_SCRIPT = re.compile(
    r"^(?!g?make)[\w./~-]{1,200}: (?:line )?\d{1,7}: (?P<message>(?:[^\n:]{1,200}: )?(?:unbound variable|invalid option"
    r"|[Bb]ad substitution|not a valid identifier|[Ss]yntax error|(?:command )?not found|parameter (?:null or )?not set"
    r"|\w[^\n:]{2,100} is not set|No such file or directory|Permission denied|bad interpreter)[^\n]{0,200})$",
    re.MULTILINE,
)
_MAKE = re.compile(
    r"^(?:g?make(?:\[\d{1,3}\])?:|[\w./-]{1,200}:\d{1,7}:) \*\*\* "
    r"(?P<message>(?:No rule to make target|missing separator|multiple target patterns|recipe commences)[^\n]*)$",
    re.MULTILINE,
)
_LINKER = re.compile(r"(?P<message>undefined reference to [`'\"][^\n'`\"]{1,200}['\"`])", re.MULTILINE)
_PERL = re.compile(r"^(?P<message>Can't locate (?P<module>\S+)\.pm in @INC)", re.MULTILINE)
_PLAIN = re.compile(
    r"^(?P<message>(?:Cannot connect to|Could not (?:connect|find|open|resolve)|Unable to|[Uu]nknown (?:\w+ )?(?:flag"
    r"|option|command|argument)\b|[Nn]o such (?:command|option|service))[^\n]{5,}"
    r"|(?:Address already in use\b|Something is already running on port|Port \d+ (?:is|was) (?:already )?"
    r"(?:in use|taken|allocated)\b)[^\n]{0,300})$",
    re.MULTILINE,
)
_NPM = re.compile(
    r"^npm (?:ERR!|error) (?P<message>(?!A complete log|code |errno |syscall |path )\S[^\n]{8,})$", re.MULTILINE
)
_SPOKEN = re.compile(
    r"^ {0,6}(?P<type>fatal|error|ERROR|Error|FATAL|FAILED(?=: [A-Z][a-z]+ \w+ \w+)|E|CMake Error[^\n:]{0,200})"
    r"(?: \(\d+\))?:+ ?"
    r"(?P<message>(?!test failed, to rerun|could not compile|subprocess-exited|metadata-generation"
    r"|Ignored the following)\S[^\n]{5,})$",
    re.MULTILINE,
)
_NAMED = re.compile(
    r"^(?P<program>[a-z][\w.-]{1,30}): (?:error: )?(?P<message>(?:unrecognized|unknown|invalid|illegal|missing|no such"
    r"|the following arguments|cannot|can't|could not|failed to|ambiguous)\b[^\n]{5,})$",
    re.MULTILINE | re.IGNORECASE,
)
_DJANGO_APP = re.compile(r"^(?P<type>CommandError|ImproperlyConfigured): (?P<message>\S[^\n]*)$", re.MULTILINE)

_ADDRESS = re.compile(r"\b(?:https?|ftp|file|ssh|git|postgres(?:ql)?|redis|mysql|mongodb)://[^\s'\"<>)]+")
_HOST = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b|\blocalhost:\d{1,5}\b")
_ACCOUNT = re.compile(
    r"(?<![\w/@.-])[\w.+-]+@(?!v?\d)(?:[\w-]+(?:\.(?:[\w-]+|\([a-z]+\)))+"
    r"|(?!latest|next|beta|alpha|canary)[\w-]+(?=: ))"
)
"""A person or an account on a host; a package with a version has a number there."""
_ID = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"
)
_DATE = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b|\b\d{1,2}:\d{2}:\d{2}\b"
)
_PATH = re.compile(
    r"(?<![\w.@-])(?![A-Z][a-z]+/[A-Z][A-Za-z_]+(?![\w/.]))(?:[A-Za-z]:[\\/]|~?/|\.{1,2}/|(?:[\w.@+-]+/){1,40})[\w.@+~\\/-]*(?::\d+(?::\d+)?)?"
)
_PACKAGE = re.compile(r"^(?:[\w-]+\.)+(?:com|org|in|io|net|dev|sh|tools|uk)/[\w./@-]+$")
"""A module that is named by the address of its source, as in Go."""
_QUOTED_PATH = re.compile("(?P<mark>['\"`\u2018])(?P<path>[\\w.@~+-]*(?:/[\\w.@+-]+){1,40})(?P<end>['\"`\u2019])")
_PLACE = re.compile(f"{_QUOTED_PATH.pattern}|{_PATH.pattern}")
_CAUSE = re.compile(
    r"\(?[Cc]aused by:? (?=\S)|[Nn]ested exception is |\b(?:[Ff]atal )?[Ee]rror: (?=\S)"
    r"|\b\w+(?:Error|Exception)(?:: |\()(?=\S)"
)
"""What stands before the cause of an error that another one wraps."""
_IMPORTED = re.compile(
    r"(?:[Cc]an(?:not|'t) (?:find|resolve)|[Cc]ould not (?:find|resolve)|[Uu]nable to resolve|[Ff]ailed to resolve) "
    r"(?:(?:relative )?(?:the )?(?:import|module|entry module|path)\b ?)?['\"]|[Mm]odule ['\"]|[Mm]odule not found"
    r"|cannot load such file"
)
_IMPORTED_ADDRESS = re.compile(r"(?P<mark>['\"])https?://[^\s'\"]{1,200}/(?P<name>[\w.@-]+)(?P=mark)")
"""A module that is imported from an address is told by its name, as one that is imported from a path."""
_FILE_NAME = re.compile(r"\.[A-Za-z]\w{0,7}$")
_NUMBER = re.compile(r"(?<![\w-])[-+]?\d(?:[\d_,]*\d)?(?:\.\d+)*(?![\w])")
_BEFORE_VERSION = r"\b(?:version|release|edition)s?:? (?:is |of )?[<>=~^]{0,2} ?"
"""The words before the number of a version: an error of another version is mended in another way."""
_OF_VERSION = re.compile(rf"{_BEFORE_VERSION}$", re.IGNORECASE)
_VERSIONS = re.compile(rf"{_BEFORE_VERSION}(\d[\d.]*)", re.IGNORECASE)
_BEFORE = 16
_LISTED = re.compile(r"\bN(?:\w*, N){2,}\w*(?:, \.\.\.)?")
_QUOTED = re.compile("['\"`\u2018]([\\w.@:-]{2,80})['\"`\u2019]")
_ABOUT = re.compile(r"^[\w.+-]+\.\w{1,8}(?=: )|(?<=: )[\w./:-]+$")
_MODULE = re.compile(r"^No module named '?(?P<name>[\w.]+)'?(?:;|$|\.? )")
_WRAPPED = re.compile(rf"^(?P<type>{_TYPE}): ?(?P<message>\S[^\n]*)$")
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[A-Za-z_][\w.-]*[A-Za-z_0-9]")
_TOO_GENERAL = vocabulary(
    "assert assertion error errors exception failed fail failure command exit status code the not and or is in of to a "
    "none true false expected got but was with for this that line file path id url n test tests found returned non zero"
)
_STOCK = frozenset(
    (
        "division by zero", "float division by zero", "list index out of range", "string index out of range",
        "tuple index out of range", "pop from empty list", "list.remove(x): x not in list", "substring not found",
        "math domain error", "maximum recursion depth exceeded", "dictionary changed size during iteration",
    )
)  # fmt: skip
"""Errors that a language reports of any program, so that only the test tells one from another."""
_GENERAL = re.compile(
    r"expected values? to |^expected\b.* to (?:be|equal|deeply|match|contain|have|include)\b"
    r"|assertion `?\(?(?:left|\w+ == )|failed asserting that"
    r"|^expected:? .*\b(?:but (?:was|got)|got)\b|expect\(received\)|^expected: |values to unpack|invalid memory address"
    r"|nil pointer|index out of (?:range|bounds)|null pointer|segmentation fault|division by zero"
    r"|unexpectedly found nil|invalid literal for int"
    r"|could not convert string|cannot read propert\w+ of (?:undefined|null)|is not iterable$"
    r"|object is not (?:subscriptable"
    r"|callable|iterable)|out of range$|^should (?:be|equal)|^(?:\w+: )?got\b.*\bwant\b",
    re.IGNORECASE,
)
"""Errors that are reported of any program: only the test, or the command, tells one such error from another."""
_ABSENT_FILE = re.compile(
    r"No such file or directory|ENOENT|FileNotFound|can't open file|cannot open file|[Cc]ould not open|does not exist$"
    r"|: not found$|[Mm]issing script|[Nn]o such file"
)
_USUAL_NAME = re.compile(
    r"(?:index|package|requirements|config|settings|main|app|data|input|test|README|setup|default|server)[\w-]*\.\w+$"
    r"|\w+$"
)
"""Files that most projects have: that one is missing says nothing of the project."""
_SURROUNDINGS = re.compile(
    r"connection refused|ECONNREFUSED|EADDRINUSE|address already in use|port is already|permission denied|EACCES|ENOSPC"
    r"|access denied|unauthori[sz]ed|forbidden",
    re.IGNORECASE,
)
_CLOSED = (
    r"\bexit(?:ed|s)? (?:with|on)\b|\bexit(?:ed)?[ -](?:code|status|value)\b|\bunexpected signal\b"
    r"|\bdid not complete successfully|\breturned (?:an error code|non-zero)"
    r"|\b(?:ended|failed) with (?:code|status|signal)"
    r"|\b(?:terminated|killed|crashed) (?:by|with|on) signal|\blifecycle script [^\n]{1,60} failed"
)
_CLOSES = re.compile(_CLOSED, re.IGNORECASE)
_CLOSING_LINE = re.compile(rf"^[^\n]*(?:{_CLOSED})[^\n]*$", re.IGNORECASE | re.MULTILINE)
"""What a wrapper says at the end of the program that it ran: that it failed, and not why."""
_ENDED = re.compile(r"\bunexpected signal\b|\bterminated by signal\b", re.IGNORECASE)
_HEADER = re.compile(r"^[\w./+-]+\.(?:h|hpp|hh): No such file|cannot open shared object")
_SUMMARY = re.compile(r"\d+ \S+(?: \S+){0,3}(?:, \d+ [^\n]*)? (?:failed|errors?|problems?)\b", re.IGNORECASE)
"""A line that only counts what went wrong."""
_HEADER_NAME = re.compile(r"^[\w+-][\w./+-]*\.(?:h|hpp|hh|hxx)$")
_MEANS_ITSELF = vocabulary("shell python")
"""Types whose message names the very program or file that was asked for."""
_NO_NAME = re.compile(r"<path>(?=: )")
"""The file that was asked for, whose folder and name are left out: any other file is said in the same words."""
_ABSENCE = re.compile(
    r"not found|no such|no required|missing|n['o]t (?:find|open|load|import|locate|resolve)"
    r"|cannot (?:find|open|load|import|locate|resolve)|not (?:installed|defined|exist|available|permitted|allowed)"
    r"|unable to (?:locate|find|resolve|load)"
    r"|could not be (?:resolved|found)|unknown|undefined|unresolved|no (?:module|package)|denied|refused|forbidden"
    r"|unauthori[sz]ed|requires?\b|required|not compatible with|conflicting dependencies|version solving"
    r"|no (?:solution|matching (?:version|package|distribution))\b|failed to select a version",
    re.IGNORECASE,
)
"""Something is not there, does not go with another, or is not allowed: of another thing it is another error."""
_THING = re.compile(
    r"[\w@$.+:/\\-]*\w[@.+:/\\_-]+\w[\w@$.+:/\\-]*"
    r"|(?<![\w-])-{1,2}\w[\w-]*|\w*[a-z][A-Z]\w*|\w*[A-Za-z]\d\w*"
)
"""A name that no language has as a word: of a module, a package, a flag, an extension."""
_DETAIL = re.compile(r"^[ \t]*(?:[-*\u2502>] *)?(?P<detail>\S[^\n]{8,300})$", re.MULTILINE)
_DETAILS = 8
_SLIPS = vocabulary("SyntaxError IndentationError TabError NameError KeyboardInterrupt SystemExit UnboundLocalError")
"""Errors of what was just typed: the next session types something else."""
_MISSPELT = vocabulary("NameError UnboundLocalError")
_SYNTAX = "SyntaxError"
_CONSTANT = re.compile(r"^uninitialized constant \w")
_IN_FILE = re.compile(
    r"^ +File \"(?!<)[^\"\n]+\.py\", line \d+|^\s*(?:# )?\S+\.rb:\d+:in |^(?:file://)?[\w./~@-]+\.[cm]?[jt]sx?:\d+$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Hold what one error has in common with others of its kind.

    Attributes:
        type: The exception or the sort of error, for example ``ModuleNotFoundError``.
        message: The message without what differs, on one line.
        line: The decisive line as it was printed, cut.
        test: The test that failed, when the message alone does not tell this error from others.
        place: The command that failed, when neither the message nor a test tells this error from others.
        state: Which state of the machine it is about; None where it is about another thing.
    """

    type: str
    message: str
    line: str
    test: str = ""
    place: str = ""
    state: MachineState | None = None

    @property
    def is_general(self) -> bool:
        """Return whether errors of other causes say the same: only the command tells them apart."""
        if self.type == _SYNTAX or (self.state is not None and self.state.by_command):
            return True
        if self.type == "shell" and (_NO_NAME.search(self.message) or _SURROUNDINGS.search(self.message)):
            return True
        if self.test or self.type in _MEANS_ITSELF or _HEADER.search(self.message):
            return False
        if re.search(r"cannot find symbol$", self.message):
            return True
        if self.type == "FileNotFoundError" or _ABSENT_FILE.search(self.message):
            return all(_USUAL_NAME.match(name) for name in self.names)
        return any(pattern.search(self.message) for pattern in (_GENERAL, _SURROUNDINGS, _ENDED, PORT_TAKEN))

    @property
    def text(self) -> str:
        """The signature on one line, as people read it."""
        where = f" in {self.test}" if self.test else ""
        return f"{self.type}{where}: {self.message}" if self.message else f"{self.type}{where}"

    @property
    def key(self) -> str:
        """Equal for equal signatures: 24 hexadecimal digits."""
        if self.state is None:
            words = f"{self.type}\n{self.test}\n{self.message}".casefold() + (f"\n{self.place}" if self.place else "")
        else:
            words = f"{self.state.kind}\n{self.place}" if self.state.by_command else self.state.kind
        return _digest(words)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that a recipe is looked up by: its own, and that of the thing that any command may meet so.

        The same command is the same error at any port, another one is it at the same port of the same host.
        """
        if self.state is None or not self.state.thing:
            return (self.key,)
        return (self.key, _digest(f"{self.state.kind} at {self.state.thing}"))

    @property
    def words(self) -> frozenset[str]:
        """The words that tell it from other errors."""
        return _specific(f"{self.test} {self.message}")

    @property
    def things(self) -> frozenset[str]:
        """Return the names in it that are not words of a language, quoted or not."""
        return frozenset(match.strip(".:") for match in _THING.findall(self.message))

    @property
    def names(self) -> frozenset[str]:
        """Return what it is about: what is quoted, and a file before or a name after a colon."""
        return frozenset((*_QUOTED.findall(self.message), *_ABOUT.findall(self.message)))


def signature_of(output: str, action: str = "") -> Signature | None:
    """Return the signature of the error that an output ends with; None when it has none or it says too little.

    Accepts any text. The last exception that was raised decides, of a compiler the first error.

    Args:
        output: What the command printed.
        action: The command that failed; it belongs to the signature of an error that says nothing of its cause.
    """
    text = _BUILT.sub("", _ESCAPES.sub("", output[-_SEARCHED:]).replace("\r\n", "\n"))
    found = _decisive(text)
    if found is None:
        return None
    if _CLOSES.search(found.message) is not None:
        found = _decisive(_CLOSING_LINE.sub("", text)) or found
    found = _with_cause(_with_detail(found, text), text)
    if found.message.casefold() in {"", found.type.casefold()} and (asserted := _asserted(found, text)) is not None:
        found = asserted
    found = replace(found, state=_state_of(found, text, action))
    kind = found.type.rsplit(".", 1)[-1]
    if kind in _SLIPS and not _is_of_a_file(found, kind, text):
        return None
    said = len(found.words) >= _LEAST_WORDS and not _is_stock(found)
    if not (said or found.state is not None or _names_something(found)):
        return None
    return replace(found, place=_SPACE.sub(" ", action).strip()) if found.is_general else found


def _state_of(found: Signature, text: str, action: str) -> MachineState | None:
    """Return the state of the machine that an error is about; a test or assertion is about what it tests."""
    if found.test or found.type.endswith("AssertionError"):
        return None
    start = text.rfind(found.line)
    below = text[start + len(found.line) :] if start >= 0 else ""
    return state_of(f"{found.line}\n{found.message}", below, action)


def _digest(words: str) -> str:
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _decisive(text: str) -> Signature | None:
    return (
        _pytest(text)
        or _runner(text)
        or _compiled(text)
        or _raised(text)
        or _other(text)
        or _said(text)
        or _stated(text)
    )


def _asserted(found: Signature, text: str) -> Signature | None:
    """Return the signature of an assertion that says nothing, with what was asserted; without that, with the test only.

    A test's name tells it from others only where it is a word; None where the error is not an assertion of a test.
    """
    if not found.test or not found.type.endswith("AssertionError"):
        return None
    shown = [*_ASSERTED.finditer(text)]
    if shown:
        code = _SPACE.sub(" ", shown[-1]["code"]).strip()
        return replace(found, message=normalise(code), line=_shortened(f"{found.type}: {code}", MAX_QUOTE))
    name = re.sub(r"^tests?_?|[^A-Za-z]", "", found.test)
    return replace(found, message="", test=found.test if len(name) >= _LEAST_NAME else "")


def is_syntax_error(signature: Signature) -> bool:
    """Return whether a file could not be parsed: another version of the language may parse it, an edit helps once."""
    return signature.type == _SYNTAX


def _is_of_a_file(found: Signature, kind: str, text: str) -> bool:
    """Return whether the error is of a file that the next session meets too, and not of what was just typed."""
    if _IN_FILE.search(text) is None:
        return False
    return kind == _SYNTAX or (kind in _MISSPELT and bool(found.names or _CONSTANT.search(found.message)))


def is_near(one: Signature, other: Signature) -> bool:
    """Return whether two signatures of one type name the same things and share most of their words."""
    if one.type.casefold() != other.type.casefold() or one.test != other.test:
        return False
    if _VERSIONS.findall(one.message) != _VERSIONS.findall(other.message):
        return False
    if one.names != other.names or one.type == "shell" or any(each.is_general or each.state for each in (one, other)):
        return False
    first, second = one.words, other.words
    if one.things != other.things or (first != second and any(_ABSENCE.search(each.message) for each in (one, other))):
        return False
    if min(len(first), len(second)) < _LEAST_NEAR:
        return False
    return len(first & second) >= NEAR * len(first | second)


def _with_cause(found: Signature, text: str) -> Signature:
    """Return the signature with the cause that is printed in a block below its line."""
    shown = found.line if found.line in text else found.message
    cause = cause_below(text.rpartition(shown)[2]) if shown and shown in text and not found.test else ""
    return replace(found, message=normalise(f"{found.message}: {cause}")) if cause else found


def _with_detail(found: Signature, text: str) -> Signature:
    """Return the signature with the line below it that names what is missing, when its own line does not."""
    if found.test or found.names or found.things or found.place or not _ABSENCE.search(found.message):
        return found
    if "<" in found.message or found.type in _MEANS_ITSELF or "'" in found.message:
        return found
    start = text.find(found.line)
    if start < 0:
        return found
    for place, match in enumerate(_DETAIL.finditer(text, start + len(found.line))):
        detail = normalise(match["detail"])
        if place >= _DETAILS:
            break
        if _THING.search(detail) and (found.line.endswith(":") or _ABSENCE.search(detail)):
            return replace(found, message=normalise(f"{found.message}: {match['detail']}"))
    return found


def read_signature(text: str) -> Signature:
    """Return the signature that was written as one line by ``Signature.text``."""
    head, _, message = text.partition(": ")
    kind, _, test = head.partition(" in ")
    return Signature(type=kind, message=message, line=text, test=test)


def normalise(message: str) -> str:
    """Return a message on one line without paths, addresses, ids, dates and numbers."""
    begun = message[: 4 * MAX_LINE]
    if _IMPORTED.search(begun) is not None:
        begun = _IMPORTED_ADDRESS.sub(r"\g<mark>\g<name>\g<mark>", begun)
    text = _ACCOUNT.sub("<account>", _ADDRESS.sub("<url>", begun))
    text = _DATE.sub("<time>", _HOST.sub("<host>", text))
    imported = _IMPORTED.search(text) is not None
    text = _PLACE.sub(lambda match: _without_folders(match, imported=imported), _ID.sub("<id>", text))
    text = _LISTED.sub("N, ...", _SPACE.sub(" ", _NUMBER.sub(_numbered, text))).strip(" .:,;")
    return _shortened(text, MAX_LINE)


def _numbered(match: re.Match[str]) -> str:
    """Return what stands for a number: nothing of it, but of a version its first two parts."""
    if _OF_VERSION.search(match.string, max(0, match.start() - _BEFORE), match.start()) is None:
        return "N"
    return ".".join(match[0].split(".")[:2])


def _shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters: a wrapped error from its cause on, any other one from its start on.

    The first cause from which on everything fits is taken, else the last one.
    """
    if len(text) <= most:
        return text
    causes = [match.end() for match in _CAUSE.finditer(text)]
    start = next((place for place in causes if len(text) - place <= most), causes[-1] if causes else 0)
    text = text[start:].rstrip(")") if start else text
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0]


def _without_folders(match: re.Match[str], *, imported: bool = False) -> str:
    """Return a quoted path's file name, a quoted name such as ``Europe/Kyiv`` as it is, and no other path.

    Of a module that is imported by a path beside the file, its folder is kept: ``./helpers/util``. So is the mark of
    one in the same folder, which is not a package of that name: ``./util``.
    """
    path = match["path"]
    if imported and path is not None and path.startswith(("./", "../")) and (parts := _segments(path)):
        return f"{match['mark']}./{'/'.join(parts[-2:])}{match['end']}"
    if path is None:
        return match[0] if _PACKAGE.match(match[0]) or _HEADER_NAME.match(match[0]) else "<path>"
    if path[0] in "/~" and _FILE_NAME.search(path) is None:
        return "<path>"
    is_path = path[0] in "/.~" or _FILE_NAME.search(path) is not None
    return f"{match['mark']}{path.rsplit('/', 1)[-1]}{match['end']}" if is_path else match[0]


def _segments(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", ".", ".."}]


def _made(kind: str, message: str, line: str, test: str = "") -> Signature:
    message = told(message.removesuffix(" // Object.is equality"))
    wrapped = _WRAPPED.match(message) if kind.casefold() in {"error", "exception"} else None
    if wrapped is not None:
        kind, message = wrapped["type"].rsplit(".", 1)[-1], wrapped["message"]
    missing = _MODULE.match(message)
    if missing is not None:
        kind, message = "ModuleNotFoundError", f"No module named '{missing['name']}'"
    return Signature(
        type=kind.strip(),
        message=normalise(message),
        line=_shortened(_SPACE.sub(" ", line).strip(), MAX_QUOTE),
        test=test,
    )


def _pytest(text: str) -> Signature | None:
    """Return the first failed test of a runner's short summary; its message, else the exception that the log shows."""
    match = _COLLECTED.search(text)
    if match is not None:
        message = match["fixture"] or f"{match['mismatch']}: two test modules have the same name"
        return _made("pytest", message, match[0].removeprefix("E").strip(" :"))
    match = _PYTEST.search(text)
    if match is not None and match["test"]:
        test = match["test"].rsplit("::", 1)[-1].split("[", 1)[0]
        kind, message, line = match["type"] or "", match["message"] or "", match[0]
        begun = message.removesuffix("...").strip()
        for raised in _RAISED.finditer(text):
            whole = raised["message"] or ""
            if raised[0].startswith("E ") and raised["type"].endswith(kind) and whole.startswith(begun if kind else ""):
                kind, message, line = raised["type"], whole, raised[0].removeprefix("E").strip()
                break
        if message.endswith("..."):
            message = begun.rsplit(" ", 1)[0] if " " in begun else ""
        if not kind and not message:
            return None
        return _tested(kind or "AssertionError", message, line, test)
    match = _UNITTEST.search(text)
    thrown = None if match is None else _RAISED.search(text, match.end())
    if thrown is not None and (thrown["message"] or "").startswith("Failed to import test module"):
        thrown = _RAISED.search(text, thrown.end()) or thrown
    if match is None or thrown is None:
        return None
    return _tested(thrown["type"], thrown["message"] or "", thrown[0], match["test"])


def _runner(text: str) -> Signature | None:
    """Return the first failed test of cargo, of Node's runner or of Go, with what it says."""
    match = _PANICKED.search(text)
    if match is not None:
        test = match["test"].rsplit("::", 1)[-1]
        sides = _SPACE.sub(" ", match["sides"]).strip()
        message = f"{match['message']} ({sides})" if sides else match["message"]
        return _made("panic", message, message, "" if test == "main" else test[:MAX_TEST])
    own = test_error(text)
    if own is not None:
        return _tested(own.type, own.message, own.line, own.test)
    match = _TAP.search(text)
    if match is not None:
        message = match["block"] or match["message"] or match["quoted"] or ""
        line = f"{match['type'] or 'error'}: {message}"
        return _tested(match["type"] or "AssertionError", message, line, match["test"])
    match = _GO_TEST.search(text)
    return None if match is None else _tested("go", match["message"], match[0], match["test"])


def _tested(kind: str, message: str, line: str, test: str) -> Signature:
    """Return the signature of a test's failure; with the test's name where the message would fit other tests too."""
    short = _short(kind)
    found = _made(short, message, line)
    own = (
        _is_stock(found)
        or _GENERAL.search(found.message) is not None
        or (len(found.words) < _LEAST_WORDS and not (found.words and found.names))
    )
    return _made(short, message, line, test[:MAX_TEST]) if own else found


def _short(kind: str) -> str:
    """Return a type without its module, unless only the module tells it from others: ``struct.error``."""
    parts = kind.rsplit(".", 2)
    return ".".join(parts[-2:]) if parts[-1].islower() else parts[-1]


def _raised(text: str) -> Signature | None:
    """Return the exception that was raised last; a warning counts only where something was raised."""
    warned = "Traceback" in text
    found = [match for match in _RAISED.finditer(text) if warned or not match["type"].endswith("Warning")]
    after = found[-1].end() if found else 0
    found += _UNCAUGHT.finditer(text, after)
    found = [
        match
        for match in found
        if not _SUMMARY.match(match["message"] or "")
        and not (match["type"] == "Error" and (match["message"] or "").endswith(":"))
    ]
    if not found:
        found = [match for match in _PYTEST.finditer(text) if match["type"] and not match["message"].endswith("...")]
    if not found:
        return None
    last = found[-1]
    return _made(_short(last["type"]), last["message"] or "", last[0].removeprefix("E  ").strip())


def _compiled(text: str) -> Signature | None:
    """Return the error that a tool printed in its own form; an exception that was raised after it comes first."""
    return _of_tool(tool_error(text))


def _said(text: str) -> Signature | None:
    """Return the line that says in words what is wrong, where no reader knows the tool."""
    return _of_tool(said_error(text, lambda line: len(_specific(normalise(line)))))


def _stated(text: str) -> Signature | None:
    """Return the line that says in what state the machine is, where no other line says what is wrong."""
    line = stated_line(text)
    return None if line is None else _made("error", line, line)


def _of_tool(found: ToolError | None) -> Signature | None:
    return None if found is None else _made(found.type, found.message, found.line, found.test[:MAX_TEST])


def _other(text: str) -> Signature | None:
    for pattern, kind in (
        (_PYTHON, "python"),
        (_COMPILER, "error"),
        (_RUST, "error"),
        (_GO, "go"),
        (_PANIC, "panic"),
        (_SHELL, "shell"),
        (_SCRIPT, "shell"),
        (_LINKER, "linker"),
        (_PERL, "perl"),
        (_MAKE, "make"),
        (_NPM, "npm"),
        (_SPOKEN, "error"),
        (_NAMED, ""),
        (_PLAIN, "error"),
    ):
        told = [one for one in pattern.finditer(text) if not _SUMMARY.match(one["message"])]
        match = next((one for one in told if not one["message"].endswith(":")), told[0] if told else None)
        if match is None:
            continue
        groups = match.groupdict()
        named = groups.get("code") or groups.get("program") or kind
        module = groups.get("module")
        message = f"Can't locate the module '{module.replace('/', '::')}'" if module else match["message"]
        return _made(named, message, match[0])
    return None


def _specific(text: str) -> frozenset[str]:
    words = (word.casefold().strip("._-") for word in _WORD.findall(text))
    return frozenset(word for word in words if len(word) > 1 and word not in _TOO_GENERAL)


def _is_stock(found: Signature) -> bool:
    return not found.test and found.message.casefold() in _STOCK


def _names_something(found: Signature) -> bool:
    """Return whether it names one thing, such as a missing command, which is enough to tell it from others."""
    return bool(found.test) or bool(found.words and (found.names or found.type in {"shell", "rejected"}))
