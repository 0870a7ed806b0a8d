"""One event from its payload to its answer; light, because every turn of an agent waits for it."""

from __future__ import annotations

import os
from typing import BinaryIO, NamedTuple, TextIO

from reasoningbank.surfaces.hooks.payloads import KEEPING, Event, Payload, event_of, payload_of
from reasoningbank.surfaces.hooks.replies import neutral, reply

MAX_PAYLOAD = 16_000_000


class Place(NamedTuple):
    """Which bank an event belongs to: the command's options; None for what the settings and the payload say."""

    url: str | None = None
    tenant: str | None = None
    project: str | None = None
    team: str | None = None
    org: str | None = None


def note(event_name: str, error: Exception) -> None:
    """Notes a failure in the log below the data directory."""
    from reasoningbank.surfaces.hooks.log import write

    write(event_name, error)


def run(event_name: str, source: BinaryIO, target: TextIO, place: Place) -> None:
    """Reads the payload, answers the client, and does what is left to do; never raises.

    What only keeps something is done after the answer, in a process of its own where the system has ``fork``.
    """
    event, payload, context = event_of(event_name), Payload(), ""
    try:
        payload = payload_of(source.read(MAX_PAYLOAD))
        if event is not None and event not in KEEPING and not payload.subagent:
            from reasoningbank.surfaces.hooks.showing import context_for

            context = context_for(event, payload, place)
    except Exception as error:  # noqa: BLE001 - a hook must never stop its agent
        note(event_name, error)
        _say(target, neutral(payload.client), event_name)
        return
    _say(target, reply(event, payload, context), event_name)
    if event in KEEPING and _worth_keeping(event, payload):
        _later(event, payload, place)


def _say(target: TextIO, text: str, event_name: str) -> None:
    """Writes the answer at once; a client that went away is no reason to fail."""
    try:
        target.write(text + "\n")
        target.flush()
    except (OSError, ValueError) as error:
        with os.fdopen(os.open(os.devnull, os.O_WRONLY)) as nothing:
            os.dup2(nothing.fileno(), target.fileno())
        note(event_name, error)


def _worth_keeping(event: Event, payload: Payload) -> bool:
    if payload.subagent or payload.continued:
        return False
    return bool(payload.summary if event == "PostCompact" else payload.transcript)


def _later(event: Event, payload: Payload, place: Place) -> None:
    """Keeps in a process of its own that its client neither waits for nor ends; without ``fork`` in this one."""
    try:
        if not hasattr(os, "fork"):
            _keep(event, payload, place)
        elif os.fork() == 0:
            _detached(event, payload, place)
    except Exception as error:  # noqa: BLE001 - a hook must never stop its agent
        note(event, error)


def _detached(event: Event, payload: Payload, place: Place) -> None:
    """The child's life: it leaves its parent's session and streams, keeps, and ends."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        _keep(event, payload, place)
    except Exception as error:  # noqa: BLE001 - a hook must never stop its agent
        note(event, error)
    finally:
        os._exit(0)


def _keep(event: Event, payload: Payload, place: Place) -> None:
    from reasoningbank.surfaces.hooks.keeping import keep

    keep(event, payload, place)
