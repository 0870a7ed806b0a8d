"""The part of a bank that reaches into the team and the org its project belongs to."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.context import Upkeep
from reasoningbank.errors import StoreError
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import OutcomeReport
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import CONTENT_LEG, Filter, Hit, Recall
from reasoningbank.types.scope import LEVELS
from reasoningbank.types.signal import Rater

if TYPE_CHECKING:
    from reasoningbank.search.cascade import Found
    from reasoningbank.search.recall import Question


class Scoping(Upkeep):
    """Searches the project, then its team and its org; a bank that was opened without them looks at nothing else."""

    def _wider_stores(self) -> tuple[list[Store], tuple[str, ...]]:
        """Return the banks of the team and the org that exist, and why others cannot be looked at.

        Asking makes none.
        """
        stores: list[Store] = []
        warnings: list[str] = []
        for scope in self._wider:
            try:
                if LEVELS.index(scope.level) > LEVELS.index(self._scope.level) and self._storage.has(scope):
                    stores.append(self._neighbour(scope))
            except StoreError as error:
                warnings.append(f"The {scope.shown} cannot be opened: {error} {error.hint}")
        return stores, tuple(warnings)

    def _near(self, store: Store, question: Question, vector: Vector | None = None) -> Found:
        """Return what the question finds in this bank and in those of its team and org."""
        from reasoningbank.search.cascade import Found, cascade
        from reasoningbank.search.recall import recall

        wider, warnings = self._wider_stores()
        if not wider:
            return Found(*recall(store, self._embedder, question, self._chance, vector=vector), warnings)
        found = cascade([store, *wider], self._embedder, question, self._chance, vector=vector)
        return found._replace(warnings=(*warnings, *found.warnings))

    def _best_known(self, store: Store, condition: Filter, limit: int) -> Found:
        """Return the best proven memories of this bank and of its team's and org's, when no task is known."""
        from reasoningbank.search.cascade import Found, best_known
        from reasoningbank.search.selection import proven

        wider, warnings = self._wider_stores()
        if not wider:
            return Found(proven(store, condition)[:limit], (), warnings)
        found = best_known([store, *wider], self._embedder.model_id, condition, limit)
        return found._replace(warnings=(*warnings, *found.warnings))

    def _vector_of(self, hit: Hit) -> Vector | None:
        """Return the vector of a hit's title and content, in the bank that it comes from."""
        if hit.scope == self._scope.level:
            return self._open_store().vector(CONTENT_LEG, hit.id)
        stores, _ = self._wider_stores()
        holder = next((store for store in stores if store.scope.level == hit.scope), None)
        return None if holder is None else holder.vector(CONTENT_LEG, hit.id)

    def _shown_wider(self, session: str) -> list[str]:
        """Return ids of what the team and the org have shown this session."""
        if not self._wider:
            return []
        from reasoningbank.search.cascade import shown_in

        stores, _ = self._wider_stores()
        return [memory_id for store in stores for memory_id in shown_in(store, session, self._scope)]

    def _credit_wider(
        self, session: str, *, succeeded: bool, rater: Rater, at: datetime, shared_by: int
    ) -> list[OutcomeReport]:
        """Report how the session ended for what the team and the org have shown it."""
        from reasoningbank.search.cascade import credit

        stores, _ = self._wider_stores()
        return [
            report
            for store in stores
            for report in credit(
                store, session, self._scope, succeeded=succeeded, rater=rater, at=at, shared_by=shared_by
            )
        ]

    def _own_part(self, answer: Recall) -> Recall:
        """Return the answer with what this bank itself has delivered."""
        if not self._wider:
            return answer
        from reasoningbank.search.cascade import of_level

        return of_level(answer, self._scope.level)

    def _log_wider(self, answer: Recall, *, usage: bool) -> Recall:
        """Log what the team and the org have delivered where it lives; what could not be logged is said in it."""
        if not self._wider or all(hit.scope == self._scope.level for hit in answer.delivered):
            return answer
        from reasoningbank.search.cascade import log_wider

        stores, _ = self._wider_stores()
        warnings = log_wider(stores, answer, self._scope, usage=usage)
        return replace(answer, warnings=(*answer.warnings, *warnings))
