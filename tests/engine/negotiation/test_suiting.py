"""Slots that suit the jobs of many autoclusters, found at once, are those found for each alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairq.engine.classad import AdColumns
from fairq.engine.negotiation.expression_cache import RequestContext
from fairq.engine.negotiation.suiting import Suiting, agreeing
from fairq.records import Ad

SLOTS = st.fixed_dictionaries(
    {
        "Requirements": st.sampled_from(
            ["/Expr(Start && Fits)/", "/Expr(TARGET.RequestMemory > 1)/", '/Expr(Owner == "ann" || Fits)/', True]
        ),
        "Fits": st.just("/Expr(TARGET.RequestMemory <= MY.Memory)/"),
        "Memory": st.integers(1, 4),
        "Tags": st.sampled_from(["a b", "b", "a"]),
    },
    optional={"Start": st.booleans(), "RemoteUserPrio": st.just(2.5)},
)
NUMBERS = st.sampled_from([1, 2, 2.5, 4, True, "3", None])
JOBS = st.fixed_dictionaries(
    {"requestmemory": NUMBERS, "owner": st.sampled_from(["ann", "Ann", "bob"]), "tag": st.sampled_from(["a", "b"])},
    optional={"submitteruserprio": st.just(7)},
)
REQUIREMENTS = st.sampled_from(
    [
        "/Expr(TARGET.Memory >= RequestMemory)/",
        '/Expr(stringListMember(Tag, TARGET.Tags, " ") && RequestMemory > 1)/',
        "/Expr(split(TARGET.Tags)[0] == Tag)/",
        "/Expr(SubmitterUserPrio < TARGET.Memory)/",
        "/Expr(random() < 0.5)/",
        '/Expr(RequestMemory =?= 2 || Owner =!= "ann")/',
        True,
    ]
)


@given(st.lists(SLOTS, min_size=1, max_size=6), st.lists(JOBS, min_size=9, max_size=14), REQUIREMENTS, st.data())
def test_many_autoclusters_at_once_are_tested_as_one_by_one(
    slots: list[Ad], jobs: list[Ad], requirements: object, data: st.DataObject
) -> None:
    columns = AdColumns(slots, now=1_800_000_000)
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, len(slots) - 1)))), np.intp)
    kinds = [{**job, "requirements": requirements} for job in jobs]
    suiting = Suiting(columns, rows, None, kinds)

    for number in data.draw(st.permutations(range(len(kinds)))):
        context = RequestContext(number, kinds[number], "ann@x", 1.0, {"submitteruserprio": float(number % 3)})
        alone = agreeing(context.ad(), columns, rows)
        assert suiting.find(context).tolist() == alone.tolist()


class Use:
    """How much the users of other slots use, which every match changes."""

    live = frozenset({"slot1_remoteuserresourcesinuse"})
    version = 0

    def refresh(self) -> None:
        """Nothing to bring up to date."""


def test_a_slot_that_refuses_all_until_its_sibling_is_used_more_is_tested_again() -> None:
    slot = {"Requirements": "/Expr(MY.Slot1_RemoteUserResourcesInUse > 1 && TARGET.RequestCpus > 0)/"}
    columns = AdColumns([slot]).with_column("Slot1_RemoteUserResourcesInUse", [1])
    suiting = Suiting(columns, np.array([0]), Use(), [])
    context = RequestContext(0, {"requirements": True, "requestcpus": 1}, "ann@x", 1.0)

    before = suiting.find(context).tolist()
    columns.with_column("Slot1_RemoteUserResourcesInUse", [2])
    after = suiting.find(context).tolist()

    assert (before, after) == ([], [0])
