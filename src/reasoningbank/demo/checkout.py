"""The scratch project of the demonstration: a small shop whose tests need a file that is not under version control."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

FILES: Mapping[str, str] = MappingProxyType(
    {
        "local.example.ini": "[shop]\ntax = 19\n",
        "settings.py": """\
import configparser


def tax() -> int:
    values = configparser.ConfigParser()
    with open("local.ini", encoding="utf-8") as file:
        values.read_file(file)
    return values["shop"].getint("tax")
""",
        "orders.py": """\
from settings import tax


def total(prices: list[int]) -> int:
    return sum(prices) * (100 + tax()) // 100
""",
        "invoices.py": """\
from settings import tax


def tax_of(amount: int) -> int:
    return amount * tax() // 100
""",
        "tests/test_orders.py": """\
import unittest

from orders import total


class OrdersTest(unittest.TestCase):
    def test_total_has_the_tax(self) -> None:
        self.assertEqual(total([100, 200]), 357)
""",
        "tests/test_invoices.py": """\
import unittest

from invoices import tax_of


class InvoicesTest(unittest.TestCase):
    def test_tax_of_an_invoice(self) -> None:
        self.assertEqual(tax_of(300), 57)
""",
        "report.sh": """\
#!/bin/sh
python -c "import orders; print('orders today:', orders.total([100, 200]))"
""",
    }
)
"""The files of a fresh checkout; ``local.ini`` is each developer's own."""


def check_out(folder: Path) -> Path:
    """Write the project's files into a new folder, as a fresh checkout has them, and return it."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
