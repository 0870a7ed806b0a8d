"""How sessions ended."""

from __future__ import annotations

from promised.promise import Promise

JUDGING: tuple[Promise, ...] = (
    Promise(
        "judging:test-runs",
        "issue 3 Evidence without a model",
        "Runs of pytest, unittest, go test, cargo test, jest, mocha and Maven are recognised by the runner's own last lines, counted, and named by what they test; an exit status overrules the summary of a lone command.",
    ),
    Promise(
        "judging:no-tests",
        "issue 3 Evidence without a model",
        "No tests, only skipped or deselected tests are no success.",
    ),
    Promise(
        "judging:quoted",
        "issue 3 Evidence without a model",
        "A summary in a file that was read, a diff, a listing, a web page, the command itself or in prose is no test run.",
    ),
    Promise(
        "judging:superseded",
        "issue 3 Evidence without a model",
        "A later run of the same or more tests replaces an earlier one; a later failing run of a part replaces a passing run of the whole; runs while the edits were stashed say nothing.",
    ),
    Promise(
        "judging:repairs",
        "issue 3 Evidence without a model",
        "Something that failed and later succeeded is one repair that names both steps and what came between; another command or file repairs nothing.",
    ),
    Promise(
        "judging:errors",
        "issue 3 Evidence without a model; spec/memoria_haios H19",
        "An error that stayed is a fact against success, once per thing tried, with or without an exit status; a search without a match, and an error that is only shown, are none.",
    ),
    Promise(
        "judging:commits",
        "issue 3 Evidence without a model",
        "Commits count as kept or undone (revert, reset), edits thrown away count when nothing follows; amending, soft resets and reverting older commits say nothing.",
    ),
    Promise(
        "judging:user-verdicts",
        "issue 3 Evidence without a model",
        "Only explicit words of the user about the work are a verdict, from the second turn on; thanks, agreement, questions, conditions and new wishes are none; a person asked just now decides alone.",
    ),
    Promise(
        "judging:evidence-decides",
        "issue 3 Judge; spec/memoria_haios H10",
        "Tests, a user's last word, a run without a result, or several different failures beside which little worked decide without a model.",
    ),
    Promise(
        "judging:unknown",
        "issue 3 Judge; DESIGN D8; spec/memoria_haios H10",
        "That nothing went wrong, that something was committed, repaired, thanked for or claimed is no success: the verdict is unknown.",
    ),
    Promise(
        "judging:tool-errors",
        "spec/memoria_haios H19",
        "One tool error in ten actions is partial; a repaired one is no failure.",
    ),
    Promise(
        "judging:sub-agents",
        "issue 3 Capture",
        "What a sub-agent saw counts half and makes only sub-agents' facts obsolete.",
    ),
    Promise(
        "judging:monotone",
        "issue 3 Judge",
        "A further latest fact against success never raises the probability, one for it never lowers it; facts of different steps may come in any order.",
    ),
    Promise(
        "judging:never-raises",
        "issue 3 Evidence without a model",
        "Facts and the verdict of evidence are found for any session without an error.",
    ),
    Promise(
        "judging:fast", "issue 3 It must show", "Facts take time proportional to the text, hostile texts included."
    ),
    Promise(
        "judging:evidence-first",
        "issue 3 Judge",
        "Where evidence says success or failure the model is not asked; weak evidence is shown to it.",
    ),
    Promise(
        "judging:model",
        "issue 3 Judge",
        "The model is asked once at temperature 0 with a schema, and its verdict, probability and reason are kept with its name.",
    ),
    Promise(
        "judging:malformed",
        "issue 3 Judge; spec/paper 3.6, 3.8",
        "An answer that is empty, truncated, a list, of wrong types, contradictory or holds another word such as 'unsuccessful' is unknown at 0.5, never success or failure; what stands around a valid answer does not matter.",
    ),
    Promise(
        "judging:outage",
        "issue 3 Judge; DESIGN D8; spec/paper 3.7",
        "An outage or a spent budget is unknown at 0.5 with the reason, never a failure.",
    ),
    Promise(
        "judging:strict",
        "issue 3 Judge",
        "A success needs completeness, grounding and right target and a sure probability; an opinion that contradicts itself is unknown.",
    ),
    Promise(
        "judging:votes",
        "issue 3 Judge",
        "More than half of n votes decide, anything else is unknown; the probability is the mean.",
    ),
    Promise(
        "judging:nothing-happened",
        "spec/paper 3.13",
        "A session in which nothing happened is unknown and no model is asked.",
    ),
    Promise(
        "judging:injection",
        "DESIGN D10; spec/paper 3.11",
        "Text of a session reaches the judge as quoted data between marks that it cannot hold, never among the instructions.",
    ),
)
