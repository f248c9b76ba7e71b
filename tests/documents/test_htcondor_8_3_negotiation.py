"""HTCondor 8's manual, sentence by sentence, under the rules documented: the cycle and the pie."""

import pytest
from tests.documents.condor_pool import HTCONDOR_8, NOW, busy_ad, job_ad, make_pool, older, slot_ad
from tests.documents.sentences import NotNormative, says

TEXT = HTCONDOR_8

PIE = "Layperson's Description"
YES = '[negotiator]\npreemption_requirements = "True"\n'

pool = pytest.fixture(make_pool)

NOT_NORMATIVE = [
    NotNormative("Negotiation, paragraph 1", "The negotiator is responsible for negotiation.", "names the program"),
    NotNormative("Negotiation, list, item 4, several schedds", "Schedds are contacted in an undefined order.",
                 "leaves the order open; fairq goes by name"),
    NotNormative(f"{PIE}, paragraph 1, sentence 1", "HTCondor schedules in a variety of ways.", "introduces"),
]  # fmt: skip


def accounts(**priorities):
    """Accounting ads of users with these effective priorities."""
    return [
        {"Name": f"{name}@example.org", "Priority": value, "PriorityFactor": 1.0} for name, value in priorities.items()
    ]


class TestList:
    @says("Negotiation, list, item 1", points=["negotiator.count_slots_outside"],
          also=older("Negotiation, list, item 1"))  # fmt: skip
    def test_all_resources_whatever_their_state(self, pool):
        """The list of resources has all of them, in any state: the pie is that of the whole pool."""
        states = ("Unclaimed", "Owner", "Claimed")
        pool.import_(
            slots=[
                *(slot_ad(f"slot1@{state}", State=state) for state in states[:2]),
                busy_ad("slot1@c", "ben"),
            ]
        )
        assert (pool.cycle()["slots"], pool.cycle()["pie"]) == (3, 3.0)

    @says("Negotiation, list, item 2", also=older("Negotiation, list, item 2"))
    def test_all_submitters_of_the_pool(self, pool):
        """All submitters of the whole pool take part, whichever schedd they submit to."""
        pool.import_(
            jobs=[job_ad(n, f"u{n}", GlobalJobId=f"s{n % 2}.example.org#{n}.0#{NOW}") for n in range(1, 5)],
        )
        pool.slots(4)
        assert pool.got() == {f"u{n}": 1 for n in range(1, 5)}

    @says("Negotiation, list, item 3", also=older("Negotiation, list, item 3"))
    def test_submitters_in_the_order_of_effective_priority(self, pool):
        """Submitters take turns by effective priority, the best one first."""
        for user, priority in (("ann", 20), ("bob", 5), ("cyd", 10)):
            pool.set_eup(user, priority)
            pool.submit(user, 9)
        pool.slots(7)
        assert [one["submitter"][:3] for one in pool.cycle()["matches"]] == ["bob"] * 4 + ["cyd"] * 2 + ["ann"]

    @says("Negotiation, list, item 4", points=["negotiator.last_dealing"], also=older("Negotiation, list, item 4"))
    @pytest.mark.parametrize(("slots", "users", "jobs"), [(100, 60, 10), (10, 3, 10), (7, 7, 1), (20, 3, 4)])
    def test_until_no_resources_or_no_jobs_are_left(self, pool, slots, users, jobs):
        """The cycle goes on until there are no more resources or no more jobs to match."""
        pool.slots(slots)
        for user in range(users):
            pool.submit(f"u{user}", jobs)
        assert sum(pool.got().values()) == min(slots, users * jobs)

    @says("Negotiation, list, item 4, jobs of one schedd", "Negotiation, paragraph 3, sentences 1 and 2",
          also=older("Negotiation, list, item 4, jobs of one schedd"))  # fmt: skip
    def test_jobs_in_the_order_of_job_priority(self, pool):
        """A submitter's jobs come in the order of job priority."""
        for priority in (-5, 10, 0):
            pool.submit("ann", 1, "--priority", priority)
        pool.slots(3)
        assert pool.jobs() == ["2.0", "3.0", "1.0"]

    @says("Negotiation, list, item 4, all jobs of a schedd",
          also=older("Negotiation, list, item 4, all jobs of a schedd"))  # fmt: skip
    def test_all_jobs_of_a_schedd_before_those_of_the_next(self, pool):
        """All jobs of one schedd are considered before those of the next one."""
        pool.import_(
            slots=[slot_ad(f"slot1@n{n}") for n in range(4)],
            jobs=[job_ad(n, "ann", GlobalJobId=f"s{n % 2}.example.org#{n}.0#{NOW + n}") for n in range(1, 9)],
        )
        places = [int(job.partition(".")[0]) % 2 for job in pool.jobs()]
        assert places in ([0, 0, 0, 0], [1, 1, 1, 1])

    @says("Negotiation, list, item 4, step 1", also=older("Negotiation, list, item 4, step 1"))
    @pytest.mark.parametrize(("of_slot", "of_job"), [("false", "true"), ("true", "false")])
    def test_requirements_of_both(self, pool, of_slot, of_job):
        """A machine is skipped if its requirements or those of the job are false."""
        pool.slots(1, "a", Requirements=of_slot)
        pool.submit("ann", 1, "--requirements", of_job)
        assert pool.got() == {}

    @says("Negotiation, list, item 4, step 2", points=["negotiator.match_claimed_idle"],
          also=older("Negotiation, list, item 4, step 2"))  # fmt: skip
    def test_claimed_without_a_job_is_skipped(self, pool):
        """A machine that is claimed but runs no job is skipped."""
        pool.settings(YES)
        pool.import_(
            slots=[busy_ad("slot1@a", "ben", Activity="Idle")],
            jobs=[job_ad(1, "ann")],
            accounting=accounts(ann=1, ben=9),
        )
        assert pool.got() == {}

    @says("Negotiation, list, item 4, step 3", also=older("Negotiation, list, item 4, step 3"))
    def test_no_preemption(self, pool):
        """A machine that runs no job is a candidate by reason of No Preemption."""
        pool.slots(1)
        pool.submit("ann")
        assert [one["reason"] for one in pool.cycle()["matches"]] == ["no-preemption"]

    @says("Negotiation, list, item 4, step 4, Rank", also=older("Negotiation, list, item 4, step 4, Rank"))
    @pytest.mark.parametrize(("rank", "found"), [(2.0, ["rank"]), (1.0, [])])
    def test_rank(self, pool, rank, found):
        """A machine that runs a job is a candidate by reason of Rank if it ranks the new job higher."""
        pool.import_(
            slots=[busy_ad("slot1@a", "ben", Rank=rank, CurrentRank=1.0)],
            jobs=[job_ad(1, "ann")],
            accounting=accounts(ann=9, ben=1),
        )
        assert [one["reason"] for one in pool.cycle()["matches"]] == found

    @says("Negotiation, list, item 4, step 4, Priority", points=["negotiator.preempt_prio_delta"],
          also=older("Negotiation, list, item 4, step 4, Priority"))  # fmt: skip
    @pytest.mark.parametrize(
        ("ann", "policy", "rank", "found"),
        [
            (2.0, "True", 1.0, ["priority"]),
            (8.999, "True", 1.0, ["priority"]),
            (9.0, "True", 1.0, []),
            (20.0, "True", 1.0, []),
            (2.0, "False", 1.0, []),
            (2.0, "undefined", 1.0, []),
            (2.0, "True", 0.5, []),
        ],
    )
    def test_priority(self, pool, ann, policy, rank, found):
        """It is one by Priority if the EUP is better, by any amount, the policy true, and the rank not worse."""
        pool.settings(f'[negotiator]\npreemption_requirements = "{policy}"\n')
        pool.import_(
            slots=[busy_ad("slot1@a", "ben", Rank=rank, CurrentRank=1.0)],
            jobs=[job_ad(1, "ann")],
            accounting=accounts(ann=ann, ben=9.0),
        )
        assert [one["reason"] for one in pool.cycle()["matches"]] == found

    @says("Negotiation, list, item 4, sorting", points=["negotiator.tie_break"],
          also=older("Negotiation, list, item 4, sorting"))  # fmt: skip
    @pytest.mark.parametrize("key", range(4))
    def test_sorting(self, pool, key):
        """Machines are sorted by pre-job rank, the job's Rank, post-job rank, reason, and PREEMPTION_RANK, in order."""
        pool.settings(
            '[negotiator]\nnegotiator_pre_job_rank = "Pre"\nnegotiator_post_job_rank = "Post"\n'
            'preemption_rank = "Preempts"\npreemption_requirements = "True"\n'
        )
        names = ("Pre", "Mine", "Post")
        # The better slot is worse in all later keys; it comes last by name.
        worse = {name: 1 if names.index(name) > key else 0 for name in names}
        better = {name: 1 if name == (*names, "")[key] else 0 for name in names}
        first = busy_ad("slot1@a", "ben", Preempts=9, **worse)
        second = (slot_ad if key == 3 else busy_ad)("slot1@b", *(() if key == 3 else ("ben",)), Preempts=1, **better)
        pool.import_(
            slots=[first, second],
            jobs=[job_ad(1, "ann", Rank="/Expr(TARGET.Mine)/")],
            accounting=accounts(ann=1, ben=9),
        )
        assert pool.taken() == ["slot1@b"]

    def test_preemption_rank_is_the_last_key(self, pool):
        pool.settings(YES + 'preemption_rank = "Preempts"\nnegotiator_post_job_rank = "0"\n')
        pool.import_(
            slots=[busy_ad("slot1@a", "ben", Preempts=1), busy_ad("slot1@b", "ben", Preempts=2)],
            jobs=[job_ad(1, "ann")],
            accounting=accounts(ann=1, ben=9),
        )
        assert pool.taken() == ["slot1@b"]

    @says("Negotiation, list, item 4, assignment", points=["negotiator.report_job"],
          also=older("Negotiation, list, item 4, assignment"))  # fmt: skip
    def test_a_machine_is_assigned_once(self, pool):
        """The job gets the top machine, which is then no candidate for any other job in this cycle."""
        pool.slots(3)
        pool.submit("ann", 2)
        pool.submit("bob", 2)
        matches = pool.cycle()["matches"]
        assert len({one["slot"] for one in matches}) == len({one["job"] for one in matches}) == 3


