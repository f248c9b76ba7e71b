"""Changes that others made to the state while a cycle was decided on a snapshot of it.

New jobs wait for the next cycle. A match is dropped if its job was removed, held or changed. Any other change of the
cycle's input makes the decision invalid: slots, claims, priorities, the state's data for the cycle, or settings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace

from fairq.columns.idle_jobs import IdleJobs
from fairq.common.records import JobRange
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.negotiation.decision import CycleDecision, Match, Matches
from fairq.engine.quotas.record import GroupFigures
from fairq.state import idle_jobs
from fairq.state.connection import State
from fairq.steps.cycle.load import LoadedPool


def is_still_valid(before: LoadedPool, now: LoadedPool) -> bool:
    """Return whether a decision on the pool *before* also holds for the pool *now*, apart from the jobs."""
    return (
        before.accounts_before == now.accounts_before
        and before.ids == now.ids
        and before.slots.names == now.slots.names
        and before.slots.draining == now.slots.draining
        and before.slots.carved == now.slots.carved
        and before.claims == now.claims
        and before.ads.base.parts == now.ads.base.parts
    )


def matches_lost(decision: CycleDecision, before: LoadedPool, state: State) -> list[Match]:
    """Return the matches whose jobs have changed in the *state* since the pool *before*."""
    clusters = np.array([match.cluster for match in decision.matches], np.int64)
    queues = (queue.idle for queue in before.jobs.queues)
    former = _Waiting(jobs for idle in queues if isinstance(idle, IdleJobs) for jobs in idle.of_clusters(clusters))
    current = _Waiting(idle_jobs.load(state, clusters.tolist()))
    return [match for match in decision.matches if former.row_of(match) != current.row_of(match)]


class _Waiting:
    """Some of the *idle* jobs by schedd and cluster."""

    def __init__(self, idle: Iterable[JobRange]) -> None:
        self._rows: dict[tuple[str, int], list[JobRange]] = defaultdict(list)
        for jobs in idle:
            self._rows[jobs.schedd, jobs.cluster].append(jobs)

    def row_of(self, match: Match) -> JobRange | None:
        """Return the waiting job of a match; None if it does not wait."""
        for jobs in self._rows[match.schedd, match.cluster]:
            if jobs.first_proc <= match.proc <= jobs.last_proc:
                return replace(jobs, first_proc=match.proc, last_proc=match.proc)
        return None


def can_drop(lost: list[Match]) -> bool:
    """Return whether *lost* matches can be dropped alone: they preempted nobody, carved nothing, used no limits."""
    return all(match.preempted is None and match.carving is None and not match.concurrency_limits for match in lost)


def drop(decision: CycleDecision, lost: list[Match], before: LoadedPool) -> None:
    """Drop the matches *lost* from the decision, which records them, and from the accountant."""
    lost_jobs = {(match.schedd, match.cluster, match.proc) for match in lost}
    for match in lost:
        _release(before.accountant, match, decision.time, before)
        key = match.submitter, match.schedd
        turn = next(
            submitter
            for submitter in decision.submitters
            if (submitter.submitter, submitter.schedd) == key and submitter.matched
        )
        turn.matched -= 1
        turn.matched_weight -= match.cost
    decision.matches = Matches(
        match for match in decision.matches if (match.schedd, match.cluster, match.proc) not in lost_jobs
    )
    all_used = sum(before.accountant.weighted_used(figures.group) for figures in decision.quotas)
    decision.quotas = [_figures_after(figures, before.accountant, all_used) for figures in decision.quotas]
    decision.dropped = lost


def _release(accountant: Accountant, match: Match, now: int, before: LoadedPool) -> None:
    """Release the slot of a match of this moment; restore the times of use of a record that had no use before."""
    accountant.remove_match(match.key, now)
    for name in {match.submitter, accountant.group_of(match.submitter)}:
        record, former = accountant.records.get(name), before.accounts_before.use_times.get(name, (0, 0))
        if record is not None and not record.resources_used and record.begin_usage_time == now:
            record.begin_usage_time, record.last_usage_time = former


def _figures_after(figures: GroupFigures, accountant: Accountant, all_used: float) -> GroupFigures:
    """Return the figures of a group with its remaining use; *all_used* is the use of all groups."""
    record = accountant.records.get(figures.group)
    subtree_used = 0.0 if record is None else record.hier_weighted_resources_used
    return replace(
        figures,
        used_after=accountant.weighted_used(figures.group),
        subtree_used=all_used if figures.parent is None else subtree_used,
    )
