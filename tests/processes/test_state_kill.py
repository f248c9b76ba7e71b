"""A process that is killed while it writes leaves the state as it was before, or as it is after."""

import signal
import subprocess
import sys
import time

import pytest

from fairq.common.records import SlotRecord
from fairq.state import check, meta, slots
from fairq.state.connection import reading, writing

SLOTS = 10_000

WRITER = f"""
import sys
from pathlib import Path
from fairq.common.records import SlotRecord
from fairq.state import meta, slots
from fairq.state.connection import writing

with writing(Path(sys.argv[1])) as state:
    # A small cache makes SQLite write into the file long before the end.
    state.connection.execute("PRAGMA cache_size = 20")
    print("begun", flush=True)
    meta.set(state, "cycle", "2")
    slots.replace_all(state, [SlotRecord(0, f"new{{n}}", {{"Memory": n}}) for n in range({SLOTS})])
print("done", flush=True)
"""


def killed_after(state, seconds):
    """Kill a writer *seconds* after it has begun, and tell whether it came to its end before."""
    with subprocess.Popen([sys.executable, "-c", WRITER, state], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begun\n"
        time.sleep(seconds)
        writer.send_signal(signal.SIGKILL)
        return writer.stdout.read() == "done\n"


@pytest.mark.parametrize("seconds", [0, 0.03, 0.06, 0.1])
def test_a_killed_write_happened_whole_or_not_at_all(state, seconds):
    with writing(state) as opened:
        meta.set(opened, "cycle", "1")
        slots.replace_all(opened, [SlotRecord(0, f"old{n}", {"Memory": n}) for n in range(1000)])
    done = killed_after(state, seconds)
    with reading(state) as opened:
        found = (meta.get(opened, "cycle"), slots.count(opened), slots.load_names(opened)[0])
        assert check.findings(opened) == []
    before, after = ("1", 1000, "old0"), ("2", SLOTS, "new0")
    assert found == after if done else found in (before, after)
    with writing(state) as opened:
        meta.set(opened, "cycle", "3")
    assert [path.name for path in state.parent.iterdir()] == [state.name]


@pytest.mark.parametrize("seconds", [0, 0.05])
def test_a_killed_first_write_leaves_an_empty_or_a_whole_state(state, seconds):
    done = killed_after(state, seconds)
    with reading(state) as opened:
        found = (meta.get(opened, "cycle"), slots.count(opened))
    assert found == ("2", SLOTS) if done else found in ((None, 0), ("2", SLOTS))
    with writing(state) as opened:
        slots.add(opened, [SlotRecord(0, "next", {})])
        assert check.findings(opened) == []


def test_a_killed_cycle_lets_go_of_its_lock(state):
    script = (
        "import sys, time; from pathlib import Path; from fairq.state.cycle_lock import cycle_lock\n"
        "with cycle_lock(Path(sys.argv[1])): print('locked', flush=True); time.sleep(60)"
    )
    from fairq.errors.base import CycleUnderWayError
    from fairq.state.cycle_lock import cycle_lock

    with subprocess.Popen([sys.executable, "-c", script, state], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(CycleUnderWayError), cycle_lock(state):
            pass
        holder.kill()
    with cycle_lock(state):
        pass
    assert list(state.parent.iterdir()) == []
