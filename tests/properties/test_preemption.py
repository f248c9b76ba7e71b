"""Whatever the pool: who is preempted, by whom, and that it ends.

A pool is filled in a first cycle; then more jobs are queued and a second cycle preempts. A third one at the same
time, with nothing changed in between, has no reason to.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.engine.negotiation.pools import NOW, SLOT

from fairq.common.records import AccountingRecord, Actor, JobRange, JobStatus, SlotRecord
from fairq.engine.negotiation.decision import MatchReason, StopReason
from fairq.engine.negotiation.rejections import RejectReason
from fairq.settings import load
from fairq.state import check, claims, job_ads, jobs, meta, slots, submitters
from fairq.state.connection import reading, writing
from fairq.steps.cycle.document import Cycle
from fairq.steps.cycle.negotiate import negotiate

USERS = ("ann", "ben", "cyd", "dee")
TWENTY_PERCENT = "RemoteUserPrio > SubmitterUserPrio * 1.2"
FITS = "/Expr(TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory)/"
LIKES = '/Expr(TARGET.Owner == "ann" ? 2 : TARGET.Owner == "ben" ? 1 : 0)/'

machines = {
    "alike": st.just({}),
    "of different size": st.fixed_dictionaries(
        {"Cpus": st.sampled_from([1, 1, 2, 4]), "Memory": st.sampled_from([100, 1000])}
    ),
    "partitionable": st.fixed_dictionaries(
        {"PartitionableSlot": st.booleans(), "Cpus": st.sampled_from([2, 4]), "SlotWeight": st.just("/Expr(Cpus)/")}
    ),
    "with preferences": st.fixed_dictionaries({"Rank": st.sampled_from([0.0, LIKES])}),
}


def pools_of(*kinds):
    """Draw a pool whose machines are of one of these *kinds*."""
    return st.sampled_from(kinds).flatmap(lambda kind: st.lists(machines[kind], min_size=1, max_size=8))


requests = st.fixed_dictionaries(
    {"RequestCpus": st.sampled_from([1, 1, 2]), "RequestMemory": st.sampled_from([50, 500])}
)
queues = st.dictionaries(st.sampled_from(USERS), st.tuples(st.integers(1, 8), requests), min_size=1)
priorities = st.lists(st.sampled_from([0.5, 1.0, 3.0, 10.0, 20.0, 50.0, 200.0]), min_size=4, max_size=4)


@dataclass(frozen=True)
class Lived:
    """A pool's three cycles; *factors* are the effective priorities of its users."""

    first: Cycle
    second: Cycle
    third: Cycle
    factors: Mapping[str, float]
    ranks: tuple[Sequence[float], Sequence[float]]
    """How each slot's machine ranks the job that it runs, before and after the third cycle."""


def live(
    pool,
    before,
    after,
    priority,
    text,
    group_of=None,
):
    """Hold the cycles under the settings *text*; every state in between must be sound."""
    names = {user: f"{group_of[user]}.{user}@x" if group_of else f"{user}@x" for user in USERS}
    with tempfile.TemporaryDirectory() as folder:
        path, config = Path(folder) / "state.db", Path(folder) / "config.toml"
        config.write_text(text)
        rules = load(config, None, {"HOME": folder})
        with writing(path) as state:
            ads = [{**SLOT, "Requirements": FITS, **ad, "Name": f"slot1@m{n}"} for n, ad in enumerate(pool)]
            slots.add(state, [SlotRecord(0, ad["Name"], ad) for ad in ads])
            records = zip(USERS, priority, strict=True)
            submitters.store(state, [AccountingRecord(names[user], False, one, 1.0) for user, one in records])
            meta.set(state, "last_update", str(NOW))
        queue(path, before, names, 1)
        cycles, ranks = [turn(path, rules)], [current_ranks(path, len(pool))]
        queue(path, after, names, 2)
        for _ in range(2):
            cycles.append(turn(path, rules))
            ranks.append(current_ranks(path, len(pool)))
    factors = {names[user]: one for user, one in zip(USERS, priority, strict=True)}
    return Lived(*cycles, factors, (ranks[1], ranks[2]))


