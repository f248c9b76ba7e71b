"""Queues formed of many jobs at once are those that are formed from one job after the other."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.shares.plain_formation import QueueFormer

from fairq.engine.shares.formation import form, number

NEXT = 50
ASKED = st.integers(0, 3)
JOB = st.tuples(ASKED, st.integers(1, 5), st.sampled_from([0.1, 0.7, 1.0, 1e30, 1e308]))
KNOWN = st.dictionaries(st.tuples(ASKED, st.integers(0, 2)), st.integers(1, NEXT - 1), max_size=6).filter(
    lambda known: len(set(known.values())) == len(known)
)


@given(st.lists(JOB, max_size=12), st.integers(1, 12), KNOWN)
def test_many_jobs_are_placed_like_each_of_them(jobs, capacity, known):
    former = QueueFormer[int](capacity, known, NEXT)
    expected = []
    for row, (asked, size, priority) in enumerate(jobs):
        start = 0
        for queue, taken in former.place(asked, size, priority):
            expected.append((row, start, taken, queue.number))
            start += taken

    asked, size, priority = zip(*jobs, strict=True) if jobs else ((), (), ())
    formed = form(np.array(asked, int), np.array(size, int), np.array(priority, float), capacity)
    earlier = np.array([(*key, one) for key, one in known.items()], int).reshape(-1, 3).T
    numbers = number(formed, tuple(earlier), NEXT)
    places = zip(formed.row, formed.start, formed.size, numbers[formed.queue], strict=True)
    assert sorted(tuple(map(int, one)) for one in places) == expected
    columns = (numbers, formed.requirement, formed.part, formed.jobs, formed.real_priorities)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        (one.number, one.requirements, one.part, one.jobs, one.real_priorities) for one in former.queues
    ]
