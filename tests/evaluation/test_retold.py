"""What is recorded after a similar lesson was shown: the set, and a little of what it measures."""

from __future__ import annotations

from evaluation.learning_tables import text_of

from evaluation import retold
from promises import promise
from reasoningbank.bank import Bank


@promise(
    "evaluation:retold",
    "What the rule for echoes finds of lessons that are told again, and what it costs honest sessions that record "
    "after a search, is measured on texts of which one half is kept apart.",
    source="issue 14",
)
def test_what_is_told_again_is_counted_by_half(local_bank: Bank) -> None:
    lessons = retold.lessons()
    assert (len(lessons), sum(len(each.further) for each in lessons)) == (40, 60)
    assert sum(each.apart for each in lessons) == 20
    found = retold.recorded(local_bank, lessons[:2])
    whole = [each for each in found if "100%" in each.kind]
    assert [each.echo for each in whole] == [True, True]
    assert not any(each.echo for each in found if each.kind == "honest")
    printed = text_of(retold.table(found))
    assert "in other words (apart)" in printed
    assert "were kept apart" in retold.separation(found)
    assert not local_bank.memories.count() - 2, "only what was shown stays"
