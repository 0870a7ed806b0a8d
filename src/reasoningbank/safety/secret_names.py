"""Secrets that are known by their name: the name says that a value follows, and what the value is.

Whether the value is the secret itself or only a reference to it (a variable, a call, a path, a sentence, a placeholder)
is decided by ``_is_secret_literal`` and ``_is_secret_word``. In doubt a quoted literal is a secret and a bare word is
not, because bare words are how code and prose refer to secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import lru_cache
from typing import NamedTuple

from reasoningbank.safety.anchors import Word
from reasoningbank.safety.secret_formats import SecretSpan
from reasoningbank.safety.secret_values import (
    COMMON_PASSWORD,
    ORDINARY,
    REFERENCE,
    SLUG,
    digits_and_letters,
    is_drawn,
    is_generated,
    is_opaque,
    is_reference,
    is_words_with_number,
    looks_chosen,
)

RANK_ASSIGNMENT = 5

_LANGUAGES = (
    "password|passwd|passphrase|passwort|passord|passe|pwd|kennwort|wachtwoord|heslo|haslo|senha"
    "|contrasena|parola|sifre"
)
_OTHER_LANGUAGES = (
    "lösenord|hasło|jelszó|contraseña|şifre|slaptažodis|khẩu|κωδικός|пароля|пароль|סיסמה|סיסמא|المرور|السر|पासवर्ड"
    "|รหัสผ่าน|密码|密碼|口令|パスワード|暗証番号|비밀번호|암호"
)
"""The word for a password in the languages that programs are most often translated to."""
_OTHER_PASSWORDS = tuple(_OTHER_LANGUAGES.split("|"))
_OTHER_LETTERS = re.compile(r"[^\x00-\x7f]+")
_HINTS = (
    *(word for word in _LANGUAGES.split("|") if "pass" not in word),
    *("pass", "secret", "token", "key", "credential", "_salt", "sess", "sid=", "identified by"),
)
_NAME = re.compile(
    rf"(?P<password>{_LANGUAGES}|{_OTHER_LANGUAGES}|identified by)|(?P<secret>secret)|(?P<token>token)"
    r"|(?P<key>keys?)|(?P<credential>credentials?)|(?P<short>pass)|(?P<salt>_salt)"
    r"|(?P<session>(?:session|sess|sid)(?:[_-]?id)?)"
)
_COOKIE_HINT = "cookie"
NAME_WORDS = tuple(Word(hint, inside=True) for hint in (*_HINTS, _COOKIE_HINT))
"""The words without which no secret is known by its name."""


def _endings(words: str, joints: str = "_-") -> tuple[str, ...]:
    """Return the words, each alone and with each joint behind it."""
    return tuple(word + joint for word in words.split() for joint in ("", *joints))


_KEY_OWNERS = _endings(
    "api secret access account auth encryption signing master private subscription service shared storage admin deploy"
    " license",
    " _-",
)
_OTHER_KEYS = _endings(
    "cache primary foreign public sort partition row lookup dedupe idempotency hash object group routing message map"
    " index composite unique candidate natural surrogate search event state query store data lock i18n"
)
_API = _endings("api", " _-")
_CHOSEN_SECRETS = _endings("client shared consumer", "_-")
_BARE = r"[^\s\"'`,;&<>(){}\[\]|\\]"
_VALUE = (
    r"(?:(?P<quote>\\{0,3}[\"'`])(?P<literal>[^\n]{1,4096}?)(?P=quote)"
    rf"|(?P<bare>{_BARE}{{1,128}})(?P<next>[(\[.{{]?))"
)
_SUFFIX = (
    r"(?:_(?:base|prod|production|dev|staging|test|live|value|default|current|old|new|primary|secondary|main|root|b64"
    r"|base64|raw|plain|text|v[0-9]))?"
)
_TYPED = r"(?:[ \t]{0,2}:[ \t]{0,2}[&*]?(?:'?[a-z]{1,8} )?(?:str|string|text|secretstr|final)(?=[ \t]{0,2}=))?"
_ASSIGNED = re.compile(
    rf"(?P<number>{_SUFFIX}[_-]?[0-9]{{0,2}})(?P<close>\\{{0,3}}[\"'`]?\]?){_TYPED}"
    rf"(?P<left>[ \t]{{0,8}})(?P<separator>=>|:=|==|!=|=|:|\uff1a|\()(?P<right>[ \t]{{0,8}})(?:n(?='))?{_VALUE}"
)
_PAIRED = re.compile(r"[\"'][ \t]{0,4},[ \t]{0,4}[\"'](?P<literal>[^\"'\n]{6,4096})[\"'][ \t]{0,4}[),]")
_BRACED = re.compile(r"=\{(?P<literal>[^{}\n]{3,128})\}(?=;|\Z|\s|[\"'])")
_CONNECTION = re.compile(r";[ \t]{0,2}[a-z ]{0,8}\Z")
_OPTION = re.compile(r"(?<![\w-])--?[a-z0-9_.-]{0,30}\Z")
_OPTION_VALUE = re.compile(rf"[ \t]{{1,4}}{_VALUE}")
_SET = re.compile(
    r"\b(?:env|arg|setx?|setenv|putenv|export|configure set|config set|secrets?:? ?set|secret put|env add|config:set)"
    r"(?:[ \t]{1,2}-{1,2}[a-z-]{1,16}){0,3}[ \t]{1,4}(?:[a-z0-9_]{1,40}[_.])?\Z|(?:\A|\n)[ \t]{0,8}require\Z"
)
_STATEMENT = re.compile(
    r"\b(?:create|alter)[ \t]{1,4}(?:user|role|login|group)[ \t][^\n;]{1,60}[ \t](?:encrypted[ \t]{1,4})?\Z"
)
_STATEMENT_VALUE = re.compile(r"[ \t]{1,4}n?(?P<quote>['\"])(?P<literal>[^'\"\n]{1,256})(?P=quote)")
_IDENTIFIED = re.compile(r"[ \t]{1,4}(?:values[ \t]{1,4})?(?P<bare>[^\s\"';,()]{3,128})")
_SENTENCE = re.compile(
    r"(?:[ \t]{1,2}(?:for|of|to|on) [^.,:;!?\n]{1,40}?)?"
    r"(?:[ \t]{1,2}(?:(?:was|has been|is|were) )?(?:is|was|are|lautet|ist|est|es|é|è|är|er|to|now|set to|changed to"
    rf"|reset to)[ \t]{{0,2}}:?|[ \t]{{0,2}}:)[ \t]{{0,2}}{_VALUE}"
)
_WITH = re.compile(r"\b(?:with|using|by|and|use) (?:the |this |a )?\Z")
_WITH_VALUE = re.compile(rf"[ \t]{{1,2}}{_VALUE}")
_AS_PASSWORD = re.compile(rf"(?<![^\s\"'`])(?P<bare>{_BARE}{{6,64}})[\"'`]? as (?:the |a |my |our |your |its )?\Z")
_PAIR_OF_CREDENTIALS = re.compile(r"[ \t]{0,2}[:=][ \t]{0,2}[\w.@-]{1,64} ?/ ?(?P<bare>[^\s\"',;/]{4,128})")
_NAMED = re.compile(r"name[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?[a-z0-9_.-]{0,60}\Z")
_NAMED_VALUE = re.compile(
    rf"[\"']?[ \t]{{0,4}},?[ \t]{{0,4}}\n[ \t]{{0,80}}[\"']?value[\"']?[ \t]{{0,4}}:[ \t]{{0,4}}{_VALUE}"
)
_NESTED_VALUE = re.compile(
    r"[a-z0-9_]{0,12}[\"']?[ \t]{0,4}[:=][ \t]{0,4}\{?\s{0,80}"
    r"(?:[\"']?(?:type|noecho|description|sensitive|metadata)[\"']?[ \t]{0,4}[:=][^\n{}]{1,80}[\n,]\s{0,80}){0,4}"
    rf"[\"']?(?:value|default|defaultvalue)[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}{_VALUE}"
)
_ELEMENT = re.compile(r"<[a-z0-9_:-]{0,40}\Z")
_ELEMENT_VALUE = re.compile(r">(?P<literal>[^<>\n]{1,512})</")
_ATTRIBUTE = re.compile(r"<[a-z0-9_:-]{1,40}[ \t][^<>\n]{0,120}\Z")
_ATTRIBUTE_VALUE = re.compile(r"[\"'][^<>\n]{0,40}>(?P<literal>[^<>\n]{1,512})</")
_VALUE_ATTRIBUTE = re.compile(
    r"[a-z0-9_]{0,12}[\"']?[ \t]{1,4}value=(?P<quote>[\"'])(?P<literal>[^\"'\n]{1,512})(?P=quote)"
)
_PLIST = re.compile(r"<key>[a-z0-9_. -]{0,40}\Z")
_PLIST_VALUE = re.compile(r"</key>\s{0,40}<string>(?P<literal>[^<>\n]{1,512})</")
_BLOCK_VALUE = re.compile(
    r"[\"']?[ \t]{0,4}:[ \t]{1,4}[|>][-+0-9]{0,2}[ \t]{0,4}\n(?P<indent>[ \t]{1,40})"
    r"(?P<block>[^\s{}<>$#][^\s{}<>$]{3,4096}(?:\n(?P=indent)[^\s{}<>$#:]{8,4096}){0,80})(?=[ \t]{0,8}(?:\n|\Z))"
)
_NETRC = re.compile(r"login[ \t]{1,4}[^\s]{1,128}\s{1,8}\Z")
_NETRC_VALUE = re.compile(r"[ \t]{1,4}(?P<bare>[^\s\"']{3,256})")
_REST = re.compile(f"{_BARE}*")
_LOOK_BACK = 160


class _Lead(NamedTuple):
    """Hold what stands before a name.

    Attributes:
        pattern: How it goes on up to the name.
        reach: How many characters before the name are looked at, at most ``_LOOK_BACK``.
        signs: One of these stands there: cheaper to look for than the pattern.
        ends: With one of these characters it ends; empty where any may stand there.
    """

    pattern: re.Pattern[str]
    reach: int
    signs: tuple[str, ...]
    ends: str = ""


class _Form(NamedTuple):
    """A way to write a value after a name: what stands before the name, what may follow it, and the value.

    Attributes:
        value: The value with all that leads to it.
        certainty: What a bare word is: "certain" a secret, "operator" as the operator tells, "option" a secret unless
            it is only letters, "sentence" a secret only when somebody seems to have chosen it. "opaque" asks of a
            literal, too, that it has digits and letters.
        next: The characters that may follow the name.
        second: The characters that may stand behind a blank which follows the name; empty for any.
        leads: One of these stands before the name, where there are any.
    """

    value: re.Pattern[str]
    certainty: str
    next: str
    second: str = ""
    leads: tuple[_Lead, ...] = ()


_BLANKS = " \t"
_QUOTES = "\"'"
_PLAIN = "abcdefghijklmnopqrstuvwxyz0123456789_"
_FORMS = (
    _Form(_BRACED, "opaque", "=", leads=(_Lead(_CONNECTION, 12, (";",)),)),
    _Form(_ASSIGNED, "operator", f"{_BLANKS}{_QUOTES}`0123456789_-\\]:=!(\uff1a", f"{_BLANKS}:=!(\uff1a"),
    _Form(_PAIRED, "opaque", _QUOTES),
    _Form(_BLOCK_VALUE, "operator", f"{_BLANKS}{_QUOTES}:", f"{_BLANKS}{_QUOTES}:|>"),
    _Form(
        _STATEMENT_VALUE,
        "operator",
        _BLANKS,
        f"{_BLANKS}{_QUOTES}n",
        (_Lead(_STATEMENT, 80, ("with ", "user ", "role "), " "),),
    ),
    _Form(_STATEMENT_VALUE, "opaque", _BLANKS, f"{_BLANKS}{_QUOTES}n"),
    _Form(
        _OPTION_VALUE,
        "option",
        _BLANKS,
        leads=(
            _Lead(_OPTION, 34, ("-",), f"{_PLAIN}.-"),
            _Lead(_SET, 80, ("env", "arg", "set", "export", "secret put", "require"), f"{_BLANKS}_.e"),
        ),
    ),
    _Form(_SENTENCE, "sentence", _BLANKS, f"{_BLANKS}:acefhilnorstw\u00e4\u00e8\u00e9"),
    _Form(_NETRC_VALUE, "certain", _BLANKS, leads=(_Lead(_NETRC, _LOOK_BACK, ("login",)),)),
    _Form(_WITH_VALUE, "sentence", _BLANKS, leads=(_Lead(_WITH, 12, ("with ", "using ", "by ", "and ", "use "), " "),)),
    _Form(_ELEMENT_VALUE, "operator", ">", leads=(_Lead(_ELEMENT, 42, ("<",)),)),
    _Form(_PLIST_VALUE, "operator", "<", leads=(_Lead(_PLIST, 46, ("<key>",)),)),
    _Form(_ATTRIBUTE_VALUE, "opaque", _QUOTES, leads=(_Lead(_ATTRIBUTE, _LOOK_BACK, ("<",)),)),
    _Form(
        _VALUE_ATTRIBUTE,
        "opaque",
        f"{_BLANKS}{_QUOTES}{_PLAIN}",
        f"{_BLANKS}v",
        (_Lead(_ATTRIBUTE, _LOOK_BACK, ("<",)), _Lead(_ELEMENT, 42, ("<",))),
    ),
    _Form(_NESTED_VALUE, "operator", f"{_BLANKS}{_QUOTES}{_PLAIN}:=", f"{_BLANKS}{_QUOTES}{_PLAIN}:={{\n"),
    _Form(_NAMED_VALUE, "certain", f"{_BLANKS}{_QUOTES},\n", f"{_BLANKS},\n", (_Lead(_NAMED, _LOOK_BACK, ("name",)),)),
)
_STATEMENT_FORMS: tuple[_Form, ...] = (
    _Form(_STATEMENT_VALUE, "operator", _BLANKS),
    _Form(_IDENTIFIED, "sentence", _BLANKS),
)


@lru_cache(maxsize=4_096)
def _forms(last: str, following: str) -> tuple[_Form, ...]:
    """Return the forms of a name by the character before it and the two behind it: mostly few, and often none."""
    found: list[_Form] = []
    for form in _FORMS:
        after, second = following[:1], following[1:]
        if after not in form.next or (after in _BLANKS and form.second and second not in form.second):
            continue
        leads = tuple(lead for lead in form.leads if last in lead.ends or not lead.ends)
        if leads or not form.leads:
            found.append(form._replace(leads=leads))
    return tuple(found)


_IDENTIFIER_OF_A_SECRET = re.compile(
    r"(?=\w*(?:pass|pwd|secret|token|key|cred|user|conf|env|arg))[a-z_][a-z0-9]*(?:_[a-z0-9]+)*$"
)


def lower_in_place(text: str) -> str:
    """Return the text in lower case with every character at its own offset (U+0130 alone would become two)."""
    return text.replace("\u0130", "I").lower()


def find_assignments(text: str, lowered: str, there: Set[str]) -> Iterator[SecretSpan]:
    """Yield the values in ``text`` that are given to a name of a secret; the name stays readable.

    Args:
        text: The text.
        lowered: What ``lower_in_place`` makes of it.
        there: The words that may be in it.
    """
    hints = [hint for hint in _HINTS if hint in there]
    if not text.isascii() and any(map(str.isalpha, set().union(*_OTHER_LETTERS.findall(lowered)))):
        hints += [hint for hint in _OTHER_PASSWORDS if hint in lowered]
    for hint in hints:
        position = lowered.find(hint)
        while position >= 0:
            after = position + len(hint)
            name = _NAME.match(lowered, position)
            if name is not None and name.lastgroup is not None:
                span = _secret_of(text, lowered, name, name.lastgroup)
                if span is not None:
                    yield span
                    after = max(after, span.end)
            position = lowered.find(hint, after)


def _secret_of(text: str, lowered: str, name: re.Match[str], kind: str) -> SecretSpan | None:
    start, end = name.span()
    before = max(0, start - _LOOK_BACK)
    if kind == "key" and not lowered.endswith(_KEY_OWNERS, before, start):
        if not _is_setting(text, name) or lowered.endswith(_OTHER_KEYS, before, start):
            return None
        kind = "setting"
    if kind in ("secret", "token") and lowered.endswith(_API, before, start):
        kind = "key"
    if kind == "secret" and lowered.endswith(_CHOSEN_SECRETS, before, start):
        kind = "shared"
    if kind == "short" and not _is_short_name(text, name):
        return None
    if kind == "session":
        return _session(text, name)
    if kind == "password" and " as " in lowered[max(0, start - 10) : start]:
        chosen = _AS_PASSWORD.search(lowered, before, start)
        if chosen is not None:
            return _span(text, name, chosen, kind, "sentence")
    if kind == "credential" and (pair := _PAIR_OF_CREDENTIALS.match(lowered, end)) is not None:
        return _span(text, name, pair, "password", "sentence")
    if name.group() == "identified by":
        forms = _STATEMENT_FORMS
    else:
        forms = _forms(lowered[start - 1 : start], lowered[end : end + 2])
    for form in forms:
        if form.leads and not _may_follow(form.leads, lowered[before:start]):
            continue
        value = form.value.match(lowered, end)
        if value is not None and (not form.leads or _follows(form.leads, lowered, start)):
            return _span(text, name, value, kind, form.certainty)
    return None


def _may_follow(leads: tuple[_Lead, ...], before: str) -> bool:
    """Return whether a text in front of a name holds a sign of one of the leads."""
    for lead in leads:
        for sign in lead.signs:
            if sign in before:
                return True
    return False


def _follows(leads: tuple[_Lead, ...], lowered: str, start: int) -> bool:
    """Return whether one of the leads stands before the name that starts there."""
    return any(lead.pattern.search(lowered, max(0, start - lead.reach), start) is not None for lead in leads)


_NOT_PASS = ("by", "com", "sur", "tres", "over", "under", "en", "tran")


def _is_short_name(text: str, name: re.Match[str]) -> bool:
    """Return whether ``pass`` is a name or its last part, as in ``SSHPASS``, ``storepass`` and ``become_pass``."""
    before = text[max(0, name.start() - 12) : name.start()]
    if not before[-1:].isalpha():
        return True
    if before.lower().endswith(_NOT_PASS):
        return False
    return text[name.start() : name.end()].isupper() or before.endswith(("store", "key", "ssh", "db", "user"))


_CHOSEN_BY_PEOPLE = ("password", "short", "shared")
"""The kinds of names whose values are often words, as of passwords."""
_SESSION_VALUE = re.compile(r"[\w.-]{0,24}=(?P<secret>[A-Za-z0-9%_.~+/-]{16,512}={0,2})")


_HEADER = re.compile(r"(?<![\w-])x-(?:[a-z0-9]{1,16}-){0,3}\Z", re.IGNORECASE)
_HEADER_VALUE = re.compile(
    r"[A-Za-z-]{0,16}[\"']?[ \t]{0,2}[:=,][ \t]{0,2}[\"']?(?P<secret>[A-Za-z0-9%_.~+/-]{16,512}={0,2})"
)


def _session(text: str, name: re.Match[str]) -> SecretSpan | None:
    """Return the value of a cookie that is named after a session; an id that is only written down is none."""
    value = _SESSION_VALUE.match(text, name.end())
    if value is None and _HEADER.search(text, max(0, name.start() - 32), name.start()) is not None:
        value = _HEADER_VALUE.match(text, name.end())
    if value is None or not (is_opaque(value["secret"]) or (value.re is _HEADER_VALUE and is_drawn(value["secret"]))):
        return None
    return SecretSpan(*value.span("secret"), "session-id", RANK_ASSIGNMENT)


_COOKIES = re.compile(r"(?:ookies?|OOKIE)[\"']?(?:[ \t]{0,2}[:=][ \t]{0,2}|[ \t]{1,2}|\()[\"'{]{0,2}")
_COOKIE = re.compile(r"[\"']?[\w.$%-]{1,64}[\"']?[=:][ \t]?[\"']?(?P<secret>[^\s;,\"'{}<>]{1,4096})[\"']?[;, ]{0,3}")


def find_cookies(text: str, there: Set[str]) -> Iterator[SecretSpan]:
    """Yield the opaque values of cookies; what a cookie merely sets, such as a theme or a date, stays."""
    if _COOKIE_HINT not in there:
        return
    position = 0
    while (header := _COOKIES.search(text, position)) is not None:
        position = header.end()
        while (cookie := _COOKIE.match(text, position)) is not None:
            if is_opaque(cookie["secret"]):
                yield SecretSpan(*cookie.span("secret"), "cookie", RANK_ASSIGNMENT)
            position = cookie.end()


def _span(text: str, name: re.Match[str], match: re.Match[str], kind: str, certainty: str) -> SecretSpan | None:
    groups = match.groupdict()
    if groups.get("block") is not None:
        first = match["block"].split("\n", 1)[0]
        secret = _is_secret_literal(kind, text[match.start("block") : match.start("block") + len(first)], called=False)
        span = SecretSpan(*match.span("block"), _placeholder_kind(text, name, kind), RANK_ASSIGNMENT)
        return span if secret else None
    quoted = groups.get("literal") is not None
    start, end = match.span("literal" if quoted else "bare")
    if quoted and groups.get("separator") == ":" and groups.get("left") and not groups.get("right"):
        return None
    if quoted:
        literal = text[start:end]
        if kind in _CHOSEN_BY_PEOPLE and is_words_with_number(literal):
            secret = not is_reference(literal)
        else:
            secret = _is_secret_literal(kind, literal, called=groups.get("separator") == "(") and (
                certainty != "opaque" or (looks_chosen(literal) and min(digits_and_letters(literal)) > 0)
            )
    else:
        value = text[start:end].rstrip(".:?")
        secret = _is_secret_word(text, name, match, kind, value, certainty)
        rest = _REST.match(text, end) if secret else None
        end = rest.end() if rest is not None and rest.group() else start + len(value)
    if secret and "[REDACTED:" not in text[start:end]:
        return SecretSpan(start, end, _placeholder_kind(text, name, kind), RANK_ASSIGNMENT)
    return None


def _placeholder_kind(text: str, name: re.Match[str], kind: str) -> str:
    if kind in ("password", "short"):
        return "password"
    if kind == "shared":
        return "secret"
    owner = text[max(0, name.start() - 20) : name.start()].lower().replace("_", "").replace("-", "").replace(" ", "")
    if kind == "key" and owner.endswith("secretaccess"):
        return "aws-secret-key"
    if kind == "setting":
        return "secret-key"
    if kind == "key":
        return "api-key" if owner.endswith("api") else "secret-key"
    return kind


def _is_secret_literal(kind: str, value: str, *, called: bool) -> bool:
    kind = "secret" if kind == "shared" else kind
    if is_reference(value) or (called and kind != "password"):
        return False
    digits, letters = digits_and_letters(value)
    if any(map(str.isspace, value)):
        few = kind == "password" and len(value.split()) <= 8
        return few and digits > 0 and re.search(r"\w[!@#$%^&*]\w", value) is not None
    slug = SLUG.match(value) is not None
    if kind in ("setting", "salt"):
        return is_opaque(value)
    if kind == "short":
        return digits > 0 and letters > 0 and len(value) >= 5
    if kind == "secret":
        return len(value) >= 4 and not slug and (digits > 0 or len(value) >= 8)
    if kind in ("token", "credential"):
        return len(value) >= 8 and not slug and (digits > 0 or (len(value) >= 24 and letters == len(value)))
    if digits or len(value) > digits + letters:
        return len(value) >= 4 and not (kind == "key" and slug and len(value) < 16)
    titled = value[:1].isupper() and value[1:].islower() and COMMON_PASSWORD.match(value) is None
    return not called and value.isascii() and len(value) >= 6 and not titled


def _is_secret_word(
    text: str, name: re.Match[str], match: re.Match[str], kind: str, value: str, certainty: str
) -> bool:
    groups = match.groupdict()
    separator = groups.get("separator")
    if is_reference(value) or separator in ("==", "!=", "(") or groups.get("next"):
        return False
    if kind in _CHOSEN_BY_PEOPLE and is_words_with_number(value) and not _is_verdict(text, name, separator):
        return True
    kind = "secret" if kind == "shared" else kind
    digits, letters = digits_and_letters(value)
    mixed = digits > 0 and letters > 0
    common = COMMON_PASSWORD.match(value) is not None and len(value) >= 7
    tight = separator == "=" and not groups.get("left") and not groups.get("right")
    if kind in ("setting", "salt"):
        return separator in ("=", ":") and is_opaque(value)
    if certainty == "certain" or (tight and _is_setting(text, name)):
        if kind in ("token", "credential"):
            return mixed and len(value) >= 8 and not SLUG.match(value)
        return len(value) >= 4 and (letters < len(value) or len(value) >= 6)
    if kind == "short":
        if certainty == "option" or tight:
            return mixed and len(value) >= 6 and not _IDENTIFIER_OF_A_SECRET.match(value)
        if _is_verdict(text, name, separator):
            return False
        line = text[max(0, name.start() - 40) : name.start()].rpartition("\n")[2]
        return separator == ":" and not line.strip(" \t-\"'") and mixed and len(value) >= 6 and looks_chosen(value)
    if certainty == "sentence":
        if ORDINARY.match(value) is not None:
            return False
        ends = text[match.start("bare") + len(value) : match.end("bare") + 2].strip(".,;:!?)")
        named = kind == "password" and value[0].isalpha() and value.isalnum() and not ends.strip()
        return mixed and len(value) >= 6 and (named or looks_chosen(value))
    if REFERENCE.match(value) or _IDENTIFIER_OF_A_SECRET.match(value):
        return common
    if kind in ("token", "credential"):
        return (mixed and len(value) >= 12 and not SLUG.match(value)) or is_generated(value)
    if kind in ("key", "secret") and (SLUG.match(value) or len(value) < 6):
        return False
    if mixed or common:
        return len(value) >= 5
    if digits:
        return len(value) >= 5 if kind == "password" else kind == "key" and tight and len(value) >= 8
    if len(value) > letters > 0:
        return kind == "password" and len(value) >= 8 and re.search(r"\w[!@#$%^&*]", value) is not None
    followed = text[match.end("bare") : match.end("bare") + 1]
    return tight and len(value) >= 6 and value.islower() and followed not in (",", ")")


def _is_verdict(text: str, name: re.Match[str], separator: str | None) -> bool:
    """Return whether ``PASS:`` says that a test passed, and is no name."""
    return (
        separator == ":" and text[name.start() : name.end()] == "PASS" and text[name.start() - 1 : name.start()] != "_"
    )


def _is_setting(text: str, name: re.Match[str]) -> bool:
    """Return whether the name is an environment variable or a query parameter, where a bare word is a literal."""
    if name.start() == 0:
        return text[: name.end()].isupper()
    if text[name.start() : name.end()].isupper():
        return True
    return text[max(0, name.start() - 40) : name.start()].rstrip("_-abcdefghijklmnopqrstuvwxyz")[-1:] in ("?", "&")
