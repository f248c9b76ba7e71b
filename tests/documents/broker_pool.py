"""A pool of PanDA's for the tests of its page: records in a state, and what the steps make of them.

The nucleus NUC has the queue NUC_Q; every other queue is a satellite with a site and an endpoint of its own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fairq.columns.broker.kinds import STORED
from fairq.common.records import Actor
from fairq.state import broker_data
from fairq.state.connection import writing
from fairq.steps.broker import run as broker_run
from fairq.steps.broker import why as broker_why
from fairq.steps.broker.checks import check_task
from fairq.steps.broker.flows import preset
from fairq.steps.broker.reader import check_record

NOW = 1_800_000_000
HOUR = 3600
GIB = 2**30
Record = dict[str, Any]

KINDS = {kind.name: kind for kind in STORED}

QUEUE: Record = {
    "status": "online", "type": "unified", "cloud": "W", "corecount": 1, "maxtime": 345_600, "corepower": 10,
    "releases": ["ANY"],
}  # fmt: skip
TASK: Record = {"jediTaskID": 1, "gshare": "MC", "nucleus": "NUC", "taskPriority": 500, "processingType": "simul",
                "coreCount": 1, "splitRule": "NF=1"}  # fmt: skip
USER: Record = {"jediTaskID": 1, "gshare": "User Analysis", "prodSourceLabel": "user", "userName": "jane",
                "taskPriority": 500, "coreCount": 1, "splitRule": "NF=1"}  # fmt: skip


def store(state: Path, **kinds: Iterable[Record]) -> None:
    """Put records into the state, by kind."""
    with writing(state) as opened:
        for name, records in kinds.items():
            kind = KINDS[name]
            check = check_task if name == "tasks" else check_record
            broker_data.store(opened, kind, [check(kind, record)[0] for record in records])


def pool(state: Path, queues: Mapping[str, Record], task: Record, **kinds: Iterable[Record]) -> None:
    """Store a pool and a task; *kinds* are further records, later ones win."""
    placed = {"NUC_Q": {"site": "NUC", "role": "nucleus"}} | {
        name: {"site": name, "role": "satellite"} | fields for name, fields in queues.items()
    }
    sites = {one["site"] for one in placed.values()}
    usual: dict[str, list[Record]] = {
        "queues": [QUEUE | {"name": name} | fields for name, fields in placed.items()],
        "storages": [{"rse": site, "site": site, "space_free": 1000} for site in sorted(sites)],
        "relations": [{"queue": name, "rse": one["site"]} for name, one in placed.items()],
        "pilots": [{"queue": name, "getJob": 5} for name in placed],
        "tasks": [(USER if task.get("prodSourceLabel") == "user" else TASK) | task],
    }
    store(state, **usual)
    store(state, **kinds)


class Answer:
    """What the brokerage says of task 1: status, why the task stopped, and of each queue its record."""

    def __init__(self, found: broker_why.Why) -> None:
        self.why = found
        self.status, self.reason = found.status, found.reason
        self.queues = {one["queue"]: one for one in found.queues}
        self.candidates = [one["queue"] for one in found.candidates]

    def reasons(self, *names: str) -> list[str]:
        """Return why queues are no candidates, empty if they are; all but the nucleus's by default."""
        chosen = names or tuple(name for name in self.queues if name != "NUC_Q")
        return [self.queues[name]["reason"] for name in chosen]

    def weight(self, name: str, *terms: str) -> float:
        """Return the weight of a queue, or the product of some of its terms."""
        record = self.queues[name]
        product = 1.0
        for term in terms:
            product *= record["terms"][term]
        return product if terms else record["weight"]


def asked(state: Path, rules: str = "documented", now: int = NOW, **points: Any) -> Answer:
    """Return what ``fairq broker why 1`` says."""
    return Answer(broker_why.why(state, preset(rules, **points), 1, now))


def answer(
    state: Path, queues: Mapping[str, Record], task: Record | None = None, rules: str = "documented",
    **kinds: Iterable[Record],
) -> Answer:  # fmt: skip
    """Store a pool and return what is said of its task."""
    pool(state, queues, task or {}, **kinds)
    return asked(state, rules)


def run(state: Path, now: int = NOW) -> broker_run.Decided:
    """Broker the task as ``fairq broker run`` does, and return what became of it."""
    done = broker_run.run(state, preset("documented"), Actor("test", "test", now), [1])
    (decided,) = done.decided
    return decided


def user(**fields: Any) -> Record:
    """Return an analysis task."""
    return {"prodSourceLabel": "user", "nucleus": None, **fields}


def files(number: int, size: float = GIB, **fields: Any) -> Record:
    """Return the input ``ds`` of task 1."""
    entries = [{"lfn": f"f{n}", "fsize": size, "nEvents": 100} for n in range(number)]
    return {"task": 1, "dataset": "ds", "files": entries} | fields


def at(**places: int | None) -> list[Record]:
    """Return where ``ds`` is: by endpoint, how many of its first files; None: all."""
    return [{"dataset": "ds", "rse": rse} if count is None else
            {"dataset": "ds", "rse": rse, "files": [f"f{n}" for n in range(count)]}
            for rse, count in places.items()]  # fmt: skip


def jobs(share: str = "MC", **of_queues: Mapping[str, int]) -> list[Record]:
    """Return counts of jobs by queue and state."""
    return [{"queue": queue, "gshare": share, "state": state, "n": number}
            for queue, counts in of_queues.items() for state, number in counts.items()]  # fmt: skip


def link(key: str, value: float, source: str = "SAT", age: int = 0) -> Record:
    """Return a metric of a link to the nucleus."""
    return {"source": source, "nucleus": "NUC", "key": key, "value": value, "time": NOW - age}


def setting(**values: Any) -> list[Record]:
    """Return settings of PanDA: ``jobbroker__NAME=...``."""
    return [{"component": name.partition("__")[0], "key": name.partition("__")[2], "value": str(value)}
            for name, value in values.items()]  # fmt: skip
