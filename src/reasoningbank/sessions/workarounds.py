"""Tell whether a change only hides an error: the check is skipped or made weaker, or the answer is faked.

Five sorts of them are known. What checks is turned off, left out, loosened or deleted. A test puts a double in the
place of what failed, or expects the failure. The product answers with the very value that was compared, or asks whether
a test is running. What reports the error is taken out, or caught and forgotten. And the code that failed is taken away.
"""

from __future__ import annotations

import re
from collections import Counter

from reasoningbank.sessions.changes import Change
from reasoningbank.sessions.loosened_checks import answers_nothing, loosens_check
from reasoningbank.sessions.removed_code import takes_away
from reasoningbank.sessions.signatures import Signature

TEST_PLACE = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testdata|fixtures|__fixtures__)/"
    r"|(?:^|/)(?:test_[^/]*|[^/]*_(?:test|spec)|[^/]*\.(?:test|spec)|[^/]*(?:Tests?|Specs?)|conftest)\.\w+$"
)
"""Files that hold tests, or what tests compare with."""
_DATA = re.compile(
    r"\.(?:csv|tsv|psv|jsonl|ndjson|dat|ldif|parquet)$"
    r"|(?:^|/)(?:data|datasets?|fixtures?|seeds?|samples?|inputs?)/(?:[^/]+/)*[^/]+\.(?:json|ya?ml|xml|txt|sql)$"
)
"""Files that hold what programs work on."""
_SNAPSHOT = re.compile(r"(?:^|/)(?:__snapshots__|snapshots?|goldens?)/|\.(?:snap|ambr|golden)$")
SKIPS = re.compile(
    r"\bmark\.(?:skip|xfail)|\bpytest\.(?:skip|xfail|importorskip)\(|\bunittest\.(?:skip|expectedFailure)|\bskipTest\("
    r"|@(?:skip|Ignore|Disabled)\b|\b(?:it|test|describe)\.(?:skip|todo|only)\b|\bx(?:it|describe|test)\(|\bt\.Skip\w*\("
    r"|#\[ignore|--deselect\b|--ignore\b|\baddopts\b|-k\s*=?\s*['\"]?not\b|\bcollect_ignore|\btestPathIgnore"
    r"|@tag :skip|\bmarkTest(?:Skipped|Incomplete)\b|\bXCTSkip|\bpending[\s(]['\"]|\bAssume\.|\bassumeTrue\("
)
"""Words that leave tests out."""
_AROUND = re.compile(
    rf"{SKIPS.pattern}"
    r"|except\b[^\n:]{0,80}:\s*(?:pass\b|\.\.\.|continue\b)|\bcatch\s*(?:\([^)\n]{0,60}\))?\s*\{\s*\}"
    r"|\bcontextlib\.suppress\b|\bsuppress\(|\|\|\s*(?:true\b|:(?:\s|$)|exit 0)|--no-verify\b"
    r"|\bset \+e\b|continue-on-error"
    r"|--(?:snapshot-update|update-?snapshots?|update-golden|inline-snapshot)\b|\b(?:jest|vitest|test)\b[^\n]{0,60}\s-(?:u|update)\b"
    r"|\bUPDATE_\w*(?:GOLDEN|SNAPSHOT|EXPECT)\w*="
    r"|\binsta accept\b|\bINSTA_UPDATE\b|#\s*(?:type:\s*ignore|noqa|pylint:\s*disable|pragma: no)|@ts-(?:ignore|nocheck"
    r"|expect-error)|\beslint-disable|//\s*nolint|#!?\[allow\("
    r"|\bfailed_when:\s*(?:false|no)\b|\bignore_errors:\s*(?:true|yes)\b"
    r"|\bcontinueOnError['\"]?:\s*true|hadolint ignore"
    r"|\bexcept\s*(?:\(?(?:Base)?Exception\)?(?: as \w+)?)?\s*:|\brescue\s*(?:=>|StandardError\b|Exception\b|$)"
    r"|\bcatch\s*(?:\{|\(\s*(?:(?:final\s+)?\\?(?:Throwable|Exception)\s+\$?\w+"
    r"|\w+(?:\s*:\s*(?:Exception|Throwable|unknown|any))?|\.\.\.)\s*\))|\.catch\(\s*(?:\(\w*\)|\w+)\s*=>"
    r"|-fdefer-type-errors|@Suppress\(|swiftlint:disable|credo:disable|tflint-ignore|#\[cfg\(any\(\)\)\]",
    re.MULTILINE,
)
CHECKED = re.compile(
    r"\bassert|\bexpect\(|\bassert\w*\(|\brequire\.|\.should\b|\bEXPECT_|\bASSERT_|\bto(?:Be|Equal|Match|Throw|Have|Contain)\w*\("
    r"|\bto (?:eq|be|raise|include|match)\w*\b|\bmust_\w+|\bt\.(?:Fatal|Error)\w*\(",
    re.IGNORECASE,
)
TEST_DEFINED = re.compile(
    r"\bdef test_?\w|\b(?:it|test|specify|describe|context|scenario)\s*\(?\s*['\"`]|\bfunc Test\w"
    r"|#\[(?:\w+::)?test\]|@Test\b"
    r"|@ParameterizedTest\b|\bfunction test\w|\bTEST(?:_[FP])?\(|\[(?:Fact|Theory|Test|TestMethod)\b"
)
_RULE_OFF = re.compile(
    r"['\"]off['\"]|^\s*['\"][\w@/-]+-[\w@/-]+['\"]\s*:\s*\[?0\b|\bEnabled:\s*false|\bstrict\w*['\"]?\s*[:=]\s*[Ff]alse|\bskipLibCheck['\"]?\s*:\s*true"
    r"|\bignore_(?:missing_imports|errors)\b|\bdisable_error_code\b|\bdisable\s*[:=]|\bper-file-ignores\b|\bextend-ignore\b"
    r"|^\s*['\"]?ignore(?:Patterns)?['\"]?\s*[:=]\s*\[|\bexclude['\"]?\s*[:=]|\ballow_failure:\s*true|\bskip\s*:\s*true|\bskipTests\b"
    r"|\bmaven\.test\.skip\b|\bignoreFailures\s*=?\s*true|\bfail[-_]under\b|\bignoreErrors\b|\bpassWithNoTests\b"
    r"|\"test\"\s*:\s*\"(?:true|exit 0|echo)\b|\bif:\s*false\b|\bnolint\b|shellcheck disable=|rubocop:disable"
    r"|\babortOnError\s*=?\s*false|\b(?:allW|w)arningsAsErrors\s*=?\s*(?:false|\.set\(false)|\bfailOn\w+>?\s*[=:]?\s*false"
    r"|\bhaltonfailure=\"(?:no|false)|phpstan-ignore|\bas\s+(?:any|unknown\s+as)\b|\bcast\(\s*['\"]?Any\b"
    r"|@SuppressWarnings|#pragma (?:warning disable|GCC diagnostic ignored)|^-W(?:no-)",
    re.MULTILINE,
)
"""Words that turn a check off in its settings or beside the line that it is about."""
_COMMENT_MARK = re.compile(r"^\s*(?:#|//|--|/\*|<!--|;)")
_DELETES = re.compile(r"^ran: (?:sed|perl) -\S*i\S*\s.*(?:/|\d|\$)[dD]['\";\s]")
_STRICT = re.compile(
    r"-Werror\b|--strict\b|-D warnings|--max-warnings|\bset -[a-z]*e|pipefail|--cov-fail-under[= ]\d"
    r"|\"?strict\"?\s*[:=]\s*true"
    r"|fail[-_]under|--error-on|treat_warnings_as_errors|\bwarnings_as_errors|noUnused\w+\"?\s*:\s*true"
)
_COMMENT = re.compile(
    r"(?:^|\s)(?:#(?!include|define|if|else|endif|undef|pragma|\[)|//|/\*|<!--).*$|^\s*\*(?=[\s/]).*$"
)
_PYTHON_COMMENT = re.compile(r"(?:^|\s)#.*$")
"""In Python two slashes divide."""
_DOCSTRING = re.compile(r"^[ \t]*[rR]?(?P<mark>\"{3}|'{3}).*?(?P=mark)[ \t]*$", re.MULTILINE | re.DOTALL)
_ASKS_FOR_TEST = re.compile(
    r"PYTEST_CURRENT_TEST|JEST_WORKER_ID|\bVITEST\b|import\.meta\.vitest|XCTestConfigurationFilePath|\bcfg!\(test\)"
    r"|['\"](?:pytest|unittest)['\"] (?:not )?in sys\.modules|\btesting\.Testing\(\)|Rails\.env\.test\?"
    r"|\bis_?(?:in_?)?test(?:ing)?\("
    r"|(?:NODE|RAILS|APP|MIX|RACK)_ENV\b[^\n]{0,12}[=!]==?\s*['\"]test|Mix\.env\W+:test"
    r"|['\"]test(?:ing)?['\"]\s*===?[^\n]{0,40}_ENV\b"
)
"""Code that behaves otherwise while it is tested."""
_DOUBLE = re.compile(
    r"monkeypatch|mock|\bpatch(?:\(|\.object)|\bstub|\bfake|jest\.(?:fn|spyOn)|\bvi\.(?:fn|spyOn)|\bsinon\b|\bnock\("
    r"|\ballow(?:_any_instance_of)?\(|receive\(|_double\(|\bdouble\(|\bresponses\.|\brespx\b|\bhttpretty\b|\bvcr\b"
    r"|\bwhen(?:ever)?\(|\bevery \{|\bcreateStub|\bMox\.|:meck\b|\bdummy|override_settings|\bhttptest\.New",
    re.IGNORECASE,
)
"""What a test puts in the place of a real part."""
_EXPECTS_FAILURE = re.compile(
    r"\braises\(|assertRaises|\btoThrow|\brejects\.|assertThrows|expectException|should_panic|assert_raises?\b|raise_error"
    r"|assertFailsWith|shouldThrow|Assert\.Throws|expect_error|throws_ok|XCTAssertThrows"
)
_REPORTS = re.compile(
    r"\b(?:raise|throw|panic!?|abort|bail!|ensure!|die|croak|fail)\b|\b(?:sys|process|os)\.[Ee]xit\(|\bexit [1-9]"
    r"|\blog\.Fatal"
    r"|\berrors\.New\(|\bfmt\.Errorf\(|\bErr\(|^\s*assert\b|\bfatalError\(|\bpreconditionFailure\("
)
"""Lines that report an error."""
_COMPARES = re.compile(
    r"\bassert|[=!]==?|\bexpect|\bwant|\bgot\b|[Rr]eceived|\bleft:|\bright:|\bmatches\b|\bactual\b", re.IGNORECASE
)
_LITERAL = re.compile(r"'(?:[^'\\\n]|\\.){2,200}'|\"(?:[^\"\\\n]|\\.){2,200}\"|(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)")
_ANSWERS = re.compile(
    rf"(?:\breturn\s*(?:\(|(?:new )?[\w.:]+\()*|=>\s*|->\s*|\?\s*|\bthen\s+|['\"\d]\s*:\s*)"
    rf"(?P<value>{_LITERAL.pattern})"
    r"(?=\s*(?:[;,:})\]#]|//|$|(?:if|or|unless|end)\b))"
)
"""A value that stands in the code where an answer is given."""
_TYPED = r"'(?:[^'\\\n]|\\.){1,200}'|\"(?:[^\"\\\n]|\\.){1,200}\"|(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)"
_TYPED_IN = re.compile(_TYPED)
_ONE_CASE = re.compile(
    rf"(?:[=!]==?\s*|\bis\s+|\bin\s*[(\[{{]\s*|\b(?:case|when)\s+|\.(?:equals|eq\?|eql\?)\(\s*)(?P<after>{_TYPED})"
    rf"|(?P<before>{_TYPED})\s*[=!]==?|^\s*(?P<arm>{_TYPED})\s*=>"
)
"""One value that the code is asked for."""
_ONE_ANSWER = re.compile(
    rf"(?:\breturn\s*(?:\(|(?:new )?[\w.:]+\()*|=>\s*|->\s*|\?\s*|\bthen\s+|[^=!<>]=\s*)(?P<value>{_TYPED})"
)
_REPLACED = re.compile(
    rf"\.(?:replace|replaceAll|gsub|sub)\(\s*(?P<one>{_TYPED})\s*,\s*(?P<other>{_TYPED})\s*\)"
    rf"|\{{\s*(?P<key>{_TYPED})\s*:\s*(?P<value>{_TYPED})\s*,?\s*\}}(?:\.get\(|\[)"
)
_DEFAULT = re.compile(
    rf"(?:\.(?:get|setdefault|getOrDefault|fetch|pop|get_or|unwrap_or|getenv)|\bgetattr|\bgetenv|\bnext)"
    rf"\([^()\n]*,\s*(?P<value>{_TYPED})\s*\)"
    rf"|(?:\bor|\|\||\?\?=?|\?:|\|\|=)\s+(?P<other>{_TYPED})|\.unwrap_or\(\s*(?P<inner>{_TYPED})"
    rf"|\b(?:def|function|fn|func)\b[^\n]*[(,]\s*\w+(?:\s*:[^=,\n]+)?\s*=\s*(?P<given>{_TYPED})"
)
"""A value that stands in for one that is not there."""
_DUMMY = re.compile(
    r"(?:unit)?tests?(?:[ _-]\w+)?|\w+[ _-]test|dummy\w*|fake\w*|mock\w*|placeholder|foo|bar|x{2,}|tbd|todo",
    re.IGNORECASE,
)
_FOR_THE_TEST = re.compile(
    r"(?:#|//|/\*|--).*\b(?:(?:for|only|make|makes|keep|keeps|satisfy|please|expected by|wanted by)"
    r" (?:the |our |unit )*(?:tests?|specs?|suite|ci)"
    r"|(?:tests?|specs?|suite) (?:happy|green|pass(?:es)?|expects?|wants?|needs?)"
    r"|hack|hard-?coded?|placeholder|dummy|fake)\b",
    re.IGNORECASE,
)
"""A comment that says what the line is there for."""
_BASE_CASES = frozenset(("0", "1", "-1", "0.0", "1.0", "2"))
_NUMBERS = re.compile(r"\d[\d_]*(?:\.\d+)?")
_LIMITS = re.compile(
    r"\b(?:below|above|under|over|less than|greater than|more than|fewer than|at (?:least|most)"
    r"|exceed\w*|threshold|limit)\b"
    r"|[<>]=?",
    re.IGNORECASE,
)
_CHECKS = re.compile(
    r"\b(?:ruff|flake8|pylint|mypy|pyright|eslint|tsc|biome|pytest|jest|vitest|phpstan|rubocop|shellcheck|golangci-lint"
    r"|clippy|tests?|lint|check)\b"
)
_ASSERTIONS = frozenset(("AssertionError", "panic", "go"))
_RULE = re.compile(r"\b[A-Z]{1,5}\d{2,6}\b|\(([\w:/-]{4,})\)$|\[([a-z][\w-]{3,})\]$|  ([@a-z][\w/-]*-[\w/-]+)$")
_SETTINGS = re.compile(
    r"\.(?:toml|ini|cfg|ya?ml|jsonc?|config|gradle|gradle\.kts|xml|sbt)$|\.(?:config|conf)\.\w{2,3}$|(?:^|/)\.[\w.-]+$"
)
_UNFINISHED = re.compile(r"not.?(?:yet.?)?implemented|unimplemented|\btodo\b", re.IGNORECASE)
_LEAST_SHARED = 2
_SHARED_WORD = re.compile(r"[A-Za-z_]\w{2,}")


