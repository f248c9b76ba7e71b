"""Golden cases of PanDA's production broker: whole runs, and the weight formula."""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Mapping
from typing import Any

from tests.broker_rules import PANDA
from tests.golden.compare import differences
from tests.golden.panda_scenario import chunk_of, task_of, world_of

from fairq.engine.brokerage.criteria.candidates import CANDIDATES_STAGE
from fairq.engine.brokerage.criteria.network import network
from fairq.engine.brokerage.criteria.nucleus import satellite_of
from fairq.engine.brokerage.flow.outcome import Outcome, Verdict
from fairq.engine.brokerage.flow.plan import FINAL_STAGE as FINAL
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.production import broker_production, production_plan

PLAN = production_plan()
STATUS = {"assigned": "SC_SUCCEEDED", "failed": "SC_FAILED", "waiting": "SC_WAITING", "fatal": "SC_FATAL"}
NOT_NUMBERS = {"verdict", "criteria", "text_hint"}

AFTER_WEIGHT = {f"-{reason.tag}" for one in PLAN.after for reason in one.reasons}
"""What PanDA prints of weighed queues."""


def is_of_weighed(entry: Mapping[str, Any], after_weight: Container[str]) -> bool:
    """Return whether PanDA tells an entry of a weighed queue, by its own name; others go by their unified name."""
    return entry["verdict"] == "use" or "weight" in entry or entry["criteria"] in after_weight


def outcome_of(given: Mapping[str, Any]) -> Outcome:
    """Return what fairq's engine makes of a scenario under PanDA's rules."""
    task = task_of(given)
    (outcome,) = broker_production([Case(task, chunk_of(given))], Pool(world_of(given, task), PANDA), PLAN)
    return outcome


