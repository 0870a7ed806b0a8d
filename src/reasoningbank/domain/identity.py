"""Identifiers: UUIDs of version 7, so that ids sort by the time they were made."""

from __future__ import annotations

import secrets
import time
import uuid


def new_id() -> str:
    """A new UUIDv7 as text (RFC 9562): 48 bits of milliseconds, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & (2**48 - 1)) << 80
    value |= 0x7 << 76
    value |= secrets.randbits(12) << 64
    value |= 0b10 << 62
    value |= secrets.randbits(62)
    return str(uuid.UUID(int=value))


def new_session() -> str:
    """A name for a session that its caller did not name."""
    return f"session-{secrets.token_hex(6)}"
