"""Usage is charged and priorities follow it, as HTCondor's accountant did up to 25.9."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import policies

from fairq.common.records import AccountingRecord
from fairq.engine.accounting import Accountant
from fairq.engine.accounting.charges import SlotCharge

DAY = 86400
START = 1_800_000_000


def accountant(*records, **policy):
    return Accountant(records, policies.accounting(**policy), last_update=START)


def test_a_match_is_charged_from_its_first_second_on_and_not_before():
    """A 4-core slot, matched 5 s after an update, seen claimed three times, freed before the fourth (as recorded)."""
    pool = accountant(exact_usage=False)
    pool.add_match("ann@d", "slot1", 4.0, START + 5)
    user = pool.records["ann@d"]
    seen = []
    for now in (60, 120, 180, 240):
        pool.update(START + now)
        pool.check_matches(["slot1"], ["ann@d" if now < 240 else None], [4.0], START + now)
        seen.append((user.weighted_accumulated_usage, round(user.priority, 6)))
    assert seen == [(220, 0.501524), (460, 0.503208), (700, 0.504890), (940, 0.506572)]
    assert (user.resources_used, user.weighted_resources_used, user.accumulated_usage) == (0, 0.0, 235)
    assert user.last_usage_time == START + 240


def test_the_group_of_a_freed_slot_is_freed_too():
    """No trace of the use stays behind: neither counters nor a priority that climbs while all is idle."""
    pool = accountant(group_names=("g", "g.h"))
    pool.add_match("g.h.ann@d", 1, 4.0, START)
    assert [pool.records[name].hier_weighted_resources_used for name in ("g.h", "g")] == [4.0, 4.0]
    assert "<none>" not in pool.records
    pool.update(START + 60)
    pool.remove_match(1, START + 60)
    pool.update(START + 60 + 300 * DAY)
    for name in ("g.h.ann@d", "g.h"):
        record = pool.records[name]
        assert (record.resources_used, record.weighted_resources_used) == (0, 0.0)
        assert (record.priority, record.accumulated_usage) == (0.5, 60.0)
        assert record.last_usage_time == START + 60
    assert pool.records["g"].hier_weighted_resources_used == 0.0


def test_a_groups_priority_follows_the_use_of_all_below_it():
    pool = accountant(group_names=("g", "g.h"), priority_halflife=DAY)
    pool.add_match("g.h.ann@d", 1, 100.0, START)
    pool.update(START + DAY)
    assert pool.records["g"].priority == pytest.approx(50.25)
    assert pool.records["g"].accumulated_usage == 0


def test_real_priority_follows_use_by_half_the_way_per_half_life():
    busy = AccountingRecord("ann@d", resources_used=100, weighted_resources_used=100.0)
    pool = accountant(busy)
    pool.update(START + DAY)
    assert busy.priority == pytest.approx(50.25)
    busy.resources_used, busy.weighted_resources_used = 0, 0.0
    pool.update(START + 2 * DAY)
    assert busy.priority == pytest.approx(25.125)


@pytest.mark.parametrize("steps", [1, 1440])
def test_after_a_half_life_without_use_half_the_priority_is_left(steps):
    idle = AccountingRecord("ann@d", priority=10.0)
    pool = accountant(idle)
    for step in range(1, steps + 1):
        pool.update(START + step * DAY // steps)
    assert idle.priority == pytest.approx(5.0, abs=1e-12)


@pytest.mark.parametrize(("exact", "back", "later"), [(True, 100, 160), (False, 120, 180)])
def test_a_clock_that_goes_back_charges_no_second_twice(exact, back, later):
    """Where usage is exact, the ten seconds that come again are given back; otherwise they are charged twice."""
    pool = accountant(exact_usage=exact)
    pool.add_match("ann@d", 1, 2.0, START)
    pool.update(START + 60)
    user = pool.records["ann@d"]
    pool.update(START + 50)
    assert user.weighted_accumulated_usage == back
    pool.update(START + 80)
    assert user.weighted_accumulated_usage == later


@pytest.mark.parametrize("times", [[], [-1000], [-1000, -990], [5], [500_000], [500_000, -1000]])
def test_a_clock_that_was_back_and_is_right_again_charges_nothing_before_the_match(times):
    pool = accountant()
    pool.add_match("ann@d", 1, 2.0, START)
    for time in [-100_000, *times]:
        pool.update(START + time)
    pool.remove_match(1, START + 10)
    spent = sum(max(0, now - before) for before, now in pairwise([-100_000, *times]) if now < 0)
    assert pool.records["ann@d"].accumulated_usage == 10 + spent


def test_a_match_of_a_clock_that_was_ahead_is_charged_from_when_the_clock_was_put_right():
    pool = accountant()
    pool.add_match("ann@d", 1, 2.0, START + 100_000)
    pool.update(START)
    pool.update(START + 60)
    pool.remove_match(1, START + 80)
    assert pool.records["ann@d"].accumulated_usage == 80


def test_who_left_before_the_clock_went_back_keeps_the_usage():
    pool = accountant()
    pool.add_match("ann@d", 1, 1.0, START)
    pool.add_match("bob@d", 2, 1.0, START + 40)
    pool.remove_match(1, START + 60)
    pool.update(START + 30)
    usage = {name: pool.records[name].accumulated_usage for name in ("ann@d", "bob@d", "<none>")}
    assert usage == {"ann@d": 60, "bob@d": 0, "<none>": 60}


def test_a_match_before_the_clock_went_back_is_not_paid_twice():
    """What was still to be corrected when the clock jumped is forgotten: nobody's usage falls below 0."""
    pool = accountant()
    pool.add_match("ann@d", 1, 1.0, START + 500)
    pool.update(START - 1000)
    pool.update(START - 940)
    assert pool.records["ann@d"].accumulated_usage == 60
    pool.add_match("bob@d", 2, 1.0, START - 2000)
    pool.remove_match(2, START - 3000)
    pool.update(START - 900)
    assert pool.records["bob@d"].accumulated_usage == 0


