"""All obstacles of every queue in the recorded runs: the deciding reason is among them, and a queue taken has none."""

import pytest
from tests.broker_rules import RULES
from tests.golden import panda_analysis, panda_production
from tests.golden.panda_scenario import chunk_of, task_of, world_of
from tests.golden.test_panda import CASES

from fairq.engine.brokerage.analysis import broker_analysis
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.production import broker_production

RUNS = [case for case in CASES if case.name.startswith(("prod/", "anal/"))]


def outcome_of(case, rules):
    given = case.record["input"]
    is_analysis = case.name.startswith("anal/")
    task = task_of(given, analysis=is_analysis)
    broker, plan = (broker_analysis, panda_analysis.PLAN) if is_analysis else (broker_production, panda_production.PLAN)
    (outcome,) = broker([Case(task, chunk_of(given))], Pool(world_of(given, task), RULES[rules]), plan)
    return outcome


@pytest.mark.parametrize("rules", RULES)
def test_the_deciding_reason_is_among_the_obstacles(rules):
    looked_at = 0
    for case in RUNS:
        outcome = outcome_of(case, rules)
        if outcome.stopped_by:
            continue
        rows = range(len(outcome.ask.pool))
        verdicts = [outcome.verdict(row) for row in rows]
        for row, verdict in zip(rows, verdicts, strict=True):
            tags = [one.reason.tag for one in outcome.obstacles(row)]
            assert (verdict.reason in tags) if verdict.reason else tags == [], (case.name, verdict.queue, tags)
            looked_at += 1
        assert [outcome.verdict(row) for row in rows] == verdicts, "looking changes nothing"
    assert looked_at > 500
