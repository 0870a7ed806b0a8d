"""Qdrant beside the truth, spoken to over its REST interface (DESIGN D1, docs/decisions/0025).

A point has a named vector for each leg, and a payload that conditions are about. It holds no text. Its identifier is a
digest of the bank and the key, so that no bank can write over another one's. What Qdrant knows of a bank is a point of
its own without a vector, written after the points that it speaks of.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from reasoningbank.errors import ConfigurationError, StoreUnavailable
from reasoningbank.settings import on_this_machine
from reasoningbank.storage.index_port import DOWN_HINT, NO_HEAD, BankPlace, Head, IndexUrl, Named, Near, Point
from reasoningbank.storage.rows import to_microseconds
from reasoningbank.types.recall import VECTOR_LEGS, Filter

if TYPE_CHECKING:
    from httpx2 import Client

_HEAD = "head"
"""What stands for a key in the identifier of the point that says what is known of a bank."""
_HEAD_KEY = -1
_AT_ONCE = 256
_SCROLLED = 2_000
_LEAST_EFFORT = 128
"""The size of the list of candidates in the graph that a search goes through, at least."""
_MISSING = 404
_CONFLICT = 409
_FIELDS: Mapping[str, object] = {
    "tenant": {"type": "keyword", "is_tenant": True},
    "bank": "keyword",
    "key": "integer",
    "state": "keyword",
    "outcome": "keyword",
    "category": "keyword",
    "consolidated": "bool",
    "confidence": "float",
    "created": "integer",
    "tags": "keyword",
    "standing": "keyword",
}
"""The fields of the payload that conditions are about, and their indexes."""


class QdrantIndex:
    """The VectorIndex port over a Qdrant server.

    Args:
        url: Where it is and how its collections are named; a password is the key of its interface.
    """

    def __init__(self, url: IndexUrl) -> None:
        self.shown = url.shown
        self._url = url
        self._lock = threading.Lock()
        self._client: Client | None = None

    def near(self, place: BankPlace, asked: Sequence[Near]) -> tuple[Head, Sequence[Named]]:
        searches: list[dict[str, object]] = [
            {
                "query": each.vector.tolist(),
                "using": each.leg,
                "filter": {"must": [*_of(place), *_conditions(each.condition)]},
                "limit": each.limit,
                "with_payload": ["key"],
                "params": {"hnsw_ef": max(_LEAST_EFFORT, 2 * each.limit)},
            }
            for each in asked
        ]
        searches.append({"filter": {"must": [*_of(place), _is(_HEAD_KEY)]}, "limit": 1, "with_payload": True})
        found = self._asked("POST", f"{self._collection(place)}/points/query/batch", {"searches": searches})
        if found is None:
            return NO_HEAD, [Named((), None) for _ in asked]
        *answers, heads = [each["points"] for each in found]
        named = [
            Named(
                [int(point["payload"]["key"]) for point in points],
                float(points[-1]["score"]) if len(points) == each.limit else None,
            )
            for each, points in zip(asked, answers, strict=True)
        ]
        return _head(heads), named

    def head(self, place: BankPlace) -> Head:
        wanted = {"filter": {"must": [*_of(place), _is(_HEAD_KEY)]}, "limit": 1, "with_payload": True}
        found = self._asked("POST", f"{self._collection(place)}/points/scroll", wanted)
        return NO_HEAD if found is None else _head(found["points"])

    def put_head(self, place: BankPlace, head: Head) -> None:
        payload = {"tenant": place.tenant, "bank": place.bank, "key": _HEAD_KEY, **head._asdict()}
        self._write(place, [{"id": str(UUID(place.name(_HEAD))), "vector": {}, "payload": payload}])

    def put(self, place: BankPlace, points: Sequence[Point]) -> None:
        for start in range(0, len(points), _AT_ONCE):
            self._write(
                place,
                [
                    {
                        "id": str(UUID(place.name(point.key))),
                        "vector": {leg: vector.tolist() for leg, vector in point.vectors.items()},
                        "payload": {
                            **point.fields,
                            "owner": place.scope.tenant,
                            "project": place.scope.project,
                            "level": place.scope.level,
                            "tenant": place.tenant,
                            "bank": place.bank,
                            "key": point.key,
                            "stamp": point.stamp,
                        },
                    }
                    for point in points[start : start + _AT_ONCE]
                ],
            )

    def remove(self, place: BankPlace, keys: Sequence[int]) -> None:
        for start in range(0, len(keys), _SCROLLED):
            among = {"key": "key", "match": {"any": list(keys[start : start + _SCROLLED])}}
            self._delete(self._collection(place), [*_of(place), among])

    def stamps(self, place: BankPlace) -> Iterator[tuple[int, str]]:
        offset: object = None
        while True:
            wanted = {
                "filter": {"must": [*_of(place), {"key": "key", "range": {"gte": 0}}]},
                "limit": _SCROLLED,
                "with_payload": ["key", "stamp"],
                "offset": offset,
            }
            found = self._asked("POST", f"{self._collection(place)}/points/scroll", wanted)
            if found is None:
                return
            for point in found["points"]:
                yield int(point["payload"]["key"]), str(point["payload"].get("stamp", ""))
            offset = found["next_page_offset"]
            if offset is None:
                return

    def drop(self, place: BankPlace, *, others: bool = False) -> None:
        found = self._asked("GET", "collections")
        own = self._collection(place)
        for collection in [each["name"] for each in (found or {"collections": ()})["collections"]]:
            if self._url.may_hold(collection, place) and not (others and own == f"collections/{collection}"):
                self._delete(f"collections/{collection}", _of(place))

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _collection(self, place: BankPlace) -> str:
        return f"collections/{self._url.collection(place)}"

    def _write(self, place: BankPlace, points: Sequence[Mapping[str, object]]) -> None:
        """Write points, into a collection that is made when there is none; they are durable after it."""
        path = f"{self._collection(place)}/points?wait=true"
        if self._asked("PUT", path, {"points": points}) is None:
            self._make(place)
            if self._asked("PUT", path, {"points": points}) is None:
                raise StoreUnavailable(
                    f"the collection of {self.shown} was removed while it was written", hint=DOWN_HINT
                )

    def _make(self, place: BankPlace) -> None:
        collection = self._collection(place)
        vectors = {leg: {"size": place.dimension, "distance": "Dot"} for leg in VECTOR_LEGS}
        self._asked("PUT", collection, {"vectors": vectors}, allowed=_CONFLICT)
        for field, kind in _FIELDS.items():
            self._asked("PUT", f"{collection}/index?wait=true", {"field_name": field, "field_schema": kind})

    def _delete(self, collection: str, conditions: Sequence[object]) -> None:
        self._asked("POST", f"{collection}/points/delete?wait=true", {"filter": {"must": conditions}})

    def _asked(self, method: str, path: str, body: object = None, *, allowed: int = _MISSING) -> Any:
        """Return the result of a request; None when it is refused with the status that is allowed.

        Raises:
            StoreUnavailable: When the server does not answer or refuses.
        """
        client = self._connected()
        import httpx2

        try:
            response = client.request(method, path, json=body)
            answer = response.json() if response.status_code != allowed else None
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, ValueError) as error:
            raise StoreUnavailable(
                f"the vector index at {self.shown} does not answer ({type(error).__name__})", hint=DOWN_HINT
            ) from error
        if answer is None:
            return None
        if response.status_code >= 400 or not isinstance(answer, dict) or "result" not in answer:
            raise StoreUnavailable(
                f"the vector index at {self.shown} refused with status {response.status_code}: {_reason(answer)}",
                hint=DOWN_HINT,
            )
        return answer["result"]

    def _connected(self) -> Client:
        with self._lock:
            if self._client is None:
                try:
                    import httpx2
                except ImportError as error:
                    raise ConfigurationError(
                        "Qdrant needs the extra `qdrant`", hint="Run: pip install 'httpx2>=2.16,<3'."
                    ) from error
                self._client = httpx2.Client(
                    base_url=self._url.base,
                    headers={"api-key": self._url.password} if self._url.password else {},
                    timeout=self._url.seconds,
                    trust_env=not on_this_machine(self._url.base),
                )
            return self._client


def _of(place: BankPlace) -> list[dict[str, object]]:
    """Return what every condition begins with."""
    return [{"key": "tenant", "match": {"value": place.tenant}}, {"key": "bank", "match": {"value": place.bank}}]


def _is(key: int) -> dict[str, object]:
    return {"key": "key", "match": {"value": key}}


def _conditions(condition: Filter) -> list[dict[str, object]]:
    """Return a filter as Qdrant says it."""
    exact = {
        "outcome": condition.outcome,
        "category": condition.category,
        "consolidated": condition.consolidated,
    }
    found: list[dict[str, object]] = [{"key": "state", "match": {"any": list(condition.states)}}]
    found += [{"key": name, "match": {"value": value}} for name, value in exact.items() if value is not None]
    found += [{"key": "tags", "match": {"value": tag}} for tag in condition.tags]
    if condition.categories is not None:
        found.append({"key": "category", "match": {"any": list(condition.categories)}})
    moments = (condition.created_after, condition.created_before)
    after, before = (None if each is None else to_microseconds(each) for each in moments)
    for name, least, below in (
        ("confidence", condition.min_confidence, condition.below_confidence),
        ("created", after, before),
    ):
        if least is not None or below is not None:
            found.append({"key": name, "range": {"gte": least, "lt": below}})
    return found


def _head(points: Sequence[Mapping[str, Any]]) -> Head:
    if not points:
        return NO_HEAD
    payload = cast("Mapping[str, Any]", points[0]["payload"])
    return Head(str(payload["mark"]), int(payload["change"]))


def _reason(answer: object) -> str:
    """Return the reason in a refusal."""
    status = answer.get("status") if isinstance(answer, dict) else None
    reason = status.get("error") if isinstance(status, dict) else status
    return str(reason)[:200]
