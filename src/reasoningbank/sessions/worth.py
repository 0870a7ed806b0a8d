"""Whether an item says something that is worth keeping: an action that can be carried out, no story and no motto.

English has rules that were written after 220 recorded items had been graded by hand
(``benchmarks/evaluation/worth.py``). In the other languages a content is refused when a sentence of it tells what
happened, or only praises, and none says what to do.
"""

from __future__ import annotations

import re

from reasoningbank.memories.words import STOP_WORDS
from reasoningbank.safety.injection import words
from reasoningbank.sessions.lesson_language import LANGUAGES, LessonLanguage, is_vague_purpose, language_of
from reasoningbank.types.session import DO_INSTEAD

_TELLER = (
    r"(?:the|this|an?|our) (?:(?!\w*s )\w+[- ]){0,2}?(?:agent|assistant|model|user|approach|sequence"
    r"|sequences|execution|run"
    r"|pattern|attempt|flow|solution|workflow|session|process|action)"
)
_TOLD = re.compile(
    rf"(?:^|(?<=[.!?] )){_TELLER}\b[^.;]{{0,60}}?"
    r"\b(?:\w{3,}ed|began|found|got|had|led|made|ran|read|sent|set|took|was|were|went|wrote)\b"
    r"|^(?:successfully|implemented|used|retrieved|completed|executed|handled) \w+"
    r"|^(?:after|upon|before|by|despite) [^.;]{3,120}?, (?:the|an?) (?:\w+ )?(?:agent|assistant|model|user)\b",
    re.IGNORECASE,
)
_PRAISE = re.compile(
    r"\b(?:demonstrat\w+|highlight\w+|underscor\w+|showcas\w+|reinforc\w+) (?:the |that |how |its )?"
    r"(?:importance|value|need|benefit|effectiveness|responsiveness)"
    r"|\bthis (?:approach|sequence|step|pattern|method|demonstrat\w+|highlight\w+) "
    r"(?:\w+ )?(?:ensures?|ensured|prevents?|demonstrates|highlights)\b",
    re.IGNORECASE,
)
_EVALUATION = re.compile(
    r"^(?:careful|good|proper|correct|clear|thorough|accurate|effective|systematic|understanding|patience"
    r"|having|being)\b"
    r"|^it (?:matters|helps|pays|is (?:\w+ )?(?:key|crucial|essential|vital|critical|important|fundamental))\b"
    r"|\b(?:is|are) (?:\w+ )?(?:the key|key|crucial|essential|vital|critical|fundamental) (?:to|for)\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:\(?\d{1,2}[.)] )?(?:(?:then|first|always|never|instead|otherwise|also|and|so|finally|next|do not"
    r"|don't|only|if not|do instead:)[ ,]+"
    r"|(?:to|if|when|before|after|once|for|in|on|whenever|until|unless|while|with) [^,]{3,120}, )*",
    re.IGNORECASE,
)
_ORDERED = re.compile(
    r"(?P<verb>[A-Za-z]{2,}(?:-[a-z]+)?)(?<!ing)(?<!ed)(?<!ly)(?<!ion)(?<!ness)(?<!ity)(?<![a-rt-z]s) "
    r"(?!(?:is|are|was|were|has|have|had|can|could|may|might|will|would|of|leads?|led|means?|ensures?"
    r"|helps?|allows?)\b)"
)
_NO_VERB = STOP_WORDS - frozenset(
    ["do", "get", "give", "go", "keep", "let", "look", "make", "see", "take", "tell", "try", "use"]
)
_MUST = re.compile(r"\b(?:should|must|needs? to|ha(?:s|ve) to|instead of|do not|don't|never|avoid)\b", re.IGNORECASE)
_ANCHOR = re.compile(
    r"`[^`\n]{2,80}`|(?<!\w)'[^'\n]{2,60}'(?!\w)|\"[^\"\n]{2,60}\"|\b\w+\([^)\n]{0,60}\)|\b[a-z]+_[a-z_0-9]+\b"
    r"|\b(?!\w+(?:Errors?|Exceptions?)\b)(?:[a-z]+[A-Z]|[A-Z][a-z]+[A-Z])\w*\b|(?<!\w)--?[a-z][\w-]+"
    r"|\b[\w-]+\.(?!g\b|e\b)[a-z]{2,5}\b|\b\w+=\w+|(?<!\w)[~.]?/[\w.-]+/|\b[A-Z]{2,}_[A-Z_]+\b"
)
"""A name that can be looked up: quoted words, code, an option, a file."""
_MOTTO = (
    "access accesses accessing account accounted accuracy accurate accurately across action actions adapt "
    "additional address advanced align aligned aligning alignment aligns allow ambiguities ambiguity ambiguous "
    "api apis appropriate argument arguments assume assumption assumptions attempt attempting attempts "
    "authenticate authenticated authentication authorization availability available avoid based break call "
    "calling calls capabilities capability cascading case cases cause causes centralized chaining check "
    "checking checks clarify clarity clear clearly client commands common communicate communicates "
    "communicating communication complete completed completeness complex comprehension comprehensions "
    "comprehensive conditions confirm confirming conflating confusion consistent constraints construction "
    "content contents context contextually core correct correctly credential credentials critical cross-check "
    "cross-reference current data defensive definitions dependent detail details dictionaries dictionary "
    "different direct directory discrepancies discrepancy divided document documentation documented double- "
    "check downstream early edge effective efficiency efficient encountering endpoint endpoints ensure ensures "
    "ensuring error errors essential exact exactly execute executed executing execution exist existence exists "
    "expectations expected explicit explicitly extra extract extraction failed failing failure failures field "
    "fields flow flows follow follow-up followup format formats formatted formatting frustrate fully function "
    "functionality functions general goal graceful gracefully guide handle handled handling hardcoding header "
    "headers id identifier identifiers identify ids implement implementation implementing include included "
    "incomplete incorrect information initialization input inputs instructions integrate integrates "
    "integration intended intent interaction interactions intermediate invalid invocation invoke invoking "
    "issue issues item items json key keys lead leads limitation limitations list lists literal literals logic "
    "logical lookup management mapped mapping mappings match matches matching mechanism mechanisms method "
    "methods misinterpretation mismatch mismatched mismatches misnamed missing mitigate modular monitor "
    "monitoring multi-step multiple name names necessary nested obtain obtained operation operations output "
    "outputs overall overlooked parameter parameters pass passed passing password passwords pattern patterns "
    "perform performing permissions phase planning platform potential precise precisely prerequisite "
    "prerequisites presence prevent preventing prevention prevents previous prior proceed proceeding process "
    "processes processing progress proper properly protected protection provide provided provides purchases "
    "queries query rate re-evaluate real-time refresh relevance relevant reliable reliance rely relying "
    "request requests require required requirement requirements requires resolve resource resources response "
    "responses responsibilities result results retrieval retrieve retrieved retrieving robust robustness "
    "runtime safe safely scope scopes seamlessly secure securely sensitive sequence sequential server service "
    "services signature signatures similar skip skipped skipping specific stage stages stall standard state "
    "status step steps store stored strict strictly structure structured structures sub-task sub-tasks "
    "subsequent subtasks success successful successfully syntax system systematic systematically systems task "
    "tasks technique terminate termination terms text texts time times token tokens tool tools toolset "
    "toolsets type types underlying understanding unexpected unintended unlike unnecessary unstructured update "
    "updates usage use used user users using valid validate validated validating validation validity value "
    "values variable variables verification verified verify verifying workflow workflows working works"
)
_MOTTO_WORDS = frozenset(_MOTTO.split())
_LEAST_OWN = 4
_LEAST_SHARE = 0.3
_LATIN = re.compile(r"[A-Za-z]")
_MOST_FOREIGN = 0.05


