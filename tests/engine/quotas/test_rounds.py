"""Rounds of allocation and round-robin steps (reference 4.7)."""

import pytest
from tests.engine.negotiation.pools import HTCONDOR, cycle, jobs, slots
from tests.engine.quotas.groups import both_rules, hold, rules_of, used

from fairq.steps.quotas.sentences import skip_words

HALVES = {"a": 10, "b": 10}


def limits(decision, group):
    """How far a group might go, turn by turn; turns it was passed over in are left out."""
    return [turn.handed_out for turn in decision.groups if turn.group == group and not turn.skipped]


@both_rules
def test_one_round_is_enough_when_every_allocation_is_used(rules):
    """Nothing is left to share out again."""
    decision = hold(rules_of(HALVES, rules), 20, {"a.u@d": 30, "b.u@d": 30})

    assert decision.rounds == 1
    assert used(decision) == {"<none>": 0, "a": 10, "b": 10}
    assert limits(decision, "a") == [10]


@both_rules
def test_what_a_group_cannot_use_goes_to_others_in_the_next_round(rules):
    """a asks for 10, but its jobs fit on no slot: in round 2 it asks for nothing, and b has all 20."""
    policy = rules_of(HALVES, rules, surplus=True)
    wants = {"a.u@d": [jobs(10, RequestMemory=10**6)], "b.u@d": [jobs(30)]}
    decision = cycle(slots(20), wants, quotas=policy)

    assert decision.rounds == 2
    assert used(decision)["b"] == 20
    assert limits(decision, "b") == [10, 20]


def test_the_number_of_rounds_is_bounded():
    """GROUP_QUOTA_MAX_ALLOCATION_ROUNDS = 1: what a cannot use stays idle in this cycle."""
    policy = rules_of(HALVES, surplus=True, max_rounds=1)
    wants = {"a.u@d": [jobs(10, RequestMemory=10**6)], "b.u@d": [jobs(30)]}
    decision = cycle(slots(20), wants, quotas=policy)

    assert (decision.rounds, used(decision)["b"]) == (1, 10)


@both_rules
def test_who_is_satisfied_in_one_round_is_not_asked_again(rules):
    """A group's list of submitters lives through the cycle; a group emptied so is skipped."""
    policy = rules_of(HALVES, rules, surplus=True)
    wants = {"a.u@d": [jobs(3)], "b.u@d": [jobs(30, RequestMemory=10**6)], "b.v@d": [jobs(5)]}
    decision = cycle(slots(20), wants, quotas=policy)

    later = [turn for turn in decision.groups if turn.group == "a" and turn.round > 1]
    assert later
    assert {skip_words(turn) for turn in later} == {"skipping, no submitters (usage=3)"}


@both_rules
def test_round_robin_lets_groups_take_turns(rules):
    """GROUP_QUOTA_ROUND_ROBIN_RATE = 5: groups that miss 10 each take 5 at a time."""
    policy = rules_of(HALVES, rules, round_robin_rate=5.0, strict=False)
    decision = hold(policy, 20, {"a.u@d": 30, "b.u@d": 30})

    assert [match.group for match in decision.matches] == ["a"] * 5 + ["b"] * 5 + ["a"] * 5 + ["b"] * 5
    assert [turn.step for turn in decision.groups if turn.group == "a"] == [1, 2]


@both_rules
def test_who_misses_most_sets_the_pace(rules):
    """b misses 30 and a 10 at a rate of 15: in the first step each may have half of what it misses."""
    policy = rules_of({"a": 10, "b": 30}, rules, round_robin_rate=15.0, strict=False)
    decision = hold(policy, 40, {"a.u@d": 50, "b.u@d": 50})

    assert limits(decision, "a") == [5, 10]
    assert limits(decision, "b") == [15, 30]


@pytest.mark.parametrize(("rules", "expected"), [("documented", (10, 30)), ("htcondor", (9, 25))])
def test_small_steps_and_strict_caps(rules, expected):
    """p=10 and q=30, 2 and 3 in use, rate 5: today's negotiator counts earlier steps against the cap.

    It ends at 9 and 25 with 6 slots free. The documented rules hand out the whole quota.
    """
    policy = rules_of({"p": 10, "q": 30}, rules, round_robin_rate=5.0)
    in_use = {"p.old@d": 2, "q.old@d": 3}
    decision = hold(policy, 40, {"p.u@d": 50, "q.u@d": 50}, in_use)

    found = used(decision)
    assert (found["p"], found["q"]) == expected


