"""Why a job waits, or why a submitter or a group gets no more: simulates a cycle and stores nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from fairq.common.quantities import shown_time
from fairq.common.records import Ad, JobRange, JobStatus
from fairq.common.reservation import JOB_ATTRIBUTE
from fairq.common.waits import AFTER_FAILED
from fairq.engine.accounting.identity import answers_to
from fairq.engine.explain import report
from fairq.engine.explain.alternatives import alternatives
from fairq.engine.explain.diagnosis import Diagnosis, Outcome, Reason
from fairq.engine.explain.pair import explain_pair
from fairq.engine.explain.pieces import rows_called
from fairq.engine.explain.search import search
from fairq.engine.simulation.queues import JobKey
from fairq.errors.pool import AmbiguousSlotError, NothingToExplainError, UnknownSlotError
from fairq.state import history, job_ads, reservations, runs, slots
from fairq.state.connection import State, reading
from fairq.steps.cycle.document import rejection_words, turn_document
from fairq.steps.cycle.load import load_pool, load_round_robin_times, policy_of_pool
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.jobs.groups import unknown_group
from fairq.steps.jobs.overlay import Overlay, was_withdrawn
from fairq.steps.jobs.selection import Target, jobs_of, missing, of_batch, parse_targets
from fairq.steps.pool.reservation_clause import with_names
from fairq.steps.simulate.forecast import Forecaster
from fairq.steps.why import idle_job
from fairq.steps.why.advice import advice_document, advice_lines, too_large_sentence
from fairq.steps.why.compare import compare_decisions
from fairq.steps.why.machines_off import machines_off, starts_if_on, wanted_slots
from fairq.steps.why.overview import overview
from fairq.steps.why.starts import may_start_later
from fairq.steps.why.subjects import (
    WITHOUT_START,
    ended_sentence,
    group_sentence,
    matched_sentence,
    pair_sentence,
    removed_sentence,
    schedds_sentence,
    status_sentence,
    submitter_sentence,
)
from fairq.steps.why.world import ImaginedPool

if TYPE_CHECKING:
    from fairq.settings import Settings

Document = dict[str, Any]

_LOOKED_AHEAD = 3000
"""Maximum number of slots and idle jobs for which the start is forecast, so that the answer takes about a second.

