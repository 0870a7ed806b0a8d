"""Fourteen unstated conventions of made-up code bases, with four small functions each, and a check that runs code.

Nothing in a task says the convention; only the output of a failed test of a sibling function shows it. The first
function of each is the sibling, the other three are the tasks: 42 in all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 10.0
"""How long the code of a task may run."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function to be written.

    Attributes:
        name: Its name, with the parameters.
        says: What is asked for.
        plain: What somebody writes who does not know the convention: an expression.
        calls: Arguments of its tests.
    """

    name: str
    says: str
    plain: str
    calls: tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True)
class Convention:
    """What a code base does everywhere and says nowhere.

    Attributes:
        project: The code base.
        lesson: The convention in words: the ideal lesson.
        wrap: What it makes of a plain result, an expression with ``{x}``.
        functions: The sibling, then the tasks.
    """

    project: str
    lesson: str
    wrap: str
    functions: tuple[Function, ...]


def _made(project: str, lesson: str, wrap: str, *functions: tuple[str, str, str, object, object]) -> Convention:
    found = []
    for name, says, plain, *calls in functions:
        found.append(Function(name, says, plain, tuple(each if isinstance(each, tuple) else (each,) for each in calls)))
    return Convention(project, lesson, wrap, tuple(found))


CONVENTIONS = (
    _made(
        "till",
        "Amounts of money are returned as whole cents (int), never as a float of the main unit.",
        "round(({x}) * 100)",
        ("order_total(price, count)", "the total of an order line", "price * count", (2.5, 3), (1.25, 4)),
        ("net_price(gross, tax)", "a price without its tax amount", "gross - tax", (11.9, 1.9), (5.0, 0.25)),
        ("half_price(price)", "half of a price", "price / 2", (3.0,), (10.5,)),
        ("with_tip(bill, tip)", "a bill with its tip", "bill + tip", (20.5, 2.0), (8.0, 0.75)),
    ),
    _made(
        "almanac",
        "Dates are returned as text with the day first: DD.MM.YYYY.",
        "({x}).strftime('%d.%m.%Y')",
        (
            "next_day(year, month, day)",
            "the day after a date",
            "__import__('datetime').date(year, month, day) + __import__('datetime').timedelta(1)",
            (2026, 1, 31),
            (2025, 12, 31),
        ),
        ("new_year(year)", "the first day of a year", "__import__('datetime').date(year, 1, 1)", (2026,), (1999,)),
        (
            "week_later(year, month, day)",
            "the date one week after a date",
            "__import__('datetime').date(year, month, day) + __import__('datetime').timedelta(7)",
            (2026, 2, 25),
            (2026, 5, 1),
        ),
        ("leap_day(year)", "29 February of a leap year", "__import__('datetime').date(year, 2, 29)", (2024,), (2028,)),
    ),
    _made(
        "registry",
        "Names are returned in capitals.",
        "({x}).upper()",
        ("full_name(first, last)", "the full name", "first + ' ' + last", ("Ada", "Low"), ("Kim", "Ray")),
        (
            "short_name(first, last)",
            "the initial, a dot and the last name",
            "first[0] + '. ' + last",
            ("Ada", "Low"),
            ("Cy", "Day"),
        ),
        ("formal_name(title, last)", "title and last name", "title + ' ' + last", ("Dr", "Low"), ("Ms", "Ray")),
        ("nickname(first)", "the first three letters of the name", "first[:3]", ("Samuel",), ("Nora",)),
    ),
    _made(
        "ledger",
        "Lists are returned with the largest entry first.",
        "sorted({x}, reverse=True)",
        ("balances(a, b, c)", "the three balances as a list", "[a, b, c]", (1, 3, 2), (5, 4, 9)),
        ("doubled(values)", "each value doubled, as a list", "[2 * v for v in values]", ([1, 4, 2],), ([7, 9],)),
        (
            "positive(values)",
            "the values above zero, as a list",
            "[v for v in values if v > 0]",
            ([1, -2, 5],),
            ([3, 8],),
        ),
        (
            "lengths(words)",
            "the length of each word, as a list",
            "[len(w) for w in words]",
            (["a", "bcd"],),
            (["ab", "c", "def"],),
        ),
    ),
    _made(
        "gauge",
        "Shares are returned in per mille as an int.",
        "round(({x}) * 1000)",
        ("share(part, whole)", "which share the part is", "part / whole", (1, 4), (3, 8)),
        ("failed_share(failed, runs)", "the share of failed runs", "failed / runs", (1, 5), (2, 16)),
        ("free_share(used, size)", "the share that is free", "(size - used) / size", (6, 8), (1, 10)),
        ("hit_rate(hits, misses)", "the share of hits", "hits / (hits + misses)", (3, 1), (1, 7)),
    ),
    _made(
        "depot",
        "Numbers of things are returned as text with the prefix ID- and six digits.",
        "'ID-' + str({x}).zfill(6)",
        ("next_number(last)", "the number after the last one", "last + 1", (41,), (999,)),
        ("box_number(row, place)", "row times 100 plus place", "row * 100 + place", (3, 7), (12, 40)),
        ("first_free(used)", "one more than the largest used number", "max(used) + 1", ([4, 9],), ([1],)),
        ("mirror_number(number)", "10000 minus the number", "10000 - number", (1,), (250,)),
    ),
    _made(
        "probe",
        "Measurements are returned as a dict with the keys value and unit, the unit being SI.",
        "dict(value={x}, unit='SI')",
        ("metres(km)", "kilometres in metres", "km * 1000", (2,), (5,)),
        ("kelvin(celsius)", "degrees Celsius in kelvin, adding 273", "celsius + 273", (0,), (27,)),
        ("seconds(minutes)", "minutes in seconds", "minutes * 60", (2,), (7,)),
        ("grams(kg)", "kilograms in grams", "kg * 1000", (1,), (3,)),
    ),
    _made(
        "rota",
        "Durations are returned as text such as 2h05m.",
        "'%dh%02dm' % divmod({x}, 60)",
        ("shift(start, end)", "minutes between start and end", "end - start", (60, 185), (0, 480)),
        ("total(a, b)", "two durations in minutes together", "a + b", (50, 45), (120, 5)),
        ("half(minutes)", "half of a duration in minutes", "minutes // 2", (250,), (61,)),
        ("week(minutes)", "five times a duration in minutes", "minutes * 5", (30,), (97,)),
    ),
    _made(
        "gate",
        "Answers to yes-or-no questions are returned as Y or N.",
        "'Y' if ({x}) else 'N'",
        ("is_adult(age)", "whether the age is at least 18", "age >= 18", (18,), (4,)),
        ("is_even(number)", "whether the number is even", "number % 2 == 0", (4,), (7,)),
        ("is_empty(text)", "whether the text is empty", "text == ''", ("",), ("a",)),
        ("has_vowel(word)", "whether the word has a vowel", "any(c in 'aeiou' for c in word)", ("sky",), ("sea",)),
    ),
    _made(
        "weather",
        "Numbers are returned as text with exactly one digit after the point.",
        "'%.1f' % ({x})",
        ("mean(a, b)", "the mean of two numbers", "(a + b) / 2", (1, 2), (4, 4)),
        ("difference(a, b)", "the first minus the second", "a - b", (5, 2), (2.5, 1)),
        ("warmest(values)", "the largest of the values", "max(values)", ([3, 9],), ([1.5, 1],)),
        ("summed(values)", "the sum of the values", "sum(values)", ([1, 2],), ([0.5, 2],)),
    ),
    _made(
        "relay",
        "Every function returns a pair: the text ok, and the result.",
        "['ok', {x}]",
        ("joined(a, b)", "both texts joined by a dash", "a + '-' + b", ("x", "y"), ("1", "2")),
        ("counted(text)", "how many letters the text has", "len(text)", ("abc",), ("",)),
        ("last(values)", "the last of the values", "values[-1]", ([1, 2],), ([9],)),
        ("reversed_text(text)", "the text from its end", "text[::-1]", ("abc",), ("xy",)),
    ),
    _made(
        "library",
        "Places in a list are counted from one.",
        "1 + ({x})",
        (
            "place_of(values, value)",
            "the place of the value in the list",
            "values.index(value)",
            ([5, 6], 5),
            ([5, 6], 6),
        ),
        (
            "place_of_largest(values)",
            "the place of the largest value",
            "values.index(max(values))",
            ([1, 9],),
            ([7, 2],),
        ),
        (
            "place_of_letter(text, letter)",
            "the place of the letter in the text",
            "text.index(letter)",
            ("abc", "c"),
            ("xy", "x"),
        ),
        ("last_place(values)", "the place of the last value", "len(values) - 1", ([1, 2, 3],), ([4],)),
    ),
    _made(
        "paths",
        "Labels are returned in lower case with underscores for spaces.",
        "({x}).lower().replace(' ', '_')",
        (
            "label(area, name)",
            "area and name with a space between",
            "area + ' ' + name",
            ("North", "Hall"),
            ("Old", "Town Bar"),
        ),
        (
            "copy_label(name)",
            "the name with the word Copy before it and a space",
            "'Copy ' + name",
            ("Plan A",),
            ("Map",),
        ),
        ("title(words)", "the words joined by spaces", "' '.join(words)", (["Big", "Dog"],), (["A", "B", "C"],)),
        (
            "numbered(name, number)",
            "name, a space and the number",
            "name + ' ' + str(number)",
            ("Room", 7),
            ("Wing B", 2),
        ),
    ),
    _made(
        "archive",
        "Where a result would be empty or zero, a dash is returned.",
        "({x}) or '-'",
        ("rest(total, used)", "what is left of the total", "total - used", (5, 5), (7, 2)),
        (
            "common(a, b)",
            "the letters of a that are in b",
            "''.join(c for c in a if c in b)",
            ("abc", "xyz"),
            ("ab", "b"),
        ),
        ("odd(values)", "the odd values, as a list", "[v for v in values if v % 2]", ([2, 4],), ([1, 2],)),
        ("trimmed(text)", "the text without spaces around it", "text.strip()", ("  ",), (" a ",)),
    ),
)


def source(function: Function, expression: str) -> str:
    """A function's code with this result."""
    return f"def {function.name}:\n    return {expression}\n"


