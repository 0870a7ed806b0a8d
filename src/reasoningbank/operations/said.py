"""What a command prints of an operation's answer, wherever the operation was run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from reasoningbank.operations.methods import answer_json
from reasoningbank.operations.operation import Json, Operation
from reasoningbank.operations.text import notes_of, text_of
from reasoningbank.types.quantity import counted
from reasoningbank.types.transfer import TakenOver

DONE_IN_PART = 7
"""The exit status of an import that was done but for what was refused."""
_REFUSED_IN = ("refused", "left_out", "dangling")
"""The fields of a report of an import that list what was not stored; a conflict is none, for the bank has its own."""
_IMPORTS = frozenset({"ImportReport", "TakenOver", "ShareReport", "GraphImport"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Hold what is printed.

    Attributes:
        notes: On standard error, one line each.
        fields: The JSON object; None for text.
        text: The text; None for nothing.
        status: The exit status: 0, or ``DONE_IN_PART``.
    """

    notes: tuple[str, ...] = ()
    fields: Json | None = None
    text: str | None = None
    status: int = 0

    def written(self) -> Json:
        """Return it as JSON."""
        return asdict(self)

    @classmethod
    def read(cls, written: Mapping[str, object]) -> Said | None:
        """Return the inverse of ``written``; None when it is none."""
        notes, fields, text = (written.get(name) for name in ("notes", "fields", "text"))
        status = DONE_IN_PART if written.get("status") == DONE_IN_PART else 0
        if not isinstance(notes, list) or not (fields is None or isinstance(fields, dict)):
            return None
        if not (text is None or isinstance(text, str)):
            return None
        return cls(notes=tuple(map(str, notes)), fields=fields, text=text, status=status)


def said_of(operation: Operation, result: object, values: Mapping[str, object], *, as_json: bool) -> Said:
    """Return what is printed of what an operation answered."""
    notes, missing = tuple(notes_of(result, as_json=as_json)), refused_in(result)
    if missing:
        notes = (*notes, f"{counted(missing, 'thing')} of it refused, as said; exit status {DONE_IN_PART}")
    status = DONE_IN_PART if missing else 0
    if as_json and getattr(result, "form", "") != "d3":
        return Said(notes=notes, fields=answer_json(operation, result, values), status=status)
    if result is None:
        return Said(notes=notes, text=f"Deleted {values[operation.echo[0]]}.")
    text = text_of(operation, result)
    return Said(notes=notes, text=text if text or type(result).__name__ != "Brief" else None, status=status)


def refused_in(result: object) -> int:
    """Return how many things of an import were refused; none for any other result."""
    if type(result).__name__ not in _IMPORTS:
        return 0
    if isinstance(result, TakenOver):
        return result.count("refused")
    return sum(len(getattr(result, name, ())) for name in _REFUSED_IN)
