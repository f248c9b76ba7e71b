"""A loaded pool with imagined changes: changes are applied in memory, and simulated cycles store nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Self

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.columns.ads import EditedAds
from fairq.columns.claims import ClaimTable
from fairq.common.expression_form import as_expression, expression_text
from fairq.common.records import AccountingRecord, Ad, Claim, JobRange
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.explain.changes import OWNERS, TIME_BUDGETS, Change, ChangeKind
from fairq.engine.explain.clauses import replace_clauses
from fairq.engine.explain.diagnosis import CycleInput, Outcome
from fairq.engine.explain.pieces import pieces_of, rows_called, slots_of
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import PoolSlots
from fairq.engine.negotiation.queue import Jobs, SubmitterQueue
from fairq.steps.cycle.load import LoadedPool
from fairq.steps.pool.claimed_ads import without_claim, without_draining
from fairq.steps.pool.imported_parts import merged
from fairq.steps.pool.reservation_clause import CLAUSE
from fairq.steps.why.trials import Trials, key_of


class ImaginedPool(Struct, frozen=True):
    """The pool with some changes; *target* is the job in question.

    *changes_made* were made to the original pool; *trials* are the cycles tried for the question.
    """

    slots: PoolSlots
    ads: Sequence[Ad]
    jobs: Jobs
    claims: ClaimTable
    accountant: Accountant
    policy: NegotiationPolicy
    now: int
    round_robin_times: Mapping[str, int]
    target: JobRange | None = None
    changes_made: tuple[Change, ...] = ()
    trials: Trials = field(default_factory=Trials)

    @classmethod
    def of(cls, pool: LoadedPool, policy: NegotiationPolicy, now: int, times: Mapping[str, int]) -> Self:
        """Return the pool without changes."""
        return cls(pool.slots, pool.ads, pool.jobs, pool.claims, pool.accountant, policy, now, times)

    def try_cycle(self) -> Outcome | None:
        """Simulate a cycle; None if the same changes were tried already, or no work is left."""
        key, trials = key_of(self.changes_made), self.trials
        if key in trials.matched or trials.work_left <= 0:
            return None
        outcome = self.hold()
        matched = self.target is not None and outcome.match_of(self.target) is not None
        trials.record(key, outcome.work, matched=matched)
        return outcome

    def is_matched(self) -> bool:
        """Return whether a cycle matches the job in question; False also if no work is left to find out."""
        self.try_cycle()
        return self.trials.matched.get(key_of(self.changes_made), False)

    def work_left(self) -> float:
        """Return the part of the work for all cycles that is left."""
        return self.trials.work_left

    def hold(self) -> Outcome:
        """Simulate a cycle on a copy of the accounting."""
        accountant = self._accountant(lambda record: None)
        # A cycle adds its own attributes to the slots; the next cycle on the same slots must not see them.
        slots = replace(self.slots, ads=self.slots.ads.at(self.now))
        cycle_input = CycleInput(
            *(slots, self.jobs, accountant, self.policy, self.now, self.round_robin_times, self.ads, time.monotonic)
        )
        return Outcome(cycle_input)

    def about(self, job: JobRange) -> Self:
        """Return the same pool with the first job of a range as the job in question."""
        return replace(self, target=replace(job, last_proc=job.first_proc), trials=Trials())

    def changed_for_all(self, jobs: Sequence[JobRange], changes: Sequence[Change]) -> Self:
        """Return the pool after *changes*; those of the job apply to all of *jobs*."""
        job_changes = [change for change in changes if change.kind in OWNERS]
        world = self.changed([change for change in changes if change.kind not in OWNERS])
        for job in jobs if job_changes else ():
            world = replace(world, target=job).changed(job_changes)
        return world

    def job(self) -> JobRange:
        """Return the job in question, as it is in this pool."""
        assert self.target is not None
        return self.target

    def changed(self, changes: Sequence[Change]) -> Self:
        """Return the pool after *changes*."""
        world = self
        for clause_of, same_clause in groupby(changes, _clause_of):
            if clause_of is not None:
                world = world._with_clauses(clause_of, list(same_clause))
            else:
                for change in same_clause:
                    world = world._with_change(change)
        return replace(world, changes_made=(*self.changes_made, *changes))

    def _with_change(self, change: Change) -> Self:  # noqa: PLR0911 - one per kind
        match change.kind:
            case ChangeKind.JOB_ATTRIBUTE | ChangeKind.JOB_PRIORITY:
                return self._with_job(change)
            case ChangeKind.FREE_SLOT:
                return self._with_free_slot(change.of)
            case ChangeKind.SLOT_CLAUSE:
                return self._with_slot_clause(change)
            case ChangeKind.UNDRAIN:
                return self._with_undrained(self._row(change.of))
            case ChangeKind.ADD_SLOT:
                return self._with_new_slot(change)
            case ChangeKind.CONCURRENCY_LIMIT:
                limits = {**self.policy.limits, change.of: float(change.to)}
                return replace(self, policy=replace(self.policy, limits=limits))
            case ChangeKind.SETTING:
                settings: dict[str, Any] = {change.of.removeprefix("negotiator_"): None}
                return replace(self, policy=replace(self.policy, **settings))
            case ChangeKind.TIME_BUDGET:
                assert self.policy.budgets is not None
                budget = next(name for name, setting in TIME_BUDGETS.items() if setting == change.of)
                budgets = replace(self.policy.budgets, **{budget: float(change.to)})
                return replace(self, policy=replace(self.policy, budgets=budgets))
            case ChangeKind.QUOTA | ChangeKind.ACCEPT_SURPLUS:
                return self._with_group(change)
            case _:
                return self._with_record(change)

    def _with_slot_clause(self, change: Change) -> Self:
        row = self._row(change.of)
        world = self._with_slot(row, with_clauses(self.ads[row], [change]))
        if str(change.attribute).lower() != CLAUSE.lower():
            return world
        # Without the clause of a reservation, the slot is in everybody's pie.
        reserved = [
            replace(slots, rows=[other for other in slots.rows if other != row]) for slots in world.slots.reserved
        ]
        return replace(world, slots=replace(world.slots, reserved=reserved))

    def _with_undrained(self, row: int) -> Self:
        world = replace(self, slots=replace(self.slots, draining=self.slots.draining - {row}))
        if self.policy.count_unusable_slots:
            return world
        return world._with_slot(row, without_draining(self.ads[row]))

    def _with_job(self, change: Change) -> Self:
        if change.kind is ChangeKind.JOB_PRIORITY:
            return self._with_target(replace(self.job(), priority=change.to))
        full_ad = self._full_ad()
        attribute = next((name for name in full_ad if name.lower() == str(change.attribute).lower()), change.attribute)
        assert attribute is not None
        return self._with_attribute(attribute, change.to)

    def _with_clauses(self, attribute: str, changes: Sequence[Change]) -> Self:
        """Change all clauses at once, because a job may have very many."""
        full_ad = self._full_ad()
        name = next(spelling for spelling in full_ad if spelling.lower() == attribute)
        return self._with_attribute(name, with_clauses(full_ad, changes)[name])

    def _full_ad(self) -> Ad:
        job = self.job()
        return job.ad_of(self.jobs.ads[job.ad_id], job.first_proc)

    def _with_attribute(self, attribute: str, value: Any) -> Self:
        job = self.job()
        template = {name: text for name, text in (job.template or {}).items() if name != attribute}
        return self._with_target(replace(job, own={**(job.own or {}), attribute: value}, template=template or None))

    def _with_target(self, new: JobRange) -> Self:
        job = self.job()
        queues = [
            replace(queue, idle=[part for jobs in queue.idle for part in _replace_part(jobs, new)])
            if (queue.name, queue.schedd) == (job.submitter, job.schedd)
            else queue
            for queue in self.jobs.queues
        ]
        return replace(self, target=new, jobs=replace(self.jobs, queues=queues))

    def _with_slot(self, row: int, ad: Ad) -> Self:
        rows, changed = np.arange(len(self.ads)), {row: ad}
        slots = replace(self.slots, ads=self.slots.ads.edited(rows, changed))
        return replace(self, slots=slots, ads=EditedAds(self.ads, rows.tolist(), changed))

    def _with_slots(self, rows: NDArray[np.intp], changed_ads: Mapping[int, Ad]) -> Self:
        """Return the pool with the slots of *rows* in this order; *changed_ads* replaces ads by position."""
        row_list = rows.tolist()
        slots = slots_of(self.slots, row_list, self.slots.ads.edited(rows, changed_ads))
        return replace(self, slots=slots, ads=EditedAds(self.ads, row_list, changed_ads))

    def _row(self, label: str) -> int:
        return rows_called(self.slots, label)[0]

    def _with_free_slot(self, name: str) -> Self:
        row = self._row(name)
        key = self.slots.keys[row]
        parent = next((parent_row for parent_row, rows in pieces_of(self.slots).items() if row in rows), None)
        if parent is None:
            world = self._with_slot(row, without_claim(self.ads[row], self.now))
        else:
            remaining = np.delete(np.arange(len(self.ads)), row)
            world = self._with_slots(remaining, {parent - (parent > row): merged(self.ads[parent], self.ads[row])})
        return replace(world._without_job(key), claims=self.claims.without(key))

    def _without_job(self, key: int) -> Self:
        """Return the pool after the end of the job on the slot *key*, if fairq knows it."""
        claim = self.claims.get(key)
        if claim is None or claim.cluster is None:
            return self
        queues = [_with_one_fewer_job(queue, claim) for queue in self.jobs.queues]
        return replace(
            self, jobs=replace(self.jobs, queues=[queue for queue in queues if queue.running_jobs or queue.idle])
        )

    def _with_new_slot(self, change: Change) -> Self:
        """Add one slot, or several if the change has a number instead of a name."""
        model, size = self._row(change.of), len(self.ads)
        new = [f"new{number}_{change.of}" for number in range(change.to)] if isinstance(change.to, int) else [change.to]
        ad = without_claim(self.ads[model], self.now)
        rows = np.array([*range(size), *[model] * len(new)])
        world = self._with_slots(rows, {size + number: {**ad, "Name": name} for number, name in enumerate(new)})
        highest = max(self.slots.keys, default=0)
        keys = [*self.slots.keys, *range(highest + 1, highest + 1 + len(new))]
        return replace(world, slots=replace(world.slots, names=[*self.slots.names, *new], keys=keys))

    def _with_group(self, change: Change) -> Self:
        assert self.policy.quotas is not None
        field = "quota" if change.kind is ChangeKind.QUOTA else "accept_surplus"
        groups = tuple(
            replace(group, **{field: change.to}) if group.name.lower() == change.of.lower() else group
            for group in self.policy.quotas.groups
        )
        return replace(self, policy=replace(self.policy, quotas=replace(self.policy.quotas, groups=groups)))

    def _with_record(self, change: Change) -> Self:
        field = {"factor": "priority_factor"}.get(change.kind, str(change.kind))

        def edit(record: AccountingRecord) -> None:
            if record.name == change.of:
                setattr(record, field, change.to)

        return replace(self, accountant=self._accountant(edit, change.of))

    def _accountant(self, edit: Callable[[AccountingRecord], None], needed: str | None = None) -> Accountant:
        """Return a copy of the accountant with edited records; the record *needed* is created if missing."""
        old = self.accountant
        copy = Accountant(
            (replace(record) for record in old.records.values()),
            old.policy,
            old.last_update,
            old.charges.copy(),
            old.decayed_until,
        )
        if needed is not None:
            copy.record(needed)
        for record in copy.records.values():
            edit(record)
        return copy


def _clause_of(change: Change) -> str | None:
    """Return the job attribute, in lower case, in which *change* changes a clause."""
    return str(change.attribute).lower() if change.kind is ChangeKind.REQUIREMENTS_CLAUSE else None


def with_clauses(ad: Ad, changes: Sequence[Change]) -> Ad:
    """Return *ad* with clauses of one attribute left out or replaced, according to *changes*."""
    attribute = next(name for name in ad if name.lower() == str(changes[0].attribute).lower())
    text = expression_text(ad[attribute])
    new = "true" if text is None else replace_clauses(text, {str(change.clause): change.to for change in changes})
    return {**ad, attribute: as_expression(new)}


def _replace_part(jobs: JobRange, part: JobRange) -> list[JobRange]:
    """Return the range with *part* in place of its jobs, split before and after it."""
    proc = part.first_proc
    if jobs.cluster != part.cluster or not jobs.first_proc <= proc <= jobs.last_proc:
        return [jobs]
    pieces = [replace(jobs, last_proc=proc - 1), part, replace(jobs, first_proc=part.last_proc + 1)]
    return [piece for piece in pieces if len(piece) > 0]


def _with_one_fewer_job(queue: SubmitterQueue, claim: Claim) -> SubmitterQueue:
    if (queue.name, queue.schedd) != (claim.submitter, claim.schedd or ""):
        return queue
    weight = max(0.0, queue.running_weight - claim.slot_weight)
    return replace(queue, running_jobs=max(0, queue.running_jobs - 1), running_weight=weight)
