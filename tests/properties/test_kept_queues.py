"""Whatever happens to the jobs, task queues from the kept copy are those that are formed from all jobs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairq.records import Actor, JobRange, JobStatus
from fairq.settings import load
from fairq.state import check, document, jobs
from fairq.state.connection import State, reading, trying, writing
from fairq.steps.taskqueues import kept
from fairq.steps.taskqueues.forming import form_queues
from fairq.steps.taskqueues.match import match
from fairq.steps.taskqueues.pilots import Pilot
from fairq.steps.taskqueues.policy import SharePolicy, share_policy
from fairq.steps.taskqueues.priorities import recalculate_shares

NOW = 1_795_210_080
ACTOR = Actor("pilot", "fairq taskqueues match", NOW)

AD = st.fixed_dictionaries(
    {},
    optional={
        "AcctGroup": st.sampled_from(["g", "h"]),
        "Sites": st.sampled_from(["", "S", "T", "S, T", "ANY"]),
        "Tags": st.sampled_from(["GPU", "A, B", 'X"Y,ä']),
        "CPUTime": st.sampled_from([1, 361, "/Expr(300 + 61)/", -5]),
        "MinRAM": st.sampled_from([1000, 2**60]),
        "RealPriority": st.sampled_from([0.1, 0.7, 3.0]),
    },
)
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
)
RULES = st.sampled_from(['rules = "documented"', 'rules = "dirac"', "max_jobs_in_task_queue = 2"])


class Pool:
    """A state, and what changes it."""

    def __init__(self, path: Path, rules: str) -> None:
        Path(f"{path}.toml").write_text(f"[shares]\n{rules}\n")
        self.path, self.settings = path, load(None, path, {"XDG_CONFIG_HOME": str(path.parent)})

    def submit(self, owner: str, ad: Any, own: Any, template: Any, schedd: str, procs: int) -> None:
        with writing(self.path) as state:
            number = jobs.next_cluster(state)
            submitter = f"{ad.get('AcctGroup', 'none')}.{owner}@x"
            fresh = JobRange(number, 0, procs - 1, jobs.ad_id(state, ad), submitter, owner, 1, NOW, NOW)
            fresh.own, fresh.template, fresh.schedd = own, template, schedd
            jobs.add(state, [fresh])

    def _each(self, cluster: int, first: int, last: int, change: Callable[[State, list[jobs.Procs]], object]) -> None:
        with writing(self.path) as state:
            # A job that runs ends first, which is none of these changes.
            waiting = [
                jobs.Procs(one.schedd, cluster, proc, proc)
                for one in jobs.select(state, cluster=cluster, statuses=[JobStatus.IDLE, JobStatus.HELD])
                for proc in range(max(first, one.first_proc), min(last, one.last_proc) + 1)
            ]
            change(state, waiting)

    def remove(self, cluster: int, first: int, last: int) -> None:
        self._each(cluster, first, last, jobs.remove_many)

    def hold(self, cluster: int, first: int, last: int) -> None:
        self._each(cluster, first, last, lambda state, procs: jobs.set_status(state, procs, JobStatus.HELD, NOW, "x"))

    def release(self, cluster: int, first: int, last: int) -> None:
        self._each(cluster, first, last, lambda state, procs: jobs.set_status(state, procs, JobStatus.IDLE, NOW))

    def priority(self, cluster: int, proc: int, value: int) -> None:
        self._each(cluster, proc, proc, lambda state, procs: jobs.change_many(state, procs, priority=value))

    def match(self, site: str, count: int) -> None:
        match(self.path, self.settings, Pilot(site, 10**8, tags=("GPU",)), ACTOR, count=count, seed=1)

    def shares(self) -> None:
        recalculate_shares(self.path, self.settings, NOW)

    def restore(self) -> None:
        with reading(self.path) as state:
            whole = document.export(state)
        with writing(self.path) as state:
            document.restore(state, whole)


@contextmanager
def small() -> Iterator[None]:
    """Keep copies of small pools, too."""
    usual = kept.WORTHWHILE, kept.FEW_CHANGES
    kept.WORTHWHILE, kept.FEW_CHANGES = 1, 3  # type: ignore[misc]
    try:
        yield
    finally:
        kept.WORTHWHILE, kept.FEW_CHANGES = usual  # type: ignore[misc]


def described(state: State, policy: SharePolicy) -> dict[str, Any]:
    """Everything that the queues of *state* are."""
    formed = form_queues(state, policy)
    of = formed.numbers
    return {
        "queues": list(formed.queues),
        "rows": [formed.queues[row] for row in range(len(formed.queues))],
        "parts": of.part[formed.places].tolist(),
        "gone": sorted(of.number[of.jobs == 0].tolist()),
        "new": sorted(of.number[formed.stored :].tolist()),
        "next": formed.next_number,
        "left out": formed.left_out,
        "members": [formed.members(state, policy, row) for row in range(len(formed.queues))],
        "owners": sorted(formed.queues.owners[0]),
    }


@settings(max_examples=25)
@given(st.lists(SUBMIT, min_size=1, max_size=3), st.lists(STEP, max_size=9), RULES)
def test_kept_queues_are_those_formed_from_all_jobs(start: list[Any], steps: list[Any], rules: str) -> None:
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
                state.connection.execute("DELETE FROM kept_queues")
                assert found == described(state, policy)
