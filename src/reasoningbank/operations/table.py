"""Every operation once: which method it is, and where it is offered as a command, a tool and a route.

Nothing is imported here but the standard library, so that ``rbank --help`` and a listing of tools cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Section: TypeAlias = Literal[
    "Every day", "Memories", "Sessions", "Curation", "Graph", "Sharing", "Agents and servers", "The bank"
]
SECTIONS: tuple[Section, ...] = (
    "Every day",
    "Memories",
    "Sessions",
    "Curation",
    "Graph",
    "Sharing",
    "Agents and servers",
    "The bank",
)
"""The sections of ``rbank --help`` in their order."""
PROFILES: tuple[str, ...] = ("core", "briefing", "curation", "learning", "experience", "graph")
"""The profiles of the MCP server."""
_MEMORY_PROFILES = ("core", "briefing", "curation", "learning", "experience")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How an operation is a command.

    Attributes:
        name: Its name; two words for a command of a group.
        section: The section of ``rbank --help``.
        arguments: The parameters that are given by position, in their order.
        options: Other names of options, by the parameter.
        words: Of a truth value that is given by position: the word for yes and the word for no.
        stdin: The texts for which ``-`` reads standard input.
        files: The texts that are read from a file.
        clears: The lists that an option ``--no-...`` empties.
        changes: Whether at least one option must be given.
        confirm: A question to ask on a terminal first; empty for none. ``{name}`` stands for an argument, ``{it}`` for
            what ``look`` gives.
        look: The method that shows what the question is about; empty when it says all.
        hide: The parameters that the command does not have.
        past: The method of the bank as it stood at ``--as-of``; empty when there is none.
    """

    name: str
    section: Section
    arguments: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    stdin: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    clears: tuple[str, ...] = ()
    changes: bool = False
    confirm: str = ""
    look: str = ""
    hide: tuple[str, ...] = ()
    past: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """How an operation is a tool of the MCP server.

    Attributes:
        name: Its name.
        profiles: The profiles that offer it.
        description: When an agent calls it.
        inputs: Its arguments in their order, ``given=parameter`` where the names differ; ``!`` marks a required one.
        about: What the schema says of an argument; only where an agent would err without it.
        outputs: The fields of the answer that the schema names; of ``name{...}`` the fields inside as well.
        most: The largest number that reaches the bank, by parameter.
        defaults: What it takes instead of the method's own defaults.
        fixed: Arguments that every call has.
        only: Whether the answer holds the named outputs and nothing else.
        anywhere: Whether a memory is found in every project of the tenant (DESIGN D9).
        reads: It changes nothing.
        destroys: It removes what was there.
        repeatable: Calling it again with the same arguments changes nothing more.
    """

    name: str
    profiles: tuple[str, ...]
    description: str
    inputs: str
    about: Mapping[str, str] = field(default_factory=dict)
    outputs: str
    most: Mapping[str, int] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)
    fixed: Mapping[str, object] = field(default_factory=dict)
    only: bool = False
    anywhere: bool = False
    reads: bool = False
    destroys: bool = False
    repeatable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How an operation is an endpoint.

    Attributes:
        method: The HTTP method.
        path: Its path; ``{name}`` and ``{name:path}`` are arguments.
        inputs: Its other arguments, of the query of GET and of the JSON body else; ``given=parameter`` where the names
            differ. ``*`` takes the whole body as the parameter after it.
        created: ``always`` for 201, ``new`` for 201 when the answer says that something is new.
        most: The largest number that reaches the bank, by parameter.
        limit: What holds when no limit is given; the largest one as well for 0.
    """

    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: str
    inputs: str = ""
    created: Literal["", "always", "new"] = ""
    most: Mapping[str, int] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation.

    Attributes:
        method: The method of a bank (``search``, ``graph.walk``), or ``+name`` for a function of
            ``reasoningbank.operations.composed``.
        summary: What it does, in one line.
        command, tool, route: Where it is offered.
        defaults: What the entrances take instead of the method's own defaults.
        fixed: Arguments that the command line always passes.
        parts: The fields of an options object that are offered; the others keep their defaults.
        choices: The values of a parameter, for schemas; the bank checks them.
        plural: The name of the list when the method gives several things.
        echo: The arguments that stand in the answer.
    """

    method: str
    summary: str
    command: Command | None = None
    tool: Tool | None = None
    route: Route | None = None
    defaults: Mapping[str, object] = field(default_factory=dict)
    fixed: Mapping[str, object] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    plural: str = ""
    echo: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One argument of a tool or of a route.

    Attributes:
        given: Its name in a call.
        parameter: The parameter of the operation; ``project_id`` is of no operation.
        required: Whether it must be given.
        spread: Whether it stands for several arguments: the special fields of a node, or a whole body.
    """

    given: str
    parameter: str
    required: bool = False
    spread: bool = False


def inputs_of(words: str) -> tuple[Input, ...]:
    """Return the arguments that a tool or a route names."""
    found = []
    for word in words.split():
        given, _, parameter = word.strip("!*").partition("=")
        required, spread = word.startswith("!"), word.startswith("*")
        found.append(Input(given=given, parameter=parameter or given, required=required, spread=spread))
    return tuple(found)


_RECORD = (
    "Call AFTER learning something reusable: one strategy that worked (success) or one mistake to avoid (failure), "
    "self-contained."
)
_ABOUT_RECORD = {
    "title": "Names the situation",
    "content": "What to do or avoid, and why",
    "description": "When it applies",
}
_OUTCOME = {"outcome": ("success", "failure")}
_WALK = ("preset", "tags", "max_depth", "max_branches", "min_activation", "max_paths")
_WALK_OPTIONS = {
    "max_depth": "--depth",
    "max_branches": "--branches",
    "rendering": "--as",
    "seeds": "--seed",
}
_PAGE = {"limit": 50}
_MOST_PAGE = {"limit": 200}

OPERATIONS: tuple[Operation, ...] = (
    # ---- every day
    Operation(
        method="record",
        summary="Store a strategy that worked or an anti-pattern to avoid.",
        command=Command(name="record", section="Every day", stdin=("content",), hide=("confidence", "session")),
        fixed={"source": "cli"},
        choices=_OUTCOME,
    ),
    Operation(
        method="search",
        summary="Find what is relevant to a task; nothing when nothing is.",
        command=Command(name="search", section="Every day", arguments=("query",), past="search"),
        tool=Tool(
            name="memory_search",
            profiles=_MEMORY_PROFILES,
            description=(
                "Call BEFORE starting a task or fixing an error: finds strategies that worked and anti-patterns that "
                "failed. Empty when none is relevant. 'unproven' ones are below min_confidence: take care."
            ),
            inputs="!query project_id limit outcome tags min_confidence unproven session_id=session",
            about={"query": "The task or problem in words", "project_id": "Default: the server's project"},
            outputs=(
                "memories{id,title,description,content,outcome,confidence,interval,relevance,tags} unproven count "
                "recall_id embedder tokens message"
            ),
            most={"limit": 50, "unproven": 10},
        ),
        defaults={"limit": 5},
        choices=_OUTCOME,
    ),
    Operation(
        method="+record_or_learn",
        summary="Store a strategy that worked or an anti-pattern to avoid.",
        tool=Tool(
            name="memory_record",
            profiles=("core", "briefing", "curation"),
            description=_RECORD,
            inputs="!title !content !outcome description tags project_id session_id=session",
            about=_ABOUT_RECORD,
            outputs="id title outcome confidence",
        ),
        choices=_OUTCOME,
    ),
    Operation(
        method="+record_or_learn",
        summary="Store a strategy that worked or an anti-pattern to avoid, of a captured session as well.",
        tool=Tool(
            name="memory_record",
            profiles=("learning", "experience"),
            description=_RECORD,
            inputs="!title !content !outcome description tags project_id session_id=session trajectory_id steps",
            about={
                **_ABOUT_RECORD,
                "trajectory_id": "From memory_distill: the session it was learned from",
            },
            outputs="id title outcome confidence stored message",
        ),
        choices=_OUTCOME,
    ),
    Operation(
        method="briefing",
        summary="Show the best memories for an agent's context within a token budget.",
        command=Command(name="briefing", section="Every day"),
        tool=Tool(
            name="memory_briefing",
            profiles=("briefing",),
            description=(
                "Call once at the start of a task: the best strategies and warnings for it within a token budget, as "
                "quoted evidence. Empty when nothing is relevant."
            ),
            inputs="task budget project_id session_id=session",
            about={"task": "The task in words; without it the best proven memories", "budget": "Most tokens"},
            outputs="text tokens items left_out session",
            most={"budget": 6_000},
        ),
    ),
    Operation(
        method="feedback",
        summary="Rate a memory as helpful or unhelpful.",
        command=Command(
            name="feedback",
            section="Every day",
            arguments=("memory_id", "helpful"),
            words={"helpful": ("helpful", "unhelpful")},
        ),
        tool=Tool(
            name="memory_feedback",
            profiles=_MEMORY_PROFILES,
            description="Call when a found memory helped or misled you. Once per memory and session.",
            inputs="!memory_id !helpful session_id=session",
            outputs="memory_id new_confidence helpful counted message",
            fixed={"rater": "agent"},
            anywhere=True,
            repeatable=True,
        ),
        fixed={"rater": "human"},
    ),
    Operation(
        method="outcome",
        summary="Report how a task ended that used a memory.",
        command=Command(
            name="outcome",
            section="Every day",
            arguments=("memory_id", "succeeded"),
            words={"succeeded": ("succeeded", "failed")},
        ),
        tool=Tool(
            name="memory_outcome",
            profiles=_MEMORY_PROFILES,
            description=(
                "Call when a task that used a memory has ended: did it succeed? The strongest evidence. Once per "
                "memory and session."
            ),
            inputs="!memory_id !succeeded session_id=session",
            outputs="recorded new_confidence message",
            fixed={"rater": "agent"},
            anywhere=True,
            repeatable=True,
        ),
        fixed={"rater": "human"},
    ),
    Operation(
        method="get",
        summary="Show one memory, whole.",
        command=Command(name="get", section="Every day", arguments=("memory_id",)),
        tool=Tool(
            name="memory_get",
            profiles=_MEMORY_PROFILES,
            description="Reads one memory whole, with its evidence and origin.",
            inputs="!memory_id project_id",
            outputs="id project title description content outcome confidence tags state created_at",
            anywhere=True,
            reads=True,
            repeatable=True,
        ),
    ),
    Operation(
        method="memories.list",
        summary="List memories in the order they were recorded.",
        command=Command(name="list", section="Every day", past="list"),
        plural="memories",
    ),
    # ---- memories
    Operation(
        method="update",
        summary="Change a memory; what is not named stays.",
        command=Command(
            name="update",
            section="Memories",
            arguments=("memory_id",),
            stdin=("content",),
            clears=("tags",),
            changes=True,
        ),
    ),
    Operation(
        method="delete",
        summary="Erase a memory, its evidence and its earlier versions.",
        command=Command(
            name="delete",
            section="Memories",
            arguments=("memory_id",),
            confirm="Erase {it.title!r} and its evidence?",
            look="get",
        ),
        tool=Tool(
            name="memory_delete",
            profiles=_MEMORY_PROFILES,
            description=("Erases one memory for good. Only when the user asks; for a bad memory use memory_feedback."),
            inputs="!memory_id project_id",
            outputs="deleted memory_id",
            anywhere=True,
            destroys=True,
            repeatable=True,
        ),
        echo=("memory_id",),
    ),
    Operation(
        method="+history",
        summary="Show everything that happened to a memory.",
        command=Command(name="history", section="Memories", arguments=("memory_id",)),
    ),
    Operation(
        method="memories.versions",
        summary="Show every version of a memory.",
        command=Command(name="versions", section="Memories", arguments=("memory_id",)),
        plural="versions",
        echo=("memory_id",),
    ),
    Operation(
        method="memories.revert",
        summary="Make an earlier text of a memory the newest one.",
        command=Command(name="revert", section="Memories", arguments=("memory_id",), options={"version": "--version"}),
    ),
    Operation(
        method="memories.origins",
        summary="Show which sessions taught a memory.",
        command=Command(name="origins", section="Memories", arguments=("memory_id",)),
        plural="origins",
    ),
    Operation(
        method="experience.search",
        summary="Search the way that served similar searches best.",
        command=Command(name="experience", section="Memories", arguments=("query",), hide=("min_confidence", "tags")),
        tool=Tool(
            name="memory_search_with_experience",
            profiles=("experience",),
            description=(
                "Like memory_search, but searches the way that served similar tasks best and adds the strategies those "
                "taught. Report the outcome with memory_outcome in the same session: that is what it learns from."
            ),
            inputs="!query project_id limit mode session_id=session",
            about={"query": "The task or problem in words"},
            outputs=(
                "results reasoning{strategy_used,learned_from,outcome,execution_time_ms,relevant_strategies,message}"
            ),
            most={"limit": 50},
        ),
        choices={"mode": ("semantic", "session_recovery", "knowledge_lookup")},
    ),
    Operation(
        method="experience.traces",
        summary="Show how searches by experience were run and how their tasks ended.",
        command=Command(name="traces", section="Memories"),
        defaults={"limit": 20},
        plural="traces",
    ),
    Operation(
        method="experience.report",
        summary="Say how the task ended that a search by experience was for.",
        command=Command(name="trace-outcome", section="Memories", arguments=("trace_id", "outcome")),
    ),
    Operation(
        method="branches.briefing",
        summary="Show the memories for one branch of a folded context.",
        command=Command(name="branch-briefing", section="Memories", arguments=("description",)),
        defaults={"budget": 4_000},
    ),
    Operation(
        method="branches.outcome",
        summary="Report how a branch ended, and learn from its account.",
        command=Command(
            name="branch-outcome",
            section="Memories",
            arguments=("session", "succeeded"),
            words={"succeeded": ("succeeded", "failed")},
        ),
        fixed={"rater": "human"},
    ),
    Operation(
        method="sessions.outcome",
        summary="Report how a session ended for everything it was shown.",
        command=Command(
            name="session-outcome",
            section="Memories",
            arguments=("session", "succeeded"),
            words={"succeeded": ("succeeded", "failed")},
        ),
        fixed={"rater": "human"},
    ),
    # ---- sessions
    Operation(
        method="+capture",
        summary="Store the sessions of transcripts, judged by their evidence.",
        command=Command(name="capture", section="Sessions", arguments=("sources",)),
        choices={
            "format": ("auto", "claude-code", "codex", "swe-agent", "mini-swe-agent", "messages", "jsonl"),
        },
    ),
    Operation(
        method="sessions.list",
        summary="List captured sessions and how they ended.",
        command=Command(name="trajectories", section="Sessions"),
        plural="trajectories",
    ),
    Operation(
        method="+captured_session",
        summary="Show one captured session.",
        command=Command(name="trajectory", section="Sessions", arguments=("trajectory_id",)),
    ),
    Operation(
        method="sessions.delete",
        summary="Erase a captured session; the memories it taught stay.",
        command=Command(
            name="forget",
            section="Sessions",
            arguments=("trajectory_id",),
            confirm="Erase the session {trajectory_id}?",
        ),
        echo=("trajectory_id",),
    ),
    Operation(
        method="sessions.verdict",
        summary="Say how a captured session ended.",
        command=Command(name="verdict", section="Sessions", arguments=("trajectory_id", "verdict")),
        choices={"verdict": ("success", "failure", "partial")},
    ),
    Operation(
        method="sessions.judge",
        summary="Judge how a captured session ended.",
        command=Command(name="judge", section="Sessions", arguments=("trajectory_id",)),
    ),
    Operation(
        method="distillation.run",
        summary="Make lessons of captured sessions with the language model.",
        command=Command(name="distill", section="Sessions", arguments=("trajectory_ids",), changes=True),
    ),
    Operation(
        method="+distill_summary",
        summary="Make lessons of a session's own summary, without a model.",
        command=Command(name="distill-session", section="Sessions"),
    ),
    Operation(
        method="+next_assignment",
        summary="Hand a captured session to the calling agent to distil.",
        tool=Tool(
            name="memory_distill",
            profiles=("learning", "experience"),
            description=(
                "Call when you are asked to distill, or when sessions wait: gives a captured session's digest, a "
                "schema and instructions. Record each item with memory_record and its trajectory_id; when there is "
                "none, pass nothing_in."
            ),
            inputs="trajectory_id nothing_in project_id",
            about={
                "trajectory_id": "Default: the one that waits longest",
                "nothing_in": "The trajectory_id of a session that taught nothing",
            },
            outputs="trajectory_id instructions digest schema pending message",
            repeatable=True,
        ),
    ),
    Operation(
        method="distillation.refusals",
        summary="List lessons that were not stored, and why.",
        command=Command(name="refusals", section="Sessions"),
        defaults={"limit": 20},
        plural="refused",
    ),
    # ---- curation
    Operation(
        method="curation.consolidate",
        summary="Make one memory of several that say nearly the same.",
        command=Command(
            name="consolidate",
            section="Curation",
            options={
                "similarity_threshold": "--threshold",
                "max_clusters_per_run": "--max-clusters",
                "force_all": "--force",
            },
        ),
        tool=Tool(
            name="memory_consolidate",
            profiles=("curation",),
            description=(
                "Call when you are asked to tidy the memory: makes one memory of several that say nearly the same and "
                "archives them. Pass dry_run first to see what would be done. `rbank undo` takes a created memory "
                "apart again."
            ),
            inputs="project_id similarity_threshold max_clusters=max_clusters_per_run dry_run force_all",
            about={
                "similarity_threshold": "Least cosine, 0 to 1",
                "max_clusters": "Most clusters; 0 for all",
                "force_all": "Also within 24 hours of the last run",
            },
            outputs=(
                "created_memories archived_memories skipped_count total_processed duration_seconds contradictions "
                "messages"
            ),
        ),
        parts=("similarity_threshold", "max_clusters_per_run", "dry_run", "force_all"),
    ),
    Operation(
        method="curation.undo",
        summary="Take a consolidated memory apart again.",
        command=Command(name="undo", section="Curation", arguments=("consolidation_id",)),
    ),
    Operation(
        method="curation.contradictions",
        summary="Show memories that say nearly the same and ended differently.",
        command=Command(name="contradictions", section="Curation", options={"memory_id": "--memory"}),
        plural="contradictions",
    ),
    Operation(
        method="curation.decay",
        summary="Lower the confidence of what nobody used for a month.",
        command=Command(name="decay", section="Curation"),
    ),
    Operation(
        method="curation.prune",
        summary="Archive what is neither believed nor used.",
        command=Command(name="prune", section="Curation"),
    ),
    Operation(
        method="curation.check_stability",
        summary="Look up in git what became of the commits behind memories.",
        command=Command(name="stability", section="Curation"),
    ),
    Operation(
        method="quarantine.add",
        summary="Hold memories back, with everything made of them.",
        command=Command(name="quarantine", section="Curation", options={"memory_id": "--memory"}),
    ),
    Operation(
        method="quarantine.list",
        summary="List what is in quarantine.",
        command=Command(name="quarantines", section="Curation"),
        plural="quarantines",
    ),
    Operation(
        method="quarantine.release",
        summary="Let memories out of quarantine.",
        command=Command(
            name="release",
            section="Curation",
            arguments=("quarantine_id",),
            options={"memory_id": "--memory"},
        ),
    ),
    # ---- the graph
    Operation(
        method="graph.import_",
        summary="Add nodes, edges and lessons of a file.",
        command=Command(name="graph import", section="Graph", arguments=("source",)),
        choices={"format": ("json", "jsonl", "csv", "cypher")},
    ),
    Operation(
        method="+remember",
        summary="Store a finished conversation, once.",
        command=Command(name="graph remember", section="Graph", arguments=("conversation",), files=("conversation",)),
        tool=Tool(
            name="remember_conversation",
            profiles=("graph",),
            description=(
                "Call once at the end of a task. conversation: {conv_id, user_id, user_role, request, answer, "
                "sources: [{text, doc_pointer, relevant_parts}], actions: [{text, parameters, status, uses: "
                "[source-1]}], rests_on: [action-1], edges: [{source, target, text, weight}], preferences: "
                "[{preference_type, text}], lesson: {key_lesson, context_to_prefer, tags, link_nodes}}. Only conv_id "
                "and request are needed. Again the same adds nothing."
            ),
            inputs="!conversation project_id",
            outputs="nodes edges new proposals refused waiting message",
            repeatable=True,
        ),
        route=Route(method="POST", path="/conversations", inputs="*conversation", created="new"),
    ),
    Operation(
        method="questions.ask",
        summary="Plan what to look up and answer, or ask back.",
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
            about={
                "query": "The question in words",
                "clarification": "The user's answer to the question back",
                "limit": "Most nodes to begin at",
                "budget": "Most tokens",
            },
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
        tool=Tool(
            name="graph_paths",
            profiles=("graph",),
            description="Walks from known nodes along the strongest sentences; tags are words of the question.",
            inputs="!seeds tags depth=max_depth limit=max_paths project_id",
            about={"seeds": "Ids of nodes", "limit": "Most paths"},
            outputs="seeds paths context tokens",
            most={"max_paths": 20},
            defaults={"max_paths": 10},
            reads=True,
        ),
        parts=_WALK,
    ),
    Operation(
        method="graph.get",
        summary="Show a node with its edges and lessons.",
        command=Command(name="graph get", section="Graph", arguments=("node_id",)),
        route=Route(method="GET", path="/graph/nodes/{id:path}", inputs="id=node_id"),
    ),
    Operation(
        method="+node_or_conversation",
        summary="Show a node with its edges and lessons, or every node of a conversation.",
        tool=Tool(
            name="graph_get",
            profiles=("graph",),
            description="Shows one node whole, with its edges and lessons, or every node of a conversation in order.",
            inputs="id conv_id project_id",
            outputs="node edges lessons nodes",
            reads=True,
        ),
    ),
    Operation(
        method="+list_nodes",
        summary="Show nodes in the order they were stored.",
        command=Command(name="graph list", section="Graph"),
    ),
    Operation(
        method="graph.list",
        summary="List nodes by label, tag and conversation.",
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
        method="graph.conversation",
        summary="List the nodes of a conversation in the order they were ingested.",
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
            options={"id": "--id", "conv_id": "--conversation"},
            stdin=("text",),
        ),
        tool=Tool(
            name="graph_add",
            profiles=("graph",),
            description="Keeps one fact as a node with exactly one label. Connect it with graph_link.",
            inputs="!label !text id conv_id tags *fields project_id",
            about={
                "id": "Default: made from label, conversation and text",
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
        command=Command(
            name="graph delete",
            section="Graph",
            arguments=("node_id",),
            confirm="Erase {it.node.text!r}, its edges and its links to lessons?",
            look="graph.get",
        ),
        route=Route(method="DELETE", path="/graph/nodes/{id:path}", inputs="id=node_id"),
    ),
    Operation(
        method="+add_edge",
        summary="Connect two nodes by a sentence.",
        command=Command(
            name="graph link",
            section="Graph",
            arguments=("source", "target"),
            options={"id": "--id"},
            stdin=("text",),
        ),
        tool=Tool(
            name="graph_link",
            profiles=("graph",),
            description=(
                "Connects two nodes by a whole sentence that reads from source to target and says why and how; "
                "'related to' is no reason."
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
        command=Command(name="graph edge", section="Graph", arguments=("edge_id",)),
        route=Route(method="GET", path="/graph/edges/{id:path}", inputs="id=edge_id"),
    ),
    Operation(
        method="edges.search",
        summary="Find the sentences that fit a question.",
        command=Command(
            name="graph edges",
            section="Graph",
            arguments=("query",),
        ),
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
        method="edges.delete",
        summary="Erase an edge; its nodes stay.",
        command=Command(
            name="graph delete-edge",
            section="Graph",
            arguments=("edge_id",),
            confirm="Erase the edge {it.text!r}?",
            look="edges.get",
        ),
        route=Route(method="DELETE", path="/graph/edges/{id:path}", inputs="id=edge_id"),
        echo=("edge_id",),
    ),
    Operation(
        method="preferences.add",
        summary="Keep how a user or a role wants things.",
        command=Command(
            name="graph prefer",
            section="Graph",
            arguments=("text",),
            options={"preference_type": "--type", "conv_id": "--conversation"},
            stdin=("text",),
        ),
    ),
    Operation(
        method="preferences.list",
        summary="Show what holds for a user or a role.",
        command=Command(name="graph preferences", section="Graph", options={"preference_type": "--type"}),
        plural="preferences",
    ),
    Operation(
        method="graph.events",
        summary="Show what happened in a window of time.",
        command=Command(name="graph events", section="Graph"),
        plural="events",
    ),
    Operation(
        method="sources.list",
        summary="Show what an answer rests on.",
        command=Command(name="graph sources", section="Graph", arguments=("answer_id",)),
        plural="sources",
    ),
    Operation(
        method="graph.actions",
        summary="Show how things were done.",
        command=Command(name="graph actions", section="Graph", options={"conv_id": "--conversation"}),
        plural="actions",
    ),
    Operation(
        method="+keep_source",
        summary="Keep a source in the graph, with what it names and states.",
        command=Command(
            name="source",
            section="Graph",
            arguments=("text",),
            options={"source_type": "--type", "conv_id": "--conversation"},
            files=("text",),
        ),
    ),
    Operation(
        method="lessons.add",
        summary="Store a lesson with links to the graph.",
        command=Command(
            name="lesson add",
            section="Graph",
            options={"context_to_prefer": "--context", "link_nodes": "--node", "key_lesson": "--key-lesson"},
            stdin=("key_lesson",),
            hide=("confidence", "title"),
        ),
        route=Route(
            method="POST",
            path="/lessons",
            inputs="!key_lesson context_to_prefer tags link_nodes title outcome",
            created="always",
        ),
    ),
    Operation(
        method="lessons.get",
        summary="Show a lesson.",
        command=Command(name="lesson get", section="Graph", arguments=("lesson",)),
        route=Route(method="GET", path="/lessons/{id}", inputs="id=lesson"),
    ),
    Operation(
        method="lessons.update",
        summary="Change a lesson; what is not named stays.",
        command=Command(
            name="lesson update",
            section="Graph",
            arguments=("lesson",),
            options={"context_to_prefer": "--context", "link_nodes": "--node", "key_lesson": "--key-lesson"},
            stdin=("key_lesson",),
            clears=("tags", "link_nodes"),
            changes=True,
        ),
        route=Route(
            method="PATCH", path="/lessons/{id}", inputs="id=lesson key_lesson context_to_prefer tags link_nodes"
        ),
    ),
    Operation(
        method="+delete_lesson",
        summary="Erase a lesson with its links.",
        command=Command(
            name="lesson delete",
            section="Graph",
            arguments=("lesson",),
            confirm="Erase the lesson {it.key_lesson!r} and its evidence?",
            look="lessons.get",
        ),
        route=Route(method="DELETE", path="/lessons/{id}", inputs="id=lesson"),
    ),
    Operation(
        method="lessons.search",
        summary="Find lessons by what they say and when they apply.",
        command=Command(name="lesson search", section="Graph", arguments=("query",), options={"linked_to": "--node"}),
        tool=Tool(
            name="lesson_search",
            profiles=("graph",),
            description="Finds lessons by what they say and by when they apply; linked_to keeps those of these nodes.",
            inputs="!query limit tags linked_to project_id session_id=session",
            outputs="lessons message",
            most={"limit": 20},
        ),
        route=Route(method="GET", path="/lessons/search", inputs="q=query limit tag=tags linked_to"),
    ),
    Operation(
        method="lessons.list",
        summary="List lessons in the order they were recorded.",
        command=Command(name="lesson list", section="Graph", options={"linked_to": "--node"}),
        route=Route(
            method="GET",
            path="/lessons",
            inputs="tag=tags linked_to limit offset",
            defaults=_PAGE,
            most=_MOST_PAGE,
        ),
        plural="lessons",
    ),
    # ---- sharing
    Operation(
        method="sharing.candidates",
        summary="List what several projects or teams have learned.",
        command=Command(name="candidates", section="Sharing"),
        plural="candidates",
    ),
    Operation(
        method="sharing.promotions",
        summary="List what was promoted, and how its sources are now.",
        command=Command(name="promotions", section="Sharing"),
        plural="promotions",
    ),
    Operation(
        method="sharing.demote",
        summary="Take a promoted lesson out of its team or org again.",
        command=Command(name="demote", section="Sharing", arguments=("memory_id",)),
    ),
    Operation(
        method="sharing.export",
        summary="Write memories as files that git can merge.",
        command=Command(name="share export", section="Sharing", arguments=("target",)),
    ),
    Operation(
        method="sharing.import_",
        summary="Take over shared files.",
        command=Command(name="share import", section="Sharing", arguments=("source",)),
    ),
    # ---- the bank
    Operation(
        method="admin.stats",
        summary="Count memories, show learned weights and what searches cost.",
        command=Command(name="stats", section="The bank"),
        tool=Tool(
            name="memory_stats",
            profiles=_MEMORY_PROFILES,
            description="Counts and learned weights of the project's memory.",
            inputs="project_id",
            outputs="project memories proven unproven weights",
            reads=True,
            repeatable=True,
        ),
    ),
    Operation(
        method="admin.weights",
        summary="Show how the learned weights of ratings, use and outcomes have changed.",
        command=Command(name="weights", section="The bank"),
        defaults={"limit": 20},
        plural="weights",
    ),
    Operation(
        method="report",
        summary="Show what memory is worth: success with and without it, and what does harm.",
        command=Command(name="report", section="The bank"),
    ),
    Operation(
        method="+export",
        summary="Write all memories with their evidence as JSON lines.",
        command=Command(name="export", section="The bank", arguments=("file",)),
    ),
    Operation(
        method="admin.import_",
        summary="Add the memories of an export.",
        command=Command(name="import", section="The bank", arguments=("source",)),
    ),
    Operation(
        method="+backup",
        summary="Write a complete, consistent copy of the bank.",
        command=Command(name="backup", section="The bank", arguments=("file",)),
    ),
    Operation(
        method="+restore",
        summary="Replace the bank by a backup of it.",
        command=Command(name="restore", section="The bank", arguments=("file",), confirm="Replace the bank by {file}?"),
    ),
    Operation(
        method="+failed_jobs",
        summary="List jobs that failed for good.",
        command=Command(name="jobs", section="The bank"),
    ),
)
"""Every operation that an entrance is made from."""
