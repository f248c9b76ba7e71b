"""Jobs that run as their owners: three users, the account that owns the pool, and root, through real sudo.

These tests make users and rules of sudo and take them back; they run where FAIRQ_TEST_SUDO is set, as root.
"""

from __future__ import annotations

import os
import pwd
import random
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.host.verb.host import ACCOUNT, GONE, PYTHON, USERS, missing
from tests.launch.conftest import is_alive, until
from tests.launch.owners_host import (
    ANN,
    BOB,
    EVE,
    alive_of,
    as_user,
    emptied,
    home,
    owners_host,
    shell,
    starters,
    supervisor_of,
)

from fairq.state import launches
from fairq.state.connection import reading

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")


@pytest.fixture(scope="module")
def made():
    with owners_host() as hold:
        yield hold


@pytest.fixture
def host(made):
    with emptied(made):
        yield made


def test_processes_groups_and_files_belong_to_the_owner(host):
    for user in USERS:
        host.submit(
            user,
            "id -un; id -G; umask; pwd; env | sort; touch made; echo oops >&2; exit 3",
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
        assert {f"USER={user}", f"HOME=/home/{user}", f"LOGNAME={user}"} <= set(lines)
        assert not [line for line in lines if "SUDO" in line or ACCOUNT in line]
        for name in ("out", "err", "made", "log"):
            about = (home(user) / name).stat()
            assert (about.st_uid, about.st_gid) == (entry.pw_uid, entry.pw_gid), name
        assert (home(user) / "err").read_text() == "oops\n"


def test_the_owner_cannot_kill_imitate_or_starve_the_supervisor(host):
    job = host.submit(EVE, "echo $$ > pid; exec sleep 600")
    supervisor = supervisor_of(host, job)
    run = host.runs / host.launch(job).name
    pid = until(lambda: (home(EVE) / "pid").exists() and (home(EVE) / "pid").read_text().strip(), "the job")
    tricks = {
        "kill": f"kill -9 {supervisor}",
        "stop": f"kill -STOP {supervisor}",
        "trace": f"exec 3< /proc/{supervisor}/mem",
        "list runs": f"ls {host.runs}",
        "list run": f"ls {run}",
        "forge": f"echo '{{}}' > {run}/end",
        "replace": f"mv {run}/scratch {run}/end",
        "begin": f"rm -f {run}/begun",
        "read": f"cat {run}/begun",
        "lock": f"flock {run}/lock true",
        "wake": f"echo x > {run}/wake",
        "order": f"ls {host.state}.runs",
        "move": f"mv {run} {run}2",
        "start": f"sudo -n {host.directory}/start",
        "cgroup": f"echo {supervisor} > /sys/fs/cgroup/cgroup.procs",
    }
    for name, trick in tricks.items():
        assert shell(EVE, trick).returncode != 0, name
    assert is_alive(supervisor)
    assert pwd.getpwnam(EVE).pw_uid == Path(f"/proc/{pid}").stat().st_uid
    assert Path(f"/proc/{supervisor}").stat().st_uid == 0
    # What the job's process can reach of its supervisor: no descriptor, no root's group, no capability.
    assert sorted(entry.name for entry in Path(f"/proc/{pid}/fd").iterdir()) == ["0", "1", "2"]
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
    assert host.ask(EVE, "remove", jobs=[job])["done"]["jobs"] == 1
    until(lambda: not is_alive(int(pid)), "the end of the job")
    assert host.ended(job).ended["reason"] == "remove"


def test_a_job_is_stopped_through_the_pipe_and_killed_after_its_grace(host):
    politely = host.submit(ANN, "trap 'echo bye; exit 0' TERM; echo $$ > pid; while :; do sleep 0.1; done")
    stubborn = host.submit(
        BOB, "trap '' TERM; setsid sleep 600 & echo $$ > pid; sleep 600; sleep 600", JobMaxVacateTime=1
    )
    assert host.turn() == ""
    for user in (ANN, BOB):
        until(lambda user=user: (home(user) / "pid").exists() and (home(user) / "pid").read_text(), "a job")
    for user, job in ((ANN, politely), (BOB, stubborn)):
        assert host.ask(user, "hold", jobs=[job])["done"]["jobs"] == 1
    assert host.ended(politely).ended["exit_code"] == 0
    assert (home(ANN) / "out").read_text() == "bye\n"
    assert host.held(stubborn)[0] == 1
    assert not alive_of(BOB)


def test_an_order_before_the_start_prevents_it(host):
    """The order is there before root claims the run: no process of the job is made, whoever comes first."""
    job = host.submit(ANN, "touch ran")
    words = ["sudo", "-n", str(host.directory / "start")]
    assert host.turn("--no-launch") == ""
    run = host.launch(job)
    assert run.phase == "intended"
    orders = Path(f"{host.state}.runs") / run.name
    subprocess.run(["sh", "-c", f"mkdir -p {orders}; echo '{{\"order\": \"hold\"}}' > {orders}/order"], check=True,
                   **as_user(ACCOUNT))  # fmt: skip
    assert subprocess.run(words, check=False, **as_user(ACCOUNT)).returncode == 0
    assert not (home(ANN) / "ran").exists()
    assert not (host.runs / run.name / "job").exists()


def test_the_owners_rights_decide_on_every_path(host):
    secret, rooted, target = home(ANN) / "secret", host.directory / "rooted", host.directory / "target"
    secret.write_text("ann's\n")
    shutil.chown(secret, ANN, ANN)
    rooted.write_text("root's\n")
    links = {"link": secret, "rootlink": rooted, "loglink": target}
    for name, to in links.items():
        shell(EVE, f"ln -sf {to} {home(EVE)}/{name}")
    cases: list[tuple[dict[str, Any], int]] = [
        ({"Out": "/etc/fqc-new"}, 7),
        ({"Out": f"../{ANN}/secret"}, 7),
        ({"Out": "link"}, 7),
        ({"Err": "rootlink"}, 7),
        ({"In": "link"}, 8),
        ({"In": "/etc/shadow"}, 8),
        ({"UserLog": f"{home(EVE)}/loglink"}, 22),
        ({"UserLog": "relative"}, 6),
        ({"Cmd": "./nothing"}, 6),
        ({"Cmd": "/etc/shadow"}, 6),
        ({"Iwd": "relative"}, 6),
        ({"Iwd": str(home(ANN)), "Out": "/dev/null", "Err": "/dev/null"}, 14),
    ]
    submitted = [host.submit(EVE, "echo overwritten", **attributes) for attributes, _ in cases]
    for job, (attributes, code) in zip(submitted, cases, strict=True):
        hold = host.held(job)
        assert hold[0] == code, (attributes, hold)
    assert (secret.read_text(), rooted.read_text()) == ("ann's\n", "root's\n")
    assert not target.exists()
    assert not Path("/etc/fqc-new").exists()
    # No slot is drained, or one user could stop the pool for all.
    assert host.ended(host.submit(ANN, "true")).ended["exit_code"] == 0


def test_accounts_that_may_not_run_jobs_hold_them(host):
    def held(change=[], user=EVE):  # noqa: B006
        job = host.submit(user, "true")
        if change:
            subprocess.run(["usermod", *change, user], check=True)
        code, reason = host.held(job)
        assert code == 23, reason
        subprocess.run(["usermod", *sound, EVE], check=True)
        return str(reason)

    sound = ["-s", "/bin/bash", "-e", "", "-p", "*"]
    try:
        assert "jobs of root do not run here" in held(user="root")
        assert f"the login shell of {EVE} is /usr/sbin/nologin" in held(["-s", "/usr/sbin/nologin"])
        assert f"the account of {EVE} has expired" in held(["-e", "1970-01-02"])
        assert f"the account of {EVE} is locked" in held(["-p", "!$6$x$y"])
        host.write_site("least_uid = 100000")
        assert "below 100000" in held()
        host.write_site("allow_root = true")
        assert host.ended(host.submit("root", "id -u", Iwd="/", Out=f"{host.directory}/by-root", Err="/dev/null")).phase
        assert (host.directory / "by-root").read_text() == "0\n"
    finally:
        subprocess.run(["usermod", *sound, EVE], check=True)


def test_a_user_who_is_gone_holds_the_job_and_no_slot_is_drained(host):
    subprocess.run(["useradd", "--no-create-home", GONE], check=True)
    try:
        submitted = [host.submit(GONE, "true", Iwd="/tmp") for _ in range(4)]
    finally:
        subprocess.run(["userdel", GONE], check=True, capture_output=True)
    for job in submitted:
        code, reason = host.held(job)
        assert code == 23
        assert f"there is no user {GONE} any more" in reason
    assert host.ended(host.submit(ANN, "true")).ended["exit_code"] == 0


def test_the_scratch_directory_is_the_owners_alone_and_leaves_nothing(host):
    script = "cd $_CONDOR_SCRATCH_DIR; echo $TMPDIR; stat -c '%U %a' .; mkdir a; touch a/b; chmod 0 a; ln -s /etc c"
    script += "; sleep 600"
    job = host.submit(EVE, script)
    assert host.turn() == ""
    until(lambda: len((home(EVE) / "out").read_text().splitlines()) == 2, "the output")
    scratch, kind = (home(EVE) / "out").read_text().splitlines()
    assert (kind, Path(scratch).parent.parent) == (f"{EVE} 700", host.runs)
    assert shell(BOB, f"ls {scratch}").returncode != 0
    host.ask(EVE, "remove", jobs=[job])
    host.ended(job)
    assert not Path(scratch).exists()
    assert Path("/etc/passwd").exists()


def test_output_without_a_file_is_kept_for_the_owner(host):
    host.write_site("keep_output = 1")
    job = host.submit(
        EVE, "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last; exit 1", Out="/dev/null", Err="/dev/null"
    )
    other = host.submit(EVE, "echo kept; echo error >&2", Out="", Err="")
    assert host.ended(job).phase == "ended"
    run = host.ended(other)
    kept_path = Path(run.output)
    assert kept_path.parent == host.runs / run.name
    assert shell(EVE, f"cat {kept_path}").stdout == "kept\n"
    assert shell(BOB, f"cat {kept_path}").returncode != 0
    assert shell(ACCOUNT, f"cat {run.error}").stdout == "error\n"


@pytest.mark.parametrize("cgroup", ["none", "auto"])
def test_a_supervisor_that_is_killed_is_cleaned_up_by_root_before_the_job_runs_again(host, cgroup):
    host.write_site(f'cgroup = "{cgroup}"')
    hide = f"{PYTHON} -c 'import ctypes, time; ctypes.CDLL(None).prctl(4, 0); time.sleep(600)'"
    job = host.submit(EVE, f"setsid {hide} & echo $$ >> pids; sleep 600", JobMaxRetries=0)
    supervisor = supervisor_of(host, job)
    until(lambda: len(alive_of(EVE)) == 3, "the processes of the job")
    # A process of another user with the name of this run is none of it.
    first = host.launch(job).name
    other = subprocess.Popen(["sleep", "600"], **{**as_user(BOB), "env": {"FAIRQ_RUN": first, "PATH": os.defpath}})
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: host.turn() == "" and host.launch(job).phase == "ended", "the end of the run")
    assert host.launch(job).name == first
    assert host.launch(job).ended["detail"] == "its supervisor was killed"
    assert alive_of(EVE) == []
    assert other.poll() is None
    other.kill()
    other.wait()
    assert not (host.runs / first / "scratch").exists()
    assert host.job(job).hold_code == 26


