"""Whatever happens to the jobs, task queues from what is stored with ads are those that are formed from all ads."""

from __future__ import annotations

import json
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.engine.shares.plain_needs import plain_needs

from fairq.common.records import Actor, JobRange, JobStatus
from fairq.engine.shares.needs import PRIORITY
from fairq.engine.shares.queues import RequirementTable
from fairq.errors.shares import JobRequirementError
from fairq.settings import load
from fairq.state import check, document, jobs
from fairq.state.connection import reading, trying, writing
from fairq.steps.taskqueues import formation
from fairq.steps.taskqueues.formation import form_queues
from fairq.steps.taskqueues.import_dump import import_task_queues
from fairq.steps.taskqueues.job_requirements import identity_of, plain_value, relevant
from fairq.steps.taskqueues.match import match
from fairq.steps.taskqueues.pilots import Pilot
from fairq.steps.taskqueues.policy import share_policy
from fairq.steps.taskqueues.priorities import recalculate_shares
from fairq.steps.taskqueues.waiting_jobs import Numbers, read_waiting

NOW = 1_795_210_080
ACTOR = Actor("pilot", "fairq taskqueues match", NOW)

AD = st.fixed_dictionaries(
    {},
    optional={
        "AcctGroup": st.sampled_from(["g", "h"]),
        "Sites": st.sampled_from(["", "S", "T", "S, T", "{T ,'S', T,}", 'T, "any"', " , ", "' '", "ANY"]),
        "BannedSites": st.sampled_from(["S", "any"]),
        "Tags": st.sampled_from(["GPU", "A, B", 'X"Y,ä']),
        "CPUTime": st.sampled_from([1, 361, "/Expr(300 + 61)/", -5]),
        "MinRAM": st.sampled_from([1000, 2**60]),
        "RealPriority": st.sampled_from([0.1, 0.7, 3.0]),
    },
)
ODD_AD = st.fixed_dictionaries(
    {},
    optional={
        "AcctGroup": st.sampled_from(["g", 5, "/Expr(x)/"]),
        "acctgroupuser": st.sampled_from(["u", None]),
        "AccountingGroup": st.sampled_from(["g.u", "h.sub.v"]),
        "Sites": st.sampled_from([["S", "T"], "S", 1, 1.0, True, None, " , "]),
        "Site": st.sampled_from(["T", "any"]),
        "SITES": st.sampled_from(["X", 0.0, -0.0]),
        "Tag": st.sampled_from(["A", {"x": 1}]),
        "RequestCpus": st.sampled_from([1, 8, True, "8", "/Expr(4 + 4)/"]),
        "RequestGpus": st.sampled_from([0, 1, 0.5]),
        "WholeNode": st.sampled_from([True, 1, "yes"]),
        "RequestMemory": st.sampled_from([512, 512.5, -1, "much"]),
        "MinRAM": st.sampled_from([100, 1000, None, -3]),
        "MaxRAM": st.sampled_from([500, 2**60, "x"]),
        "CPUTime": st.sampled_from([1, 1.0, True, "7200", -1, None]),
        "UserPriority": st.sampled_from([0, -2, 5, 5.5, "high", 99]),
        "RealPriority": st.sampled_from([0, 0.1, True, "x", 2]),
    },
)
"""Attributes as nobody should write them: every kind of value, spellings that say the same twice."""

DUMPED = st.fixed_dictionaries(
    {"Owner": st.sampled_from("abc"), "OwnerGroup": st.just("g"), "CPUTime": st.sampled_from([360, 1800])},
    optional={"Sites": st.sampled_from([["S"], ["T", "S"]]), "Jobs": st.sampled_from([0, 1, 3, [901, 902], [903]])},
)
"""A queue of a dump of DIRAC."""

