"""DIRAC's priority schema of 2009, sentence by sentence, under the rules documented."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.documents.sentences import NotNormative, Text, says

TEXT = Text("DIRAC Priority schema", "LHCb TWiki, revision 3 of 2009-09-07")

NOT_NORMATIVE = [
    NotNormative("Introduction", "The page describes how DIRAC handles priorities.", "announces the page"),
    NotNormative(
        "Scenario, first list", "Some users submit for themselves, others for their group.", "describes the users"
    ),
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
    NotNormative("Dynamic share corrections, sentence 3", "So far there is one plugin.", "describes DIRAC of 2009"),
]

NOW = 1_795_210_080
WEEK, HOUR = "604800", "3600"
USER, PROD = "lhcb_user", "lhcb_prod"

EXAMPLE = """\
ShareCorrections
{
  ShareCorrectorsToStart = WMSHistory
  WMSHistory
  {
    GroupsInstance
    {
      MaxGlobalCorrectionFactor = 3
      WeekSlice
      {
        TimeSpan = 604800
        Weight = 80
        MaxCorrection = 2
      }
      HourSlice
      {
        TimeSpan = 3600
        Weight = 20
        MaxCorrection = 5
      }
    }
    lhcb_userInstance
    {
      Group = lhcb_user
      MaxGlobalCorrectionFactor = 3
      WeekSlice
      {
        TimeSpan = 604800
        Weight = 80
        MaxCorrection = 2
      }
      HourSlice
      {
        TimeSpan = 3600
        Weight = 20
        MaxCorrection = 5
      }
    }
  }
}
"""
"""The page's example of a configuration."""


class Grid:
    """Task queues, groups and history of one state, as users see them on the command line."""

    def __init__(self, run: Callable[..., Any], state: Path, folder: Path) -> None:
        self._run, self._state, self._folder = run, state, folder

    def fairq(self, *words: object, code: int = 0) -> Any:
        ended = self._run("--state", self._state, *words)
        assert ended.code == code, ended.err
        return json.loads(ended.out) if "--json" in words else ended

    def settings(self, text: str) -> None:
        Path(f"{self._state}.toml").write_text(text)

    def groups(self, **shares: float) -> None:
        """Set the groups' priorities; those called ``prod...`` have job sharing."""
        tables = [
            f'[shares.groups."{name}"]\njob_share = {share}\njob_sharing = {str("prod" in name).lower()}\n'
            for name, share in shares.items()
        ]
        self.settings("".join(tables))

    def submit(self, owner: str, group: str, count: int = 1, **asked: object) -> None:
        words = [word for name, value in asked.items() for word in ("--attribute", f"{name}={value}")]
        who = ("--accounting-group", group, "--accounting-group-user", owner)
        self.fairq("submit", "--count", count, *who, *words, "--now", NOW, "--", "/bin/true")

    def configuration(self, text: str) -> None:
        """Import DIRAC's configuration *text*; the rules are the documented ones."""
        file = self._folder / "dirac.cfg"
        file.write_text(text)
        self.fairq("config", "import", file)
        self.fairq("config", "set", "shares.rules", "documented")

    def history(self, by_group: dict[str, dict[str, dict[str, float]]], **groups: dict[str, Any]) -> None:
        """Import a dump of DIRAC that has only groups and reports of what ran."""
        file = self._folder / "dump.json"
        file.write_text(json.dumps({"task_queues": [], "groups": groups, "history": by_group, "time": NOW}))
        self.fairq("taskqueues", "import", file, "--now", NOW)

    def shares(self) -> dict[str, Any]:
        report: dict[str, Any] = self.fairq("taskqueues", "shares", "--json", "--now", NOW)
        return report

    def group_shares(self) -> dict[str, float]:
        return {one["OwnerGroup"]: one["Share"] for one in self.shares()["Groups"]}

    def user_shares(self) -> dict[str, float]:
        return {one["Owner"]: one["Share"] for one in self.shares()["Users"]}

    def priorities(self) -> list[float]:
        """The priorities of the queues, in the order in which their first jobs came."""
        return [one["Priority"] for one in self.fairq("taskqueues", "list", "--json", "--now", NOW)]

    def matches(self, count: int, *words: object) -> list[dict[str, Any]]:
        pilot = ("--site", "LCG.CERN.cern", "--cputime", 10**6, "--now", NOW)
        found: list[dict[str, Any]] = self.fairq(
            "taskqueues", "match", *pilot, "--count", count, "--seed", 2009, *words, "--json"
        )["matches"]
        return found


