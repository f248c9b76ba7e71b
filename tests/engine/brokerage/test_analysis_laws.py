"""Laws that hold for analysis tasks in any pool."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.broker_rules import DOCUMENTED, PANDA
from tests.engine.brokerage.pools import chunk, pool, queue
from tests.engine.brokerage.test_analysis import PLAN, user_task

from fairq.engine.brokerage.analysis import broker_analysis
from fairq.engine.brokerage.flow.course import UNDECIDED
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.world import Failures, Pilots, Slots, Storage, UserJobs

NAMES = [f"Q{number}" for number in range(6)]
SHARE = "User Analysis"
names = st.sampled_from(NAMES)


def mostly(*values):
    """The first value four times in five, the others otherwise."""
    return st.integers(0, 9).flatmap(lambda draw: st.sampled_from(values[1:]) if draw in {4, 7} else st.just(values[0]))


NUMBERS = st.one_of(st.integers(0, 300), st.integers(0, 10**9))
COUNTS = st.dictionaries(st.sampled_from(["running", "activated", "assigned", "starting", "defined"]), NUMBERS)
queues = st.builds(
    queue,
    st.just("?"),
    releases=mostly(("ANY",), ("AUTO",), ()),
    status=mostly("online", "brokeroff", "offline", "paused"),
    type=mostly("unified", "analysis", "production"),
    capability=mostly("score", "ucore"),
    corecount=mostly(1, 0, 8),
    maxrss=mostly(None, 0, 1000),
    maxwdir=mostly(0, 100),
    maxtime=mostly(0, 100, 400000),
    catchall=mostly("", "gpu", "use_only_local_data"),
)
tasks = st.builds(
    user_task,
    core_count=mostly(1, 0, 8),
    task_priority=st.sampled_from([1000, 2000]),
    gshare=mostly(SHARE, "group"),
    site=mostly(None, "Q1"),
    rules=st.dictionaries(st.sampled_from(["AV", "AI", "LS", "US"]), st.just("1"), max_size=2),
    parameters=mostly({}, {"includedSite": "Q1,Q2"}),
)
worlds = st.fixed_dictionaries(
    {
        "queues": st.lists(queues, min_size=1, max_size=len(NAMES)),
        "stats": st.dictionaries(names, COUNTS),
        "users": st.dictionaries(names, st.dictionaries(st.sampled_from(["jane", "joe", "_total"]),
                                                        st.builds(UserJobs, NUMBERS, NUMBERS))),
        "rates": st.dictionaries(names, st.floats(0, 1e6)),
        "failures": st.dictionaries(names, st.builds(Failures, NUMBERS, NUMBERS, NUMBERS)),
        "classes": st.dictionaries(names, st.sampled_from([1, 0, -1])),
        "task_class": st.sampled_from([None, 1, 0, -1]),
        "slots": st.lists(st.builds(Slots, names, st.just(SHARE), st.just("SCORE"), NUMBERS), max_size=2),
        "full": st.sets(names, max_size=1),
        "idle": st.sets(names, max_size=1),
        "replicas": st.dictionaries(names, st.integers(0, 3)),
    }
)  # fmt: skip


def world_of(drawn):
    placed = [replace(drawn_queue, name=name) for name, drawn_queue in zip(NAMES, drawn["queues"], strict=False)]
    return pool(
        *placed,
        job_stats={name: {SHARE: counts} for name, counts in drawn["stats"].items()},
        user_stats={name: {SHARE: users} for name, users in drawn["users"].items()},
        to_running_rates=drawn["rates"],
        failures={1: drawn["failures"]},
        site_classes=drawn["classes"],
        task_classes={} if drawn["task_class"] is None else {1: drawn["task_class"]},
        slots=tuple(drawn["slots"]),
        storages={name: Storage(name, name, space_free=0) for name in drawn["full"]},
        pilots={name: Pilots(1, 0) for name in (*NAMES, "NUC_Q") if name not in drawn["idle"]},
        replicas={"ds": {name: frozenset(f"f{n}" for n in range(count)) for name, count in drawn["replicas"].items()}},
    )


def ask(world, task, data, rules):
    (outcome,) = broker_analysis([Case(task, data)], Pool(world, rules), PLAN)
    return outcome


rules_of_any = st.sampled_from([DOCUMENTED, PANDA])
chunks = st.builds(chunk, st.sampled_from([3, 3, 0]), is_merging=mostly(False, True), is_scout=mostly(False, True))


@given(worlds, tasks, chunks, rules_of_any)
def test_a_queue_is_a_candidate_or_has_one_reason(drawn, task, data, rules):
    """Whatever is known of the pool: each queue has one verdict, and weights are finite and not negative."""
    outcome = ask(world_of(drawn), task, data, rules)
    verdicts = list(outcome.verdicts())
    assert {verdict.queue for verdict in verdicts if not verdict.reason} == {
        verdict.queue for verdict in outcome.candidates
    }
    assert (outcome.decided == UNDECIDED).sum() == len(outcome.candidates)
    assert all(
        np.isfinite(verdict.weight) and verdict.weight >= 0 for verdict in verdicts if verdict.weight is not None
    )
    assert (outcome.status == "assigned") == bool(outcome.candidates) == (outcome.retry_after is None)
    assert len(outcome.candidates) <= 10


@given(worlds, tasks, chunks, rules_of_any)
def test_a_run_is_deterministic(drawn, task, data, rules):
    """The order in which queues are listed does not matter."""
    world = world_of(drawn)
    turned = replace(world, queues=dict(reversed(world.queues.items())))
    first, second = ask(world, task, data, rules), ask(turned, task, data, rules)
    assert first.candidates == second.candidates
    assert list(first.verdicts()) == list(second.verdicts())


@given(worlds, tasks, chunks)
def test_by_the_page_another_queue_does_not_change_a_weight(drawn, task, data):
    """The page's weight is of the queue's own numbers; the code divides what there is among all."""
    world = world_of(drawn)
    larger = replace(
        world,
        queues={**world.queues, "Z": replace(_any(world), name="Z", site="Q0")},
        relations={**world.relations, "Z": world.relations.get("Q0", ())},
    )
    before = {candidate.queue: candidate.weight for candidate in ask(world, task, data, DOCUMENTED).candidates}
    after = {candidate.queue: candidate.weight for candidate in ask(larger, task, data, DOCUMENTED).candidates}
    assert all(after[name] == weight for name, weight in before.items() if name in after)


def _any(world):
    return next(iter(world.queues.values()))
