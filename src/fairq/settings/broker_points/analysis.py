"""Rule points: the analysis brokerage."""

from __future__ import annotations

from fairq.settings.broker_points.point import point
from fairq.settings.key import Difference

ANALYSIS = (
    point("analysis_weight", "ratio", "classes",
        "How analysis weighs: by running and queued jobs, or by classes and the room that users have left.",
        Difference(
            "The weight is (running + 1) / (queued + 1).",
            "Analysis Job Brokerage, step 4",
            "The task's jobs are divided among classes of sites, then by how many more the user may queue at each.",
            "AtlasAnalJobBroker.doBrokerage, final weight",
        )),
    point("analysis_queue_ratio", True, False,
        "Skip queues with more than twice as many jobs queued as running in analysis.",
        Difference(
            "A queue with more than 2 x max(20, running) queued jobs is skipped for the moment.",
            "Analysis Job Brokerage, step 3, temporary issues",
            "That is only logged; queues with far more jobs queued per running job than the average are skipped.",
            "AtlasAnalJobBroker.doBrokerage, overload check",
        )),
    point("failures_everywhere", True, False,
        "Count a task's failed and closed jobs at every queue.",
        Difference(
            "Failed and closed jobs must be fewer than max(2 x finished, MIN_BAD_JOBS_TO_SKIP_PQ).",
            "Analysis Job Brokerage, step 3, temporary issues",
            "Queues with long queues and jobs of the user are looked at; any closed job excludes a queue at once.",
            "AtlasAnalJobBroker.doBrokerage, too many closed check",
        )),
)  # fmt: skip