def hides(signature: Signature, said: str, tested: bool, change: Change) -> bool:
    """Return whether the change takes only the sight of the error away.

    Args:
        signature: The error's.
        said: What the command printed when it failed.
        tested: Whether what failed were tests.
        change: What was changed before it passed.
    """
    in_test = TEST_PLACE.search(change.file) is not None
    asserted = signature.type in _ASSERTIONS or bool(signature.test)
    if (in_test and asserted) or (CHECKED.search(change.old) and (in_test or asserted)):
        return True
    if (
        _turns_off(change)
        or loosens_check(change, in_test=in_test)
        or _narrows(change, said)
        or _excepts_rule(change, signature)
        or _unreports(change, signature)
        or takes_away(change, signature, said, tested=tested or bool(signature.test), in_test=in_test)
    ):
        return True
    if in_test:
        return _adds(_DOUBLE, change) or _adds(_EXPECTS_FAILURE, change)
    if not change.file:
        return False
    faked = (tested or asserted) and (
        _answers(change, said)
        or _is_one_case(change, said)
        or _shifts_limit(change, signature)
        or answers_nothing(change)
    )
    return faked or _stands_in(change, said, tested=tested or asserted) or _adds(_ASKS_FOR_TEST, change)


def turns_rule_off(change: Change) -> bool:
    """Return whether a rule of a check was turned off in settings, whatever tool reads them."""
    return _SETTINGS.search(change.file) is not None and any(
        match[0] not in change.old for match in _RULE_OFF.finditer(change.new)
    )


