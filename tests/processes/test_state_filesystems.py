"""Where the state cannot be written, one line says why, and it can still be read if at all possible."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.state.pools import fill

from fairq.state import meta
from fairq.state.connection import reading, writing

NOBODY = 65534

READ = """
import sys
from pathlib import Path
from fairq.errors.base import FairqError
from fairq.state import meta
from fairq.state.connection import reading
try:
    with reading(Path(sys.argv[1]), wait=1) as state:
        print(meta.get(state, "schedd_name"))
except FairqError as error:
    print(type(error).__name__, error)
"""

WRITE = """
import sys
from pathlib import Path
from fairq.errors.base import FairqError
from fairq.common.records import SlotRecord
from fairq.state import meta, slots
from fairq.state.connection import writing
try:
    with writing(Path(sys.argv[1]), wait=1) as state:
        meta.set(state, "schedd_name", "changed")
        slots.add(state, [SlotRecord(0, f"slot{n}", {"Memory": n}) for n in range(int(sys.argv[2]))])
        print("written")
except FairqError as error:
    print(type(error).__name__, error)
"""

KILLED = """
import os, signal, sys
from pathlib import Path
from fairq.common.records import SlotRecord
from fairq.state import slots
from fairq.state.connection import writing
with writing(Path(sys.argv[1])) as state:
    state.connection.execute("PRAGMA cache_size = 5")
    slots.add(state, [SlotRecord(0, f"slot{n}", {}) for n in range(5000)])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def python(script, *arguments, before):
    """Run a script and return what it printed; *before* is done first by a shell with mounts of its own."""
    alone = ["unshare", "--map-root-user", "--mount", "sh", "-c", f'{before} && exec "$0" "$@"']
    command = [*alone, sys.executable, "-c", script, *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.fixture
def needs_mounts():
    if shutil.which("unshare") is None:
        pytest.skip("no unshare(1) here")
    trial = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        capture_output=True,
        check=False,
    )
    if trial.returncode:
        pytest.skip("this system lets nobody mount a file system of his own")


@pytest.fixture
def filled(state):
    with writing(state) as opened:
        fill(opened)
    return state


@pytest.fixture
def foreign(filled):
    """A filled state that everybody may read, and only its owner may write."""
    with tempfile.TemporaryDirectory() as directory:
        state = Path(directory) / "state.db"
        shutil.copy(filled, state)
        state.chmod(0o644 if os.geteuid() == 0 else 0o444)
        state.parent.chmod(0o755 if os.geteuid() == 0 else 0o555)
        yield state
        state.parent.chmod(0o755)


def read(state):
    with reading(state, wait=1) as opened:
        return meta.get(opened, "schedd_name")


def write(state):
    with writing(state, wait=1) as opened:
        meta.set(opened, "schedd_name", "changed")
    return "written"


