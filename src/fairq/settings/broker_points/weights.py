"""Rule points: the weight of a production queue, and the filters that follow it."""

from __future__ import annotations

from fairq.settings.broker_points.point import point
from fairq.settings.key import Difference

WEIGHTS = (
    point("throughput", "freshest", "unbroken",
        "Which throughput of a link counts: the most recent, or the last of 1w, 1d, 1h before a gap.",
        Difference(
            "The most recent data count: the last hour, else the last day, else the last week.",
            "Network Weight",
            "The series 1w, 1d, 1h is read up to its first gap, and the last value read counts.",
            "AtlasProdJobBroker.doBrokerage, network weight",
        )),
    point("network_weight_always", True, False,
        "Apply the network weight whatever NW_ACTIVE says.",
        Difference(
            "The weight is multiplied by the network weight.",
            "Production Job Brokerage, step 3",
            "It is multiplied only if NW_ACTIVE is set, which it is not by default.",
            "AtlasProdJobBroker.doBrokerage, network weight",
        )),
    point("retry_by_activity", True, False,
        "Try a task without queues again after 60 minutes in production, 20 in analysis; or 60 in both.",
        Difference(
            "A production task without queues is pending for 1 hour, an analysis task for 20 minutes.",
            "Production Job Brokerage, step 4; Analysis Job Brokerage, step 5",
            "One setting of 60 minutes holds for both.",
            "JobBrokerBase, waitForPending",
        )),
)  # fmt: skip
