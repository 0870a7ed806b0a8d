"""``rbank completion SHELL``: what makes a shell complete commands, options, choices and files."""

from __future__ import annotations

import click

from reasoningbank.cli.app import COMMANDS, rbank
from reasoningbank.cli.call import Call, command
from reasoningbank.cli.output import print_json, print_text

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_RBANK_COMPLETE"
"""The variable by which the shell asks: Click derives it from the program's name."""


@command("completion", COMMANDS["completion"], click.Argument(["shell"], type=click.Choice(SHELLS)))
def completion(call: Call, *, shell: str) -> None:
    """Print the script that completes commands, options, choices and files of rbank in a shell.

    Bash: rbank completion bash > ~/.local/share/bash-completion/completions/rbank. Zsh: put it as _rbank into a
    directory of $fpath. Fish: rbank completion fish > ~/.config/fish/completions/rbank.fish.
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    script = found(rbank, {}, "rbank", VARIABLE).source()
    if call.as_json:
        print_json({"shell": shell, "script": script})
    else:
        print_text(script.rstrip())