def test_after_a_reboot_nothing_is_signalled_and_the_run_is_lost(host):
    job = host.submit(EVE, "sleep 600", JobMaxRetries=0)
    supervisor = supervisor_of(host, job)
    begun = host.runs / host.launch(job).name / "begun"
    assert begun.stat().st_gid == pwd.getpwnam(ACCOUNT).pw_gid
    os.kill(supervisor, signal.SIGSTOP)
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: not is_alive(supervisor), "the end of the supervisor")
    begun.write_text(begun.read_text().replace(Path("/proc/sys/kernel/random/boot_id").read_text().strip(), "former"))
    host.ended(job)
    assert "rebooted" in host.launch(job).ended["detail"]
    assert alive_of(EVE)
    shell(EVE, "kill -9 -1")


def test_a_program_that_does_not_begin_obeys_an_order(host):
    """Whoever holds a lease on the program keeps exec waiting, as a hanging file system does."""
    script = (
        "import fcntl, os, signal, time; path = os.path.expanduser('~/leased'); open(path, 'w').write('#!/bin/sh\\n');"
        " os.chmod(path, 0o755); d = os.open(path, os.O_RDONLY); signal.signal(signal.SIGIO, signal.SIG_IGN);"
        " fcntl.fcntl(d, fcntl.F_SETLEASE, fcntl.F_WRLCK); print('held', flush=True); time.sleep(600)"
    )
    environment = {**as_user(EVE), "env": {"HOME": str(home(EVE))}}
    with subprocess.Popen([PYTHON, "-c", script], stdout=subprocess.PIPE, **environment) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        job = host.submit(EVE, "", Cmd=str(home(EVE) / "leased"))
        turning = host.turning()
        run = until(lambda: host.launch(job), "the run").name
        until((host.runs / run / "job").exists, "its process")
        assert host.ask(EVE, "remove", jobs=[job])["done"]["jobs"] == 1
        until((host.runs / run / "end").exists, "its end")
        turning.wait()
        holder.kill()
    assert host.ended(job).ended["reason"] == "remove"


