"""``rbank edit ID``: a memory's text in the user's own editor."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, command
from reasoningbank.cli.identifiers import whole_id
from reasoningbank.cli.output import print_json, print_note, print_text
from reasoningbank.errors import InvalidInput


@command("edit", COMMANDS["edit"], click.Argument(["memory_id"], metavar="ID"))
def edit(call: Call, *, memory_id: str) -> None:
    """Open a memory in $VISUAL or $EDITOR; what is saved becomes its new version, its evidence stays.

    The file has the text as its body and title, description, outcome, tags and category in front; the other lines in
    front are for reading. Leave the editor without saving to change nothing.
    """
    from reasoningbank.memories.front_matter import read_memory, written_memory
    from reasoningbank.operations.json import to_json
    from reasoningbank.operations.text import memory_text

    with call.open_bank(makes=False) as bank:
        memory = bank.get(whole_id(bank, "memory", memory_id, by_agent=False))
        edited = click.edit(written_memory(memory), extension=".md")
        if edited is None:
            print_note(f"Nothing was changed in {memory.id}.")
            return
        text = read_memory(edited)
        if text.id != memory.id:
            raise InvalidInput("the id was changed", hint="Leave the line `id:` as it is.")
        if bank.get(memory.id).version != memory.version:
            raise InvalidInput(
                f"memory {memory.id} was changed by others while you edited it", hint="Run `rbank edit` again."
            )
        changed = bank.update(
            memory.id,
            title=text.title,
            content=text.content,
            description=text.description,
            outcome=text.outcome,
            tags=text.tags,
            category=text.category,
        )
    if call.as_json:
        print_json(to_json(changed))
    else:
        print_text(memory_text(changed))
