"""Accounting laws that hold whatever happens."""

from hypothesis import given
from hypothesis import strategies as st
from tests import policies

from fairq.common.records import AccountingRecord
from fairq.engine.accounting import Accountant

START = 1_800_000_000
HALF_LIFE = 86400.0

priorities = st.floats(0.5, 1e6)
uses = st.floats(0.0, 1e5)


def after(times, priority, use):
    record = AccountingRecord("ann@d", priority=priority, resources_used=int(use > 0), weighted_resources_used=use)
    pool = Accountant([record], policies.accounting(), START)
    for time in times:
        pool.update(START + time)
    return record


@given(priorities, uses, st.sets(st.integers(1, 10**7), min_size=1, max_size=20))
def test_decay_and_usage_do_not_depend_on_how_often_the_accountant_is_updated(priority, use, times):
    """A cron job that missed some runs ends with the same priorities and usage as one that did not."""
    often = after(sorted(times), priority, use)
    once = after([max(times)], priority, use)
    assert abs(often.priority - once.priority) <= 1e-9 * once.priority
    assert abs(often.weighted_accumulated_usage - once.weighted_accumulated_usage) <= 1e-9 * max(
        1.0, once.weighted_accumulated_usage
    )


@given(priorities, uses, st.lists(st.integers(-(10**6), 10**6), max_size=20))
def test_no_clock_however_wild_takes_a_priority_out_of_its_bounds(priority, use, times):
    """Real priority stays between its best value and the greater of where it was and what is in use."""
    record = after(times, priority, use)
    assert 0.5 <= record.priority <= max(priority, use) * (1 + 1e-9)
    assert record.weighted_accumulated_usage >= 0


users = st.sampled_from(["ann@d", "bob@d", "g.cyd@d", "g.h.dee@d"])
events = st.lists(st.tuples(st.integers(0, 9), users | st.none(), st.integers(0, 500)), max_size=40)


def play(happenings):
    pool = Accountant([], policies.accounting(group_names=("g", "g.h")), START)
    now = START
    for slot, user, wait in happenings:
        now += wait
        if wait % 3 == 0:
            pool.update(now)
        if user is None:
            pool.remove_match(slot, now)
        else:
            pool.add_match(user, slot, 1.0 + slot / 8, now)
    return pool, now


@given(events)
def test_counters_always_say_what_the_charged_slots_say(happenings):
    pool, _ = play(happenings)
    counted = {
        name: (record.resources_used, record.weighted_resources_used, record.hier_weighted_resources_used)
        for name, record in pool.records.items()
    }
    pool.recount()
    for name, record in pool.records.items():
        used, weight, below = counted[name]
        assert used == record.resources_used
        assert abs(weight - record.weighted_resources_used) < 1e-9
        assert abs(below - record.hier_weighted_resources_used) < 1e-9


@given(events)
def test_groups_are_charged_exactly_what_their_submitters_are(happenings):
    pool, now = play(happenings)
    pool.update(now + 60)
    users_total = sum(r.weighted_accumulated_usage for r in pool.records.values() if not r.is_group)
    groups_total = sum(r.weighted_accumulated_usage for r in pool.records.values() if r.is_group)
    assert abs(users_total - groups_total) < 1e-6


stays = st.lists(st.tuples(users, st.integers(0, 5000), st.integers(0, 5000)), max_size=20)


@given(stays, st.sets(st.integers(1, 10_000), max_size=10))
def test_usage_is_the_time_slots_were_held(stays, updates):
    """Accumulated usage is the sum of the stays on slots, to the second, however the updates fall."""
    pool = Accountant([], policies.accounting(group_names=("g", "g.h")), START)
    happenings = [(time, 1, -1, "") for time in updates]
    expected: dict[str, int] = {}
    for slot, (user, start, length) in enumerate(stays):
        happenings += [(start, 0, slot, user), (start + length, 2, slot, user)]
        expected[user] = expected.get(user, 0) + length
    for time, what, slot, user in sorted(happenings):
        if what == 1:
            pool.update(START + time)
        elif what == 0:
            pool.add_match(user, slot, 2.0, START + time)
        else:
            pool.remove_match(slot, START + time)
    pool.update(START + 10_001)
    for user, seconds in expected.items():
        assert pool.records[user].accumulated_usage == seconds
        assert pool.records[user].weighted_accumulated_usage == 2.0 * seconds


@given(st.permutations(list(enumerate(["ann@d", None, "bob@d", "ann@d"]))))
def test_the_order_in_which_slots_are_seen_does_not_matter(slots):
    pool = Accountant([], policies.accounting(), START)
    keys, users = zip(*slots, strict=True)
    pool.check_matches(keys, users, [1.0] * 4, START)
    assert (pool.weighted_used("ann@d"), pool.weighted_used("bob@d")) == (2.0, 1.0)


def ran(pool, start, end):
    """What a slot of weight 2 held from *start* to *end* is worth in the priority at the last update."""
    left = pool.last_update - START
    return 2.0 * (0.5 ** ((left - end) / HALF_LIFE) - 0.5 ** ((left - start) / HALF_LIFE))


@given(stays, st.sets(st.integers(1, 10_000), max_size=10), st.data())
def test_ends_that_are_told_late_are_charged_to_the_second(stays, updates, data):
    """Whatever cycles have charged meanwhile: usage and priority are what they would be, had the end been known."""
    pool = Accountant([AccountingRecord(u, priority=1000.0) for u in ("ann@d", "bob@d", "g.cyd@d", "g.h.dee@d")],
                      policies.accounting(group_names=("g", "g.h")), START)  # fmt: skip
    happenings = [(time, 1, -1, "", 0) for time in updates]
    for slot, (user, start, length) in enumerate(stays):
        told = start + length + data.draw(st.integers(0, 3000))
        happenings += [(start, 0, slot, user, 0), (told, 2, slot, user, start + length)]
    for time, what, slot, user, end in sorted(happenings):
        if what == 1:
            pool.update(START + time)
        elif what == 0:
            pool.add_match(user, slot, 2.0, START + time)
        else:
            pool.remove_match(slot, START + end)
    pool.update(START + 20_000)
    for user in {user for user, _, _ in stays}:
        own = [(start, start + length) for other, start, length in stays if other == user]
        assert pool.records[user].accumulated_usage == sum(end - start for start, end in own)
        priority = 1000.0 * 0.5 ** (20_000 / HALF_LIFE) + sum(ran(pool, *stay) for stay in own)
        assert abs(pool.records[user].priority - priority) < 1e-6
