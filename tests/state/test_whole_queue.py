"""The whole queue replaced at once: what is left of the former one is what ended jobs need."""

import pytest
from tests.state.pools import procs
from tests.state.test_job_kinds import in_order, unknown
from tests.state.test_job_kinds import pool as pool  # noqa: PLC0414 - a fixture

from fairq.common.past import EndedJob
from fairq.common.records import JobStatus
from fairq.state import check, ended_jobs, idle_jobs, job_ads, job_kinds, jobs
from fairq.state.connection import in_memory, reading, writing


def replace(state, count):
    """Let jobs of two kinds be the queue; a single one is of the first kind."""
    jobs_now = [procs(number, 0, 0, ad_id=(number + 1) % 2) for number in range(1, count + 1)]
    jobs.replace_all(state, jobs_now, [{"Kind": 0}, {"Kind": 1}])


@pytest.mark.parametrize(("count", "kinds"), [(0, []), (1, [0]), (6000, [0, 1])])
def test_the_former_jobs_and_their_ads_go(count, kinds):
    """But for the ads of jobs that have ended, and those that the new jobs have, too."""
    with in_memory() as state:
        of_ended, again, gone = job_ads.ad_ids(state, [{"Ended": 1}, {"Kind": 0}, {"Gone": 1}])
        jobs.add(state, [procs(900, 0, 9, ad_id=gone), procs(901, 0, 9, ad_id=again)])
        ended_jobs.add(state, [EndedJob(7, 0, 0, of_ended, "ann@x", "ann", JobStatus.COMPLETED, 1, 2)])
        replace(state, count)

        assert jobs.counts_by_submitter(state) == ({"alice@x": (count, 0, 0)} if count else {})
        ads = job_ads.load_all(state)
        assert ads.pop(of_ended) == {"Ended": 1}
        assert all(ads[job.ad_id]["Kind"] == (job.cluster + 1) % 2 for job in jobs.select(state))
        assert [ad["Kind"] for ad in ads.values()] == kinds
        assert not kinds or ads[again] == {"Kind": 0}
        assert check.findings(state) == []


@pytest.mark.parametrize("count", [3, 6000])
def test_no_kind_of_the_former_queue_is_left(pool, count):
    """The new jobs' ads may have the numbers of former ones."""
    with writing(pool) as opened:
        assert job_kinds.load(opened)
        replace(opened, count)
    with reading(pool) as opened:
        assert unknown(opened) == set(range(1, count + 1))
        assert list(idle_jobs.load(opened)) == in_order(jobs.idle(opened))
