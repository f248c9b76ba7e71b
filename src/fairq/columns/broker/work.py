"""Tasks, their input and its replicas, their jobs, and PanDA's settings (docs/panda.md, Queues and Timeouts)."""

from __future__ import annotations

from fairq.columns.broker.column import Column, Kind

STATES = ("ready", "pending", "assigned", "waiting", "failed", "exhausted")
"""Of a task: to be brokered, to be retried, with queues, throttled, refused permanently, given up."""

TASKS = Kind(
    "tasks", "task", "The tasks and the decisions of the brokerage.",
    (
        Column("jediTaskID", "integer", "the task's number", key=True, minimum=0, aliases=("task", "taskid"),
               shown=True),
        Column("status", "text", "decision of the brokerage", default="ready", words=STATES, shown=True),
        Column("retryTime", "time", "time of the next retry", shown=True),
        Column("frozenTime", "time", "time of the first failed cycle; null: the last one did not fail"),
        Column("assigned", "list", "the queues it is assigned to, best first", default=(), shown=True),
        Column("cycle", "integer", "last cycle that decided"),
        Column("reason", "text", "why it is not assigned", default="", shown=True),
        Column("vo", "text", "the virtual organisation", default="atlas"),
        Column("prodSourceLabel", "text", "managed, user, test, ...; user and panda go to the analysis brokerage",
               default="managed", shown=True),
        Column("gshare", "text", "the share of its jobs", shown=True),
        Column("workingGroup", "text", "the working group"),
        Column("userName", "text", "the user"),
        Column("taskPriority", "integer", "priority of the task", default=0),
        Column("currentPriority", "integer", "current priority; without it, taskPriority", aliases=("priority",),
               shown=True),
        Column("processingType", "text", "simul, evgen, urgent, ...", default=""),
        Column("resource_type", "text", "SCORE, MCORE, ...; without it, derived from cores and memory"),
        Column("cloud", "text", "cloud that the user wants; any is no restriction"),
        Column("nucleus", "text", "nucleus that receives its output", shown=True),
        Column("site", "text", "queues that it is pre-assigned to, separated by commas"),
        Column("coreCount", "integer", "cores; null is 1, 0 is any number", shown=True),
        Column("maxCoreCount", "integer", "maximum number of cores"),
        Column("mergeCoreCount", "integer", "cores of merge jobs"),
        Column("ramCount", "real", "memory", "ramUnit", shown=True),
        Column("ramUnit", "text", "MB, MBPerCore or MBPerCoreFixed", default="MB", aliases=("ramCountUnit",)),
        Column("baseRamCount", "real", "memory independent of cores", "MiB"),
        Column("mergeRamCount", "real", "memory of merge jobs", "MiB"),
        Column("cpuTime", "real", "CPU time", "cpuTimeUnit"),
        Column("cpuTimeUnit", "text", "HS06sPerEvent, mHS06sPerEvent, with or without Fixed"),
        Column("cpuEfficiency", "real", "CPU time as a part of wall time", "%"),
        Column("baseWalltime", "real", "wall time independent of events", "s", aliases=("baseTime",)),
        Column("walltime", "real", "wall time per MiB of input; under documented, of a whole analysis job", "s"),
        Column("walltimeUnit", "text", "its unit"),
        Column("outDiskCount", "real", "output", "outDiskUnit"),
        Column("outDiskUnit", "text", "kB, MB or GB, with or without PerEvent or Fixed", aliases=("outDiskCountUnit",)),
        Column("workDiskCount", "real", "scratch in addition to input and output", "workDiskUnit"),
        Column("workDiskUnit", "text", "kB, MB or GB", aliases=("workDiskCountUnit",)),
        Column("ioIntensity", "real", "input per second of wall time", "kB/s"),
        Column("diskIO", "real", "disk traffic", "kB/s"),
        Column("architecture", "text", "sw_platform@base_platform#cpu&gpu, or the same as JSON"),
        Column("transHome", "text", "release, for example AtlasOffline-21.0.38"),
        Column("transUses", "text", "base release"),
        Column("container_name", "text", "container image"),
        Column("splitRule", "text", "two-letter rules, for example NF=1,IP=1", default=""),
        Column("eventService", "integer", "1 or 2: event service", default=0),
        Column("cloning", "boolean", "its event service is job cloning", default=False),
        Column("parameters", "object", "includedSite, excludedSite, ...", default={}, aliases=("task_params",)),
        Column("modificationTime", "time", "time of the last change"),
        Column("taskClass", "integer", "1, 0 or -1: class of a user's task"),
        Column("isMerging", "boolean", "the chunk's jobs merge output", default=False),
        Column("scout", "boolean", "the chunk's jobs are scouts", default=False),
        Column("chunkRamCount", "real", "known memory of the chunk's jobs", "MiB"),
        Column("readyEvents", "integer", "ready events for jumbo jobs"),
    ),
    "The decisions of the brokerage (status to reason) are in the same records; a file without these "
    "columns leaves them unchanged. ipConnectivity (full, http or none, optionally #IPv4 or #IPv6), t1Weight, "
    "onlyTagsForFC and avoidVP are kept in splitRule, includedSite and excludedSite in parameters, sw_platform in "
    "architecture, sw_project and sw_version in transHome.",
    "fairq broker tasks import tasks.json            # new tasks are ready for brokerage",
)  # fmt: skip

