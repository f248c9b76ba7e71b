"""Whether the input of a task can be read anywhere at all (docs/panda.md, Production filters)."""

from __future__ import annotations

from typing import NamedTuple

from fairq.engine.brokerage.checks.input import dataset_availability, is_readable_from_afar
from fairq.engine.brokerage.flow.plugin import Details
from fairq.engine.brokerage.flow.request import Question

_KEY = "input sources"


class Sources(NamedTuple):
    """Where the input comes from: whether all of it can be read over WAN somewhere, and the endpoints that have all of
    it (None: there is no input that must be complete)."""

    remote: bool = True
    complete_at: frozenset[str] | None = None


def sources_of(question: Question) -> Sources:
    """Return what `stop_for_input` found out."""
    found = question.notes.get(_KEY, Sources())
    assert isinstance(found, Sources)
    return found


def stop_for_input(question: Question) -> tuple[str, Details] | None:
    """Return why the task must wait for its input, with the numbers, or None; note where its input comes from.

    Distributed datasets need not be complete anywhere, and tasks whose input is staged in advance need not wait. By the
    page no task waits.
    """
    remote, complete_at = True, None
    for dataset in question.chunk.datasets:
        if dataset.distributed or not dataset.files:
            continue
        available = dataset_availability(question, dataset)
        places = frozenset(available.locations)
        complete_at = places if complete_at is None else complete_at & places
        if question.task.has_rule("IS"):
            continue
        if question.rules.incomplete_input and not available.is_readable:
            tag = "source_unreadable" if places else "incomplete_input"
            return tag, {"dataset": dataset.name, "files": len(dataset.lfns), "complete_at": sorted(places)}
        remote = remote and is_readable_from_afar(question, dataset, available)
    question.notes[_KEY] = Sources(remote, complete_at)
    return None
