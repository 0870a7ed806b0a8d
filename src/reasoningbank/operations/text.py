"""Results as text for people: one function per type of result."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from reasoningbank.operations.report_text import metrics_text, uplift_text
from reasoningbank.operations.session_text import (
    capture_text,
    captured_session_text,
    distilled_text,
    erased_sessions_text,
    jobs_text,
    judgement_text,
    one_line,
    queued_text,
    refusals_text,
    scaled_text,
    sessions_text,
    trajectories_text,
    work_text,
)
from reasoningbank.operations.sharing_text import (
    candidates_text,
    copy_text,
    exported_text,
    imported_text,
    markdown_files_text,
    promotion_text,
    promotions_text,
    restored_text,
    share_text,
    skill_files_text,
    taken_over_text,
)
from reasoningbank.types.quantity import counted

if TYPE_CHECKING:
    from reasoningbank.operations import composed
    from reasoningbank.operations.operation import Operation
    from reasoningbank.types.consolidation import ConsolidationResult, Contradiction, UndoReport
    from reasoningbank.types.conversation import ConversationReport, QuestionAnswer
    from reasoningbank.types.experience import ExperienceAnswer, Trace
    from reasoningbank.types.graph import Edge, Node
    from reasoningbank.types.graph_search import (
        Action,
        Duplicate,
        EdgeHit,
        GraphAnswer,
        GraphImport,
        GraphRestored,
        Lesson,
        LessonHit,
        NodeView,
        Occurrence,
        Preference,
        Source,
    )
    from reasoningbank.types.lifecycle import DecayReport, PruneReport, StabilityCheck
    from reasoningbank.types.memory import ImportReport, Memory, OutcomeReport, Rating, Stats
    from reasoningbank.types.mention import SourceReport
    from reasoningbank.types.quarantine import (
        Isolated,
        PastMemory,
        Quarantine,
        QuarantineReport,
        ReleaseReport,
        Review,
        ReviewItem,
    )
    from reasoningbank.types.recall import Brief, Hit, Leg, Recall, SessionCredit, SessionOutcome
    from reasoningbank.types.records import IndexReport, WeightChange
    from reasoningbank.types.session import Origin
    from reasoningbank.types.walk import WalkPath, WalkResult

_WIDTH = 100
_WORDS = 12
_PROBLEMS = 10


def text_of(operation: Operation, result: Any) -> str:
    """Return what an operation answered, for a person."""
    if result is None:
        return "Deleted."
    if operation.method == "record":
        return recorded_text(result)
    if operation.plural:
        return _PLURALS[operation.plural](result)
    return _TEXTS[type(result).__name__](result)


def has_text(name: str, *, several: bool = False) -> bool:
    """Return whether there is a function for the text of a type, or of a list that is named in the table."""
    return name in (_PLURALS if several else _TEXTS)


def notes_of(result: object, *, as_json: bool = False) -> list[str]:
    """Return what stderr says besides: warnings, what waits, and without JSON what a person wants to know of it."""
    notes = [f"warning: {each}" for each in getattr(result, "warnings", ())]
    notes += [f"skipped: {each}" for each in getattr(result, "problems", ())]
    notes += list(getattr(result, "messages", ()))
    kind = type(result).__name__
    return notes if as_json and kind == "Brief" else [*notes, *_NOTES.get(kind, _nothing)(result)]


def _nothing(_: object) -> Iterator[str]:
    return iter(())


def _held_notes(memory: Memory) -> Iterator[str]:
    from reasoningbank.memories.admission import why_held, why_known, why_redacted

    yield from filter(None, (why_held(memory), why_known(memory), why_redacted(memory)))


def _lesson_notes(lesson: Lesson) -> Iterator[str]:
    return _held_notes(lesson.memory)


def _brief_notes(brief: Brief) -> Iterator[str]:
    yield f"{brief.message} ({brief.tokens} tokens, session {brief.session})"
    yield from (f"left out: {one.id}, {one.reason}" for one in brief.left_out)


def _quarantined_import(memory_id: str) -> str:
    return f"{memory_id} looks like a prompt injection; it is in quarantine, no search finds it"


def _import_notes(report: ImportReport) -> Iterator[str]:
    for memory_id in report.conflicts:
        yield f"warning: {memory_id} is here with another text; it was left as it is"
    yield from (f"warning: {_quarantined_import(memory_id)}" for memory_id in report.quarantined)
    for part in report.left_out:
        yield f"warning: {part.kind} {part.id} was left out: {part.reason}"


_NOTES: Mapping[str, Callable[[Any], Iterator[str]]] = {
    "Memory": _held_notes,
    "Lesson": _lesson_notes,
    "Brief": _brief_notes,
    "ImportReport": _import_notes,
}


# ---- memories


def recall_text(recall: Recall) -> str:
    """Return a search: proven hits, unproven ones apart, and what reading them costs."""
    parts = _hit_texts(recall.memories, recall.unproven)
    parts.append(f"{recall.message} ({recall.tokens} tokens, embedder {recall.embedder})")
    return "\n\n".join(parts)


def memory_text(memory: Memory) -> str:
    """Return one memory, whole."""
    from reasoningbank.safety.quotation import kind_of

    low, high = memory.belief.interval()
    last = "never" if memory.last_used is None else memory.last_used.isoformat()
    facts = [
        f"{memory.title}",
        f"  id          {memory.id}",
        f"  project     {memory.project}",
        f"  outcome     {memory.outcome}, {memory.state}",
        f"  standing    {memory.standing}: {kind_of(memory)}",
        f"  confidence  {memory.confidence:.3f} (90 % interval {low:.2f} to {high:.2f})",
        f"  used        {counted(memory.usage_count, 'time')}, last {last}",
        f"  recorded    {memory.created_at.isoformat()}, version {memory.version} of {memory.updated_at.isoformat()}",
        f"  tokens      {memory.tokens}",
    ]
    if memory.tags or memory.category:
        facts.append(f"  tags        {', '.join([*memory.tags, *filter(None, [memory.category])])}")
    if memory.provenance:
        facts.append("  from        " + ", ".join(f"{key} {value}" for key, value in memory.provenance.items()))
    if memory.description:
        facts.append(_block(f"when: {memory.description}"))
    facts.append(_block(memory.content))
    return "\n".join(facts)


def recorded_text(memory: Memory) -> str:
    """Return a memory that was just recorded, in one line."""
    return f"{memory.id}  {memory.confidence:.3f}  {memory.outcome}  {memory.title}"


def memories_text(memories: Sequence[Memory | PastMemory]) -> str:
    """Return one line per memory."""
    shown = [cast("Memory", getattr(each, "memory", each)) for each in memories]
    lines = [
        f"{one.id}  {one.confidence:.3f}  {one.outcome:<7}  {one.state:<9}  {one.standing:<9}  {one.title}"
        for one in shown
    ]
    return "\n".join(lines) or "No memories."


def versions_text(versions: Sequence[Memory]) -> str:
    """Return one paragraph a version."""
    return "\n".join(
        f"{each.version}  {each.updated_at.isoformat()[:19]}  {each.outcome:<7}  {each.title}\n"
        f"   {' '.join(each.content.split())[:160]}"
        for each in versions
    )


def history_text(history: composed.History) -> str:
    """Return a memory's life, and the sum that gives its confidence."""
    belief = history.memory.belief
    lines = [history.memory.title]
    for event in history.events:
        session = f" (session {event.session})" if event.session else ""
        lines.append(f"  {event.at.isoformat()[:19]}  {event.confidence:.4f}  {event.detail}{session}")
    lines.append(
        f"confidence = alpha / (alpha + beta) = {belief.alpha:.4f} / ({belief.alpha:.4f} + {belief.beta:.4f}) = "
        f"{belief.score:.4f}; it began at alpha {history.alpha0:.2f}, beta {history.beta0:.2f}"
    )
    return "\n".join(lines)


