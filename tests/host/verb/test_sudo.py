"""The narrow verb through real sudo: three users, an administrator and the account that owns the pool.

These tests make users and a rule of sudo and take them back; they run where FAIRQ_TEST_SUDO is set, as root.
"""

from __future__ import annotations

import json
import os
import pwd
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.host.verb.host import ACCOUNT, ADMINISTRATOR, PYTHON, USERS, fill, host, missing, processes

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")


@pytest.fixture(scope="module")
def verb():
    """The program behind the verb, as root would install it, over a pool with a cluster of each user."""
    with host() as pool_host:
        fill(pool_host)
        yield pool_host.program


def document(name, /, serial=None, **arguments):
    number = f"{serial:032x}" if serial is not None else os.urandom(16).hex()
    members = {
        "fairq": 1,
        "id": number,
        "verb": name,
        "command": f"fairq {name}",
        "reason": None,
        "arguments": arguments,
    }
    content = json.dumps(members).encode()
    return b"%d\n%s" % (len(content), content)


def call(
    program,
    user,
    content,
    *options,
    before=None,
    **environment,
):
    """Call the verb by sudo as *user* with *options* of sudo; *before* runs in the user's process."""
    entry = pwd.getpwnam(user)
    words = [*(options or ("-n", "-u", ACCOUNT)), str(program)]
    return subprocess.run(
        ["/usr/bin/sudo", *words], input=content, capture_output=True, check=False, timeout=60, user=entry.pw_uid,
        group=entry.pw_gid, extra_groups=[], cwd="/tmp", preexec_fn=before,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **environment},
    )  # fmt: skip


def answer(ended):
    parsed: dict[str, Any] = json.loads(ended.stdout)
    return parsed


def holders(program):
    """Return the descriptors of processes that have the state open."""
    state = (program.parent / "pool" / "pool.db").stat()
    links = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.path.samestat(link.stat(), state):
                links.append(str(link))
        except OSError:
            continue
    return " ".join(links)


def test_each_changes_his_own_and_the_history_names_him(verb):
    for cluster, user in enumerate(USERS, 1):
        ended = call(verb, user, document("hold", jobs=[f"{cluster}.0"]))
        assert answer(ended) == {"done": {"jobs": 1, "targets": [[f"{cluster}.0", 1]], "ending": 0}}, ended.stderr
        assert answer(call(verb, user, document("undo", number=None)))["done"]
        for other in {1, 2, 3} - {cluster}:
            refused = call(verb, user, document("hold", jobs=[f"{other}.0"]))
            assert (refused.returncode, answer(refused)["code"]) == (101, 101)
    assert answer(call(verb, ADMINISTRATOR, document("hold", jobs=["1.0", "2.0", "3.0"])))["done"]["jobs"] == 3
    edit = {"kind": "setfactor", "name": "fqcann@lab", "value": 5, "seconds": None}
    assert call(verb, "fqcann", document("userprio", edits=[edit])).returncode == 101
    assert call(verb, ADMINISTRATOR, document("userprio", edits=[edit])).returncode == 0


@pytest.mark.parametrize(
    "options",
    [
        ["-n"], ["-n", "-u", "root"], ["-n", "-u", ADMINISTRATOR], ["-n", "-u", ACCOUNT, "-g", "root"],
        ["-n", "-u", ACCOUNT, "X=1"], ["-n", "-E", "-u", ACCOUNT], ["-n", "-C", "99", "-u", ACCOUNT],
        ["-n", "-D", "/var", "-u", ACCOUNT], ["-n", "-R", "/tmp", "-u", ACCOUNT], ["-n", "-s", "-u", ACCOUNT],
        ["-n", "-u", ACCOUNT, PYTHON],
    ],
    ids=" ".join,
)  # fmt: skip
def test_sudo_lets_nothing_else_through(verb, options):
    ended = call(verb, "fqcbob", document("hold", jobs=["2"]), *options)
    assert ended.returncode != 0
    assert b"done" not in ended.stdout


def test_an_argument_is_refused(verb):
    entry = pwd.getpwnam("fqcbob")
    words = ["/usr/bin/sudo", "-n", "-u", ACCOUNT, str(verb), "--help"]
    ended = subprocess.run(
        words, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], capture_output=True, check=False
    )
    assert ended.returncode == 1


