"""What a step changed and what it ran: the parts of which a recipe is made.

A step may do both: ``pip install x && pytest`` changes something and then runs something. What only looks is neither.
What cannot be described in a line or two, such as a program that rewrites files, is a change that is not clear.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from reasoningbank.sessions.commands import Program, command, only_reads, parts, vocabulary
from reasoningbank.types.session import Step

MAX_CHANGE = 400
"""Most characters that describe one change."""
_MAX_SIDE = 160
_MAX_COMMAND = 200

_INSTALLERS = vocabulary(
    "pip pip3 npm yarn pnpm bun apt apt-get brew cargo gem go conda mamba uv poetry bundle composer dotnet "
    "pipenv pdm mix apk dnf yum pacman "
    "choco winget port flutter pub sbt cabal stack opam luarocks cpan pipx vcpkg conan ansible-galaxy snap nuget paket "
    "pod carthage tlmgr dart renv shards zypper rosdep pre-commit playwright helm"
)
_INSTALLING = vocabulary(
    "install i ci add get update upgrade sync tidy remove uninstall lock require dump-autoload dumpautoload deps.get"
)
_INSTALLS_INLINE = re.compile(
    r"\binstall\.packages\(|\bBiocManager::install\(|\brenv::(?:restore|install)\("
    r"|\bPkg\.(?:add|instantiate)\("
)
"""Programs of R and Julia, typed in, that install packages."""
FILTERS = vocabulary("jq yq")
"""Programs that only read, by a program of their own that may be wrong."""
_VERSIONERS = vocabulary("rbenv nvm pyenv asdf volta rustup sdk fnm jenv n corepack mise")
_CHOOSING = vocabulary("use local global install default override set shell add enable")
_MOVERS = vocabulary("mv cp rm ln chmod chown mkdir touch export unset patch dos2unix")
_GIT_CHANGES = vocabulary(
    "checkout restore reset apply stash pull merge revert clone submodule config clean switch cherry-pick rm mv rebase "
    "fetch am lfs"
)
_SERVICES = vocabulary(
    "systemctl service docker docker-compose podman createdb dropdb createuser dropuser psql mysql mysqladmin mariadb "
    "kill pkill killall fuser alembic redis-server docker-php-ext-install docker-php-ext-enable phpenmod pecl pear"
)
_SERVICE_READS = vocabulary(
    "ps logs images inspect version info status top stats port diff history search events ls list config is-active "
    "show cat list-units"
)
_SQL_CLIENTS = vocabulary("psql mysql mariadb")
_SQL_CHANGES = re.compile(
    r"\b(?:create|alter|insert|update|delete|drop|grant|revoke|truncate)\b|(?:^|\s)-f\b", re.IGNORECASE
)
_OF_XARGS = vocabulary("-n -I -P -L -d -s -a -E")
"""Options of ``xargs`` that a value follows."""
_PIPED = re.compile(r"[^;&|\s][^;&|\n]{0,200}(?:\|[^;&|\n]{1,200}){0,4}\|\s*xargs\b[^;&|\n]*")
_SUBSTITUTION = re.compile(
    r"(?:^|[\s;{/,\d$])s(?P<mark>[/|#,@!:])(?P<old>(?:\\.|(?!(?P=mark)).){1,400})(?P=mark)(?P<new>(?:\\.|(?!(?P=mark)).){0,400})(?P=mark)"
)
_IN_PLACE = re.compile(r"-i|--in-place|-pi|-p?[ln]?i$")
_REWRITING = vocabulary("--fix --write -w --in-place -i --unsafe-fixes -a -A -F --autocorrect --autocorrect-all fix")
"""Options that make a linter change the files that it checks."""
LINTERS = vocabulary(
    "ruff flake8 pylint mypy pyright black isort eslint prettier tsc biome golangci-lint rubocop shellcheck clang-tidy "
    "ktlint swiftlint phpstan gofmt goimports autopep8 stylelint standardrb php-cs-fixer phpcbf pint"
)
"""Programs that check or format source code."""
_FORMATTERS = vocabulary("black isort autopep8 php-cs-fixer phpcbf pint")
_EDITING = vocabulary("sed perl ruby gawk awk")
"""Programs that replace lines of a file in its place when they are told to."""
_CHANGERS = _INSTALLERS | _VERSIONERS | _MOVERS | LINTERS | _FORMATTERS | _SERVICES | _EDITING | vocabulary("cpanm git")
"""Programs that may change something in a known way, beside those whose name begins with python."""
_WRITERS = vocabulary("Write create create_file write_file write new_file")
_EDIT_WORDS = ("edit", "replace", "patch", "insert", "append")
_OLD = ("old_string", "old_str", "old_text", "search", "oldText", "oldString")
_NEW = ("new_string", "new_str", "new_text", "replace", "newText", "newString", "insert_text")
_PLACE = ("file_path", "path", "filename", "file", "notebook_path", "target_file", "absolute_path", "filePath")
_WRITTEN = re.compile(
    r"(?:>{1,2}|\btee(?: -a)?)\s*(?P<file>[\w./~+-]+)[^\n]{0,200}<<"
    r"|<<-?\s*['\"]?\w+['\"]?\s*>{1,2}\s*(?P<after>[\w./~+-]+)"
)
_MARK = re.compile(r"<<-?\s*['\"]?(\w+)")
_PRINTED = re.compile(
    r"\b(?:echo|printf)\b(?:'[^']{0,400}'|\"(?:\\.|[^\"\\]){0,400}\"|[^\n|;'\">]){0,60}?(?<![0-9&])>{1,2}\s*"
    r"(?P<file>(?!/dev/|&)[\w./~+-]+)"
)
_WRITES = re.compile(
    r"open\([^)\n]{0,200},\s*(?:mode=)?['\"][wa]|\.write_text\(|writelines\(|\.write\(|shutil\.|os\.(?:rename|remove)|fileinput"
    r"|\b(?:writeFile|outputFile)(?:Sync)?\(|\bfile_put_contents\(|\bFile\.write\b|\bwriteTextFile(?:Sync)?\("
)
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (?P<file>[^\n]+)$", re.MULTILINE)
_DIFFED = re.compile(r"^\+\+\+ (?:b/)?(?P<file>[^\s]+)[^\n]*$", re.MULTILINE)
_APPLIES = re.compile(r"^\s*(?:git apply|patch)\b[^\n]*<<", re.MULTILINE)
SOURCE_FILE = re.compile(
    r"(?<![\w/.:-])(?:[\w.-]{1,80}/){0,20}(?P<base>[\w-][\w.-]{0,80}?\.(?:py|js|jsx|ts|tsx|mjs|vue|rs|go|java|kt|c|h|cc|cpp|rb"
    r"|php|cs|swift|exs?|dart|scala|sh|md|rst|toml|ya?ml|json|html|css|scss|sql|ini|cfg))(?![\w/-]|\.\w)"
)
"""The name of a file of source code, of a text or of settings, with its folders as they are written."""
DOCUMENT = re.compile(r"\.(?:md|mdx|rst|adoc)$|(?:^|/)(?:CHANGELOG|CHANGES|README|LICENSE|NOTICE|AUTHORS)(?:\.\w+)?$")
"""The name of a file that says something to readers, and nothing to a program."""
_COPY = re.compile(r"\.(?:bak|backup|orig|original|old|save|final|tmp)\d*$")
_MAX_WHOLE = 2 * _MAX_SIDE
"""A file that was written anew with more characters than this is not said in a line or two."""
_SPACE = re.compile(r"\s+")
_BLANK_LINES = re.compile(r"\A\s*\n")
_BREAK = re.compile(r"\s*\n\s*")
_SCRIPT = re.compile(r"^[\w./~-]+\.(?:py|js|ts|mjs|cjs|rb|sh|pl|php)$")
_INTERPRETERS = vocabulary("python python3 node ruby bash sh perl php deno tsx ts-node")
_OPENERS = ("open", "create", "edit")
_SPAN = re.compile(r"^\d{1,7}:\d{1,7}$")
_TOOL_FILE = re.compile(r"^(?:str_replace_editor|edit_anthropic)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that was changed.

    Attributes:
        text: What was done, in the session's own words, on a line or two.
        file: The file that was changed; empty when it was none or not one.
        whole: True when the file was written anew as a whole.
        clear: True when the text says what was changed; a program that rewrites files says it nowhere.
        old: The lines that were replaced, as far as the session says them.
        new: The lines that took their place.
        way: True when it is another way to run the action, and changes nothing else.
        quote: The whole part of the command line that made this change and others; empty when ``text`` is all of it.
    """

    text: str
    file: str = ""
    whole: bool = False
    clear: bool = True
    old: str = ""
    new: str = ""
    way: bool = False
    quote: str = ""

    @property
    def said(self) -> str:
        """The change as it is shown: the whole command line, where it did more than this."""
        return self.quote or self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """Hold what one step did.

    Attributes:
        ran: What it ran, equal for the same action; empty when it ran nothing.
        shown: The command as it was written, without what only prepares or filters it.
        program: The program that it ran.
        script: The script that the program ran; empty when it ran none.
        changes: What it changed.
        filtered: True when a filter stood between the program and what was seen of it.
        piped: True when the exit status is that of another program, which only showed the output.
        programs: The programs that it ran, in order.
    """

    ran: str = ""
    shown: str = ""
    program: str = ""
    script: str = ""
    changes: tuple[Change, ...] = ()
    filtered: bool = False
    piped: bool = False
    programs: tuple[Program, ...] = ()


