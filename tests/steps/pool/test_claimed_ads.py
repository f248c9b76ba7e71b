"""Claims laid over many ads at once are the claims laid over each."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairq.columns.ads import AdTable
from fairq.columns.claims import ClaimTable
from fairq.columns.slots import SlotTable
from fairq.common.records import Claim, SlotRecord
from fairq.engine.classad import AdColumns
from fairq.steps.pool.claimed_ads import with_claim
from fairq.steps.pool.current_slots import ClaimedAds

NOW = 1_795_000_000

ADS = st.lists(
    st.sampled_from(
        [
            {"Name": "a", "State": "Unclaimed", "Memory": 1},
            {"Name": "b", "state": "Unclaimed", "Memory": 2},
            {"Name": "c", "Memory": 3, "JOBID": "0.0", "ConcurrencyLimits": "x"},
            {},
        ]
    ),
    max_size=12,
)
CLAIMS = st.builds(
    Claim,
    slot_id=st.just(1),
    submitter=st.sampled_from(["ann@x", "bob@x"]),
    start_time=st.integers(NOW - 10, NOW + 10),
    slot_weight=st.just(1.0),
    cluster=st.integers(1, 3),
    proc=st.integers(0, 3),
    current_rank=st.sampled_from([0.0, 1.5]),
    concurrency_limits=st.none() | st.just("db:2"),
    negotiating_group=st.none() | st.just("<none>"),
    autoregroup=st.none() | st.booleans(),
)


@given(ADS, st.dictionaries(st.integers(0, 11), CLAIMS))
def test_claims_on_top_read_by_column_are_those_laid_over_each_ad(ads, claims):
    held = [replace(claim, slot_id=row + 1) for row, claim in sorted(claims.items()) if row < len(ads)]
    base = AdTable()
    base.put(range(len(ads)), ads)
    claimed = ClaimedAds(base, _table(held), np.array([one.slot_id - 1 for one in held], np.intp), _places(held), NOW)

    each = list(ads)
    for claim in held:
        each[claim.slot_id - 1] = with_claim(ads[claim.slot_id - 1], claim, NOW)
    assert list(map(_items, claimed)) == list(map(_items, each))
    assert [_items(claimed[row]) for row in range(len(ads))] == list(map(_items, each))
    plain, columns = AdColumns(each), AdColumns(claimed)
    assert columns.names() == plain.names()
    assert columns.expression_names() == plain.expression_names()
    for row in range(len(ads)):
        assert columns.json_ad(row, columns.names()) == plain.json_ad(row, plain.names())


def _table(held):
    """The claims by column, each with terms of its own, and with terms that no claim has."""
    alike = [replace(one, slot_id=0, schedd=None, cluster=None, proc=None) for one in held]
    unused = Claim(0, "/Expr(nobody)/", 0, 1.0, negotiating_group="nobody's")
    return ClaimTable(
        np.array([one.slot_id for one in held], np.int64),
        _places(held),
        [*alike, unused],
        [one.schedd for one in held],
        [one.cluster for one in held],
        [one.proc for one in held],
    )


def _places(held):
    return np.arange(len(held), dtype=np.intp)


def _items(ad):
    return list(ad.items())


@given(ADS)
def test_slots_in_brief_have_the_attributes_asked_for(ads):
    slots = SlotTable.of(SlotRecord(place, "slot", ad, "<>", False) for place, ad in enumerate(ads, 1))

    found = [slot.ad for slot in slots.brief({"state", "jobid"})]

    assert found == [{name: ad[name] for name in ad if name.lower() in ("state", "jobid")} for ad in ads]
