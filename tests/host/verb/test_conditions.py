"""What jobs of a host's pool wait for: asked for through its program, by people who are no administrators."""

import os

import pytest

from fairq.common.records import Actor, JobStatus
from fairq.errors.base import FairqError
from fairq.errors.people import RequestError
from fairq.errors.pool import NoMatchingJobError, UnknownJobError
from fairq.host.verb.changes import Pool, make
from fairq.host.verb.document import Request
from fairq.settings import load
from fairq.state import jobs
from fairq.state.connection import reading

NOW = 1_795_200_000
GROUP = {"first": 0, "last": 0, "ad": 0, "own": None, "template": None, "priority": 0, "reason": None}


class Host:
    """The pool, as people change it."""

    def __init__(self, state, settings):
        self.pool = Pool(state, settings, "host")

    def ask(self, user, verb, **arguments):
        id_ = os.urandom(16).hex()
        actor = Actor(user, f"fairq {verb}", NOW, administrator=user == "root", request=(id_, id_))
        return make(self.pool, actor, Request(id_, verb, "", None, arguments))

    def submit(self, user, **attributes):
        ad = {"Cmd": "/bin/true", "Iwd": "/", "Requirements": "/Expr(true)/", **attributes}
        return self.ask(user, "submit", ads=[ad], groups=[GROUP], cluster=None)["cluster"]

    def statuses(self):
        with reading(self.pool.state) as state:
            return {job.cluster: job.status for job in jobs.select(state)}


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path / "pool.db", load(None, None, {"FAIRQ_POOL_ADMINISTRATORS": '["root"]'}))


def test_a_job_of_another_person_may_be_waited_for(host):
    host.submit("ann")
    host.submit("bob", AfterOk="1")
    assert host.statuses() == {1: JobStatus.IDLE, 2: JobStatus.WAITING}
    host.ask("ann", "remove", jobs=["1"])
    assert host.statuses() == {2: JobStatus.HELD}
    host.ask("ann", "undo", number=None)
    assert host.statuses() == {1: JobStatus.IDLE, 2: JobStatus.WAITING}


def test_a_private_job_of_another_person_is_no_job(tmp_path):
    settings = load(None, None, {"FAIRQ_POOL_ADMINISTRATORS": '["root"]', "FAIRQ_POOL_PRIVATE_JOBS": "true"})
    host = Host(tmp_path / "pool.db", settings)
    host.submit("ann", JobBatchName="batch")
    for name, error in (("1", UnknownJobError), ("9", UnknownJobError), ("batch", NoMatchingJobError)):
        with pytest.raises(error) as caught:
            host.submit("bob", After=name)
        assert str(caught.value).startswith(f"there is no job {name}") or "of yours has the name" in str(caught.value)
    host.submit("root", After="1")
    host.submit("ann", After="batch")
    assert list(host.statuses().values()) == [JobStatus.IDLE, JobStatus.WAITING, JobStatus.WAITING]


def test_times_and_limits(host):
    host.submit("ann", BeginTime=NOW + 60)
    host.submit("ann", CronMinute="0", MaxRunning=1)
    assert set(host.statuses().values()) == {JobStatus.WAITING}
    for wrong in (
        {"BeginTime": -(2**62)},
        {"CronMinute": "61"},
        {"MaxRunning": 0},
        {"After": 3},
        {"DeferralTime": "x"},
    ):
        with pytest.raises(FairqError):
            host.submit("ann", **wrong)
    assert len(host.statuses()) == 2


def test_the_nodes_of_a_dag(host):
    ad = {"Cmd": "/bin/true", "Iwd": "/", "Requirements": "/Expr(true)/"}
    nodes = [{"ads": [dict(ad)], "groups": [GROUP], "parents": parents, "category": "big", "most": 1}
             for parents in ([], [], [0, 1])]  # fmt: skip
    answer = host.ask("ann", "submit dag", nodes=nodes, cluster=1)
    assert (answer["clusters"], answer["jobs"]) == ([1, 2, 3], 3)
    assert host.statuses() == {1: JobStatus.IDLE, 2: JobStatus.WAITING, 3: JobStatus.WAITING}
    host.ask("ann", "undo", number=None)
    assert host.statuses() == {}
    nodes[0]["parents"] = [2]
    for wrong in (
        {"nodes": nodes, "cluster": None},
        {"nodes": [], "cluster": None},
        {"nodes": nodes[:1], "cluster": 99},
        {"nodes": [{**nodes[1], "most": 0}], "cluster": None},
        {"nodes": [{**nodes[1], "category": 3}], "cluster": None},
    ):
        with pytest.raises(RequestError):
            host.ask("ann", "submit dag", **wrong)