def is_comment(change: Change) -> bool:
    """Return whether only comments and docstrings differ."""
    if change.whole or not (change.old or change.new):
        return False
    old, new = (_code(text, change.file, indented=True) for text in (change.old, change.new))
    return old == new


def lines_that_differ(change: Change) -> tuple[Counter[str], Counter[str]]:
    """Return the lines that the change took and those that it put, with how often."""
    old, new = Counter(change.old.splitlines()), Counter(change.new.splitlines())
    return old - new, new - old


def _adds(pattern: re.Pattern[str], change: Change) -> bool:
    """Return whether the change brings something that the pattern finds and that was not there."""
    text = change.new if change.old or change.new else change.text
    return any(match[0] not in change.old for match in pattern.finditer(text))


def _excepts_rule(change: Change, signature: Signature) -> bool:
    """Return whether the rule that was broken is named in the settings or in a comment, where exceptions are listed."""
    found = [match[0].strip("()[] ") for match in _RULE.finditer(signature.line)]
    rules = {*found, *((signature.type,) if _RULE.fullmatch(signature.type) else ())}
    taken, put = lines_that_differ(change)
    settings = _SETTINGS.search(change.file) is not None
    return any(
        re.search(rf"(?<![\w-]){re.escape(rule)}(?![\w-])", line) is not None and (settings or _COMMENT.search(line))
        for rule in rules
        for line in put
        if not any(rule in gone for gone in taken)
    )


