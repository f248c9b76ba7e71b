"""Submitting as real processes: killed in the middle, many at once with cycles between them."""

import json
import time

import pytest
from tests.processes.live import NOW, start, wait_for

PROCS = 5_000


def sound(run, state):
    checked = run("--state", state, "state", "check")
    assert checked.code == 0, checked.err


def queued(run, state, *words):
    """Return the jobs of the queue as cluster and proc."""
    lines = run("--state", state, "queue", *words, "--af", "ClusterId", "ProcId").out.splitlines()
    return [(int(cluster), int(proc)) for cluster, proc in map(str.split, lines)]


@pytest.mark.parametrize("first", [True, False], ids=["new state", "old state"])
@pytest.mark.parametrize("moment", [0.4, "writing", "written"])
def test_a_killed_submit_queued_all_or_nothing_and_the_next_one_completes(moment, first, run, state, tmp_path):
    """Each of five thousand jobs differs from the others, so that each is a record of its own."""
    items = "\n".join(f"input-{n} {n % 7 + 1}" for n in range(PROCS))
    description = tmp_path / "many.sub"
    description.write_text(
        f"executable = /bin/sleep\narguments = $(name)\nrequest_cpus = $(cpus)\nqueue name, cpus from (\n{items}\n)\n"
    )
    before = 0 if first else 1
    if not first:
        assert run("--state", state, "submit", "--now", NOW, "--", "/bin/sleep", "1").code == 0
    journal = state.with_name(state.name + "-journal")
    with start(state, "submit", description, "--now", NOW) as submit:
        if isinstance(moment, float):
            time.sleep(moment)
        else:
            wait_for(journal, submit)
            time.sleep(0.02 if moment == "written" else 0)
        submit.kill()
    if not first or state.exists():
        sound(run, state)
    jobs = queued(run, state)
    assert len(jobs) in (before, before + PROCS)
    with start(state, "submit", description, "--now", NOW) as again:
        assert again.communicate(timeout=60)[1].startswith("WARNING: the jobs of this cluster")
        assert again.returncode == 0
    sound(run, state)
    after = queued(run, state)
    assert len(set(after)) == len(after) == len(jobs) + PROCS
    assert max(after)[1] == PROCS - 1


def test_twenty_submitters_and_two_crons_at_once_lose_and_double_nothing(run, state):
    """What is matched meanwhile runs once, what is not still waits; the next cycle matches the rest."""
    assert run("--state", state, "slots", "add", "node", "--count", "30", "--memory", "2GB", "--now", NOW).code == 0
    words = ["--count", "3", "--now", NOW, "--", "/bin/sleep", "60"]
    submits = [start(state, "-q", "submit", "--accounting-group-user", f"user{n}", *words) for n in range(20)]
    cycles = [start(state, "-q", "negotiate", "--now", NOW) for _ in range(2)]
    for process in submits:
        assert (process.communicate(timeout=120)[1], process.returncode) == ("", 0)
    for process in cycles:
        process.communicate(timeout=120)
        assert process.returncode in (0, 75)
    assert run("--state", state, "negotiate", "--now", NOW + 1).code == 0
    sound(run, state)
    assert sorted(queued(run, state)) == [(cluster, proc) for cluster in range(1, 21) for proc in range(3)]
    assert len(queued(run, state, "--running")) == 30
    slots = json.loads(run("--state", state, "slots", "--json").out)
    assert len({slot["JobId"] for slot in slots}) == 30
    assert [path.name for path in state.parent.iterdir()] == [state.name]
