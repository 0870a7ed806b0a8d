"""Recipes in a bank: made of a session without a model, looked up by the signature of an error.

One recipe is kept for each kind and signature; a link from it to its key, which is indexed, says which. A further
session with the same error and an alike change does not add a recipe: it is a further origin of the known one and, when
it is independent of it, one outcome for it. A project fact needs two sessions in which its command passed; that it
passed in one is kept as a link from the session to the fact's key.

Everything that one session brings is one transaction that first looks what is there already, so a worker that is killed
loses nothing and doubles nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.llm.token_count import count_tokens
from reasoningbank.memories.admission import Ready, admit, draft, prepare
from reasoningbank.memories.credit import shown
from reasoningbank.memories.words import terms
from reasoningbank.safety.checks import session_name
from reasoningbank.safety.quotation import clip, fitting
from reasoningbank.safety.stored_text import reveal
from reasoningbank.sessions.changes import cut, doing_of
from reasoningbank.sessions.corroboration import corroborate
from reasoningbank.sessions.signatures import Signature, is_near, read_signature, signature_of
from reasoningbank.storage.store import Store, StoreReader
from reasoningbank.types.argument import Budget
from reasoningbank.types.belief import MIN_CONFIDENCE
from reasoningbank.types.memory import MAX_DESCRIPTION, MAX_TITLE, SUPERSEDED, Memory, check_memory_id
from reasoningbank.types.ports import Embedder
from reasoningbank.types.recall import Brief, BriefItem, Filter, Fit, Hit
from reasoningbank.types.records import Link
from reasoningbank.types.resource import checked
from reasoningbank.types.session import RECIPE, DistilReport, Origin, Step, Trajectory

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.search.briefing import Briefings
    from reasoningbank.sessions.recipes import Recipe
    from reasoningbank.sessions.sessions import Sessions

SIGNATURE = "signature"
"""The kind of the link from a recipe to the key that it is looked up by."""
PASSED = "passed"
"""The kind of the link from a session to the key of a command that passed in it."""
BUDGET = 400
"""Most tokens of the recipes that are shown for one error."""
ALIKE = 0.6
"""Two changes are alike when so much of the shorter one's words stand in the other."""
_ENOUGH = 2
"""Sessions in which a command must have passed to be a fact."""
_EXACT_RELEVANCE = 1.0
_NEAR_RELEVANCE = 0.8
_CONSIDERED = 20
_MAX_TASK = 2_000
_SHELL = "bash"
_EDITED = re.compile(r"^- (?:in ([^\s:,]+)(?:,[^:\n]*)?: |(?:ran: )(?:sed|perl) .*?([^\s'\"]+)$)", re.MULTILINE)
_THROWN = re.compile(r"(?:Error|Exception|Fault|Failure)$|^(?:panic|go|linker|Fatal error)$")
_TRAVELS = re.compile(
    r"^(?:Import|ModuleNotFound|Load|ImproperlyConfigured|PydanticImport|Deprecat\w+|Syntax)(?:Error)?$"
)
"""Exceptions whose repair is the same in any file."""
_CHANGED = re.compile(r"^- (?:ran: |in |wrote )?(.+)$", re.MULTILINE)
_RECALLABLE = Filter().states


@checked
class Recipes:
    """Make recipes of captured sessions without a model, and show the one for an error."""

    def __init__(self, context: Context, sessions: Sessions, briefings: Briefings) -> None:
        self._context = context
        self._sessions = sessions
        self._briefings = briefings

    def learn(self, trajectory_id: str) -> DistilReport:
        """Store what the session shows by itself: fixes, dead ends, the project's commands. Twice adds nothing.

        Args:
            trajectory_id: The session.

        Raises:
            TrajectoryNotFound: When this project has no such trajectory.
        """
        trajectory = self._sessions.get(check_memory_id(trajectory_id, "session"))
        return learn_recipes(self._context.store(), self._context.embedder, trajectory, at=self._context.clock.now())

    def briefing(
        self,
        error: str,
        budget: Budget = BUDGET,
        session: str | None = None,
        command: str = "",
        *,
        repeat: bool = False,
    ) -> Brief:
        """Return the recipes for an error, the same one first and then one that is near; nothing when none is known.

        What is shown is logged as a delivery, as in every briefing. The recipe for the very error is shown once for it
        in a session, whatever a briefing has shown before: this is the task that it is for, and so what it is credited
        for. One for a near error is left out when this session was shown it before. An error that says nothing of its
        cause ("No such file or directory") is the same only where the same command failed, and an edit of a file helps
        only where that file has to do with the error.

        Args:
            error: What the command printed when it failed.
            budget: Most cl100k tokens of the text.
            session: What the delivery counts for; None takes the bank's own.
            command: The command that failed; empty when it is not known.
            repeat: Whether what this session was shown before is shown again.
        """
        place = session_name(session) or self._context.session
        action = (doing_of(Step(tool=_SHELL, action=command)).shown or command.strip()) if command else ""
        signature = signature_of(error, action)
        if signature is None:
            return Brief(session=place)
        store = self._context.store()
        found = [hit for hit in known_for(store, signature) if _can_apply(hit.memory, signature, error, action)]
        seen = _seen(store, place, signature, found) if found and not repeat else frozenset()
        items, _, text = fitting(
            [BriefItem(hit=hit, scope=hit.scope) for hit in found if hit.id not in seen],
            self._context.clock.now(),
            budget,
        )
        if not items:
            return Brief(session=place)
        return self._briefings.kept(
            store, Brief(text=text, items=tuple(items), tokens=count_tokens(text), session=place), signature.text
        )


