"""The steps that create or remove the pool of a host, in order."""

from __future__ import annotations

import os
from pathlib import Path

from fairq.errors.host import HostPoolError
from fairq.host.setup import account, cycles, rule, site, store
from fairq.host.setup.installation import why_not_in_place
from fairq.host.setup.layout import CRON, HOME, MARK, PROGRAM, RULE, STARTER, UNITS, has_systemd
from fairq.host.setup.plan import Step, carry_out
from fairq.host.setup.program import Installation
from fairq.host.setup.program import removing as removing_program
from fairq.host.setup.site import PoolOptions

_UNITS = ("fairq.service", "fairq.timer", "fairq-apply.socket", "fairq-apply@.service")


def planned(options: PoolOptions) -> list[Step]:
    """Return the steps that create the pool, done or not.

    Raises HostPoolError if the pool cannot be created here, and the errors of the site file.
    """
    site.check(options)
    _check_files("created")
    if not rule.has_sudo() and not has_systemd():
        raise HostPoolError(
            action="created", problem="neither sudo nor systemd names who asks on this host", cure="install sudo"
        )
    starts = site.starts(options)
    if starts and not rule.has_sudo():
        raise HostPoolError(action="created", problem="jobs start by sudo, which is not installed", cure="install sudo")
    fairq = Installation(why_not_in_place())
    return [
        account.creating(),
        *fairq.steps(starts),
        store.creating(),
        site.writing(options, has_systemd()),
        store.starting(fairq.python),
        *([rule.installing(starts)] if rule.has_sudo() else []),
        *cycles.running(options.every, fairq.python),
    ]


def removal(*, purge: bool, force: bool) -> list[Step]:
    """Return the steps that remove the pool, done or not; the state is kept unless *purge*.

    Raises HostPoolError if jobs run, unless *force*.
    """
    _check_files("removed")
    running = store.running_jobs()
    if running and not force:
        raise HostPoolError(
            action="removed",
            problem=f"there are {running} running jobs",
            cure="wait until they end, or give --force to end them now",
        )
    return [
        *cycles.stopping(),
        *([store.ending_jobs(running)] if running else []),
        rule.removing(),
        site.removing(),
        *removing_program(),
        store.removing(purge),
        account.removing(),
    ]


def require_root(action: str) -> None:
    """Raise HostPoolError unless root runs this process."""
    if os.geteuid() != 0:
        problem = f"only root may change {RULE.parent.parent} and {HOME.parent}"
        raise HostPoolError(action=action, problem=problem, cure="run the command with sudo, or see it with --dry-run")


def change(steps: list[Step]) -> None:
    """Carry out the *steps*; raises HostStepError."""
    os.umask(0o022)
    carry_out(steps)


def _check_files(action: str) -> None:
    """Raise HostPoolError if somebody else has written one of the files to be replaced or removed."""
    for file in (RULE, CRON, PROGRAM, STARTER, *(UNITS / name for name in _UNITS)):
        if os.path.lexists(file) and not _is_ours(file):
            cure = "move it away, then run the command again"
            raise HostPoolError(action=action, problem=f"{file} is there, and fairq has not written it", cure=cure)


def _is_ours(file: Path) -> bool:
    try:
        return MARK in file.read_text(errors="replace")
    except PermissionError:
        return True  # a --dry-run by somebody else than root