def doings_of(steps: Sequence[Step]) -> tuple[Doing, ...]:
    """Return what each step did; an edit of the file that is open names it.

    A script that the session wrote to replace lines of a file is not a change where it is written, but where it is run.
    """
    return _doings_of(tuple(steps))


@functools.lru_cache(maxsize=2)
def _doings_of(steps: tuple[Step, ...]) -> tuple[Doing, ...]:
    found: list[Doing] = []
    opened = ""
    scripts: dict[str, tuple[Change, ...]] = {}
    for step in steps:
        doing = doing_of(step)
        line = command(step)
        first = next(iter(parts(line)), None) if line.lstrip().startswith(_OPENERS) else None
        if first is not None and first.program in {"open", "create"} and first.word(1):
            opened = first.word(1).strip("'\"")
        if first is not None and first.program == "edit" and opened:
            named = [
                change if change.file else replace(change, file=opened, text=f"in {opened}, {change.text}")
                for change in doing.changes
            ]
            doing = replace(doing, changes=tuple(named))
        for change in doing.changes:
            if change.whole and change.file.endswith(".py") and (made := replaced_by(change.new)):
                scripts[_base(change.file)] = made
                doing = replace(doing, changes=tuple(each for each in doing.changes if each is not change))
        if _base(doing.script) in scripts and doing.program.startswith("python"):
            made = scripts[_base(doing.script)]
            doing = replace(doing, changes=(*doing.changes, *made), ran="", script="", programs=())
        found.append(doing)
    return tuple(found)


