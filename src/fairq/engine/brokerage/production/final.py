"""Filters of weighed queues, and the choice of the ten best (docs/panda.md, Production weight)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.checks.least_weight import LeastWeightCheck
from fairq.engine.brokerage.flow.plugin import Codes, Details, Phase, PlainFilter, Reason, Rows, SetFilter
from fairq.engine.brokerage.flow.request import BrokerageRequest, Ranking, once_per_task
from fairq.engine.brokerage.flow.weighing import FINAL_STAGE, MOST_CANDIDATES, weighing_of
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.bits import Parts, bits_of
from fairq.engine.brokerage.pool.columns import Booleans
from fairq.engine.brokerage.pool.queue_kinds import takes_jumbo_jobs
from fairq.engine.brokerage.production.input_data import input_data
from fairq.engine.brokerage.production.links import goes_to_one_queue
from fairq.engine.brokerage.production.running_and_queued import (
    by_type,
    cap,
    cap_of,
    is_idle,
    of_input,
    own_types,
    queued,
    queued_if,
    running,
    running_key,
    type_cap,
    type_numbers,
)
from fairq.engine.brokerage.production.weights import lacks_local_data, network_is_active, network_numbers


class FinalFilter(SetFilter):
    """A filter after the weight; it exempts queues that the task uses for jumbo jobs."""

    stage = FINAL_STAGE
    phase: Phase = "after"
    activities = frozenset({PRODUCTION})

    def parts(self, request: BrokerageRequest, left: int) -> Parts | None:
        """Refuse the rows of `refused`, except jumbo queues."""
        refused = self.refused(request)
        if refused and request.task.has_rule("NJ"):
            refused &= ~bits_of(takes_jumbo_jobs(request.columns))
        return ((1, refused),) if refused else ()

    def refused(self, request: BrokerageRequest) -> int:
        """Return the refused queues, as a set."""
        raise NotImplementedError


class Locked(FinalFilter):
    """Queues that another brokerage has locked."""

    name = "lock"
    reasons = (Reason("lock"),)

    def refused(self, request: BrokerageRequest) -> int:
        """Refuse the locked ones, under the rules panda; a unified name locks all its pseudo queues."""
        locked = request.world.locked
        if not locked or not request.rules.locks:
            return 0
        return bits_of(request.columns.flags("locked", lambda queue: queue.name in locked or queue.unit in locked))


class LocalDataOnly(FinalFilter):
    """Queues that accept only local input and lack some of it."""

    name = "non_local"
    reasons = (Reason("non_local"),)

    def refused(self, request: BrokerageRequest) -> int:
        """Refuse them."""
        return lacks_local_data(request)

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return what is missing."""
        data = input_data(request)
        return {"fileSizeToMoveMB": float(data.missing_mib[row]), "nFilesToMove": int(data.missing_files[row])}


