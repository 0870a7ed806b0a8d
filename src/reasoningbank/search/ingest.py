"""The part of a bank that reads texts: what they name and claim, and raw lessons that are kept as they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from reasoningbank.context import session_name, usable_path
from reasoningbank.errors import BudgetExhausted, EmptyContent, InvalidInput, MalformedAnswer, ModelUnavailable
from reasoningbank.search.searches import Searching
from reasoningbank.types.belief import DISTILLED_CONFIDENCE
from reasoningbank.types.content import CONCEPT_KINDS, CONTENT_MODES, Content, ContentMode, Ingested
from reasoningbank.types.memory import MAX_TAG, MAX_TAGS, MAX_TITLE, Outcome
from reasoningbank.types.records import Job

CAPTURE = "capture"
"""The kind of job that captures the file of its payload."""
_TITLE = 120
_AT_ONCE = timedelta(0)


class Ingesting(Searching):
    """Reads texts and keeps raw lessons; that nothing was extracted from one is said, and it is kept all the same."""

    def extract_content(self, text: str, mode: str = "full") -> Content:
        """Return entities and concepts of a text, word for word and with their places; stores nothing.

        The language model marks them when there is one and it answers; else rules do, and the answer says so.

        Args:
            text: Any text; secrets in it are replaced before anything reads it.
            mode: ``full``, ``entities_only`` or ``concepts_only``.

        Raises:
            InvalidInput: When there is no such mode.
            TextTooLong: When the text has more than a million characters.
        """
        from reasoningbank.safety.text import safe_line
        from reasoningbank.search.entities import by_model, by_rules

        wanted = _checked_mode(mode)
        safe = self._safe(text)
        if self._model is None or not safe:
            return by_rules(safe, wanted)
        try:
            return by_model(safe, wanted, self._model)
        except (ModelUnavailable, BudgetExhausted, MalformedAnswer) as error:
            found = by_rules(safe, wanted)
            said = f"Rules were used, the language model gave no answer: {safe_line(error.message)}. {found.message}"
            return Content(text=safe, entities=found.entities, concepts=found.concepts, message=said.strip())

    def ingest(self, content: str, source: str = "") -> Ingested:
        """Keep a raw lesson as a memory of confidence 0.6, tagged with what it names and claims.

        It is read by rules, so that nothing waits for a model. The same text a second time adds nothing.

        Args:
            content: The lesson, at most 20,000 characters; secrets are replaced.
            source: Where it comes from, for example a file's name.

        Raises:
            EmptyContent: When the text says nothing.
            TextTooLong: When it is longer than a memory may be.
        """
        from reasoningbank.memories.admission import admit, prepare
        from reasoningbank.search.entities import by_rules

        found = by_rules(self._safe(content))
        if not found.text:
            raise EmptyContent("memory content cannot be empty")
        kinds = [span.kind for span in (*found.concepts, *found.entities)]
        names = [span.text.casefold() for span in found.entities if len(span.text) <= MAX_TAG]
        outcome: Outcome = "failure" if "AntiPattern" in kinds or set(kinds) == {"Critique"} else "success"
        tags = dict.fromkeys([*(kind.lower() for kind in kinds), *names])
        memory = self._new(
            origin="agent",
            title=_title(found.text),
            content=found.text,
            outcome=outcome,
            description="",
            tags=tuple(tags)[:MAX_TAGS],
            category=_category(found),
            confidence=DISTILLED_CONFIDENCE,
            provenance={"source": "ingested", "session": self._session, "origin": session_name(source[:500])},
        )
        (ready,) = prepare([replace(memory, state="candidate")], self._embedder, origin="agent")
        memory = ready.memory
        with self._open_store().transaction() as transaction:
            known = [transaction.get(one) for one in transaction.same_text(memory.fingerprint)]
            if not known:
                memory = admit(transaction, ready, at=memory.created_at)
        said = "It was known already." if known else "It is stored."
        return Ingested(
            memory=known[0] if known else memory,
            content=found,
            known=bool(known),
            message=f"{said} {found.message or _counted(found)}",
        )

    def capture_later(
        self,
        *sources: str | Path,
        format: str = "auto",  # noqa: A002 - as ``capture`` has it
        quiet: timedelta = _AT_ONCE,
    ) -> int:
        """Queue files to be captured by a worker; read nothing, so that a hook is not held up.

        Args:
            sources: Files.
            format: As ``capture`` has it.
            quiet: For a file that still grows: it is captured so long after the last call for it. A call without it
                captures now and takes the place of one that waits.

        Returns:
            How many were queued: a file that waits already is queued again only when it has grown.
        """
        now = self._clock.now()
        queued = 0
        with self._open_store().transaction() as transaction:
            for source in sources:
                path = usable_path(source)
                size = path.stat().st_size if path.exists() else 0
                payload = {"path": str(path), "format": format}
                transaction.finish(Job(kind=CAPTURE, key=str(path), due=now))
                key = str(path) if quiet else f"{path}:{size}"
                job = Job(kind=CAPTURE, key=key, due=now + quiet, payload=payload)
                queued += transaction.enqueue(job) or (bool(quiet) and transaction.revive(CAPTURE, key, due=job.due))
        return queued

    @staticmethod
    def _safe(text: str) -> str:
        from reasoningbank.safety.text import safe_texts

        return safe_texts("", "", text, (), "").content


def _checked_mode(mode: str) -> ContentMode:
    for known in CONTENT_MODES:
        if mode == known:
            return known
    raise InvalidInput(f"a mode is one of {', '.join(CONTENT_MODES)}, not {str(mode)[:80]!r}")


def _category(found: Content) -> str:
    """Return the kind of its most valuable concept."""
    kinds = {span.kind for span in found.concepts}
    return next((kind.lower() for kind in CONCEPT_KINDS if kind in kinds), "")


def _title(text: str) -> str:
    """Return its first line, cut at a word."""
    line = next(line for line in text.splitlines() if line.strip()).strip().lstrip("#*->").strip() or text.strip()
    if len(line) <= _TITLE:
        return line[:MAX_TITLE]
    return line[: _TITLE - 1].rsplit(" ", 1)[0] + "\u2026"


def _counted(found: Content) -> str:
    return f"{len(found.concepts)} concepts and {len(found.entities)} entities were extracted."
