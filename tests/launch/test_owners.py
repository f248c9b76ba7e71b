"""Jobs that run as their owners: three users, the account that owns the pool, and root, through real sudo.

These tests make users and rules of sudo and take them back; they run where FAIRQ_TEST_SUDO is set, as root.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.launch.conftest import is_alive, until
from tests.verb.test_sudo import ACCOUNT, PYTHON, RULE, USERS, _missing, answer, call, document

import fairq
from fairq.records import JobStatus
from fairq.state import jobs, launches
from fairq.state.connection import reading

pytestmark = pytest.mark.skipif(bool(_missing()), reason=_missing() or "-")

ANN, BOB, EVE = USERS
OWN_RULE = RULE.with_name("fqt-start")
TURN = """#!{python} -I
import sys, time
sys.dont_write_bytecode = True
sys.path.insert(0, {lib!r})
from pathlib import Path
from fairq.records import Actor
from fairq.settings import load
from fairq.steps.launch.turn import turn
words = set(sys.argv[1:])
settings = load(Path({site!r}), None, {{}})
done = turn(Path({state!r}), settings, Actor("fqtpool", "fairq negotiate", int(time.time()), administrator=True),
            match="collect" not in words, launch="collect" not in words)
print("\\n".join(done.notes))
"""


class Host:
    """The pool of this host, its users and what they do."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.site, self.state = place / "fairq.toml", place / "pool" / "pool.db"
        self.runs, self.lib = place / "runs", place / "lib"
        self.settings = ""

    def script(self, name: str, text: str) -> Path:
        path = self.place / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def write_site(self, more: str = "") -> None:
        self.site.write_text(
            f'[pool]\nstate = "{self.state}"\naccount = "{ACCOUNT}"\n[accounting]\nuid_domain = "lab"\n[launch]\n'
            f'kind = "local"\nrun_as = "owner"\nstarter = "{self.place}/start"\nrun_directory = "{self.runs}"\n{more}\n'
        )

    def submit(self, user: str, script: str, **attributes: Any) -> str:
        """Queue a shell script as *user*; return its job."""
        quoted = "'" + script.replace("'", "''") + "'"
        ad = {
            "MyType": "Job", "Requirements": True, "Cmd": "/bin/sh", "Arguments": f"-c {quoted}",
            "RequestCpus": 1, "Iwd": str(home(user)), "Out": "out", "Err": "err", **attributes,
        }  # fmt: skip
        group = {"first": 0, "last": 0, "ad": 0, "own": None, "template": None, "priority": 0, "reason": None}
        ended = call(self.place / "apply", user, document("submit", ads=[ad], groups=[group], cluster=None))
        return f"{answer(ended)['done']['cluster']}.0"

    def ask(self, user: str, name: str, **arguments: Any) -> dict[str, Any]:
        return answer(call(self.place / "apply", user, document(name, **arguments)))

    def turn(self, *words: str) -> str:
        ended = subprocess.run(self.turning(*words), capture_output=True, text=True, check=False, **as_user(ACCOUNT))
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def turning(self, *words: str) -> list[str]:
        return [str(self.place / "turn"), *words]

    def job(self, job: str) -> Any:
        with reading(self.state) as state:
            found = jobs.select(state, cluster=int(job.partition(".")[0]), proc=0)
        return found[0] if found else None

    def launch(self, job: str) -> Any:
        with reading(self.state) as state:
            return launches.of_job(state, int(job.partition(".")[0]), 0)[-1]

    def ended(self, job: str) -> Any:
        """Take turns until the job runs no more; return its last run."""

        def has_ended() -> bool:
            assert self.turn() == ""
            return bool(self.launch(job).phase == "ended")

        until(has_ended, f"the end of {job}")
        return self.launch(job)

    def held(self, job: str) -> tuple[int, str]:
        self.ended(job)
        found = self.job(job)
        assert found.status == JobStatus.HELD
        return found.hold_reason_code, found.hold_reason


def home(user: str) -> Path:
    return Path(pwd.getpwnam(user).pw_dir)


def as_user(user: str) -> dict[str, Any]:
    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": [], "cwd": "/", "env": {"PATH": os.defpath}}


def shell(user: str, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False, **as_user(user))