def said_text(result: Rating | OutcomeReport) -> str:
    """Return the sentence that a result has of its own."""
    return result.message


def brief_text(brief: Brief) -> str:
    """Return the block for an agent's context."""
    return brief.text.rstrip("\n")


def experience_text(answer: ExperienceAnswer) -> str:
    """Return an experience search: what was found, how, and what similar searches taught."""
    reasoning = answer.reasoning
    proven = [hit for hit in answer.results if not hit.unproven]
    lines = _hit_texts(proven, [hit for hit in answer.results if hit.unproven])
    lines.append(f"{len(answer.results)} found with {reasoning.strategy_used} in {reasoning.execution_time_ms} ms.")
    if reasoning.message:
        lines.append(reasoning.message)
    for one in reasoning.relevant_strategies:
        said = f"{one.claim}: " if one.claim else ""
        head = f"Strategy {one.id} ({one.confidence:.2f}): {said}{one.title}"
        lines.append("\n".join([head, *(f"  {text}" for text in (one.description, one.content) if text)]))
    return "\n\n".join(lines)


def traces_text(traces: Sequence[Trace]) -> str:
    """Return one line a search."""
    lines = [
        f"{one.id}  {one.at.isoformat()[:19]}  {one.outcome:<7}  {one.approach}: {one_line(one.query)}"
        for one in traces
    ]
    return "\n".join(lines) or "No searches by experience."