def test_of_fifty_killed_turns_nothing_runs_twice_or_is_lost(host):
    """Some turns lose their program of root as well, at any moment; supervisors live on."""
    script = "echo began >> ran.$FAIRQ_JOB; sleep 0.3; echo ended >> ran.$FAIRQ_JOB"
    submitted = [host.submit(user, script) for user in USERS for _ in range(8)]
    draw = random.Random(50)
    for number in range(50):
        turning = host.turning()
        time.sleep(draw.uniform(0.0, 2.5))
        turning.kill()
        turning.wait()
        if number % 2:
            for pid in starters(host):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    for job in submitted:
        run = host.ended(job)
        assert run.ended["reason"] == "exit", run
        with reading(host.state) as state:
            assert len(launches.of_job(state, run.cluster, 0)) == 1
    for number, job in enumerate(submitted):
        assert (home(USERS[number // 8]) / f"ran.{job}").read_text() == "began\nended\n"


def test_the_directories_of_forgotten_runs_are_removed_by_root(host):
    job = host.submit(EVE, "true", Out="", Err="")
    kept_path = host.runs / host.ended(job).name
    assert kept_path.exists()
    host.write_site("keep_history = 0")
    # A turn in the second of the end is not after it.
    until(lambda: host.turn() == "" and host.launch(job) is None, "the end of its record")
    host.write_site()
    host.ended(host.submit(EVE, "true"))
    assert not kept_path.exists()


def test_a_program_of_root_that_others_can_change_is_not_called(host):
    start = host.directory / "start"
    start.chmod(0o777)
    try:
        job = host.submit(EVE, "true")
        assert "not root's program" in host.turn()
        assert host.launch(job).phase == "intended"
    finally:
        start.chmod(0o755)
    assert host.ended(job).ended["exit_code"] == 0


def test_the_program_of_root_relies_on_nothing_that_others_can_change(host):
    words = ["sudo", "-n", str(host.directory / "start")]

    def said():
        ended = subprocess.run(words, capture_output=True, text=True, check=False, **as_user(ACCOUNT))
        assert ended.returncode == 94, ended.stderr
        return ended.stderr

    shutil.chown(host.site, ACCOUNT)
    assert "others than root can change" in said()
    shutil.chown(host.site, "root")
    host.write_site()
    text = host.site.read_text()
    host.site.write_text(text.replace('run_as = "owner"', 'run_as = "user"'))
    assert "launch.run_as" in said()
    host.site.write_text(text.replace(str(host.runs), str(host.state.parent / "runs")))
    assert "others than root can change" in said()
    host.site.write_text(text.replace(f'"{ACCOUNT}"', '"root"'))
    assert "the account of the pool is root" in said()
    for user in USERS:
        assert shell(user, f"{host.directory}/start").returncode == 94
        assert shell(user, " ".join(words)).returncode == 1
    assert subprocess.run([*words, "x"], capture_output=True, check=False, **as_user(ACCOUNT)).returncode == 1
