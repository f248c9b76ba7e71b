"""The options of HTCondor's tools, by tool, and some of Slurm's sbatch.

A table has the options of a tool in the order in which it checks them, then fairq's own that are abbreviated as well.
"""

from __future__ import annotations

from fairq.cli.single_dash import Dialect, Spelling

_POOL = "a pool is one state file: choose it with --state FILE"
_DEBUG = "there is no debug log; set FAIRQ_DEBUG=1 for internal errors"
_AF = "use --af"
_JSON = "use --json"
_WHY = "use fairq why JOB"
_FILES = "jobs use the files of the submitting machine where they are"
_ADS = "read ads into a state of their own with 'fairq --state FILE import'"
_HISTORY = "use fairq history JOB --long"

QUEUE = Dialect(
    "condor_q",
    (
        Spelling("wide", effect=False),
        Spelling("long"),
        Spelling("xml", 3, cure=_JSON),
        Spelling("limit", 3),
        Spelling("jsonl", 5, "ndjson"),
        Spelling("json"),
        Spelling("pool", cure=_POOL),
        Spelling("name", cure=_POOL),
        Spelling("direct", 2, cure=_POOL),
        Spelling("submitter", values=1, bare=True),
        Spelling("constraint"),
        Spelling("slotconstraint", 5, cure="use fairq slots --constraint"),
        Spelling("af", 2),
        Spelling("autoformat", 5, "af"),
        Spelling("print-format", 3, cure=_AF),
        Spelling("global", effect=False),
        Spelling("allusers", 3, effect=False),
        Spelling("attributes", 2, cure="name them with --af"),
        Spelling("format", cure=_AF),
        Spelling("better-analyze", 2, cure=_WHY),
        Spelling("reverse-analyze", 3, cure="use fairq why --slot NAME"),
        Spelling("unmatchable", 3, cure=_WHY),
        Spelling("batch", 2),
        Spelling("analyze", cure=_WHY),
        Spelling("run", meaning="running"),
        Spelling("hold", 2, "held"),
        Spelling("held", 2),
        Spelling("idle", 2),
        Spelling("nobatch", 3, "procs"),
        Spelling("totals", 3),
        Spelling("debug", cure=_DEBUG),
        Spelling("dag", 3, cure="use --batch: the nodes of a DAG are a batch"),
        Spelling("currentrun", 2, effect=False),
        Spelling("goodput", 3, cure="use fairq report: its CPU is the CPU time used"),
        Spelling("cputime", 3, cure="use fairq report: its CPU is the CPU time used"),
        Spelling("io", 2, cure="fairq transfers no files"),
        Spelling("grid", 3, cure="fairq has no grid universe"),
        Spelling("autocluster", 4, cure="identical jobs of a cluster share a line"),
        Spelling("factory", 3, effect=False),
        Spelling("stream-results", 3, effect=False),
        Spelling("jobads", 4, cure=_ADS),
        Spelling("slotads", 5, cure=_ADS),
        Spelling("userlog", 5, cure="use fairq log JOB"),
        Spelling("address", 3, cure=_POOL),
        Spelling("running"),
        Spelling("procs"),
        Spelling("sort"),
        Spelling("mine"),
        Spelling("user"),
    ),
)
"""fairq always does what ``-global``, ``-allusers`` and ``-batch`` request; RUN_TIME is that of the current run."""

