"""How much one tenant may ask of a server: requests and bytes a minute, whatever tokens and connections it has."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

_MINUTE = 60.0
_MOST_KNOWN = 10_000
"""After so many tenants those that have their whole allowance again are forgotten."""


@dataclass(slots=True)
class _Allowance:
    """What is left to a tenant, and since when it is so much."""

    requests: float
    size: float
    at: float


@dataclass(slots=True)
class TenantLimits:
    """The allowance of every tenant, which fills up again all the time. Used in one event loop.

    Args:
        requests: Most requests a minute; messages on a WebSocket count, too.
        size: Most bytes of requests a minute.
        clock: Seconds that only go forward.
    """

    requests: float
    size: float
    clock: Callable[[], float] = time.monotonic
    _left: dict[str, _Allowance] = field(default_factory=dict)

    def wait(self, tenant: str, *, requests: int = 0, size: int = 0) -> float:
        """Take from a tenant's allowance; return 0, or in how many seconds there is enough, and then take nothing.

        A request of more bytes than a minute's allowance is taken as that many.
        """
        now = self.clock()
        if len(self._left) >= _MOST_KNOWN and tenant not in self._left:
            self._left = {name: each for name, each in self._left.items() if now - each.at < _MINUTE}
        left = self._left.setdefault(tenant, _Allowance(self.requests, self.size, now))
        passed, left.at = (now - left.at) / _MINUTE, now
        left.requests = min(self.requests, left.requests + passed * self.requests)
        left.size = min(self.size, left.size + passed * self.size)
        size = min(size, int(self.size))
        missing = max((requests - left.requests) / self.requests, (size - left.size) / self.size)
        if missing > 0:
            return missing * _MINUTE
        left.requests -= requests
        left.size -= size
        return 0.0
