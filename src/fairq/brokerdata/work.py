"""What is to be done: tasks, their input and where it is, and PanDA's settings (docs/panda.md, Queues)."""

from __future__ import annotations

from fairq.brokerdata.column import Column, Kind

STATES = ("ready", "pending", "assigned", "waiting", "failed", "exhausted")
"""Of a task: to be brokered, to be tried again, with queues, throttled, refused for good, given up."""

TASKS = Kind(
    "tasks", "task", "The tasks, and what the brokerage decided about them.",
    (
        Column("jediTaskID", "integer", "the task's number", key=True, minimum=0, aliases=("task", "taskid"),
               shown=True),
        Column("status", "text", "what the brokerage made of it", default="ready", words=STATES, shown=True),
        Column("retryTime", "time", "when a pending task is brokered again", shown=True),
        Column("frozenTime", "time", "the first of the failed cycles; null: the last one did not fail"),
        Column("assigned", "list", "the queues it is assigned to, best first", default=(), shown=True),
        Column("cycle", "integer", "the cycle that decided last"),
        Column("reason", "text", "why it is not assigned", default="", shown=True),
        Column("vo", "text", "the virtual organisation", default="atlas"),
        Column("prodSourceLabel", "text", "managed, user, test, ...; user and panda go to the analysis brokerage",
               default="managed", shown=True),
        Column("gshare", "text", "the share of its jobs", shown=True),
        Column("workingGroup", "text", "the working group"),
        Column("userName", "text", "the user"),
        Column("taskPriority", "integer", "priority of the task", default=0),
        Column("currentPriority", "integer", "priority now; without it that of the task", shown=True),
        Column("processingType", "text", "simul, evgen, urgent, ...", default=""),
        Column("resource_type", "text", "SCORE, MCORE, ...; without it that of its cores and memory"),
        Column("cloud", "text", "the cloud that a user wants; any is no restriction"),
        Column("nucleus", "text", "the nucleus where its output goes", shown=True),
        Column("site", "text", "queues it is pre-assigned to, between commas"),
        Column("coreCount", "integer", "cores; 1 or null single, 0 any", shown=True),
        Column("maxCoreCount", "integer", "most cores"),
        Column("mergeCoreCount", "integer", "cores of merge jobs"),
        Column("ramCount", "real", "memory", "ramUnit", shown=True),
        Column("ramUnit", "text", "MB, MBPerCore or MBPerCoreFixed", default="MB"),
        Column("baseRamCount", "real", "memory that does not depend on cores", "MiB"),
        Column("mergeRamCount", "real", "memory of merge jobs", "MiB"),
        Column("cpuTime", "real", "CPU time", "cpuTimeUnit"),
        Column("cpuTimeUnit", "text", "HS06sPerEvent, mHS06sPerEvent, with or without Fixed"),
        Column("cpuEfficiency", "real", "CPU time of wall time", "%"),
        Column("baseWalltime", "real", "wall time that does not depend on events", "s"),
        Column("walltime", "real", "wall time per MiB of input; of an analysis job by the page as it is", "s"),
        Column("walltimeUnit", "text", "its unit"),
        Column("outDiskCount", "real", "output", "outDiskUnit"),
        Column("outDiskUnit", "text", "kB, MB or GB, with or without PerEvent or Fixed"),
        Column("workDiskCount", "real", "scratch beside input and output", "workDiskUnit"),
        Column("workDiskUnit", "text", "kB, MB or GB"),
        Column("ioIntensity", "real", "input per wall time", "kB/s"),
        Column("diskIO", "real", "disk traffic", "kB/s"),
        Column("architecture", "text", "sw_platform@base_platform#cpu&gpu, or the same as JSON"),
        Column("transHome", "text", "release, as AtlasOffline-21.0.38"),
        Column("transUses", "text", "release that it is based on"),
        Column("container_name", "text", "container image"),
        Column("splitRule", "text", "rules of two letters, as NF=1,IP=1", default=""),
        Column("eventService", "integer", "1 or 2: event service", default=0),
        Column("cloning", "boolean", "its event service is job cloning", default=False),
        Column("parameters", "object", "includedSite, excludedSite, ...", default={}, aliases=("task_params",)),
        Column("modificationTime", "time", "when it was last changed"),
        Column("taskClass", "integer", "1, 0 or -1: class of a user's task"),
        Column("isMerging", "boolean", "the chunk to be brokered merges output", default=False),
        Column("scout", "boolean", "the chunk's jobs are scouts", default=False),
        Column("chunkRamCount", "real", "memory that the chunk is known to need", "MiB"),
        Column("readyEvents", "integer", "events that are ready, for jumbo jobs"),
    ),
    "What the brokerage decides (status to reason) is kept in the same records; a file that does not name these "
    "columns leaves them as they are. ipConnectivity (full or http, perhaps #IPv4 or #IPv6) is kept in splitRule.",
    "fairq broker tasks import tasks.json            # new ones are ready to be brokered",
)  # fmt: skip

INPUTS = Kind(
    "inputs", "input", "The input datasets of tasks: the files of the chunk to be brokered.",
    (
        Column("task", "integer", "the task", key=True, aliases=("jeditaskid",), shown=True),
        Column("dataset", "text", "the dataset", key=True, aliases=("datasetname", "name"), shown=True),
        Column("position", "integer", "0 is the master, then the others", default=0, shown=True),
        Column("type", "text", "input, or trn_log of a merge chunk", default="input", shown=True),
        Column("distributed", "boolean", "its files lie at many places by intention", default=False, shown=True),
        Column("site", "text", "queue that a merge chunk is pre-assigned to", default=""),
        Column("created", "time", "when it was made", aliases=("creationtime",)),
        Column("modified", "time", "when it was last changed", aliases=("modificationtime",)),
        Column("files", "objects", "each with lfn, fsize (bytes) and perhaps nEvents, startEvent, endEvent",
               default=()),
    ),
)  # fmt: skip

REPLICAS = Kind(
    "replicas", "replica", "Where the input datasets are.",
    (
        Column("dataset", "text", "the dataset", key=True, shown=True),
        Column("rse", "text", "the storage endpoint", key=True, aliases=("endpoint",), shown=True),
        Column("files", "list", "the files that are there; null is all of them", aliases=("lfns",)),
    ),
)  # fmt: skip

CONFIG = Kind(
    "config", "setting", "PanDA's own settings (gdpconfig).",
    (
        Column("component", "text", "the component, as jobbroker", key=True, shown=True),
        Column("key", "text", "the setting, as NQUEUED_SAT_CAP", key=True, shown=True),
        Column("value", "text", "its value", default="", shown=True),
    ),
)  # fmt: skip

WORK = (TASKS, INPUTS, REPLICAS)
