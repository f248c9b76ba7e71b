"""The narrow verb through real sudo: three users, an administrator and the account that owns the pool.

These tests make users and a rule of sudo and take them back; they run where FAIRQ_TEST_SUDO is set, as root.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fairq

PYTHON = "/usr/bin/python3"
ACCOUNT, ADMINISTRATOR, USERS = "fqtpool", "fqtadm", ("fqtann", "fqtbob", "fqteve")
RULE = Path("/etc/sudoers.d/fqt")


def _missing() -> str:
    if os.getuid() != 0 or not os.environ.get("FAIRQ_TEST_SUDO"):
        return "needs root, and FAIRQ_TEST_SUDO to be set: it makes users and a rule of sudo"
    if not all(map(shutil.which, ("sudo", "visudo", "useradd", PYTHON))):
        return "needs sudo, useradd and the system's Python"
    version = subprocess.run(
        [PYTHON, "-c", "import sys; print(sys.version_info >= (3, 11))"], check=False, capture_output=True
    )
    return "" if version.stdout.strip() == b"True" else "needs a system Python of 3.11 or newer"


pytestmark = pytest.mark.skipif(bool(_missing()), reason=_missing() or "-")


@pytest.fixture(scope="module")
def verb() -> Iterator[Path]:
    """The program behind the verb, as root would install it, over a pool with a cluster of each user."""
    place = Path(tempfile.mkdtemp(prefix="fqt", dir="/var/lib"))
    place.chmod(0o755)
    made = []
    try:
        for user in (ACCOUNT, ADMINISTRATOR, *USERS):
            words = ["useradd", "--no-create-home", "--shell", "/bin/bash", user]
            subprocess.run(words, check=True, capture_output=True)
            made.append(user)
        shutil.copytree(
            Path(fairq.__file__).parent, place / "lib" / "fairq", ignore=shutil.ignore_patterns("__pycache__")
        )
        for found in place.rglob("*"):
            found.chmod(0o755 if found.is_dir() else 0o644)
        site, state, program = place / "fairq.toml", place / "pool" / "pool.db", place / "apply"
        site.write_text(f'[pool]\nadministrators = ["{ADMINISTRATOR}"]\n[accounting]\nuid_domain = "lab"\n')
        program.write_text(
            f"#!{PYTHON} -I\nimport sys\nsys.dont_write_bytecode = True\nsys.path.insert(0, {str(place / 'lib')!r})\n"
            "from pathlib import Path\nfrom fairq.verb.main import main\n"
            f"sys.exit(main(Path({str(state)!r}), Path({str(site)!r})))\n"
        )
        program.chmod(0o755)
        state.parent.mkdir(0o700)
        _fill(state, site)
        account = pwd.getpwnam(ACCOUNT)
        for path in (state.parent, state):
            os.chown(path, account.pw_uid, account.pw_gid)
        RULE.write_text(
            f'Cmnd_Alias FQT = {program} ""\n'
            "Defaults!FQT env_reset, !env_keep, !env_check, !setenv, "
            'secure_path="/usr/sbin:/usr/bin:/sbin:/bin", closefrom=3, !closefrom_override, umask=0077, '
            'umask_override, !use_pty, !requiretty, !lecture, runcwd="/"\n'
            f"ALL ALL=({ACCOUNT}:{ACCOUNT}) NOPASSWD: FQT\n"
        )
        RULE.chmod(0o440)
        subprocess.run(["visudo", "-c"], check=True, capture_output=True)
        yield program
    finally:
        RULE.unlink(missing_ok=True)
        for user in made:
            for process in _processes(pwd.getpwnam(user).pw_uid):
                os.kill(process, signal.SIGKILL)
            subprocess.run(["userdel", "--force", user], check=False, capture_output=True)
        shutil.rmtree(place)


def _fill(state: Path, site: Path) -> None:
    from fairq.cli.app import main
    from fairq.state import jobs
    from fairq.state.connection import writing

    for _ in USERS:
        assert (
            main(["--state", str(state), "--config", str(site), "-q", "submit", "--count", "9", "--", "/bin/true"]) == 0
        )
    with writing(state) as opened:
        for cluster, user in enumerate(USERS, 1):
            jobs.change(opened, "", cluster, 0, 8, owner=user, submitter=f"{user}@lab")


def document(name: str, /, serial: int | None = None, **arguments: Any) -> bytes:
    number = f"{serial:032x}" if serial is not None else os.urandom(16).hex()
    found = {"fairq": 1, "id": number, "verb": name, "command": f"fairq {name}", "reason": None, "arguments": arguments}
    content = json.dumps(found).encode()
    return b"%d\n%s" % (len(content), content)


def call(
    program: Path,
    user: str,
    content: bytes,
    *options: str,
    before: Callable[[], None] | None = None,
    **environment: str,
) -> subprocess.CompletedProcess[bytes]:
    """Call the verb by sudo as *user* with *options* of sudo; *before* runs in the user's process."""
    entry = pwd.getpwnam(user)
    words = [*(options or ("-n", "-u", ACCOUNT)), str(program)]
    return subprocess.run(
        ["/usr/bin/sudo", *words], input=content, capture_output=True, check=False, timeout=60, user=entry.pw_uid,
        group=entry.pw_gid, extra_groups=[], cwd="/tmp", preexec_fn=before,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **environment},
    )  # fmt: skip


