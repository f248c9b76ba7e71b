"""The kept copy of task queues is there as long as it is valid, and for nobody who may not see it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from fairq.common.records import JobRange, QueueNumber
from fairq.state import jobs, kept_queues, task_queues
from fairq.state.connection import State, in_memory, migrated
from fairq.state.hidden import hide

POLICY, CONTENT = "the rules", b"the queues"


def job(cluster):
    return JobRange(cluster, 0, 4, 1, "ann@x", "ann", 1, 0, 0)


def keep(state):
    jobs.ad_id(state, {"A": 1})
    jobs.add(state, [job(1), job(2)])
    task_queues.put(state, [QueueNumber(7, {"Owner": "ann"})])
    kept_queues.keep(state, POLICY, 7, CONTENT, [])


CHANGES: dict[str, tuple[Callable[[State], object], list[tuple[int, str, int]]]] = {
    "a new job": (lambda state: jobs.add(state, [job(3)]), [(3, "", 0)]),
    "a job less": (lambda state: jobs.remove(state, "", 2, 0, 4), [(2, "", 0)]),
    "a job that runs": (
        lambda state: jobs.set_status(state, [jobs.Procs("", 1, 0, 0)], 2, 1),
        [(1, "", 0), (1, "", 1)],
    ),
    "a new queue": (lambda state: task_queues.put(state, [QueueNumber(8, {"Owner": "bob"})]), []),
    "stored priorities": (lambda state: task_queues.set_priorities(state, [(7, 0.5)], 1), []),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_noted_with_its_jobs(change):
    """Only the ranges that changed are read again."""
    make, expected = CHANGES[change]
    with in_memory() as state:
        keep(state)
        make(state)
        found = kept_queues.load(state, POLICY)
    assert found is not None
    assert (found.content, found.highest) == (CONTENT, 7)
    assert sorted(set(found.changed)) == expected


ENDS: dict[str, Callable[[State], object]] = {
    "a number less": lambda state: task_queues.forget(state, [7]),
    "a lower number": lambda state: task_queues.put(state, [QueueNumber(3, {"Owner": "bob"})]),
    "too many changes": lambda state: jobs.add(state, map(job, range(3, kept_queues.MOST_CHANGES + 4))),
    "a trigger less": lambda state: state.connection.execute("DROP TRIGGER kept_queues_job_delete"),
}


@pytest.mark.parametrize("end", ENDS)
def test_what_a_copy_cannot_follow_ends_it(end):
    """The queues are then formed from all jobs."""
    with in_memory() as state:
        keep(state)
        ENDS[end](state)
        assert kept_queues.load(state, POLICY) is None


def test_a_copy_is_for_its_rules_alone():
    with in_memory() as state:
        keep(state)
        assert kept_queues.load(state, "other rules") is None
        assert kept_queues.load(state, POLICY) is not None


def test_a_state_without_a_copy_has_no_trigger_for_it():
    """Each would make every new job dearer."""
    with closing(migrated()) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'kept_queues_job%'").fetchall()
    assert not names


def test_a_copy_for_others_has_no_kept_queues(tmp_path):
    """They have the sites and tags of everybody's jobs."""
    with in_memory() as state:
        keep(state)
        state.connection.execute("COMMIT")
        hide(state.connection, "bob")
        assert not kept_queues.exists(state)
        state.connection.execute("BEGIN")