@pytest.fixture(scope="module")
def made() -> Iterator[Host]:
    place = Path(tempfile.mkdtemp(prefix="fqt", dir="/var/lib"))
    place.chmod(0o755)
    host = Host(place)
    users = []
    try:
        for user in (ACCOUNT, *USERS):
            words = ["useradd", "--no-create-home", "--home-dir", f"{place}/home/{user}", "--shell", "/bin/bash", user]
            subprocess.run(words, check=True, capture_output=True)
            users.append(user)
            home(user).mkdir(parents=True)
            shutil.chown(home(user), user, user)
            home(user).chmod(0o700)
        subprocess.run(["groupadd", "fqtlab"], check=True)
        subprocess.run(["gpasswd", "-a", ANN, "fqtlab"], check=True, capture_output=True)
        ignored = shutil.ignore_patterns("__pycache__", "tests")
        shutil.copytree(Path(fairq.__file__).parent, host.lib / "fairq", ignore=ignored)
        packages = Path(numpy.__file__).parent.parent
        for pattern in ("numpy", "numpy.libs", "htcondor*", "classad*"):
            for package in packages.glob(pattern):
                shutil.copytree(package, host.lib / package.name, ignore=ignored)
        for found in host.lib.rglob("*"):
            found.chmod(0o755 if found.is_dir() else 0o644)
        subprocess.run([PYTHON, "-m", "compileall", "-q", host.lib / "fairq"], check=True)
        host.write_site()
        begin = f"#!{PYTHON} -I\nimport sys\nsys.dont_write_bytecode = True\nsys.path.insert(0, {str(host.lib)!r})\n"
        host.script("apply", f"{begin}from pathlib import Path\nfrom fairq.verb.main import main\n"
                    f"sys.exit(main(Path({str(host.state)!r}), Path({str(host.site)!r})))\n")  # fmt: skip
        host.script("start", f"{begin}from fairq.launch.root.main import main\nsys.exit(main({str(host.site)!r}))\n")
        names = {"python": PYTHON, "lib": str(host.lib), "site": str(host.site), "state": str(host.state)}
        host.script("turn", TURN.format(**names))
        host.state.parent.mkdir(0o700)
        _rules(host)
        yield host
    finally:
        for rule in (RULE, OWN_RULE):
            rule.unlink(missing_ok=True)
        for user in users:
            subprocess.run(["pkill", "-KILL", "-U", str(pwd.getpwnam(user).pw_uid)], check=False)
            subprocess.run(["userdel", "--force", user], check=False, capture_output=True)
        subprocess.run(["groupdel", "fqtlab"], check=False, capture_output=True)
        shutil.rmtree(place)


def _rules(host: Host) -> None:
    defaults = (
        'env_reset, !env_keep, !env_check, !setenv, secure_path="/usr/sbin:/usr/bin:/sbin:/bin", closefrom=3, '
        '!closefrom_override, umask=0077, umask_override, !use_pty, !requiretty, !lecture, runcwd="/"'
    )
    for rule, name, who, account in ((RULE, "apply", "ALL", ACCOUNT), (OWN_RULE, "start", ACCOUNT, "root")):
        alias = f"FQT_{name.upper()}"
        rule.write_text(
            f'Cmnd_Alias {alias} = {host.place}/{name} ""\nDefaults!{alias} {defaults}\n'
            f"{who} ALL=({account}:{account}) NOPASSWD: {alias}\n"
        )
        rule.chmod(0o440)
    subprocess.run(["visudo", "-c"], check=True, capture_output=True)


@pytest.fixture
def host(made: Host) -> Iterator[Host]:
    """The pool, empty but for four slots."""
    from fairq.cli.app import main

    shutil.rmtree(made.state.parent)
    shutil.rmtree(made.runs, ignore_errors=True)
    made.state.parent.mkdir(0o700)
    made.write_site()
    place = ["--state", str(made.state), "--config", str(made.site), "-q"]
    assert main([*place, "slots", "add", "here", "--count", "4"]) == 0
    account = pwd.getpwnam(ACCOUNT)
    for path in (made.state.parent, *made.state.parent.iterdir()):
        os.chown(path, account.pw_uid, account.pw_gid)
    yield made
    with reading(made.state) as state:
        for launch in launches.live(state):
            if launch.pid:
                os.kill(launch.pid, signal.SIGTERM)
                until(lambda pid=launch.pid: not is_alive(pid), "the end of a supervisor")


def test_processes_groups_and_files_belong_to_the_owner(host: Host):
    for user in USERS:
        host.submit(
            user,
            "id -un; id -G; umask; cd; pwd; env | sort; touch made; echo oops >&2; exit 3",
            UserLog=f"{home(user)}/log",
        )
    assert host.turn() == ""
    for number, user in enumerate(USERS, 1):
        run = host.ended(f"{number}.0")
        assert (run.ended["reason"], run.ended["exit_code"]) == ("exit", 3), run.ended
        lines = (home(user) / "out").read_text().splitlines()
        entry = pwd.getpwnam(user)
        assert lines[0] == user
        assert set(map(int, lines[1].split())) == set(os.getgrouplist(user, entry.pw_gid))
        assert lines[2] == "0022"
        assert lines[3] == str(home(user))
        assert {f"USER={user}", f"HOME={home(user)}", f"LOGNAME={user}"} <= set(lines)
        assert not [line for line in lines if "SUDO" in line or ACCOUNT in line]
        for name in ("out", "err", "made", "log"):
            about = (home(user) / name).stat()
            assert (about.st_uid, about.st_gid) == (entry.pw_uid, entry.pw_gid), name
        assert (home(user) / "err").read_text() == "oops\n"
