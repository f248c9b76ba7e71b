"""Nothing that somebody could use stays free: slices with existing use counted, and the last dealing after them."""

import pytest
from tests.engine.negotiation.pools import HTCONDOR, claimed, cycle, jobs, matched, slots
from tests.engine.quotas.groups import hold, rules_of, used

from fairq.common.records import AccountingRecord
from fairq.engine.negotiation.decision import StopReason
from fairq.engine.negotiation.slices import Wanting, slices


def wants(names, count):
    """The same jobs for everybody."""
    return {f"{name}@x": [jobs(count)] for name in names}


class TestEntitlements:
    """Weighted max-min fairness, existing use counted."""

    def test_what_is_free_is_shared_by_priority(self):
        """EUP 5, 10 and 20 on 35 slots: 20, 10 and 5."""
        cuts = slices(35, {"a": Wanting(5, 0), "b": Wanting(10, 0), "c": Wanting(20, 0)})

        assert {name: of.slice for name, of in cuts.items()} == {"a": 20, "b": 10, "c": 5}

    def test_who_has_more_than_its_part_is_left_out_with_it(self):
        """Of 2 free slots B and C have one each, whatever A holds."""
        cuts = slices(2, {"a": Wanting(10, 8), "b": Wanting(10, 0), "c": Wanting(10, 0)})

        assert {name: of.slice for name, of in cuts.items()} == {"a": 0, "b": 1, "c": 1}
        assert cuts["a"].part == pytest.approx(10 / 3)

    def test_leaving_one_out_may_leave_out_another(self):
        """B is within its part of 14 among three, but not of the 4 that are left without A."""
        cuts = slices(1, {"a": Wanting(1, 10), "b": Wanting(1, 3), "c": Wanting(1, 0)})

        assert {name: of.slice for name, of in cuts.items()} == {"a": 0, "b": 0, "c": 1}


class TestFigures:
    """The figures of the manuals' promise."""

    def test_sixty_equals_on_a_hundred_slots(self):
        """Everybody has one, and the 40 that are left go to the first 40 by name."""
        decision = cycle(slots(100), {f"u{number:02}@x": [jobs(10)] for number in range(60)})

        assert list(matched(decision).values()) == [2] * 40 + [1] * 20

    def test_three_equals_on_ten_slots(self):
        """3 each, and the last one goes to the first by name."""
        assert matched(cycle(slots(10), wants("abc", 10))) == {"a@x": 4, "b@x": 3, "c@x": 3}

    def test_heavy_slots(self):
        """12 slots of 4 cores and 7 equals: all are used."""
        assert list(matched(cycle(slots(12, Cpus=4), wants("abcdefg", 10))).values()) == [2] * 5 + [1] * 2

    def test_what_is_not_taken_is_dealt_by_the_ratio(self):
        """A takes 5 of its 20: B and C share the rest of 35 as 2 to 1."""
        queues = {"a@x": [jobs(5)], "b@x": [jobs(100)], "c@x": [jobs(100)]}
        decision = cycle(slots(35), queues, {"a@x": 5, "b@x": 10, "c@x": 20})

        assert matched(decision) == {"a@x": 5, "b@x": 20, "c@x": 10}
        assert [submitter.slices for submitter in decision.submitters] == [[20], [10, 10], [5, 5]]
        assert [submitter.limit for submitter in decision.submitters] == [20, 20, 10]

    def test_satisfied_users_are_not_dealt_to_again(self):
        """12 slots, four users with one job and four with five: 1 and 2 each."""
        decision = cycle(slots(12), wants("abcd", 1) | wants("efgh", 5))

        assert list(matched(decision).values()) == [1] * 4 + [2] * 4

    @pytest.mark.parametrize(("considered", "stopped"), [(True, StopReason.IN_USE), (False, StopReason.NO_SLOTS)])
    def test_use_counts(self, considered, stopped):
        """A holds 8 of 10: B and C have the two others, whether or not preemption is considered."""
        pool = [claimed(slot, "a@x") for slot in slots(8)] + slots(10)[8:]
        priorities = dict.fromkeys(["a@x", "b@x", "c@x"], 10.0)
        decision = cycle(pool, wants("abc", 9), priorities, consider_preemption=considered)

        assert matched(decision) == {"a@x": 0, "b@x": 1, "c@x": 1}
        assert {submitter.stopped for submitter in decision.submitters} == {stopped}

    def test_one_user_at_two_schedds_counts_once(self):
        """A has jobs at two schedds, and no more slots for it."""
        queues = {"a@x!one": [jobs(9)], "a@x!two": [jobs(9)], "b@x": [jobs(9)]}
        decision = cycle(slots(8), queues)
        by_name = [match.submitter for match in decision.matches]

        assert (by_name.count("a@x"), by_name.count("b@x")) == (4, 4)

    def test_weights_off(self):
        """Every slot counts 1: of 7 slots of any size three equals have 3, 2 and 2."""
        pool = slots(7)
        for big in pool[:3]:
            big["Cpus"] = 8
        decision = cycle(pool, wants("abc", 9), use_slot_weights=False)

        assert sorted(matched(decision).values()) == [2, 2, 3]

    def test_a_part_of_a_slot_for_everybody(self):
        """A partitionable slot of 10 cores and 3 equals whose jobs take 1: 4, 3 and 3."""
        pool = slots(1, PartitionableSlot=True, Cpus=10, Memory=10000, SlotWeight="/Expr(Cpus)/")

        assert matched(cycle(pool, wants("abc", 9))) == {"a@x": 4, "b@x": 3, "c@x": 3}


