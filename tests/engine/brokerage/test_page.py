"""What PanDA's brokerage page says of production, sentence by sentence, and where today's code does otherwise."""

import pytest
from tests.broker_rules import DOCUMENTED, PANDA
from tests.engine.brokerage.pools import ask, at, chunk, names, pool, queue, reason, task, verdict

from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.world import LinkMetric


def jobs(**counts):
    """Counts of jobs of the tests' share."""
    return {"MC": counts}


def test_queues_for_tests_are_no_candidates():
    """Case-insensitive 'test' in the name excludes a queue; PanDA's code has no such rule."""
    world = pool(queue("SITE_Test_1"), queue("SITE_1"))
    assert reason(ask(world), "SITE_Test_1") == "test_queue"
    assert "SITE_1" in names(ask(world))
    assert "SITE_Test_1" in names(ask(world, rules=PANDA))


def test_a_given_queue_may_be_for_tests():
    world = pool(queue("SITE_Test_1"), queue("SITE_1"))
    outcome = ask(world, task(site="SITE_Test_1"))
    assert names(outcome) == ["SITE_Test_1"]
    assert reason(outcome, "SITE_1") == "nonpreassigned"


@pytest.mark.parametrize(("priority", "scout"), [(800, False), (500, True)])
def test_urgent_jobs_stay_at_the_nucleus(priority, scout):
    """Priority 800 and scouts go to queues of the nucleus; PanDA's code only avoids opportunistic queues."""
    world = pool(queue("SAT"), queue("FREE", pledgedcpu=-1))
    urgent, data = task(current_priority=priority, walltime=1), chunk(is_scout=scout)
    outcome = ask(world, urgent, data)
    assert [reason(outcome, name) for name in ("NUC_Q", "SAT", "FREE")] == ["", "not_in_nucleus", "not_in_nucleus"]
    outcome = ask(world, urgent, data, PANDA)
    assert reason(outcome, "SAT") != "opportunistic"
    assert reason(outcome, "FREE") == "opportunistic"


def test_priority_799_goes_anywhere():
    assert "SAT" in names(ask(pool(queue("SAT")), task(current_priority=799)))


@pytest.mark.parametrize(
    ("unit", "need"),
    [("MBPerCore", (500 + 2000 * 8) * 0.9), ("MB", (500 + 2000) * 0.9)],
)
def test_memory_is_base_and_cores_compensated(unit, need):
    """(baseRamCount + ramCount x coreCount) x 0.9; the code drops the base for plain MB and cuts the fraction off."""
    cores = {"corecount": 8}
    world = pool(
        queue("EXACT", **cores, maxrss=need),
        queue("LESS", **cores, maxrss=need - 1),
        queue("LARGE", **cores, maxrss=None, minrss=need + 1),
    )
    asked = task(core_count=8, ram_count=2000, base_ram_count=500, ram_unit=unit)
    outcome = ask(world, asked)
    assert [reason(outcome, name) for name in ("EXACT", "LESS", "LARGE")] == ["", "lowmemory", "highmemory"]
    assert verdict(outcome, "LESS").details["memory_need_mb"] == pytest.approx(need)
    told = verdict(ask(world, asked, rules=PANDA), "LARGE").details
    assert told["memory_need_mb"] == (int(need) if unit == "MBPerCore" else 1800)


def test_merges_and_scouts_need_24_hours():
    """Without HS06 a day of wall time; the code asks for ten days. With HS06 it is a day at 10 HS06 in both."""
    world = pool(queue("DAY", maxtime=86400), queue("LESS", maxtime=86399), queue("TEN", maxtime=864000))
    outcome = ask(world, data=chunk(is_merging=True))
    assert [reason(outcome, name) for name in ("DAY", "LESS")] == ["", "min_walltime"]
    outcome = ask(world, data=chunk(is_merging=True), rules=PANDA)
    assert [reason(outcome, name) for name in ("DAY", "LESS", "TEN")] == ["min_walltime", "min_walltime", ""]


