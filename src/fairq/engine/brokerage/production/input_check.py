"""Whether the input of a task can be read anywhere at all (docs/panda.md, Production filters)."""

from __future__ import annotations

from msgspec import Struct

from fairq.engine.brokerage.checks.input import dataset_availability, is_readable_from_afar
from fairq.engine.brokerage.flow.plugin import Details
from fairq.engine.brokerage.flow.request import BrokerageRequest, once_per_task
from fairq.engine.brokerage.jobs.tasks import Dataset
from fairq.engine.brokerage.storage.availability import Availability


class Sources(Struct, frozen=True):
    """Whether all input can be read over WAN, and the endpoints that have all of it (None: none need be complete)."""

    remote: bool = True
    complete_at: frozenset[str] | None = None


@once_per_task
def sources_of(request: BrokerageRequest) -> Sources:
    """Return where the input comes from; distributed datasets need not be complete anywhere."""
    remote, complete_at = True, None
    needs_source = not request.task.has_rule("IS")
    for dataset, available in _to_be_complete(request):
        places = frozenset(available.locations)
        complete_at = places if complete_at is None else complete_at & places
        if needs_source:
            remote = remote and is_readable_from_afar(request, dataset, available)
    return Sources(remote, complete_at)


def stop_for_input(request: BrokerageRequest) -> tuple[str, Details] | None:
    """Return why the task must wait for its input, with the numbers, or None.

    Tasks whose input is staged in advance need not wait. Under the rules documented, no task waits.
    """
    if not request.rules.incomplete_input or request.task.has_rule("IS"):
        return None
    for dataset, available in _to_be_complete(request):
        if not available.is_readable:
            places = sorted(available.locations)
            tag = "source_unreadable" if places else "incomplete_input"
            return tag, {"dataset": dataset.name, "files": len(dataset.lfns), "complete_at": places}
    return None


@once_per_task
def _to_be_complete(request: BrokerageRequest) -> list[tuple[Dataset, Availability]]:
    return [
        (dataset, dataset_availability(request, dataset))
        for dataset in request.chunk.datasets
        if dataset.files and not dataset.distributed
    ]
