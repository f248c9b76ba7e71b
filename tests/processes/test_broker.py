"""Brokerage runs as real processes: killed at any moment, and two at once."""

import json
import shutil
import signal
import sqlite3
import time

import pytest
from tests.cli.broker_sample import NOW, POOL, TASK, fill
from tests.processes.live import start, wait_for

from fairq.state import broker_cycles
from fairq.state.connection import reading

TASKS = 1500


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Where the pool is kept once it was made."""
    return tmp_path_factory.mktemp("broker") / "filled.db"


@pytest.fixture
def pool(filled, run, state):
    """Many tasks over many queues."""
    if not filled.exists():
        queues = [queue | {"name": f"{queue['name']}{n}"} for queue in POOL["queues"] for n in range(40)]
        fill(
            run, filled, filled.parent, queues=queues,
            relations=[{"queue": queue["name"], "rse": f"{queue['atlas_site']}_DISK"} for queue in queues],
            pilots=[{"queue": queue["name"], "getJob": 5} for queue in queues],
            tasks=[TASK | {"jediTaskID": task} for task in range(1, TASKS + 1)],
        )  # fmt: skip
    shutil.copy(filled, state)
    return state


def sidecar(state):
    return state.with_name(state.name + ".broker")


def stored(run, state):
    """The states of the tasks, how many verdicts are kept, and the number of the next run."""
    assert run("--state", state, "state", "check").code == 0
    tasks = json.loads(run("--state", state, "broker", "tasks", "--json").out)
    with reading(state) as opened:
        verdicts = len(broker_cycles.load_verdicts(opened))
        return {task["status"] for task in tasks}, verdicts, broker_cycles.next_number(opened)


@pytest.mark.parametrize("seconds", [0, 0.15, 0.3, 0.45, 0.6])
def test_a_killed_run_decided_about_all_tasks_or_about_none(run, pool, seconds):
    process = start(pool, "broker", "run", "--now", NOW)
    wait_for(sidecar(pool), process)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert stored(run, pool) in (({"ready"}, 0, 1), ({"assigned"}, TASKS, 2))
    assert run("--state", pool, "broker", "run", "--all", "--now", NOW).code == 0


def test_of_two_runs_at_once_one_works_and_one_says_to_try_later(run, pool):
    """The first one has the lock of brokerage runs, and says that it waits for somebody who writes the state."""
    writer = sqlite3.connect(pool, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    first = start(pool, "broker", "run", "--now", NOW)
    assert first.stderr is not None
    assert first.stderr.readline().startswith(f"waiting for {pool}")

    second = start(pool, "broker", "run", "--now", NOW)
    _, said = second.communicate(timeout=60)
    writer.execute("ROLLBACK")
    writer.close()
    first.communicate(timeout=60)

    assert (second.returncode, "another brokerage run is running on" in said) == (75, True)
    assert first.returncode == 0
    assert stored(run, pool) == ({"assigned"}, TASKS, 2)
    assert not sidecar(pool).exists()