def answer(ended: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def holders(program: Path) -> str:
    """Which processes have the state open."""
    state = (program.parent / "pool" / "pool.db").stat()
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.path.samestat(link.stat(), state):
                found.append(str(link))
        except OSError:
            continue
    return " ".join(found)


def test_each_changes_his_own_and_the_history_names_him(verb: Path):
    for cluster, user in enumerate(USERS, 1):
        ended = call(verb, user, document("hold", jobs=[f"{cluster}.0"]))
        assert answer(ended) == {"done": {"jobs": 1, "targets": [[f"{cluster}.0", 1]], "ending": 0}}, ended.stderr
        assert answer(call(verb, user, document("undo", number=None)))["done"]
        for other in {1, 2, 3} - {cluster}:
            refused = call(verb, user, document("hold", jobs=[f"{other}.0"]))
            assert (refused.returncode, answer(refused)["code"]) == (101, 101)
    assert answer(call(verb, ADMINISTRATOR, document("hold", jobs=["1.0", "2.0", "3.0"])))["done"]["jobs"] == 3
    edit = {"kind": "setfactor", "name": "fqtann@lab", "value": 5, "seconds": None}
    assert call(verb, "fqtann", document("userprio", edits=[edit])).returncode == 101
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
def test_sudo_lets_nothing_else_through(verb: Path, options: list[str]):
    ended = call(verb, "fqtbob", document("hold", jobs=["2"]), *options)
    assert ended.returncode != 0
    assert b"done" not in ended.stdout


def test_an_argument_is_refused(verb: Path):
    entry = pwd.getpwnam("fqtbob")
    words = ["/usr/bin/sudo", "-n", "-u", ACCOUNT, str(verb), "--help"]
    ended = subprocess.run(
        words, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], capture_output=True, check=False
    )
    assert ended.returncode == 1


def test_the_callers_environment_and_directory_change_nothing(verb: Path, tmp_path: Path):
    trap = Path(tempfile.mkdtemp(dir="/tmp"))
    trap.chmod(0o777)
    try:
        for name in ("json.py", "sitecustomize.py", "usercustomize.py", "fairq.py"):
            (trap / name).write_text(f"open({str(trap / 'caught')!r}, 'w')\n")
        traps = {name: str(trap) for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "HOME", "XDG_CONFIG_HOME")}
        forged = {"SUDO_UID": str(pwd.getpwnam("fqtann").pw_uid), "SUDO_USER": "fqtann",
                  "FAIRQ_POOL_ADMINISTRATORS": "fqtbob",
                  "FAIRQ_CONFIG": "/tmp/x", "LC_ALL": "tr_TR.UTF-8", "LD_PRELOAD": str(trap / "x.so")}  # fmt: skip
        ended = call(verb, "fqtbob", document("hold", jobs=["1.5"]), before=lambda: os.chdir(trap), **traps, **forged)
        assert answer(ended)["code"] == 101
        assert b"fqtbob may not" in ended.stdout
        assert not (trap / "caught").exists()
    finally:
        shutil.rmtree(trap)


def test_the_state_and_the_program_are_not_the_users(verb: Path):
    entry = pwd.getpwnam("fqtbob")
    for words in (
        ["cat", str(verb.parent / "pool" / "pool.db")],
        ["touch", str(verb)],
        ["touch", str(verb.parent / "x")],
    ):
        ended = subprocess.run(
            words, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], capture_output=True, check=False
        )
        assert ended.returncode == 1


