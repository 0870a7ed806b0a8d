"""OpenTelemetry spans and metrics of memory work, under the GenAI semantic conventions' names.

Silent without an SDK; nothing is sent anywhere by us; no content, query or project name is ever an attribute.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from reasoningbank.errors import BankError

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram
    from opentelemetry.trace import Span, StatusCode, Tracer

SCOPE = "reasoningbank"
Operation = Literal[
    "create_memory",
    "search_memory",
    "update_memory",
    "delete_memory",
    "create_memory_store",
    "feedback_memory",
    "outcome_memory",
]
"""The GenAI memory operations, and two of ours for evidence."""

Attribute = str | int | float | bool


@functools.cache
def _tracer() -> Tracer:
    from opentelemetry import trace

    return trace.get_tracer(SCOPE)


@functools.cache
def _duration() -> Histogram:
    from opentelemetry import metrics

    return metrics.get_meter(SCOPE).create_histogram(
        "gen_ai.memory.operation.duration", unit="s", description="How long a memory operation took."
    )


@functools.cache
def _operations() -> Counter:
    from opentelemetry import metrics

    return metrics.get_meter(SCOPE).create_counter(
        "gen_ai.memory.operation.count", description="Memory operations, by name and error."
    )


@functools.cache
def _delivered() -> Counter:
    from opentelemetry import metrics

    return metrics.get_meter(SCOPE).create_counter(
        "gen_ai.memory.delivered", description="Memories delivered by searches."
    )


def _failed() -> StatusCode:
    from opentelemetry.trace import StatusCode

    return StatusCode.ERROR


def anonymous(name: str) -> str:
    """A short hash that tells scopes apart without naming them."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Observation:
    """The span of one operation, for the facts that are known only at its end."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def note(self, **facts: Attribute) -> None:
        """Adds attributes below ``gen_ai.memory.``; never give it content."""
        for name, value in facts.items():
            self._span.set_attribute(f"gen_ai.memory.{name}", value)

    def delivered(self, count: int) -> None:
        """Counts memories that a search delivered."""
        self.note(result_count=count)
        _delivered().add(count)


@contextmanager
def observed(operation: Operation, *, store: str) -> Iterator[Observation]:
    """A span and the duration and count of one operation.

    Args:
        operation: What is done.
        store: The scope it is done in; only its hash leaves this function.
    """
    started = time.perf_counter()
    failure = ""
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": operation,
        "gen_ai.memory.store.id": anonymous(store),
    }
    with _tracer().start_as_current_span(
        operation, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield Observation(span)
        except BankError as error:
            failure = error.code
            span.set_attribute("error.type", failure)
            span.set_status(_failed())
            raise
        finally:
            labels: dict[str, Attribute] = {"gen_ai.operation.name": operation}
            if failure:
                labels["error.type"] = failure
            _duration().record(time.perf_counter() - started, labels)
            _operations().add(1, labels)
