"""The settings of what starts jobs."""

from __future__ import annotations

from fairq.settings.key import own

LAUNCH = (
    own(
        "launch",
        "kind",
        "string",
        "none",
        'What starts matched jobs: "none", "local" (this machine), or a launcher of a plugin; the Launch of a slot'
        " wins.",
    ),
    own(
        "launch",
        "grace",
        "real",
        30.0,
        "Time between the first signal and SIGKILL, for jobs without job_max_vacate_time.",
        unit="seconds",
        minimum=0,
    ),
    own(
        "launch",
        "memory",
        "choice",
        "request",
        "Memory limit of a job: what it requests, what its slot has, or none; a job with the default request gets"
        " what its slot has.",
        choices=("request", "slot", "none"),
    ),
    own(
        "launch",
        "affinity",
        "boolean",
        True,
        "Run a job on as many cores as it requests, unless the slots have more cores than the machine.",
    ),
    own(
        "launch",
        "cgroup",
        "string",
        "auto",
        'Control group (version 2) for jobs: "auto" (inside this process\'s own), "none", or its directory.',
        spaces=True,
    ),
    own("launch", "umask", "string", "022", "File mode mask of jobs, in octal."),
    own(
        "launch",
        "keep_output",
        "integer",
        16,
        "Output kept of a job that names no file; more is dropped.",
        unit="MB",
        minimum=0,
        maximum=1e6,
    ),
    own(
        "launch",
        "keep_history",
        "real",
        90 * 86400.0,
        "How long the directory, output and events of an ended run are kept.",
        unit="seconds",
        minimum=0,
    ),
    own(
        "launch",
        "max_lost",
        "integer",
        3,
        "Hold a job whose runs were lost more often than this; its max_retries wins.",
        unit="runs",
        minimum=0,
    ),
)
