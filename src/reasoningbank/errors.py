"""Every error of ReasoningBank, in one tree.

* BankError
  + InvalidInput (ValueError)
    - InvalidMemory
      . EmptyTitle
      . EmptyContent
      . InvalidOutcome
      . InvalidConfidence
    - InvalidNode
    - InvalidEdge
    - EmptyProjectId
    - EmptyMemoryId
    - EmptyQuery
    - NegativeLimit
    - NegativeOffset
    - TextTooLong
    - UnreadableTranscript
      . TranscriptNotOpened
    - ReadOnlyBank (AttributeError)
    - WrongMediaType
  + NotFound (LookupError)
    - MemoryNotFound
    - TrajectoryNotFound
    - NodeNotFound
    - ConversationNotFound
    - EdgeNotFound
    - WorkflowNotFound
  + PolicyError
    - MissingTenantError
    - ScopeViolation
    - AccessDenied
    - BudgetExhausted
    - PaidCallRefused
    - Undecided
    - WorkflowBusy
    - MemoryQuarantined
  + StoreError
    - StoreBusy
    - StoreFull
    - StoreCorrupt
    - StoreTooNew
    - StoreUnavailable
    - StoreClosed
  + OutputFailed
  + ModelError
    - ModelMissing
    - ModelMismatch
    - ModelUnavailable
      . ContextExceeded
    - MalformedAnswer
  + ConfigurationError

An error says what happened and to what; its ``hint`` says what to do next. Nothing was stored when one is raised.
"""

from __future__ import annotations

from typing import ClassVar


class BankError(Exception):
    """The root: catch this to catch everything ReasoningBank raises on purpose.

    Attributes:
        hint: What to do next, as a sentence.
        code: A stable, machine-readable name of the class of error.
        exit_code: The exit status of the command line for this class.
        held: Whether the gate has stopped a text: what the session records afterwards has to prove itself.
    """

    default_hint: ClassVar[str] = "Run `rbank doctor` to see the state of the bank."
    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint if hint is not None else self.default_hint
        self.held = False

    def __str__(self) -> str:
        return self.message

    @property
    def advice(self) -> str:
        """Return what happened and what to do next, in two sentences."""
        end = "" if self.message.endswith((".", "!", "?")) else "."
        return f"{self.message}{end} {self.hint}"


class InvalidInput(BankError, ValueError):
    """An argument is not usable; nothing was changed."""

    default_hint = "Correct the argument and call again."
    code = "invalid_input"
    exit_code = 2


class InvalidMemory(InvalidInput):
    """The memory as a whole is missing or breaks a rule (seed 004 ``ErrInvalidMemory``)."""

    default_hint = "Give a title, a content and an outcome of 'success' or 'failure'."
    code = "invalid_memory"


class EmptyTitle(InvalidMemory):
    """The title has no visible character (seed 004 ``ErrEmptyTitle``)."""

    default_hint = "Give a title that names the situation, for example 'Retry flaky network calls'."
    code = "empty_title"


class EmptyContent(InvalidMemory):
    """The content has no visible character (seed 004 ``ErrEmptyContent``)."""

    default_hint = "Give a content that says what to do or what to avoid."
    code = "empty_content"


class InvalidOutcome(InvalidMemory):
    """The outcome is neither success nor failure (seed 004 ``ErrInvalidOutcome``)."""

    default_hint = "Use exactly 'success' or 'failure'."
    code = "invalid_outcome"


class InvalidConfidence(InvalidMemory):
    """A confidence is not a number in [0, 1] (seed 004 ``ErrInvalidConfidence``)."""

    default_hint = "Use a number from 0.0 to 1.0."
    code = "invalid_confidence"


class InvalidNode(InvalidInput):
    """A node of the graph breaks a rule; the message begins with the name of the field (seed 003)."""

    default_hint = "Correct the field that the message names; docs/explanation/graph.md lists the fields of each label."
    code = "invalid_node"


class InvalidEdge(InvalidInput):
    """An edge of the graph breaks a rule; the message begins with the name of the field (seed 003)."""

    default_hint = "Correct the field that the message names: an edge is a sentence with a weight from 0 to 1."
    code = "invalid_edge"


class EmptyProjectId(InvalidInput):
    """No project was named and none could be derived (seed 004 ``ErrEmptyProjectID``)."""

    default_hint = "Pass project=..., --project, or start inside a project directory."
    code = "empty_project_id"


