"""Searches whose tasks have ended, and banks to search in, for the rows of the experience search."""

from __future__ import annotations

from reasoningbank.bank import Bank
from reasoningbank.types.experience import Trace
from reasoningbank.types.memory import Memory
from reasoningbank.types.session import Verdict
from sessions.made_lessons import strategy

QUERY = "Requests of the order service time out against its database under load"
ALIKE = "The order service times out against its database when the load is high"
ELSEWHERE = "Translate the cookie banner into Portuguese"
AVOID = strategy(
    "Raising the timeout hides the cause",
    "When a service times out against its database under load",
    "The timeout was raised, so that requests waited longer and the queue grew. Look at how many connections wait "
    "before any limit is changed.",
)


def taught(bank: Bank, query: str = QUERY, outcome: Verdict = "success", *, session: str = "s1") -> Trace:
    """A search whose task ended so, and whatever the worker makes of it."""
    answer = bank.experience.search(query, session=session)
    bank.experience.report(answer.reasoning.trace_id, outcome, details="Requests still fail after 30 seconds.")
    bank.jobs.work()
    return next(trace for trace in bank.experience.traces() if trace.id == answer.reasoning.trace_id)


def stocked(bank: Bank) -> dict[str, Memory]:
    """Five proven memories about databases and one about something else."""
    texts = {
        "pool": (
            "Size the connection pool",
            "Compare the pool of database connections with the workers of the service.",
        ),
        "index": ("Index what is filtered", "Add an index for the columns that slow database queries filter by."),
        "retry": ("Back off between retries", "Retry requests to a loaded service with growing pauses and a limit."),
        "trace": ("Trace one slow request", "Follow one request of the order service through every call it makes."),
        "lock": (
            "Look for locks",
            "List the locks of the database while requests wait, and end the longest transaction.",
        ),
        "fonts": ("Subset the fonts", "Ship only the glyphs that a page needs."),
    }
    return {name: bank.record(title=title, content=text, outcome="success") for name, (title, text) in texts.items()}
