"""countMatches and evalInEachContext read what their first argument reads, in whichever ad it is found, and no more."""

import pytest

from fairq.engine.classad import AdColumns, attributes_read, evaluate_in_ad, evaluate_scalar, parse

SLOTS = [
    {"AvailableGPUs": "/Expr({GPUs_A, GPUs_B})/", "GPUs_A": {"Capability": 8.0, "MemoryMb": 100},
     "GPUs_B": {"Capability": 7.0}, "MemoryMb": 50, "Site": "x"},
    {"AvailableGPUs": "/Expr({GPUs_C})/", "GPUs_C": {"Capability": 9.0}, "Wanted": 9.5},
    {"AvailableGPUs": ["GPU-1"]},
    {},
]  # fmt: skip
TEXT = "countMatches(MY.RequireGPUs, TARGET.AvailableGPUs) >= RequestGPUs"


@pytest.mark.parametrize(
    "required",
    [
        "Capability >= 8", "Capability >= Wanted", "MemoryMb > 60", "MY.Wanted < Capability",
        'TARGET.Site == "x"', "Least",
    ],
)  # fmt: skip
@pytest.mark.parametrize("own", [{}, {"wanted": 8.5}, {"memorymb": 70, "least": "/Expr(Capability > 7)/"}], ids=str)
def test_slots_in_columns_count_as_the_library_counts_each(required, own):
    job = {"requestgpus": 1, "requiregpus": f"/Expr({required})/", **own}
    values = evaluate_in_ad(parse(TEXT), job, AdColumns(SLOTS))
    assert [values.python(row) for row in range(len(SLOTS))] == [evaluate_scalar(parse(TEXT), job, ad) for ad in SLOTS]


def test_a_job_s_other_attributes_are_not_read():
    slots = AdColumns(
        [{**ad, "Requirements": "/Expr(countMatches(TARGET.RequireGPUs, AvailableGPUs) > 0)/"} for ad in SLOTS]
    )
    read = attributes_read([parse("Requirements")], "target", slots)
    assert "requiregpus" in read
    assert "*" not in read
    assert "procid" not in read
