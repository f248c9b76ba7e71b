"""The checks of a host's pool: only root can change its programs, sudo runs them, and its cycles run."""

from __future__ import annotations

import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.errors.base import FairqError
from fairq.host.setup import rule
from fairq.host.setup.cycles import answers, has_cron
from fairq.host.setup.installation import interpreter, interpreter_of
from fairq.host.setup.layout import CRON, RULE, UNITS, has_systemd
from fairq.host.setup.owners import weakness, weakness_below
from fairq.host.setup.plan import run
from fairq.steps.pool.finding import FAULT, GOOD, NOT_NEEDED, Finding

if TYPE_CHECKING:
    from fairq.settings import Settings

_CREATE_AGAIN = "run 'sudo fairq pool create', which brings it into order"


def check_host(settings: Settings) -> Iterator[Finding]:
    """Yield the findings on the pool of this host; *settings* are those of its site file."""
    yield _account(settings)
    starts = settings["launch.kind"] == "local"
    yield _program(Path(settings["pool.program"]), Path(settings["launch.starter"]) if starts else None)
    yield _rule(settings)
    if settings["pool.socket"]:
        yield _socket(Path(settings["pool.socket"]))
    yield _cycles()


def _account(settings: Settings) -> Finding:
    """Check that the account exists, that only it can access the state, and that no job runs with its rights."""
    name, state = settings["pool.account"], Path(settings["pool.state"])
    try:
        owner = pwd.getpwnam(name)
        statuses = [(path, path.lstat()) for path in (state.parent, state) if path.exists()]
    except KeyError:
        return Finding("account", FAULT, f"there is no user {name}", _CREATE_AGAIN)
    except OSError as error:
        return Finding("account", FAULT, f"{state.parent} cannot be reached: {error.strerror}", _CREATE_AGAIN)
    for path, status in statuses:
        if status.st_uid != owner.pw_uid or status.st_mode & (0o066 if path == state.parent else 0o077):
            return Finding("account", FAULT, f"others than {name} can read or change {path}", _CREATE_AGAIN)
    if settings["launch.run_as"] != "owner":
        detail = f"launch.run_as is not owner: jobs on slots with a launcher run as {name} and can change the pool"
        return Finding("account", FAULT, detail, _CREATE_AGAIN)
    return Finding("account", GOOD, f"{name} alone has the state")


def _program(program: Path, starter: Path | None) -> Finding:
    """Check that only root can change the programs, their interpreter and its modules."""
    for script in (program, starter or program):
        problem = weakness(script)
        if problem is None:
            python = interpreter_of(script)
            python_facts = interpreter(python)
            problem = weakness(python) or (f"{python} does not start" if python_facts is None else None)
            for directory in python_facts.path if python_facts else ():
                problem = problem or (weakness_below(directory) if directory.exists() else None)
        if problem is not None:
            return Finding("program", FAULT, problem, f"{_CREATE_AGAIN}, and give what it names to root")
    return Finding("program", GOOD, f"{program} is root's alone" + (f", and so is {starter}" if starter else ""))


def _rule(settings: Settings) -> Finding:
    """Check that sudo lets this user run the program; as root, that it lets others."""
    program, account = settings["pool.program"], settings["pool.account"]
    if settings["pool.socket"] and not rule.has_sudo():
        return Finding("sudo", NOT_NEEDED, f"requests come by the socket {settings['pool.socket']}")
    if not rule.in_effect(program, account):
        detail = f"sudo does not let everybody run {program} as {account}"
        return Finding("sudo", FAULT, detail, f"{_CREATE_AGAIN}; 'visudo -c' shows errors in {RULE} and other rules")
    return Finding("sudo", GOOD, f"it lets everybody run {program} as {account}")


def _socket(path: Path) -> Finding:
    if answers(path):
        return Finding("socket", GOOD, f"the program answers on {path}")
    return Finding(
        "socket", FAULT, f"nothing answers on {path}", f"{_CREATE_AGAIN}; 'journalctl -u fairq-apply@*' tells why"
    )


def _cycles() -> Finding:
    """Check that systemd's timer or cron exists and runs the cycles."""
    if has_systemd() and (UNITS / "fairq.timer").exists():
        try:
            run("systemctl", "is-active", "fairq.timer")
        except (OSError, FairqError):
            return Finding("timer", FAULT, "fairq.timer is not active", "run 'systemctl enable --now fairq.timer'")
        return Finding("timer", GOOD, "fairq.timer is active")
    if not CRON.exists():
        return Finding("timer", FAULT, f"there is neither fairq.timer nor {CRON}", _CREATE_AGAIN)
    if problem := weakness(CRON):
        return Finding("timer", FAULT, f"cron ignores {CRON}: {problem}", _CREATE_AGAIN)
    if not has_cron():
        return Finding("timer", FAULT, f"{CRON} is there, but no cron is installed", "install cron")
    return Finding("timer", GOOD, f"{CRON} runs the cycles")