@pytest.fixture
def grid(run: Callable[..., Any], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Grid:
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")
    return Grid(run, state, tmp_path)


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
        assert [one["Jobs"] for one in listed] == [3, 2]
        assert {one["taskqueue"] for one in grid.matches(9)} == {1}

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
        assert [one["Jobs"] for one in listed] == [5, 1, 1, 1, 2]

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

    @says("Priority implementation, second list, item 1", points=["shares.site_families", "shares.families_as_listed"])
    @pytest.mark.parametrize("count", [1, 3, 7])
    def test_a_sharing_group_gives_each_queue_its_nth_part(self, grid, count):
        """In a group with JOB_SHARING each of its N queues gets 1/N of the group's priority."""
        grid.groups(prod=1000)
        for number in range(count):
            grid.submit(f"user{number % 2}", "prod", Sites=f'"S{number}"')
        assert grid.priorities() == pytest.approx([1000 / count] * count)

    @says("Priority implementation, second list, item 2", points=["shares.users_counted", "shares.decimals"])
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


class TestDynamicShareCorrections:
    @says("Dynamic share corrections, sentences 1 and 2")
    def test_the_past_changes_the_priorities(self, grid):
        """Corrections look at the past history and alter the priorities by it."""
        grid.configuration(EXAMPLE)
        grid.history({"": {WEEK: {USER: 5, PROD: 5}, HOUR: {USER: 5, PROD: 5}}}, **GROUPS)
        one_queue_each(grid)
        user, prod = grid.group_shares()[USER], grid.group_shares()[PROD]
        assert user < 1000 and prod > 3000

    @says("Dynamic share corrections, sentence 3, first half")
    def test_correctors_are_plugins(self, grid):
        """There can be several correctors, each a plugin; one that is not there is refused by name."""
        grid.settings('[shares.ShareCorrections]\nShareCorrectorsToStart = "WMSHistory, Mine"\n')
        assert "Mine" in grid.fairq("taskqueues", "shares", code=64).err
        from fairq.steps.share_correctors import known_correctors

        assert "WMSHistory" in known_correctors()

    @says("Dynamic share corrections, sentence 4", points=["shares.enable_shares_correction"])
    @pytest.mark.parametrize("path", ["Operations/Scheduling", "Operations/Scheduling/Production", ""])
    def test_correctors_have_a_section_of_the_configuration(self, grid, path):
        """Every corrector has a section below ShareCorrections in /Operations/Scheduling; that is all it needs."""
        text = EXAMPLE
        for name in reversed(path.split("/") if path else []):
            text = f"{name}\n{{\n{text}}}\n"
        grid.configuration(text)
        assert grid.fairq("config", "get", "shares.ShareCorrections.WMSHistory.lhcb_userInstance.Group").out == (
            "lhcb_user\n"
        )

    @says("Dynamic share corrections, sentence 5")
    @pytest.mark.parametrize(("started", "factor"), [("WMSHistory", 2 / 3), ("", 1)])
    def test_an_option_says_which_correctors_work(self, grid, started, factor):
        """ShareCorrectorsToStart defines which correctors are used, anew in each iteration."""
        grid.configuration(EXAMPLE)
        grid.fairq("config", "set", "shares.ShareCorrections.ShareCorrectorsToStart", started)
        grid.history({"": {WEEK: {USER: 9, PROD: 15}, HOUR: {USER: 9, PROD: 15}}}, **GROUPS)
        one_queue_each(grid)
        assert grid.group_shares()[USER] == pytest.approx(1000 * factor)


GROUPS = {USER: {"JobShare": 1000}, PROD: {"JobShare": 3000, "Properties": "JOB_SHARING"}}
"""lhcb_user is to get a quarter, lhcb_prod three quarters."""


def one_queue_each(grid: Grid) -> None:
    grid.submit("ann", USER)
    grid.submit("mc", PROD)


def formula(share: float, week: float | None, hour: float | None, most: float = 3) -> float:
    """The page's formula: *share* of all is expected, *week* and *hour* were used of all; None: nothing was."""
    hour_max, week_max = 5, 2
    hour_correction = hour_max if hour is None else max(min(share / hour, hour_max), 1 / hour_max)
    week_correction = week_max if week is None else max(min(share / week, week_max), 1 / week_max)
    final = hour_correction * 0.2 + week_correction * 0.8
    return max(min(final, most), 1 / most)


def wide(span: str, bound: int = 100) -> str:
    """A configuration with one slice and bounds that cut nothing."""
    return (
        "ShareCorrections { ShareCorrectorsToStart = WMSHistory\nWMSHistory { Groups { "
        f"MaxGlobalCorrectionFactor = {bound}\nS {{ TimeSpan = {span}\nMaxCorrection = {bound}\n}} }} }} }}\n"
    )


class TestWMSHistoryCorrector:
    @says("WMSHistory corrector, paragraph 1, sentence 1", points=["shares.in_group_statuses"])
    def test_it_looks_at_running_jobs(self, grid):
        """The corrector looks at the running jobs of each entity; what only waits does not count."""
        grid.configuration(wide(HOUR).replace("Groups {", f"Users {{ Group = {USER}\n"))
        grid.history({}, **{USER: {"JobShare": 1000}})
        grid.submit("ann", USER, 2)
        grid.submit("bob", USER, 50)
        grid.fairq(*("taskqueues", "match", "--site", "X", "--cputime", 10**6, "--owner", "ann", "--now", NOW))
        later = grid.fairq("taskqueues", "shares", "--json", "--now", NOW + 1800)
        uses = {
            one["Owner"]: [part["Use"] for step in one["Corrections"] for part in step["Slices"]]
            for one in later["Users"]
        }
        assert uses == {"ann": [pytest.approx(0.5)], "bob": [None]}

    @says("WMSHistory corrector, paragraph 1, sentence 2")
    def test_three_times_too_many_jobs_leave_a_third_of_the_priority(self, grid):
        """An entity that ran three times more than its share gets a third of its priority."""
        grid.configuration(wide(WEEK))
        grid.history({"": {WEEK: {USER: 75, PROD: 25}}}, **GROUPS)
        one_queue_each(grid)
        assert grid.group_shares() == {USER: pytest.approx(1000 / 3), PROD: pytest.approx(3000 * 3)}

    @says("WMSHistory corrector, paragraph 1, sentence 3")
    @pytest.mark.parametrize(("user", "prod"), [(25, 75), (50, 50), (10, 90), (1, 7), (60, 40)])
    def test_the_correction_is_the_inverse_of_the_deviation(self, grid, user, prod):
        """The correction is the expected share over the share that was used."""
        grid.configuration(wide(WEEK))
        grid.history({"": {WEEK: {USER: user, PROD: prod}}}, **GROUPS)
        one_queue_each(grid)
        total = user + prod
        assert grid.group_shares() == {
            USER: pytest.approx(1000 * 0.25 / (user / total)),
            PROD: pytest.approx(3000 * 0.75 / (prod / total)),
        }

    @says(
        "WMSHistory corrector, paragraph 2, sentences 1 and 2",
        points=["shares.weight_of_skipped", "shares.failed_report"],
    )
    def test_time_spans_are_weighted(self, grid):
        """Several time spans count, each by its weight; one without any use leaves its weight to the others."""
        grid.configuration(EXAMPLE)
        one_queue_each(grid)
        grid.history({"": {WEEK: {USER: 40, PROD: 60}, HOUR: {USER: 20, PROD: 80}}}, **GROUPS)
        assert grid.group_shares()[USER] == pytest.approx(1000 * (0.8 * 0.25 / 0.4 + 0.2 * 0.25 / 0.2))
        grid.history({"": {WEEK: {USER: 40, PROD: 60}, HOUR: {}}}, **GROUPS)
        assert grid.group_shares()[USER] == pytest.approx(1000 * 0.25 / 0.4)

    @says("WMSHistory corrector, paragraph 2, sentence 3", points=["shares.checked_settings"])
    def test_each_time_span_has_a_bound(self, grid):
        """Each time span can have a bound of its own correction."""
        grid.configuration(EXAMPLE)
        one_queue_each(grid)
        grid.history({"": {WEEK: {USER: 1, PROD: 999}, HOUR: {USER: 1, PROD: 999}}}, **GROUPS)
        (step,) = next(one for one in grid.shares()["Groups"] if one["OwnerGroup"] == USER)["Corrections"]
        assert [(part["Correction"], part["Bound"]) for part in step["Slices"]] == [(2, "upper"), (5, "upper")]
        grid.fairq("config", "set", "shares.ShareCorrections.WMSHistory.GroupsInstance.WeekSlice.MaxCorrection", 0.5)
        assert "MaxCorrection" in grid.fairq("taskqueues", "shares", "--now", NOW, code=64).err

    @says("WMSHistory corrector, paragraph 2, sentence 4, and the example")
    def test_the_example_is_a_valid_configuration(self, grid):
        """The page's example configures a valid corrector."""
        grid.configuration(EXAMPLE)
        assert grid.fairq("config", "check").code == 0

    @says(
        "WMSHistory corrector, paragraph 3, sentences 1 to 3", points=["shares.in_group_key", "shares.both_bound_names"]
    )
    def test_the_example_corrects_between_groups_and_between_the_users_of_one(self, grid):
        """The example starts two instances: one between groups, one between the users of lhcb_user."""
        grid.configuration(EXAMPLE)
        grid.history(
            {
                "": {WEEK: {USER: 25, PROD: 75}, HOUR: {USER: 25, PROD: 75}},
                USER: {WEEK: {"ann": 75, "bob": 25}, HOUR: {"ann": 75, "bob": 25}},
            },
            **GROUPS,
        )
        one_queue_each(grid)
        grid.submit("bob", USER)
        assert grid.group_shares() == pytest.approx({USER: 1000, PROD: 3000})
        # ann used 3/4 of what was to be 1/2; bob 1/4.
        assert grid.user_shares() == pytest.approx({"ann": 500 * 2 / 3, "bob": 500 * 2})
        steps = [step for one in grid.shares()["Groups"] for step in one["Corrections"]]
        assert {step["MaxGlobalCorrection"] for step in steps} == {3}

    @says("WMSHistory corrector, paragraph 3, sentence 4")
    def test_an_instance_for_a_group_with_job_sharing_is_told_to_make_no_sense(self, grid):
        """A corrector for the users of a group with JOB_SHARING makes no sense: the whole group has the priority."""
        grid.configuration(EXAMPLE.replace("Group = lhcb_user", "Group = lhcb_prod"))
        grid.history({PROD: {WEEK: {"mc": 9, "mc2": 1}, HOUR: {"mc": 9, "mc2": 1}}}, **GROUPS)
        grid.submit("mc", PROD)
        grid.submit("mc2", PROD)
        told = grid.fairq("taskqueues", "shares", "--now", NOW)
        assert "lhcb_prod" in told.err and "job sharing" in told.err
        assert grid.priorities() == [1500, 1500]

    @says("WMSHistory corrector, paragraph 4, sentences 1 and 2")
    @pytest.mark.parametrize(("most", "expected"), [(3, 2.6), (2, 2), (1.5, 1.5)])
    def test_the_whole_correction_is_bounded(self, grid, most, expected):
        """MaxGlobalCorrectionFactor = 3 bounds an instance's correction to between 1/3 and 3."""
        grid.configuration(EXAMPLE)
        name = "shares.ShareCorrections.WMSHistory.GroupsInstance.MaxGlobalCorrectionFactor"
        grid.fairq("config", "set", name, most)
        grid.history({"": {WEEK: {USER: 1, PROD: 999}, HOUR: {USER: 1, PROD: 999}}}, **GROUPS)
        one_queue_each(grid)
        # 0.8 x 2 + 0.2 x 5 = 2.6 where the spans' own bounds cut.
        assert grid.group_shares()[USER] == pytest.approx(1000 * expected)
        # Too much of both: 0.8 x 1/2 + 0.2 x 1/5 = 0.44, but not less than 1/bound.
        grid.history({"": {WEEK: {USER: 99, PROD: 1}, HOUR: {USER: 99, PROD: 1}}}, **GROUPS)
        week, hour = max(0.25 / 0.99, 0.5), max(0.25 / 0.99, 0.2)
        assert grid.group_shares()[USER] == pytest.approx(1000 * max(0.8 * week + 0.2 * hour, 1 / most))

    @says("WMSHistory corrector, paragraph 4, sentences 3 to 5")
    def test_the_spans_are_the_last_week_and_the_last_hour_at_80_and_20_percent(self, grid):
        """Both instances look at the last week, for 80 % of the correction, and the last hour, for 20 %."""
        grid.configuration(EXAMPLE)
        grid.history({"": {WEEK: {USER: 1, PROD: 1}, HOUR: {USER: 1, PROD: 1}}}, **GROUPS)
        one_queue_each(grid)
        (step,) = next(one for one in grid.shares()["Groups"] if one["OwnerGroup"] == USER)["Corrections"]
        slices = [(part["Slice"], part["TimeSpan"], part["Weight"]) for part in step["Slices"]]
        assert slices == [("WeekSlice", 604800, 0.8), ("HourSlice", 3600, 0.2)]

    @says(
        "WMSHistory corrector, paragraph 4, sentences 6 and 7", points=["shares.absent_weighted", "shares.zero_use"]
    )
    @pytest.mark.parametrize("use", [{PROD: 75}, {PROD: 75, USER: 0}])
    def test_a_new_entity_is_boosted_in_its_first_hour(self, grid, use):
        """Bounds differ by span: the first hour of a new entity is boosted, then its share kept for longer."""
        grid.configuration(EXAMPLE)
        one_queue_each(grid)
        grid.history({"": {WEEK: use, HOUR: use}}, **GROUPS)
        assert grid.group_shares()[USER] == pytest.approx(1000 * (0.8 * 2 + 0.2 * 5))
        grid.history({"": {WEEK: {PROD: 75, USER: 25}, HOUR: {PROD: 75, USER: 25}}}, **GROUPS)
        assert grid.group_shares()[USER] == pytest.approx(1000)

    @says("WMSHistory corrector, formula")
    @pytest.mark.parametrize(
        ("week", "hour"), [((25, 75), (25, 75)), ((1, 99), (60, 40)), ((90, 10), (2, 98)), ((33, 67), (50, 50))]
    )
    def test_the_final_formula(self, grid, week, hour):
        """Bound each span's correction, add them by their weights, and bound the sum."""
        grid.configuration(EXAMPLE)
        one_queue_each(grid)
        grid.history(
            {"": {WEEK: dict(zip((USER, PROD), week, strict=True)), HOUR: dict(zip((USER, PROD), hour, strict=True))}},
            **GROUPS,
        )
        assert grid.group_shares() == {
            USER: pytest.approx(1000 * formula(0.25, week[0] / 100, hour[0] / 100)),
            PROD: pytest.approx(3000 * formula(0.75, week[1] / 100, hour[1] / 100)),
        }
