"""The settings of submissions: bounds, and what is filled in where the submitter says nothing."""

from __future__ import annotations

from fairq.settings.key import Key

SUBMIT = (
    Key("submit", "command_timeout", "integer", 120,
        "Longest time for each command or pipe that a submit description reads.",
        unit="seconds", minimum=1, maximum=1e9),
    Key("submit", "cpus", "integer", None, "Cores of jobs that do not ask for cores.", minimum=1, maximum=1e6),
    Key("submit", "mem", "integer", None, "Memory of jobs that do not ask for memory.", unit="MiB", minimum=1,
        maximum=1e9),
    Key("submit", "gpus", "integer", None, "GPUs of jobs that do not ask for GPUs.", minimum=1, maximum=1e6),
    Key("submit", "time", "integer", None, "Time that a run may take if the job does not say.", unit="seconds",
        minimum=1, maximum=1e9),
    Key("submit", "group", "string", None, "Accounting group of jobs that name none. It wins over [submit.groups]."),
    Key("submit", "env", "list", (), "Variables of all jobs, as NAME or NAME=VALUE."),
    Key("submit", "getenv", "boolean", False, "Pass on all variables of the environment of the submission."),
    Key("submit", "mail", "choice", "none", "When to mail about jobs that do not say.",
        choices=("none", "end", "fail", "all")),
)  # fmt: skip

SUBMIT_GROUPS = ("submit", "groups")
"""The path of the table of Unix groups."""

SUBMIT_GROUP_KEY = Key(
    "submit.groups", "UNIXGROUP", "string", None,
    "Accounting group of the jobs of this Unix group's members. The first that fits counts.",
)  # fmt: skip
