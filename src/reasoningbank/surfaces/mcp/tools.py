"""The tools of a server: any call gives an answer, errors included. What they do is imported at the first call."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError, EmptyProjectId
from reasoningbank.surfaces.mcp.calls import Answer, Caller

if TYPE_CHECKING:
    from reasoningbank.surfaces.mcp.banks import Banks

_log = logging.getLogger(__name__)


class Tools:
    """The tools of the core profile over the banks of a server. Thread-safe."""

    def __init__(self, banks: Banks) -> None:
        self._banks = banks

    def call(self, name: str, arguments: Mapping[str, object] | None, caller: Caller) -> Answer:
        """Runs a tool of ``TOOLS``; an error becomes an answer that says what to do next."""
        try:
            return self._run(name, arguments, caller)
        except BankError as error:
            return failure(error)

    def warm(self, tenant: str) -> None:
        """Opens the bank and loads the embedder, so that the first search need not wait; makes no bank of its own."""
        try:
            project = self._banks.any_project(tenant)
            if project in self._banks.existing(tenant):
                with self._banks.use(tenant, project) as bank:
                    bank.embedder.embed_queries(["warm up"])
        except EmptyProjectId:
            return
        except BankError as error:
            _log.warning("not ready yet: %s %s", error, error.hint)

    def close(self) -> None:
        """Closes the banks."""
        self._banks.close()

    def _run(self, name: str, arguments: Mapping[str, object] | None, caller: Caller) -> Answer:
        from reasoningbank.surfaces.mcp.arguments import Arguments
        from reasoningbank.surfaces.mcp.schemas import TOOLS
        from reasoningbank.surfaces.mcp.verbs import VERBS

        try:
            return VERBS[name](self._banks, caller, Arguments(TOOLS[name], arguments))
        except BankError:
            raise
        except Exception as error:
            _log.exception("%s failed", name)
            raise BankError(
                f"{name} failed: {type(error).__name__}",
                hint="This is a defect of the server; its log says where. Run `rbank doctor`, then try again.",
            ) from error


def failure(error: BankError) -> Answer:
    """An error as an answer: what happened and what to do next."""
    from reasoningbank.surfaces.answers import error_answer

    said = str(error)
    end = "" if said.endswith((".", "!", "?")) else "."
    return Answer(fields={**error_answer(error)}, text=f"{said}{end} {error.hint}", failed=True)
