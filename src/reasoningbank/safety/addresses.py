"""Find the places that a text names, by address or name, and tell which of them are outside.

A place is private (nobody outside answers there), known (its owner alone writes there, or every developer opens it
anyway), reserved (for examples), an installer as its vendor documents it, or outside: anybody may have put there what
it serves, and reads what it is sent. Plain is a place outside that is a number, is reached without encryption, or has
another name's ending in the middle, as in ``github.com.evil.example``.

Numbers are read as the resolver of a C library reads them: decimal, octal and hexadecimal, with one to four parts. The
lists are in ``places.toml``. A list of public suffixes is not needed: a host is compared with names that are listed
whole, from its right end, and places where anybody puts files are listed apart from their owner's name.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple

Kind = Literal["outside", "plain", "reserved", "known", "installer", "private"]
MARKS: dict[Kind, str] = {
    "outside": "\ue000",
    "plain": "\ue001",
    "reserved": "\ue002",
    "known": "\ue003",
    "installer": "\ue004",
    "private": "\ue005",
}
"""What ``marked`` sets in the place of an address; characters that no text is given a meaning for."""
_LISTS = "places.toml"
_MOST_OF_A_HOST = 253
_NUMBER = r"(?:0x[0-9a-f]{1,8}|\d{1,11})"
_ENDINGS = frozenset({"com", "net", "org", "io", "dev", "sh", "rs", "ai"})
_PARTS = 4
"""Parts of an IPv4 address."""
_SHORT = 6
"""An address of IPv6 of so few characters may be something else."""


class AddressPlace(NamedTuple):
    """An address in a text.

    Attributes:
        start, end: Where it stands.
        host: Its host, in lower case.
    """

    start: int
    end: int
    host: str
    kind: Kind


@cache
def _lists() -> dict[str, list[str]]:
    text = files("reasoningbank.safety").joinpath(_LISTS).read_text(encoding="utf-8")
    found: dict[str, list[str]] = tomllib.loads(text)
    return found


@cache
def _listed(name: str) -> frozenset[str]:
    return frozenset(_lists()[name])


@cache
def _shapes() -> re.Pattern[str]:
    return re.compile("|".join(_lists()["upload_shapes"]))


@cache
def _networks() -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(map(ipaddress.ip_network, _lists()["private_networks"]))


@cache
def _pattern() -> re.Pattern[str]:
    suffixes = "|".join(_lists()["suffixes"])
    return re.compile(
        r"(?<![a-z])(?:[a-z]{2,8}\+)?(?:https?|ftps?|ssh|git|wss?|telnet|ldap)://(?P<url>[^\s\"'<>`|;,(){}\\]+)"
        rf"|(?<![\w.+-])[\w.+-]{{1,64}}@(?P<mail>(?:[\w-]+\.)+[a-z]{{2,24}}|(?:\d{{1,3}}\.){{3}}\d{{1,3}})(?![\w-]|\.\w)(?P<path>:[\w./~-]+)?"
        rf"|(?<![\w./@-])(?P<number>{_NUMBER}(?:\.{_NUMBER}){{3}})(?![\w.]\w)(?::\d+)?(?:/[^\s\"'<>`|;,)]*)?"
        rf"|(?<![\w./@-])(?P<name>(?:[\w-]+\.)+(?:{suffixes}))(?![\w(-]|\.\w)(?::\d+)?(?P<below>/[^\s\"'<>`|;,)]*)?"
        r"|(?<![\w:.])\[?(?P<six>(?:[0-9a-f]{1,4}:){1,7}(?::?[0-9a-f]{1,4}|:)(?::[0-9a-f]{1,4}){0,6})\]?(?![\w:])",
        re.IGNORECASE,
    )


_MAY_BE = re.compile(r"(?<!\S)[^\s.:@]*[.:@](?=\S)\S*")
"""A run without white space that may hold an address: none goes over white space, and none ends with its first sign."""


@cache
def _sign() -> re.Pattern[str]:
    """Return what every address in a run without white space has; other letters may be folded to those of a name."""
    suffixes = "|".join(_lists()["suffixes"])
    return re.compile(rf"[:@]|[^\x00-\x7f]|\.(?:\d|(?:{suffixes})(?![\w(-]|\.\w))", re.IGNORECASE)


_VERSION = re.compile(r"(?:\bversions?|\brelease|\bv\.?|[=~^<>])\s*$", re.IGNORECASE)


def places(text: str) -> Iterator[AddressPlace]:
    """Yield the addresses in a text in plain characters, in their order."""
    for match in _matches(text):
        found = match.lastgroup if match.lastgroup not in {"path", "below"} else None
        found = found or ("mail" if match["mail"] else "name")
        address = match[found]
        if found == "url":
            host, path = _parts(address)
        elif found == "name":
            host, path = address.lower(), match["below"] or ""
            if not path and _is_file(host):
                continue
        elif found == "number":
            if _VERSION.search(text, max(0, match.start() - 12), match.start()):
                continue
            host, path = address.lower(), ""
        else:
            host, path = address.lower(), ""
        if found in {"number", "six"} and _address_of(host) is None:
            continue
        if found == "six" and not _is_surely_six(match.group()):
            continue
        if host:
            end = match.start() + len(match.group().rstrip(".!?"))
            kind = _kind(host, path)
            if kind == "outside" and (found == "number" or _is_plain(host, match.group())):
                kind = "plain"
            yield AddressPlace(match.start(), end, host, kind)


def _matches(text: str) -> Iterator[re.Match[str]]:
    """Yield what looks like an address, in the runs without white space that have its signs."""
    for run in _MAY_BE.finditer(text):
        if _sign().search(text, *run.span()):
            yield from _pattern().finditer(text, *run.span())


def marked(text: str) -> str:
    """Return the text with a mark of ``MARKS`` in the place of each address."""
    parts: list[str] = []
    done = 0
    for place in places(text):
        parts += (text[done : place.start], MARKS[place.kind])
        done = place.end
    return "".join((*parts, text[done:])) if parts else text


def _parts(address: str) -> tuple[str, str]:
    """Return the host in lower case and the path of what stands behind ``://``."""
    authority, slash, path = address.partition("/")
    authority = re.split(r"[?#]", authority, maxsplit=1)[0].rpartition("@")[2]
    host = authority[1:].partition("]")[0] if authority.startswith("[") else authority.partition(":")[0]
    return host.lower().rstrip(".*!?"), slash + path