def doing_of(step: Step) -> Doing:
    """Return what the step ran and what it changed. Accepts any step."""
    line = command(step)
    if not line:
        return Doing(changes=_edits(step))
    programs = parts(line)
    if programs and _is_editor(programs[0]):
        return Doing(changes=_typed_edit(line))
    changes = [*_written(line), *_applied(line)]
    runs: list[Program] = []
    applies = bool(changes) and _APPLIES.search(line) is not None
    changed = [None if applies and _applies(part) else _changed(part) or _of_each(part, line) for part in programs]
    quotes = _quotes(programs, changed, line)
    for change, quote, part in zip(changed, quotes, programs, strict=True):
        if change is not None:
            changes.append(replace(change, quote=quote))
        elif (
            (not part.reads or part.program in FILTERS)
            and not part.silent
            and part.program not in {"echo", "printf", "tee", "cp"}
            and not (applies and _applies(part))
        ):
            runs.append(part)
    working = [part for part in programs if not part.silent]
    if not runs and not changes and len(working) == 1 and working[0].program == "git":
        runs = working
    hiding = [part for part in runs if _hides_a_change(part, line)]
    if hiding:
        said = replaced_by(_typed(hiding[0], line)) if len(hiding) == 1 else ()
        changes += said or [Change(text=cut(line, _MAX_COMMAND), clear=False)]
        runs = [part for part in runs if not said or part is not hiding[0]]
    if not runs:
        alone = [part for part, change in zip(programs, changed, strict=True) if change is not None]
        if len(alone) == 1 and not _written(line):
            return Doing(
                ran=_key(alone),
                shown=_shown(alone),
                program=alone[0].program,
                changes=tuple(changes),
                piped=_is_piped(line),
                programs=tuple(alone),
            )
        return Doing(changes=tuple(changes))
    last = runs[-1]
    return Doing(
        ran=_key(runs),
        shown=_shown(runs),
        program=last.program,
        script=next((word for word in last.words[1:] if _SCRIPT.match(word)), "")
        if last.program in _INTERPRETERS
        else "",
        changes=tuple(changes),
        filtered=_is_filtered(line),
        piped=_is_piped(line),
        programs=tuple(runs),
    )


