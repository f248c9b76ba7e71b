"""Weights of PanDA's production code that neither the page nor the recorded cases reach."""

from tests.engine.brokerage.pools import ask_code as ask
from tests.engine.brokerage.pools import at, chunk, pool, queue, reason, task, verdict

from fairq.engine.brokerage.pool.world import Slots

LOW = {"current_priority": 150}


def jobs(**counts):
    return {"MC": counts}


def test_slots_of_a_queue_without_cores_are_counted_as_they_are():
    world = pool(queue("Q", corecount=0), job_stats={"Q": jobs(running=1)}, slots=(Slots("Q", "MC", "SCORE", 30),))
    assert verdict(ask(world, task(**LOW)), "Q").numbers["nRun"] == 30


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


def test_a_candidate_tells_how_many_more_jobs_it_takes():
    world = pool(queue("Q"), job_stats={"Q": jobs(activated=5, assigned=3, running=30)}, replicas=at(NUC=1))
    candidate = next(candidate for candidate in ask(world, data=chunk(files=1)).candidates if candidate.queue == "Q")
    assert (candidate.queued, candidate.cap, candidate.running, candidate.local_files) == (8, 60, 30, 0)
