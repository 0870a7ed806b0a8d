"""Tell whether an edit leaves what the program does as it was, so that it cannot have taken an error away.

Layout, comments, prints, annotations of functions and the names of variables change nothing at run time. An error that
is about just that is another matter: a checker, a compiler or a formatter complains of the text itself, and an error
that says a name or a type can come of that name or type.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from itertools import zip_longest
from textwrap import dedent

from reasoningbank.sessions.changes import LINTERS, Change, Doing
from reasoningbank.sessions.commands import vocabulary
from reasoningbank.sessions.signatures import Signature

_CODE = re.compile(
    r"\.(?:py|pyi|js|jsx|mjs|cjs|ts|tsx|rs|go|java|kt|c|h|cpp|cc|hpp|rb|php|cs|swift|scala|dart|lua|ex|exs)$"
)
_INDENTED = (".py", ".pyi")
_TOKEN = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|`[^`]*`|\w+|[^\w\s]")
_NAME = re.compile(r"[A-Za-z_]\w*")
_PRINTS = re.compile(
    r"\s*(?:print|pprint|console\.\w+|(?:self\.|this\.|\w*_)?log(?:ger|ging)?[.:]{1,2}\w+|LOG(?:GER)?\.\w+|e?print(?:ln|f)?!?|dbg!"
    r"|fmt\.Print\w*|puts|pp?|System\.(?:out|err)\.print\w*|(?:process|sys)\.std(?:out|err)\.write|var_dump|error_log)[\s(].*$"
    r"|\s*(?:import (?:logging|pprint|sys)|from pprint import pprint|log(?:ger)? = logging\.getLogger\(.*)\s*$"
)
_ABOUT_TEXT = re.compile(
    r"[Ss]yntax|[Ii]ndent|[Ff]ormat|[Uu]nused|[Pp]arse|would reformat|whitespace|[Uu]nexpected token|[Uu]nterminated"
    r"|line too long"
)
_ABOUT_TYPES = re.compile(
    r"annotation|'type'|\btype (?:object|hint)|subscriptable|operand|[Ff]orward|partially initialized|[Cc]annot import"
    r"|pydantic|[Vv]alidation|[Ss]chema|\bfield|not defined|response|inject|resolve|signature|unexpected keyword"
)
_CHECKERS = vocabulary("tsc javac rustc gcc g++ cc clang clang++ kotlinc swiftc make cmake ninja gofmt rustfmt")
_OF_THE_TEXT = re.compile(r"^(?:(?:fatal )?error|[A-Z]{1,5}\d{2,6}|SyntaxError|IndentationError|TabError)$")
_BINDS = (
    r"(?m:^[ \t]*(?:(?:const|let|var|mut|final|auto|val|int|long|double|float|bool|string|String)\s+){{0,2}}\$?{name}\b"
    r"(?:\s*:[^=\n]+)?\s*(?:[-+*/|&%]|:|\?\?)?=(?!=))|\bfor\s*\(?\s*(?:(?:const|let|var|int|auto)\s+)?{name}\b"
    r"|\b(?:as|with)\s+{name}\b|\b(?:def|fn|func|function)\b[^\n]*[(,]\s*(?:\w+:\s*)?{name}\b"
)


def is_idle(change: Change, changes: Sequence[Change], signature: Signature, doing: Doing) -> bool:
    """Return whether the edit cannot change what a program does, and the error is not about the text itself.

    Args:
        change: The edit.
        changes: All edits of the time between, which tell together whether a variable has another name.
        signature: The error's.
        doing: The command that failed.
    """
    if change.whole or change.way or not _CODE.search(change.file) or not (change.old.strip() or change.new.strip()):
        return False
    if change.text.startswith("ran: ") or doing.program in {*LINTERS, *_CHECKERS}:
        return False
    if _OF_THE_TEXT.match(signature.type) or _ABOUT_TEXT.search(signature.line):
        return False
    old, new = _without_prints(change.old), _without_prints(change.new)
    before, after = _tokens(old, change.file), _tokens(new, change.file)
    if before == after or _same_python(old, new, change.file, signature):
        return True
    others = "\n".join(each.old for each in changes if each.file == change.file)
    return _renames(before, after, others, signature)


def is_layout(change: Change) -> bool:
    """Return whether nothing but comments and layout of source code differs."""
    if change.whole or not _CODE.search(change.file) or not (change.old.strip() or change.new.strip()):
        return False
    return _tokens(change.old, change.file) == _tokens(change.new, change.file)


def _without_prints(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not _PRINTS.match(line))


def _tokens(text: str, file: str) -> list[str]:
    """Return the tokens of the code without comments; where indentation counts, with it."""
    indented = file.endswith(_INDENTED)
    mark = "#" if indented or file.endswith((".rb", ".ex", ".exs")) else "//"
    found: list[str] = []
    for line in dedent(text.expandtabs()).splitlines():
        words: list[str] = []
        for word in _TOKEN.findall(line):
            words.append(word if word[0] not in "'\"" else f"'{word[1:-1]}'")
            if "".join(words[-len(mark) :]) == mark:
                words = words[: -len(mark)]
                break
        if words and indented:
            found.append(" " * (len(line) - len(line.lstrip())))
        found += words
    return found if indented else [word for word in found if word not in {";", ","}]


class _Plain(ast.NodeTransformer):
    """Take out of a Python tree what does nothing when it runs."""

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Drop the annotation of a parameter."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Drop what the function is said to return."""
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Drop what the function is said to return."""
        node.returns = None
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Keep the annotations of fields, which frameworks read."""
        node.body = [part if isinstance(part, ast.AnnAssign) else _stated(self.visit(part)) for part in node.body]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """Read a variable with an annotation as one without."""
        if node.value is None:
            return None
        return ast.Assign(targets=[node.target], value=node.value, lineno=node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        """Drop the imports that only annotations use."""
        return None if node.module in {"typing", "__future__", "collections.abc", "typing_extensions"} else node


def _stated(node: ast.AST) -> ast.stmt:
    return node if isinstance(node, ast.stmt) else ast.Pass()


def _same_python(old: str, new: str, file: str, signature: Signature) -> bool:
    """Return whether two pieces of Python do the same; a head without a body is given one."""
    if not file.endswith(_INDENTED):
        return False
    trees = [_parsed(old), _parsed(new)]
    if trees[0] is None or trees[1] is None:
        return False
    if ast.dump(trees[0]) == ast.dump(trees[1]):
        return True
    if _ABOUT_TYPES.search(signature.line):
        return False
    return ast.dump(_Plain().visit(trees[0])) == ast.dump(_Plain().visit(trees[1]))


def _parsed(text: str) -> ast.Module | None:
    whole = dedent(text.expandtabs()).rstrip()
    heads = (
        f"{whole}\n{' ' * (len(whole.splitlines()[-1]) - len(whole.splitlines()[-1].lstrip()) + 4)}pass"
        if whole
        else ""
    )
    for form in (whole, heads):
        try:
            return ast.parse(form)
        except (SyntaxError, ValueError):
            continue
    return None


def _renames(before: Sequence[str], after: Sequence[str], others: str, signature: Signature) -> bool:
    """Return whether only variables have other names, each everywhere, and the error names none of them.

    A name that stood there before is another variable, and so is one that nothing in the edits binds.
    """
    names: dict[str, str] = {}
    last = ""
    for old, new in zip_longest(before, after, fillvalue=""):
        if old != new:
            if last == "." or not (_NAME.fullmatch(old) and _NAME.fullmatch(new)) or names.setdefault(old, new) != new:
                return False
        elif old in names:
            return False
        last = old
    if not names or len({*names.values()}) != len(names) or {*names.values()} & {*before}:
        return False
    said = f"{signature.line}\n{signature.test}"
    return all(
        re.search(_BINDS.format(name=re.escape(old)), others) is not None
        and not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said) for name in (old, new))
        for old, new in names.items()
    )
