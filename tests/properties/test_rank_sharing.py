"""Jobs share results where machines give them the same Rank, and only there."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairq.engine.classad import AdColumns, evaluate_in_ad, evaluate_in_columns, expression_of, parse
from fairq.engine.negotiation.expression_cache import RequestContext
from fairq.engine.negotiation.rank_sharing import MachineRanks, SharedByRank

RANKS = ['Owner == "u1"', "TARGET.RequestCpus", "TARGET.Text", "Other", "CurrentRank + 1", "TARGET.Rank", "JobRank"]
RANKS += ["9007199254740993 * TARGET.RequestCpus", 'TARGET.Owner == "u2" ? 2 : undefined', "Rank"]
EXPRESSIONS = ["MY.Rank", "Rank", "10 * MY.Rank + TARGET.RequestCpus", "isUndefined(MY.Rank)", "Other", "Other + Rank"]
EXPRESSIONS += ['strcat("", MY.Rank)', "TARGET.Rank", "CurrentRank", "(MY.Rank < 5) * 2 + (RemoteOwner =?= undefined)"]

slot = st.fixed_dictionaries(
    {"Memory": st.sampled_from([1000, 2000])},
    optional={
        "Rank": st.sampled_from([0.0, 1, True, "x", *(f"/Expr({text})/" for text in RANKS)]),
        "Other": st.sampled_from([5, "/Expr(TARGET.RequestMemory)/"]),
        "CurrentRank": st.sampled_from([0.0, "/Expr(TARGET.RequestCpus)/", "/Expr(Rank)/"]),
    },
)
job = st.fixed_dictionaries(
    {
        "owner": st.sampled_from(["u1", "u2", "u3"]),
        "requestcpus": st.integers(1, 2),
        "requestmemory": st.sampled_from([100, 200]),
    },
    optional={
        "text": st.sampled_from(["1", "2"]),
        "rank": st.sampled_from([0, 1.0, "/Expr(TARGET.Memory)/", "/Expr(TARGET.Rank)/"]),
    },
)


@settings(max_examples=400, deadline=None)
@given(
    slots=st.lists(slot, min_size=1, max_size=4),
    jobs=st.lists(job, min_size=2, max_size=8),
    texts=st.lists(st.sampled_from(EXPRESSIONS), min_size=1, max_size=2),
    by_job=st.booleans(),
)
def test_what_is_shared_is_what_each_job_would_get(
    slots: list[dict[str, Any]], jobs: list[dict[str, Any]], texts: list[str], by_job: bool
) -> None:
    """The values for every job are its own, whichever job they were found for."""
    ads = AdColumns(slots, now=0)
    of_slots = [parse(text) for text in texts]

    def make(context: RequestContext) -> list[Any]:
        own = context.ad()
        values = [evaluate_in_columns(of, ads, own) for of in of_slots]
        if by_job and "rank" in own:
            values.append(evaluate_in_ad(expression_of(own["rank"]), own, ads))
        return [repr(value.python(row)) for value in values for row in range(len(ads))]

    shared = SharedByRank[list[Any]](MachineRanks(ads, None), of_slots, ["rank"] if by_job else [], None)
    for number, own in enumerate(jobs):
        context = RequestContext(number, own, "u@x", 1.0)
        assert shared.get(context, make) == make(context)