class QueuedCap(FinalFilter):
    """Queues where more than twice as many jobs of the share wait as run.

    Under the rules panda, up to a configured number of jobs may always wait. Express tasks are exempt, and unified
    queues have caps by resource type.
    """

    name = "cap"
    reasons = (Reason("cap"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Exempt express tasks under the rules panda."""
        return request.rules.queue_caps == "running" or not request.is_express

    def refused(self, request: BrokerageRequest) -> int:
        """Refuse above the cap."""
        # Tasks of the same share differ only by where their input is.
        key = ("over cap", request.task.gshare, request.rules.queue_caps, *running_key(request))
        over = request.columns.kept(key, lambda: [self._over(request, local) for local in (False, True)])
        return of_input(request, *over)

    def _over(self, request: BrokerageRequest, local: bool) -> int:
        over = queued_if(request, local) > cap(request)
        if request.rules.queue_caps != "running":
            over &= ~request.columns.flags("ucore", lambda queue: queue.capability == "ucore")
        # Otherwise what is activated and starting is part of what is queued: the second sentence of the page holds the
        # first.
        return bits_of(over)

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return queue, cap and what runs."""
        return {
            "nQueued": int(queued(request)[row]),
            "cap": float(cap(request)[row]),
            "nRun": int(running(request)[row]),
            "assigned_ignored": bool(input_data(request).is_local[row]),
        }


class SlowNetwork(FinalFilter):
    """Express tasks need a fast link to the nucleus."""

    name = "network weight"
    reasons = (Reason("lowNetworkWeight"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply to express tasks with a nucleus."""
        return request.is_express and bool(request.task.nucleus) and network_is_active(request)

    def refused(self, request: BrokerageRequest) -> int:
        """Refuse below the threshold."""
        least = _threshold(request) * (1 - request.rules.network_tolerance)
        return bits_of(network_numbers(request).weight < least)

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return weight and threshold."""
        return {"weightNw": float(network_numbers(request).weight[row]), "threshold": _threshold(request)}


def _threshold(request: BrokerageRequest) -> float:
    config = request.config
    return config.amount("jobbroker.NW_THRESHOLD") * config.amount("jobbroker.NW_WEIGHT_MULTIPLIER")


class TypeCap(FinalFilter):
    """Queues where too many jobs of the share and of the task's resource types wait."""

    name = "cap_rt"
    reasons = (Reason("cap_rt"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Exempt express tasks, and under the rules documented all tasks."""
        return request.rules.type_cap and not request.is_express

    def refused(self, request: BrokerageRequest) -> int:
        """Refuse above the cap, where numbers by resource type are known."""
        if own_types(request):
            over = [self._over(request, local) for local in (False, True)]
        else:
            key = ("over type cap", request.task.resource_type, *running_key(request))
            over = request.columns.kept(key, lambda: [self._over(request, local) for local in (False, True)])
        return of_input(request, *over)

    def _over(self, request: BrokerageRequest, local: bool) -> int:
        numbers = type_numbers(request, local)
        return bits_of(numbers.known & (numbers.queued > cap_of(request, numbers.running)))

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return queue, cap and what runs."""
        numbers = by_type(request)
        return {
            "nQueued_rt": int(numbers.queued[row]),
            "cap_rt": float(type_cap(request)[row]),
            "nRun_rt": int(numbers.running[row]),
        }


@once_per_task
def bootstrapped(request: BrokerageRequest) -> Booleans | None:
    """Return for every row whether it is to be tried out under the rules panda: no job of the share runs or waits.

    This is only for low priorities, and not for merges, express tasks and jumbo jobs; None: no row is.
    """
    if not request.rules.bootstrap or request.chunk.is_merging or request.is_express:
        return None
    if request.task.current_priority > request.config.amount("jobbroker.MAX_PRIO_TO_BOOTSTRAP"):
        return None
    idle = is_idle(request)
    return idle & ~takes_jumbo_jobs(request.columns) if request.task.has_rule("NJ") else idle


class LeastWeight(LeastWeightCheck):
    """Candidates need a minimum weight where one is configured; queues to be tried out have no weight."""

    name = "minimum weight"
    activities = frozenset({PRODUCTION})

    def exempt(self, request: BrokerageRequest) -> Booleans | None:
        """Return the queues to be tried out and those for the task's jumbo jobs."""
        tried = bootstrapped(request)
        if not request.task.has_rule("NJ"):
            return tried
        jumbo = takes_jumbo_jobs(request.columns)
        return jumbo if tried is None else tried | jumbo


class OneAtNucleus(PlainFilter):
    """Under the rules panda, a task with a negative ``t1Weight`` goes to the queue with the most running jobs."""

    name = "t1_weight"
    stage = FINAL_STAGE
    phase: Phase = "after"
    activities = frozenset({PRODUCTION})
    reasons = (Reason("t1_weight"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply, under the rules panda, to tasks with a negative weight that do not merge."""
        return request.rules.one_queue_at_nucleus and goes_to_one_queue(request)

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse all but the queue with the most running jobs of all shares; ties by name."""
        tried = bootstrapped(request)
        counted = np.ones(len(rows), dtype=np.bool_) if tried is None else ~tried[rows]
        if request.task.has_rule("NJ"):
            counted &= ~takes_jumbo_jobs(request.columns)[rows]
        if not counted.any():
            return None
        jobs = np.where(counted, request.columns.job_counts(None, "running")[rows], -1)
        counted[int(np.argmax(jobs))] = False
        return counted

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return what runs there."""
        return {"nRunningAll": int(request.columns.job_counts(None, "running")[row])}


class TenBest(SetFilter):
    """Take the ten best queues: first queues to be tried out, then by weight; ties by name."""

    name = "ten best"
    stage = FINAL_STAGE
    phase: Phase = "after"
    activities = frozenset({PRODUCTION})
    reasons = (
        Reason("low_weight"),
        Reason("others_bootstrap"),
    )

    def parts(self, request: BrokerageRequest, left: int) -> Parts | None:
        """Refuse all but the ten best; those for jumbo jobs do not count."""
        if request.task.has_rule("NJ"):
            left &= ~bits_of(takes_jumbo_jobs(request.columns))
        if left.bit_count() <= MOST_CANDIDATES:
            return ()
        _, best, weights = ranked(request, left, MOST_CANDIDATES)
        chosen = 0
        for row in best.tolist():
            chosen |= 1 << row
        # The order of the best is asked for once more when they are assigned.
        weighing_of(request).ranked = Ranking(chosen, best, weights)
        rest, tried = left ^ chosen, bootstrapped(request)
        if tried is None:
            return ((1, rest),)
        others = bits_of(tried)
        return ((1, rest & ~others), (2, rest & others))

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the weight, and the least of the ten best."""
        weighing = weighing_of(request)
        tenth = {} if weighing.ranked is None else {"tenth": float(weighing.ranked.weights[-1])}
        return {"weight": weighing.weight_of(row), **tenth}


class OtherThanJumbo(SetFilter):
    """A task with jumbo jobs needs a queue for its other jobs as well."""

    name = "other than jumbo"
    stage = FINAL_STAGE
    phase: Phase = "after"
    activities = frozenset({PRODUCTION})
    reasons = (Reason("jumbo_alone"),)

    def parts(self, request: BrokerageRequest, left: int) -> Parts | None:
        """Refuse the queues for jumbo jobs if there are no others."""
        if not request.task.has_rule("NJ") or left & ~bits_of(takes_jumbo_jobs(request.columns)):
            return ()
        return ((1, left),)


def ranked(request: BrokerageRequest, members: int, most: int | None = None) -> Ranking:
    """Return a set of queues in order: those to be tried out, then by weight; ties by name.

    *most*: so many of them; None: all.
    """
    weighing = weighing_of(request)
    if weighing.ranked is not None and weighing.ranked.members == members:
        return weighing.ranked
    tried, (rows, weights) = bootstrapped(request), weighing.among(members)
    falling = -weights
    if tried is not None:
        falling[tried[rows]] = -np.inf
    # Rows are in order of name already.
    order = falling.argsort(kind="stable")[:most]
    return Ranking(members, rows[order], weights[order])
