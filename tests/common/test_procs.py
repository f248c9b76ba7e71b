"""Ranges of procs are cut as the sets of their numbers are."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fairq.common.procs import ProcRange

BOUNDS = st.tuples(st.integers(0, 12), st.integers(0, 4)).map(lambda pair: (pair[0], sum(pair)))


@given(BOUNDS, BOUNDS, st.lists(BOUNDS, max_size=4))
def test_parts_and_what_is_left_without_others(own, other, others):
    jobs = ProcRange(7, *own)
    apart: list[tuple[int, int]] = []
    for first, last in sorted(others):
        if not apart or first > apart[-1][1]:
            apart.append((first, last))

    part = jobs.part(*other)
    left = list(jobs.without(apart))

    assert set(jobs.numbers) & set(range(other[0], other[1] + 1)) == set(() if part is None else part.numbers)
    taken = {number for first, last in apart for number in range(first, last + 1)}
    assert [number for piece in left for number in piece.numbers] == sorted(set(jobs.numbers) - taken)
    assert all(former.last_proc + 1 < later.first_proc for former, later in pairwise(left))


def test_names_of_one_job_and_of_several():
    assert ProcRange(7, 0, 0).name == "7.0"
    assert [single.name for single in ProcRange(7, 0, 1).each()] == ["7.0", "7.1"]
    assert ProcRange(7, 0, 99).name == "7.0-99"
