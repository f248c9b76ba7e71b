"""DIRAC's priority schema of 2009, sentence by sentence, under the rules documented: share corrections."""

import pytest
from tests.documents.dirac_grid import EXAMPLE, HOUR, NOW, PROD, SCHEMA_TEXT, USER, WEEK, make_grid
from tests.documents.sentences import NotNormative, says

TEXT = SCHEMA_TEXT

grid = pytest.fixture(make_grid)

NOT_NORMATIVE = [
    NotNormative("Dynamic share corrections, sentence 3", "So far there is one plugin.", "describes DIRAC of 2009"),
]


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
        from fairq.steps.taskqueues.correctors import known_correctors

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


def one_queue_each(grid):
    grid.submit("ann", USER)
    grid.submit("mc", PROD)


def formula(share, week, hour, most=3):
    """The page's formula: *share* of all is expected, *week* and *hour* were used of all; None: nothing was."""
    hour_max, week_max = 5, 2
    hour_correction = hour_max if hour is None else max(min(share / hour, hour_max), 1 / hour_max)
    week_correction = week_max if week is None else max(min(share / week, week_max), 1 / week_max)
    final = hour_correction * 0.2 + week_correction * 0.8
    return max(min(final, most), 1 / most)


def wide(span, bound=100):
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
            one["owner"]: [part["use"] for step in one["corrections"] for part in step["slices"]]
            for one in later["users"]
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
        (step,) = next(one for one in grid.shares()["groups"] if one["owner_group"] == USER)["corrections"]
        assert [(part["correction"], part["bound"]) for part in step["slices"]] == [(2, "upper"), (5, "upper")]
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
        steps = [step for one in grid.shares()["groups"] for step in one["corrections"]]
        assert {step["max_global_correction"] for step in steps} == {3}

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
        (step,) = next(one for one in grid.shares()["groups"] if one["owner_group"] == USER)["corrections"]
        slices = [(part["slice"], part["time_span"], part["weight"]) for part in step["slices"]]
        assert slices == [("WeekSlice", 604800, 0.8), ("HourSlice", 3600, 0.2)]

    @says("WMSHistory corrector, paragraph 4, sentences 6 and 7", points=["shares.absent_weighted", "shares.zero_use"])
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