SUBMIT = st.tuples(
    st.just("submit"),
    st.sampled_from("abc"),
    AD,
    st.none() | st.sampled_from([{"UserPriority": 5}, {"CPUTime": 10**7}]),
    st.none() | st.just({"Sites": "S$(ProcId)"}),
    st.sampled_from(["", "other"]),
    st.integers(1, 4),
)
CLUSTER, PROC = st.integers(1, 8), st.integers(0, 3)
STEP = st.one_of(
    SUBMIT,
    SUBMIT,
    st.tuples(st.just("remove"), CLUSTER, PROC, PROC),
    st.tuples(st.just("hold"), CLUSTER, PROC, PROC),
    st.tuples(st.just("release"), CLUSTER, PROC, PROC),
    st.tuples(st.just("priority"), CLUSTER, PROC, st.integers(-1, 2)),
    st.tuples(st.just("match"), st.sampled_from("ST"), st.integers(1, 3)),
    st.just(("shares",)),
    st.just(("restore",)),
    st.tuples(st.just("import_dump"), st.lists(DUMPED, max_size=4)),
)
RULES = st.sampled_from(['rules = "documented"', 'rules = "dirac"', "max_jobs_in_task_queue = 2"])


class Pool:
    """A state, and what changes it."""

    def __init__(self, path, rules):
        Path(f"{path}.toml").write_text(f"[shares]\n{rules}\n")
        self.path, self.settings = path, load(None, path, {"XDG_CONFIG_HOME": str(path.parent)})

    def submit(self, owner, ad, own, template, schedd, procs):
        with writing(self.path) as state:
            number = jobs.next_cluster(state)
            submitter = f"{ad.get('AcctGroup', 'none')}.{owner}@x"
            fresh = JobRange(number, 0, procs - 1, jobs.ad_id(state, ad), submitter, owner, 1, NOW, NOW)
            fresh.own, fresh.template, fresh.schedd = own, template, schedd
            jobs.add(state, [fresh])

    def _each(self, cluster, first, last, change):
        with writing(self.path) as state:
            # A job that runs ends first, which is none of these changes.
            waiting = [
                jobs.Procs(one.schedd, cluster, proc, proc)
                for one in jobs.select(state, cluster=cluster, statuses=[JobStatus.IDLE, JobStatus.HELD])
                for proc in range(max(first, one.first_proc), min(last, one.last_proc) + 1)
            ]
            change(state, waiting)

    def remove(self, cluster, first, last):
        self._each(cluster, first, last, jobs.remove_many)

    def hold(self, cluster, first, last):
        self._each(cluster, first, last, lambda state, procs: jobs.set_status(state, procs, JobStatus.HELD, NOW, "x"))

    def release(self, cluster, first, last):
        self._each(cluster, first, last, lambda state, procs: jobs.set_status(state, procs, JobStatus.IDLE, NOW))

    def priority(self, cluster, proc, value):
        self._each(cluster, proc, proc, lambda state, procs: jobs.change_many(state, procs, priority=value))

    def match(self, site, count):
        match(self.path, self.settings, Pilot(site, 10**8, tags=("GPU",)), ACTOR, count=count, seed=1)

    def shares(self):
        recalculate_shares(self.path, self.settings, NOW)

    def import_dump(self, queues):
        listed: set[int] = set()
        for number, queue in enumerate(queues, 1):
            if isinstance(queue.get("Jobs"), list):
                queue["Jobs"] = [job for job in queue["Jobs"] if job not in listed]
                listed.update(queue["Jobs"])
            queue["TQId"] = 3 * number
        dump = Path(f"{self.path}.json")
        dump.write_text(json.dumps(queues))
        import_task_queues(self.path, self.settings, str(dump), ACTOR, host="x")

    def restore(self):
        with reading(self.path) as state:
            whole = document.export(state)
        with writing(self.path) as state:
            document.restore(state, whole)


@contextmanager
def small():
    """Store what is read of few ads, too."""
    usual = formation.WORTHWHILE
    formation.WORTHWHILE = 1
    try:
        yield
    finally:
        formation.WORTHWHILE = usual


