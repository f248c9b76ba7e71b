"""Slots are dealt out in inverse ratio of the effective priorities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.negotiation.pools import HTCONDOR, claimed, cycle, jobs, matched, slots

from fairq.common.records import AccountingRecord
from fairq.engine.classad import parse
from fairq.engine.negotiation.decision import StopReason


class TestWorkedExamples:
    """The figures of reference 3.4 and vector 5 of reference 9."""

    def test_shares_that_come_out_even_end_in_one_spin(self):
        """EUPs 500, 1000 and 2000 on 70 free slots: 40, 20 and 10, and nothing left to spin for."""
        wants = {"a@x": [jobs(100)], "b@x": [jobs(100)], "c@x": [jobs(100)]}
        decision = cycle(slots(70), wants, {"a@x": 500, "b@x": 1000, "c@x": 2000})

        assert matched(decision) == {"a@x": 40, "b@x": 20, "c@x": 10}
        assert decision.spins == 1

    def test_a_fraction_of_a_slot_is_left_idle_by_today_s_negotiator(self):
        """100 slots at 5/10/20: 57, 28 and 14; the slot that is left goes to nobody's fraction."""
        wants = {"a@x": [jobs(100)], "b@x": [jobs(100)], "c@x": [jobs(100)]}
        decision = cycle(slots(100), wants, {"a@x": 5, "b@x": 10, "c@x": 20}, **HTCONDOR)

        assert matched(decision) == {"a@x": 57, "b@x": 28, "c@x": 14}
        assert {submitter.stopped for submitter in decision.submitters} == {StopReason.LIMIT}

    def test_what_fractions_leave_goes_to_whoever_has_least_for_its_share(self):
        """By the manuals nothing is left: C has 14 at 20 (280), B 28 at 10 (280), A 57 at 5 (285); B comes first."""
        wants = {"a@x": [jobs(100)], "b@x": [jobs(100)], "c@x": [jobs(100)]}
        decision = cycle(slots(100), wants, {"a@x": 5, "b@x": 10, "c@x": 20})

        assert matched(decision) == {"a@x": 57, "b@x": 29, "c@x": 14}

    def test_what_satisfied_submitters_leave_goes_to_the_others(self):
        """B wants 10 and C 4 of 100: A has 57 of the first spin and 29 of the second."""
        wants = {"a@x": [jobs(100)], "b@x": [jobs(10)], "c@x": [jobs(4)]}
        decision = cycle(slots(100), wants, {"a@x": 5, "b@x": 10, "c@x": 20})

        assert matched(decision) == {"a@x": 86, "b@x": 10, "c@x": 4}

    def test_slices_below_one_slot_are_rounded_up_while_the_pie_lasts(self):
        """3 slots among five equals: the first three get one each."""
        wants = {f"{name}@x": [jobs(5)] for name in "abcde"}
        decision = cycle(slots(3), wants, dict.fromkeys(wants, 500))

        assert matched(decision) == {"a@x": 1, "b@x": 1, "c@x": 1, "d@x": 0, "e@x": 0}

    def test_a_heavy_slot_overshoots_a_small_slice_once(self):
        """3 slots of weight 4 among five equals with limits of 2.4: three take a whole slot."""
        wants = {f"{name}@x": [jobs(5)] for name in "abcde"}
        decision = cycle(slots(3, Cpus=4), wants, dict.fromkeys(wants, 500))

        assert matched(decision) == {"a@x": 1, "b@x": 1, "c@x": 1, "d@x": 0, "e@x": 0}

    def test_users_at_one_to_two(self):
        """The manual's EUP 5, 10 and 20: A gets twice as many as B and four times as many as C."""
        wants = {"a@x": [jobs(100)], "b@x": [jobs(100)], "c@x": [jobs(100)]}
        decision = cycle(slots(35), wants, {"a@x": 5, "b@x": 10, "c@x": 20})

        assert matched(decision) == {"a@x": 20, "b@x": 10, "c@x": 5}


