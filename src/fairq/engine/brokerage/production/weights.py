"""The weight of a queue for a production task, factor by factor (docs/panda.md, Production weight)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.flow.plugin import Details, KeyedWeight
from fairq.engine.brokerage.flow.request import URGENCY, BrokerageRequest
from fairq.engine.brokerage.jobs.units import MIB
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.bits import bits_of, joined, listed
from fairq.engine.brokerage.pool.columns import Floats
from fairq.engine.brokerage.pool.queue_kinds import has_flag
from fairq.engine.brokerage.pool.supply import pilot_counts
from fairq.engine.brokerage.production.input_data import InputData, input_data
from fairq.engine.brokerage.production.links import goes_to_one_queue, queued_key
from fairq.engine.brokerage.production.network_weight import network_weight
from fairq.engine.brokerage.production.nucleus import nucleus_of, satellites
from fairq.engine.brokerage.production.running_and_queued import RUNNING_READS, by_type, running, running_key

_PRODUCTION = frozenset({PRODUCTION})

SMOOTHING = 10
"""Added to the queued jobs: it avoids a division by 0, and short queues get similar weights."""

INTENSIVE = 500
"""I/O intensity in kB/s above which queues of the nucleus count four times, unless the task says how often."""

NEAR_WEIGHT = 4
URGENT_NEAR_WEIGHT = 100


class Jobs(KeyedWeight):
    """The ratio of running to queued jobs of the share; assigned jobs count if input must be moved."""

    name = "jobs"
    activities = _PRODUCTION
    reads = ("task.gshare", *RUNNING_READS, "chunk.has_input")

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the share, what counts as running, and whether there is input."""
        return request.task.gshare, *running_key(request), request.chunk.has_input

    def factors(self, request: BrokerageRequest) -> Floats:
        """Return (running + 1) / (queued + 10), divided by manyAssigned (1 to 2) if input must be moved."""
        far, near, _ = self._far_and_near(request)
        return near if request.chunk.total_size <= 0 else far

    def own(self, request: BrokerageRequest, members: int) -> Mapping[int, float]:
        """Return the factors of the queues with all input on disk."""
        if request.chunk.total_size <= 0:
            return {}
        local = input_data(request).local & members
        if not local:
            return {}
        _, _, near = self._far_and_near(request)
        return {row: near[row] for row in listed(local, len(request.columns))}

    def _far_and_near(self, request: BrokerageRequest) -> tuple[Floats, Floats, list[float]]:
        """Return the factor of each row if its input must be moved, and if it is local; the latter as a list, too."""
        key = "jobs weight", request.task.gshare, request.rules.many_assigned, *running_key(request)
        return request.columns.kept(key, lambda: self._make(request))

    def _make(self, request: BrokerageRequest) -> tuple[Floats, Floats, list[float]]:
        columns, share, run = request.columns, request.task.gshare or "", running(request)
        activated = columns.job_counts(share, "activated")
        waiting = activated + columns.job_counts(share, "starting") + columns.job_counts(share, "defined")
        assigned = columns.job_counts(share, "assigned")
        far: Floats = (run + 1) / (waiting + assigned + SMOOTHING) / many_assigned(request)
        near: Floats = (run + 1) / (waiting + SMOOTHING)
        return far, near, near.tolist()

    def details(self, request: BrokerageRequest, row: int) -> Details:
        """Return the numbers of jobs and pilots by PanDA's names; assigned jobs only where they count."""
        columns, share, types = request.columns, request.task.gshare or "", by_type(request)
        numbers: Details = {"nRun": float(running(request)[row])}
        for name, state in (("nAct", "activated"), ("nAss", "assigned"), ("nStart", "starting"), ("nDef", "defined")):
            numbers[name] = float(columns.job_counts(share, state)[row])
        if input_data(request).is_local[row]:
            del numbers["nAss"]
        else:
            numbers["manyAss"] = float(many_assigned(request)[row])
        if goes_to_one_queue(request):
            numbers["nRunningAll"] = float(columns.job_counts(None, "running")[row])
        return numbers | {
            "nPilot": float(pilot_counts(columns)[row]) if request.preassigned is None else 0.0,
            "nRun_rt": float(types.running[row]),
            "nQueued_rt": float(types.queued[row]),
        }


