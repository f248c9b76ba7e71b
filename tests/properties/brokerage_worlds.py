"""Random pools and tasks for the properties of the brokerage: every kind of data, mostly sane, now and then not.

A case is made from a number, which is quick; the number in a failure makes the same case again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec.structs import replace

from fairq.engine.brokerage.jobs.tasks import Case, Chunk, Dataset, File, Task
from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.world import (
    Failures,
    LinkMetric,
    Pilots,
    Queue,
    Quota,
    Relation,
    Slots,
    Storage,
    UserJobs,
    UserTotals,
    World,
)

NOW = 1_800_000_000.0
SITES = ("NUC", "S1", "S2", "S3", "S4")
SHARES = ("MC", "Express", "User Analysis")
STATES = ("defined", "assigned", "activated", "starting", "running", "transferring", "throttled", "pending")
TYPES = ("SCORE", "SCORE_HIMEM", "MCORE", "MCORE_HIMEM")
SOFTWARE: dict[str, Any] = {
    "cmtconfigs": ["x86_64-el9-gcc13-opt"],
    "containers": ["any"],
    "cvmfs": ["atlas"],
    "architectures": [{"type": "cpu", "arch": ["x86_64"]}, {"type": "gpu", "vendor": ["nvidia"]}],
    "tags": [],
}

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """A pool, and what is asked of it."""

    world: World
    task: Task
    chunk: Chunk
    more: Queue


def asked(seed: int, label: str) -> Asked:
    """Return the case number *seed* for a task with *label*."""
    maker = _Maker(random.Random(seed))
    return Asked(maker.world(label), maker.task(label), maker.chunk(), maker.queue("more", label))


def cases(seed: int, label: str, number: int, oddness: float | None = None) -> tuple[World, list[Case]]:
    """Return a pool, and tasks that differ from the first one in one or two properties of the task or its chunk.

    Whoever takes two tasks for equal that are not is found by these sooner than by tasks that differ in everything.
    *oddness*: how much of the pool and of the tasks is not sane.
    """
    source = random.Random(seed)
    maker = _Maker(source, oddness)
    world, first = maker.world(label), Case(maker.task(label), maker.chunk())
    found = [first]
    while len(found) < number:
        task, chunk = first
        other, piece = _Maker(source, oddness).task(label), _Maker(source, oddness).chunk()
        for _ in range(source.choice((1, 1, 2))):
            if source.random() < 0.7:
                name = source.choice(Task.__struct_fields__)
                task = replace(task, **{name: getattr(other, name)})
            else:
                name = source.choice(Chunk.__struct_fields__)
                chunk = replace(chunk, **{name: getattr(piece, name)})
        found.append(Case(replace(task, task_id=source.choice((1, 2))), chunk))
    return world, found


def with_one_more(world: World, queue: Queue) -> World:
    """Return *world* with one queue more, at a site and a storage of its own, that is no nucleus."""
    queue = replace(queue, name="Q00", site="ELSEWHERE", role="satellite")
    return replace(
        world,
        queues={**world.queues, queue.name: queue},
        storages={**world.storages, "ELSEWHERE": Storage("ELSEWHERE", "ELSEWHERE", space_free=1e6)},
        relations={**world.relations, queue.name: (Relation("ELSEWHERE"),)},
        pilots={**world.pilots, queue.name: Pilots(5, 5)},
        job_stats={**world.job_stats, queue.name: {share: {"running": 50, "activated": 3} for share in SHARES}},
        software={**world.software, queue.name: SOFTWARE},
    )


class _Maker:
    def __init__(self, source: random.Random, oddness: float | None = None) -> None:
        self._source = source
        self._oddness = source.choice([0.0, 0.02, 0.02, 0.1, 0.4]) if oddness is None else oddness

    def one(self, sane: T, *others: T) -> T:
        """Return what is sane, or now and then another value."""
        return self._source.choice(others) if self._source.random() < self._oddness else sane

    def any(self, *values: T) -> T:
        return self._source.choice(values)

    def some(self, names: tuple[str, ...] | list[str], make: Callable[[], T]) -> dict[str, T]:
        return {name: make() for name in names if self._source.random() < 0.5}

    def count(self) -> int:
        return self.any(0, 0, 1, self._source.randrange(60), self.one(5, 10**6, 10**12, 10**15))

    def states(self) -> dict[str, int]:
        return self.some(STATES, self.count)

    def queue(self, name: str, label: str) -> Queue:
        site = self.any(*SITES)
        return Queue(
            name,
            site=site,
            role="nucleus" if site == "NUC" else self.any("", "satellite"),
            cloud=self.one("WORLD", "DE", ""),
            type=self.one("unified", "production" if label == "managed" else "analysis", "special", "odd"),
            status=self.one("online", "standby", "test", "offline", "brokeroff", "paused", "", "odd"),
            capability=self.any("ucore", "ucore", "score", "mcore", ""),
            workflow=self.any("pull_ups", "push", ""),
            corecount=self.any(1, 8, self.one(8, 0, 4)),
            maxrss=self.one(16000.0, None, 0.0, 1.0, 1e12),
            minrss=self.one(0.0, None, 1000.0, 20000.0),
            maxwdir=self.one(160000.0, 0.0, 1.0, 1500.0),
            maxtime=self.any(0.0, 345600.0, self.one(1e7, 60.0)),
            mintime=self.one(0.0, 600.0),
            maxinputsize=self.any(None, -1.0, 100000.0),
            corepower=self.one(10.0, 0.0, 1e9),
            releases=self.any(("ANY",), ("AUTO",), self.one(("AUTO",), ())),
            fairsharepolicy=self.one("", "type=evgen:0%", "type=simul:100%,type=any:0%", "priority>400:0", ",,", "0%"),
            wnconnectivity=self.one("", "full", "http#IPv4", "#", "none"),
            transferringlimit=self.any(0, 1, 5000),
            pledgedcpu=self.any(0, -1, 100),
            maxdiskio=self.one(0.0, 10.0),
            direct_access_lan=self.any(True, False),
            direct_access_wan=self.any(True, False),
            jobseed=self.any("std", "all", self.one("std", "es", "eshigh")),
            catchall=self.one(
                "", "useJumboJobs,minEventsForJumbo=5", "gpu", "use_only_local_data", "bareNucleus=only", ",="
            ),
            params=self.one({}, {"max_io_intensity": 100}),
        )

    def world(self, label: str) -> World:
        names = [f"Q{number}" for number in range(self._source.randint(1, 14))]
        pool = {name: self.queue(name, label) for name in names}
        return World(
            now=NOW,
            queues=pool,
            storages={site: self.storage(site) for site in SITES},
            relations={name: self.relations(pool[name]) for name in names},
            links=self.links(),
            job_stats=self.some(names, lambda: self.some(SHARES, self.states)),
            job_stats_by_type=self.some(names, lambda: self.some(SHARES, lambda: self.some(TYPES, self.states))),
            transferring_by_nucleus=self.some(names, lambda: self.some(["NUC"], self.count)),
            core_stats=self.some(names, lambda: {"running": self.count(), "starting": self.count()}),
            disk_io=self.some(names, lambda: self.any(0.0, 50.0)),
            pilots={name: self.one(Pilots(5, 5, NOW - 60), Pilots(), Pilots(1, 0, NOW - 9000)) for name in names},
            workers=self.some(names, lambda: self.some(["running", "submitted", "x"], self.count)),
            slots=tuple(self.slots(name) for name in names if self._source.random() < 0.3),
            to_running_rates=self.some(names, lambda: self.any(0.0, 0.5, 100.0)),
            user_stats=self.some(
                names,
                lambda: self.some(
                    SHARES,
                    lambda: self.some(["jane", "joe", "_total"], lambda: UserJobs(self.count(), self.count())),
                ),
            ),
            software={name: SOFTWARE for name in names if self.one(True, False)},
            gpus=self.one({}, {names[0]: ({"vendor": "nvidia", "model": "a100", "vram": 40960},)}),
            replicas={"ds": self.replicas("ds"), "second": self.replicas("second")},
            locked=frozenset(name for name in names if self.one(False, True)),
            site_classes=self.some(names, lambda: self.any(-1, 0, 1)),
            share_usage=self.one({}, {"User Analysis": 0.93}, {"User Analysis": 2.0}),
            user_totals=self.one({}, {"jane": UserTotals(self.count(), self.count(), self.count(), self.count())}),
            quotas=self.one({}, {"jane": Quota(False)}, {"jane": Quota(True, True)}),
            failures={1: self.some(names, lambda: Failures(self.count(), self.one(0, 3), self.count()))},
            own_resource_types={1: self.some(names, lambda: frozenset(self.some(TYPES, lambda: 1)))},
            used_queues={1: frozenset(self.some(names, lambda: 1))},
            config=Config(self.config()),
        )

    def storage(self, site: str) -> Storage:
        state = self.one({}, {"read_lan": "OFF"}, {"write_lan": "TEST"}, {"write_wan": "OFF"}, {"read_wan": "PROBING"})
        kind, free = self.one("DATADISK", "SCRATCHDISK", "DATATAPE"), self.one(1e6, 0.0, 199.0)
        return Storage(site, site, kind, self.one(False, True), free, activities=state)

    def relations(self, queue: Queue) -> tuple[Relation, ...]:
        other = Relation(self.any(*SITES, "GONE"), self.any(frozenset({"read_lan"}), frozenset({"write_lan"})),
                         False, False, self.any("default", "analysis"))  # fmt: skip
        return self.one((Relation(queue.site),), (Relation(queue.site), other), (other,), ())

    def links(self) -> tuple[LinkMetric, ...]:
        values = {
            "AGIS_closeness": lambda: self.any(0.0, 5.0, 11.0, self.one(1.0, -1.0)),
            "Production Output_queued": lambda: self.any(0.0, 20.0, self.one(149.0, 1e15)),
            "dashb_mbps_1h": lambda: self.any(0.0, 30.0, 1e15),
            "dashb_mbps_1w": lambda: self.any(0.5, 150.0),
        }
        return tuple(
            LinkMetric(site, "NUC", key, make(), self.any(None, NOW - 60, NOW - 7200))
            for site in SITES
            for key, make in values.items()
            if self._source.random() < 0.4
        )

    def slots(self, name: str) -> Slots:
        return Slots(name, self.any(None, *SHARES), self.any(None, *TYPES), self.any(-1, 0, 5, 10**12),
                     self.any(None, NOW + 60, NOW - 60))  # fmt: skip

    def replicas(self, name: str) -> Mapping[str, frozenset[str] | None]:
        part = frozenset(f"{name}.{number}" for number in range(self._source.randint(0, 4)))
        return {site: self.any(None, None, part) for site in SITES if self._source.random() < 0.5} | {"S1": None}

    def config(self) -> dict[str, Any]:
        possible: dict[str, Any] = {
            "jobbroker.NW_ACTIVE": True,
            "jobbroker.NQUEUED_SAT_CAP": self.any(1, 150),
            "jobbroker.NQUEUELIMITSITE_MC": self.any(0, 1, 1000),
            "jobbroker.MIN_WEIGHT_managed": 0.01,
            "core.WORK_SHORTAGE": True,
            "prio_mgr.CAP_RUNNING_USER_JOBS": self.any(0, 1),
            "anal_jobbroker.OVERLOAD_MIN_QUEUE": self.any(0, 20),
        }
        return {key: value for key, value in possible.items() if self.one(False, True)}

    def task(self, label: str) -> Task:
        codes = ("NF", "NE", "TW", "IL", "NJ", "DY", "US", "AV", "LI")
        rules = {code: self.any("0", "1", "2", "-5", "100") for code in codes if self.one(False, True)}
        return Task(
            task_id=1,
            label=label,
            gshare=self.any(*SHARES, self.one("MC", None)),
            user="jane",
            working_group=self.one(None, "AP_Higgs"),
            task_priority=self.any(0, 500, 1000, 2000),
            current_priority=self.any(0, 100, 500, self.one(100, 800, 900, 1001)),
            processing_type=self.any("simul", "evgen", self.one("simul", "urgent", "")),
            resource_type=self.any(*TYPES, None),
            nucleus=self.any("NUC", None, self.one("NUC", "nowhere")),
            site=self.one(None, "Q0", "Q0,Q1", "Q2/SCORE"),
            core_count=self.any(None, 0, 1, 8),
            ram_count=self.any(None, 0, 1000, 1500),
            ram_unit=self.any(None, "MB", self.one("MB", "MBPerCore")),
            base_ram_count=self.any(None, 0, 500),
            cpu_time=self.any(None, 0, 100, self.one(100, 1e12)),
            cpu_time_unit=self.any(None, "HS06sPerEvent", "mHS06sPerEvent"),
            cpu_efficiency=self.one(90, None, 0),
            base_walltime=self.any(None, 0, 60),
            walltime=self.any(0, 1, self.one(1, None)),
            out_disk_count=self.any(None, 0, 500),
            out_disk_unit=self.any(None, "kB", self.one("kB", "MBPerEvent")),
            work_disk_count=self.any(None, 0, 100),
            work_disk_unit=self.any(None, "MB", self.one("MB", "GB")),
            io_intensity=self.any(None, 0, 100, 1000),
            disk_io=self.any(None, 100),
            architecture=self.any(
                None, None, "x86_64-el9-gcc13-opt", self.one(None, "#x86_64", "&nvidia", "(a|b)-el9")
            ),
            trans_home=self.any(None, None, self.one(None, "Athena-24.0.1")),
            rules=rules,
            event_service=self.one(0, 1),
            frozen_time=self.one(None, NOW - 100 * 3600),
        )

    def chunk(self) -> Chunk:
        datasets = tuple(
            Dataset(
                name,
                tuple(
                    File(f"{name}.{number}", self.any(0, 1, 2**20, self.one(2**30, 2**40)), self.any(None, 0, 50))
                    for number in range(self._source.randint(0, 4))
                ),
                distributed=self.one(False, True),
            )
            for name in ("ds", "second")[: self._source.randint(0, 2)]
        )
        return Chunk(datasets, is_merging=self.one(False, True), is_scout=self.one(False, True))
