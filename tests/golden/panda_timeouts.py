"""Golden cases of PanDA's cleaner: timeouts, rebrokerage of users' job sets, fast rebrokerage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.broker_rules import PANDA

from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.timeouts.job import JobQueue, PandaJob
from fairq.engine.brokerage.timeouts.overdue import Timeout, timeouts
from fairq.engine.brokerage.timeouts.rebrokerage import fast_rebrokerage
from fairq.engine.brokerage.timeouts.table import FAST, TimeoutPolicy

NOW = 2_000_000_000.0

_TIMES = {
    "created": "created_h",
    "modified": "modified_h",
    "changed": "changed_h",
    "ended": "ended_h",
    "activated": "activated_h",
}

_FIELDS = {
    "queue": "computingSite",
    "share": "gshare",
    "label": "prodSourceLabel",
    "priority": "currentPriority",
    "processing_type": "processingType",
    "task": "jediTaskID",
    "user": "prodUserName",
    "working_group": "workingGroup",
    "relocation_flag": "relocationFlag",
    "event_service": "eventService",
    "sub_status": "jobSubStatus",
}


def run_timeouts(name: str, given: Mapping[str, Any], wanted: Mapping[str, Any], rules: Rules = PANDA) -> list[str]:
    """Run one scenario and return what differs, per tag."""
    jobs, tags = _jobs(given)
    queues = _queues(given)
    policy = TimeoutPolicy.of(given.get("config", {}), rules)
    is_fast = name.startswith("fast_rebrokerage/")
    if is_fast:
        chosen = fast_rebrokerage(jobs, queues, policy)
        found: dict[int, dict[str, Any]] = {number: {"action": "fast_rebroker", "code": 10} for number in chosen}
    else:
        decisions = timeouts(jobs, queues, policy, NOW)
        found = {one.job.id: _shown(one) for one in decisions if not one.exempt}
    differences = []
    for entry in given["jobs"]:
        tag, count = entry["tag"], entry.get("n", 1)
        actions = [found[number] for number in tags[tag] if number in found]
        got: Any = actions
        if is_fast and count > 1:
            tally = {"fast_rebroker": len(actions), "none": count - len(actions)}
            got = {key: n for key, n in tally.items() if n}
        if got != wanted[tag]:
            differences.append(f"{tag}: {got} instead of {wanted[tag]}")
    return differences


def _jobs(given: Mapping[str, Any]) -> tuple[list[PandaJob], dict[str, list[int]]]:
    jobs: list[PandaJob] = []
    tags: dict[str, list[int]] = {}
    reports = set(given.get("output_report_tags", ()))
    for position, entry in enumerate(given["jobs"]):
        fields: dict[str, Any] = {name: entry[key] for name, key in _FIELDS.items() if key in entry}
        times = {name: NOW - entry[key] * 3600 for name, key in _TIMES.items() if key in entry}
        for _ in range(entry.get("n", 1)):
            number = len(jobs) + 1
            tags.setdefault(entry["tag"], []).append(number)
            jobs.append(
                PandaJob(
                    number,
                    entry["jobStatus"],
                    **{"queue": "Q", "priority": 500, **fields},
                    **times,
                    job_set=entry.get("jobDefinitionID", -position),
                    from_jedi=entry.get("lockedBy", "jedi") is not None,
                    has_report=entry["tag"] in reports,
                )
            )
    return jobs, tags


def _queues(given: Mapping[str, Any]) -> dict[str, JobQueue]:
    started = given.get("laststart_h", {})
    with_slots = {row if isinstance(row, str) else row[0] for row in given.get("slots", ())}
    return {
        name: JobQueue(
            name,
            status=cric["status"],
            workflow=cric["workflow"],
            disable_reassign="disableReassign" in cric.get("catchall", ""),
            last_start=NOW - started[name] * 3600 if name in started else None,
            has_slots=name in with_slots,
        )
        for name, cric in given["queues"].items()
    }


def _shown(one: Timeout) -> dict[str, Any]:
    if one.action == "fail":
        return {"action": "fail", "dispatcher_error": one.code, "was": one.job.status}
    return {"action": "fast_rebroker" if one.row == FAST else one.action, "code": one.code}
