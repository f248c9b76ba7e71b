"""From jobs to task queues: what they ask for, what they are worth, and which queue they join."""

import numpy as np
import pytest
from tests.engine.shares.plain_formation import queue_with_room
from tests.engine.shares.plain_needs import needs_of
from tests.engine.shares.queues import DIRAC, DOCUMENTED, preset

from fairq.engine.shares.columns import Column, distinct_rows
from fairq.engine.shares.formation import form, number
from fairq.engine.shares.groups import OwnerGroup, read_group
from fairq.engine.shares.needs import (
    SEGMENTS,
    JobDefaults,
    bucket,
    default_within,
    processor_tags,
    read_segments,
    whole_number,
)
from fairq.engine.shares.user_priority import (
    LEAST,
    check_submitted,
    in_sum,
    inserted_priority,
    read_priority,
    real_priority,
)
from fairq.errors.shares import DiracStopsError, JobRequirementError, ShareCorrectionError


@pytest.mark.parametrize(
    ("default", "bounds", "found"),
    [(1, (0, 10), 1), (12, (0, 10), 10), (1, (2, 10), 2), (5, (7, 3), 7)],
)
def test_bounds_hold_for_defaults(default, bounds, found):
    """As JobManifest has them: where the least is above the most, it is the least."""
    assert default_within(default, *bounds, DIRAC) == found
    assert default_within(default, *bounds, DOCUMENTED) == default


def requirements(rules=DOCUMENTED, **job):
    return needs_of(job, 0, JobDefaults(rules, SEGMENTS, 400, 1)).requirements


def test_alike_jobs_ask_for_the_same():
    """Order, blanks and repetitions do not count; case does."""
    unsorted = requirements(cputime=400, sites=["B", " A ", "B", ""], tags=[" "])
    assert unsorted == requirements(cputime=1800, sites="A, B")
    assert unsorted != requirements(cputime=400, sites=("a", "B"))


def test_any_is_no_name_of_a_site_but_one_of_a_tag():
    """A job for any site, platform or CE names none; a tag may be called so."""
    assert requirements(sites=["A", "Any"], platforms="any", grid_ces=["ANY"]) == requirements()
    assert requirements(tags=["any"]).tags == ("any",)


def test_a_list_of_blanks_is_nothing_and_stops_dirac():
    assert requirements(tags=[" ", ""]).tags == ()
    with pytest.raises(JobRequirementError, match="Tags"):
        requirements(DIRAC, tags=[" ", ""])


@pytest.mark.parametrize(("least", "most"), [(-1, 0), (0, -1), (2, 1)])
def test_ram_that_cannot_be_is_refused(least, most):
    with pytest.raises(JobRequirementError, match="RAM"):
        requirements(minram=least, maxram=most)


def test_rows_that_differ_are_told_apart_in_however_many_columns():
    """Also where there are more combinations of values than a number can count."""
    same, different = Column(np.array([0, 0, 0]), ["x"]), Column(np.array([0, 1, 0]), ["x", "y"])
    _, groups = distinct_rows([different, *[same] * 70], 3)
    assert groups[0] == groups[2] != groups[1]


def test_tags_for_processors():
    assert processor_tags(1) == []
    assert processor_tags(8) == ["8Processors", "MultiProcessor"]
    assert processor_tags(1, whole_node=True) == ["MultiProcessor", "WholeNode"]


def test_cpu_time_above_the_last_segment_counts_as_the_last():
    assert [bucket(seconds) for seconds in (0, 360, 361, 10**9)] == [360, 360, 1800, SEGMENTS[-1]]


@pytest.mark.parametrize("text", [None, "100, 100", "0, 100", "1, two", "100, 50"])
def test_segments_that_do_not_rise_are_the_default(text):
    assert read_segments(text, DIRAC) == SEGMENTS


def test_without_any_segment_dirac_takes_no_job():
    assert read_segments("", DOCUMENTED) == SEGMENTS
    with pytest.raises(DiracStopsError, match="leave them out"):
        read_segments(" , ", DIRAC)


def test_dirac_has_no_room_for_a_negative_priority():
    assert inserted_priority(-1, DOCUMENTED) == -1
    with pytest.raises(JobRequirementError, match="give it 0"):
        inserted_priority(-1, DIRAC)


def test_dirac_maps_priorities():
    """Decimals are cut off; 0 and less are background, 10 and more go before everything else of the user."""
    user_priorities = (-3, 0, "0", 0.4, 1, "7", 9.99, 10, 11)
    assert [real_priority(read_priority(value, 1, DIRAC), DIRAC) for value in user_priorities] == [
        *(1e-5, 1e-5, 1e-5, 1e-5, 1, 7, 9, 1e6, 1e6)
    ]  # fmt: skip


