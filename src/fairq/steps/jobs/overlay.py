"""Attributes that a job's ad gains after submission: where it runs, why it is held, how it ended."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby

from fairq.common.records import WITHDRAWN, Ad, Claim, JobRange, JobStatus, Launch, LaunchPhase
from fairq.state import claims, jobs, launches, slots
from fairq.state.connection import State
from fairq.steps.jobs.waits import WAITS_FOR as OWN_WAIT
from fairq.steps.jobs.waits import Reasons

RUNNING_ATTRIBUTES = ("RemoteHost", "JobStartDate", "JobCurrentStartDate")
"""Attributes that differ between running jobs that are otherwise identical."""

BORROWED = "Borrowed"
"""The attribute that is true of running jobs above the quota of their group."""

WAITS_FOR = "EngineReason"
"""The attribute with the reason why a job waits in the queue of an engine such as Slurm."""


def start_date(ad: Ad) -> int | None:
    """Return when the job of an ad started (seconds since 1970), or None.

    The attribute of a job that fairq has not started comes from its owner, and may have any value.
    """
    date = ad.get("JobCurrentStartDate")
    return date if type(date) is int and date > 0 else None


def was_withdrawn(job: JobRange) -> bool:
    """Return whether jobs are idle again because an engine has not started them."""
    return job.status == JobStatus.IDLE and (job.reason or "").startswith(WITHDRAWN)


class Overlay:
    """The claims of one state, read when first needed; valid while the state is open."""

    def __init__(
        self,
        state: State,
        only: Sequence[JobRange] | None = None,
        *,
        by_range: bool = False,
        borrowed: Collection[tuple[str, int, int]] = (),
    ) -> None:
        """Read from *state*, only the claims of the jobs *only* if given.

        With *by_range*, `attributes` is called only for the first job of each of the `stretches`. *borrowed* are the
        running jobs above the quotas of their groups.
        """
        self.borrowed = borrowed
        self._state = state
        self._only = only
        self._by_range = by_range

    def attributes(self, job: JobRange, proc: int) -> Ad:
        """Return the further attributes of one proc; times in seconds since 1970."""
        if job.status == JobStatus.HELD:
            hold = {"HoldReason": job.reason, "HoldReasonCode": job.hold_code, "HoldReasonSubCode": job.hold_subcode}
            return {name: value for name, value in hold.items() if value is not None}
        if job.status == JobStatus.COMPLETED:
            return {"CompletionDate": job.status_date, **self._exits.get((job.schedd, job.cluster, proc), {})}
        if job.status == JobStatus.RUNNING:
            return self._of_running(job, proc)
        if job.status == JobStatus.WAITING:
            return {OWN_WAIT: self._reasons.reason(job.cluster, proc)}
        return {WAITS_FOR: job.reason} if was_withdrawn(job) else {}

    def _of_running(self, job: JobRange, proc: int) -> Ad:
        claim = self._claims.get((job.schedd, job.cluster, proc))
        if claim is None:
            return {}
        launch = self._launches.get((job.schedd, job.cluster, proc))
        of_engine: Ad = {}
        if launch is not None and not (launch.engine_id is None and launch.reason is None):
            of_engine = {"Launch": launch.launcher, "EngineJobId": launch.engine_id, WAITS_FOR: launch.reason}
        waits = bool(of_engine) and launch is not None and launch.phase is not LaunchPhase.STARTED
        host, start = self._slot_names.get(claim.slot_id, ""), None if waits else claim.start_time
        is_borrowed = True if (job.schedd, job.cluster, proc) in self.borrowed else None
        facts = dict(zip(RUNNING_ATTRIBUTES, (host, start, start), strict=True)) | of_engine | {BORROWED: is_borrowed}
        return {name: value for name, value in facts.items() if value is not None}

    def waits_for(self, job: JobRange, proc: int) -> str | None:
        """Return why one proc waits in an engine's queue, or why the engine does not answer; None without a reason."""
        launch = self._launches.get((job.schedd, job.cluster, proc))
        return None if launch is None else launch.reason

    def is_matched_only(self, job: JobRange, proc: int) -> bool:
        """Return whether one proc is only matched with a slot: nothing known to fairq has started it."""
        claim = self._claims.get((job.schedd, job.cluster, proc))
        launch = self._launches.get((job.schedd, job.cluster, proc))
        is_started = launch is not None and launch.phase is LaunchPhase.STARTED
        return claim is not None and claim.matched and not is_started

    def stretches(self, job: JobRange) -> Iterator[tuple[int, int]]:
        """Yield the first and last proc of each stretch of running jobs that are alike in `waits_for` and
        `is_matched_only`, and all borrowed or all not.
        """
        if job.procs in self._alike:
            yield job.first_proc, job.last_proc
            return

        def alike_in(proc: int) -> tuple[bool, str | None, bool]:
            is_borrowed = (job.schedd, job.cluster, proc) in self.borrowed
            return self.is_matched_only(job, proc), self.waits_for(job, proc), is_borrowed

        for _, procs_alike in groupby(job.numbers, key=alike_in):
            members = list(procs_alike)
            yield members[0], members[-1]

    def matched_only(self) -> int:
        """Return the number of running jobs of the queue that are only matched."""
        launched = self._launches.items()
        started = [jobs.Procs(*key, key[-1]) for key, launch in launched if launch.phase is LaunchPhase.STARTED]
        return claims.count_matched(self._state) - sum(claim.matched for claim in claims.of_procs(self._state, started))

    def load_for(self, ranges: Iterable[JobRange]) -> None:
        """Read the data that `attributes` needs for these jobs now, so that the state can be closed."""
        ranges = list(ranges)
        if any(job.status in (JobStatus.RUNNING, JobStatus.COMPLETED) for job in ranges):
            self.load()
        self._reasons.load(job.cluster for job in ranges if job.status == JobStatus.WAITING)

    def load(self) -> None:
        """Read the data that `attributes` needs now, so that the state can be closed."""
        _ = self._claims, self._slot_names, self._launches, self._exits

    @cached_property
    def _reasons(self) -> Reasons:
        return Reasons(self._state)

    @cached_property
    def _claims(self) -> dict[tuple[str, int, int], Claim]:
        if self._only is None:
            loaded = claims.load_all(self._state)
        else:
            procs = (job.procs for job in self._only if job.status == JobStatus.RUNNING)
            read = (own._replace(last_proc=own.first_proc) if own in self._alike else own for own in procs)
            loaded = claims.of_procs(self._state, read)
        return {claim.key: claim for claim in loaded}

    @cached_property
    def _alike(self) -> frozenset[jobs.Procs]:
        """The ranges whose first job represents all: no launcher runs one of them, and their claims are alike."""
        if not self._by_range or self._only is None:
            return frozenset()
        launched = {(schedd, cluster) for schedd, cluster, _ in (*self._launches, *self.borrowed)}
        return frozenset(
            job.procs
            for job in self._only
            if job.status == JobStatus.RUNNING
            and (job.schedd, job.cluster) not in launched
            and (len(job) == 1 or claims.are_alike(self._state, job.procs))
        )

    @cached_property
    def _launches(self) -> dict[tuple[str, int, int], Launch]:
        """The last run of each job that a launcher has."""
        return {launch.key: launch for launch in launches.live(self._state)}

    @cached_property
    def _exits(self) -> dict[tuple[str, int, int], Ad]:
        """The attributes of the ends of completed jobs that stay in the queue."""
        clusters = {job.cluster for job in jobs.select(self._state, statuses=[JobStatus.COMPLETED])}
        if not clusters:
            return {}
        from fairq.steps.launch.outcome import at_exit  # few queues have completed jobs

        last = (launch for cluster in clusters for launch in launches.last_of_cluster(self._state, cluster).values())
        return {launch.key: at_exit(launch.ended) for launch in last if launch.ended}

    @cached_property
    def _slot_names(self) -> dict[int, str]:
        if self._only is not None:
            return slots.names_of(self._state, (claim.slot_id for claim in self._claims.values()))
        return slots.names(self._state)
