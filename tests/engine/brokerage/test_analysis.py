"""What the page and the recorded cases do not reach of the analysis brokerage, by the page and by today's code."""

import pytest
from msgspec.structs import replace
from tests.broker_rules import DOCUMENTED, PANDA
from tests.engine.brokerage.pools import NOW, QUEUE, chunk, pool, queue
from tests.engine.brokerage.pools import task as production_task

from fairq.engine.brokerage.analysis import analysis_plan, broker_analysis
from fairq.engine.brokerage.criteria.weights import split_job_count
from fairq.engine.brokerage.jobs.tasks import Case, Chunk, Dataset, File
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.world import (
    Relation,
    Storage,
    UserJobs,
    UserTotals,
)
from fairq.steps.broker.flows import preset

PLAN = analysis_plan()
SHARE = "User Analysis"
EVERYWHERE = {"ds": {"A": None, "B": None, "C": None}}


def user_task(**fields):
    """Return a user's task."""
    common = {"label": "user", "gshare": SHARE, "nucleus": None, "user": "jane", "task_priority": 1000}
    return production_task(**{**common, "current_priority": 500, **fields})


def users_pool(*queues, **known):
    """Return a pool of *queues* that take what has no release, by default A, B and C, where the input is."""
    plain_queues = queues or (queue("A"), queue("B"), queue("C"))
    open_queues = [
        replace(plain_queue, releases=plain_queue.releases if plain_queue.releases != QUEUE.releases else ("ANY",))
        for plain_queue in plain_queues
    ]
    return pool(*open_queues, **{"replicas": EVERYWHERE, **known})


def ask(
    world,
    rules=DOCUMENTED,
    chunk_=None,
    codes=None,
    **fields,
):
    """Return what becomes of a user's task with one file of input; *codes* are its two-letter rules."""
    asked, data = user_task(rules=codes or {}, **fields), chunk(1) if chunk_ is None else chunk_
    (outcome,) = broker_analysis([Case(asked, data)], Pool(world, rules), PLAN)
    return outcome


def reasons(outcome):
    """Return the reason of each queue, empty for candidates; the nucleus's own queue is left out."""
    return {verdict.queue: verdict.reason for verdict in outcome.verdicts() if verdict.queue != "NUC_Q"}


def names(outcome):
    return [candidate.queue for candidate in outcome.candidates]


def jobs(**of_queues):
    return {name: {SHARE: counts} for name, counts in of_queues.items()}


class TestInput:
    def test_virtual_placement_gives_way_to_real_replicas_and_is_not_moved_to(self):
        relations = {"A": (Relation("A"),), "V": (Relation("V"), Relation("X_VP_DISK", default_write=False))}
        known = {"relations": relations, "storages": {"X_VP_DISK": Storage("X_VP_DISK", "V", space_free=1000)}}
        real = users_pool(queue("A"), queue("V"), replicas={"ds": {"A": None, "X_VP_DISK": None}}, **known)
        assert reasons(ask(real)) == {"A": "", "V": "no_data"}
        moved = users_pool(queue("A", status="offline"), queue("V"), replicas={"ds": {"A": None}}, **known)
        assert reasons(ask(moved, PANDA)) == {"A": "status", "V": "avoid_vp"}
        assert reasons(ask(moved)) == {"A": "status", "V": ""}


class TestStops:
    def test_a_working_group_has_caps_of_its_own(self):
        caps = Config({"prio_mgr.CAP_RUNNING_GROUP_JOBS": 10})
        world = users_pool(user_totals={"higgs": UserTotals(11), "jane": UserTotals(11)}, config=caps)
        assert ask(world, working_group="higgs").status == "assigned"
        world = replace(world, user_totals={"higgs": UserTotals(running_jobs=11)})
        assert ask(world, working_group="higgs").stopped_by == "cap_running_jobs"
        assert ask(world).status == "assigned"

    @pytest.mark.parametrize(("left", "stop"), [(100, "share_class_A"), (400, ""), (None, "")])
    def test_the_best_class_waits_above_its_share_the_more_slots_its_user_has(self, left, stop):
        """The share is at 130 %: 117 % for who has used 900 of 1000 slots, 78 % for 600, half where nobody knows."""
        world = users_pool(
            share_usage={SHARE: 1.3},
            task_classes={1: 1},
            remaining_slots={} if left is None else {"jane": left},
        )
        assert ask(world, PANDA).stopped_by == stop


class TestTemporaryProblems:
    def test_by_the_code_a_task_may_leave_its_input_if_every_queue_with_it_has_a_problem(self):
        user_jobs = {SHARE: {"jane": UserJobs(500, 0), "_total": UserJobs(500, 300)}}
        stats = jobs(A={"activated": 500, "running": 300})
        world = users_pool(replicas={"ds": {"A": None}}, user_stats={"A": user_jobs}, job_stats=stats)
        code = preset("documented", problems_open_second_pass=True, locality_suppressed=False)
        stays, leaves = ask(world, code, task_priority=1999), ask(world, code, task_priority=2000)
        assert (stays.status, names(stays)) == ("failed", [])
        assert sorted(names(leaves)) == ["B", "C", "NUC_Q"]
        assert reasons(leaves)["A"] == "badsite"


