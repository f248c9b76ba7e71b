"""Attributes that a job's ad gains after submission: where it runs, why it is held, how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from fairq.records import Ad, Claim, JobRange, JobStatus, LaunchPhase
from fairq.state import claims, jobs, launches, slots
from fairq.state.connection import State
from fairq.steps.launch.outcome import at_exit

RUNNING_ATTRIBUTES = ("RemoteHost", "JobStartDate", "JobCurrentStartDate")
"""Attributes that differ between running jobs that are otherwise identical."""


class Overlay:
    """The claims of one state, read when first needed; valid while the state is open."""

    def __init__(self, state: State, only: Sequence[JobRange] | None = None) -> None:
        """Read from *state*, the claims of the jobs *only* if given."""
        self._state = state
        self._only = only

    def of(self, job: JobRange, proc: int) -> Ad:
        """Return the further attributes of one proc; times in seconds since 1970."""
        if job.status == JobStatus.HELD:
            said = {"HoldReason": job.reason, "HoldReasonCode": job.hold_code, "HoldReasonSubCode": job.hold_subcode}
            return {name: value for name, value in said.items() if value is not None}
        if job.status == JobStatus.COMPLETED:
            return {"CompletionDate": job.status_date, **self._exits.get((job.schedd, job.cluster, proc), {})}
        if job.status != JobStatus.RUNNING:
            return {}
        claim = self._claims.get((job.schedd, job.cluster, proc))
        if claim is None:
            return {}
        host = self._slot_names.get(claim.slot_id, "")
        return dict(zip(RUNNING_ATTRIBUTES, (host, claim.start_time, claim.start_time), strict=True))

    def is_matched_only(self, job: JobRange, proc: int) -> bool:
        """Return whether one proc is only matched with a slot by fairq: nothing known to fairq has started it."""
        claim = self._claims.get((job.schedd, job.cluster, proc))
        return claim is not None and claim.matched and (job.schedd, job.cluster, proc) not in self._started

    def matched_only(self) -> int:
        """Return how many running jobs of the whole queue are only matched."""
        started = [jobs.Procs(schedd, cluster, proc, proc) for schedd, cluster, proc in self._started]
        return claims.count_matched(self._state) - sum(one.matched for one in claims.of_procs(self._state, started))

    def load(self) -> None:
        """Read the data that `of` needs now, so that the state can be closed."""
        _ = self._claims, self._slot_names, self._started, self._exits

    @cached_property
    def _claims(self) -> dict[tuple[str, int, int], Claim]:
        if self._only is None:
            found = claims.load_all(self._state)
        else:
            running = (job for job in self._only if job.status == JobStatus.RUNNING)
            procs = (jobs.Procs(job.schedd, job.cluster, job.first_proc, job.last_proc) for job in running)
            found = claims.of_procs(self._state, procs)
        return {(claim.schedd or "", claim.cluster or 0, claim.proc or 0): claim for claim in found}

    @cached_property
    def _started(self) -> set[tuple[str, int, int]]:
        return {launch.key for launch in launches.live(self._state) if launch.phase is LaunchPhase.STARTED}

    @cached_property
    def _exits(self) -> dict[tuple[str, int, int], Ad]:
        """Return how the completed jobs ended that stay in the queue."""
        clusters = {job.cluster for job in jobs.select(self._state, statuses=[JobStatus.COMPLETED])}
        last = (launch for cluster in clusters for launch in launches.last_of_cluster(self._state, cluster).values())
        return {launch.key: at_exit(launch.ended) for launch in last if launch.ended}

    @cached_property
    def _slot_names(self) -> dict[int, str]:
        if self._only is not None:
            return slots.names_of(self._state, (claim.slot_id for claim in self._claims.values()))
        return dict(zip(slots.load_ids(self._state), slots.load_names(self._state), strict=True))