def _quotes(programs: Sequence[Program], changed: Sequence[Change | None], line: str) -> list[str]:
    """Return for each program the changes of its command line that stand together, with the folder; empty for one.

    A change that was made by several programs one after the other is quoted as a whole: the last one alone would not
    do it again.
    """
    quotes = [""] * len(programs)
    if all(change is None for change in changed):
        return quotes
    group: list[int] = []
    for place in range(len(programs) + 1):
        part = programs[place] if place < len(programs) else None
        if part is not None and (
            changed[place] is not None or part.program in {"cd", "pushd", "export", "source", "."}
        ):
            group.append(place)
            continue
        while group and changed[group[-1]] is None:
            group.pop()
        if len(group) > 1:
            between = " && " if "&&" in line else "; "
            whole = "ran: " + cut_command(between.join(_as_written(programs[each]) for each in group))
            quotes = [whole if each in group else quote for each, quote in enumerate(quotes)]
        elif group and (programs[group[0]].rights or programs[group[0]].settings or programs[group[0]].launcher):
            quotes[group[0]] = f"ran: {cut_command(_as_written(programs[group[0]]))}"
        group = []
    return quotes


def _applies(part: Program) -> bool:
    return part.program == "patch" or [*part.words[:2]] == ["git", "apply"]


def _does(part: Program) -> bool:
    """Return whether a program that may also only show things was told to do one."""
    if part.program == "fuser":
        return any(word in {"-k", "--kill"} or re.match(r"-[a-z]*k", word) for word in part.words[1:])
    return part.program != "alembic" or part.word(1) in {"merge", "stamp"}


def _as_written(part: Program) -> str:
    """Return the program as it was written, with its rights, the variables set for it alone, and what started it."""
    return " ".join([*part.rights, *part.settings, *part.launcher, *part.words])


def cut(text: str, characters: int) -> str:
    """Return the text on one line, cut with an ellipsis."""
    line = _SPACE.sub(" ", text[: 4 * characters]).strip()
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"


def cut_command(text: str, characters: int = _MAX_COMMAND) -> str:
    """Return the command on one line; a long one is cut after a whole word where quotes and brackets are balanced."""
    line = _BREAK.sub(" ", text[: 4 * MAX_CHANGE]).strip()
    if len(line) <= characters:
        return line
    for place in range(characters - 2, 0, -1):
        if line[place] == " " and _is_balanced(line[:place]):
            return f"{line[:place]} …"
    return line


