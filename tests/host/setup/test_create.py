"""``fairq pool create`` and ``fairq pool remove`` on a host of their own, with real accounts and a real sudo.

They run where FAIRQ_TEST_SUDO is set, as root; elsewhere they are reported as skipped. One host is used in order.
"""

import json

import pytest
from tests.host.setup.world import missing, world

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")

FILES = (
    "find /etc /usr/lib/fairq /usr/local/bin /var/lib /home -not -name '*-' -not -name '.pwd.lock' 2>/dev/null | sort"
)

SOCKET = """
import json, os, pwd, socket, subprocess, sys
mode, user, verb, arguments = sys.argv[1:]
content = json.dumps({"fairq": 1, "id": os.urandom(16).hex(), "verb": verb, "command": "x", "reason": None,
                      "arguments": json.loads(arguments)}).encode()
listening = socket.socket(socket.AF_UNIX)
listening.bind("\\0fairq-test-%d" % os.getpid())
listening.listen()
caller, account = pwd.getpwnam(user), pwd.getpwnam("fairq")
if os.fork() == 0:
    # What is on the other end of the socket: the caller, or root for a caller who hands a socket of root's to sudo.
    if mode == "socket":
        os.setgroups([]); os.setresgid(*[caller.pw_gid] * 3); os.setresuid(*[caller.pw_uid] * 3)
    other = socket.socket(socket.AF_UNIX)
    other.connect(listening.getsockname())
    other.sendall(b"%d\\n%s" % (len(content), content))
    sys.stdout.write(other.makefile().readline())
    sys.stdout.flush()
    os._exit(0)
taken, _ = listening.accept()
words, runs_as = ["/usr/lib/fairq/apply", "--socket"], account
if mode == "sudo":
    words, runs_as = ["sudo", "-n", "-u", "fairq", "/usr/lib/fairq/apply"], caller
subprocess.run(words, stdin=taken, stdout=taken, user=runs_as.pw_uid, group=runs_as.pw_gid, extra_groups=[],
               env={"PATH": "/usr/bin:/bin"}, cwd="/")
taken.close()
os.wait()
"""


@pytest.fixture(scope="module")
def host():
    with world() as world_host:
        world_host.shell("for user in ann bob zoe; do useradd -m -s /bin/bash $user; done")
        yield world_host


def checks(host, user="root"):
    """Return status and detail of the checks as *user* sees them."""
    findings = json.loads(host.run("fairq", "pool", "check", "--json", user=user).stdout)["checks"]
    return {finding["check"]: (finding["status"], finding["detail"]) for finding in findings}


def test_what_cannot_be_done_is_refused_before_anything_is_changed(host):
    before = host.shell(FILES)
    assert host.create("--yes", "--admin", "nobody-at-all").returncode == 111
    creation = host.create()
    assert (creation.returncode, "add --yes" in creation.stderr) == (2, True)
    host.shell("useradd -m fairq")
    refused = host.create("--yes")
    assert (refused.returncode, "there is a user fairq already" in refused.stderr) == (111, True)
    host.shell("userdel -r fairq 2>/dev/null; echo '# of somebody' > /etc/cron.d/fairq")
    refused = host.create("--yes")
    assert (refused.returncode, "fairq has not written it" in refused.stderr) == (111, True)
    host.shell("rm /etc/cron.d/fairq")
    assert host.shell(FILES) == before


def test_a_failing_step_takes_back_the_steps_before_it(host):
    before = host.shell(FILES)
    host.shell("echo 'no rule' > /etc/sudoers.d/bad; chmod 440 /etc/sudoers.d/bad")
    failed = host.create("--yes")
    assert failed.returncode == 122
    assert "visudo -c" in failed.stderr
    assert "the steps before it were taken back" in failed.stderr
    host.shell("rm /etc/sudoers.d/bad")
    assert host.shell(FILES) == before
    assert "fairq" not in host.shell("cat /etc/passwd /etc/group")


