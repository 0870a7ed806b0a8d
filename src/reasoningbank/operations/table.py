"""Every operation once: its method, where it is offered as a command, a tool and a route, and what it answers.

The fields of an answer are those of ``SHAPES``; what an agent reads of them is written in ``mcp/text.py``, what people
read in ``operations/text.py``.

Nothing is imported here but the standard library, so that ``rbank --help`` and a listing of tools cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from reasoningbank.operations.graph_table import GRAPH_OPERATIONS
from reasoningbank.operations.operation import _MEMORY_PROFILES, Command, Operation, Route, Tool

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

OPERATIONS: tuple[Operation, ...] = (
    # ---- every day
    Operation(
        method="record",
        summary="Store a strategy that worked or an anti-pattern to avoid.",
        command=Command(
            name="record",
            section="Every day",
            stdin=("content",),
            hide=("confidence", "session"),
            makes=True,
            served=True,
        ),
        route=Route(
            method="POST",
            path="/memories",
            inputs="!title !content !outcome description tags category link_nodes",
            created="always",
            defaults={"source": "rest"},
        ),
        fixed={"source": "cli"},
        choices=_OUTCOME,
    ),
    Operation(
        method="search",
        summary="Find what is relevant to a task; nothing when nothing is.",
        reads=True,
        command=Command(
            name="search", served=True, section="Every day", arguments=("query",), past="search", hide=("logged",)
        ),
        tool=Tool(
            name="memory_search",
            profiles=_MEMORY_PROFILES,
            description=(
                "Call BEFORE starting a task or fixing an error: finds strategies that worked and anti-patterns that "
                "failed. 'unproven' ones are below min_confidence: take care."
            ),
            inputs="!query project_id limit outcome tags min_confidence unproven session_id=session",
            about={"query": "The task or problem in words", "project_id": "Default: the server's project"},
            outputs="memories{id,content,confidence} unproven count message",
            most={"limit": 50, "unproven": 10},
        ),
        route=Route(method="GET", path="/memories/search", inputs="q=query limit tag=tags by linked_to session"),
        defaults={"limit": 5},
        parts=("lesson_weight", "context_weight", "bm25_weight", "fusion", "min_score"),
        choices={**_OUTCOME, "fusion": ("weighted", "rrf")},
    ),
    Operation(
        method="+record_or_learn",
        summary="Store a strategy that worked or an anti-pattern to avoid, of a captured session as well.",
        tool=Tool(
            name="memory_record",
            profiles=_MEMORY_PROFILES,
            description=_RECORD,
            inputs="!title !content !outcome description tags project_id session_id=session trajectory_id steps",
            about={
                **_ABOUT_RECORD,
            },
            outputs="id title outcome confidence",
        ),
        choices=_OUTCOME,
    ),
    Operation(
        method="briefing",
        summary="Show the best memories for an agent's context within a token budget.",
        reads=True,
        choices=_OUTCOME,
        command=Command(name="briefing", served=True, section="Every day"),
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
        route=Route(
            method="GET", path="/memories/briefing", inputs="task budget session outcome limit", most={"budget": 6_000}
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
            profiles=(*_MEMORY_PROFILES, "graph"),
            description="Call when a found memory helped or misled you. Once per memory and session.",
            inputs="!memory_id !helpful session_id=session",
            outputs="memory_id new_confidence helpful",
            fixed={"rater": "agent"},
            anywhere=True,
            repeatable=True,
        ),
        route=Route(
            method="POST",
            path="/memories/{id}/feedback",
            inputs="id=memory_id !helpful !session",
            defaults={"rater": "agent"},
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
            description="Call when a task that used a memory has ended. Once per memory and session.",
            inputs="!memory_id !succeeded session_id=session",
            outputs="recorded new_confidence message",
            fixed={"rater": "agent"},
            anywhere=True,
            repeatable=True,
        ),
        route=Route(
            method="POST",
            path="/memories/{id}/outcome",
            inputs="id=memory_id !succeeded !session",
            defaults={"rater": "agent"},
        ),
        fixed={"rater": "human"},
    ),
    Operation(
        method="get",
        summary="Show one memory, whole.",
        reads=True,
        command=Command(name="get", section="Every day", arguments=("memory_id",)),
        tool=Tool(
            name="memory_get",
            profiles=_MEMORY_PROFILES,
            description="Reads one memory whole, with its evidence and origin.",
            inputs="!memory_id project_id",
            outputs="id content confidence",
            fixed={"reader": "agent"},
            anywhere=True,
            reads=True,
            repeatable=True,
        ),
        route=Route(method="GET", path="/memories/{id}", inputs="id=memory_id", defaults={"reader": "agent"}),
        fixed={"reader": "human"},
    ),
    Operation(
        method="memories.list",
        summary="List memories in the order they were recorded.",
        reads=True,
        choices=_OUTCOME,
        command=Command(name="list", section="Every day", past="list"),
        route=Route(
            method="GET",
            path="/memories",
            inputs="tag=tags state=states linked_to limit offset",
            defaults={"limit": 50, "states": ("active", "candidate"), "reader": "agent"},
            most={"limit": 200},
        ),
        fixed={"reader": "human"},
        plural="memories",
    ),
    # ---- memories
    Operation(
        method="update",
        summary="Change a memory; what is not named stays.",
        shows=True,
        choices=_OUTCOME,
        command=Command(
            name="update",
            section="Memories",
            arguments=("memory_id",),
            stdin=("content",),
            clears=("tags", "link_nodes"),
            changes=True,
        ),
        route=Route(
            method="PATCH",
            path="/memories/{id}",
            inputs="id=memory_id title content outcome description tags category link_nodes",
            defaults={"reader": "agent"},
        ),
        fixed={"reader": "human"},
    ),
    Operation(
        method="+delete_memory",
        summary="Delete a memory: a person erases it, an agent archives it for thirty days.",
        admin=True,
        command=Command(
            name="delete",
            section="Memories",
            arguments=("memory_id",),
            confirm="Erase {it.title!r} and its evidence?",
            look="get",
        ),
        tool=Tool(
            name="memory_delete",
            profiles=("admin",),
            description=(
                "Archives one memory for 30 days. Only when the user asks; for a bad memory use memory_feedback."
            ),
            inputs="!memory_id project_id",
            outputs="deleted memory_id kept_until message",
            fixed={"reader": "agent"},
            anywhere=True,
            destroys=True,
            repeatable=True,
        ),
        route=Route(method="DELETE", path="/memories/{id}", inputs="id=memory_id", defaults={"reader": "agent"}),
        fixed={"reader": "human"},
    ),
    Operation(
        method="+history",
        summary="Show everything that happened to a memory.",
        reads=True,
        raw=True,
        command=Command(name="history", section="Memories", arguments=("memory_id",)),
        route=Route(method="GET", path="/memories/{id}/history", inputs="id=memory_id", defaults={"reader": "agent"}),
        fixed={"reader": "human"},
    ),
    Operation(
        method="memories.versions",
        summary="Show every version of a memory.",
        reads=True,
        raw=True,
        command=Command(name="versions", section="Memories", arguments=("memory_id",)),
        route=Route(method="GET", path="/memories/{id}/versions", inputs="id=memory_id", defaults={"reader": "agent"}),
        fixed={"reader": "human"},
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
        reads=True,
        command=Command(name="origins", section="Memories", arguments=("memory_id",)),
        route=Route(method="GET", path="/memories/{id}/origins", inputs="id=memory_id", defaults={"reader": "agent"}),
        fixed={"reader": "human"},
        plural="origins",
    ),
    Operation(
        method="memories.links",
        summary="Show the nodes of the graph that a memory is linked with.",
        reads=True,
        command=Command(name="links", section="Memories", arguments=("memory",)),
        route=Route(method="GET", path="/memories/{id}/links", inputs="id=memory", defaults={"reader": "agent"}),
        fixed={"reader": "human"},
    ),
    Operation(
        method="experience.search",
        summary="Search the way that served similar searches best.",
        reads=True,
        command=Command(
            name="experience",
            section="Memories",
            arguments=("query",),
            hide=("min_confidence", "tags"),
            served=True,
        ),
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
        route=Route(
            method="GET", path="/experience", inputs="q=query limit mode tag=tags session", defaults={"limit": 10}
        ),
        choices={"mode": ("semantic", "session_recovery", "knowledge_lookup")},
    ),
    Operation(
        method="experience.traces",
        summary="Show how searches by experience were run and how their tasks ended.",
        reads=True,
        raw=True,
        command=Command(name="traces", section="Memories"),
        route=Route(method="GET", path="/experience/traces", inputs="limit", most={"limit": 200}),
        defaults={"limit": 20},
        plural="traces",
    ),
    Operation(
        method="experience.report",
        summary="Say how the task ended that a search by experience was for.",
        raw=True,
        command=Command(name="trace-outcome", section="Memories", arguments=("trace_id", "outcome")),
        route=Route(method="POST", path="/experience/traces/{id}/outcome", inputs="id=trace_id !outcome details"),
    ),
    Operation(
        method="branches.briefing",
        summary="Show the memories for one branch of a folded context.",
        command=Command(name="branch-briefing", section="Memories", arguments=("description",)),
        route=Route(
            method="GET",
            path="/branches/briefing",
            inputs="description budget session",
            most={"budget": 6_000},
        ),
        defaults={"budget": 4_000},
    ),
    Operation(
        method="branches.outcome",
        summary="Report how a branch ended, and learn from its account.",
        command=Command(
            name="branch-outcome",
            section="Memories",
            arguments=("session", "succeeded"),
            ids={"session": "session"},
            words={"succeeded": ("succeeded", "failed")},
        ),
        route=Route(
            method="POST",
            path="/branches/{session:path}/outcome",
            inputs="session !succeeded description approach result avoid",
            defaults={"rater": "agent"},
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
            ids={"session": "session"},
            words={"succeeded": ("succeeded", "failed")},
        ),
        route=Route(
            method="POST",
            path="/sessions/{session:path}/outcome",
            inputs="session !succeeded",
            defaults={"rater": "agent"},
        ),
        fixed={"rater": "human"},
    ),
    # ---- sessions
    Operation(
        method="+capture",
        summary="Store the sessions of transcripts, judged by their evidence.",
        command=Command(name="capture", makes=True, section="Sessions", arguments=("sources",)),
        choices={
            "format": (
                "auto",
                "claude-code",
                "codex",
                "gemini",
                "opencode",
                "copilot",
                "cursor",
                "swe-agent",
                "mini-swe-agent",
                "messages",
                "jsonl",
            ),
        },
    ),
    Operation(
        method="sessions.states",
        summary="Show where each session stands and what it waits for.",
        reads=True,
        command=Command(name="sessions", section="Sessions"),
        route=Route(
            method="GET",
            path="/sessions",
            inputs="state limit",
            most={"limit": 200},
            defaults={"reader": "agent"},
        ),
        fixed={"reader": "human"},
        plural="sessions",
    ),
    Operation(
        method="sessions.list",
        summary="List captured sessions and how they ended.",
        reads=True,
        raw=True,
        command=Command(name="trajectories", section="Sessions"),
        route=Route(
            method="GET",
            path="/trajectories",
            inputs="verdict limit offset",
            defaults={"limit": 50},
            most={"limit": 200},
        ),
        plural="trajectories",
    ),
    Operation(
        method="+captured_session",
        summary="Show one captured session.",
        reads=True,
        raw=True,
        command=Command(name="trajectory", section="Sessions", arguments=("trajectory_id",)),
        route=Route(method="GET", path="/trajectories/{id}", inputs="id=trajectory_id"),
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
        method="admin.erase",
        summary="Erase what a session has left, or all that is older than a time; memories stay.",
        admin=True,
        command=Command(
            name="erase",
            section="Sessions",
            ids={"session": "session"},
            confirm="Erase what sessions have left, for good?",
        ),
        route=Route(method="POST", path="/sessions/erase", inputs="session before"),
    ),
    Operation(
        method="sessions.verdict",
        summary="Say how a captured session ended.",
        command=Command(name="verdict", section="Sessions", arguments=("trajectory_id", "verdict")),
        choices={"verdict": ("success", "failure", "partial", "unknown")},
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
        raw=True,
        command=Command(name="distill-session", makes=True, section="Sessions"),
        route=Route(
            method="POST",
            path="/sessions/summaries",
            inputs="!task !approach !result !outcome avoid tags session",
            created="always",
        ),
    ),
    Operation(
        method="+next_assignment",
        summary="Hand a captured session to the calling agent to distil.",
        tool=Tool(
            name="memory_distill",
            profiles=_MEMORY_PROFILES,
            description=(
                "Call when asked to distill, or when sessions wait: gives a session's digest and how to make lessons "
                "of it with memory_record and trajectory_id."
            ),
            inputs="trajectory_id nothing_in project_id",
            about={
                "trajectory_id": "Default: the oldest",
                "nothing_in": "Id of one that taught nothing",
            },
            outputs="trajectory_id digest message",
            repeatable=True,
        ),
    ),
    Operation(
        method="distillation.refusals",
        summary="List lessons that were not stored, and why.",
        reads=True,
        raw=True,
        command=Command(name="refusals", section="Sessions"),
        route=Route(method="GET", path="/refusals", inputs="trajectory limit", most={"limit": 200}),
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
            profiles=_MEMORY_PROFILES,
            description=(
                "Call when asked to tidy up: merges memories that say nearly the same. "
                "Pass dry_run first. `rbank undo` reverts it."
            ),
            inputs="project_id similarity_threshold max_clusters=max_clusters_per_run dry_run force_all",
            outputs="created_memories archived_memories skipped_count total_processed duration_seconds",
        ),
        route=Route(
            method="POST",
            path="/consolidate",
            inputs="similarity_threshold max_clusters=max_clusters_per_run dry_run force_all",
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
        reads=True,
        command=Command(
            name="contradictions",
            section="Curation",
            options={"memory_id": "--memory"},
            ids={"memory_id": "own memory"},
        ),
        route=Route(method="GET", path="/contradictions", inputs="memory_id"),
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
        admin=True,
        command=Command(
            name="quarantine",
            section="Curation",
            options={"memory_id": "--memory"},
            ids={"session": "session"},
        ),
        route=Route(
            method="POST",
            path="/quarantines",
            inputs="!reason memory_id session source since until cascade dry_run",
            defaults={"reader": "agent"},
        ),
        fixed={"reader": "human"},
    ),
    Operation(
        method="quarantine.list",
        summary="List what is in quarantine.",
        reads=True,
        command=Command(name="quarantines", section="Curation"),
        route=Route(method="GET", path="/quarantines", defaults={"reader": "agent"}),
        fixed={"reader": "human"},
        plural="quarantines",
    ),
    Operation(
        method="quarantine.review",
        summary="Approve or reject what agents recorded and nobody confirmed.",
        command=Command(name="review", section="Curation", asks=True),
        shows=True,
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
    *GRAPH_OPERATIONS,
    # ---- sharing
    Operation(
        method="sharing.candidates",
        summary="List what several projects or teams have learned.",
        reads=True,
        command=Command(name="candidates", section="Sharing"),
        route=Route(method="GET", path="/promotions/candidates", inputs="to"),
        plural="candidates",
    ),
    Operation(
        method="sharing.promotions",
        summary="List what was promoted, and how its sources are now.",
        reads=True,
        command=Command(name="promotions", section="Sharing"),
        route=Route(method="GET", path="/promotions"),
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
        reads=True,
        command=Command(name="share export", section="Sharing", arguments=("target",)),
    ),
    Operation(
        method="sharing.import_",
        summary="Take over shared files.",
        command=Command(name="share import", makes=True, section="Sharing", arguments=("source",)),
    ),
    Operation(
        method="sharing.export_skills",
        summary="Write confirmed and vouched strategies as Agent Skills.",
        reads=True,
        command=Command(name="skills export", section="Sharing", arguments=("target",)),
    ),
    # ---- the bank
    Operation(
        method="admin.stats",
        summary="Count memories, show learned weights and what searches cost.",
        reads=True,
        command=Command(name="stats", section="The bank"),
        tool=Tool(
            name="memory_stats",
            profiles=("admin",),
            description="Counts and learned weights of the project's memory.",
            inputs="project_id",
            outputs="project memories proven unproven weights",
            reads=True,
            repeatable=True,
        ),
        route=Route(method="GET", path="/stats"),
    ),
    Operation(
        method="admin.weights",
        summary="Show how the learned weights of ratings, use and outcomes have changed.",
        reads=True,
        command=Command(name="weights", section="The bank"),
        route=Route(method="GET", path="/weights", inputs="limit", most={"limit": 1_000}),
        defaults={"limit": 20},
        plural="weights",
    ),
    Operation(
        method="admin.metrics",
        summary="Show the success criteria SC-001 to SC-006 with their samples and intervals.",
        reads=True,
        command=Command(name="metrics", section="The bank"),
        route=Route(method="GET", path="/metrics"),
    ),
    Operation(
        method="report",
        summary="Show what memory is worth: success with and without it, and what does harm.",
        reads=True,
        command=Command(name="report", section="The bank"),
        route=Route(method="GET", path="/report"),
    ),
    Operation(
        method="+files.export",
        summary="Write all memories as JSON lines with their evidence, or as Markdown.",
        reads=True,
        command=Command(name="export", section="The bank", arguments=("file",)),
        fixed={"reader": "human"},
    ),
    Operation(
        method="+files.import_",
        summary="Add memories: of an export, of edited Markdown, of another product.",
        command=Command(
            name="import",
            makes=True,
            section="The bank",
            arguments=("source",),
            options={"product": "--from"},
        ),
    ),
    Operation(
        method="+files.backup",
        summary="Write a complete, consistent copy of the bank.",
        command=Command(name="backup", section="The bank", arguments=("file",)),
    ),
    Operation(
        method="+files.restore",
        summary="Replace the bank by a backup of it.",
        command=Command(
            name="restore", makes=True, section="The bank", arguments=("file",), confirm="Replace the bank by {file}?"
        ),
    ),
    Operation(
        method="jobs.reconcile_vectors",
        summary="Make the index of vectors beside the bank equal to the bank.",
        command=Command(name="vectors reconcile", section="The bank"),
    ),
    Operation(
        method="+background_work",
        summary="Show the background work: done, waiting, failed.",
        reads=True,
        command=Command(name="jobs", section="The bank"),
        route=Route(method="GET", path="/jobs"),
    ),
)
"""Every operation that an entrance is made from."""

SHAPES: Mapping[str, str] = {
    "Action": "id=node.id text=node.text standing claim status outcome parameters tags=node.tags conv_id=node.conv_id "
    "ingestion_time=node.ingestion_time",
    "Arm": "sessions succeeded failed unknown rate",
    "Brief": "text tokens items left_out session",
    "BriefItem": "id=hit.id standing=hit.standing confidence=hit.confidence scope outcome=hit.outcome",
    "CalibrationReport": "*metric cases brier ece ece_interval bins",
    "CapturedSession": "*trajectory judgements",
    "ConsolidationResult": "created_memories archived_memories skipped_count total_processed "
    "duration_seconds=duration contradictions messages",
    "ConversationReport": "conv_id nodes edges preferences=preferences[].id lesson quarantined new proposals "
    "refused waiting message",
    "Deleted": "deleted id edges unlinked_lessons kept_until message",
    "DeletedMemory": "deleted memory_id kept_until message",
    "Decayed": "id=memory_id months unused_since previous_confidence:9 new_confidence:9",
    "Edge": "id source target text standing claim weight tags created_time band",
    "EdgeHit": "*edge score legs",
    "GraphAnswer": "query seeds paths=walk.paths context=context.text tokens=context.tokens pending message",
    "Harm": "id=memory_id title shown succeeded rate upper_bound base_rate set_aside one_client",
    "Health": "healthy facts problems",
    "History": "memory_id=memory.id title=memory.title confidence=memory.belief.score alpha0 beta0 "
    "alpha=memory.belief.alpha beta=memory.belief.beta events",
    "Hit": "id title description content outcome standing confidence interval:3 relevance fit tags legs duplicates "
    "scope conflicts disputed_by unproven",
    "ImportReport": "imported=#imported unchanged=#unchanged conflicts quarantined left_out",
    "Isolated": "id title scope=level project=name before because",
    "Job": "kind key attempts error due",
    "Kept": "*what new message",
    "Lesson": "rb_id id key_lesson context_to_prefer tags link_nodes outcome=memory.outcome state=memory.state "
    "standing claim confidence=memory.confidence",
    "LessonAnswer": "query lessons count=#lessons message warnings",
    "LessonHit": "*lesson score legs",
    "Memory": "id project title description content outcome standing confidence interval=belief.interval:3 usage_count "
    "tags category state provenance tokens version created_at updated_at last_used",
    "Metrics": "at SC-001=helpful_rate SC-002=delivery_tokens SC-003=learning_rate SC-004=fewer_mistakes "
    "SC-005=weight_spread SC-006=calibration",
    "NodeHit": "*node score legs",
    "Occurrence": 'id=event.id text=event.text standing claim start end source_type=event.fields.source_type|"" '
    "tags=event.tags conv_id=event.conv_id answers=led_to",
    "PastMemory": "*memory unknown",
    "Preference": "id preference_type text standing claim user role tags=node.tags conv_id=node.conv_id "
    "update_time=node.updated_at replaced_by",
    "Promotion": "id=memory.id level name title=memory.title content=memory.content confidence=memory.confidence "
    "state=memory.state reviewer created sources doubtful gone",
    "PromotionCandidate": 'candidate_id=id to=level name outcome similarity confidence title=text.title|"" '
    'description=text.description|"" content=text.content|"" written_by=text.source|"" reason conflicts sources',
    "PromotionSource": "id=reference.id level=reference.level name=reference.name title=memory.title "
    "content=memory.content confidence=memory.confidence",
    "Proposal": "node_id neighbour_id=neighbour.id text=neighbour.text standing=neighbour.standing "
    "claim=neighbour.claim score",
    "Pruned": "id=memory_id confidence:9 unused_since reason",
    "QuestionAnswer": "plan clarification=plan.clarification seeds=graph.seeds|[] paths=graph.walk.paths|[] lessons "
    'context=graph.context.text|"" tokens=graph.context.tokens|0 message',
    "Recall": "memories unproven count recall_id=id embedder tokens message warnings",
    "RefusedPart": "part name reason",
    "ReleaseReport": "released hidden kept=still_held",
    "ReviewItem": "*memory shown source",
    "Rendered": "as=form text",
    "Rollout": 'verdict=judgement.verdict|"unknown" probability=judgement.probability|0.5 steps=#trajectory.steps '
    'answer=trajectory.final_answer|"" error',
    "Scaled": "best reason ground mode stopped answer memories=recall.delivered[].id withheld rollouts learned=report",
    "SessionOutcome": "credited=credits",
    "ShareReport": "files memories added updated unchanged=#unchanged conflicts signals moved refused messages",
    "SimilarityCluster": "ids outcome average_similarity min_similarity",
    "Source": 'id=node.id text=node.text standing claim source_type=node.fields.source_type|"" doc_pointer '
    "relevant_parts path",
    "SourceReport": "id=source.id tags=source.tags mentions=mentions.found nodes=nodes[].id edges=edges[].id waiting "
    "message",
    "StabilityCheck": "counted=reports commits waiting unknown dry_run",
    "StabilityReport": "id=memory_id commit reverted previous_confidence:9 new_confidence:9",
    "TrajectoryEntry": "id task session source steps at verdict probability=judgement.probability|0.5 "
    'judge=judgement.judge|"" said_by distilled',
    "Turn": "message_id user_input clarification_question clarification ai_answer=answer ai_reasoning=reasoning "
    "ai_tool_calls=tool_calls at",
    "UndoReport": "consolidation_id restored_memories=restored moved_signals kept",
    "Walked": "*walk context=context.text tokens=context.tokens",
    "UpliftReport": "sessions with_memory without_memory uplift interval tokens_added harmful",
    "WalkPath": "seed nodes edges energies sentences standings reversed=hops[].reversed score",
    "WalkResult": "seeds paths reached left_out stopped",
    "WeightChange": "at signal_id weights=shares",
    "Workflow": "workflow_id=id message_id status clarification_question message user_input clarification searched "
    "cursor turns",
    "WorkflowEvent": "cursor event=kind payload is_final=final at",
}
"""The JSON of each type whose JSON is not its fields in their order.

``name`` is an attribute; ``name=a.b`` goes along attributes, methods and keys; ``x[].y`` takes ``y`` of every item;
``#x`` counts; ``*x`` puts the fields of ``x`` in this place; ``|value`` stands where the way ends at None; ``:3``
rounds.
"""
