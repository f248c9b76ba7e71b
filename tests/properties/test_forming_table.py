"""Queues formed by column are those that are formed from one job after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairq.engine.shares.forming import QueueFormer
from fairq.engine.shares.forming_table import Jobs, form

DIFFERENT, NEXT = 4, 50
JOB = st.tuples(st.integers(0, DIFFERENT - 1), st.integers(1, 5), st.sampled_from([0.1, 0.7, 1.0, 1e30, 1e308]))
KNOWN = st.dictionaries(
    st.tuples(st.integers(0, DIFFERENT - 1), st.integers(0, 2)), st.integers(1, NEXT - 1), max_size=6
).filter(lambda known: len(set(known.values())) == len(known))


@given(st.lists(JOB, max_size=12), st.integers(1, 12), KNOWN)
def test_a_table_of_jobs_is_placed_like_each_of_them(
    given_jobs: list[tuple[int, int, float]], capacity: int, known: dict[tuple[int, int], int]
) -> None:
    former = QueueFormer[int](capacity, known, NEXT)
    expected = []
    for row, (asked, size, priority) in enumerate(given_jobs):
        start = 0
        for queue, taken in former.place(asked, size, priority):
            expected.append((row, start, taken, queue.number))
            start += taken

    columns = [np.array(column, np.int64) for column in list(zip(*given_jobs, strict=True))[:2]] or [
        np.empty(0, int)
    ] * 2
    priorities = np.array([priority for *_, priority in given_jobs], float)
    numbered = [np.array(column, np.int64) for column in zip(*((*key, one) for key, one in known.items()), strict=True)]
    earlier = tuple(numbered) if numbered else (np.empty(0, int),) * 3
    queues, places = form(Jobs(*columns, priorities), capacity, earlier, DIFFERENT, NEXT)  # type: ignore[arg-type]
    found = zip(places.row, places.start, places.size, queues.number[places.queue], strict=True)
    assert sorted(tuple(map(int, one)) for one in found) == expected
    assert list(zip(*(column.tolist() for column in queues), strict=True)) == [
        (one.number, one.requirements, one.part, one.jobs, one.real_priorities) for one in former.queues
    ]
