"""HTCondor 8's manual, sentence by sentence, under the rules documented: users and their priorities."""

import pytest
from tests.documents.condor_pool import DAY, HOUR, HTCONDOR_8, NOW, job_ad, make_pool, older, slot_ad
from tests.documents.sentences import NotNormative, says

TEXT = HTCONDOR_8

pool = pytest.fixture(make_pool)

NOT_NORMATIVE = [
    NotNormative("Introduction, paragraph 1", "Priorities decide who gets machines.", "announces the chapter"),
    NotNormative("Introduction, paragraphs 4 and 5", "Where the two priorities and their settings are described.",
                 "refers to other sections"),
    NotNormative("EUP, last paragraph, sentence 2", "Where condor_userprio is described.", "refers to another section"),
    NotNormative("Priority Calculation, paragraph 1", "The section is for the curious.", "announces the formula"),
]  # fmt: skip


class TestIntroduction:
    @says("Introduction, paragraph 2, sentence 1", also=older("Introduction, paragraph 2, sentence 1"))
    def test_a_user_is_a_name_with_a_domain(self, pool):
        """A user is identified by name and domain: the same name in two domains is two users."""
        pool.slots(2)
        pool.import_(jobs=[job_ad(1, "ann"), {**job_ad(2, "ann"), "User": "ann@other.edu"}])
        assert {one["submitter"] for one in pool.cycle()["matches"]} == {"ann@example.org", "ann@other.edu"}

    @says("Introduction, paragraph 2, sentence 2", also=older("Introduction, paragraph 2, sentence 2"))
    def test_a_user_has_one_priority_wherever_he_submits(self, pool):
        """A user has one priority, whatever machines of the domain his jobs are submitted from."""
        pool.import_(
            slots=[slot_ad(f"slot1@n{number}") for number in range(6)],
            jobs=[
                *(job_ad(n, "ann", GlobalJobId=f"a.example.org#{n}.0#{NOW}") for n in range(1, 7)),
                *(job_ad(n, "ann", GlobalJobId=f"b.example.org#{n}.0#{NOW}") for n in range(11, 17)),
                *(job_ad(n, "bob", GlobalJobId=f"a.example.org#{n}.0#{NOW}") for n in range(21, 33)),
            ],
        )
        assert pool.got() == {"ann": 3, "bob": 3}
        assert pool.record("ann")["WeightedResourcesUsed"] == 3

    @says("Introduction, paragraph 3, sentences 1 and 2", also=older("Introduction, paragraph 3"))
    def test_less_is_better(self, pool):
        """The less the number, the better the priority: a user with 5 gets more than one with 50."""
        pool.set_eup("ann", 5)
        pool.set_eup("bob", 50)
        pool.slots(22)
        pool.submit("ann", 100)
        pool.submit("bob", 100)
        assert pool.got() == {"ann": 20, "bob": 2}

    @says("Introduction, list, item 1", "RUP, paragraph 1, sentence 1",
          also=older("RUP, paragraph 1, sentence 1"))  # fmt: skip
    def test_real_priority_measures_use(self, pool):
        """Real priority measures what a user uses as time goes by."""
        pool.slots(5)
        pool.submit("ann", 4)
        pool.submit("bob", 1)
        pool.cycle()
        pool.cycle(NOW + DAY)
        assert pool.record("ann")["RealPriority"] == pytest.approx(2.25)
        assert pool.record("bob")["RealPriority"] == pytest.approx(0.75)

    @says("Introduction, list, item 2", "EUP, paragraph 1, sentence 1",
          also=older("EUP, paragraph 1, sentence 1"))  # fmt: skip
    def test_effective_priority_says_how_much_one_may_have(self, pool):
        """Effective priority, not real priority, decides how many resources a user may receive."""
        for user, real, factor in (("ann", 2, 30), ("bob", 20, 1)):
            pool.set_rup(user, real)
            pool.fairq("userprio", "--setfactor", f"{user}@example.org", factor, "--now", NOW)
            pool.submit(user, 100)
        pool.slots(40)
        assert pool.got() == {"ann": 10, "bob": 30}


