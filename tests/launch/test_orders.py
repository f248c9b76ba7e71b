"""What ends a job before its time ends all of it, and tells why."""

import json

import pytest
from tests.launch.conftest import PYTHON, is_alive, until

STUBBORN = (
    "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$ > left; while :; do sleep 600; done' &); echo $$ > pid;"
)
"""A job that does not hear SIGTERM, with a process in a session of its own."""


def grace(monkeypatch, seconds):
    monkeypatch.setenv("FAIRQ_LAUNCH_GRACE", str(seconds))


@pytest.mark.parametrize("command", ["remove", "hold"])
def test_all_processes_of_a_job_end_before_its_slot_is_free(pool, any_cgroup, monkeypatch, command):
    grace(monkeypatch, 0.3)
    pool.slots(1)
    pool.submit(STUBBORN + " while :; do sleep 600; done")
    pool.turn()
    leftover, first = pool.pid_in("left"), pool.pid_in("pid")
    pool.done(command, "1.0", "--reason", "enough of it")
    assert not is_alive(leftover)
    assert not is_alive(first)
    document = pool.export()
    assert document["claims"] == []
    (run,) = document["runs"]
    assert run["how"] == {"remove": "removed", "hold": "held"}[command]
    if command == "remove":
        assert pool.queue() == {}
    else:
        ad = pool.queue()["1.0"]
        assert (ad["JobStatus"], ad["HoldReason"], ad["HoldReasonCode"]) == (5, "enough of it", 1)
        pool.done("release", "1.0")
        assert pool.turn()["started"][0]["job"] == "1.0"


def test_a_job_keeps_its_slot_until_its_grace_is_over(pool, monkeypatch):
    grace(monkeypatch, 600)
    pool.slots(1)
    pool.submit("trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done")
    pool.submit("true")
    pool.turn()
    job = pool.pid_in("pid")
    assert "processes of 1 job are still ending" in pool("remove", "1.0").err
    assert is_alive(job)
    assert pool.queue()["1.0"]["JobStatus"] == 2
    assert pool.turn()["matches"] == []


@pytest.mark.parametrize(("command", "heard"), [("remove", "USR1"), ("hold", "USR2"), ("drain", "INT")])
def test_the_job_hears_the_signal_of_the_order_first(pool, command, heard):
    pool.slots(1)
    traps = "".join(f"trap 'echo {name} > heard; exit 0' {name}; " for name in ("USR1", "USR2", "INT", "TERM"))
    script = pool.script(f"#!/bin/sh\n{traps}echo $$ > pid; while :; do sleep 0.05; done\n")
    (pool.work / "a.sub").write_text(
        f"executable = {script}\ninitialdir = {pool.work}\n"
        "kill_sig = SIGINT\nremove_kill_sig = SIGUSR1\nhold_kill_sig = 12\nqueue\n"
    )
    pool.done("submit", pool.work / "a.sub")
    pool.turn()
    pool.pid_in("pid")
    pool.done(*(("slots", "drain", "here", "--quick") if command == "drain" else (command, "1.0")))
    assert until(lambda: (pool.work / "heard").exists() and (pool.work / "heard").read_text()) == f"{heard}\n"


@pytest.mark.parametrize("command", ["remove", "hold"])
def test_without_a_signal_of_the_order_it_hears_kill_sig(pool, command):
    pool.slots(1)
    pool.submit("trap 'echo usr1 > heard; exit 0' USR1; echo $$ > pid; while :; do sleep 0.05; done",
                "--attribute", 'KillSig="SIGUSR1"')  # fmt: skip
    pool.turn()
    pool.pid_in("pid")
    pool.done(command, "1.0")
    assert until(lambda: (pool.work / "heard").exists() and (pool.work / "heard").read_text()) == "usr1\n"


