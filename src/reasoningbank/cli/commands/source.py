"""``rbank source``."""

from __future__ import annotations

from pathlib import Path

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text, text_or_stdin
from reasoningbank.errors import InvalidInput, StoreUnavailable


@bank_command("source", COMMANDS["source"])
@click.argument("file")
@click.option("--pointer", metavar="P", help="Where the source lies; default: the file's name.")
@click.option("--type", "source_type", default="text", show_default=True, metavar="T", help="What the source is.")
@click.option("--conversation", default="", metavar="ID", help="The conversation that it is a part of.")
@click.option("--tag", "tags", multiple=True, metavar="X", help="A further tag; may be repeated.")
def command(
    call: Call, *, file: str, pointer: str | None, source_type: str, conversation: str, tags: tuple[str, ...]
) -> None:
    """Keeps a text file, or stdin for -, as a source in the graph.

    With a language model what it names becomes its tags, and what it states becomes nodes that cite their exact place.
    Without one nothing is invented, and the source waits for one.
    """
    from reasoningbank.operations.provenance_fields import source_report_fields, source_text

    if file == "-" and not pointer:
        raise InvalidInput("a source from stdin needs --pointer", hint="Say where the text lies.")
    with call.open_bank() as bank:
        report = bank.sources.add(
            _read(file), pointer=pointer or Path(file).name, source_type=source_type, conv_id=conversation, tags=tags
        )
    answer = source_report_fields(report)
    if call.as_json:
        print_json({**answer})
    else:
        print_text(source_text(answer))


def _read(file: str) -> str:
    if file == "-":
        return text_or_stdin(file)
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise StoreUnavailable(f"{file} cannot be read: {error.strerror}", hint="Name a text file.") from error
    except (UnicodeDecodeError, ValueError) as error:
        raise InvalidInput(f"{file[:80]} is not UTF-8 text") from error