class TestRealUserPriority:
    @says("RUP, paragraph 1, sentence 2, beginning", also=older("RUP, paragraph 1, sentence 2, beginning"))
    def test_everybody_begins_with_one_half(self, pool):
        """Every user begins with a real priority of 0.5."""
        pool.slots(1)
        pool.submit("ann")
        pool.cycle()
        assert pool.record("ann")["RealPriority"] == 0.5

    @says("RUP, paragraph 1, sentence 2, end", "RUP, paragraph 1, sentence 3", "Priority Calculation, paragraph 4",
          also=older("RUP, paragraph 1, sentence 3"))  # fmt: skip
    @pytest.mark.parametrize("begins_with", [0.5, 300])
    def test_a_steady_use_of_ten_is_a_priority_of_ten(self, pool, begins_with):
        """Who uses exactly ten resources for a long time has a real priority of ten in the end."""
        pool.set_rup("ann", begins_with)
        pool.slots(10)
        pool.submit("ann", 10)
        pool.cycle()
        pool.cycle(NOW + 30 * DAY)
        assert pool.record("ann")["RealPriority"] == pytest.approx(10, abs=1e-4)

    @says("RUP, paragraph 2, sentence 1", also=older("RUP, paragraph 2, sentence 1"))
    def test_less_use_makes_it_better(self, pool):
        """Real priority gets better when the user uses less."""
        pool.set_rup("ann", 10)
        pool.slots(2)
        pool.submit("ann", 2)
        pool.cycle()
        pool.cycle(NOW + DAY)
        assert pool.record("ann")["RealPriority"] == pytest.approx(6)

    @says("RUP, paragraph 2, sentence 2", also=older("RUP, paragraph 2, sentence 2"))
    def test_the_half_life_sets_how_fast(self, pool):
        """PRIORITY_HALFLIFE, in seconds, sets how fast real priority decays."""
        pool.settings("[accounting]\npriority_halflife = 3600\n")
        pool.set_rup("ann", 10)
        pool.cycle(NOW)
        pool.cycle(NOW + HOUR)
        assert pool.record("ann")["RealPriority"] == pytest.approx(5)

    @says("RUP, paragraph 2, sentence 3", points=["accounting.edits_at_their_time"],
          also=older("RUP, paragraph 2, sentence 3"))  # fmt: skip
    @pytest.mark.parametrize("last_cycle", [NOW, NOW - DAY])
    def test_10_is_5_a_day_later_and_then_2_5(self, pool, last_cycle):
        """With a half-life of a day, a real priority of 10 without running jobs is 5 a day later and 2.5 in two."""
        pool.cycle(last_cycle)
        pool.set_rup("ann", 10, now=NOW)
        seen = []
        for day in (1, 2):
            pool.cycle(NOW + day * DAY)
            seen.append(pool.record("ann")["RealPriority"])
        assert seen == pytest.approx([5, 2.5], abs=1e-5)


