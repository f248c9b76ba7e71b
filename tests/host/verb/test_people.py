"""Many people in the pool of a host, through real sudo: reading, privacy, lost answers, and tricks of users.

Runs where FAIRQ_TEST_SUDO is set, as root.
"""

import json
import os
import random
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.host.verb.host import ACCOUNT, ADMINISTRATOR, GROUP, MORE, SITE, USERS, as_user, fill, host, missing

from fairq.state import history, jobs
from fairq.state.connection import reading

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")

ANN, BOB, EVE = USERS


@pytest.fixture(scope="module")
def pool_host():
    """The host with jobs of three users."""
    with host() as created:
        fill(created)
        yield created


def document(verb, **arguments):
    members = {
        "fairq": 1, "id": os.urandom(16).hex(), "verb": verb, "command": "fairq", "reason": None,
        "arguments": arguments,
    }  # fmt: skip
    content = json.dumps(members).encode()
    return b"%d\n%s" % (len(content), content)


def call(pool_host, user, content):
    """Call the program by sudo as *user* and return its exit code and its answer."""
    words = ["/usr/bin/sudo", "-n", "-u", ACCOUNT, str(pool_host.program)]
    ended = subprocess.run(words, input=content, capture_output=True, check=False, timeout=120, **as_user(user))
    return ended.returncode, ended.stdout


def test_many_submitters_at_once_lose_nothing_and_queue_nothing_twice(pool_host):
    people = [*USERS, *MORE]

    def submit(number):
        user = people[number % len(people)]
        return pool_host.fairq(user, "submit", "--count", number + 1, "--", "/bin/echo", f"many-{number}").returncode

    with ThreadPoolExecutor(64) as pool:
        assert list(pool.map(submit, range(64))) == [0] * 64
    with reading(pool_host.state) as state:
        all_jobs = [job for job in jobs.select(state) if "Arguments" in str(job.own) or job.last_proc < 64]
        named = history.load(state)
    changes = [change for change in named if "many-" in change.command]
    assert sorted(change.after["Jobs"] for change in changes) == list(range(1, 65))
    assert {change.user for change in changes} == set(people)
    assert all(people[(change.after["Jobs"] - 1) % len(people)] == change.user for change in changes)
    assert len({job.cluster for job in all_jobs}) == 64 + 3


def test_an_answer_that_is_lost_is_asked_for_again(pool_host):
    """The caller's sudo here loses its first answer; the change is made once, and the caller hears that it was made."""
    fake, lost = pool_host.home(BOB) / "bin" / "sudo", pool_host.home(BOB) / "lost"
    fake.parent.mkdir()
    fake.write_text(
        f'#!/bin/sh\n[ -e {lost} ] && exec /usr/bin/sudo "$@"\ntouch {lost}\nexec /usr/bin/sudo "$@" >/dev/null\n'
    )
    fake.chmod(0o755)
    before = int(pool_host.fairq(BOB, "queue", "2.0", "--af", "JobPrio").stdout)
    lost.unlink(missing_ok=True)
    ended = pool_host.fairq(BOB, "prio", "+1", "2.0", PATH=f"{fake.parent}:/usr/bin:/bin")
    assert (ended.returncode, "stored" in ended.stderr, lost.exists()) == (73, True, True), ended.stderr
    assert int(pool_host.fairq(BOB, "queue", "2.0", "--af", "JobPrio").stdout) == before + 1


def test_everybody_reads_what_was_just_changed(pool_host):
    for number in range(3):
        assert pool_host.fairq(ANN, "prio", number, "1.1").returncode == 0
        for user in (ANN, BOB, ADMINISTRATOR, ACCOUNT):
            assert pool_host.fairq(user, "queue", "1.1", "--af", "JobPrio").stdout == f"{number}\n"


def test_a_reader_who_keeps_everything_locked_stops_nobody(pool_host):
    """A lock on the copy that everybody reads, on its directory, and a process that stands still with it."""
    pool_host.fairq(EVE, "queue")
    script = (
        "import fcntl, glob, os, sqlite3, sys, time\n"
        f"folder = {str(pool_host.state.parent / 'public')!r}\n"
        "file = glob.glob(folder + '/*')[0]\n"
        "db = sqlite3.connect('file:' + file + '?mode=ro', uri=True)\n"
        "db.execute('BEGIN'); db.execute('SELECT * FROM job').fetchall()\n"
        "kept = [open(file), os.open(folder, os.O_RDONLY)]\n"
        "for one in kept: fcntl.flock(one, fcntl.LOCK_EX)\n"
        "print('ready', flush=True)\ntime.sleep(600)\n"
    )
    reader = subprocess.Popen(["/usr/bin/python3", "-c", script], stdout=subprocess.PIPE, **as_user(EVE))
    try:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"ready\n"
        reader.send_signal(signal.SIGSTOP)
        assert pool_host.fairq(ANN, "prio", 77, "1.1").returncode == 0
        assert pool_host.fairq(BOB, "queue", "1.1", "--af", "JobPrio").stdout == "77\n"
        assert pool_host.fairq(ACCOUNT, "negotiate").returncode == 0
    finally:
        reader.kill()
        reader.communicate()


