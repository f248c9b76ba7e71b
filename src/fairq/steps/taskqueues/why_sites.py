"""At which of the known sites a task queue or a job may be offered, to a pilot that has all else that it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fairq.engine.shares.options import Note
from fairq.engine.shares.queues import Requirements
from fairq.state import pilot_slots
from fairq.state.connection import State, reading
from fairq.steps.taskqueues.pilots import Pilot, check_groups, load_site, matcher_of
from fairq.steps.taskqueues.why import Failure, failures_of, subject_of
from fairq.steps.taskqueues.world import ShareWorld, load_world

if TYPE_CHECKING:
    from fairq.settings import Settings


class SiteVerdict(Struct, frozen=True):
    """The conditions that fail at a *site*; none: it is offered there."""

    site: str
    failures: list[Failure]


class WhySites(Struct, frozen=True):
    """The verdicts of all known sites about a queue (or its job *job*).

    Without a *queue*, the job is in none; *reason* says why.
    """

    rules: str
    job: str | None
    queue: int | None
    reason: str
    sites: list[SiteVerdict]
    notes: list[Note | str]
    details: list[Note | str]


def why_sites(path: Path, settings: Settings, pilot: Pilot, target: int | tuple[int, int], now: int) -> WhySites:
    """Return at which sites the queue of number *target*, or the job (cluster, proc), is offered at *now*.

    The *pilot* is at each site in turn. What is not said of it is what the queue asks for.

    Raises the errors of `why_not`.
    """
    with reading(path) as state:
        world = load_world(state, settings, now)
        check_groups(state, world, pilot)
        about, verdicts = subject_of(state, world, target), []
        if about.queue is not None:
            asked = about.queue.requirements
            for site in known_sites(state, world):
                load = load_site(state, world.policy, site)
                there = _completed(replace(pilot, site=site), asked)
                barred = load.barred(there.grid_ce, now)
                matcher = matcher_of(there, world.policy, barred.negative)
                verdicts.append(SiteVerdict(site, list(failures_of(there, matcher, asked, barred, load))))
    return WhySites(
        world.policy.rules.name,
        about.job,
        None if about.queue is None else about.queue.id,
        about.reason,
        verdicts,
        world.notes,
        world.details,
    )


def known_sites(state: State, world: ShareWorld) -> list[str]:
    """Return the sites that task queues, the settings or pilots name."""
    scheduling = world.policy.job_scheduling
    sites = {*scheduling["RunningLimit"], *scheduling["MatchingDelay"], *(world.policy.usable_sites or ())}
    table = world.formed.queues.requirements
    for column in (table.sites, table.banned_sites):
        sites.update(*set(column.tolist()))
    sites.update(one.site for one in pilot_slots.load_all(state))
    return sorted(sites)


def _completed(pilot: Pilot, queue: Requirements) -> Pilot:
    """Return *pilot* with all that *queue* asks for where nothing is said of it, the site apart."""
    is_said = bool(pilot.tags or pilot.processors or pilot.whole_node)
    return replace(
        pilot,
        grid_ce=pilot.grid_ce or next(iter(queue.grid_ces), None),
        platform=pilot.platform or next(iter(queue.platforms), None),
        job_type=pilot.job_type or next(iter(queue.job_types), None),
        tags=pilot.tags if is_said else queue.tags,
    )
