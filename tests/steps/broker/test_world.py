"""The pool as it is stored is the pool that the engine reads: PanDA's recorded runs by way of the state file."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker_rules import PANDA
from tests.golden.cases import cases_in
from tests.golden.panda import DATA
from tests.golden.panda_analysis import PLAN as ANALYSIS
from tests.golden.panda_defaults import ANALYSIS_TASK, CHUNK, QUEUE, QUOTA, RELATION, STORAGE, TASK, USER_TOTALS
from tests.golden.panda_production import PLAN as PRODUCTION
from tests.golden.panda_scenario import HOUR, NOW, chunk_of, task_of, world_of

from fairq.columns.broker.kinds import STORED
from fairq.engine.brokerage.analysis import broker_analysis
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.production import broker_production
from fairq.state import broker_data
from fairq.state.connection import writing
from fairq.steps.broker.checks import check_input, check_queue
from fairq.steps.broker.reader import check_record
from fairq.steps.broker.why import why

CHECKS = {"queues": check_queue, "inputs": check_input}

# Recorded counts by resource type are not parts of those by share: no pool could count like that.
CASES = [
    case for case in cases_in(DATA)
    if case.name.startswith(("prod/", "anal/")) and not case.record["input"].get("job_stats_rt")
]  # fmt: skip


def task_record(case_input, analysis):
    fields = {**(ANALYSIS_TASK if analysis else TASK), **(case_input.get("task") or {})}
    chunk = {**CHUNK, **(case_input.get("chunk") or {})}
    metrics, frozen_hours = case_input.get("metrics") or {}, fields.pop("frozen_hours_ago", None)
    return {
        **fields,
        "frozenTime": None if frozen_hours is None else NOW - frozen_hours * HOUR,
        "parameters": case_input.get("task_params") or {},
        "taskClass": metrics.get("task_eval", {}).get("class"),
        "isMerging": chunk["isMerging"],
        "scout": bool(chunk["scout"]),
        "chunkRamCount": chunk["ramCount"],
        "readyEvents": chunk.get("ready_events"),
    }


def records(case_input, analysis):
    """Yield the records of a scenario as an operator would import them, each with its kind."""
    task = task_of(case_input, analysis=analysis)
    yield "tasks", task_record(case_input, analysis)
    for position, dataset in enumerate((case_input.get("chunk") or {}).get("datasets") or ()):
        is_distributed = dataset["name"] in (case_input.get("distributed") or ())
        rest = {"type": dataset.get("type"), "site": dataset.get("site"), "files": dataset["files"]}
        yield "inputs", {"task": task.task_id, "dataset": dataset["name"], "position": position,
                         "distributed": is_distributed, **rest}  # fmt: skip
    for name, entry in case_input["queues"].items():
        role = entry.get("role", "satellite")
        yield "queues", {**QUEUE, **entry["cric"], "name": name, "atlas_site": entry["site"], "role": role}
        for relation in entry["storages"]:
            yield "relations", {**RELATION, **relation, "queue": name}
    for name, entry in case_input["storages"].items():
        yield "storages", {**STORAGE, **entry, "rse": name}
    for row in case_input.get("resource_types") or ():
        yield "types", dict(zip(("name", "mincore", "maxcore", "minrampercore", "maxrampercore"), row, strict=True))
    for site, key, value in case_input.get("links") or ():
        yield "links", {"source": site, "nucleus": task.nucleus, "key": key, "value": value}
    yield from counts(case_input)
    yield from users(case_input, task)
    for dataset, places in (case_input.get("files_at") or {}).items():
        for rse, files in places.items():
            yield "replicas", {"dataset": dataset, "rse": rse, "files": files}
    for name, entry in (case_input.get("sw_map") or {}).items():
        yield "software", {"queue": name, **entry}
    for name, value in (case_input.get("config") or {}).items():
        component, _, key = name.partition(".")
        yield "config", {"component": component, "key": key, "value": str(value)}


def counts(case_input):
    world = world_of(case_input, task_of(case_input))
    for queue, shares in world.job_stats.items():
        for share, states in shares.items():
            for state, n in states.items():
                yield "statistics", {"queue": queue, "gshare": share, "state": state, "n": n}
    for queue, nuclei in world.transferring_by_nucleus.items():
        for nucleus, n in nuclei.items():
            yield "transferring", {"queue": queue, "nucleus": nucleus, "n": n}
    for queue in world.queues:
        cores = world.core_stats.get(queue, {})
        yield "metrics", {
            "queue": queue, "running_cores": cores.get("running"), "starting_cores": cores.get("starting"),
            "diskio": world.disk_io.get(queue), "to_running_rate": world.to_running_rates.get(queue),
            "site_class": world.site_classes.get(queue), "locked": queue in world.locked,
        }  # fmt: skip
    for queue, pilots in world.pilots.items():
        yield "pilots", {"queue": queue, "getJob": pilots.get_job, "updateJob": pilots.update_job,
                         "lastStart": pilots.last_start}  # fmt: skip
    for queue, states in world.workers.items():
        for status, n in states.items():
            yield "workers", {"queue": queue, "status": status, "n": n}
    for queue, share, kind, n in case_input.get("harvester_slots") or ():
        yield "slots", {"queue": queue, "gshare": share, "resource_type": kind, "numslots": n}
    for queue, levels in world.cpu_levels.items():
        for level, part in levels.items():
            yield "cpulevels", {"queue": queue, "level": level, "pct_within_queue": part}
    for queue, cards in world.gpus.items():
        for card in cards:
            yield "gpus", {"queue": queue, **card}


def users(case_input, task):
    metrics = case_input.get("metrics") or {}
    quota = {**QUOTA, **(case_input.get("quota") or {})}
    totals: dict[str, dict[str, Any]] = {}
    totals.setdefault(task.working_group or task.user, {}).update(
        {**USER_TOTALS, **(case_input.get("user_totals") or {})}
    )
    totals.setdefault(task.user, {}).update(
        quota_ok=quota["ok"], quota_near=quota["near"], endpoints_over=quota["endpoints_over"],
        rem_slots_A=metrics.get("user_eval", {}).get("rem_slots_A"),
    )  # fmt: skip
    for name, values in totals.items():
        yield "users", {"name": name, **values}
    for share, numbers in (metrics.get("gshare_preference") or {}).items():
        yield "shares", {"gshare": share, **numbers}
    for queue, shares in (case_input.get("user_job_stats") or {}).items():
        for share, members in shares.items():
            for user, numbers in members.items():
                yield "userstatistics", {"queue": queue, "gshare": share, "user": user, **numbers}
    for queue in case_input["queues"]:
        yield "outcomes", {
            "task": task.task_id, "queue": queue, **(case_input.get("failure_counts") or {}).get(queue, {}),
            "resource_types": (case_input.get("task_rt_per_site") or {}).get(queue),
            "used": queue in (case_input.get("sites_used") or ()),
        }  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_recorded_run_is_the_same_by_way_of_the_state(case, state):
    analysis = case.name.startswith("anal/")
    case_input = case.record["input"]
    task = task_of(case_input, analysis=analysis)
    pool, cases = Pool(world_of(case_input, task), PANDA), [Case(task, chunk_of(case_input))]
    (outcome,) = broker_analysis(cases, pool, ANALYSIS) if analysis else broker_production(cases, pool, PRODUCTION)
    kinds = {kind.name: kind for kind in STORED}
    with writing(state) as opened:
        for name, record in records(case_input, analysis):
            row, _, _ = CHECKS.get(name, check_record)(kinds[name], record)
            broker_data.store(opened, kinds[name], [row])

    explanation = why(state, PANDA, task.task_id, int(NOW))

    assert explanation.status == outcome.status
    assert [(one["queue"], one["weight"]) for one in explanation.candidates] == [
        (one.queue, one.weight) for one in outcome.candidates
    ]
    assert [(one["queue"], one["stage"], one["reason"], one["weight"]) for one in explanation.queues] == [
        (one.queue, one.stage, one.reason, one.weight) for one in outcome.verdicts()
    ]
