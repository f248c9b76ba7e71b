"""What is shown is what is decided: ended leases, shares of the pool, and the signs of zeros."""

import json

import pytest
from tests.documents.condor_pool import HOUR, NOW, busy_ad, make_pool, slot_ad

pool = pytest.fixture(make_pool)

LEASES = [("factor", 50, "PriorityFactor", 1000.0), ("ceil", 2, "Ceiling", -1), ("floor", 3, "Floor", 0)]


@pytest.mark.parametrize("cycle", [False, True])
@pytest.mark.parametrize(("option", "leased", "attribute", "after"), LEASES)
@pytest.mark.parametrize("rules", ["documented", "htcondor"])
def test_an_ended_lease_is_shown_nowhere(pool, rules, option, leased, attribute, after, cycle):
    """Whether a cycle was held since or not: in tables, JSON, -af, status, metrics, exports and forecasts."""
    pool.settings(f'[negotiator]\nrules = "{rules}"\n')
    pool.slots(4)
    pool.submit("ann", 1)
    pool.cycle()
    pool.fairq("userprio", f"-set{option}", "ann@example.org", leased, "-duration", "1h", "--now", NOW)
    seen = []
    for now in (NOW + HOUR - 60, NOW + HOUR + 60):
        if cycle:
            pool.cycle(now)
        words = ("userprio", "-allusers", "--now", now)
        (ad,) = (one for one in pool.fairq(*words, "--json") if one["Name"] == "ann@example.org")
        shown = pool.fairq("userprio", "ann@example.org", "--now", now, "-af", attribute).out.split()[0]
        (exported,) = (
            record
            for record in json.loads(pool.fairq("export", "--accounting", "--now", now).out)
            if record["Name"] == "ann@example.org"
        )
        status = pool.fairq("status", "--json", "--now", now)["submitters"][0]["effective_priority"]
        assert status == pytest.approx(ad["Priority"])
        metrics = pool.fairq("metrics", "--now", now).out
        assert f'fairq_submitter_priority_factor{{submitter="ann@example.org"}} {ad["PriorityFactor"]:.0f}\n' in metrics
        assert exported[attribute] == ad[attribute] == float(shown)
        assert (f"{attribute}LeaseExpiration" in ad) == (now < NOW + HOUR)
        assert ("until" in pool.fairq(*words).err) == (now < NOW + HOUR)
        seen.append(ad[attribute])
    assert seen == [leased, after]


def test_a_simulated_future_knows_when_a_lease_ends(pool):
    """A ceiling of nothing for two hours: the job starts when it is over."""
    pool.slots(1)
    pool.fairq("userprio", "-setceil", "ann@example.org", 0, "-duration", "2h", "--now", NOW)
    pool.submit("ann")
    (job,) = pool.fairq("queue", "--start", "--json", "--now", NOW)
    assert 0 <= job["EstimatedStart"] - (NOW + 2 * HOUR) <= 120


def test_a_simulated_future_keeps_to_the_time_of_cycles(pool):
    """Where a cycle has no time to offer a job, no start is forecast: neither by queue nor by why."""
    pool.settings("[negotiator]\nnegotiator_max_time_per_cycle = 0\n")
    pool.slots(1)
    pool.submit("ann")
    (job,) = pool.fairq("queue", "--start", "--json", "--now", NOW)
    why = pool.fairq("why", "1.0", "--json", "--now", NOW)
    assert (job.get("EstimatedStart"), why["start"]["start_time"], why["reason"]) == (None, None, "time budget")


def test_a_simulated_future_knows_the_limits_that_jobs_of_others_use(pool):
    """A job from outside the queue has one licence, one of ours the other: the second of ours waits for it."""
    pool.settings("[limits]\ndb = 2\n")
    pool.import_(slots=[busy_ad("slot1@a", "bob", ConcurrencyLimits="db"), slot_ad("slot1@b"), slot_ad("slot1@c")])
    pool.submit("ann", 2, "--attribute", 'ConcurrencyLimits="db"')
    assert pool.jobs() == ["1.0"]
    (start,) = {job["EstimatedStart"] for job in pool.fairq("queue", "--idle", "--start", "--json", "--now", NOW + 60)}
    assert start > NOW + 60


def test_status_tells_the_share_of_the_pool(pool):
    """Not that of the group's pie: who may use 3 of 12 slots has 25.0%."""
    pool.settings("[groups.a]\nquota = 3\n[groups.b]\nquota = 6\n")
    pool.slots(12)
    for user, group in (("ann", "a"), ("bob", "b"), ("cyd", "b")):
        pool.submit(user, 20, group=group)
    pool.cycle()
    shares = {
        submitter["submitter"]: submitter["share"]
        for submitter in pool.fairq("status", "--json", "--now", NOW)["submitters"]
    }
    assert shares == {f"{name}@example.org": pytest.approx(0.25) for name in ("a.ann", "b.bob", "b.cyd")}
    assert pool.fairq("status", "--now", NOW).out.count("25.0%") == 3


def test_no_zero_has_a_sign(pool):
    """Neither in a table nor in CSV, TSV, --af or JSON."""
    pool.import_(slots=[slot_ad("slot1@a", LoadAvg=-0.0), slot_ad("slot1@b", LoadAvg=-0.0001)])
    table = pool.fairq("slots", "--now", NOW).out
    csv = pool.fairq("slots", "--csv", "--now", NOW).out
    af = pool.fairq("slots", "--af", "LoadAvg", "LoadAvg + 0", "--now", NOW).out
    document = pool.fairq("slots", "--json", "--now", NOW)
    assert "-0.000" not in table and "0.000" in table
    assert ",-0.0," not in csv
    assert af.splitlines()[0] == "0.0 0.0"
    assert str(document[0]["LoadAvg"]) == "0.0"
