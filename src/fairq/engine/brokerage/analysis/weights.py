"""The weight of a queue for an analysis task (docs/panda.md, Analysis, the page's formula)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.analysis.input_data import local_data
from fairq.engine.brokerage.analysis.locality import locality
from fairq.engine.brokerage.analysis.share_jobs import counted_running, queued, start_rate
from fairq.engine.brokerage.analysis.user_queues import user_queues
from fairq.engine.brokerage.flow.plugin import Details, PlainWeight, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.jobs.splitting import split_job_count
from fairq.engine.brokerage.pool.activity import ANALYSIS
from fairq.engine.brokerage.pool.columns import Floats

_ANALYSIS = frozenset({ANALYSIS})

CLASSED_SHARES = frozenset({"User Analysis", "Express Analysis"})
"""Shares whose jobs are divided among classes of queues by the class of the task."""

HIGH, MIDDLE, LOW = 1, 0, -1
REST = 0.001
"""Jobs for a class of queues to which the division gives none."""

SMALLEST = 2**-20
DISK_GIB = 10
"""GiB of input on disk that add 1 to the data factor."""


class Balance(PlainWeight):
    """The ratio of running to queued jobs of the share (rules documented)."""

    name = "analysis jobs"
    activities = _ANALYSIS

    def applies(self, request: BrokerageRequest) -> bool:
        """Count under the rules documented."""
        return request.rules.analysis_weight == "ratio"

    def factor(self, request: BrokerageRequest, rows: Rows) -> Floats:
        """Return (running + 1) / (queued + 1)."""
        result: Floats = (counted_running(request)[rows] + 1) / (queued(request)[rows] + 1)
        return result

    def details(self, request: BrokerageRequest, row: int) -> Details:
        """Return both numbers."""
        if not self.applies(request):
            return {}
        return {"nRun": int(counted_running(request)[row]), "nQueued": int(queued(request)[row])}


class Classes(PlainWeight):
    """The jobs of the task, divided among classes of queues, then by the user's room at each (rules panda)."""

    name = "analysis classes"
    activities = _ANALYSIS

    def applies(self, request: BrokerageRequest) -> bool:
        """Count under the rules panda."""
        return request.rules.analysis_weight == "classes"

    def factor(self, request: BrokerageRequest, rows: Rows) -> Floats:
        """Return the part of the jobs for each queue; pseudo queues of one unit have the same."""
        units = request.columns.unit_of[rows]
        _, first, unit = np.unique(units, return_index=True, return_inverse=True)
        ones = rows[first]
        remaining = user_queues(request).remaining[ones]
        classes = queue_classes(request)[ones]
        jobs = split_job_count(request.task, request.chunk, request.rules.scratch_margin)
        weights = _by_class(request, jobs, remaining, classes)
        result: Floats = weights[unit] + SMALLEST
        return result

    def details(self, request: BrokerageRequest, row: int) -> Details:
        """Return class, rate of starting jobs and room of the user."""
        if not self.applies(request):
            return {}
        columns = request.columns
        everything = columns.job_counts(None, "running")[row]
        rate = request.world.to_running_rates.get(columns.queues[row].unit, 0.0)
        counted = counted_running(request)[row]
        numbers = user_queues(request)
        return {
            "class": int(queue_classes(request)[row]),
            "trr": float(counted * rate / everything) if everything > 0 else 0.0,
            "share_trr": float(start_rate(request)[row]),
            "userR": int(numbers.running[row]),
            "userQ": int(numbers.queued[row]),
            "userQRem": float(numbers.remaining[row]),
            "nRun": int(counted),
        }


class _Room(NamedTuple):
    """Room of the user in total and by class of queues, and the queues of each class."""

    total: float
    of_class: dict[int, float]
    queues: dict[int, int]


def queue_classes(request: BrokerageRequest) -> Floats:
    """Return the class of each row; an unknown class counts as the middle one."""
    known = request.world.site_classes
    return request.columns.unit_numbers_of("class", lambda unit: known.get(unit.name) or MIDDLE)


def _by_class(request: BrokerageRequest, jobs: float, remaining: Floats, classes: Floats) -> Floats:
    kinds = (HIGH, MIDDLE, LOW)
    room = _Room(
        float(remaining.sum()),
        {kind: float(remaining[classes == kind].sum()) for kind in kinds},
        {kind: int((classes == kind).sum()) for kind in kinds},
    )
    merging = request.chunk.is_merging
    if request.task.gshare not in CLASSED_SHARES:
        return jobs * _part(remaining, jobs, room.total, len(remaining), merging)
    task_class = request.world.task_classes.get(request.task.task_id, HIGH)
    shares = _divided(jobs, room, task_class)
    weights = np.zeros(len(remaining))
    for kind in kinds:
        of_kind = classes == kind
        if of_kind.any():
            part = _part(remaining[of_kind], shares[kind], room.of_class[kind], room.queues[kind], merging)
            weights[of_kind] = shares[kind] * part
    return weights


def _divided(jobs: float, room: _Room, task_class: int) -> dict[int, float]:
    """Return the jobs for each class of queues: first those of the task's own class, as far as they have room."""
    left = min(jobs, room.total)
    shares = {HIGH: REST, MIDDLE: REST, LOW: REST}
    if task_class == LOW:
        shares[LOW] = left
    elif task_class == MIDDLE:
        shares[MIDDLE] = min(left, room.of_class[MIDDLE])
        shares[LOW] = left - shares[MIDDLE]
        if shares[MIDDLE] > 0:
            shares[MIDDLE] -= 0.1
            shares[LOW] += 0.1
    else:
        shares[HIGH] = min(left, room.of_class[HIGH])
        left -= shares[HIGH]
        shares[MIDDLE] = min(left, room.of_class[MIDDLE])
        shares[LOW] = left - shares[MIDDLE]
        if shares[HIGH] > 0:
            shares[HIGH] -= 0.052
            shares[MIDDLE] += 0.05
            shares[LOW] += 0.002
    return shares


def _part(remaining: Floats, jobs: float, room: float, queues: int, merging: bool) -> Floats:
    """Return the part of *jobs* that goes to each of *queues* by the user's remaining room there."""
    if room - jobs > 0 and not merging:
        return np.maximum(remaining - jobs / queues, jobs * 0.001) / (room - jobs)
    if room > 0:
        return remaining / room
    return np.full(len(remaining), 1 / queues)


class Data(PlainWeight):
    """Input at the queue: datasets in the first pass, otherwise GiB on its disks (rules panda)."""

    name = "analysis data"
    activities = _ANALYSIS

    def applies(self, request: BrokerageRequest) -> bool:
        """Count where there is input, under the rules panda."""
        return bool(request.chunk.datasets) and request.rules.analysis_weight == "classes"

    def factor(self, request: BrokerageRequest, rows: Rows) -> Floats:
        """Return the factor."""
        return data_factor(request)[rows]

    def details(self, request: BrokerageRequest, row: int) -> Details:
        """Return the factor by PanDA's name; it is 1 without input."""
        if request.rules.analysis_weight != "classes":
            return {}
        return {"dataW": float(data_factor(request)[row]) if request.chunk.datasets else 1.0}


def data_factor(request: BrokerageRequest) -> Floats:
    """Return the factor by input for each row."""
    if request.local and not locality(request).union:
        weight = locality(request).weight
        return np.where(weight > 0, weight, 1.0)
    data = local_data(request)
    if data.size < 2**30:
        return np.ones(len(request.columns))
    result: Floats = 1 + np.floor(data.disk_size / 2**30) / DISK_GIB
    return result