def test_it_is_not_believed_without_sudo(verb: Path):
    entry = pwd.getpwnam(ACCOUNT)
    ended = subprocess.run(
        [str(verb)], input=document("hold", jobs=["1"]), user=entry.pw_uid, group=entry.pw_gid, extra_groups=[],
        env={"SUDO_UID": "0"}, capture_output=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 105


def test_the_callers_groups_are_refused(verb: Path):
    entry = pwd.getpwnam("fqtbob")
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
def test_under_limits_of_the_caller_nothing_is_begun(verb: Path, limit: int, value: int):
    before = lambda: resource.setrlimit(limit, (value, value))  # noqa: E731
    ended = call(verb, "fqtbob", document("hold", jobs=["2.7"]), before=before)
    assert ended.returncode == 105, ended.stdout + ended.stderr


def test_a_caller_who_is_nice_or_ignores_signals_is_served(verb: Path):
    def before() -> None:
        os.nice(19)
        os.sched_setaffinity(0, {0})

    assert call(verb, "fqtbob", document("prio", jobs=["2.7"], value=2, relative=False), before=before).returncode == 0


@pytest.mark.parametrize("content", [b"", b"99999999999\n", b"5\nabc", b"2\n{}", b"x" * 100_000])
def test_what_is_no_document_is_refused(verb: Path, content: bytes):
    assert call(verb, "fqteve", content).returncode == 106


def test_a_slow_caller_has_no_lock_and_one_who_kills_sudo_leaves_nothing(verb: Path):
    entry = pwd.getpwnam("fqteve")
    slow = subprocess.Popen(
        ["/usr/bin/sudo", "-n", "-u", ACCOUNT, str(verb)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], start_new_session=True,
    )  # fmt: skip
    assert slow.stdin is not None
    slow.stdin.write(b"1000\n{")
    slow.stdin.flush()
    time.sleep(0.5)
    assert holders(verb) == ""
    assert call(verb, "fqtbob", document("prio", jobs=["2.7"], value=3, relative=False)).returncode == 0
    slow.kill()
    slow.wait()
    slow.stdin.close()
    assert call(verb, "fqtbob", document("prio", jobs=["2.7"], value=4, relative=False)).returncode == 0


def test_a_caller_who_stops_sudo_does_not_stop_the_change(verb: Path):
    """As Ctrl-Z does: all that the caller's terminal can reach stands still, and the change is made."""
    entry, account = pwd.getpwnam("fqteve"), pwd.getpwnam(ACCOUNT).pw_uid
    content = document("prio", jobs=["3.8"], value=8, relative=False)
    sudo = subprocess.Popen(
        ["/usr/bin/sudo", "-n", "-u", ACCOUNT, str(verb)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        user=entry.pw_uid, group=entry.pw_gid, extra_groups=[],
    )  # fmt: skip
    assert sudo.stdin is not None

    def apart() -> list[int]:
        """The one that waits, once there are two and the other one has a session of its own."""
        ours = _processes(account)
        waiting = [process for process in ours if os.getsid(process) != process]
        return waiting if len(ours) == 2 and len(waiting) == 1 else []

    waiting = _eventually(apart)
    stopped = (sudo.pid, *waiting)
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    sudo.stdin.write(content)
    sudo.stdin.close()
    from fairq.state import jobs
    from fairq.state.connection import reading

    def priority() -> bool:
        with reading(verb.parent / "pool" / "pool.db") as opened:
            return [job.priority for job in jobs.select(opened, cluster=3, proc=8)] == [8]

    try:
        assert _eventually(priority)
    finally:
        for process in reversed(stopped):
            os.kill(process, signal.SIGCONT)
    assert sudo.wait(timeout=30) == 0


def _eventually(found: Callable[[], Any]) -> Any:
    until = time.monotonic() + 30
    while not (answer := found()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return answer


def _processes(uid: int) -> list[int]:
    return [int(place.name) for place in Path("/proc").glob("[0-9]*") if _uid(place) == uid]


def _uid(place: Path) -> int | None:
    try:
        return int(re.search(r"^Uid:\s+(\d+)", (place / "status").read_text(), re.MULTILINE)[1])  # type: ignore[index]
    except OSError:
        return None


def test_jobs_are_queued_as_who_asks(verb: Path):
    shown = {"MyType": "Job", "Cmd": "/bin/true", "RequestCpus": 1}
    group = {"first": 0, "last": 99, "ad": 0, "own": None, "template": None, "priority": 0, "reason": None}
    ended = call(verb, "fqteve", document("submit", ads=[shown], groups=[group], cluster=None))
    assert answer(ended)["done"]["jobs"] == 100
    refused = call(verb, "fqteve", document("submit", ads=[{**shown, "Owner": "fqtann"}], groups=[group], cluster=None))
    assert refused.returncode == 106
    from fairq.state import jobs
    from fairq.state.connection import reading

    with reading(verb.parent / "pool" / "pool.db") as opened:
        assert [(job.owner, job.submitter) for job in jobs.select(opened, cluster=4)] == [("fqteve", "fqteve@lab")]


def test_a_repeat_is_recognised_and_many_at_once_lose_nothing(verb: Path):
    entry = pwd.getpwnam("fqtann")
    assert call(verb, "fqtann", document("prio", serial=7, jobs=["1.8"], value=0, relative=False)).returncode == 0
    assert call(verb, "fqtann", document("prio", serial=7, jobs=["1.8"], value=0, relative=False)).returncode == 107
    started = []
    for _ in range(16):
        one = subprocess.Popen(
            ["/usr/bin/sudo", "-n", "-u", ACCOUNT, str(verb)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            user=entry.pw_uid, group=entry.pw_gid, extra_groups=[],
        )  # fmt: skip
        started.append(one)
    for one in started:
        one.communicate(document("prio", jobs=["1.8"], value=1, relative=True))
    assert [one.returncode for one in started] == [0] * 16
    from fairq.state import jobs
    from fairq.state.connection import reading

    with reading(verb.parent / "pool" / "pool.db") as opened:
        assert [job.priority for job in jobs.select(opened, cluster=1, proc=8)] == [16]
