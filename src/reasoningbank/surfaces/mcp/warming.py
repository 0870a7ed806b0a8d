"""Loading the model in the background, once a client is there."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reasoningbank.surfaces.mcp.calls import Caller
    from reasoningbank.surfaces.mcp.tools import Tools


class WarmUp:
    """Opens the server's bank and loads its embedder on a thread of its own, at most once."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, caller: Caller) -> None:
        """Starts at the first call; does nothing afterwards."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._tools.warm, args=(caller,), name="reasoningbank-warm-up", daemon=True
                )
                self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether it still runs."""
        return self._thread is not None and self._thread.is_alive()