def queue(path, wants, names, round_number):
    with writing(path) as state:
        for user, (count, request) in wants.items():
            ad = job_ads.ad_id(state, {"Requirements": "/Expr(true)/", "Rank": 0.0, **request})
            cluster = round_number * 10 + USERS.index(user)
            jobs.add(state, [JobRange(cluster, 0, count - 1, ad, names[user], user, JobStatus.IDLE, NOW, NOW)])


def turn(path, rules):
    cycle = negotiate(path, rules, Actor("root", "fairq negotiate", NOW))
    with reading(path) as state:
        assert check.findings(state) == []
        held = [(claim.cluster, claim.proc) for claim in claims.load_all(state)]
        running = sum(counts[1] for counts in jobs.counts_by_submitter(state).values())
        assert len(set(held)) == len(held) == running, "every running job has one slot, every slot one job"
    return cycle


def current_ranks(path, count):
    with reading(path) as state:
        found = {claim.slot_id: claim.current_rank for claim in claims.load_all(state)}
    return [found.get(number, -1.0) for number in range(1, count + 1)]


def taken(cycle):
    return [(match.submitter, str(match.preempted)) for match in cycle.decision.matches if match.preempted]


def policy(requirements, **more):
    lines = [f'preemption_requirements = "{requirements}"', *(f"{name} = {value}" for name, value in more.items())]
    return "[negotiator]\n" + "\n".join(lines) + "\n"


TWO_CORES = {"PartitionableSlot": False, "Cpus": 2, "SlotWeight": "/Expr(Cpus)/"}
WAITS_FOR_A_FREE_SLOT_THAT_GOES = (
    [*([TWO_CORES] * 6), {**TWO_CORES, "PartitionableSlot": True}],
    {"ann": (4, {"RequestCpus": 1, "RequestMemory": 50})},
    {"ben": (3, {"RequestCpus": 2, "RequestMemory": 50}), "cyd": (1, {"RequestCpus": 1, "RequestMemory": 50})},
    [1.0, 0.5, 1.0, 0.5],
)
"""The slot that ben's third job might have been dealt is carved for cyd in the same spin."""
ONE_CORE = {"RequestCpus": 1, "RequestMemory": 50}
STOPPED_BY_THE_LIMIT = (
    [*([{"Cpus": 1, "Memory": 100}] * 5), *([{"Cpus": 4, "Memory": 100}] * 2)],
    {"cyd": (3, ONE_CORE), "dee": (4, ONE_CORE)},
    {"ann": (1, ONE_CORE), "ben": (2, ONE_CORE)},
    [0.5, 10.0, 20.0, 1.0],
)
"""While ann has an idle job, ben may preempt one slot; then one more."""
GONE_BEFORE_ITS_TURN = (
    [TWO_CORES, {**TWO_CORES, "PartitionableSlot": True}],
    {"ben": (2, ONE_CORE)},
    {
        "ann": (1, {"RequestCpus": 2, "RequestMemory": 50}),
        "ben": (1, ONE_CORE),
        "cyd": (1, ONE_CORE),
        "dee": (1, {"RequestCpus": 2, "RequestMemory": 50}),
    },
    [0.5, 3.0, 0.5, 1.0],
)
"""cyd's slice is too small in the first spin; in the second, dee has the last slot."""


