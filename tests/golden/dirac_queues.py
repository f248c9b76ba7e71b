"""Task queues: how jobs form them, what priority they get, and which of them match a pilot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isclose
from typing import Any

import numpy as np
from tests.engine.shares.plain_needs import needs_of
from tests.golden.dirac_comparison import DIRAC, unequal
from tests.golden.dirac_history import History, corrections_of
from tests.golden.dirac_table import QueueTable, TableQueue

from fairq.engine.shares.check import as_queried, as_written
from fairq.engine.shares.division import divide, families
from fairq.engine.shares.groups import OwnerGroup, read_group
from fairq.engine.shares.match import Matcher
from fairq.engine.shares.needs import JobDefaults, read_segments
from fairq.engine.shares.options import is_yes
from fairq.engine.shares.queues import QueueTable as Queues
from fairq.engine.shares.queues import Requirements, RequirementTable, TaskQueue
from fairq.engine.shares.user_priority import real_priority
from fairq.settings.keys import SINGLE

Record = Mapping[str, Any]


LISTS = {
    "GridCEs": "grid_ces",
    "Platforms": "platforms",
    "JobTypes": "job_types",
    "Tags": "tags",
    "Sites": "sites",
    "BannedSites": "banned_sites",
}
RAM = {"MinRAM": "min_ram", "MaxRAM": "max_ram"}


SHOWN: dict[str, Callable[[int, TableQueue], Any]] = {
    "tq": lambda number, queue: number,
    "Owner": lambda number, queue: queue.formed.requirements.owner,
    "OwnerGroup": lambda number, queue: queue.formed.requirements.group,
    "CPUTime": lambda number, queue: queue.formed.requirements.cpu_time,
    "jobs": lambda number, queue: sorted(queue.jobs),
    "real_priorities": lambda number, queue: [
        real_priority(queue.jobs[job].user_priority, DIRAC) for job in sorted(queue.jobs)
    ],
    "last_written": lambda number, queue: queue.written,
    "Priority": lambda number, queue: as_queried(as_written(queue.priority)),
    **{
        key: lambda number, queue, name=name: list(getattr(queue.formed.requirements, name))
        for key, name in LISTS.items()
    },
    **{key: lambda number, queue, name=name: getattr(queue.formed.requirements, name) for key, name in RAM.items()},
}
"""What a recording may show of a task queue; each recording says which of it is compared."""


def run_calculate_priority(given: Record, expected: Record) -> list[str]:
    """Run one case of kind ``calculate_priority``: one pool of queues."""
    averages = {int(number): average for number, average in given["average_real_priority"].items()}
    queues = [
        TaskQueue(number, _as_listed(given["tq_data"].get(str(number), {})), 1, average)
        for number, average in averages.items()
    ]
    rows = np.arange(len(queues))
    weights = np.array(list(averages.values()), float)
    division = divide(
        weights=weights,
        averages=weights,
        pool=np.zeros(len(queues), np.intp),
        shares=np.array([given["share"]], float),
        allowed=np.array([given["allow_background"]]),
        family=families(Queues.of(queues), rows, DIRAC),
        strict=True,
    )
    found = {str(queue.id): float(division.priority[row]) for row, queue in enumerate(queues)}
    written: dict[str, list[int]] = {}
    for number, priority in sorted(found.items(), key=lambda item: int(item[0])):
        written.setdefault(as_written(priority), []).append(int(number))
    return [
        *unequal("priority_per_tq", found, expected["priority_per_tq"]),
        *unequal("as_written", written, {text: sorted(ids) for text, ids in expected["as_written"].items()}),
    ]


def _as_listed(fields: Record) -> Requirements:
    lists = {name: tuple(fields.get(key, ())) for key, name in LISTS.items()}
    ram = {name: fields.get(key, 0) for key, name in RAM.items()}
    return Requirements(fields.get("Owner", ""), fields.get("OwnerGroup", ""), fields.get("CPUTime", 0), **lists, **ram)


class Population:
    """The jobs of a case, put into task queues."""

    def __init__(self, given: Record) -> None:
        """Nothing is inserted yet."""
        scheduling = given.get("job_scheduling") or {}
        self.groups: dict[str, OwnerGroup] = {
            name: read_group(name, options, DIRAC) for name, options in given["groups"].items()
        }
        self.settings = scheduling.get("ShareCorrections") or {}
        self.reports = History(given.get("history"))
        segments = read_segments(scheduling.get("taskQueueCPUTimeIntervals"), DIRAC)
        self._defaults = JobDefaults(DIRAC, segments, SINGLE["shares.default_cpu_time"].default, 1)
        self._jobs = {job["id"]: job for job in given["jobs"]}
        corrected = is_yes(scheduling.get("EnableSharesCorrection", False))
        capacity = given.get("max_jobs_in_tq", SINGLE["shares.max_jobs_in_task_queue"].default)
        self.table = QueueTable(self.groups, corrections_of(given) if corrected else None, capacity)

    def insert(self, number: int) -> None:
        """Insert the job of that number."""
        job = self._jobs[number]
        ad = {key.lower(): job[key] for key in (*LISTS, *RAM) if key in job}
        needs = needs_of({**ad, "cputime": job["cpu"], "userpriority": job.get("priority")}, 0, self._defaults)
        identity = {"owner": job["owner"], "group": job["group"]}
        self.table.insert(number, needs._replace(requirements=needs.requirements._replace(**identity)))

    def insert_all(self) -> None:
        """Insert all jobs but those that come later."""
        for number, job in self._jobs.items():
            if not job.get("later"):
                self.insert(number)

    def step(self, step: str) -> None:
        """Do what *step* says: ``insert_all``, ``insert:3``, ``delete:3``, ``recalculate_all``, ..."""
        verb, _, argument = step.partition(":")
        number = int(argument) if argument.isdecimal() else None
        if verb == "insert_all":
            self.insert_all()
        elif verb.startswith("insert") and number is not None:
            self.insert(number)
        elif verb.startswith("recalculate"):
            self.table.recalculate_all(self.settings, self.reports)
        elif any(word in verb.lower() for word in ("empt", "drop", "clean", "queue", "tq")):
            self.table.drop_emptied(number)
        elif number is not None:
            self.table.remove(number)
        elif verb != "group_shares":
            raise ValueError(f"no step is called {step}")


def run_task_queues(given: Record, expected: Record) -> list[str]:
    """Run one case of kind ``task_queues``."""
    population = Population(given)
    steps = iter(expected.get("steps", ()))
    differences = []
    for step in given["steps"]:
        for queue in population.table.queues.values():
            queue.written = None
        population.step(step)
        differences += _compared(step, population, next(steps, {}))
    if "accounting_requests" in expected:
        differences += unequal("accounting_requests", population.reports.requests, expected["accounting_requests"])
    if "group_shares_used" in expected:
        differences += _shares_unequal(population.table.group_shares, expected["group_shares_used"])
    return differences[:1]


def _shares_unequal(found: Mapping[str, float], expected: Mapping[str, float]) -> list[str]:
    """Compare shares whose last digit depends on the order in which the database lists groups."""
    alike = found.keys() == expected.keys() and all(
        isclose(found[name], expected[name], rel_tol=1e-13) for name in found
    )
    return [] if alike else unequal("group_shares_used", found, expected)


def _compared(step: str, population: Population, expected: Record) -> list[str]:
    if "group_shares" in expected:
        return unequal(f"after {step}: group_shares", population.table.group_shares, expected["group_shares"])
    if "task_queues" not in expected:
        return []
    queues = population.table.queues
    wanted = {queue["tq"]: queue for queue in expected["task_queues"]}
    found = {
        number: {key: SHOWN[key](number, queue) for key in wanted.get(number, ("tq", "jobs"))}
        for number, queue in queues.items()
        if queue.jobs or number in wanted
    }
    return unequal(f"after {step}: task_queues", found, wanted)


def run_match(given: Record, expected: Record) -> list[str]:
    """Run one case of kind ``match``: a pilot's match dictionary against a population of jobs."""
    population = Population(given)
    population.insert_all()
    queues = list(population.table.queues.values())
    matcher = Matcher(given["resource"], population.groups, DIRAC, given.get("negative_condition"))
    places = matcher.matching(RequirementTable.of([queue.formed.requirements for queue in queues]))
    return unequal("matching_jobs", sorted(min(queues[place].jobs) for place in places), expected["matching_jobs"])
