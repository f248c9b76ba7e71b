"""Collect ended runs: free the slot, charge the use, and decide the job's next status, all in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from fairq.common.records import Actor, Change, Claim, JobRange, JobStatus, Launch, LaunchPhase
from fairq.launch.interface import Condition, Known, Look, Queued, Started
from fairq.state import claims, history, jobs, launches, slots
from fairq.state.connection import State, reading, writing
from fairq.steps.jobs.conditions import is_success
from fairq.steps.jobs.end import end_runs
from fairq.steps.jobs.end_records import take_from_queue
from fairq.steps.jobs.waits import Ended, release_followers, schedule_next
from fairq.steps.launch import events
from fairq.steps.launch.clock import Clock
from fairq.steps.launch.engines import Move, charge_from, note_wait, overdue, waiting, withdrawal
from fairq.steps.launch.faults import Faults
from fairq.steps.launch.holds import faults_held
from fairq.steps.launch.inspection import look, stop
from fairq.steps.launch.launchers import Launchers, runs_as_owner
from fairq.steps.launch.outcome import Outcome, Verdict, verdict
from fairq.steps.launch.values import one_line
from fairq.steps.pool.imported_parts import parent_name

if TYPE_CHECKING:
    from fairq.settings import Settings

_FAILURES = 3
"""Failed starts in a row, each of another cluster, that drain a slot; jobs of one cluster may share a fault."""


class Collected(Struct):
    """The ended runs with the outcome of their jobs, and notes for an administrator."""

    ended: list[tuple[Launch, Outcome | None]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def collect(
    path: Path,
    settings: Settings,
    launchers: Launchers,
    actor: Actor,
    faults: Faults | None = None,
    only: Collection[str] | None = None,
) -> Collected:
    """Collect the ended runs of this state, or *only* those of these names, and stop the runs that lost their slot.

    *faults* are those of the turn; without them, this function holds the jobs with faults itself.
    """
    if faults is None:
        faults = Faults()
        collect_again = partial(collect, path, settings, launchers, actor, faults)
        with faults_held(path, settings, actor, faults, collect_again):
            return collect_again()
    collecting = Collecting(path, settings, launchers, actor, faults, only)
    if collecting.is_needed:
        with writing(path) as state:
            collecting.store(state)
    collecting.finish()
    if collecting.result.ended:
        from fairq.steps.launch.notify import notify

        collecting.result.notes += notify(path, settings, collecting.result.ended, faults=faults)
    return collecting.result


class Collecting:
    """A collection in parts: look at the runs, `store` the news in a transaction, and `finish`."""

    def __init__(
        self,
        path: Path,
        settings: Settings,
        launchers: Launchers,
        actor: Actor,
        faults: Faults,
        only: Collection[str] | None = None,
        *,
        before_cycle: bool = False,
    ) -> None:
        """Look at the runs, or *only* those of these names.

        With *before_cycle*, also settle the charges of the runs that wait in the queue of an engine.
        """
        self.result = Collected()
        self._settings = settings
        self._launchers = launchers
        self._actor = actor
        self._faults = faults
        self._clock = Clock.at(actor.time)
        self._state: State
        self._changes: list[Change] = []
        with reading(path) as state:
            self._live = launches.live(state)
            evicted = _without_claim(state, self._live)
        self._engines = launchers.engines(self._live)
        chosen = [launch for launch in self._live if only is None or launch.name in only]
        looks = look(chosen, launchers)
        self._news = {launch.name: looks[launch.name] for launch in chosen if _is_news(launch, looks[launch.name])}
        for launch in chosen:
            if looks[launch.name].condition is Condition.STRAY:
                self.result.notes.append(f"job {launch.job}: {looks[launch.name].detail}")
        self._before_cycle = before_cycle and bool(waiting(self._live, self._engines))
        self.is_needed = bool(self._news or evicted or self._before_cycle)

    def store(self, state: State) -> None:
        """Store the news in the caller's transaction."""
        self._state = state
        live = launches.live(state)
        _order(state, _without_claim(state, live), {"how": "evict", "reason": "its slot was taken"})
        self._take(live, self._news)
        if self._before_cycle:
            self._let_wait(launches.live(state))
        self._live = launches.live(state)

    def finish(self) -> None:
        """Stop the runs that are ordered to end, after the transaction."""
        stop(self._live, self._launchers)

    def _take(self, live: Sequence[Launch], news: Mapping[str, Look]) -> None:
        """Store the *news* of the *live* runs."""
        claims_of_runs = held_slots(self._state, live)
        begun: list[Launch] = []
        moves: list[Move] = []
        ended: list[tuple[Launch, Claim | None]] = []
        for launch in live:
            observed = news.get(launch.name)
            if observed is None:
                continue
            if observed.condition in (Condition.QUEUED, Condition.UNKNOWN):
                note = note_wait(self._state, launch, observed)
                if note is not None and note not in self.result.notes:
                    self.result.notes.append(note)
                continue
            claim = claims_of_runs.get(launch.name)
            if launch.phase is not LaunchPhase.STARTED:
                if launch.launcher in self._engines and claim is not None:
                    moves.append(Move(launch, claim, self._charged_from(launch, observed)))
                if observed.since is not None or isinstance(observed.begun, Started):
                    self._note_start(launch, observed.begun)
                    begun.append(launch)
            if launch.reason is not None:
                launch.reason = None
                launches.store(self._state, [launch], "reason")
            if observed.condition is not Condition.RUNNING:
                ended.append((launch, claim))
        charge_from(self._state, self._settings, moves)
        mark_started(self._state, begun, self._clock.now, always=True)
        for launch, _ in ended:
            self._note_end(launch, news[launch.name])
        if ended:
            self._end(ended)
        # An end is a fact, not a decision of the actor: any user may record it.
        history.record(self._state, self._actor, self._changes, own=True)

    def _let_wait(self, live: Sequence[Launch]) -> None:
        """Charge nothing for the runs that wait in an engine's queue; withdraw those that have waited too long."""
        now = self._clock.now
        claims_of_runs = held_slots(self._state, live)
        queued = waiting(live, self._engines)
        moves = [Move(launch, claims_of_runs[launch.name], now) for launch in queued if launch.name in claims_of_runs]
        charge_from(self._state, self._settings, moves)
        for launch in overdue(queued, self._engines, self._settings, now):
            _order(self._state, [launch], withdrawal(launch, now))

    def _charged_from(self, launch: Launch, observed: Look) -> int:
        """Return when an engine allotted resources to a run, by the clock here; now if it never did."""
        now = self._clock.now
        return now if observed.since is None else max(launch.intended, min(now, int(observed.since)))

    def _note_start(self, launch: Launch, begun: Known | None) -> None:
        """Record the start of a run that was only intended, or that waited in the queue of its engine."""
        launch.phase = LaunchPhase.STARTED
        if isinstance(begun, Queued):
            launch.engine_id = begun.engine_id
        if not isinstance(begun, Started):
            return
        launch.pid, launch.pid_start = begun.pid, begun.start
        launch.cores |= {"cores": list(begun.cores)} if begun.cores else {}
        self._clock.note_reboot(launch, begun.boot)

    def _note_end(self, launch: Launch, observed: Look) -> None:
        """Record the facts and the time of a run's end."""
        facts = observed.end or {}
        has_begun = launch.phase is LaunchPhase.STARTED
        ended = observed.end or {"reason": "lost", "detail": observed.detail, "begun": has_begun}
        launch.ended = {name: one_line(value) if isinstance(value, str) else value for name, value in ended.items()}
        launch.phase = LaunchPhase.ENDED
        if launch.launcher not in self._engines:
            launch.end_time = self._clock.end_of(launch, facts.get("ended_boottime"), facts.get("boot"))
        elif observed.since is None or observed.until is None:
            launch.end_time = max(launch.claimed, self._clock.now)
        else:
            # The engine's clock may differ from the one here: only the time between start and end counts.
            launch.end_time = launch.claimed + max(0, int(observed.until) - int(observed.since))

    def _end(self, ended_runs: Sequence[tuple[Launch, Claim | None]]) -> None:
        state = self._state
        decided: list[tuple[Launch, Verdict, JobRange]] = []
        ends: dict[int, tuple[int, str]] = {}
        codes: dict[tuple[int, int], int] = {}
        ended_claims: list[Claim] = []
        for launch, claim in ended_runs:
            job = jobs.find(state, *launch.key) if claim is not None else None
            if claim is None or job is None:
                self.result.ended.append((launch, None))
                continue
            ad = jobs.whole_ad(state, job) | {"JobCurrentStartDate": launch.claimed, "CompletionDate": launch.end_time}
            former = [run for run in launches.of_job(state, launch.cluster, launch.proc) if run.phase == "ended"]
            facts = launch.ended or {}
            job_verdict = verdict(launch, ad, former, self._settings, self._clock.now, self._faults)
            outcome = job_verdict.outcome
            assert launch.end_time is not None
            ends[claim.slot_id] = (launch.end_time, outcome.how)
            if facts.get("exit_code") is not None and outcome.status in (JobStatus.COMPLETED, JobStatus.IDLE):
                codes[launch.cluster, launch.proc] = facts["exit_code"]
            ended_claims.append(claim)
            decided.append((launch, job_verdict, job))
            self.result.ended.append((launch, outcome))
        columns = ("phase", "ended", "end_time", "pid", "pid_start", "boot", "engine_id")
        launches.store(state, [launch for launch, _ in ended_runs], *columns)
        end_runs(state, self._settings, ended_claims, self._clock.now, "finished", codes, ends=ends)
        for launch, job_verdict, job in decided:
            self._apply(launch, job_verdict, job)
        if runs_as_owner(self._settings):
            # A user could otherwise drain the slots of all with jobs that cannot start.
            return
        for slot in dict.fromkeys(
            launch.slot for launch, _ in ended_runs if (launch.ended or {}).get("reason") == "start"
        ):
            self._drain_if_broken(slot)

    def _apply(self, launch: Launch, job_verdict: Verdict, job: JobRange) -> None:
        """Set the job's new status; collect its history entry and record its events."""
        state = self._state
        end = launch.end_time or self._clock.now
        outcome, body = job_verdict.outcome, job_verdict.usage
        after: dict[str, Any] = {"JobStatus": int(outcome.status)}
        if outcome.status is JobStatus.COMPLETED:
            after |= {"ExitCode": body["exit_code"], "CompletionDate": end}
            if body["signal"] is not None:
                after["ExitSignal"] = body["signal"]
            job_events = [(events.TERMINATED, body)]
        elif outcome.status is JobStatus.HELD:
            after |= {
                "HoldReason": outcome.reason,
                "HoldReasonCode": outcome.code,
                "HoldReasonSubCode": outcome.subcode,
            }
            job_events = [(events.EVICTED, body)] if (launch.ended or {}).get("reason") != "exit" else []
            job_events.append(
                (events.HELD, {"reason": outcome.reason, "code": outcome.code, "subcode": outcome.subcode})
            )
        elif outcome.status is JobStatus.REMOVED:
            after |= {"RemoveReason": outcome.reason} if outcome.reason else {}
            job_events = [(events.EVICTED, body), (events.ABORTED, {"reason": outcome.reason})]
        else:
            after["Reason"] = outcome.reason
            job_events = [(events.EVICTED, {**body, "reason": outcome.reason, "requeued": outcome.how == "requeued"})]
        if (launch.ended or {}).get("begun") is False:
            job_events = [event for event in job_events if event[0] != events.EVICTED]
        for number_, details in job_events:
            events.record(state, [job], number_, details, end, always=True)
        if outcome.status in (JobStatus.COMPLETED, JobStatus.REMOVED) and not job_verdict.stays:
            take_from_queue(state, [job], outcome.status, end, outcome.reason)
        else:
            jobs.set_status(state, [job.procs], outcome.status, end, outcome.reason, outcome.code, outcome.subcode)
            if outcome.status is JobStatus.IDLE:
                schedule_next(state, [job], self._clock.now)
            if job_verdict.stays and not launch.schedd:
                self._let_follow(launch, body, job, end)
        before = {"JobStatus": int(JobStatus.RUNNING), "RemoteHost": launch.slot}
        self._changes.append(Change(f"job {launch.job}", before, after))

    def _let_follow(self, launch: Launch, body: Mapping[str, Any], job: JobRange, end: int) -> None:
        """Release the jobs that wait for a job that is completed and stays in the queue."""
        ad = jobs.whole_ad(self._state, job)
        failed = not is_success(ad, body["exit_code"], body["signal"], end)
        release_followers(self._state, [Ended(launch.cluster, launch.proc, launch.proc, failed)], end)

    def _drain_if_broken(self, slot: str) -> None:
        parent = slot if slots.load(self._state, slot) else parent_name(slot) or slot
        if launches.failed_starts(self._state, slot, parent) < _FAILURES:
            return
        if all(parent_slot.draining for parent_slot in slots.load(self._state, parent)):
            return
        slots.set_draining(self._state, [parent], True)
        reason = f"jobs of {_FAILURES} clusters in a row did not start on it"
        self._changes.append(Change(f"slot {parent}", {"Draining": False}, {"Draining": True, "Reason": reason}))
        self.result.notes.append(
            f"slot {parent} is being drained: {reason}; fix it, then run 'fairq slots drain {parent} --cancel'"
        )


