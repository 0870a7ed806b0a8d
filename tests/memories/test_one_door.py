"""Only ``memories/admission.py`` writes text that agents may read: read from the source itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import reasoningbank
from promises import promise

SOURCE = Path(reasoningbank.__file__).parent
DOOR = "memories/admission.py"
ALWAYS_WRITES = {"put_document", "put_nodes", "put_edges", "insert_all"}
"""Names that nothing but a store's transaction has."""
WRITES_OF_A_TRANSACTION = {"insert", "update"}
"""Names that lists, sets and dictionaries have too: there the receiver tells."""
EXCLUDED = {
    "storage": "it is what is written to",
    "testing": "test doubles and the contract that every store keeps; no agent reads those banks",
    "evaluation": "it fills banks of its own, among them such as no defence has looked at",
}


TABLES = {"MemoryTables", "GraphTables", "DocumentTables", "Unit"}
"""Classes that write rows: nothing but the store needs their names."""


def writes(source: str) -> list[str]:
    """The places in a source that name what stores text: a write of a transaction, or the tables themselves.

    A write counts when it is named, not only when it is called, so that no other name can stand for it.
    """
    tree = ast.parse(source)
    tables = _tables_in(tree)
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found += [f"import {each.name}" for each in node.names if each.name in TABLES]
        elif isinstance(node, ast.Attribute):
            receiver = ast.unparse(node.value)
            table = receiver.rpartition(".")[2] == "memories" or receiver in tables
            if node.attr in ALWAYS_WRITES or (node.attr in WRITES_OF_A_TRANSACTION and table):
                found.append(f"{receiver}.{node.attr}")
        elif isinstance(node, ast.Constant) and node.value in ALWAYS_WRITES:
            found.append(f"the name {node.value!r}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found += _written(node, node.func)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"getattr", "attrgetter", "methodcaller"}:
            given = {each.value for each in node.args if isinstance(each, ast.Constant)}
            found += [f"getattr {name}" for name in WRITES_OF_A_TRANSACTION & given]
    return found


def _tables_in(tree: ast.AST) -> set[str]:
    """The names of a module that stand for the memories of a transaction."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, (ast.NamedExpr, ast.AnnAssign)) and node.value is not None:
            pairs = [(node.target, node.value)]
        else:
            continue
        names |= {
            ast.unparse(target)
            for target, value in pairs
            if isinstance(value, ast.Attribute) and value.attr == "memories"
        }
    return names


def _written(call: ast.Call, function: ast.Attribute) -> list[str]:
    """The call when its receiver or its arguments tell that it stores a memory, whatever they are named."""
    name, receiver = function.attr, ast.unparse(function.value)
    of_memory = bool(call.args) and _is_memory(call.args[0]) and not receiver.startswith("bank")
    keywords = {keyword.arg for keyword in call.keywords}
    told = "transaction" in receiver.casefold() or of_memory or bool(keywords & {"revision", "cause"})
    return [f"{receiver}.{name}"] if name in WRITES_OF_A_TRANSACTION and told else []


def _is_memory(argument: ast.expr) -> bool:
    """Whether what is written is named a memory, or is a changed copy of something."""
    if isinstance(argument, ast.Call):
        return ast.unparse(argument.func) in {"replace", "Memory"}
    return isinstance(argument, (ast.Name, ast.Attribute)) and ast.unparse(argument).endswith("memory")


def writers(root: Path) -> dict[str, list[str]]:
    """The modules below a package that name what stores text, and where."""
    return {
        str(path.relative_to(root)): found
        for path in sorted(root.rglob("*.py"))
        if path.relative_to(root).parts[0] not in EXCLUDED and (found := writes(path.read_text(encoding="utf-8")))
    }


@promise("attack:one-door")
def test_nothing_but_the_door_stores_or_changes_text() -> None:
    found = writers(SOURCE)
    assert set(found) == {DOOR}
    assert {place.rpartition(".")[2] for place in found[DOOR]} == ALWAYS_WRITES | WRITES_OF_A_TRANSACTION


@promise("attack:one-door")
def test_the_transaction_has_no_other_write_of_text() -> None:
    files = sorted((SOURCE / "storage").glob("*_tables.py"))
    assert len(files) == 7
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in [*files, SOURCE / "storage" / "store.py"]]
    methods = {
        method.name
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Tables", "Transaction"))
        for method in node.body
        if isinstance(method, ast.FunctionDef)
        and not method.name.startswith("_")
        and any(
            name in ast.unparse(argument.annotation)
            for argument in method.args.args
            if argument.annotation is not None
            for name in ("Memory", "Node", "Edge", "Document")
        )
        | any(
            argument.annotation is not None
            and any(name in ast.unparse(argument.annotation) for name in ("Node", "Edge"))
            for argument in method.args.posonlyargs
        )
    }
    assert methods == ALWAYS_WRITES | WRITES_OF_A_TRANSACTION | {"update_state", "update_states"}


@promise("attack:one-door")
@pytest.mark.parametrize(
    "source",
    [
        "transaction.insert(memory, indexed)",
        "with store.transaction() as t:\n    t.update(new, indexed, revision=True)",
        "self._transaction.put_nodes(nodes)",
        "writes.put_document(document)",
        "t.insert(replace(memory, title='x'), indexed)",
        "store.memories.insert(x, y)",
        "context.transaction().memories.update(new)",
        "rows = t.memories\nrows.insert(new, indexed)",
        "if (rows := unit.memories):\n    rows.update(new)",
        "write = t.memories.insert\nwrite(new, indexed)",
        "put = writes.graph.put_edges",
        "getattr(t.memories, 'insert')(new, indexed)",
        "getattr(t.graph, 'put_nodes')(nodes)",
        "from reasoningbank.storage.memory_tables import MemoryTables",
        "from reasoningbank.storage.document_tables import Document, DocumentTables as Rows",
    ],
)
def test_a_write_beside_the_door_is_seen(source: str) -> None:
    assert writes(source)


@promise("attack:one-door")
@pytest.mark.parametrize("module", ["curation/lifecycle.py", "graph/graph.py", "cli/app.py", "bank.py"])
@pytest.mark.parametrize(
    "line",
    [
        "transaction.memories.insert(new, indexed)",
        "transaction.memories.update(new)",
        "transaction.graph.put_nodes(pairs)",
        "transaction.graph.put_edges(pairs)",
        "transaction.documents.put_document(document, [], '')",
    ],
)
def test_a_line_planted_in_a_module_fails_the_check(module: str, line: str, tmp_path: Path) -> None:
    planted = tmp_path / module
    planted.parent.mkdir(parents=True, exist_ok=True)
    source = (SOURCE / module).read_text(encoding="utf-8")
    planted.write_text(f"{source}\n\ndef planted(transaction, new, indexed, pairs, document):\n    {line}\n", "utf-8")
    assert writers(tmp_path) == {module: [line.partition("(")[0]] * len(writers(tmp_path)[module])}
    planted.write_text(source, "utf-8")
    assert writers(tmp_path) == {}


@promise("attack:one-door")
@pytest.mark.parametrize(
    "source", ["found.update(more)", "lines.insert(0, text)", "bank.update(memory.id)", "{}.update(a=1)"]
)
def test_other_updates_are_no_writes(source: str) -> None:
    assert writes(source) == []
