"""Actions needed in PanDA after a brokerage run or a check of timeouts: calls and updates, as data.

Paths are those of PanDA's server API. Where the API has no call, an update changes a row in PanDA's schema. Every
action can be repeated: an update names the former state, and a second call changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from fairq.errors.broker import NoSuchRunError
from fairq.state import broker_cycles
from fairq.state.broker_cycles import BrokerCycle, TaskVerdict
from fairq.state.connection import reading
from fairq.steps.broker.diff import hint_of
from fairq.steps.broker.kept_verdict import legend_of, unpack
from fairq.steps.broker.stages import nothing_left

if TYPE_CHECKING:
    from fairq.steps.broker.timeouts import Cleaned


Record = dict[str, Any]

ASSIGNMENTS, REBROKERAGES, CLOSURES = "assignments", "rebrokerages", "closures"
LISTS = (ASSIGNMENTS, REBROKERAGES, CLOSURES)
"""The lists of actions in a document, in order."""

_TASK, _JOB = "/api/v1/task/", "/api/v1/job/"


_ENDS: dict[str, tuple[str, Record]] = {"failed": ("kill", {}), "exhausted": ("finish", {"soft": True})}
"""The call that ends a task in each state, and its options."""


class Action(Struct, frozen=True):
    """An action on a task or a job, by a *call* of the API or an *update*; *before* and *after* are its states."""

    action: str
    task: int | None
    job: int | None
    queues: list[str]
    before: str
    after: str
    reason: str
    code: int | None
    call: Record | None
    update: Record | None = None


def actions_of_run(run: BrokerCycle, verdicts: Iterable[TaskVerdict], *, applied: bool) -> Record:
    """Return the actions of a run: tasks to assign, to assign again, and to end.

    Raises FormerVerdictError.
    """
    legend, former = legend_of(run.document), _former_states(run)
    lists: dict[str, list[Record]] = {name: [] for name in LISTS}
    for verdict in verdicts:
        before, had_queues = former.get(verdict.task, ("", False))
        if verdict.status == "assigned":
            outcome = unpack(verdict.data, legend)
            # PanDA splits unified queues itself and knows only the whole queue.
            queues = list(dict.fromkeys(name.partition("/")[0] for name, _ in outcome.candidates))
            call = _call(_TASK + "reassign", task_id=verdict.task, site=",".join(queues), mode="nokill")
            action = Action("assign", verdict.task, None, queues, before, verdict.status, "", None, call)
            lists[REBROKERAGES if had_queues else ASSIGNMENTS].append(asdict(action))
        elif verdict.status in _ENDS:
            outcome, (ending, options) = unpack(verdict.data, legend), _ENDS[verdict.status]
            call, reason = (
                _call(_TASK + ending, task_id=verdict.task, **options),
                nothing_left(outcome, outcome.reasons),
            )
            lists[CLOSURES].append(
                asdict(Action("end", verdict.task, None, [], before, verdict.status, reason, None, call))
            )
    head = {"source": "broker run", "cycle": run.number, "time": run.time, "rules": run.rules}
    return {**head, "applied": applied, **lists}


def actions_of_timeouts(cleaned: Cleaned) -> Record:
    """Return the actions of a check of timeouts: jobs to close and send back to brokerage, and jobs to end."""
    lists: dict[str, list[Record]] = {name: [] for name in LISTS}
    for timeout in cleaned.found:
        name = REBROKERAGES if timeout["action"] == "rebroker" else CLOSURES
        lists[name].append(asdict(_job_action(timeout, cleaned.time)))
    head = {"source": "broker timeouts", "cycle": None, "time": cleaned.time, "rules": cleaned.rules}
    return {**head, "applied": cleaned.applied, **lists}


def _job_action(timeout: Record, time: int) -> Action:
    job, code, action = timeout["panda_id"], timeout["code"], timeout["action"]
    call = update = None
    if action == "fail":
        update = _failed_update(job, timeout["job_status"], code, time)
    else:
        options = ["keepUnmerged"] if action == "rebroker" else []
        call = _call(_JOB + "kill", job_ids=[job], code=code, kill_options=options)
    queues = [timeout["computing_site"]] if timeout["computing_site"] else []
    task, before, after = timeout["jedi_task_id"], timeout["job_status"], timeout["becomes"]
    return Action(action, task, job, queues, before, after, timeout["row"], code, call, update)


def _failed_update(job: int, before: str, code: int | None, now: int) -> Record:
    """Return the update that PanDA's watcher makes (Watcher.run): the API has no call that fails a job."""
    timestamp = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    values: Record = {"jobStatus": "failed", "endTime": timestamp, "stateChangeTime": timestamp}
    if code is not None:
        values["jobDispatcherErrorCode"] = code
    return {"table": "ATLAS_PANDA.JOBSACTIVE4", "set": values, "where": {"PandaID": job, "jobStatus": before}}


def _call(path: str, **data: Any) -> Record:
    return {"method": "POST", "path": path, "data": data}


def actions_in(document: Record) -> Iterable[Record]:
    """Yield every action of a document, with the name of its list."""
    for name in LISTS:
        for action in document[name]:
            yield {"list": name, **action}


def actions_again(path: Path, number: int) -> dict[str, Any]:
    """Return the document of actions of the run *number*, for the tasks whose decisions are stored.

    Raises NoSuchRunError.
    """
    with reading(path) as state:
        runs = {run.number: run for run in broker_cycles.load_all(state)}
        verdicts = [verdict for verdict in broker_cycles.load_verdicts(state) if verdict.cycle == number]
    if number not in runs:
        raise NoSuchRunError(number=number, hint=hint_of(runs))
    return actions_of_run(runs[number], verdicts, applied=True)


def _former_states(run: BrokerCycle) -> dict[int, tuple[str, bool]]:
    """Return the state of each task before a run, and whether it was assigned to queues."""
    return {
        task: (status, bool(had_queues))
        for status, lists in run.document["former"].items()
        for had_queues, tasks in enumerate(lists)
        for task in tasks
    }
