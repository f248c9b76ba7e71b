"""Mail on trouble only: about jobs to their users, about the pool to its administrator."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fairq.common import files
from fairq.common.records import Actor, Change, JobStatus, Launch, LaunchPhase
from fairq.settings import load
from fairq.state import history, launches, slots
from fairq.state.connection import writing
from fairq.state.cycle_lock import lock_file
from fairq.steps.launch.faults import Faults
from fairq.steps.launch.notify import notify
from fairq.steps.launch.outcome import Outcome
from fairq.steps.pool import check

NOW = 1_795_000_000
PROGRAM = """
import json, sys
with open(sys.argv[1], "a") as file:
    file.write(json.dumps([sys.argv[2], sys.argv[3], sys.stdin.read()]) + "\\n")
"""


@pytest.fixture
def mailbox(state, tmp_path, monkeypatch):
    """The file that mails go to."""
    monkeypatch.setattr(check, "_CRON_PLACES", ())
    monkeypatch.setattr(check, "_UNIT_PLACES", ())
    monkeypatch.setenv("PATH", "/nonexistent")
    program, box = tmp_path / "mail.py", tmp_path / "box"
    program.write_text(PROGRAM)
    command = f"{sys.executable} {program} {box} {{to}} {{subject}}"
    Path(f"{state}.toml").write_text(f'[mail]\ncommand = "{command}"\nadministrator = "admin@x"\n')
    return box


def mails(box):
    return [json.loads(line) for line in box.read_text().splitlines()] if box.exists() else []


def pool(run, state, later):
    ended = run("--state", state, "pool", "check", "--mail", "--now", NOW + later)
    return ended.code, ended.out + ended.err


def test_trouble_is_told_once_and_once_more_when_it_is_over(run, state, mailbox):
    for words in (["slots", "add", "node"], ["negotiate"]):
        assert run("--state", state, *words, "--now", NOW).code == 0
    assert pool(run, state, 60) == (0, "")
    assert mails(mailbox) == []
    assert pool(run, state, 7200) == (114, "")
    assert pool(run, state, 10800) == (114, "")
    ((to, subject, text),) = mails(mailbox)
    assert to == "admin@x"
    assert subject.endswith(": trouble, 2 new")
    assert "last cycle: cycle 1 was held 2h ago\n  cure: run 'fairq negotiate -q'" in text
    assert run("--state", state, "negotiate", "--now", NOW + 10900).code == 0
    assert pool(run, state, 10900) == (0, "")
    assert pool(run, state, 10960) == (0, "")
    assert [subject.rpartition(" ")[2] for _, subject, _ in mails(mailbox)] == ["new", "over"]
    assert "last cycle: over" in mails(mailbox)[1][2]


HOLD = """
import fcntl, sys
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read()
"""


def _hang(state):
    words = [sys.executable, "-c", HOLD, str(lock_file(state))]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()

    def mend():
        process.communicate()

    return mend


def _damage(state):
    content = state.read_bytes()
    state.write_bytes(b"no state" + content[8:])

    def mend():
        state.write_bytes(content)

    return mend


def _spoil(addition):
    def spoil(state):
        settings = Path(f"{state}.toml")
        right = settings.read_text()
        settings.write_text(right + addition)

        def mend():
            settings.write_text(right)

        return mend

    return spoil


def _break_slot(state):
    """What a collection does when jobs of three clusters in a row did not start on a slot."""
    actor = Actor("root", "fairq negotiate", NOW, administrator=True)
    with writing(state) as open_state:
        slots.set_draining(open_state, ["node"], True)
        after = {"Draining": True, "Reason": "jobs of 3 clusters in a row did not start on it"}
        history.record(open_state, actor, [Change("slot node", {"Draining": False}, after)])

    def mend():
        with writing(state) as open_state:
            slots.set_draining(open_state, ["node"], False)

    return mend


def _lose_supervisor(state):
    with writing(state) as open_state:
        launches.add(open_state, [Launch(0, "1.0-x", "local", "", 1, 0, "node", LaunchPhase.STARTED, NOW, "boot", 0.0,
                                         pid=2**22 - 1, pid_start=1)])  # fmt: skip

    def mend():
        with writing(state) as open_state:
            open_state.connection.execute("DELETE FROM launch")

    return mend


FAULTS: dict[str, tuple[str, Callable[[Path], Callable[[], None]], int, str]] = {
    "settings that cannot be read": ("settings", _spoil("[negotiator"), 60, "not valid TOML"),
    "a damaged state": ("state", _damage, 60, "not a fairq state file"),
    "a cron that stopped": ("last cycle", lambda _: lambda: None, 3600, "cycle 1 was held 1h ago"),
    "a clock that went back": ("clock", lambda _: lambda: None, -7200, "usage is charged up to"),
    "a cycle that hangs": ("lock", _hang, 3600, "a cycle has not ended for 1h: process"),
    "a slot that fails jobs": ("slots", _break_slot, 60, "jobs did not start on node"),
    "a launcher that is away": ("launcher", _spoil('[launch]\nkind = "moon"\n'), 60, "there is no launcher 'moon'"),
    "an engine that does not answer": (
        "launcher", _spoil('[launch]\nkind = "slurm"\n'), 60, "Slurm does not answer: scontrol is not installed",
    ),
    "no control group": (
        "cgroup", _spoil('[launch]\nkind = "local"\ncgroup = "/proc/nowhere"\n'), 60, "no control group can be made",
    ),
    "a supervisor that is gone": ("supervisor", _lose_supervisor, 60, "1 of 1 run has no supervisor: 1.0"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_told_once_and_once_more_when_it_is_over(run, state, mailbox, fault):
    name, breaks, later, words = FAULTS[fault]
    for command in (["slots", "add", "node"], ["negotiate"]):
        assert run("--state", state, *command, "--now", NOW).code == 0
    assert pool(run, state, 30) == (0, "")
    mend = breaks(state)
    assert pool(run, state, later) == (114, "")
    assert pool(run, state, later + 60) == (114, "")
    ((_, _, text),) = mails(mailbox)
    told = re.search(rf"^{name}: (.*)\n  cure: (.+)$", text, re.MULTILINE)
    assert told is not None
    assert words in told[1]
    mend()
    assert pool(run, state, 120) == (0, "")
    assert pool(run, state, 180) == (0, "")
    over = mails(mailbox)[1:]
    assert len(over) == 1
    assert re.search(rf"^{name}: over; ", over[0][2], re.MULTILINE)


def test_a_full_disk_is_told_once(run, state, mailbox, monkeypatch):
    """No file can be made any more; one that exists can be overwritten."""
    for command in (["slots", "add", "node"], ["negotiate"]):
        assert run("--state", state, *command, "--now", NOW).code == 0
    assert pool(run, state, 30) == (0, "")
    with monkeypatch.context() as full:
        full.setattr(check, "_LEAST_SPACE", 1 << 62)
        full.setattr(files, "create", _no_space)
        assert pool(run, state, 60) == (114, "")
        assert pool(run, state, 120) == (114, "")
    assert pool(run, state, 180) == (0, "")
    assert [subject.rpartition(" ")[2] for _, subject, _ in mails(mailbox)] == ["new", "over"]
    assert "MB free in" in mails(mailbox)[0][2]


def _no_space(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_cycle_that_failed_is_told_with_its_reason(run, state, mailbox):
    for command in (["slots", "add", "node"], ["negotiate"]):
        assert run("--state", state, *command, "--now", NOW).code == 0
    mend = _spoil('[launch]\nkind = "moon"\n')(state)
    assert run("--state", state, "negotiate", "--now", NOW + 60).code != 0
    mend()
    assert pool(run, state, 90) == (114, "")
    assert "last cycle: the cycle of 2026-" in mails(mailbox)[0][2]
    assert "failed: there is no launcher 'moon'" in mails(mailbox)[0][2]
    assert run("--state", state, "negotiate", "--now", NOW + 120).code == 0
    assert pool(run, state, 150) == (0, "")


def test_a_command_that_another_user_could_have_planted_is_not_run(run, state, mailbox):
    """Without readable settings, the command of the last check is used; not if others may write the file."""
    assert run("--state", state, "slots", "add", "node", "--now", NOW).code == 0
    Path(f"{state}.toml").write_text("[negotiator")
    planted = Path(f"{state}.troubles")
    document = {"told": {}, "command": f"{sys.executable} -c 1", "administrator": "x"}
    planted.write_text(json.dumps(document))
    planted.chmod(0o666)
    code, said = pool(run, state, 60)
    assert code == 114
    assert "settings" in said
    for garbage in ("", "[]", "{", '{"told": 7}'):
        planted.write_text(garbage)
        assert pool(run, state, 60)[0] == 114


def test_a_mail_that_was_not_sent_is_sent_later(run, state, mailbox):
    settings = Path(f"{state}.toml")
    right = settings.read_text()
    settings.write_text('[mail]\ncommand = "/nonexistent/mail"\n')
    assert run("--state", state, "slots", "add", "node").code == 0
    code, said = pool(run, state, 0)
    assert code == 114
    assert "correct mail.command" in said
    settings.write_text(right)
    assert pool(run, state, 0)[0] == 114
    assert len(mails(mailbox)) == 1


def test_without_a_command_the_cure_is_told(run, state):
    ended = run("--state", state, "pool", "check", "--mail")
    assert ended.code == 115
    assert "mail.command is not set" in ended.err


ENDS = {
    "well": (Outcome(JobStatus.COMPLETED, "finished"), {"exit_code": 0, "signal": None}),
    "badly": (Outcome(JobStatus.COMPLETED, "finished"), {"exit_code": 3, "signal": None}),
    "killed": (Outcome(JobStatus.COMPLETED, "finished"), {"exit_code": None, "signal": 9}),
    "held": (Outcome(JobStatus.HELD, "held", "too much memory", 34, 102), {"exit_code": None, "signal": None}),
    "held by its own policy": (Outcome(JobStatus.HELD, "held", "too long", 3, 0), {"exit_code": None, "signal": None}),
    "held by its user": (Outcome(JobStatus.HELD, "held", "held by u", 1, 0), {"exit_code": None, "signal": None}),
}


@pytest.mark.parametrize(
    ("notification", "told"),
    [
        ("never", set()),
        ("complete", {"well", "badly", "killed"}),
        ("error", {"badly", "killed", "held"}),
        ("always", set(ENDS)),
        ("start", set()),
    ],
)
def test_a_user_is_told_what_the_submit_description_asks_for(run, state, mailbox, tmp_path, notification, told):
    file = tmp_path / "job.sub"
    file.write_text(
        f"executable = /bin/true\nnotification = {notification}\nnotify_user = ann@example.org\nqueue {len(ENDS)}\n"
    )
    assert run("--state", state, "submit", file, "--now", NOW).code == 0
    assert run("--state", state, "slots", "add", "n", "--count", len(ENDS), "--now", NOW).code == 0
    assert run("--state", state, "negotiate", "--now", NOW + 5).code == 0
    settings = load(None, state, {})
    for proc, (what, facts) in enumerate(ENDS.values()):
        if what.status == JobStatus.COMPLETED:
            assert run("--state", state, "finish", f"1.{proc}", "--now", NOW + 60).code == 0
        launch = Launch(0, f"1.{proc}-x", "local", "", 1, proc, "n", LaunchPhase.ENDED, NOW + 5, "b", 0.0, ended=facts,
                        end_time=NOW + 60)  # fmt: skip
        assert notify(state, settings, [(launch, what)], faults=Faults()) == []
    names = {f"fairq job 1.{proc}": name for proc, name in enumerate(ENDS)}
    assert {names[" ".join(subject.split()[:3])] for _, subject, _ in mails(mailbox)} == told
    assert all(to == "ann@example.org" for to, _, _ in mails(mailbox))


def test_a_start_is_told_once_and_an_exit_code_may_mean_success(run, state, mailbox, tmp_path):
    """Job 1.0 asks for its start, 2.0 for errors; its exit code 3 is none."""
    for words in ("notification = start", "notification = error\nsuccess_exit_code = 3"):
        (tmp_path / "job.sub").write_text(f"executable = /bin/true\n{words}\nnotify_user = ann\nqueue\n")
        assert run("--state", state, "submit", tmp_path / "job.sub", "--now", NOW).code == 0
    assert run("--state", state, "slots", "add", "n", "--count", 2, "--now", NOW).code == 0
    assert run("--state", state, "negotiate", "--now", NOW + 5).code == 0
    settings = load(None, state, {})

    def launch(job, **facts):
        return Launch(0, f"{job}.0-x", "local", "", job, 0, "n", LaunchPhase.ENDED, NOW + 5, "b", 0.0, ended=facts,
                      end_time=NOW + 60)  # fmt: skip

    assert notify(state, settings, [], [launch(1), launch(2)], faults=Faults()) == []
    ((to, subject, text),) = mails(mailbox)
    assert (to, subject) == ("ann", "fairq job 1.0 started on n")
    assert "Ended" not in text
    for job, codes in ((1, 1), (2, 3)):
        assert run("--state", state, "finish", f"{job}.0", "--exit-code", codes, "--now", NOW + 60).code == 0
    done = Outcome(JobStatus.COMPLETED, "finished")
    assert (
        notify(state, settings, [(launch(1, exit_code=1), done), (launch(2, exit_code=3), done)], faults=Faults()) == []
    )
    assert len(mails(mailbox)) == 1
    assert notify(state, settings, [(launch(2, exit_code=0), done)], faults=Faults()) == []
    assert mails(mailbox)[1][1] == "fairq job 2.0 ended with exit code 0"


def test_what_is_no_address_gets_no_mail(state, mailbox):
    from fairq.steps.mail import Mailer

    mailer = Mailer.of(load(None, state, {}))
    for address in ("-oQ/tmp", "a b", "a\nb", "", "$(x)"):
        assert "it is no address" in str(mailer.send(address, "s", "t"))
    assert mailer.send("ann", "two\nlines; $(x)", "t") is None
    assert mails(mailbox) == [["ann", "two lines; $(x)", "t"]]


def test_a_job_that_asks_for_mail_without_a_mail_command_is_told_at_submit_and_by_the_check(
    run, state, mailbox, tmp_path
):
    (tmp_path / "a.sub").write_text("executable = /bin/sh\nnotification = $(kind)\nqueue kind in (never error)\n")
    words = ("--state", state, "submit", tmp_path / "a.sub")
    assert run(*words).err == ""
    Path(f"{state}.toml").unlink()
    assert run(*words).err == "WARNING: notification mails nothing: mail.command is not set\n"
    assert run("--state", state, "submit", "--", "/bin/sh").err == ""
    checks = {
        check["check"]: check for check in json.loads(run("--state", state, "pool", "check", "--json").out)["checks"]
    }
    assert (checks["mail"]["status"], checks["mail"]["detail"]) == (
        "fault", "jobs ask for mail, 1.1 among them, but mail.command is not set",
    )  # fmt: skip
    run("--state", state, "remove", "--all")
    checks = {
        check["check"]: check for check in json.loads(run("--state", state, "pool", "check", "--json").out)["checks"]
    }
    assert checks["mail"]["status"] == "not needed"
