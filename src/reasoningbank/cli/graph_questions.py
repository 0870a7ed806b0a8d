"""What ``rbank graph ask`` and ``rbank graph remember`` do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.cli.output import print_json, print_text, text_or_stdin
from reasoningbank.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    from reasoningbank.cli.call import Call

MAX_BYTES = 16 * 2**20


def ask(
    call: Call,
    question: str,
    *,
    limit: int,
    budget: int | None,
    asks: bool,
    clarification: str,
    user: str,
    role: str,
) -> None:
    """Prints the paths and lessons that answer a question, or the question back."""
    from reasoningbank.operations.graph_fields import answer_fields, answer_text

    with call.open_bank() as bank:
        answer = bank.questions.ask(
            text_or_stdin(question),
            ask=asks,
            clarification=clarification,
            nodes=limit,
            budget=budget,
            user=user,
            role=role,
        )
    if call.as_json:
        print_json(answer_fields(answer))
    else:
        print_text(answer_text(answer))


def remember(call: Call, file: str) -> None:
    """Stores the conversation of a JSON file and prints what became of it.

    Raises:
        StoreUnavailable: When the file cannot be read.
        InvalidInput: When it holds no conversation.
    """
    from reasoningbank.operations.graph_fields import report_fields, report_text

    conversation = _read(file)
    with call.open_bank() as bank:
        report = bank.conversations.remember(conversation)
    if call.as_json:
        print_json(report_fields(report))
    else:
        print_text(report_text(report))


def _read(file: str) -> dict[str, object]:
    try:
        if file == "-":
            text = text_or_stdin(file)
        elif Path(file).stat().st_size > MAX_BYTES:
            raise InvalidInput(f"{file} has more than {MAX_BYTES >> 20} MiB")
        else:
            text = Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise StoreUnavailable(f"{file} cannot be read: {error.strerror}", hint="Name a file that is there.") from error
    except ValueError as error:
        raise InvalidInput(f"{file} is not UTF-8 text") from error
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{file} is no JSON", hint="It holds one object; see the reference of web and write-back."
        ) from error
    if not isinstance(value, dict):
        raise InvalidInput(f"{file} holds no JSON object", hint="A conversation is one object with a conv_id.")
    return value
