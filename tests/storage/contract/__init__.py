"""The contract of stores: what every store must do, as tests that one class per store inherits.

Words in the suite are their own stems: stores may stem or not.
"""

from storage.contract.base import Conformance
from storage.contract.changes import ChangeConformance
from storage.contract.documents import DocumentConformance
from storage.contract.evidence import EvidenceConformance
from storage.contract.exposures import ExposureConformance
from storage.contract.filters import FilterConformance
from storage.contract.graph import GraphConformance
from storage.contract.jobs import JobConformance
from storage.contract.learning import LearningConformance
from storage.contract.lifecycle import LifecycleConformance
from storage.contract.memories import MemoryConformance
from storage.contract.pairs import PairConformance
from storage.contract.scopes import ADVERSARIAL_NAMES, ScopeConformance
from storage.contract.search import SearchConformance
from storage.contract.traces import TraceConformance
from storage.contract.transactions import TransactionConformance


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


class IndexConformance(
    MemoryConformance,
    FilterConformance,
    SearchConformance,
    PairConformance,
    LifecycleConformance,
    TransactionConformance,
    ScopeConformance,
    TraceConformance,
    GraphConformance,
    ChangeConformance,
):
    """What an index of vectors takes part in; jobs, evidence and the like never ask it."""


__all__ = [
    "ADVERSARIAL_NAMES",
    "ChangeConformance",
    "Conformance",
    "FilterConformance",
    "IndexConformance",
    "MemoryConformance",
    "PairConformance",
    "SearchConformance",
    "StoreConformance",
]
