"""No module imports itself by way of others, imports inside of functions and for type checkers included."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import reasoningbank
from promises import promise

SOURCE = Path(reasoningbank.__file__).parent


def module_of(path: Path, root: Path) -> str:
    """The name of a module."""
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules that a source imports, and names in them, wherever it does so and also for types alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        else:
            yield from imported(node)


def imports(root: Path) -> Mapping[str, set[str]]:
    """What each module below a package imports of it."""
    paths = {module_of(path, root): path for path in root.rglob("*.py")}
    found: dict[str, set[str]] = {}
    for name, path in paths.items():
        wanted = imported(ast.parse(path.read_text(encoding="utf-8")))
        known = {each if each in paths else each.rpartition(".")[0] for each in wanted}
        found[name] = (known & paths.keys()) - {name}
    return found


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """The modules of one circle in their order; empty when there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@promise(
    "package:no-circles",
    "No module of the package imports itself by way of others, not even inside of a function or for its types alone.",
    source="issue 10",
)
def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = imports(SOURCE)
    assert len(graph) > 200
    assert "reasoningbank.memories.admission" in graph["reasoningbank.bank"], "imports in functions count"
    assert circle(graph) == []


@promise("package:no-circles")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from pack.first import one", True),
        ("import pack.first", True),
        ("from pack import first", True),
        ("def late():\n    from pack.first import one", True),
        ("class Late:\n    def it(self):\n        if self:\n            import pack.first", True),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pack.first import one", True),
        ("from pack.third import three", False),
    ],
)
def test_a_circle_is_seen_wherever_the_import_stands(line: str, found: bool, tmp_path: Path) -> None:
    root = tmp_path / "pack"
    root.mkdir()
    for name, source in (("first", "from pack.second import two\n"), ("second", line), ("third", "three = 3\n")):
        (root / f"{name}.py").write_text(source, encoding="utf-8")
    (root / "__init__.py").write_text("", encoding="utf-8")
    assert bool(circle(imports(root))) is found
