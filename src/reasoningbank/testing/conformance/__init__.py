"""The conformance suite: what every store must do, as tests that the author of a store subclasses.

    class TestMyStore(StoreConformance):
        def storage(self) -> Storage:
            return MyStorage(somewhere_new())

        def reopened(self, storage: Storage) -> Storage:
            return MyStorage(the_same_place_as(storage))

Any runner that calls methods named ``test_*`` will do; nothing here imports one. Each test carries the ids of
the promises it keeps as its attribute ``promises``. Words in the suite are their own stems: stores may stem or not.
"""

from reasoningbank.testing.conformance.changes import ChangeConformance
from reasoningbank.testing.conformance.documents import DocumentConformance
from reasoningbank.testing.conformance.evidence import EvidenceConformance
from reasoningbank.testing.conformance.exposures import ExposureConformance
from reasoningbank.testing.conformance.filters import FilterConformance
from reasoningbank.testing.conformance.graph import GraphConformance
from reasoningbank.testing.conformance.jobs import JobConformance
from reasoningbank.testing.conformance.learning import LearningConformance
from reasoningbank.testing.conformance.lifecycle import LifecycleConformance
from reasoningbank.testing.conformance.memories import MemoryConformance
from reasoningbank.testing.conformance.pairs import PairConformance
from reasoningbank.testing.conformance.scopes import ADVERSARIAL_NAMES, ScopeConformance
from reasoningbank.testing.conformance.search import SearchConformance
from reasoningbank.testing.conformance.traces import TraceConformance
from reasoningbank.testing.conformance.transactions import TransactionConformance


class StoreConformance(
    MemoryConformance,
    FilterConformance,
    SearchConformance,
    PairConformance,
    EvidenceConformance,
    LifecycleConformance,
    TransactionConformance,
    ScopeConformance,
    LearningConformance,
    TraceConformance,
    JobConformance,
    GraphConformance,
    ExposureConformance,
    ChangeConformance,
    DocumentConformance,
):
    """All of it."""


__all__ = ["ADVERSARIAL_NAMES", "StoreConformance"]
