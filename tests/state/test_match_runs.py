"""Matches that differ only in job and slot are stored as one run, and read as they were made."""

import json

from hypothesis import given
from hypothesis import strategies as st

from fairq.common.past import MatchRecord, MatchRun
from fairq.state import cycles
from fairq.state.rows import dumps

MATCHES = st.lists(
    st.builds(
        MatchRecord,
        st.just(0),
        st.sampled_from(["", "far"]),
        st.integers(1, 2),
        st.integers(0, 3),
        st.sampled_from(["a@x", "b@x"]),
        st.sampled_from(["s1", "s2"]),
        st.sampled_from(["rank", "priority"]),
        st.none() | st.just("c@x"),
    )
)


@given(MATCHES)
def test_whatever_was_matched_is_read_again(matches):
    for number, match in enumerate(matches):
        match.sequence = number
    stored = dumps(list(cycles.joined_runs(map(cycles.run_of, matches))))
    assert cycles.matches_in(json.loads(stored)) == matches


def test_jobs_and_slots_in_a_row_are_one_run():
    runs = [
        MatchRun("", "a@x", "no-preemption", None, [(1, 0, 2)], ["s1", "s2"]),
        MatchRun("", "a@x", "no-preemption", None, [(1, 2, 1), (2, 0, 1)], ["s3", "s4"]),
        MatchRun("", "b@x", "no-preemption", None, [(3, 0, 1)], ["s5"]),
    ]
    assert list(cycles.joined_runs(runs)) == [
        MatchRun("", "a@x", "no-preemption", None, [(1, 0, 3), (2, 0, 1)], ["s1", "s2", "s3", "s4"]),
        runs[2],
    ]