@pytest.mark.parametrize(("rules", "limit", "matches"), [("documented", 7.5, 15), ("htcondor", 7, 14)])
def test_a_fraction_of_a_quota(rules, limit, matches):
    """Half a pool of 15: today's negotiator makes 7 of 7.5, as its callback takes an integer.

    By the documented rules the slot that is left of both halves goes to the first who has a part in it.
    """
    decision = hold(rules_of({"a": "50%", "b": "50%"}, rules), 15, {"a.u@d": 9, "b.u@d": 9})

    assert limits(decision, "a")[0] == limit
    assert len(decision.matches) == matches


def test_rounding_errors_are_no_quota():
    """0.1 and 0.2 and 0.7 of 10 leave <none> some last bits, which hand out no slot."""
    decision = hold(
        rules_of({"a": "10%", "b": "20%", "c": "70%"}), 10, dict.fromkeys(["u@d", "a.u@d", "b.u@d", "c.u@d"], 9)
    )

    assert used(decision) == {"<none>": 0, "a": 1, "b": 2, "c": 7}


def test_fractions_that_round_to_slots_are_slots():
    """The manual: 0.75 of 0.66667 of 30, next to 0.33334, are the same 15 machines as a quota of 15."""
    quotas = {"physics": "66.667%", "physics.hep": "75%", "physics.lep": "25%", "chemistry": "33.334%"}
    wants = {"physics.hep.u@d": 30, "physics.lep.u@d": 30, "chemistry.u@d": 30}
    decision = hold(rules_of(quotas), 30, wants)

    assert used(decision) == {"<none>": 0, "physics": 0, "physics.hep": 15, "physics.lep": 5, "chemistry": 10}


class TestZeroOverZero:
    """Every target is reached, but a group still has quota above its use: the step's part is 0/0.

    Slots weigh 4. a, of quota 10, asks for 3 and has 8 after the first round; b cannot use what it has.
    """

    def decide(self, rules):
        policy = rules_of(HALVES, rules, surplus=True, oversubscription=False)
        wants = {"a.u@d": [jobs(3)], "b.u@d": [jobs(1, RequestMemory=10**6)]}
        return cycle(slots(5, Cpus=4), wants, quotas=policy, pie_slices="pool_share", last_dealing=False)

    def test_it_is_no_number_to_today_s_negotiator(self):
        """The limit becomes the smallest integer: a gets nothing more, though it has quota and a waiting job."""
        decision = self.decide("htcondor")
        second = next(turn for turn in decision.groups if (turn.group, turn.round) == ("a", 2))

        assert (second.limit, second.handed_out) == (None, -(2**31))
        assert used(decision)["a"] == 8

    def test_it_is_one_by_the_documented_rules(self):
        """All of nothing: a may go on to its quota, and the last job rounds it up to a whole slot."""
        decision = self.decide("documented")

        assert limits(decision, "a")[:2] == [10, 10]
        assert used(decision)["a"] == 12


@both_rules
def test_groups_at_their_quota_are_passed_over_without_preemption(rules):
    """NEGOTIATOR_CONSIDER_PREEMPTION = False: who has the whole allocation has no turn at all."""
    policy = rules_of(HALVES, rules)
    decision = hold(policy, 20, {"a.u@d": 30, "b.u@d": 30}, {"a.old@d": 10}, consider_preemption=False)

    assert skip_words(decision.groups[1]) == "skipping, at or over quota (quota=10) (usage=10) (allocation=10)"
    assert used(decision) == {"<none>": 0, "a": 10, "b": 10}


@pytest.mark.parametrize(("today", "expected"), [(False, 8), (True, 5)])
def test_a_submitter_s_lower_job_priorities_are_offered_in_one_turn_alone_today(today, expected):
    """USE_GLOBAL_JOB_PRIOS: entries that the first pie made one are the first of them alone in the next one."""
    policy = rules_of({"a": 8}, "htcondor" if today else "documented", round_robin_rate=4.0)
    wants = {"a.u@d": [jobs(5, JobPrio=10), jobs(9)]}
    rules = {**(HTCONDOR if today else {}), "global_job_prios": 500, "ads_per_job_priority": today}
    decision = cycle(slots(8), wants, quotas=policy, **rules)

    assert len(decision.matches) == expected
