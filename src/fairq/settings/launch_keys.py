"""The settings for starting jobs."""

from __future__ import annotations

from fairq.settings.key import macro, own

LAUNCH = (
    own(
        "launch",
        "kind",
        "string",
        "none",
        'Launcher that starts matched jobs: "none", "local" (this machine), "slurm", "htcondor", or one of a plugin.'
        " The attribute Launch of a slot overrides this.",
    ),
    own(
        "launch",
        "poll",
        "real",
        10.0,
        "How often fairq run and fairq wait ask Slurm and HTCondor for the jobs that they have.",
        unit="seconds",
        minimum=1,
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
    macro(
        "launch",
        "machine_max_vacate_time",
        "real",
        600.0,
        "Longest job_max_vacate_time. The attribute MachineMaxVacateTime of a slot overrides this.",
        unit="seconds",
        minimum=0,
        macros=("MACHINEMAXVACATETIME",),
    ),
    own(
        "launch",
        "memory",
        "choice",
        "request",
        "Memory limit of a job: request, what the job requests, at most what its slot has; slot, what its slot has;"
        " none, no limit. A job with the default request, or in a dynamic slot, gets what its slot has.",
        choices=("request", "slot", "none"),
    ),
    own(
        "launch",
        "affinity",
        "boolean",
        True,
        "Bind a job to as many cores as it requests, unless the slots have more cores than the machine.",
    ),
    own(
        "launch",
        "cgroup",
        "string",
        "auto",
        'Control group (version 2) for jobs: "auto" (inside that of the command), "none", or a directory.',
        spaces=True,
    ),
    own("launch", "umask", "string", "022", "File mode mask of jobs, in octal."),
    own(
        "launch",
        "keep_output",
        "integer",
        16,
        "Largest output kept for a job that names no output file; the rest is dropped.",
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
        "run_as",
        "choice",
        "user",
        "User of the jobs of the launcher local: user, whoever runs fairq; owner, the job's owner. owner is for the"
        " pool of a host and needs launch.starter.",
        choices=("user", "owner"),
    ),
    own(
        "launch",
        "starter",
        "string",
        "/usr/lib/fairq/start",
        "Program that the pool's account runs by sudo, as root and without arguments, to start jobs as their owners.",
        spaces=True,
    ),
    own(
        "launch",
        "run_directory",
        "string",
        "/var/lib/fairq-runs",
        "Directory for runs with launch.run_as = owner; only root writes in it.",
        spaces=True,
    ),
    own("launch", "allow_root", "boolean", False, "Run jobs of root with launch.run_as = owner."),
    own(
        "launch",
        "allow_nologin",
        "boolean",
        False,
        "With launch.run_as = owner, run jobs of owners whose login shell is nologin or false.",
    ),
    own(
        "launch",
        "least_uid",
        "integer",
        None,
        "With launch.run_as = owner, hold jobs of owners with a smaller user number, except root. Default: UID_MIN of"
        " /etc/login.defs.",
        minimum=1,
        maximum=2**32 - 2,
    ),
    own(
        "launch",
        "max_lost",
        "integer",
        3,
        "Hold a job after more lost runs than this. A run is lost if its supervisor is killed or the machine reboots."
        " The max_retries of a job overrides this.",
        unit="runs",
        minimum=0,
    ),
)