class TestUsage:
    """What is in use counts in the pie and against the limit."""

    def test_slots_in_use_count_towards_the_share(self):
        """Two equals on 10 slots, one of whom holds 4: he gets 1 more, the other 5."""
        pool = slots(10)
        pool[:4] = [claimed(slot, "a@x") for slot in pool[:4]]
        decision = cycle(pool, {"a@x": [jobs(10)], "b@x": [jobs(10)]}, {"a@x": 10, "b@x": 10})

        assert matched(decision) == {"a@x": 1, "b@x": 5}

    def test_a_submitter_above_its_share_gets_nothing(self):
        """One who holds 8 of 10 slots waits while another has jobs."""
        pool = slots(10)
        pool[:8] = [claimed(slot, "a@x") for slot in pool[:8]]
        decision = cycle(pool, {"a@x": [jobs(10)], "b@x": [jobs(10)]}, {"a@x": 10, "b@x": 10})

        assert matched(decision) == {"a@x": 0, "b@x": 2}


class TestCeilingsAndFloors:
    """Reference 3.5 and vector 7."""

    def test_a_ceiling_stops_a_submitter(self):
        """A ceiling of 3 leaves the rest of the pool to others, over the spins."""
        records = [AccountingRecord("a@x", ceiling=3)]
        decision = cycle(slots(10), {"a@x": [jobs(10)], "b@x": [jobs(10)]}, {"a@x": 10, "b@x": 20}, records)

        assert matched(decision) == {"a@x": 3, "b@x": 7}
        assert decision.submitters[0].stopped is StopReason.CEILING

    def test_who_is_at_the_ceiling_is_told_so_even_above_its_share(self):
        """A slot of no weight, which would fit below any ceiling, changes nothing."""
        pool = [claimed(slots(1)[0], "a@x"), *slots(3, SlotWeight=0)[1:]]
        changes = HTCONDOR | {"consider_preemption": False}
        records = [AccountingRecord("a@x", ceiling=1)]
        decision = cycle(pool, {"a@x": [jobs(1)], "b@x": [jobs(1)]}, {"a@x": 20, "b@x": 10}, records, **changes)

        assert {one.submitter: one.stopped for one in decision.submitters}["a@x"] is StopReason.CEILING

    def test_usage_counts_in_whole_slots_below_a_ceiling(self):
        """With a ceiling of 5 and 4.9 in use there is room for one more."""
        pool = [claimed(slots(1, SlotWeight=4.9)[0], "a@x"), *slots(5)[1:]]
        decision = cycle(pool, {"a@x": [jobs(5)]}, {"a@x": 10}, [AccountingRecord("a@x", ceiling=5)])

        assert matched(decision) == {"a@x": 1}

    def test_a_floor_comes_before_the_pie(self):
        """The worst submitter has his floor before anybody's slice."""
        records = [AccountingRecord("b@x", floor=5)]
        wants = {"a@x": [jobs(20)], "b@x": [jobs(20)]}
        decision = cycle(slots(12), wants, {"a@x": 10, "b@x": 1000}, records)

        assert [match.submitter for match in decision.matches[:5]] == ["b@x"] * 5

    @pytest.mark.parametrize(("counts", "dealt"), [(True, 2), (False, 5)])
    def test_what_is_held_counts_towards_the_floor(self, counts, dealt):
        """Of a floor of 5 with 3 in use the documented rules deal 2, today's negotiator 5 more."""
        pool = slots(15)
        pool[:3] = [claimed(slot, "b@x") for slot in pool[:3]]
        wants = {"a@x": [jobs(20)], "b@x": [jobs(20)]}
        records = [AccountingRecord("b@x", floor=5)]
        decision = cycle(pool, wants, {"a@x": 10, "b@x": 10_000}, records, floor_counts_usage=counts)

        first = [match.submitter for match in decision.matches]

        assert first.index("a@x") == dealt