HISTORY = Dialect(
    "condor_history",
    (
        Spelling("long"),
        Spelling("xml", 3, cure=_JSON),
        Spelling("backwards", effect=False),
        Spelling("forwards", cure="newest jobs come first; sort the output"),
        Spelling("limit", 3),
        Spelling("match", meaning="limit"),
        Spelling("jsonl", 5, "ndjson"),
        Spelling("json"),
        Spelling("pool", cure=_POOL),
        Spelling("name", cure=_POOL),
        Spelling("file", 2, cure=_POOL),
        Spelling("constraint"),
        Spelling("completedsince", 3, "since"),
        Spelling("completed", meaning="since"),
        Spelling("af", 2),
        Spelling("autoformat", 5, "af"),
        Spelling("attributes", 2, cure="name them with --af"),
        Spelling("format", cure=_AF),
        Spelling("print-format", 2, cure=_AF),
        Spelling("wide", effect=False),
        Spelling("epochs", 2, cure="fairq log JOB shows the runs of a job"),
        Spelling("scanlimit", 2, cure="use --limit N"),
        Spelling("search", 3, cure=_POOL),
        Spelling("userlog", 5, cure="use fairq log JOB"),
        Spelling("debug", 2, cure=_DEBUG),
        Spelling("since"),
        Spelling("user"),
        Spelling("until"),
    ),
)
"""fairq always does what ``-backwards`` and ``-wide`` request."""

USERPRIO = Dialect(
    "condor_userprio",
    (
        Spelling("setprio"),
        Spelling("setfactor"),
        Spelling("setfloor"),
        Spelling("setceiling"),
        Spelling("duration"),
        Spelling("cancelceilinglease"),
        Spelling("cancelfloorlease"),
        Spelling("cancelfactorlease"),
        Spelling("setbegin"),
        Spelling("setaccum"),
        Spelling("setlast"),
        Spelling("resetusage"),
        Spelling("delete", 3),
        Spelling("resetall"),
        Spelling("long"),
        Spelling("constraint"),
        Spelling("legacy", 3, cure="ads come one per record only"),
        Spelling("modular", 3, effect=False),
        Spelling("af", 2),
        Spelling("autoformat", 5, "af"),
        Spelling("debug", cure=_DEBUG),
        Spelling("hierarchical", 2),
        Spelling("heir", meaning="hierarchical"),
        Spelling("flat"),
        Spelling("grouprollup"),
        Spelling("grouporder"),
        Spelling("quotas"),
        Spelling("surplus"),
        Spelling("sortkey", 2),
        Spelling("all"),
        Spelling("most", 2),
        Spelling("groupid"),
        Spelling("order"),
        Spelling("activefrom"),
        Spelling("allusers"),
        Spelling("usage", 2),
        Spelling("priority", 4),
        Spelling("getreslist", 6),
        Spelling("inputfile", 2, cure="read accounting ads with 'fairq import --accounting FILE'"),
        Spelling("pool", cure=_POOL),
        Spelling("name", cure=_POOL),
        Spelling("collector", 3, effect=False),
        Spelling("negotiator", 3, effect=False),
        Spelling("classic", 2),
        Spelling("plain", 2),
        Spelling("force", 2),
        Spelling("prune", 3),
        Spelling("target"),
        Spelling("yes"),
    ),
)
"""``-modular``, ``-collector`` and ``-negotiator`` choose the source and form of the records; fairq has one of each."""

_OF_TOOLS = (
    Spelling("constraint"),
    Spelling("all"),
    Spelling("name", cure=_POOL),
    Spelling("pool", cure=_POOL),
    Spelling("addr", 2, cure=_POOL),
    Spelling("debug", cure=_DEBUG),
)
"""The common options of condor_rm, condor_hold and similar tools."""

JOBS = Dialect(
    "condor_rm, condor_hold, condor_release",
    (
        *_OF_TOOLS,
        Spelling("reason"),
        Spelling("subcode", cure="a hold has a reason and no subcode; use --reason TEXT"),
        Spelling("forcex", cure="fairq remove ends a job at once, and kills what outlives launch.grace"),
        Spelling("totals", effect=False),
        Spelling("long", cure=_JSON),
        Spelling("user"),
    ),
)

PRIO = Dialect("condor_prio", _OF_TOOLS)

