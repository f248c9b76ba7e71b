"""DIRAC's priority schema of 2009, sentence by sentence, under the rules documented: from jobs to priorities."""

import json
from collections import Counter
from fractions import Fraction

import pytest
from tests.documents.dirac_grid import NOW, SCHEMA_TEXT, make_grid
from tests.documents.sentences import NotNormative, says

TEXT = SCHEMA_TEXT

grid = pytest.fixture(make_grid)

NOT_NORMATIVE = [
    NotNormative("Introduction", "The page describes how DIRAC handles priorities.", "announces the page"),
    NotNormative("Scenario, list", "Some users submit for themselves, others for their group.", "describes the users"),
    NotNormative(
        "Scenario, paragraph 1, sentence 3", "There must be a way to share the resources.", "states the problem"
    ),
    NotNormative(
        "Priority implementation, paragraph 2, sentence 1",
        "A group priority handles users that compete.",
        "announces what the next sentences say",
    ),
    NotNormative(
        "Priority implementation, paragraph 3, sentence 2",
        "Queues' priorities are modified by the UserPriorities of their jobs.",
        "announces the formula that follows",
    ),
]


class TestScenario:
    @says("Scenario, paragraph 1, sentence 1")
    def test_users_for_themselves_compete_and_users_for_a_group_share(self, grid):
        """Users who submit for themselves compete: each has a part of his own. Users of a group share one priority."""
        grid.groups(user=600, prod=600)
        for group in ("user", "prod"):
            grid.submit("ann", group)
            grid.submit("bob", group)
            grid.submit("bob", group, CPUTime=300)
        assert grid.priorities() == [300, 150, 150, 200, 200, 200]

    @says("Scenario, paragraph 1, sentence 2")
    def test_both_kinds_of_users_compete_with_each_other(self, grid):
        """A queue of a user for himself and one of a production compete by their groups' priorities."""
        grid.groups(user=1000, prod=3000)
        grid.submit("ann", "user")
        grid.submit("mc", "prod")
        report = grid.fairq(
            *("taskqueues", "why", 2, "--site", "X", "--cputime", 10**6, "--now", NOW, "--json"),
        )
        assert grid.priorities() == [1000, 3000]
        assert report["chance"] == pytest.approx(0.75)

    @says("Scenario, paragraph 1, sentence 4", points=["shares.user_priority_weight"])
    def test_users_give_their_jobs_a_priority(self, grid):
        """Users give their jobs a UserPriority, any number above 0, and it counts as they give it."""
        given = (0.25, 1, 10, 11, 2.5, 100)
        grid.groups(user=1000)
        for number, priority in enumerate(given):
            grid.submit("ann", "user", UserPriority=priority, JobType=f'"T{number}"')
        assert grid.priorities() == pytest.approx([1000 * priority / sum(given) for priority in given])

    @pytest.mark.parametrize("priority", ["0", "-1", "-0.5"])
    def test_a_priority_that_is_not_above_0_is_refused(self, grid, priority):
        refused = grid.fairq("submit", "--attribute", f"UserPriority={priority}", "--", "/bin/true", code=66)
        assert "give a number above 0" in refused.err
        assert grid.priorities() == []

    def test_a_priority_of_0_in_a_dump_weighs_less_than_any_other(self, grid, tmp_path):
        queues = [{"TQId": number, "Owner": "ann", "OwnerGroup": "user", "CPUTime": 3600 * number} for number in (1, 6)]
        jobs = [{"JobId": 1, "TQId": 1, "UserPriority": 0}, {"JobId": 2, "TQId": 6, "UserPriority": 0.0001}]
        (tmp_path / "dump.json").write_text(json.dumps({"task_queues": queues, "jobs": jobs}))
        grid.fairq("taskqueues", "import", tmp_path / "dump.json", "--now", NOW)
        assert grid.priorities() == pytest.approx([0.001, 1000])  # 0.001 is the least priority of a queue

    @says("Scenario, paragraph 1, sentence 5", points=["shares.job_pool"])
    def test_it_is_for_their_own_jobs_which_of_them_runs_first(self, grid):
        """UserPriority says which of a user's own jobs run first and last; it takes nothing from other users."""
        grid.groups(user=1000)
        grid.submit("ann", "user", 2, UserPriority=1)
        grid.submit("ann", "user", 2, UserPriority=50)
        grid.submit("bob", "user", 4)
        assert grid.user_shares() == {"ann": 500, "bob": 500}
        of_ann = [one["job"] for one in grid.matches(8, "--owner", "ann", "--selection", "strict")]
        assert of_ann == ["2.0", "2.1", "1.0", "1.1"]

    @says("Scenario, paragraph 2", points=["shares.selection", "shares.candidates"])
    def test_the_draw_keeps_a_fair_share_between_users(self, grid):
        """The schema decides at each moment which user runs, so that users keep a fair share."""
        grid.groups(user=2000, prod=1000)
        for owner, group in (("ann", "user"), ("bob", "user"), ("mc", "prod")):
            grid.submit(owner, group, 600)
        got = Counter(one["owner"] for one in grid.matches(900, "--dry-run"))
        assert all(250 < got[owner] < 350 for owner in ("ann", "bob", "mc"))
        report = grid.fairq(*("taskqueues", "why", 3, "--site", "X", "--cputime", 10**6, "--now", NOW, "--json"))
        assert report["chance"] == pytest.approx(1 / 3)