def test_what_users_configure_changes_no_rules(pool_host):
    config = pool_host.home(EVE) / ".config" / "fairq" / "fairq.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[pool]\nadministrators = ["{EVE}"]\n[accounting]\ndefault_prio_factor = 1.0\n[groups.mine]\n')
    trick = {"FAIRQ_POOL_ADMINISTRATORS": EVE, "FAIRQ_ACCOUNTING_DEFAULT_PRIO_FACTOR": "1"}
    try:
        assert pool_host.fairq(EVE, "remove", "1.1", "--dry-run", **trick).returncode == 101
        assert pool_host.fairq(EVE, "remove", "1.1", **trick).returncode == 101
        assert pool_host.fairq(EVE, "config", "get", "default_prio_factor", **trick).stdout == "1000.0\n"
        assert "mine" not in pool_host.fairq(EVE, "quotas", **trick).stdout
    finally:
        config.unlink()


def test_a_site_file_of_ones_own_leads_to_no_other_program(pool_host, tmp_path):
    own = pool_host.home(EVE) / "xdg" / "fairq" / "fairq.toml"
    own.parent.mkdir(parents=True)
    text = pool_host.site.read_text()
    for program, account in (("/usr/bin/id", ACCOUNT), (pool_host.program, "root"), ("/usr/bin/id", "root")):
        own.write_text(text.replace(str(pool_host.program), str(program)).replace(f'"{ACCOUNT}"', f'"{account}"'))
        ended = pool_host.fairq(EVE, "hold", "3.1", XDG_CONFIG_DIRS=str(own.parent.parent))
        assert (ended.returncode, ended.stdout) == (105, "")


def test_links_in_the_users_directories_lead_the_pool_nowhere(pool_host):
    """What is beside the state belongs to the account; links of a user are never followed by the program."""
    cache = pool_host.home(EVE) / ".cache"
    cache.symlink_to(pool_host.state.parent)
    pool_host.configure(SITE.replace("[accounting]", "private_jobs = true\n[accounting]"))
    before = sorted(path.name for path in pool_host.state.parent.iterdir())
    try:
        assert pool_host.fairq(EVE, "queue", "3.0").returncode == 0
    finally:
        cache.unlink()
        pool_host.configure(SITE)
    assert sorted({*before, "readers"}) == sorted(
        {path.name for path in pool_host.state.parent.iterdir()} | {"readers"}
    )


def test_of_private_jobs_others_read_nothing(pool_host):
    secrets = ["sec-arg", "sec-var", "sec-dir", "sec-out", "sec-reason", "sec-attr"]
    folder = pool_host.home(ANN) / "sec-dir"
    folder.mkdir()
    os.chown(folder, *(pool_host.home(ANN).stat().st_uid,) * 2)
    words = [
        "--environment", "A=sec-var", "--initialdir", folder, "--output", "sec-out.$(Process)", "--attribute",
        'Secret="sec-attr"', "--count", "4", "--", "/bin/echo", "sec-arg",
    ]  # fmt: skip
    pool_host.fairq(BOB, "queue")
    pool_host.configure(SITE.replace("[accounting]", "private_jobs = true\n[accounting]"))
    try:
        submitted = pool_host.fairq(ANN, "submit", *words)
        assert submitted.returncode == 0, submitted.stderr
        cluster = submitted.stdout.split()[-1].rstrip(".")
        assert pool_host.fairq(ANN, "hold", f"{cluster}.1", "--reason", "sec-reason").returncode == 0
        assert pool_host.fairq(ANN, "remove", f"{cluster}.2", "--reason", "sec-reason").returncode == 0
        assert pool_host.fairq(ANN, "submit", "--", "/bin/echo", "sec-arg").returncode == 0
        assert pool_host.fairq(ANN, "undo").returncode == 0
        assert pool_host.fairq(ACCOUNT, "negotiate").returncode == 0
        assert not list((pool_host.state.parent / "public").iterdir()) or pool_host.fairq(BOB, "queue").returncode == 0
        for words in (["queue", cluster], ["state", "history"], ["history"], ["why", f"{cluster}.0"], ["status"]):
            assert pool_host.fairq(BOB, *words).returncode in (0, 30), words
        assert not list((pool_host.state.parent / "public").iterdir())
        (copy,) = (pool_host.home(BOB) / ".cache" / "fairq" / "pools").rglob("*.db")
        content = copy.read_bytes()
        assert [secret for secret in secrets if secret.encode() in content] == []
        assert pool_host.fairq(BOB, "state", "check").returncode == 0
        assert pool_host.fairq(BOB, "queue", cluster, "--af", "Owner", "RequestCpus").stdout.startswith(f"{ANN} 1")
        for who in (ANN, ADMINISTRATOR):
            shown = pool_host.fairq(who, "queue", cluster, "--json").stdout
            assert all(secret in shown for secret in ("sec-arg", "sec-var", "sec-dir", "sec-attr"))
    finally:
        pool_host.configure(SITE)


