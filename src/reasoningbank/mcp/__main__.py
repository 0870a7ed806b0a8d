"""``python -m reasoningbank.mcp`` serves over standard input and output."""

from __future__ import annotations

import sys

from reasoningbank.errors import BankError
from reasoningbank.mcp import serve_stdio

if __name__ == "__main__":
    try:
        serve_stdio()
    except BankError as error:
        sys.stderr.write(f"{error} {error.hint}\n")
        sys.exit(error.exit_code)
