"""Who holds a lock holds up others for a bounded time at most, is named, and loses nothing of theirs."""

import fcntl
import os
import select
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.processes.live import NOW, busy_pool, start

from fairq.errors.base import StateLockedError
from fairq.settings.writer import exclusive
from fairq.state import meta
from fairq.state.connection import writing

HOLDER = """
import sys
from pathlib import Path
from fairq.state import meta
from fairq.state.connection import writing
with writing(Path(sys.argv[1])) as state:
    meta.set(state, "cycle", "1")
    print("locked", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held(state):
    """Let another process hold the write lock of *state*, until its stdin is closed."""
    line = [sys.executable, "-c", HOLDER, str(state)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None and holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        try:
            yield holder
        finally:
            holder.stdin.close()


@contextmanager
def locked(directory):
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """A pool whose listings are all longer than a pipe takes."""
    folder = tmp_path_factory.mktemp("busy")
    state = folder / "state.db"

    def run(*words):
        ended = subprocess.run([sys.executable, "-m", "fairq", *map(str, words)], capture_output=True, check=False)
        return type("Ended", (), {"code": ended.returncode})

    busy_pool(run, state, folder)
    assert run("--state", state, "negotiate", "--now", NOW).code == 0
    return state


@pytest.mark.parametrize(
    "line",
    [
        "export",
        "export --output /dev/stdout",
        "export --slots",
        "export --jobs --long",
        "queue --procs",
        "queue --json",
        "slots list --json",
        "taskqueues list --json",
        "state cycle --json",
        "userprio --all --allusers --json",
    ],
)
def test_a_pager_that_is_left_open_holds_up_no_writer(busy, line):
    """The state is closed as soon as it is read, however long what was read waits for its reader."""
    with start(busy, *line.split(), stdout=subprocess.PIPE) as listing:
        assert listing.stdout is not None
        assert select.select([listing.stdout], [], [], 120)[0]
        with writing(busy, wait=60) as state:
            meta.set(state, "seen", line)
        listing.kill()


class TestWaiting:
    def test_who_waits_says_so_and_names_the_holder(self, state):
        with held(state) as holder:
            quiet = start(state, "-q", "userprio", "--setfactor", "a@x", "5")
            waiting = start(state, "userprio", "--setfactor", "b@x", "5")
            assert waiting.stderr is not None
            told = waiting.stderr.readline()
        assert told.startswith(f"waiting for {state}, which is locked by ")
        # Nobody is named where the kernel's list of locks does not know the file, as on an overlay file system.
        assert f"process {holder.pid} ({sys.executable} -c " in told or told.endswith("another process\n")
        assert told.count("\n") == 1
        assert "\x1b" not in told
        assert (waiting.communicate(timeout=60)[1], waiting.returncode) == ("fairq: new record b@x\n", 0)
        assert (quiet.communicate(timeout=60)[1], quiet.returncode) == ("", 0)

    def test_a_change_of_settings_says_so_too(self, state):
        with locked(state.parent):
            waiting = start(state, "config", "set", "priority_halflife", "60")
            assert waiting.stderr is not None
            assert waiting.stderr.readline().startswith(f"waiting for {state.parent}, which is locked by ")
            assert not Path(f"{state}.toml").exists()
        assert waiting.wait(60) == 0
        waiting.stderr.close()

    def test_a_change_of_settings_waits_no_longer_than_other_writers(self, state):
        file = state.with_name("fairq.toml")
        with (
            locked(state.parent),
            pytest.raises(StateLockedError, match=f"{state.parent} for over 0.2 s") as caught,
            exclusive(file, wait=0.2),
        ):
            pass
        assert caught.value.exit_code == 4
        with exclusive(file, wait=0):
            pass


class TestSettingsAtOnce:
    def test_all_changes_hold(self, state):
        numbers = range(1, 5)
        for process in [start(state, "-q", "config", "set", f"limits.db{n}", n) for n in numbers]:
            assert (process.communicate(timeout=120)[1], process.returncode) == ("", 0)
        limits = tomllib.loads(Path(f"{state}.toml").read_text())["limits"]
        assert limits == {f"db{n}": n for n in numbers}

    def test_an_import_keeps_what_was_set_while_it_waited(self, state, tmp_path):
        """DIRAC's configuration replaces the shares alone; the rest is that of the file at that moment."""
        dirac = tmp_path / "dirac.cfg"
        dirac.write_text("Registry\n{\n  Groups\n  {\n    lhcb_user\n    {\n      JobShare = 700\n    }\n  }\n}\n")
        settings = Path(f"{state}.toml")
        with locked(tmp_path):
            waiting = start(state, "config", "import", dirac)
            assert waiting.stderr is not None
            assert waiting.stderr.readline().startswith("waiting for ")
            settings.write_text("[accounting]\npriority_halflife = 60\n")
        assert waiting.communicate(timeout=60)[1].startswith("shares.rules ")
        assert waiting.returncode == 0
        document = tomllib.loads(settings.read_text())
        assert document["accounting"] == {"priority_halflife": 60}
        assert document["shares"]["groups"]
