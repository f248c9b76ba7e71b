"""The meaning of each of PanDA's own settings."""

from __future__ import annotations

WORDS = {
    "jobbroker.NW_ACTIVE": "apply the network weight (rules panda only)",
    "jobbroker.NW_QUEUE_IMPORTANCE": "part of the network weight that depends on queued files",
    "jobbroker.NW_THRESHOLD": "minimum network weight for express tasks",
    "jobbroker.NW_WEIGHT_MULTIPLIER": "factor of NW_THRESHOLD",
    "jobbroker.NQUEUED_SAT_CAP": "maximum number of files queued on one link to the nucleus",
    "jobbroker.NQUEUED_NUC_CAP_FOR_JOBS": "maximum number of files queued on all links to the nucleus",
    "jobbroker.IO_INTENSITY_CUTOFF": "I/O intensity above which input must be nearby",
    "jobbroker.SIZE_CUTOFF_TO_MOVE_INPUT": "maximum size of input that may be missing above that intensity",
    "jobbroker.NUM_CUTOFF_TO_MOVE_INPUT": "maximum number of files that may be missing above that intensity",
    "jobbroker.MAX_DISKIO_DEFAULT": "maximum disk traffic per core",
    "jobbroker.STORAGE_MIN_FREE_SIZE": "minimum usable space of storage",
    "jobbroker.MAX_PRIO_TO_BOOTSTRAP": "highest priority for which an idle queue is tried out",
    "jobbroker.NQUEUELIMITSITE": "queued jobs that every queue may have",
    "jobbroker.MIN_WEIGHT": "minimum weight of a candidate",
    "jobbroker.MAX_MISSING_INPUT_FILES": "maximum number of files that an input dataset may lack",
    "jobbroker.MIN_INPUT_COMPLETENESS": "minimum fraction of an input dataset that must exist",
    "core.WORK_SHORTAGE": "use only pledged cores, because work is short",
    "anal_jobbroker.MAX_MISSING_INPUT_FILES": "maximum number of files that an input dataset may lack",
    "anal_jobbroker.MIN_INPUT_COMPLETENESS": "minimum fraction of an input dataset that must exist",
    "anal_jobbroker.MAX_DISKIO_DEFAULT": "maximum disk traffic per core",
    "anal_jobbroker.STORAGE_MIN_FREE_SIZE": "minimum usable space of storage with input",
    "anal_jobbroker.TW_DONE_JOB_STAT": "time window for failed and closed jobs",
    "anal_jobbroker.MIN_BAD_JOBS_TO_SKIP_PQ": "failed and closed jobs below which no queue is skipped",
    "anal_jobbroker.IO_INTENSITY_CUTOFF_USER": "I/O intensity up to which input may be remote",
    "anal_jobbroker.DATA_CHECK_TIMEOUT_USER": "time of failures after which input may be remote",
    "anal_jobbroker.STORAGE_MIN_FREE_SIZE_OUTPUT": "minimum usable space for output",
    "anal_jobbroker.OVERLOAD_MIN_QUEUE": "minimum number of queued jobs of an overloaded queue",
    "anal_jobbroker.OVERLOAD_RATIO_OFFSET": "ratio of queued to running jobs, relative to all queues",
    "anal_jobbroker.BASE_QUEUE_LENGTH_PER_PQ": "queue length that is always allowed",
    "anal_jobbroker.BASE_EXPECTED_WAIT_HOUR_ON_PQ": "expected wait that is always allowed",
    "anal_jobbroker.BASE_DEFAULT_QUEUE_LENGTH_PER_PQ_USER": "queued jobs that a user may have at every queue",
    "anal_jobbroker.BASE_QUEUE_RATIO_ON_PQ": "a user's queued jobs as a part of the running jobs",
    "anal_jobbroker.STATIC_MAX_QUEUE_RUNNING_RATIO": "maximum number of queued jobs per running job",
    "anal_jobbroker.MAX_EXPECTED_WAIT_HOUR": "longest expected wait",
    "analy_eval.USER_USAGE_THRESHOLD_A": "slots of a user of class A",
    "analy_eval.USER_USAGE_THRESHOLD_B": "slots of a user of class B",
    "prio_mgr.CAP_RUNNING_USER_JOBS": "maximum number of running jobs of a user; twice as many may be queued",
    "prio_mgr.CAP_RUNNING_USER_CORES": "maximum cores of running jobs of a user; twice as many may be queued",
    "prio_mgr.CAP_RUNNING_GROUP_JOBS": "maximum number of running jobs of a working group; twice as many may be queued",
    "prio_mgr.CAP_RUNNING_GROUP_CORES": "maximum cores of running jobs of a working group; twice as many may be queued",
    "rebroker.FAST_REBRO_THRESHOLD_NQNR_RATIO": "fast rebrokerage: queued jobs per running job",
    "rebroker.FAST_REBRO_THRESHOLD_NQUEUE_FRAC": "fast rebrokerage: part of the share's queued jobs",
    "rebroker.FAST_REBRO_THRESHOLD_NQUEUE": "fast rebrokerage: queued jobs (unset: never)",
    "rebroker.ANALY_TIMEOUT": "time after which queued jobs of users are rebrokered",
    "job_timeout.TIMEOUT_defined": "time limit of defined jobs",
    "job_timeout.TIMEOUT_holding": "time limit of holding jobs",
    "watcher.HEARTBEAT_TIMEOUT": "time without a heartbeat after which a job is lost",
    "watchdog.PENDING_TIMEOUT": "time after which a pending task is exhausted",
}
"""By name; the names of a family continue with ``_`` and an ending."""


def meaning_of(name: str) -> str:
    """Return the meaning of the setting *name*, which may be a member of a family."""
    base = name if name in WORDS else next((family for family in WORDS if name.startswith(f"{family}_")), "")
    return WORDS.get(base, "the brokerage does not read it")
