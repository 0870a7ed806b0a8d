"""What the evaluation of learning prints."""

from __future__ import annotations

from promised.promise import Promise

LEARNING_EVALUATION: tuple[Promise, ...] = (
    Promise(
        "learning-evaluation:numbers",
        "issue 3 It must show",
        "Shares have Wilson intervals, means, AUROC and Brier bootstrap intervals over whole groups, with their known values.",
    ),
    Promise(
        "learning-evaluation:tables",
        "issue 3 It must show",
        "Every result is a plain-text table and the same numbers as JSON; what was measured on nothing is null, never a number.",
    ),
    Promise(
        "learning-evaluation:labels-stripped",
        "issue 3 It must show",
        "No label reaches what is measured: sessions are captured from copies that hold only their messages, marks are matched to captured steps.",
    ),
    Promise(
        "learning-evaluation:judging",
        "issue 3 It must show",
        "The evidence-only judge, and a configured model's, are measured against the majority class: decided, abstention, overall, AUROC, Brier.",
    ),
    Promise(
        "learning-evaluation:distilling",
        "issue 3 It must show",
        "Yield and refusal reasons are counted through a real bank; without a model sessions wait and only summaries become lessons.",
    ),
    Promise(
        "learning-evaluation:naming",
        "issue 3 It must show",
        "Whether a failure lesson names the marked mistake is decided mechanically, beside how often that happens by chance, with and without a model.",
    ),
    Promise(
        "learning-evaluation:recall",
        "issue 3 Recall by task",
        "Recall by task, by memory and by words is compared on the same experiences, through the code of the search.",
    ),
    Promise(
        "learning-evaluation:parsing",
        "issue 3 It must show",
        "Every file is counted with its trajectories, steps and skipped entries; one that gives nothing is named.",
    ),
    Promise(
        "learning-evaluation:absent-data",
        "issue 3 It must show",
        "Every part says that its data is absent and is skipped.",
    ),
    Promise(
        "learning-evaluation:command",
        "issue 3 It must show",
        "The command takes the configured model, asks a question at temperature 0 once, samples the same sessions every time and writes only to a temporary folder.",
    ),
    Promise(
        "learning-evaluation:end-to-end",
        "issue 3 It must show",
        "With a local OpenAI-compatible server a transcript goes in, lessons come out and a new process finds them.",
    ),
)
