"""Figures of the pool: counts of jobs, pilots, workers, slots, users and shares (docs/panda.md, Queues)."""

from __future__ import annotations

from fairq.columns.broker.column import Column, Kind
from fairq.columns.broker.work import JOB_STATES

_QUEUE = Column("queue", "text", "the queue", key=True, aliases=("computingsite", "panda_queue"), shown=True)

STATISTICS = Kind(
    "statistics", "count", "Numbers of jobs by queue, share, resource type and state.",
    (
        _QUEUE,
        Column("gshare", "text", "the share of the jobs", key=True, default="", aliases=("share",), shown=True),
        Column("resource_type", "text", "their resource type; empty is unknown", key=True, default="", shown=True),
        Column("state", "text", "their state", key=True, words=JOB_STATES, aliases=("jobstatus",), shown=True),
        Column("n", "integer", "number of jobs", default=0, minimum=0, aliases=("njobs", "num"), shown=True),
    ),
    "A missing count is 0: import a new set of counts with --replace.",
    "fairq broker statistics import jobs.csv --replace    # the current counts",
    "numbers of jobs",
)  # fmt: skip

TRANSFERRING = Kind(
    "transferring", "count", "Numbers of jobs that transfer output, by queue and nucleus.",
    (
        _QUEUE,
        Column("nucleus", "text", "nucleus that receives their output", key=True, shown=True),
        Column("n", "integer", "number of jobs", default=0, minimum=0, shown=True),
    ),
    plural="numbers of transferring jobs",
)  # fmt: skip

METRICS = Kind(
    "metrics", "metrics of queue", "Figures of the queues: cores in use, disk traffic, rates, classes, locks.",
    (
        _QUEUE,
        Column("running_cores", "integer", "cores of running jobs", default=0, minimum=0, shown=True),
        Column("starting_cores", "integer", "cores of starting jobs", default=0, minimum=0, shown=True),
        Column("diskio", "real", "average disk traffic per core of running jobs", "kB/s", shown=True),
        Column("to_running_rate", "real", "jobs that started in the last 6 hours", "1/h", shown=True),
        Column("site_class", "integer", "1, 0 or -1: how fast it runs users' jobs", shown=True),
        Column("locked", "boolean", "another brokerage has locked it", default=False, shown=True),
    ),
)  # fmt: skip

PILOTS = Kind(
    "pilots", "pilots of queue", "Numbers of pilots in the last 3 hours, by queue.",
    (
        _QUEUE,
        Column("getJob", "integer", "pilots that asked for a job", default=0, minimum=0, shown=True),
        Column("updateJob", "integer", "pilots that reported on a job", default=0, minimum=0, shown=True),
        Column("lastStart", "time", "time of the last job start", aliases=("laststart",), shown=True),
    ),
    "A queue without a record had no pilots.",
    plural="numbers of pilots",
)  # fmt: skip

WORKERS = Kind(
    "workers", "count", "Numbers of batch workers in the last hour, by queue.",
    (
        _QUEUE,
        Column("status", "text", "submitted, running or another", key=True, shown=True),
        Column("n", "integer", "number of workers", default=0, minimum=0, aliases=("n_workers",), shown=True),
    ),
    plural="numbers of workers",
)  # fmt: skip

SLOTS = Kind(
    "slots", "number of slots", "Numbers of slots to keep filled (numSlots), by queue.",
    (
        _QUEUE,
        Column("gshare", "text", "for this share; empty is any", key=True, default="", shown=True),
        Column("resource_type", "text", "for this resource type; empty is any", key=True, default="", shown=True),
        Column("numslots", "integer", "number of slots; a negative one is ignored", default=0, shown=True),
        Column("expires", "time", "time at which it expires; null is never", aliases=("expiration_time",), shown=True),
    ),
    plural="numbers of slots",
)  # fmt: skip

USERSTATISTICS = Kind(
    "userstatistics", "count", "Numbers of jobs of users, by queue and share.",
    (
        _QUEUE,
        Column("gshare", "text", "the share", key=True, default="", shown=True),
        Column("user", "text", "the user; _total is all users", key=True, aliases=("produsername",), shown=True),
        Column("nQueue", "integer", "queued jobs", default=0, minimum=0, shown=True),
        Column("nRunning", "integer", "running jobs", default=0, minimum=0, shown=True),
    ),
    plural="numbers of users' jobs",
)  # fmt: skip

USERS = Kind(
    "users", "user", "Jobs, cores and quotas of users and working groups.",
    (
        Column("name", "text", "the user or working group", key=True, aliases=("user",), shown=True),
        Column("nQueuedJobs", "integer", "queued jobs", default=0, minimum=0, shown=True),
        Column("nRunJobs", "integer", "running jobs", default=0, minimum=0, shown=True),
        Column("nQueuedCores", "integer", "cores that queued jobs ask for", default=0, minimum=0, shown=True),
        Column("nRunCores", "integer", "cores of running jobs", default=0, minimum=0, shown=True),
        Column("quota_ok", "boolean", "within the global disk quota", default=True, shown=True),
        Column("quota_near", "boolean", "near that quota", default=False),
        Column("endpoints_over", "list", "endpoints whose local quota is used up", default=()),
        Column("rem_slots_A", "real", "remaining slots of class A"),
    ),
    "The caps are settings of PanDA, such as CAP_RUNNING_USER_JOBS; see fairq broker config.",
)  # fmt: skip

SHARES = Kind(
    "shares", "share", "How much of its target each share uses.",
    (
        Column("gshare", "text", "the share", key=True, aliases=("share", "name"), shown=True),
        Column("usage_perc", "real", "used part of its target; 1 is all", default=0, minimum=0, shown=True),
    ),
)  # fmt: skip

OUTCOMES = Kind(
    "outcomes", "outcome", "Outcomes of the jobs of a task at a queue.",
    (
        Column("task", "integer", "the task", key=True, aliases=("jeditaskid",), shown=True),
        Column("queue", "text", "the queue", key=True, aliases=("computingsite",), shown=True),
        Column("failed", "integer", "failed in the last hours (TW_DONE_JOB_STAT), with a pilot's error code",
               default=0, minimum=0, aliases=("nFailed",), shown=True),
        Column("closed", "integer", "closed for reassignment in that time", default=0, minimum=0,
               aliases=("nClosed",), shown=True),
        Column("finished", "integer", "finished in that time", default=0, minimum=0, aliases=("nFinished",),
               shown=True),
        Column("resource_types", "list", "resource types of the task's jobs there", default=(), shown=True),
        Column("used", "boolean", "the task has jobs there", default=True),
    ),
)  # fmt: skip

FIGURES = (
    STATISTICS, TRANSFERRING, METRICS, PILOTS, WORKERS, SLOTS, USERSTATISTICS, USERS, SHARES, OUTCOMES
)  # fmt: skip
