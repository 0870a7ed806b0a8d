"""Operations of the graph, of links to it, conversations, questions and workflows."""

from __future__ import annotations

from reasoningbank.operations.operation import Command, Operation, Route, Tool

_WALK = ("preset", "tags", "max_depth", "max_branches", "min_activation", "max_paths")
_WALK_OPTIONS = {
    "max_depth": "--depth",
    "max_branches": "--branches",
    "rendering": "--as",
    "seeds": "--seed",
}
_PAGE = {"limit": 50}
_MOST_PAGE = {"limit": 200}

GRAPH_OPERATIONS: tuple[Operation, ...] = (
    Operation(
        method="graph.import_",
        summary="Add nodes, edges and lessons of a file.",
        command=Command(name="graph import", makes=True, section="Graph", arguments=("source",)),
        choices={"format": ("json", "jsonl", "csv", "cypher")},
    ),
    Operation(
        method="+remember",
        summary="Store a finished conversation, once.",
        command=Command(
            name="graph remember", makes=True, section="Graph", arguments=("conversation",), files=("conversation",)
        ),
        tool=Tool(
            name="remember_conversation",
            profiles=("graph",),
            description=(
                "Call once at the end of a task. Only conv_id and request are needed; uses, rests_on, edges and "
                "link_nodes name parts as source-1, action-1, request, answer."
            ),
            inputs="!conversation project_id",
            outputs="nodes message",
            repeatable=True,
        ),
        route=Route(method="POST", path="/conversations", inputs="*conversation", created="new"),
    ),
    Operation(
        method="questions.ask",
        summary="Plan what to look up and answer, or ask back.",
        reads=True,
        command=Command(
            name="graph ask",
            section="Graph",
            arguments=("question",),
            options={"ask": "--no-question", "nodes": "--limit"},
            stdin=("question",),
            hide=("history", "lessons", "session"),
        ),
        tool=Tool(
            name="graph_search",
            profiles=("graph",),
            description=(
                "Call BEFORE answering: finds what is known about a question as paths of sentences through facts, and "
                "lessons. With ask, a vague question gets one question back instead, to put to the user."
            ),
            inputs=(
                "!query=question clarification ask limit=nodes budget user_id=user user_role=role project_id "
                "session_id=session"
            ),
            about={"clarification": "The user's answer to the question back"},
            outputs="clarification seeds paths lessons context tokens message",
            most={"nodes": 20, "budget": 6_000},
            defaults={"ask": False, "budget": 2_000},
            only=True,
        ),
        route=Route(
            method="POST",
            path="/questions",
            inputs=("!question ask clarification history limit=nodes lessons budget user_id=user user_role=role"),
        ),
    ),
    Operation(
        method="+search_graph",
        summary="Find nodes, and the paths that begin there.",
        reads=True,
        command=Command(
            name="graph search",
            section="Graph",
            arguments=("query",),
            options=_WALK_OPTIONS,
        ),
        route=Route(method="GET", path="/graph/search", inputs="q=query limit budget", defaults={"budget": 2_000}),
        parts=_WALK,
    ),
    Operation(
        method="+walk_graph",
        summary="Show the paths from known nodes.",
        reads=True,
        command=Command(name="graph walk", section="Graph", options=_WALK_OPTIONS),
        route=Route(
            method="POST",
            path="/graph/walk",
            inputs="!seeds tags preset max_depth max_branches min_activation max_paths",
        ),
        parts=_WALK,
    ),
    Operation(
        method="+walk_with_context",
        summary="Show the paths from known nodes, and the same as a model's context.",
        reads=True,
        tool=Tool(
            name="graph_paths",
            profiles=("graph",),
            description="Walks from known nodes along the strongest sentences; tags are words of the question.",
            inputs="!seeds tags depth=max_depth limit=max_paths project_id",
            outputs="paths context",
            most={"max_paths": 20},
            defaults={"max_paths": 10},
            reads=True,
        ),
        parts=_WALK,
    ),
    Operation(
        method="graph.get",
        summary="Show a node with its edges and lessons.",
        reads=True,
        command=Command(name="graph get", section="Graph", arguments=("node_id",)),
        route=Route(method="GET", path="/graph/nodes/{id:path}", inputs="id=node_id"),
    ),
    Operation(
        method="+node_or_conversation",
        summary="Show a node with its edges and lessons, or every node of a conversation.",
        reads=True,
        tool=Tool(
            name="graph_get",
            profiles=("graph",),
            description="Shows one node whole, with its edges and lessons, or every node of a conversation in order.",
            inputs="id conv_id project_id",
            outputs="node{id,label,text} nodes edges",
            reads=True,
        ),
    ),
    Operation(
        method="+list_nodes",
        summary="Show nodes in the order they were stored.",
        reads=True,
        command=Command(name="graph list", section="Graph"),
    ),
    Operation(
        method="graph.list",
        summary="List nodes by label, tag and conversation.",
        reads=True,
        route=Route(
            method="GET",
            path="/graph/nodes",
            inputs="label=labels tag=tags conv_id limit offset",
            defaults=_PAGE,
            most=_MOST_PAGE,
        ),
        parts=("labels", "tags", "conv_id"),
        plural="nodes",
    ),
    Operation(
        method="+conversation",
        summary="List the nodes of a conversation in the order they were ingested.",
        reads=True,
        route=Route(method="GET", path="/conversations/{conv_id:path}", inputs="conv_id"),
        plural="nodes",
        echo=("conv_id",),
    ),
    Operation(
        method="+add_node",
        summary="Keep a node.",
        command=Command(
            name="graph add",
            section="Graph",
            makes=True,
            options={"id": "--id", "conv_id": "--conversation"},
            stdin=("text",),
        ),
        tool=Tool(
            name="graph_add",
            profiles=("graph",),
            description="Keeps one fact as a node with exactly one label. Connect it with graph_link.",
            inputs="!label !text id conv_id tags *fields project_id",
            about={
                "id": "Default: made from the text",
                "status": "AgentAction: complete, failed",
                "parameter_field": "AgentAction: exact SQL, command or parameters",
                "doc_pointer": "DataSource: path or address",
                "start_date": "Event: YYYY-MM-DD",
            },
            outputs="id new message",
            only=True,
            repeatable=True,
        ),
        route=Route(method="POST", path="/graph/nodes", inputs="id !label !text conv_id tags *fields", created="new"),
    ),
    Operation(
        method="graph.update",
        summary="Change a node; what is not named stays.",
        command=Command(
            name="graph edit",
            section="Graph",
            arguments=("node_id",),
            options={"conv_id": "--conversation"},
            stdin=("text",),
            clears=("tags",),
            changes=True,
        ),
        route=Route(method="PATCH", path="/graph/nodes/{id:path}", inputs="id=node_id text tags conv_id *fields"),
    ),
    Operation(
        method="+delete_node",
        summary="Erase a node with its edges.",
        admin=True,
        command=Command(
            name="graph delete",
            section="Graph",
            arguments=("node_id",),
            confirm="Erase {it.node.text!r}, its edges and its links to lessons?",
            look="graph.get",
        ),
        route=Route(method="DELETE", path="/graph/nodes/{id:path}", inputs="id=node_id", defaults={"reader": "agent"}),
        fixed={"reader": "human"},
    ),
    Operation(
        method="+add_edge",
        summary="Connect two nodes by a sentence.",
        command=Command(
            name="graph link",
            section="Graph",
            arguments=("source", "target"),
            ids={"source": "node", "target": "node"},
            options={"id": "--id"},
            stdin=("text",),
        ),
        tool=Tool(
            name="graph_link",
            profiles=("graph",),
            description=(
                "Connects two nodes by a whole sentence that reads from source to target and says why and how; "
                "'related to' is not a reason."
            ),
            inputs="!source !target !text !weight tags project_id",
            about={"weight": "0.85-1 direct, 0.55-0.75 strong, 0.25-0.45 weak"},
            outputs="id band new message",
            only=True,
            repeatable=True,
        ),
        route=Route(method="POST", path="/graph/edges", inputs="id !source !target !text !weight tags", created="new"),
    ),
    Operation(
        method="edges.get",
        summary="Show an edge.",
        reads=True,
        command=Command(name="graph edge", section="Graph", arguments=("edge_id",)),
        route=Route(method="GET", path="/graph/edges/{id:path}", inputs="id=edge_id"),
    ),
    Operation(
        method="edges.search",
        summary="Find the sentences that fit a question.",
        reads=True,
        choices={"fusion": ("weighted", "rrf")},
        command=Command(
            name="graph edges",
            section="Graph",
            arguments=("query",),
        ),
        route=Route(method="GET", path="/graph/edges", inputs="q=query limit tag=tags"),
        plural="edges",
    ),
    Operation(
        method="edges.update",
        summary="Change an edge; its ends stay.",
        command=Command(
            name="graph edit-edge",
            section="Graph",
            arguments=("edge_id",),
            stdin=("text",),
            clears=("tags",),
            changes=True,
        ),
        route=Route(method="PATCH", path="/graph/edges/{id:path}", inputs="id=edge_id text weight tags"),
    ),
    Operation(
        method="+delete_edge",
        summary="Erase an edge; its nodes stay.",
        admin=True,
        command=Command(
            name="graph delete-edge",
            section="Graph",
            arguments=("edge_id",),
            confirm="Erase the edge {it.text!r}?",
            look="edges.get",
        ),
        route=Route(method="DELETE", path="/graph/edges/{id:path}", inputs="id=edge_id", defaults={"reader": "agent"}),
        fixed={"reader": "human"},
        echo=("edge_id",),
    ),
    Operation(
        method="graph.restore",
        summary="Bring back a node or an edge that an agent has deleted.",
        command=Command(name="graph restore", section="Graph", arguments=("item_id",)),
    ),
    Operation(
        method="preferences.add",
        summary="Keep how a user or a role wants things.",
        command=Command(
            name="graph prefer",
            section="Graph",
            makes=True,
            arguments=("text",),
            options={"preference_type": "--type", "conv_id": "--conversation"},
            stdin=("text",),
        ),
        route=Route(
            method="POST",
            path="/graph/preferences",
            inputs="!type=preference_type !text user role conv_id tags",
            created="always",
        ),
    ),
    Operation(
        method="preferences.list",
        summary="Show what holds for a user or a role.",
        reads=True,
        command=Command(name="graph preferences", section="Graph", options={"preference_type": "--type"}),
        route=Route(method="GET", path="/graph/preferences", inputs="user role type=preference_type"),
        plural="preferences",
    ),
    Operation(
        method="graph.events",
        summary="Show what happened in a window of time.",
        reads=True,
        command=Command(name="graph events", section="Graph"),
        route=Route(method="GET", path="/graph/events", inputs="since until tag=tags limit", most=_MOST_PAGE),
        plural="events",
    ),
    Operation(
        method="sources.list",
        summary="Show what an answer rests on.",
        reads=True,
        command=Command(name="graph sources", section="Graph", arguments=("answer_id",)),
        route=Route(method="GET", path="/graph/sources", inputs="answer_id"),
        plural="sources",
    ),
    Operation(
        method="graph.actions",
        summary="Show how things were done.",
        reads=True,
        command=Command(name="graph actions", section="Graph", options={"conv_id": "--conversation"}),
        route=Route(method="GET", path="/graph/actions", inputs="tag=tags conv_id outcome limit", most=_MOST_PAGE),
        plural="actions",
    ),
    Operation(
        method="+keep_source",
        summary="Keep a source in the graph, with what it names and states.",
        command=Command(
            name="source",
            section="Graph",
            makes=True,
            arguments=("text",),
            options={"source_type": "--type", "conv_id": "--conversation"},
            files=("text",),
        ),
        route=Route(
            method="POST",
            path="/graph/sources",
            inputs="!text pointer type=source_type conv_id tags",
            created="always",
        ),
    ),
    Operation(
        method="+search_lessons",
        summary="Find memories by what they say and by when they apply.",
        reads=True,
        tool=Tool(
            name="lesson_search",
            profiles=("graph",),
            description="Finds lessons by what they say and by when they apply; linked_to keeps those of these nodes.",
            inputs="!query limit tags linked_to project_id session_id=session",
            outputs="lessons",
            most={"limit": 20},
        ),
    ),
)
