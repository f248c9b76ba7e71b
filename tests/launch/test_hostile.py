"""Jobs that behave badly end or are reported, and hurt nobody else."""

import os
import subprocess
import sys

import pytest
from tests.launch.conftest import PYTHON, is_alive

from fairq.launch.processes import memory_of

FORKS = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.environ.clear()
            open('left', 'a').write(f'{os.getpid()}\\n')
            time.sleep(600)
        os._exit(0)
time.sleep(0.5)
sys.exit(int(sys.argv[1]))
"""

HOSTILE = {
    "forks away from its session": ([PYTHON, "-c", FORKS, "0"], "finished"),
    "floods its output": (["/bin/sh", "-c", "timeout 0.5 yes; exit 0"], "finished"),
    "closes its files": (["/bin/sh", "-c", "exec <&- >&- 2>&-; sleep 0.2; exit 0"], "finished"),
    "prints what is no text": (["/bin/sh", "-c", "head -c 100000 /dev/urandom"], "finished"),
    "stops itself, and is killed": (["/bin/sh", "-c", "(sleep 0.3; kill -9 $$) & kill -STOP $$"], "finished"),
    "kills its session": (["/bin/sh", "-c", "kill -9 0"], "finished"),
    "kills its supervisor": (["/bin/sh", "-c", "trap '' TERM; kill -9 $PPID; sleep 600"], "lost"),
    "deletes its directory": (["/bin/sh", "-c", 'cd ..; rm -rf "$_CONDOR_JOB_IWD"; exit 0'], "finished"),
    "fills memory": ([PYTHON, "-c", "b = []\nwhile True: b.append(bytearray(2_000_000))"], "held"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_job_ends_and_its_neighbour_does_not_notice(pool, any_cgroup, monkeypatch, name):
    monkeypatch.setenv("FAIRQ_LAUNCH_KEEP_OUTPUT", "1")
    program, outcome = HOSTILE[name]
    own = pool.work / "own"
    own.mkdir()
    pool.slots(2, "--memory", "2GB")
    pool.done("submit", "--initialdir", own, "--request-memory", 300, "--", *program)
    pool.submit("sleep 0.6; echo fine", "--output", "neighbour")
    pool.done("run", "--until-idle")
    document = pool.export()
    assert {run["cluster"]: run["how"] for run in document["runs"]} == {1: outcome, 2: "finished"}
    assert (pool.work / "neighbour").read_text() == "fine\n"
    assert document["claims"] == []
    tail = [sys.executable, "-m", "fairq", "tail", "--state", str(pool.state), "1.0"]
    assert subprocess.run(tail, stdout=subprocess.DEVNULL, check=False).returncode == 0
    kept_bytes = sum(file.stat().st_size for file in pool.runs.rglob("out"))
    assert kept_bytes < 2**20
    marker = own / "left"
    if marker.exists():
        assert not [pid for pid in marker.read_text().split() if is_alive(int(pid))]


def test_a_program_without_an_interpreter_line_is_held(pool):
    pool.slots(1)
    script = pool.work / "script"
    script.write_text("echo\n")
    script.chmod(0o755)
    pool.done("submit", "--", script)
    pool.done("run", "--until-idle")
    assert "script that begins with #!" in pool.queue()["1.0"]["HoldReason"]


def test_the_supervisor_of_a_job_is_small(pool):
    """Its own memory, what it shares with the others counted in part, is below 4 MB."""
    pool.slots(5)
    pool.submit("echo $$ > pid.$FAIRQ_PROCESS; exec sleep 600", "--count", 5)
    pool.turn()
    pids = [launch["pid"] for launch in pool.export()["launches"]]
    assert len(pids) == 5
    for pid in pids:
        assert memory_of(pid) < 4096


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a file system of its own")
def test_a_job_that_fills_the_disk_ends_and_the_pool_goes_on(pool, tmp_path):
    """State, kept output and scratch directory are on the full disk, too."""
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", str(small)], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        pool.state = small / "state.db"
        pool.runs = small / "state.db.runs"
        pool.slots(2)
        pool.submit('cat /dev/zero > "$_CONDOR_SCRATCH_DIR/full"; echo told >&2; exit 5')
        pool.submit("sleep 1; echo fine", "--output", "neighbour")
        pool.done("run", "--until-idle")
        codes = {run["cluster"]: (run["how"], run["exit_code"]) for run in pool.export()["runs"]}
        assert codes == {1: ("finished", 5), 2: ("finished", 0)}
        assert (pool.work / "neighbour").read_text() == "fine\n"
        assert not list(pool.runs.rglob("full"))
        pool.done("state", "check")
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)


def test_a_job_that_stops_its_supervisor_can_be_removed(pool):
    pool.slots(1)
    pool.submit("sleep 0.3; kill -STOP $PPID; echo $$ > pid; exec sleep 600")
    pool.turn()
    job = pool.pid_in("pid")
    pool.done("remove", "1.0")
    pool.settled("1.0")
    assert (pool.queue(), is_alive(job)) == ({}, False)
