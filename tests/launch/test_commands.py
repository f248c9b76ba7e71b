"""run, wait, tail and log, and what the queue shows of jobs that run, are matched and are held."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest
from tests.launch.conftest import is_alive, until


def start_run(pool, *words, **options):
    line = [sys.executable, "-m", "fairq", "run", "--state", str(pool.state), *words]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_run_until_idle_starts_every_job_and_tells_of_each(pool):
    pool.slots(1)
    pool.submit("exit $FAIRQ_PROCESS", "--count", 3)
    printed = pool.done("run", "--until-idle").splitlines()
    assert printed[-2:] == ["1.2 started on here", "1.2 finished with exit code 2"]
    assert pool.queue() == {}
    assert len(pool.export()["runs"]) == 3


def test_run_until_idle_goes_on_after_a_cycle_all_of_whose_jobs_are_held_at_their_start(pool):
    pool.slots(2)
    pool.submit("true", "--count", 4, "--attribute", 'JobNotification=strcat("a", "b")')
    pool.submit("true", "--count", 3)
    pool.done("run", "--until-idle")
    assert {(ad["JobStatus"], ad["ClusterId"]) for ad in pool.queue().values()} == {(5, 1)}
    assert [ad["ClusterId"] for ad in json.loads(pool.done("history", "--json"))] == [2, 2, 2]


def test_a_job_without_a_program_is_held_for_that(pool):
    pool.slots(1)
    pool.submit("true", "--attribute", "Cmd=undefined")
    pool.turn()
    assert pool.queue()["1.0"]["HoldReason"] == "its attribute Cmd cannot be used: it names no program"


def test_run_notices_a_submit_and_goes_on_until_it_is_interrupted(pool):
    pool.slots(1)
    running = start_run(pool, "--every", "1h")
    try:
        until(lambda: pool.export()["cycles"], "a first cycle")
        pool.submit("echo $$ > pid; exec sleep 600")
        job = pool.pid_in("pid")
    finally:
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
    assert (running.returncode, "1 job still running" in err, "Traceback" in err) == (130, True, False)
    assert is_alive(job)


def test_run_with_stop_ends_its_jobs_which_wait_again(pool):
    pool.slots(1)
    pool.submit("echo $$ > pid; exec sleep 600")
    running = start_run(pool, "--stop")
    job = pool.pid_in("pid")
    until(lambda: pool.export()["launches"][0]["phase"] == "started", "the record of the start")
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=60)
    assert not is_alive(job)
    assert pool.queue()["1.0"]["JobStatus"] == 1
    assert pool.export()["claims"] == []


def test_run_says_what_is_left(pool):
    pool.slots(1, "--memory", "1GB")
    pool.submit("true", "--request-memory", "2GB")
    ended = pool("run", "--until-idle")
    assert (ended.code, "1 idle job left that fit no free slot" in ended.err) == (0, True)
    pool("remove", "--all", "--yes")
    pool.submit("true", "--begin", "+1d")
    ended = pool("run", "--until-idle")
    assert (ended.code, ended.err) == (0, "1 job waits for other jobs or for a time; 'fairq queue' shows for what\n")


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("sleep 0.5; exit 3", 3)]
)
def test_wait_ends_as_the_job_does(pool, script, code):
    pool.slots(1)
    pool.submit(script)
    pool.turn()
    assert pool("wait", "1.0").code == code
    assert pool("wait", "1").code == code


def test_wait_tells_held_removed_and_unknown_jobs_and_a_timeout_apart(pool):
    pool.slots(1)
    for _ in range(3):
        pool.submit("true")
    pool.done("hold", "1.0", "--reason", "later")
    pool.submit("exec sleep 600")
    pool.turn()
    assert (pool("wait", "1.0").code, "held: later" in pool("wait", "1.0").err) == (91, True)
    assert pool("wait", "4.0", "--timeout", "1").code == 93
    pool.done("remove", "4.0")
    assert pool("wait", "4.0").code == 92
    assert pool("wait", "9").code == 30


def test_wait_for_any_ends_with_the_first(pool):
    pool.slots(2)
    pool.submit("exec sleep 600")
    pool.submit("exit 5")
    pool.turn()
    assert pool("wait", "1", "2", "--any").code == 5
    pool.done("submit", "--name", "pair", "--", "sh", "-c", "exit 6")
    pool.turn()
    assert pool("wait", "pair").code == 6


def test_tail_shows_output_that_no_file_was_named_for(pool, fairq):
    pool.slots(1)
    pool.submit("seq 20; echo wrong >&2")
    assert pool("tail", "1.0").code == 89
    pool.turn()
    pool.settled("1.0")
    assert fairq("tail", "--state", pool.state, "1.0", "--lines", 3).out == "18\n19\n20\n"
    assert fairq("tail", "--state", pool.state, "1.0", "--err").out == "wrong\n"
    assert len(fairq("tail", "--state", pool.state, "1").out.splitlines()) == 10


def test_tail_follows_until_the_job_ends(pool, fairq):
    pool.slots(1)
    pool.submit("for n in 1 2 3; do echo $n; sleep 0.3; done", "--output", "out")
    pool.turn()
    assert fairq("tail", "--state", pool.state, "1.0", "-f").out == "1\n2\n3\n"


def test_tail_shows_several_jobs_below_their_names(pool, fairq):
    pool.slots(1)
    pool.done("submit", "--each", "red", "--each", "blue", "--", "/bin/echo", "{}")
    pool.submit("printf 'no end of line'")
    pool.submit("echo late")
    tail = ("tail", "--state", pool.state)
    pool.done("hold", "3")
    pool.done("run", "--until-idle")
    shown = fairq(*tail, "1.0-1", "2", "3")
    assert shown.out == "==> 1.0 <==\nred\n\n==> 1.1 <==\nblue\n\n==> 2.0 <==\nno end of line"
    assert "job 3.0 has not run yet" in shown.err
    following = subprocess.Popen(
        [sys.executable, "-m", "fairq", *map(str, tail), "2", "3", "-f"], stdout=subprocess.PIPE, text=True
    )
    pool.done("release", "3")
    pool.done("run", "--until-idle")
    assert following.communicate()[0] == "==> 2.0 <==\nno end of line\n\n==> 3.0 <==\nlate\n"
    assert pool("tail", "1.0-100").code == 2


def test_nothing_in_the_output_of_a_job_steers_the_terminal(pool):
    pool.slots(1)
    pool.submit(r"printf '\033[2Jred\a\377 caf\303\251\n'")
    pool.turn()
    pool.settled("1.0")
    master, slave = pty.openpty()
    line = [sys.executable, "-m", "fairq", "tail", "--state", str(pool.state), "1.0"]
    subprocess.run(line, stdout=slave, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    os.close(slave)
    assert os.read(master, 1000) == "\\x1b[2Jred\\x07\\udcff café\r\n".encode()
    os.close(master)


def test_the_event_log_is_read_by_htcondors_reader(pool):
    import htcondor2

    pool.slots(1)
    log = pool.work / "job.log"
    pool.submit("exit 3", "--log", log)
    pool.submit("kill -11 $$", "--log", log)
    pool.submit("exit 1", "--log", log, "--attribute", "OnExitHold=ExitCode == 1", "--attribute",
                'OnExitHoldReason="two\nlines"')  # fmt: skip
    pool.submit("exit 0", "--log", log, "--attribute", "JobMaxRetries=1", "--attribute", "JobSuccessExitCode=5")
    pool.done("run", "--until-idle")
    pool.done("release", "3.0")
    pool.done("remove", "3.0")
    with htcondor2.JobEventLog(str(log)) as events:
        event_rows = [(event.cluster, int(event.type), dict(event)) for event in events.events(0)]
    by_job = {cluster: [kind for job, kind, _ in event_rows if job == cluster] for cluster in (1, 2, 3, 4)}
    assert by_job == {1: [0, 1, 5], 2: [0, 1, 5], 3: [0, 1, 12, 13, 9], 4: [0, 1, 4, 1, 5]}
    ends = {job: ad for job, kind, ad in event_rows if kind == 5}
    assert (ends[1]["ReturnValue"], ends[2]["TerminatedBySignal"]) == (3, 11)
    held_lines = next(ad for _, kind, ad in event_rows if kind == 12)
    assert (held_lines["HoldReason"], held_lines["HoldReasonCode"]) == ("two lines", 3)


def test_a_torn_event_is_cut_off_before_the_next_one(pool):
    import htcondor2

    pool.slots(1)
    log = pool.work / "job.log"
    pool.submit("exit 3", "--log", log)
    with log.open("a") as file:
        file.write("001 (001.000.000) 2026-11-22 07:")
    pool.done("run", "--until-idle")
    with htcondor2.JobEventLog(str(log)) as events:
        assert [int(event.type) for event in events.events(0)] == [0, 1, 5]


def test_a_log_that_cannot_be_written_is_told_and_written_later(pool):
    pool.slots(1)
    log = pool.work / "missing" / "job.log"
    log.parent.mkdir()
    pool.submit("rm -r missing", "--log", log)
    assert f"{log} cannot be written: No such file" in pool("run", "--until-idle").err
    assert pool.queue() == {}
    log.parent.mkdir()
    pool.done("negotiate")
    assert "Job terminated." in log.read_text()


def test_log_shows_what_happened(pool):
    pool.slots(1)
    pool.submit("exit 4")
    pool.done("run", "--until-idle")
    events = json.loads(pool.done("log", "1.0", "--json"))
    assert [event["Event"] for event in events] == ["submitted", "started", "ended"]
    assert events[-1]["Detail"].startswith("exit code 4")
    assert pool("log", "2.0").code == 30


def test_the_queue_tells_what_runs_from_what_is_matched_only(pool):
    pool.slots(1)
    pool.done("slots", "add", "elsewhere", "--count", 2)
    pool.submit("exec sleep 600", "--count", 4)
    pool.turn()
    lines = pool.done("queue").splitlines()
    assert sorted(line.split()[5] for line in lines[1:-2]) == ["I", "M", "R"]
    assert lines[-1] == "4 jobs; 0 completed, 0 removed, 1 idle, 1 running, 0 held, 0 suspended, 2 matched"


def test_the_queue_shows_why_jobs_are_held(pool):
    pool.slots(1)
    pool.submit("true")
    pool.done("hold", "1.0", "--reason", "not yet")
    held_lines = pool.done("queue", "--held").splitlines()
    assert (held_lines[0].split()[-2:], held_lines[1].split()[-3:]) == (["CODE", "HOLD_REASON"], ["1", "not", "yet"])


def test_what_is_kept_of_ended_runs_settles(pool, monkeypatch):
    monkeypatch.setenv("FAIRQ_LAUNCH_KEEP_HISTORY", "1000")
    pool.slots(1)
    now = int(time.time())
    for number in range(4):
        pool.submit("true", "--now", now + 600 * number)
        pool.turn("--now", now + 600 * number)
        assert pool("wait", number + 1).code == 0
    pool.turn("--now", now + 2000)
    document = pool.export()
    assert [record["cluster"] for record in document["launches"]] == [3, 4]
    assert {record["cluster"] for record in document["job_events"]} == {3, 4}
    assert len(list(pool.runs.iterdir())) == 2


def test_whoever_submits_at_a_terminal_hears_once_that_nothing_starts_jobs(pool):
    pool.done("slots", "add", "plain")

    def told():
        master, slave = pty.openpty()
        line = [sys.executable, "-m", "fairq", "submit", "--state", str(pool.state), "--", "/bin/true"]
        subprocess.run(line, stdout=subprocess.DEVNULL, stderr=slave, check=True)
        os.write(slave, b".")
        printed = os.read(master, 65536)
        os.close(master)
        os.close(slave)
        return b"no launcher: fairq matches jobs, but starts none" in printed

    assert [told(), told()] == [True, False]


def test_run_notices_a_submit_that_comes_in_the_middle_of_a_turn(pool, fairq):
    """A log that is locked keeps the turn busy after its match."""
    pool.slots(2)
    log = pool.work / "log"
    log.touch()
    descriptor = os.open(log, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    pool.submit("exec sleep 600", "--log", log)
    runner = subprocess.Popen(
        [sys.executable, "-m", "fairq", "-q", "run", "--state", str(pool.state), "--every", "10m"]
    )
    try:
        until(lambda: any(pool.runs.glob("*/begun")), "the start of the first job")
        pool.submit("touch second")
        until((pool.work / "second").exists, "the start of the second job")
    finally:
        runner.kill()
        runner.wait()
        os.close(descriptor)