def described(state, policy):
    """Everything that the queues of *state* are."""
    formed = form_queues(state, policy)
    return {
        "queues": formed.queues.tolist(),
        "parts": formed.parts.tolist(),
        "gone": sorted(formed.removed),
        "new": formed.first_new,
        "next": formed.next_number,
        "left out": formed.left_out,
        "members": [formed.members(state, row) for row in range(len(formed.queues))],
        "rows": [formed.row_of_job(cluster, proc) for cluster in range(1, 9) for proc in range(4)],
        "owners": sorted(formed.queues.owners[0]),
    }


def without_priorities(ad):
    return {name: value for name, value in ad.items() if name.lower() not in PRIORITY}


def plainly(job, shared, policy):
    """What one job needs: its requirements and priorities, or why it is in no queue."""
    ad = {**relevant(shared), **relevant(job.overrides_for(job.first_proc))}
    try:
        needs = plain_needs({name: plain_value(value) for name, value in ad.items()}, job.priority, policy.job_defaults)
    except JobRequirementError as error:
        return str(error)
    owner, group = identity_of(ad, job.owner)
    return needs.requirements._replace(owner=owner, group=group), needs.user_priority, needs.real_priority


@settings(max_examples=50)
@given(
    st.lists(st.tuples(AD, st.none() | AD, st.none() | AD, st.integers(-3, 12)), min_size=1, max_size=6)
    | st.lists(st.tuples(ODD_AD, st.none() | ODD_AD, st.none() | ODD_AD, st.integers(-3, 12)), min_size=1, max_size=6),
    RULES,
)
def test_the_needs_of_many_jobs_are_those_of_each(queued, rules):
    """By column or one by one: the same requirements and priorities, and the same reasons to be in no queue."""
    with tempfile.TemporaryDirectory() as folder:
        pool = Pool(Path(folder, "state.db"), rules)
        for ad, own, template, priority in queued:
            pool.submit("ann", ad, own, template, "", 2)
            with writing(pool.path) as state:
                last = jobs.select(state)[-1]
                jobs.change_many(state, [jobs.Procs("", last.cluster, 0, 1)], priority=priority)
        with reading(pool.path) as state:
            policy = share_policy(pool.settings, state)
            no_queues = Numbers(*np.empty((3, 0), np.int64))
            found, requirements, learned = read_waiting(state, policy, RequirementTable.of(()), no_queues)
            ranges = jobs.select(state)
            shared = jobs.ads(state, {job.ad_id for job in ranges})
    each = {
        (job.cluster, proc): plainly(replace(job, first_proc=proc), shared[job.ad_id], policy)
        for job in ranges
        for proc in range(job.first_proc, job.last_proc + 1)
    }
    asked = requirements.tolist()
    assert each == {
        (one.cluster, proc): one.reason or (asked[one.requirement], one.user_priority, one.real_priority)
        for one in found.tolist()
        for proc in range(one.first, one.last + 1)
    }
    assert len(set(asked)) == len(asked)
    for one in learned:
        alone = JobRange(1, 0, 0, one.ad_id, "", one.owner, 1, 0, 0)
        assert plainly(alone, without_priorities(shared[one.ad_id]), policy)[0] == asked[one.requirement]


@settings(max_examples=25)
@given(st.lists(SUBMIT, min_size=1, max_size=3), st.lists(STEP, max_size=9), RULES)
def test_known_queues_are_those_formed_from_all_ads(start, steps, rules):
    """Numbers, requirements, jobs, sums to the last bit, and what is left out and why."""
    with tempfile.TemporaryDirectory() as folder, small():
        pool = Pool(Path(folder, "state.db"), rules)
        for name, *arguments in (*start, ("shares",), *steps):
            getattr(pool, name)(*arguments)
            with reading(pool.path) as state:
                policy = share_policy(pool.settings, state)
                found = described(state, policy)
                assert check.findings(state) == []
            with trying(pool.path) as state:
                state.connection.execute("DELETE FROM job_need")
                assert found == described(state, policy)
                state.connection.execute("DELETE FROM queue_need")
                assert found == described(state, policy)
