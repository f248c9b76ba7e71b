"""The pool on a page: machines, groups, who waits and why, starts, use and waits, as plain data.

It has no data that `pool.private_jobs` hides from other users: no command, argument, directory or environment.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, to_builtins

from fairq.common.names import natural_key
from fairq.common.records import Ad, JobRange, JobStatus
from fairq.state import job_ads, jobs, reservations
from fairq.state.connection import State, reading
from fairq.steps.launch.values import requests_of
from fairq.steps.pool.current_ads import current_ads
from fairq.steps.pool.pause import pause_document
from fairq.steps.pool.reserve import reservation_document
from fairq.steps.reports.line import Line
from fairq.steps.reports.report import report
from fairq.steps.reports.series import Series, series
from fairq.steps.reports.status import PoolStatus
from fairq.steps.simulate.forecast import Forecast, Forecaster
from fairq.steps.userprio.tree import Share, share_tree

if TYPE_CHECKING:
    from fairq.settings import Settings

DAY = 86400
MONTH = 30 * DAY
LINES = 8
"""Number of lines of a chart; the others are added up in one."""

WAITING = 500
"""Number of ranges of waiting jobs that are listed, those that are forecast to start first."""


class Machine(Struct):
    """A machine with its slots: cores, memory (MB) and GPUs in total and in use, and the cores in use by user."""

    name: str
    slots: int = 0
    cpus: float = 0.0
    cpus_in_use: float = 0.0
    memory: float = 0.0
    memory_in_use: float = 0.0
    gpus: float = 0.0
    gpus_in_use: float = 0.0
    drained: int = 0
    offline: int = 0
    users: dict[str, float] = field(default_factory=dict)


class Waiting(Struct, frozen=True):
    """Similar idle jobs *first* to *last* of a cluster: the requests of each (memory in MB), and the submission time.

    The first one is forecast to start at *start*; *place* is its place in line. None: not within the forecast.
    """

    cluster: int
    first: int
    last: int
    schedd: str
    submitter: str
    cpus: float | None
    memory: float | None
    gpus: float | None
    since: int
    place: int | None
    start: int | None


class Page(Struct):
    """The data of the page of the pool at `PoolStatus.now`.

    *waiting* has the first of the *ranges* of idle jobs. *assumptions* are those of their forecast starts.
    *reservations* are as `reservation_document` has them. *hours* and *days* are the use by accounting group, or by
    submitter in a pool without groups, over 24 hours and 30 days, *users* the sums of 30 days.
    """

    status: PoolStatus
    shares: list[Share]
    machines: list[Machine]
    waiting: list[Waiting]
    ranges: int
    assumptions: list[str]
    reservations: list[dict[str, Any]]
    hours: Series
    days: Series
    users: list[Line]


def page(path: Path, settings: Settings, now: int) -> Page:
    """Return the data of the page of the pool at *now*."""
    status, shares = share_tree(path, settings, now)
    by = "group" if settings.groups else "submitter"
    hours = series(path, settings, "usage", by, now - DAY, now, columns=24, top=LINES)
    days = series(path, settings, "usage", by, now - MONTH, now, columns=31, top=LINES)
    users = report(path, settings, ("user",), now - MONTH, now).lines
    with reading(path) as state:
        machines = _machines(current_ads(state, now))
        idle = jobs.select(state, statuses=[JobStatus.IDLE])
        forecast = Forecaster.of_state(state, settings, now).forecast()
        waiting = _waiting(state, idle, forecast, now)
        reserved = [reservation_document(state, reservation, now) for reservation in reservations.load(state, now)]
    return Page(
        status,
        shares,
        machines,
        waiting,
        len(idle),
        forecast.assumptions() if idle else [],
        reserved,
        hours,
        days,
        users,
    )


def _machines(ads: Iterable[Ad]) -> list[Machine]:
    machines: dict[str, Machine] = {}
    for ad in ads:
        name = str(ad.get("Machine") or ad["Name"].rpartition("@")[2])
        machine = machines.setdefault(name, Machine(name))
        cpus, memory, gpus = (_number(ad, resource) for resource in ("Cpus", "Memory", "GPUs"))
        machine.slots += 1
        machine.cpus += cpus
        machine.memory += memory
        machine.gpus += gpus
        machine.drained += ad.get("State") == "Drained" or ad.get("Activity") == "Retiring"
        machine.offline += ad.get("Offline") is True
        if ad.get("State") == "Claimed":
            machine.cpus_in_use += cpus
            machine.memory_in_use += memory
            machine.gpus_in_use += gpus
            user = str(ad.get("RemoteUser", ""))
            machine.users[user] = machine.users.get(user, 0.0) + cpus
    return sorted(machines.values(), key=lambda machine: natural_key(machine.name))


def _number(ad: Ad, name: str) -> float:
    value = ad.get(name, 0.0)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


def _waiting(state: State, idle: list[JobRange], forecast: Forecast, now: int) -> list[Waiting]:
    def order(job: JobRange) -> tuple[bool, int, bool, int, int, int]:
        start = forecast.start_of(job.schedd, job.cluster, job.first_proc)
        likely, position = (None, None) if start is None else (start.likely, start.place)
        return likely is None, likely or 0, position is None, position or 0, job.cluster, job.first_proc

    first = sorted(idle, key=order)[:WAITING]
    ads = job_ads.ads(state, {job.ad_id for job in first})
    return [_range(job, ads[job.ad_id], forecast, now) for job in first]


def _range(job: JobRange, shared: Ad, forecast: Forecast, now: int) -> Waiting:
    ad = job.ad_of(shared, job.first_proc)
    cpus, memory, gpus = requests_of(ad, now)
    start = forecast.start_of(job.schedd, job.cluster, job.first_proc)
    position, likely = (None, None) if start is None else (start.place, start.likely)
    return Waiting(
        job.cluster,
        job.first_proc,
        job.last_proc,
        job.schedd,
        job.submitter,
        cpus,
        memory,
        gpus,
        ad.get("QDate", now),
        position,
        likely,
    )


def document(data: Page) -> dict[str, Any]:
    """Return the page's *data* in the form of ``pool.json``."""
    status = data.status
    return {
        "time": status.now,
        "paused": None if status.pause is None else pause_document(status.pause),
        "cycle": status.cycle and status.cycle.number,
        "cycle_time": status.cycle and status.cycle.time,
        "slots": status.slots,
        "weight": status.weight,
        "weight_in_use": status.weight_in_use,
        "idle": status.count("idle"),
        "running": status.count("running"),
        "held": status.count("held"),
        "machines": to_builtins(data.machines),
        "shares": to_builtins(data.shares),
        "submitters": [submitter.document() for submitter in status.submitters],
        "waiting": to_builtins(data.waiting),
        "waiting_ranges": data.ranges,
        "assumptions": data.assumptions,
        "reservations": data.reservations,
        "use_24_hours": to_builtins(data.hours),
        "use_30_days": to_builtins(data.days),
        "users_30_days": [_user(line) for line in data.users],
    }


def _user(line: Line) -> dict[str, Any]:
    median, high = line.wait_quantiles()
    return {
        "user": line.keys[0],
        "jobs": line.jobs,
        "charged_seconds": line.charged_seconds,
        "entitled_seconds": line.entitled_seconds,
        "met": line.met,
        "wait_median": median,
        "wait_95_percent": high,
    }