class TestEffectiveUserPriority:
    @says("EUP, paragraph 1, sentence 2", "Priority Calculation, paragraph 3",
          also=older("EUP, paragraph 1, sentence 2"))  # fmt: skip
    def test_it_is_real_priority_times_a_factor_of_the_user(self, pool):
        """Effective priority is real priority times a factor, which each user may have for himself."""
        for user, real, factor in (("ann", 3, 7), ("bob", 3, 1)):
            pool.set_rup(user, real)
            pool.fairq("userprio", "--setfactor", f"{user}@example.org", factor, "--now", NOW)
        assert [pool.record(user)["Priority"] for user in ("ann", "bob")] == pytest.approx([21, 3])

    @says("EUP, paragraph 1, sentence 3",
          note="Condor 7 and 6.8 have 1.0 as the default; HTCondor 8 holds")  # fmt: skip
    def test_the_factor_is_1000_unless_configured(self, pool):
        """Users who submit for the first time have the factor DEFAULT_PRIO_FACTOR, 1000 if that is not set."""
        pool.slots(2)
        pool.submit("ann")
        pool.cycle()
        pool.settings("[accounting]\ndefault_prio_factor = 5\n")
        pool.submit("bob")
        pool.cycle()
        factors = [pool.record(user)["PriorityFactor"] for user in ("ann", "bob")]
        assert factors == [1000, 5]

    @says("EUP, paragraph 1, sentence 4", "EUP, last paragraph, sentence 1",
          also=older("EUP, paragraph 1, sentence 4"))  # fmt: skip
    def test_userprio_sets_factors_to_prefer_others(self, pool):
        """condor_userprio's setfactor sets a user's factor; a higher one lets others be served first."""
        pool.fairq("userprio", "-setfactor", "bob@example.org", 3000, "--now", NOW)
        pool.slots(8)
        pool.submit("ann", 8)
        pool.submit("bob", 8)
        assert pool.got() == {"ann": 6, "bob": 2}

    @says("EUP, paragraph 2, sentences 1 and 2", points=["negotiator.pie_slices"],
          also=older("EUP, paragraph 2, sentences 1 and 2"))  # fmt: skip
    @pytest.mark.parametrize(("slots", "parts"), [(35, (20, 10, 5)), (7, (4, 2, 1)), (70, (40, 20, 10))])
    def test_5_gets_twice_as_much_as_10_and_four_times_as_much_as_20(self, pool, slots, parts):
        """Users get resources in inverse ratio of effective priorities: 5, 10 and 20 get 20, 10 and 5 of 35 slots."""
        _three_users(pool)
        pool.slots(slots)
        assert pool.got() == dict(zip("abc", parts, strict=True))

    @says("EUP, paragraph 2, sentence 3", points=["negotiator.pie_slices"],
          also=older("EUP, paragraph 2, sentence 3"))  # fmt: skip
    @pytest.mark.parametrize("of_a", [0, 2, 5, 14, 19])
    def test_what_a_does_not_use_goes_to_b_and_c_by_the_same_rule(self, pool, of_a):
        """What the first user does not use goes to the others in inverse ratio: of 35 slots less 5, they get 20, 10."""
        _three_users(pool, of_a=of_a)
        pool.slots(35)
        got = pool.got()
        assert (got["a"], sum(got.values())) == (of_a, 35)
        assert abs(got["b"] - (35 - of_a) * 2 / 3) < 1
        assert abs(got["c"] - (35 - of_a) / 3) < 1

    def test_of_30_left_b_gets_20_and_c_10(self, pool):
        _three_users(pool, of_a=5)
        pool.slots(35)
        assert pool.got() == {"a": 5, "b": 20, "c": 10}

    def test_slots_in_use_count(self, pool):
        """Of 10 slots one user holds 8: the two others share what is free."""
        pool.slots(8)
        pool.submit("a", 20)
        pool.cycle()
        pool.slots(2, "more")
        for user in "bc":
            pool.submit(user, 20)
        assert pool.got() == {"b": 1, "c": 1}

    @says("EUP, Nice users, sentence 1", also=older("EUP, Nice users, sentence 1"))
    def test_the_submit_command_nice_user(self, pool, tmp_path):
        """A job may be submitted with the submit command nice_user = True."""
        description = tmp_path / "nice.sub"
        description.write_text("executable = /bin/true\nnice_user = True\nqueue\n")
        pool.fairq("submit", description, "--now", NOW)
        (job,) = pool.fairq("queue", "--json")
        assert job["AccountingGroup"].startswith("nice-user.")

    @says("EUP, Nice users, sentence 2", also=older("EUP, Nice users, sentence 2"))
    def test_nice_user_prio_factor(self, pool):
        """A nice user's effective priority is his real priority times NICE_USER_PRIO_FACTOR, very large."""
        pool.slots(1)
        pool.submit("ann", 1, "--nice-user")
        (match,) = pool.cycle()["matches"]
        assert pool.records()[match["submitter"]]["Priority"] == pytest.approx(0.5e10)
        pool.settings("[accounting]\nnice_user_prio_factor = 77\n")
        pool.slots(1, "more")
        pool.submit("bob", 1, "--nice-user")
        (match,) = pool.cycle()["matches"]
        assert pool.records()[match["submitter"]]["PriorityFactor"] == 77

    @says("EUP, Nice users, sentence 3", also=older("EUP, Nice users, sentences 3 and 4"))
    def test_nice_jobs_take_what_others_leave(self, pool):
        """Nice jobs have a low priority: they use what other users leave."""
        pool.submit("ann", 9, "--nice-user")
        pool.submit("bob", 3)
        pool.slots(5)
        assert sorted(pool.got().values()) == [2, 3]
        assert pool.record("bob")["ResourcesUsed"] == 3

    @says("EUP, Remote Users, sentences 1 to 3", also=older("EUP, Remote Users, sentences 1 to 3"))
    def test_submitters_of_other_domains_take_part(self, pool):
        """Submitters of other domains can submit to the local pool."""
        pool.slots(1)
        pool.import_(jobs=[{**job_ad(1, "guest"), "User": "guest@other.edu"}])
        assert [one["submitter"] for one in pool.cycle()["matches"]] == ["guest@other.edu"]

    @says("EUP, Remote Users, sentences 4 and 5", also=older("EUP, Remote Users, sentences 4 and 5"))
    @pytest.mark.parametrize("local", ["", 'accountant_local_domain = "example.org"\n'])
    def test_remote_prio_factor(self, pool, local):
        """Users of other domains have the factor REMOTE_PRIO_FACTOR, so that local users are preferred."""
        pool.settings(f"[accounting]\nremote_prio_factor = 9000\n{local}")
        guests = [{**job_ad(n, "guest"), "User": "guest@other.edu"} for n in range(1, 31)]
        pool.import_(jobs=[*guests, *(job_ad(n, "ann") for n in range(31, 61))])
        pool.slots(20)
        assert pool.got() == {"ann": 18, "guest": 2}
        assert pool.records()["guest@other.edu"]["PriorityFactor"] == 9000


