"""What an import does to the claims of slots and to running jobs."""

from __future__ import annotations

import json

import pytest
from tests.steps.import_cases import NOW, claimed, dump, job, slot

from fairq.common.records import Claim, JobStatus
from fairq.state import check, claims, jobs, runs, slots, submitters
from fairq.state.connection import reading, writing


@pytest.fixture
def bring(run, state, tmp_path):
    """Import lists of ads by option at a time; return what is printed."""

    def bring(now=NOW, **ads):
        words: list[object] = []
        for option, given in ads.items():
            words += [f"--{option}", dump(tmp_path, option, *given)]
        ended = run("--state", state, "import", *words, "--now", now)
        assert ended.code == 0, ended.err
        return str(ended.out)

    return bring


def held(state):
    with reading(state) as opened:
        return claims.load_all(opened)


def used(state):
    with reading(state) as opened:
        return {
            record.name: (record.resources_used, record.weighted_resources_used)
            for record in submitters.load_all(opened)
            if not record.is_group
        }


def faults(state):
    with reading(state) as opened:
        return check.findings(opened)


def stays(state):
    """The runs that have ended: slot, start and end."""
    with reading(state) as opened:
        return [(run.slot, run.start_time, run.end_time) for run in runs.load(opened)]


RUNNING = {"JobStatus": JobStatus.RUNNING}


def test_slot_that_runs_a_job_of_the_queue(bring, state):
    """It is claimed for that job, as fairq's own match would be, and charged by its weight from now on."""
    out = bring(
        slots=[claimed("a", "alice@example.org", "1.1", Cpus=4), slot("b")],
        jobs=[job(1, 0), job(1, 1, **RUNNING)],
    )

    assert out == "imported 2 slots, 2 jobs, 1 cluster, 1 claim\n"
    assert held(state) == [
        Claim(1, "alice@example.org", NOW - 3600, 4.0, schedd="", cluster=1, proc=1, current_rank=2.5)
    ]
    assert used(state) == {"alice@example.org": (1, 4.0)}
    with reading(state) as opened:
        assert slots.load_ads(opened)[0]["State"] == "Unclaimed"
        assert check.findings(opened) == []


@pytest.mark.parametrize(
    "queue",
    [[], [job(1, 1)], [job(2, 1, **RUNNING)], [job(1, 0, **RUNNING)]],
    ids=["no job", "an idle job", "another cluster", "another proc"],
)
def test_slot_that_runs_something_else(queue, bring, state):
    """The ad stays as it is: the use of a job that is not in the queue is read from it by the cycle."""
    bring(slots=[claimed("a", "alice@example.org", "1.1")], jobs=queue)

    assert held(state) == []
    with reading(state) as opened:
        assert slots.load_ads(opened) == [claimed("a", "alice@example.org", "1.1")]


def test_slot_names_its_schedd(bring, state):
    """With several schedds in the queue the job is the one of the slot's schedd."""
    queue = [job(1, 0, GlobalJobId=f"{schedd}#1.0#5", **RUNNING) for schedd in ("s1", "s2")]
    bring(slots=[claimed("a", "alice@example.org", "1.0", GlobalJobId="s2#1.0#5")], jobs=queue)

    assert [claim.schedd for claim in held(state)] == ["s2"]


def test_two_slots_of_one_job(bring, state):
    """A job has one claim: the first slot's."""
    both = [claimed(name, "alice@example.org", "1.0") for name in ("a", "b")]
    bring(slots=both, jobs=[job(1, 0, **RUNNING)])

    assert [claim.slot_id for claim in held(state)] == [1]


def test_jobs_imported_after_the_slots(bring, state):
    """Slots and jobs find each other whichever comes first."""
    bring(slots=[claimed("a", "alice@example.org", "1.0")])
    bring(jobs=[job(1, 0, **RUNNING)])

    assert [claim.cluster for claim in held(state)] == [1]