class TestUsersChoice:
    def test_a_task_whose_own_queue_is_out_cannot_go_on(self):
        """The task is given A, which is offline though others are not: it fails by the code; by the page it gets A."""
        world = users_pool(queue("A", status="offline"), queue("B"))
        assert ask(world, PANDA, site="A", chunk_=Chunk()).status == "fatal"
        assert names(ask(world, site="A", chunk_=Chunk())) == ["A"]

    def test_storage_may_be_named_in_the_place_of_a_queue(self):
        assert names(ask(users_pool(relations={"A": (Relation("S"),)}, storages={"S": Storage("S", space_free=999)}),
                         chunk_=Chunk(), site="S")) == ["A"]  # fmt: skip

    def test_queues_in_use_come_first_by_the_code(self):
        stats = jobs(B={"running": 100})
        world = users_pool(job_stats=stats, used_queues={1: frozenset({"C"})})
        assert names(ask(world, preset("documented", used_queues_first=True))) == ["C", "B", "A"]
        assert names(ask(world)) == ["B", "A", "C"]


class TestNumberOfJobs:
    def test_files_are_put_together_as_far_as_a_job_holds_them(self):
        files = chunk(40, 2**20)
        assert split_job_count(user_task(rules={"NF": "1"}), files, 300) == 40
        assert split_job_count(user_task(rules={"NF": "4"}), files, 300) == 10
        assert split_job_count(replace(user_task(), rules={"MF": "3"}), files, 300) == 14
        assert split_job_count(replace(user_task(), rules={}), files, 300) == 1

    def test_size_limits_a_job(self):
        """Four files of 4 GiB in jobs of 10 GiB: two each."""
        assert split_job_count(replace(user_task(), rules={"NG": "10"}), chunk(4, 2**32), 300) == 2

    def test_output_counts_in_the_size_of_a_job(self):
        """Four files of 1000 MiB in jobs of 10 GiB and the output expected: with 2 MiB for each MiB, three fit."""
        for count, split in ((1, 1), (2, 2)):
            asked = replace(user_task(out_disk_count=count, out_disk_unit="MB"), rules={"NG": "10"})
            assert split_job_count(asked, chunk(4, 1000 * 2**20), 300) == split

    def test_no_input_is_not_split(self):
        assert split_job_count(user_task(), Chunk(), 300) == 0


def test_a_task_failing_for_long_may_leave_its_input():
    config = Config({"anal_jobbroker.DATA_CHECK_TIMEOUT_USER": 48})
    user_jobs = {SHARE: {"jane": UserJobs(500, 0), "_total": UserJobs(500, 300)}}
    world = users_pool(
        replicas={"ds": {"A": None}},
        user_stats={"A": user_jobs},
        job_stats=jobs(A={"activated": 500, "running": 300}),
        config=config,
    )
    code = preset("documented", problems_open_second_pass=True)
    assert ask(world, code, frozen_time=NOW - 47 * 3600).status == "failed"
    assert ask(world, code, frozen_time=NOW - 49 * 3600).status == "assigned"


def test_a_dataset_without_files_is_no_input():
    """Nothing of it need be nearby, or anywhere."""
    empty = Chunk((*chunk(1).datasets, Dataset("nothing")))
    assert names(ask(users_pool(replicas={"ds": {"A": None}}), chunk_=empty)) == ["A"]


def test_users_jobs_read_by_default_where_only_their_output_goes_elsewhere():
    """As at CERN: storage of its own is given for what users' jobs write, none for what they read."""
    mixed = (Relation("A"), Relation("S", roles=frozenset({"write_lan"}), scope="analysis"))
    known = {"replicas": {"ds": {"A": None}}, "storages": {"S": Storage("S", "A", space_free=199)}}
    assert reasons(ask(users_pool(relations={"A": mixed}, **known)))["A"] == "disk"
    plenty = {**known, "storages": {"S": Storage("S", "A", space_free=201)}}
    assert reasons(ask(users_pool(relations={"A": mixed}, **plenty)))["A"] == ""


def test_the_parts_of_a_container_may_lie_apart():
    """Its name ends with a slash: every queue with a part counts, and no part need be complete anywhere.

    By the code all of them are taken, by the page the ten best.
    """
    files = tuple(File(f"f{number}", 2**30) for number in range(30))
    parts = {f"Q{n:02}": frozenset({f"f{n}"}) for n in range(12)}
    world = users_pool(*map(queue, parts), replicas={"user.jane/": parts})
    asked = Chunk((Dataset("user.jane/", files),))
    assert sorted(names(ask(world, PANDA, chunk_=asked))) == sorted(parts)
    assert len(names(ask(world, chunk_=asked))) == 10