def test_the_job_hears_its_own_signal_first(pool):
    pool.slots(1)
    pool.submit("trap 'echo usr1 > heard; exit 0' USR1; echo $$ > pid; while :; do sleep 0.05; done",
                "--attribute", 'KillSig="SIGUSR1"')  # fmt: skip
    pool.turn()
    pool.pid_in("pid")
    pool.done("remove", "1.0")
    until((pool.work / "heard").exists, "the signal")


@pytest.mark.parametrize(("attribute", "code"), [("AllowedExecuteDuration", 47), ("AllowedJobDuration", 46)])
def test_a_job_that_runs_too_long_is_ended_and_held(pool, monkeypatch, attribute, code):
    pool.slots(1)
    pool.submit("sleep 600", "--attribute", f"{attribute}=1")
    pool.turn()
    pool.settled("1.0")
    assert pool.queue()["1.0"]["HoldReasonCode"] == code


def test_a_preempted_job_is_gone_before_the_next_one_starts_and_runs_again_later(pool, monkeypatch):
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_PREEMPTION_REQUIREMENTS", "True")
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_NEGOTIATOR_CONSIDER_PREEMPTION", "true")
    pool.slots(1, "--attribute", "Rank=TARGET.Better =?= True")
    pool.submit("echo $$ >> first; exec sleep 600")
    pool.turn()
    first = pool.pid_in("first")
    pool.submit("kill -0 $(cat first) 2>/dev/null; echo $? > second", "--attribute", "Better=True")
    turn = pool.turn()
    assert [match["preempted"]["job"] for match in turn["matches"]] == ["1.0"]
    until(lambda: pool.turn() and (pool.work / "second").exists(), "the second job")
    assert not is_alive(first)
    assert until((pool.work / "second").read_text, "its verdict") == "1\n"
    until(lambda: pool.turn() and len((pool.work / "first").read_text().split()) == 2, "the first job again")
    assert [run["how"] for run in pool.export()["runs"]] == ["preempted", "finished"]


def test_a_slot_removed_by_force_ends_its_job_which_runs_elsewhere(pool):
    pool.slots(1)
    pool.submit("echo $$ >> pids; exec sleep 600")
    pool.turn()
    pool.pid_in("pids")
    pool.done("slots", "remove", "here", "--force")
    pool.done("slots", "add", "there", "--attribute", 'Launch="local"')
    until(lambda: pool.turn() and len((pool.work / "pids").read_text().split()) == 2, "a second run")
    first, second = map(int, (pool.work / "pids").read_text().split())
    assert (is_alive(first), is_alive(second)) == (False, True)


@pytest.mark.parametrize(
    ("attributes", "exits", "outcomes"),
    [
        (["JobMaxRetries=1"], [1, 1], ["requeued", "finished"]),
        (["JobMaxRetries=5"], [1, 0], ["requeued", "finished"]),
        (["JobMaxRetries=5", "JobSuccessExitCode=7"], [0, 7], ["requeued", "finished"]),
        (["JobMaxRetries=5", "RetryUntil=4"], [3, 4], ["requeued", "finished"]),
        (["RetryUntil=ExitCode > 10"], [1, 11], ["requeued", "finished"]),
        (["OnExitHold=ExitCode =?= 3", 'OnExitHoldReason="three"'], [3], ["held"]),
        (["OnExitHold=ExitCode != 0"], [0], ["finished"]),
        (["OnExitRemove=false"], [0, 0], ["requeued", "requeued"]),
    ],
)
def test_the_exit_code_decides_what_becomes_of_a_job(pool, attributes, exits, outcomes):
    pool.slots(1)
    (pool.work / "exits").write_text("".join(f"{code}\n" for code in exits))
    words = [word for attribute in attributes for word in ("--attribute", attribute)]
    pool.submit('code=$(head -n 1 exits); sed -i 1d exits; exit "$code"', *words)
    ends = []
    for _ in outcomes:
        pool.turn()
        ends += pool.settled("1.0")
    assert [(end["outcome"], end["exit_code"]) for end in ends] == list(zip(outcomes, exits, strict=True))


