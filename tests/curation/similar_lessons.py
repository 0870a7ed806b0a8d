"""Lessons that say the same, for the tests that merge them."""

from __future__ import annotations

from reasoningbank.types.consolidation import ConsolidationOptions

LESSONS = (
    (
        "Retry flaky network calls",
        "When a network call fails now and then, retry it with exponential backoff and jitter, at most five times.",
    ),
    (
        "Retry network calls that fail now and then",
        "Retry a flaky network call with exponential backoff and a little jitter; give up after five attempts.",
    ),
    (
        "Back off when a network call is flaky",
        "A network call that fails now and then should be retried with exponential backoff and jitter, five times.",
    ),
)
"""Three lessons that say the same in other words."""


USES = ((0.8, 10), (0.7, 5), (0.9, 15))
"""Confidence and uses of the reviewed scenario: together 0.8554 (spec/contextd 1.4)."""


FORCED = ConsolidationOptions(force_all=True, similarity_threshold=0.7)


TEXTS = (
    "Close the file before it is moved away",
    "Close the file before it is moved",
    "Close the file before it is moved around",
)
"""Three lessons that are one to the embedder."""


OTHER = "Pin every dependency in the lock file of the service"
