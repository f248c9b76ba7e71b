"""The engine's shortcuts change nothing: it decides as a cycle that is written out plainly."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.negotiation.plain_cycle import PlainCycle
from tests.engine.negotiation.plain_documented_cycle import PlainDocumentedCycle
from tests.engine.negotiation.pools import JOB, claimed, cycle, slots
from tests.engine.quotas.groups import rules_of

from fairq.common.records import AccountingRecord, Ad

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


def pool_of(shapes):
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
    st.booleans(),
)
def test_the_engine_decides_as_the_rules_read(shapes, wants, known, gate, delta, consider, manual, divides):  # type: ignore[no-untyped-def]
    """The same matches in the same order, with the same victims, on any small pool, under either set of rules.

    If it *divides*, free slots of one core are partitionable: one job takes all that they have.
    """
    pool = pool_of(shapes)
    if divides:
        free = (ad for ad in pool if ad["Cpus"] == 1 and "RemoteUser" not in ad)
        for ad in free:
            ad |= {"PartitionableSlot": True, "SlotType": "Partitionable", "Memory": 2048}
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

    assert [match[:1] + match[2:] for match in got] == [match[:1] + match[2:] for match in expected]


MEMBERS = ["a@x", "b@x", "g.a@x", "g.b@x", "g.s.a@x", "g.s.b@x", "g.t.a@x", "h.a@x", "h.b@x"]
GROUPS = ["g", "g.s", "g.t", "h"]

quotas = st.one_of(
    st.sampled_from([0.4, 0.5, 1.0, 1.1, 2.0, 2.5, 3.0, 3.1, 5.0, 20.0]),
    st.sampled_from(["5%", "25%", "31%", "33%", "50%", "66%"]),
)
trees = st.tuples(
    st.fixed_dictionaries({}, optional=dict.fromkeys(GROUPS, quotas)),
    st.sets(st.sampled_from(GROUPS)),
    st.sets(st.sampled_from(GROUPS), max_size=1),
)
group_slots = st.fixed_dictionaries(
    {
        "Cpus": st.sampled_from([1, 1, 1, 2, 4]),
        "Memory": st.sampled_from([512, 1024, 2048]),
        "Rank": st.sampled_from([0.0, 0.0, '/Expr(TARGET.Owner == "g.a")/', '/Expr(regexp("^h", TARGET.Owner))/']),
        "CurrentRank": st.sampled_from([0.0, 0.0, 1.0]),
        "user": st.sampled_from([None, None, *MEMBERS]),
    }
)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(group_slots, min_size=1, max_size=14),
    st.dictionaries(
        st.sampled_from(MEMBERS), st.lists(st.tuples(st.integers(1, 8), job_shapes), min_size=1, max_size=2), min_size=1
    ),
    st.fixed_dictionaries(dict.fromkeys(MEMBERS, records)),
    trees,
    st.sampled_from(["false", "true", "RemoteUserPrio > SubmitterUserPrio * 1.2", "Memory > 600"]),
    st.sampled_from(["hierarchical", "flat"]),
    st.booleans(),
    st.booleans(),
)
def test_groups_get_what_the_rules_read(shapes, wants, known, tree, gate, model, alike, consider):  # type: ignore[no-untyped-def]
    """The same with accounting groups in either model: hard caps, surplus, second chances, fractions of slots."""
    pool = pool_of([{**shape, "Cpus": 1} for shape in shapes] if alike else shapes)
    queues = {name: [(count, {**JOB, **shape}) for count, shape in jobs] for name, jobs in wants.items()}
    for name, record in known.items():
        record.name = name
    configured, surplus, regroup = tree
    if model == "flat":
        configured = {name: quota for name, quota in configured.items() if "." not in name}
    policy = rules_of(configured, surplus=surplus, regroup=regroup, model=model)
    cluster, plain = 0, dict[str, list[tuple[int, int, Ad]]]()
    for name, entries in queues.items():
        plain[name] = [(cluster + number, count, ad) for number, (count, ad) in enumerate(entries, 1)]
        cluster += len(entries)
    expected = PlainDocumentedCycle(pool, _merged(plain), known, gate, 0.0, consider, quotas=policy).run()
    decision = cycle(
        pool,
        queues,
        records=list(known.values()),
        running=True,
        preemption_requirements=gate,
        consider_preemption=consider,
        quotas=policy,
    )

    got = [(m.submitter, m.cluster, pool[m.slot]["Name"], m.preempted) for m in decision.matches]

    assert [match[:1] + match[2:] for match in got] == [match[:1] + match[2:] for match in expected]


def _merged(queues):
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
