"""Promote reviewed lessons into wider scopes, and share banks as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput, MemoryNotFound
from reasoningbank.memories.standing import check_person
from reasoningbank.safety.checks import given_name, given_reason, usable_path
from reasoningbank.settings import BANKS
from reasoningbank.storage.store import Store
from reasoningbank.telemetry import observed
from reasoningbank.types.memory import STATES, check_memory_id
from reasoningbank.types.promotion import (
    NARROWER,
    GeneralText,
    Promotion,
    PromotionCandidate,
    PromotionSource,
    Reference,
    ShareReport,
)
from reasoningbank.types.recall import Filter
from reasoningbank.types.resource import checked
from reasoningbank.types.scope import Level, Membership, Scope

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.search.search import Search
    from reasoningbank.sharing.privacy import Private
    from reasoningbank.types.transfer import MarkdownFiles, SkillFiles, TakenOver


_NO_REVIEWER = "Say who approves it: reviewer=..., or --reviewer."
_WIDER: tuple[Level, ...] = ("team", "org")
_NO_SCOPE = "Open the bank with team=... or org=..., pass --team or --org, or set REASONINGBANK_TEAM or _ORG."


@checked
class Sharing:
    """Promote reviewed lessons into wider scopes, and share banks as files."""

    def __init__(self, context: Context, search: Search) -> None:
        self._context = context
        self._search = search

    def memberships(self) -> Mapping[str, Membership]:
        """Return which team and org every project of the tenant was last opened with, by the project's name."""
        found: dict[str, Membership] = {}
        for scope in self._context.storage.scopes(self._context.scope.tenant):
            if scope.level == "project":
                store = self._context.store() if scope == self._context.scope else self._context.neighbour(scope)
                found[scope.project] = store.membership
        return found

    def candidates(self, *, to: Level | None = None, ordinary: Iterable[str] = ()) -> tuple[PromotionCandidate, ...]:
        """Return lessons that at least two projects of this team, or two teams of this org, have learned.

        Stores nothing.

        Each is believed with at least 0.8 where it was learned, and nearly the same as the others: cosine above 0.85 on
        the scale of all-MiniLM. Fixed rules write the proposed text; ``propose`` asks the language model for one.

        Args:
            to: Only for the team, or only for the org. Left out: both.
            ordinary: Words that are names of projects and are meant as ordinary words.

        Raises:
            InvalidInput: When this bank was opened without that team or org.
            ModelMismatch: When the team or org was built with another embedder.
        """
        from reasoningbank.sharing.promotion import find_groups

        levels = [self._target(to).level] if to is not None else [scope.level for scope in self._context.wider]
        if not levels:
            raise InvalidInput("this bank belongs to no team and no org", hint=_NO_SCOPE)
        vouched = tuple(ordinary)
        found: list[PromotionCandidate] = []
        for level in levels:
            target = self._target(level)
            banks = self._narrower(level)
            wider = self._context.neighbour(target) if self._context.storage.has(target) else None
            for group in find_groups(banks, wider, self._context.embedder.model_id):
                members = [(banks[place], memory.id) for place, memory in group.members]
                bare = self._candidate(target, members, group.similarity)
                found.append(self._by_rules(bare, self._private(bare, vouched)))
        return tuple(found)

    def propose(
        self, memory_ids: Sequence[str], *, to: Level = "team", ordinary: Iterable[str] = ()
    ) -> PromotionCandidate:
        """Return what promoting these memories would store; stores nothing.

        The language model writes the text when there is one, without what belongs to one project alone, and its claims
        are checked against the memories; without one fixed rules do. A text that still names a project, a path, a host,
        a user or a secret is not proposed, and the reason is in the candidate.

        Args:
            memory_ids: Memories of projects of this team, or of teams of this org; all of one outcome.
            to: ``team`` or ``org``.
            ordinary: Words that are names of projects and are meant as ordinary words.

        Raises:
            MemoryNotFound: When no project of the team, or no team of the org, has such a memory.
            InvalidInput: When this bank has no such scope, or the memories cannot go there together.
            ModelUnavailable, BudgetExhausted: When the model gave no answer.
        """
        from reasoningbank.errors import MalformedAnswer
        from reasoningbank.sharing.privacy import generalise

        target = self._target(to)
        bare = self._named(target, memory_ids)
        private = self._private(bare, ordinary)
        try:
            text = generalise([source.memory for source in bare.sources], private, self._context.model)
        except (InvalidInput, MalformedAnswer) as error:
            return replace(bare, reason=error.message)
        return replace(bare, text=text)

    def promote(
        self,
        what: PromotionCandidate | Sequence[str],
        *,
        reviewer: str,
        to: Level = "team",
        title: str | None = None,
        description: str | None = None,
        content: str | None = None,
        ordinary: Iterable[str] = (),
    ) -> Promotion:
        """Store a lesson in the team or the org, as a person has approved it. The sources stay as they are.

        Args:
            what: A candidate with its text, or ids of memories, for which ``propose`` makes one.
            reviewer: Who approves it; kept with the memory.
            to: Where ids go; a candidate knows it.
            title: Instead of the proposed one.
            description: Instead of the proposed one.
            content: Instead of the proposed one.
            ordinary: Words that are names of projects and are meant as ordinary words.

        Returns:
            The memory of the wider scope; of the same sources that were promoted before the one that they have.

        Raises:
            InvalidInput: When nobody approves it, there is no text, the text names what belongs to one project, or the
                wider scope knows nearly the same.
            StoreBusy: When a source was changed since it was proposed.
        """
        check_person("to promote a lesson")
        from reasoningbank.sharing.privacy import reviewed
        from reasoningbank.sharing.promotion import check_unchanged, described, promoted_as, put

        approved = given_name(reviewer, "reviewer")
        if not approved:
            raise InvalidInput("nobody has approved it", hint=_NO_REVIEWER)
        vouched = tuple(ordinary)
        if isinstance(what, PromotionCandidate):
            candidate = what
        elif title is not None and content is not None:
            candidate = self._named(self._target(to), what)
        else:
            candidate = self.propose(what, to=to, ordinary=vouched)
        target = self._target(candidate.level)
        if target.project != candidate.name:
            raise InvalidInput(
                f"the candidate is for another {candidate.level}", hint="Open a bank that belongs there."
            )
        private = self._private(candidate, vouched)
        banks = {store.scope: store for store in self._narrower(target.level)}
        with observed("promote_memory", store=self._context.place):
            holders = [self._holder(banks, source) for source in candidate.sources]
            for source, holder in zip(candidate.sources, holders, strict=True):
                check_unchanged(source, holder)
            wider = self._context.neighbour(target)
            memory = promoted_as(wider, candidate.sources)
            created = memory is None
            if memory is None:
                text = reviewed(_edited(candidate, title, description, content), private)
                memory = put(
                    wider, self._context.embedder, candidate, text, reviewer=approved, at=self._context.clock.now()
                )
            self._link_back(candidate.sources, holders, Reference.to(target, memory.id))
            references = [source.reference for source in candidate.sources]
            return described(memory, wider, references, self._states(references), created=created)

    def demote(self, memory_id: str, *, reviewer: str = "", reason: str = "") -> Promotion:
        """Archive a promoted memory in its team or org; its links and evidence stay, and so do its sources.

        Searches of the projects that it came from go on finding the sources, and no other project finds it any more.
        What it was made of is not proposed again; a person can still promote it.

        Args:
            memory_id: The promoted memory.
            reviewer: Who says so.
            reason: Why.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
            InvalidInput: When it was not promoted, or is archived or quarantined already.
        """
        check_person("to demote a lesson")
        from reasoningbank.sharing.promotion import described, sources_of, take_out

        store = self._context.owner(check_memory_id(memory_id))
        with observed("demote_memory", store=self._context.place):
            memory = take_out(
                store,
                memory_id,
                by=given_name(reviewer, "reviewer"),
                reason=given_reason(reason, "a reason", 1_000),
                at=self._context.clock.now(),
            )
            sources = sources_of(store, memory_id)
            return described(memory, store, sources, self._states(sources), created=False)

    def promotions(self) -> tuple[Promotion, ...]:
        """Return what was promoted to this bank's team and org, archived ones included, and how its sources are now.

        One with a quarantined source comes first: it says what is no longer trusted where it came from.
        """
        from reasoningbank.sharing.promotion import described, sources_of

        found: list[Promotion] = []
        for wider in self._search.wider_stores()[0]:
            for memory in wider.memories.page(Filter(states=STATES), limit=0, offset=0):
                sources = sources_of(wider, memory.id)
                if sources:
                    found.append(described(memory, wider, sources, self._states(sources), created=False))
        return tuple(sorted(found, key=lambda promotion: not promotion.doubtful))

    def export(self, target: str | Path) -> ShareReport:
        """Write memories as files that a person can review and git can merge: one memory per line, ordered by id.

        Only what can be recalled is written, secrets removed, with the evidence of ratings and outcomes; never how
        often or when something was used.

        Args:
            target: A directory gets one file for this project and one for its team and org each, as far as they exist,
                and a ``.gitattributes`` that has git merge them; a path that ends in ``.jsonl`` gets this bank alone.

        Raises:
            InvalidInput: When it is where the banks are kept.
            StoreUnavailable: When it cannot be written.
        """
        from reasoningbank.sharing.bank_files import write_shared

        own = self._context.store()
        return write_shared([own, *self._search.wider_stores()[0]], self._outside(target))

    def import_(self, source: str | Path, *, other_project: bool = False, vouched: bool = False) -> ShareReport:
        """Take over shared files: new memories, newer texts, and the evidence that is new here, each signal once.

        Every text goes through the gate, and text that looks like a prompt injection is refused. A
        file of a team or an org goes into that scope's bank, and only when this bank belongs to it. Importing the same
        files again changes nothing. What a file says is a claim: its memories are candidates with a confidence of at
        most 0.6, and a newer text in it does not replace one that is vouched for or confirmed here.

        Args:
            source: A directory or one ``.jsonl`` file.
            other_project: Also takes a file of another project into this one.
            vouched: You stand by the files: confidence, evidence and newer texts are taken over as they are.

        Raises:
            InvalidInput: When a file or line is none that ``share_export`` writes; nothing of that file is stored.
            ScopeViolation: When a file is of another project, team or org; nothing is stored.
        """
        check_person("to stand by a file", given=vouched)
        from reasoningbank.sharing.bank_files import read_shared, take_over

        files = [
            (shared, shared.goes_into(self._context.scope, self._context.wider, other_project=other_project))
            for shared in read_shared(usable_path(source))
        ]
        report = ShareReport()
        for shared, scope in files:
            store = self._context.store() if scope == self._context.scope else self._context.neighbour(scope)
            report += take_over(store, self._context.embedder, shared, at=self._context.clock.now(), vouched=vouched)
        return report

    def export_markdown(self, target: str | Path) -> MarkdownFiles:
        """Write each memory that a search can find as a Markdown file, to be read and edited, secrets removed.

        What stands in a file besides the text (standing, confidence, version) cannot be changed there. A file with
        edits that were never imported is left as it is, and so is every other file.

        Args:
            target: The directory; made when it is not there.

        Raises:
            InvalidInput: When it is where the banks are kept.
            StoreUnavailable: When it cannot be written.
        """
        from reasoningbank.sharing.markdown import write_markdown

        return write_markdown(self._context.store(), self._outside(target))

    def import_markdown(
        self,
        source: str | Path,
        *,
        vouched: bool = False,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> TakenOver:
        """Take over Markdown files that a person has edited or written.

        With vouched an edited text is a new version of its memory; evidence stays, and what was not changed is not
        touched. Else it is a claim of its own beside a memory that stands higher than a claim, and a new version of a
        claim only where it says nearly the same. A memory that was changed here since its file was written is a
        conflict and stays. A file without a memory here is a new memory: a claim.

        Args:
            source: A directory, or one file.
            vouched: You stand by the files: an edit is yours, and so is a file without a memory here, with a confidence
                of 0.8.
            dry_run: Only say what would be done.
            progress: Called with files done and files in all.

        Raises:
            StoreUnavailable: When there is no such directory or file.
        """
        check_person("to stand by a file", given=vouched)
        from reasoningbank.sharing.markdown import read_markdown

        return read_markdown(self._context, usable_path(source), vouched=vouched, dry_run=dry_run, progress=progress)

    def import_from(
        self,
        product: str,
        source: str | Path,
        *,
        vouched: bool = False,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> TakenOver:
        """Take over the memories of another product as claims; what is here already is not taken twice.

        The provenance names the product, the file and the place in it.

        Args:
            product: Whose file it is: claude-md, agents-md, claude-memory, mem0, mcp-memory-service, claude-mem,
                memory-server (the reference server's JSON lines) or contextd.
            source: The file, or for claude-memory the folder.
            vouched: You stand by the texts: they are yours, with a confidence of 0.8.
            dry_run: Only say what would be done.
            progress: Called with texts done and texts in all.

        Raises:
            InvalidInput: When it is not a file of that product; nothing is stored.
            StoreUnavailable: When there is no such file.
        """
        check_person("to stand by a file", given=vouched)
        from reasoningbank.sharing.claimed_texts import take_claims
        from reasoningbank.sharing.foreign import claims_of

        texts = claims_of(product, usable_path(source))
        return take_claims(self._context, texts, source=product, vouched=vouched, dry_run=dry_run, progress=progress)

    def export_skills(self, target: str | Path) -> SkillFiles:
        """Write strategies that are confirmed or vouched for, and believed with at least 0.7, as Agent Skills.

        Each is a folder with a SKILL.md that says when to use it. Skills of earlier exports whose memory is that no
        longer are taken away; folders of others stay.

        Args:
            target: The directory of skills, such as .claude/skills; made when it is not there.

        Raises:
            InvalidInput: When it is where the banks are kept.
            StoreUnavailable: When it cannot be written.
        """
        from reasoningbank.sharing.skills import write_skills

        return write_skills(self._context.store(), self._outside(target))

    def _outside(self, target: str | Path) -> Path:
        """Return where files are written to.

        Raises:
            InvalidInput: When the banks lie there: an erasure would not reach these files, and a bank is no folder of
                theirs.
        """
        path, home = usable_path(target), self._context.settings.home.resolve()
        whole = path.resolve()
        if whole == home or (home / BANKS) in (whole, *whole.parents):
            raise InvalidInput(
                f"{path} is where the banks are kept; nothing was written", hint="Name another directory."
            )
        return path

    def _target(self, level: Level) -> Scope:
        """Return the team or org of this bank."""
        if level not in _WIDER:
            raise InvalidInput(f"memories are promoted to team or org, not to {str(level)[:80]!r}")
        found = next((scope for scope in self._context.wider if scope.level == level), None)
        if found is None:
            raise InvalidInput(f"this bank belongs to no {level}", hint=_NO_SCOPE)
        return found

    def _narrower(self, level: Level) -> list[Store]:
        """Return the banks of the same vector space whose memories may be promoted to this team or org."""
        memberships = self.memberships()
        if level == "team":
            named = [name for name, known in memberships.items() if known.team == self._context.membership.team]
        else:
            named = [
                known.team for known in memberships.values() if known.org == self._context.membership.org and known.team
            ]
        scopes = [
            Scope(tenant=self._context.scope.tenant, project=name, level=NARROWER[level])
            for name in dict.fromkeys(named)
        ]
        stores = [
            self._context.store() if scope == self._context.scope else self._context.neighbour(scope)
            for scope in scopes
            if scope == self._context.scope or self._context.storage.has(scope)
        ]
        return [store for store in stores if store.model_id == self._context.embedder.model_id]

    def _named(self, target: Scope, memory_ids: Sequence[str]) -> PromotionCandidate:
        """Return the candidate of these memories, without a text."""
        ids = list(dict.fromkeys([memory_ids] if isinstance(memory_ids, str) else memory_ids))
        if not ids:
            raise InvalidInput("no memory is named", hint="Name the memories that are to be promoted.")
        banks = self._narrower(target.level)
        members: list[tuple[Store, str]] = []
        for memory_id in ids:
            check_memory_id(memory_id)
            holder = next((store for store in banks if memory_id in store.memories.many([memory_id])), None)
            if holder is None:
                raise MemoryNotFound(
                    f"no {NARROWER[target.level]} of this {target.level} has a memory {memory_id[:80]!r}",
                    hint=f"Only memories of a {NARROWER[target.level]} that belongs to it can be promoted to it.",
                )
            members.append((holder, memory_id))
        return self._candidate(target, members, None)

    def _candidate(
        self, target: Scope, members: Sequence[tuple[Store, str]], similarity: float | None
    ) -> PromotionCandidate:
        from reasoningbank.sharing.promotion import candidate_of

        wider = self._context.neighbour(target) if self._context.storage.has(target) else None
        return candidate_of(target, members, wider, self._context.embedder.model_id, similarity)

    def _by_rules(self, candidate: PromotionCandidate, private: Private) -> PromotionCandidate:
        """Return the candidate with a text that fixed rules have made, or the reason why there is none."""
        from reasoningbank.sharing.privacy import generalise

        try:
            text = generalise([source.memory for source in candidate.sources], private, None)
        except InvalidInput as error:
            return replace(candidate, reason=error.message)
        return replace(candidate, text=text)

    def _private(self, candidate: PromotionCandidate, ordinary: Iterable[str]) -> Private:
        """Return what the sources' scopes know that must not stand in the wider scope."""
        from reasoningbank.settings import local_tenant
        from reasoningbank.sharing.promotion import private_of

        tenant = self._context.scope.tenant
        people = [tenant] if tenant == local_tenant() else []
        banks = {store.scope: store for store in self._narrower(candidate.level)}
        return private_of(candidate, banks, self.memberships(), people=people, ordinary=ordinary)

    def _holder(self, banks: Mapping[Scope, Store], source: PromotionSource) -> Store:
        holder = banks.get(source.reference.scope(self._context.scope.tenant))
        if holder is None:
            raise InvalidInput(
                f"the {source.reference.level} {source.reference.name[:80]!r} does not belong here",
                hint="Only memories of a scope that belongs to the wider one can be promoted to it.",
            )
        return holder

    def _link_back(self, sources: Sequence[PromotionSource], holders: Sequence[Store], promoted: Reference) -> None:
        from reasoningbank.sharing.promotion import link_back

        for source, holder in zip(sources, holders, strict=True):
            link_back(holder, source.reference, promoted)

    def _states(self, references: Iterable[Reference]) -> dict[Reference, str]:
        """Return the state of each memory that is named and exists."""
        states: dict[Reference, str] = {}
        for reference in references:
            scope = reference.scope(self._context.scope.tenant)
            if scope != self._context.scope and not self._context.storage.has(scope):
                continue
            store = self._context.store() if scope == self._context.scope else self._context.neighbour(scope)
            memory = store.memories.many([reference.id]).get(reference.id)
            if memory is not None:
                states[reference] = memory.state
        return states


def _edited(
    candidate: PromotionCandidate, title: str | None, description: str | None, content: str | None
) -> GeneralText:
    """Return the text as the reviewer wants it."""
    text = candidate.text
    if text is None and (title is None or content is None):
        raise InvalidInput(
            f"there is no text to promote: {candidate.reason or 'none was proposed'}",
            hint="Write it: pass title=... and content=..., or --title and --content.",
        )
    base = text or GeneralText(title="", description="", content="", source="reviewer")
    if title is None and description is None and content is None:
        return base
    return replace(
        base,
        title=base.title if title is None else title,
        description=base.description if description is None else description,
        content=base.content if content is None else content,
        source="reviewer",
    )
