"""Actions needed in PanDA after a brokerage run or a check of timeouts: calls and updates, as data.

Paths are those of PanDA's server API. Where the API has no call, an update changes a row in PanDA's schema. All actions
may be repeated: an update names the former state, and a second call changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairq.errors.broker import NoSuchRunError
from fairq.state import broker_cycles
from fairq.state.broker_cycles import BrokerCycle, TaskVerdict
from fairq.state.connection import reading
from fairq.steps.broker.diff import hint_of
from fairq.steps.broker.kept_verdict import Legend, unpack
from fairq.steps.broker.stages import reason_then

if TYPE_CHECKING:
    from fairq.steps.broker.timeouts import Cleaned


Record = dict[str, Any]

Former = Mapping[int, tuple[str, bool]]
"""Each task's state before a run, and whether it was assigned to queues."""


class Decision(NamedTuple):
    """The decision of a run about a task: its state, its queues (best first), and why it has none."""

    task: int
    status: str
    queues: list[str]
    reason: str


ASSIGNMENTS, REBROKERAGES, CLOSURES = "assignments", "rebrokerages", "closures"
LISTS = (ASSIGNMENTS, REBROKERAGES, CLOSURES)
"""The lists of actions in a document, in order."""

_TASK, _JOB = "/api/v1/task/", "/api/v1/job/"


def actions_of_run(
    number: int, time: int, rules: str, decisions: Sequence[Decision], former: Former, *, applied: bool
) -> Record:
    """Return the actions of a run: tasks to assign, to assign again, and to end."""
    lists: dict[str, list[Record]] = {name: [] for name in LISTS}
    for one in decisions:
        before, had_queues = former.get(one.task, ("", False))
        if one.status == "assigned":
            name = REBROKERAGES if had_queues else ASSIGNMENTS
            lists[name].append(_assignment(one, before))
        elif one.status in ("failed", "exhausted"):
            lists[CLOSURES].append(_end_of_task(one, before))
    head = {"source": "broker run", "cycle": number, "time": time, "rules": rules}
    return {**head, "applied": applied, **lists}


def actions_of_timeouts(cleaned: Cleaned) -> Record:
    """Return the actions of a check of timeouts: jobs to close and send back to brokerage, and jobs to end."""
    lists: dict[str, list[Record]] = {name: [] for name in LISTS}
    for found in cleaned.found:
        name = REBROKERAGES if found["action"] == "rebroker" else CLOSURES
        lists[name].append(_end_of_job(found, cleaned.time))
    head = {"source": "broker timeouts", "cycle": None, "time": cleaned.time, "rules": cleaned.rules}
    return {**head, "applied": cleaned.applied, **lists}


def _assignment(one: Decision, before: str) -> Record:
    # PanDA splits unified queues itself and knows only the whole queue.
    queues = list(dict.fromkeys(queue.partition("/")[0] for queue in one.queues))
    call = _call(_TASK + "reassign", task_id=one.task, site=",".join(queues), mode="nokill")
    return _action("assign", one.task, None, queues, before, one.status, "", None, call, None)


def _end_of_task(one: Decision, before: str) -> Record:
    if one.status == "failed":
        call = _call(_TASK + "kill", task_id=one.task)
    else:
        call = _call(_TASK + "finish", task_id=one.task, soft=True)
    return _action("end", one.task, None, [], before, one.status, one.reason, None, call, None)


def _end_of_job(found: Record, now: int) -> Record:
    job, code, action = found["panda_id"], found["code"], found["action"]
    call = update = None
    if action == "fail":
        update = _failed(job, found["job_status"], code, now)
    else:
        options = ["keepUnmerged"] if action == "rebroker" else []
        call = _call(_JOB + "kill", job_ids=[job], code=code, kill_options=options)
    queues = [found["computing_site"]] if found["computing_site"] else []
    task, before, after = found["jedi_task_id"], found["job_status"], found["becomes"]
    return _action(action, task, job, queues, before, after, found["row"], code, call, update)


def _failed(job: int, before: str, code: int | None, now: int) -> Record:
    """Return the update that PanDA's watcher makes (Watcher.run): the API has no call that fails a job."""
    at = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    values: Record = {"jobStatus": "failed", "endTime": at, "stateChangeTime": at}
    if code is not None:
        values["jobDispatcherErrorCode"] = code
    return {"table": "ATLAS_PANDA.JOBSACTIVE4", "set": values, "where": {"PandaID": job, "jobStatus": before}}


def _call(path: str, **data: Any) -> Record:
    return {"method": "POST", "path": path, "data": data}


def _action(
    action: str,
    task: int | None,
    job: int | None,
    queues: list[str],
    before: str,
    after: str,
    reason: str,
    code: int | None,
    call: Record | None,
    update: Record | None,
) -> Record:
    return {
        "action": action,
        "task": task,
        "job": job,
        "queues": queues,
        "before": before,
        "after": after,
        "reason": reason,
        "code": code,
        "call": call,
        "update": update,
    }


def actions_in(document: Record) -> Iterable[Record]:
    """Yield every action of a document, with the name of its list."""
    for name in LISTS:
        for action in document[name]:
            yield {"list": name, **action}


def actions_again(path: Path, number: int) -> dict[str, Any]:
    """Return the document of actions of the run *number*, for the tasks whose decisions are kept.

    Raises NoSuchRunError.
    """
    with reading(path) as state:
        runs = {run.number: run for run in broker_cycles.load_all(state)}
        verdicts = [one for one in broker_cycles.load_verdicts(state) if one.cycle == number]
    if number not in runs:
        raise NoSuchRunError(number=number, hint=hint_of(runs))
    run = runs[number]
    legend = Legend(run.document)
    decisions = [_decision(run, legend, one) for one in verdicts]
    return actions_of_run(run.number, run.time, run.rules, decisions, _former(run), applied=True)


def _decision(run: BrokerCycle, legend: Legend, verdict: TaskVerdict) -> Decision:
    kept = unpack(verdict.data, legend)
    queues = [name for name, _ in kept.candidates]
    if queues:
        return Decision(verdict.task, verdict.status, queues, "")
    reasons = run.document["reasons"][kept.activity]
    return Decision(verdict.task, verdict.status, [], reason_then(kept, reasons))


def _former(run: BrokerCycle) -> Former:
    return {
        task: (status, bool(had_queues))
        for status, lists in run.document.get("former", {}).items()
        for had_queues, tasks in enumerate(lists)
        for task in tasks
    }
