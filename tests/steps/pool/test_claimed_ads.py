"""Claims laid over many ads at once are the claims laid over each."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairq.ad_table import AdTable
from fairq.records import Ad, Claim
from fairq.steps.pool.claimed_ads import with_claim, with_claims

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
def test_claims_laid_over_columns_are_those_laid_over_each_ad(ads: list[Ad], claims: dict[int, Claim]) -> None:
    claims = {row: replace(claim, slot_id=row) for row, claim in claims.items() if row < len(ads)}
    table = AdTable()
    table.put(range(len(ads)), ads)

    laid = with_claims(table, claims, NOW)

    each = [with_claim(ad, claims[row], NOW) if row in claims else ad for row, ad in enumerate(ads)]
    assert [list(ad.items()) for ad in laid] == [list(ad.items()) for ad in each]
