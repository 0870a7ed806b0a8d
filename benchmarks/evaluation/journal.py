"""A language model whose answers are written down, so that a run that was broken off goes on where it was."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reasoningbank.errors import BankError
from reasoningbank.llm.exchange import CORRECTION
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.llm.window import context_of
from reasoningbank.types.ports import Completion, LanguageModel, Prompt

_MINUTE = 60.0


class Journal:
    """Asks a model, notes each answer in a file, and shows how far the run is.

    The same question a second time in one run is another sample when it is asked above temperature 0; in a later run
    the samples come back in the same order.

    Args:
        model: Who is asked.
        path: The file; what it holds of this model is not asked again.
        expected: How many calls the run is expected to make; 0 shows no bar.

    Attributes:
        part: The part of the run that asks now; it is noted with each answer.
        sample: How many sessions of a set the run asks about.
    """

    def __init__(self, model: LanguageModel, path: Path | None, *, expected: int = 0, sample: int = 0) -> None:
        self._model = model
        self._path = path
        self.part = ""
        self._missed = False
        self.sample = sample
        self._expected = expected
        self._answered: Counter[str] = Counter()
        self._finished: set[str] = set()
        self._lock = threading.Lock()
        self._seen: Counter[str] = Counter()
        self._began = time.monotonic()
        self._known: dict[str, Completion] = {}
        self._whole = False
        self.calls = self.resumed = self.input_tokens = self.output_tokens = 0
        for line in path.read_text(encoding="utf-8").splitlines() if path is not None and path.is_file() else ():
            try:
                entry = json.loads(line)
            except ValueError:  # the run was killed while it wrote this line
                continue
            self._remember(entry)

    def _remember(self, entry: dict[str, Any]) -> None:
        """Takes over one line of the file; what is another model's is kept for it and counted for nobody."""
        part, again = entry.pop("part", ""), entry.pop("again", False)
        own = entry["model"] == self.name
        if "sample" in entry:
            if own and entry["sample"] == self.sample:
                self._finished.add(part)
            return
        key = entry.pop("key")
        self._known[key] = Completion(**entry)
        self._answered[part] += own and not again

    def left(self, part: str, expected: int) -> int:
        """How many of the expected calls of a part are not answered yet; none of a part that has run to its end."""
        return 0 if part in self._finished else max(0, expected - self._answered[part])

    def begin(self, part: str) -> None:
        """Takes what is asked from now on as asked for this part."""
        self.part, self._missed = part, False

    def finish(self) -> None:
        """Notes that the part has run to its end with this sample, unless an answer is missing."""
        with self._lock:
            if self.part and not self._missed and self.part not in self._finished:
                self._finished.add(self.part)
                self._append({"part": self.part, "sample": self.sample, "model": self.name})

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._model.name

    def context(self) -> int:
        """What the model reads at once."""
        return context_of(self._model)

    def complete(self, prompt: Prompt, schema: Mapping[str, object], *, temperature: float = 0.0) -> Completion:
        """The answer, or the one that is written down; what the model raises is not written down."""
        asked = [self.name, prompt.label, prompt.instructions, prompt.material, temperature, prompt.answer_tokens]
        base = hashlib.blake2b(json.dumps(asked).encode(), digest_size=12).hexdigest()
        with self._lock:
            key = f"{base}-{self._seen[base]}" if temperature else base
            self._seen[base] += 1
            answer = self._known.get(key)
        if answer is None:
            try:
                answer = self._model.complete(prompt, schema, temperature=temperature)
            except BankError:
                self._missed = True
                raise
            with self._lock:
                self._write(key, answer, again=CORRECTION in prompt.instructions)
        else:
            self.resumed += 1
        with self._lock:
            self.calls += 1
            self.input_tokens += answer.input_tokens
            self.output_tokens += answer.output_tokens
        self._show()
        return answer

    def _write(self, key: str, answer: Completion, *, again: bool) -> None:
        self._known[key] = answer
        entry = {"key": key, "text": answer.text, "model": answer.model, "cut": answer.cut}
        entry |= {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
        self._append(entry | {"part": self.part, "again": again})

    def _append(self, entry: Mapping[str, object]) -> None:
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        broken = self._path.is_file() and not self._whole and not self._path.read_bytes().endswith(b"\n")
        self._whole = True
        with self._path.open("a", encoding="utf-8") as file:
            file.write(("\n" if broken else "") + json.dumps(entry) + "\n")

    def _show(self) -> None:
        if not self._expected or not sys.stderr.isatty():
            return
        share = min(1.0, self.calls / self._expected)
        asked = self.calls - self.resumed
        seconds = time.monotonic() - self._began
        left = seconds / asked * max(0, self._expected - self.calls) if asked else 0.0
        bar = "#" * round(30 * share)
        sys.stderr.write(
            f"\r[{bar:<30}] {self.calls}/{self._expected} calls, {self.input_tokens + self.output_tokens:,} tokens, "
            f"about {f'{left / 60:.0f} min' if left >= _MINUTE else f'{left:.0f} s'} left "
        )
        sys.stderr.flush()


PROBE = Prompt(
    name="probe",
    version="1",
    instructions="Count the words of the text. Answer with one JSON object with the key words.",
    material="A short text that only shows how fast the model reads and writes. " * 40,
    answer_tokens=40,
)


def estimate(model: LanguageModel, calls: int, tokens: int) -> str:
    """One sentence on what a run will cost, after one short question that shows how fast the model is."""
    began = time.monotonic()
    answer = model.complete(PROBE, {"type": "object", "properties": {"words": {"type": "integer"}}})
    seconds = max(0.001, time.monotonic() - began)
    read = answer.input_tokens or count_tokens(PROBE.instructions + PROBE.material)
    written = answer.output_tokens or count_tokens(answer.text)
    speed = (read + 10 * written) / seconds
    minutes = tokens * 1.5 / speed / 60
    return f"about {calls:,} calls and {tokens:,} tokens, {minutes:,.0f} minutes at {speed:,.0f} tokens a second"