class TestJobs:
    @says("Negotiation, paragraph 3, sentence 3", points=["schedd.job_order"],
          also=older("Negotiation, paragraph 3, sentence 3"))  # fmt: skip
    def test_older_jobs_go_first(self, pool):
        """Jobs of equal priority go by the time of submission, older ones first, whatever their numbers are."""
        pool.import_(
            slots=[slot_ad(f"slot1@n{n}") for n in range(3)],
            jobs=[job_ad(n, "ann", QDate=NOW - age) for n, age in ((1, 10), (2, 300), (3, 20))],
        )
        assert pool.jobs() == ["2.0", "3.0", "1.0"]

    def two_kinds(self, pool):
        """A cluster of which the first job suits no slot and the second one does, and another cluster."""
        pool.import_(
            slots=[slot_ad(f"slot1@n{n}") for n in range(3)],
            jobs=[
                {**job_ad(1, "ann"), "RequestCpus": 9, "Requirements": "/Expr(TARGET.Cpus >= RequestCpus)/"},
                {**job_ad(1, "ann"), "ProcId": 1},
                job_ad(2, "ann"),
            ],
        )

    @says("Negotiation, paragraph 3, sentences 4 and 5", points=["negotiator.skip_by"],
          also=older("Negotiation, paragraph 3, sentences 4 and 5"))  # fmt: skip
    def test_the_rest_of_the_cluster_is_skipped(self, pool):
        """After a job of a cluster that cannot be matched, no more jobs of that cluster are offered in that pass."""
        self.two_kinds(pool)
        assert pool.jobs() == ["2.0"]

    @says("Negotiation, paragraph 3, sentence 6", also=older("Negotiation, paragraph 3, sentence 6"))
    def test_negotiate_all_jobs_in_cluster(self, pool):
        """NEGOTIATE_ALL_JOBS_IN_CLUSTER disables this skipping."""
        pool.settings("[schedd]\nnegotiate_all_jobs_in_cluster = true\n")
        self.two_kinds(pool)
        assert pool.jobs() == ["1.1", "2.0"]

    @says("Negotiation, paragraph 3, sentence 7", points=["negotiator.skip_by"],
          also=older("Negotiation, paragraph 3, sentence 7"))  # fmt: skip
    @pytest.mark.parametrize(("attributes", "found"), [("RequestCpus", ["1.1", "2.0"]), ("Owner", [])])
    def test_significant_attributes(self, pool, attributes, found):
        """SIGNIFICANT_ATTRIBUTES changes what a cluster is: jobs with equal values of these attributes."""
        pool.settings(f'[schedd]\nsignificant_attributes = "{attributes}"\n')
        self.two_kinds(pool)
        assert pool.jobs() == found


