"""A language model that says what it was told to say: for tests and demonstrations, without network or cost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from reasoningbank.errors import ModelUnavailable
from reasoningbank.types.ports import Completion, Prompt

Line = str | Exception | Callable[[Prompt], str]
"""One answer: its text, an error to raise, or what makes the text from the prompt."""


class ScriptedModel:
    """Answer prompts in their order, or by their name, and keep what it was asked. Safe to use from several threads.

    Args:
        answers: One line per prompt, in order; or a mapping from a prompt's name to the line that always answers it;
            or one function that answers them all.
        name: The name provenance keeps.
    """

    def __init__(
        self, answers: Iterable[Line] | Mapping[str, Line] | Callable[[Prompt], str] = (), *, name: str = "scripted"
    ) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._asked: list[Prompt] = []
        self._temperatures: list[float] = []
        self._schemas: list[Mapping[str, object]] = []
        self._all: Callable[[Prompt], str] | None = answers if callable(answers) else None
        self._by_name: Mapping[str, Line] | None = answers if isinstance(answers, Mapping) else None
        ordered = () if callable(answers) or isinstance(answers, Mapping) else answers
        self._in_order: list[Line] = [ordered] if isinstance(ordered, str) else list(ordered)

    def __repr__(self) -> str:
        return f"ScriptedModel(name={self._name!r}, asked={len(self._asked)})"

    @property
    def name(self) -> str:
        """The name it was given."""
        return self._name

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """Return what it was asked so far, in order."""
        with self._lock:
            return tuple(self._asked)

    @property
    def temperatures(self) -> tuple[float, ...]:
        """How it was asked to sample, call by call."""
        with self._lock:
            return tuple(self._temperatures)

    @property
    def schemas(self) -> tuple[Mapping[str, object], ...]:
        """Which schema each call asked for."""
        with self._lock:
            return tuple(self._schemas)

    def complete(self, prompt: Prompt, schema: Mapping[str, object], *, temperature: float = 0.0) -> Completion:
        """Return the next line.

        Raises:
            ModelUnavailable: The script has no line for this prompt.
            Exception: The line is one.
        """
        with self._lock:
            self._asked.append(prompt)
            self._temperatures.append(temperature)
            self._schemas.append(schema)
            line = self._line(prompt)
        if isinstance(line, Exception):
            raise line
        text = line if isinstance(line, str) else line(prompt)
        words = len(prompt.instructions.split()) + len(prompt.material.split())
        return Completion(text=text, model=self._name, input_tokens=words, output_tokens=len(text.split()))

    def _line(self, prompt: Prompt) -> Line:
        if self._all is not None:
            return self._all
        if self._by_name is not None:
            if prompt.name not in self._by_name:
                return self._missing(f"for the prompt {prompt.name!r}")
            return self._by_name[prompt.name]
        if not self._in_order:
            return self._missing(f"left: it was asked {len(self._asked)} times, the last time {prompt.name!r}")
        return self._in_order.pop(0)

    def _missing(self, what: str) -> ModelUnavailable:
        return ModelUnavailable(
            f"the script of {self._name} has no answer {what}", hint="Give ScriptedModel an answer for every prompt."
        )
