"""Cycles that carve partitionable slots, killed in the middle."""

import json
import signal
import time

import pytest
from tests.processes.live import start

CORES, MACHINES = 64, 20


def cores(run, state):
    """Check the state; return how many cores the slots have together."""
    checked = run("--state", state, "state", "check")
    assert checked.code == 0, checked.err
    return sum(slot["Cpus"] for slot in json.loads(run("--state", state, "slots", "--json").out))


@pytest.mark.parametrize("seconds", [0.35, 0.5])
def test_a_killed_cycle_gave_nothing_away_or_all_of_it(run, state, seconds):
    """Cores are neither lost nor made, whenever cycle and finish are killed; the next ones go on."""
    fairq = ("--state", state)
    for number in range(MACHINES):
        assert run(*fairq, "slots", "add", f"m{number}", "--partitionable", "--cpus", CORES).code == 0
    assert run(*fairq, "submit", "--count", CORES * MACHINES, "--request-memory", 10, "--", "/bin/sleep", "9").code == 0
    for words in (["negotiate"], ["finish", "--all"]):
        process = start(state, *words)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert cores(run, state) == CORES * MACHINES
        run(*fairq, *words)
        assert cores(run, state) == CORES * MACHINES
    slots = json.loads(run(*fairq, "slots", "--json").out)
    assert [slot["Cpus"] for slot in slots] == [CORES] * MACHINES
