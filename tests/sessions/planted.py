"""``python -m sessions.planted HOME``: learns from sessions full of secrets and prints where one of them is readable.

A process of its own, so that it may set the global telemetry and listen to every logger.
"""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from reasoningbank.bank import Bank
from reasoningbank.errors import ModelUnavailable
from reasoningbank.llm.scripted import ScriptedModel
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder
from reasoningbank.types.matts import Task
from reasoningbank.types.ports import Prompt
from reasoningbank.types.recall import Hit
from reasoningbank.types.session import SessionSummary, Trajectory
from sessions.made_lessons import FROZEN, POOL, opinion, ran, strategies, strategy
from sessions.recorded_sessions import Turn, claude_code
from sessions.test_capture_safety import SECRETS, cores


def transcript() -> str:
    """A session of two hundred steps, a secret in each: said, run, seen."""
    turns = []
    for number, (kind, secret) in enumerate(SECRETS):
        place = number % 3
        said = f"I was given {secret} for step {number}." if place == 0 else f"Step {number}."
        command = f"deploy --with '{secret}'" if place == 1 and kind != "private key" else f"run {number}"
        seen = f"line one\nvalue {secret}\nlast line" if place == 2 or kind == "private key" else "fine"
        turns.append(Turn(said, command, seen, number % 2))
    turns.append(Turn("Run the tests.", "python -m pytest -q", "12 passed in 0.05s"))
    return claude_code(turns, f"Deploy the shop. The key is {SECRETS[1][1]}.", f"Done with {SECRETS[2][1]}.")


def agent(task: Task, memories: Sequence[Hit]) -> Trajectory:
    """An agent that fails once with a secret in its error."""
    if not failed:
        failed.append(True)
        raise RuntimeError(f"401 for {SECRETS[3][1]}")
    return Trajectory(task=task.text, steps=(ran(3, thought=f"Use {SECRETS[4][1]}"),), final_answer="done")


def found(prompt: Prompt) -> str:
    """A strategy with a secret, then an outage that repeats one."""
    if broken:
        raise ModelUnavailable(f"Incorrect key: {SECRETS[32][1]}")
    return strategies(dict(FROZEN, content=f"{FROZEN['content']} Its key is {SECRETS[9][1]}."))


failed: list[bool] = []
broken: list[bool] = []


def live(home: Path, model: ScriptedModel) -> list[str]:
    """Everything that learning does with text; returns what was read while the bank was open."""
    source = home / "session.jsonl"
    home.mkdir(parents=True)
    source.write_text(transcript(), encoding="utf-8")
    with Bank.open(
        tenant="acme", project="shop", embedder=HashingEmbedder(256), model=model, settings=Settings(home=home / "bank")
    ) as bank:
        (captured,) = bank.sessions.capture(source).trajectories
        bank.jobs.work()
        bank.sessions.judge(captured.id)
        bank.sessions.verdict(captured.id, "success", note=f"It works with {SECRETS[5][1]}.")
        bank.jobs.work()
        bank.distillation.record(
            captured.id,
            title=f"Rotate {SECRETS[6][1]}",
            description="When a deployment needs a key",
            content=f"Set the key {SECRETS[7][1]} in the environment of the job before it starts.",
            outcome="success",
        )
        bank.distillation.from_summary(
            SessionSummary(
                session_id="s2",
                project_id="shop",
                outcome="partial",
                task=f"Log in with {SECRETS[8][1]}",
                approach=f"Passed {SECRETS[15][1]} on the command line of the deployment",
                result=f"It was shown in the process list: {SECRETS[16][1]}",
            )
        )
        answer = bank.experience.search(f"timeouts with {SECRETS[17][1]}", session=f"s {SECRETS[18][1]}")
        bank.experience.report(answer.reasoning.trace_id, "failure", details=f"The key {SECRETS[19][1]} was refused.")
        bank.jobs.work()
        bank.sessions.keep(Trajectory(task="Repair the parser", steps=(ran(5),), session="s3"))
        broken.append(True)
        reports = [bank.jobs.work(), bank.distillation.run(pending=True)]
        bank.experience.extract_strategy(
            f"q {SECRETS[20][1]}", f"a {SECRETS[21][1]}", "failure", SECRETS[22][1], SECRETS[23][1]
        )
        bank.experience.extract_content(f"We decided to use {SECRETS[24][1]} in src/deploy.py.")
        bank.experience.ingest(f"We decided to use the token {SECRETS[25][1]} in src/deploy.py.", source=SECRETS[30][1])
        bank.matts.scale(f"Deploy with {SECRETS[31][1]}", agent, 2, at_once=1)
        seen = [
            str(reports[0]),
            str(bank.distillation.refusals()),
            str(bank.jobs.dead()),
            str(bank.experience.traces()),
            str(bank.sessions.list()),
        ]
        return [*seen, *files(home / "bank")]


def files(home: Path) -> list[str]:
    """The bytes of every file of the bank, the log of SQLite included; nothing in them is compressed but bodies."""
    return [path.read_bytes().decode("latin-1") for path in home.rglob("*") if path.is_file()]


def main(home: Path) -> None:
    """Prints the names of the places in which a secret is readable."""
    spans, logs = InMemorySpanExporter(), io.StringIO()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    logging.basicConfig(stream=logs, level=logging.DEBUG)
    model = ScriptedModel(
        {
            "judge": opinion(),
            "distil_success": found,
            "strategy_failure": strategy(
                "Check the key", "When a key is refused", f"Ask who made {SECRETS[10][1]}, and rotate it at once."
            ),
            "strategy_success": POOL,
            "contrast": ModelUnavailable(f"refused {SECRETS[11][1]}"),
            "select": ModelUnavailable(f"refused {SECRETS[12][1]}"),
        }
    )
    opened = live(home, model)
    places = {
        "while it was open": "\n".join(opened),
        "files": "\n".join(files(home / "bank")),
        "prompts": "\n".join(f"{prompt.instructions}\n{prompt.material}" for prompt in model.prompts),
        "spans": "\n".join(span.to_json() for span in spans.get_finished_spans()),
        "logs": logs.getvalue(),
    }
    leaked = {
        name: sorted({kind for kind, secret in SECRETS for core in cores(kind, secret) if core in text})
        for name, text in places.items()
    }
    sizes = {name: len(text) for name, text in places.items()}
    with Bank.open(
        tenant="acme", project="shop", embedder=HashingEmbedder(256), settings=Settings(home=home / "bank")
    ) as bank:
        whole = "\n".join(repr(bank.sessions.get(entry.id)) for entry in bank.sessions.list())
    whole = whole.replace("\\n", "\n")
    leaked["trajectories"] = sorted({kind for kind, one in SECRETS for core in cores(kind, one) if core in whole})
    print(json.dumps({"leaked": leaked, "sizes": sizes, "redacted": whole.count("[REDACTED:")}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
