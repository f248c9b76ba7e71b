"""Weights, caps and the choice of candidates in PanDA's production code."""

import pytest
from msgspec.structs import replace
from tests.broker_rules import PANDA
from tests.engine.brokerage.pools import ask_code as ask
from tests.engine.brokerage.pools import at, chunk, names, pool, queue, reason, task, verdict

from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.world import Pilots, Slots

LOW = {"current_priority": 150}


def jobs(**counts):
    return {"MC": counts}


def test_workers_stand_in_for_running_jobs_where_hardly_any_run():
    """At most 20, on unified queues that pull jobs and have pilots, for priorities up to 150."""
    unified = {"capability": "ucore", "workflow": "pull_ups"}
    world = pool(
        queue("Q", **unified),
        queue("PUSH", capability="ucore", workflow="push"),
        queue("SILENT", **unified),
        job_stats={name: jobs(running=3) for name in ("Q", "PUSH", "SILENT")},
        workers={name: {"running": 15, "submitted": 15, "ready": 9} for name in ("Q", "PUSH", "SILENT")},
        pilots={name: Pilots(5, 5) for name in ("Q", "PUSH", "NUC_Q")},
        slots=(Slots("SILENT", "MC", "MCORE", 0),),
    )
    outcome = ask(world, task(**LOW))
    assert verdict(outcome, "Q/SCORE").numbers["nRun"] == 20
    assert verdict(outcome, "PUSH/SCORE").numbers["nRun"] == 3
    assert verdict(ask(world, task(current_priority=151)), "Q/SCORE").numbers["nRun"] == 3


@pytest.mark.parametrize(("slots", "running"), [(800, 100), (79, 40), (0, 45), (None, 40)])
def test_slots_to_be_kept_filled_count_as_running(slots, running):
    """Divided by cores; 0 adds the starting jobs instead."""
    requests = () if slots is None else (Slots("Q", "MC", "SCORE", slots),)
    world = pool(queue("Q", corecount=8), job_stats={"Q": jobs(running=40, starting=5)}, slots=requests)
    asked = task(core_count=8, **LOW)
    assert verdict(ask(world, asked), "Q").numbers["nRun"] == running
    assert verdict(ask(world, replace(asked, current_priority=151)), "Q").numbers["nRun"] == 40


def test_slots_of_a_queue_without_cores_are_counted_as_they_are():
    world = pool(queue("Q", corecount=0), job_stats={"Q": jobs(running=1)}, slots=(Slots("Q", "MC", "SCORE", 30),))
    assert verdict(ask(world, task(**LOW)), "Q").numbers["nRun"] == 30


def test_an_idle_queue_is_tried_out_first():
    """Nothing runs or waits there: weight 0, and first in the order; for priorities up to 150."""
    world = pool(queue("IDLE"), queue("BUSY"), job_stats={"BUSY": jobs(running=90), "NUC_Q": jobs(running=1)})
    outcome = ask(world, task(**LOW))
    first = outcome.candidates[0]
    assert (first.queue, first.bootstrap, first.weight) == ("IDLE", True, 0.0)
    assert not any(one.bootstrap for one in ask(world, task(current_priority=151)).candidates)


def test_more_than_ten_idle_queues():
    world = pool(*(queue(f"Q{number:02}") for number in range(12)))
    outcome = ask(world, task(**LOW))
    assert names(outcome) == ["NUC_Q", *(f"Q{number:02}" for number in range(9))]
    assert reason(outcome, "Q11") == "others_bootstrap"


@pytest.mark.parametrize(
    ("activated", "running", "expected"), [(20, 0, ""), (21, 0, "cap"), (60, 30, ""), (61, 30, "cap")]
)
def test_queued_jobs_are_capped_by_twice_those_running(activated, running, expected):
    world = pool(queue("Q"), job_stats={"Q": jobs(activated=activated, running=running)})
    outcome = ask(world)
    assert reason(outcome, "Q") == expected
    if expected:
        told = verdict(outcome, "Q").details
        assert (told["nQueued"], told["cap"]) == (activated, max(20, 2 * running))
        assert verdict(outcome, "Q").weight is not None


def test_the_cap_of_a_share_can_be_configured():
    world = pool(queue("Q"), job_stats={"Q": jobs(activated=6)}, config=Config({"jobbroker.NQUEUELIMITSITE_MC": 5}))
    assert reason(ask(world), "Q") == "cap"
    assert reason(ask(replace(world, config=Config({"jobbroker.NQUEUELIMITSITE_MC": 0}))), "Q") == ""