def _is_balanced(text: str) -> bool:
    rest = re.sub(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`|\\.", "", text)
    return not re.search(r"['\"`]", rest) and all(
        rest.count(one) == rest.count(other) for one, other in ("()", "[]", "{}")
    )


def _key(runs: Sequence[Program]) -> str:
    return " && ".join(f"{part.folder}$ {_words(part)}" for part in runs)


def _shown(runs: Sequence[Program]) -> str:
    folder = next((part.folder for part in runs[:1] if re.match(r"[\w.-]", part.folder)), "")
    programs = [" ".join([*part.rights, *part.settings, *part.launcher, _words(part)]) for part in runs]
    return cut_command(" && ".join([f"cd {folder}", *programs] if folder else programs))


def _words(part: Program) -> str:
    """Return the program with its arguments and the file that it read as its input."""
    return " ".join([*part.words, *(("<", part.source) if part.source else ())])


def _is_filtered(line: str) -> bool:
    last = line.rsplit("\n", 1)[-1] if "<<" not in line else line
    return bool(re.search(r"\|\s*(?:grep|egrep|head|sed|awk|wc|rg|cut|less|more|xargs|jq|sort|uniq)\b|\|\|", last))


def _is_piped(line: str) -> bool:
    """Return whether another program ends the line, so that the exit status is its own."""
    last = line.rsplit("\n", 1)[-1] if "<<" not in line else line
    return "pipefail" not in line and bool(
        re.search(r"(?<!\|)\|(?!\|)\s*(?:tail|head|tee|cat|grep|sed)\b|; *(?:echo|true)\b", last)
    )


def _is_editor(part: Program) -> bool:
    return part.program in {"edit", "insert", "append", "create", "str_replace_editor", "apply_patch", "edit_anthropic"}


def _installs_inline(words: Sequence[str]) -> bool:
    return any("(" in word and _INSTALLS_INLINE.search(word) for word in words[1:])


def _changed(part: Program) -> Change | None:
    """Return what the program changed, None when it is not a program that changes things in a known way."""
    words = part.words
    if part.program not in _CHANGERS and not part.program.startswith("python") and not _installs_inline(words):
        return None
    shown = cut_command(" ".join(words))
    if part.program in _INSTALLERS and any(word in _INSTALLING for word in words[1:3]):
        return Change(text=f"ran: {shown}")
    if (part.program == "cpanm" and len(words) > 1) or _installs_inline(words):
        return Change(text=f"ran: {shown}")
    if part.program in _VERSIONERS and any(word in _CHOOSING for word in words[1:3]):
        return Change(text=f"ran: {shown}")
    if part.program in _INSTALLERS and part.word(1) == "config" and part.word(2) in {"set", "--global", "--local"}:
        return Change(text=f"ran: {shown}")
    if part.program.startswith("python") and part.word(1) == "-m" and part.word(2) in {"pip", "venv", "ensurepip"}:
        return Change(text=f"ran: {shown}")
    if part.program in _EDITING and any(_IN_PLACE.match(word) for word in words[1:3]):
        old, new = _substituted(words)
        said = not any(word in {"-f", "--file"} or word.startswith("--file=") for word in words)
        said = said and (part.program in {"sed", "perl"} or bool(old))
        return Change(text=f"ran: {shown}", file=words[-1], clear=said, old=old, new=new)
    if part.program == "git" and part.word(1) in _GIT_CHANGES:
        return Change(text=f"ran: {shown}", clear=part.word(1) not in {"stash", "reset", "checkout", "restore"})
    if part.program == "cp" and _COPY.search(words[-1]):
        return None
    if part.program in _MOVERS and len(words) > 1:
        target = words[-1] if part.program in {"mv", "cp", "touch", "chmod"} else ""
        return Change(
            text=f"ran: {shown}", file=target, whole=part.program in {"mv", "cp"}, clear=part.program != "patch"
        )
    if part.program in LINTERS and (_REWRITING & {*words[1:]} or part.program in _FORMATTERS):
        checks = any(word in {"--check", "--diff", "--check-only", "--test"} for word in words)
        return None if checks else Change(text=f"ran: {shown}")
    if part.program in _SERVICES and len(words) > 1:
        told = [word for word in words[1:] if not word.startswith("-")]
        reads = any(word in _SERVICE_READS for word in told[:3]) or not _does(part)
        if reads or (part.program in _SQL_CLIENTS and not _SQL_CHANGES.search(f"{shown} {part.source}")):
            return None
        return Change(text=f"ran: {shown}")
    return None