_OF_SBATCH = {
    "cpus-per-task": "use --cpus",
    "ntasks": "use --count for the number of jobs, --cpus for the cores of each",
    "gres": "use --gpus",
    "mem-per-cpu": "use --mem: the memory of the whole job",
    "nodes": "a job runs on one machine; leave it out",
    "job-name": "use --name",
    "account": "use --accounting-group",
    "partition": "use --requirements or --accounting-group",
    "qos": "use --accounting-group",
    "dependency": "use --after-ok, --after or --after-failed",
    "afterok": "use --after-ok",
    "afterany": "use --after",
    "after-any": "use --after",
    "afternotok": "use --after-failed",
    "exclude": "use --requirements 'Machine != \"NAME\"'",
    "nodelist": "use --requirements 'Machine == \"NAME\"'",
    "licenses": "use --concurrency-limits",
    "wait": "use id=$(fairq submit --af cluster_id ...), then fairq wait $id",
    "parsable": "use --af cluster_id",
    "chdir": "use --initialdir",
    "export": "use --env or --getenv",
    "mail-type": "use --mail",
    "cores": "use --cpus",
    "memory": "use --mem",
    "timeout": "use --time",
    "stdin": "use --input",
    "stdout": "use --output",
    "stderr": "use --error",
    "J": "use --name",
    "c": "use --cpus",
    "t": "use --time",
    "o": "use --output",
    "e": "use --error",
    "d": "use --after-ok, --after or --after-failed",
    "A": "use --accounting-group",
    "wrap": "give -- /bin/sh -c COMMAND",
}
"""Options of Slurm's sbatch and the like, and the option to use instead."""

SUBMIT = Dialect(
    "condor_submit",
    (
        Spelling("terse", 3),
        Spelling("verbose"),
        Spelling("disable", 4, effect=False),
        Spelling("debug", 2, cure=_DEBUG),
        Spelling("remote", cure=_POOL),
        Spelling("name", cure=_POOL),
        Spelling("append"),
        Spelling("batch-name"),
        Spelling("batch-id", 7, cure="set batch_id in the description"),
        Spelling("queue", 2),
        Spelling("password", cure="jobs run with the account of their owner"),
        Spelling("pool", 2, cure=_POOL),
        Spelling("addr", 2, cure=_POOL),
        Spelling("stm", 2, cure=_FILES),
        Spelling("spool", cure=_FILES),
        Spelling("file", 2, values=1, bare=True),
        Spelling("unused", effect=False),
        Spelling("interactive", cure="use fairq shell"),
        Spelling("maxjobs", 4, cure="set schedd.max_jobs_per_submission"),
        Spelling("single-cluster", 3, effect=False),
        Spelling("factory", 4, effect=False),
        Spelling("allow-crlf-script", 3, effect=False),
        Spelling("capabilities", 3, cure="fairq submit --help and docs/submit.md name them"),
        Spelling("dry-run", 3, cure="use --dry-run, with --json for whole ads; '> FILE' writes them to a file"),
        *(Spelling(name, len(name), cure=cure) for name, cure in _OF_SBATCH.items()),
    ),
    hint="a command with its options goes after --",
)
"""fairq always names unused lines, makes one cluster and stores identical jobs once; it adds no file transfer."""

_CLAIMED = "use fairq slots --constraint 'State == \"Claimed\"'"
_UNCLAIMED = "use fairq slots --constraint 'State == \"Unclaimed\"'"

SLOTS = Dialect(
    "condor_status",
    (
        Spelling("pool", cure=_POOL),
        Spelling("direct", cure=_POOL),
        Spelling("constraint", 3),
        Spelling("limit", 3),
        Spelling("af", 2),
        Spelling("autoformat", 5, "af"),
        Spelling("format", cure=_AF),
        Spelling("print-format", 2, cure=_AF),
        Spelling("json", 2),
        Spelling("xml", cure=_JSON),
        Spelling("long"),
        Spelling("wide", effect=False),
        Spelling("startd", 5, effect=False),
        Spelling("available", 2),
        Spelling("claimed", 2, cure=_CLAIMED),
        Spelling("run", cure=_CLAIMED),
        Spelling("total"),
        Spelling("compact", 3),
        Spelling("submitters", 5, cure="use fairq userprio, or fairq status"),
        Spelling("schedds", 2, cure="use fairq queue"),
        Spelling("negotiator", cure="use fairq state cycles"),
        Spelling("sort", 3, cure="sort the lines of --csv or --af"),
        Spelling("debug", cure=_DEBUG),
    ),
)

