"""What the program of root refuses in the description of runs, and which accounts it refuses: no root is needed."""

import json
import math
import os
import pwd

import pytest

from fairq.launch.interface import Assignment, Options, Owners
from fairq.launch.owner_runs import Owned
from fairq.launch.root.document import WrongError, check_log, check_run, parse
from fairq.launch.root.owners import RefusedError, account_of
from fairq.launch.root.policy import Policy, UnsafeError, check_owned_by_root, read_policy
from fairq.launch.supervisor.identity import Account
from fairq.steps.launch.decisions import described

RUN = {
    "run": "1.0-0123456789", "owner": "ann", "program": ["/bin/true"], "directory": "/", "environment": {"A": "b=c"},
    "input": None, "output": "/tmp/out", "error": None, "append": ["/tmp/out"], "log": None, "cpus": 1, "memory": 128,
    "execute_seconds": None, "job_seconds": 60, "start_time": None, "start_window": 0.0,
    "terminal": None,
    "kill_signal": 15, "signals": {"hold": 10}, "grace": 30.0,
    "umask": 0o022, "output_directory": None, "output_files": [],
    "limits": {"RLIMIT_CORE": 0}, "cores": [0, 1], "keep_output": 1 << 24,
}  # fmt: skip


def test_a_run_as_the_helper_describes_it_is_taken():
    check_run(RUN)
    document = {"runs": [RUN], "logs": [], "lost": [], "forget": ["1.0-0123456789"]}
    assert parse(json.dumps(document).encode()) == document


def test_what_the_helper_makes_of_an_assignment_is_taken():
    """Whatever fields an assignment has for other launchers."""
    assignment = Assignment(run="1.0-0123456789", program=("/bin/true",), directory="/", environment={}, cores=(0, 1))
    run = json.loads(json.dumps(described(assignment, "ann", 1 << 24)))
    check_run(run)
    assert run.keys() == RUN.keys()


@pytest.mark.parametrize(
    "forged",
    [
        {"program": []}, {"program": "/bin/true"}, {"program": ["a\0b"]}, {"program": ["x" * (1 << 21), "x"]},
        {"directory": "relative"}, {"directory": None}, {"environment": {"A=B": "c"}}, {"environment": {"": "c"}},
        {"environment": {"A": 1}}, {"environment": []}, {"input": "in"}, {"output": ""}, {"log": "log"},
        {"append": "x"}, {"cpus": 0}, {"cpus": True}, {"memory": 0}, {"memory": 1.5}, {"execute_seconds": math.inf},
        {"job_seconds": -1}, {"kill_signal": 0}, {"kill_signal": 99}, {"kill_signal": "SIGTERM"}, {"grace": None},
        {"signals": {"hold": 0}}, {"signals": {"stop": 15}}, {"signals": []}, {"signals": {"remove": "SIGTERM"}},
        {"grace": math.nan}, {"umask": 0o1777}, {"umask": -1}, {"limits": {"__doc__": 1}},
        {"limits": {"RLIMIT_CORE": -1}}, {"cores": [-1]}, {"cores": [True]}, {"cores": {}}, {"keep_output": -1},
        {"terminal": "/dev/tty"}, {"terminal": "fairq-terminal-0"},
        {"run_directory": "/etc"}, {"cgroup": "/sys/fs/cgroup"}, {"refusal": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_forged_field_is_refused(forged):
    with pytest.raises(WrongError):
        check_run({**RUN, **forged})


@pytest.mark.parametrize("name", sorted(RUN.keys() - {"run", "owner"}))
def test_no_field_may_be_missing(name):
    with pytest.raises(WrongError):
        check_run({key: value for key, value in RUN.items() if key != name})


@pytest.mark.parametrize(
    "forged",
    [
        b"", b"[]", b"{", b"[" * 100_000, b"{}", {"runs": {}}, {"runs": ["x"]}, {"forget": ["../../etc"]},
        {"lost": ["1.0-0123456789/.."]}, {"lost": [1]}, {"runs": [{**RUN, "run": "../x"}]}, {"logs": [[]]},
        {"runs": [{**RUN, "owner": 0}]}, {"more": []},
    ],
    ids=lambda forged: str(forged)[:30],
)  # fmt: skip
def test_a_forged_document_is_refused(forged):
    document = {"runs": [], "logs": [], "lost": [], "forget": []}
    with pytest.raises(WrongError):
        parse(forged if isinstance(forged, bytes) else json.dumps({**document, **forged}).encode())


@pytest.mark.parametrize(
    "forged", [{"path": "log"}, {"owner": 1}, {"entries": [1]}, {"entries": "x"}, {"more": 1}], ids=str
)
def test_a_forged_log_is_refused(forged):
    log = {"owner": "ann", "path": "/tmp/log", "entries": ["..."]}
    check_log(log)
    with pytest.raises(WrongError):
        check_log({**log, **forged})


def policy(**changes):
    usual = Policy(
        "/site", "/state", Account(name="fairq", uid=4_000_000, gid=4_000_000), "/runs", "none", False, False, 1000
    )
    return usual._replace(**changes)


def test_accounts_that_may_not_run_jobs():
    for owner, message in (
        ("root", "allow_root"),
        ("daemon", "least_uid"),
        ("nobody-there", "no user"),
        ("a\0b", "no user"),
    ):
        with pytest.raises(RefusedError, match=message):
            account_of(owner, policy())
    daemon = pwd.getpwnam("daemon")
    with pytest.raises(RefusedError, match="login shell"):
        account_of("daemon", policy(least_uid=1))
    with pytest.raises(RefusedError, match="account of the pool"):
        account_of("daemon", policy(account=Account(name="daemon", uid=daemon.pw_uid, gid=daemon.pw_gid)))
    assert account_of("root", policy(allow_root=True))["uid"] == 0


def test_what_others_can_change_is_not_relied_on(tmp_path):
    check_owned_by_root("/etc/passwd")
    site = tmp_path / "fairq.toml"
    site.write_text('[launch]\nrun_as = "owner"\n')
    site.chmod(0o666)
    for path in (str(site), str(tmp_path / "none")):
        with pytest.raises(UnsafeError):
            check_owned_by_root(path)
    with pytest.raises(UnsafeError):
        read_policy(str(site))
    if os.getuid() == 0:
        os.chown(site, 1, 1)
        site.chmod(0o644)
        with pytest.raises(UnsafeError):
            read_policy(str(site))


def test_sudo_is_not_called_for_a_program_that_is_not_the_root_part(tmp_path):
    """The settings beside a state may be anybody's; they must not choose a program that the user may run by sudo."""
    ours = tmp_path / "start"
    ours.write_text("#!/bin/sh\n# fairq.launch.root\ntouch called\n")
    ours.chmod(0o777)
    for program in ("/bin/true", str(ours), "/nothing", "relative"):
        launcher = Owned(tmp_path / "orders", Options(), Owners(tmp_path / "runs", program))
        assert "not root's program" in str(launcher.attend())
