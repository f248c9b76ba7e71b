"""Ads that refuse every single ad are known without asking for one."""

from hypothesis import given
from hypothesis import strategies as st

from fairq.engine.classad import AdColumns, evaluate_in_columns
from fairq.engine.classad.refusing import refusing

REQUIREMENTS = (
    "/Expr(Start && Fits)/",
    "/Expr(Fits && (Start && Open))/",
    "/Expr(Start || Fits)/",
    "/Expr(Start && random() > 2)/",
    "/Expr(TARGET.Start && Fits)/",
    "/Expr(!Start)/",
    "/Expr(size(Start) && Fits)/",
    True,
)
ADS = st.fixed_dictionaries(
    {
        "Requirements": st.sampled_from(REQUIREMENTS),
        "Fits": st.just("/Expr(TARGET.RequestMemory <= MY.Memory)/"),
        "Memory": st.sampled_from([1, 3]),
        "Open": st.sampled_from([True, False, 0, "yes", "/Expr(TARGET.RequestMemory < 2)/"]),
    },
    optional={"Start": st.sampled_from([True, False, 2, 0.0, "", "/Expr(Memory > 2)/", "/Expr(error)/"])},
)
JOBS = st.fixed_dictionaries({}, optional={"RequestMemory": st.just(2), "Start": st.booleans(), "Open": st.booleans()})


@given(st.lists(ADS, min_size=1, max_size=6), JOBS)
def test_what_refuses_every_ad_refuses_this_one(ads: list[dict[str, object]], job: dict[str, object]) -> None:
    columns = AdColumns(ads)
    refuses = refusing("requirements", columns)

    accepts = evaluate_in_columns("Requirements", columns, job).is_true()

    assert not (refuses & accepts).any()


def test_a_closed_slot_refuses_and_one_that_is_too_small_does_not() -> None:
    fits = "/Expr(TARGET.RequestMemory <= MY.Memory)/"
    ads = [
        {"Requirements": "/Expr(Start && Fits)/", "Start": start, "Fits": fits, "Memory": memory}
        for start, memory in ((False, 9), (True, 1), (True, 9))
    ]

    assert refusing("requirements", AdColumns(ads)).tolist() == [True, False, False]