def test_slots_imported_after_the_jobs(bring, state):
    """Slots and jobs find each other whichever comes first."""
    bring(jobs=[job(1, 0, **RUNNING)])
    bring(slots=[claimed("a", "alice@example.org", "1.0")])

    assert [claim.cluster for claim in held(state)] == [1]
    assert faults(state) == []


@pytest.fixture
def matched(bring, run, state):
    """A pool of two slots on which fairq itself has started both jobs of a cluster."""
    bring(slots=[slot("a", Memory=1024), slot("b", Memory=1024)], jobs=[job(1, 0), job(1, 1)])
    cycle = json.loads(run("--state", state, "negotiate", "--now", NOW, "--json").out)
    assert len(cycle["matches"]) == 2


@pytest.mark.usefixtures("matched")
def test_claim_goes_on_where_its_slot_is_advertised_again(bring, state):
    """Fresh ads of the same slots, in another order, do not disturb who runs where."""
    before = {claim.slot_id: claim.proc for claim in held(state)}
    bring(now=NOW + 60, slots=[slot("b", Memory=2048), slot("new"), slot("a", Memory=2048)])

    assert {claim.slot_id: claim.proc for claim in held(state)} == {3: before[1], 1: before[2]}
    assert used(state) == {"alice@example.org": (2, 2.0)}
    with reading(state) as opened:
        assert check.findings(opened) == []


@pytest.mark.usefixtures("matched")
def test_slot_that_is_gone_gives_its_job_back(bring, state):
    """The job is idle again, its stay is recorded as lost, and was charged up to now, as is the job that runs on."""
    (lost,) = [claim.proc for claim in held(state) if claim.slot_id == 1]
    out = bring(now=NOW + 60, slots=[slot("b", Memory=1024)])

    assert out == "imported 1 slot, 1 claim ended\n"
    with reading(state) as opened:
        assert [(run.proc, run.slot, run.end_time, run.how) for run in runs.load(opened)] == [
            (lost, "a", NOW + 60, "lost")
        ]
        idle = jobs.idle(opened)
        record = submitters.load(opened, "alice@example.org")
        assert check.findings(opened) == []
    assert [(one.first_proc, one.last_proc) for one in idle] == [(lost, lost)]
    assert used(state) == {"alice@example.org": (1, 1.0)}
    assert record is not None
    assert record.weighted_uncharged_time + record.weighted_accumulated_usage == 2 * 60


@pytest.mark.usefixtures("matched")
def test_queue_without_the_running_job(bring, state):
    """A claim ends with its job, and goes on if the new queue has the job running for the same submitter."""
    bring(jobs=[job(1, 0, **RUNNING), job(1, 1)])

    assert [claim.proc for claim in held(state)] == [0]
    assert used(state) == {"alice@example.org": (1, 1.0)}
    with reading(state) as opened:
        assert check.findings(opened) == []


@pytest.mark.usefixtures("matched")
def test_accounting_keeps_counting_what_is_in_use(bring, state):
    """Replacing a record does not forget the slots that its submitter has."""
    bring(accounting=[{"Name": "alice@example.org", "Priority": 5.0, "ResourcesUsed": 40}])

    assert used(state) == {"alice@example.org": (2, 2.0)}


@pytest.fixture
def running(bring):
    """Two jobs run on the slots of two hosts since an hour."""
    bring(
        slots=[claimed("slot1@a", "alice@example.org", "1.0"), claimed("slot1@b", "alice@example.org", "1.1")],
        jobs=[job(1, 0, **RUNNING), job(1, 1, **RUNNING), job(1, 2)],
    )


@pytest.mark.usefixtures("running")
def test_job_goes_on_where_its_host_has_a_new_name(bring, run, state):
    """It is one stay: begun when it began, ended by nothing, and the next cycle finds the state sound."""
    out = bring(
        now=NOW + 60,
        slots=[claimed("slot1@new", "alice@example.org", "1.0"), claimed("slot1@b", "alice@example.org", "1.1")],
    )

    assert out == "imported 2 slots, 1 claim\n"
    assert [(claim.slot_id, claim.proc, claim.start_time) for claim in held(state)] == [
        (1, 0, NOW - 3600),
        (2, 1, NOW - 3600),
    ]
    assert stays(state) == []
    assert faults(state) == []
    assert run("--state", state, "negotiate", "--now", NOW + 120).code == 0
    assert used(state) == {"alice@example.org": (2, 2.0)}
    with reading(state) as opened:
        record = submitters.load(opened, "alice@example.org")
    assert record is not None
    assert record.weighted_accumulated_usage == 2 * 120
    assert faults(state) == []


