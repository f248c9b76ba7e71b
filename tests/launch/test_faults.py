"""Whatever is killed, no job runs twice and none is forgotten, and what it held is what it is charged."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest
from msgspec.structs import asdict
from tests.launch.conftest import is_alive, until

from fairq.launch.interface import Assignment, Condition, Options
from fairq.launch.local import Local
from fairq.launch.supervisor.specification import complete
from fairq.launch.supervisor.watch import supervise

ONCE = "set -C; : > began.$FAIRQ_RUN || exit 9; echo $$ > pid.$FAIRQ_PROCESS;"
"""A run that was begun twice under its name exits with 9."""


def start_turn(pool, *words):
    line = [sys.executable, "-m", "fairq", "negotiate", "--state", str(pool.state), *words]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def change(pool, statement):
    """Change the state behind fairq's back, as a restored copy or another boot would."""
    with closing(sqlite3.connect(pool.state)) as connection:
        connection.create_function("fairq_crc32", 1, lambda text: __import__("zlib").crc32(text), deterministic=True)
        connection.execute(statement)
        connection.commit()


def test_a_turn_killed_at_any_instant_neither_loses_a_job_nor_starts_it_twice(pool):
    pool.slots(4)
    pool.submit(f"{ONCE} exec sleep 0.3", "--count", 12)
    chance = random.Random(4)
    for _ in range(10):
        turn = start_turn(pool)
        time.sleep(chance.uniform(0.15, 0.6))
        turn.kill()
        turn.wait()
    until(lambda: pool.turn() and not pool.queue(), "the end of all jobs")
    document = pool.export()
    assert sorted(run["proc"] for run in document["runs"]) == list(range(12))
    assert {run["exit_code"] for run in document["runs"]} == {0}
    assert len(list(pool.work.glob("began.*"))) == 12
    slot_seconds = sum(run["end_time"] - run["start_time"] for run in document["runs"])
    assert (
        sum(record["accumulated_usage"] for record in document["submitters"] if not record["is_group"]) == slot_seconds
    )
    pool.done("state", "check")


def test_a_job_whose_supervisor_was_killed_does_not_run_beside_its_next_run(pool, any_cgroup):
    pool.slots(1)
    pool.submit("setsid sleep 600 & echo $! > left; echo $$ >> pids; exec sleep 600")
    pool.turn()
    leftover, first = pool.pid_in("left"), pool.pid_in("pids")
    os.kill(pool.supervisor("1.0"), signal.SIGKILL)
    until(lambda: pool.turn() and len((pool.work / "pids").read_text().split()) == 2, "the next run")
    assert (is_alive(first), is_alive(leftover)) == (False, False)
    assert [run["how"] for run in pool.export()["runs"]] == ["lost"]
    history = json.loads(pool.done("state", "history", "--json"))
    assert any("supervisor was killed" in json.dumps(change) for change in history)


def test_a_job_whose_supervisor_was_killed_as_it_forked_does_not_start_later(tmp_path):
    run = "1.0-abc"
    run_directory = tmp_path / run
    run_directory.mkdir()
    mine = Assignment(run, ("/bin/sh", "-c", "echo $$ > pid; exec sleep 100"), str(tmp_path), {"FAIRQ_RUN": run})
    fork, enter = os.fork, os.chdir

    def killed():
        if fork():
            os.kill(os.getpid(), signal.SIGKILL)
        os.chdir = slowly
        return 0

    def slowly(path):
        time.sleep(0.5)
        enter(path)

    supervisor = fork()
    if supervisor == 0:
        os.fork = killed
        supervise(complete(asdict(mine), str(run_directory), 1 << 20, None), os.open(os.devnull, os.O_WRONLY))
    os.waitpid(supervisor, 0)
    launcher = Local(tmp_path, Options(cgroup="none"))
    until(lambda: launcher.look({run: None})[run].condition is Condition.LOST, "the loss")
    time.sleep(1)
    started = tmp_path / "pid"
    assert not (started.exists() and is_alive(int(started.read_text())))


def test_a_job_that_is_lost_too_often_is_held(pool, monkeypatch):
    monkeypatch.setenv("FAIRQ_LAUNCH_MAX_LOST", "1")
    pool.slots(1)
    pool.submit("exec sleep 600")
    for _ in range(2):
        pool.turn()
        os.kill(pool.supervisor("1.0"), signal.SIGKILL)
        pool.settled("1.0")
    ad = pool.queue()["1.0"]
    assert (ad["JobStatus"], ad["HoldReasonCode"]) == (5, 26)
    assert "2 of its runs were lost" in ad["HoldReason"]


def test_both_a_turn_and_supervisors_killed_at_once(pool):
    pool.slots(3)
    pool.submit(f"{ONCE} exec sleep 0.2", "--count", 6)
    chance = random.Random(7)
    for _ in range(5):
        turn = start_turn(pool)
        time.sleep(chance.uniform(0.3, 0.6))
        for launch in pool.export()["launches"]:
            if launch["phase"] == "started" and launch["pid"]:
                os.kill(launch["pid"], signal.SIGKILL)
        turn.kill()
        turn.wait()
    until(lambda: pool.turn() and not [1 for ad in pool.queue().values() if ad["JobStatus"] != 5], "the end")
    document = pool.export()
    finished = [run["proc"] for run in document["runs"] if run["how"] == "finished"]
    assert len(finished) == len(set(finished)) == 6 - len(pool.queue())
    slot_seconds = sum(run["end_time"] - run["start_time"] for run in document["runs"])
    assert (
        sum(record["accumulated_usage"] for record in document["submitters"] if not record["is_group"]) == slot_seconds
    )