def test_it_is_created_and_a_second_time_nothing_changes(host):
    host.shell("mkdir /etc/xdg/fairq; echo '[accounting]\nuid_domain = \"lab\"  # ours' > /etc/xdg/fairq/fairq.toml")
    created = host.create("--yes", "--admin", "zoe", "--launch", "local", "--every", "5")
    assert created.returncode == 0, created.stderr
    assert "is ready" in created.stdout
    again = host.run("fairq", "pool", "create")
    assert (again.returncode, again.stdout) == (0, "No changes: the pool of this host is in order\n")
    preview = host.run("fairq", "pool", "create", "--dry-run", user="ann")
    assert (preview.returncode, preview.stdout) == (0, again.stdout), preview.stderr
    assert "remove the rule of sudo" in host.shell("fairq pool remove --dry-run", user="ann")
    host.shell("visudo -c")
    assert 'uid_domain = "lab"  # ours' in host.shell("cat /etc/xdg/fairq/fairq.toml")
    modes = host.shell("stat -c '%A %U %n' /var/lib/fairq /var/lib/fairq/pool.db /etc/sudoers.d/fairq /usr/lib/fairq/*")
    assert modes.splitlines()[:4] == [
        "drwx--x--x fairq /var/lib/fairq",
        "-rw------- fairq /var/lib/fairq/pool.db",
        "-r--r----- root /etc/sudoers.d/fairq",
        "-rwxr-xr-x root /usr/lib/fairq/apply",
    ]
    assert host.shell("find /usr/lib/fairq ! -user root -o -perm /022 ! -type l") == ""


def test_everybodys_commands_use_it_and_each_is_named_by_sudo(host):
    assert host.run("fairq", "-q", "slots", "detect", "--add", user="ann").returncode == 101
    assert host.run("fairq", "-q", "slots", "add", "node", "--count", "3", user="zoe").returncode == 0
    for user in ("ann", "bob"):
        assert host.run("fairq", "submit", "--", "/bin/sleep", "100000", user=user).returncode == 0
    shown = host.shell("fairq queue --af Owner", user="bob")
    assert shown.split() == ["ann", "bob"]
    assert host.run("fairq", "-q", "remove", "1", user="bob").returncode == 101
    refused = host.run("sudo", "-n", "-u", "fairq", "/usr/lib/fairq/apply", "--socket", user="bob")
    assert "password" in refused.stderr


def run_a_cycle(host):
    """Run the command that cron would run, as cron would."""
    line = next(line for line in host.shell("cat /etc/cron.d/fairq").splitlines() if not line.startswith("#"))
    fields = line.split(None, 6)
    assert fields[5] == "fairq"
    host.shell(fields[6], user="fairq")


def test_the_line_of_cron_runs_a_cycle(host):
    run_a_cycle(host)
    assert host.shell("fairq queue --af JobStatus", user="ann").split() == ["2", "2"]


def test_a_connection_to_the_socket_is_the_second_way_to_the_same_program(host):
    edit = {"edits": [{"kind": "setfactor", "name": "bob@lab", "value": 5, "seconds": None}]}
    assert "done" in host.python(SOCKET, "socket", "ann", "hold", '{"jobs": ["1"]}')
    assert host.python(SOCKET, "socket", "bob", "release", '{"jobs": ["1"]}')["code"] == 101
    assert host.python(SOCKET, "socket", "bob", "userprio", json.dumps(edit))["code"] == 101
    assert "done" in host.python(SOCKET, "socket", "zoe", "userprio", json.dumps(edit))
    assert "done" in host.python(SOCKET, "socket", "ann", "release", '{"jobs": ["1"]}')


def test_a_socket_of_root_handed_to_sudo_proves_nothing(host):
    edit = {"edits": [{"kind": "setfactor", "name": "bob@lab", "value": 1, "seconds": None}]}
    refused = host.python(SOCKET, "sudo", "bob", "userprio", json.dumps(edit))
    assert refused["code"] == 101
    assert "bob may not" in refused["refused"]


