"""A host whose jobs run as their owners: the host of the verb's tests, with the program of root."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.host.verb import host as hosts
from tests.host.verb.host import ACCOUNT, PLACE, PREFIX, PYTHON, START_RULE, USERS, processes
from tests.host.verb.test_sudo import answer, call, document
from tests.launch.conftest import is_alive, until

from fairq.common.records import JobStatus
from fairq.host.setup.program import head
from fairq.state import jobs, launches
from fairq.state.connection import reading

ANN, BOB, EVE = USERS
ALIAS = f"{PREFIX.upper()}_START"


class Host:
    """The pool of this host, and the actions of its users."""

    def __init__(self, pool_host: hosts.Host) -> None:
        self.pool_host = pool_host
        self.directory, self.state, self.site = pool_host.directory, pool_host.state, pool_host.site
        self.runs = pool_host.directory / "runs"

    def script(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def write_site(self, settings: str = "") -> None:
        self.pool_host.configure(
            f'[accounting]\nuid_domain = "lab"\n[launch]\nkind = "local"\nrun_as = "owner"\n'
            f'starter = "{self.directory}/start"\nrun_directory = "{self.runs}"\n{settings}\n'
        )

    def submit(self, user: str, script: str, **attributes: Any) -> str:
        """Queue a shell script as *user*; return its job."""
        quoted = "'" + script.replace("'", "''") + "'"
        ad = {
            "MyType": "Job", "Requirements": True, "Cmd": "/bin/sh", "Arguments": f"-c {quoted}", "RequestCpus": 1,
            "Iwd": str(home(user)),
            "Out": "out", "Err": "err", **attributes,
        }  # fmt: skip
        group = {"first": 0, "last": 0, "ad": 0, "own": None, "template": None, "priority": 0, "reason": None}
        ended = call(self.directory / "apply", user, document("submit", ads=[ad], groups=[group], cluster=None))
        return f"{answer(ended)['done']['cluster']}.0"

    def ask(self, user: str, name: str, **arguments: Any) -> dict[str, Any]:
        return answer(call(self.directory / "apply", user, document(name, **arguments)))

    def turn(self, *words: str) -> str:
        """Take a turn as the account of the pool; return its messages about problems."""
        ended = self.pool_host.fairq(ACCOUNT, "negotiate", *words)
        assert ended.returncode == 0, ended.stderr
        return ended.stderr.strip()

    def turning(self) -> subprocess.Popen[bytes]:
        """Begin a turn as the account of the pool."""
        environment = self.pool_host.environment(ACCOUNT)
        words = [f"{self.directory}/fairq", "-q", "negotiate"]
        return subprocess.Popen(words, **{**as_user(ACCOUNT), "env": environment}, stderr=subprocess.DEVNULL)

    def job(self, job: str) -> Any:
        with reading(self.state) as state:
            ranges = jobs.select(state, cluster=int(job.partition(".")[0]), proc=0)
        return ranges[0] if ranges else None

    def launch(self, job: str) -> Any:
        with reading(self.state) as state:
            runs = launches.of_job(state, int(job.partition(".")[0]), 0)
        return runs[-1] if runs else None

    def ended(self, job: str) -> Any:
        """Take turns until the job no longer runs; return its last run."""

        def has_ended() -> bool:
            assert self.turn() == ""
            return bool(self.launch(job).phase == "ended")

        if self.launch(job) is None or self.launch(job).phase != "ended":
            until(has_ended, f"the end of {job}")
        return self.launch(job)

    def held(self, job: str) -> tuple[int, str]:
        self.ended(job)
        job_range = self.job(job)
        assert job_range.status == JobStatus.HELD
        return job_range.hold_code, job_range.reason


def home(user: str) -> Path:
    return PLACE / "home" / user


def as_user(user: str) -> dict[str, Any]:
    return {**hosts.as_user(user), "cwd": "/", "env": {"PATH": os.defpath}}


def shell(user: str, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False, **as_user(user))


@contextmanager
def owners_host() -> Iterator[Host]:
    """Create the host with the program of root and its rule of sudo; remove it afterwards."""
    with hosts.host() as pool_host:
        host = Host(pool_host)
        start = f"{head(PYTHON, 'Of the tests.')}sys.path.insert(0, '{host.directory}/lib')\n"
        host.script("start", f"{start}from fairq.launch.root.main import main\nsys.exit(main({str(host.site)!r}))\n")
        for user in USERS:
            home(user).chmod(0o700)
        _write_rule(host)
        yield host


@contextmanager
def emptied(host: Host) -> Iterator[None]:
    """Empty the pool except for its twelve slots; after the body, end all running jobs."""
    from fairq.cli.app import main

    shutil.rmtree(host.state.parent)
    shutil.rmtree(host.runs, ignore_errors=True)
    host.state.parent.mkdir(0o711)
    host.write_site()
    options = ["--state", str(host.state), "--config", str(host.site), "-q"]
    assert main([*options, "slots", "add", "here", "--count", "12"]) == 0
    account = pwd.getpwnam(ACCOUNT)
    for path in (host.state.parent, *host.state.parent.iterdir()):
        os.chown(path, account.pw_uid, account.pw_gid)
    yield
    with reading(host.state) as state:
        for launch in launches.live(state):
            if launch.pid:
                with suppress(ProcessLookupError):
                    os.kill(launch.pid, signal.SIGTERM)
                until(lambda pid=launch.pid: not is_alive(pid), "the end of a supervisor")


def _write_rule(host: Host) -> None:
    START_RULE.write_text(
        f'Cmnd_Alias {ALIAS} = {host.directory}/start ""\n'
        f'Defaults!{ALIAS} env_reset, !env_keep, !env_check, !setenv, secure_path="/usr/sbin:/usr/bin:/sbin:/bin",'
        ' closefrom=3, !closefrom_override, umask=0077, umask_override, !use_pty, !requiretty, !lecture, runcwd="/"\n'
        f"{ACCOUNT} ALL=(root:root) NOPASSWD: {ALIAS}\n"
    )
    START_RULE.chmod(0o440)
    subprocess.run(["visudo", "-c"], check=True, capture_output=True)


def supervisor_of(host: Host, job: str) -> int:
    """Return the supervisor of a job that is running."""
    assert host.turn() == ""
    return int(host.launch(job).pid)


def alive_of(user: str) -> list[int]:
    return [pid for pid in processes(pwd.getpwnam(user).pw_uid) if is_alive(pid)]


def starters(host: Host) -> list[int]:
    """Return the programs of root, without the supervisors that were forked from them."""
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            is_starter = str(host.directory / "start").encode() in words and b"sudo" not in words[0]
            if is_starter and not (process / "comm").read_text().startswith("fairq "):
                pids.append(int(process.name))
    return pids
