"""What a command prints of an operation's answer, wherever the operation was run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from reasoningbank.operations.methods import answer_json
from reasoningbank.operations.operation import Json, Operation
from reasoningbank.operations.text import notes_of, text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Hold what is printed.

    Attributes:
        notes: On standard error, one line each.
        fields: The JSON object; None for text.
        text: The text; None for nothing.
    """

    notes: tuple[str, ...] = ()
    fields: Json | None = None
    text: str | None = None

    def written(self) -> Json:
        """Return it as JSON."""
        return asdict(self)

    @classmethod
    def read(cls, written: Mapping[str, object]) -> Said | None:
        """Return the inverse of ``written``; None when it is none."""
        notes, fields, text = (written.get(name) for name in ("notes", "fields", "text"))
        if not isinstance(notes, list) or not (fields is None or isinstance(fields, dict)):
            return None
        if not (text is None or isinstance(text, str)):
            return None
        return cls(notes=tuple(map(str, notes)), fields=fields, text=text)


def said_of(operation: Operation, result: object, values: Mapping[str, object], *, as_json: bool) -> Said:
    """Return what is printed of what an operation answered."""
    notes = tuple(notes_of(result, as_json=as_json))
    if as_json and getattr(result, "form", "") != "d3":
        return Said(notes=notes, fields=answer_json(operation, result, values))
    if result is None:
        return Said(notes=notes, text=f"Deleted {values[operation.echo[0]]}.")
    text = text_of(operation, result)
    return Said(notes=notes, text=text if text or type(result).__name__ != "Brief" else None)
