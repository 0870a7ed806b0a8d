"""Every behaviour the product promises: an id, where it was asked for, and what it is.

A test names the promises it keeps with ``@pytest.mark.promise("area:name", ...)``. The meta-test fails on a promise
that no test keeps and on a test that keeps none. A deferred promise has a reason instead of a test.
docs/guarantees.md is generated from this file.
"""

from __future__ import annotations

from promised.attack import ATTACKS
from promised.bank import BANK
from promised.banktests import LEARNING
from promised.capture import CAPTURE
from promised.cli import CLI
from promised.clients import FRAMEWORKS
from promised.consolidating import CONSOLIDATING
from promised.contextd import CONTEXTD
from promised.distil import DISTILLING
from promised.durability import DURABILITY
from promised.embedding import EMBEDDING
from promised.evaluation import LEARNING_EVALUATION
from promised.fusion import FUSION
from promised.fusion2 import WEIGHING
from promised.fusion3 import FUSION_DETAILS
from promised.graph import GRAPH
from promised.graphsurf import GRAPH_SURFACES
from promised.guard import GUARDING
from promised.hygiene import HYGIENE
from promised.injection import INJECTION
from promised.judging import JUDGING
from promised.keep import KEEPING
from promised.lead import WORKING
from promised.life import LIFECYCLE
from promised.llm import LLM
from promised.matts import SCALING
from promised.mcp import MCP
from promised.promise import Promise
from promised.proof import UPLIFT
from promised.questions import QUESTIONS
from promised.scopes import SCOPES
from promised.search import SEARCHING
from promised.sources import SOURCES
from promised.storage import STORAGE
from promised.surfaces_learning import LEARNING_SURFACES
from promised.walk import WALKING

PROMISES: tuple[Promise, ...] = (
    *BANK,
    *STORAGE,
    *DURABILITY,
    *EMBEDDING,
    *HYGIENE,
    *FUSION,
    *MCP,
    *CLI,
    *CONTEXTD,
    *QUESTIONS,
    *GRAPH_SURFACES,
    *SOURCES,
    *WALKING,
    *GRAPH,
    *ATTACKS,
    *UPLIFT,
    *FRAMEWORKS,
    *SCOPES,
    *GUARDING,
    *LIFECYCLE,
    *FUSION_DETAILS,
    *WORKING,
    *INJECTION,
    *CONSOLIDATING,
    *WEIGHING,
    *LEARNING_EVALUATION,
    *LEARNING_SURFACES,
    *LEARNING,
    *KEEPING,
    *SEARCHING,
    *SCALING,
    *DISTILLING,
    *LLM,
    *JUDGING,
    *CAPTURE,
)

__all__ = ["PROMISES", "Promise"]
