"""From jobs to task queues: what they ask for, what they are worth, and which queue they join."""

from __future__ import annotations

import pytest

from fairq.engine.shares.cpu_time import SEGMENTS, bucket, read_segments
from fairq.engine.shares.forming import Former
from fairq.engine.shares.groups import read_group
from fairq.engine.shares.identity import derived_tags, requirements
from fairq.engine.shares.model import Group, Requirements
from fairq.engine.shares.rules import DIRAC, DOCUMENTED
from fairq.engine.shares.submission import submitted
from fairq.engine.shares.user_priority import inserted_priority, real_priority
from fairq.errors import DiracStopsError, JobRequirementError, ShareCorrectionError

ASKS = Requirements("ann", "u", 360)


def test_alike_jobs_ask_for_the_same():
    """Order, blanks and repetitions do not count; case does."""
    one = requirements("ann", "u", 400, DOCUMENTED, sites=["B", " A ", "B", ""], tags=[" "])
    assert one == requirements("ann", "u", 1800, DOCUMENTED, sites=("A", "B"))
    assert one != requirements("ann", "u", 400, DOCUMENTED, sites=("a", "B"))


def test_a_list_of_blanks_is_nothing_and_stops_dirac():
    assert requirements("ann", "u", 1, DOCUMENTED, tags=[" ", ""]).tags == ()
    with pytest.raises(JobRequirementError, match="Tags"):
        requirements("ann", "u", 1, DIRAC, tags=[" ", ""])


@pytest.mark.parametrize(("least", "most"), [(-1, 0), (0, -1), (2, 1)])
def test_ram_that_cannot_be_is_refused(least, most):
    with pytest.raises(JobRequirementError, match="RAM"):
        requirements("ann", "u", 1, DOCUMENTED, min_ram=least, max_ram=most)


def test_tags_for_processors():
    assert derived_tags() == ()
    assert derived_tags(8, 8) == ("8Processors", "MultiProcessor")
    assert derived_tags(1, None) == derived_tags(1, 4) == ("MultiProcessor",)
    assert derived_tags(whole_node=True) == ("MultiProcessor", "WholeNode")


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


def test_real_priorities():
    assert [real_priority(value) for value in (-3, 0, "0", 0.4, 1, "7", 9.99, 10, 11)] == [
        *(1e-5, 1e-5, 1e-5, 1e-5, 1, 7, 9, 1e6, 1e6)
    ]  # fmt: skip


def test_what_is_asked_for_beyond_the_bounds_is_cut_except_by_dirac():
    assert submitted({"Priority": "11"}, {}, DOCUMENTED) == {"Priority": 10, "CPUTime": 86400}
    assert submitted({"Priority": "11", "CPUTime": 1}, {"MaxPriority": 7}, DIRAC) == {"Priority": 11, "CPUTime": 1}
    assert submitted({}, {"DefaultPriority": 9, "MaxPriority": 7}, DIRAC)["Priority"] == 7
    with pytest.raises(JobRequirementError, match="Priority"):
        submitted({"Priority": "high"}, {}, DOCUMENTED)


def test_groups_are_read_as_dirac_reads_them_or_as_they_are_meant():
    options = {"JobShare": "2.5", "Properties": "NormalUser, JobSharing", "AllowBackgroundTQs": "Yes", "VO": "lhcb"}
    assert read_group("g", options, DOCUMENTED) == Group("g", 2.5, job_sharing=True, background=True, vo="lhcb")
    assert read_group("g", options, DIRAC).share == 1000
    assert read_group("g", {"JobShare": -5}, DIRAC).share == -5
    assert read_group("g", {}, DOCUMENTED) == Group("g", 1000)
    for wrong in ("many", "-5", "nan"):
        with pytest.raises(ShareCorrectionError, match="JobShare"):
            read_group("g", {"JobShare": wrong}, DOCUMENTED)


def test_a_full_queue_gets_a_twin():
    former = Former({}, capacity=3)
    joined = [former.join(ASKS)[0] for _ in range(7)]
    assert [number for number, _, _ in joined] == [1, 1, 1, 2, 2, 2, 3]
    assert [number for number, _, new in joined if new] == [1, 2, 3]


def test_a_job_joins_the_smallest_of_several_queues_but_no_emptied_one():
    former = Former({1: (ASKS, 3), 2: (ASKS, 2), 7: (ASKS, 0)})
    assert former.join(ASKS) == [(2, 1, False)]
    assert former.join(ASKS) == [(1, 1, False)]
    assert former.join(ASKS._replace(owner="bob")) == [(8, 1, True)]
    assert former.leave(ASKS, 2, 3) == 0
    assert former.join(ASKS) == [(1, 1, False)]


def test_many_jobs_at_once_fill_queues_as_one_by_one():
    """A million alike jobs need two hundred queues."""
    former = Former({})
    joined = former.join(ASKS, 1_000_000)
    assert {taken for _, taken, _ in joined} == {5000}
    assert [number for number, _, _ in joined] == list(range(1, 201))


@pytest.mark.parametrize("counts", [(3, 1), (1, 4, 2), (5, 5), (0, 2)])
def test_jobs_at_once_end_up_where_single_jobs_do(counts):
    queues = {number: (ASKS, jobs) for number, jobs in enumerate(counts, 1)}
    single, together = Former(queues, capacity=6), Former(queues, capacity=6)
    expected: dict[int, int] = {}
    for _ in range(11):
        ((number, _, _),) = single.join(ASKS)
        expected[number] = expected.get(number, 0) + 1
    assert {number: taken for number, taken, _ in together.join(ASKS, 11)} == expected
