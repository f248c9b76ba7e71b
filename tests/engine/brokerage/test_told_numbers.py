"""Numbers that a verdict of production tells, by the page and by today's code."""

import pytest
from tests.broker_rules import PANDA
from tests.engine.brokerage.pools import ask, at, chunk, pool, queue, reason, task, verdict

from fairq.engine.brokerage.pool.world import LinkMetric


def jobs(**counts):
    """Counts of jobs of the tests' share."""
    return {"MC": counts}


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
    details = verdict(ask(world, asked, rules=PANDA), "LARGE").details
    assert details["memory_need_mb"] == (int(need) if unit == "MBPerCore" else 1800)


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
    details = verdict(outcome, "LESS").details
    assert details["work"] == 100 * 100
    assert details["work_in_maxtime"] == 8 * 10 * 0.5 * (seconds - 1 - 600)
    assert details["seconds_needed"] == seconds
    assert {candidate.max_walltime for candidate in outcome.candidates} == {seconds}


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


def link(key, value, age=0):
    """A measured number of the link from SAT to the nucleus."""
    return LinkMetric("SAT", "NUC", key, value, 1_800_000_000.0 - age)


def test_express_tasks_need_a_good_network():
    """The network weight must reach NW_THRESHOLD x NW_WEIGHT_MULTIPLIER for urgent tasks."""
    slow, fast = (link("dashb_mbps_1h", 5),), (link("dashb_mbps_1h", 60),)
    urgent = task(processing_type="urgent")
    assert reason(ask(pool(queue("SAT"), links=slow), urgent), "SAT") == "lowNetworkWeight"
    assert reason(ask(pool(queue("SAT"), links=fast), urgent), "SAT") == ""
    details = verdict(ask(pool(queue("SAT"), links=slow), urgent), "SAT").details
    assert details == {"weightNw": pytest.approx(1.6), "threshold": pytest.approx(1.7)}
