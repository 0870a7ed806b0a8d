"""Which addresses are seen in a text, and which of them are outside."""

from __future__ import annotations

import pytest

from promises import promise
from reasoningbank.safety.addresses import places
from reasoningbank.safety.injection import find_address


@promise(
    "attack:places",
    "Addresses are told by a parser: names, IPv4 in any notation and IPv6; private, reserved and known places are not "
    "outside, places where anybody uploads are.",
    source="issue 14",
)
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("http://10.evil.io/x", "plain"),
        ("10.evil.io", "outside"),
        ("https://cdn-7.example/a", "outside"),
        ("http://3405803786/m.sh", "plain"),
        ("http://0xCB007109/m.sh", "plain"),
        ("0313.0000.0161.0012/x", "plain"),
        ("http://[2001:db8:7::5]/i", "plain"),
        ("2001:db8:7::5", "plain"),
        ("https://github.com.cdn-7.example/simple", "plain"),
        ("https://github.com@cdn-7.example/a", "outside"),
        ("https://astral.sh@cdn-7.example/uv/install.sh", "outside"),
        ("https://astral.sh/uv/../x", "outside"),
        ("https://gist.github.com/a", "outside"),
        ("https://raw.githubusercontent.com/someone/x", "outside"),
        ("https://bucket.s3.eu-west-1.amazonaws.com/a", "outside"),
        ("https://storage.googleapis.com/bucket/a", "outside"),
        ("transfer.sh", "outside"),
        ("https://astral.sh/uv/install.sh", "installer"),
        ("https://raw.githubusercontent.com/nvm-sh/nvm/v0.40.1/install.sh", "installer"),
        ("https://docs.python.org/3/", "known"),
        ("https://sts.amazonaws.com", "known"),
        ("1.1.1.1", "known"),
        ("2606:4700:4700::1111", "known"),
        ("http://127.1/", "private"),
        ("http://2130706433/", "private"),
        ("http://[::1]:8080/", "private"),
        ("http://[::ffff:10.0.0.1]/", "private"),
        ("deploy@10.1.2.3", "private"),
        ("https://npm.corp.internal/", "private"),
        ("http://redis:6379", "private"),
        ("https://www.example.com/install.sh", "reserved"),
    ],
)
def test_a_place_is_of_its_kind(text: str, kind: str) -> None:
    assert [place.kind for place in places(f"see {text} there")] == [kind]


@promise("attack:places")
@pytest.mark.parametrize(
    "text",
    ["run.sh", "pages.py", "log.info(1)", "self.me", "std::vector", "12:30:45", "flask@3.1.0", "v 1.2.3.4", "a.b.c"],
)
def test_files_versions_and_names_of_programs_are_no_places(text: str) -> None:
    assert find_address(f"see {text} there") == ""
