"""The production flow queue by queue in plain Python, without columns: what the engine is held against.

It follows reference panda 3 and 4 line by line for everything that the pools of the laws hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from fairq.engine.brokerage.catchall import Flags, read_flags
from fairq.engine.brokerage.endpoints import Endpoints, endpoints
from fairq.engine.brokerage.estimates.atom import smallest_job
from fairq.engine.brokerage.estimates.memory import job_memory, stated_memory
from fairq.engine.brokerage.estimates.scratch import available_scratch, production_scratch, reads_directly
from fairq.engine.brokerage.estimates.walltime import is_time_unknown, job_work, minimum_work, work_within
from fairq.engine.brokerage.fairshare_policy import Asker, has_zero_share, process_group
from fairq.engine.brokerage.model import Queue
from fairq.engine.brokerage.network_weight import network_weight
from fairq.engine.brokerage.pseudo_queues import candidates_of
from fairq.engine.brokerage.rules import Rules
from fairq.engine.brokerage.tasks import Chunk, Task
from fairq.engine.brokerage.world import World

MIB = 2**20
Answer = tuple[str, bool] | None
"""A reason and whether it is final; None passes."""


class Plain:
    """One task asked to one pool."""

    def __init__(self, world: World, task: Task, chunk: Chunk, rules: Rules) -> None:
        self.world, self.task, self.chunk, self.rules = world, task, chunk, rules
        self.queues = {queue.name: queue for queue in candidates_of(world.queues.values(), world.resource_types)}
        self.atom = smallest_job(task, chunk)
        self.scout, self.merging = chunk.is_scout, chunk.is_merging
        self.priority = task.current_priority
        self.urgent = self.priority >= 800 or self.scout
        self.high = self.priority >= 900 or self.scout
        self.express = task.processing_type == "urgent" or self.priority > 1000
        self.jumbo = task.has_rule("NJ")
        self.es = bool(task.event_service)
        self.given: set[str] | None = None
        if task.site:
            words = task.site.split(",")
            self.given = {queue.name for queue in self.queues.values() if {queue.name, queue.unit} & set(words)}
        self.single = self.given is not None and len(self.given) <= 1
        self.members = {q.name for q in self.queues.values() if self.produces(q) and task.nucleus and (
            q.role == "nucleus" and q.site == task.nucleus)}  # fmt: skip
        if not self.members:
            self.members = {q.name for q in self.queues.values() if self.produces(q) and q.site == task.nucleus}
        first = next((name for name in world.queues if any(self.queues[m].unit == name for m in self.members)), None)
        self.first = first
        self.nucleus = self.storage_of(first) if first else Endpoints()

    # what is known of a queue

    def produces(self, queue: Queue) -> bool:
        return bool(queue.cloud) and queue.type in {"production", "unified"}

    def storage_of(self, unit: str) -> Endpoints:
        return endpoints(self.world.relations.get(unit, ()), self.world.storages)

    def flags(self, queue: Queue) -> Flags:
        return read_flags(queue.catchall, queue.params)

    def jobs(self, queue: Queue, state: str, share: str | None = "MC") -> int:
        shares = self.world.job_stats.get(queue.unit, {})
        return sum(counts.get(state, 0) for name, counts in shares.items() if share in {None, name})

    def satellite(self, queue: Queue) -> str:
        output = self.storage_of(queue.unit).default_write
        return output.site if output else ""

    def near(self, queue: Queue) -> bool:
        output = self.storage_of(queue.unit).default_write
        reads = {storage.rse for storage in self.nucleus.read}
        sharing = queue.status == "online" and output is not None and output.rse in reads and self.serves_first(queue)
        return queue.name in self.members or sharing

    def serves_first(self, queue: Queue) -> bool:
        firsts = [q for q in self.queues.values() if q.name in self.members and q.unit == self.first]
        both = any(q.type == "unified" for q in firsts)
        return self.produces(queue) and (queue.type == "unified" or not both)

    def link(self, queue: Queue) -> dict[str, float]:
        links = self.world.links
        return {m.key: m.value for m in links if (m.source, m.nucleus) == (self.satellite(queue), self.task.nucleus)}

    def slots(self, queue: Queue) -> int | None:
        return next((s.number for s in self.world.slots if s.queue == queue.unit and s.number >= 0), None)

    # the filters in order

    def filters(self) -> Iterator[Callable[[Queue], Answer]]:
        yield self.listed
        if self.given is None:
            yield lambda q: None if q.status in {"online", "standby"} else ("status", True)
        if self.task.nucleus:
            yield self.by_link
        if self.urgent and self.given is None:
            yield self.by_urgency
        if (self.urgent or self.merging or self.task.has_rule("MO")) and self.given is None:
            yield self.by_activity
        yield self.by_share
        if not self.single and not self.jumbo:
            yield lambda q: ("jumbo", True) if self.flags(q).use_jumbo_jobs else None
        if not self.single:
            yield self.by_cores
        if stated_memory(self.task, self.chunk):
            yield self.by_memory
        yield self.by_scratch
        yield self.by_space
        yield self.by_time
        if not self.single:
            yield self.by_seed
        yield self.by_transfers
        if (self.task.rule("TW") or 0) < 0 and not self.merging:
            yield lambda q: None if self.near(q) else ("t1weight", True)
        if self.given is None:
            yield self.by_pilots

    def listed(self, queue: Queue) -> Answer:
        if self.given is not None:
            return None if queue.name in self.given else ("nonpreassigned", True)
        return None if self.produces(queue) else ("wrong_type", True)

    def by_link(self, queue: Queue) -> Answer:
        satellite = self.satellite(queue)
        if satellite in {"", self.task.nucleus}:
            return None
        queued = self.link(queue).get("Express_queued" if self.express else "Production Output_queued", 0)
        return ("link_unusable", False) if queued >= 150 else None

    def by_urgency(self, queue: Queue) -> Answer:
        if self.rules.urgent_needs_nucleus and self.task.nucleus:
            return None if self.near(queue) else ("not_in_nucleus", True)
        return ("opportunistic", True) if queue.pledgedcpu == -1 else None

    def by_activity(self, queue: Queue) -> Answer:
        pilots = self.world.pilots.get(queue.unit)
        waiting = self.jobs(queue, "activated", None) + self.jobs(queue, "starting", None)
        idle = pilots is not None and pilots.last_start is not None and self.world.now - pilots.last_start > 7200
        return ("inactive", False) if idle and waiting else None

    def by_share(self, queue: Queue) -> Answer:
        asker = Asker(process_group(self.task.processing_type), None, "MC", self.priority, self.merging)
        return ("zeroshare", True) if has_zero_share(queue.fairsharepolicy, asker) else None

    def by_cores(self, queue: Queue) -> Answer:
        cores = self.task.core_count
        several = (cores or 0) > 1 or (cores == 0 and self.high)
        if several and queue.corecount <= 1:
            return "cpucore", True
        return ("cpucore", True) if not several and cores != 0 and queue.corecount > 1 else None

    def by_memory(self, queue: Queue) -> Answer:
        task, stated = self.task, stated_memory(self.task, self.chunk) or 0
        need = job_memory(stated, queue.corecount, task.ram_unit, task.base_ram_count, merging=self.merging,
                          base_always=self.rules.base_memory_always)  # fmt: skip
        if queue.maxrss and need > queue.maxrss:
            return "lowmemory", True
        return ("highmemory", True) if queue.minrss and need and need < queue.minrss else None

    def by_scratch(self, queue: Queue) -> Answer:
        unit = self.world.queues[queue.unit]
        if self.task.rule("IL") == 2 and not self.merging and not unit.direct_access_lan:
            return "remoteio", True
        need = production_scratch(self.task, self.atom)
        needed = need.direct if reads_directly(self.task, unit, merging=self.merging) else need.copied
        have = available_scratch(self.task, unit, event_service=self.es)
        return ("disk", True) if have and needed > have else None

    def by_space(self, queue: Queue) -> Answer:
        storage = self.storage_of(queue.unit)
        if storage.default_write and storage.default_write.space_usable < 200:
            return "disk", False
        return ("read_lan_blacklist", False) if not storage.read else None

    def by_time(self, queue: Queue) -> Answer:
        task = self.task
        work = job_work(task, self.atom, 3 if self.es else 1)
        fits = work_within(queue.maxtime, task, queue.corecount, queue.corepower)
        if queue.maxtime and (work or 0) > fits:
            return "shortwalltime", True
        day = minimum_work(task, queue.corecount, plain_day=self.rules.plain_minimum_walltime)
        needs = (self.scout and not self.single) or self.merging or is_time_unknown(task)
        if needs and fits and fits < day:
            return ("scout_walltime" if self.scout else "min_walltime"), True
        wanted = work_within(queue.mintime, task, queue.corecount, queue.corepower)
        return ("longwalltime", True) if queue.mintime and (work is None or work < wanted) else None

    def by_seed(self, queue: Queue) -> Answer:
        if not self.es:
            return ("nones", True) if queue.jobseed == "es" else None
        if queue.jobseed == "std":
            return "es", True
        return ("es_ucore", True) if queue.resource_type and queue.corecount == 1 else None

    def by_transfers(self, queue: Queue) -> Answer:
        if self.near(queue) or self.satellite(queue) in {"", self.task.nucleus}:
            return None
        most = max(queue.transferringlimit or 2000, 2 * self.jobs(queue, "running", None))
        return ("transferring", False) if self.jobs(queue, "transferring", None) > most else None

    def by_pilots(self, queue: Queue) -> Answer:
        pilots = self.world.pilots.get(queue.unit)
        if (pilots and pilots.get_job + pilots.update_job) or self.slots(queue) is not None:
            return None
        return None if self.jumbo and self.flags(queue).use_jumbo_jobs else ("nopilot", False)

    # weight

    def running(self, queue: Queue) -> float:
        real = self.jobs(queue, "running")
        if self.priority > 150:
            return real
        pilots = self.world.pilots.get(queue.unit)
        workers = min(20, sum(self.world.workers.get(queue.unit, {}).values()))
        pulls = queue.capability == "ucore" and queue.workflow == "pull_ups"
        if self.given is None and pulls and pilots and pilots.get_job and real < 20 and workers > real:
            real = workers
        slots = self.slots(queue)
        if slots is None:
            return real
        return real + self.jobs(queue, "starting") if slots == 0 else max(slots // max(1, queue.corecount), real)

    def data(self, queue: Queue) -> tuple[float, int]:
        held: set[str] = set()
        for dataset in self.chunk.datasets:
            whole = (self.task.io_intensity or 0) > 200 and not self.task.has_rule("IS")
            for storage in self.storage_of(queue.unit).read:
                places = self.world.replicas.get(dataset.name, {})
                files = (places[storage.rse] if places.get(storage.rse) is not None else dataset.lfns) if (
                    storage.rse in places) else frozenset()  # fmt: skip
                found = (files or frozenset()) & dataset.lfns
                if found and self.merging:
                    found = dataset.lfns
                if not whole or found == dataset.lfns:
                    held |= found
        return sum(self.chunk.sizes[name] for name in held), len(held)

    def weight(self, queue: Queue) -> float:
        total, (have, files) = self.chunk.total_size, self.data(queue)
        act, ass = self.jobs(queue, "activated"), self.jobs(queue, "assigned")
        waiting = act + self.jobs(queue, "starting") + self.jobs(queue, "defined") + 10
        if have >= total:
            weight = (self.running(queue) + 1) / waiting
        else:
            weight = (self.running(queue) + 1) / (waiting + ass) / min(2.0, max(1.0, (ass + 1) / (act + 1)))
        missing = len(self.chunk.sizes) - files
        picky = self.flags(queue).use_only_local_data and (int((total - have) / MIB) > 0 or missing > 0)
        if total > 0 and not picky:
            weight *= (total + have) / total / (missing / 100 + 1)
        if self.near(queue):
            weight *= self.near_weight()
        if self.task.nucleus and self.rules.network_weight_always:
            key = "Express_queued" if self.express else "Production Output_queued"
            weight *= network_weight(self.link(queue), is_nucleus=self.satellite(queue) == self.task.nucleus,
                                     queued_cap=150, queue_importance=0.5, choice=self.rules.throughput,
                                     queued_key=key).weight  # fmt: skip
        return weight

    def near_weight(self) -> float:
        own = self.task.rule("TW") or (4 if (self.task.io_intensity or 0) > 500 else 1)
        hundredfold = self.high and self.given is None and not self.es and not self.rules.urgent_needs_nucleus
        return max(own, 100 if hundredfold else 1)


def plain_production(world: World, task: Task, chunk: Chunk, rules: Rules) -> tuple[dict[str, str], dict[str, float]]:
    """Return why queues are out before they are weighed, and the weights of the others; input and the check of much
    I/O are left to the caller to avoid."""
    one = Plain(world, task, chunk, rules)
    left = dict(one.queues)
    out: dict[str, str] = {}
    soon: dict[str, str] = {}
    for check in one.filters():
        for name, queue in list(left.items()):
            answer = check(queue)
            if answer is not None and answer[1]:
                out[name] = answer[0]
                del left[name]
            elif answer is not None:
                soon[name] = answer[0]
        if not left:
            break
    for name in [name for name in left if name in soon]:
        out[name] = soon[name]
        del left[name]
    weights = {name: one.weight(queue) for name, queue in left.items()}
    assert all(math.isfinite(weight) for weight in weights.values())
    return out, weights
