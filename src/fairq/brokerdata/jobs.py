"""The jobs, as timeouts and rebrokerage look at them (docs/panda.md, Timeouts)."""

from __future__ import annotations

from fairq.brokerdata.column import Column, Kind

STATES = (
    "pending", "waiting", "defined", "assigned", "activated", "sent", "starting", "running", "stagein", "stageout",
    "holding", "transferring", "merging", "throttled", "finished", "failed", "cancelled", "closed",
)  # fmt: skip

JOBS = Kind(
    "jobs", "job", "The jobs that tasks made, for timeouts and rebrokerage.",
    (
        Column("PandaID", "integer", "the job's number", key=True, minimum=0, shown=True),
        Column("jobStatus", "text", "its state", default="defined", words=STATES, aliases=("status",), shown=True),
        Column("jobSubStatus", "text", "more about its state, as of a queue that stages out by itself", default="",
               aliases=("substatus",)),
        Column("computingSite", "text", "the queue that has it", default="", aliases=("queue",), shown=True),
        Column("gshare", "text", "its share", default="", shown=True),
        Column("prodSourceLabel", "text", "managed, user, panda (builds for users), test, ...", default="managed",
               aliases=("label",), shown=True),
        Column("currentPriority", "integer", "priority now", default=0, shown=True),
        Column("jediTaskID", "integer", "its task", aliases=("task",), shown=True),
        Column("jobDefinitionID", "integer", "its set: the jobs of the task made together for the queue"),
        Column("prodUserName", "text", "the user", default="", aliases=("user",), shown=True),
        Column("workingGroup", "text", "the working group", default=""),
        Column("processingType", "text", "simul, pmerge, ...", default=""),
        Column("transformation", "text", "what it runs; a build job has build in it", default=""),
        Column("lockedby", "text", "jedi if its task can make it anew; empty is jedi if it has a task", default=""),
        Column("relocationFlag", "integer", "2 stays at its queue", default=0),
        Column("eventService", "integer", "1 event service, 2 its merge, 5 co-jumbo"),
        Column("specialResource", "boolean", "its work queue is for a special resource", default=False),
        Column("hasReport", "boolean", "a report about its output waits to be worked on", default=False),
        Column("outputComplete", "boolean", "all its output files have arrived", default=False),
        Column("creationTime", "time", "when it was made", aliases=("created",)),
        Column("modificationTime", "time", "when it was last heard of", aliases=("modified",), shown=True),
        Column("stateChangeTime", "time", "when it came into its state", aliases=("changed",)),
        Column("activatedTime", "time", "when it was activated", aliases=("activated",)),
        Column("startTime", "time", "when it started to run", aliases=("started",)),
        Column("endTime", "time", "when it ended", aliases=("ended",)),
        Column("endCode", "integer", "PanDA's number for why fairq ended it"),
        Column("endReason", "text", "why fairq ended it: the row of the timeouts", default=""),
    ),
    "A job that has ended may stay: it tells whether its set moves, and why it ended.",
    "fairq broker jobs import jobs.json --replace    # the jobs of this moment",
)  # fmt: skip
