"""The copy of the idle jobs by column says what the queue says, or is not there."""

from __future__ import annotations

import pytest
from tests.engine.negotiation.pools import JOB, NOW
from tests.steps.cycle.test_negotiate import cycle, fill

from fairq.common.records import Ad, JobRange, JobStatus
from fairq.state import check, copies, idle_columns, idle_copy, job_ads, job_changes, jobs
from fairq.state.connection import reading, writing
from fairq.state.document import export, restore
from fairq.state.job_ranges import Procs

CLUSTERS = 30


@pytest.fixture
def pool(state, monkeypatch):
    """Two slots; a and b have many clusters of three kinds, some with something of their own. A cycle makes a copy."""
    monkeypatch.setattr(idle_columns, "WORTHWHILE", 10)
    monkeypatch.setattr(idle_columns, "_CHANGES", 4)
    fill(state, 2, {"a@x": 1, "b@x": 2})
    with writing(state) as opened:
        for cluster in range(10, 10 + CLUSTERS):
            add(opened, cluster)
    cycle(state)
    with reading(state) as opened:
        assert has_copy(opened)
    return state


def add(state, cluster, name="a@x"):
    ad: Ad = {**JOB, "RequestMemory": 100 * (1 + cluster % 3), "Iwd": f"/{cluster}"}
    own: Ad | None = {"Args": "x"} if cluster % 7 == 0 else {"RequestMemory": 5} if cluster % 11 == 0 else None
    template = {"Out": "o.$(ProcId)"} if cluster % 5 == 0 else None
    number = job_ads.ad_id(state, ad)
    jobs.add(
        state,
        [JobRange(cluster, 0, 4, number, name, name[0], JobStatus.IDLE, NOW, NOW, cluster % 2, "", own, template)],
    )


def has_copy(state):
    return bool(state.connection.execute("SELECT EXISTS (SELECT 1 FROM idle_columns)").fetchone()[0])


def read(state):
    return in_order(job for of in idle_columns.load(state)[0] for job in of)


def in_order(found):
    return sorted(found, key=lambda job: (job.cluster, job.first_proc))


def changed(state):
    return int(state.connection.execute("SELECT count(*) FROM idle_changed").fetchone()[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda state: add(state, 100),
        lambda state: add(state, 100, "new@x"),
        lambda state: jobs.remove(state, "", 12, 1, 2),
        lambda state: jobs.remove(state, "", 12, 0, 4),
        lambda state: job_changes.set_status(state, [Procs("", 13, 0, 4)], JobStatus.HELD, NOW, "why", 1, 2),
        lambda state: job_changes.change(state, "", 14, 0, 2, submitter="b@x"),
        lambda state: job_changes.change(state, "", 15, 0, 4, priority=9),
        lambda state: state.connection.execute("UPDATE job SET schedd = 'far' WHERE cluster = 16"),
    ],
    ids=["more", "a new submitter", "fewer", "a cluster gone", "held", "another's", "priority", "schedd"],
)
def test_the_copy_follows_every_change(pool, change):
    with writing(pool) as opened:
        change(opened)
        assert has_copy(opened)
        assert read(opened) == in_order(jobs.idle(opened))
        assert list(copies.differences(opened)) == []


def test_the_check_finds_a_copy_that_is_not_what_the_queue_says(pool):
    with writing(pool) as opened:
        opened.connection.execute("DELETE FROM idle_columns WHERE submitter = 'b@x'")
        first = next(job for job in in_order(jobs.idle(opened)) if job.submitter == "b@x")
        said = f"copy: idle_columns is not what job says, from {first.cluster}.{first.first_proc} of b@x on"
        assert check.findings(opened) == [said]
        idle_copy.forget(opened)
        assert check.findings(opened) == []


def told(cycle):
    decision = cycle.decision
    return list(decision.matches), list(decision.rejections), decision.submitters


def test_a_cycle_decides_with_the_copy_as_without(pool):
    """Also where more attributes of jobs matter than when the copy was made."""
    with writing(pool) as opened:
        add(opened, 200)
    for rules in ({}, {"FAIRQ_NEGOTIATOR_NEGOTIATOR_PRE_JOB_RANK": 'TARGET.Iwd == "/11"'}):
        with_copy = cycle(pool, NOW + 60, dry_run=True, **rules)
        with writing(pool) as opened:
            kept = opened.connection.execute("SELECT * FROM idle_columns").fetchall()
            idle_copy.forget(opened)
        assert told(with_copy) == told(cycle(pool, NOW + 60, dry_run=True, **rules))
        with writing(pool) as opened:
            assert kept
        cycle(pool, NOW + 61)


