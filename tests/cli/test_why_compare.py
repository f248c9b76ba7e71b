"""``why --compare`` of the three schemes: whether, and at which step, the other set of rules decides otherwise."""

import json

import pytest
from tests.cli.broker_sample import POOL, fill
from tests.documents.condor_pool import NOW, busy_ad, job_ad, make_pool, slot_ad
from tests.documents.dirac_grid import make_grid

pool = pytest.fixture(make_pool)
grid = pytest.fixture(make_grid)


def compare(pool, subject, *words):
    return pool.fairq("why", subject, "--compare", *words, "--now", NOW, "--json")["compare"]


def figures(found):
    """What both sets make of each step."""
    return {step["step"]: (step["here"], step["there"]) for step in found["steps"]}


def sharing(pool, slots=10, users=3, jobs=10):
    """Let some equal users share slots that do not come out even."""
    pool.slots(slots)
    for number in range(users):
        pool.submit(f"u{number}", jobs)


class TestJobsSubmittersAndGroups:
    def test_the_slot_that_is_left_over_goes_to_nobody_under_the_program(self, pool):
        sharing(pool)
        comparison = compare(pool, "1.3")
        assert (comparison["rules"], comparison["other_rules"], comparison["differs"]) == (
            "documented",
            "htcondor",
            True,
        )
        assert comparison["differs_at"] == "matches of its submitter"
        assert figures(comparison)["matches of its submitter"] == (4, 3)
        assert figures(comparison)["decision"] == ("gets slot10@node", "submitter limit")
        assert comparison["points"] == ["negotiator.last_dealing"]

    def test_the_sentence_names_the_step_and_the_points(self, pool):
        sharing(pool)
        assert (
            "The rules htcondor decide differently. The first step that differs: matches of its submitter. "
            "Rule points that change the decision on their own: negotiator.last_dealing."
        ) in pool.fairq("why", "1.3", "--compare", "--now", NOW).out

    def test_a_job_that_both_sets_match_is_decided_the_same(self, pool):
        sharing(pool)
        comparison = compare(pool, "1.0")
        assert (comparison["differs"], comparison["differs_at"], comparison["points"]) == (False, None, None)
        assert "The rules htcondor decide the same." in pool.fairq("why", "1.0", "--compare", "--now", NOW).out

    def test_the_program_in_force_is_compared_with_the_texts(self, pool):
        pool.settings('[negotiator]\nrules = "htcondor"\n')
        sharing(pool)
        comparison = compare(pool, "1.3")
        assert (comparison["rules"], comparison["other_rules"]) == ("htcondor", "documented")
        assert figures(comparison)["decision"] == ("submitter limit", "gets slot10@node")

    def test_a_point_that_somebody_set_stays(self, pool):
        pool.settings("[negotiator]\nlast_dealing = false\n")
        sharing(pool)
        assert not compare(pool, "1.3")["differs"]

    def test_a_submitter(self, pool):
        sharing(pool)
        comparison = compare(pool, "u0")
        assert figures(comparison) == {
            "allocation of its group": ([None], [None]),
            "submitter limit": ([3.333], [3.333]),
            "decision": ([4], [3]),
        }

    def test_slices_that_count_what_is_in_use(self, pool):
        """Of ten slots one user holds eight; two newcomers get one each, or one of them both."""
        pool.slots(10)
        pool.submit("ann", 8)
        pool.cycle()
        for user in ("bob", "cyd"):
            pool.submit(user, 5)
        comparison = compare(pool, "cyd")
        assert (comparison["differs_at"], figures(comparison)["decision"]) == ("submitter limit", ([1], [0]))
        assert comparison["points"] == ["negotiator.pie_slices"]

    def test_the_order_of_groups(self, pool):
        """A quota beyond the pool is strict priority in the manuals, and a large quota in the program."""
        pool.settings(
            "[negotiator]\nnegotiator_allow_quota_oversubscription = true\n"
            "[groups.big]\nquota = 5000\n[groups.small]\nquota = 20\n"
        )
        pool.slots(10)
        pool.submit("ann", 7, group="big")
        pool.cycle()
        for user, group in (("ann", "big"), ("bob", "small")):
            pool.submit(user, 9, group=group)
        comparison = compare(pool, "small")
        assert (comparison["differs_at"], figures(comparison)["decision"]) == ("order of the groups", (0.0, 3.0))
        assert comparison["points"] == ["negotiator.strict_priority_quotas"]

    def test_quotas_that_are_scaled_down(self, pool):
        pool.settings("[groups.a]\nquota = 8\n[groups.b]\nquota = 4\n")
        pool.slots(6)
        for group in "ab":
            pool.submit("ann", 9, group=group)
        comparison = compare(pool, "a")
        assert "negotiator.negotiator_allow_quota_oversubscription" in comparison["points"]
        assert figures(comparison)["quota"] == (4.0, 8.0)

    def test_ceilings_are_the_same(self, pool):
        pool.slots(5)
        pool.submit("ann", 5)
        pool.fairq("userprio", "--setceiling", "ann@example.org", 2, "--now", NOW)
        comparison = compare(pool, "1.4")
        assert not comparison["differs"]
        assert figures(comparison)["decision"] == ("ceiling", "ceiling")

    def test_concurrency_limits_are_the_same(self, pool):
        pool.settings("[limits]\nlicence = 1\n")
        pool.slots(5)
        pool.submit("ann", 3, "--concurrency-limits", "licence")
        assert figures(compare(pool, "1.2"))["decision"] == ("concurrency limit", "concurrency limit")

    def test_a_partitionable_slot_is_carved_or_given_whole(self, pool):
        pool.import_(slots=[slot_ad("slot1@a", Cpus=4, TotalCpus=4, PartitionableSlot=True, SlotType="Partitionable")])
        pool.submit("ann", 1)
        pool.submit("bob", 1)
        comparison = compare(pool, "2.0")
        assert comparison["differs"]
        assert comparison["points"] == ["negotiator.partitionable_slots"]
        assert figures(comparison)["decision"][0] == "gets slot1@a"

    def test_a_cluster_that_is_skipped(self, pool):
        """After a job that found no slot the manual passes over its cluster, the program over jobs like it."""
        pool.slots(2)
        pool.import_(jobs=[
            job_ad(1, "ann", RequestCpus=64, JobPrio=5, Requirements="/Expr(TARGET.Cpus >= RequestCpus)/"),
            job_ad(1, "ann", ProcId=1),
        ])  # fmt: skip
        comparison = compare(pool, "1.1")
        assert figures(comparison)["decision"][0] == "skipped with its cluster"
        assert figures(comparison)["decision"][1].startswith("gets ")
        assert comparison["points"] == ["negotiator.skip_by"]

    def test_a_pair_is_compared_as_its_job(self, pool):
        sharing(pool)
        assert compare(pool, "1.3", "--slot", "slot10@node")["points"] == ["negotiator.last_dealing"]


