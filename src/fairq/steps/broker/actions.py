"""Actions needed in PanDA after a brokerage run or a check of timeouts: calls and updates, as data.

Paths are those of PanDA's server API. Where the API has no call, an update changes a row in PanDA's schema. All actions
may be repeated: an update names the former state, and a second call changes nothing."""

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
    legend, former = legend_of(run.document), _former(run)
    lists: dict[str, list[Record]] = {name: [] for name in LISTS}
    for one in verdicts:
        before, had_queues = former.get(one.task, ("", False))
        if one.status == "assigned":
            kept = unpack(one.data, legend)
            # PanDA splits unified queues itself and knows only the whole queue.
            queues = list(dict.fromkeys(name.partition("/")[0] for name, _ in kept.candidates))
            call = _call(_TASK + "reassign", task_id=one.task, site=",".join(queues), mode="nokill")
            action = Action("assign", one.task, None, queues, before, one.status, "", None, call)
            lists[REBROKERAGES if had_queues else ASSIGNMENTS].append(asdict(action))
        elif one.status in _ENDS:
            kept, (word, options) = unpack(one.data, legend), _ENDS[one.status]
            call, reason = _call(_TASK + word, task_id=one.task, **options), nothing_left(kept, kept.reasons)
            lists[CLOSURES].append(asdict(Action("end", one.task, None, [], before, one.status, reason, None, call)))
    head = {"source": "broker run", "cycle": run.number, "time": run.time, "rules": run.rules}
    return {**head, "applied": applied, **lists}


def actions_of_timeouts(cleaned: Cleaned) -> Record:
    """Return the actions of a check of timeouts: jobs to close and send back to brokerage, and jobs to end."""
    lists: dict[str, list[Record]] = {name: [] for name in LISTS}
    for found in cleaned.found:
        name = REBROKERAGES if found["action"] == "rebroker" else CLOSURES
        lists[name].append(asdict(_end_of_job(found, cleaned.time)))
    head = {"source": "broker timeouts", "cycle": None, "time": cleaned.time, "rules": cleaned.rules}
    return {**head, "applied": cleaned.applied, **lists}


def _end_of_job(found: Record, now: int) -> Action:
    job, code, action = found["panda_id"], found["code"], found["action"]
    call = update = None
    if action == "fail":
        update = _failed(job, found["job_status"], code, now)
    else:
        options = ["keepUnmerged"] if action == "rebroker" else []
        call = _call(_JOB + "kill", job_ids=[job], code=code, kill_options=options)
    queues = [found["computing_site"]] if found["computing_site"] else []
    task, before, after = found["jedi_task_id"], found["job_status"], found["becomes"]
    return Action(action, task, job, queues, before, after, found["row"], code, call, update)


def _failed(job: int, before: str, code: int | None, now: int) -> Record:
    """Return the update that PanDA's watcher makes (Watcher.run): the API has no call that fails a job."""
    at = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    values: Record = {"jobStatus": "failed", "endTime": at, "stateChangeTime": at}
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
    """Return the document of actions of the run *number*, for the tasks whose decisions are kept.

    Raises NoSuchRunError.
    """
    with reading(path) as state:
        runs = {run.number: run for run in broker_cycles.load_all(state)}
        verdicts = [one for one in broker_cycles.load_verdicts(state) if one.cycle == number]
    if number not in runs:
        raise NoSuchRunError(number=number, hint=hint_of(runs))
    return actions_of_run(runs[number], verdicts, applied=True)


def _former(run: BrokerCycle) -> dict[int, tuple[str, bool]]:
    """Return the state of each task before a run, and whether it was assigned to queues."""
    return {
        task: (status, bool(had_queues))
        for status, lists in run.document["former"].items()
        for had_queues, tasks in enumerate(lists)
        for task in tasks
    }
