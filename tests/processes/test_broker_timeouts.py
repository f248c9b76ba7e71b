"""``broker timeouts --apply`` as a real process, killed at any moment."""

import json
import shutil
import signal
import time

import pytest
from tests.processes.live import start

from fairq.state import history
from fairq.state.connection import reading

NOW = 1_795_210_080
JOBS = 5000


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Where the pool is kept once it was made."""
    return tmp_path_factory.mktemp("timeouts") / "filled.db"


@pytest.fixture
def pool(filled, run, state, tmp_path):
    """Many jobs of one task that wait too long, and their queue."""
    if not filled.exists():
        job = {"jobStatus": "defined", "computingSite": "Q", "jediTaskID": 1, "modificationTime": NOW - 9 * 3600}
        content = {
            "queues": {"Q": {"status": "online", "type": "unified", "cloud": "DE"}},
            "tasks": [{"jediTaskID": 1, "status": "assigned"}],
            "jobs": [{"PandaID": number, **job} for number in range(JOBS)],
        }
        for kind, records in content.items():
            file = tmp_path / kind
            file.write_text(json.dumps(records))
            assert run("--state", filled, "broker", kind, "import", file).code == 0
    shutil.copy(filled, state)
    return state


def stored(run, state):
    """The states of the jobs, that of the task, the closed jobs counted, and the jobs in the history."""
    assert run("--state", state, "state", "check").code == 0

    def records(kind):
        return json.loads(run("--state", state, "broker", kind, "--json").out)

    with reading(state) as opened:
        told = sum(entry.subject.startswith("broker job ") for entry in history.load(opened))
    (task,) = records("tasks")
    return (
        {job["jobStatus"] for job in records("jobs")},
        task["status"],
        [one["closed"] for one in records("outcomes")],
        told,
    )


@pytest.mark.parametrize("seconds", [0.35, 0.5, 0.65])
def test_killed_it_has_ended_all_jobs_or_none(run, pool, seconds):
    process = start(pool, "broker", "timeouts", "--apply", "--now", NOW)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert stored(run, pool) in (
        ({"defined"}, "assigned", [], 0),
        ({"closed"}, "ready", [JOBS], JOBS),
    )
    assert run("--state", pool, "broker", "timeouts", "--apply", "--now", NOW).code == 0
    assert stored(run, pool) == ({"closed"}, "ready", [JOBS], JOBS)
