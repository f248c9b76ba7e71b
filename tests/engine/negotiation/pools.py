"""Small pools for the tests of the negotiation, in the words of the field."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace
from tests import policies

from fairq.columns.idle_jobs import KIND, NO_NUMBER, NUMBERS, TEXTS, IdleJobs
from fairq.common.records import AccountingRecord, Ad, JobRange
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.classad import AdColumns, parse
from fairq.engine.negotiation.autoclusters import SignificantAttributes
from fairq.engine.negotiation.cycle import negotiate
from fairq.engine.negotiation.decision import CycleDecision
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import PoolSlots
from fairq.engine.negotiation.queue import Jobs, SubmitterQueue

NOW = 1_700_000_000

SLOT: Ad = {
    "MyType": "Machine",
    "State": "Unclaimed",
    "Activity": "Idle",
    "Requirements": "/Expr(TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory)/",
    "Rank": 0.0,
    "CurrentRank": 0.0,
    "SlotID": 1,
    "Cpus": 1,
    "Memory": 1024,
    "Arch": "X86_64",
}
JOB: Ad = {"Requirements": '/Expr(TARGET.Arch == "X86_64")/', "Rank": 0.0, "RequestCpus": 1, "RequestMemory": 512}

_SHOWN = (
    *("rules", "pie_slices", "last_dealing", "preempt_only_to_share", "preempt_prio_delta", "match_claimed_idle"),
    *("floor_counts_usage", "skip_by", "job_order", "resources_in_use", "cross_slot_prios"),
)
HTCONDOR: dict[str, Any] = {name: getattr(policies.negotiation("htcondor"), name) for name in _SHOWN}
"""The points of the cycle under the rules of today's negotiator, as far as these pools show them."""

PRE_JOB_RANK = "10000000 * My.Rank + 1000000 * (RemoteOwner =?= undefined) - 100000 * Cpus - Memory"


def slots(count: int, **attributes: Any) -> list[Ad]:
    """Return *count* equal slots, named ``slot1@m1`` and so on."""
    return [{**SLOT, "Name": f"slot1@m{number}", **attributes} for number in range(1, count + 1)]


def claimed(slot: Ad, user: str, **attributes: Any) -> Ad:
    """Return the slot with a job of *user* on it."""
    return {**slot, "State": "Claimed", "Activity": "Busy", "RemoteUser": user, "RemoteOwner": user, **attributes}


def jobs(count: int, **attributes: Any) -> tuple[int, Ad]:
    """Return *count* equal idle jobs."""
    return count, {**JOB, **attributes}


def policy(**changes: Any) -> NegotiationPolicy:
    """Return the documented rules with *changes*; expressions may be texts."""
    settings: dict[str, Any] = {
        "slot_weight": "Cpus",
        "pre_job_rank": PRE_JOB_RANK,
        "post_job_rank": "0",
        "preemption_rank": "RemoteUserPrio",
        "preemption_requirements": "false",
        "limits": {},
        "shutdown_threshold": None,
        "significant": SignificantAttributes(),
        **changes,
    }
    for name in ("slot_weight", "pre_job_rank", "post_job_rank", "preemption_rank", "preemption_requirements"):
        if isinstance(settings[name], str):
            settings[name] = parse(settings[name])
    return policies.negotiation(**settings)


def cycle(
    pool: Sequence[Ad],
    queues: Mapping[str, Sequence[tuple[int, Ad]]],
    priorities: Mapping[str, float] | None = None,
    records: Sequence[AccountingRecord] = (),
    draining: Collection[int] = (),
    clock: Callable[[], float] | None = None,
    by_column: bool = False,
    running: bool = False,
    **changes: Any,
) -> CycleDecision:
    """Run a cycle and return its decision.

    Args:
        queues: the idle jobs of each submitter, a cluster per entry; ``name!schedd`` names a schedd.
        priorities: effective priorities.
        by_column: pass the jobs by column, as the state does.
        running: the jobs on slots in use are in their submitters' queues.
    """
    ads: list[Ad] = []
    submitters = []
    cluster = 0
    for key, entries in queues.items():
        name, _, schedd = key.partition("!")
        idle = []
        for count, ad in entries:
            cluster += 1
            if ad not in ads:
                ads.append(ad)
            priority = int(ad.get("JobPrio", 0))
            owner = name.partition("@")[0]
            idle.append(JobRange(cluster, 0, count - 1, ads.index(ad), name, owner, 1, NOW, NOW, priority=priority))
        submitters.append(SubmitterQueue(name, schedd, 0, columns_of(idle) if by_column else idle))
    if running:
        submitters = with_running(submitters, pool)
    records_by_name = {record.name: record for record in records}
    for name, value in (priorities or {}).items():
        record = records_by_name.setdefault(name, AccountingRecord(name))
        record.priority, record.priority_factor = value, 1.0
    rules = policy(**changes)
    groups = () if rules.quotas is None else tuple(group.name for group in rules.quotas.groups)
    accounting = policies.accounting(priority_halflife=1e30, group_names=groups)
    accountant = Accountant(records_by_name.values(), accounting, last_update=NOW)
    snapshot = PoolSlots([ad["Name"] for ad in pool], range(len(pool)), AdColumns(pool, now=NOW), frozenset(draining))
    return negotiate(snapshot, Jobs(submitters, dict(enumerate(ads))), accountant, rules, NOW, clock=clock)


def with_running(queues: Sequence[SubmitterQueue], pool: Sequence[Ad]) -> list[SubmitterQueue]:
    """Return the queues with the jobs that run in the *pool*, also of further users; a job weighs its slot's cores."""
    queue_of = {submitter_queue.name: submitter_queue for submitter_queue in queues}
    for ad in (ad for ad in pool if "RemoteUser" in ad):
        submitter_queue = queue_of.setdefault(ad["RemoteUser"], SubmitterQueue(ad["RemoteUser"], "", 0, []))
        weight = submitter_queue.running_weight + ad["Cpus"]
        queue_of[submitter_queue.name] = replace(
            submitter_queue, running_jobs=submitter_queue.running_jobs + 1, running_weight=weight
        )
    return list(queue_of.values())


def columns_of(idle: Sequence[JobRange]) -> IdleJobs:
    """Return the jobs of one submitter by column."""
    codes: dict[str | None, int] = {None: 0}
    columns = {}
    for name in NUMBERS + TEXTS:
        values = [getattr(jobs, name) for jobs in idle]
        if name in TEXTS:
            values = [codes.setdefault(value, len(codes)) for value in values]
        columns[name] = np.array([NO_NUMBER if value is None else value for value in values], np.int64)
    return IdleJobs(columns | {KIND: np.zeros(len(idle), np.int64)}, list(codes))


def matched(decision: CycleDecision) -> dict[str, int]:
    """Return the number of slots that each submitter got."""
    return {submitter.submitter: submitter.matched for submitter in decision.submitters}