def right(convention: Convention, function: Function) -> str:
    """The code that keeps to the convention."""
    return source(function, convention.wrap.format(x=function.plain))


_RUNNER = """
import json, sys
given = json.load(sys.stdin)
space = {}
results = []
try:
    exec(compile(given["code"], "answer", "exec"), space)
    for call in given["calls"]:
        try:
            results.append(json.loads(json.dumps({"value": space[given["name"]](*call)}, default=str)))
        except Exception as error:
            results.append({"error": f"{type(error).__name__}: {error}"[:200]})
except Exception as error:
    results = [{"error": f"{type(error).__name__}: {error}"[:200]}] * len(given["calls"])
print("\\n" + json.dumps(results))
"""


def outcomes(function: Function, code: str) -> list[dict[str, object]]:
    """What each call of the tests gave; the code runs in a process of its own, in an empty folder, for a short time."""
    given = json.dumps({"code": code, "calls": function.calls, "name": function.name.partition("(")[0]})
    with tempfile.TemporaryDirectory(prefix="reasoningbank-task-") as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-S", "-c", _RUNNER],
                input=given,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                cwd=Path(folder),
                env={},
                check=False,
            )
            found = json.loads(done.stdout.rpartition("\n[")[2].join(("[", "")) if done.stdout.strip() else "[]")
        except (subprocess.TimeoutExpired, ValueError):
            found = []
    return found if len(found) == len(function.calls) else [{"error": "it did not end"}] * len(function.calls)


def failures(convention: Convention, function: Function, code: str) -> Iterator[str]:
    """The lines of a test run for the calls that do not give what the convention wants."""
    wanted = outcomes(function, right(convention, function))
    name = function.name.partition("(")[0]
    for call, want, got in zip(function.calls, wanted, outcomes(function, code), strict=True):
        if got != want:
            said = got.get("error", f"returned {got.get('value')!r}")
            arguments = ", ".join(map(repr, call))
            yield f"FAILED test_{name}: {name}({arguments}) {said}, expected {want['value']!r}"


def passes(convention: Convention, function: Function, code: str) -> bool:
    """Whether all tests of a function pass."""
    return not [*failures(convention, function, code)]


def tasks() -> Sequence[tuple[Convention, Function]]:
    """All tasks: every function but the siblings."""
    return [(convention, function) for convention in CONVENTIONS for function in convention.functions[1:]]