def without_rights(action, state):
    """Return what *action* returns, or its error, in a process that does not have root's rights."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            message = str(action(state))
        except BaseException as error:
            message = f"{type(error).__name__} {error}"
        os.write(write_end, message.encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, encoding="utf-8") as answer:
        message = answer.read()
    os.waitpid(child, 0)
    return message


class TestWithoutPermission:
    def test_who_may_only_read_can_read(self, foreign):
        assert without_rights(read, foreign) == "here"

    def test_who_may_only_read_cannot_write_and_is_told_so(self, foreign):
        before = foreign.read_bytes()
        message = without_rights(write, foreign)
        assert message.startswith(f"StatePermissionError no permission to write the state file {foreign}: the file")
        assert foreign.read_bytes() == before

    def test_the_directory_must_be_writable_too(self, foreign):
        foreign.chmod(0o666)
        message = without_rights(write, foreign)
        assert message.startswith(f"StatePermissionError no permission to write the state file {foreign}: its direct")

    def test_who_may_not_read_is_told_so(self, foreign):
        foreign.chmod(0)
        for action in (read, write):
            message = without_rights(action, foreign)
            assert message.startswith(f"StatePermissionError no permission to read the state file {foreign}")

    def test_a_directory_that_may_not_be_entered_is_named(self, foreign):
        foreign.parent.chmod(0)
        for action in (read, write):
            message = without_rights(action, foreign)
            assert message.startswith(f"StatePermissionError no permission to reach the state file {foreign}: Perm")


@pytest.mark.usefixtures("needs_mounts")
class TestReadOnlyFileSystem:
    def frozen(self, state):
        return f"mount --bind {state.parent} {state.parent} && mount -o remount,bind,ro {state.parent}"

    def test_the_state_can_be_read(self, filled):
        assert python(READ, filled, before=self.frozen(filled)) == "here"

    def test_the_state_cannot_be_written(self, filled):
        message = python(WRITE, filled, 1, before=self.frozen(filled))
        assert message == (
            f"StateReadOnlyError the state file {filled} cannot be changed: the file system is read-only; "
            "nothing was done; make it writable, or name another file with --state"
        )

    def test_a_state_cannot_be_created(self, tmp_path):
        state = tmp_path / "new.db"
        message = python(WRITE, state, 1, before=self.frozen(tmp_path / "state.db"))
        assert message.startswith(f"StateReadOnlyError the state file {state} cannot be changed: the file system")
        assert python(READ, state, before=self.frozen(tmp_path / "state.db")) == "None"

    def test_an_interrupted_write_must_be_undone_first(self, filled):
        """Nothing half-done is ever read, even where it cannot be undone."""
        killed = subprocess.run([sys.executable, "-c", KILLED, filled], check=False)
        assert killed.returncode == -signal.SIGKILL
        assert filled.with_name("state.db-journal").exists()
        message = python(READ, filled, before=self.frozen(filled))
        assert "Error" in message
        assert "a write to it was interrupted" in message
        with reading(filled) as opened:
            assert meta.get(opened, "schedd_name") == "here"
        assert [path.name for path in filled.parent.iterdir()] == [filled.name]


@pytest.mark.usefixtures("needs_mounts")
class TestFullFileSystem:
    def test_the_state_stays_as_it_was(self, filled, tmp_path):
        disk = tmp_path / "disk"
        disk.mkdir()
        kept = tmp_path / "kept.db"
        small = f"mount -t tmpfs -o size=800k tmpfs {disk} && cp {filled} {disk}/s.db"
        script = f"import shutil\n{WRITE}\nshutil.copy(sys.argv[1], {str(kept)!r})"
        message = python(script, disk / "s.db", 20_000, before=small)
        assert message.removeprefix("written\n") == (
            f"StateFullError no space left to write the state file {disk}/s.db; nothing was changed; "
            "free some space and try again"
        )
        with reading(kept) as opened:
            assert meta.get(opened, "schedd_name") == "here"

    def test_a_state_cannot_be_created(self, tmp_path):
        full = f"mount -t tmpfs -o size=8k tmpfs {tmp_path}"
        message = python(WRITE, tmp_path / "state.db", 1, before=full)
        assert "StateFullError no space left" in message

    def test_a_backup_leaves_nothing_half_done(self, filled, tmp_path):
        disk = tmp_path / "disk"
        disk.mkdir()
        script = (
            "import os, sys; from pathlib import Path\n"
            "from fairq.state.connection import backup; from fairq.errors.base import FairqError\n"
            "try: backup(Path(sys.argv[1]), Path(sys.argv[2], 'copy.db'))\n"
            "except FairqError as error: print(type(error).__name__, error, os.listdir(sys.argv[2]))"
        )
        message = python(script, filled, disk, before=f"mount -t tmpfs -o size=8k tmpfs {disk}")
        assert message.startswith(f"BackupError the backup {disk}/copy.db was not written: ")
        assert message.endswith("[]")
