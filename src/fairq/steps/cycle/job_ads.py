"""The ads of matched jobs, for the few matches that need them."""

from __future__ import annotations

from fairq.engine.negotiation.matches import Match
from fairq.engine.negotiation.snapshot import Jobs
from fairq.records import Ad, JobRange


class JobAds:
    """Finds the ads of jobs of a cycle; the queue of a submitter is searched once, when its first job is asked for."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._ranges: dict[tuple[str, str], dict[int, list[JobRange]]] = {}

    def of(self, match: Match) -> Ad:
        """Return the ad of the job of *match*; empty if it is not in the queue."""
        whose = match.submitter, match.schedd
        if whose not in self._ranges:
            found = self._ranges[whose] = {}
            for queue in self._jobs.queues:
                if (queue.name, queue.schedd) == whose:
                    for job in queue.idle:
                        found.setdefault(job.cluster, []).append(job)
        for job in self._ranges[whose].get(match.cluster, ()):
            if job.first_proc <= match.proc <= job.last_proc:
                return job.ad_of(self._jobs.ads[job.ad_id], match.proc)
        return {}
