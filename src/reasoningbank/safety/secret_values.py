"""Tell a secret from a word that only stands for one: a placeholder, a variable, a path, a version, an algorithm."""

from __future__ import annotations

import re

NOT_A_SECRET = frozenset(
    {
        "required",
        "optional",
        "string",
        "integer",
        "number",
        "boolean",
        "object",
        "array",
        "null",
        "none",
        "nil",
        "true",
        "false",
        "undefined",
        "unset",
        "empty",
        "missing",
        "invalid",
        "incorrect",
        "wrong",
        "correct",
        "expired",
        "hidden",
        "masked",
        "removed",
        "redacted",
        "secret",
        "secrets",
        "password",
        "passwd",
        "passphrase",
        "token",
        "tokens",
        "apikey",
        "api_key",
        "hashed",
        "encrypted",
        "hash",
        "bearer",
        "basic",
        "default",
        "unknown",
        "changed",
        "unchanged",
        "rotated",
        "disabled",
        "enabled",
        "forbidden",
        "mandatory",
        "private",
        "public",
        "value",
        "values",
        "field",
        "fields",
        "prompt",
        "stdin",
        "keyring",
        "keychain",
        "vault",
        "environment",
        "env",
        "placeholder",
        "example",
        "sample",
        "dummy",
        "username",
        "plaintext",
        "plain",
        "text",
        "varchar",
        "return",
        "returns",
        "argument",
        "parameter",
        "reset",
        "forgot",
        "confirm",
        "strong",
        "weak",
        "here",
        "there",
        "please",
        "should",
        "cannot",
        "before",
        "after",
        "within",
        "without",
    }
)
COMMON_PASSWORD = re.compile(
    r"(?:letmein|changeme|qwert|super-?secret|top-?secret|my-?secret|my-?pass|admin|welcome|iloveyou|hunter|trustno|correct-?horse|monkey|dragon|passw0rd|p@ss)"
    r"[A-Za-z0-9!@#$%^&*]*$",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"[<${%!&*@~/#\[(?+,).;:|=]|-+$|\.\.|x{3,}|your|my[_-]?(?:api|token|key)|insert[_-]|replace[_-]|put[_-]|enter[_-]"
    r"|todo|fixme|redacted|example|dummy|placeholder|arn:|vault:|ssm:|env:|file:|op:|os\.|process\.|sys\.",
    re.IGNORECASE,
)
_NUMBERED_NAME = re.compile(
    r"(?:[a-z]{1,12}_){0,3}(?:passwords?|passwd|passphrase|secrets?|tokens?|credentials?|apikey)_?v?[0-9]{1,2}\Z"
    r"|test_[a-z]{2,12}(?:_[a-z0-9]{1,12})+\Z"
    r"|(?:bytes|string|varchar2?|nvarchar2?|char|text|int|uint|field|input|param|arg|value|var)[0-9]{1,4}"
    r"(?:\([0-9, ]*\)?)?\Z",
    re.IGNORECASE,
)
"""A name of a secret with a number behind it, or a type: variables and columns are called so."""
_ALGORITHM = re.compile(
    r"(?:[a-z]{2,8}[-_])?(?:sha|aes|rsa|utf|oauth|argon|bcrypt|scrypt|pbkdf|base|hmac|tls|ssl|http|ipv|pkcs)"
    r"[-_]?[0-9][\w.-]{0,12}$"
    r"|(?:ed|x|md)[0-9]{1,5}(?-i:(?:[A-Z][a-z]{2,}){1,4})$"
    r"|(?:md|hs|rs|es|ps|ec|ed|x|s|k|v|cl)[-_]?[0-9]{1,5}[a-z]{0,2}(?:[-_.](?:[a-z]{1,8}[0-9]{0,4}|[0-9]{1,5})){0,3}$",
    re.IGNORECASE,
)
REFERENCE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+$")
_CONSTANT_OF_A_SECRET = re.compile(r"(?=\w*(?:PASS|PWD|SECRET|TOKEN|KEY|CRED))[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")
_LOWER_PATH = re.compile(r"[a-z0-9_.~-]+(?:/[a-z0-9_.~-]+)+/?$")
NAMES_A_SECRET = re.compile(
    r"pass(?:word|wd|phrase|code)?(?![a-z])|pwd|passwd|secret|token|apikey"
    r"|(?:api|access|auth|private|signing|encryption|master|account|jwt|license)[ _-]?key"
    r"|credential|(?<![a-z])(?:pw|key|auth|pat|psk|jwt|dsn)(?![a-z])|[a-z_](?:_key|_pw|_auth|_pat|_pass|_dsn)(?![a-z])|authtoken|_auth\Z|[a-z]key\Z"
)
"""Words in the name of a setting with a secret, in lower case."""
SLUG = re.compile(r"[a-z]+[0-9]{0,2}(?:[-_.][a-z0-9]{1,12})+$")

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\Z", re.IGNORECASE)

