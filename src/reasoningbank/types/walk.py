"""An activation walk: where it starts, how it goes, and the paths it brings back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal, get_args

from reasoningbank.errors import InvalidInput
from reasoningbank.types.annotation import check_fields
from reasoningbank.types.argument import Between, Share
from reasoningbank.types.graph import LABELS, Edge, Label, Node
from reasoningbank.types.standing import Standing

Preset = Literal["default", "memoria"]
Direction = Literal["both", "along", "against"]

PRESETS: tuple[Preset, ...] = get_args(Preset)
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

MAX_DEPTH = 10
MAX_BRANCHES = 50
MAX_SEEDS = 100
MAX_QUERY_TAGS = 128
MAX_PATHS = 10_000
MAX_REACHED = 20_000
"""Most nodes that one walk reaches, counted once for each seed; then it stops and says so."""

FOUND = ""
SEED_NOT_FOUND = "seed_not_found"
"""The reason of a seed whose node does not exist; the other seeds are walked all the same."""

_DEFAULT_PATHS = 20
_TAG_FLOOR = 0.15
_TAG_GAIN = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkParameters:
    """How a walk goes.

    Attributes:
        preset: ``default``, or ``memoria`` to walk exactly as the Memoria system does.
        tags: Words of the question; edges that carry them are preferred.
        max_depth: Most hops of a path, from 1 to 10.
        max_branches: Most hops onward from one node, from 1 to 50.
        min_activation: A node is reached only with more energy than this; at least 0 and below 1.
        tag_floor: ``memoria`` only: what a hop without any matching tag keeps, from 0 to 1.
        tag_gain: ``default`` only: how much a hop with matching tags gains at most, 0 or more.
        direction: ``default`` only: hops in both directions, along the edges, or against them.
        labels: ``default`` only: labels of the nodes that may be reached; empty for all.
        ends: ``default`` only: labels of which a path's last node is; empty for all. Paths without one are left out.
        since, until: ``default`` only: events that do not overlap this window, its end exclusive, are not reached. Left
            out: no bound.
        half_life_days: ``default`` only: after so many days a node's energy has lost half of what age can take, which
            is half of all. Left out: no recency.
        moment: The present, for recency.
        max_paths: Most paths in the answer. Left out: 20 of ``default`` and all of ``memoria``.

    Raises:
        InvalidInput: The message names the parameter. A parameter that the preset does not have is refused rather than
            left without effect.
    """

    preset: Preset = "default"
    tags: tuple[str, ...] = ()
    max_depth: Annotated[int, Between(1, MAX_DEPTH)] = 5
    max_branches: Annotated[int, Between(1, MAX_BRANCHES)] = 3
    min_activation: Annotated[float, Between(0.0, below=1.0)] = 0.005
    tag_floor: Share = _TAG_FLOOR
    tag_gain: Annotated[float, Between(0.0, 1_000.0)] = _TAG_GAIN
    direction: Direction = "both"
    labels: tuple[Label, ...] = ()
    ends: tuple[Label, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    half_life_days: Annotated[float, Between(above=0.0, most=100_000.0)] | None = None
    moment: datetime | None = None
    max_paths: Annotated[int, Between(1, MAX_PATHS)] | None = None

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise InvalidInput(f"preset: must be one of {', '.join(PRESETS)}, not {str(self.preset)[:80]!r}")
        check_fields(self)
        _check_tags(self.tags)
        self._check_choices()
        self._check_times()
        self._check_preset()

    @property
    def path_limit(self) -> int:
        """Most paths in the answer."""
        if self.max_paths is not None:
            return self.max_paths
        return _DEFAULT_PATHS if self.preset == "default" else MAX_PATHS

    def _check_choices(self) -> None:
        if self.direction not in DIRECTIONS:
            raise InvalidInput(f"direction: must be one of {', '.join(DIRECTIONS)}, not {str(self.direction)[:80]!r}")
        for name, labels in (("labels", self.labels), ("ends", self.ends)):
            for label in labels:
                if label not in LABELS:
                    raise InvalidInput(f"{name}: must be of {', '.join(LABELS)}, not {str(label)[:80]!r}")

    def _check_times(self) -> None:
        for name, moment in (("since", self.since), ("until", self.until), ("moment", self.moment)):
            if moment is not None and moment.tzinfo is None:
                raise InvalidInput(f"{name}: must carry a time zone")
        if self.since is not None and self.until is not None and self.until < self.since:
            raise InvalidInput("until: is before since")
        if self.half_life_days is not None and self.moment is None:
            raise InvalidInput("moment: recency needs to know the present")

    def _check_preset(self) -> None:
        if self.preset == "default":
            if self.tag_floor != _TAG_FLOOR:
                raise InvalidInput("tag_floor: the default preset has no floor; use tag_gain")
            return
        foreign = (
            ("tag_gain", self.tag_gain != _TAG_GAIN),
            ("direction", self.direction != "both"),
            ("labels", bool(self.labels)),
            ("ends", bool(self.ends)),
            ("since", self.since is not None),
            ("until", self.until is not None),
            ("half_life_days", self.half_life_days is not None),
        )
        for name, given in foreign:
            if given:
                raise InvalidInput(f"{name}: the memoria preset does not have it", hint="Use the default preset.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkSeed:
    """A node where a walk was to start.

    Attributes:
        id: The node.
        score: The energy it starts with.
        found: True when there is such a node.
        reason: ``seed_not_found`` when there is none, else empty.
    """

    id: str
    score: float
    found: bool = True
    reason: str = FOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One step of a path.

    Attributes:
        edge: The edge as it is stored: its sentence reads from its source to its target.
        reached: The node the step ends at.
        transfer: The energy that came over this edge.
        activation: The energy of the node reached: the transfer, and what came to it on other ways.
    """

    edge: Edge
    reached: str
    transfer: float
    activation: float

    @property
    def reversed(self) -> bool:
        """Return whether the step goes against the edge: the sentence's subject is then the node reached."""
        return self.edge.source == self.reached

    @property
    def left(self) -> str:
        """The node the step starts at."""
        return self.edge.target if self.reversed else self.edge.source


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkPath:
    """A way from a seed to a node.

    Attributes:
        seed: Where it starts.
        hops: The steps; none for a seed that leads nowhere.
        score: What the path adds to the paths before it; see ``reasoningbank.graph.walk``. With the preset
            ``memoria`` the energy of its last node, which orders nothing.
    """

    seed: str
    hops: tuple[Hop, ...] = ()
    score: float = 0.0

    @property
    def nodes(self) -> tuple[str, ...]:
        """Ids of its nodes, the seed first."""
        return (self.seed, *(hop.reached for hop in self.hops))

    @property
    def edges(self) -> tuple[str, ...]:
        """Ids of its edges."""
        return tuple(hop.edge.id for hop in self.hops)

    @property
    def energies(self) -> tuple[float, ...]:
        """The energy of each node after the seed."""
        return tuple(hop.activation for hop in self.hops)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentence of each edge, as stored; before one that is no more than a claim it says so."""
        return tuple(hop.edge.told for hop in self.hops)

    @property
    def standings(self) -> tuple[Standing, ...]:
        """The standing of each edge."""
        return tuple(hop.edge.standing for hop in self.hops)


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkResult:
    """Hold what a walk brings back.

    Attributes:
        seeds: Every seed that was asked for, in that order.
        paths: The paths; of ``default`` the best first, of ``memoria`` in the order in which they ended.
        nodes: Every node of a path, by id.
        reached: How many nodes were reached, counted once for each seed.
        left_out: How many paths were found and are not in the answer, because they add nothing or there are too many.
        stopped: True when the walk ended because it had reached the most nodes that a walk may reach.
    """

    seeds: tuple[WalkSeed, ...] = ()
    paths: tuple[WalkPath, ...] = ()
    nodes: Mapping[str, Node] = field(default_factory=dict)
    reached: int = 0
    left_out: int = 0
    stopped: bool = False


Attribute = str | float | bool | tuple[str, ...]
"""The value of a node's or an edge's attribute in a rendering."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphContext:
    """Preferences and paths as text for a language model, within a token budget.

    Attributes:
        text: Quoted evidence between the marks of ``domain/echo.py``; empty when nothing fits or there is nothing.
        tokens: cl100k tokens of the text; never above the budget.
        paths: Each path that the text shows, as one line.
        nodes, edges: The attributes of every node and edge of those paths, each once, as the text has them.
        left_out: How many paths of the walk the budget left out.
        preferences: Ids of the preferences that the text begins with.
    """

    text: str = ""
    tokens: int = 0
    paths: tuple[str, ...] = ()
    nodes: tuple[Mapping[str, Attribute], ...] = ()
    edges: tuple[Mapping[str, Attribute], ...] = ()
    left_out: int = 0
    preferences: tuple[str, ...] = ()


def check_seeds(seeds: Mapping[str, float]) -> None:
    """Refuse seeds that no walk can start from.

    Raises:
        InvalidInput: When there are more than 100, an id is empty, or a score is not a finite number above 0.
    """
    if len(seeds) > MAX_SEEDS:
        raise InvalidInput(f"seeds: a walk starts from at most {MAX_SEEDS} nodes, not {len(seeds)}")
    for name, score in seeds.items():
        if not name.strip():
            raise InvalidInput("seeds: an id cannot be empty")
        if isinstance(score, bool) or not math.isfinite(score) or score <= 0.0:
            raise InvalidInput(f"seeds: the score of {name[:80]!r} must be a finite number above 0, not {score!r}")


def _check_tags(tags: tuple[str, ...]) -> None:
    if len(tags) > MAX_QUERY_TAGS:
        raise InvalidInput(f"tags: at most {MAX_QUERY_TAGS}, not {len(tags)}")
    if any(not tag.strip() for tag in tags):
        raise InvalidInput("tags: a tag cannot be empty")