_SENTENCE = re.compile(r"(?<=[.!?;])\s+|[\u3002\uff01\uff1f\uff1b\n]+")
_PART = re.compile(r"[,:\uff0c\uff1a\u3001]\s*")
_CODE = re.compile(
    r"`[^`]*`|\"[^\"]*\"|\u201e[^\u201c\u201d]*[\u201c\u201d]|\u00ab[^\u00bb]*\u00bb|\u300c[^\u300d]*\u300d"
)


def _says_what_to_do(text: str, language: LessonLanguage) -> bool:
    return any(
        language.directive.search(part.strip(" .!?;\u3002")) is not None
        for sentence in _SENTENCE.split(text)
        if language.story.search(sentence) is None
        for part in _PART.split(sentence)
    )


def _orders(text: str) -> bool:
    """Return whether an English sentence says what to do: it begins with the plain form of a verb, or says must."""
    for sentence in _SENTENCE.split(text):
        if _EVALUATION.match(sentence):
            continue
        begun = _LEAD.match(sentence)
        found = _ORDERED.match(sentence, begun.end() if begun else 0)
        if (found and found["verb"].casefold() not in _NO_VERB) or _MUST.search(sentence):
            return True
    return False


def _only(pattern: re.Pattern[str], text: str, language: LessonLanguage) -> bool:
    """Return whether a sentence is of such a pattern, and none says what to do."""
    plain = _CODE.sub("X", text)
    found = any(pattern.search(sentence.strip(" .!?;\u3002")) for sentence in _SENTENCE.split(plain))
    return found and not _says_what_to_do(plain, language)


def is_retold(content: str) -> bool:
    """Return whether the content tells what happened and names nothing that another agent could do."""
    text = " ".join((content.partition(DO_INSTEAD)[2] or content).split())
    language = LANGUAGES.get(language_of(text))
    if language is not None:
        return _only(language.story, text, language)
    return _TOLD.search(text) is not None or (_PRAISE.search(text) is not None and not _orders(text))


def is_motto(title: str, content: str) -> bool:
    """Return whether the content is advice that fits every task, or only says what something is good for.

    English advice fits every task when it has no name in it and hardly a word of a subject. In other languages the list
    of such words says nothing.
    """
    text = content.partition(DO_INSTEAD)[2] or content
    language = LANGUAGES.get(language_of(text))
    if language is not None:
        return is_vague_purpose(text, language) or _only(language.praise, text, language)
    foreign = sum(character.isalpha() and not character.isascii() for character in text)
    if not _LATIN.search(text) or foreign > _MOST_FOREIGN * len(text):
        return False
    text = " ".join(text.split())
    if any(map(_EVALUATION.search, _SENTENCE.split(text))) and not _orders(text):
        return True
    if _ANCHOR.search(text):
        return False
    said = [word for word in map(str.casefold, words(text)) if word not in STOP_WORDS]
    own = {word for word in said if word not in _MOTTO_WORDS}
    named = {word for word in map(str.casefold, words(title)) if word not in _MOTTO_WORDS and word not in STOP_WORDS}
    return len(own | named) < _LEAST_OWN or len(own) < _LEAST_SHARE * len(set(said))
