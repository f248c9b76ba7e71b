"""Recent usage: the average number of jobs of groups and users, from fairq's own records and imported reports.

A job counts from its start to its end, for any number of cores, as DIRAC counts running jobs (docs/dirac.md 4.2). A
report covers exactly its time span, and is added to fairq's own records.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from fairq.common.records import UsageReport
from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.shares.corrector import UsageRequest
from fairq.state import claims, jobs, runs, share_groups
from fairq.state.connection import State

Identity = tuple[str, str]
"""A user's name and group."""


class ShareHistory:
    """Answers the correctors' requests for one point in time; requires the open state."""

    def __init__(self, state: State, groups: Collection[str], now: int) -> None:
        """Store the arguments; *groups* are all known groups, used to find the group in a submitter's name."""
        self._state = state
        self._groups = frozenset(groups)
        self._now = now
        self._reports: dict[tuple[str, int], list[UsageReport]] = defaultdict(list)
        for report in share_groups.load_reports(state):
            self._reports[report.owner_group, report.time_span].append(report)
        self._spans: dict[tuple[float, bool], dict[Identity, float]] = {}
        self._identities: dict[str, Identity] = {}

    def __call__(self, request: UsageRequest) -> Mapping[str, float] | None:
        """Return the usage of every group, or of every user of the requested group; None if its report failed."""
        reported = self._reports.get((request.group, int(request.span)), [])
        if any(report.average_jobs is None for report in reported):
            return None
        found: dict[str, float] = defaultdict(float)
        for report in reported:
            found[report.entity] += report.average_jobs or 0.0
        for (owner, group), average in self._own(request.span, request.running_only).items():
            if not request.group:
                found[group] += average
            elif group == request.group:
                found[owner] += average
        return found

    def _own(self, span: float, running_only: bool) -> dict[Identity, float]:
        known = self._spans.get((span, running_only))
        if known is not None or span <= 0:
            return known or {}
        since = self._now - span
        seconds: dict[str, float] = defaultdict(float)
        for submitter, ran in runs.seconds_between(self._state, since, self._now):
            seconds[submitter] += ran
        for claim in claims.load_all(self._state):
            seconds[claim.submitter] += max(0.0, self._now - max(claim.start_time, since))
        if not running_only:
            for job in jobs.idle(self._state):
                seconds[job.submitter] += len(job) * max(0.0, self._now - max(job.queue_date, since))
        found: dict[Identity, float] = defaultdict(float)
        for submitter, sum_of_seconds in seconds.items():
            if sum_of_seconds > 0:
                found[self.identity(submitter)] += sum_of_seconds / span
        self._spans[span, running_only] = found
        return found

    def identity(self, submitter: str) -> Identity:
        """Return user and group of ``group.user@domain``: the group is the longest known one before a dot."""
        if submitter not in self._identities:
            local = submitter.rpartition("@")[0] or submitter
            parts = local.split(".")
            found = (local, ROOT_GROUP)
            for length in range(len(parts) - 1, 0, -1):
                group = ".".join(parts[:length])
                if group in self._groups:
                    found = (".".join(parts[length:]), group)
                    break
            self._identities[submitter] = found
        return self._identities[submitter]