ORDINARY = re.compile(r"v?[0-9]+(?:[.:/-][0-9]+)*(?:[a-z]{1,3}|\.x)?\Z|[0-9]+[a-z]{1,8}\Z", re.IGNORECASE)
"""A version, a time, a size or a number, as sentences are full of."""
_LAST_DIGITS = re.compile(r"[-_.][0-9]{2,}[!#*+]?\Z")
_DIGITS = re.compile("[0-9]+")


def is_reference(value: str) -> bool:
    """Return whether the value only stands for a secret: a placeholder, a variable, a path, an algorithm."""
    return (
        _PLACEHOLDER.match(value) is not None
        or "://" in value
        or value.casefold() in NOT_A_SECRET
        or _ALGORITHM.match(value) is not None
        or _NUMBERED_NAME.match(value) is not None
        or _LOWER_PATH.match(value) is not None
        or _CONSTANT_OF_A_SECRET.match(value) is not None
        or not any(character.isalnum() for character in value)
    )


def is_opaque(value: str) -> bool:
    """Return whether a value has 16 characters or more, letters and digits or drawn letters, and is no UUID or slug."""
    digits, letters = digits_and_letters(value)
    return (
        len(value) >= 16
        and ((digits > 1 and letters > 1) or _is_scrambled(value))
        and not is_reference(value)
        and _UUID.match(value) is None
        and SLUG.match(value) is None
    )


def looks_chosen(value: str) -> bool:
    """Return whether somebody chose a value: three classes, signs, digits at the end or several among letters."""
    mixed = any(map(str.islower, value)) and any(map(str.isupper, value)) and any(map(str.isdigit, value))
    if mixed or any(character in "!@#$%^&*" for character in value):
        return True
    return _LAST_DIGITS.search(value) is not None or len(_DIGITS.findall(value)) > 1


