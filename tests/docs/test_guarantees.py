"""The guarantee table of the README is the one that tests/promises.py gives."""

from __future__ import annotations

import runpy
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "write_guarantees.py"


@dataclass(frozen=True)
class Example:
    """A promise as tests/promises.py has them."""

    id: str
    source: str
    text: str
    deferred: str = ""


@pytest.mark.promise("docs:guarantees")
def test_the_readme_has_the_table_of_today() -> None:
    done = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.promise("docs:guarantees")
def test_the_table_groups_by_area_and_names_what_is_deferred() -> None:
    with_table = runpy.run_path(str(TOOL))["with_table"]
    promises = (
        Example("store:durable", "issue", "What is acknowledged | stays."),
        Example("cli:json", "issue", "Fields are <exact>."),
        Example("cli:later", "seed 003", "Later.", deferred="needs the graph"),
    )
    readme = "before <!-- guarantees:start -->old<!-- guarantees:end --> after"
    written = with_table(readme, promises)
    assert written.startswith("before <!-- guarantees:start -->\n\n2 promises")
    assert written.endswith("<!-- guarantees:end --> after")
    assert "old" not in written
    assert written.index("<summary>cli (1)") < written.index("<summary>store (1)") < written.index("not yet (1)")
    assert "What is acknowledged \\| stays." in written
    assert "Fields are &lt;exact>." in written
    assert "needs the graph" in written
    assert with_table(written, promises) == written