def test_walltime_is_cpu_time_over_cores_power_and_efficiency():
    """cpuTime x nEvents / (C x P x efficiency) + baseTime must be less than maxtime; equality passes by the code."""
    asked = task(cpu_time=100, cpu_time_unit="HS06sPerEvent", cpu_efficiency=50, base_walltime=600, core_count=8)
    seconds = 100 * 100 / (8 * 10 * 0.5) + 600
    world = pool(queue("MORE", corecount=8, maxtime=seconds + 1), queue("EXACT", corecount=8, maxtime=seconds),
                 queue("LESS", corecount=8, maxtime=seconds - 1), replicas=at(NUC=1))  # fmt: skip
    outcome = ask(world, asked, chunk(files=1))
    assert [reason(outcome, name) for name in ("MORE", "EXACT", "LESS")] == ["", "shortwalltime", "shortwalltime"]
    assert verdict(outcome, "LESS").details["seconds_needed"] == seconds + 1
    outcome = ask(world, asked, chunk(files=1), PANDA)
    assert [reason(outcome, name) for name in ("MORE", "EXACT", "LESS")] == ["", "", "shortwalltime"]
    told = verdict(outcome, "LESS").details
    assert told["work"] == 100 * 100
    assert told["work_in_maxtime"] == 8 * 10 * 0.5 * (seconds - 1 - 600)
    assert told["seconds_needed"] == seconds
    assert {one.max_walltime for one in outcome.candidates} == {seconds}


def test_transferring_is_limited_by_site_or_2000_or_twice_what_runs():
    world = pool(
        queue("A"),
        queue("B", transferringlimit=100),
        queue("C", transferringlimit=100),
        job_stats={
            "A": jobs(transferring=2001),
            "B": jobs(transferring=101, running=50),
            "C": jobs(transferring=101, running=51),
        },
    )
    outcome = ask(world)
    assert [reason(outcome, name) for name in "ABC"] == ["transferring", "transferring", ""]
    assert verdict(outcome, "B").details == {
        "transferring": 101,
        "transferringlimit": 100,
        "running": 50,
        "at_most": 100,
    }


def test_the_weight_is_running_over_queued():
    """(running + 1) / ((activated + assigned + starting + defined + 10) x manyAssigned) where input must come."""
    counts = {"running": 30, "activated": 19, "assigned": 29, "starting": 1, "defined": 2}
    world = pool(queue("FAR"), queue("NEAR"), replicas=at(NUC=4, NEAR=4), job_stats={"FAR": jobs(**counts),
                 "NEAR": jobs(**counts)})  # fmt: skip
    outcome = ask(world, data=chunk(files=4))
    far, near = verdict(outcome, "FAR"), verdict(outcome, "NEAR")
    assert far.terms["jobs"] == pytest.approx(31 / (19 + 29 + 1 + 2 + 10) / (29 / 19))
    assert far.numbers["manyAss"] == pytest.approx(29 / 19)
    assert near.terms["jobs"] == pytest.approx(31 / (19 + 1 + 2 + 10)), "assigned jobs do not count for local input"


def test_assigned_jobs_lower_the_weight_at_most_by_half():
    world = pool(queue("FAR"), replicas=at(NUC=1), job_stats={"FAR": jobs(running=30, assigned=50)})
    assert verdict(ask(world, data=chunk(files=1)), "FAR").numbers["manyAss"] == 2


@pytest.mark.parametrize("there", [0, 1, 3, 4])
def test_available_data_raise_the_weight(there):
    """(availableSize + totalSize) / (totalSize x (missing files / 100 + 1))."""
    world = pool(queue("Q"), replicas=at(NUC=4, Q=there), job_stats={"Q": jobs(running=1)})
    one = verdict(ask(world, data=chunk(files=4)), "Q")
    assert one.terms["data"] == pytest.approx((4 + there) / (4 * ((4 - there) / 100 + 1)))


def link(key, value, age=0):
    """A measured number of the link from SAT to the nucleus."""
    return LinkMetric("SAT", "NUC", key, value, 1_800_000_000.0 - age)