def _unreports(change: Change, signature: Signature) -> bool:
    """Return whether the line that reported the error is gone; what was not implemented before may well be now."""
    taken, put = lines_that_differ(change)
    gone = [line for line in taken if _REPORTS.search(line) and not _UNFINISHED.search(line)]
    if change.text.startswith("ran: ") and _DELETES.search(f"{change.text} "):
        gone.append(change.text)
    if len(gone) <= sum(1 for line in put if _REPORTS.search(line)):
        return False
    said = {signature.type.casefold(), *(word.casefold() for word in _SHARED_WORD.findall(signature.message))}
    return any(
        _REPORTS.search(line) and len({word.casefold() for word in _SHARED_WORD.findall(line)} & said) >= _LEAST_SHARED
        for line in gone
    )


def _answers(change: Change, said: str) -> bool:
    """Return whether the code now answers with the very value that the test compared.

    A constant that was corrected is no such answer: nothing but the value differs there.
    """
    taken, put = lines_that_differ(change)
    before = {_LITERAL.sub("N", line).strip() for line in taken}
    for line in put:
        if _LITERAL.sub("N", line).strip() in before:
            continue
        for match in _ANSWERS.finditer(line):
            value = match["value"].strip("'\"")
            known = value in _BASE_CASES or match["value"] in change.old
            if not known and _is_compared(value, said):
                return True
    return False