class EmptyMemoryId(InvalidInput):
    """A memory id is empty (seed 004 ``ErrEmptyMemoryID``)."""

    default_hint = "Pass the id that record or search returned."
    code = "empty_memory_id"


class EmptyQuery(InvalidInput):
    """A search has no query."""

    default_hint = "Describe the task or the problem in a few words."
    code = "empty_query"


class NegativeLimit(InvalidInput):
    """A limit is below zero."""

    default_hint = "Use a limit of zero or more."
    code = "negative_limit"


class NegativeOffset(InvalidInput):
    """An offset is below zero."""

    default_hint = "Use an offset of zero or more."
    code = "negative_offset"


class TextTooLong(InvalidInput):
    """A text is longer than its field may be."""

    default_hint = "Shorten the text: one strategy per memory."
    code = "text_too_long"


class UnreadableTranscript(InvalidInput):
    """A file holds no session in any format that is known."""

    default_hint = "Name the format with --format, or convert the session to the plain JSON lines of the reference."
    code = "unreadable_transcript"


class TranscriptNotOpened(UnreadableTranscript):
    """The file of a transcript does not exist or may not be read; like every file that cannot be read."""

    default_hint = "Check the path and its permissions."
    code = "transcript_not_opened"
    exit_code = 5


class ReadOnlyBank(InvalidInput, AttributeError):
    """A view of the bank as it was can only be read; nothing was changed."""

    default_hint = "Call it on the bank itself: what is over stays as it was."
    code = "read_only"


class WrongMediaType(InvalidInput):
    """The body of a request does not say that it is JSON."""

    default_hint = "Send one JSON object with the header Content-Type: application/json."
    code = "wrong_media_type"


class NotFound(BankError, LookupError):
    """The thing named does not exist in this scope."""

    code = "not_found"
    exit_code = 3


class MemoryNotFound(NotFound):
    """No memory of this id exists in the scope (seed 004 ``ErrMemoryNotFound``)."""

    default_hint = "Look the id up with `rbank list` or memory_search; a deleted memory cannot be found again."
    code = "memory_not_found"


class TrajectoryNotFound(NotFound):
    """No trajectory of this id exists in the scope."""

    default_hint = "Look the id up with `rbank trajectories`."
    code = "trajectory_not_found"


class NodeNotFound(NotFound):
    """No node of this id exists in the scope's graph."""

    default_hint = "Look the id up with `rbank graph search` or graph_search."
    code = "node_not_found"


class ConversationNotFound(NotFound):
    """No conversation of this id is remembered in the scope's graph."""

    default_hint = "Its id is the conv_id that it was remembered with, or the id of its workflow."
    code = "conversation_not_found"


class EdgeNotFound(NotFound):
    """No edge of this id exists in the scope's graph."""

    default_hint = "Look the id up with `rbank graph search` or graph_search."
    code = "edge_not_found"


class WorkflowNotFound(NotFound):
    """No workflow of this id exists in the scope."""

    default_hint = "Begin one by sending a question without a workflow_id."
    code = "workflow_not_found"


class PolicyError(BankError):
    """The operation is understood and refused."""

    code = "refused"
    exit_code = 4


class MissingTenantError(PolicyError):
    """No tenant is known, so no operation may run (seed 000 ``ErrMissingTenant``; fails closed)."""

    default_hint = "Pass tenant=..., --tenant, or set REASONINGBANK_TENANT."
    code = "missing_tenant"


class ScopeViolation(PolicyError):
    """The operation would reach into another tenant's or project's bank."""

    default_hint = "Open the bank with the tenant and project that own it."
    code = "scope_violation"


class AccessDenied(PolicyError):
    """The token does not allow this: it may read only, or it may not delete."""

    default_hint = "Use a token with more scopes; `rbank token create --scope` makes one."
    code = "access_denied"


class BudgetExhausted(PolicyError):
    """The language model's tokens or sessions of today are spent; what was asked for waits."""

    default_hint = "Wait until tomorrow (UTC), or raise the daily limit."
    code = "budget_exhausted"


class PaidCallRefused(PolicyError):
    """A call of a paid language model was about to be made where none may be, as in tests."""

    default_hint = "Use reasoningbank.testing.ScriptedModel, or allow paid calls on purpose."
    code = "paid_call_refused"


