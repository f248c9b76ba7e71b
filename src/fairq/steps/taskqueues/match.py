"""Match pilots: each gets one job of a task queue, exactly once, in one transaction (docs/dirac.md 5).

A matched job runs on a slot that the pilot brings along; the slot is removed when the job ends. Its use is charged like
that of any other slot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.common.expression_form import attribute, is_expression
from fairq.common.records import Actor, Ad, Change, Claim, JobRange, JobStatus, PilotSlot, SlotRecord
from fairq.engine.accounting.identity import group_and_ancestors
from fairq.engine.shares.choice import chance, choose_jobs, choose_queues
from fairq.engine.shares.options import Note
from fairq.engine.shares.rules import Rules, Selection
from fairq.state import claims, history, jobs, pilot_slots, slots, submitters
from fairq.state.connection import State, reading, writing
from fairq.state.location import exists
from fairq.steps.cycle.accounting_policy import accounting_policy, is_dominant
from fairq.steps.cycle.accounts import load_accountant, settle, store_times
from fairq.steps.taskqueues.formation import Member, full_ad, remember
from fairq.steps.taskqueues.pilots import Barred, Pilot, SiteLoad, check_groups, limited_values, load_site, matcher_of
from fairq.steps.taskqueues.world import ShareWorld, load_world

if TYPE_CHECKING:
    from fairq.settings import Settings

MOST_CHANCES = 10_000
"""Maximum number of queues for which the chance is computed; DIRAC's chance is an integral over all queues."""

_UPDATE_AFTER = 60
"""Seconds after which all submitters are charged again, as in a cycle: a pool with only pilots runs no cycle."""


class HandedOut(Struct, frozen=True):
    """One job that a pilot got, its queue, and the chance that this queue came first (None: not computed)."""

    job: JobRange
    owner: str
    group: str
    queue: int
    priority: float
    user_priority: float
    chance: float | None
    slot: str
    ad: Ad


class Matched(Struct, frozen=True):
    """The *matches* in order, with the numbers of pilots that *asked*, of all *queues* and of *matching* queues.

    *barred* is what the site is not given any more; *is_barred*: some pilot got no job because of it alone.
    """

    rules: str
    selection: str
    pilot: Pilot
    time: int
    asked: int
    queues: int
    matching: int
    barred: Barred
    is_barred: bool
    matches: list[HandedOut]
    notes: list[Note | str]
    details: list[Note | str]


def match(
    path: Path,
    settings: Settings,
    pilot: Pilot,
    actor: Actor,
    *,
    count: int = 1,
    selection: Selection | None = None,
    seed: int | None = None,
    dry_run: bool = False,
) -> Matched:
    """Match jobs to *count* identical pilots like *pilot*, at the actor's time.

    *selection* takes precedence over the settings; the same *seed* draws the same jobs from the same state. All matches
    are stored in one transaction, or none with *dry_run*.

    Raises:
        PilotDescriptionError, InvalidNameError: the pilot cannot be served.
        UnknownShareGroupError: nobody knows a group that it names.
    """
    with reading(path) if dry_run or not exists(path) else writing(path) as state:
        world = load_world(state, settings, actor.time)
        check_groups(state, world, pilot)
        rules = world.policy.rules if selection is None else replace(world.policy.rules, selection=selection)
        draw = np.random.default_rng(seed).random
        load = load_site(state, world.policy, pilot.site)
        handing = _Handing(state, world, pilot, rules, draw, load, actor.time)
        matches = [found for _ in range(count) if (found := handing.next()) is not None]
        if matches and not dry_run:
            _store(state, settings, world, pilot, matches, load, actor)
    return Matched(
        rules.name,
        rules.selection,
        pilot,
        actor.time,
        count,
        len(world.formed.queues),
        handing.matching,
        handing.barred,
        len(matches) < count and handing.is_barred,
        matches,
        [*world.notes, *load.notes],
        world.details,
    )


