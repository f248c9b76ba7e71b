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
from fairq.steps.taskqueues.formation import Member, full_ad, store_numbers
from fairq.steps.taskqueues.pilots import (
    Pilot,
    SiteLoad,
    SiteRestrictions,
    check_groups,
    limited_values,
    load_site,
    matcher_of,
)
from fairq.steps.taskqueues.world import ShareWorld, load_world

if TYPE_CHECKING:
    from fairq.settings import Settings

MOST_CHANCES = 10_000
"""Maximum number of queues for which the chance is computed; DIRAC's chance is an integral over all queues."""

_UPDATE_AFTER = 60
"""Seconds after which all submitters are charged again, as in a cycle: a pool with only pilots runs no cycle."""


class MatchedJob(Struct, frozen=True):
    """One job matched to a pilot, its queue, and the chance of this queue to come first (None: not computed)."""

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
    """The *matches* in order, with the numbers of *pilots*, of all *queues* and of *matching* queues.

    *restrictions* are those of the site at the end; *is_restricted*: some pilot got no job only because of them.
    """

    rules: str
    selection: str
    pilot: Pilot
    time: int
    pilots: int
    queues: int
    matching: int
    restrictions: SiteRestrictions
    is_restricted: bool
    matches: list[MatchedJob]
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
    """Match jobs to *count* pilots like *pilot*, at the actor's time.

    *selection* takes precedence over the settings; the same *seed* draws the same jobs from the same state. All matches
    are stored in one transaction, or none with *dry_run*.

    Raises:
        PilotDescriptionError, InvalidNameError: the pilot cannot be served.
        UnknownShareGroupError: the pilot names an unknown group.
    """
    with reading(path) if dry_run or not exists(path) else writing(path) as state:
        world = load_world(state, settings, actor.time)
        check_groups(state, world, pilot)
        rules = world.policy.rules if selection is None else replace(world.policy.rules, selection=selection)
        draw = np.random.default_rng(seed).random
        load = load_site(state, world.policy, pilot.site)
        job_matcher = _JobMatcher(state, world, pilot, rules, draw, load, actor.time)
        matches = [matched for _ in range(count) if (matched := job_matcher.next()) is not None]
        if matches and not dry_run:
            _store(state, settings, world, pilot, matches, load, actor)
    return Matched(
        rules.name,
        rules.selection,
        pilot,
        actor.time,
        count,
        len(world.formed.queues),
        job_matcher.matching,
        job_matcher.restrictions,
        len(matches) < count and job_matcher.is_restricted,
        matches,
        [*world.notes, *load.notes],
        world.details,
    )