def _is_news(launch: Launch, observed: Look) -> bool:
    """Return whether the *observed* condition of a run differs from what is recorded."""
    match observed.condition:
        case Condition.ENDED | Condition.LOST:
            return True
        case Condition.RUNNING:
            is_new = launch.phase is not LaunchPhase.STARTED and observed.begun is not None
            return is_new or launch.reason is not None
        case Condition.QUEUED:
            return launch.phase is not LaunchPhase.QUEUED or launch.reason != observed.detail
        case Condition.UNKNOWN:
            return launch.reason != observed.detail
    return False


def _without_claim(state: State, live: Sequence[Launch]) -> list[Launch]:
    """Return the runs without an order to end that have lost their slot: their claim is gone or another's."""
    if not live:
        return []
    claims_of_runs = held_slots(state, live)
    return [launch for launch in live if launch.ordered is None and launch.name not in claims_of_runs]


def held_slots(state: State, live: Sequence[Launch]) -> dict[str, Claim]:
    """Return the claims of live runs on their slots, by the names of the runs."""
    all_claims = claims.of_procs(state, {launch.procs for launch in live})
    by_job = {claim.key: claim for claim in all_claims}
    names = slots.names_of(state, [claim.slot_id for claim in all_claims])
    last = {launch.key: launch.name for launch in live}
    return {
        launch.name: claim
        for launch in live
        if last[launch.key] == launch.name
        and (claim := by_job.get(launch.key)) is not None
        and names.get(claim.slot_id) == launch.slot
        and claim.start_time == launch.claimed
    }


def _order(state: State, live: Iterable[Launch], order: dict[str, Any]) -> None:
    live = list(live)
    for launch in live:
        launch.ordered = order
    launches.store(state, live, "ordered")


def mark_started(state: State, begun: Iterable[Launch], now: int, *, always: bool) -> None:
    """Store the starts of runs, with their events."""
    begun = list(begun)
    if not begun:
        return
    launches.store(state, begun, "phase", "pid", "pid_start", "cores", "boot", "boottime", "engine_id", "reason")
    for launch in begun:
        job = jobs.find(state, *launch.key)
        start = now if launch.engine_id is None else launch.claimed
        events.record(
            state, [] if job is None else [job], events.EXECUTING, {"slot": launch.slot}, start, always=always
        )