@pytest.mark.parametrize("requirements", ["true", TWENTY_PERCENT])
def test_two_cycles_without_change_preempt_nothing_in_the_second(requirements):
    """No thrashing: nobody loses a slot to somebody who might have taken one a moment ago.

    That the slots alike go to the better user first is the pool's policy (the default PREEMPTION_RANK). Where one
    of better priority lost a slot since no other suited, that one may take one from a worse user in turn. Whom the
    limit stopped may take more once a better user, who had most of the pie, has no more jobs; so may one for whom a
    larger slice came when no slot was left.
    """

    @settings(max_examples=40)
    @given(pools_of("alike", "of different size", "partitionable"), queues, queues, priorities)
    @example(*WAITS_FOR_A_FREE_SLOT_THAT_GOES)
    @example(*STOPPED_BY_THE_LIMIT)
    @example(*GONE_BEFORE_ITS_TURN)
    def holds(pool, before, after, priority):
        lived = live(pool, before, after, priority, policy(requirements, allow_pslot_preemption="true"))
        lost = {loser for _, loser in taken(lived.second)} | {c.submitter for c in lived.second.victims.values()}
        waits = {StopReason.LIMIT, StopReason.NO_SLOTS}
        decision = lived.second.decision
        stopped = {of.submitter for of in decision.submitters if of.stopped in waits}
        stopped |= {of.submitter for of in decision.rejections if of.reason is RejectReason.SUBMITTER_LIMIT}
        again = [winner for winner, _ in taken(lived.third) if winner not in lost | stopped]
        assert again == []
        if not any(pool):  # all alike
            assert taken(lived.third) == []

    holds()


@settings(max_examples=30)
@given(st.lists(machines["of different size"], min_size=1, max_size=8), queues, queues, priorities, st.data())
def test_nor_with_groups(pool, before, after, priority, data):
    """The same with accounting groups, whose members have their slices of the group's quota."""
    size = sum(ad["Cpus"] for ad in pool)
    quota = data.draw(st.integers(0, size))
    groups = f"[groups.a]\nquota = {quota}\n[groups.b]\nquota = {size - quota}\n"
    text = policy(f"SubmitterGroup =?= RemoteGroup && {TWENTY_PERCENT}") + groups
    lived = live(pool, before, after, priority, text, {"ann": "a", "ben": "b", "cyd": "a", "dee": "b"})
    lost = {loser for _, loser in taken(lived.second)}
    assert [winner for winner, _ in taken(lived.third) if winner not in lost] == []


@settings(max_examples=30)
@given(st.lists(machines["with preferences"], min_size=1, max_size=8), queues, queues, priorities)
def test_a_machine_changes_hands_for_a_job_that_it_likes_as_much_at_least(pool, before, after, priority):
    """Where machines have preferences a slot may go on to a job that it likes better still, and never back."""
    lived = live(pool, before, after, priority, policy("true"))
    earlier, later = lived.ranks
    assert all(was <= now for was, now in zip(earlier, later, strict=True))
    lost = {loser for _, loser in taken(lived.second)}
    for match in lived.third.decision.matches:
        if match.preempted is not None and match.submitter not in lost and match.reason is MatchReason.RANK:
            assert earlier[match.slot] < later[match.slot]


@pytest.mark.parametrize("rules", ["documented", "htcondor"])
def test_nobody_is_preempted_without_a_better_off_winner(rules):
    """By priority only somebody whose effective priority is worse, as the policy has it; by rank for a better job."""

    @settings(max_examples=50)
    @given(pools_of(*machines), queues, queues, priorities)
    def holds(pool, before, after, priority):
        text = policy(TWENTY_PERCENT, rules=f'"{rules}"', allow_pslot_preemption="true")
        lived = live(pool, before, after, priority, text)
        rank_before = {
            (match.cluster, match.proc): match.machine_rank
            for cycle in (lived.first, lived.second)
            for match in cycle.decision.matches
        }
        for cycle in (lived.first, lived.second, lived.third):
            seen = Counter(match.slot for match in cycle.decision.matches if match.carving is None)
            assert max(seen.values(), default=0) <= 1
            for match in cycle.decision.matches:
                for victim in (cycle.victims[row] for row in match.victims):
                    was = rank_before[victim.cluster or 0, victim.proc or 0]
                    assert match.machine_rank >= was
                    if match.reason is MatchReason.RANK:
                        assert match.machine_rank > was
                    elif match.machine_rank == was:
                        assert lived.factors[victim.submitter] > lived.factors[match.submitter] * 1.2

    holds()