def run_production(name: str, given: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Run one scenario and return what differs."""
    outcome = outcome_of(given)
    if wanted["status"] == "EXCEPTION":
        return _instead(given, wanted, outcome)
    found = differences(STATUS[outcome.status], wanted["status"], "status")
    tied = tied_at_cut(wanted)
    found += _candidates(outcome, wanted["candidates"], tied)
    found += _verdicts(outcome, wanted["verdicts"], tied)
    found += _network(outcome, wanted.get("network", {}))
    found += differences(stages_of(outcome), [list(stage) for stage in wanted["stages"]], "stages")
    return found


def tied_at_cut(wanted: Mapping[str, Any]) -> frozenset[str]:
    """Return the queues of which PanDA took some at random: those that weigh what the last candidate does."""
    if not wanted.get("tie_at_cut", False):
        return frozenset()
    least = min(one["weight"] for one in wanted["candidates"])
    weights = {name: told[-1]["weight"] for name, told in wanted["verdicts"].items() if "weight" in told[-1]}
    return frozenset(name for name, weight in weights.items() if math.isclose(weight, least, rel_tol=1e-9))


def compared_candidates(
    found: list[dict[str, Any]], wanted: list[Mapping[str, Any]], tied: Collection[str]
) -> list[str]:
    """Return how the candidates differ; of those in *tied* only how many there are is compared."""
    sides = [
        {
            "tied": sum(one["queue"] in tied for one in side),
            "of their own": {one["queue"]: dict(one) for one in side if one["queue"] not in tied},
        }
        for side in (found, wanted)
    ]
    return differences(sides[0], sides[1], "candidates")


def _without_base_walltime(given: Mapping[str, Any]) -> dict[str, Any]:
    return {**given, "task": {**given["task"], "baseWalltime": 0}}


def _with_one_core(given: Mapping[str, Any]) -> dict[str, Any]:
    queues = {
        name: {**one, "cric": {**one["cric"], "corecount": one["cric"].get("corecount") or 1}}
        for name, one in given["queues"].items()
    }
    return {**given, "queues": queues}


INSTEAD = {"TypeError": _without_base_walltime, "ZeroDivisionError": _with_one_core}
"""By the error that PanDA raised (no base walltime, slots of no cores): the scenario in which it would not."""


def _instead(given: Mapping[str, Any], wanted: Mapping[str, Any], outcome: Outcome) -> list[str]:
    """Compare the stages that PanDA went through before it raised an error, and fairq's own answer.

    fairq's answer is that for the same scenario with a base walltime of 0, or with slots of one core.
    """
    error = wanted["exception"].partition(":")[0]
    if error not in INSTEAD:
        return [f"nothing is known of what fairq does instead of {wanted['exception']}"]
    stages = [list(stage) for stage in wanted["stages"]]
    found = differences(stages_of(outcome)[: len(stages)], stages, "stages before the error")
    other = outcome_of(INSTEAD[error](given))
    answers = [
        {
            "status": each.status,
            "stages": stages_of(each),
            "verdicts": [[one.queue, one.reason, one.weight, one.numbers] for one in each.verdicts()],
            "candidates": [one.queue for one in each.candidates],
        }
        for each in (outcome, other)
    ]
    return found + differences(answers[0], answers[1], "instead")


def _candidates(outcome: Outcome, wanted: list[Mapping[str, Any]], tied: Collection[str]) -> list[str]:
    found = [
        {
            "queue": one.queue,
            "unified": one.unit,
            "weight": one.weight,
            "nRunningJobsCap": one.cap,
            "nQueuedJobs": one.queued,
            "nRunningJobs": one.running,
            "maxwdir": one.maxwdir,
            "platforms": one.platform,
            "n_local_disk": one.local_files,
            "n_local_tape": one.tape_files,
        }
        for one in outcome.candidates
        if not one.jumbo
    ]
    return compared_candidates(found, wanted, tied)


def _verdicts(outcome: Outcome, wanted: Mapping[str, list[Mapping[str, Any]]], tied: Collection[str]) -> list[str]:
    found = _told(outcome)
    expected: dict[str, Mapping[str, Any]] = {}
    for name, entries in wanted.items():
        for entry in entries:
            expected[name if is_of_weighed(entry, AFTER_WEIGHT) else name.partition("/")[0]] = entry
    lines = []
    for name in {**expected, **found}:
        if name not in found:
            lines.append(f"{name} has no verdict, expected {expected[name]['criteria']}")
        elif name not in expected:
            lines.append(f"{name} is {_criteria(found[name][-1])}, expected no verdict")
        elif name in tied:
            lines += _numbers(name, found[name][-1], expected[name])
        else:
            lines += _verdict(name, found[name], expected[name])
    return lines


def _verdict(name: str, told: list[Verdict], wanted: Mapping[str, Any]) -> list[str]:
    if wanted["criteria"] == "+usejumbo":
        wanted = {**wanted, "criteria": "+use"}
    # The pseudo queues of a unified one may go in the same stage for several reasons; PanDA tells any of them.
    fitting = [one for one in told if _criteria(one) == wanted["criteria"]]
    if not fitting:
        return [f"{name} is {_criteria(told[-1])} {told[-1].details}, expected {wanted['criteria']}"]
    return min((_numbers(name, found, wanted) for found in reversed(fitting)), key=len)


def _numbers(name: str, found: Verdict, wanted: Mapping[str, Any]) -> list[str]:
    numbers = {**found.details, **found.numbers, "weight": found.weight}
    # Of -cap_rt only the factor before nRun_rt was recorded.
    skipped = NOT_NUMBERS | ({"nRun_rt"} if found.reason == "cap_rt" else set())
    printed = {key: value for key, value in wanted.items() if key not in skipped}
    return differences({key: numbers.get(key) for key in printed}, printed, name)


def _criteria(one: Verdict) -> str:
    return f"-{one.reason}" if one.reason else "+use"


def _told(outcome: Outcome) -> dict[str, list[Verdict]]:
    # As PanDA tells it: a weighed queue by its own name, another once per unified queue, when the last one goes.
    told: dict[str, list[Verdict]] = {}
    lost: dict[str, tuple[tuple[bool, int], list[Verdict]]] = {}
    if outcome.stopped_by:
        return told
    stages = [stage.stage for stage in outcome.stages]
    for one in outcome.verdicts():
        if one.weight is not None:
            told[one.unit if one.reason == "cap_rt" else one.queue] = [one]
        elif one.stage != CANDIDATES_STAGE:
            when = not one.permanent, stages.index(one.stage)
            before, known = lost.get(one.unit, (when, []))
            if when >= before:
                lost[one.unit] = when, [*known, one] if when == before else [one]
    weighed = {one.unit for (one,) in told.values()}
    return told | {unit: verdicts for unit, (_, verdicts) in lost.items() if unit not in weighed}


def _network(outcome: Outcome, wanted: Mapping[str, Mapping[str, Any]]) -> list[str]:
    names = {"mbps": "throughputMBps", "nqueued": "nFilesQueued"}
    columns = outcome.ask.pool
    lines = []
    for satellite, printed in wanted.items():
        row = next(row for row in range(len(columns)) if satellite_of(columns, row) == satellite)
        _, figures = network.weigh(columns, *(network.reads(outcome.ask) or ()))
        numbers = figures(row)
        found = {key: numbers.get(names.get(key, key)) for key in printed}
        lines += differences(found, dict(printed), f"network.{satellite}")
    return lines


def stages_of(outcome: Outcome) -> list[list[Any]]:
    lines: list[list[Any]] = []
    if outcome.ask.given_rows == frozenset() and outcome.ask.task.nucleus:
        # PanDA has no stage for the candidates, and finds in its first one that it has none.
        return [["link check", 0]]
    for stage in outcome.stages:
        if stage.stage == CANDIDATES_STAGE:
            continue
        if stage.stage == "jumbo job check":
            # A unified queue that the task is given stands beside its pseudo queues in PanDA's list.
            lines.append([stage.stage, stage.rows_after + (_given_unified(outcome) if stage.rows_after else 0)])
        # PanDA keeps queues for jumbo jobs in a list of their own.
        jumbo = {one.unit for one in outcome.candidates if one.jumbo} if stage.stage == FINAL else ()
        lines.append([stage.stage, stage.units_after - len(jumbo)])
    return lines


def _given_unified(outcome: Outcome) -> int:
    """Return how many unified queues that the task is given are left after the jumbo job check."""
    columns, given = outcome.ask.pool, outcome.ask.given_rows
    if given is None:
        return 0
    stages = [stage.stage for stage in outcome.stages]
    gone = {CANDIDATES_STAGE, *stages[: stages.index("jumbo job check") + 1]}
    verdicts = [(columns.queues[row].unified, outcome.verdict(int(row))) for row in sorted(given)]
    left = {
        unified for unified, one in verdicts if unified and not (one.permanent and one.reason and one.stage in gone)
    }
    return len(left if outcome.ask.chunk.preassigned_site else left & set(outcome.ask.task.sites))


def run_weight_formula(name: str, given: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Weigh one queue for a task with that input and return what differs."""
    files = [
        {"lfn": f"f{number}", "fsize": given["file_bytes"], "nEvents": 100} for number in range(given["files_total"])
    ]
    states = ("running", "activated", "assigned", "starting", "defined")
    scenario = {
        "storages": {"NUC_D": {"site": "NUC"}, "Q_D": {"site": "SITE"}},
        "queues": {
            "OF_NUC": _queue("NUC", "nucleus", "NUC_D"),
            given["queue"]: _queue("SITE", "satellite", "Q_D"),
        },
        "job_stats": {given["queue"]: {"MC": {state: given[state] for state in states}}},
        "chunk": {"datasets": [{"name": "ds", "files": files}] if files else []},
        "files_at": {
            "ds": {
                "NUC_D": [entry["lfn"] for entry in files],
                "Q_D": [entry["lfn"] for entry in files[: given["files_at_queue"]]],
            }
        },
    }
    outcome = outcome_of(scenario)
    one = outcome.verdict(outcome.ask.pool.rows[given["queue"]])
    return differences({"weight": one.weight, "criteria_cap": one.reason == "cap"}, dict(wanted))


def _queue(site: str, role: str, rse: str) -> dict[str, Any]:
    cric = {"capability": "score", "corecount": 1, "workflow": "push", "maxrss": 4000, "maxwdir": 20000}
    return {"site": site, "role": role, "cric": cric, "storages": [{"rse": rse}]}


RUNNERS = {"prod": run_production, "weight_formula": run_weight_formula}
