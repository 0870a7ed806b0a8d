"""The command line: ``rbank``, also installed as ``reasoningbank``.

A command's module is imported when the command runs and nothing heavy before that, so that ``rbank --help`` costs
little more than Python and click; a hook does without click too (DESIGN D12).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 and the number of SIGINT, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit status.

    Args:
        arguments: Instead of the process's own.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["hook"] and not {"-h", "--help"} & {*words}:
        from reasoningbank.integrations.hooks import main as answer_hook

        sys.exit(answer_hook(words[1:]))
    try:
        from reasoningbank.cli.app import rbank

        rbank.main(args=words, prog_name="rbank")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