@dataclass(frozen=True, slots=True)
class _Candidate:
    recipe: Recipe
    ready: Ready


def learn_recipes(store: Store, embedder: Embedder, trajectory: Trajectory, *, at: datetime) -> DistilReport:
    """Store the recipes of a session, all of them or none; report what is new and what was known.

    Raises:
        TrajectoryNotFound: When the store does not hold the trajectory; nothing was stored.
        ModelMismatch: When the bank was built with another embedder; nothing was stored.
    """
    from reasoningbank.sessions.lessons import retire

    session = trajectory.session or trajectory.id
    # A hook that only looks a recipe up need not load the rules by which one is made.
    from reasoningbank.sessions.recipes import fact_recipe, learned_from

    shown_fixes, passed = learned_from(trajectory)
    recipes = [*shown_fixes, *(fact_recipe(one, sessions=_ENOUGH) for one in passed)]
    drafts = [_draft(store.scope.project, recipe, trajectory, session, at) for recipe in recipes]
    candidates = [
        _Candidate(recipe, ready)
        for recipe, ready in zip(recipes, prepare(drafts, embedder, origin="recipe"), strict=True)
    ]
    new: list[str] = []
    known: list[str] = []
    with store.transaction() as transaction:
        transaction.sessions.entry(trajectory.id)
        again = [
            twin.id
            for one in candidates
            if (twin := _twin(transaction, one)) is not None and _is_alike(twin, one.ready.memory)
        ]
        earlier = transaction.sessions.origins(trajectory=trajectory.id)
        retire(transaction, trajectory, earlier, again, model=RECIPE, at=at)
        for candidate in candidates:
            ready = candidate.ready
            founders = _passed_before(transaction, candidate.recipe.key, session)
            if candidate.recipe.kind == "fact" and not founders:
                continue
            twin = _twin(transaction, candidate)
            origin = Origin(
                memory_id=ready.memory.id if twin is None else twin.id,
                trajectory=trajectory.id,
                kind="distilled" if twin is None else "corroborated",
                session=session,
                steps=candidate.recipe.steps,
                model=RECIPE,
                at=at,
            )
            if twin is None:
                admit(transaction, ready, at=at)
                for key in (candidate.recipe.key, *candidate.recipe.further):
                    transaction.memories.link(Link(source=ready.memory.id, target=key, kind=SIGNATURE))
                transaction.sessions.add_origin(origin)
                for name, founder in founders:
                    transaction.sessions.add_origin(replace(origin, trajectory=founder, session=name, steps=()))
                new.append(ready.memory.id)
            elif (
                twin.state in _RECALLABLE
                and _is_alike(twin, ready.memory)
                and corroborate(transaction, twin, origin, trajectory, counts=True, at=at)
            ):
                known.append(twin.id)
        for one in passed:
            transaction.memories.link(Link(source=f"session:{session}", target=one.key, kind=PASSED))
    return DistilReport(distilled=tuple(new), corroborated=tuple(dict.fromkeys(known)))


def known_for(store: Store, signature: Signature) -> list[Hit]:
    """Return the recipes for an error: those of the same signature, else the nearest fix and dead end."""
    exact = [memory for kind in ("fix", "dead-end") for memory in _of_error(store, kind, signature)]
    hits = [_hit(memory, _EXACT_RELEVANCE, "strong") for memory in exact if memory.state in _RECALLABLE]
    if hits:
        return hits
    condition = Filter(categories=("fix", "dead-end"))
    found = store.search.matching(signature.text, condition, _CONSIDERED).hits
    memories = store.memories.many([scored.id for scored in found])
    for scored in found:
        memory = memories.get(scored.id)
        if memory is None or memory.provenance.get("source") != RECIPE:
            continue
        if is_near(read_signature(memory.title), signature):
            return [_hit(memory, _NEAR_RELEVANCE, "fair")]
    return []


def _of_error(reader: StoreReader, kind: str, signature: Signature) -> Sequence[Memory]:
    """Return the recipes of a kind for the very error: the one of its key, else those of the thing that it is about."""
    found: Sequence[Memory] = ()
    for key in signature.keys:
        found = found or _by_key(reader, f"{kind}:{key}")
    return found