class _Handing:
    """Matches job after job of one snapshot; priorities stay as they were at its start."""

    def __init__(
        self,
        state: State,
        world: ShareWorld,
        pilot: Pilot,
        rules: Rules,
        draw: Callable[[int], Any],
        load: SiteLoad,
        now: int,
    ) -> None:
        self._state, self._pilot, self._rules, self._draw, self._now = state, pilot, rules, draw, now
        self._world, self._load = world, load
        self._priorities = world.priorities
        self._all_weights = np.array(self._priorities, float)
        self._waiting: dict[int, list[Member]] = {}
        self.barred = load.barred(pilot.grid_ce, now)
        self._offer()
        self.matching = len(self._offered)

    def _offer(self) -> None:
        """Find the matching queues that have jobs left."""
        self._offered = self._with_jobs(self.barred.negative)
        self._weights = self._all_weights[self._offered]

    def _with_jobs(self, negative: Mapping[str, Sequence[str]]) -> NDArray[np.intp]:
        """Return the queues that have jobs left and match the pilot, apart from those that *negative* excludes."""
        matcher = matcher_of(self._pilot, self._world.policy, negative)
        emptied = {row for row, waiting in self._waiting.items() if not waiting}
        rows = matcher.matching(self._world.formed.queues.requirements)
        return np.array([row for row in rows if row not in emptied], np.intp)

    @property
    def is_barred(self) -> bool:
        """Whether limits and delays of the site are all that keeps the pilot from a job."""
        return bool(self.barred.negative) and not len(self._offered) and len(self._with_jobs({})) > 0

    def next(self) -> HandedOut | None:
        """Match one job; None if there is none for this pilot."""
        if not len(self._offered):
            return None
        place = choose_queues(self._weights, self._draw, self._rules)[0]
        row = int(self._offered[place])
        if row not in self._waiting:
            self._waiting[row] = self._jobs_of(row)
        waiting = self._waiting[row]
        job = waiting.pop(choose_jobs([one.user_priority for one in waiting], self._draw, self._rules)[0])
        told = chance(self._weights, place, self._rules.selection) if len(self._weights) <= MOST_CHANCES else None
        handed = self._handed(row, job.job, job.user_priority, told)
        if not waiting:
            self._offered = np.delete(self._offered, place)
            self._weights = np.delete(self._weights, place)
        former = self.barred.negative
        self.barred = self._load.barred(self._pilot.grid_ce, self._now)
        if self.barred.negative != former:
            self._offer()
        return handed

    def _jobs_of(self, row: int) -> list[Member]:
        """Return each waiting job of a queue, oldest first."""
        return [
            Member(replace(one.job, first_proc=proc, last_proc=proc), one.user_priority)
            for one in self._world.formed.members(self._state, row)
            for proc in range(one.job.first_proc, one.job.last_proc + 1)
        ]

    def _handed(self, row: int, job: JobRange, user_priority: float, chance: float | None) -> HandedOut:
        queue, ad = self._world.formed.queues.row(row), full_ad(self._state, job)
        if self._load.is_limited:
            values = limited_values(ad, job.owner, self._pilot.site, queue.requirements.job_types)
            self._load.start(values, self._pilot.grid_ce, self._now)
        return HandedOut(
            job,
            queue.requirements.owner,
            queue.requirements.group,
            queue.id,
            self._priorities[row],
            user_priority,
            chance,
            f"pilot_{job.cluster}.{job.first_proc}@{self._pilot.site}",
            ad,
        )


