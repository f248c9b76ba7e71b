"""The participants of a pie: one entry for each submitter at each schedd."""

from __future__ import annotations

import math

from msgspec import Struct

from fairq.engine.negotiation.decision import StopReason, SubmitterDecision
from fairq.engine.negotiation.requests import JobQueue


class SubmitterTurn(Struct, eq=False):
    """One submitter at one schedd in a cycle: its queue and its results.

    With global job priorities there may be several, one for each range of priorities; *job_priority* is the highest of
    the range. *found_nothing_free*: its jobs found no free slot; *stopped_at* is the last job that a limit stopped.
    """

    name: str
    schedd: str
    queue: JobQueue
    decision: SubmitterDecision
    starvation: float = 0.0
    job_priority: int | None = None
    found_nothing_free: bool = False
    stopped_at: tuple[int, int] | None = None

    @property
    def turn_order(self) -> tuple[float, float, float, str, str]:
        """Lower is earlier in a spin (docs/htcondor.md 2.6)."""
        priority = -math.inf if self.job_priority is None else self.job_priority
        return self.effective_priority, -priority, self.starvation, self.name, self.schedd

    @property
    def effective_priority(self) -> float:
        """The value at the start of the cycle; it decides shares and order for the whole cycle."""
        return self.decision.effective_priority

    def pass_over(self, quota_group: str | None) -> None:
        """Record that it gets no turn, because a group's quota is used up; who is at its ceiling stays there."""
        if self.decision.idle and self.decision.stopped is not StopReason.CEILING:
            self.decision.stopped = StopReason.QUOTA
            self.decision.quota_group = quota_group