def test_after_a_reboot_every_run_is_lost_at_once_and_nobody_is_killed(pool):
    pool.slots(1)
    pool.submit("echo $$ > pid; exec sleep 600")
    pool.turn()
    job, supervisor = pool.pid_in("pid"), pool.supervisor("1.0")
    (begun,) = pool.runs.glob("*/begun")
    os.kill(supervisor, signal.SIGKILL)
    content = json.loads(begun.read_text())
    begun.write_text(json.dumps({**content, "boot": "another"}))
    change(pool, "UPDATE launch SET boot = 'another'")
    pool.settled("1.0")
    assert is_alive(job)
    assert [run["how"] for run in pool.export()["runs"]] == ["lost"]
    os.kill(job, signal.SIGKILL)


def test_a_process_number_given_to_another_one_is_not_signalled(pool):
    pool.slots(1)
    pool.submit("exec sleep 600")
    pool.turn()
    os.kill(pool.supervisor("1.0"), signal.SIGKILL)
    bystander = subprocess.Popen(["sleep", "600"])
    (begun,) = pool.runs.glob("*/begun")
    begun.write_text(json.dumps({**json.loads(begun.read_text()), "pid": bystander.pid}))
    change(pool, f"UPDATE launch SET pid = {bystander.pid}")
    pool.done("remove", "1.0")
    assert pool.queue() == {}
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_a_step_of_the_clock_changes_no_charge(pool):
    pool.slots(1)
    pool.submit("exec sleep 1.5")
    pool.turn("--now", 1_800_000_000)
    pool.work.joinpath("x").touch()
    until(lambda: json.loads(pool.done("negotiate", "--collect-only", "--json", "--now", 1_799_990_000))["ended"],
          "the end")  # fmt: skip
    (run,) = pool.export()["runs"]
    assert run["start_time"] == 1_800_000_000
    assert 1 <= run["end_time"] - run["start_time"] < 30


def test_an_end_waits_for_a_locked_state(pool):
    pool.slots(1)
    pool.submit("true")
    pool.turn()
    with closing(sqlite3.connect(pool.state, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        until(lambda: list(pool.runs.glob("*/end")), "the end on disk")
        other.execute("ROLLBACK")
    assert [record["outcome"] for record in pool.settled("1.0")] == ["finished"]


def test_an_end_is_recorded_though_the_job_deletes_its_directory(pool):
    pool.slots(1)
    pool.submit(f'rm -rf "{pool.runs}"/* "{pool.work}"; exit 4')
    pool.turn()
    (ended,) = pool.settled("1.0")
    assert (ended["exit_code"], ended["outcome"]) == (4, "finished")


def test_a_damaged_record_of_the_end_counts_as_none(pool):
    pool.slots(1)
    pool.submit("exit 0")
    pool.turn()
    (end,) = until(lambda: list(pool.runs.glob("*/end")), "the end")
    end.write_text(end.read_text().replace('"exit_code": 0', '"exit_code": 1'))
    assert [record["outcome"] for record in pool.settled("1.0")] == ["lost"]


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a file system of its own")
def test_an_end_is_recorded_on_a_full_disk(pool, tmp_path, monkeypatch, run):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2M", "tmpfs", str(small)], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        pool.state = small / "state.db"
        pool.runs = small / "state.db.runs"
        pool.slots(1)
        pool.submit(f"while [ ! -e go ]; do sleep 0.01; done; cat /dev/zero > {small}/full; exit 5")
        pool.turn()
        (pool.work / "go").touch()
        until(lambda: list(pool.runs.glob("*/end")), "the end")
        (small / "full").unlink()
        (ended,) = pool.settled("1.0")
        assert ended["exit_code"] == 5
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)


def test_nothing_runs_on_that_an_older_copy_of_the_state_does_not_know(pool, tmp_path):
    pool.slots(1)
    pool.submit("echo $$ > pid; exec sleep 600")
    copy = tmp_path / "copy.db"
    pool.done("state", "backup", copy)
    pool.turn()
    job = pool.pid_in("pid")
    copy.replace(pool.state)
    (pool.work / "pid").unlink()
    pool.turn()
    assert not is_alive(job)
    assert pool.pid_in("pid") != job


def test_while_such_a_run_is_left_nothing_is_started(pool, tmp_path, monkeypatch):
    pool.slots(1)
    pool.submit("trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done")
    copy = tmp_path / "copy.db"
    pool.done("state", "backup", copy)
    pool.turn()
    job = pool.pid_in("pid")
    copy.replace(pool.state)
    ended = pool("negotiate", "--json")
    assert ("unknown to the state" in ended.err, json.loads(ended.out)["started"]) == (True, [])
    os.kill(job, signal.SIGKILL)
    until(lambda: pool.turn()["started"], "the start")
