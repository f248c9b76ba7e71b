"""The location of an input dataset, with PanDA's settings for replicas (docs/panda.md, Production filters)."""

from __future__ import annotations

import math
from functools import partial

from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.jobs.tasks import Dataset
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.world import World
from fairq.engine.brokerage.storage.availability import VP_SUFFIX, Availability, Replica, availability


def dataset_availability(request: BrokerageRequest, dataset: Dataset) -> Availability:
    """Return the availability of one dataset, by the settings of the request's brokerage."""
    most_missing, least = request.columns.kept(("completeness", request.activity), partial(_limits, request))
    return availability(_replicas(request, dataset), most_missing, least)


def is_readable_from_afar(request: BrokerageRequest, dataset: Dataset, available: Availability) -> bool:
    """Return whether input of *dataset* can be moved to another site.

    Under the rules panda, some replica that is complete enough (*available*) must be readable over WAN. Under the rules
    documented, only storage that is out of service prevents this: if there are replicas with files, one of them must be
    readable.
    """
    # What is complete enough has files.
    if available.remote_source or request.rules.incomplete_input:
        return available.remote_source
    with_files = availability(_replicas(request, dataset), math.inf, 0)
    return with_files.remote_source or not with_files.locations


def _limits(request: BrokerageRequest) -> tuple[float, float]:
    config, component = request.config, "jobbroker" if request.activity == PRODUCTION else "anal_jobbroker"
    return config.amount(f"{component}.MAX_MISSING_INPUT_FILES"), config.amount(f"{component}.MIN_INPUT_COMPLETENESS")


def _replicas(request: BrokerageRequest, dataset: Dataset) -> list[Replica]:
    # Most replicas have all files, however many these are: then the same object stands for all at an endpoint.
    whole = request.columns.kept("whole replicas", partial(_whole_replicas, request.world))
    return [
        whole[rse] if held is None else _counted(whole[rse], held, dataset)
        for rse, held in request.world.replicas.get(dataset.name, {}).items()
        if rse in whole
    ]


def _whole_replicas(world: World) -> dict[str, Replica]:
    return {rse: Replica(storage, 0, 0, rse.endswith(VP_SUFFIX)) for rse, storage in world.storages.items()}


def _counted(whole: Replica, held: frozenset[str], dataset: Dataset) -> Replica:
    return Replica(whole.storage, len(held & dataset.lfns), len(dataset.lfns), whole.vp)
