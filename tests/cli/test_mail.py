"""Mail on trouble only: about jobs to their users, about the pool to its administrator."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairq.records import JobStatus, Launch, LaunchPhase
from fairq.settings import load
from fairq.steps.launch.notify import notify
from fairq.steps.launch.outcome import Outcome
from fairq.steps.pool import check

Run = Callable[..., Any]

NOW = 1_795_000_000
PROGRAM = """
import json, sys
with open(sys.argv[1], "a") as file:
    file.write(json.dumps([sys.argv[2], sys.argv[3], sys.stdin.read()]) + "\\n")
"""


@pytest.fixture
def mailbox(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that mails go to."""
    monkeypatch.setattr(check, "_CRON_PLACES", ())
    monkeypatch.setattr(check, "_UNIT_PLACES", ())
    monkeypatch.setenv("PATH", "/nonexistent")
    program, box = tmp_path / "mail.py", tmp_path / "box"
    program.write_text(PROGRAM)
    command = f"{sys.executable} {program} {box} {{to}} {{subject}}"
    Path(f"{state}.toml").write_text(f'[mail]\ncommand = "{command}"\nadministrator = "admin@x"\n')
    return box


def mails(box: Path) -> list[list[str]]:
    return [json.loads(line) for line in box.read_text().splitlines()] if box.exists() else []


def pool(run: Run, state: Path, later: int) -> tuple[int, str]:
    ended = run("--state", state, "pool", "check", "--mail", "--now", NOW + later)
    return ended.code, ended.out + ended.err


def test_trouble_is_told_once_and_once_more_when_it_is_over(run: Run, state: Path, mailbox: Path) -> None:
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


def test_a_mail_that_was_not_sent_is_sent_later(run: Run, state: Path, mailbox: Path) -> None:
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


def test_without_a_command_the_cure_is_told(run: Run, state: Path) -> None:
    ended = run("--state", state, "pool", "check", "--mail")
    assert ended.code == 115
    assert "mail.command is not set" in ended.err


ENDS = {
    "well": (Outcome(JobStatus.COMPLETED, "finished"), {"exit_code": 0, "signal": None}),
    "badly": (Outcome(JobStatus.COMPLETED, "finished"), {"exit_code": 3, "signal": None}),
    "killed": (Outcome(JobStatus.COMPLETED, "finished"), {"exit_code": None, "signal": 9}),
    "held": (Outcome(JobStatus.HELD, "held", "too much memory", 34, 102), {"exit_code": None, "signal": None}),
    "held by its user": (Outcome(JobStatus.HELD, "held", "held by u", 1, 0), {"exit_code": None, "signal": None}),
}


@pytest.mark.parametrize(
    ("notification", "told"),
    [
        ("never", set()),
        ("complete", {"well", "badly", "killed"}),
        ("error", {"badly", "killed", "held"}),
        ("always", set(ENDS)),
    ],
)
def test_a_user_is_told_what_the_submit_description_asks_for(
    run: Run, state: Path, mailbox: Path, tmp_path: Path, notification: str, told: set[str]
) -> None:
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
        assert notify(state, settings, [(launch, what)]) == []
    names = {f"fairq job 1.{proc}": name for proc, name in enumerate(ENDS)}
    assert {names[" ".join(subject.split()[:3])] for _, subject, _ in mails(mailbox)} == told
    assert all(to == "ann@example.org" for to, _, _ in mails(mailbox))


def test_what_is_no_address_gets_no_mail(state: Path, mailbox: Path) -> None:
    from fairq.steps.mail import Mailer

    mailer = Mailer.of(load(None, state, {}))
    for address in ("-oQ/tmp", "a b", "a\nb", "", "$(x)"):
        assert "it is no address" in str(mailer.send(address, "s", "t"))
    assert mailer.send("ann", "two\nlines; $(x)", "t") is None
    assert mails(mailbox) == [["ann", "two lines; $(x)", "t"]]
