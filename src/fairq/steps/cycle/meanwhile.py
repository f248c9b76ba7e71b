"""What others did to the state while a cycle was decided on a snapshot of it.

New jobs wait for the next cycle. A match is dropped if its job was removed, held or changed. Anything else that a
decision hangs on makes it worthless: slots, claims, priorities, and what the state keeps for the cycle; settings, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fairq.columns.idle_jobs import IdleJobs
from fairq.common.records import JobRange
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.negotiation.decision import CycleDecision, Match, Matches
from fairq.engine.quotas.record import GroupFigures
from fairq.state import idle_columns
from fairq.state.connection import State
from fairq.steps.cycle.load import LoadedPool

_Place = tuple[str, int]
"""Schedd and cluster."""


def still_holds(before: LoadedPool, now: LoadedPool) -> bool:
    """Whether a decision on the pool *before* is as good on the pool *now*, but for the jobs: they do not count."""
    return (
        before.standing == now.standing
        and before.ids == now.ids
        and before.slots.names == now.slots.names
        and before.slots.draining == now.slots.draining
        and before.slots.carved == now.slots.carved
        and before.claims == now.claims
        and before.ads.base.parts == now.ads.base.parts
    )


def matches_lost(decision: CycleDecision, before: LoadedPool, state: State) -> list[Match]:
    """The matches whose jobs do not wait in the *state* as they did *before*."""
    clusters = {(match.schedd, match.cluster) for match in decision.matches}
    changed = idle_columns.changed_clusters(state)
    if changed is not None:
        # Changes have been noted since before the pool was loaded: the other clusters need no look.
        clusters = {(schedd, cluster) for schedd, cluster in clusters if cluster in changed[schedd]}
    if not clusters:
        return []
    former = _by_cluster((queue.idle for queue in before.jobs.queues), clusters)
    by_schedd: dict[str, set[int]] = defaultdict(set)
    for schedd, cluster in clusters:
        by_schedd[schedd].add(cluster)
    current = _by_cluster(idle_columns.of_clusters(state, by_schedd), clusters)
    return [
        match
        for match in decision.matches
        if (place := (match.schedd, match.cluster)) in clusters
        and _of(former[place], match.proc) != _of(current.get(place, ()), match.proc)
    ]


def can_drop(lost: list[Match]) -> bool:
    """Whether these matches can be taken back alone: they displaced nobody, carved nothing, used no limits."""
    return all(match.preempted is None and match.carving is None and not match.concurrency_limits for match in lost)


def drop(decision: CycleDecision, lost: list[Match], before: LoadedPool) -> None:
    """Take the matches *lost* back: from the decision, which notes them, and from the accountant."""
    gone = {(match.schedd, match.cluster, match.proc) for match in lost}
    for match in lost:
        _take_back(before.accountant, match, decision.time, before)
        whose = match.submitter, match.schedd
        found = next(one for one in decision.submitters if (one.submitter, one.schedd) == whose and one.matched)
        found.matched -= 1
        found.matched_weight -= match.cost
    decision.matches = Matches(
        match for match in decision.matches if (match.schedd, match.cluster, match.proc) not in gone
    )
    all_used = sum(before.accountant.weighted_used(figures.group) for figures in decision.quotas)
    decision.quotas = [_after(figures, before.accountant, all_used) for figures in decision.quotas]
    decision.dropped = lost


def _take_back(accountant: Accountant, match: Match, now: int, before: LoadedPool) -> None:
    """Release the slot of a match of this very moment; whoever used nothing before has not begun to."""
    accountant.remove_match(match.key, now)
    for name in {match.submitter, accountant.group_of(match.submitter)}:
        record, former = accountant.records.get(name), before.standing.use_times.get(name, (0, 0))
        if record is not None and not record.resources_used and record.begin_usage_time == now:
            record.begin_usage_time, record.last_usage_time = former


def _after(figures: GroupFigures, accountant: Accountant, all_used: float) -> GroupFigures:
    """The figures of a group with the use that is left to it; *all_used* is that of all groups."""
    record = accountant.records.get(figures.group)
    subtree_used = 0.0 if record is None else record.hier_weighted_resources_used
    return replace(
        figures,
        used_after=accountant.weighted_used(figures.group),
        subtree_used=all_used if figures.parent is None else subtree_used,
    )


def _by_cluster(found: Iterable[Sequence[JobRange]], clusters: set[_Place]) -> dict[_Place, list[JobRange]]:
    """Those of the idle jobs *found* that are of these clusters, by cluster."""
    of_clusters: dict[_Place, list[JobRange]] = {}
    numbers = {cluster for _, cluster in clusters}
    for idle in found:
        for jobs in idle.of_clusters(numbers) if isinstance(idle, IdleJobs) else idle:
            place = jobs.schedd, jobs.cluster
            if place in clusters:
                of_clusters.setdefault(place, []).append(jobs)
    return of_clusters


def _of(ranges: list[JobRange] | tuple[()], proc: int) -> JobRange | None:
    """What is known of one proc, None if it does not wait."""
    found = next((jobs for jobs in ranges if jobs.first_proc <= proc <= jobs.last_proc), None)
    return None if found is None else replace(found, first_proc=proc, last_proc=proc)
