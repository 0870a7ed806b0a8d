"""The fields of nodes, edges, lessons, conversations and answers, as tools, REST and ``--json`` give them."""

from __future__ import annotations

from collections.abc import Mapping

from reasoningbank.graph.importer import edge_record, node_record
from reasoningbank.operations.graph_answers import leg_fields, path_fields
from reasoningbank.types.conversation import ConversationReport, QuestionAnswer, QuestionPlan
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import NodeView
from reasoningbank.types.lesson import Lesson, LessonHit

Fields = dict[str, object]
_DIGITS = 6


def node_fields(node: Node) -> Fields:
    """Return a node: the common fields of seed 003, then the special ones of its label."""
    return {**node_record(node), "reasoning_pointer_ids": list(node.pointers)}


def edge_fields(edge: Edge) -> Fields:
    """Return an edge; its sentence reads from the source to the target."""
    return {**edge_record(edge), "band": edge.band}


def view_fields(view: NodeView) -> Fields:
    """Return a node with its edges and the lessons it points to."""
    return {
        "node": node_fields(view.node),
        "edges": [edge_fields(edge) for edge in view.edges],
        "lessons": {str(number): memory_id for number, memory_id in view.lessons.items()},
    }


def lesson_fields(lesson: Lesson) -> Fields:
    """Return a lesson as seed 003 has it, and how far it is believed."""
    return {
        "rb_id": lesson.rb_id,
        "id": lesson.id,
        "key_lesson": lesson.key_lesson,
        "context_to_prefer": lesson.context_to_prefer,
        "tags": list(lesson.tags),
        "link_nodes": list(lesson.link_nodes),
        "outcome": lesson.memory.outcome,
        "state": lesson.memory.state,
        "confidence": round(lesson.memory.confidence, _DIGITS),
    }


def lesson_hit_fields(hit: LessonHit) -> Fields:
    """Return a lesson that was found, with its score and that of every leg."""
    return {**lesson_fields(hit.lesson), "score": round(hit.score, _DIGITS), "legs": leg_fields(hit.legs)}


def plan_fields(plan: QuestionPlan) -> Fields:
    """Return how a question is looked up."""
    return {
        "question": plan.question,
        "clarification": plan.clarification,
        "graph": [
            {
                "query": each.query,
                "bm25_weight": each.bm25_weight,
                "dense_weight": each.dense_weight,
                "tags": list(each.tags),
            }
            for each in plan.graph
        ],
        "bank": [
            {"query": each.query, "bm25_weight": each.bm25_weight, "dense_weight": each.dense_weight}
            for each in plan.bank
        ],
        "dropped": list(plan.dropped),
        "model": plan.model,
        "message": plan.message,
    }


def answer_fields(answer: QuestionAnswer) -> Fields:
    """Return the answer to a question; the lists are empty when a question was asked back."""
    graph = answer.graph
    return {
        "plan": plan_fields(answer.plan),
        "clarification": answer.plan.clarification,
        "seeds": []
        if graph is None
        else [
            {**node_fields(hit.node), "score": round(hit.score, _DIGITS), "legs": leg_fields(hit.legs)}
            for hit in graph.seeds
        ],
        "paths": [] if graph is None else [{**path_fields(path)} for path in graph.walk.paths],
        "lessons": [lesson_hit_fields(hit) for hit in answer.lessons],
        "context": "" if graph is None else graph.context.text,
        "tokens": 0 if graph is None else graph.context.tokens,
        "message": answer.message,
    }


def report_fields(report: ConversationReport) -> Fields:
    """Return what became of a conversation."""
    return {
        "conv_id": report.conv_id,
        "nodes": [node_fields(node) for node in report.nodes],
        "edges": [edge_fields(edge) for edge in report.edges],
        "preferences": [each.id for each in report.preferences],
        "lesson": None if report.lesson is None else lesson_fields(report.lesson),
        "new": list(report.new),
        "proposals": [
            {
                "node_id": each.node_id,
                "neighbour_id": each.neighbour.id,
                "text": each.neighbour.text,
                "score": round(each.score, _DIGITS),
            }
            for each in report.proposals
        ],
        "refused": [{"part": each.part, "name": each.name, "reason": each.reason} for each in report.refused],
        "waiting": report.waiting,
        "message": report.message,
    }


def answer_text(answer: QuestionAnswer) -> str:
    """Return an answer for a person: the question back, or every path as its sentences, and the lessons."""
    if answer.plan.clarification:
        return answer.plan.clarification
    nodes: Mapping[str, Node] = {} if answer.graph is None else answer.graph.walk.nodes
    lines = [answer.message]
    paths = [] if answer.graph is None else answer.graph.walk.paths
    for number, path in enumerate((path for path in paths if path.hops), 1):
        seed = nodes.get(path.seed)
        lines.append(f"{number}. {path.seed}" + (f": {_short(seed.text)}" if seed is not None else ""))
        for hop in path.hops:
            reached = nodes.get(hop.reached)
            lines.append(f"   {'<-' if hop.reversed else '->'} {hop.edge.text}")
            lines.append(f"   {hop.reached}" + (f": {_short(reached.text)}" if reached is not None else ""))
    for hit in answer.lessons:
        context = f" ({hit.lesson.context_to_prefer})" if hit.lesson.context_to_prefer else ""
        lines.append(f"lesson {hit.lesson.rb_id}: {hit.lesson.key_lesson}{context}")
    return "\n".join(lines)


def report_text(report: ConversationReport) -> str:
    """Return what became of a conversation, for a person."""
    lines = [report.message]
    if report.lesson is not None:
        lines.append(f"lesson {report.lesson.rb_id}: {report.lesson.key_lesson}")
    lines += [
        f"like {each.neighbour.id} ({each.score:.3f}): {_short(each.neighbour.text)}" for each in report.proposals
    ]
    lines += [f"refused {each.part} {each.name}: {each.reason}" for each in report.refused]
    return "\n".join(lines)


def _short(text: str) -> str:
    words = text.split()
    return " ".join(words[:12]) + (" ..." if len(words) > 12 else "")