def trace_text(trace: Trace) -> str:
    """Return one search by experience."""
    return traces_text([trace])


def origins_text(origins: Sequence[Origin]) -> str:
    """Return one line a session that taught the memory."""
    lines = [
        f"{one.trajectory}  {one.at.isoformat()[:19]}  {one.kind}  by {one.model or 'no model'}" for one in origins
    ]
    return "\n".join(lines) or "No captured session taught it."


def session_outcome_text(report: SessionOutcome) -> str:
    """Return what the end of a session did."""
    moved = {one.memory_id: one for one in report.credited}
    lines = [_counts_text(one, moved.get(one.memory_id), succeeded=report.succeeded) for one in report.counted]
    known = {one.memory_id for one in report.counted}
    lines += [f"{one.memory_id}: {one.message}" for one in report.credited if one.memory_id not in known]
    held = f"; {len(report.quarantined)} in quarantine, not credited" if report.quarantined else ""
    if report.counted or report.credited or held:
        before = len([one for one in report.unchanged if one in known])
        said = f", {before} unchanged" if before else ""
        lines.append(f"{len(report.counted) - before} credited{said}{held}.")
    elif not report.known:
        lines.append(
            f"0 credited: nothing is known of a session named {one_line(report.session)} here, so that nothing was "
            "kept. `rbank sessions` lists those that are captured."
        )
    else:
        lines.append(f"0 credited: nothing was shown in a session named {one_line(report.session)} that fitted a task.")
    if report.judged:
        ended = "success" if report.succeeded else "failure"
        lines.append(f"{counted(len(report.judged), 'captured session is', 'captured sessions are')} a {ended} now.")
    if report.learned is not None:
        lines.append(distilled_text(report.learned))
    return "\n".join(lines)


def _counts_text(credit: SessionCredit, moved: OutcomeReport | None, *, succeeded: bool) -> str:
    """Return what a session's end counts for a memory, what this call changed, and what it would be without it.

    Args:
        credit: What the session's end counts now.
        moved: What this call changed; None for nothing.
        succeeded: What this call says of the session.
    """
    counts = f"counts {'for' if credit.succeeded else 'against'} it"
    alone, now = f"{credit.previous_confidence:.3f}", f"{credit.new_confidence:.3f}"
    without = f" (without this session it would be {alone})"
    if moved is not None:
        before = f"{moved.previous_confidence:.3f}"
        return f"{credit.memory_id}: {counts}, confidence {before} to {now}{without if before != alone else ''}."
    same = f"the session {counts} already"
    if credit.succeeded != succeeded:
        same = f"the session still {counts}, for a person's word or its evidence stands above this report"
    return f"{credit.memory_id}: unchanged, confidence {now}; {same}{without}."


def index_text(report: IndexReport) -> str:
    """Return what was done to make the index of vectors equal to the bank."""
    return (
        f"The index at {report.place} holds {counted(report.memories, 'memory')}, as the bank does: "
        f"{report.written} written, {report.removed} removed."
    )


def stats_text(stats: Stats) -> str:
    """Return the facts about a bank."""
    states = ", ".join(f"{count} {state}" for state, count in stats.by_state.items() if count)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in stats.by_outcome.items() if count)
    weights = ", ".join(f"{name} {weight:.3f}" for name, weight in stats.weights.items())
    return (
        f"{counted(stats.memories, 'memory', 'memories')} of {stats.tenant} in {stats.project}\n"
        f"  states      {states or 'none'}\n"
        f"  outcomes    {outcomes or 'none'}\n"
        f"  proven      {stats.proven}, unproven {stats.unproven}\n"
        f"  weights     {weights}\n"
        f"  recalls     {stats.recalls} of the latest hundred delivered something, "
        f"{stats.mean_recall_tokens:.0f} tokens on average\n"
        f"  embedder    {stats.embedder} ({stats.model_id or 'nothing stored yet'})"
    )


def weights_text(changes: Sequence[WeightChange]) -> str:
    """Return one line a change of the learned weights."""
    lines = []
    for change in changes:
        shares = ", ".join(f"{name} {share:.3f}" for name, share in change.shares.items())
        lines.append(f"{change.at.isoformat()[:19]}  {shares}")
    return "\n".join(lines) or "No evidence has changed the weights yet."