class _JobMatcher:
    """Matches one job after another from one snapshot; priorities do not change in between."""

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
        self.restrictions = load.restrictions(pilot.grid_ce, now)
        self._find_offered()
        self.matching = len(self._offered)

    def _find_offered(self) -> None:
        """Find the matching queues that still have jobs."""
        self._offered = self._matching_queues(self.restrictions.negative)
        self._weights = self._all_weights[self._offered]

    def _matching_queues(self, negative: Mapping[str, Sequence[str]]) -> NDArray[np.intp]:
        """Return the queues that still have jobs and match the pilot, and that *negative* does not exclude."""
        matcher = matcher_of(self._pilot, self._world.policy, negative)
        emptied = {row for row, waiting in self._waiting.items() if not waiting}
        rows = matcher.matching(self._world.formed.queues.requirements)
        return np.array([row for row in rows if row not in emptied], np.intp)

    @property
    def is_restricted(self) -> bool:
        """Whether only the limits and delays of the site prevent a match."""
        return bool(self.restrictions.negative) and not len(self._offered) and len(self._matching_queues({})) > 0

    def next(self) -> MatchedJob | None:
        """Match one job; None if there is none for this pilot."""
        if not len(self._offered):
            return None
        index = choose_queues(self._weights, self._draw, self._rules)[0]
        row = int(self._offered[index])
        if row not in self._waiting:
            self._waiting[row] = self._single_jobs(row)
        waiting = self._waiting[row]
        job = waiting.pop(choose_jobs([member.user_priority for member in waiting], self._draw, self._rules)[0])
        first_chance = (
            chance(self._weights, index, self._rules.selection) if len(self._weights) <= MOST_CHANCES else None
        )
        matched = self._matched_job(row, job.job, job.user_priority, first_chance)
        if not waiting:
            self._offered = np.delete(self._offered, index)
            self._weights = np.delete(self._weights, index)
        negative_before = self.restrictions.negative
        self.restrictions = self._load.restrictions(self._pilot.grid_ce, self._now)
        if self.restrictions.negative != negative_before:
            self._find_offered()
        return matched

    def _single_jobs(self, row: int) -> list[Member]:
        """Return each waiting job of a queue, oldest first."""
        return [
            Member(replace(member.job, first_proc=proc, last_proc=proc), member.user_priority)
            for member in self._world.formed.members(self._state, row)
            for proc in range(member.job.first_proc, member.job.last_proc + 1)
        ]

    def _matched_job(self, row: int, job: JobRange, user_priority: float, chance: float | None) -> MatchedJob:
        queue, ad = self._world.formed.queues.row(row), full_ad(self._state, job)
        if self._load.is_limited:
            values = limited_values(ad, job.owner, self._pilot.site, queue.requirements.job_types)
            self._load.start(values, self._pilot.grid_ce, self._now)
        return MatchedJob(
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
    matches: list[MatchedJob],
    load: SiteLoad,
    actor: Actor,
) -> None:
    now = actor.time
    store_numbers(state, world.formed)
    world.formed.store_needs(state, world.policy)
    started = (matched.job for matched in matches)
    jobs.mark_running(
        state, (jobs.Procs(job.schedd, job.cluster, job.first_proc, job.first_proc) for job in started), now
    )
    records = [SlotRecord(0, matched.slot, _slot_ad(matched, pilot, now), matched.job.schedd) for matched in matches]
    weights = _weights([record.ad for record in records], settings)
    numbers = slots.add(state, records)
    pilot_slots.add(state, (PilotSlot(number, pilot.site, pilot.grid_ce, pilot.reference) for number in numbers))
    _charge(state, settings, matches, numbers, weights, now)
    claims.store(
        state,
        (
            Claim(
                number,
                matched.job.submitter,
                now,
                weight,
                matched.job.schedd,
                matched.job.cluster,
                matched.job.first_proc,
                concurrency_limits=_limits(matched.ad),
            )
            for matched, number, weight in zip(matches, numbers, weights, strict=True)
        ),
    )
    pilot_slots.put_delays(state, load.delay_states())
    history.record(
        state,
        actor,
        (
            Change(
                f"job {matched.job.cluster}.{matched.job.first_proc}",
                {"JobStatus": int(JobStatus.IDLE)},
                {"JobStatus": int(JobStatus.RUNNING), "RemoteHost": matched.slot, "TaskQueue": matched.queue},
            )
            for matched in matches
        ),
    )


def _slot_ad(matched: MatchedJob, pilot: Pilot, now: int) -> Ad:
    """Return the slot that a pilot brings for one job: it has the requested resources, and accepts no other job."""
    ad: Ad = {
        "MyType": "Machine",
        "TargetType": "Job",
        "Name": matched.slot,
        "Machine": pilot.site,
        "SlotID": 1,
        "SlotType": "Static",
        "Cpus": _requested(matched.ad, "requestcpus", 1),
        "Memory": _requested(matched.ad, "requestmemory", 0),
        "Disk": _requested(matched.ad, "requestdisk", 0),
        "SlotWeight": _requested(matched.ad, "requestcpus", 1),
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
    optional = {"GridCE": pilot.grid_ce, "Platform": pilot.platform, "Pilot": pilot.reference}
    return ad | {name: value for name, value in optional.items() if value is not None}


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
        # Slots of pilots are not part of a pool, so they have no share of it.
        return [float(ad["SlotWeight"]) for ad in ads]
    from fairq.engine.classad import AdColumns
    from fairq.engine.negotiation.pool import slot_weights
    from fairq.steps.cycle.negotiation_policy import negotiation_policy
    from fairq.steps.evaluation.budget import evaluation_budget

    columns = AdColumns(ads, budget=evaluation_budget(settings))
    weights: list[float] = slot_weights(columns, negotiation_policy(settings)).tolist()
    return weights


def _charge(
    state: State, settings: Settings, matches: list[MatchedJob], numbers: list[int], weights: list[float], now: int
) -> None:
    """Charge the new slots from *now* on, and all submitters if their last charge is too old."""
    settle(state, settings)
    accountant = load_accountant(state, accounting_policy(settings))
    last_update = accountant.last_update
    if not last_update or now - last_update >= _UPDATE_AFTER:
        accountant.update(now)
    touched: set[str] = set()
    for matched, number, weight in zip(matches, numbers, weights, strict=True):
        submitter = matched.job.submitter
        accountant.add_match(submitter, number, weight, now)
        accountant.priority_factor(submitter)
        touched.update((submitter, *group_and_ancestors(accountant.group_of(submitter))))
    is_new = accountant.last_update != last_update
    if is_new:
        store_times(state, accountant)
    names = accountant.records if is_new else sorted(touched)
    submitters.store(state, [accountant.record(name) for name in names], accountant.booked)