def test_the_callers_environment_and_directory_change_nothing(verb, tmp_path):
    trap = Path(tempfile.mkdtemp(dir="/tmp"))
    trap.chmod(0o777)
    try:
        for name in ("json.py", "sitecustomize.py", "usercustomize.py", "fairq.py"):
            (trap / name).write_text(f"open({str(trap / 'caught')!r}, 'w')\n")
        traps = {name: str(trap) for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "HOME", "XDG_CONFIG_HOME")}
        forged = {"SUDO_UID": str(pwd.getpwnam("fqcann").pw_uid), "SUDO_USER": "fqcann",
                  "FAIRQ_POOL_ADMINISTRATORS": "fqcbob",
                  "FAIRQ_CONFIG": "/tmp/x", "LC_ALL": "tr_TR.UTF-8", "LD_PRELOAD": str(trap / "x.so")}  # fmt: skip
        ended = call(verb, "fqcbob", document("hold", jobs=["1.5"]), before=lambda: os.chdir(trap), **traps, **forged)
        assert answer(ended)["code"] == 101
        assert b"fqcbob may not" in ended.stdout
        assert not (trap / "caught").exists()
    finally:
        shutil.rmtree(trap)


def test_the_state_and_the_program_are_not_the_users(verb):
    entry = pwd.getpwnam("fqcbob")
    for words in (
        ["cat", str(verb.parent / "pool" / "pool.db")],
        ["touch", str(verb)],
        ["touch", str(verb.parent / "x")],
    ):
        ended = subprocess.run(
            words, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], capture_output=True, check=False
        )
        assert ended.returncode == 1


def test_it_is_not_believed_without_sudo(verb):
    entry = pwd.getpwnam(ACCOUNT)
    ended = subprocess.run(
        [str(verb)], input=document("hold", jobs=["1"]), user=entry.pw_uid, group=entry.pw_gid, extra_groups=[],
        env={"SUDO_UID": "0"}, capture_output=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 105


def test_the_callers_groups_are_refused(verb):
    entry = pwd.getpwnam("fqcbob")
    ended = subprocess.run(
        ["/usr/bin/sudo", "-n", "-P", "-u", ACCOUNT, str(verb)], input=document("hold", jobs=["2"]), user=entry.pw_uid,
        group=entry.pw_gid, extra_groups=[entry.pw_gid, 4], capture_output=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, b"caller's groups" in ended.stdout) == (105, True)


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        (resource.RLIMIT_CPU, 100), (resource.RLIMIT_FSIZE, 1024), (resource.RLIMIT_NOFILE, 20),
        (resource.RLIMIT_AS, 1 << 30), (resource.RLIMIT_DATA, 1 << 30),
    ],
    ids=["cpu", "fsize", "nofile", "as", "data"],
)  # fmt: skip
def test_under_limits_of_the_caller_nothing_is_begun(verb, limit, value):
    before = lambda: resource.setrlimit(limit, (value, value))  # noqa: E731
    ended = call(verb, "fqcbob", document("hold", jobs=["2.7"]), before=before)
    assert ended.returncode == 105, ended.stdout + ended.stderr


def test_a_caller_who_is_nice_or_ignores_signals_is_served(verb):
    def before():
        os.nice(10)
        os.sched_setaffinity(0, {0})

    assert call(verb, "fqcbob", document("prio", jobs=["2.7"], value=2, relative=False), before=before).returncode == 0


def test_a_caller_who_is_too_nice_is_refused(verb):
    slow: list[Callable[[], object]] = [
        lambda: os.nice(19),
        lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)),
    ]
    for before in slow:
        ended = call(verb, "fqcbob", document("prio", jobs=["2.7"], value=2, relative=False), before=before)
        assert ended.returncode == 105, ended.stdout


STREAMS = {
    "closed": "{}>&-", "a directory": "{}</tmp", "nowhere": "{}>/dev/null", "empty": "{}</dev/null",
    "full": "{}>/dev/full", "endless": "{}</dev/urandom",
}  # fmt: skip


