"""Hints for commands of other tools: HTCondor, Slurm, PBS, LSF, and shells."""

from __future__ import annotations

from collections.abc import Sequence

_BY_OWN = {
    "queue": "condor_q squeue sstat qstat bjobs ls list ps job jobs show",
    "queue --start": "start eta when",
    "history": "condor_history sacct bhist past ended done",
    "submit": "condor_submit condor_submit_dag sbatch qsub bsub dag array add",
    "submit -- PROGRAM": "condor_run",
    "shell, submit -- PROGRAM": "srun salloc",
    "shell": "condor_ssh_to_job interactive ssh",
    "remove": "condor_rm scancel qdel bkill rm cancel delete kill",
    "hold": "condor_hold qhold bstop",
    "hold, pool pause": "pause suspend stop",
    "release": "condor_release qrls bresume unhold",
    "release, pool resume": "resume",
    "hold, release, edit, slots drain, slots reserve": "scontrol",
    "prio": "condor_prio priority nice",
    "edit": "condor_qedit qalter bmod change update set",
    "rerun": "resubmit retry restart",
    "hold, release, rerun": "requeue",
    "tail": "condor_tail bpeek output stdout cat logs",
    "wait": "condor_wait",
    "log": "condor_userlog",
    "slots": "condor_status condor_who sinfo pbsnodes qhost bhosts lsload nodes machines",
    "slots detect --add": "init setup",
    "slots drain": "condor_drain drain",
    "slots reserve": "reserve reservation reservations",
    "status --watch": "condor_top top htop",
    "userprio": "condor_userprio sprio sshare users",
    "why": "explain analyze",
    "quotas": "sacctmgr groups group accounts account",
    "report": "sreport usage",
    "negotiate": "condor_negotiator",
    "negotiate --dry-run": "whatif",
    "config": "condor_config_val",
    "help": "man info",
    "--version": "condor_version version",
}
"""Commands of other tools by those of fairq."""

_OWN = {word: own.split(", ") for own, words in _BY_OWN.items() for word in words.split()}

_INSIDE = {"ls": "list", "rm": "remove", "delete": "remove", "cancel": "remove", "show": "list", "list": "show",
           "add": "set", "create": "set", "modify": "set"}  # fmt: skip
"""The commands of a group for words of a shell, if the group has such a command."""


def in_fairq(word: str) -> str:
    """Return a hint for *word* used as a command: another tool's command, or a program; empty if unknown."""
    if word in _OWN:
        return "use " + " or ".join(f"'fairq {command}'" for command in _OWN[word])
    return "'fairq submit -- PROGRAM ARGS...' queues a program" if "/" in word else ""


def in_group(word: str, group: str, names: Sequence[str]) -> str:
    """Return a hint for *word* after the *group* of commands with these *names*; empty if unknown."""
    return f"use '{group} {_INSIDE[word]}'" if _INSIDE.get(word) in names else ""