def _of_each(part: Program, line: str) -> Change | None:
    """Return what ``xargs`` lets another program change, quoted with what it is given; None when it changes nothing."""
    if part.program != "xargs":
        return None
    place = 1
    while place < len(part.words) and part.words[place].startswith("-"):
        place += 2 if part.words[place] in _OF_XARGS else 1
    inner = _changed(replace(part, words=(*part.words[place:], "{}"))) if place < len(part.words) else None
    piped = next((match[0] for match in _PIPED.finditer(line)), "")
    return Change(text=f"ran: {cut_command(piped)}", clear=inner.clear) if inner is not None and piped else None


def _substituted(words: Sequence[str]) -> tuple[str, str]:
    """Return what the substitutions of ``sed`` or ``perl`` look for and put in its place, a line each."""
    sides: list[tuple[str, str]] = []
    for word in words[1:]:
        found = _SUBSTITUTION.finditer(word.strip("'\""))
        sides += [(_plain(match["old"]), _plain(match["new"])) for match in found]
    return "\n".join(old for old, _ in sides), "\n".join(new for _, new in sides)


def _plain(pattern: str) -> str:
    return re.sub(r"\\([^\w\s])", r"\1", pattern).strip("^$")


def _hides_a_change(part: Program, line: str) -> bool:
    """Return whether a program that was typed in, or a here-document, writes files."""
    inline = part.program in _INTERPRETERS and ("<<" in line or any(word in {"-c", "-e"} for word in part.words[1:3]))
    return inline and _WRITES.search(line) is not None


def _typed(part: Program, line: str) -> str:
    """Return the program that was typed in, as a here-document or after ``-c``."""
    if "<<" in line:
        match = re.search(r"<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n(.*?)^\s*\1\s*$", line, re.MULTILINE | re.DOTALL)
        return match[2] if match else ""
    words = part.words
    code = next((words[place + 1] for place, word in enumerate(words[:-1]) if word == "-c"), "")
    return code[1:-1] if code[:1] in {"'", '"'} else code


