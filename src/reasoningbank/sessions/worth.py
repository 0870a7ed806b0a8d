"""Whether an item says something that is worth keeping: an action that can be carried out, not a story and not a motto.

The rules read how a story begins in six languages; mottos are looked for in English alone. They were written after 220
recorded items had been graded by hand (``benchmarks/evaluation/worth.py``).
"""

from __future__ import annotations

import re

from reasoningbank.memories.words import STOP_WORDS
from reasoningbank.safety.injection import words
from reasoningbank.types.session import DO_INSTEAD

_TELLER = (
    r"(?:the|this|an?|our) (?:\w+[- ]){0,2}?(?:agent|assistant|model|user|approach|sequence|sequences|execution|run"
    r"|pattern|attempt|flow|solution|workflow|session|process|action)"
)
_TOLD = re.compile(
    rf"(?:^|(?<=[.!?] )){_TELLER}\b[^.;]{{0,60}}?"
    r"\b(?:\w{3,}ed|began|found|got|had|led|made|ran|read|sent|set|took|was|were|went|wrote)\b"
    r"|^(?:successfully|implemented|used|retrieved|completed|executed|handled) \w+"
    r"|^(?:after|upon|before|by|despite) [^.;]{3,120}?, (?:the|an?) (?:\w+ )?(?:agent|assistant|model|user)\b"
    r"|^der agent (?:hat|konnte|wurde)|^l'agent a (?:\w+é|d'abord)|^el agente (?:ha|pudo|logró|usó)"
    r"|^(?:die|le|la|el) (?:sitzung|session|sesión) (?:war|hat|a été|fue)|^(?:代理|智能体|助手)(?:成功|首先|先|最终)"
    r"|^エージェントは",
    re.IGNORECASE,
)
_PRAISE = re.compile(
    r"\b(?:demonstrat\w+|highlight\w+|underscor\w+|showcas\w+|reinforc\w+) (?:the |that |how |its )?"
    r"(?:importance|value|need|benefit|effectiveness|responsiveness)"
    r"|\bthis (?:approach|sequence|step|pattern|method|demonstrat\w+|highlight\w+) "
    r"(?:\w+ )?(?:ensures?|ensured|prevents?|demonstrates|highlights)\b",
    re.IGNORECASE,
)
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


def is_retold(content: str) -> bool:
    """Return whether the content tells what happened and names nothing that another agent could do."""
    text = " ".join(content.split())
    return _TOLD.search(text) is not None or _PRAISE.search(text) is not None


def is_motto(title: str, content: str) -> bool:
    """Return whether the content is advice that fits every task: no name, hardly a word of a subject.

    Only English is looked at: in other languages the list of such words says nothing.
    """
    text = content.partition(DO_INSTEAD)[2] or content
    foreign = sum(character.isalpha() and not character.isascii() for character in text)
    if not _LATIN.search(text) or foreign > _MOST_FOREIGN * len(text):
        return False
    if _ANCHOR.search(text):
        return False
    said = [word for word in map(str.casefold, words(text)) if word not in STOP_WORDS]
    own = {word for word in said if word not in _MOTTO_WORDS}
    named = {word for word in map(str.casefold, words(title)) if word not in _MOTTO_WORDS and word not in STOP_WORDS}
    return len(own | named) < _LEAST_OWN or len(own) < _LEAST_SHARE * len(set(said))
