"""The queue: what is alike is one row, and stays it as far as it stays alike."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.state.pools import layout, procs, queued

from fairq.common.records import JobStatus
from fairq.state import jobs
from fairq.state.connection import reading, writing
from fairq.state.job_changes import Piece, by_cluster, rewrite

IDLE, RUNNING, HELD = JobStatus.IDLE, JobStatus.RUNNING, JobStatus.HELD


def test_a_million_jobs_of_a_cluster_are_one_row(state):
    with writing(state) as opened:
        queued(opened, procs(1, 0, 999_999))
        assert opened.connection.execute("SELECT count(*) FROM job").fetchone() == (1,)
    with reading(state) as opened:
        assert jobs.counts_by_submitter(opened) == {"alice@x": (1_000_000, 0, 0)}


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (0, 9, [(1, 0, 9, HELD)]),
        (0, 0, [(1, 0, 0, HELD), (1, 1, 9, IDLE)]),
        (9, 9, [(1, 0, 8, IDLE), (1, 9, 9, HELD)]),
        (3, 5, [(1, 0, 2, IDLE), (1, 3, 5, HELD), (1, 6, 9, IDLE)]),
        (8, 20, [(1, 0, 7, IDLE), (1, 8, 9, HELD)]),
        (20, 30, [(1, 0, 9, IDLE)]),
    ],
    ids=["all", "the first", "the last", "the middle", "beyond the end", "none of them"],
)
def test_a_change_cuts_the_range_where_it_must(state, first, last, expected):
    with writing(state) as opened:
        queued(opened, procs(1, 0, 9))
        jobs.change(opened, "", 1, first, last, status=HELD)
        assert layout(opened) == expected


def test_jobs_that_became_alike_again_are_one_row_again(state):
    with writing(state) as opened:
        queued(opened, procs(1, 0, 9))
        jobs.change(opened, "", 1, 4, 4, priority=5)
        jobs.change(opened, "", 1, 4, 4, priority=0)
        assert layout(opened) == [(1, 0, 9, IDLE)]


def test_neighbours_of_different_content_stay_apart(state):
    with writing(state) as opened:
        queued(opened, procs(1, 0, 4, own={"Args": "a"}), procs(1, 5, 9, own={"Args": "b"}))
        jobs.change(opened, "", 1, 0, 9, priority=7)
        assert [(job.own, len(job)) for job in jobs.select(opened)] == [({"Args": "a"}, 5), ({"Args": "b"}, 5)]


def test_neighbouring_jobs_that_start_together_are_one_running_range(state):
    with writing(state) as opened:
        queued(opened, procs(1, 0, 99), procs(2, 0, 9), procs(2, 0, 9, schedd="far"))
        started = [jobs.Procs("", 1, *of) for of in ((5, 5), (3, 4), (50, 50))] + [jobs.Procs("far", 2, 0, 0)]
        assert jobs.mark_running(opened, started, 300) == 5
        assert layout(opened) == [
            (1, 0, 2, IDLE),
            (1, 3, 5, RUNNING),
            (1, 6, 49, IDLE),
            (1, 50, 50, RUNNING),
            (1, 51, 99, IDLE),
            (2, 0, 9, IDLE),
            (2, 0, 0, RUNNING),
            (2, 1, 9, IDLE),
        ]
        assert {job.status_date for job in jobs.select(opened, statuses=[RUNNING])} == {300}
        assert jobs.running_counts(opened) == {("alice@x", ""): 4, ("alice@x", "far"): 1}


def test_a_status_comes_with_its_time_and_reason(state):
    with writing(state) as opened:
        queued(opened, procs(1, 0, 9))
        jobs.set_status(opened, [("", 1, 2, 3)], HELD, 400, "by alice")
        (held,) = jobs.select(opened, statuses=[HELD])
        assert (held.status_date, held.reason, held.queue_date) == (400, "by alice", 100)


def test_removed_jobs_are_gone_and_so_is_an_ad_that_nobody_uses(state):
    with writing(state) as opened:
        queued(opened, procs(1, 0, 9), procs(2, 0, 0, ad_id=jobs.ad_id(opened, {"Cmd": "/bin/sleep"})))
        assert jobs.remove(opened, "", 1, 0, 4) == 5
        assert layout(opened) == [(1, 5, 9, IDLE), (2, 0, 0, IDLE)]
        assert jobs.remove_many(opened, [("", 1, 0, 99), ("", 2, 0, 0)]) == 6
        assert layout(opened) == []
        assert jobs.ads(opened, [1]) == {}


def test_equal_ads_are_stored_once(state):
    with writing(state) as opened:
        one, other, again = jobs.ad_ids(opened, [{"Cmd": "a"}, {"Cmd": "b"}, {"Cmd": "a"}])
        assert one == again != other
        assert jobs.ad_id(opened, {"Cmd": "b"}) == other
        assert jobs.ads(opened, [one, other, 99]) == {one: {"Cmd": "a"}, other: {"Cmd": "b"}}


def test_cluster_numbers_are_given_once(state):
    with writing(state) as opened:
        assert [jobs.next_cluster(opened), jobs.next_cluster(opened)] == [1, 2]
        queued(opened, procs(40, 0, 0))
        assert jobs.next_cluster(opened) == 41
        jobs.remove(opened, "", 40, 0, 0)
        assert jobs.next_cluster(opened) == 42


def test_idle_jobs_come_by_schedd_submitter_and_age(state):
    with writing(state) as opened:
        queued(
            opened,
            procs(3, 0, 0, submitter="bob@x"),
            procs(2, 5, 9),
            procs(2, 0, 3),
            procs(1, 0, 0, schedd="far"),
            procs(4, 0, 0, status=HELD),
        )
        found = [(job.schedd, job.submitter, job.cluster, job.first_proc) for job in jobs.idle(opened)]
        assert found == [("", "alice@x", 2, 0), ("", "alice@x", 2, 5), ("", "bob@x", 3, 0), ("far", "alice@x", 1, 0)]


def test_jobs_are_selected_by_all_conditions_together(state):
    with writing(state) as opened:
        queued(opened, procs(1, 0, 9), procs(1, 10, 10, status=HELD), procs(2, 0, 0, owner="bob", submitter="g.bob@x"))

        def found(**conditions):
            selected = jobs.select(opened, **conditions)  # type: ignore[arg-type]
            return [(job.cluster, job.first_proc, job.last_proc) for job in selected]

        assert found(cluster=1) == [(1, 0, 9), (1, 10, 10)]
        assert found(cluster=1, proc=4) == [(1, 4, 4)]
        assert found(cluster=1, statuses=[HELD, RUNNING]) == [(1, 10, 10)]
        assert found(owner="bob") == found(submitter="g.bob@x") == [(2, 0, 0)]
        assert found(owner="bob", cluster=1) == found(statuses=[]) == found(schedd="far") == []


def test_job_names_are_completed_by_cluster_then_by_proc(state):
    with writing(state) as opened:
        queued(opened, *(procs(cluster, 0, 11) for cluster in (1, 2, 12, 120, 1234)))
        assert jobs.names_starting(opened, "") == ["1", "2", "12", "120", "1234"]
        assert jobs.names_starting(opened, "12") == ["12", "120", "1234"]
        assert jobs.names_starting(opened, "12", limit=2) == ["12", "120"]
        assert jobs.names_starting(opened, "12.1") == ["12.1", "12.10", "12.11"]
        assert jobs.names_starting(opened, "2.", limit=3) == ["2.0", "2.1", "2.2"]
        for nothing in ("x", "0", "01", "-1", "9.", "9" * 30, "1.x", "1.00", ".", "9" * 30 + ".1"):
            assert jobs.names_starting(opened, nothing) == []


_BOUND = st.integers(0, 30)
_PROCS = st.tuples(st.sampled_from(["", "far"]), st.integers(1, 2), _BOUND, _BOUND)


_CHANGE = st.tuples(st.lists(_PROCS, max_size=6), st.integers(0, 2) | st.none())


def as_single(pieces):
    return {
        (*key, proc): piece.tail[0]
        for key, of in pieces.items()
        for piece in of
        for proc in range(piece.first, piece.last + 1)
    }


@settings(deadline=None)
@given(st.lists(_CHANGE, max_size=6))
def test_ranges_hold_what_single_jobs_would_hold(
    changes,
):
    """Whatever is changed or removed in whatever order, every proc has the value it should have."""
    pieces = {
        (schedd, cluster): [Piece(0, 4, (0,)), Piece(5, 9, (1,)), Piece(15, 30, (0,))]
        for schedd in ("", "far")
        for cluster in (1, 2)
    }
    single = as_single(pieces)
    for where, value in changes:
        expected = {
            (schedd, cluster, proc) for schedd, cluster, first, last in where for proc in range(first, last + 1)
        } & single.keys()
        touched = 0
        for schedd, cluster, bounds in by_cluster(where):
            key = (schedd, cluster)
            tail = None if value is None else (value,)
            pieces[key], count = rewrite(pieces[key], bounds, lambda _, tail=tail: tail)
            touched += count
        assert touched == len(expected)
        for one in expected:
            if value is None:
                del single[one]
            else:
                single[one] = value
    assert as_single(pieces) == single
    for of in pieces.values():
        assert all(one.last < other.first for one, other in pairwise(of))


def test_many_jobs_in_an_empty_queue_are_in_all_indexes(state):
    """Their indexes are away while they are stored."""
    indexes = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'job' ORDER BY name"
    with writing(state) as opened:
        before = opened.connection.execute(indexes).fetchall()
        jobs.replace_all(opened, [procs(number, 0, 0, ad_id=0) for number in range(1, 6001)], [{}])
    with reading(state) as opened:
        assert opened.connection.execute(indexes).fetchall() == before
        assert opened.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert jobs.counts_by_submitter(opened) == {"alice@x": (6000, 0, 0)}