class Undecided(PolicyError):
    """It is not known how a session ended, so nothing can be learned from it yet; it stays stored and waits."""

    default_hint = "Say how it ended with `rbank verdict`, then distill it."
    code = "undecided"


class WorkflowBusy(PolicyError):
    """The workflow is in a state in which this cannot be done, for example a run is still under way."""

    default_hint = "Wait for its event `complete`, answer it, or cancel it."
    code = "workflow_busy"


class MemoryQuarantined(PolicyError):
    """A memory is in quarantine: an agent gets nothing of its text, and neither changes nor erases nor rates it."""

    default_hint = (
        "A person reads it with `rbank get ID`, releases it with `rbank release --memory ID` and erases it with "
        "`rbank delete ID`."
    )
    code = "memory_quarantined"


class StoreError(BankError):
    """The store could not do what was asked."""

    code = "store_error"
    exit_code = 5


class StoreBusy(StoreError):
    """Another process held the bank's write lock for longer than the limit."""

    default_hint = "Try again; `rbank doctor` names the process that holds the lock."
    code = "store_busy"


class StoreFull(StoreError):
    """The disk or quota is full; reads go on, nothing acknowledged was lost."""

    default_hint = "Free disk space, then repeat the call: it was not stored."
    code = "store_full"


class StoreCorrupt(StoreError):
    """The file does not hold what was written to it; it was left as it is."""

    default_hint = "Keep the file, then restore the newest backup with `rbank restore`."
    code = "store_corrupt"


class StoreTooNew(StoreError):
    """The file was written by a newer version of ReasoningBank."""

    default_hint = "Upgrade reasoningbank; this version will not touch the file."
    code = "store_too_new"


class StoreUnavailable(StoreError):
    """The place where the bank lives cannot be reached, read or written."""

    default_hint = "Check the path, its permissions and REASONINGBANK_HOME."
    code = "store_unavailable"


class StoreClosed(StoreError):
    """The bank was closed before this call."""

    default_hint = "Open the bank again with Bank.open(...)."
    code = "store_closed"


class OutputFailed(BankError):
    """The answer of a command cannot be written to its output, which is closed or full."""

    default_hint = "What the command stores is stored. Give its output another place and ask again."
    code = "output_failed"
    exit_code = 5


class ModelError(BankError):
    """An embedding or language model did not answer usefully."""

    default_hint = "Check the model's configuration with `rbank doctor`."
    code = "model_error"
    exit_code = 6


class ModelMissing(ModelError):
    """The model or the package that carries it is not installed, or is not the file it claims to be."""

    default_hint = "Install reasoningbank again, or choose another embedder by name."
    code = "model_missing"


class ModelMismatch(ModelError):
    """Vectors of one model meet a bank whose vectors come from another."""

    default_hint = "Open the bank with the embedder it was built with, or re-embed it with `rbank reembed`."
    code = "model_mismatch"


class ModelUnavailable(ModelError):
    """A language model did not answer: no key, no network, a limit, a time-out. Nothing was learned or lost."""

    default_hint = "Try again later; the trajectory stays stored and waits."
    code = "model_unavailable"


class ContextExceeded(ModelUnavailable):
    """A request is longer than what the model reads at once, or the server has cut it: there is no verdict.

    Attributes:
        context: How many tokens the model reads at once, as far as the server said; 0 when it did not.
        excess: Tokens by which it would be longer than the request before; 0 when that is not known.
        answer: Tokens of the longest answer that were asked for beside it; 0 when that is not known.
    """

    default_hint = "Choose a model with a longer context, or start its server with one; 8,000 tokens are comfortable."
    code = "context_exceeded"

    def __init__(
        self, message: str, *, hint: str | None = None, context: int = 0, excess: int = 0, answer: int = 0
    ) -> None:
        super().__init__(message, hint=hint)
        self.context = context
        self.excess = excess
        self.answer = answer


class MalformedAnswer(ModelError):
    """A language model answered with something that is not what its schema asks for; nothing was stored of it."""

    default_hint = "Try again; another model may follow the schema better."
    code = "malformed_answer"


class ConfigurationError(BankError):
    """A setting is unknown, unreadable or contradicts another."""

    default_hint = "Check the REASONINGBANK_* variables and the settings file."
    code = "configuration_error"
    exit_code = 2