def _hit_texts(proven: Sequence[Hit], unproven: Sequence[Hit]) -> list[str]:
    parts = [_hit(number, hit) for number, hit in enumerate(proven, start=1)]
    if unproven:
        parts.append("Unproven, to be tested with care:")
        parts += [_hit(number, hit) for number, hit in enumerate(unproven, start=1)]
    return parts


def _hit(number: int, hit: Hit) -> str:
    from reasoningbank.safety.quotation import fit_text, kind_of

    low, high = hit.interval
    kind = kind_of(hit.memory) if hit.standing == "claim" else f"{hit.outcome}, {hit.standing}"
    lines = [
        f"{number}. {hit.title}",
        f"   {kind}, confidence {hit.confidence:.3f} ({low:.2f} to {high:.2f}), "
        f"{fit_text(hit)}, id {hit.id}" + ("" if hit.scope == "project" else f", known in the {hit.scope}"),
    ]
    if hit.description:
        lines.append(_block(f"when: {hit.description}"))
    lines.append(_block(hit.content))
    if hit.tags:
        lines.append(f"   tags: {', '.join(hit.tags)}")
    if hit.legs.keys() & {"lesson", "context", "bm25"}:
        lines.append(f"   {_legs(hit.legs)}")
    if hit.duplicates:
        lines.append(f"   same text: {', '.join(hit.duplicates)}")
    if hit.conflicts:
        lines.append(f"   said otherwise in a wider scope: {', '.join(hit.conflicts)}")
    if hit.disputed_by:
        lines.append(f"   disputed by a claim: {', '.join(hit.disputed_by)}")
    return "\n".join(lines)


def _block(text: str) -> str:
    """Return the text wrapped and indented; its own line breaks stay."""
    wrapped = [
        textwrap.fill(line, _WIDTH, initial_indent="   ", subsequent_indent="   ", break_long_words=False)
        for line in text.splitlines()
    ]
    return "\n".join(line for line in wrapped if line.strip())


# ---- curation


def consolidation_text(result: ConsolidationResult) -> str:
    """Return a run of consolidation in a few lines."""
    lines = [f"created   {name}" for name in result.created_memories]
    lines += [
        f"opposite  {each.success} worked, {each.failure} failed: {each.similarity:.3f} alike"
        for each in result.contradictions
    ]
    lines.append(
        f"{len(result.created_memories)} created of {len(result.archived_memories)} archived, "
        f"{result.skipped_count} skipped, {result.total_processed} looked at, {result.duration.total_seconds():.2f} s"
    )
    return "\n".join(lines)


def undo_text(report: UndoReport) -> str:
    """Return what undoing a consolidation did."""
    lines = [f"restored  {name}" for name in report.restored]
    lines.append(f"{counted(report.moved_signals, 'piece')} of evidence moved to them")
    if report.kept:
        lines.append(f"{report.consolidation_id} was edited since: it is archived with its evidence")
    return "\n".join(lines)


def contradictions_text(found: Sequence[Contradiction]) -> str:
    """Return one line a pair."""
    lines = [f"{one.success} worked, {one.failure} failed: {one.similarity:.3f} alike" for one in found]
    return "\n".join(lines) or "No two memories contradict each other."


def decay_text(report: DecayReport) -> str:
    """Return one line a memory that lost confidence."""
    lines = [
        f"{each.memory_id}  {each.previous_confidence:.3f} -> {each.new_confidence:.3f}  "
        f"{counted(each.months, 'month')}, unused since {each.unused_since.isoformat()[:10]}"
        for each in report.decayed
    ]
    verb = "would decay" if report.dry_run else "decayed"
    lines.append(
        f"{len(report.decayed)} {verb} of {report.examined} that nobody used for a month; "
        f"{report.recorded} of these were recorded by a person and keep their confidence"
    )
    return "\n".join(lines)


def prune_text(report: PruneReport) -> str:
    """Return one line a memory with its reason."""
    lines = [f"{each.memory_id}  {each.reason}" for each in report.pruned]
    lines.append(f"{len(report.pruned)} {'would be archived' if report.dry_run else 'archived'}")
    return "\n".join(lines)


def stability_text(check: StabilityCheck) -> str:
    """Return one line a commit that counts."""
    lines = [
        f"{each.memory_id}  {each.previous_confidence:.3f} -> {each.new_confidence:.3f}  "
        f"commit {each.commit} {'was reverted' if each.reverted else 'has stood'}"
        for each in check.reports
    ]
    verb = "would count" if check.dry_run else "counted"
    lines.append(
        f"{len(check.reports)} {verb}; of {counted(check.commits, 'commit')} {check.waiting} "
        f"{'is' if check.waiting == 1 else 'are'} younger than seven days and {check.unknown} "
        f"{'is' if check.unknown == 1 else 'are'} not in the history of the current branch"
    )
    return "\n".join(lines)