class TestPriorityCalculation:
    @says("Priority Calculation, paragraph 2, formula", points=["accounting.exact_usage"],
          also=older("Priority Calculation, paragraph 2"))  # fmt: skip
    @pytest.mark.parametrize(("half_life", "seconds"), [(DAY, 60), (DAY, 3 * DAY), (1000, 777)])
    def test_the_formula(self, pool, half_life, seconds):
        """Real priority moves from what it was towards the use, by 1 - 0.5 ^ (time / half-life)."""
        pool.settings(f"[accounting]\npriority_halflife = {half_life}\n")
        pool.set_rup("ann", 20)
        pool.slots(3)
        pool.submit("ann", 3)
        pool.cycle()
        pool.cycle(NOW + seconds)
        beta = 0.5 ** (seconds / half_life)
        assert pool.record("ann")["RealPriority"] == pytest.approx(beta * 20 + (1 - beta) * 3, abs=1e-5)

    @says("Priority Calculation, paragraph 4, sentence 2", also=older("Priority Calculation, paragraph 4, sentence 2"))
    def test_the_length_of_the_steps_does_not_matter(self, run, tmp_path, monkeypatch):
        """Steps of different lengths lead to the same real priority as one step."""
        ends = []
        for steps in ([5000], [1, 999, 2500, 2501, 5000], list(range(50, 5001, 50))):
            folder = tmp_path / str(len(steps))
            folder.mkdir()
            pool = make_pool(run, folder / "state.db", folder, monkeypatch)
            pool.slots(4)
            pool.submit("ann", 4)
            pool.cycle()
            for step in steps:
                pool.cycle(NOW + step)
            ends.append(pool.record("ann")["RealPriority"])
        assert ends == pytest.approx([ends[0]] * 3, abs=1e-4)

    @says("Priority Calculation, paragraph 4, sentence 3", points=["accounting.exact_usage"],
          also=older("Priority Calculation, paragraph 4, sentence 3"))  # fmt: skip
    @pytest.mark.parametrize(("cycles", "end"), [((), 3 * HOUR), ((600, 7200), 3 * HOUR), ((600,), 601), ((5,), 5)])
    def test_no_match_is_unaccounted_for(self, pool, cycles, end):
        """Whenever cycles are held, a match is accounted for: its use is the time from the match to the end."""
        pool.slots(1)
        pool.submit("ann")
        pool.cycle()
        for at in cycles:
            pool.cycle(NOW + at)
        pool.finish(["1.0"], NOW + end)
        assert pool.record("ann")["WeightedAccumulatedUsage"] == end
        pool.cycle(NOW + DAY)
        assert pool.record("ann")["WeightedAccumulatedUsage"] == end

    @says("Priority Calculation, paragraph 4, sentence 2, at any clock",
          also=older("Priority Calculation, paragraph 4, sentence 2, at any clock"),
          points=["accounting.exact_usage"])  # fmt: skip
    @pytest.mark.parametrize(("cycles", "priorities"), [
        ((3, 1, 2, 5), (12, 12, 12, 3)), ((2, 1, 2), (24, 24, 24)), ((4, 3, 2, 6, 5, 7), (6, 6, 6, 1.5, 1.5, 0.75)),
    ])  # fmt: skip
    def test_a_clock_set_back_decays_nobody_twice(self, pool, cycles, priorities):
        """Time that was accounted for once counts once: of users, of groups, and of who comes late."""
        pool.settings(f"[accounting]\npriority_halflife = {HOUR}\n[groups.physics]\nquota = 1\n")
        for user in ("ann", "physics.bob"):
            pool.set_rup(user, 96)
        pool.fairq("userprio", "--setprio", "physics", 96, "--now", NOW)
        pool.submit("cyd")
        found = []
        for hour in cycles:
            pool.cycle(NOW + hour * HOUR)
            records = pool.records()
            found += [
                [records[name]["RealPriority"] for name in ("ann@example.org", "physics.bob@example.org", "physics")]
            ]
        assert found == [[pytest.approx(priority)] * 3 for priority in priorities]

    @says("Priority Calculation, paragraph 4, sentence 3, at any clock", points=["accounting.exact_usage"],
          also=older("Priority Calculation, paragraph 4, sentence 3, at any clock"))  # fmt: skip
    def test_a_clock_set_back_charges_nobody_twice(self, pool):
        """A job is charged from its match to its end, by the clock; the priority is edited and ends in between."""
        pool.settings(f"[accounting]\npriority_halflife = {HOUR}\n[groups.physics]\nquota = 3\n")
        pool.slots(3)
        pool.submit("ann", 1, now=NOW)
        pool.submit("bob", 1, group="physics", now=NOW)
        pool.cycle(NOW)
        pool.cycle(NOW + 2 * HOUR)
        pool.submit("cyd", 1, now=NOW + HOUR)
        pool.cycle(NOW + HOUR)
        assert pool.record("cyd")["WeightedAccumulatedUsage"] == 0
        pool.set_rup("dee", 80, NOW + HOUR + 600)
        pool.finish(["2.0"], NOW + HOUR + 1800)
        assert pool.record("physics.bob")["WeightedAccumulatedUsage"] == 1.5 * HOUR
        pool.cycle(NOW + 4 * HOUR)
        usage = {name: record["WeightedAccumulatedUsage"] / HOUR for name, record in pool.records().items()}
        users = {name.partition("@")[0]: hours for name, hours in usage.items()}
        assert users == {"ann": 4, "physics.bob": 1.5, "cyd": 3, "dee": 0, "physics": 1.5, "<none>": 7}
        assert pool.record("dee")["RealPriority"] == pytest.approx(20)
        assert pool.record("ann")["RealPriority"] == pytest.approx(1 - 0.5**5)
        pool.fairq("state", "check")


def _three_users(pool, of_a=100):
    for user, priority, jobs in (("a", 5, of_a), ("b", 10, 100), ("c", 20, 100)):
        pool.set_eup(user, priority)
        if jobs:
            pool.submit(user, jobs)
