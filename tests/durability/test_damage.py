"""A damaged bank: named, kept, restorable, and no trouble for its neighbours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from promises import promise
from reasoningbank.bank import Bank
from reasoningbank.errors import StoreCorrupt


@promise(
    "contextd:67",
    "A damaged bank is named by the check and never takes others down.",
    source="spec/contextd row 67",
)
def test_a_damaged_bank_is_named_and_takes_no_other_down(
    open_local_bank: Callable[..., Bank], home: Path, tmp_path: Path
) -> None:
    shop, site = open_local_bank(project="shop"), open_local_bank(project="site")
    for bank in (shop, site):
        for number in range(40):
            bank.record(title=f"Lesson {number}", content=f"Retry the network call {number} times.", outcome="success")
    copy = shop.admin.backup(tmp_path / "copy.db")
    shop.close()
    file = next((home / "banks").rglob("shop-*.db"))
    for log in ("-wal", "-shm"):
        file.with_name(file.name + log).unlink(missing_ok=True)
    damaged = bytearray(file.read_bytes())
    for start in range(8_192, len(damaged) - 8_192, 16_384):
        damaged[start : start + 2_048] = bytes(2_048)
    file.write_bytes(bytes(damaged))
    again = open_local_bank(project="shop")
    assert again.admin.check().problems
    with pytest.raises(StoreCorrupt) as caught:
        again.memories.list()
    assert "restore" in caught.value.hint
    assert file.exists()
    assert site.search("retry the network call").memories
    assert site.admin.check().problems == ()
    repaired = open_local_bank(project="shop")
    repaired.admin.restore(copy)
    assert repaired.memories.count() == 40
    assert repaired.admin.check().problems == ()
