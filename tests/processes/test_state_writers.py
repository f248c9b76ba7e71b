"""Many processes at one state: each change is there, once."""

import subprocess
import sys

from fairq.common.records import JobRange
from fairq.state import check, history, jobs, submitters
from fairq.state.connection import reading, writing

WRITERS = 8

SUBMITTER = """
import sys
from pathlib import Path
from fairq.common.records import JobRange
from fairq.state import jobs
from fairq.state.connection import writing

for _ in range(5):
    with writing(Path(sys.argv[1])) as state:
        cluster = jobs.next_cluster(state)
        ad = jobs.ad_id(state, {"Cmd": "/bin/sleep"})
        jobs.add(state, [JobRange(cluster, 0, 9, ad, sys.argv[2], "me", 1, 5, 5)])
"""


def run_all(*commands):
    """Run command lines at the same time; all must succeed."""
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) for command in commands]
    for process in running:
        _, error = process.communicate(timeout=120)
        assert (process.returncode, error) == (0, b"")


def test_first_commands_at_once_are_all_recorded(state):
    """None finds half a state, though the file does not exist when they begin."""
    names = [f"user{number}@x" for number in range(WRITERS)]
    fairq = [sys.executable, "-m", "fairq", "-q", "--state", str(state), "userprio", "--setfactor"]
    run_all(*([*fairq, name, "5"] for name in names))
    with reading(state) as opened:
        assert {entry.subject for entry in history.load(opened)} == set(names)
        assert len(history.load(opened)) == WRITERS
        assert {record.name for record in submitters.load_all(opened)} >= set(names)
        assert check.findings(opened) == []
    assert [path.name for path in state.parent.iterdir()] == [state.name]


def test_writers_at_once_lose_no_job_and_queue_none_twice(state):
    with writing(state) as opened:
        jobs.add(opened, [JobRange(1, 0, 9, jobs.ad_id(opened, {}), "first@x", "me", 1, 5, 5)])
    run_all(*([sys.executable, "-c", SUBMITTER, str(state), f"user{number}@x"] for number in range(WRITERS)))
    with reading(state) as opened:
        assert sorted(job.cluster for job in jobs.select(opened)) == list(range(1, 5 * WRITERS + 2))
        counts = jobs.counts_by_submitter(opened)
        assert counts == {"first@x": (10, 0, 0)} | {f"user{number}@x": (50, 0, 0) for number in range(WRITERS)}
