"""The jobs that timeouts and rebrokerage check (docs/panda.md, Timeouts)."""

from __future__ import annotations

from fairq.brokerdata.column import Column, Kind

STATES = (
    "pending", "waiting", "defined", "assigned", "activated", "sent", "starting", "running", "stagein", "stageout",
    "holding", "transferring", "merging", "throttled", "finished", "failed", "cancelled", "closed",
)  # fmt: skip

JOBS = Kind(
    "jobs", "job", "The jobs of tasks, for timeouts and rebrokerage.",
    (
        Column("PandaID", "integer", "the job's number", key=True, minimum=0, shown=True),
        Column("jobStatus", "text", "its state", default="defined", words=STATES, aliases=("status",), shown=True),
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
