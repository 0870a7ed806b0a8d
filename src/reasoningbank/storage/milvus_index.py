"""Milvus beside the truth, a cluster or Milvus Lite in a file, with the collection of seed 003 (DESIGN D1).

A memory is an entity: the lesson and its context as texts, a dense vector of each, a sparse one of the context's words
that Milvus itself makes for BM25, tags and linked nodes as lists. Legs that a search wants with one condition are asked
for in one hybrid search. What an expression compares with are numbers, digests and names of our own, never texts that
somebody has written. What Milvus knows of a bank is an entity of its own, written after those that it speaks of.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reasoningbank.errors import ConfigurationError, StoreUnavailable
from reasoningbank.storage.index_port import (
    DOWN_HINT,
    NO_HEAD,
    UNKNOWN,
    BankPlace,
    Head,
    IndexUrl,
    Named,
    Near,
    Point,
    digest,
)
from reasoningbank.storage.rows import to_microseconds
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, TASK_LEG, Filter

if TYPE_CHECKING:
    from pymilvus import MilvusClient

_VECTOR_OF = {CONTENT_LEG: "key_lesson_vector", DESCRIPTION_LEG: "context_to_prefer_vector", TASK_LEG: "task_vector"}
_WORDS = "context_sparse_vector"
_NAMES = ("tenant", "bank", "category", "mark", "owner", "project", "level", "state", "outcome", "standing", "stamp")
_PLAIN = {"rb_id": "INT64", "created": "INT64", "change": "INT64", "confidence": "DOUBLE", "consolidated": "BOOL"}
_LISTS = ("tags", "tag_digests", "link_nodes")
_EMPTY: Mapping[str, object] = {"INT64": 0, "DOUBLE": 0.0, "BOOL": False}
_HEAD_KEY = -1
_TEXT_BYTES, _NAME_BYTES, _LIST_LENGTH = 65_535, 4_096, 4_096
"""Bytes of a text and of a name, and elements of a list, that an entity holds; what is longer is cut."""
_AT_ONCE = 256
_SCROLLED = 1_000
_LEAST_EFFORT = 128
"""The size of the list of candidates in the graph that a search goes through, at least."""
_RRF = 60
_KEEPALIVE = 300_000
"""Milliseconds between two signs of life on an idle connection; servers end one that gives more of them."""
_MOST = 16_384
"""Most entities that Milvus gives at once."""


class MilvusIndex:
    """The VectorIndex port over Milvus.

    Args:
        url: Where it is and how its collections are named.
    """

    def __init__(self, url: IndexUrl) -> None:
        self.shown = url.shown
        self._url = url
        self._lite = "://" not in url.base
        self._lock = threading.Lock()
        self._client: MilvusClient | None = None
        self._loaded: set[str] = set()

    def near(self, place: BankPlace, asked: Sequence[Near]) -> tuple[Head, Sequence[Named]]:
        head = self.head(place)
        named: list[Named] = [Named((), None)] * len(asked)
        if head is NO_HEAD:
            return head, named
        groups: dict[tuple[int, Filter], list[int]] = {}
        for number, each in enumerate(asked):
            groups.setdefault((id(each.vector), each.condition), []).append(number)
        for numbers in groups.values():
            found = self._together(place, [asked[number] for number in numbers])
            for number, one in zip(numbers, found, strict=True):
                named[number] = one
        return head, named

    def head(self, place: BankPlace) -> Head:
        expression = f"{_of(place)} and rb_id == {_HEAD_KEY}"
        found = self._asked(place, "query", filter=expression, output_fields=["mark", "change"], limit=1)
        return Head(str(found[0]["mark"]), int(found[0]["change"])) if found else NO_HEAD

    def put_head(self, place: BankPlace, head: Head) -> None:
        row = {**_nothing(place), **_whose(place, _HEAD_KEY), "mark": head.mark, "change": head.change}
        self._write(place, [row])

    def put(self, place: BankPlace, points: Sequence[Point]) -> None:
        for start in range(0, len(points), _AT_ONCE):
            self._write(place, [_entity(place, point) for point in points[start : start + _AT_ONCE]])

    def remove(self, place: BankPlace, keys: Sequence[int]) -> None:
        for start in range(0, len(keys), _SCROLLED):
            among = ", ".join(str(int(key)) for key in keys[start : start + _SCROLLED])
            self._asked(place, "delete", filter=f"{_of(place)} and rb_id in [{among}]")

    def stamps(self, place: BankPlace) -> Iterator[tuple[int, str]]:
        last = _HEAD_KEY
        while True:
            # By ranges of keys: an entity that is written meanwhile moves no other.
            window = f"{_of(place)} and rb_id > {last} and rb_id <= {last + _SCROLLED}"
            found = self._asked(place, "query", filter=window, output_fields=["rb_id", "stamp"], limit=_SCROLLED)
            yield from ((int(row["rb_id"]), str(row["stamp"])) for row in found or ())
            last += _SCROLLED
            rest = f"{_of(place)} and rb_id > {last}"
            if not found and not self._asked(place, "query", filter=rest, output_fields=["rb_id"], limit=1):
                return

    def drop(self, place: BankPlace, *, others: bool = False) -> None:
        own = self._url.collection(place)
        for collection in self._call("list_collections"):
            if self._url.may_hold(collection, place) and not (others and collection == own):
                self._load(collection)
                self._call("delete", collection, filter=_of(place))

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
            self._loaded.clear()
        if client is not None:
            client.close()

    def _together(self, place: BankPlace, asked: Sequence[Near]) -> Sequence[Named]:
        """Return what is named for wishes of one vector and one condition: all that the parts of one search find."""
        expression = f"{_of(place)} and rb_id >= 0 and {_condition(asked[0].condition)}"
        words = next((each.text for each in asked if each.text), "")
        from pymilvus import AnnSearchRequest, RRFRanker

        parts = [
            AnnSearchRequest(
                [each.vector.tolist()],
                _VECTOR_OF[each.leg],
                self._effort(each.limit),
                each.limit,
                expr=f"{expression} and {_has(_VECTOR_OF[each.leg])} == true",
            )
            for each in asked
        ]
        if words:
            parts.append(AnnSearchRequest([words], _WORDS, {}, asked[0].limit, expr=expression))
        hits = self._asked(
            place,
            "hybrid_search",
            reqs=parts,
            ranker=RRFRanker(_RRF),
            limit=min(sum(part.limit for part in parts), _MOST),
            output_fields=["rb_id"],
        )
        keys = [int(hit["entity"]["rb_id"]) for hit in (hits[0] if hits else ())]
        return [Named(keys, None if len(keys) < each.limit else UNKNOWN) for each in asked]

    def _effort(self, limit: int) -> dict[str, object]:
        return {} if self._lite else {"params": {"ef": max(_LEAST_EFFORT, 2 * limit)}}

    def _write(self, place: BankPlace, rows: Sequence[Mapping[str, object]]) -> None:
        if self._asked(place, "upsert", data=rows) is None:
            self._make(place)
            if self._asked(place, "upsert", data=rows) is None:
                raise StoreUnavailable(f"the collection of {self.shown} was removed meanwhile", hint=DOWN_HINT)

    def _make(self, place: BankPlace) -> None:
        """Make the collection of seed 003, with what keeps tenants apart and what conditions are about."""
        from pymilvus import DataType, Function, FunctionType

        client = self._connected()
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.VARCHAR, max_length=32, is_primary=True)
        for name in _NAMES:
            schema.add_field(name, DataType.VARCHAR, max_length=_NAME_BYTES)
        for name, kind in _PLAIN.items():
            schema.add_field(name, DataType[kind])
        schema.add_field("key_lesson", DataType.VARCHAR, max_length=_TEXT_BYTES)
        schema.add_field("context_to_prefer", DataType.VARCHAR, max_length=_TEXT_BYTES, enable_analyzer=True)
        texts = {"element_type": DataType.VARCHAR, "max_capacity": _LIST_LENGTH, "max_length": _TEXT_BYTES}
        for name in _LISTS:
            schema.add_field(name, DataType.ARRAY, **texts)
        for name in _VECTOR_OF.values():
            schema.add_field(name, DataType.FLOAT_VECTOR, dim=place.dimension)
            schema.add_field(_has(name), DataType.BOOL)
        schema.add_field(_WORDS, DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(Function("context_words", FunctionType.BM25, ["context_to_prefer"], [_WORDS]))
        indexes = client.prepare_index_params()
        graph: dict[str, Any] = {"index_type": "HNSW", "params": {"M": 16, "efConstruction": 200}}
        for name in _VECTOR_OF.values():
            indexes.add_index(name, metric_type="IP", **({"index_type": "FLAT"} if self._lite else graph))
        indexes.add_index(_WORDS, index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        collection = self._url.collection(place)
        if not self._call("has_collection", collection):
            self._call("create_collection", collection, schema=schema)
        # The collection is empty: there is nothing to wait for, and the client would wait half a second an index.
        self._call("create_index", collection, index_params=indexes, sync=False)

    def _asked(self, place: BankPlace, method: str, **values: Any) -> Any:
        """Return what a call about the collection of a bank gives; None when there is no such collection.

        Raises:
            StoreUnavailable: When Milvus does not answer or refuses.
        """
        collection = self._url.collection(place)
        if not self._load(collection):
            return None
        try:
            return self._call(method, collection, **values)
        except StoreUnavailable:
            if self._call("has_collection", collection):
                raise
            self._loaded.discard(collection)
            return None

    def _load(self, collection: str) -> bool:
        """Make a collection searchable; return whether there is one."""
        if collection not in self._loaded:
            if not self._call("has_collection", collection):
                return False
            self._call("load_collection", collection)
            self._loaded.add(collection)
        return True

    def _call(self, method: str, *values: Any, **named: Any) -> Any:
        client = self._connected()
        from grpc import RpcError
        from pymilvus.exceptions import MilvusException

        try:
            return getattr(client, method)(*values, timeout=self._url.seconds, **named)
        except (MilvusException, RpcError, OSError, ValueError) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        said = " ".join(str(getattr(error, "message", error)).split())[:200]
        return StoreUnavailable(
            f"the vector index at {self.shown} failed ({type(error).__name__}: {said})", hint=DOWN_HINT
        )

    def _connected(self) -> MilvusClient:
        with self._lock:
            if self._client is None:
                try:
                    from pymilvus import MilvusClient
                    from pymilvus.exceptions import MilvusException
                except ImportError as error:
                    raise ConfigurationError(
                        "Milvus needs the extra `milvus`",
                        hint="Run: pip install 'pymilvus>=3,<4' 'milvus-lite>=3.2,<4'.",
                    ) from error
                try:
                    if self._lite:
                        Path(self._url.base).parent.mkdir(parents=True, exist_ok=True)
                    self._client = MilvusClient(
                        self._url.base,
                        user=self._url.user,
                        password=self._url.password,
                        timeout=self._url.seconds,
                        grpc_options={"grpc.keepalive_time_ms": _KEEPALIVE},
                    )
                except (MilvusException, OSError, ValueError) as error:
                    raise self._unavailable(error) from error
            return self._client


def _of(place: BankPlace) -> str:
    """Return what every expression begins with."""
    return f'tenant == "{place.tenant}" and bank == "{place.bank}"'


def _whose(place: BankPlace, key: int) -> dict[str, object]:
    return {
        "id": place.name(key),
        "tenant": place.tenant,
        "bank": place.bank,
        "owner": _cut(place.scope.tenant, _NAME_BYTES),
        "project": _cut(place.scope.project, _NAME_BYTES),
        "level": place.scope.level,
        "rb_id": key,
    }


def _has(vector: str) -> str:
    """Return the field that says whether an entity has a vector: none is empty, so one that it lacks is of zeros."""
    return f"has_{vector}"


def _nothing(place: BankPlace) -> dict[str, object]:
    """Return the fields of an entity that says nothing."""
    found: dict[str, object] = dict.fromkeys((*_NAMES, "key_lesson", "context_to_prefer"), "")
    found |= {name: _EMPTY[kind] for name, kind in _PLAIN.items()} | {name: [] for name in _LISTS}
    for name in _VECTOR_OF.values():
        found |= {name: [0.0] * place.dimension, _has(name): False}
    return found


def _entity(place: BankPlace, point: Point) -> Mapping[str, object]:
    fields = dict(point.fields)
    tags, links = (cast("Sequence[str]", fields.pop(name))[:_LIST_LENGTH] for name in ("tags", "link_nodes"))
    category = str(fields.pop("category"))
    return {
        **_nothing(place),
        **_whose(place, point.key),
        **fields,
        "category": digest(category),
        "tags": [_cut(tag, _TEXT_BYTES) for tag in tags],
        "tag_digests": [digest(tag) for tag in tags],
        "link_nodes": [_cut(link, _TEXT_BYTES) for link in links],
        "stamp": point.stamp,
        "key_lesson": _cut(point.lesson, _TEXT_BYTES),
        "context_to_prefer": _cut(point.context, _TEXT_BYTES),
        **{_VECTOR_OF[leg]: vector.tolist() for leg, vector in point.vectors.items()},
        **{_has(_VECTOR_OF[leg]): True for leg in point.vectors},
    }


def _condition(condition: Filter) -> str:
    """Return a filter as Milvus says it."""
    after, before = condition.created_after, condition.created_before
    compared: Mapping[str, object] = {
        "outcome ==": None if condition.outcome is None else f'"{condition.outcome}"',
        "category ==": None if condition.category is None else f'"{digest(condition.category)}"',
        "consolidated ==": None if condition.consolidated is None else str(condition.consolidated).lower(),
        "confidence >=": None if condition.min_confidence is None else repr(float(condition.min_confidence)),
        "confidence <": None if condition.below_confidence is None else repr(float(condition.below_confidence)),
        "created >=": None if after is None else to_microseconds(after),
        "created <": None if before is None else to_microseconds(before),
    }
    parts = [f"state in [{_listed(condition.states)}]"]
    parts += [f"{name} {value}" for name, value in compared.items() if value is not None]
    if condition.categories is not None:
        parts.append(f"category in [{_listed([digest(each) for each in condition.categories])}]")
    parts += [f'array_contains(tag_digests, "{digest(tag)}")' for tag in condition.tags]
    return " and ".join(parts)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _cut(text: str, size: int) -> str:
    """Return the text as far as it fits into so many bytes."""
    return text.encode()[:size].decode(errors="ignore")