def test_the_schema_takes_priorities_as_they_are():
    """Any number above 0 is its own weight; what is not above 0 gets the least weight there is."""
    user_priorities = (0.01, 0.4, 1, "7", 9.99, 10, 11, 1e9)
    assert [real_priority(read_priority(value, 1, DOCUMENTED), DOCUMENTED) for value in user_priorities] == [
        *(0.01, 0.4, 1, 7, 9.99, 10, 11, 1e9)
    ]  # fmt: skip
    assert [real_priority(value, DOCUMENTED) for value in (0, -3)] == [LEAST, LEAST]


@pytest.mark.parametrize("given", [1e300, 1e-300])
def test_a_weight_as_given_fits_into_four_bytes_too(given):
    rules = preset("documented", decimals=4)
    assert in_sum(given, rules) == pytest.approx(real_priority(given, DOCUMENTED))


def test_a_job_without_a_priority_gets_the_default():
    assert read_priority(None, 3, DOCUMENTED) == 3
    assert whole_number("CPUTime", None, 86400) == 86400
    assert whole_number("CPUTime", "600000", 86400) == 600000


@pytest.mark.parametrize("given", ["high", True, float("nan"), float("inf"), [1]])
def test_what_is_not_a_number_is_refused(given):
    for rules in (DOCUMENTED, DIRAC):
        with pytest.raises(JobRequirementError, match="not a number; give a number above 0"):
            read_priority(given, 1, rules)
    with pytest.raises(JobRequirementError, match="not a whole number of 0 or more"):
        whole_number("CPUTime", given, 1)


@pytest.mark.parametrize(("text", "number"), [("2.5", 2.5), ("1e1", 10), (" 3.0 ", 3)])
def test_dirac_refuses_a_text_that_is_no_whole_number(text, number):
    """It cuts off the decimals of a number, but its jobs' descriptions have texts."""
    assert read_priority(text, 1, DOCUMENTED) == number
    assert read_priority(number, 1, DIRAC) == int(number)
    with pytest.raises(JobRequirementError, match=r"UserPriority .* not a whole number"):
        read_priority(text, 1, DIRAC)
    assert read_priority(" 3 ", 1, DIRAC) == 3


def test_a_new_job_must_have_a_priority_above_0():
    check_submitted(0.01, DOCUMENTED)
    check_submitted(None, DOCUMENTED)
    for user_priority in (0, -1, "0"):
        check_submitted(user_priority, DIRAC)
        with pytest.raises(JobRequirementError, match="not above 0"):
            check_submitted(user_priority, DOCUMENTED)


def test_a_property_in_the_spelling_of_the_schema_counts_except_for_dirac():
    for spelling, both in (("JobSharing", True), ("JOB_SHARING", False), ("JobShare", None)):
        options = {"Properties": f"NormalUser, {spelling}"}
        assert read_group("g", options, DOCUMENTED).job_sharing is (both is not None)
        assert read_group("g", options, DIRAC).job_sharing is (both is True)


def test_groups_are_read_as_dirac_reads_them_or_as_they_are_meant():
    options = {"JobShare": "2.5", "Properties": "NormalUser, JobSharing", "AllowBackgroundTQs": "Yes", "VO": "lhcb"}
    assert read_group("g", options, DOCUMENTED) == OwnerGroup("g", 2.5, job_sharing=True, background=True, vo="lhcb")
    assert read_group("g", options, DIRAC).share == 1000
    assert read_group("g", {"JobShare": -5}, DIRAC).share == -5
    assert read_group("g", {}, DOCUMENTED) == OwnerGroup("g", 1000)
    for wrong in ("many", "-5", "nan"):
        with pytest.raises(ShareCorrectionError, match="JobShare"):
            read_group("g", {"JobShare": wrong}, DOCUMENTED)


def test_a_job_joins_the_smallest_queue_that_holds_jobs_and_has_room():
    """An emptied queue is never filled again; of equally small ones the first takes the job."""
    assert queue_with_room({1: 3, 2: 2, 7: 0}, capacity=3) == 2
    assert queue_with_room({1: 2, 2: 2}, capacity=3) == 1
    assert queue_with_room({1: 3, 2: 3, 7: 0}, capacity=3) is None
    assert queue_with_room({}, capacity=3) is None


def test_equal_jobs_fill_one_queue_after_the_other():
    """A queue that is formed again keeps its number; a new one gets the next number."""
    formed = form(np.zeros(2, int), np.array([2, 5]), np.array([1.5, 1.5]), 3)
    numbers = number(formed, (np.zeros(2, int), np.array([0, 2]), np.array([7, 4])), 9)
    assert numbers.tolist() == [7, 9, 4]
    assert (formed.part.tolist(), formed.jobs.tolist()) == ([0, 1, 2], [3, 3, 1])
    assert formed.real_priorities.tolist() == [4.5, 4.5, 1.5]
    places = zip(formed.row, formed.start, formed.size, numbers[formed.queue], strict=True)
    assert list(places) == [(0, 0, 2, 7), (1, 0, 1, 7), (1, 1, 3, 9), (1, 4, 1, 4)]
