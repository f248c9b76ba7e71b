"""The caller's side of changes: each function writes the document for one verb and reads its answer.

Constraints, file names and times depend on the caller, so they are evaluated here, with the copy of the state. The
program checks everything again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from fairq.common.records import Actor, Ad, Change, SlotRecord
from fairq.errors.people import RequestError
from fairq.formats.submitfile import Context, Description, Program, Submission, submission
from fairq.host.client.ask import Door
from fairq.host.client.form import MOST_NAMES
from fairq.state.location import last_copy
from fairq.steps.jobs.change import Changed, JobEditor
from fairq.steps.jobs.dag import MadeNode, SubmittedDag
from fairq.steps.jobs.rerun import Rerun
from fairq.steps.jobs.selection import Selection, Target
from fairq.steps.jobs.submit import Submitted, next_cluster, tried
from fairq.steps.userprio.edit import Bound, Edited

if TYPE_CHECKING:
    from fairq.settings import Settings

_ATTEMPTS = 5


class JobRequests:
    """Changes of jobs by the program behind *door*, with the methods of `JobEditor`.

    *trial* is an editor that stores nothing; it finds the jobs that satisfy a constraint.
    """

    def __init__(self, door: Door, trial: JobEditor) -> None:
        """Store the arguments."""
        self._door = door
        self._trial = trial

    def remove(self, selection: Selection, reason: str | None = None) -> Changed:
        """See `JobEditor`."""
        return change_jobs(self._door, "remove", selection, lambda: self._trial.remove(selection, reason))

    def hold(self, selection: Selection, reason: str | None = None) -> Changed:
        """See `JobEditor`."""
        return change_jobs(self._door, "hold", selection, lambda: self._trial.hold(selection, reason))

    def release(self, selection: Selection, reason: str | None = None) -> Changed:
        """See `JobEditor`."""
        return change_jobs(self._door, "release", selection, lambda: self._trial.release(selection, reason))

    def prioritise(self, selection: Selection, value: int, *, relative: bool = False) -> Changed:
        """See `JobEditor`."""

        def chosen() -> Changed:
            return self._trial.prioritise(selection, value, relative=relative)

        return change_jobs(self._door, "prio", selection, chosen, value=value, relative=relative)

    def move_to_top(self, selection: Selection) -> Changed:
        """See `JobEditor`."""
        return change_jobs(self._door, "prio --top", selection, lambda: self._trial.move_to_top(selection))

    def edit(self, selection: Selection, attributes: Ad) -> Changed:
        """See `JobEditor`; warnings and running jobs are taken from the trial on the copy."""
        trial = self._trial.edit(selection, attributes)
        changed = change_jobs(self._door, "edit", selection, lambda: trial, attributes=attributes)
        changed.warnings, changed.running = trial.warnings, trial.running
        return changed


def change_jobs(
    door: Door, verb: str, selection: Selection, chosen: Callable[[], Changed], **arguments: Any
) -> Changed:
    """Ask for *verb* on the jobs of *selection*; for a constraint, *chosen* finds the jobs in the copy.

    Raises the errors of `Door.ask` and of *chosen*.
    """
    if not selection.is_narrowed:
        words = [target.text for target in selection.targets] or None
        answer = door.ask(verb, {"jobs": words, **arguments})
        targets = [_counted(selection, index, *pair) for index, pair in enumerate(answer["targets"])]
        return Changed(targets, ending=answer["ending"])
    trial = chosen()
    words = [job.name + (f"@{job.schedd}" if job.schedd else "") for job in trial.jobs]
    _check_names(words)
    answer = door.ask(verb, {"jobs": words, **arguments})
    return Changed(trial.targets, ending=answer["ending"])


def rerun_jobs(door: Door, selection: Selection, trial: Rerun, *, failed: bool) -> Rerun:
    """Ask for the jobs of *selection* to run again; *trial* has the selected jobs in the copy."""
    if selection.is_narrowed:
        words = [job.name for job in trial.jobs()]
        _check_names(words)
    else:
        words = [target.text for target in selection.targets]
    answer = door.ask("rerun", {"jobs": words or None, "failed": failed})
    return replace(trial, clusters=dict(answer["clusters"]), warnings=answer["warnings"])


def _check_names(words: Sequence[str]) -> None:
    if len(words) > MOST_NAMES:
        problem = f"the selection has {len(words)} ranges of jobs, but {MOST_NAMES} can be named; narrow it"
        raise RequestError(problem=problem)


def _counted(selection: Selection, index: int, text: str, count: int) -> tuple[Target, int]:
    target = selection.targets[index] if selection.targets else Target("all")
    return replace(target, text=text), count


def submit_jobs(
    door: Door, path: Path, settings: Settings, source: Description | Program, context: Context, actor: Actor, host: str
) -> Submitted:
    """Create the jobs of *source* with the caller's rights, and ask for them to be queued.

    If the jobs use the number of their cluster and another process takes it meanwhile, they are created again.

    Raises the errors of `submit` and `Door.ask`.
    """
    cluster = _likely_cluster(path)
    jobs = submission(source, cluster, context)
    if jobs.uses_cluster and cluster != (next_number := next_cluster(path)):
        cluster, jobs = next_number, submission(source, next_number, context)
    for attempt in range(_ATTEMPTS):
        submitted = tried(jobs, cluster, settings, context.owner, actor, host=host)
        try:
            answer = door.ask("submit", {**_jobs_document(jobs), "cluster": cluster if jobs.uses_cluster else None})
        except RequestError:
            next_number = next_cluster(path)
            if not jobs.uses_cluster or attempt == _ATTEMPTS - 1 or next_number == cluster:
                raise
            cluster, jobs = next_number, submission(source, next_number, context)
            continue
        for job in submitted.ranges:
            job.cluster = answer["cluster"]
        jobs.warnings = list(dict.fromkeys([*jobs.warnings, *answer["warnings"]]))
        return replace(submitted, cluster=answer["cluster"], is_first_without_launcher=answer["no_launcher"])
    raise AssertionError


def submit_dag(door: Door, nodes: Sequence[MadeNode], first: int) -> SubmittedDag:
    """Ask for the nodes of a DAG, created as clusters from *first* on, to be queued."""
    documents = [
        {**_jobs_document(node.made), "parents": node.parents, "category": node.category, "most": node.most}
        for node in nodes
    ]
    uses_cluster = any(node.made.uses_cluster for node in nodes)
    answer = door.ask("submit dag", {"nodes": documents, "cluster": first if uses_cluster else None})
    return SubmittedDag(answer["clusters"], answer["jobs"], answer["warnings"])


def _likely_cluster(path: Path) -> int:
    """Return the number of the next cluster in a copy that may be outdated: most jobs do not need the number."""
    return next_cluster(last_copy(path))


def _jobs_document(jobs: Submission) -> dict[str, Any]:
    ad_indices: dict[int, int] = {}
    ads: list[Ad] = []
    groups = []
    for group in jobs.groups:
        if id(group.shared) not in ad_indices:
            ad_indices[id(group.shared)] = len(ads)
            ads.append(group.shared)
        groups.append(
            {
                "first": group.first_proc,
                "last": group.last_proc,
                "ad": ad_indices[id(group.shared)],
                "own": group.own,
                "template": group.template,
                "priority": group.priority,
                "reason": group.reason,
            }
        )
    return {"ads": ads, "groups": groups}


class RecordedEdits(Struct):
    """Edits of accounting records in the form of the document; it has the methods of `Editor`."""

    edits: list[dict[str, Any]] = field(default_factory=list)

    def _add(self, kind: str, name: str, value: Any = None, seconds: int | None = None) -> Edited:
        self.edits.append({"kind": kind, "name": name, "value": value, "seconds": seconds})
        return Edited("")

    def set_bound(self, name: str, bound: Bound, value: float, seconds: int | None = None) -> Edited:
        """See `Editor`."""
        return self._add(f"set{bound}", name, value, seconds)

    def cancel(self, name: str, bound: Bound) -> Edited:
        """See `Editor`."""
        return self._add(f"cancel{bound}lease", name)

    def set_priority(self, name: str, value: float) -> Edited:
        """See `Editor`."""
        return self._add("setprio", name, value)

    def set_usage(self, name: str, value: float) -> Edited:
        """See `Editor`."""
        return self._add("setaccum", name, value)

    def set_begin(self, name: str, value: int) -> Edited:
        """See `Editor`."""
        return self._add("setbegin", name, value)

    def set_last(self, name: str, value: int) -> Edited:
        """See `Editor`."""
        return self._add("setlast", name, value)

    def reset_usage(self, name: str) -> Edited:
        """See `Editor`."""
        return self._add("resetusage", name)

    def delete(self, name: str, *, force: bool = False) -> Edited:
        """See `Editor`."""
        return self._add("delete", name, force)

    def reset_all(self) -> Edited:
        """See `Editor`."""
        return self._add("resetall", "")

    def prune(self, seconds: int) -> Edited:
        """See `Editor`."""
        return self._add("prune", "", None, seconds)

    def send(self, door: Door) -> Edited:
        """Ask for all edits as one change."""
        answer = door.ask("userprio", {"edits": self.edits})
        changes = [Change(name, before, after) for name, before, after in answer["changes"]]
        return Edited(answer["message"], changes, answer["notes"], answer["strangers"])


def add_slots(door: Door, new: Sequence[SlotRecord], until: int | None = None) -> None:
    """Ask for slots to be added; they leave the pool *until* then."""
    documents = [{"name": slot.name, "ad": slot.ad, "address": slot.address} for slot in new]
    door.ask("slots add", {"slots": documents, "until": until})