def _seen(reader: StoreReader, session: str, signature: Signature, found: Sequence[Hit]) -> frozenset[str]:
    """Return which of the recipes found for an error are not shown again in a session.

    Of those for the very error only what was delivered for that error counts: what was shown at the session's start or
    with a prompt was not asked for by it, and without a task nothing is credited.
    """
    if any(hit.relevance < _EXACT_RELEVANCE for hit in found):
        return frozenset(shown(reader, session))
    logs, text = reader.deliveries.recalls(limit=0, session=session), signature.text.casefold()
    return frozenset(entry.memory_id for log in logs if log.query.casefold() == text for entry in log.entries)


def _can_apply(memory: Memory, signature: Signature, error: str, action: str) -> bool:
    """Return whether what the recipe says can help here.

    What was installed or set helps wherever the error is met, and so does what a compiler or linter asks for. The edit
    of a file that took an exception away helps only where that file or that command failed again; where the error says
    nothing of its cause, where that file failed.
    """
    files = [name for pair in _EDITED.findall(memory.content) for name in pair if name]
    said = _CHANGED.findall(memory.content)
    if not files or len(files) < len(said):
        return True
    if signature.state is None and (not _THROWN.search(signature.type) or _TRAVELS.search(signature.type)):
        return True
    tells = signature.state is not None or not signature.is_general
    if action and tells and f"`{action}`" in memory.description:
        return True
    return any(re.search(rf"(?<![\w.-]){re.escape(_base(name))}(?!\w)", f"{error}\n{action}") for name in files)


def _base(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _twin(reader: StoreReader, candidate: _Candidate) -> Memory | None:
    recipe, memory = candidate.recipe, candidate.ready.memory
    alike = [known for key in recipe.further for known in _by_key(reader, key) if _is_alike(known, memory)]
    return next(iter((*_by_key(reader, recipe.key), *alike)), None) or _same_text(reader, memory)


def _hit(memory: Memory, relevance: float, fit: Fit) -> Hit:
    unproven = memory.confidence < MIN_CONFIDENCE
    return Hit(memory=reveal(memory), relevance=relevance, fit=fit, legs={}, unproven=unproven)


def _passed_before(reader: StoreReader, key: str, session: str) -> Sequence[tuple[str, str]]:
    """Return the other sessions in which the command of a fact has passed, each with a trajectory of it.

    A fact rests on them as much as on the session that makes it one, so none of them is evidence for it later.
    """
    names = sorted(link.source.removeprefix("session:") for link in reader.memories.links(key) if link.kind == PASSED)
    return [(name, _trajectory_of(reader, name)) for name in names if name != session]


def _trajectory_of(reader: StoreReader, session: str) -> str:
    """Return a trajectory of a session; one without a session's name is called as itself."""
    return next((entry.id for entry in reader.sessions.trajectories(limit=1, session=session)), session)


def _draft(project: str, recipe: Recipe, trajectory: Trajectory, session: str, at: datetime) -> Memory:
    memory = draft(
        origin="recipe",
        project=project,
        title=cut(recipe.title, MAX_TITLE),
        description=cut(recipe.description, MAX_DESCRIPTION),
        content=recipe.content,
        outcome="failure" if recipe.kind == "dead-end" else "success",
        category=recipe.kind,
        provenance={
            "source": RECIPE,
            "session": session,
            "trajectory": trajectory.id,
            "task": clip(trajectory.task.strip(), _MAX_TASK)[:_MAX_TASK],
            "steps": ",".join(map(str, recipe.steps)),
        },
        at=at,
    )
    return replace(memory, state="candidate")


def _by_key(reader: StoreReader, key: str) -> Sequence[Memory]:
    """Return the recipes of a key, or the memories that they were consolidated into."""
    named = [link.source for link in reader.memories.links(key) if link.kind == SIGNATURE]
    found: dict[str, Memory] = {}
    for memory in reader.memories.many(named).values():
        if _is_retired(reader, memory):
            continue
        into = memory.consolidation_id
        kept = memory if into is None else reader.memories.many([into]).get(into, memory)
        found.setdefault(kept.id, kept)
    return tuple(found.values())


def _same_text(reader: StoreReader, memory: Memory) -> Memory | None:
    twins = reader.memories.many(reader.memories.same_text(memory.fingerprint))
    return next((twin for twin in twins.values() if not _is_retired(reader, twin)), None)


def _is_retired(reader: StoreReader, memory: Memory) -> bool:
    """Return whether a longer capture took the recipe back: then another session may teach it anew."""
    if memory.state != "archived" or memory.provenance.get("source") != RECIPE:
        return False
    changes = reader.memories.changes(memory_id=memory.id)
    return any(change.kind == SUPERSEDED for change in changes)


def _is_alike(known: Memory, new: Memory) -> bool:
    """Return whether both sessions changed the same thing; a fact is the same by its key."""
    first, second = (set(terms(" ".join(_CHANGED.findall(each.content)))) for each in (known, new))
    if not first or not second:
        return not first and not second
    return len(first & second) >= ALIKE * min(len(first), len(second))