def many_assigned(request: BrokerageRequest) -> Floats:
    """Return for each row how many times more jobs are assigned than activated, 1 to 2."""
    columns, share = request.columns, request.task.gshare or ""

    def make() -> Floats:
        assigned, activated = columns.job_counts(share, "assigned"), columns.job_counts(share, "activated")
        if smoothed:
            return np.clip((assigned + 1) / (activated + 1), 1.0, 2.0)
        # Where nothing is activated, anything assigned is more than twice as much.
        most = np.where(assigned > 0, 2.0, 1.0)
        return np.clip(np.divide(assigned, activated, out=most, where=activated > 0), 1.0, 2.0)

    smoothed = request.rules.many_assigned == "smoothed"
    return columns.kept(("many assigned", share, smoothed), make)


class Data(KeyedWeight):
    """Input that is present: all of it doubles the weight, missing files lower it."""

    name = "data"
    activities = _PRODUCTION
    reads = ("chunk.has_input", "chunk.file_count")

    def applies(self, request: BrokerageRequest) -> bool:
        """Count where there is input."""
        return request.chunk.has_input

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the number of files, which is all that counts where none of the input is."""
        return request.chunk.file_count

    def factors(self, request: BrokerageRequest) -> Floats:
        """Return the factor where none of the input is."""
        return np.broadcast_to(_data_factor(input_data(request), 0, 0), len(request.columns))

    def own(self, request: BrokerageRequest, members: int) -> Mapping[int, float]:
        """Return the factors where some of it is; 1 for queues that lack local input, which are refused later."""
        data, size = input_data(request), len(request.columns)
        found: dict[int, float] = {}
        for part in data.on_disk:
            hit = part.rows & members
            if hit:
                factor = _data_factor(data, part.size, part.files)
                for row in listed(hit, size):
                    found[row] = factor
        lacking = lacks_local_data(request) & members
        return found | dict.fromkeys(listed(lacking, size), 1.0) if lacking else found

    def details(self, request: BrokerageRequest, row: int) -> Details:
        """Return what is missing."""
        data = input_data(request)
        if data.size <= 0 or lacks_local_data(request) >> row & 1:
            return {}
        return {"fileSizeToMoveMB": float(data.missing_mib[row]), "nFilesToMove": float(data.missing_files[row])}


def _data_factor(data: InputData, size: float, files: int) -> float:
    """Return the factor of a queue that has *size* bytes in *files* of the input."""
    # Floats from the start, as in arrays: whole numbers beyond 2**53 would be divided exactly.
    total = float(data.size)
    return (total + float(size)) / total / ((data.files - files) / 100 + 1)


def lacks_local_data(request: BrokerageRequest) -> int:
    """Return the queues that accept only local input and lack some of it, as a set."""
    columns, data = request.columns, input_data(request)
    picky = columns.kept("picky", lambda: bits_of(has_flag(columns, "use_only_local_data")))
    if not picky or data.size <= 0 or not request.rules.local_data_only:
        return 0
    whole = joined(p.rows for p in data.on_disk if p.files >= data.files and (data.size - p.size) / MIB < 1)
    return picky & ~whole


class Near(KeyedWeight):
    """A factor for queues of the nucleus and for queues that share its storage."""

    name = "nucleus"
    activities = _PRODUCTION
    reads = ("task.nucleus", "task.io_intensity", "task.event_service", "rule TW", *URGENCY, "preassigned")

    def applies(self, request: BrokerageRequest) -> bool:
        """Count where it is not 1."""
        return near_weight(request) != 1

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the nucleus and the factor near it."""
        return request.task.nucleus, near_weight(request)

    def factors(self, request: BrokerageRequest) -> Floats:
        """Return the factor near the nucleus and 1 elsewhere."""
        return np.where(nucleus_of(request).near, near_weight(request), 1.0)

    def details(self, request: BrokerageRequest, row: int) -> Details:
        """Return the factor near the nucleus."""
        return {"t1W": near_weight(request)} if nucleus_of(request).near[row] else {}


