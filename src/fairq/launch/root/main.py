"""The program of the root part. A script that only root can change calls `main` with the path of the site file."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import time
from typing import Any

from fairq.errors.launch import StarterError
from fairq.launch import processes
from fairq.launch.root import logs, lost
from fairq.launch.root.document import WrongError, check_run, parse
from fairq.launch.root.helper import Helper, HelperError
from fairq.launch.root.owners import RefusedError, account_of
from fairq.launch.root.policy import Policy, UnsafeError, open_runs, read_policy
from fairq.launch.supervisor import cgroup, record
from fairq.launch.supervisor.identity import Account
from fairq.launch.supervisor.owner_run import WAKE, OwnedSupervisor
from fairq.launch.supervisor.specification import complete
from fairq.launch.supervisor.watch import supervise

_PATIENCE = 10.0
"""Seconds to wait until all runs have begun; a slower one begins all the same."""
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}


def main(site: str) -> int:
    """Start the decided runs of the pool in the *site* file, end lost ones, write event logs, forget old runs.

    Return the exit code. Problems are printed, one a line.
    """
    if os.getuid() != 0 or os.geteuid() != 0:
        return _report_problems(["it does not run as root; fairq calls it by sudo"])
    _leave_caller()
    try:
        policy = read_policy(site)
        directory = open_runs(policy)
        _warm_up()
        with Helper(policy) as helper:
            document = parse(helper.ask())
            for run in document["lost"]:
                lost.end(policy, directory, run)
            problems = _start(policy, directory, document["runs"])
            helper.send({"written": logs.write(document["logs"], policy)})
        for run in document["forget"]:
            lost.forget(policy, directory, run)
    except (UnsafeError, HelperError, WrongError) as error:
        return _report_problems([str(error)])
    return _report_problems(problems) if problems else 0


def _leave_caller() -> None:
    """Drop all that the caller passed on, except standard output and error."""
    for number in signal.valid_signals():
        with contextlib.suppress(OSError, ValueError):  # signals that cannot be set
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    for descriptor in (1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.dup2(null, descriptor)
    os.closerange(3, 1 << 20)
    os.environ.clear()
    os.environ.update(_ENVIRONMENT)
    os.chdir("/")
    os.umask(0o027)


def _report_problems(problems: list[str]) -> int:
    text = "".join(f"{StarterError(problem=problem)}\n" for problem in problems)
    with contextlib.suppress(OSError):
        os.write(2, text.encode("utf-8", "backslashreplace")[:8192])
    return StarterError.exit_code


def _warm_up() -> None:
    """Load modules that every supervisor needs, such as file codecs, before the first fork."""
    processes.start_of(os.getpid())
    processes.boot_id()
    json.loads(json.dumps({"warm": [1, 0.5, None, "x"]}))
    gc.disable()
    gc.freeze()


def _start(policy: Policy, directory: int, runs: list[dict[str, Any]]) -> list[str]:
    """Start *runs*; return the problems of those that failed."""
    problems = []
    reports = set()
    base = cgroup.base(policy.cgroup) if runs else None
    for run in runs:
        try:
            reports.add(_fork(_specification(policy, directory, run, base)))
        except OSError as error:
            problems.append(f"run {run['run']} cannot be started: {error.strerror or error}")
    poll = select.poll()
    for report in reports:
        poll.register(report, select.POLLIN | select.POLLHUP)
    deadline = time.monotonic() + _PATIENCE
    while reports and (seconds := deadline - time.monotonic()) > 0:
        for report, _ in poll.poll(int(1000 * seconds)):
            problems += [
                f"run {answer['run']}: {answer['failed']}"
                for line in os.read(report, 4096).splitlines()
                if "failed" in (answer := json.loads(line))
            ]
            poll.unregister(report)
            os.close(report)
            reports.discard(report)
    return problems


def _specification(policy: Policy, directory: int, run: dict[str, Any], base: str | None) -> dict[str, Any]:
    """Create the directory of a run and return its description for the supervisor; raises OSError.

    For a run that must not start as its owner, the description has the refusal, which the supervisor records.
    """
    path = f"{policy.runs}/{run['run']}"
    owner: Account | None = None
    refusal = None
    try:
        check_run(run)
        owner = account_of(run["owner"], policy)
    except WrongError as error:
        refusal = ("assignment", 0, str(error))
    except RefusedError as error:
        refusal = ("account", 0, str(error))
    _make_directory(policy, directory, run["run"])
    if owner is None:
        return _refused_specification(policy, run["run"], path, refusal)
    specification = complete(run, path, run["keep_output"], base)
    return {**specification, "owner": owner, "orders": f"{policy.state}.runs/{run['run']}", "refusal": None}


def _refused_specification(policy: Policy, run: str, path: str, refusal: object) -> dict[str, Any]:
    return {
        "run": run, "run_directory": path, "cgroup": None, "memory": None, "cores": [], "output": "", "error": "",
        "output_files": [], "terminal": None,
        "keep_output": 0, "owner": None, "orders": f"{policy.state}.runs/{run}", "refusal": refusal,
    }  # fmt: skip


def _make_directory(policy: Policy, directory: int, run: str) -> None:
    """Create the directory of a run: files in it get the account's group, and others may only pass through."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(run, 0o700, dir_fd=directory)
    run_directory = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        if record.exists(run_directory, WAKE):
            return
        os.fchown(run_directory, 0, policy.account["gid"])
        os.fchmod(run_directory, 0o2751)
        with contextlib.suppress(FileNotFoundError):
            os.unlink("wake.draft", dir_fd=run_directory)  # of a call that was killed here
        os.mkfifo("wake.draft", 0o600, dir_fd=run_directory)
        os.chown("wake.draft", 0, policy.account["gid"], dir_fd=run_directory, follow_symlinks=False)
        os.chmod("wake.draft", 0o620, dir_fd=run_directory)
        os.rename("wake.draft", WAKE, src_dir_fd=run_directory, dst_dir_fd=run_directory)
    finally:
        os.close(run_directory)


def _fork(spec: dict[str, Any]) -> int:
    """Fork the supervisor of a run; return the descriptor to read its answer from."""
    reader, writer = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        raise
    if child == 0:
        os.dup2(writer, 3, inheritable=False)
        os.closerange(4, 1 << 20)
        supervise(spec, 3, OwnedSupervisor)
    os.close(writer)
    return reader
