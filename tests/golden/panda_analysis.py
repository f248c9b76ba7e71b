"""Golden cases of PanDA's analysis broker: whole runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tests.broker_rules import PANDA
from tests.golden.compare import differences
from tests.golden.panda_production import compared_candidates, is_of_weighed, tied_at_cut
from tests.golden.panda_scenario import chunk_of, task_of, world_of

from fairq.engine.brokerage.analysis import FIRST_PASS, SECOND_PASS, analysis_plan, broker_analysis
from fairq.engine.brokerage.flow.outcome import Outcome, Verdict
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.columns import Pool

PLAN = analysis_plan()
STATUS = {"assigned": "SC_SUCCEEDED", "failed": "SC_FAILED", "waiting": "SC_WAITING", "fatal": "SC_FATAL"}
NOT_NUMBERS = {"verdict", "criteria", "text_hint"}
AFTER_WEIGHT = {f"-{reason.tag}" for one in PLAN.after for reason in one.reasons}

UNTAGGED = {"VP": "avoid_vp", "GPU": "gpu_architecture"}
"""Reasons that PanDA prints no tag for, by the hint that was recorded."""

UNTOLD = {"no_data", "wrong_type"}
"""Reasons that PanDA does not tell at all."""

PRINTED_DIGITS = {"weight": 7, "trr": 3, "userQRem": 3}
"""Digits behind the point in PanDA's messages."""


def run_analysis(name: str, given: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Run one scenario and return what differs."""
    task = task_of(given, analysis=True)
    (outcome,) = broker_analysis([Case(task, chunk_of(given))], Pool(world_of(given, task), PANDA), PLAN)
    found = differences(STATUS[outcome.status], wanted["status"], "status")
    tied = tied_at_cut(wanted)
    found += _candidates(outcome, wanted["candidates"], tied)
    found += _verdicts(outcome, wanted["verdicts"], tied)
    return found + differences(_stages(outcome), [list(stage) for stage in wanted["stages"]], "stages")


def _candidates(outcome: Outcome, wanted: list[Mapping[str, Any]], tied: Collection[str]) -> list[str]:
    found = [
        {
            "queue": one.queue,
            "unified": one.unit,
            "weight": one.weight,
            "nRunningJobsCap": None,
            "nQueuedJobs": None,
            "nRunningJobs": None,
            "maxwdir": one.maxwdir,
            "platforms": one.platform,
            "n_local_disk": one.local_files,
            "n_local_tape": one.tape_files,
        }
        for one in outcome.candidates
    ]
    return compared_candidates(found, wanted, tied)


def _verdicts(outcome: Outcome, wanted: Mapping[str, list[Mapping[str, Any]]], tied: Collection[str]) -> list[str]:
    found = _told(outcome)
    expected: dict[str, Mapping[str, Any]] = {}
    for name, entries in wanted.items():
        # The last word holds.
        expected[name if is_of_weighed(entries[-1], AFTER_WEIGHT) else name.partition("/")[0]] = entries[-1]
    # Of a unified queue whose pseudo queues were weighed in the second pass, what the first one said is over.
    weighed = {name.partition("/")[0] for name in expected if "/" in name}
    expected = {name: entry for name, entry in expected.items() if name not in weighed}
    lines = []
    for name, entry in expected.items():
        if name in tied and name in found:
            lines += _numbers(name, found[name][-1], entry)
        elif name in found:
            lines += _verdict(name, found[name], entry)
        else:
            lines.append(f"{name} has no verdict, expected {entry['criteria']}")
    untold = [name for name in found if name not in expected]
    return lines + [f"{name} is {_criteria(found[name][-1])}, expected no verdict" for name in untold]


def _told(outcome: Outcome) -> dict[str, list[Verdict]]:
    # As PanDA tells it: a weighed queue by its own name, another once per unified queue, when the last one goes.
    if outcome.stopped_by:
        return {}
    verdicts = list(outcome.verdicts())
    # Where the one queue that the task is given is out, nothing is said of the others.
    untold = UNTOLD | {"nonpreassigned"} if outcome.status == "fatal" else UNTOLD
    told = {one.queue: [one] for one in verdicts if one.weight is not None}
    weighed = {one.unit for one in verdicts if one.weight is not None}
    when = {stage.stage: number for number, stage in enumerate(outcome.stages)}
    lost: dict[str, list[Verdict]] = {}
    for one in verdicts:
        if one.unit not in weighed:
            lost.setdefault(one.unit, []).append(one)
    for unit, ones in lost.items():
        last = max(when.get(one.stage, -1) for one in ones)
        at_last = [one for one in ones if when.get(one.stage, -1) == last]
        if not {one.reason for one in at_last} <= untold:
            told[unit] = at_last
    return told


def _verdict(name: str, told: list[Verdict], wanted: Mapping[str, Any]) -> list[str]:
    expected = wanted["criteria"] or f"-{UNTAGGED[wanted['text_hint']]}"
    # The pseudo queues of a unified one may go for several reasons; PanDA tells any of them.
    fitting = [one for one in told if _criteria(one) == expected]
    if not fitting:
        return [f"{name} is {_criteria(told[-1])} {told[-1].details}, expected {expected}"]
    return min((_numbers(name, one, wanted) for one in reversed(fitting)), key=len)


def _numbers(name: str, found: Verdict, wanted: Mapping[str, Any]) -> list[str]:
    numbers = {**found.details, **found.numbers, "weight": found.weight}
    printed = {key: value for key, value in wanted.items() if key not in NOT_NUMBERS}
    return differences({key: _printed(key, numbers.get(key)) for key in printed}, printed, name)


def _printed(key: str, number: Any) -> Any:
    return round(number, PRINTED_DIGITS[key]) if key in PRINTED_DIGITS and number is not None else number


def _criteria(one: Verdict) -> str:
    return f"-{one.reason}" if one.reason else "+use"


def _stages(outcome: Outcome) -> list[list[Any]]:
    lines: list[list[Any]] = []
    for stage in outcome.stages:
        count = None if stage.stage in {FIRST_PASS, SECOND_PASS} else stage.units_after
        lines.append([stage.stage, count])
    return lines


RUNNERS = {"anal": run_analysis}
