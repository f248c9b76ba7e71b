"""The production flow queue by queue in plain Python: what the engine is held against.

It imports records of data and none of the engine's rules: each rule is written down here a second time, for what the
pools of the laws hold. *page* is what PanDA's page says, otherwise its code (docs/panda.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from fairq.engine.brokerage.jobs.tasks import Chunk, Task
from fairq.engine.brokerage.pool.world import Queue, Storage, World

MIB = 2**20
Answer = tuple[str, bool] | None
"""A reason and whether it is final; None passes."""

KINDS = (("SCORE", 1, 1, None, 2000), ("SCORE_HIMEM", 1, 1, 2001, None), ("MCORE", 2, None, None, 2000),
         ("MCORE_HIMEM", 2, None, 2001, None))  # fmt: skip
STEPS = ((200, 2.0), (100, 1.9), (75, 1.8), (50, 1.6), (20, 1.5), (10, 1.3), (2, 1.2), (1, 1.1))


def split(queue: Queue) -> Iterator[Queue]:
    """Yield what is a candidate in the place of *queue*."""
    if queue.capability != "ucore":
        yield queue
        return
    slot = max(1, queue.corecount)
    for name, fewest, most, least_ram, most_ram in KINDS:
        if slot < fewest:
            continue
        cores = max(min(slot, most or slot), fewest)
        below, above = (queue.minrss or 0), queue.maxrss
        low = max(below * cores / slot, cores * least_ram - cores + 1 if least_ram else below)
        tops = [] if above is None else [above * cores / slot]
        tops += [cores * most_ram] if most_ram else [] if above is None else [above]
        yield replace(queue, name=f"{queue.name}/{name}", unified=queue.name, resource_type=name, corecount=cores,
                      minrss=low, maxrss=min(tops, default=None))  # fmt: skip


class Plain:
    """One task asked to one pool."""

    def __init__(self, world: World, task: Task, chunk: Chunk, *, page: bool) -> None:
        self.world, self.task, self.chunk, self.page = world, task, chunk, page
        self.queues = {one.name: one for queue in world.queues.values() for one in split(queue)}
        self.scout, self.merging = chunk.is_scout, chunk.is_merging
        self.priority = task.current_priority
        self.urgent = self.priority >= 800 or self.scout
        self.high = self.priority >= 900 or self.scout
        self.express = task.processing_type == "urgent" or self.priority > (999 if page else 1000)
        self.jumbo, self.es = "NJ" in task.rules, bool(task.event_service)
        self.several = (task.core_count or 0) > 1
        files = chunk.datasets[0].files if chunk.datasets else ()
        self.sizes = {file.lfn: file.fsize for dataset in chunk.datasets for file in dataset.files}
        self.size = max((file.fsize for file in files), default=0.0)
        self.events = max((file.events or 1 for file in files), default=0)
        self.given: set[str] | None = None
        if task.site:
            words = set(task.site.split(","))
            self.given = {queue.name for queue in self.queues.values() if {queue.name, queue.unit} & words}
        self.single = self.given is not None and len(self.given) <= 1
        # Under the code's rules given queues are spared many checks.
        self.spared, self.spared_alone = self.given is not None and not page, self.single and not page
        sites = [q for q in self.queues.values() if task.nucleus and q.site == task.nucleus and self.produces(q)]
        self.members = {q.name for q in sites if q.role == "nucleus"} or {q.name for q in sites}
        self.first = next((name for name in world.queues if any(self.queues[m].unit == name for m in self.members)), "")

    # what is known of a queue

    def produces(self, queue: Queue) -> bool:
        return self.page or (bool(queue.cloud) and queue.type in {"production", "unified"})

    def storage_of(self, unit: str) -> Storage | None:
        # A queue of these pools has one endpoint, which it reads from and writes to.
        relations = self.world.relations.get(unit, ())
        return next(
            (self.world.storages[relation.rse] for relation in relations if relation.rse in self.world.storages), None
        )

    def jobs(self, queue: Queue, state: str, share: str | None = "MC") -> int:
        shares = self.world.job_stats.get(queue.unit, {})
        return sum(counts.get(state, 0) for name, counts in shares.items() if share in {None, name})

    def satellite(self, queue: Queue) -> str:
        output = self.storage_of(queue.unit)
        return output.site if output else ""

    def near(self, queue: Queue) -> bool:
        output, read = self.storage_of(queue.unit), self.storage_of(self.first)
        if queue.name in self.members:
            return True
        shares = output is not None and read is not None and output.rse == read.rse and queue.status == "online"
        return shares and self.serves_first(queue)

    def serves_first(self, queue: Queue) -> bool:
        both = self.world.queues[self.first].type == "unified"
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
            open_ones = {"online"} if self.page else {"online", "standby"}
            yield lambda q: None if q.status in open_ones else ("status", True)
        if self.task.nucleus:
            yield self.by_link
        if self.urgent and not self.spared and (self.task.nucleus or not self.page):
            yield self.by_urgency
        if (self.urgent or self.merging or "MO" in self.task.rules) and not self.spared:
            yield self.by_activity
        yield self.by_share
        if not self.spared_alone and not self.jumbo:
            yield lambda q: ("jumbo", True) if "useJumboJobs" in q.catchall else None
        if not self.spared_alone:
            yield self.by_cores
        yield self.by_memory
        yield self.by_scratch
        yield self.by_space
        yield self.by_time
        if not self.spared_alone:
            yield self.by_seed
        yield self.by_transfers
        if int(self.task.rules.get("TW", 0)) < 0 and not self.merging:
            yield lambda q: None if self.near(q) else ("t1weight", True)
        if not self.spared:
            yield self.by_pilots

    def listed(self, queue: Queue) -> Answer:
        if self.given is not None:
            return None if queue.name in self.given else ("nonpreassigned", True)
        if not self.produces(queue):
            return "wrong_type", True
        return ("test_queue", True) if self.page and "test" in queue.unit.lower() else None

    def by_link(self, queue: Queue) -> Answer:
        satellite = self.satellite(queue)
        if satellite in {"", self.task.nucleus}:
            return None
        queued = self.link(queue).get("Express_queued" if self.express else "Production Output_queued", 0)
        full = queued > 150 if self.page else queued >= 150
        return ("link_unusable", False) if full else None

    def by_urgency(self, queue: Queue) -> Answer:
        if self.page:
            return None if self.near(queue) else ("not_in_nucleus", True)
        return ("opportunistic", True) if queue.pledgedcpu == -1 else None

    def by_activity(self, queue: Queue) -> Answer:
        pilots = self.world.pilots.get(queue.unit)
        waiting = self.jobs(queue, "activated", None) + (0 if self.page else self.jobs(queue, "starting", None))
        idle = pilots is not None and pilots.last_start is not None and self.world.now - pilots.last_start > 7200
        return ("inactive", False) if idle and waiting else None

    def by_share(self, queue: Queue) -> Answer:
        none = {
            "": False,
            "type=any:0%": True,
            "priority>400:0": self.merging or self.priority > 400,
            "type=evgensimul:100%": self.page and self.task.processing_type not in {"evgen", "simul"},
        }
        return ("zeroshare", True) if none[queue.fairsharepolicy] else None

    def by_cores(self, queue: Queue) -> Answer:
        cores = self.task.core_count
        several = (cores or 0) > 1 or (cores == 0 and self.high)
        if several and queue.corecount <= 1:
            return "cpucore", True
        return ("cpucore", True) if not several and cores != 0 and queue.corecount > 1 else None

    def by_memory(self, queue: Queue) -> Answer:
        task = self.task
        stated = max(task.ram_count, self.chunk.ram_count or 0) if task.ram_count else self.chunk.ram_count
        if self.merging:
            stated = self.chunk.ram_count
        if not stated:
            return None
        per_core = task.ram_unit == "MBPerCore" and not self.merging
        need = stated * max(1, queue.corecount) if per_core else stated
        if self.page or per_core:
            need += task.base_ram_count or 0
        need = need * 0.9 if self.page else int(need * 0.9)
        if queue.maxrss and need > queue.maxrss:
            return "lowmemory", True
        return ("highmemory", True) if queue.minrss and need and need < queue.minrss else None

    def by_scratch(self, queue: Queue) -> Answer:
        unit, only_direct = self.world.queues[queue.unit], self.task.rules.get("IL") == "2" and not self.merging
        if only_direct and not unit.direct_access_lan:
            return "remoteio", True
        need = (500 if self.page else 1500) + (0 if only_direct else self.size / MIB)
        divided = self.page or not (self.several or self.es)
        have = unit.maxwdir / max(1, unit.corecount) if divided else unit.maxwdir
        lacks = need >= have if self.page else need > have
        return ("disk", True) if have and lacks else None

    def by_space(self, queue: Queue) -> Answer:
        storage = self.storage_of(queue.unit)
        if storage is None:
            return "read_lan_blacklist", False
        lacks = storage.space_free <= 200 if self.page else storage.space_free < 200
        return ("disk", False) if lacks else None

    def by_time(self, queue: Queue) -> Answer:
        task, cores, day = self.task, max(1, queue.corecount), 24 * 3600
        if task.cpu_time_unit:
            work = None if task.cpu_time is None else task.cpu_time * self.events
            speed = cores * queue.corepower * (task.cpu_efficiency or 0) / 100
        else:
            mib = self.size / MIB if self.size else 1.0
            work = None if task.walltime is None else task.walltime * (mib if self.events else 0)
            speed = cores
        if work is not None and self.es:
            work /= 3
        fits = queue.maxtime * speed
        late = work is not None and (0 < work >= fits if self.page else work > fits)
        if queue.maxtime and late:
            return "shortwalltime", True
        unknown = not task.cpu_time if task.cpu_time_unit else not task.walltime and not task.walltime_unit
        needs = (self.scout and not self.spared_alone) or self.merging or (unknown and not self.page)
        too_short = 0 < queue.maxtime < day if self.page else 0 < fits < day * 10 * cores
        if needs and too_short:
            return ("scout_walltime" if self.scout else "min_walltime"), True
        if self.page or not queue.mintime:
            return None
        return ("longwalltime", True) if work is None or work < queue.mintime * speed else None

    def by_seed(self, queue: Queue) -> Answer:
        if not self.es:
            return ("nones", True) if queue.jobseed == "es" else None
        if queue.jobseed == "std":
            return "es", True
        return ("es_ucore", True) if queue.resource_type and queue.corecount == 1 else None

    def by_transfers(self, queue: Queue) -> Answer:
        if not self.page and (self.near(queue) or self.satellite(queue) in {"", self.task.nucleus}):
            return None
        most = max(queue.transferringlimit or 2000, 2 * self.jobs(queue, "running", None))
        return ("transferring", False) if self.jobs(queue, "transferring", None) > most else None

    def by_pilots(self, queue: Queue) -> Answer:
        pilots = self.world.pilots.get(queue.unit)
        if pilots and pilots.get_job + pilots.update_job:
            return None
        if not self.page and self.slots(queue) is not None:
            return None
        return None if not self.page and self.jumbo and "useJumboJobs" in queue.catchall else ("nopilot", False)

    # weight

    def running(self, queue: Queue) -> float:
        real, slots = self.jobs(queue, "running"), self.slots(queue)
        workers = min(20, sum(self.world.workers.get(queue.unit, {}).values()))
        if self.page:
            numbers = [real, workers if real < 20 else 0, slots or 0]
            return max([*numbers, self.jobs(queue, "starting")] if slots == 0 else numbers)
        if self.priority > 150:
            return real
        pilots = self.world.pilots.get(queue.unit)
        pulls = queue.capability == "ucore" and queue.workflow == "pull_ups"
        if self.given is None and pulls and pilots and pilots.get_job and real < 20 and workers > real:
            real = workers
        if slots is None:
            return real
        return real + self.jobs(queue, "starting") if slots == 0 else max(slots // max(1, queue.corecount), real)

    def data(self, queue: Queue) -> tuple[float, int]:
        storage, held = self.storage_of(queue.unit), set[str]()
        for dataset in self.chunk.datasets:
            replicas = self.world.replicas.get(dataset.name, {})
            if storage is None or storage.rse not in replicas:
                continue
            names = replicas[storage.rse]
            files = {file.lfn for file in dataset.files}
            present = files if names is None else names & files
            held |= files if present and self.merging else present
        return sum(self.sizes[name] for name in held), len(held)

    def weight(self, queue: Queue) -> float:
        total, (have, files) = sum(self.sizes.values()), self.data(queue)
        act, ass = self.jobs(queue, "activated"), self.jobs(queue, "assigned")
        waiting = act + self.jobs(queue, "starting") + self.jobs(queue, "defined") + 10
        if have >= total:
            weight = (self.running(queue) + 1) / waiting
        else:
            weight = (self.running(queue) + 1) / (waiting + ass) / self.many(ass, act)
        missing = len(self.sizes) - files
        picky = not self.page and "use_only_local_data" in queue.catchall
        picky = picky and (int((total - have) / MIB) > 0 or missing > 0)
        if total > 0 and not picky:
            weight *= (total + have) / total / (missing / 100 + 1)
        if self.near(queue):
            factor = int(self.task.rules.get("TW", 0)) or 1
            weight *= max(factor, 100 if self.high and self.given is None and not self.es and not self.page else 1)
        if self.task.nucleus and self.page:
            weight *= self.network(queue)
        return weight

    def many(self, assigned: int, activated: int) -> float:
        if not self.page:
            return min(2.0, max(1.0, (assigned + 1) / (activated + 1)))
        if not activated:
            return 2.0 if assigned else 1.0
        return min(2.0, max(1.0, assigned / activated))

    def network(self, queue: Queue) -> float:
        if self.satellite(queue) == self.task.nucleus:
            return 2.5
        link = self.link(queue)
        queued = link.get("Express_queued" if self.express else "Production Output_queued", 0)
        mbps = link.get("dashb_mbps_1h")
        speed = 1.3 if mbps is None else next((weight for limit, weight in STEPS if mbps > limit), 1.0)
        return 0.5 * (2 - queued / 150 + speed)


def plain_production(world: World, task: Task, chunk: Chunk, *, page: bool) -> tuple[dict[str, str], dict[str, float]]:
    """Return why queues are out before they are weighed, and the weights of the others; input and the check of much
    I/O are left to the caller to avoid."""
    checker = Plain(world, task, chunk, page=page)
    passing = dict(checker.queues)
    out: dict[str, str] = {}
    soon: dict[str, str] = {}
    for check in checker.filters():
        for name, queue in list(passing.items()):
            answer = check(queue)
            if answer is not None and answer[1]:
                out[name] = answer[0]
                del passing[name]
            elif answer is not None:
                soon[name] = answer[0]
        if not passing:
            break
    for name in [name for name in passing if name in soon]:
        out[name] = soon[name]
        del passing[name]
    weights = {name: checker.weight(queue) for name, queue in passing.items()}
    assert all(math.isfinite(weight) for weight in weights.values())
    return out, weights
