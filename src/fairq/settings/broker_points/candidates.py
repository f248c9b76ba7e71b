"""Rule points: which queues a task begins with, and filters by the state of a queue and its links."""

from __future__ import annotations

from fairq.settings.broker_points.point import point
from fairq.settings.key import Difference

CANDIDATES = (
    point("exclude_test_queues", True, False,
        'Leave out queues with "test" in their name unless the task is pre-assigned to them.',
        Difference(
            "Queues with 'test' in their name, in any case, are no preliminary candidates.",
            "Production Job Brokerage, step 1",
            "Names of queues do not matter.",
            "AtlasProdJobBroker.doBrokerage",
        )),
    point("urgent_needs_nucleus", True, False,
        "Keep scouts and tasks of priority 800 and above at queues associated with the nucleus.",
        Difference(
            "From priority 800, and for scouts, queues that are not associated with the nucleus are skipped.",
            "Production Job Brokerage, step 2",
            "Opportunistic queues alone are skipped; from priority 900 a queue near the nucleus weighs 100 times more.",
            "AtlasProdJobBroker.doBrokerage, opportunistic check",
        )),
    point("disk_io_per_core", "exact", "rounded_down",
        "How a task's diskIO is divided by the cores of a queue.",
        Difference(
            "Limits on disk traffic are in kB/s per core.",
            "Production Job Brokerage, step 2, MAX_DISKIO_DEFAULT",
            "The task's diskIO per core is rounded down, so that a task slightly over the limit passes.",
            "AtlasProdJobBroker.doBrokerage, diskIO check",
        )),
)  # fmt: skip