@pytest.mark.parametrize("which", ["0", "1", "2", "01", "02", "12", "012"])
@pytest.mark.parametrize("stream", STREAMS)
def test_odd_descriptors_are_answered_in_one_line(verb, which, stream):
    entry = pwd.getpwnam("fqcbob")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        (folder / "document").write_bytes(document("prio", jobs=["2.7"], value=2, relative=False))
        streams = {"0": f"<{folder}/document", "1": f">{folder}/out", "2": f"2>{folder}/err"}
        streams |= {number: STREAMS[stream].format(number) for number in which}
        ended = subprocess.run(
            ["/bin/sh", "-c", f"sudo -n -u {ACCOUNT} {verb} {' '.join(streams.values())}"], user=entry.pw_uid,
            group=entry.pw_gid, extra_groups=[], check=False, timeout=60, env={"PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        output = "".join((folder / name).read_text() for name in ("out", "err") if (folder / name).exists())
    is_lost = "1" in which and ("2" in which or stream == "nowhere")
    assert output.count("\n") == (not is_lost)
    assert "done" in output or is_lost or ended.returncode in (73, 105, 106)
    assert "Traceback" not in output
    assert "Fatal Python" not in output


@pytest.mark.parametrize("content", [b"", b"99999999999\n", b"5\nabc", b"2\n{}", b"x" * 100_000])
def test_what_is_no_document_is_refused(verb, content):
    assert call(verb, "fqceve", content).returncode == 106


def test_a_slow_caller_has_no_lock_and_one_who_kills_sudo_leaves_nothing(verb):
    entry = pwd.getpwnam("fqceve")
    slow = subprocess.Popen(
        ["/usr/bin/sudo", "-n", "-u", ACCOUNT, str(verb)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], start_new_session=True,
    )  # fmt: skip
    assert slow.stdin is not None
    slow.stdin.write(b"1000\n{")
    slow.stdin.flush()
    time.sleep(0.5)
    assert holders(verb) == ""
    assert call(verb, "fqcbob", document("prio", jobs=["2.7"], value=3, relative=False)).returncode == 0
    slow.kill()
    slow.wait()
    slow.stdin.close()
    assert call(verb, "fqcbob", document("prio", jobs=["2.7"], value=4, relative=False)).returncode == 0


def test_a_caller_who_stops_sudo_does_not_stop_the_change(verb):
    """As Ctrl-Z does: all that the caller's terminal can reach stands still, and the change is made."""
    entry, account = pwd.getpwnam("fqceve"), pwd.getpwnam(ACCOUNT).pw_uid
    content = document("prio", jobs=["3.8"], value=8, relative=False)
    sudo = subprocess.Popen(
        ["/usr/bin/sudo", "-n", "-u", ACCOUNT, str(verb)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        user=entry.pw_uid, group=entry.pw_gid, extra_groups=[],
    )  # fmt: skip
    assert sudo.stdin is not None

    def apart():
        """The one that waits, once there are two and the other one has a session of its own."""
        ours = processes(account)
        try:
            waiting = [process for process in ours if os.getsid(process) != process]
        except ProcessLookupError:  # one that comes before the two is gone already
            return []
        return waiting if len(ours) == 2 and len(waiting) == 1 else []

    waiting = _eventually(apart)
    stopped = (sudo.pid, *waiting)
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    sudo.stdin.write(content)
    sudo.stdin.close()
    from fairq.state import jobs
    from fairq.state.connection import reading

    def priority():
        with reading(verb.parent / "pool" / "pool.db") as opened:
            return [job.priority for job in jobs.select(opened, cluster=3, proc=8)] == [8]

    try:
        assert _eventually(priority)
    finally:
        for process in reversed(stopped):
            os.kill(process, signal.SIGCONT)
    assert sudo.wait(timeout=30) == 0


def _eventually(condition):
    deadline = time.monotonic() + 30
    while not (answer := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return answer


def test_jobs_are_queued_as_who_asks(verb):
    shown = {"MyType": "Job", "Cmd": "/bin/true", "RequestCpus": 1}
    group = {"first": 0, "last": 99, "ad": 0, "own": None, "template": None, "priority": 0, "reason": None}
    ended = call(verb, "fqceve", document("submit", ads=[shown], groups=[group], cluster=None))
    assert answer(ended)["done"]["jobs"] == 100
    refused = call(verb, "fqceve", document("submit", ads=[{**shown, "Owner": "fqcann"}], groups=[group], cluster=None))
    assert refused.returncode == 106
    from fairq.state import jobs
    from fairq.state.connection import reading

    with reading(verb.parent / "pool" / "pool.db") as opened:
        assert [(job.owner, job.submitter) for job in jobs.select(opened, cluster=4)] == [("fqceve", "fqceve@lab")]


def test_a_repeat_is_recognised_and_many_at_once_lose_nothing(verb):
    entry = pwd.getpwnam("fqcann")
    assert call(verb, "fqcann", document("prio", serial=7, jobs=["1.8"], value=0, relative=False)).returncode == 0
    assert call(verb, "fqcann", document("prio", serial=7, jobs=["1.8"], value=0, relative=False)).returncode == 107
    started = []
    for _ in range(16):
        process = subprocess.Popen(
            ["/usr/bin/sudo", "-n", "-u", ACCOUNT, str(verb)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            user=entry.pw_uid, group=entry.pw_gid, extra_groups=[],
        )  # fmt: skip
        started.append(process)
    for process in started:
        process.communicate(document("prio", jobs=["1.8"], value=1, relative=True))
    assert [process.returncode for process in started] == [0] * 16
    from fairq.state import jobs
    from fairq.state.connection import reading

    with reading(verb.parent / "pool" / "pool.db") as opened:
        assert [job.priority for job in jobs.select(opened, cluster=1, proc=8)] == [16]
