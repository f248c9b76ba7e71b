"""Records for the tests of the state, short to write."""

from __future__ import annotations

from typing import Any

from tests.state.broker_pool import fill_broker

from fairq.common.past import CycleRecord, EndedJob, MatchRecord, UsageRow
from fairq.common.records import (
    AccountingRecord,
    Actor,
    Change,
    Claim,
    DelayState,
    DynamicSlot,
    JobEvent,
    JobRange,
    JobStatus,
    Launch,
    LaunchPhase,
    Lease,
    PilotSlot,
    QueueNumber,
    Run,
    ShareGroup,
    SlotRecord,
    UsageReport,
)
from fairq.state import (
    claims,
    cycles,
    dynamic_slots,
    ended_jobs,
    history,
    job_events,
    jobs,
    launches,
    meta,
    pilot_slots,
    runs,
    share_groups,
    slots,
    submitters,
    task_queues,
    usage,
)
from fairq.state.connection import State

ACTOR = Actor("root", "fairq userprio --setfactor alice@x 10", 1000)


def procs(cluster: int, first: int, last: int, **columns: Any) -> JobRange:
    """Jobs of alice's, idle since 100."""
    values: dict[str, Any] = {
        "ad_id": 1,
        "submitter": "alice@x",
        "owner": "alice",
        "status": JobStatus.IDLE,
        "queue_date": 100,
        "status_date": 100,
    }
    return JobRange(cluster, first, last, **values | columns)


def queued(state: State, *ranges: JobRange) -> None:
    """Queue jobs whose shared ad, the only one, has the number 1."""
    assert jobs.ad_id(state, {"Cmd": "/bin/sleep"}) == 1
    jobs.add(state, ranges)


def layout(state: State) -> list[tuple[int, int, int, int]]:
    """The queue as (cluster, first proc, last proc, status)."""
    return [(job.cluster, job.first_proc, job.last_proc, job.status) for job in jobs.select(state)]


