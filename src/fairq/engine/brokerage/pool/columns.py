"""The queues of a run as NumPy columns, with pseudo queues, and cached values shared by many tasks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.pool.world import Counts, Queue, ResourceType, World


def split_queue(queue: Queue, types: Iterable[ResourceType]) -> list[Queue]:
    """Return the pseudo queues of a unified *queue*, one for each resource type that its slots can hold.

    Unlimited memory stays unlimited. The minimum memory of a pseudo queue may exceed its maximum; it then accepts no
    task.
    """
    slot_cores = max(1, queue.corecount)
    return [
        _pseudo_queue(queue, slot_cores, resource_type)
        for resource_type in types
        if slot_cores >= resource_type.mincore
    ]


def candidates_of(queues: Iterable[Queue], types: Iterable[ResourceType]) -> list[Queue]:
    """Return the possible candidates: *queues*, with pseudo queues in place of each unified queue.

    A unified queue without pseudo queues stays, so that its refusal can be explained.
    """
    type_list = tuple(types)
    return [
        candidate
        for queue in queues
        for candidate in ((split_queue(queue, type_list) if queue.is_unified else []) or [queue])
    ]


def _pseudo_queue(queue: Queue, slot_cores: int, resource_type: ResourceType) -> Queue:
    cores = max(min(slot_cores, resource_type.maxcore) if resource_type.maxcore else slot_cores, resource_type.mincore)
    part = cores / slot_cores
    slot_minrss, slot_maxrss = queue.minrss or 0, queue.maxrss
    if resource_type.minrampercore is not None:
        minrss = max(cores * resource_type.minrampercore - cores + 1, slot_minrss * part)
    else:
        minrss = slot_minrss
    if slot_maxrss is None:
        maxrss = None if resource_type.maxrampercore is None else cores * resource_type.maxrampercore
    elif resource_type.maxrampercore is not None:
        maxrss = min(cores * resource_type.maxrampercore, slot_maxrss * part)
    else:
        maxrss = slot_maxrss * part
    return replace(
        queue,
        name=f"{queue.name}/{resource_type.name}",
        unified=queue.name,
        resource_type=resource_type.name,
        corecount=cores,
        minrss=minrss,
        maxrss=maxrss,
    )


T = TypeVar("T")
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


class Pool:
    """The queues that can be brokered, in order of name, under one set of rules; pseudo queues replace unified queues.

    A *row* is one of these queues. Its *unit* is the queue that statistics, links, storage, pilots and software refer
    to: the unified queue of a pseudo queue, otherwise the queue itself. All arrays have one value per row.

    Args:
        world: the snapshot.
        rules: the rules in force.

    Attributes:
        config: PanDA's own settings.
        queues: the queue of each row.
        names: its name.
        rows: the row of each name.
        units: the units, in order of name.
        unit_names: the name of each unit.
        unit_of: for each row the number of its unit.
    """

    def __init__(self, world: World, rules: Rules) -> None:
        self.world, self.rules, self.config = world, rules, world.config
        queues = candidates_of(world.queues.values(), world.resource_types)
        self.queues: tuple[Queue, ...] = tuple(sorted(queues, key=lambda queue: (queue.unit, queue.name)))
        self.names: tuple[str, ...] = tuple(queue.name for queue in self.queues)
        self.rows: dict[str, int] = {name: row for row, name in enumerate(self.names)}
        self.unit_names: tuple[str, ...] = tuple(sorted({queue.unit for queue in self.queues}))
        self.unit_numbers: dict[str, int] = {name: number for number, name in enumerate(self.unit_names)}
        by_unit = {queue.unit: queue for queue in self.queues}
        self.units: tuple[Queue, ...] = tuple(world.queues.get(name, by_unit[name]) for name in self.unit_names)
        self.unit_of: NDArray[np.intp] = np.array([self.unit_numbers[q.unit] for q in self.queues], dtype=np.intp)
        self._kept: dict[Hashable, Any] = {}
        self._under: dict[Hashable, Any] = {}

    def with_rules(self, rules: Rules) -> Pool:
        """Return the same queues under other *rules*; results that depend on no rule are shared."""
        pool = copy(self)
        pool.rules, pool._under = rules, {}
        return pool

    def __len__(self) -> int:
        return len(self.queues)

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of *make*, computed once under *key*.

        The key contains the rule and all properties of the task that the result depends on.
        """
        return _once(self._kept, key, make)

    def under(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of *make*, computed once under *key* for these rules."""
        return _once(self._under, key, make)

    @property
    def starts(self) -> NDArray[np.intp]:
        """The first row of each unit; the rows of a unit are next to each other."""
        return self.kept("first rows", lambda: np.flatnonzero(np.diff(self.unit_of, prepend=-1)))

    def numbers(self, name: Hashable, get: Callable[[Queue], float]) -> Floats:
        """Return a number of each row's queue, stored under *name*."""
        return self.kept(("row", name), lambda: np.array([get(queue) for queue in self.queues], dtype=np.float64))

    def unknown(self, names: Iterable[str]) -> list[str]:
        """Return the *names* that are neither a queue nor a unified queue."""
        return [name for name in names if name not in self.rows and name not in self.unit_numbers]

    def flags(self, name: Hashable, get: Callable[[Queue], bool]) -> Booleans:
        """Return a boolean of each row's queue, stored under *name*."""
        return self.kept(("flag", name), lambda: np.array([get(queue) for queue in self.queues], dtype=np.bool_))

    def different(self, name: Hashable, get: Callable[[Queue], T]) -> tuple[list[T], NDArray[np.intp]]:
        """Return the distinct values of the rows' queues, and the index of each row's value; stored under *name*."""

        def make() -> tuple[list[T], NDArray[np.intp]]:
            values = [get(queue) for queue in self.queues]
            indices = {value: index for index, value in enumerate(dict.fromkeys(values))}
            return list(indices), np.array([indices[value] for value in values], np.intp)

        return self.kept(("different", name), make)

    def unit_numbers_of(self, key: Hashable, get: Callable[[Queue], float]) -> Floats:
        """Return a number of each row's unit, computed once per unit and stored under *key*."""
        return self.kept(("unit", key), lambda: self.spread([get(unit) for unit in self.units]))

    def unit_flags(self, key: Hashable, get: Callable[[Queue], bool]) -> Booleans:
        """Return a boolean of each row's unit, computed once per unit and stored under *key*."""
        return self.kept(("unit flag", key), lambda: self.unit_rows([get(unit) for unit in self.units]))

    def unit_rows(self, values: Sequence[bool]) -> Booleans:
        """Return booleans given by unit as one value per row."""
        return np.array(values, dtype=np.bool_)[self.unit_of]

    def spread(self, values: Sequence[float]) -> Floats:
        """Return numbers given by unit as one value per row."""
        return np.array(values, dtype=np.float64)[self.unit_of]

    def job_counts(self, share: str | None, state: str) -> Floats:
        """Return the jobs in *state* of each row's unit, of *share*, or of all shares if that is None."""

        def make() -> Floats:
            # Lists take a third of the time of a function call per unit.
            if share is None:
                return self.spread(
                    [sum([states.get(state, 0) for states in shares.values()]) for shares in stats_by_unit()]
                )
            return self.spread([states.get(state, 0) for states in counts_by_unit(share)])

        def stats_by_unit() -> list[Mapping[str, Counts]]:
            return [self.world.job_stats.get(name, {}) for name in self.unit_names]

        def counts_by_unit(name: str) -> list[Counts]:
            none: Counts = {}
            return self.kept(("jobs of share", name), lambda: [shares.get(name, none) for shares in stats_by_unit()])

        return self.kept(("jobs", share, state), make)


def _once(results: dict[Hashable, Any], key: Hashable, make: Callable[[], T]) -> T:
    try:
        value: T = results[key]
    except KeyError:
        value = results[key] = make()
    return value
