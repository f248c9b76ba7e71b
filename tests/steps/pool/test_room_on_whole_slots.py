"""Under the rules htcondor, dynamic slots are preempted for a partitionable slot that is matched as a whole."""

import pytest
from tests.steps.import_cases import NOW, imported, job, slot, user
from tests.steps.pool.test_imported_parts import MACHINE, part, sound


@pytest.fixture
def fairq(run, state, tmp_path):
    """A machine of 4 cores and 4500 MB, whose parts bob has, and jobs of alice's: one idle, two held."""

    parts = [{**part(number), "PslotRollupInformation": True} for number in range(1, 5)]
    rest = slot("slot1@m1", **{**MACHINE, "Cpus": 0, "Memory": 500}, PartitionableSlot=True, SlotID=1)
    lists = {f"Child{name}": [ad[name] for ad in parts] for name in ("Name", "State", "CurrentRank", "Cpus", "Memory")}
    ads = {
        "slots": [{**rest, **lists, "NumDynamicSlots": 4, "MachineResources": "Cpus Memory"}, *parts],
        "jobs": [
            job(1, RequestCpus=2, RequestMemory=1500),
            job(2, RequestCpus=3, RequestMemory=3000, JobStatus=5),
            job(3, RequestCpus=1, RequestMemory=900, JobStatus=5),
        ],
        "accounting": [user("bob@example.org", Priority=90.0), user("alice@example.org", Priority=1.0)],
    }
    settings = {
        "accounting.uid_domain": "example.org",
        "negotiator.rules": "htcondor",
        "negotiator.preemption_requirements": "RemoteUserPrio > SubmitterUserPrio * 1.2",
        "negotiator.allow_pslot_preemption": "true",
    }
    return imported(run, state, tmp_path, ads, settings)


def test_why_and_negotiate_name_the_dynamic_slots(fairq):
    assert fairq("why", 1, "--now", NOW).startswith(
        "Job 1.0 waits only for the next cycle, which would give it slot1@m1 and preempt the dynamic slots slot1_1@m1, "
        "slot1_2@m1 to make room."
    )
    (match,) = fairq("negotiate", "--now", NOW, "--dry-run", "--json")["matches"]
    assert match["preempted"]["submitter"] == "bob@example.org"
    assert match["preempted"]["slots"] == ["slot1_1@m1", "slot1_2@m1"]
    assert match["dynamic_slot"] is None
    assert "slot1_1@m1, slot1_2@m1" in fairq("negotiate", "--now", NOW)


def test_they_end_and_the_machine_has_what_they_had(fairq, state):
    """The others run on; once the job has ended, the machine's lists are those of the others."""
    fairq("negotiate", "--now", NOW)
    slots = {ad["Name"]: ad for ad in fairq("slots", "--json")}
    assert set(slots) == {"slot1@m1", "slot1_3@m1", "slot1_4@m1"}
    whole = slots["slot1@m1"]
    assert (whole["Cpus"], whole["Memory"], whole["NumDynamicSlots"]) == (2, 2500, 2)
    assert "ChildName" not in whole
    assert whole["RemoteUser"] == "alice@example.org"
    assert sound(state)
    assert fairq("negotiate", "--now", NOW + 60, "--json")["matches"] == []
    fairq("finish", 1, "--now", NOW + 90)
    assert sound(state)
    fairq("release", 2)
    (match,) = fairq("negotiate", "--now", NOW + 120, "--json")["matches"]
    assert (match["slot"], match["preempted"]["slots"]) == ("slot1@m1", ["slot1_3@m1"])
    assert sound(state)


def test_an_explanation_counts_them_as_in_use(fairq):
    """A job that no machine has room for: the dynamic slots that it would fit are in use."""
    fairq("config", "set", "negotiator.preemption_requirements", "false")
    fairq("release", 3)
    (*_, told) = fairq("negotiate", "--now", NOW, "--dry-run", "--explain", "--json")["explanation"]
    lost = {test: count for test, count in told["lost"].items() if count}
    assert lost == {"job_requirements": 1, "claimed_others": 4}