def quarantine_text(report: QuarantineReport) -> str:
    """Return a quarantine in a few lines."""
    if not (report.quarantined or report.surfaced or report.held or report.votes):
        return "Nothing meets these conditions, so there is no quarantine."
    word = "would hold" if report.dry_run else "holds"
    lines = [_isolated(word, one) for one in report.quarantined]
    lines += [f"visible again  {name}" for name in report.surfaced]
    lines.append(f"{report.id} {word} {len(report.quarantined)} more, {report.held} as before")
    if report.votes:
        lines.append(f"{counted(report.votes, 'vote')} of its sessions stopped to count")
    return "\n".join(lines)


def quarantines_text(found: Sequence[Quarantine]) -> str:
    """Return all quarantines with what they hold."""
    lines = []
    for one in found:
        lines.append(f"{one.id}  {one.at.isoformat()[:19]}  {one.by}: {one.reason}")
        # They are those of the whole tenant.
        lines += [f"  {_isolated(f'holds in {member.level} {member.name}', member)}" for member in one.members]
        if one.votes:
            lines.append(f"  {counted(one.votes, 'vote')} of its sessions do not count")
    return "\n".join(lines) or "Nothing is in quarantine."


def release_text(report: ReleaseReport) -> str:
    """Return a release in a few lines."""
    lines = [f"released  {name}" for name in report.released]
    lines += [f"hidden    {name}" for name in report.hidden]
    lines += [f"kept      {name}: {reason}" for name, reason in report.kept]
    if report.votes:
        lines.append(f"{counted(report.votes, 'vote')} of its sessions count again")
    return "\n".join(lines) or "Nothing was in quarantine."


def review_text(review: Review) -> str:
    """Return what waits for a person, each with its text, and what the person has said."""
    lines = [f"approved  {name}" for name in review.approved]
    lines += [f"rejected  {name}: in quarantine until it is released" for name in review.rejected]
    for item in review.items:
        lines += [review_item_text(item), ""]
    left = review.waiting - len(review.items)
    more = f", {left} more with --limit 0" if left > 0 else ""
    lines.append(f"{counted(review.waiting, 'memory waits', 'memories wait')} for a person{more}.")
    return "\n".join(lines)


def review_item_text(item: ReviewItem) -> str:
    """Return one memory that waits for a person, with its text."""
    from reasoningbank.safety.quotation import kind_of

    memory = item.memory
    head = f"{memory.id}  shown {item.shown}x, confidence {memory.confidence:.2f}, {memory.created_at:%Y-%m-%d}"
    body = [f"   {kind_of(memory)}; recorded by {item.source or 'nobody that is known'}"]
    if memory.description:
        body.append(_block(f"when: {memory.description}"))
    return "\n".join([head, f"   {memory.title}", *body, _block(memory.content)])


def _isolated(word: str, one: Isolated) -> str:
    because = f", made of {', '.join(one.because)}" if one.because else ""
    return f"{word}  {one.id}  was {one.before}  {one.title}{because}"


# ---- the graph


def short(text: str) -> str:
    """Return the first words of a text."""
    words = text.split()
    return " ".join(words[:_WORDS]) + (" ..." if len(words) > _WORDS else "")


def claimed(what: Node | Edge | Lesson | Preference | Action) -> str:
    """Return what a text begins with that is no more than a claim; empty before what stands higher."""
    return f"{what.claim}: " if what.claim else ""


def node_line(node: Node) -> str:
    """Return a node in one line."""
    return f"{node.label} {node.id}: {claimed(node)}{short(node.text)}"


def node_text(node: Node) -> str:
    """Return a node, whole."""
    lines = [f"{node.label} {node.id}", node.told]
    lines += [
        f"  {name}: {', '.join(value) if isinstance(value, tuple) else value}"
        for name, value in node.fields.items()
        if value
    ]
    lines += [f"  tags: {', '.join(node.tags)}"] if node.tags else []
    lines += [f"  conversation: {node.conv_id}"] if node.conv_id else []
    lines.append(f"  ingested {node.ingestion_time.isoformat()}, updated {node.updated_at.isoformat()}")
    return "\n".join(lines)


def edge_text(edge: Edge) -> str:
    """Return an edge, whole."""
    tags = f"\n  tags: {', '.join(edge.tags)}" if edge.tags else ""
    return f"{edge.id}: {edge.source} -> {edge.target}, weight {edge.weight:g} ({edge.band})\n{edge.told}{tags}"


