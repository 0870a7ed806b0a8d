"""``rbank stats``."""

from __future__ import annotations

from reasoningbank.cli.app import COMMANDS
from reasoningbank.cli.call import Call, bank_command
from reasoningbank.cli.output import print_json, print_text


@bank_command("stats", COMMANDS["stats"])
def command(call: Call) -> None:
    """Prints facts about the bank."""
    from reasoningbank.operations.fields import stats_answer

    with call.open_bank() as bank:
        answer = stats_answer(bank.admin.stats())
    if call.as_json:
        print_json({**answer})
        return
    states = ", ".join(f"{count} {state}" for state, count in answer["by_state"].items() if count)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in answer["by_outcome"].items() if count)
    weights = ", ".join(f"{name} {weight:.3f}" for name, weight in answer["weights"].items())
    noun = "memory" if answer["memories"] == 1 else "memories"
    print_text(
        f"{answer['memories']} {noun} of {answer['tenant']} in {answer['project']}\n"
        f"  states      {states or 'none'}\n"
        f"  outcomes    {outcomes or 'none'}\n"
        f"  proven      {answer['proven']}, unproven {answer['unproven']}\n"
        f"  weights     {weights}\n"
        f"  recalls     {answer['recalls']} of the latest hundred delivered something, "
        f"{answer['mean_recall_tokens']:.0f} tokens on average\n"
        f"  embedder    {answer['embedder']} ({answer['model_id'] or 'nothing stored yet'})"
    )
