"""The known sites at which a task queue or a job is offered, to a pilot that meets all other requirements."""

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

    *queue* is None if the job is in no queue; *reason* says why.
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

    The *pilot* is moved to each site in turn. Properties that it does not state are those that the queue requires.

    Raises the errors of `why_not`.
    """
    with reading(path) as state:
        world = load_world(state, settings, now)
        check_groups(state, world, pilot)
        subject, verdicts = subject_of(state, world, target), []
        if subject.queue is not None:
            requirements = subject.queue.requirements
            for site in known_sites(state, world):
                load = load_site(state, world.policy, site)
                pilot_at_site = _completed(replace(pilot, site=site), requirements)
                restrictions = load.restrictions(pilot_at_site.grid_ce, now)
                matcher = matcher_of(pilot_at_site, world.policy, restrictions.negative)
                verdicts.append(
                    SiteVerdict(site, list(failures_of(pilot_at_site, matcher, requirements, restrictions, load)))
                )
    return WhySites(
        world.policy.rules.name,
        subject.job,
        None if subject.queue is None else subject.queue.id,
        subject.reason,
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
    sites.update(slot.site for slot in pilot_slots.load_all(state))
    return sorted(sites)


def _completed(pilot: Pilot, queue: Requirements) -> Pilot:
    """Return *pilot* with its unstated properties, except the site, set to those that *queue* requires."""
    states_tags = bool(pilot.tags or pilot.processors or pilot.whole_node)
    return replace(
        pilot,
        grid_ce=pilot.grid_ce or next(iter(queue.grid_ces), None),
        platform=pilot.platform or next(iter(queue.platforms), None),
        job_type=pilot.job_type or next(iter(queue.job_types), None),
        tags=pilot.tags if states_tags else queue.tags,
    )