INPUTS = Kind(
    "inputs", "input", "The input datasets of tasks: files of the chunk to broker.",
    (
        Column("task", "integer", "the task", key=True, aliases=("jeditaskid",), shown=True),
        Column("dataset", "text", "the dataset", key=True, aliases=("datasetname", "name"), shown=True),
        Column("position", "integer", "0 is the master, then the others", default=0, shown=True),
        Column("type", "text", "input, or trn_log of a merge chunk", default="input", shown=True),
        Column("distributed", "boolean", "its files are spread over many sites on purpose", default=False, shown=True),
        Column("site", "text", "queue that a merge chunk is pre-assigned to", default=""),
        Column("created", "time", "time of creation", aliases=("creationtime",)),
        Column("modified", "time", "time of the last change", aliases=("modificationtime",)),
        Column("files", "objects", "each with lfn, fsize (bytes), optionally nEvents, startEvent, endEvent",
               default=()),
        Column("attributes", "text", "PanDA's, for example nosplit or ratio=2", default=""),
    ),
)  # fmt: skip

REPLICAS = Kind(
    "replicas", "replica", "The storage endpoints that have the input datasets.",
    (
        Column("dataset", "text", "the dataset", key=True, shown=True),
        Column("rse", "text", "the storage endpoint", key=True, aliases=("endpoint",), shown=True),
        Column("files", "list", "the files at this endpoint; null is all of them", aliases=("lfns",)),
    ),
)  # fmt: skip

CONFIG = Kind(
    "config", "setting", "PanDA's own settings (gdpconfig).",
    (
        Column("component", "text", "component, for example jobbroker", key=True, shown=True),
        Column("key", "text", "setting, for example NQUEUED_SAT_CAP", key=True, shown=True),
        Column("value", "text", "its value", default="", shown=True),
    ),
)  # fmt: skip

WORK = (TASKS, INPUTS, REPLICAS)


JOB_STATES = (
    "pending", "waiting", "defined", "assigned", "activated", "sent", "starting", "running", "stagein", "stageout",
    "holding", "transferring", "merging", "throttled", "finished", "failed", "cancelled", "closed",
)  # fmt: skip

JOBS = Kind(
    "jobs", "job", "The jobs of tasks, for timeouts and rebrokerage.",
    (
        Column("PandaID", "integer", "the job's number", key=True, minimum=0, shown=True),
        Column("jobStatus", "text", "its state", default="defined", words=JOB_STATES, aliases=("status",), shown=True),
        Column("jobSubStatus", "text", "detail of its state, for example of a queue that stages out", default="",
               aliases=("substatus",)),
        Column("computingSite", "text", "its queue", default="", aliases=("queue",), shown=True),
        Column("gshare", "text", "its share", default="", shown=True),
        Column("prodSourceLabel", "text", "managed, user, panda (builds for users), test, ...", default="managed",
               aliases=("label",), shown=True),
        Column("currentPriority", "integer", "current priority", default=0, shown=True),
        Column("jediTaskID", "integer", "its task", aliases=("task",), shown=True),
        Column("jobDefinitionID", "integer", "its job set: the jobs that the task made together for the queue"),
        Column("prodUserName", "text", "the user", default="", aliases=("user",), shown=True),
        Column("workingGroup", "text", "the working group", default=""),
        Column("processingType", "text", "simul, pmerge, ...", default=""),
        Column("transformation", "text", "what it runs; build in the name marks a build job", default=""),
        Column("lockedby", "text", "jedi: its task can recreate it; empty: jedi if it has a task", default=""),
        Column("relocationFlag", "integer", "2: it stays at its queue", default=0),
        Column("eventService", "integer", "1 event service, 2 its merge, 5 co-jumbo"),
        Column("specialResource", "boolean", "its work queue is for a special resource", default=False),
        Column("hasReport", "boolean", "a report about its output waits to be processed", default=False),
        Column("outputComplete", "boolean", "all its output files have arrived", default=False),
        Column("creationTime", "time", "time of creation", aliases=("created",)),
        Column("modificationTime", "time", "time of the last heartbeat", aliases=("modified",), shown=True),
        Column("stateChangeTime", "time", "time of the last state change", aliases=("changed",)),
        Column("activatedTime", "time", "time of activation", aliases=("activated",)),
        Column("startTime", "time", "time of the start", aliases=("started",)),
        Column("endTime", "time", "time of the end", aliases=("ended",)),
        Column("endCode", "integer", "PanDA's error code if fairq ended it"),
        Column("endReason", "text", "row of the timeouts if fairq ended it", default=""),
    ),
    "Keep jobs that have ended: they show whether their job set makes progress, and why they ended.",
    "fairq broker jobs import jobs.json --replace    # the current jobs",
)  # fmt: skip
