"""The settings of the engines that run jobs elsewhere: Slurm and HTCondor."""

from __future__ import annotations

from fairq.settings.key import Key, own


def _of_engine(engine: str, title: str, patience: float) -> tuple[Key, ...]:
    """Return the settings that every engine has."""
    return (
        own(
            "launch",
            f"{engine}.patience",
            "real",
            patience,
            f"Withdraw a job that {title} has not started within this time; the job is idle again. 0: wait for ever.",
            unit="seconds",
            minimum=0,
        ),
        own(
            "launch",
            f"{engine}.directory",
            "string",
            None,
            "Directory for the runs, if that of the state file cannot be used.",
            spaces=True,
        ),
    )


SLURM = (
    *_of_engine("slurm", "Slurm", 3600.0),
    own("launch", "slurm.partition", "string", None, "Partition for the jobs of slots that name none."),
    own("launch", "slurm.account", "string", None, "Account that Slurm charges."),
    own("launch", "slurm.qos", "string", None, "Quality of service of the jobs."),
    own("launch", "slurm.options", "list", (), "Further options of sbatch, such as --reservation=NAME."),
    own("launch", "slurm.python", "string", "python3", "Python 3.9 or newer on the nodes; it supervises the job."),
    own(
        "launch",
        "slurm.time_limit",
        "real",
        0.0,
        "Time limit of jobs that have neither allowed_execute_duration nor allowed_job_duration. 0: the partition's.",
        unit="seconds",
        minimum=0,
    ),
)

HTCONDOR = (
    *_of_engine("htcondor", "HTCondor", 600.0),
    own("launch", "htcondor.pool", "string", None, "Collector of the pool. If unset: that of this machine."),
    own("launch", "htcondor.schedd", "string", None, "Schedd that gets the jobs. If unset: that of this machine."),
    own("launch", "htcondor.accounting_group", "string", None, "Accounting group of all jobs of fairq."),
    own(
        "launch",
        "htcondor.spool",
        "boolean",
        False,
        "Send the files of jobs to the schedd, and fetch their output. If false, schedd and machines must see them.",
    ),
)