With groups and partitionable slots it may take ten: there a cycle costs more than its work counts. With a budget for
one second, most jobs of such a site would not be told when they start.
"""
_FORECAST = 200_000
"""Maximum work of each pass of this forecast (`Simulation.work`); `queue --start` looks further ahead."""


def why(
    path: Path,
    settings: Settings,
    subject: str | None,
    now: int,
    slot: str | None = None,
    *,
    compare: bool = False,
    ahead: bool = False,
) -> Document:
    """Explain the job, cluster, batch, submitter or group *subject* at *now*, as plain data; None: all idle jobs.

    For a cluster, the first job that the next cycle would leave idle is explained. With *slot*, the job and that slot
    are explained as a pair. With *compare*, the answer also has the decision of the other set of rules; with *ahead*,
    the time when the job will start.

    Raises:
        UnknownJobError, NothingToExplainError: there is no such job, or no such submitter or group.
        UnknownSlotError, AmbiguousSlotError: there is no such slot, or several have this name.
        InvalidJobIdError: *subject* is none of these.
    """
    if subject is None:
        with reading(path) as state:
            all_idle: Document = with_names(_Study(state, settings, now).pool(), state, now)
            return all_idle
    group = next((name for name in settings.groups if name.lower() == subject.lower()), None)
    target = None if group is not None else parse_targets([subject])[0]
    with reading(path) as state:
        study = _Study(state, settings, now, ahead=ahead)
        if group is not None or subject == "<none>":
            document = study.group(settings.groups[group].name if group else subject)
        else:
            assert target is not None
            batch = of_batch(state, subject) if target.cluster is None else target
            document = study.submitter(subject) if batch is None else study.jobs(batch, slot)
        if compare:
            document["compare"] = compare_decisions(
                document, settings, lambda other: _Study(state, other, now).outcome()
            )
        answer: Document = with_names(document, state, now)
        return answer


def slots_to_wake(path: Path, settings: Settings, now: int) -> list[Document]:
    """Return the slots of machines that are off, on which idle jobs would start (`wanted_slots`)."""
    with reading(path) as state:
        return wanted_slots(_Study(state, settings, now).outcome())


def jobs_for_machines_off(path: Path, settings: Settings, now: int) -> list[tuple[JobRange, int]]:
    """Return the idle jobs that would start on machines that are off, and on how many (`starts_if_on`)."""
    with reading(path) as state:
        return list(starts_if_on(_Study(state, settings, now).outcome())) if slots.any_offline(state) else []


class _Study:
    """One reading of the state; cycles are simulated when first needed."""

    def __init__(self, state: State, settings: Settings, now: int, *, ahead: bool = False) -> None:
        self._state = state
        self._now = now
        self._ahead = ahead
        self._settings = settings
        self._policy = policy_of_pool(negotiation_policy(settings), state, settings, now)
        self._simulated: tuple[ImaginedPool, Outcome] | None = None

    def jobs(self, target: Target, slot: str | None) -> Document:
        """Explain one job, or the first job of a cluster that would stay idle."""
        selected = target if target.is_one_job else replace(target, first_proc=None, last_proc=None)
        ranges = jobs_of(self._state, selected)
        if not ranges:
            return self._ended(target)
        counts: Counter[int] = Counter()
        for job in ranges:
            counts[job.status] += len(job)
        idle = [job for job in ranges if job.status == JobStatus.IDLE]
        waiting = [job for job in ranges if job.status == JobStatus.WAITING]
        if not idle or (target.is_one_job and waiting):
            return self._not_idle((waiting or ranges)[0])
        chosen, matched = self._first_left_idle(idle)
        if slot is not None:
            return self._pair(chosen, slot)
        document = self._idle_job(chosen)
        promise = reservations.of_job(self._state, (chosen.own or {}).get(JOB_ATTRIBUTE), self._now)
        if promise is not None and self._takes_jobs(promise.slots[0]):
            document["promise"] = {"slot": promise.slots[0], "begin_time": promise.begin}
            document["summary"] += (
                f" {promise.slots[0]} is promised to it, and may be free at {shown_time(promise.begin)}."
            )
        schedds = sorted({job.schedd for job in ranges})
        if len(schedds) > 1:
            document["schedd"] = chosen.schedd
            document["summary"] += f" {schedds_sentence(target.text, chosen.schedd, schedds)}"
        if not target.is_one_job and sum(counts.values()) > 1:
            names = {int(status): status.name.lower() for status in JobStatus}
            document["cluster"] = {names[status]: count for status, count in sorted(counts.items())}
            document["cluster"]["would match"] = matched
        return document

    def _takes_jobs(self, slot: str) -> bool:
        """Return whether *slot* is in the pool and not drained."""
        pool = self._outcome()[1].input.pool
        return any(row not in pool.draining for row in rows_called(pool, slot))

    def submitter(self, subject: str) -> Document:
        """Explain the entitlement of a submitter (or of all submitters of an owner), and why it gets no more."""
        _, outcome = self._outcome()
        entries = [decision for decision in outcome.decision.submitters if answers_to(decision.submitter, subject)]
        if not entries:
            raise NothingToExplainError(name=subject)
        rows = report.submitter_rows(outcome, entries)
        names = {decision.submitter for decision in entries}
        submitters = outcome.decision.submitters
        others = report.submitter_rows(
            outcome,
            (
                decision
                for decision in submitters
                if decision.submitter not in names and decision.idle + decision.running
            ),
        )
        first = rows[0]
        return {
            "kind": "submitter",
            "subject": subject,
            "reason": first["stopped"],
            "summary": submitter_sentence(first, outcome.decision.pie),
            "submitters": rows,
            "others": others,
            "groups": report.group_rows(outcome, first["group"]),
        }

    def pool(self) -> Document:
        """Explain why idle jobs wait, for all of them together."""
        return overview(*self._outcome())

    def group(self, name: str) -> Document:
        """Explain a group's quota, use and surplus, and what stops it."""
        _, outcome = self._outcome()
        chain = report.group_rows(outcome, name)
        if not chain:
            raise NothingToExplainError(name=name)
        turns = [turn_document(turn) for turn in outcome.decision.groups if turn.group == name]
        members = report.submitter_rows(
            outcome, (decision for decision in outcome.decision.submitters if decision.group == name)
        )
        return {
            "kind": "group",
            "subject": name,
            "reason": next((turn["skipped"] for turn in reversed(turns) if turn["skipped"]), None),
            "summary": group_sentence(chain[0], turns, members),
            "groups": chain,
            "turns": turns,
            "submitters": members,
        }

    def outcome(self) -> Outcome:
        """Return the result of the simulated cycle."""
        return self._outcome()[1]

    def _outcome(self) -> tuple[ImaginedPool, Outcome]:
        if self._simulated is None:
            pool = load_pool(self._state, self._settings, self._now)
            times = load_round_robin_times(self._state)
            world = ImaginedPool.of(pool, self._policy, self._now, times)
            self._simulated = world, world.hold()
        return self._simulated

    def _first_left_idle(self, idle: list[JobRange]) -> tuple[JobRange, int]:
        """Return the first idle job that the next cycle leaves idle (else the first), and how many it matches."""
        _, outcome = self._outcome()
        count = 0
        chosen: JobRange | None = None
        for job in idle:
            for proc in range(job.first_proc, job.last_proc + 1):
                if (job.schedd, job.cluster, proc) in outcome.matched:
                    count += 1
                elif chosen is None:
                    chosen = replace(job, first_proc=proc, last_proc=proc)
        first = idle[0]
        return chosen or replace(first, last_proc=first.first_proc), count

    def _idle_job(self, job: JobRange) -> Document:
        world, outcome = self._outcome()
        base: Document = {
            "kind": "job",
            "subject": f"{job.cluster}.{job.first_proc}",
            "status": "idle",
            "submitter": job.submitter,
        }
        if outcome.decision.dominant is not None:
            base["dominant"], base["weight"] = outcome.decision.dominant.of_job(outcome.cycle.examine(job).ad())
        past = f" Its last run was {job.reason}." if was_withdrawn(job) else ""
        match = outcome.match_of(job)
        if match is not None:
            slot = outcome.labels[match.slot]
            making_room = [outcome.labels[row] for row in match.victims] if match.makes_room else []
            summary = f"{matched_sentence(base['subject'], slot, match.preempted, making_room)}{past}"
            return {**base, "reason": str(Reason.MATCHED), "summary": summary, "slot": slot}
        diagnosis = Diagnosis(outcome, job)
        checks = diagnosis.checks
        requirements = report.requirement_rows(checks)
        refusals = report.refusal_rows(checks, outcome.observer.accepted(diagnosis.context))
        excesses = diagnosis.too_large
        world_of_job = world.about(job)
        result = search(world_of_job, diagnosis)
        rejection = diagnosis.rejection
        ahead_fields: Document = {}
        # A job that does not fit a whole machine gets no advice about what is free on a machine.
        cure = "" if excesses else f" {idle_job.remedy(diagnosis, result)}"
        if self._ahead:
            other_changes = {} if excesses else alternatives(world_of_job, diagnosis)
            ahead_fields = (
                {}
                if outcome.input.size > _LOOKED_AHEAD
                else {"start": None if excesses else self._start(diagnosis, job)}
            )
            ahead_fields |= {
                "too_large": [asdict(excess) for excess in excesses],
                "alternatives": advice_document(other_changes),
                "advice": [too_large_sentence(excesses)] if excesses else advice_lines(other_changes),
            }
        return {
            **base,
            "reason": str(diagnosis.reason),
            "summary": f"{idle_job.summary(diagnosis, requirements, refusals)}.{cure}{past}",
            "changes": [change.document() for change in result.changes],
            "verified": result.verified,
            "requirements": requirements,
            "slot_requirements": refusals,
            "slots": report.lost_rows(diagnosis),
            "users": report.user_rows(diagnosis),
            "submitter_state": report.submitter_rows(outcome, [diagnosis.submitter])[0],
            "groups": report.group_rows(outcome, diagnosis.submitter.group),
            "queue": report.queue_position(diagnosis),
            **ahead_fields,
            "machines_off": machines_off(diagnosis),
            "rejected": None if rejection is None else rejection_words(rejection),
            "overruns": idle_job.overruns(outcome, diagnosis.context),
            "skipped_for": idle_job.skipped_for(diagnosis),
            "unknown_group": self._unknown_group(job),
        }

    def _unknown_group(self, job: JobRange) -> str | None:
        """Return a sentence if the group that *job* requests is not configured, else None."""
        group = {**job_ads.ads(self._state, [job.ad_id])[job.ad_id], **(job.own or {})}.get("AcctGroup")
        return unknown_group(group, self._settings) if isinstance(group, str) else None

    def _start(self, diagnosis: Diagnosis, job: JobRange) -> Document | None:
        """Return when the job would start; None if no end of a running job would let it run."""
        return self._forecast(job) if may_start_later(diagnosis) else None

    def _forecast(self, job: JobRange) -> Document:
        key = JobKey(job.schedd, job.cluster, job.first_proc)
        forecast = Forecaster.of_state(self._state, self._settings, self._now).forecast([key], _FORECAST)
        return forecast.document(forecast.starts[key])

    def _pair(self, job: JobRange, slot: str) -> Document:
        world, outcome = self._outcome()
        rows = rows_called(outcome.input.pool, slot)
        if not rows:
            raise UnknownSlotError(name=slot, hint="'fairq slots' lists the slots")
        if len(rows) > 1:
            names = " or ".join(outcome.labels[row] for row in rows)
            raise AmbiguousSlotError(name=slot, count=len(rows), names=names)
        pair = explain_pair(outcome, job, rows[0], dict(world.ads[rows[0]]))
        name = f"{job.cluster}.{job.first_proc}"
        summary = pair_sentence(name, pair)
        overruns = idle_job.overruns(outcome, outcome.cycle.examine(job))
        return {"kind": "pair", "subject": name, "summary": summary, **pair, "overruns": overruns}

    def _not_idle(self, job: JobRange) -> Document:
        overlay = Overlay(self._state, [job])
        shared: Ad = job_ads.ads(self._state, [job.ad_id])[job.ad_id]
        ad = {**job.ad_of(shared, job.first_proc), **overlay.attributes(job, job.first_proc)}
        name = f"{job.cluster}.{job.first_proc}"
        status = JobStatus(job.status).name.lower()
        document: Document = {"kind": "job", "subject": name, "status": status, "submitter": job.submitter}
        document |= {"reason": status, "summary": status_sentence(name, job, ad)}
        if job.status == JobStatus.WAITING and self._ahead:
            start = self._forecast(job)
            needs_failure = start["earliest_time"] is None and AFTER_FAILED in ad["WaitsFor"]
            document["summary"] += f" {WITHOUT_START}" if needs_failure else ""
            document["start"] = None if needs_failure else start
        if job.status == JobStatus.RUNNING and "RemoteHost" in ad:
            document["slot"] = ad["RemoteHost"]
        return document

    def _ended(self, target: Target) -> Document:
        assert target.cluster is not None
        ended = runs.load(self._state, cluster=target.cluster, proc=target.first_proc)
        if not ended:
            return self._removed(target)
        last = ended[-1]
        name = f"{last.cluster}.{last.proc}"
        return {
            "kind": "job",
            "subject": name,
            "status": "ended",
            "submitter": last.submitter,
            "reason": last.how,
            "summary": ended_sentence(name, last),
        }

    def _removed(self, target: Target) -> Document:
        """Return the history's answer about a job that never ran and has left the queue."""
        entries = history.load(self._state, subject=f"job {target.text}")
        removed = next((entry for entry in reversed(entries) if _is_removal(entry.after)), None)
        if removed is None:
            raise missing(self._state, target)
        summary = removed_sentence(target.text, removed.user, removed.command, removed.time)
        return {"kind": "job", "subject": target.text, "status": "removed", "reason": "removed", "summary": summary}


def _is_removal(after: Any) -> bool:
    return isinstance(after, dict) and after.get("JobStatus") == JobStatus.REMOVED