def kept_text(kept: composed.Kept) -> str:
    """Return a node or an edge that was added, or was there already."""
    what: Any = kept.what
    text = edge_text(what) if hasattr(what, "weight") else node_text(what)
    return text if kept.new else f"Known already: {text}"


def view_text(view: NodeView) -> str:
    """Return a node with the sentences that touch it and its lessons."""
    name = view.node.id
    lines = [node_text(view.node)]
    for edge in view.edges:
        arrow, other = ("->", edge.target) if edge.source == name else ("<-", edge.source)
        lines.append(f"{arrow} {other}: {edge.told} ({edge.id}, weight {edge.weight:.2f} {edge.band})")
    lines += [f"lesson {number}: memory {memory_id}" for number, memory_id in view.lessons.items()]
    return "\n".join(lines)


def nodes_text(page: composed.NodePage | Iterable[Node]) -> str:
    """Return nodes, one in a line."""
    nodes: Any = getattr(page, "nodes", None) if hasattr(page, "nodes") else page
    return "\n".join(map(node_line, nodes)) or "No nodes."


def edges_text(hits: Sequence[EdgeHit]) -> str:
    """Return the sentences that were found, best first."""
    lines = [f"{hit.score:.3f}  {edge_text(hit.edge)}" for hit in hits]
    return "\n".join(lines) or "No sentence fits."


def deleted_text(deleted: composed.Deleted) -> str:
    """Return what was erased, or what can be brought back until when."""
    if deleted.message:
        return deleted.message
    links = counted(deleted.unlinked_lessons, "link")
    return f"Deleted {deleted.id}, {counted(len(deleted.edges), 'edge')} and {links} to lessons."


def deleted_memory_text(deleted: composed.DeletedMemory) -> str:
    """Return what became of a memory that was deleted."""
    return deleted.message


def graph_restored_text(restored: GraphRestored) -> str:
    """Return what came back of what an agent had deleted."""
    back = counted(restored.nodes, "node"), counted(restored.edges, "edge"), counted(restored.lessons, "link")
    gone = f"; {counted(restored.left_out, 'edge or link')} of it names what is gone" if restored.left_out else ""
    return "{}: {}, {} and {} to lessons are back".format(restored.id, *back) + f"{gone}."


def graph_import_text(report: GraphImport) -> str:
    """Return the report of an import of a graph."""
    lines = [
        f"nodes: {report.nodes_added} added, {report.nodes_updated} updated, {report.nodes_unchanged} unchanged",
        f"edges: {report.edges_added} added, {report.edges_unchanged} unchanged",
    ]
    if report.lessons_added or report.lessons_unchanged:
        lines.append(f"lessons: {report.lessons_added} added, {report.lessons_unchanged} unchanged")
    if report.pointers_added:
        lines.append(f"links of nodes and lessons: {report.pointers_added} added")
    if report.bands:
        lines.append("weights: " + ", ".join(f"{number} {band}" for band, number in sorted(report.bands.items())))
    lines += _listed("duplicate", [_duplicate(each) for each in report.duplicates])
    lines += _listed(
        "dangling", [f"{each.kind} {each.id} names {each.missing}, which does not exist" for each in report.dangling]
    )
    lines += _listed("left out", [f"{each.kind} {each.id}: {each.reason}" for each in report.left_out])
    lines += _listed("quarantined", [_quarantined_import(each) for each in report.quarantined])
    lines += _listed(
        "conflict", [f"{name} has other contents in the bank, which were kept" for name in report.conflicts]
    )
    if report.pending:
        lines.append(
            f"{counted(report.pending, 'vector is', 'vectors are')} pending: `rbank worker` makes them; until then "
            "words find these texts"
        )
    return "\n".join(lines)


def walk_text(result: WalkResult) -> str:
    """Return a walk: every path as the sentences it goes along."""
    lines = [f"{seed.id}: {seed.reason}" for seed in result.seeds if not seed.found]
    for number, path in enumerate(result.paths, start=1):
        lines += _path(number, path, result.nodes)
    if result.left_out:
        more = counted(result.left_out, "further path adds nothing or is", "further paths add nothing or are")
        lines.append(f"{more} too many")
    return "\n".join(lines) or "No path begins there."


def graph_answer_text(answer: GraphAnswer) -> str:
    """Return an answer of the graph."""
    lines = [answer.message]
    lines += [f"{hit.score:.3f}  {node_line(hit.node)}" for hit in answer.seeds]
    for number, path in enumerate(answer.walk.paths, start=1):
        lines += _path(number, path, answer.walk.nodes)
    if answer.pending:
        lines.append(
            f"{counted(answer.pending, 'vector is', 'vectors are')} pending: these texts are found by their words alone"
        )
    return "\n".join(lines)