def test_who_does_not_read_the_private_copy_stops_nobody(pool_host):
    pool_host.configure(SITE.replace("[accounting]", "private_jobs = true\n[accounting]"))
    words = ["/usr/bin/sudo", "-n", "-u", ACCOUNT, str(pool_host.program)]
    started = []
    try:
        for _ in range(4):
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **as_user(EVE))
            assert process.stdin is not None
            process.stdin.write(document("read"))
            process.stdin.close()
            started.append(process)
        assert pool_host.fairq(ANN, "prio", 5, "1.1").returncode == 0
        assert pool_host.fairq(BOB, "queue", "1.1", "--af", "JobPrio").stdout == "5\n"
    finally:
        for process in started:
            assert process.stdout is not None
            process.stdout.close()
            process.kill()
            process.wait()
        pool_host.configure(SITE)


def mutilated(dice, content):
    changed = bytearray(content)
    for _ in range(dice.randint(1, 4)):
        index, kind = dice.randrange(len(changed)), dice.randrange(3)
        if kind == 0:
            changed[index] = dice.randrange(256)
        elif kind == 1:
            del changed[index : index + dice.randint(1, 20)]
        else:
            changed[index:index] = dice.choice(
                [b"null", b"[", b"{}", b'"', b"1e9", b"-", b"\\u0000", b"true", b"ann", b"1"]
            )
    return bytes(changed)


def test_a_thousand_mutilated_documents_do_nothing(pool_host):
    """Whatever of it is a document still asks for others' jobs, or for what only administrators may do."""
    dice = random.Random(15)
    edit = {"kind": "setfactor", "name": "fqceve@lab", "value": 3, "seconds": None}
    ad = {"MyType": "Job", "Cmd": "/bin/true", "AccountingGroup": "physics.fqceve"}
    group = {"first": 0, "last": 9, "ad": 0, "own": None, "template": None, "priority": 0, "reason": None}
    kinds = [
        document("hold", jobs=["1.0", "2"]), document("prio", jobs=["1"], value=1, relative=True),
        document("userprio", edits=[edit]), document("submit", ads=[ad], groups=[group], cluster=None),
        document("slots add", slots=[{"name": "a", "ad": {"Cpus": 1}, "address": ""}]), document("undo", number=1),
        document("finish", jobs=["1"], end=None, exit_code=None),
    ]  # fmt: skip
    before = pool_host.state.read_bytes()

    def send(number):
        body = mutilated(random.Random(number), dice.choice(kinds).partition(b"\n")[2])
        content = b"%d\n%s" % (len(body), body) if number % 10 else mutilated(random.Random(number), kinds[0])
        code, answer = call(pool_host, MORE[0], content)
        # 1 would be an error that nobody thought of.
        assert code not in (0, 1), (code, answer, content)
        return code

    with ThreadPoolExecutor(4) as pool:
        assert {101, 106} <= set(pool.map(send, range(1000)))
    assert pool_host.state.read_bytes() == before


def test_nobody_keeps_the_names_of_the_group(pool_host):
    """Membership of a Unix group counts as the system has it now, not as the caller's process has it."""
    words = ["submit", "--accounting-group", "physics", "--", "/bin/true"]
    assert pool_host.fairq(ANN, *words).returncode == 0
    subprocess.run(["gpasswd", "-d", ANN, GROUP], check=True, capture_output=True)
    try:
        assert pool_host.fairq(ANN, *words).returncode == 101
    finally:
        subprocess.run(["gpasswd", "-a", ANN, GROUP], check=True, capture_output=True)
