"""Temporary values come back by themselves, and records that no longer matter may go."""

import pytest
from tests import policies

from fairq.common.records import AccountingRecord, Lease
from fairq.engine.accounting.leases import (
    Leasable,
    cancel_lease,
    expire_leases,
    grant_lease,
    set_permanently,
    value_of,
)
from fairq.engine.accounting.removal import idle_since, removable
from fairq.errors.pool import LeaseInEffectError, NoLeaseError

NOW = 1_800_000_000


def record(**values):
    return AccountingRecord("ann@d", priority_factor=1000.0, **values)


@pytest.mark.parametrize(
    ("what", "before", "leased"),
    [(Leasable.CEILING, -1, 5), (Leasable.FLOOR, 0, 3), (Leasable.FACTOR, 1000.0, 2.5)],
)
def test_a_leased_value_ends_with_its_time(what, before, leased):
    user = record()
    grant_lease(user, what, leased, 60, NOW)
    assert value_of(user, what) == leased
    assert expire_leases([user], NOW + 59) == []
    (ended,) = expire_leases([user], NOW + 60)
    assert (ended.what, ended.leased, ended.restored) == (what, leased, before)
    assert value_of(user, what) == before
    assert expire_leases([user], NOW + 61) == []


def test_leases_of_one_value_do_not_stack_but_those_of_several_do():
    user = record()
    grant_lease(user, Leasable.CEILING, 5, 60, NOW)
    grant_lease(user, Leasable.FLOOR, 1, 60, NOW)
    with pytest.raises(LeaseInEffectError):
        grant_lease(user, Leasable.CEILING, 6, 60, NOW)
    assert user.ceiling == 5


def test_cancelling_brings_the_former_value_back_at_once():
    user = record(ceiling=7)
    grant_lease(user, Leasable.CEILING, 5, 60, NOW)
    assert cancel_lease(user, Leasable.CEILING) == 7
    assert user.ceiling == 7
    with pytest.raises(NoLeaseError):
        cancel_lease(user, Leasable.CEILING)


def test_a_value_set_for_good_outlives_the_lease():
    user = record()
    grant_lease(user, Leasable.CEILING, 5, 60, NOW)
    set_permanently(user, Leasable.CEILING, 9)
    expire_leases([user], NOW + 3600)
    assert user.ceiling == 9


KEPT = [
    {"priority": 0.6},
    {"resources_used": 1},
    {"accumulated_usage": 1.0},
    {"weighted_accumulated_usage": 1.0},
    {"uncharged_time": -5.0},
    {"priority_factor": 10.0},
    {"ceiling": 0},
    {"floor": 1},
    {"ceiling_lease": Lease(NOW, -1)},
    {"is_group": True},
]


@pytest.mark.parametrize("values", KEPT, ids=lambda values: next(iter(values)))
def test_a_record_that_still_says_something_stays(values):
    assert removable([AccountingRecord("ann@d", **values)], policies.accounting()) == []


def test_a_record_that_says_no_more_than_a_newcomers_goes_by_itself():
    idle = [AccountingRecord("ann@d"), AccountingRecord("bob@d", priority_factor=1000.0)]
    assert removable(idle, policies.accounting()) == ["ann@d", "bob@d"]


def test_records_never_go_by_themselves_where_the_policy_keeps_them():
    assert removable([AccountingRecord("ann@d")], policies.accounting(remove_idle_records=False)) == []


def test_pruning_takes_the_idle_and_leaves_what_an_administrator_prepared():
    old, new = NOW - 100, NOW
    records = [
        AccountingRecord("old@d", priority=3.0, priority_factor=2.0, accumulated_usage=9.0, last_usage_time=old),
        AccountingRecord("new@d", last_usage_time=new),
        AccountingRecord("busy@d", last_usage_time=old, resources_used=1),
        AccountingRecord("bounded@d", last_usage_time=old, ceiling=5),
        AccountingRecord("prepared@d", priority_factor=2.0),
        AccountingRecord("nothing@d"),
        AccountingRecord("<none>", is_group=True, last_usage_time=old),
    ]
    assert idle_since(records, NOW - 50, policies.accounting()) == ["old@d", "nothing@d"]
