"""What a step ran: its command, the programs in it, and the name under which it can be tried again."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reasoningbank.types.session import Step


def vocabulary(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


READING = "reading"
"""The name that all attempts to look something up share: finding it elsewhere repairs a lookup that failed."""
_EXECUTING_WORDS = vocabulary(
    "bash shell sh zsh exec execute executes terminal run runs command commands console powershell python ipython "
    "jupyter interpreter test tests"
)
_READING_WORDS = vocabulary(
    "read view open cat search grep glob find list ls fetch get browse scroll goto look show lookup query"
)
_READERS = vocabulary(
    "cat head tail less more bat nl tac ls dir tree find fd grep egrep fgrep rg ag ack sed awk gawk cut sort uniq wc "
    "diff cmp file stat xxd hexdump strings echo printf which type man jq yq column tee tr pwd date env printenv "
    "open goto scroll_down scroll_up search_dir search_file find_file view strace lsof ps curl wget gh test ["
)
_READING_GIT = vocabulary("show diff log status blame grep ls-files branch reflog rev-parse remote describe")
_SHOWERS = vocabulary(
    "df du free top htop uptime ss netstat ping nslookup dig host nproc uname id whoami groups lscpu lsblk dmesg "
    "nvidia-smi ifconfig hostname arch tput time ldd nm objdump readelf otool"
)
_SHOWING = vocabulary(
    "get list ls logs describe show status history version info whoami images ps inspect search view top events help "
    "outdated tree doctor list-units is-active freeze explain current current-context get-contexts get-value"
)
_SHOWN_BY = vocabulary("--version -V --help -h --list")
_SILENT = vocabulary("cd pushd popd export set source . true : sleep mkdir touch unset alias umask ulimit wait exit")
_FINDS_NOTHING = vocabulary("grep egrep fgrep rg ag ack diff cmp test [ which type command pgrep find fd")
_EDITORS = vocabulary("edit create insert append str_replace_editor str_replace apply_patch")
_PREFIXES = vocabulary("time nohup nice command env exec stdbuf unbuffer winpty then do else !")
SURROUNDINGS = vocabulary(
    "xvfb-run dbus-run-session dbus-launch arch dotenv doppler infisical chamber aws-vault direnv"
)
"""Programs that give another one a display, variables or another processor, and then start it."""
_OF_SURROUNDINGS = vocabulary("-s -n -e -f -w -p --server-args --server-num -c --env --command")
"""Options of theirs that a value follows."""
_RUNNERS = vocabulary("uv poetry pipenv pdm hatch rye bundle npx pnpx bunx conda mamba coverage")
_RUNNER_WORDS = frozenset(("run", "exec", "dlx", "x"))
_TWO_WORDS = vocabulary(
    "git npm yarn pnpm bun pip pip3 cargo go mvn gradle make docker kubectl apt apt-get brew terraform helm uv poetry "
    "python python3 node ruby perl bash sh php java dotnet systemctl conda aws gcloud az"
)
_SEPARATOR = re.compile(
    r"""
      '[^']*' | "(?:\\.|[^"\\])*" | \\.          # quoted text stays whole
    | (?P<inner>\$\() | `[^`]*`                  # and so does a command whose output is an argument
    | (?P<heredoc><<-?\s*['"]?(?P<word>\w+)['"]?)
    | (?P<cut>\&\&|\|\|?|;|\n)
    """,
    re.VERBOSE | re.DOTALL,
)
_MARKED = re.compile(r"['\"\\$`<&|;\n]")
"""The signs that a line needs to be more than one command, or a command to be more than words between blanks."""
_WORD = re.compile(
    r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\$\((?:[^()]|\([^()]*\)){0,400}\)|`[^`]*`|\\.|[^\s'"\\]|['"\\])+""", re.DOTALL
)
_OF_ACCOUNT = vocabulary("-u -g -h -p -C -D -R -T --user --group --host --prompt --chdir")
"""Options of ``sudo`` that a value follows."""
_REDIRECTION = re.compile(r"^(?:\d*|&)>{1,2}(?:&\d+|.*)$|^<")
_INPUT = re.compile(r"^<[^<(&]")
_BACKGROUND = re.compile(r"(?<![&>])&(?![&>\d])")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_TOOL_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MAX_COMMAND = 20_000
_MAX_NAME = 160
_COMMAND_KEYS = ("command", "cmd", "script", "code", "input")
_PLACE_KEYS = ("file_path", "filePath", "path", "filename", "file", "notebook_path", "target_file", "url")


@dataclass(frozen=True, slots=True)
class Program:
    """One program of a command line.

    Attributes:
        words: The program and its arguments without prefixes such as ``sudo``, variables and redirections.
        folder: Where ``cd`` went before it; empty when it did not.
        settings: The variables that were set for it alone, such as ``PYTHONPATH=src``.
        exported: The variables that the command line exported before it, and the limits that it set (``ulimit -n 9``).
        source: The file that was given as its input with ``<``; empty without one.
        launcher: What started it, such as ``npx`` or ``uv run``.
        rights: How it was given the rights of another account, such as ``sudo -u postgres``; it is quoted with them.
        activated: The command before it that switched an environment on, such as ``. venv/bin/activate``.
        program: The program's name without its folder.
    """

    words: tuple[str, ...]
    folder: str = ""
    settings: tuple[str, ...] = ()
    exported: tuple[str, ...] = ()
    source: str = ""
    launcher: tuple[str, ...] = ()
    rights: tuple[str, ...] = ()
    activated: str = ""
    program: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "program", self.words[0].rsplit("/", 1)[-1])

    @property
    def reads(self) -> bool:
        """Return whether it only shows what is there already, so that a summary in its output is a quotation."""
        if self.program == "git":
            return self.word(1) in _READING_GIT
        if self.program == "sed" and self.word(1).startswith(("-i", "--in-place")):
            return False
        return self.program in _READERS and (self.program != "test" or self.words[0] == "test")

    @property
    def silent(self) -> bool:
        """Return whether it only prepares what comes after it."""
        return self.program in _SILENT

    def word(self, index: int) -> str:
        """Return the word at that place, empty beyond the end."""
        return self.words[index] if index < len(self.words) else ""


def command(step: Step) -> str:
    """Return the shell command or the code that the step executed; empty when its tool executes nothing."""
    return _command(step.tool, step.action) if step.action else ""


@functools.lru_cache(maxsize=256)
def _command(tool: str, action: str) -> str:
    executes = _executes(tool, action)
    if action.lstrip().startswith("{"):
        arguments = _arguments(action)
        for key in _COMMAND_KEYS[: None if executes else 2]:
            text = _command_text(arguments.get(key))
            if text and (executes or not _is_word(tool, _READING_WORDS)):
                return text[:_MAX_COMMAND]
        if arguments:
            return ""
    return action[:_MAX_COMMAND] if executes else ""


def parts(line: str) -> tuple[Program, ...]:
    """Return the programs of a command line in order. Accepts any text.

    What stands in a here-document is not a command.
    """
    return _parts(line[:_MAX_COMMAND])


def proven_by_status(line: str) -> tuple[Program, ...]:
    """Return the programs of a command line that all succeeded when its exit status is 0. Accepts any text.

    These are the programs of its last chain of ``&&``. What stands before ``|`` (but with ``pipefail``), ``;`` or a
    line end does not decide the status; beside ``||`` no single program does, and neither does one that is negated or
    left in the background.
    """
    return _proven_by_status(line[:_MAX_COMMAND].rstrip(" \t\n;"))


@functools.lru_cache(maxsize=256)
def _proven_by_status(line: str) -> tuple[Program, ...]:
    chain: list[str] = []
    joins = {"&&", "|"} if "pipefail" in line else {"&&"}
    for cut, segment in reversed(_segments(line)):
        text = segment.strip()
        if cut == "||" or text.startswith("!") or _BACKGROUND.search(text):
            return ()
        chain.append(text)
        if cut not in joins:
            break
    count = sum(1 for segment in chain if _program_words(segment)[0])
    found = _parts(line)
    return found[len(found) - count :] if count <= len(found) else ()


def hides_its_status(line: str) -> bool:
    """Return whether the exit status of a command line is not that of the program that did its work.

    So it is where another program stands behind that one: ``make | tee build.log``, ``make; echo done``,
    ``make || true``. Accepts any text.
    """
    if _HIDING.search(line) is None:
        return False
    working = [part for part in parts(line) if not part.silent and not part.reads]
    return bool(working) and working[-1] not in proven_by_status(line)


_HIDING = re.compile(r"[|;&\n]")
"""The signs of which a command line that hides a status holds one."""


def only_reads(step: Step) -> bool:
    """Return whether the step looked something up and changed and executed nothing."""
    line = command(step)
    if line:
        working = [part for part in parts(line) if not part.silent]
        return bool(working) and all(part.reads for part in working)
    return _is_word(step.tool, _READING_WORDS)


def only_shows(part: Program) -> bool:
    """Return whether the program only looks, by itself or by what it is told: ``df``, ``docker ps``, ``npm ls``."""
    if part.reads or part.silent or part.program in _SHOWERS:
        return True
    told = [word for word in part.words[1:5] if not word.startswith("-")]
    return any(word in _SHOWING for word in told[:3]) or not _SHOWN_BY.isdisjoint(part.words[1:])


def found_nothing(step: Step) -> bool:
    """Return whether the exit status only says that a search or comparison had no match."""
    if step.exit_code != 1:
        return False
    programs = [part for part in parts(command(step)) if not part.silent]
    if not programs:
        return False
    last = programs[-1]
    return last.program in _FINDS_NOTHING or (last.program == "git" and last.word(1) in {"diff", "grep"})


def attempt(step: Step) -> str:
    """Return a name that is equal for tries of the same action; empty without an action."""
    if not step.action and not step.tool:
        return ""
    if only_reads(step):
        return READING
    line = command(step)
    if not line.strip():
        return _tool_attempt(step)
    working = [part for part in parts(line) if not part.silent and not part.reads]
    if not working:
        return step.tool or line.split(maxsplit=1)[0][:_MAX_NAME]
    return _program_attempt(working[-1])


def attempts_passed(step: Step) -> list[str]:
    """Return the names of all actions of the step's command line that its exit status proves to have passed."""
    line = command(step)
    if step.failed or step.exit_code != 0 or "&&" not in line:
        return []
    return [_program_attempt(part) for part in proven_by_status(line) if not part.silent and not part.reads]


def _program_attempt(part: Program) -> str:
    wanted = 2 if part.program in _TWO_WORDS else 1
    operands = [word for word in part.words[1:] if not word.startswith("-") or word in {"-m", "-c"}]
    if part.word(1) in {"-m", "run", "compose"}:
        wanted += 1
    elif wanted == 1 and operands and "/" not in part.words[0]:
        wanted = 2
    return " ".join([part.program, *operands[: wanted - 1]])[:_MAX_NAME]


def _tool_attempt(step: Step) -> str:
    if step.action.lstrip().startswith("{"):
        arguments = _arguments(step.action)
        for key in _PLACE_KEYS:
            place = arguments.get(key)
            if isinstance(place, str) and place:
                return f"{step.tool} {place}"[:_MAX_NAME]
    return (step.tool or step.action.split(maxsplit=1)[0])[:_MAX_NAME]


def _executes(tool: str, action: str) -> bool:
    if not tool:
        return not action.lstrip().startswith("{")
    return _is_word(tool, _EXECUTING_WORDS) or action.split(maxsplit=1)[:1] == [tool]


@functools.lru_cache(maxsize=1024)
def _tool_words(tool: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _TOOL_WORDS.findall(tool[:200]))


def _is_word(tool: str, words: frozenset[str]) -> bool:
    return not words.isdisjoint(_tool_words(tool))


@functools.lru_cache(maxsize=256)
def _arguments(action: str) -> Mapping[str, object]:
    try:
        value = json.loads(action)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _command_text(value: object) -> str:
    if isinstance(value, list):
        words = [word for word in value if isinstance(word, str)]
        if len(words) >= 3 and words[1] in {"-c", "-lc", "-lic", "-ic"}:
            return words[2]
        return " ".join(words)
    return value if isinstance(value, str) else ""


@functools.lru_cache(maxsize=512)
def _parts(line: str) -> tuple[Program, ...]:
    found: list[Program] = []
    folder = ""
    exported: tuple[str, ...] = ()
    activated = ""
    for _, segment in _segments(line):
        words, settings, source, launcher, rights = _program_words(segment)
        if not words:
            continue
        if words[0] == "cd" and len(words) > 1:
            folder = words[1].strip("'\"").rstrip("/")
        found.append(Program(words, folder, settings, exported, source, launcher, rights, activated))
        if _activates(words):
            activated = " ".join(words)
        if words[0] == "export":
            exported += tuple(word for word in words[1:] if _ASSIGNMENT.match(word))
        if words[0] == "ulimit" and len(words) > 2:
            exported += (" ".join(words),)
        if found[0].program in _EDITORS:
            break
    return tuple(found)


_ACTIVATIONS = frozenset({("conda", "activate"), ("mamba", "activate"), ("pyenv", "activate"), ("nvm", "use")})


def _activates(words: Sequence[str]) -> bool:
    """Return whether the command switches an environment of Python, Node or Ruby on for those after it."""
    if words[0] in {"source", "."}:
        return len(words) > 1 and not words[1].startswith("-")
    return tuple(words[:2]) in _ACTIVATIONS


def _segments(line: str) -> list[tuple[str, str]]:
    """Return the commands of a line in order, each behind what separates it from the one before."""
    if not _MARKED.search(line):
        return [("", line)]
    segments: list[tuple[str, str]] = []
    before = ""
    start = position = 0
    while match := _SEPARATOR.search(line, position):
        position = match.end()
        if match["inner"]:
            position = _closed(line, position)
        elif match["heredoc"]:
            first_line = line.find("\n", position)
            if first_line >= 0:
                end = re.compile(rf"^\s*{match['word']}\s*$", re.MULTILINE).search(line, first_line)
                segments.append((before, line[start:first_line]))
                before = "\n"
                start = position = end.end() if end else len(line)
        elif match["cut"]:
            segments.append((before, line[start : match.start()]))
            before = match["cut"]
            start = position
    segments.append((before, line[start:]))
    return segments


def _closed(line: str, start: int) -> int:
    """Return the place after the bracket that closes the one before ``start``; ``start`` when nothing closes it."""
    depth = 1
    for place in range(start, len(line)):
        depth += (line[place] == "(") - (line[place] == ")")
        if not depth:
            return place + 1
    return start


def _ungrouped(segment: str) -> str:
    """Return the segment without the brackets of a group that begins or ends in it."""
    text = segment.strip()
    while text.startswith(("(", "{ ")):
        text = text[1:].lstrip()
    for opening, closing in ("()", "{}"):
        while text.endswith(closing) and text.count(closing) > text.count(opening):
            text = text[:-1].rstrip()
    return text


@functools.lru_cache(maxsize=512)
def _program_words(segment: str) -> tuple[tuple[str, ...], tuple[str, ...], str, tuple[str, ...], tuple[str, ...]]:
    words: list[str] = (_WORD.findall if _MARKED.search(segment) else str.split)(_ungrouped(segment))
    settings: list[str] = []
    launcher: list[str] = []
    rights: list[str] = []
    source = ""
    if "<" in segment or ">" in segment:
        words, source = _without_redirections(words)
    index = 0
    while index < len(words):
        word = words[index]
        name = word.rsplit("/", 1)[-1]
        if name == "sudo":
            start = index
            index += 1
            while index < len(words) and words[index].startswith("-"):
                index += 2 if words[index] in _OF_ACCOUNT else 1
            rights += words[start:index]
        elif name in SURROUNDINGS and (start := _started_by(words, index)) > index:
            launcher += words[index:start]
            index = start
        elif _ASSIGNMENT.match(word) or name in _PREFIXES:
            if _ASSIGNMENT.match(word):
                settings.append(word)
            index += 1
        elif name in {"timeout", "gtimeout"}:
            index += 1
            while index < len(words) and (words[index].startswith("-") or words[index][:1].isdigit()):
                index += 1
        elif name in _RUNNERS and index + 1 < len(words) and (words[index + 1] in _RUNNER_WORDS or name.endswith("x")):
            start = index
            index += 2 if words[index + 1] in _RUNNER_WORDS else 1
            while index < len(words) and words[index].startswith("-") and words[index] != "-m":
                index += 1
            launcher += words[start:index]
            if index < len(words) and words[index] == "-m":
                words[index - 1] = "python"
                index -= 1
                break
        else:
            break
    return tuple(words[index:]), tuple(settings), source, tuple(launcher), tuple(rights)


def _without_redirections(words: Sequence[str]) -> tuple[list[str], str]:
    """Return the words without those that redirect, and the file that is read as the input."""
    kept: list[str] = []
    source = ""
    redirected = ""
    for word in words:
        if redirected == "<":
            source = word
        if not redirected and not _REDIRECTION.match(word):
            kept.append(word)
        if not redirected and _INPUT.match(word):
            source = word[1:]
        redirected = ("<" if word == "<" else ">") if word.endswith((">", "<")) and not redirected else ""
    return kept, source


def _started_by(words: Sequence[str], index: int) -> int:
    """Return where the program begins that another one gives its surroundings; ``index`` when it starts none."""
    if "--" in words[index:]:
        after = words.index("--", index) + 1
        return after if after < len(words) else index
    place = index + 1
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in _OF_SURROUNDINGS else 1
    return place if place < len(words) and words[index] not in {"doppler", "infisical", "chamber", "direnv"} else index