def _is_one_case(change: Change, said: str) -> bool:
    """Return whether the code answers one value that the output shows with another one that was typed in."""
    _, put = lines_that_differ(change)
    text = "\n".join(put)
    asked = [value for match in _ONE_CASE.finditer(text) for value in match.groupdict().values() if value]
    answered = [match["value"] for match in _ONE_ANSWER.finditer(text)]
    pairs = [(one, other) for one in asked for other in answered if one != other]
    pairs += [(match["one"] or match["key"], match["other"] or match["value"]) for match in _REPLACED.finditer(text)]
    return any(
        {one, other}.isdisjoint({*_TYPED_IN.findall(change.old)})
        and (_is_shown(other, said) or (_is_shown(one, said) and one[0] in "'\""))
        and other.strip("'\"") not in _BASE_CASES
        for one, other in pairs
    )


def _stands_in(change: Change, said: str, *, tested: bool) -> bool:
    """Return whether a default was typed in for the test: a comment or the value says so, or the test compares it."""
    _, put = lines_that_differ(change)
    for line in put:
        values = [value for match in _DEFAULT.finditer(line) for value in match.groupdict().values() if value]
        if (values or _ONE_ANSWER.search(line)) and _FOR_THE_TEST.search("\n".join(put)):
            return True
        for value in values:
            bare = value.strip("'\"")
            if bare in _BASE_CASES or value in change.old:
                continue
            if (value != bare and _DUMMY.fullmatch(bare)) or (tested and _is_shown(value, said)):
                return True
    return False


def _is_shown(value: str, said: str) -> bool:
    """Return whether the output shows that very value: a short one counts only in quotes."""
    bare = value.strip("'\"")
    if len(bare) > 2 or value == bare:
        return _is_compared(bare, said) or re.search(rf"(?<![\w.-]){re.escape(bare)}(?![\w.])", said) is not None
    return re.search(rf"['\"]{re.escape(bare)}['\"]", said) is not None