class TestOrder:
    """Reference 3.3: among equal effective priorities, less use / (use + limit) comes first, then the name."""

    def taken_by(self, use):
        """Who gets a slot whose Rank prefers both submitters of equal priority, the first in order."""
        pool = slots(1 + sum(use.values()), Rank="/Expr(TARGET.Wanted)/")
        holders = ["c@x", *(name for name, count in use.items() for _ in range(count))]
        pool = [claimed(slot, name) for slot, name in zip(pool, holders, strict=True)]
        pool[1:] = [{**slot, "Requirements": False} for slot in pool[1:]]
        wants = {name: [jobs(1, Wanted=1)] for name in use} | {"c@x": [jobs(1, Wanted=0, RequestCpus=9)]}
        decision = cycle(pool, wants, dict.fromkeys(use, 1e6) | {"c@x": 1}, **HTCONDOR)
        return [match.submitter for match in decision.matches]

    def test_who_has_less_of_its_part(self):
        assert self.taken_by({"a@x": 1, "b@x": 0}) == ["b@x"]

    def test_above_their_parts_the_name_decides(self):
        assert self.taken_by({"a@x": 3, "b@x": 2}) == ["a@x"]


class TestSwitches:
    """Settings that change how the pie is dealt."""

    def test_without_priorities_the_first_submitter_takes_all(self):
        """NEGOTIATOR_IGNORE_USER_PRIORITIES lifts the limits and keeps the order."""
        wants = {"a@x": [jobs(20)], "b@x": [jobs(20)]}
        decision = cycle(slots(10), wants, {"a@x": 10, "b@x": 5}, ignore_user_priorities=True)

        assert matched(decision) == {"b@x": 10, "a@x": 0}

    def test_weights_off_count_slots(self):
        """With slot weights off a slot of 4 cores is one slot like any other."""
        pool = slots(12)
        for big in pool[:4]:
            big["Cpus"] = 4
        wants = {"a@x": [jobs(20)], "b@x": [jobs(20)]}
        decision = cycle(pool, wants, {"a@x": 10, "b@x": 20}, use_slot_weights=False)

        assert matched(decision) == {"a@x": 8, "b@x": 4}


prioritized = st.dictionaries(
    st.sampled_from([f"u{i}@x" for i in range(8)]), st.floats(0.5, 1e6), min_size=1, max_size=8
)


@given(prioritized, st.integers(1, 30), st.data())
def test_laws_of_the_pie(priorities, size, data):
    """Nobody gets more than it asked for; nothing stays idle while anybody waits; the last one has its whole share."""
    wants = {name: [jobs(data.draw(st.integers(1, 40), label=name))] for name in priorities}
    decision = cycle(slots(size), wants, priorities)

    dealt = sum(submitter.matched for submitter in decision.submitters)
    assert all(submitter.matched <= submitter.idle for submitter in decision.submitters)
    assert dealt == min(size, sum(submitter.idle for submitter in decision.submitters))
    waiting = [submitter for submitter in decision.submitters if submitter.matched < submitter.idle]
    assert sum(submitter.share for submitter in waiting) <= 1 + 1e-9


@given(prioritized, st.integers(1, 20), st.randoms(use_true_random=False))
def test_order_of_the_input_does_not_matter(priorities, size, random):  # type: ignore[no-untyped-def]
    """However slots and submitters are listed, everybody gets the same slots."""
    wants = {name: [jobs(7)] for name in priorities}
    pool = slots(size)
    before = cycle(pool, wants, priorities)
    names = list(wants)
    shuffled = list(pool)
    random.shuffle(names)
    random.shuffle(shuffled)
    after = cycle(shuffled, {name: wants[name] for name in names}, priorities)

    got = {(m.submitter, pool[m.slot]["Name"]) for m in before.matches}

    assert got == {(m.submitter, shuffled[m.slot]["Name"]) for m in after.matches}


def test_the_size_of_the_pool_is_that_of_the_pie():
    """NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT leaves slots out of it; one with a GhostMultiplier counts as several."""
    pool = [{**slot, "Counts": number < 4} for number, slot in enumerate(slots(6))]
    assert cycle(pool, {"a@x": [jobs(1)]}, pool_size=parse("Counts")).pie == 4
    assert cycle([{**pool[0], "GhostMultiplier": 3}, *pool[1:]], {"a@x": [jobs(1)]}).pie == 8
