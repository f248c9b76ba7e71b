"""The idle jobs by column, and the kinds that cycles found out of their shared ads."""

import pytest
from tests.engine.negotiation.pools import JOB, NOW
from tests.steps.cycle.test_negotiate import cycle, fill

from fairq.columns.idle_jobs import KnownKind
from fairq.common.records import JobRange, JobStatus
from fairq.errors.base import StateDamagedError
from fairq.state import check, idle_jobs, job_ads, job_changes, job_kinds, jobs
from fairq.state.connection import reading, writing
from fairq.state.document import export, restore
from fairq.state.job_changes import Procs

CLUSTERS = 30
SHARED = KnownKind(frozenset({"kind"}), {"kind": 1})


@pytest.fixture
def pool(state, monkeypatch):
    """Two slots; a and b have many clusters of three kinds, some with something of their own. A cycle was held."""
    monkeypatch.setattr(job_kinds, "WORTHWHILE", 10)
    fill(state, 2, {"a@x": 1, "b@x": 2})
    with writing(state) as opened:
        for cluster in range(10, 10 + CLUSTERS):
            add(opened, cluster)
    cycle(state)
    return state


def add(state, cluster, name="a@x"):
    ad = {**JOB, "RequestMemory": 100 * (1 + cluster % 3), "Iwd": f"/{cluster}"}
    own = {"Args": 'x,"\n'} if cluster % 7 == 0 else {"RequestMemory": 5} if cluster % 11 == 0 else None
    template = {"Out": "o.$(ProcId)"} if cluster % 5 == 0 else None
    number = job_ads.ad_id(state, ad)
    jobs.add(
        state,
        [JobRange(cluster, 0, 4, number, name, name[0], JobStatus.IDLE, NOW, NOW, cluster % 2, "", own, template)],
    )


def in_order(found):
    return sorted(found, key=lambda job: (job.cluster, job.schedd, job.first_proc))


def unknown(state):
    """Return the clusters of which no kind is known."""
    idle = idle_jobs.load(state)
    return set(idle.columns["cluster"][idle.columns["kind"] == 0].tolist())


def with_more(clusters):
    """Return those of these clusters that have more than their shared ads."""
    return {cluster for cluster in clusters if not (cluster % 7 and cluster % 11 and cluster % 5)}


@pytest.mark.parametrize(
    "change",
    [
        lambda state: None,
        lambda state: add(state, 100, 'new, "and" odd@x'),
        lambda state: jobs.remove(state, "", 12, 1, 2),
        lambda state: job_changes.set_status(state, [Procs("", 13, 0, 4)], JobStatus.HELD, NOW, "why", 1, 2),
        lambda state: state.connection.execute("UPDATE job SET reason = 'why', hold_code = 1 WHERE cluster = 14"),
        lambda state: state.connection.execute("UPDATE job SET hold_subcode = -3 WHERE cluster = 15"),
        lambda state: job_changes.change(state, "", 14, 0, 2, submitter="b@x"),
        lambda state: state.connection.execute("UPDATE job SET schedd = 'far' WHERE cluster = 16"),
        lambda state: state.connection.execute("UPDATE job SET status = 5"),
    ],
    ids=["nothing", "more", "fewer", "held", "reasons", "codes", "another's", "schedd", "none"],
)
def test_the_idle_jobs_by_column_are_those_of_the_queue(pool, change):
    with writing(pool) as opened:
        change(opened)
        idle = idle_jobs.load(opened)
        assert list(idle) == in_order(jobs.idle(opened))
        by_submitter = idle.by_submitter()
        assert in_order(job for of in by_submitter.values() for job in of) == list(idle)
        assert all((job.submitter, job.schedd) == names for names, of in by_submitter.items() for job in of)
        assert [job.cluster for job in idle_jobs.load(opened, [14, 16, 999])] == [
            job.cluster for job in idle if job.cluster in (14, 16)
        ]


def told(cycle):
    decision = cycle.decision
    return list(decision.matches), list(decision.rejections), decision.submitters