class TestPriorityImplementation:
    @says("Priority implementation, paragraph 1, sentence 1")
    def test_jobs_are_handled_through_task_queues(self, grid):
        """Jobs are handled in task queues: a pilot gets jobs of a queue that matches it."""
        grid.submit("ann", "user", 3)
        grid.submit("ann", "user", 2, Site='"LCG.RAL.uk"')
        listed = grid.fairq("taskqueues", "list", "--json", "--now", NOW)
        assert [one["jobs"] for one in listed] == [3, 2]
        assert {one["task_queue"] for one in grid.matches(9)} == {1}

    @says("Priority implementation, paragraph 1, sentence 2", points=["shares.blank_lists"])
    def test_a_queue_has_all_jobs_of_equal_requirements_of_a_user_and_group(self, grid):
        """A queue contains all jobs with the same requirements of one user in one group, and no others."""
        grid.submit("ann", "user", 2, Sites='"A, B"', JobType='"MC"')
        grid.submit("ann", "user", 3, Sites='"B, A"', JobType='"MC"', UserPriority=7)
        grid.submit("ann", "user", 1, Sites='"A"', JobType='"MC"')
        grid.submit("ann", "prod", 1, Sites='"A, B"', JobType='"MC"')
        grid.submit("bob", "user", 1, Sites='"A, B"', JobType='"MC"')
        grid.submit("ann", "user", 1, Sites='" , "')
        grid.submit("ann", "user", 1)
        listed = grid.fairq("taskqueues", "list", "--json", "--now", NOW)
        assert [one["jobs"] for one in listed] == [5, 1, 1, 1, 2]

    @says("Priority implementation, paragraph 1, sentence 3")
    def test_to_prioritize_jobs_the_queues_are_prioritized(self, grid):
        """The queues' priorities alone decide whose job is next, not the age of the jobs or their number."""
        grid.groups(user=1000, prod=9000)
        grid.submit("ann", "user", 5)
        grid.submit("mc", "prod", 1)
        assert grid.matches(1, "--selection", "strict")[0]["owner"] == "mc"

    @says("Priority implementation, paragraph 2, sentence 2", points=["shares.whole_numbers"])
    def test_each_group_has_a_priority(self, grid):
        """Every group has a priority of its own, whole or not."""
        grid.groups(user=2.5, prod=40000)
        grid.submit("ann", "user")
        grid.submit("mc", "prod")
        grid.submit("eve", "unnamed")
        assert grid.priorities() == [2.5, 40000, 1000]

    @says(
        "Priority implementation, paragraph 2, sentences 3 and 4",
        points=["shares.both_sharing_names", "shares.user_all_bug"],
    )
    @pytest.mark.parametrize(
        ("properties", "expected"),
        [("JOB_SHARING", [300, 300, 300]), ("JobSharing", [300, 300, 300]), ("NormalUser", [450, 225, 225])],
    )
    @pytest.mark.parametrize("way", ["dump", "configuration"])
    def test_the_property_job_sharing_decides(self, grid, properties, expected, way):
        """With the property JOB_SHARING the users share the group's priority; without it, it is divided among them."""
        if way == "dump":
            grid.history({}, g={"JobShare": 900, "Properties": properties})
        else:
            grid.configuration(f"Registry {{ Groups {{ g {{ JobShare = 900\nProperties = {properties}\n}} }} }}")
        grid.submit("ann", "g")
        grid.submit("all", "g")
        grid.submit("all", "g", CPUTime=300)
        assert grid.priorities() == pytest.approx(expected)

    @says("Priority implementation, paragraph 2, sentence 5")
    def test_a_queues_priority_depends_on_its_group_and_user(self, grid):
        """Each queue gets a priority by the group and the user it belongs to."""
        grid.groups(user=1000, other=500)
        for owner, group in (("ann", "user"), ("bob", "user"), ("ann", "other")):
            grid.submit(owner, group, 4)
        assert grid.priorities() == [500, 500, 500]

    @says("Priority implementation, list, item 1", points=["shares.site_families", "shares.families_as_listed"])
    @pytest.mark.parametrize("count", [1, 3, 7])
    def test_a_sharing_group_gives_each_queue_its_nth_part(self, grid, count):
        """In a group with JOB_SHARING each of its N queues gets 1/N of the group's priority."""
        grid.groups(prod=1000)
        for number in range(count):
            grid.submit(f"user{number % 2}", "prod", Sites=f'"S{number}"')
        assert grid.priorities() == pytest.approx([1000 / count] * count)

    @says("Priority implementation, list, item 2", points=["shares.users_counted", "shares.decimals"])
    @pytest.mark.parametrize("counts", [(1,), (1, 2), (3, 1, 4)])
    def test_other_groups_give_each_queue_one_nth_of_one_users_part(self, grid, counts):
        """Otherwise a queue gets 1/(N*U): U users of the group have waiting jobs, and this one has N queues."""
        grid.groups(user=1000)
        for user, queues in enumerate(counts):
            for number in range(queues):
                grid.submit(f"user{user}", "user", Sites=f'"S{number}"', Tag=f'"T{number}"')
        grid.submit("gone", "user")
        grid.fairq("remove", len(grid.priorities()))
        expected = [1000 / (queues * len(counts)) for queues in counts for _ in range(queues)]
        assert grid.priorities() == pytest.approx(expected, rel=1e-12)

    @says("Priority implementation, paragraph 3, sentence 1")
    def test_a_job_without_a_user_priority_has_a_default(self, grid):
        """On top of that, users can (and need not) give a UserPriority to their jobs."""
        grid.groups(user=900)
        grid.submit("ann", "user")
        grid.submit("ann", "user", CPUTime=300, UserPriority=2)
        assert grid.priorities() == [300, 600]

    @says(
        "Priority implementation, paragraph 3, sentence 3",
        note="P is the group's or user's part before the division by N, so that the queues add up to it: J divides",
    )
    def test_a_queue_gets_p_times_j(self, grid):
        """A queue's priority is P*J, and the queues of a group (or of a user) add up to its priority."""
        grid.groups(user=1000, prod=3000)
        for group in ("user", "prod"):
            for number, priority in enumerate((1, 4, 0.5)):
                grid.submit("ann", group, number + 1, Sites=f'"S{number}"', UserPriority=priority)
            grid.submit("bob", group, 2)
        found = grid.priorities()
        assert sum(found[:4]) == pytest.approx(1000)
        assert sum(found[4:]) == pytest.approx(3000)

    @says("Priority implementation, paragraph 3, sentence 4", points=["shares.consolidation"])
    @pytest.mark.parametrize("group", ["user", "prod"])
    @pytest.mark.parametrize(
        "queues",
        [[(1, 1), (1, 1)], [(3, 1), (1, 1)], [(2, 5), (10, 1), (1, 0.5)], [(1, 10), (9, 1), (4, 11)]],
    )
    def test_j_is_the_queues_sum_over_the_sum_of_sums(self, grid, group, queues):
        """J is the sum of the queue's UserPriorities over the sum for all queues of the group or of the user."""
        grid.groups(**{group: 1000})
        for number, (count, priority) in enumerate(queues):
            owner = f"u{number}" if group == "prod" else "ann"
            grid.submit(owner, group, count, Sites=f'"S{number}"', UserPriority=priority)
        sums = [Fraction(count) * Fraction(priority) for count, priority in queues]
        assert grid.priorities() == pytest.approx([float(1000 * one / sum(sums)) for one in sums])