def test_the_first_update_of_a_fresh_state_only_starts_the_clock():
    record = AccountingRecord("ann@d", priority=20.0, resources_used=1, weighted_resources_used=1.0)
    pool = Accountant([record], policies.accounting())
    pool.update(START)
    assert (record.priority, record.accumulated_usage, pool.last_update) == (20.0, 0.0, START)
    pool.update(START + DAY)
    assert (record.priority, record.accumulated_usage) == (10.5, DAY)


def test_a_slot_that_changes_hands_is_charged_to_its_new_user_only():
    pool = accountant()
    pool.add_match("ann@d", 1, 1.0, START)
    pool.add_match("bob@d", 1, 1.0, START + 40)
    pool.update(START + 100)
    usage = {name: pool.records[name].accumulated_usage for name in ("ann@d", "bob@d", "<none>")}
    assert usage == {"ann@d": 40, "bob@d": 60, "<none>": 100}


@pytest.mark.parametrize(("counted", "used"), [(False, 0), (True, 1)])
def test_a_preempted_slot_counts_for_its_former_user_until_the_next_cycle_where_the_rules_say_so(counted, used):
    """Today's negotiator goes on counting it, the documented rules do not; after the next cycle nobody does."""
    pool = accountant(count_preempted=counted)
    pool.add_match("bob@d", 1, 1.0, START)
    pool.preempt("ann@d", 1, 1.0, START)
    assert (pool.records["ann@d"].resources_used, pool.records["bob@d"].resources_used) == (1, used)
    pool.check_matches([1], ["ann@d"], [1.0], START)
    assert (pool.records["ann@d"].resources_used, pool.records["bob@d"].resources_used) == (1, 0)


def test_a_slot_that_a_submitter_takes_from_itself_starts_anew():
    """The machine preferred another job of the same submitter: one slot in use, held from now on."""
    pool = accountant()
    pool.add_match("ann@d", 1, 1.0, START)
    pool.update(START + 60)
    pool.preempt("ann@d", 1, 1.0, START + 60)
    assert pool.charges[1] == SlotCharge("ann@d", 1.0, START + 60)
    assert pool.records["ann@d"].resources_used == 1


