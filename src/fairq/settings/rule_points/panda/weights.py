"""Rule points: the weight of a production queue, and the filters that follow it."""

from __future__ import annotations

from fairq.settings.key import Difference
from fairq.settings.rule_points.panda.point import point

WEIGHTS = (
    point("throughput", "freshest", "unbroken",
        "Throughput of a link that counts: freshest, the most recent; unbroken, the last of 1w, 1d, 1h before a gap.",
        Difference(
            "The most recent data count: the last hour, otherwise the last day, otherwise the last week.",
            "Network Weight",
            "The series 1w, 1d, 1h is read up to its first gap, and the last value read counts.",
            "AtlasProdJobBroker.doBrokerage, network weight",
        )),
    point("network_weight_always", True, False,
        "Apply the network weight whatever NW_ACTIVE says.",
        Difference(
            "The weight is multiplied by the network weight.",
            "Production Job Brokerage, step 3",
            "It is multiplied only if NW_ACTIVE is set; by default it is not.",
            "AtlasProdJobBroker.doBrokerage, network weight",
        )),
    point("network_tolerance", 1e-9, 0.0,
        "Part of the threshold by which a network weight may miss it, for figures that are not exact in binary.",
        Difference(
            "The network weight must be larger than or equal to NW_THRESHOLD x NW_WEIGHT_MULTIPLIER.",
            "Production Job Brokerage, step 2, last item",
            "Compares in binary: 1.76 is less than 1.6 x 1.1.",
            "AtlasProdJobBroker.doBrokerage, final check",
        ), minimum=0, maximum=1),
    point("network_age", "window", "hour",
        "How old throughput may be: window, as old as the time that it is of (1h, 1d, 1w); hour, one hour.",
        Difference(
            "Data of the last hour count, if not available of the last day, if not available of the last week.",
            "Network Weight",
            "Every figure counts for one hour after it was measured.",
            "AtlasProdJobBroker.doBrokerage, network map",
        )),
    point("retry_by_activity", True, False,
        "Retry a task without queues after 60 minutes in production and 20 in analysis. false: after 60 in both.",
        Difference(
            "A production task without queues is pending for 1 hour, an analysis task for 20 minutes.",
            "Production Job Brokerage, step 4; Analysis Job Brokerage, step 5",
            "One setting of 60 minutes applies to both.",
            "TypicalWatchDogBase.pre_action, waitForPending",
        )),
    point("running_jobs", "largest", "conditional",
        "Number of running jobs that counts: largest, the largest that applies; conditional, PanDA's own choice.",
        Difference(
            "The largest counts of running jobs, up to 20 batch workers where fewer run, numSlots, and "
            "starting jobs if numSlots is 0.",
            "Production Job Brokerage, step 3; Analysis Job Brokerage, step 4",
            "Workers count at some queues, numSlots counts per core, starting jobs are added; in production only up to "
            "MAX_PRIO_TO_BOOTSTRAP.",
            "AtlasProdJobBroker.doBrokerage and AtlasAnalJobBroker.doBrokerage, nRunning",
        )),
    point("many_assigned", "quotient", "smoothed",
        "How manyAssigned is computed: quotient, assigned / activated; smoothed, with 1 added to both.",
        Difference(
            "manyAssigned is assigned / activated, from 1 to 2.",
            "Production Job Brokerage, step 3",
            "It is (assigned + 1) / (activated + 1), from 1 to 2.",
            "AtlasProdJobBroker.doBrokerage, manyAssigned",
        )),
    point("bootstrap", False, True,
        "For tasks of low priority, try out idle queues first.",
        Difference(
            "Candidates are sorted by weight.",
            "Production Job Brokerage, step 4",
            "Queues without running or waiting jobs go first, up to priority MAX_PRIO_TO_BOOTSTRAP.",
            "AtlasProdJobBroker.doBrokerage, bootstrap",
        )),
    point("near_weight_of_io", False, True,
        "For ioIntensity above 500, give queues near the nucleus 4 times the weight.",
        Difference(
            "The weight depends on jobs, data and network.",
            "Production Job Brokerage, step 3",
            "ioIntensity above 500 makes queues near the nucleus weigh 4 times more.",
            "AtlasProdJobBroker.doBrokerage, t1Weight",
        )),
    point("express_from_1000", True, False,
        "Treat priority 1000 as express, not only higher ones.",
        Difference(
            "Priority 1000 and above requires a good network weight.",
            "Production Job Brokerage, step 2, NW_THRESHOLD",
            "Only priorities above 1000 do.",
            "InputChunk.isExpress",
        )),
    point("queue_caps", "running", "limit",
        "How long a queue may be after weighing: running, by its running jobs; limit, by NQUEUELIMITSITE as well.",
        Difference(
            "Queues with more than 2 x running jobs activated and starting, or in four states, are skipped.",
            "Production Job Brokerage, step 3, further filters",
            "Up to NQUEUELIMITSITE jobs are always allowed; defined jobs do not count; express tasks and "
            "unified queues are exempt.",
            "AtlasProdJobBroker.doBrokerage, cap",
        )),
    point("type_cap", False, True,
        "Cap the queued jobs of the task's resource type.",
        Difference(
            "The page does not list this check.",
            "Production Job Brokerage, step 3, further filters",
            "A queue with too many queued jobs of the share and resource type is skipped.",
            "AtlasProdJobBroker.doBrokerage, cap_rt",
        )),
    point("minimum_weight", False, True,
        "Refuse queues with a weight below MIN_WEIGHT.",
        Difference(
            "The page does not list this check.",
            "Production Job Brokerage, step 3; Analysis Job Brokerage, step 3",
            "Queues below a configured minimum weight are skipped.",
            "AtlasProdJobBroker.doBrokerage and AtlasAnalJobBroker.doBrokerage, below_min_weight",
        )),
    point("locks", False, True,
        "Refuse queues that another brokerage has locked.",
        Difference(
            "The page does not list this check.",
            "Production Job Brokerage, step 3",
            "Locked queues are skipped.",
            "AtlasProdJobBroker.doBrokerage, lock",
        )),
    point("local_data_only", False, True,
        "Refuse queues with use_only_local_data that lack input.",
        Difference(
            "The page does not list this check.",
            "Production Job Brokerage, step 3; Analysis Job Brokerage, step 3",
            "These queues are skipped if a file is missing.",
            "AtlasProdJobBroker.doBrokerage and AtlasAnalJobBroker.doBrokerage, use_only_local_data",
        )),
    point("one_queue_at_nucleus", False, True,
        "Send a task with a negative t1Weight to a single queue of its nucleus.",
        Difference(
            "Queues associated with the nucleus are used if t1Weight is -1.",
            "Production Job Brokerage, step 2",
            "Only the queue with the most running jobs is used.",
            "AtlasProdJobBroker.doBrokerage, t1_weight",
        )),
    point("retry_by_priority", False, True,
        "Retry tasks of priority 900 and above sooner.",
        Difference(
            "The task is pending for 1 hour, or 20 minutes in analysis.",
            "Production Job Brokerage, step 4; Analysis Job Brokerage, step 5",
            "From priority 900 it is 30 minutes, from 950 it is 10.",
            "AtlasProdWatchDog.doActionForHighPrioPending",
        )),
)  # fmt: skip
