"""Running limits and matching delays of sites."""

import pytest
from tests.engine.shares.queues import DIRAC, DOCUMENTED

from fairq.cli.taskqueues_notes import in_words
from fairq.engine.shares.limits import Bucket, Delay, applied_delays, by_attribute, delayed, running_limits, started
from fairq.errors.shares import ShareCorrectionError

LIMITS = {"RunningLimit": {"S": {"JobType": {"MC": 3, "Test": 1}, "CEs": {"ce1": {"JobType": {"User": 2}}}}}}


def reached(rules, ce=None, scheduling=LIMITS, **running):
    def count(attribute, of_ce):
        return running if of_ce is None else {"User": 1}

    return running_limits(scheduling, "S", ce, count, rules)


def negative(limits):
    return by_attribute((limit.attribute, limit.value) for limit in limits.reached)


def test_as_many_as_the_limit_are_enough():
    assert negative(reached(DOCUMENTED, MC=2, Test=0)) == {}
    assert negative(reached(DOCUMENTED, MC=3, Test=0)) == {"JobType": ["MC"]}
    assert negative(reached(DOCUMENTED, MC=3, Test=5)) == {"JobType": ["MC", "Test"]}


def test_the_limit_of_a_ce_counts_its_own_jobs_or_for_dirac_the_sites():
    assert negative(reached(DOCUMENTED, "ce1", User=2)) == {}
    assert negative(reached(DIRAC, "ce1", User=2)) == {"JobType": ["User"]}
    assert negative(reached(DIRAC, "ce2", User=2)) == {}


def test_limits_can_be_switched_off():
    assert negative(reached(DOCUMENTED, scheduling={**LIMITS, "CheckJobLimits": "no"}, MC=9)) == {}


def test_a_limit_that_is_no_integer_is_refused_and_voids_diracs_others():
    wrong = {"RunningLimit": {"S": {"JobType": {"MC": 3}, "Owner": {"ann": "few"}}}}
    with pytest.raises(ShareCorrectionError, match="the limit of Owner is not an integer"):
        reached(DOCUMENTED, scheduling=wrong, MC=9)
    site_limits = reached(DIRAC, scheduling=wrong, MC=9)
    assert (negative(site_limits), len(site_limits.notes)) == ({}, 1)


def test_an_attribute_that_jobs_do_not_have_is_told():
    site_limits = reached(DOCUMENTED, scheduling={"RunningLimit": {"S": {"Colour": {"red": 0}}}})
    assert negative(site_limits) == {}
    (note,) = site_limits.notes
    assert in_words(note) == "RunningLimit/S: jobs have no attribute Colour; the limit is not applied"


def test_values_are_listed_by_attribute_each_once():
    kinds = [("JobType", "MC"), ("Owner", "ann"), ("JobType", "Test"), ("JobType", "MC")]
    assert by_attribute(kinds) == {"JobType": ["MC", "Test"], "Owner": ["ann"]}


def test_a_reached_limit_says_what_runs_and_what_may():
    assert reached(DOCUMENTED, MC=4).reached == (("JobType", "MC", 4, 3, None),)


def test_a_limit_on_what_task_queues_do_not_have_is_told():
    scheduling = {"RunningLimit": {"S": {"JobGroup": {"7": 0}, "JobType": {"MC": 0}}}}
    site_limits = reached(DOCUMENTED, scheduling=scheduling)
    assert negative(site_limits) == {"JobType": ["MC"]}
    (note,) = site_limits.notes
    assert in_words(note) == "RunningLimit/S: JobGroup is no property of a task queue; it is not applied"
    assert negative(reached(DIRAC, scheduling=scheduling)) == {"JobGroup": ["7"], "JobType": ["MC"]}


KIND = ("JobType", "MC")


def test_the_next_job_of_a_kind_starts_so_many_seconds_later():
    delays = applied_delays({"MatchingDelay": {"S": {"JobType": {"MC": 10}}}}, "S", DOCUMENTED)[0]
    assert delays == {KIND: Delay(10)}
    assert delayed(delays, {}, 100) == {}
    buckets = started(delays, {}, {"JobType": ("MC",), "Owner": ("ann",)}, 100)
    assert buckets == {KIND: Bucket(0, 100)}
    assert delayed(delays, buckets, 109) == {KIND: pytest.approx(1)}
    assert delayed(delays, buckets, 110) == {}
    assert started(delays, buckets, {"JobType": ("User",)}, 100) == {}


def test_a_burst_may_start_at_once():
    scheduling = {"MatchingDelay": {"S": {"JobType": {"MC": "10"}, "Burst": {"JobType": {"MC": 3}}}}}
    delays, buckets = applied_delays(scheduling, "S", DIRAC)[0], {}
    for _ in range(3):
        assert delayed(delays, buckets, 100) == {}
        buckets = started(delays, buckets, {"JobType": ("MC",)}, 100)
    assert delayed(delays, buckets, 100) == {KIND: 10}
    assert delayed(delays, buckets, 1000) == {}


def test_a_burst_of_nothing_is_refused_and_is_one_for_dirac():
    scheduling = {"MatchingDelay": {"S": {"JobType": {"MC": 10}, "Burst": {"JobType": {"MC": 0}}}}}
    assert applied_delays(scheduling, "S", DIRAC)[0] == {("JobType", "MC"): Delay(10, 1)}
    with pytest.raises(ShareCorrectionError, match="a Burst of 1 or more"):
        applied_delays(scheduling, "S", DOCUMENTED)


@pytest.mark.parametrize("colours", [{}, {"red": 10}])
def test_a_delay_on_what_task_queues_do_not_have_is_told(colours):
    delays, notes = applied_delays({"MatchingDelay": {"S": {"Colour": colours}}}, "S", DOCUMENTED)
    assert (delays, [in_words(note) for note in notes]) == (
        {},
        ["MatchingDelay/S: Colour is no property of a task queue; it is not applied"],
    )


def test_delays_can_be_switched_off_and_wrong_ones_are_refused():
    wrong = {"MatchingDelay": {"S": {"JobType": {"MC": "soon"}}}}
    assert applied_delays({**wrong, "CheckMatchingDelay": False}, "S", DOCUMENTED)[0] == {}
    assert applied_delays(wrong, "S", DIRAC)[0] == {}
    assert applied_delays(wrong, "T", DOCUMENTED)[0] == {}
    with pytest.raises(ShareCorrectionError, match="JobType/MC = 'soon'"):
        applied_delays(wrong, "S", DOCUMENTED)
