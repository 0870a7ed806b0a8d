"""Only ``memories/admission.py`` writes text that agents may read: read from the source itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import reasoningbank
from promises import promise

SOURCE = Path(reasoningbank.__file__).parent
DOOR = "memories/admission.py"
ALWAYS_WRITES = {"put_document", "put_nodes", "put_edges"}
"""Names that nothing but a store's transaction has."""
WRITES_OF_A_TRANSACTION = {"insert", "update"}
"""Names that lists, sets and dictionaries have too: there the receiver tells."""
EXCLUDED = {
    "storage": "it is what is written to",
    "testing": "test doubles and the contract that every store keeps; no agent reads those banks",
    "evaluation": "it fills banks of its own, among them such as no defence has looked at",
}


def writes(source: str) -> list[str]:
    """The calls in a source by which a transaction stores text."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name, receiver = node.func.attr, ast.unparse(node.func.value)
        of_memory = bool(node.args) and _is_memory(node.args[0]) and not receiver.startswith("bank")
        keywords = {keyword.arg for keyword in node.keywords}
        if name in ALWAYS_WRITES or (
            name in WRITES_OF_A_TRANSACTION
            and ("transaction" in receiver.casefold() or of_memory or keywords & {"revision", "cause"})
        ):
            found.append(f"{receiver}.{name}")
    return found


def _is_memory(argument: ast.expr) -> bool:
    """Whether what is written is named a memory, or is a changed copy of something."""
    if isinstance(argument, ast.Call):
        return ast.unparse(argument.func) in {"replace", "Memory"}
    return isinstance(argument, (ast.Name, ast.Attribute)) and ast.unparse(argument).endswith("memory")


@promise("attack:one-door")
def test_nothing_but_the_door_stores_or_changes_text() -> None:
    found = {
        str(path.relative_to(SOURCE)): calls
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in EXCLUDED and (calls := writes(path.read_text(encoding="utf-8")))
    }
    assert set(found) == {DOOR}
    assert {call.rpartition(".")[2] for call in found[DOOR]} == ALWAYS_WRITES | WRITES_OF_A_TRANSACTION


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
    ],
)
def test_a_write_beside_the_door_is_seen(source: str) -> None:
    assert writes(source)