def rendered_text(rendered: composed.Rendered) -> str:
    """Return paths in the form that was asked for."""
    return rendered.text.removesuffix("\n")


def question_answer_text(answer: QuestionAnswer) -> str:
    """Return an answer: the question back, or every path as its sentences, and the lessons."""
    if answer.plan.clarification:
        return answer.plan.clarification
    nodes: Mapping[str, Node] = {} if answer.graph is None else answer.graph.walk.nodes
    lines = [answer.message]
    paths = () if answer.graph is None else answer.graph.walk.paths
    for number, path in enumerate((path for path in paths if path.hops), 1):
        seed = nodes.get(path.seed)
        lines.append(f"{number}. {path.seed}" + (f": {claimed(seed)}{short(seed.text)}" if seed is not None else ""))
        for hop in path.hops:
            reached = nodes.get(hop.reached)
            lines.append(f"   {'<-' if hop.reversed else '->'} {hop.edge.told}")
            told = "" if reached is None else f": {claimed(reached)}{short(reached.text)}"
            lines.append(f"   {hop.reached}{told}")
    lines += [_lesson_line(hit) for hit in answer.lessons]
    return "\n".join(lines)


def conversation_text(report: ConversationReport) -> str:
    """Return what became of a conversation."""
    lines = [report.message]
    if report.lesson is not None:
        lines.append(f"lesson {report.lesson.rb_id}: {claimed(report.lesson)}{report.lesson.key_lesson}")
    lines += [
        f"like {each.neighbour.id} ({each.score:.3f}): {claimed(each.neighbour)}{short(each.neighbour.text)}"
        for each in report.proposals
    ]
    lines += [f"refused {each.part} {each.name}: {each.reason}" for each in report.refused]
    return "\n".join(lines)


def lesson_text(lesson: Lesson) -> str:
    """Return a lesson, whole."""
    memory = lesson.memory
    lines = [f"lesson {lesson.rb_id} ({memory.outcome}, {memory.state}, confidence {memory.confidence:.3f})"]
    lines.append(f"{claimed(lesson)}{lesson.key_lesson}")
    for name, value in (
        ("when", lesson.context_to_prefer),
        ("tags", ", ".join(lesson.tags)),
        ("nodes", ", ".join(lesson.link_nodes)),
        ("memory", lesson.id),
    ):
        lines += [f"  {name}: {value}"] if value else []
    return "\n".join(lines)


def preferences_text(found: Sequence[Preference]) -> str:
    """Return preferences, one in a line."""
    lines = []
    for each in found:
        owner = f"user {each.user}" if each.user else f"role {each.role}"
        replaced = f"; replaced by {each.replaced_by}" if each.replaced_by else ""
        lines.append(f"{each.id}  {each.preference_type}: {claimed(each)}{each.text} ({owner}{replaced})")
    return "\n".join(lines) or "No preferences."


def preference_text(kept: Preference) -> str:
    """Return one preference."""
    return preferences_text([kept])


def events_text(found: Sequence[Occurrence]) -> str:
    """Return events, each with the answers that it led to."""
    lines = []
    for each in found:
        lines.append(f"{each.start.isoformat()} to {each.end.isoformat()}  {node_line(each.event)}")
        for answer, path in zip(each.answer_nodes, each.answers, strict=True):
            lines += [f"   {sentence}" for sentence in path.sentences]
            lines.append(f"   {node_line(answer)}")
    return "\n".join(lines) or "There is no event in this period."


def sources_text(found: Sequence[Source]) -> str:
    """Return sources, each with where it is and the sentences that lead to it."""
    lines = []
    for each in found:
        lines.append(node_line(each.node))
        for name, value in (("document", each.doc_pointer), ("parts", each.relevant_parts)):
            lines += [f"   {name}: {value}"] if value else []
        lines += [f"   {sentence}" for sentence in each.path.sentences]
    return "\n".join(lines) or "It rests on no source."


def actions_text(found: Sequence[Action]) -> str:
    """Return actions, each with how it ended and its parameters word for word."""
    lines = []
    for each in found:
        failed = " FAILED" if each.outcome == "failure" else ""
        lines.append(f"{each.node.id}{failed} ({each.status}): {claimed(each)}{short(each.node.text)}")
        lines += [f"   {line}" for line in each.parameters.splitlines()]
    return "\n".join(lines) or "No actions."


def source_report_text(report: SourceReport) -> str:
    """Return what became of a source."""
    lines = [f"{each.kind} {each.start}-{each.end}: {each.text}" for each in report.mentions.found]
    return "\n".join([f"{report.source.id}: {report.message}", *lines])