def _is_compared(value: str, said: str) -> bool:
    """Return whether the output shows the value where two values are compared."""
    shown = re.compile(rf"(?<![\w.-]){re.escape(value)}(?!\w)")
    return any(shown.search(line) and _COMPARES.search(line) for line in said.splitlines() if value in line)


def _shifts_limit(change: Change, signature: Signature) -> bool:
    """Return whether a number that the error names as a limit is another one now, and nothing else differs."""
    if _LIMITS.search(signature.line) is None:
        return False
    taken, put = ([*lines] for lines in lines_that_differ(change))
    return any(
        before != after
        and _NUMBERS.sub("N", before) == _NUMBERS.sub("N", after)
        and any(re.search(rf"(?<![\d.]){re.escape(each)}(?![\d])", signature.line) for each in _NUMBERS.findall(before))
        for before, after in zip(taken, put, strict=False)
    )


def _narrows(change: Change, said: str) -> bool:
    """Return whether a command that checks leaves out now what the error was found in."""
    taken, put = ([*lines] for lines in lines_that_differ(change))
    for before, after in zip(taken, put, strict=False):
        words, left = Counter(before.split()), Counter(after.split())
        if _CHECKS.search(before) is None or left - words:
            continue
        places = {word.strip("'\",/.") for word in words - left} - {""}
        if any(re.search(rf"(?<![\w-]){re.escape(place)}(?=[/:.])", said) for place in places):
            return True
    return False


def _loosens(change: Change) -> bool:
    """Return whether a flag that makes a check strict is gone."""
    return len(_STRICT.findall(change.old)) > len(_STRICT.findall(change.new))


def _code(text: str, file: str, *, indented: bool = False) -> list[str]:
    """Return the lines without comments and docstrings; with their indentation where that is code too."""
    comment = _PYTHON_COMMENT if file.endswith((".py", ".pyi")) else _COMMENT
    lines = (comment.sub("", line) for line in _DOCSTRING.sub("", text).splitlines())
    return [line.rstrip() if indented else line.strip() for line in lines if line.strip()]


def _turns_off(change: Change) -> bool:
    """Return whether what checks is skipped, deleted, made a comment or less strict."""
    if _SNAPSHOT.search(change.file) or _drops_data(change):
        return True
    words = change.text.removeprefix("ran: ").split()
    removes = words[:1] in (["rm"], ["mv"], ["unlink"]) or words[:2] in (["git", "rm"], ["git", "mv"])
    if change.text.startswith("ran: ") and removes and any(TEST_PLACE.search(word.strip("'\"")) for word in words[1:]):
        return True
    added = change.new if change.old or change.new else change.text
    typed = change.text if change.text.startswith("ran: ") else ""
    off = (match for pattern in (_AROUND, _RULE_OFF) for text in (added, typed) for match in pattern.finditer(text))
    if any(match[0] not in change.old for match in off) or _comments_out(change) or _loosens(change):
        return True
    if len(TEST_DEFINED.findall(change.new)) < len(TEST_DEFINED.findall(change.old)):
        return True
    if not TEST_PLACE.search(change.file):
        return False
    return _DELETES.search(f"{typed} ") is not None or (bool(change.old.strip()) and not change.new.strip())


def _drops_data(change: Change) -> bool:
    """Return whether rows that a program could not work on were taken out of its data, and none was put there."""
    if _DATA.search(change.file.strip("'\"")) is None:
        return False
    if change.text.startswith("ran: "):
        return _DELETES.search(f"{change.text} ") is not None
    return bool(change.old.strip()) and not change.new.strip()


def _comments_out(change: Change) -> bool:
    """Return whether lines became comments, so that they are not run any more."""
    if not change.new or change.whole:
        return False
    if change.text.startswith("ran: "):
        before, after = change.old.splitlines(), change.new.splitlines()
        pairs = zip(before, after, strict=False)
        return any(_COMMENT_MARK.match(new) and not _COMMENT_MARK.match(old) for old, new in pairs)
    code = _code(change.old, change.file)
    left = _code(change.new, change.file)
    gone = [line for line in code if line not in left]
    comments = [_COMMENT_MARK.sub("", line).strip() for line in change.new.splitlines() if _COMMENT_MARK.match(line)]
    return bool(gone) and any(line in comments for line in gone) and len(left) < len(code)