@pytest.mark.usefixtures("running")
def test_job_that_began_anew_on_another_slot(bring, state):
    """Its former stay ended when the new one began; the use of both adds up to one slot."""
    moved = claimed("slot1@c", "alice@example.org", "1.0") | {"JobStart": NOW + 20}
    bring(now=NOW + 60, slots=[slot("slot1@a"), claimed("slot1@b", "alice@example.org", "1.1"), moved])

    assert [(claim.slot_id, claim.proc, claim.start_time) for claim in held(state)] == [
        (2, 1, NOW - 3600),
        (3, 0, NOW + 20),
    ]
    assert stays(state) == [("slot1@a", NOW - 3600, NOW + 20)]
    assert used(state) == {"alice@example.org": (2, 2.0)}
    assert faults(state) == []


@pytest.mark.usefixtures("running")
def test_jobs_that_changed_places(bring, state):
    bring(slots=[claimed("slot1@a", "alice@example.org", "1.1"), claimed("slot1@b", "alice@example.org", "1.0")])

    assert [(claim.slot_id, claim.proc) for claim in held(state)] == [(1, 1), (2, 0)]
    assert faults(state) == []


@pytest.mark.usefixtures("running")
def test_job_that_a_second_slot_names_too(bring, state):
    """It stays where it is as long as its own slot names it."""
    names = ["slot1@new", "slot1@a"]
    bring(slots=[claimed(name, "alice@example.org", "1.0") for name in names])

    assert [(claim.slot_id, claim.proc) for claim in held(state)] == [(2, 0)]
    assert faults(state) == []


def test_job_cannot_move_to_a_slot_that_another_one_keeps(bring, run, state):
    """No slot names the job that fairq has matched there; both stay where they are."""
    bring(
        slots=[claimed("a", "alice@example.org", "1.0"), slot("b", Memory=1024)],
        jobs=[job(1, 0, **RUNNING), job(1, 1)],
    )
    assert run("--state", state, "negotiate", "--now", NOW).code == 0
    bring(now=NOW + 60, slots=[slot("a"), claimed("b", "alice@example.org", "1.0")])

    assert [(claim.slot_id, claim.proc) for claim in held(state)] == [(1, 0), (2, 1)]
    assert faults(state) == []


def test_job_moves_off_the_dynamic_slot_that_fairq_made(bring, run, state):
    """The part goes back to the partitionable slot."""
    whole = slot("slot1@a", PartitionableSlot=True, SlotType="Partitionable", Cpus=4, Memory=4096)
    bring(slots=[whole], jobs=[job(1, 0)])
    assert run("--state", state, "negotiate", "--now", NOW).code == 0
    bring(now=NOW + 60, slots=[whole, claimed("slot1@b", "alice@example.org", "1.0")])

    with reading(state) as opened:
        assert slots.load_names(opened) == ["slot1@a", "slot1@b"]
    assert [(claim.slot_id, claim.proc) for claim in held(state)] == [(2, 0)]
    assert faults(state) == []


@pytest.mark.usefixtures("matched")
def test_state_with_a_claim_for_an_idle_job_is_mended(bring, run, state):
    """Versions before this one stored some."""
    with writing(state) as opened:
        jobs.set_status(opened, [("", 1, 0, 0)], JobStatus.IDLE, NOW)
    assert len(faults(state)) == 1
    bring(now=NOW + 60, slots=[slot("a", Memory=1024), slot("b", Memory=1024)])

    assert faults(state) == []
    assert run("--state", state, "negotiate", "--now", NOW + 120).code == 0
    assert faults(state) == []
