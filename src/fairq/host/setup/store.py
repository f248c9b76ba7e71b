"""The directory and the state of the pool. The account creates the state, so that root writes nothing in there."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fairq.common.quantities import counted
from fairq.errors.base import FairqError
from fairq.errors.host import HostPoolError
from fairq.host.setup import account
from fairq.host.setup.installation import interpreter_of
from fairq.host.setup.layout import ACCOUNT, HOME, PROGRAM, RUNS, STATE
from fairq.host.setup.plan import Rollback, Step, make_directories
from fairq.state import jobs, launches, slots
from fairq.state.connection import reading

_PATIENCE = 60.0
"""Seconds within which killed jobs must have ended."""

_MODE = 0o711
"""Others may not list the directory; they can open the readers' copy in it."""


def creating() -> Step:
    """Return the step that creates the directory, or gives that of a former pool to the account."""
    if HOME.is_symlink():
        raise HostPoolError(action="created", problem=f"{HOME} is a symbolic link", cure=f"make {HOME} a directory")
    owner = account.entry()
    status = HOME.lstat() if HOME.exists() else None
    is_done = (
        status is not None and owner is not None and (status.st_uid, status.st_mode & 0o777) == (owner.pw_uid, _MODE)
    )
    former = not is_done and os.path.lexists(STATE)
    description = f"give {HOME}, with the state of the former pool, to {ACCOUNT}" if former else f"create {HOME}"
    return Step(f"{description} (mode 0711)", is_done, _create)


def _create(rollback: Rollback) -> None:
    owner = account.entry()
    assert owner is not None  # the previous step created it
    make_directories(HOME.parent, rollback)
    if HOME.exists():
        rollback.add(f"owner and mode of {HOME}", partial(_restore_owner, HOME.lstat()))
    else:
        HOME.mkdir()
        rollback.add(str(HOME), lambda: shutil.rmtree(HOME))
    os.chown(HOME, 0, 0)  # nobody else changes names in it meanwhile
    HOME.chmod(_MODE)
    give(owner.pw_uid, owner.pw_gid)


def _restore_owner(former: os.stat_result) -> None:
    give(former.st_uid, former.st_gid)
    HOME.chmod(former.st_mode & 0o7777)


def give(user: int, group: int) -> None:
    """Give the directory and everything in it to *user* and *group*; raises OSError."""
    for directory, folders, names in os.walk(HOME):
        for name in (*folders, *names):
            os.chown(Path(directory, name), user, group, follow_symlinks=False)
    os.chown(HOME, user, group)


def starting(python: Path) -> Step:
    """Return the step that creates the state by a first cycle, run as later cycles are."""
    return Step(
        f"create the state {STATE} by a first cycle, as {ACCOUNT}", os.path.lexists(STATE), lambda _: _start(python)
    )


def _start(python: Path) -> None:
    as_account(*cycle(python))


def as_account(*command: str) -> None:
    """Run a command of fairq as the account, without the caller's environment; raises FairqError if it fails."""
    owner = account.entry()
    if owner is None:
        raise FairqError(message=f"there is no account {ACCOUNT}")
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, cwd="/", umask=0o077,
        user=owner.pw_uid, group=owner.pw_gid, extra_groups=[], env={"PATH": "/usr/bin:/bin", "HOME": str(HOME)},
    )  # fmt: skip
    if result.returncode:
        raise FairqError(message=f"fairq {' '.join(command[5:7])}: {result.stderr.strip()}")


def cycle(python: Path) -> Sequence[str]:
    """Return the command of one cycle; the account's fairq finds the pool and its rules in the site file."""
    return [*_fairq(python), "negotiate"]


def _fairq(python: Path) -> list[str]:
    return [str(python), "-I", "-m", "fairq", "-q"]


def running_jobs() -> int:
    """Return the number of jobs with a slot; 0 without a state, or if this user may not read it."""
    if not os.access(STATE, os.R_OK):
        return 0
    with reading(STATE) as state:
        return max(sum(jobs.running_counts(state).values()), len(launches.live(state)))


def ending_jobs(count: int) -> Step:
    """Return the step that kills the processes of all jobs; the jobs return to the queue."""
    return Step(f"end the {count} running jobs; they return to the queue", False, lambda _: _end_jobs())


def _end_jobs() -> None:
    with reading(STATE) as state:
        names, draining = slots.load_names(state), set(slots.draining_names(state))
    fairq = _fairq(interpreter_of(PROGRAM))
    if names:
        as_account(*fairq, "slots", "drain", "--fast", *names)
    deadline = time.monotonic() + _PATIENCE
    while True:
        as_account(*fairq, "negotiate", "--collect-only")
        with reading(STATE) as state:
            remaining = len(launches.live(state))
        if not remaining:
            break
        if time.monotonic() > deadline:
            raise FairqError(message=f"{counted(remaining, 'job')} did not end within {_PATIENCE:g} s")
        time.sleep(0.2)
    if drained := [name for name in names if name not in draining]:
        as_account(*fairq, "slots", "drain", "--cancel", *drained)


def removing(purge: bool) -> Step:
    """Return the step that gives the state to root alone, or deletes it."""
    if purge:
        is_gone = not (HOME.exists() or RUNS.exists())
        return Step(f"delete the state, its history and kept output: {HOME}, {RUNS}", is_gone, lambda _: _purge())
    is_done = not HOME.exists() or (HOME.lstat().st_uid, HOME.lstat().st_mode & 0o777) == (0, 0o700)
    return Step(f"keep the state and its history in {HOME}, for root alone", is_done, lambda _: _keep())


def _purge() -> None:
    for path in (HOME, RUNS):
        if path.exists():
            shutil.rmtree(path)


def _keep() -> None:
    HOME.chmod(0o700)
    give(0, 0)
