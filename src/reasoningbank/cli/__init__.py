"""The command line: ``rbank``, also installed as ``reasoningbank``.

A command's module is imported when the command runs and nothing heavy before that, so that ``rbank --help`` costs
little more than Python and click; a hook, a status line and a server on stdio do without click too (DESIGN D12).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

__all__ = ["main"]

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 and the number of SIGINT, as shells have it."""
NO_FILES = 5
"""Exit status of ``StoreUnavailable``, which cannot be imported when no file can be opened."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit status.

    Args:
        arguments: Instead of the process's own.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _run(words)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the last handler: a person hears of the defect
        sys.exit(_status_of(error, words))


def _status_of(error: Exception, words: Sequence[str]) -> int:
    """Say what ended a command, and return the exit status."""
    try:
        from reasoningbank.cli.defects import reported

        return reported(error, words)
    except OSError as failure:
        # Not even the modules of this program can be opened, so that nothing more may be imported.
        lines = (
            f"error: no further file could be opened: {failure.strerror}\nhint: Allow more of them: ulimit -n 256.\n"
        )
        os.write(2, lines.encode())
        return NO_FILES


def _run(words: Sequence[str]) -> NoReturn:
    _fill_standard_descriptors()
    if words[:1] == ["statusline"] and not {"-h", "--help"} & {*words}:
        from reasoningbank.integrations.status_line import main as print_status

        sys.exit(print_status(words[1:]))
    if words[:1] == ["hook"] and not {"-h", "--help"} & {*words}:
        from reasoningbank.integrations.hooks import main as answer_hook

        sys.exit(answer_hook(words[1:]))
    if "serve" in words:
        from reasoningbank.cli.serve_options import plain_options

        options = plain_options(words)
        if options is not None:
            sys.exit(_served(options))
    from reasoningbank.cli.app import rbank

    rbank.main(args=words, prog_name="rbank")


def _fill_standard_descriptors() -> None:
    """Open the null device as each standard stream that is closed, so that no file of a bank takes its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _served(options: Mapping[str, str]) -> int:
    """Serve one client on stdio; return the exit status."""
    from reasoningbank.errors import BankError, MissingTenantError
    from reasoningbank.mcp import serve_stdio
    from reasoningbank.settings import load_settings
    from reasoningbank.types.scope import Membership

    tenant = options.get("tenant")
    try:
        if tenant is not None and not tenant.strip():
            raise MissingTenantError("no tenant: every operation belongs to one tenant")
        membership = None
        if options.keys() & {"team", "org"}:
            settings = load_settings()
            membership = Membership(team=options.get("team", settings.team), org=options.get("org", settings.org))
        serve_stdio(
            url=options.get("url"),
            tenant=tenant,
            project=options.get("project"),
            profile=options.get("profile"),
            membership=membership,
            shared="no-shared" not in options,
        )
    except BankError as error:
        from reasoningbank.cli.output import print_error

        print_error(error.code, str(error), error.hint, as_json=False)
        return error.exit_code
    return 0
