"""Questions of hooks and commands, answered by the shared server: its banks are open and its model is loaded."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from reasoningbank.errors import BankError, ConfigurationError
from reasoningbank.integrations.hook_actions import has_any, shown
from reasoningbank.integrations.hook_payload import event_of
from reasoningbank.integrations.shared_server import undone
from reasoningbank.mcp.banks import Banks, belonging
from reasoningbank.operations.json import to_json
from reasoningbank.types.scope import Membership, Scope

if TYPE_CHECKING:
    from reasoningbank.integrations.shared_server import Greeting
    from reasoningbank.operations.operation import Operation
    from reasoningbank.processes import Process
    from reasoningbank.settings import Settings

_log = logging.getLogger(__name__)


class Answering:
    """Answers one question.

    Args:
        banks: The banks of the place that the question is about.
        settings: The configuration.
        speaker: Who asks: the client that the hook or the command runs under.
        client: Its process; None when it is not known.
    """

    def __init__(self, banks: Banks, settings: Settings, speaker: str = "", client: Process | None = None) -> None:
        self._banks = banks
        self._settings = settings
        self._speaker = speaker
        self._client = client

    def answer(self, greeting: Greeting) -> dict[str, Any]:
        """Return the answer as JSON; without ``text`` who asks does the work itself.

        Raises:
            ConfigurationError: When there is no such kind of question.
        """
        if greeting.kind not in {"hook", "command"}:
            raise ConfigurationError(f"there is no connection of kind {greeting.kind[:40]!r}")
        try:
            if greeting.kind == "command":
                return self._for_command(greeting)
            return {"text": self._for_hook(greeting)}
        except BankError as error:
            if greeting.kind == "command":
                return {"error": to_json(error)}
            _log.warning("a hook was not answered: %s", error.advice)
        except Exception:  # noqa: BLE001 - who asks does the work itself
            _log.exception("a %s was not answered", greeting.kind)
        return {}

    def _for_command(self, greeting: Greeting) -> dict[str, Any]:
        """Run an operation that a person typed.

        Raises:
            StoreError: When a write ended in an error that nobody foresaw: it may have been done, and is not repeated.
            BankError: What the operation raises.
        """
        from reasoningbank.operations.table import OPERATIONS

        method, given = greeting.body.get("method"), greeting.body.get("values")
        served = (each for each in OPERATIONS if each.command is not None and each.command.served)
        operation = next((each for each in served if each.method == method), None)
        if operation is None or not isinstance(given, dict):
            return {}
        try:
            return self._run(greeting, operation, given)
        except BankError:
            raise
        except Exception as error:
            if operation.reads:
                raise
            _log.exception("a command was not answered")
            raise undone(f"{type(error).__name__} in the shared server") from error

    def _run(self, greeting: Greeting, operation: Operation, given: dict[str, Any]) -> dict[str, Any]:
        from reasoningbank.operations.methods import run
        from reasoningbank.operations.said import said_of
        from reasoningbank.types.memory import new_session

        session = greeting.body.get("session")
        own = session if isinstance(session, str) and session else new_session()
        values = {"session": own, **given, **operation.fixed}
        membership = Membership(team=greeting.team, org=greeting.org)
        with belonging(membership), self._banks.use(greeting.tenant, greeting.project, reads=operation.reads) as bank:
            result = run(operation, bank, values)
        return said_of(operation, result, given, as_json=greeting.body.get("as_json") is True).written()

    def _holds(self, session: str) -> bool:
        from reasoningbank.client_sessions import holds

        return self._client is None or holds(self._settings.home, session, self._client)

    def _for_hook(self, greeting: Greeting) -> str | None:
        from reasoningbank.memories.standing import speaking

        event, task, session = (greeting.body.get(name) for name in ("event", "task", "session"))
        known = event_of(event) if isinstance(event, str) else None
        if known is None or not isinstance(session, str) or not (task is None or isinstance(task, str)):
            return None
        scope = Scope(tenant=greeting.tenant, project=greeting.project)
        membership = Membership(team=greeting.team, org=greeting.org)
        url = greeting.url or self._settings.url or None
        if not has_any(scope, membership, url=url, home=self._settings.home):
            return ""
        with (
            belonging(membership),
            speaking(self._speaker, session if self._holds(session) else ""),
            self._banks.use(scope.tenant, scope.project, reads=True) as bank,
        ):
            return shown(bank, known, task, session)
