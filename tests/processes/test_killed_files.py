"""A command that is killed while it writes a file leaves the former one, and the next run clears up behind it."""

import time

import pytest
from tests.processes.live import NOW, start

from fairq.common.records import SlotRecord
from fairq.state import slots
from fairq.state.connection import writing


@pytest.mark.parametrize("seconds", [0.0, 0.002, 0.02])
@pytest.mark.parametrize(
    "line, result",
    [
        ("state backup copy.db", "copy.db"),
        ("export --output pool.json", "pool.json"),
        ("config set priority_halflife 60", "state.db.toml"),
    ],
)
def test_nothing_stays_behind(run, tmp_path, monkeypatch, line, result, seconds):
    monkeypatch.chdir(tmp_path)
    state = tmp_path / "state.db"
    with writing(state) as opened:
        slots.add(opened, [SlotRecord(0, f"slot{n}", {"Memory": n}) for n in range(10_000)])
    with start(state, *line.split()) as process:
        while process.poll() is None and not any(tmp_path.glob(".fairq-*.draft")):
            time.sleep(0.0005)
        time.sleep(seconds)
        process.kill()
    left = {path.name for path in tmp_path.iterdir() if not path.name.endswith(".draft")}
    assert left - {result} == {"state.db"}
    if result == "copy.db":
        (tmp_path / result).unlink(missing_ok=True)
    assert run("--state", state, *line.split()).code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"state.db", result}


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.1])
def test_a_killed_first_write_is_made_good_by_the_next_command(run, tmp_path, seconds):
    """Whether that one writes, or fails, too."""
    description = tmp_path / "many.sub"
    items = "\n".join(f"{n}" for n in range(5000))
    description.write_text(f"executable = /bin/sleep\narguments = $(item)\nqueue from (\n{items}\n)\n")
    for next_line, left in (("slots add node", {"state.db"}), ("broker run", set[str]())):
        place = tmp_path / next_line.replace(" ", "-")
        place.mkdir()
        state = place / "state.db"
        with start(state, "submit", description, "--now", NOW) as process:
            while process.poll() is None and not state.exists():
                time.sleep(0.0005)
            time.sleep(seconds)
            process.kill()
        stored = len(run("--state", state, "queue", "--procs", "--af", "ProcId").out.split())
        assert stored in (0, 5000)
        assert run("--state", state, *next_line.split()).code == 0
        assert {path.name for path in place.iterdir()} == (left | ({"state.db"} if stored else set()))
