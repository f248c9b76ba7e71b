"""Where an input dataset is, as PanDA's settings count replicas (reference panda 3.1)."""

from __future__ import annotations

from fairq.engine.brokerage.availability import VP_SUFFIX, Availability, Replica, availability
from fairq.engine.brokerage.question import Question
from fairq.engine.brokerage.tasks import PRODUCTION, Dataset


def dataset_availability(question: Question, dataset: Dataset) -> Availability:
    """Return what the replicas of one dataset come to, by the settings of the question's brokerage."""
    storages, total = question.world.storages, len(dataset.lfns)
    replicas = [
        Replica(storages[rse], total if held is None else len(held & dataset.lfns), total, rse.endswith(VP_SUFFIX))
        for rse, held in question.world.replicas.get(dataset.name, {}).items()
        if rse in storages
    ]
    config, component = question.config, "jobbroker" if question.activity == PRODUCTION else "anal_jobbroker"
    most_missing = config.amount(f"{component}.MAX_MISSING_INPUT_FILES")
    return availability(replicas, most_missing, config.amount(f"{component}.MIN_INPUT_COMPLETENESS"))