class TestJobsThatAreNotIdle:
    def test_a_running_job_keeps_its_slot(self, pool):
        sharing(pool, 2, 1, 1)
        pool.cycle()
        assert figures(compare(pool, "1.0")) == {"decision": ("keeps slot1@node", "keeps slot1@node")}

    def test_a_running_job_that_only_the_program_preempts(self, pool):
        """The priorities are equal: the manual wants a better one, the program asks PREEMPTION_REQUIREMENTS alone."""
        pool.settings('[negotiator]\npreemption_requirements = "True"\n')
        pool.slots(2)
        pool.submit("ann", 2)
        pool.cycle()
        pool.submit("bob", 1)
        comparison = compare(pool, "1.0")
        assert figures(comparison)["decision"] == ("keeps slot1@node", "loses slot1@node to bob@example.org")
        assert comparison["points"] == ["negotiator.preempt_prio_delta"]

    def test_held_jobs_and_those_that_ended(self, pool):
        sharing(pool, 1, 1, 2)
        pool.cycle()
        pool.fairq("hold", "1.1", "--now", NOW)
        pool.finish(["1.0"], NOW)
        assert figures(compare(pool, "1.1")) == {"decision": ("held", "held")}
        assert figures(compare(pool, "1.0")) == {"decision": ("ended", "ended")}

    def test_an_unknown_job_is_refused(self, pool):
        pool.import_(slots=[busy_ad("slot1@a", "ben")], jobs=[job_ad(1, "ann")])
        assert "no job 7.0" in pool.fairq("why", "7.0", "--compare", "--now", NOW, code=30).err

    def test_a_slot_that_was_claimed_elsewhere(self, pool):
        pool.import_(slots=[busy_ad("slot1@a", "ben")], jobs=[job_ad(1, "ann")])
        assert not compare(pool, "1.0")["differs"]