def _store(
    state: State,
    settings: Settings,
    world: ShareWorld,
    pilot: Pilot,
    matches: list[HandedOut],
    load: SiteLoad,
    actor: Actor,
) -> None:
    now = actor.time
    remember(state, world.formed)
    world.formed.keep(state, world.policy)
    started = (one.job for one in matches)
    jobs.mark_running(
        state, (jobs.Procs(job.schedd, job.cluster, job.first_proc, job.first_proc) for job in started), now
    )
    records = [SlotRecord(0, one.slot, _slot_ad(one, pilot, now), one.job.schedd) for one in matches]
    weights = _weights([record.ad for record in records], settings)
    numbers = slots.add(state, records)
    pilot_slots.add(state, (PilotSlot(number, pilot.site, pilot.grid_ce, pilot.reference) for number in numbers))
    _charge(state, settings, matches, numbers, weights, now)
    claims.store(
        state,
        (
            Claim(
                number,
                one.job.submitter,
                now,
                weight,
                one.job.schedd,
                one.job.cluster,
                one.job.first_proc,
                concurrency_limits=_limits(one.ad),
            )
            for one, number, weight in zip(matches, numbers, weights, strict=True)
        ),
    )
    pilot_slots.put_delays(state, load.delay_states())
    history.record(
        state,
        actor,
        (
            Change(
                f"job {one.job.cluster}.{one.job.first_proc}",
                {"JobStatus": int(JobStatus.IDLE)},
                {"JobStatus": int(JobStatus.RUNNING), "RemoteHost": one.slot, "TaskQueue": one.queue},
            )
            for one in matches
        ),
    )


def _slot_ad(one: HandedOut, pilot: Pilot, now: int) -> Ad:
    """Return the slot that a pilot brings for one job: it has the requested resources, and accepts no other job."""
    ad: Ad = {
        "MyType": "Machine",
        "TargetType": "Job",
        "Name": one.slot,
        "Machine": pilot.site,
        "SlotID": 1,
        "SlotType": "Static",
        "Cpus": _requested(one.ad, "requestcpus", 1),
        "Memory": _requested(one.ad, "requestmemory", 0),
        "Disk": _requested(one.ad, "requestdisk", 0),
        "SlotWeight": _requested(one.ad, "requestcpus", 1),
        "Start": False,
        "Requirements": False,
        "Rank": 0.0,
        "CurrentRank": 0.0,
        "State": "Unclaimed",
        "Activity": "Idle",
        "EnteredCurrentState": now,
        "EnteredCurrentActivity": now,
        "Site": pilot.site,
    }
    more = {"GridCE": pilot.grid_ce, "Platform": pilot.platform, "Pilot": pilot.reference}
    return ad | {name: value for name, value in more.items() if value is not None}


def _requested(ad: Ad, name: str, default: int) -> int:
    value = attribute(ad, name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return default
    return int(value) if 0 < value < math.inf else default


def _limits(ad: Ad) -> str | None:
    value = attribute(ad, "concurrencylimits")
    return value if isinstance(value, str) and not is_expression(value) else None


def _weights(ads: list[Ad], settings: Settings) -> list[float]:
    if not settings["negotiator.negotiator_use_slot_weights"]:
        return [1.0] * len(ads)
    if not settings["negotiator.force_negotiator_slot_weight"] or is_dominant(settings):
        # The slots of pilots are no pool whose shares they could have.
        return [float(ad["SlotWeight"]) for ad in ads]
    from fairq.engine.classad import AdColumns
    from fairq.engine.negotiation.pool import slot_weights
    from fairq.steps.cycle.negotiation_policy import negotiation_policy
    from fairq.steps.evaluation.budget import evaluation_budget

    columns = AdColumns(ads, budget=evaluation_budget(settings))
    weights: list[float] = slot_weights(columns, negotiation_policy(settings)).tolist()
    return weights


def _charge(
    state: State, settings: Settings, matches: list[HandedOut], numbers: list[int], weights: list[float], now: int
) -> None:
    """Charge the new slots from *now* on, and all submitters if their last charge is too old."""
    settle(state, settings)
    accountant = load_accountant(state, accounting_policy(settings))
    last_update = accountant.last_update
    if not last_update or now - last_update >= _UPDATE_AFTER:
        accountant.update(now)
    touched: set[str] = set()
    for one, number, weight in zip(matches, numbers, weights, strict=True):
        submitter = one.job.submitter
        accountant.add_match(submitter, number, weight, now)
        accountant.priority_factor(submitter)
        touched.update((submitter, *group_and_ancestors(accountant.group_of(submitter))))
    is_new = accountant.last_update != last_update
    if is_new:
        store_times(state, accountant)
    every = accountant.records if is_new else sorted(touched)
    submitters.store(state, [accountant.record(name) for name in every], accountant.booked)
