"""Charges by column are those of the same claims one by one, whatever a cycle does with them."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairq.columns.claims import ClaimTable
from fairq.common.records import Claim
from fairq.engine.accounting.charges import SlotCharge, charges_of
from fairq.engine.accounting.claim_charges import charges_in

SUBMITTERS = st.sampled_from(["ann@d", "bob@d", "cy@d"])
TERMS = st.builds(SlotCharge, SUBMITTERS, st.sampled_from([1.0, 0.1, 4.0]), st.sampled_from([10, 20]))
SLOTS = st.integers(1, 8) | st.tuples(st.integers(1, 8), st.just(1))
"""Numbers of slots, and keys of pieces carved out of them."""
CLAIMS = st.dictionaries(st.integers(1, 8), st.tuples(TERMS, st.booleans()))
CHANGES = st.lists(st.tuples(SLOTS, TERMS | st.none()))


def both(claims):
    """Return the charges of *claims* in both forms; *claims* has by slot a charge, and whether it is charged."""
    distinct = list(dict.fromkeys(claims.values()))
    slots = sorted(claims)
    templates = [
        Claim(0, charge.submitter, charge.start_time, charge.slot_weight, charged=charged)
        for charge, charged in distinct
    ]
    no_jobs = [None] * len(slots)
    codes = np.array([distinct.index(claims[slot]) for slot in slots], np.intp)
    table = ClaimTable(np.array(slots, np.int64), codes, templates, no_jobs, no_jobs, no_jobs)
    return charges_in(table), charges_of(table.values())


def change(charges, changes):
    for slot, charge in changes:
        if charge is None:
            charges.pop(slot, None)
        elif slot not in charges:
            charges.add([slot], charge)
        else:
            charges[slot] = charge


@given(CLAIMS, CHANGES, st.lists(SUBMITTERS | st.none(), max_size=9))
def test_charges_by_column_are_those_one_by_one(
    claims,
    changes,
    users,
):
    columns, single = both(claims)
    assert [slot in columns for slot in range(10)] == [slot in single for slot in range(10)]
    former, was = columns.copy(), single.copy()
    for charges in (columns, single):
        change(charges, changes)

    assert list(columns.items()) == list(single.items())
    assert list(former.items()) == list(was.items())
    assert len(columns) == len(single)
    assert list(columns.each()) == list(single.values())
    assert set(columns.kinds()) == set(single.values())
    assert list(columns.used().items()) == list(single.used().items())
    assert columns.total_weight() == single.total_weight()
    assert columns.missing(range(10)) == single.missing(range(10))
    assert [columns.any_of([slot]) for slot in range(10)] == [slot in single for slot in range(10)]
    assert columns.compare(range(2, 2 + len(users)), users) == single.compare(range(2, 2 + len(users)), users)


@given(CLAIMS, CHANGES)
def test_what_has_changed_is_told_in_order(claims, changes):
    columns, _ = both(claims)
    former = columns.copy()
    change(columns, changes)
    changed = columns.changed(former)

    assert all(former[slot] == charge for slot, charge in columns.items() if slot not in changed)
    assert all(changed[slot] is columns[slot] for slot in changed)
    order = list(columns)
    assert all(order.index(one) < order.index(other) for one, other in pairwise(changed))
    assert not columns.changed(columns.copy())
