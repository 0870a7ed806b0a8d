"""The public surface: what is exported, how the code is laid out, and what importing it costs."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import reasoningbank
from promises import promise
from reasoningbank import Bank, errors
from reasoningbank.operations.methods import resources

SOURCE = Path(reasoningbank.__file__).parent
MAX_LINES = 900
MAX_NAMES = 13


@promise("interface:exports", "Every export is importable and described.", source="issue Bank")
def test_every_export_is_sorted_importable_and_described() -> None:
    names = [name for name in reasoningbank.__all__ if name != "__version__"]
    for name in names:
        value = getattr(reasoningbank, name)
        if callable(value):
            assert inspect.getdoc(value), name
    assert set(names) == set(reasoningbank._PLACES)
    assert len(set(reasoningbank.__all__)) == len(reasoningbank.__all__)
    with pytest.raises(AttributeError):
        _ = reasoningbank.nothing


@promise("interface:light", "Importing the package imports nothing heavy.", source="DESIGN D12")
def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = {"numpy", "apsw", "onnxruntime", "tokenizers", "mcp", "click", "opentelemetry", "tiktoken", "redact_secret"}
    program = "import sys, reasoningbank; print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    done = subprocess.run([sys.executable, "-c", program, *heavy], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@promise("interface:errors", "Every error stands in the drawn tree and has a hint.", source="issue Domain")
def test_every_error_stands_in_the_drawn_tree_and_has_a_hint() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.BankError)]
    assert len(kinds) > 20
    drawing = errors.__doc__ or ""
    for kind in kinds:
        assert kind.__name__ in drawing
        assert kind("something happened").hint
        assert kind.code
        assert kind.exit_code > 0
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes)


@promise(
    "interface:resources",
    "A resource of a bank has at most thirteen public names, each a described method.",
    source="issue House",
)
def test_a_resource_has_few_public_names() -> None:
    with Bank.open("memory://", tenant="acme", project="shop") as bank:
        places = resources()
        assert len(places) >= 20
        for place in places:
            resource = getattr(bank, place)
            names = [name for name in dir(resource) if not name.startswith("_")]
            assert 0 < len(names) <= MAX_NAMES, (place, names)
            for name in names:
                method = getattr(resource, name)
                assert inspect.ismethod(method), (place, name)
                assert inspect.getdoc(method), (place, name)


@promise(
    "interface:files",
    "No source file is above 900 lines; the median has 150 to 500.",
    source="DESIGN section 3",
)
def test_no_source_file_is_long_or_named_by_what_it_is_not() -> None:
    files = sorted(SOURCE.rglob("*.py"))
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert not {path.name: length for path, length in lengths.items() if length > MAX_LINES}
    assert 150 <= sorted(lengths.values())[len(lengths) // 2] <= 500
    assert {path.stem for path in files if path.stem.endswith("ing")} == {"briefing", "standing", "testing"}
    assert not {path.stem for path in files} & {"utils", "helpers", "manager", "misc", "common"}


def public_types(source: str) -> list[str]:
    """The names of the public classes of a source, those in classes and functions included, and of its type aliases.

    An alias is a name in capitals and small letters that a module binds to anything but the answer of a call.
    """
    tree = ast.parse(source)
    found = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and not isinstance(node.value, ast.Call):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [each.id for each in targets if isinstance(each, ast.Name)]
            found += [name for name in names if name[0].isupper() and not name.isupper()]
    return [name for name in found if not name.startswith("_")]


@promise(
    "interface:names", "No two public classes or type aliases of the package share a name.", source="DESIGN section 3"
)
def test_no_two_public_types_share_a_name() -> None:
    assert public_types("class One:\n    class Two: ...\nclass _Three: ...\nclass One: ...") == ["One", "One", "Two"]
    assert public_types('One = Literal["a"]\nTwo: TypeAlias = int\nMOST = 3\n_Three = int\nT = TypeVar("T")') == [
        "One",
        "Two",
    ]
    places = defaultdict[str, list[str]](list)
    for path in sorted(SOURCE.rglob("*.py")):
        for name in public_types(path.read_text(encoding="utf-8")):
            places[name].append(str(path.relative_to(SOURCE)))
    assert len(places) > 400
    assert not {name: where for name, where in places.items() if len(where) > 1}


@promise("interface:typed", "The package says that it is typed.", source="issue Package")
def test_the_package_says_that_it_is_typed() -> None:
    assert (SOURCE / "py.typed").is_file()