def test_the_check_names_what_is_out_of_order_and_create_brings_it_into_order(host):
    assert {checks(host, user)[name][0] for user in ("root", "ann") for name in ("account", "program", "sudo")} == {
        "good"
    }
    host.shell("rm /etc/sudoers.d/fairq; chown ann /usr/lib/fairq/venv/bin; chmod 755 /var/lib/fairq")
    for user in ("root", "ann"):
        findings = checks(host, user)
        assert {findings[name][0] for name in ("account", "program", "sudo")} == {"fault"}
        assert "belongs to ann" in findings["program"][1]
    repaired = host.create("--yes")
    assert repaired.returncode == 0, repaired.stderr
    assert {checks(host)[name][0] for name in ("account", "program", "sudo")} == {"good"}


def test_a_rule_that_cannot_be_used_is_taken_back(host):
    host.shell("rm /etc/sudoers.d/fairq; sed -i /includedir/d /etc/sudoers")
    failed = host.create("--yes")
    assert failed.returncode == 122
    assert "@includedir" in failed.stderr
    assert host.shell("ls /etc/sudoers.d").split() == ["README"]
    host.shell("echo '@includedir /etc/sudoers.d' >> /etc/sudoers")
    assert host.create("--yes").returncode == 0


def test_units_pass_the_check_of_systemd(host):
    if host.run("sh", "-c", "command -v systemd-analyze").returncode:
        pytest.skip("needs systemd-analyze")
    written = """
import sys
from pathlib import Path
sys.path.insert(0, next(map(str, Path("/usr/lib/fairq/venv/lib").glob("python3*/site-packages"))))
from fairq.host.setup import units
from fairq.host.setup.store import cycle
python = Path("/usr/lib/fairq/venv/bin/python")
for name, text in {**units.cycle_units(7, cycle(python)), **units.socket_units()}.items():
    Path("/etc/systemd/system", name).write_text(text)
print("null")
"""
    host.python(written)
    units = "fairq.timer fairq.service fairq-apply.socket fairq-apply@x.service"
    ended = host.run("sh", "-c", f"cd /etc/systemd/system && systemd-analyze verify --man=no {units}")
    assert (ended.returncode, "fairq" in ended.stderr) == (0, False), ended.stderr
    host.shell("rm /etc/systemd/system/fairq*")


def test_a_pool_with_running_jobs_is_not_removed_unless_told(host):
    run_a_cycle(host)
    refused = host.run("fairq", "pool", "remove", "--yes")
    assert (refused.returncode, "there are 2 running jobs" in refused.stderr) == (111, True)
    assert checks(host)["sudo"][0] == "good"
    removed = host.run("fairq", "pool", "remove", "--yes", "--force")
    assert (removed.returncode, removed.stdout) == (0, "The pool of this host is removed.\n"), removed.stderr
    assert host.shell("stat -c '%A %U' /var/lib/fairq /var/lib/fairq/pool.db").split() == [
        "drwx------", "root", "-rw-------", "root",
    ]  # fmt: skip
    assert host.run("ls", "/usr/lib/fairq").returncode != 0
    assert host.shell("sudo -l -U ann") == host.shell("sudo -l -U daemon").replace("daemon", "ann")


def test_a_later_pool_goes_on_with_the_kept_state_and_a_purge_leaves_nothing(host):
    assert host.create("--yes").returncode == 0
    assert host.shell("fairq queue --af Owner JobStatus", user="ann").split() == ["ann", "1", "bob", "1"]
    assert host.run("fairq", "pool", "remove", "--yes", "--purge", "-q").returncode == 0
    assert host.shell("ls /var/lib").split() == ["sudo"]
    assert "fairq" not in host.shell("cat /etc/passwd /etc/group")
    assert host.shell("cat /etc/xdg/fairq/fairq.toml").startswith('[accounting]\nuid_domain = "lab"  # ours')
    nothing = host.run("/usr/bin/env", "ls", "/etc/sudoers.d", "/etc/cron.d", "/usr/local/bin")
    assert "fairq" not in nothing.stdout