def test_a_cycle_decides_with_known_kinds_as_without(pool):
    """Also where more attributes of jobs matter than when the kinds were found."""
    with writing(pool) as opened:
        add(opened, 200)
        assert unknown(opened) == with_more(range(10, 10 + CLUSTERS)) | {200}
    for rules in ({}, {"FAIRQ_NEGOTIATOR_NEGOTIATOR_PRE_JOB_RANK": 'TARGET.Iwd == "/11"'}):
        with_kinds = cycle(pool, NOW + 60, dry_run=True, **rules)
        with writing(pool) as opened:
            former = opened.connection.execute("SELECT * FROM job_ad_kind").fetchall()
            opened.connection.execute("DELETE FROM job_ad_kind")
        assert told(with_kinds) == told(cycle(pool, NOW + 60, dry_run=True, **rules))
        with writing(pool) as opened:
            opened.connection.executemany("INSERT INTO job_ad_kind VALUES (?, ?)", former)


def test_kinds_of_a_few_new_ads_are_stored_when_they_are_many(pool):
    with writing(pool) as opened:
        assert {kind.ad["requestmemory"] for kind in job_kinds.load(opened).values()} == {100, 200, 300, 512}
        for cluster in range(301, 305):
            add(opened, cluster)
    cycle(pool, NOW + 60)
    with writing(pool) as opened:
        assert unknown(opened) >= set(range(301, 305))
        for cluster in range(305, 330):
            add(opened, cluster)
    cycle(pool, NOW + 120)
    with reading(pool) as opened:
        assert unknown(opened) == with_more([*range(10, 10 + CLUSTERS), *range(301, 330)])
        assert check.findings(opened) == []


def test_a_kind_goes_with_its_ad_whose_number_another_ad_gets(pool):
    with writing(pool) as opened:
        last = max(job.ad_id for job in jobs.idle(opened))
        cluster = next(job.cluster for job in jobs.idle(opened) if job.ad_id == last)
        jobs.remove(opened, "", cluster, 0, 4)
        job_ads.delete_all_unused(opened)
        assert job_ads.ad_id(opened, {**JOB, "RequestMemory": 7}) == last
        jobs.add(opened, [JobRange(500, 0, 0, last, "a@x", "a", JobStatus.IDLE, NOW, NOW)])
        assert 500 in unknown(opened)


def test_a_kind_is_not_stored_for_another_ad_that_has_the_number_by_now(state, monkeypatch):
    monkeypatch.setattr(job_kinds, "WORTHWHILE", 2)
    with writing(state) as opened:
        numbers = job_ads.ad_ids(opened, [{"Kind": 1}, {"Kind": 1, "Iwd": "/"}, {"Kind": 2}])
        read = {numbers[0]: {"Kind": 1}, numbers[1]: {"Kind": 1, "Iwd": "/"}, numbers[2]: {"Kind": 1}}
        job_kinds.store(opened, dict.fromkeys([*numbers, 99], SHARED), {**read, 99: {}})
        stored = opened.connection.execute("SELECT ad_id FROM job_ad_kind").fetchall()
        assert [number for (number,) in stored] == numbers[:2]


def test_kinds_that_no_ad_has_go(pool, monkeypatch):
    with writing(pool) as opened:
        ads = [number for (number,) in opened.connection.execute("SELECT ad_id FROM job_ad_kind")]
        job_kinds.store(opened, dict.fromkeys(ads, SHARED), None)
        assert [kind.ad for kind in job_kinds.load(opened).values()] == [{"kind": 1}]


def test_a_restored_document_has_no_kinds_of_the_former_state(pool):
    with writing(pool) as opened:
        document = export(opened)
        document["jobs"] = document["jobs"][:12]
        restore(opened, document)
        assert job_kinds.load(opened) == {}
        assert unknown(opened) == {job.cluster for job in jobs.idle(opened)}


def test_damaged_kinds_are_found(pool):
    with writing(pool) as opened:
        opened.connection.execute("UPDATE job_kind SET content = '[1'")
    with pytest.raises(StateDamagedError, match="job_kind"):
        cycle(pool, NOW + 60)
