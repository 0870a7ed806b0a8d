"""Standard input and output for the protocol alone: a stray print of ours or of a library goes to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from reasoningbank.errors import ConfigurationError


@contextmanager
def private_descriptors() -> Iterator[tuple[int, int]]:
    """Take standard input and output for the protocol alone, for good: what is printed later is not a message either.

    Raises:
        ConfigurationError: When the process was started without them.
    """
    # A number that was closed may meanwhile belong to another file, so Python's streams are asked.
    if sys.stdin is None or sys.stdout is None:
        raise ConfigurationError(
            "standard input or output is closed", hint="Let an MCP client start this command, or use --http."
        )
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        elsewhere = os.dup(2)
    except OSError:
        elsewhere = os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    os.dup2(nothing, 0)
    os.dup2(elsewhere, 1)
    os.close(nothing)
    os.close(elsewhere)
    try:
        yield source, sink
    finally:
        sys.stdout.flush()
        os.close(source)
        os.close(sink)