def fill(state: State) -> None:
    """A state with something of every kind, and every optional value both there and not."""
    shared = jobs.ad_ids(state, [{"Cmd": "/bin/sleep", "Requirements": "/Expr(TARGET.Memory > 1)/"}, {"Cmd": "b"}])
    jobs.add(
        state,
        [
            procs(1, 0, 999_999, ad_id=shared[0], template={"Args": "$(ProcId)"}, reason="why"),
            procs(2, 1, 1, ad_id=shared[0], status=JobStatus.HELD, reason="why", hold_code=6, hold_subcode=2),
            procs(2, 0, 0, ad_id=shared[1], own={"Env": {"A": [1, 2.5, None, True]}}, schedd="far", submitter="bob@y"),
        ],
    )
    jobs.mark_running(state, [jobs.Procs("", 1, 5, 5)], 200)
    slots.replace_all(state, [SlotRecord(0, f"slot{n}", {"Memory": n}, f"<{n}>") for n in (1, 2, 3)])
    slots.set_draining(state, ["slot3"], True)
    slots.add(state, [SlotRecord(0, "slot2_1", {"Name": "slot2_1", "DynamicSlot": True, "Memory": 1}, "<2>")])
    dynamic_slots.add(state, [DynamicSlot(4, 2, {"Memory": 1, "Cpus": 0.5})])
    slots.add(state, [SlotRecord(0, "slot5", {"Memory": 5}, "<5>")])
    slots.remove(state, [1])
    claims.store(
        state,
        [
            Claim(2, "alice@x", 200, 1.5, "", 1, 5, 0.25, "licence:2", "physics.hep", False, matched=True),
            Claim(3, "carol@z", 150, 1.0, autoregroup=True, advertised={"Activity": "Suspended"}),
            Claim(4, "dave@z", 170, 0.5),
            Claim(5, "erin@z", 170, 0.5, charged=False),
        ],
    )
    # A job that runs, one that is to start when it has ended, and one that has ended.
    launches.add(
        state,
        [
            Launch(0, "1.5-a", "local", "", 1, 5, "slot2", LaunchPhase.STARTED, 200, "b", 0.5, {}, 7, 8,
                   {"cores": [1]}, {"how": "remove"}, output="/out", error="/err"),
            Launch(0, "2.0-b", "local", "far", 2, 0, "slot2", LaunchPhase.INTENDED, 201, "b", 1.5, {"runs": ["1.5-a"]}),
            Launch(0, "1.6-d", "slurm", "", 1, 6, "slot2", LaunchPhase.QUEUED, 202, "b", 2.5, engine_id="17",
                   reason="Resources", charged_from=230),
            Launch(0, "1.4-c", "local", "", 1, 4, "slot2", LaunchPhase.ENDED, 100, "b", 0.25, ended={"exit_code": 0},
                   end_time=150),
        ],
    )  # fmt: skip
    job_events.add(
        state,
        [
            JobEvent(0, 100, "", 1, 0, 999_999, 0, {"host": "node"}, "/log.$(ProcId)", False),
            JobEvent(0, 200, "", 1, 5, 5, 1, {"slot": "slot2"}),
        ],
    )
    ended_jobs.add(
        state,
        [
            EndedJob(1, 0, 2, shared[0], "alice@x", "alice", JobStatus.REMOVED, 50, 90, template={"Args": "$(ProcId)"},
                     request_cpus=1.0, reason="removed by root", hold_reason="why"),
            EndedJob(9, 4, 4, shared[1], "bob@y", "bob", JobStatus.COMPLETED, 50, 95, 3, "far", {"A": 1}, None, 2, 60,
                     70, 30, 45.0, "slot2", 1, None, 20.5, 1.5, 24.0, 100, 2.0, 128.0),
            EndedJob(10, 0, 0, shared[1], "bob@y", "bob", JobStatus.COMPLETED, 50, 96, runs=1, signal=9),
        ],
    )  # fmt: skip
    usage.add(
        state,
        [
            UsageRow(0, "alice@x", 0.0, 0.0, 7.5, 6.25, 3.5, 0.1 + 0.2, 100.0, 1e10, 3600.0),
            UsageRow(3600, "", entitled=3600.0, known=3600.0),
        ],
    )
    submitters.store(
        state,
        [
            AccountingRecord("<none>", is_group=True),
            AccountingRecord(
                "alice@x",
                priority=0.1 + 0.2,
                priority_factor=1000.0,
                resources_used=1,
                weighted_resources_used=1.5,
                hier_weighted_resources_used=1.5,
                uncharged_time=-3.0,
                weighted_accumulated_usage=1e300,
                begin_usage_time=1,
                ceiling=7,
                ceiling_lease=Lease(5, -1.0),
                floor_lease=Lease(6, 0.0),
                factor_lease=Lease(7, 1e10),
                submitter_share=1 / 3,
                submitter_limit=2.0,
            ),
            AccountingRecord("carol@z", resources_used=1, weighted_resources_used=1.0),
            AccountingRecord("dave@z", resources_used=1, weighted_resources_used=0.5),
        ],
    )
    runs.add(
        state,
        [
            Run(1, 3, "alice@x", "slot1", 1.0, 5, 6, "finished", 0),
            Run(2, 0, "bob@y", "s", 0.5, 5, 9, "lost", schedd="far"),
        ],
    )
    matches = [
        MatchRecord(0, "", 1, 5, "alice@x", "slot2", "no-preemption"),
        MatchRecord(1, "", 1, 6, "alice@x", "slot3", "priority", "bob@y"),
    ]
    cycles.add(state, CycleRecord(1, 200, "documented", {"pie": 2.5, "spins": [1]}, matches))
    cycles.add(state, CycleRecord(2, 300, "htcondor", {}))
    fill_shares(state)
    fill_broker(state)
    history.record(state, ACTOR, [Change("alice@x", {"Factor": 1.0}, {"Factor": 10.0}), Change("slots", None, 3)])
    meta.set(state, "last_update", "200")
    meta.set(state, "schedd_name", "here")


def fill_shares(state: State) -> None:
    """What DIRAC's scheme keeps."""
    pilot_slots.add(state, [PilotSlot(3, "LCG.CERN.cern", "ce1", "https://pilot/1")])
    task_queues.put(
        state,
        [
            QueueNumber(3, {"Owner": "alice", "OwnerGroup": "lhcb_user", "CPUTime": 86400}, 0, 1000 / 3, 300),
            QueueNumber(4, {"Owner": "bob", "OwnerGroup": "lhcb_user", "CPUTime": 86400, "Sites": ["A", "B"]}, 1),
        ],
    )
    share_groups.replace_all(state, [ShareGroup("lhcb_user", {"JobShare": "1000", "Properties": ["JobSharing"]})])
    share_groups.replace_reports(
        state, [UsageReport("", 604800, "lhcb_user", 2.5, 300), UsageReport("lhcb_user", 3600, "", None, 300)]
    )
    pilot_slots.put_delays(state, [DelayState("LCG.CERN.cern", "JobType", "MC", 0.25, 300.5)])