_WORDS_AND_NUMBER = re.compile(
    r"(?:[A-Z]?[a-z]{2,16}(?:[-_.][A-Z]?[a-z]{2,16}){1,3}[-_.]?|[A-Z]?[a-z]{7,24}|(?:[A-Z][a-z]{2,16}){2,3})[0-9]{1,6}[!#*+]?\Z"
)
_OF_A_PROGRAM = re.compile(
    r"pass|pwd|passwd|secret|token|cred|auth|user|conf|param|field|input|value|version|string|option|config|request"
    r"|response|variable|argument|column|table|index|attempt|retry|server|client|proxy|cluster|region|vault|storage"
    r"|encod|cipher|crypt|schem|module|package|plugin|object|record|result|output|error|number|chapter|section|release"
    r"|sample|default|account|session|service|policy|provider|manager|handler|factory|builder|component|element|label"
    r"|prompt|login|require|optional|valid|verif|generat|python|postgres|mysql|oracle|ubuntu|debian|unicode|keystore"
    r"|(?:api|sort|store|public|primary|foreign)key|(?:data|off|char|re|sub|rule|tool|key)set|(?:host|file|user|class)name"
    r"|database|template|instance|response|certificate|environment|operation|iteration|function|parser|buffer|thread"
    r"|(?<![a-z])(?:keys?|names?|forms?|items?|nodes?|tests?|steps?|stages?|levels?|types?|texts?|bytes?|data|files?|paths?"
    r"|base|sets?|hosts?|stores?|hash|models?|entry|char|words?|lines?|pages?|phase|rounds?|issue|ticket|example|demo"
    r"|dummy|temp|button|groups?|roles?|match|check|mask|windows|case|batch|shard|replica|worker|queue|topic|event"
    r"|message|method|class|view|screen|dialog|device|member|code|env|args?|opts?|vars?|props?|row|col|id|db|app|svc|api"
    r"|self|this|cfg|req|res|ctx|obj|local|ref|src|dst|tmp|dev|prod|ci|job|task|run|build|port|pod|vm|web|srv|acl|otp"
    r"|pin|url|uri|http|ssh|ssl|tls|aes|rsa|sha|md|utf|iso|int|str|num|len|max|min|new|old|first|last|prev|next|cur"
    r"|current|day|week|part|slot|box|block|v|x|p)(?![a-z])",
    re.IGNORECASE,
)
"""Words that programs and their documents have in names, and people hardly in passwords."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def is_words_with_number(value: str) -> bool:
    """Return whether a value is words with a number behind them, none of them a word that programs have in names.

    A password ``velvet_harbor7`` reads like a name; ``user_password2`` and ``config.db1`` are names.
    """
    return _WORDS_AND_NUMBER.match(value) is not None and _OF_A_PROGRAM.search(_HUMP.sub("_", value)) is None


def digits_and_letters(value: str) -> tuple[int, int]:
    """Return how many digits and how many letters a value has."""
    return sum(map(str.isdigit, value)), sum(map(str.isalpha, value))


_GENERATED = re.compile(r"[A-Za-z0-9_+/.~-]{16,}={0,2}\Z")
_HEXADECIMAL = re.compile(r"(?:0x)?(?:[0-9a-f]{16,}|[0-9A-F]{16,})\Z")
_CONSTANT = re.compile(r"(?=[A-Z0-9_]*_)[A-Z0-9_]+\Z|(?:[a-z]+[0-9]{0,3}_)+[a-z0-9]+\Z")
_CLASSES = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")
_OUT_OF_STEP = re.compile(r"(?<=[A-Z])[a-z](?=[A-Z0-9])|(?<=[a-z])[A-Z]{2,}(?=[a-z0-9])|(?<=[a-z])[0-9](?=[a-z])")
"""Where small and capital letters change as in no name of a program: one small letter alone, or two capitals."""
_LEAST_OUT_OF_STEP = 3
"""Four of five values of 20 drawn letters have as many, and 6 of 10,101 names of that length in libraries."""
_LEAST_RUNS = 6
_LEAST_HEXADECIMAL = 16
_LEAST_DIFFERENT = 9


def is_hexadecimal(value: str) -> bool:
    """Return whether a value is of hexadecimal digits alone, as hashes are and some secrets too."""
    return _HEXADECIMAL.match(value) is not None


def is_identifier(value: str) -> bool:
    """Return whether a value is a UUID."""
    return _UUID.match(value) is not None


def _is_scrambled(value: str) -> bool:
    """Return whether small and capital letters follow each other as only drawn ones do, with hardly a digit."""
    return len(_OUT_OF_STEP.findall(value)) >= _LEAST_OUT_OF_STEP


def is_generated(value: str) -> bool:
    """Return whether a machine seems to have drawn the characters of a value, which names, paths and hashes are not."""
    if (
        _GENERATED.match(value) is None
        or not is_opaque(value)
        or is_hexadecimal(value)
        or value.count("/") > len(value) / 12
        or REFERENCE.match(value) is not None
        or _CONSTANT.match(value) is not None
    ):
        return False
    return len(set(value)) >= _LEAST_DIFFERENT and len(_CLASSES.findall(value)) >= _LEAST_RUNS


def is_drawn(value: str) -> bool:
    """Return whether a machine drew a value; a hash or an identifier would not stand where a secret is asked for."""
    return is_generated(value) or (len(value) >= _LEAST_HEXADECIMAL and (is_hexadecimal(value) or is_identifier(value)))


_TECHNICAL = re.compile(
    r"(?:windows|win|office|postgres|postgresql|python|py|java|jdk|node|mysql|oracle|angular|vue|react|php|ubuntu|debian|jboss|tomcat"
    r"|junit|log|neo|base|sha|md|oauth|argon|pbkdf|aes|rsa|ed|utf|ipv|http|int|uint|float|web|es|ecma|iso|rfc|cve|level"
    r"|step|version|release|test|user|item|page|line|chapter|section|figure|table|issue|phase|tier|day|week|sprint|room"
    r"|build|port|node|pod|host|server|srv|web|db|app|vm|q|h|v)[-_.]?[0-9]",
    re.IGNORECASE,
)
_OF_A_SECRET = re.compile("pass(?!er)|pwd|secret|token|key|cred|auth|encod|crypt|hash|cipher", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z]\w*(?:[-.:/]\w+){2,}\Z|\w*_\w*\Z|\.|[A-Z]+[-_]?[0-9]{1,6}\Z")
_SIGNS = re.compile(r"[A-Za-z0-9][!#$%^&*+~@?]")


def is_chosen(value: str) -> bool:
    """Return whether a word reads like a chosen password: of letters and digits, and no version or name."""
    digits, letters = digits_and_letters(value)
    return (
        digits > 0
        and letters > 0
        and len(value) >= 6
        and looks_chosen(value)
        and ORDINARY.match(value) is None
        and not is_reference(value)
        and not is_hexadecimal(value)
        and _UUID.match(value) is None
    )


def is_strong(value: str) -> bool:
    """Return whether a word can be told from all other words of a line as a password: three classes, or signs in it."""
    mixed = any(map(str.islower, value)) and any(map(str.isupper, value))
    return (
        len(value) >= 8
        and is_chosen(value)
        and (mixed or _SIGNS.search(value) is not None)
        and _TECHNICAL.match(value) is None
        and _OF_A_SECRET.search(value) is None
        and _IDENTIFIER.match(value) is None
    )