def test_unified_queues_are_capped_by_resource_type():
    counts = {"MCORE": {"activated": 41, "running": 20}, "SCORE": {"activated": 500}}
    world = pool(
        queue("U", capability="ucore", corecount=8, maxrss=16000),
        job_stats={"U": jobs(activated=541, running=20)},
        job_stats_by_type={"U": {"MC": counts}},
    )
    asked = task(core_count=8, resource_type="MCORE")
    outcome = ask(world, asked)
    assert reason(outcome, "U/MCORE") == "cap_rt"
    assert verdict(outcome, "U/MCORE").details == {"nQueued_rt": 41, "cap_rt": 40.0, "nRun_rt": 20}
    assert reason(outcome, "U/SCORE") == "cpucore"
    own = replace(world, own_resource_types={1: {"U": frozenset({"SCORE"})}})
    assert verdict(ask(own, asked), "U/MCORE").details["nQueued_rt"] == 500, "the task's own jobs there are of SCORE"


def test_locks_and_local_data_only():
    world = pool(
        queue("LOCKED"),
        queue("PICKY", catchall="use_only_local_data"),
        queue("HAS", catchall="use_only_local_data"),
        locked=frozenset({"LOCKED"}),
        replicas=at(HAS=2),
    )
    outcome = ask(world, data=chunk(files=2))
    assert [reason(outcome, name) for name in ("LOCKED", "PICKY", "HAS")] == ["lock", "non_local", ""]
    assert verdict(outcome, "PICKY").details["nFilesToMove"] == 2


def test_the_share_s_minimum_weight_goes_before_the_label_s():
    counts = {"Q": jobs(running=19), "NUC_Q": jobs(running=0, activated=1)}
    values = {"jobbroker.MIN_WEIGHT_managed": 1.5}
    world = pool(queue("Q"), job_stats=counts, config=Config(values))
    outcome = ask(world, rules=PANDA)
    assert names(outcome) == ["Q"]
    assert verdict(outcome, "NUC_Q").details == {"weight": pytest.approx(1 / 11), "MIN_WEIGHT": 1.5}
    world = replace(world, config=Config({**values, "jobbroker.MIN_WEIGHT_managed_MC": 99}))
    assert names(ask(world, rules=PANDA)) == []


@pytest.mark.parametrize(
    ("fields", "factor"),
    [({}, None), ({"io_intensity": 501}, 4), ({"io_intensity": 500}, None), ({"rules": {"TW": "7"}}, 7),
     ({"current_priority": 899}, None), ({"current_priority": 900}, 100),
     ({"current_priority": 900, "event_service": 1}, None)],
)  # fmt: skip
def test_queues_of_the_nucleus_count_more(fields, factor):
    """By the task's own rule, for much I/O, and by today's code for urgent tasks."""
    outcome = ask(pool(queue("Q", jobseed="all"), queue("N", site="NUC", role="nucleus", jobseed="all")),
                  task(**fields), rules=PANDA)  # fmt: skip
    assert verdict(outcome, "N").terms.get("nucleus") == factor
    if factor:
        assert verdict(outcome, "Q").terms["nucleus"] == 1


def test_a_preferred_cpu_level_raises_the_weight():
    software = {name: {"cvmfs": ["any"], "containers": ["any"]} for name in ("HALF", "NONE", "NUC_Q")}
    asked = task(
        trans_home="Athena-24.0.1",
        architecture='{"sw_platform": "x86_64-el9", "cpu_pref": {"preferred_architecture_level": "x86_64-v3"}}',
    )
    world = pool(queue("HALF"), queue("NONE"), software=software, cpu_levels={"HALF": {"x86_64-v3": 50}})
    outcome = ask(world, asked)
    assert verdict(outcome, "HALF").terms["cpu level"] == 1.5
    assert verdict(outcome, "NONE").terms["cpu level"] == 1


def test_a_queue_that_takes_any_release_is_not_weighed_by_its_cpu_levels():
    asked = task(trans_home="Athena-24.0.1", architecture='{"cpu_pref": {"preferred_architecture_level": "x86_64-v3"}}')
    world = pool(queue("ANY", releases=("ANY",)), cpu_levels={"ANY": {"x86_64-v3": 50}})
    assert verdict(ask(world, asked), "ANY").terms["cpu level"] == 1


def test_express_tasks_have_no_cap():
    world = pool(queue("Q"), job_stats={"Q": jobs(activated=500)})
    outcome = ask(world, task(processing_type="urgent"), rules=PANDA)
    assert {one.cap for one in outcome.candidates} == {None}
    assert "Q" in names(outcome)


def test_a_candidate_tells_how_many_more_jobs_it_takes():
    world = pool(queue("Q"), job_stats={"Q": jobs(activated=5, assigned=3, running=30)}, replicas=at(NUC=1))
    one = next(one for one in ask(world, data=chunk(files=1)).candidates if one.queue == "Q")
    assert (one.queued, one.cap, one.running, one.local_files) == (8, 60, 30, 0)
