"""The worker learns what words are worth in a bank, and searches heed it."""

from __future__ import annotations

from pathlib import Path

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.settings import Settings
from reasoningbank.testing import HashingEmbedder

SUBJECTS = ("clock", "lock", "socket", "parser", "cache", "index", "queue", "thread")
PLACES = ("test", "server", "client", "worker", "bank")


@promise(
    "learning:weighing",
    "A worker learns in the background what words are worth in a bank of thirty memories or more, again when it has "
    "grown by half, and leaves no copy of a text behind.",
    source="issue 2 Choice of models; decision 0004",
)
def test_the_worker_weighs_the_words_of_a_bank_once_until_it_has_grown(tmp_path: Path) -> None:
    with Bank.open(tenant="t", project="p", embedder=HashingEmbedder(), settings=Settings(home=tmp_path)) as bank:
        for subject in SUBJECTS:
            for place in PLACES:
                bank.record(
                    title=f"The {subject} of a {place}",
                    description=f"When the {subject} of the {place} misbehaves.",
                    content=f"Replace the {subject}. Then restart the {place} and look at its log for the {subject}.",
                    outcome="success",
                )
        assert bank.jobs.work().done == 1
        assert bank.jobs.work().done == 0
        assert bank.search("the cache of a worker misbehaves").memories[0].title == "The cache of a worker"
    with Bank.open(tenant="t", project="p", embedder=HashingEmbedder(), settings=Settings(home=tmp_path)) as again:
        assert again.jobs.work().done == 0
        assert not list(tmp_path.glob("**/scratch*"))
