"""The last handler of the command line: an error that nobody foresaw becomes one message and a report in a log."""

from __future__ import annotations

import platform
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from errno import EMFILE, ENFILE
from pathlib import Path
from uuid import uuid4

EXIT_STATUS = 70
"""Exit status of a defect of this program. Source: EX_SOFTWARE of sysexits.h."""
LOG_FILE = "errors.log"
MAX_LOG = 1_000_000
"""Bytes of the log at which it becomes ``errors.log.1`` and a new one begins."""


def reported(error: Exception, words: Sequence[str]) -> int:
    """Write a report of an unforeseen error, say so on stderr, and return the exit status.

    That no further file can be opened is not a defect of the program: modules and models are files, too.

    The report has the command, the type of each error and the places in the code. The errors' own words and the
    command's arguments are left out: they may quote a secret.

    Args:
        error: What was not foreseen.
        words: The words of the command line.
    """
    from reasoningbank.cli.output import print_error
    from reasoningbank.errors import StoreUnavailable
    from reasoningbank.settings import data_directory

    if isinstance(error, OSError) and error.errno in {EMFILE, ENFILE}:
        short = StoreUnavailable(
            f"no further file could be opened: {error.strerror}", hint="Allow more of them: ulimit -n 256."
        )
        print_error(short.code, short.message, short.hint, as_json="--json" in words)
        return short.exit_code
    identifier = uuid4().hex[:8]
    path = data_directory() / LOG_FILE
    try:
        _append(path, f"{identifier} {_command_of(words)} {_trace_of(error)}")
        where = f"{path} says where, without your texts"
    except (OSError, ValueError) as failure:
        where = f"its report cannot be written to {path}: {failure}"
    print_error(
        "unforeseen",
        f"{_named(error)} was not foreseen (report {identifier}); {where}",
        "What was acknowledged before is stored. Run `rbank doctor`, and send us the report.",
        as_json="--json" in words,
    )
    return EXIT_STATUS


def _named(error: Exception) -> str:
    """Return the type, and of an error of the operating system its words, which quote nobody."""
    words = error.strerror if isinstance(error, OSError) else None
    return f"{type(error).__name__} ({words})" if words else type(error).__name__


def _append(path: Path, report: str) -> None:
    from reasoningbank import __version__
    from reasoningbank.safety.file_access import append_line

    machine = f"reasoningbank {__version__}, Python {platform.python_version()}, {platform.system()}"
    append_line(path, f"{datetime.now(UTC).isoformat(timespec='seconds')} {machine}: {report}", most=MAX_LOG)


def _command_of(words: Sequence[str]) -> str:
    """Return the name of the command: a word of the command line that is one of ours."""
    from reasoningbank.cli.app import COMMANDS

    return next((word for word in words if word in COMMANDS), "rbank")


def _trace_of(error: BaseException) -> str:
    """Return the errors, the last first, each with the places that it went through, the innermost last."""
    said: list[str] = []
    known: BaseException | None = error
    while known is not None and len(said) < 5:
        frames = traceback.extract_tb(known.__traceback__)[-30:]
        places = " > ".join(f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in frames)
        said.append(f"{type(known).__name__} at {places or 'no known place'}")
        known = known.__cause__ or known.__context__
    return "; after ".join(said)
