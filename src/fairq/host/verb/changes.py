"""The verbs: each one checks its arguments again and makes the change with the steps of the commands."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from fairq.common.records import Actor
from fairq.errors.base import FairqError
from fairq.errors.people import RepeatedError, RequestError
from fairq.host.client.form import MOST_NAMES
from fairq.host.verb.document import Request, members, text
from fairq.state.connection import reading
from fairq.state.history import is_fulfilled
from fairq.steps.jobs.change import Changed, JobEditor
from fairq.steps.jobs.selection import Selection, parse_targets
from fairq.steps.rights import require_administrator
from fairq.steps.undo.undo import take_back
from fairq.steps.userprio.edit import Bound, Edited, Editor

if TYPE_CHECKING:
    from fairq.formats.submitfile import Submission
    from fairq.settings import Settings

_LARGEST = 2**31 - 1
_BOUNDS = {"setfactor": "factor", "setfloor": "floor", "setceiling": "ceiling"}
_CANCELS = {"cancelfactorlease": "factor", "cancelfloorlease": "floor", "cancelceilinglease": "ceiling"}

Answer = dict[str, Any]


class Pool(Struct, frozen=True):
    """The pool that the account owns: its *state*, the *settings* of its site file, and the name of its *host*."""

    state: Path
    settings: Settings
    host: str = "localhost"


def make(pool: Pool, actor: Actor, request: Request) -> Answer:
    """Make the requested change and return the answer.

    Raises RequestError for an unknown verb or argument, RepeatedError for a request that was fulfilled before, and the
    errors of the steps.
    """
    verb = _VERBS.get(request.verb)
    if verb is None:
        raise RequestError(problem=f"there is no verb {request.verb!r}; there are {', '.join(_VERBS)}")
    try:
        return verb(pool, actor, request.arguments)
    except FairqError:
        # A repeated request can fail on its own first effect: the jobs that it removed are gone.
        with reading(pool.state) as state:
            if is_fulfilled(state, request.id):
                raise RepeatedError from None
        raise


def _job_verb(name: str) -> Callable[[Pool, Actor, dict[str, Any]], Answer]:
    def make(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
        values = _exactly(arguments, {"jobs"})
        editor = JobEditor(pool.state, pool.settings, actor)
        return _job_answer(getattr(editor, name)(_selection(values["jobs"]), actor.reason))

    return make


def _prio(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    values = _exactly(arguments, {"jobs", "value", "relative"})
    relative = _boolean(values["relative"], "relative")
    editor = JobEditor(pool.state, pool.settings, actor)
    return _job_answer(editor.prioritise(_selection(values["jobs"]), _integer(values["value"]), relative=relative))


def _prio_top(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    values = _exactly(arguments, {"jobs"})
    return _job_answer(JobEditor(pool.state, pool.settings, actor).move_to_top(_selection(values["jobs"])))


def _edit_jobs(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    from fairq.host.verb.submission import attributes_of

    values = _exactly(arguments, {"jobs", "attributes"})
    editor = JobEditor(pool.state, pool.settings, actor)
    return _job_answer(editor.edit(_selection(values["jobs"]), attributes_of(values["attributes"])))


def _undo(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    number = _exactly(arguments, {"number"})["number"]
    return take_back(pool.state, pool.settings, actor, None if number is None else _integer(number)).document()


def _userprio(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    edits = _exactly(arguments, {"edits"})["edits"]
    if not isinstance(edits, list) or not 0 < len(edits) <= MOST_NAMES:
        raise RequestError(problem=f"edits is not a list of 1 to {MOST_NAMES}")
    editor = Editor(pool.state, pool.settings, actor)
    total = Edited("")
    with editor.together():
        for edit in edits:
            total.add(_edit(editor, members(edit, "an edit")))
    changes = [[change.subject, change.before, change.after] for change in total.changes]
    return {"message": total.message, "notes": total.notes, "changes": changes, "strangers": total.strangers}


def _edit(editor: Editor, edit: dict[str, Any]) -> Edited:
    values = _exactly(edit, {"kind", "name", "value", "seconds"})
    kind, name, value = text(values["kind"], "kind"), text(values["name"], "name"), values["value"]
    if kind in _BOUNDS:
        amount = _number(value) if kind == "setfactor" else float(_integer(value))
        seconds = None if values["seconds"] is None else _integer(values["seconds"])
        return editor.set_bound(name, cast("Bound", _BOUNDS[kind]), amount, seconds)
    if kind == "prune":
        return editor.prune(_integer(values["seconds"]))
    if values["seconds"] is not None:
        raise RequestError(problem=f"{kind} takes no seconds")
    if kind in _CANCELS:
        return editor.cancel(name, cast("Bound", _CANCELS[kind]))
    ways: dict[str, Callable[[], Edited]] = {
        "setprio": lambda: editor.set_priority(name, _number(value)),
        "setaccum": lambda: editor.set_usage(name, _number(value)),
        "setbegin": lambda: editor.set_begin(name, _integer(value)),
        "setlast": lambda: editor.set_last(name, _integer(value)),
        "resetusage": lambda: editor.reset_usage(name),
        "resetall": editor.reset_all,
        "delete": lambda: editor.delete(name, force=_boolean(value, "force")),
    }
    if kind not in ways:
        raise RequestError(problem=f"there is no edit {kind!r}")
    return ways[kind]()


def _submit(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    """Queue jobs as the asker; raises RequestError if the ads name another cluster than the next."""
    from fairq.host.verb.submission import submission_of
    from fairq.steps.jobs.submit import queue

    values = _exactly(arguments, {"ads", "groups", "cluster"})
    expected = None if values["cluster"] is None else _integer(values["cluster"])
    submission = submission_of(values)

    def remade(cluster: int) -> Submission:
        if expected not in (None, cluster):
            raise RequestError(problem=f"the next cluster is {cluster}, not {expected}; make the jobs again")
        return submission

    result = queue(pool.state, pool.settings, submission, actor.user, actor, host=pool.host, remade=remade)
    return {
        "cluster": result.cluster,
        "jobs": len(submission),
        "warnings": submission.warnings,
        "no_launcher": result.is_first_without_launcher,
    }


def _submit_dag(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    """Queue the nodes of a DAG as the asker; raises RequestError if they name other clusters than the next ones."""
    from fairq.host.verb.submission import submission_of
    from fairq.steps.jobs.dag import MadeNode, check_nodes, next_cluster, queue_dag

    values = _exactly(arguments, {"nodes", "cluster"})
    expected = None if values["cluster"] is None else _integer(values["cluster"])
    if not isinstance(values["nodes"], list) or not 0 < len(values["nodes"]) <= MOST_NAMES:
        raise RequestError(problem=f"nodes is not a list of 1 to {MOST_NAMES}")
    nodes = []
    for index, document in enumerate(values["nodes"]):
        node = _exactly(members(document, "a node"), {"ads", "groups", "parents", "category", "most"})
        parents = node["parents"]
        if not isinstance(parents, list) or not all(type(parent) is int and 0 <= parent < index for parent in parents):
            raise RequestError(problem="the parents of a node are not nodes before it")
        category, most = node["category"], _integer(node["most"])
        if category is not None and (not text(category, "category") or most < 1):
            raise RequestError(problem="the category of a node has no limit")
        nodes.append(MadeNode(submission_of(node), parents, None, category, most))
    totals = check_nodes(nodes, pool.settings)
    first = next_cluster(pool.state)
    if expected not in (None, first):
        raise RequestError(problem=f"the next cluster is {first}, not {expected}; make the jobs again")
    result = queue_dag(pool.state, pool.settings, nodes, first, actor.user, actor, host=pool.host)
    if expected is not None and result.clusters[0] != expected:
        raise RequestError(problem="another process has taken the cluster; submit again")
    warnings = list(dict.fromkeys([*totals.warnings, *result.warnings]))
    return {"clusters": list(result.clusters), "jobs": result.jobs, "warnings": warnings}


def _rerun(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    from fairq.steps.jobs.rerun import rerun

    values = _exactly(arguments, {"jobs", "failed"})
    failed = _boolean(values["failed"], "failed")
    result = rerun(pool.state, pool.settings, _selection(values["jobs"]), actor, failed=failed, host=pool.host)
    return {"clusters": [list(pair) for pair in result.clusters.items()], "warnings": result.warnings}


def _finish(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    """Record that jobs have ended. Only for administrators: users could choose their own charge."""
    from fairq.steps.jobs.finish import finish

    values = _exactly(arguments, {"jobs", "end", "exit_code"})
    require_administrator(actor, "finish jobs in the pool of this host")
    end, code = (None if values[name] is None else _integer(values[name]) for name in ("end", "exit_code"))
    result = finish(pool.state, pool.settings, _selection(values["jobs"]), actor, end=end, exit_code=code)
    return _job_answer(result.chosen)


def _slots_add(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    from fairq.host.verb.submission import slots_of
    from fairq.steps.pool.slots import add

    values = _exactly(arguments, {"slots", "until"})
    new = slots_of(values["slots"])
    add(pool.state, pool.settings, new, actor, None if values["until"] is None else _integer(values["until"]))
    return {"slots": [slot.name for slot in new]}


def _slots_remove(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    from fairq.steps.pool.slots import remove

    values = _exactly(arguments, {"names", "force"})
    force = _boolean(values["force"], "force")
    return {"slots": remove(pool.state, pool.settings, _names(values["names"]), actor, force=force)}


def _slots_drain(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    from fairq.steps.pool.drain import Schedule, drain

    values = _exactly(arguments, {"names", "schedule"})
    require_administrator(actor, "drain slots")
    if values["schedule"] not in [member.value for member in Schedule]:
        raise RequestError(problem=f"schedule is not one of {', '.join(member.value for member in Schedule)}")
    schedule = Schedule(values["schedule"])
    result = drain(pool.state, pool.settings, _names(values["names"]), schedule, actor)
    return {"slots": result.slots, "evicted": result.evicted, "ending": result.ending}


def _slots_release(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    from fairq.steps.pool.drain import cancel

    return {"slots": cancel(pool.state, _names(_exactly(arguments, {"names"})["names"]), actor)}


def _pool_pause(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    from fairq.steps.pool.pause import pause, pause_document

    until = _exactly(arguments, {"until"})["until"]
    return pause_document(pause(pool.state, actor, None if until is None else _integer(until)))


def _pool_resume(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    from fairq.steps.pool.pause import pause_document, resume

    _exactly(arguments, set())
    require_administrator(actor, "resume the pool")
    former = resume(pool.state, actor)
    return {"pause": None if former is None else pause_document(former)}


def _slots_reserve(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    from fairq.steps.pool.reserve import reserve

    values = _exactly(arguments, {"names", "begin", "end", "users", "groups"})
    require_administrator(actor, "reserve slots")
    end = None if values["end"] is None else _integer(values["end"])
    people = [_names(values[name]) if values[name] != [] else [] for name in ("users", "groups")]
    return reserve(pool.state, actor, _names(values["names"]), _integer(values["begin"]), end, *people)


def _slots_unreserve(pool: Pool, actor: Actor, arguments: dict[str, Any]) -> Answer:
    from fairq.steps.pool.reserve import cancel

    numbers = _exactly(arguments, {"numbers"})["numbers"]
    require_administrator(actor, "cancel reservations")
    if not isinstance(numbers, list) or not 0 < len(numbers) <= MOST_NAMES:
        raise RequestError(problem=f"numbers is not a list of 1 to {MOST_NAMES}")
    return {"numbers": cancel(pool.state, actor, [_integer(number) for number in numbers])}


_VERBS: dict[str, Callable[[Pool, Actor, dict[str, Any]], Answer]] = {
    "submit": _submit,
    "submit dag": _submit_dag,
    "remove": _job_verb("remove"),
    "hold": _job_verb("hold"),
    "release": _job_verb("release"),
    "prio": _prio,
    "prio --top": _prio_top,
    "edit": _edit_jobs,
    "rerun": _rerun,
    "userprio": _userprio,
    "undo": _undo,
    "finish": _finish,
    "slots add": _slots_add,
    "slots remove": _slots_remove,
    "slots drain": _slots_drain,
    "slots release": _slots_release,
    "slots reserve": _slots_reserve,
    "slots unreserve": _slots_unreserve,
    "pool pause": _pool_pause,
    "pool resume": _pool_resume,
}


def _exactly(arguments: dict[str, Any], names: set[str]) -> dict[str, Any]:
    if arguments.keys() != names:
        raise RequestError(problem=f"the arguments are not {', '.join(sorted(names))}")
    return arguments


def _selection(words: Any) -> Selection:
    """Return the named jobs; null selects all that the asker may change. The asker has evaluated constraints."""
    return Selection() if words is None else Selection(parse_targets(_names(words)))


def _names(words: Any) -> list[str]:
    if not isinstance(words, list) or not 0 < len(words) <= MOST_NAMES:
        raise RequestError(problem=f"the names are not a list of 1 to {MOST_NAMES}")
    return [text(word, "a name") for word in words]


def _job_answer(changed: Changed) -> Answer:
    targets = [[target.text, count] for target, count in changed.targets]
    return {"jobs": len(changed), "targets": targets, "ending": changed.ending}


def _integer(value: Any) -> int:
    if type(value) is not int or abs(value) > _LARGEST:
        raise RequestError(problem=f"a number is not whole, or above {_LARGEST}")
    return value


def _boolean(value: Any, name: str) -> bool:
    if type(value) is not bool:
        raise RequestError(problem=f"{name} is neither true nor false")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise RequestError(problem="a number is none")
    return float(value)
