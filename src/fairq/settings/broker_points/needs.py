"""Rule points: filters by what a production job needs of a slot."""

from __future__ import annotations

from fairq.settings.broker_points.point import point
from fairq.settings.key import Difference

NEEDS = (
    point("base_memory_always", True, False,
        "Count memory that does not depend on cores for every unit, in analysis too, and do not round.",
        Difference(
            "Memory is (baseRamCount + ramCount x coreCount) x 0.9; in analysis, without coreCount for the unit MB.",
            "Production Job Brokerage, step 2; Analysis Job Brokerage, step 3",
            "baseRamCount counts in production and for units per core alone; the result is truncated.",
            "JediCoreUtils.getJobMinRamCount",
        )),
    point("plain_minimum_walltime", True, False,
        "Ask for 24 hours of maxtime as published for scouts and merges.",
        Difference(
            "Scouts and merges skip queues whose maxtime is less than 24 hours.",
            "Production Job Brokerage, step 2",
            "24 hours times 10 HS06 are compared with maxtime scaled by cores and corepower, or unscaled without HS06.",
            "AtlasProdJobBroker.doBrokerage, walltime check",
        )),
    point("gpu_lists", True, False,
        "Compare GPUs with the lists of a queue while no worker node has reported its GPUs.",
        Difference(
            "The lists of vendors and models that a queue publishes decide.",
            "Checks for CPU and/or GPU Hardware",
            "Only what worker nodes report counts.",
            "AtlasBrokerUtils.JsonSoftwareCheck.check",
        )),
    point("infer_cpu", False, True,
        "Take the platform of a task for a CPU specification too.",
        Difference(
            "CPUs are compared if the task gives a host_cpu_spec behind a #.",
            "Checks for CPU and/or GPU Hardware",
            "Without a # the first part of the platform is the CPU that is asked for.",
            "JediTaskSpec.get_host_cpu_spec",
        )),
)  # fmt: skip
