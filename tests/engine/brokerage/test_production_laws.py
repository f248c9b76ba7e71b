"""Laws that hold for production tasks in any pool."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.broker_rules import DOCUMENTED, PANDA
from tests.engine.brokerage import plain_production as plain
from tests.engine.brokerage.plain_production import plain_production
from tests.engine.brokerage.pools import NOW, PLAN, ask, chunk, pool, queue, task

from fairq.engine.brokerage.flow.course import UNDECIDED
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.world import LinkMetric, Pilots, Queue, Relation, Slots, Storage
from fairq.engine.brokerage.production import broker_production

NAMES = [f"Q{number}" for number in range(8)]
names = st.sampled_from(NAMES)


def mostly(*values):
    """The first value four times in five, the others otherwise."""
    others = values[1:]
    return st.integers(0, 9).flatmap(lambda draw: st.sampled_from(others) if draw in {4, 7} else st.just(values[0]))


COUNTS = st.dictionaries(
    st.sampled_from(["running", "activated", "assigned", "starting", "defined", "transferring"]),
    st.one_of(st.integers(0, 30), st.integers(0, 10**9)),
)

queues = st.builds(
    queue,
    st.just("?"),
    role=st.sampled_from(["satellite", "nucleus"]),
    site=st.sampled_from(["NUC", "", ""]),
    status=mostly("online", "standby", "test"),
    capability=st.sampled_from(["ucore", "score"]),
    workflow=st.sampled_from(["pull_ups", "push"]),
    corecount=mostly(1, 0, 4, 8),
    maxrss=mostly(16000, None, 0, 2000),
    minrss=mostly(None, 0, 1000),
    maxwdir=mostly(0, 3000, 100000),
    maxtime=mostly(0, 86400, 400000),
    mintime=mostly(0, 100),
    corepower=mostly(10, 0),
    pledgedcpu=st.sampled_from([-1, 0, 100]),
    fairsharepolicy=mostly("", "type=any:0%", "priority>400:0", "type=evgensimul:100%"),
    jobseed=mostly("all", "std", "es"),
    catchall=mostly("", "use_only_local_data", "useJumboJobs"),
)
tasks = st.builds(
    task,
    current_priority=st.sampled_from([100, 500, 850, 950, 2000]),
    core_count=mostly(1, None, 0, 8),
    ram_count=mostly(1000, None, 0, 3000),
    ram_unit=st.sampled_from(["MB", "MBPerCore"]),
    base_ram_count=st.sampled_from([None, 500]),
    cpu_time=st.sampled_from([None, 0, 100]),
    cpu_time_unit=st.sampled_from([None, "HS06sPerEvent"]),
    io_intensity=st.sampled_from([None, 100, 600]),
    disk_io=st.sampled_from([None, 900]),
    nucleus=mostly("NUC", "ELSEWHERE", None),
    site=mostly(None, "Q0", "Q1,Q2", "UNKNOWN"),
    event_service=mostly(0, 1),
    rules=mostly({}, {"TW": "-1"}, {"NJ": "1"}, {"IL": "2"}, {"MO": "1"}),
)
chunks = st.builds(
    chunk, st.integers(0, 4), st.sampled_from([0, 2**30]), is_scout=mostly(False, True), is_merging=mostly(False, True)
)


@st.composite
def worlds(draw):
    placed: list[Queue] = [
        replace(drawn_queue, name=name)
        for name, drawn_queue in zip(NAMES, draw(st.lists(queues, max_size=8)), strict=False)
    ]
    data: dict[str, Any] = {
        "job_stats": {name: {"MC": draw(COUNTS)} for name in NAMES},
        "job_stats_by_type": {name: {"MC": {"SCORE": draw(COUNTS)}} for name in NAMES[:4]},
        "pilots": {name: Pilots(draw(mostly(1, 0)), 0, NOW - draw(st.integers(0, 9000))) for name in NAMES},
        "replicas": {"ds": {"NUC": None, **{name: frozenset({"f0", "f1"}) for name in draw(st.sets(names))}}},
        "links": tuple(
            LinkMetric(name, "NUC", key, draw(st.floats(0, 200)))
            for name in draw(st.sets(names))
            for key in ("Production Output_queued", "dashb_mbps_1h")
        ),
        "slots": tuple(Slots(name, None, None, draw(st.integers(-1, 10**6))) for name in NAMES[:2]),
        "workers": {NAMES[0]: {"running": draw(st.integers(0, 10**6))}},
        "storages": {NAMES[1]: Storage(NAMES[1], NAMES[1], space_free=draw(st.integers(0, 400)))},
    }
    return pool(*placed, **data)


rule_sets = st.sampled_from([DOCUMENTED, PANDA])


@given(worlds(), tasks, chunks, rule_sets)
def test_a_queue_is_a_candidate_or_has_one_reason(world, asked, data, rules):
    outcome = ask(world, asked, data, rules)
    chosen = {verdict.queue for verdict in outcome.candidates}
    for verdict in outcome.verdicts():
        assert (verdict.reason == "") == (verdict.queue in chosen)
        assert bool(verdict.stage) == bool(verdict.reason)
    assert (outcome.status == "assigned") == bool(chosen)
    assert (outcome.retry_after is None) == bool(chosen)


@given(worlds(), tasks, chunks, rule_sets)
def test_weights_are_finite_and_products_of_their_terms(world, asked, data, rules):
    outcome = ask(world, asked, data, rules)
    for verdict in outcome.verdicts():
        if verdict.weight is not None:
            assert np.isfinite(verdict.weight)
            assert verdict.weight >= 0
            assert np.isclose(verdict.weight, np.prod(list(verdict.terms.values())))
    assert len([verdict for verdict in outcome.candidates if not verdict.jumbo]) <= 10


@given(worlds(), tasks, chunks, rule_sets)
def test_a_run_is_deterministic_and_leaves_the_columns_as_they_are(world, asked, data, rules):
    """A second task on the same columns, and one on columns of their own, get the same answer."""
    first = ask(world, asked, data, rules)
    expected = essence(first)
    assert expected == essence(ask(world, asked, data, rules))
    other = Case(replace(asked, current_priority=100, core_count=8), data)
    _, again = broker_production([other, Case(asked, data)], first.ask.pool, PLAN)
    assert expected == essence(again)


def essence(outcome):
    return list(outcome.verdicts()), outcome.candidates, outcome.stages, outcome.status


@given(worlds(), tasks, chunks, rule_sets, queues)
def test_one_more_queue_changes_no_other_weight(world, asked, data, rules, added):
    """Elsewhere than at the nucleus and with storage of its own, a queue is nobody else's business."""
    new_queue = replace(added, name="NEW", site="NEW", role="satellite")
    joined = replace(
        world,
        queues={**world.queues, "NEW": new_queue},
        storages={**world.storages, "NEW": Storage("NEW", "NEW", space_free=1000)},
        relations={**world.relations, "NEW": (Relation("NEW"),)},
        pilots={**world.pilots, "NEW": Pilots(5, 5)},
    )
    before, after = ask(world, asked, data, rules), ask(joined, asked, data, rules)
    weights = {verdict.queue: verdict.weight for verdict in after.verdicts()}
    for verdict in before.verdicts():
        if verdict.weight is not None and weights[verdict.queue] is not None:
            assert weights[verdict.queue] == verdict.weight


