"""Questions, conversations and the web."""

from __future__ import annotations

from promised.promise import Promise

QUESTIONS: tuple[Promise, ...] = (
    Promise(
        "memoria:P21",
        "spec/memoria_haios P21",
        "A vague question gets one question back and nothing is searched; after the answer graph and bank are searched with tags of the graph alone; ask=False never asks; it works without a model.",
    ),
    Promise(
        "memoria:P24",
        "spec/memoria_haios P24",
        "A finished conversation gives its request, actions, sources, answer, sentences with weights and at most one lesson with its nodes; the same again adds nothing.",
    ),
    Promise(
        "memoria:P25",
        "spec/memoria_haios P25",
        "Workflow states over REST and WebSocket: running, waiting, 409 when busy, only later events after a cursor, memories and complete alone when final, an answer ends the turn, 404 for an unknown id.",
    ),
    Promise(
        "conversations:model",
        "issue 5",
        "What a language model finds in a conversation is checked part by part; what is made up is refused with the reason, and it is not asked twice.",
    ),
    Promise(
        "conversations:waits",
        "DESIGN D8",
        "When the model cannot be reached or answers malformed, the told part of a conversation is stored and the rest waits as a job; nothing is invented.",
    ),
    Promise(
        "conversations:neighbours",
        "issue 5",
        "Nodes of other conversations are proposed by likeness and linked only by a checked sentence that says why.",
    ),
    Promise(
        "conversations:lesson",
        "issue 5",
        "A conversation teaches at most one lesson; it links its nodes, begins as a candidate at 0.6, and a twin is linked instead of stored.",
    ),
    Promise(
        "conversations:hygiene",
        "DESIGN D10",
        "Secrets, the bank's own blocks and orders in a conversation reach neither the graph nor the model.",
    ),
    Promise(
        "conversations:input",
        "issue 5",
        "An unusable field of a conversation is named and nothing is stored; any JSON object is remembered or refused.",
    ),
    Promise(
        "conversations:reason",
        "seed 003",
        "An edge that only says that there is a relation is told from one that gives a reason.",
    ),
    Promise(
        "questions:answer",
        "issue 5",
        "A question is answered by paths as sentences, lessons and preferences, as text that never exceeds its token budget.",
    ),
    Promise(
        "questions:split",
        "issue 5",
        "Without a model a question is split into parts, each with its own tags and weights, the same way every time.",
    ),
    Promise(
        "questions:ambiguous",
        "issue 5",
        "What is ambiguous is told by the documented rule; what was said before makes it clear.",
    ),
    Promise(
        "questions:model",
        "issue 5",
        "A model's plan is checked: tags that the graph does not have are dropped and said, and it asks back at most once.",
    ),
    Promise("questions:fallback", "DESIGN D7", "Without a usable answer of the model the rule plans, and says so."),
    Promise(
        "questions:vocabulary",
        "issue 5",
        "The tags of a question come from the nodes and edges of this project alone, counted by the store.",
    ),
    Promise("questions:input", "issue 5", "Unusable questions and sub-queries are refused with the field."),
    Promise(
        "workflow:states",
        "spec/memoria_haios P25",
        "Any order of steps leaves a workflow in a documented state; events are numbered without gaps; two processes cannot both begin a turn.",
    ),
    Promise(
        "workflow:history",
        "spec/memoria_haios 5.2",
        "A later turn understands what it points at from the turns before.",
    ),
    Promise("workflow:secrets", "DESIGN D10", "No secret of what was said or answered is kept in a workflow."),
    Promise("workflow:lease", "issue 5", "A search that nobody ends is known as stalled after its time."),
    Promise("workflow:size", "issue 5", "A long workflow keeps its last events and turns and can always be stored."),
    Promise(
        "web:workflow-cancel",
        "spec/memoria_haios 5.2",
        "A client asks for results or cancels over the WebSocket; a wrong command is answered, not fatal.",
    ),
    Promise("web:workflow-durable", "issue 5", "A workflow survives the death of its server."),
    Promise("web:workflow-resume", "issue 5", "A search whose server died is taken up when somebody looks."),
    Promise(
        "web:protection",
        "DESIGN D9",
        "REST and WebSocket answer nobody without a token, refuse foreign hosts and origins, and show a tenant nothing of another.",
    ),
    Promise(
        "web:errors",
        "issue 5",
        "Every refusal over REST is JSON with code, message and hint, and the status of its class.",
    ),
    Promise(
        "web:graph",
        "spec/memoria_haios P26",
        "Nodes and edges are added, listed, read, changed, walked and deleted over REST; new text is found at once.",
    ),
    Promise("web:lessons", "spec/memoria_haios P1", "Lessons are added, read, changed, found and deleted over REST."),
    Promise("web:questions", "issue 5", "Conversations are remembered and questions answered over REST."),
    Promise(
        "mcp:graph",
        "issue 5",
        "The profile graph has seven tools, each working from the start of a process; refusals name the field.",
    ),
    Promise(
        "mcp:graph-size",
        "issue 5",
        "The seven tools of the profile graph cost at most 1,950 tokens, and their answers stay within the limit of clients.",
    ),
    Promise("mcp:graph-echo", "DESIGN D10", "Transcripts know the graph's tools by the server's name alone."),
    Promise("cli:graph-remember", "issue 5", "`rbank graph remember` stores the conversation of a file or stdin once."),
    Promise(
        "cli:graph-ask", "issue 5", "`rbank graph ask` prints paths as sentences and lessons, or one question back."
    ),
)
