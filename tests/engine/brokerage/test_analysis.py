"""The analysis brokerage as PanDA's page tells it, and where today's code does otherwise."""

import pytest
from msgspec.structs import replace
from tests.broker_rules import DOCUMENTED, PANDA
from tests.engine.brokerage.pools import NOW, QUEUE, chunk, pool, queue
from tests.engine.brokerage.pools import task as production_task

from fairq.engine.brokerage.analysis.flow import analysis_plan, broker_analysis
from fairq.engine.brokerage.criteria.weights import split_job_count
from fairq.engine.brokerage.jobs.tasks import Chunk, Dataset, File
from fairq.engine.brokerage.pool.columns import columns_of
from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.world import (
    Failures,
    Pilots,
    Quota,
    Relation,
    Slots,
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
    given = queues or (queue("A"), queue("B"), queue("C"))
    open_queues = [
        replace(each, releases=each.releases if each.releases != QUEUE.releases else ("ANY",)) for each in given
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
    return broker_analysis(asked, data, columns_of(world), PLAN, rules)


def reasons(outcome):
    """Return the reason of each queue, empty for candidates; the nucleus's own queue is left out."""
    return {one.queue: one.reason for one in outcome.verdicts() if one.queue != "NUC_Q"}


def names(outcome):
    return [one.queue for one in outcome.candidates]


def jobs(**of_queues):
    return {name: {SHARE: counts} for name, counts in of_queues.items()}


class TestWeight:
    def test_it_is_running_against_queued_jobs(self):
        """(running + 1) / (activated + assigned + starting + defined + 1)."""
        stats = jobs(A={"running": 9, "activated": 1, "assigned": 1, "starting": 1, "defined": 1}, B={"running": 19})
        outcome = ask(users_pool(job_stats=stats))
        assert {one.queue: one.weight for one in outcome.candidates} == {"B": 20.0, "A": 10 / 5, "C": 1.0}
        assert names(outcome) == ["B", "A", "C"]

    def test_batch_workers_stand_in_where_hardly_any_job_runs(self):
        """At most 20 of them, and only while fewer than 20 jobs run."""
        workers = {"A": {"running": 3, "submitted": 4}, "B": {"running": 500}, "C": {"running": 500}}
        outcome = ask(users_pool(workers=workers, job_stats=jobs(A={"running": 2}, C={"running": 21})))
        assert {one.queue: one.running for one in outcome.candidates} == {"A": 7, "B": 20, "C": 21}

    def test_requested_slots_count_as_running_and_none_of_them_adds_starting_jobs(self):
        slots = (Slots("A", SHARE, "SCORE", 40), Slots("B", SHARE, "SCORE", 0))
        world = users_pool(slots=slots, job_stats=jobs(A={"running": 2}, B={"running": 2, "starting": 5}))
        for rules, of_b in ((DOCUMENTED, 5), (PANDA, 7)):
            outcome = ask(world, rules)
            assert {one.queue: one.running for one in outcome.candidates} == {"A": 40, "B": of_b, "C": 0}

    def test_the_code_divides_the_jobs_by_class_and_by_what_the_user_may_still_queue(self):
        """40 jobs of a task of class A: nearly all to the queues of class 1, by twice their running jobs."""
        world = users_pool(site_classes={"A": 1, "B": 0, "C": -1}, job_stats=jobs(A={"running": 100}))
        outcome = ask(world, PANDA, chunk(40))
        weights = {one.queue: one.weight for one in outcome.candidates}
        # One queue of class 1 with room for 200: (200 - 39.948) / (200 - 39.948) of 40 - 0.052 jobs.
        assert weights["A"] == pytest.approx(39.948)
        assert weights["B"] == pytest.approx(0.05, abs=1e-5)
        assert weights["C"] == pytest.approx(0.002, abs=1e-5)


class TestInput:
    def test_queues_without_the_input_are_tried_only_if_none_is_left_with_it(self):
        """The first pass finds A; if A is offline, the second one takes those that can have it moved."""
        where = {"ds": {"A": None}}
        first = ask(users_pool(replicas=where))
        assert (names(first), reasons(first)["B"]) == (["A"], "no_data")
        second = ask(users_pool(queue("A", status="offline"), queue("B"), replicas=where))
        assert (names(second), reasons(second)["A"]) == (["B", "NUC_Q"], "status")
        assert [stage.stage for stage in second.stages if stage.stage.startswith("LOOP")] == [
            "LOOP with data locality",
            "LOOP without data locality",
        ]

    def test_input_that_cannot_be_read_from_afar_is_not_moved(self):
        """Its only replica is at A, which is offline, and cannot be read over WAN: nothing is left."""
        storage = Storage("A", "A", space_free=1000, activities={"read_wan": "OFF"})
        world = users_pool(
            queue("A", status="offline"), queue("B"), replicas={"ds": {"A": None}}, storages={"A": storage}
        )
        outcome = ask(world)
        assert (outcome.status, names(outcome), reasons(outcome)) == ("failed", [], {"A": "status", "B": "blacklist"})
        outcome = ask(world, preset("documented", second_pass_needs_source=True))
        assert reasons(outcome) == {"A": "status", "B": "no_data"}

    def test_by_the_code_input_that_is_nowhere_complete_stops_the_task(self):
        """Of 100 files 80 are there: more than ten are missing and less than 90 % are found."""
        found = frozenset(f"f{number}" for number in range(80))
        world = users_pool(replicas={"ds": {"A": found}})
        code = preset("documented", incomplete_input=True)
        stopped = ask(world, code, chunk_=chunk(100))
        assert (stopped.status, stopped.stopped_by) == ("failed", "incomplete_input")
        assert names(ask(world, code, chunk_=chunk(100), codes={"AI": "1"})) == ["A"]
        assert names(ask(world, chunk_=chunk(100))) == ["A"]

    def test_datasets_at_different_queues_are_united(self):
        """No queue has both: those that have one are taken, and the other dataset is moved."""
        both = Chunk((Dataset("d1", (File("a", 2**31),)), Dataset("d2", (File("b", 2**31),))))
        world = users_pool(replicas={"d1": {"A": None}, "d2": {"B": None}})
        outcome = ask(world, chunk_=both)
        assert sorted(names(outcome)) == ["A", "B"]
        assert reasons(outcome)["C"] == "no_data"

    def test_virtual_placement_gives_way_to_real_replicas_and_is_not_moved_to(self):
        relations = {"A": (Relation("A"),), "V": (Relation("V"), Relation("X_VP_DISK", default_write=False))}
        known = {"relations": relations, "storages": {"X_VP_DISK": Storage("X_VP_DISK", "V", space_free=1000)}}
        real = users_pool(queue("A"), queue("V"), replicas={"ds": {"A": None, "X_VP_DISK": None}}, **known)
        assert reasons(ask(real)) == {"A": "", "V": "no_data"}
        moved = users_pool(queue("A", status="offline"), queue("V"), replicas={"ds": {"A": None}}, **known)
        assert reasons(ask(moved, PANDA)) == {"A": "status", "V": "avoid_vp"}
        assert reasons(ask(moved)) == {"A": "status", "V": ""}


class TestStops:
    @pytest.mark.parametrize(
        ("totals", "tag"),
        [
            (UserTotals(running_jobs=101), "cap_running_jobs"),
            (UserTotals(queued_jobs=201), "cap_queued_jobs"),
            (UserTotals(running_cores=801), "cap_running_cores"),
            (UserTotals(queued_cores=1601), "cap_queued_cores"),
        ],
    )
    def test_a_user_over_a_cap_waits(self, totals, tag):
        """More than the cap running, or more than twice as many queued; merges go on."""
        caps = Config({"prio_mgr.CAP_RUNNING_USER_JOBS": 100, "prio_mgr.CAP_RUNNING_USER_CORES": 800})
        world = users_pool(user_totals={"jane": totals}, config=caps)
        outcome = ask(world)
        assert (outcome.status, outcome.stopped_by) == ("waiting", tag)
        assert ask(world, chunk_=chunk(1, is_merging=True)).status == "assigned"

    def test_a_working_group_has_caps_of_its_own(self):
        caps = Config({"prio_mgr.CAP_RUNNING_GROUP_JOBS": 10})
        world = users_pool(user_totals={"higgs": UserTotals(11), "jane": UserTotals(11)}, config=caps)
        assert ask(world, working_group="higgs").status == "assigned"
        world = replace(world, user_totals={"higgs": UserTotals(running_jobs=11)})
        assert ask(world, working_group="higgs").stopped_by == "cap_running_jobs"
        assert ask(world).status == "assigned"

    def test_a_user_over_the_quota_goes_no_further(self):
        """By the page the task is throttled, which does not age it; being near the quota is no matter."""
        for rules, status in ((DOCUMENTED, "waiting"), (PANDA, "failed")):
            outcome = ask(users_pool(quotas={"jane": Quota(ok=False)}), rules)
            assert (outcome.status, outcome.stopped_by) == (status, "global_quota")
        near = users_pool(quotas={"jane": Quota(near=True)})
        assert (ask(near).stopped_by, ask(near, PANDA).stopped_by) == ("", "global_quota_near")

    def test_a_task_without_queues_is_tried_again_in_20_minutes_by_the_page_and_60_by_the_code(self):
        world = users_pool(queue("A", status="offline"), replicas={"ds": {"A": None}})
        world = replace(world, queues={"A": world.queues["A"]})
        assert ask(world).retry_after == 20 * 60
        assert ask(world, PANDA).retry_after == 60 * 60


class TestTemporaryProblems:
    def test_by_the_page_a_queue_with_too_many_jobs_is_skipped(self):
        """Queued above 2 * max(20, running): 41 where nothing runs, 61 where 30 run. The code has another rule."""
        stats = jobs(A={"activated": 40}, B={"activated": 41, "running": 1}, C={"activated": 60, "running": 30})
        assert reasons(ask(users_pool(job_stats=stats))) == {"A": "", "B": "cap", "C": ""}
        assert reasons(ask(users_pool(job_stats=stats), PANDA)) == {"A": "overloaded", "B": "overloaded", "C": ""}

    def test_failed_and_closed_jobs_must_be_fewer_than_twice_those_finished_and_than_five(self):
        """By the page everywhere; the code leaves out any queue with a closed job, and asks on crowded ones."""
        failures = {1: {"A": Failures(4, 0, 0), "B": Failures(3, 2, 0), "C": Failures(5, 2, 4)}}
        world = users_pool(failures=failures)
        assert reasons(ask(world)) == {"A": "", "B": "badsite", "C": ""}
        assert reasons(ask(world, PANDA)) == {"A": "", "B": "closed", "C": "closed"}

    def test_a_user_with_too_many_jobs_at_a_queue_goes_elsewhere(self):
        """100 jobs wait at A, 60 of them jane's, who may have half of 100 there."""
        there = {SHARE: {"jane": UserJobs(60, 0), "_total": UserJobs(100, 60)}}
        world = users_pool(user_stats={"A": there}, job_stats=jobs(A={"activated": 100, "running": 60}))
        assert reasons(ask(world)) == {"A": "", "B": "", "C": ""}
        crowded = {SHARE: {"jane": UserJobs(61, 0), "_total": UserJobs(100, 60)}}
        outcome = ask(replace(world, user_stats={"A": crowded}), user="jane")
        assert outcome.verdict(outcome.ask.pool.rows["A"]).reason == "badsite"

    def test_by_the_code_a_task_may_leave_its_input_if_every_queue_with_it_has_a_problem(self):
        there = {SHARE: {"jane": UserJobs(500, 0), "_total": UserJobs(500, 300)}}
        stats = jobs(A={"activated": 500, "running": 300})
        world = users_pool(replicas={"ds": {"A": None}}, user_stats={"A": there}, job_stats=stats)
        code = preset("documented", problems_open_second_pass=True, locality_suppressed=False)
        stays, leaves = ask(world, code, task_priority=1999), ask(world, code, task_priority=2000)
        assert (stays.status, names(stays)) == ("failed", [])
        assert sorted(names(leaves)) == ["B", "C", "NUC_Q"]
        assert reasons(leaves)["A"] == "badsite"


class TestUsersChoice:
    def test_lists_of_queues_hold_by_the_code_only_with_the_rule_for_them(self):
        lists = {"includedSite": ["A", "B*"], "excludedSite": "B"}
        assert reasons(ask(users_pool(), PANDA, parameters=lists)) == {"A": "", "B": "", "C": ""}
        for rules, codes in ((PANDA, {"LS": "1"}), (DOCUMENTED, {})):
            chosen = ask(users_pool(), rules, parameters=lists, codes=codes)
            assert reasons(chosen) == {"A": "", "B": "excluded", "C": "notincluded"}

    def test_named_queues_may_be_closed_to_the_brokerage(self):
        world = users_pool(queue("A", status="brokeroff"), queue("B"))
        assert reasons(ask(world))["A"] == "status"
        assert names(ask(world, site="A")) == ["A"]
        assert reasons(ask(world, site="A"))["B"] == "nonpreassigned"
        assert "A" in names(ask(world, parameters={"includedSite": ["A"]}, codes={"LS": "1"}))

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


class TestQueues:
    @pytest.mark.parametrize(
        ("fields", "reason"),
        [
            ({"status": "test"}, "status"),
            ({"status": "paused"}, ""),
            ({"fairsharepolicy": "type=any:0%"}, "zeroshare"),
            ({"corecount": 8}, "cpucore"),
            ({"maxrss": 1000}, "lowmemory"),
            ({"minrss": 2000}, "highmemory"),
            ({"maxwdir": 299}, "disk"),
            ({"catchall": "gpu"}, "gpu_architecture"),
            ({"releases": ()}, "cache"),
            ({"type": "production"}, "wrong_type"),
            ({"maxtime": 1023}, "shortwalltime"),
            ({"params": {"max_io_intensity": 10}}, "max_io_intensity"),
        ],
    )
    def test_each_filter_has_its_reason(self, fields, reason):
        """A job of 1500 MB, one file of 1 GiB, a second for each MiB, under the rules of the code."""
        work = {"work_disk_count": 0, "ram_count": 1500, "io_intensity": 100}
        found = ask(users_pool(queue("A", **fields), queue("B"), replicas=EVERYWHERE), PANDA, **work)
        assert reasons(found) == {"A": reason, "B": ""}

    def test_pilots_storage_and_quotas_count(self):
        world = users_pool(
            pilots={"A": Pilots(1, 0), "B": Pilots(0, 0), "C": Pilots(1, 0), "NUC_Q": Pilots(1, 0)},
            storages={"C": Storage("C", "C", space_free=199)},
            quotas={"jane": Quota(endpoints_over=frozenset({"A"}))},
        )
        assert reasons(ask(world)) == {"A": "", "B": "nopilot", "C": "disk"}
        assert reasons(ask(world, PANDA)) == {"A": "local_quota", "B": "nopilot", "C": "disk"}

    def test_hospital_queues_are_the_last_resort(self):
        world = users_pool(queue("A_HOSPITAL"), queue("B"), replicas={"ds": {"A_HOSPITAL": None, "B": None}})
        assert reasons(ask(world, PANDA)) == {"A_HOSPITAL": "hospital", "B": ""}
        assert reasons(ask(world)) == {"A_HOSPITAL": "", "B": ""}
        alone = replace(world, queues={"A_HOSPITAL": world.queues["A_HOSPITAL"]})
        assert names(ask(alone, PANDA)) == ["A_HOSPITAL"]


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

    def test_no_input_is_not_split(self):
        assert split_job_count(user_task(), Chunk(), 300) == 0


def test_a_task_failing_for_long_may_leave_its_input():
    config = Config({"anal_jobbroker.DATA_CHECK_TIMEOUT_USER": 48})
    there = {SHARE: {"jane": UserJobs(500, 0), "_total": UserJobs(500, 300)}}
    world = users_pool(
        replicas={"ds": {"A": None}},
        user_stats={"A": there},
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