@given(worlds(), tasks, chunks, rule_sets)
def test_stages_count_down(world, asked, data, rules):
    """Each stage begins with what the one before left, and the last one leaves the candidates."""
    outcome = ask(world, asked, data, rules)
    rows, units = len(outcome.decided), len({verdict.unit for verdict in outcome.verdicts()})
    for line in outcome.stages:
        assert (line.rows_before, line.units_before) == (rows, units)
        assert line.rows_after <= rows
        assert line.units_after <= units
        rows, units = line.rows_after, line.units_after
    if outcome.stages:
        assert rows == len(outcome.candidates) == int((outcome.decided == UNDECIDED).sum())


@settings(max_examples=200)
@given(worlds(), tasks, chunks, rule_sets)
def test_columns_say_what_queue_by_queue_rules_say(world, asked, data, rules):
    """Reasons before the weight, and weights, are those of a plain program that looks at one queue at a time."""
    asked = replace(asked, disk_io=None, io_intensity=150)
    outcome = ask(world, asked, data, rules)
    if outcome.stopped_by:
        return
    out, weights = plain_production(world, asked, data, page=rules is DOCUMENTED)
    for verdict in outcome.verdicts():
        if verdict.weight is None:
            assert out.get(verdict.queue) == verdict.reason, verdict
        else:
            assert np.isclose(weights[verdict.queue], verdict.weight, rtol=1e-12), verdict
    assert len(out) + len(weights) == len(outcome.decided)


def test_the_oracle_imports_no_rule_of_the_engine():
    """The plain flow knows the engine's records only: a mistake in a rule cannot be in both."""
    records = {"jobs.tasks": {"Chunk", "Task"}, "pool.world": {"Queue", "Storage", "World"}}
    allowed = {(f"fairq.engine.brokerage.{module}", name) for module, names in records.items() for name in names}
    nodes = ast.walk(ast.parse(Path(plain.__file__).read_text()))
    imported = {(node.module, alias.name) for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert {pair for pair in imported if pair[0].startswith(("fairq", "tests"))} == allowed
