"""The tools of a server: any call gives an answer, errors included. What they do is imported at the first call."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError, EmptyProjectId
from reasoningbank.mcp.calls import Answer, Caller
from reasoningbank.mcp.learning_schemas import tools_of
from reasoningbank.mcp.schemas import TOOLS, ToolSpec

if TYPE_CHECKING:
    from reasoningbank.mcp.background import Background
    from reasoningbank.mcp.banks import Banks

_log = logging.getLogger(__name__)


class Tools:
    """The tools of a profile over the banks of a server. Thread-safe.

    Args:
        banks: The banks.
        profile: Which tools there are.

    Raises:
        ConfigurationError: When there is no such profile.
    """

    def __init__(self, banks: Banks, *, profile: str = "core") -> None:
        self._banks = banks
        self._specs = tools_of(profile)
        self._background: Background | None = None

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools as they are listed, by name."""
        return self._specs

    def call(self, name: str, arguments: Mapping[str, object] | None, caller: Caller) -> Answer:
        """Run a tool of the profile; an error becomes an answer that says what to do next."""
        try:
            return self._run(name, arguments, caller)
        except BankError as error:
            return failure(error, self._specs[name])

    def warm(self, caller: Caller) -> None:
        """Open the bank and load the embedder, so that the first search need not wait; make no bank of its own."""
        from reasoningbank.mcp.banks import belonging

        try:
            project = self._banks.any_project(caller.tenant)
            if project in self._banks.existing(caller.tenant):
                with belonging(caller.membership), self._banks.use(caller.tenant, project) as bank:
                    bank.embedder.embed_queries(["warm up"])
        except EmptyProjectId:
            return
        except BankError as error:
            _log.warning("not ready yet: %s %s", error, error.hint)

    def work(self) -> None:
        """Start the background work."""
        if self._background is None:
            from reasoningbank.mcp.background import Background

            self._background = Background(self._banks)
            self._background.start()

    @property
    def busy(self) -> bool:
        """Whether background work is still under way."""
        return self._background is not None and self._background.busy

    def close(self) -> None:
        """End the background work and close the banks."""
        if self._background is not None:
            self._background.stop()
        self._banks.close()

    def _run(self, name: str, arguments: Mapping[str, object] | None, caller: Caller) -> Answer:
        from reasoningbank.mcp.arguments import Arguments
        from reasoningbank.mcp.banks import belonging
        from reasoningbank.mcp.memory_tools import VERBS
        from reasoningbank.mcp.session_tools import LEARNING_VERBS

        spec = self._specs[name]
        verbs = VERBS if self._specs is TOOLS else LEARNING_VERBS
        try:
            with belonging(caller.membership):
                return verbs[name](self._banks, caller, Arguments(spec, arguments))
        except BankError:
            raise
        except Exception as error:
            _log.exception("%s failed", name)
            raise BankError(
                f"{name} failed: {type(error).__name__}",
                hint="This is a defect of the server; its log says where. Run `rbank doctor`, then try again.",
            ) from error


def failure(error: BankError, spec: ToolSpec) -> Answer:
    """Return an error as an answer: what happened and what to do next, in the tool's one shape when it has one."""
    from reasoningbank.operations.fields import error_answer

    return Answer(fields={**spec.blank, **error_answer(error)}, text=error.advice, failed=True)
