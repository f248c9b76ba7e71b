"""What the ads of HTCondor say: of a job about its run, of a slot about a node. The ads are those of HTCondor 23.9."""

from __future__ import annotations

from typing import Any

import pytest

from fairq.launch.htcondor.ads import TAKEN_BACK, former, is_over, is_stopped, look_at
from fairq.launch.htcondor.machines import node
from fairq.launch.interface import Condition, Queued

IDLE: dict[str, Any] = {"ClusterId": 7, "ProcId": 3, "FairqRun": "1.0-abc", "JobStatus": 1, "RemoteWallClockTime": 0.0}
BEGUN = {**IDLE, "NumShadowStarts": 1, "JobStartDate": 1000}
RUNNING = {**BEGUN, "JobStatus": 2, "ShadowBday": 1000}
COMPLETED = {
    **BEGUN, "JobStatus": 4, "RemoteWallClockTime": 12.0, "ExitBySignal": False, "ExitCode": 3, "ResidentSetSize": 3250,
    "RemoteUserCpu": 1.5, "RemoteSysCpu": 0.5,
}  # fmt: skip
HELD = {**BEGUN, "JobStatus": 5, "HoldReason": "Failed to execute", "HoldReasonCode": 6, "HoldReasonSubCode": 2}
EVICTED = {**BEGUN, "RemoteWallClockTime": 35.0, "VacateReason": "Job disconnected too long"}


def test_an_idle_job_says_what_the_negotiator_said():
    look = look_at(IDLE)
    assert (look.condition, look.begun, look.since) == (Condition.QUEUED, Queued("7.3"), None)
    assert look.detail == "HTCondor has not looked at it yet"
    assert look_at({**IDLE, "LastRejMatchReason": "no match found "}).detail.endswith(": no match found")


@pytest.mark.parametrize("status", [2, 6, 7])
def test_a_job_runs_from_its_first_start(status):
    look = look_at({**RUNNING, "JobStatus": status})
    assert (look.condition, look.since, look.until) == (Condition.RUNNING, 1000, None)


def test_a_job_that_is_removed_runs_until_its_shadow_is_gone():
    removed = {**RUNNING, "JobStatus": 3}
    assert look_at(removed).condition is Condition.RUNNING
    assert look_at(former(removed)).condition is Condition.LOST
    assert not is_over(removed)


def test_a_job_that_a_killed_schedd_forgot_to_start_is_lost_when_its_lease_is_over():
    """The schedd was killed between the birth of a shadow and the start: HTCondor itself offers the job again."""
    leased = {"LastJobLeaseRenewal": 1000, "JobLeaseDuration": 120}
    forgotten = {**RUNNING, **leased, "JobStatus": 1, "LastRejMatchTime": 1121}
    assert look_at({**forgotten, "LastRejMatchTime": 1120}).condition is Condition.RUNNING
    look = look_at(forgotten)
    assert (look.condition, look.since, look.until) == (Condition.LOST, 1000, 1000)
    assert is_stopped(forgotten)
    assert is_over({**forgotten, "JobStatus": 3})


def test_an_end_has_its_code_and_what_htcondor_held():
    look = look_at(COMPLETED)
    assert (look.condition, look.since, look.until) == (Condition.ENDED, 1000, 1012)
    assert look.end is not None
    facts = {name: look.end[name] for name in ("reason", "exit_code", "signal", "user_seconds", "peak_memory_kb")}
    assert facts == {"reason": "exit", "exit_code": 3, "signal": None, "user_seconds": 1.5, "peak_memory_kb": 3250}
    assert is_over(COMPLETED)


def test_an_end_by_a_signal_has_no_exit_code():
    look = look_at({**COMPLETED, "ExitBySignal": True, "ExitSignal": 9}).end
    assert look is not None
    assert (look["exit_code"], look["signal"]) == (None, 9)


def test_a_hold_ends_the_run_and_is_known_after_the_removal():
    assert is_stopped(HELD)
    removed = {**BEGUN, "JobStatus": 3, "RemoveReason": f"{TAKEN_BACK} (by user a)",
               "LastHoldReason": "Failed to execute", "LastHoldReasonCode": 6, "LastHoldReasonSubCode": 2}  # fmt: skip
    for ad in (HELD, removed):
        look = look_at(ad).end
        assert look is not None
        assert (look["detail"], look["code"], look["subcode"]) == ("Failed to execute", 6, 2)


def test_an_evicted_job_is_lost_and_charged_and_never_starts_again():
    assert is_stopped(EVICTED)
    look = look_at({**EVICTED, "JobStatus": 3, "RemoveReason": f"{TAKEN_BACK} (by user a)"})
    assert (look.condition, look.since, look.until) == (Condition.LOST, 1000, 1035)
    assert look.detail == "HTCondor has evicted it: Job disconnected too long"


def test_a_removal_by_somebody_is_told():
    look = look_at({**IDLE, "JobStatus": 3, "RemoveReason": "via condor_rm (by user bob)"})
    assert (look.condition, look.since, look.until) == (Condition.LOST, None, None)
    assert look.detail == "it was removed in HTCondor: via condor_rm (by user bob)"


@pytest.mark.parametrize("ad", [IDLE, RUNNING, COMPLETED, {**RUNNING, "JobStatus": 5}, {**RUNNING, "JobStatus": 1}])
def test_nothing_else_is_taken_back(ad):
    assert not is_stopped(ad)


SLOT: dict[str, Any] = {
    "Name": "slot1@n1", "Machine": "n1", "PartitionableSlot": True, "TotalSlotCpus": 7.0, "Cpus": 2, "Memory": 500,
    "TotalSlotMemory": 7000, "TotalSlotDisk": 1e6, "State": "Unclaimed", "Arch": "aarch64", "OpSys": "LINUX",
}  # fmt: skip


def test_a_partitionable_slot_is_as_large_as_in_total():
    look = node(SLOT)
    assert (look.cpus, look.memory, look.disk, look.gpus, look.partitionable) == (7, 7000, 1_000_000, 0, True)
    assert (look.place, look.attributes["Arch"], look.problem) == ({"EngineSlot": "slot1@n1"}, "aarch64", "")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"Offline": True}, "HTCondor has it offline"),
        ({"Draining": True}, "HTCondor drains it"),
        ({"State": "Drained", "DrainReason": "new disk"}, "HTCondor drains it: new disk"),
        ({"State": "Owner"}, "HTCondor leaves it to its owner"),
        ({"State": "Claimed"}, ""),
    ],
)
def test_a_slot_that_takes_no_jobs_says_why(more, problem):
    assert node({**SLOT, **more}).problem == problem
