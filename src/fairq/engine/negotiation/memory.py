"""What cycles of one question have in common: those of a forecast, or those that try what lets a job start.

From one of these cycles to the next, little changes: some slots have other users, some jobs have started. Autoclusters,
requests and the results of expressions stay for all that stays as it is. A cycle with a memory decides as one without.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad import AdColumns, Expression
from fairq.engine.negotiation.autoclusters import Autoclusters
from fairq.engine.negotiation.expression_cache import Facts
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.request_columns import ColumnQueue
from fairq.engine.negotiation.requests import RequestQueue
from fairq.engine.negotiation.snapshot import SubmitterQueue
from fairq.engine.quotas.demand import IdleDemand
from fairq.records import Ad, job_count

Thing = TypeVar("Thing")
Result = TypeVar("Result")

_MOST_KEPT = 20_000
"""So many results are kept, at most; then they are forgotten, all at once."""

_MOST_SCENES = 3
"""So many scenes of larger pools are kept, those used last."""

_MOST_COLUMNS = 5_000
"""So many columns of values are kept, at most: some 100 MB where there are 2,000 slots."""


class Memory:
    """Keeps what does not change from cycle to cycle; all slots have their values in one pool of values."""

    def __init__(self) -> None:
        self._scenes: dict[Hashable, Scene] = {}
        self._of_same_slots: dict[Hashable, Scene] = {}
        """Of larger pools, the last few: slots that have changed do not come again."""
        self._numbers: dict[Hashable, int] = {}
        self._new_numbers = count()
        self._masks: dict[bytes, NDArray[np.bool_]] = {}
        self._found: dict[Hashable, tuple[Hashable, object, Any]] = {}

    def scene(
        self,
        slots: AdColumns,
        ads: Mapping[int, Ad],
        policy: NegotiationPolicy,
        further: Sequence[Expression],
        make: Callable[[], Autoclusters],
        *,
        reads_slots: bool,
    ) -> Scene:
        """Return what is known of cycles whose slots, jobs and rules have these attributes and expressions.

        *further* expressions are evaluated on jobs; *make* makes their autoclusters. *reads_slots*: other slots may
        have the same attributes, for which all their columns are read.
        """
        shapes = slots.shapes() if reads_slots else slots.shapes_given()
        expressions = (*policy.expressions_on_jobs, policy.job_constraint, *further)
        rules = (policy.skip_by, policy.job_order, policy.jobs_per_turn, policy.global_job_prios, policy.depth_first)
        demand = None if policy.quotas is None else policy.quotas.demand
        dynamic = policy.allow_pslot_preemption, policy.partitionable_slots
        others = (policy.ignore_job_ranks, dynamic, policy.significant, demand, id(ads), id(slots.pool))
        key = (shapes, tuple(None if one is None else one.text for one in expressions), rules, others)
        scenes = self._scenes if reads_slots else self._of_same_slots
        scene = scenes.pop(key, None)
        if scene is None:
            carries = not policy.depth_first and policy.jobs_per_turn is None and policy.global_job_prios is None
            carries = carries and not policy.significant.chosen
            scene = Scene(self, make(), (ads, slots.at(slots.now)), carries)
        # If jobs of one autocluster differ, the first one stands for it, and may be another one in each cycle.
        if not scene.autoclusters.reads_more:
            scenes[key] = scene
        if len(self._of_same_slots) > _MOST_SCENES:
            del self._of_same_slots[next(iter(self._of_same_slots))]
        return scene

    def mark(self, slots: AdColumns, names: Iterable[str]) -> Hashable:
        """Return a key that is equal only for slots with equal values of these attributes."""
        if len(self._numbers) > _MOST_COLUMNS:
            self._numbers.clear()
        mark = [len(slots)]
        for name in names:
            values = slots.column(name).values
            number = self._numbers.get(values)
            if number is None:
                # Numbers are not used again: results may be known by them.
                number = self._numbers[values] = next(self._new_numbers)
            mark.append(number)
        return tuple(mark)

    def once(self, find: Callable[[Thing], Result], thing: Thing, version: Hashable = None) -> Result:
        """Return what *find* finds in a thing; only once for a *version* of it."""
        key = (find, id(thing))
        known = self._found.get(key)
        if known is None or known[0] != version:
            # The thing is kept with it, so that its id stays its own.
            known = self._found[key] = version, thing, find(thing)
        found: Result = known[2]
        return found

    def mask(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the same array for all equal ones."""
        if len(self._masks) > _MOST_KEPT:
            self._masks.clear()
        mask.flags.writeable = False
        return self._masks.setdefault(mask.tobytes(), mask)


class Scene:
    """What is known of cycles whose slots, jobs and rules have the same attributes and expressions.

    *carries*: the jobs that a cycle leaves of a queue are offered by the next one in the same way.
    """

    def __init__(self, memory: Memory, autoclusters: Autoclusters, kept: object, carries: bool) -> None:
        self.memory = memory
        self.autoclusters = autoclusters
        self._carries = carries
        self._kept = kept
        """Objects whose ids are part of keys, which must stay their own."""
        self.admitted: dict[int, bool] = {}
        """By autocluster, whether its jobs meet the constraint on jobs, if the time does not matter."""
        self._facts: dict[Hashable, Facts[Any]] = {}
        self._demands: dict[tuple[str, str], tuple[Hashable, float, object]] = {}
        self._queues: dict[Hashable, tuple[object, RequestQueue | ColumnQueue]] = {}

    def facts(self, role: str, live: frozenset[str] | None) -> Facts[Any]:
        """Return what is known of one evaluation; *live* are the attributes that change within a cycle."""
        key = (role, live)
        facts = self._facts.get(key)
        if facts is None:
            facts = self._facts[key] = Facts()
        elif len(facts.results) > _MOST_KEPT:
            facts.results.clear()
        return facts

    def mark(self, slots: AdColumns, names: Iterable[str]) -> Hashable:
        """Return a key that is equal only for slots with equal values of these attributes."""
        return self.memory.mark(slots, names)

    def demand(self, queue: SubmitterQueue, demand: IdleDemand) -> float:
        """Return the demand of the idle jobs of *queue*, by *demand* if they have changed."""
        known = self._demands.get((queue.name, queue.schedd))
        # Of jobs that only go, as many are the same ones.
        state = (id(queue.idle) if queue.version is None else queue.version, job_count(queue.idle))
        if known is None or known[0] != state:
            known = self._demands[queue.name, queue.schedd] = state, demand.of(queue.idle), queue.idle
        return known[1]

    def queue(self, queue: SubmitterQueue, now: int | None) -> RequestQueue | ColumnQueue | None:
        """Return the requests of *queue* in a cycle at *now* if they are known."""
        if queue.version is None:
            known = self._queues.get((id(queue.idle), None)) or self._queues.get((id(queue.idle), now))
            return None if known is None else known[1].anew()
        known = self._queues.get((queue.name, queue.schedd))
        if known is None or known[0] != queue.version or not isinstance(known[1], RequestQueue):
            return None
        return known[1] if known[1].go_on(queue) else None

    def keep_queue(self, queue: SubmitterQueue, now: int | None, made: RequestQueue | ColumnQueue) -> None:
        """Keep the requests of *queue* for further cycles; *now* is the time if it decides which jobs take part."""
        if queue.version is None:
            # A queue by column can be made anew whatever was matched.
            kept = made if isinstance(made, ColumnQueue) else made.anew()
            self._queues[id(queue.idle), now] = queue.idle, kept
        elif now is None and self._carries:
            self._queues[queue.name, queue.schedd] = queue.version, made