class TestPie:
    @says(f"{PIE}, paragraph 1, sentences 2 to 4", points=["negotiator.pie_slices"],
          note="slices are of all resources, in use or free: EUP, paragraph 2 settles it")  # fmt: skip
    def test_the_slice(self, pool):
        """Of the resources there are, each user's slice is in the ratio of the user priorities."""
        for user, priority in (("ann", 10), ("bob", 20), ("cyd", 20)):
            pool.set_eup(user, priority)
            pool.submit(user, 100)
        pool.slots(16)
        shown = {one["submitter"][:3]: one["limit"] for one in pool.cycle()["submitters"]}
        assert shown == {"ann": 8, "bob": 4, "cyd": 4}

    @says(f"{PIE}, paragraph 2, sentences 1 and 2")
    def test_only_machines_that_match(self, pool):
        """The matchmaker goes in order of priority and looks for resources that match the job's requirements."""
        pool.slots(1, "a", HasIt="false")
        pool.slots(1, "b", HasIt="true")
        pool.submit("ann", 1, "--requirements", "HasIt")
        assert [name.rpartition("@")[2] for name in pool.taken()] == ["b"]

    @says(f"{PIE}, paragraph 2, sentences 3 to 5")
    def test_a_machine_that_prefers_the_job(self, pool):
        """Matches are sorted by rank; a machine that prefers a job is given to it, even if it runs another one."""
        pool.import_(
            slots=[busy_ad("slot1@a", "ben", Rank=5.0, CurrentRank=0.0), busy_ad("slot1@b", "ben")],
            jobs=[job_ad(1, "ann")],
            accounting=accounts(ann=9, ben=1),
        )
        (match,) = pool.cycle()["matches"]
        assert (match["slot"], match["reason"]) == ("slot1@a", "rank")

    @says(f"{PIE}, paragraph 2, sentence 5")
    def test_the_machine_that_the_job_ranks_highest(self, pool):
        """Otherwise the job gets the machine that it ranks highest."""
        for name, speed in (("a", 1), ("b", 3), ("c", 2)):
            pool.slots(1, name, Speed=speed)
        pool.submit("ann", 1, "--rank", "Speed")
        assert [name.rpartition("@")[2] for name in pool.taken()] == ["b"]

    @says(f"{PIE}, paragraph 2, sentences 6 and 7")
    @pytest.mark.parametrize(("ben", "found"), [(2.3, []), (2.5, ["priority"])])
    def test_20_per_cent_better(self, pool, ben, found):
        """A running job may be preempted; a policy may ask for a priority that is 20 % better."""
        pool.settings('[negotiator]\npreemption_requirements = "RemoteUserPrio > SubmitterUserPrio * 1.2"\n')
        pool.import_(slots=[busy_ad("slot1@a", "ben")], jobs=[job_ad(1, "ann")], accounting=accounts(ann=2.0, ben=ben))
        assert [one["reason"] for one in pool.cycle()["matches"]] == found

    @says(f"{PIE}, paragraph 2, sentence 8")
    def test_without_preferences_the_first_idle_machine(self, pool):
        """A job without preferences gets the first idle machine that meets its requirements."""
        pool.slots(5)
        pool.submit("ann", 1)
        assert pool.taken() == ["slot1@node"]

    @says(f"{PIE}, paragraph 3, sentences 1 and 2")
    def test_one_slice_after_the_other(self, pool):
        """A user gets the slice whole before the next user in order of priority gets any of his."""
        for user, priority in (("ann", 20), ("bob", 10)):
            pool.set_eup(user, priority)
            pool.submit(user, 100)
        pool.slots(9)
        assert [one["submitter"][:3] for one in pool.cycle()["matches"]] == ["bob"] * 6 + ["ann"] * 3

    @says(f"{PIE}, paragraph 3, sentence 3", points=["negotiator.pie_slices"])
    def test_again_with_new_slices(self, pool):
        """After all users the cycle is repeated with what is left and new slices."""
        for number in range(4):
            pool.submit(f"few{number}", 1)
            pool.submit(f"many{number}", 5)
        pool.slots(12)
        got = pool.got()
        assert [got[f"few{number}"] for number in range(4)] == [1] * 4
        assert [got[f"many{number}"] for number in range(4)] == [2] * 4

    @says(f"{PIE}, paragraph 3, sentence 4", points=["negotiator.last_dealing"])
    @pytest.mark.parametrize(("slots", "cpus", "users"), [(12, 4, 7), (10, 1, 3), (100, 1, 60)])
    def test_until_there_are_no_machines_or_no_jobs(self, pool, slots, cpus, users):
        """The pie is spun until it runs out of machines or no more jobs are left."""
        pool.fairq("slots", "add", "node", "--count", slots, "--cpus", cpus, "--now", NOW)
        for user in range(users):
            pool.submit(f"u{user}", 10)
        got = pool.got()
        assert sum(got.values()) == slots
        assert max(got.values()) - min(got.values()) <= 1
