"""Requests that the OpenAPI description allows, and some that it forbids, sent by schemathesis to a real server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from promises import promise
from web.servers import serving

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@promise(
    "web:every-request",
    "Whatever is sent to an endpoint of the OpenAPI description, no answer has a status of 500 or above, and each has "
    "a status, a media type and fields that are described.",
    source="issue, It must show",
)
def test_no_request_breaks_an_endpoint_or_gets_what_is_not_described(tmp_path: Path, torture: bool) -> None:
    effort = ["--max-examples", "60"] if torture else ["--max-examples", "2", "--phases", "fuzzing"]
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with serving(home) as served:
        ran = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{served.base}/openapi.json"),
                *("--header", f"Authorization: Bearer {served.token}", "--checks", CHECKS, "--seed", "1"),
                *("--workers", "2", "--generation-database", "none", "--no-color", *effort),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
    assert ran.returncode == 0, ran.stdout[-6_000:] + ran.stderr[-2_000:]
    assert "0 passed" not in ran.stdout
    assert "passed" in ran.stdout