def _path(number: int, path: WalkPath, nodes: Mapping[str, Node]) -> list[str]:
    lines = [f"{number}. {_named(path.seed, nodes)}"]
    for hop in path.hops:
        arrow, edge = "<-" if hop.reversed else "->", hop.edge
        strength = f"{edge.id}, weight {edge.weight:.2f} {edge.band}"
        lines.append(f"   {arrow} {edge.told} ({strength}, energy {hop.activation:.3f})")
        lines.append(f"   {_named(hop.reached, nodes)}")
    return lines


def _named(name: str, nodes: Mapping[str, Node]) -> str:
    node = nodes.get(name)
    return name if node is None else node_line(node)


def _lesson_line(hit: LessonHit) -> str:
    context = f" ({hit.lesson.context_to_prefer})" if hit.lesson.context_to_prefer else ""
    return f"lesson {hit.lesson.rb_id}: {claimed(hit.lesson)}{hit.lesson.key_lesson}{context}"


def _legs(legs: Mapping[str, Leg]) -> str:
    return ", ".join(f"{name} {leg.score:.3f} (rank {leg.rank})" for name, leg in legs.items())


def _listed(kind: str, texts: list[str]) -> list[str]:
    more = len(texts) - _PROBLEMS
    lines = [f"{kind}: {text}" for text in texts[:_PROBLEMS]]
    return [*lines, f"{kind}: {more} more; --json lists all"] if more > 0 else lines


def _duplicate(each: Duplicate) -> str:
    ends = f" from {each.source} to {each.target}" if each.source else ""
    stored = f"; stored as {each.stored_as}" if each.stored_as else "; left out"
    return f"{each.kind} {each.id}{ends} {each.reason}{stored}"


# ---- sharing and the bank


_TEXTS: Mapping[str, Callable[[Any], str]] = {
    "str": str,
    "BackgroundWork": jobs_text,
    "IndexReport": index_text,
    "Brief": brief_text,
    "CaptureReport": capture_text,
    "CapturedSession": captured_session_text,
    "ConsolidationResult": consolidation_text,
    "ConversationReport": conversation_text,
    "Copy": copy_text,
    "DecayReport": decay_text,
    "Deleted": deleted_text,
    "DeletedMemory": deleted_memory_text,
    "DistilReport": distilled_text,
    "Edge": edge_text,
    "ExperienceAnswer": experience_text,
    "Exported": exported_text,
    "GraphAnswer": graph_answer_text,
    "GraphImport": graph_import_text,
    "GraphRestored": graph_restored_text,
    "History": history_text,
    "ImportReport": imported_text,
    "Judgement": judgement_text,
    "Kept": kept_text,
    "Lesson": lesson_text,
    "MarkdownFiles": markdown_files_text,
    "Memory": memory_text,
    "Metrics": metrics_text,
    "Node": node_text,
    "NodePage": nodes_text,
    "NodeView": view_text,
    "OutcomeReport": said_text,
    "Preference": preference_text,
    "Promotion": promotion_text,
    "PruneReport": prune_text,
    "QuarantineReport": quarantine_text,
    "QuestionAnswer": question_answer_text,
    "Queued": queued_text,
    "Rating": said_text,
    "Recall": recall_text,
    "ReleaseReport": release_text,
    "Rendered": rendered_text,
    "Restored": restored_text,
    "Review": review_text,
    "Scaled": scaled_text,
    "SessionOutcome": session_outcome_text,
    "ShareReport": share_text,
    "SkillFiles": skill_files_text,
    "SourceReport": source_report_text,
    "StabilityCheck": stability_text,
    "Stats": stats_text,
    "TakenOver": taken_over_text,
    "Trace": trace_text,
    "UndoReport": undo_text,
    "ErasedSessions": erased_sessions_text,
    "UpliftReport": uplift_text,
    "WalkResult": walk_text,
    "WorkReport": work_text,
}
_PLURALS: Mapping[str, Callable[[Any], str]] = {
    "actions": actions_text,
    "candidates": candidates_text,
    "contradictions": contradictions_text,
    "edges": edges_text,
    "events": events_text,
    "memories": memories_text,
    "nodes": nodes_text,
    "origins": origins_text,
    "preferences": preferences_text,
    "promotions": promotions_text,
    "quarantines": quarantines_text,
    "refused": refusals_text,
    "sources": sources_text,
    "traces": traces_text,
    "sessions": sessions_text,
    "trajectories": trajectories_text,
    "versions": versions_text,
    "weights": weights_text,
}
