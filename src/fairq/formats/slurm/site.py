"""The files of a Slurm site: one for each of Slurm's commands, in a directory or an archive."""

from __future__ import annotations

from pathlib import PurePosixPath

from msgspec import Struct

from fairq.errors.pool import EmptyInputError, UnreadableDumpError
from fairq.formats.bundle import files_of
from fairq.formats.source import Held

SCRIPT = "fairq-slurm-dump.sh"


class SiteFile(Struct, frozen=True):
    """The *name* of a file, the *command* that prints it, and its *purpose*."""

    name: str
    command: str
    purpose: str


NODES = SiteFile("nodes.txt", "scontrol -o show node", "slots")
PARTITIONS = SiteFile("partitions.txt", "scontrol -o show partition", "the weights of slots, and limits of run times")
QUEUE = SiteFile("queue.json", "squeue --json", "jobs and claims")
JOBS = SiteFile("jobs.txt", "scontrol -o show job", "jobs and claims, where squeue prints no JSON")
CONFIG = SiteFile("config.txt", "scontrol show config", "the half-life, the name of the cluster and the zone of times")
ACCOUNTS = SiteFile("accounts.txt", "sacctmgr dump CLUSTER file=accounts.txt", "groups, quotas, factors and ceilings")
SHARES = SiteFile("shares.txt", "sshare -a -l -P", "real priorities")
RECORDS = SiteFile("sacct.txt", "sacct -a -X -P -S TIME -o FIELDS", "jobs that have ended, and usage")
FILES = (NODES, PARTITIONS, QUEUE, JOBS, CONFIG, ACCOUNTS, SHARES, RECORDS)
_NOTES = ("time", "problems")


class SiteFiles(Struct, frozen=True):
    """The files of a site by their names, and sentences on the *missing* ones."""

    held: dict[str, Held]
    missing: list[str]

    def get(self, file: SiteFile) -> Held | None:
        """Return the content of *file*; None if there is none."""
        return self.held.get(file.name)

    def note(self, name: str) -> str:
        """Return the text that the script left in the file *name*, ``time`` or ``problems``."""
        held = self.held.get(name)
        return "" if held is None else held.content.decode("utf-8", "replace")


def read_files(name: str) -> SiteFiles:
    """Return the files of the site in *name*, a directory or an archive (``-``: the standard input).

    An empty file counts as missing: a failed command leaves one. Raises UnreadableDumpError, or EmptyInputError if all
    are empty.
    """
    expected = {file.name for file in FILES} | {*_NOTES}
    held = {}
    for member in files_of(name):
        file_name = PurePosixPath(member.name).name
        if file_name in expected:
            held[file_name] = Held(f"{name}: {file_name}", member.content, member.modified)
    if not any(file.name in held for file in FILES):
        names = ", ".join(file.name for file in FILES)
        cure = f"write it with the script of 'fairq import --slurm {name} --script'"
        raise UnreadableDumpError(source=name, reason=f"it contains none of {names}", cure=cure)
    empty = [file for file in held if not held[file].content.strip() and file not in _NOTES]
    for file in empty:
        del held[file]
    if not any(file.name in held for file in FILES):
        raise EmptyInputError(source=name, cure=f"write it again with {SCRIPT}")
    missing = [_missing(name, file, file.name in empty) for file in FILES if _is_missed(file, held)]
    return SiteFiles(held, missing)


def _is_missed(file: SiteFile, held: dict[str, Held]) -> bool:
    if file in (QUEUE, JOBS):
        return file is QUEUE and QUEUE.name not in held and JOBS.name not in held
    return file.name not in held


def _missing(name: str, file: SiteFile, is_empty: bool) -> str:
    problem = f"has an empty {file.name}" if is_empty else f"has no {file.name}"
    return f"{name} {problem} ({file.command}), needed for {file.purpose}"
