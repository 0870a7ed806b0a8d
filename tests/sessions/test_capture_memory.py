"""A transcript of any size is read in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from promises import promise

PROGRAM = """
import json, resource, sys
from pathlib import Path
from reasoningbank.sessions.readers import Skipped, read

def peak():
    # ru_maxrss of a child may be its parent's: Linux counts this program's own in /proc.
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))

target, megabytes, kind = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
big = "row of a table, 0123456789\\n" * 800
with target.open("w") as file:
    def write(value): file.write(json.dumps(value))
    size = number = 0
    if kind == "lines":
        write({"type": "user", "sessionId": "s", "message": {"role": "user", "content": "Sort the table."}})
        file.write("\\n")
    else:
        file.write('{"id": "s", "messages": [{"role": "user", "content": "Sort the table."}')
    while size < megabytes * 1_000_000:
        number += 1
        if kind == "lines":
            call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"cat {number}"}}
            seen = {"type": "tool_result", "tool_use_id": f"t{number}", "content": big}
            for role, block in (("assistant", call), ("user", seen)):
                message = {"role": role, "content": [block]}
                write({"type": role, "sessionId": "s", "uuid": f"{role}{number}", "message": message})
                file.write("\\n")
        else:
            function = {"name": "bash", "arguments": json.dumps({"command": f"cat {number}"})}
            file.write(",")
            write({"role": "assistant", "content": None, "tool_calls": [{"id": f"t{number}", "function": function}]})
            file.write(",")
            write({"role": "tool", "tool_call_id": f"t{number}", "content": big})
        size += len(big)
    if kind == "array":
        file.write("]}")
before = peak()
found = list(read(target))
after = peak()
assert len(found) == 1 and not isinstance(found[0], Skipped), found
assert found[0].steps[-1].action == f"cat {number}"
print((after - before) // 1024)
"""
LIMIT = 120
"""Mebibytes that reading may take at most on top of what the program had."""


@promise(
    "capture:memory",
    "Reading a transcript or a document takes memory that does not grow with the file: at most 120 MiB for 200 MB.",
    source="issue 3 Capture (200 MB in bounded memory)",
)
@pytest.mark.parametrize("kind", ["lines", "array"])
def test_memory_does_not_grow_with_the_file(kind: str, tmp_path: Path, torture: bool) -> None:
    used = {}
    for megabytes in (15, 200 if torture else 60):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path / "big"), str(megabytes), kind],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2_000:]
        used[megabytes] = int(done.stdout)
    small, large = used.values()
    assert large <= LIMIT, used
    assert large <= small + 40, used