def test_the_network_weight_always_counts_and_takes_the_freshest_throughput():
    """Half by queued files, half by the throughput of the last hour, else of the day, else of the week."""
    metrics = (
        link("Production Output_queued", 75),
        link("dashb_mbps_1h", 60),
        link("dashb_mbps_1w", 5),
        link("AGIS_closeness", 0),
    )
    world = pool(queue("SAT"), links=metrics, job_stats={"SAT": jobs(running=1)})
    one = verdict(ask(world), "SAT")
    assert one.terms["network"] == pytest.approx(0.5 * (1.5 + 1.6))
    assert one.weight == pytest.approx(one.terms["jobs"] * one.terms["network"])
    panda = verdict(ask(world, rules=PANDA), "SAT")
    assert "network" not in panda.terms, "PanDA applies it only if NW_ACTIVE is set"
    active = pool(queue("SAT"), links=metrics, config=Config({"jobbroker.NW_ACTIVE": True}))
    assert verdict(ask(active, rules=PANDA), "SAT").terms["network"] == pytest.approx(0.5 * (1.5 + 1.2))


def test_closeness_stands_in_where_no_throughput_is_known():
    world = pool(queue("SAT"), links=(link("AGIS_closeness", 3),))
    assert verdict(ask(world), "SAT").terms["network"] == pytest.approx(0.5 * (2 + 1 + (11 - 3) / 11))


def test_old_metrics_are_not_looked_at():
    """What was measured more than an hour ago is not known."""
    full = link("Production Output_queued", 151, age=3601)
    assert "SAT" in names(ask(pool(queue("SAT"), links=(full,))))
    assert reason(ask(pool(queue("SAT"), links=(link("Production Output_queued", 151),))), "SAT") == "link_unusable"


def test_express_tasks_need_a_good_network():
    """The network weight must reach NW_THRESHOLD x NW_WEIGHT_MULTIPLIER for urgent tasks."""
    slow, fast = (link("dashb_mbps_1h", 5),), (link("dashb_mbps_1h", 60),)
    urgent = task(processing_type="urgent")
    assert reason(ask(pool(queue("SAT"), links=slow), urgent), "SAT") == "lowNetworkWeight"
    assert reason(ask(pool(queue("SAT"), links=fast), urgent), "SAT") == ""
    told = verdict(ask(pool(queue("SAT"), links=slow), urgent), "SAT").details
    assert told == {"weightNw": pytest.approx(1.6), "threshold": pytest.approx(1.7)}


def test_disk_traffic_is_divided_by_cores_exactly():
    """The code rounds down, so that a task just over the limit passes."""
    busy = {"disk_io": {"Q": 900}, "config": Config({"jobbroker.MAX_DISKIO_DEFAULT": 100})}
    asked = task(core_count=8, disk_io=807)
    world = pool(queue("Q", corecount=8), queue("NUC8", site="NUC", role="nucleus", corecount=8), **busy)
    assert reason(ask(world, asked), "Q") == "diskIO"
    assert reason(ask(world, asked, rules=PANDA), "Q") == ""


def test_a_task_without_queues_waits_for_an_hour():
    outcome = ask(pool(queue("Q")), task(core_count=8))
    assert outcome.status == "failed"
    assert outcome.retry_after == 3600
    urgent = task(core_count=8, current_priority=950)
    assert ask(pool(queue("Q")), urgent).retry_after == 3600
    assert ask(pool(queue("Q")), urgent, rules=PANDA).retry_after == 600


def test_the_ten_best_are_taken_equals_by_name():
    weights = {f"Q{number:02}": jobs(running=10 + number // 2, activated=1) for number in range(14)}
    outcome = ask(pool(*map(queue, weights), job_stats=weights))
    assert names(outcome) == [*(f"Q{n:02}" for n in (12, 13, 10, 11, 8, 9, 6, 7, 4, 5))]
    assert {one.reason for one in outcome.verdicts()} == {"", "low_weight"}


def test_the_rules_are_named_in_the_result():
    assert ask(pool()).ask.rules is DOCUMENTED
    assert ask(pool(), rules=PANDA).ask.rules.name == "panda"


def test_urgent_tasks_without_a_nucleus_go_anywhere():
    """The page knows no opportunistic queues; the code keeps urgent tasks from them."""
    world, asked = pool(queue("SAT"), queue("FREE", pledgedcpu=-1)), task(current_priority=800, nucleus=None)
    assert [reason(ask(world, asked), name) for name in ("SAT", "FREE")] == ["", ""]
    assert reason(ask(world, asked, rules=PANDA), "FREE") == "opportunistic"