def test_the_copy_is_written_anew_when_much_has_changed(pool):
    with writing(pool) as opened:
        add(opened, 300)
    cycle(pool, NOW + 60)
    with reading(pool) as opened:
        assert changed(opened)
    with writing(pool) as opened:
        for cluster in range(301, 312):
            add(opened, cluster)
    cycle(pool, NOW + 120)
    with reading(pool) as opened:
        assert has_copy(opened)
        assert not changed(opened)
        kinds = idle_columns.load(opened)[1].known
    assert {kind.ad["requestmemory"] for kind in kinds.values()} == {100, 200, 300, 512}


def test_the_former_copy_and_the_new_one_follow_every_change_while_the_new_one_is_made(pool):
    def is_valid(state):
        return has_copy(state) and read(state) == in_order(jobs.idle(state))

    with writing(pool) as opened:
        add(opened, 100)
        jobs.remove(opened, "", 12, 1, 2)
        idle_columns.track(opened)
        assert is_valid(opened)
        assert not changed(opened)
        jobs.remove(opened, "", 13, 0, 4)
        stored = idle_columns.read(opened)
        add(opened, 101)
        jobs.remove(opened, "", 14, 0, 1)
        assert is_valid(opened)
        before = idle_columns.read(opened).queued

        idle_columns.store(opened, idle_columns.packed(stored, {}))

        assert is_valid(opened)
        assert len(idle_columns.read(opened).queued) < len(before)
        jobs.remove(opened, "", 15, 0, 4)
        assert is_valid(opened)


def test_a_copy_of_changes_that_nobody_notes_any_more_is_not_stored(pool):
    with writing(pool) as opened:
        idle_columns.track(opened)
        copy = idle_columns.packed(idle_columns.read(opened), {})
        restore(opened, export(opened))
        jobs.remove(opened, "", 12, 1, 2)

        idle_columns.store(opened, copy)

        assert not has_copy(opened)
        assert read(opened) == in_order(jobs.idle(opened))


def test_damaged_notes_of_changes_are_not_read(pool):
    with writing(pool) as opened:
        idle_columns.track(opened)
        opened.connection.execute("UPDATE idle_columns SET content = x'c1' WHERE schedd IS NULL")
        jobs.remove(opened, "", 12, 1, 2)
        assert idle_columns.changed_clusters(opened) is None
        assert read(opened) == in_order(jobs.idle(opened))
        idle_columns.track(opened)
        jobs.remove(opened, "", 13, 1, 2)
        assert idle_columns.changed_clusters(opened) == {"": {13}}
        assert read(opened) == in_order(jobs.idle(opened))
    cycle(pool, NOW + 60)
    with reading(pool) as opened:
        assert read(opened) == in_order(jobs.idle(opened))
        assert check.findings(opened) == []


def test_a_short_queue_has_no_copy(pool):
    with writing(pool) as opened:
        for cluster in range(10, 8 + CLUSTERS):
            jobs.remove(opened, "", cluster, 0, 4)
    cycle(pool, NOW + 60)
    with reading(pool) as opened:
        assert not has_copy(opened)


def test_a_restored_document_is_read_without_the_copy_of_the_former_state(pool):
    with writing(pool) as opened:
        document = export(opened)
        document["jobs"] = document["jobs"][:12]
        restore(opened, document)
        assert not has_copy(opened)
        assert len(read(opened)) < CLUSTERS
        assert read(opened) == in_order(jobs.idle(opened))


@pytest.mark.parametrize("content", [b"", b"\x93\x05\x81\xa7cluster\xc4\x03abc\x90"])
def test_a_damaged_copy_is_not_read(pool, content):
    with writing(pool) as opened:
        opened.connection.execute("UPDATE idle_columns SET content = ?", (content,))
        queue = in_order(job for job in jobs.select(opened) if job.status == JobStatus.IDLE)
        assert read(opened) == queue