_SLOTS = "use fairq slots"

STATUS = Dialect(
    "condor_status",
    (
        Spelling("totals", effect=False),
        Spelling("compact", 3, effect=False),
        Spelling("wide", effect=False),
        Spelling("constraint", 3, cure="use fairq slots --constraint"),
        Spelling("long", cure="use fairq slots --json"),
        Spelling("available", 2, cure=_UNCLAIMED),
        Spelling("claimed", 2, cure=_CLAIMED),
        Spelling("run", cure=_CLAIMED),
        Spelling("startd", 5, cure=_SLOTS),
        Spelling("schedds", 2, cure="use fairq queue"),
        Spelling("submitters", 5, effect=False),
        Spelling("negotiator", cure="use fairq state cycles"),
        Spelling("sort", 3, cure="the submitters with idle jobs come first; sort the lines of --csv or --af"),
        Spelling("pool", cure=_POOL),
        Spelling("direct", cure=_POOL),
        Spelling("debug", cure=_DEBUG),
    ),
)
"""fairq status counts the slots, and lists the submitters."""

WHY = Dialect(
    "condor_q -better-analyze",
    (
        Spelling("better-analyze", 2, effect=False),
        Spelling("analyze", effect=False),
        Spelling("reverse-analyze", 3, cure="name the slot with --slot NAME"),
        Spelling("machine", 2, "slot"),
        Spelling("constraint", cure="fairq why explains one job, submitter or group, or all idle jobs"),
    ),
)

TAIL = Dialect(
    "condor_tail",
    (
        Spelling("maxbytes", 3, cure="use --lines N"),
        Spelling("stderr", 3, "err"),
        Spelling("no-stdout", 4, cure="--err prints the standard error, and nothing else"),
        Spelling("auto-retry", 2, effect=False),
        Spelling("name", cure=_POOL),
        Spelling("pool", cure=_POOL),
        Spelling("debug", cure=_DEBUG),
    ),
)

WAIT = Dialect(
    "condor_wait",
    (
        Spelling("wait", meaning="timeout"),
        Spelling("num", cure="--any waits for the first job that ends"),
        Spelling("echo", cure="use fairq log JOB"),
        Spelling("status", cure="use fairq log JOB"),
        Spelling("allevents", cure="use fairq log JOB"),
        Spelling("debug", cure=_DEBUG),
    ),
)

COMMON = Dialect(
    "",
    (
        Spelling("autoformat", meaning="af"),
        Spelling("constraint", cure="queue, history, slots and userprio select what they show by an expression"),
        Spelling("format", cure=_AF),
        Spelling("print-format", cure=_AF),
        Spelling("xml", cure=_JSON),
        Spelling("long", cure=_JSON),
        Spelling("pool", cure=_POOL),
        Spelling("name", cure="name a batch without an option, and a pool with --state FILE"),
        Spelling("addr", cure=_POOL),
        Spelling("debug", cure=_DEBUG),
        Spelling("analyze", cure=_WHY),
        Spelling("better-analyze", cure=_WHY),
        Spelling("append", cure="it is an option of fairq submit"),
        Spelling("queue", cure="it is an option of fairq submit"),
        Spelling("terse", cure="it is an option of fairq submit"),
        Spelling("batch-name", cure="it is an option of fairq submit"),
        Spelling("all", cure="name what you mean, or leave it out"),
        Spelling("allusers", cure="it is an option of fairq userprio"),
        Spelling("submitter", cure="name it without an option, or with --user"),
        Spelling("nobatch", cure="use fairq queue --procs"),
        Spelling("totals", cure="use fairq status"),
        Spelling("hold", cure="use fairq queue --held, or fairq hold to hold jobs"),
        Spelling("run", cure="use fairq queue --running"),
        Spelling("idle", cure="use fairq queue --idle"),
        Spelling("forcex", cure="use fairq remove"),
    ),
)
"""Options of HTCondor's tools for commands without a table of their own, by their whole name."""

NO_TOOL = Dialect("", ())
