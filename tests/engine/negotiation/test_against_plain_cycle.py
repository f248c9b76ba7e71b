"""The engine's shortcuts change nothing: it decides as a cycle that is written out plainly."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.negotiation.plain_cycle import PlainCycle, PlainDocumentedCycle
from tests.engine.negotiation.pools import JOB, claimed, cycle, slots

from fairq.records import AccountingRecord, Ad

NAMES = [f"{letter}@x" for letter in "abcde"]

slot_shapes = st.fixed_dictionaries(
    {
        "Cpus": st.sampled_from([1, 1, 1, 2, 4]),
        "Memory": st.sampled_from([512, 1024, 2048]),
        "Rank": st.sampled_from([0.0, 0.0, '/Expr(TARGET.Owner == "a")/', "/Expr(TARGET.RequestMemory)/"]),
        "CurrentRank": st.sampled_from([0.0, 0.0, 1.0, 600.0]),
        "user": st.sampled_from([None, None, *NAMES, "z@x"]),
    }
)

job_shapes = st.fixed_dictionaries(
    {
        "RequestMemory": st.sampled_from([256, 600, 1500]),
        "Rank": st.sampled_from([0.0, "/Expr(TARGET.Memory)/", "/Expr(-TARGET.Cpus)/"]),
        "Requirements": st.sampled_from(
            ['/Expr(TARGET.Arch == "X86_64")/', "/Expr(TARGET.Memory >= RequestMemory && TARGET.Cpus < 4)/"]
        ),
    }
)

records = st.builds(
    AccountingRecord,
    name=st.just(""),
    priority=st.sampled_from([0.5, 1.0, 7.25, 100.0, 1000.0]),
    priority_factor=st.sampled_from([1.0, 2.0]),
    ceiling=st.sampled_from([-1, -1, -1, 0, 2, 5]),
    floor=st.sampled_from([0, 0, 0, 1, 3]),
)


def pool_of(shapes: list[dict[str, Any]]) -> list[Ad]:
    """Slots of these shapes, those with a user claimed."""
    pool = []
    for shape, slot in zip(shapes, slots(len(shapes)), strict=True):
        ad = {**slot, **{name: value for name, value in shape.items() if name != "user"}}
        pool.append(claimed(ad, shape["user"]) if shape["user"] else {**ad, "CurrentRank": 0.0})
    return pool


@settings(deadline=None, max_examples=150)
@given(
    st.lists(slot_shapes, min_size=1, max_size=12),
    st.dictionaries(
        st.sampled_from(NAMES), st.lists(st.tuples(st.integers(1, 6), job_shapes), min_size=1, max_size=3), min_size=1
    ),
    st.fixed_dictionaries(dict.fromkeys([*NAMES, "z@x"], records)),
    st.sampled_from(["false", "true", "RemoteUserPrio > SubmitterUserPrio * 1.2", "Memory > 600"]),
    st.sampled_from([0.0, 0.5, None]),
    st.booleans(),
    st.booleans(),
)
def test_the_engine_decides_as_the_rules_read(shapes, wants, known, gate, delta, consider, manual) -> None:  # type: ignore[no-untyped-def]
    """The same matches in the same order, with the same victims, on any small pool, under either set of rules."""
    pool = pool_of(shapes)
    queues = {name: [(count, {**JOB, **shape}) for count, shape in jobs] for name, jobs in wants.items()}
    accounts = []
    for name, record in known.items():
        record.name = name
        accounts.append(record)
    cluster = 0
    plain: dict[str, list[tuple[int, int, Ad]]] = {}
    for name, entries in queues.items():
        plain[name] = []
        for count, ad in entries:
            cluster += 1
            plain[name].append((cluster, count, ad))
    plain_cycle = PlainDocumentedCycle if manual else PlainCycle
    expected = plain_cycle(pool, _merged(plain), {r.name: r for r in accounts}, gate, delta, consider).run()
    decision = cycle(
        pool,
        queues,
        records=accounts,
        preemption_requirements=gate,
        preempt_prio_delta=delta,
        consider_preemption=consider,
        preempt_only_to_share=manual,
        pie_slices="max_min" if manual else "pool_share",
        last_dealing=manual,
    )

    got = [(m.submitter, m.cluster, pool[m.slot]["Name"], m.preempted) for m in decision.matches]

    assert [one[:1] + one[2:] for one in got] == [one[:1] + one[2:] for one in expected]


def _merged(queues: dict[str, list[tuple[int, int, Ad]]]) -> dict[str, list[tuple[int, int, Ad]]]:
    """Neighbours alike are one request."""
    merged: dict[str, list[tuple[int, int, Ad]]] = {}
    for name, entries in queues.items():
        requests: list[tuple[int, int, Ad]] = []
        for cluster, count, ad in entries:
            if requests and requests[-1][2] == ad:
                requests[-1] = (requests[-1][0], requests[-1][1] + count, ad)
            else:
                requests.append((cluster, count, ad))
        merged[name] = requests
    return merged
