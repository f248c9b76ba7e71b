"""The settings of a pool that many people share, of its history, its metrics and its mail."""

from __future__ import annotations

from fairq.settings.key import Key

POOL = (
    Key("history", "keep_jobs", "real", 366 * 86400.0,
        "How long fairq history and fairq report show an ended job.", unit="seconds", minimum=0),
    Key("pool", "state", "string", None,
        "State file of this host's pool, such as /var/lib/fairq/pool.db. Counts in the site file only."),
    Key("pool", "program", "string", "/usr/lib/fairq/apply",
        "Program that makes changes in this host's pool; sudo starts it. Counts in the site file only."),
    Key("pool", "account", "string", "fairq",
        "User that owns the state file of this host's pool. Counts in the site file only."),
    Key("pool", "use", "choice", "host",
        "Pool that commands use without --state and FAIRQ_STATE: host, the pool of this host if there is one; private,"
        " your own.", choices=("host", "private")),
    Key("pool", "private_jobs", "boolean", False,
        "In this host's pool, users can read command, arguments, directories, environment and files of their own jobs"
        " only. Administrators can read all."),
    Key("pool", "administrators", "list", (),
        "Users, and Unix groups as %GROUP, that may change everything. If set, others may change only what is theirs."
        " Root and the owner of the state file are always administrators."),
    Key("pool", "undo_kept", "real", 7 * 86400.0,
        "How long a change can be undone.", unit="seconds", minimum=0),
    Key("pool", "socket", "string", None,
        "Unix socket that leads to the same program, where systemd runs. Counts in the site file only."),
    Key("metrics", "submitters", "integer", 20,
        "Number of submitters that fairq metrics shows by name, most in use first. The others are one sum.",
        unit="submitters", minimum=0),
    Key("mail", "command", "string", None,
        "Command that sends a mail, such as mail -s {subject} {to}; the text is its input. No shell reads it. If unset,"
        " nothing is mailed.", spaces=True),
    Key("mail", "administrator", "string", "root", "Address to which fairq pool check --mail sends faults."),
)  # fmt: skip
