"""The one door for ONNX Runtime and for what imports it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import reasoningbank
from promises import promise

LIBRARY = """
import os
SWITCH = os.environ.get("ORT_DISABLE_TELEMETRY")
class TextEmbedding:
    switch = SWITCH
"""


@promise("telemetry:runtime")
@pytest.mark.parametrize("before", ["", "0", "1"])
@pytest.mark.parametrize(
    ("library", "told"),
    [("onnxruntime", "runtime.onnx_runtime().SWITCH"), ("fastembed", "runtime.fastembed_model().switch")],
)
def test_a_library_finds_telemetry_switched_off_when_it_is_imported(
    library: str, told: str, before: str, tmp_path: Path
) -> None:
    (tmp_path / f"{library}.py").write_text(LIBRARY, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", f"from reasoningbank.embedding import runtime; print({told})"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(tmp_path), str(Path(reasoningbank.__file__).parents[1]))),
            "ORT_DISABLE_TELEMETRY": before,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
