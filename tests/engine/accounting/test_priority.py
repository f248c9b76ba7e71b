"""The formulas of one record: what is corrected later ends where it would have been counted at once."""

from copy import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.common.records import AccountingRecord
from fairq.engine.accounting.priority import charge, correct_priority, correct_usage, decay

HALF_LIFE = 86_400.0
"""Seconds; no priority of 32 or more decays to the least one in the times that are tried."""


@given(st.floats(32, 1000), st.floats(0, 64), st.integers(1, 500_000))
def test_use_that_an_update_did_not_know_is_added_as_if_it_had(priority, weight, seconds):
    record = AccountingRecord("ann@x", priority=priority)
    late, at_once = copy(record), copy(record)
    at_once.resources_used, at_once.weighted_resources_used = 1, weight
    remaining = decay(seconds, HALF_LIFE)
    charge(at_once, seconds, remaining, seconds)
    charge(late, seconds, remaining, seconds)
    correct_usage(late, seconds, 1, weight)
    correct_priority(late, seconds, weight, HALF_LIFE)

    assert late.priority == pytest.approx(at_once.priority)
    assert late.weighted_accumulated_usage == pytest.approx(at_once.weighted_accumulated_usage)
    assert late.accumulated_usage == at_once.accumulated_usage == seconds
