"""OpenTelemetry spans and metrics of memory work and model calls, under the GenAI semantic conventions' names.

Silent without an SDK; nothing is sent anywhere by us; no content, query or project name is ever an attribute. Where no
SDK can be set up, the API is not even imported: that takes a tenth of the time of a short command.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from reasoningbank.errors import BankError
from reasoningbank.settings import is_in_environment

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram
    from opentelemetry.metrics import _Gauge as Gauge
    from opentelemetry.trace import Span, StatusCode, Tracer

    from reasoningbank.types.metrics import Metric

SCOPE = "reasoningbank"
ObservedOperation = Literal[
    "create_memory",
    "search_memory",
    "update_memory",
    "delete_memory",
    "promote_memory",
    "demote_memory",
    "create_memory_store",
    "feedback_memory",
    "outcome_memory",
    "consolidate_memories",
    "undo_consolidation",
    "decay_memories",
    "prune_memories",
    "stability_memory",
    "check_stability",
    "quarantine_memories",
    "release_memories",
    "report_uplift",
]
"""The GenAI memory operations, and ours for evidence and consolidation."""

SpanAttribute = str | int | float | bool

_PROVIDERS = {"google": "gcp.gemini"}


def is_listened_to() -> bool:
    """Return whether an SDK may be set up: whoever does that imports the API, or says so in the environment."""
    return "opentelemetry" in sys.modules or is_in_environment("OTEL_")


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


@functools.cache
def _chat_duration() -> Histogram:
    from opentelemetry import metrics

    return metrics.get_meter(SCOPE).create_histogram(
        "gen_ai.client.operation.duration", unit="s", description="How long a language model took."
    )


@functools.cache
def _chat_tokens() -> Histogram:
    from opentelemetry import metrics

    return metrics.get_meter(SCOPE).create_histogram(
        "gen_ai.client.token.usage", unit="{token}", description="Tokens of calls of language models."
    )


@functools.cache
def _criterion() -> Gauge:
    from opentelemetry import metrics

    return metrics.get_meter(SCOPE).create_gauge(
        "reasoningbank.criterion.value", description="Success criteria SC-001 to SC-006, when they were last counted."
    )


@functools.cache
def _criterion_sample() -> Gauge:
    from opentelemetry import metrics

    return metrics.get_meter(SCOPE).create_gauge(
        "reasoningbank.criterion.sample", description="How many cases each success criterion is made of."
    )


def _failed() -> StatusCode:
    from opentelemetry.trace import StatusCode

    return StatusCode.ERROR


def anonymous(name: str) -> str:
    """Return a short hash that tells scopes apart without naming them."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Observation:
    """The span of one operation, for the facts that are known only at its end."""

    def __init__(self, span: Span | None) -> None:
        self._span = span

    def note(self, **facts: SpanAttribute) -> None:
        """Add attributes below ``gen_ai.memory.``; never give it content."""
        if self._span is None:
            return
        for name, value in facts.items():
            self._span.set_attribute(f"gen_ai.memory.{name}", value)

    def delivered(self, count: int) -> None:
        """Count memories that a search delivered."""
        self.note(result_count=count)
        if self._span is not None:
            _delivered().add(count)


@contextmanager
def observed(operation: ObservedOperation, *, store: str) -> Iterator[Observation]:
    """Give a span and the duration and count of one operation.

    Args:
        operation: What is done.
        store: The scope it is done in; only its hash leaves this function.
    """
    if not is_listened_to():
        yield Observation(None)
        return
    started = time.perf_counter()
    failure = ""
    attributes: dict[str, SpanAttribute] = {
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
            labels: dict[str, SpanAttribute] = {"gen_ai.operation.name": operation}
            if failure:
                labels["error.type"] = failure
            _duration().record(time.perf_counter() - started, labels)
            _operations().add(1, labels)


def criteria_measured(criteria: Iterable[Metric], *, store: str) -> None:
    """Export success criteria; one without enough data has a sample and no value.

    Args:
        criteria: The criteria.
        store: The scope that they are of; only its hash leaves this function.
    """
    if not is_listened_to():
        return
    for each in criteria:
        labels = {"reasoningbank.criterion.id": each.id, "gen_ai.memory.store.id": anonymous(store)}
        _criterion_sample().set(each.sample, labels)
        if each.value is not None:
            _criterion().set(each.value, labels)


class Chat:
    """The span of one call of a language model, for what is known only at its end."""

    def __init__(self, span: Span, labels: dict[str, SpanAttribute]) -> None:
        self._span = span
        self._labels = labels

    def answered(self, *, model: str, input_tokens: int, output_tokens: int, finish: str) -> None:
        """Note which model answered, what that cost (0: not known) and why it stopped; never what it said."""
        self._span.set_attribute("gen_ai.response.model", model)
        if finish:
            self._span.set_attribute("gen_ai.response.finish_reasons", [finish])
        for kind, tokens in (("input", input_tokens), ("output", output_tokens)):
            if tokens:
                self._span.set_attribute(f"gen_ai.usage.{kind}_tokens", tokens)
                _chat_tokens().record(tokens, {**self._labels, "gen_ai.token.type": kind})


@contextmanager
def chatted(*, provider: str, model: str, temperature: float, max_tokens: int, server: str) -> Iterator[Chat]:
    """Give a span and the duration and tokens of one call of a language model, its attempts included.

    Args:
        provider: Who answers, in the conventions' spelling or a name of its own.
        model: The model that is asked.
        temperature: How it samples.
        max_tokens: Most tokens of the answer.
        server: Host that is called; empty for the provider's own.
    """
    from opentelemetry.trace import SpanKind

    started = time.perf_counter()
    labels: dict[str, SpanAttribute] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": model,
    }
    if server:
        labels["server.address"] = server
    attributes: dict[str, SpanAttribute] = {
        **labels,
        "gen_ai.request.temperature": temperature,
        "gen_ai.request.max_tokens": max_tokens,
        "gen_ai.output.type": "json",
    }
    with _tracer().start_as_current_span(
        f"chat {model}",
        kind=SpanKind.CLIENT,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        failed: dict[str, SpanAttribute] = {}
        try:
            yield Chat(span, labels)
        except BankError as error:
            failed["error.type"] = error.code
            span.set_attribute("error.type", error.code)
            span.set_status(_failed())
            raise
        finally:
            _chat_duration().record(time.perf_counter() - started, {**labels, **failed})
