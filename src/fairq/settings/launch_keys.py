"""The settings for starting jobs, and of the engines that run jobs elsewhere: Slurm and HTCondor."""

from __future__ import annotations

from fairq.settings.key import Key, macro

LAUNCH = (
    Key("launch", "kind", "string", "none",
        'Launcher that starts matched jobs: "none", "local" (this machine), "slurm", "htcondor", or one of a plugin.'
        " The attribute Launch of a slot overrides this."),
    Key("launch", "poll", "real", 10.0,
        "How often fairq run and fairq wait ask Slurm and HTCondor for the jobs that they have.",
        unit="seconds", minimum=1),
    Key("launch", "grace", "real", 30.0,
        "Time between the first signal and SIGKILL, for jobs without job_max_vacate_time.", unit="seconds", minimum=0),
    macro("launch", "machine_max_vacate_time", "real", 600.0,
        "Longest job_max_vacate_time. The attribute MachineMaxVacateTime of a slot overrides this.",
        unit="seconds", minimum=0, macros=("MACHINEMAXVACATETIME",)),
    Key("launch", "memory", "choice", "slot",
        "Memory limit of a job: slot, what its slot has, whatever the job requests; none, no limit.",
        choices=("slot", "none")),
    Key("launch", "affinity", "boolean", True,
        "Bind a job to as many cores as it requests, unless the slots have more cores than the machine."),
    Key("launch", "cgroup", "string", "auto",
        'Control group (version 2) for jobs: "auto" (inside that of the command), "none", or a directory.',
        spaces=True),
    Key("launch", "umask", "string", "022", "File mode mask of jobs, in octal."),
    Key("launch", "keep_output", "integer", 16,
        "Largest output kept for a job that names no output file; the rest is dropped.",
        unit="MB", minimum=0, maximum=1e6),
    Key("launch", "keep_history", "real", 90 * 86400.0,
        "How long the directory, output and events of an ended run are kept.", unit="seconds", minimum=0),
    Key("launch", "run_as", "choice", "user",
        "User of the jobs of the launcher local: user, whoever runs fairq; owner, the job's owner. owner is for the"
        " pool of a host and needs launch.starter.", choices=("user", "owner")),
    Key("launch", "starter", "string", "/usr/lib/fairq/start",
        "Program that the pool's account runs by sudo, as root and without arguments, to start jobs as their owners.",
        spaces=True),
    Key("launch", "run_directory", "string", "/var/lib/fairq-runs",
        "Directory for runs with launch.run_as = owner; only root writes in it.", spaces=True),
    Key("launch", "allow_root", "boolean", False, "Run jobs of root with launch.run_as = owner."),
    Key("launch", "allow_nologin", "boolean", False,
        "With launch.run_as = owner, run jobs of owners whose login shell is nologin or false."),
    Key("launch", "least_uid", "integer", None,
        "With launch.run_as = owner, hold jobs of owners with a smaller user number, except root. Default: UID_MIN of"
        " /etc/login.defs.", minimum=1, maximum=2**32 - 2),
    Key("launch", "max_lost", "integer", 3,
        "Hold a job after more lost runs than this. A run is lost if its supervisor is killed or the machine reboots."
        " The max_retries of a job overrides this.", unit="runs", minimum=0),
)  # fmt: skip


def _of_engine(engine: str, title: str, patience: float) -> tuple[Key, ...]:
    """Return the settings that every engine has."""
    return (
        Key("launch", f"{engine}.patience", "real", patience,
            f"Withdraw a job that {title} has not started within this time; the job is idle again. 0: wait for ever.",
            unit="seconds", minimum=0),
        Key("launch", f"{engine}.directory", "string", None,
            "Directory for the runs, if that of the state file cannot be used.", spaces=True),
    )  # fmt: skip


ENGINES = (
    *_of_engine("slurm", "Slurm", 3600.0),
    Key("launch", "slurm.partition", "string", None, "Partition for the jobs of slots that name none."),
    Key("launch", "slurm.account", "string", None, "Account that Slurm charges."),
    Key("launch", "slurm.qos", "string", None, "Quality of service of the jobs."),
    Key("launch", "slurm.options", "list", (), "Further options of sbatch, such as --reservation=NAME."),
    Key("launch", "slurm.python", "string", "python3", "Python 3.9 or newer on the nodes; it supervises the job."),
    Key("launch", "slurm.time_limit", "real", 0.0,
        "Time limit of jobs that have neither allowed_execute_duration nor allowed_job_duration. 0: the partition's.",
        unit="seconds", minimum=0),
    *_of_engine("htcondor", "HTCondor", 600.0),
    Key("launch", "htcondor.pool", "string", None, "Collector of the pool. If unset: that of this machine."),
    Key("launch", "htcondor.schedd", "string", None, "Schedd that gets the jobs. If unset: that of this machine."),
    Key("launch", "htcondor.accounting_group", "string", None, "Accounting group of all jobs of fairq."),
    Key("launch", "htcondor.spool", "boolean", False,
        "Send the files of jobs to the schedd, and fetch their output. If false, schedd and machines must see them."),
)  # fmt: skip