def replaced_by(code: str) -> tuple[Change, ...]:
    """Return what a Python program replaces in a file, as far as it says both texts; nothing for any other program."""
    if ".replace(" not in code or _WRITES.search(code) is None:
        return ()
    try:
        tree = ast.parse(textwrap.dedent(code))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    known: dict[str, str] = {}
    places: list[str] = []
    pairs: list[tuple[str, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            known |= {target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        said = [_literal(argument, known) for argument in node.args]
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in {"open", "Path"} and said and said[0]:
            places.append(said[0])
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "replace" and len(said) >= 2:
            if not said[0] or said[1] is None:
                return ()
            pairs.append((said[0], said[1]))
    place = places[0] if len(set(places)) == 1 else ""
    if not place:
        return ()
    return tuple(replace(_quoted(f"in {place}: {_became(old, new)}", place), old=old, new=new) for old, new in pairs)


def _literal(node: ast.expr, known: Mapping[str, str]) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    return known.get(node.id) if isinstance(node, ast.Name) else None


def _base(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _written(line: str) -> list[Change]:
    found = []
    for match in _WRITTEN.finditer(line) if "<<" in line else ():
        name = match["file"] or match["after"]
        first = line.find("\n", match.end())
        body = line[first + 1 :] if first >= 0 else ""
        mark = _MARK.search(line, match.start())
        end = re.search(rf"^\s*{mark[1]}\s*$", body, re.MULTILINE) if mark is not None else None
        body = body[: end.start()] if end is not None else body
        appended = ">>" in match[0] or "-a" in match[0]
        text = f"{'appended to' if appended else 'wrote'} {name}: {cut(body, 2 * _MAX_SIDE)}"
        short = len(body) <= _MAX_WHOLE
        found.append(Change(text=cut(text, MAX_CHANGE), file=name, whole=not appended, clear=short, new=body))
    found += [
        Change(text=f"ran: {cut_command(match[0])}", file=match["file"], whole=">>" not in match[0])
        for match in (_PRINTED.finditer(line) if ">" in line else ())
    ]
    return found


def _applied(line: str) -> list[Change]:
    """Return what a difference that was typed in changes in each file."""
    if _APPLIES.search(line) is None:
        return []
    found = []
    marks = list(_DIFFED.finditer(line))
    for number, mark in enumerate(marks):
        body = line[mark.end() : marks[number + 1].start() if number + 1 < len(marks) else len(line)]
        lines = [each for each in body.splitlines() if not each.startswith("--- ")]
        old, new = ("\n".join(each[1:] for each in lines if each.startswith(sign)) for sign in "-+")
        name = mark["file"]
        found.append(replace(_quoted(f"in {name}: {_became(old, new)}", name), old=old, new=new))
    return found


def _edits(step: Step) -> tuple[Change, ...]:
    if not step.action or only_reads(step):
        return ()
    tool = step.tool
    if _PATCHED.search(step.action):
        return tuple(_patch(step.action))
    arguments = _arguments(step.action)
    place = next((value for key in _PLACE if isinstance(value := arguments.get(key), str) and value), "")
    writes = tool in _WRITERS or "write" in tool.lower() or arguments.get("command") == "create"
    if not writes and not any(word in tool.lower() for word in _EDIT_WORDS):
        return ()
    if not arguments:
        said = not step.action.lstrip().startswith("{") and len(step.action) <= MAX_CHANGE
        return (Change(text=cut(step.action, MAX_CHANGE), clear=said),)
    nested = arguments.get("edits")
    pairs = [_sides(each) for each in nested if isinstance(each, dict)] if isinstance(nested, list) else []
    became = [_became(old, new) for old, new in (*pairs, _sides(arguments)) if old or new]
    if became and place:
        sides = (*pairs, _sides(arguments))
        old, new = ("\n".join(side[number] for side in sides if any(side)) for number in (0, 1))
        return (replace(_quoted(f"in {place}: {'; '.join(became)}", place), old=old, new=new),)
    content = next((arguments[key] for key in ("content", "file_text", "contents", "text") if key in arguments), None)
    if isinstance(content, str) and writes:
        short = len(content) <= _MAX_WHOLE
        text = cut(f"wrote {place}: {content}", MAX_CHANGE)
        return (Change(text=text, file=place, whole=True, clear=short, new=content),)
    return (Change(text=f"edited {place}", file=place, clear=False),)


def _typed_edit(line: str) -> tuple[Change, ...]:
    """Return the change of an editor that is typed as a command: ``edit 5:7`` and the new lines."""
    head, _, rest = _BLANK_LINES.sub("", line).partition("\n")
    words = head.split()
    if words[0] == "apply_patch" or _PATCHED.search(line):
        return tuple(_patch(line))
    if _TOOL_FILE.match(words[0]):
        if len(words) > 1 and words[1] == "view":
            return ()
        place = words[2] if len(words) > 2 else ""
        old, new = (_option(line, name) for name in ("--old_str", "--new_str"))
        if old or new:
            return (replace(_quoted(f"in {place}: {_became(old, new)}", place), old=old, new=new),)
        content = _option(line, "--file_text")
        short = len(content) <= _MAX_WHOLE
        text = cut(f"wrote {place}: {content}", MAX_CHANGE)
        return (Change(text=text, file=place, whole=True, clear=short, new=content),)
    if words[0] == "create":
        return (Change(text=head[:_MAX_COMMAND], file=words[1] if len(words) > 1 else "", whole=True),)
    body = _SPACE.sub(" ", rest.rsplit("end_of_edit", 1)[0]).strip()
    span = words[1] if len(words) > 1 and _SPAN.match(words[1]) else ""
    place = next((word for word in words[1:] if word != span and "." in word), "")
    if not span:
        return ()
    said = f"lines {span} became: `{body}`" if body else f"removed lines {span}"
    return (replace(_quoted(said, place), new=rest.rsplit("end_of_edit", 1)[0]),)


def _quoted(text: str, place: str) -> Change:
    """Return the change of a file's lines; what had to be cut does not say what was changed."""
    clear = len(text) <= MAX_CHANGE and "\u2026" not in text
    return Change(text=cut(text, MAX_CHANGE), file=place, clear=clear)


def _option(line: str, name: str) -> str:
    match = re.search(rf"{name}[ =](?:'(?P<one>[^']*)'|\"(?P<two>[^\"]*)\"|(?P<bare>\S+))", line)
    return next((text for text in match.groups() if text is not None), "") if match else ""


def _patch(text: str) -> list[Change]:
    found = []
    marks = list(_PATCHED.finditer(text))
    for number, mark in enumerate(marks):
        body = text[mark.end() : marks[number + 1].start() if number + 1 < len(marks) else len(text)]
        lines = body.splitlines()
        old = "\n".join(line[1:] for line in lines if line.startswith("-"))
        new = "\n".join(line[1:] for line in lines if line.startswith("+"))
        name = mark["file"].strip()
        quoted = _quoted(f"in {name}: {_became(old, new)}", name)
        found.append(replace(quoted, whole="*** Add" in mark[0], old=old, new=new))
    return found


def _sides(arguments: Mapping[str, object]) -> tuple[str, str]:
    old, new = (
        next((value for key in keys if isinstance(value := arguments.get(key), str)), "") for keys in (_OLD, _NEW)
    )
    return old, new


def _became(old: str, new: str) -> str:
    """Return the lines that differ, quoted."""
    before, after = (text.split("\n") if text else [] for text in (old.strip("\n"), new.strip("\n")))
    while before and after and before[0] == after[0]:
        before, after = before[1:], after[1:]
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    gone, came = cut("\n".join(before), _MAX_SIDE), cut("\n".join(after), _MAX_SIDE)
    if gone == came:
        # Such a change is of white space alone, which a quote on one line would hide: it is shown by signs.
        gone, came = (cut(_blanks_shown(lines), _MAX_SIDE) for lines in (before, after))
    if not gone and not came:
        return "removed blank lines" if len(before) > len(after) else "added blank lines"
    if not gone:
        return f"added `{came}`"
    return f"`{gone}` became `{came}`" if came else f"removed `{gone}`"


def _blanks_shown(lines: Sequence[str]) -> str:
    """Return the lines with a sign for each blank that could not be seen: tabs, those around a line, its end."""
    shown = []
    for line in lines:
        body = line.strip(" \t\r")
        start = len(line) - len(line.lstrip(" \t\r"))
        edges = (_signs(line[:start], " "), _signs(line[start + len(body) :], " "))
        inner = re.sub(r" {2,}", lambda blanks: "\u00b7" * len(blanks[0]), _signs(body))
        shown.append(f"{edges[0]}{inner}{edges[1]}")
    return "\u21b5".join(shown)


def _signs(text: str, blanks: str = "") -> str:
    signs = {"\t": "\u21e5", "\r": "\u240d", **({" ": "\u00b7"} if blanks else {})}
    return "".join(signs.get(each, each) for each in text)


def _arguments(action: str) -> Mapping[str, object]:
    if not action.lstrip().startswith("{"):
        return {}
    try:
        value = json.loads(action)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