def test_a_death_by_signal_has_no_exit_code_and_is_retried(pool):
    pool.slots(1)
    pool.submit("kill -9 $$", "--attribute", "JobMaxRetries=3")
    pool.turn()
    (ended,) = pool.settled("1.0")
    assert (ended["signal"], ended["exit_code"], ended["outcome"]) == (9, None, "requeued")


def test_periodic_policies_hold_release_and_remove(pool):
    pool.slots(1)
    pool.submit("exec sleep 600", "--attribute", "PeriodicHold=JobStatus == 2 && NumJobStarts == 1",
                "--attribute", 'PeriodicHoldReason="ran once"', "--attribute", "PeriodicHoldSubCode=9",
                "--attribute", "PeriodicRelease=HoldReasonSubCode == 9",
                "--attribute", "PeriodicRemove=JobStatus == 2 && NumJobStarts == 2")  # fmt: skip
    pool.turn()
    runs = until(lambda: pool.turn("--no-launch") and pool.queue()["1.0"]["JobStatus"] in (1, 5, 2)
                 and pool.export()["runs"], "a hold")  # fmt: skip
    assert runs[0]["how"] == "held"
    until(lambda: pool.turn() and not pool.queue(), "a removal")
    assert [run["how"] for run in pool.export()["runs"]] == ["held", "removed"]


DOUBLE_FORK = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open('first', 'w').write(str(os.getpid()))
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open('second', 'w').write(str(os.getpid()))
    else:
        os._exit(0)
time.sleep(600)
"""


@pytest.mark.parametrize("schedule", ["--quick", "--fast"])
def test_draining_a_slot_can_end_the_whole_tree_of_its_job(pool, any_cgroup, schedule):
    pool.slots(1)
    grace = "1" if schedule == "--quick" else "600"
    pool.done(
        "submit", "--initialdir", pool.work, "--attribute", f"JobMaxVacateTime={grace}", "--", PYTHON, "-c", DOUBLE_FORK
    )
    pool.turn()
    pids = [pool.pid_in("first"), pool.pid_in("second")]
    assert pool.done("slots", "drain", "here", schedule) == "slot here is being drained\n1 job requeued\n"
    pool.settled("1.0")
    assert not any(map(is_alive, pids))
    assert pool.queue()["1.0"]["JobStatus"] == 1
    pool.turn()
    assert pool.queue()["1.0"]["JobStatus"] == 1
    (slot,) = json.loads(pool.done("slots", "--json"))
    assert slot["State"] == "Drained"


def test_a_drained_slot_finishes_its_job_unless_told_otherwise(pool):
    pool.slots(1)
    pool.submit("echo $$ > pid; exec sleep 1.5")
    pool.turn()
    pool.pid_in("pid")
    assert pool.done("slots", "drain", "here") == "slot here is being drained\n"
    (ended,) = pool.settled("1.0")
    assert (ended["outcome"], ended["exit_code"]) == ("finished", 0)


def test_a_grace_that_takes_too_long_can_be_cut_short(pool):
    pool.slots(1)
    program = ["--", PYTHON, "-c", DOUBLE_FORK]
    pool.done("submit", "--initialdir", pool.work, "--attribute", "JobMaxVacateTime=600", *program)
    pool.turn()
    pids = [pool.pid_in("first"), pool.pid_in("second")]
    pool.done("slots", "drain", "here", "--quick")
    assert all(map(is_alive, pids))
    pool.done("slots", "drain", "here", "--fast")
    pool.settled("1.0")
    assert not any(map(is_alive, pids))


def test_draining_requeues_what_only_is_matched(pool):
    pool.done("slots", "add", "plain")
    pool.done("submit", "--", "/bin/true")
    pool.turn()
    assert pool.queue()["1.0"]["JobStatus"] == 2
    pool.done("slots", "drain", "plain", "--fast")
    assert pool.queue()["1.0"]["JobStatus"] == 1
