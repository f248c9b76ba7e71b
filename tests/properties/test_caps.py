"""Whatever the pool: no match passes a hard cap, and preemption ends at everybody's entitlement."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.negotiation.pools import JOB, claimed, cycle, jobs, slots
from tests.engine.negotiation.test_against_plain_cycle import MEMBERS, group_slots, job_shapes, pool_of, trees
from tests.engine.quotas.groups import rules_of

from fairq.common.records import AccountingRecord
from fairq.engine.quotas.assignment import quota_tree


@settings(deadline=None, max_examples=75)
@given(
    st.lists(group_slots, min_size=1, max_size=14),
    st.dictionaries(
        st.sampled_from(MEMBERS), st.lists(st.tuples(st.integers(1, 8), job_shapes), min_size=1, max_size=2), min_size=1
    ),
    trees,
    st.sampled_from(["hierarchical", "flat"]),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_no_match_passes_a_hard_cap(shapes, wants, tree, model, worst):  # type: ignore[no-untyped-def]
    """After each match, each subtree that it counts in has its quota and less than half a slot more."""
    configured, surplus, _ = tree
    if model == "flat":
        configured = {name: quota for name, quota in configured.items() if "." not in name}
    policy = rules_of(configured, surplus=surplus, model=model)
    pool = pool_of(shapes)
    queues = {name: [(count, {**JOB, **shape}) for count, shape in of] for name, of in wants.items()}
    records = [AccountingRecord(name, priority=1 + worst * place) for place, name in enumerate(MEMBERS)]
    decision = cycle(pool, queues, None, records, running=True, quotas=policy, preemption_requirements="true")

    groups = quota_tree(policy, sum(slot["Cpus"] for slot in pool))
    used: Counter[str] = Counter()

    def charge(user, weight):
        path = user.rpartition("@")[0].rpartition(".")[0]
        while path and groups.find(path) is None:
            path = path.rpartition(".")[0]
        group = groups.find(path)
        names = [] if group is None else [above.name for above in group.up() if not above.accept_surplus]
        for name in names:
            used[name] += weight
        return names

    for slot in pool:
        if "RemoteUser" in slot:
            charge(slot["RemoteUser"], slot["Cpus"])
    for match in decision.matches:
        weight = pool[match.slot]["Cpus"]
        if match.preempted is not None:
            charge(match.preempted, -weight)
        for name in charge(match.submitter, weight):
            quota = groups.find(name).subtree_quota
            assert used[name] <= quota + min(0.5, weight / 2) + 1e-6


def after(pool, decision):
    """The pool with the matches running."""
    found = list(pool)
    for match in decision.matches:
        found[match.slot] = claimed(found[match.slot], match.submitter)
    return found


def entitlement(me, priority, demand, pie):
    """Who wants less than its part of what is left gets that; what is left then is divided anew."""
    satisfied: set[str] = set()
    while True:
        wanting = [name for name in priority if name == me or name not in satisfied]
        left = pie - sum(demand[name] for name in satisfied)
        level = left / sum(1 / priority[name] for name in wanting)
        more = {name for name in wanting if name != me and demand[name] * priority[name] < level}
        if not more:
            return level / priority[me]
        satisfied |= more


@settings(deadline=None, max_examples=30)
@given(
    st.integers(4, 40),
    st.dictionaries(
        st.sampled_from(["a@x", "b@x", "c@x", "d@x"]),
        st.tuples(st.sampled_from([1.0, 1.5, 2.0, 7.25, 10.0, 33.0]), st.integers(1, 40)),
        min_size=1,
    ),
    st.sampled_from([1, 4]),
)
def test_use_comes_to_the_entitlement_and_stays(size, users, cores):
    """From the slots of somebody with a worse priority, each user gets its part to half a slot, and nothing returns."""
    pool: list[Any] = [claimed(slot, "z@x") for slot in slots(size, Cpus=cores)]
    priority = {**{name: eup for name, (eup, _) in users.items()}, "z@x": 100.0}
    wants = {**{name: count for name, (_, count) in users.items()}, "z@x": size}
    used = Counter({"z@x": size})
    for _ in range(3):
        # Who was preempted waits again.
        queues = {name: [jobs(wants[name] - used[name])] for name in wants if wants[name] > used[name]}
        decision = cycle(pool, queues, priority, running=True, preemption_requirements="true", preemption_rank="0")
        before, pool = used, after(pool, decision)
        used = Counter(slot["RemoteUser"] for slot in pool)
        assert all(used[name] >= before[name] for name in users)
    for name in users:
        entitled = min(wants[name], entitlement(name, priority, wants, size))
        assert used[name] <= entitled + 0.5 + 1e-6
        # What is rounded up for some may leave less for others: they take nothing from those with better priorities.
        could_take = any(used[other] for other in priority if priority[other] > priority[name])
        assert used[name] >= entitled - 0.5 - 1e-6 or not could_take
    assert not decision.matches