def test_seeing_a_claim_again_changes_nothing():
    pool = accountant()
    pool.add_match("ann@d", 1, 1.0, START)
    pool.add_match("ann@d", 1, 1.0, START + 30)
    assert pool.records["ann@d"].resources_used == 1
    assert pool.charges[1].start_time == START


def test_slots_that_are_gone_or_free_are_released_and_claimed_ones_kept():
    pool = accountant()
    for slot in ("gone", "free", "claimed", "other"):
        pool.add_match("ann@d", slot, 1.0, START)
    pool.check_matches(["free", "claimed", "other"], [None, "ann@d", "bob@d"], [1.0] * 3, START)
    assert {slot: held.submitter for slot, held in pool.charges.items()} == {
        "claimed": "ann@d",
        "other": "bob@d",
    }
    assert pool.weighted_used("ann@d") == 1.0
    assert pool.weighted_used("nobody@d") == 0.0


def test_submitters_whose_record_was_deleted_while_they_run_are_counted_again():
    charges = {1: SlotCharge("ann@d", 4.0, START - 10), 2: SlotCharge("bob@d", 2.0, START - 10)}
    bob = AccountingRecord("bob@d", resources_used=1, weighted_resources_used=2.0)
    pool = Accountant([bob], policies.accounting(), START, dict(charges))
    assert (pool.weighted_used("ann@d"), pool.weighted_used("bob@d")) == (4.0, 2.0)
    assert pool.weighted_used("<none>") == 6.0


def test_fractions_of_slots_leave_nothing_behind():
    pool = accountant()
    for slot in range(10):
        pool.add_match("ann@d", slot, 0.1, START)
    for slot in range(10):
        pool.remove_match(slot, START)
    assert pool.weighted_used("ann@d") == 0.0


def test_reading_a_priority_stores_the_factor_so_that_later_settings_do_not_change_it():
    pool = accountant(default_prio_factor=1000.0)
    assert pool.effective_priority("ann@d") == 500.0
    later = Accountant(pool.records.values(), policies.accounting(default_prio_factor=1.0), START)
    assert later.effective_priority("ann@d") == 500.0
    later.forget("ann@d")
    assert later.effective_priority("ann@d") == 0.5


USERS = st.lists(st.sampled_from(["ann@d", "g.bob@d", "g.cy@d"]) | st.none(), max_size=8)


@given(USERS, USERS, st.lists(st.sampled_from([1.0, 0.5, 4.0]), min_size=16, max_size=16), st.booleans())
def test_charges_and_use_are_those_of_the_pool_as_found(before, now, weights, counts_preempted):
    """Slots of the charges may be gone, and others new."""
    pool = accountant(group_names=("g",), count_preempted=counts_preempted)
    for slot, user in enumerate(before):
        if user is not None:
            pool.add_match(user, slot, weights[slot], START)
    pool.update(START + 60)
    keys, of_now = range(2, 2 + len(now)), weights[8 : 8 + len(now)]
    held = dict(pool.charges)
    pool.check_matches(keys, now, of_now, START + 90)

    found = {slot: (user, weight) for slot, user, weight in zip(keys, now, of_now, strict=True) if user is not None}
    expected = {}
    for slot, (user, weight) in found.items():
        same = slot in held and held[slot].submitter == user
        expected[slot] = held[slot] if same else SlotCharge(user, weight, START + 90)
    assert pool.charges == expected
    for user in {"ann@d", "g.bob@d", "g.cy@d"} & pool.records.keys():
        own = [charge.slot_weight for charge in expected.values() if charge.submitter == user]
        assert pool.records[user].resources_used == len(own)
        assert pool.weighted_used(user) == sum(own)
    pool.update(START + 120)
    seconds: Counter[str] = Counter()
    for slot, charge in held.items():
        seconds[charge.submitter] += 120 if expected.get(slot) == charge else 90
    for slot, charge in expected.items():
        seconds[charge.submitter] += 30 if held.get(slot) != charge else 0
    assert {name: used for name in seconds if (used := pool.records[name].accumulated_usage)} == seconds
