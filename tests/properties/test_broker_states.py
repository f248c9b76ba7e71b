"""Laws of the brokerage over any state: it answers, the same each time, with one verdict for every queue."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.broker_rules import RULES
from tests.properties.broker_states import NOW, TASKS, fill
from tests.properties.test_brokerage import told

from fairq.engine.brokerage.pool.columns import Pool
from fairq.state.connection import reading, writing
from fairq.steps.broker.flows import broker as brokered
from fairq.steps.broker.flows import plans_of
from fairq.steps.broker.plugins import load_plugins
from fairq.steps.broker.tasks import each_brokered
from fairq.steps.broker.world import load_types, load_world

Run = Callable[..., Any]


@pytest.fixture(params=range(15))
def broker(request, run, state):
    """Run a broker command on a state that was drawn from a seed."""
    with writing(state) as opened:
        fill(opened, random.Random(request.param))

    def broker(*words):
        ended = run("--state", state, "broker", *words, "--now", NOW, "--json")
        assert ended.code == 0, ended.err
        assert "NaN" not in ended.out and "Infinity" not in ended.out
        return json.loads(ended.out)

    return broker


@pytest.mark.parametrize("rules", ["documented", "panda"])
def test_every_queue_is_a_candidate_or_has_one_reason_now_and_as_it_is_kept(broker, rules):
    decided = {task["task"]: task for task in broker("run", "--all", "--rules", rules)["tasks"]}
    assert set(decided) == set(TASKS)
    for task in TASKS:
        found, kept = broker("why", task, "--rules", rules), broker("why", task, "--last")
        candidates = {one["queue"] for one in found["candidates"]}
        assert {one["queue"] for one in found["queues"] if not one["reason"]} == candidates
        assert [one["queue"] for one in found["candidates"]] == decided[task]["queues"]
        for now, then in zip(found["queues"], kept["queues"], strict=True):
            assert [now[name] for name in ("queue", "stage", "reason")] == [
                then[name] for name in ("queue", "stage", "reason")
            ]
            assert (now["weight"] is None) == (then["weight"] is None)
            if now["weight"] is not None:
                assert now["weight"] >= 0
                assert then["weight"] == pytest.approx(now["weight"], rel=1e-6)


def test_a_run_is_the_same_each_time_and_every_refused_queue_is_told_a_change(broker):
    assert broker("run", "--all", "--dry-run") == broker("run", "--all", "--dry-run")
    for task in TASKS:
        for queue in broker("why", task)["queues"]:
            assert bool(queue["change"]) == bool(queue["reason"])
            assert not queue["change"].startswith("this no longer held")


@pytest.fixture(scope="module")
def plans():
    return plans_of(load_plugins())


@pytest.mark.parametrize("seed", range(8))
def test_what_is_read_for_one_task_decides_as_the_whole_pool_does(plans, state, seed):
    with writing(state) as opened:
        fill(opened, random.Random(seed))
    with reading(state) as opened:
        whole = load_world(opened, NOW)
        for case, *_ in each_brokered(opened, load_types(opened)):
            plan = plans[case.task.activity]
            part = load_world(opened, NOW, share=case.task.gshare or "")
            for rules in RULES.values():
                (wanted,), (found,) = (brokered([case], Pool(world, rules), plan) for world in (whole, part))
                assert told(found) == told(wanted)