class TestTaskQueues:
    PILOT = ("--site", "A", "--cputime", 10**6, "--now", NOW)

    def why(self, grid, what):
        return grid.fairq("taskqueues", "why", what, *self.PILOT, "--compare", "--json")["compare"]

    def test_queues_of_one_group_in_several_sites(self, grid):
        """By the schema each has a third of the share; in DIRAC each has it whole."""
        grid.groups(prod=900, user=900)
        for site in "ABC":
            grid.submit("ann", "prod", Sites=f'"{site}, A"' if site != "A" else '"A"')
        grid.submit("bob", "user")
        comparison = self.why(grid, 1)
        assert (comparison["differs"], comparison["differs_at"]) == (True, "priority")
        assert figures(comparison)["decision"][0] == "offered, chance 16.7%"
        assert comparison["points"] == ["shares.site_families", "shares.selection"]

    def test_a_queue_that_no_set_offers(self, grid):
        grid.groups(user=900)
        grid.submit("bob", "user", Sites='"B"')
        comparison = self.why(grid, 1)
        assert not comparison["differs"]
        assert figures(comparison)["conditions that fail"] == ("Site", "Site")
        text = grid.fairq("taskqueues", "why", 1, *self.PILOT, "--compare").out
        assert "The rules dirac decide the same." in text

    def test_a_running_job_is_in_no_queue_under_either(self, grid):
        grid.groups(user=900)
        grid.submit("bob", "user")
        grid.matches(1)
        assert not self.why(grid, "1.0")["differs"]


class TestBrokerage:
    @pytest.fixture
    def why(self, run, state, tmp_path):
        queues = [*POOL["queues"], {**POOL["queues"][0], "name": "STANDBY", "status": "standby"}]
        pilots = [*POOL["pilots"], {"queue": "STANDBY", "getJob": 5}]
        relations = [*POOL["relations"], {"queue": "STANDBY", "rse": "NUC_DISK"}]
        fill(run, state, tmp_path, queues=queues, pilots=pilots, relations=relations)

        def why(*words, code=0):
            ended = run("--state", state, "broker", "why", *words, "--compare", "--now", NOW)
            assert ended.code == code, ended.err
            return ended

        return why

    def test_a_queue_on_standby(self, why, run):
        comparison = json.loads(why(1, "--queue", "STANDBY", "--json").out)["compare"]
        assert (comparison["differs"], comparison["differs_at"]) == (True, "status check")
        assert figures(comparison)["status check"] == (1, 0)
        assert comparison["points"] == ["broker.online_only"]
        assert [entry["queue"] for entry in comparison["queues"]] == ["STANDBY"]

    def test_a_task_that_no_set_can_place(self, why):
        assert "The rules panda decide the same." in why(2, "--queue", "SMALL").out

    def test_rules_of_the_command(self, why):
        comparison = json.loads(why(1, "--rules", "panda", "--json").out)["compare"]
        assert (comparison["rules"], comparison["other_rules"]) == ("panda", "documented")

    def test_past_decisions_are_not_compared(self, why):
        assert "--compare is for a new decision" in why(1, "--last", code=2).err