class TestLimits:
    """What the last dealing observes."""

    def test_a_ceiling(self):
        """Nobody is dealt beyond its ceiling: of slots of 4 cores a ceiling of 6 leaves one."""
        decision = cycle(slots(12, Cpus=4), wants("ab", 10), records=[AccountingRecord("a@x", ceiling=6)])

        assert matched(decision) == {"a@x": 1, "b@x": 10}
        assert decision.submitters[0].stopped is StopReason.CEILING

    def test_floors_come_first(self):
        """Three slots and five users with a floor: the user of better priority without one has none."""
        records = [AccountingRecord(f"{name}@x", floor=1) for name in "abcde"]
        priorities = dict.fromkeys((f"{name}@x" for name in "abcde"), 500.0) | {"z@x": 1.0}
        decision = cycle(slots(3), wants("abcdez", 4), priorities, records)

        assert matched(decision) == {"z@x": 0, "a@x": 1, "b@x": 1, "c@x": 1, "d@x": 0, "e@x": 0}

    def test_it_preempts_nobody(self):
        """A slice below one slot takes no slot from anybody while one is free."""
        pool = [claimed(slots(1)[0], "z@x"), *slots(3)[1:]]
        priorities = dict.fromkeys(["a@x", "b@x", "c@x"], 1.0) | {"z@x": 1.5}
        decision = cycle(pool, wants("abc", 5), priorities, preemption_requirements="true")

        assert [match.preempted for match in decision.matches][:2] == [None, None]

    def test_today_s_negotiator_leaves_them(self):
        """It made 9 of 10."""
        assert len(cycle(slots(10), wants("abc", 10), **HTCONDOR).matches) == 9


class TestGroups:
    """In groups the same holds within the quota."""

    def test_within_a_group(self):
        """Three equals in a group of 10 of 20 slots: 4, 3 and 3."""
        decision = hold(rules_of({"g": 10}), 20, {"g.a@x": 9, "g.b@x": 9, "g.c@x": 9})

        assert matched(decision) == {"g.a@x": 4, "g.b@x": 3, "g.c@x": 3}
        assert {submitter.stopped for submitter in decision.submitters} == {StopReason.QUOTA}

    def test_surplus_is_dealt_to_the_last_slot(self):
        """Two groups that accept surplus use the whole pool, though halves are no whole slots."""
        decision = hold(rules_of({"g": "55%", "h": "45%"}, surplus=True), 10, {"g.a@x": 20, "h.b@x": 20})

        assert sum(used(decision).values()) == 10

    def test_a_group_that_takes_no_surplus_stays_at_its_quota(self):
        """Of 10 slots 6 are free in the end."""
        decision = hold(rules_of({"g": 4}), 10, {"g.a@x": 20, "g.b@x": 20})

        assert used(decision)["g"] == 4

    def test_the_second_chance_counts_use(self):
        """With autoregroup g's user has 4 of its quota, and in the end as much as the other one."""
        decision = hold(rules_of({"g": 4}, regroup=True), 12, {"g.a@x": 20, "u@x": 20})

        assert matched(decision) == {"g.a@x": 6, "u@x": 6}