def _is_plain(host: str, written: str) -> bool:
    """Return whether a place outside is a number, is reached without encryption, or looks like another."""
    inner = host.split(".")[:-2]
    return written[:7].lower() == "http://" or _address_of(host) is not None or not _ENDINGS.isdisjoint(inner)


def _is_surely_six(written: str) -> bool:
    """Return whether an address of IPv6 without a scheme is neither a time nor a pair nor a name of a program's."""
    return written.startswith("[") or (
        written.count(":") > 1 and any(map(str.isdigit, written)) and len(written) > _SHORT
    )


def _is_file(host: str) -> bool:
    """Return whether a name without a path is rather a file or an attribute."""
    name, _, ending = host.rpartition(".")
    return "." not in name and ending in _listed("suffixes_of_files") and host not in _listed("uploads")


@lru_cache(maxsize=4_096)
def _kind(host: str, path: str) -> Kind:
    if host.startswith(("$", "{", "<", "%")) or len(host) > _MOST_OF_A_HOST:
        return "private" if len(host) <= _MOST_OF_A_HOST else "outside"
    address = _address_of(host)
    if address is not None:
        if str(address) in _listed("resolvers"):
            return "known"
        return "private" if any(address in network for network in _networks()) else "outside"
    if "." not in host or host.rpartition(".")[2] in _listed("private_suffixes"):
        return "private"
    if ".." not in path and any(map((host + path).startswith, _installers_of(host))):
        return "installer"
    if _below(host, "uploads") or _shapes().search(host):
        return "outside"
    if _below(host, "reserved"):
        return "reserved"
    return "known" if _below(host, "known") else "outside"


@lru_cache(maxsize=512)
def _installers_of(host: str) -> tuple[str, ...]:
    return tuple(each for each in _lists()["installers"] if each.partition("/")[0] == host)


def _below(host: str, name: str) -> bool:
    """Return whether a host is one of a list or below one."""
    listed = _listed(name)
    parts = host.split(".")
    return any(".".join(parts[first:]) in listed for first in range(len(parts) - 1))


def _address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a host stands for when it is a number, else nothing."""
    if ":" in host:
        try:
            six = ipaddress.IPv6Address(host.partition("%")[0])
        except ValueError:
            return None
        return six.ipv4_mapped or six
    numbers = [_number(part) for part in host.split(".")]
    if len(numbers) > _PARTS or None in numbers:
        return None
    *first, last = [number for number in numbers if number is not None]
    if any(number > 255 for number in first) or last >= 256 ** (_PARTS - len(first)):
        return None
    return ipaddress.IPv4Address(sum(each << (24 - 8 * place) for place, each in enumerate(first)) + last)


def _number(part: str) -> int | None:
    try:
        if part[:2].lower() == "0x":
            return int(part, 16)
        return int(part, 8) if len(part) > 1 and part[0] == "0" and part.isascii() else int(part)
    except ValueError:
        return None
