"""Errors over HTTP as problem details (RFC 9457), with the code, message and hint that every surface has."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import JSONResponse

PROBLEM = "application/problem+json"
"""The media type of an error."""


def problem(status: int, code: str, message: str, hint: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an error as an answer.

    Args:
        status: The HTTP status.
        code: The error's code, one word.
        message: What happened.
        hint: What to do next.
        headers: Further headers.
    """
    fields = {
        "type": f"urn:reasoningbank:error:{code}",
        "title": code.replace("_", " "),
        "status": status,
        "detail": message,
        "error": code,
        "message": message,
        "hint": hint,
    }
    return JSONResponse(fields, status, dict(headers or {}), media_type=PROBLEM)
