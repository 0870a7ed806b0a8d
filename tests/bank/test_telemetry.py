"""Spans and metrics: there with an SDK, silent without, never with content."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from promises import promise

PROGRAM = """
import json, sys
from pathlib import Path
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader]))

from reasoningbank import Bank, BankError, Settings
from reasoningbank.testing import HashingEmbedder

settings = Settings(home=Path(sys.argv[1]))
with Bank.open(tenant="canarytenant", project="canaryproject", embedder=HashingEmbedder(), settings=settings) as bank:
    memory = bank.record(title="canary title", content="canary content", outcome="success", tags=["canarytag"])
    bank.search("canary query title")
    bank.feedback(memory.id, helpful=True)
    bank.outcome(memory.id, succeeded=True)
    bank.update(memory.id, title="canary again")
    bank.admin.metrics()
    bank.delete(memory.id)
    try:
        bank.delete(memory.id)
    except BankError:
        pass
told = [json.loads(span.to_json()) for span in spans.get_finished_spans()]
measured = json.loads(reader.get_metrics_data().to_json())
print(json.dumps({"spans": told, "metrics": measured}))
"""


def run(program: str, home: Path) -> str:
    """Runs a program in a process of its own, so that it may set the global providers."""
    done = subprocess.run(
        [sys.executable, "-c", program, str(home)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={key: value for key, value in os.environ.items() if not key.startswith(("REASONINGBANK_", "OTEL_"))},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@promise(
    "telemetry:spans",
    "Every operation is a span with a duration and a count, and none holds content or names.",
    source="issue Telemetry",
)
@promise("contextd:64", "Counters and durations are exported with attributes.", source="spec/contextd row 64")
def test_every_operation_is_a_span_and_counted_without_content(tmp_path: Path) -> None:
    told = run(PROGRAM, tmp_path)
    for name in ("create_memory_store", "create_memory", "search_memory", "update_memory", "delete_memory"):
        assert f'"name": "{name}"' in told
    for name in ("gen_ai.memory.operation.duration", "gen_ai.memory.operation.count", "gen_ai.memory.delivered"):
        assert name in told
    assert "memory_not_found" in told
    assert '"reasoningbank.criterion.sample"' in told
    assert '"reasoningbank.criterion.id": "SC-006"' in told
    assert "canary" not in told


@promise("telemetry:silent", "Without an SDK nothing is said and none is loaded.", source="issue Telemetry")
def test_without_an_sdk_nothing_is_said(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from reasoningbank import Bank, Settings
from reasoningbank.testing import HashingEmbedder
with Bank.open(tenant="t", project="p", embedder=HashingEmbedder(), settings=Settings(home=Path(sys.argv[1]))) as bank:
    bank.record(title="t", content="c", outcome="success")
    bank.search("t")
assert not any(name.startswith("opentelemetry.sdk") for name in sys.modules)
"""
    assert run(program, tmp_path) == ""
