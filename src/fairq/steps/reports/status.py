"""The current status of the pool: slots, jobs, and submitters with the results of the last cycle."""

from __future__ import annotations

from collections import Counter
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from fairq.common.records import AccountingRecord
from fairq.engine.accounting.factors import resolve_factor
from fairq.engine.accounting.priority import effective_priority, real_priority
from fairq.state import cycles, jobs, launches, report_figures
from fairq.state import pause as pauses
from fairq.state.connection import State, reading
from fairq.state.pause import Pause
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.accounts import last_update, records_at
from fairq.steps.launch.launchers import is_launching

if TYPE_CHECKING:
    from fairq.settings import Settings


class SubmitterStatus(Struct):
    """A submitter with jobs or slots: counts, weight in use, and its entitlement in the last cycle.

    *share* (0 to 1) is *entitled* as a share of the pool. They are None if it had no idle jobs in the last cycle.
    *stopped* is why it got no more.
    """

    submitter: str
    idle: int = 0
    running: int = 0
    held: int = 0
    in_use: float = 0.0
    entitled: float | None = None
    share: float | None = None
    priority: float = 0.5
    real_priority: float = 0.5
    factor: float = 1.0
    usage: float = 0.0
    stopped: str | None = None
    quota_group: str | None = None

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "submitter": self.submitter,
            "idle": self.idle,
            "running": self.running,
            "held": self.held,
            "in_use": self.in_use,
            "entitled": self.entitled,
            "share": self.share,
            "effective_priority": self.priority,
            "stopped": self.stopped,
        }


class GroupUse(Struct, frozen=True):
    """The slot weight in use by a group and its subgroups, and its effective priority."""

    weight: float
    priority: float


class LastCycle(Struct):
    """The last cycle: its number, *time* (seconds since 1970), rules, matches, and how many of them preempted."""

    number: int
    time: int
    rules: str
    matches: int
    preempted: int
    spins: int


class PoolStatus(Struct):
    """The pool at *now* (seconds since 1970); weights are slot weights.

    *slots* counts slots without dynamic slots, *drained* those of them that take no jobs, *claims* the jobs and dynamic
    slots in use. *weight* is that of all slots in the last cycle, None before the first one. *running_here* counts the
    processes that launchers started. *rejected* counts rejected requests of the last cycle by reason. *groups* are the
    last cycle's figures of the accounting groups, *used_by_groups* their use. *pause* is the pause in effect.
    """

    state: str
    now: int
    slots: int
    drained: int
    claims: int
    weight: float | None
    weight_in_use: float
    cycle: LastCycle | None
    launching: bool
    running_here: int
    last_update: int
    submitters: list[SubmitterStatus] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    groups: list[dict[str, Any]] = field(default_factory=list)
    used_by_groups: dict[str, GroupUse] = field(default_factory=dict)
    pause: Pause | None = None

    def count(self, status: str) -> int:
        """Return the number of jobs of this *status*: idle, running or held."""
        return sum(getattr(submitter, status) for submitter in self.submitters)


def pool_status(path: Path, settings: Settings, now: int) -> PoolStatus:
    """Return the status of the pool; submitters with idle jobs come first, ordered by decreasing use."""
    with reading(path) as state:
        slots, drained, claimed = report_figures.slot_counts(state)
        decision = cycles.latest_decision(state) or {}
        result = PoolStatus(
            str(state.path),
            now,
            slots,
            drained,
            claimed,
            decision.get("pie"),
            0.0,
            _last_cycle(state, decision),
            is_launching(state, settings),
            len(launches.live(state)),
            last_update(state),
            rejected=Counter(rejection["reason"] for rejection in decision.get("rejections", ())),
            groups=list(decision.get("quotas", ())),
            pause=pauses.load(state, now),
        )
        records = records_at(state, now)
        result.submitters = _submitters(state, settings, decision, records)
        policy = accounting_policy(settings)
        for record in records:
            if record.is_group:
                factor = record.priority_factor or resolve_factor(record.name, policy)
                use = GroupUse(record.hier_weighted_resources_used, effective_priority(record, factor))
                result.used_by_groups[record.name] = use
    result.weight_in_use = fsum(submitter.in_use for submitter in result.submitters)
    return result


def _last_cycle(state: State, decision: dict[str, Any]) -> LastCycle | None:
    if "cycle" not in decision:
        return None
    matches, preempted = report_figures.matches_of(state, decision["cycle"])
    return LastCycle(
        decision["cycle"], decision["time"], decision["rules"], matches, preempted, decision.get("spins", 0)
    )


def _submitters(
    state: State, settings: Settings, decision: dict[str, Any], accounts: list[AccountingRecord]
) -> list[SubmitterStatus]:
    policy = accounting_policy(settings)
    pool = decision.get("pie", 0.0)
    by_name: dict[str, SubmitterStatus] = {}

    def submitter_of(name: str) -> SubmitterStatus:
        return by_name.setdefault(name, SubmitterStatus(name))

    for name, (idle, running, held) in jobs.counts_by_submitter(state).items():
        submitter = submitter_of(name)
        submitter.idle, submitter.running, submitter.held = idle, running, held
    for name, weight in report_figures.weights_in_use(state):
        submitter_of(name).in_use += weight
    for turn in decision.get("submitters", ()):
        if turn["submitter"] in by_name:
            submitter = by_name[turn["submitter"]]
            if turn["idle"]:  # the limit of others is 0: they want no more
                submitter.entitled = max(turn["limit"], submitter.entitled or 0.0)
                submitter.share = min(submitter.entitled / pool, 1.0) if pool else 0.0
            submitter.stopped, submitter.quota_group = turn["stopped"], turn.get("quota_group")
    records = {record.name: record for record in accounts}
    for submitter in by_name.values():
        record = records.get(submitter.submitter) or AccountingRecord(submitter.submitter)
        submitter.factor = record.priority_factor or resolve_factor(submitter.submitter, policy)
        submitter.priority = effective_priority(record, submitter.factor)
        submitter.real_priority = real_priority(record)
        submitter.usage = record.weighted_accumulated_usage
    return sorted(
        by_name.values(),
        key=lambda submitter: (not submitter.idle, -submitter.in_use, -submitter.idle, submitter.submitter),
    )