def near_weight(request: BrokerageRequest) -> float:
    """Return the factor for queues near the nucleus: rule *TW*, otherwise 1.

    Under the rules panda, it is 4 times for much I/O, and 100 times for urgent tasks.
    """
    task = request.task
    weight = float(task.rule("TW") or 0)
    if weight == 0:
        much = request.rules.near_weight_of_io and (task.io_intensity or 0) > INTENSIVE
        weight = NEAR_WEIGHT if much else 1
    urgent = request.is_high_priority and request.preassigned is None and not task.event_service
    if urgent and not request.rules.urgent_needs_nucleus:
        return max(weight, URGENT_NEAR_WEIGHT)
    return max(weight, 1)


class NetworkNumbers(NamedTuple):
    """The network weight of each row and its terms; a throughput of NaN is unknown."""

    weight: Floats
    queued_weight: Floats
    throughput_weight: Floats
    closeness: Floats
    queued: Floats
    throughput: Floats


def network_is_active(request: BrokerageRequest) -> bool:
    """Return whether the network weight counts."""
    return request.rules.network_weight_always or request.config.flag("jobbroker.NW_ACTIVE")


def network_numbers(request: BrokerageRequest) -> NetworkNumbers:
    """Return the network weights towards the task's nucleus."""
    columns, config, choice = request.columns, request.config, request.rules.throughput

    def make() -> NetworkNumbers:
        place, key = nucleus_of(request), queued_key(request)
        # With a cap of 0 every link is overfull.
        cap = max(config.amount("jobbroker.NQUEUED_SAT_CAP"), 1.0)
        importance = config.amount("jobbroker.NW_QUEUE_IMPORTANCE")
        sites = satellites(columns)
        each = [
            network_weight(
                place.metrics.get(site, {}),
                is_nucleus=site == place.name,
                queued_cap=cap,
                queue_importance=importance,
                choice=choice,
                queued_key=key,
            )
            for site in sites.sites
        ]
        return NetworkNumbers(
            sites.spread([one.weight for one in each]),
            sites.spread([one.queued_weight for one in each]),
            sites.spread([one.throughput_weight for one in each]),
            sites.spread([one.closeness for one in each]),
            sites.spread([one.queued for one in each]),
            sites.spread([np.nan if one.mbps is None else one.mbps for one in each]),
        )

    task, rules = request.task, request.rules
    key = "network weight", task.nucleus, rules.every_queue, request.is_express, rules.throughput, rules.network_age
    return columns.kept(key, make)


class Network(KeyedWeight):
    """The network weight of the link from the queue's storage to the nucleus."""

    name = "network"
    activities = _PRODUCTION
    reads = ("task.nucleus", "is_express")

    def applies(self, request: BrokerageRequest) -> bool:
        """Count for tasks with a nucleus, by the rules in force or where ``NW_ACTIVE`` is set."""
        return bool(request.task.nucleus) and network_is_active(request)

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the nucleus, and whether jobs go by the express links."""
        return request.task.nucleus, request.is_express

    def factors(self, request: BrokerageRequest) -> Floats:
        """Return the network weight; a negative weight counts as 0."""
        return np.maximum(network_numbers(request).weight, 0.0)

    def details(self, request: BrokerageRequest, row: int) -> Details:
        """Return the weight, whether it counts or not, and what it is made of."""
        if not request.task.nucleus:
            return {}
        weight, by_queued, by_throughput, closeness, files, mbps = (float(n[row]) for n in network_numbers(request))
        return {
            "weightNw": weight,
            "weightNwQueued": by_queued,
            "weightNwThroughput": by_throughput,
            "closeness": closeness,
            "nFilesQueued": files,
            "throughputMBps": None if np.isnan(mbps) else mbps,
        }
