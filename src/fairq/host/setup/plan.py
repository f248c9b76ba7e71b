"""Steps that change the host one after the other; if one fails, those before it are undone."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from fairq.common import commit, files
from fairq.common.interrupts import as_usual
from fairq.errors.base import FairqError
from fairq.errors.host import HostStepError

_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}


class Rollback:
    """Undoes the changes made so far, in reverse order."""

    def __init__(self) -> None:
        self._changes: list[tuple[str, Callable[[], object]]] = []
        self._cleanups: list[Callable[[], object]] = []

    def add(self, change: str, undo: Callable[[], object]) -> None:
        """Record that *undo* undoes *change*, for example "the file /etc/x"."""
        self._changes.append((change, undo))

    def add_cleanup(self, cleanup: Callable[[], object]) -> None:
        """Record *cleanup*, to be called once all steps are done."""
        self._cleanups.append(cleanup)

    def clean_up(self) -> None:
        """Clean up after all steps are done."""
        for cleanup in self._cleanups:
            cleanup()

    def undo_all(self) -> list[str]:
        """Undo all changes, the last one first; return those that could not be undone."""
        failed = []
        while self._changes:
            change, undo = self._changes.pop()
            try:
                undo()
            except (OSError, subprocess.SubprocessError, FairqError):
                failed.append(change)
        return failed


class Step(Struct, frozen=True):
    """One change of the host: *what* in words (imperative), whether it *is_done* already, and how to *do* it."""

    what: str
    is_done: bool
    do: Callable[[Rollback], object]


def carry_out(steps: Sequence[Step]) -> None:
    """Do the *steps* that are not done yet.

    Raises HostStepError if one fails or is interrupted; its message names the changes that could not be undone.
    """
    as_usual()
    rollback = Rollback()
    for number, step in enumerate([step for step in steps if not step.is_done], 1):
        try:
            step.do(rollback)
        except (OSError, subprocess.SubprocessError, FairqError, KeyboardInterrupt) as error:
            remaining = rollback.undo_all()
            fate = f"these stay: {', '.join(remaining)}" if remaining else "the steps before it were taken back"
            raise HostStepError(number=number, step=step.what, reason=_reason(error), fate=fate) from None
    rollback.clean_up()
    commit.mark()


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "it was interrupted"
    if isinstance(error, OSError):
        return f"{error.filename or ''}: {error.strerror or error}".removeprefix(": ")
    return str(error)


def run(*command: str | Path) -> str:
    """Run a program of the system without the caller's environment and return its output.

    Raises FairqError with what it printed if it fails.
    """
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        env=_ENVIRONMENT, cwd="/", errors="replace",
    )  # fmt: skip
    if result.returncode:
        message = " ".join((result.stderr or result.stdout).split()) or f"exit code {result.returncode}"
        raise FairqError(message=f"{' '.join(map(str, command[:3]))}: {message}")
    return result.stdout


def is_file(path: Path, content: str, mode: int) -> bool:
    """Return whether *path* is a file that root owns, with this *content* and *mode*."""
    try:
        status = path.lstat()
        return (status.st_uid, status.st_gid, status.st_mode & 0o170777) == (0, 0, 0o100000 | mode) and (
            path.read_text() == content
        )
    except (OSError, UnicodeDecodeError):
        return False


def put(path: Path, content: str, mode: int, rollback: Rollback) -> None:
    """Replace the file *path* by one that root owns; create missing directories above it. Raises OSError."""
    make_directories(path.parent, rollback)
    former = (path.read_bytes(), path.stat().st_mode & 0o7777) if path.exists() else None
    write(path, content.encode(), mode)
    if former is None:
        rollback.add(str(path), lambda: path.unlink(missing_ok=True))
    else:
        rollback.add(str(path), lambda: write(path, *former))


def write(path: Path, content: bytes, mode: int) -> None:
    """Replace the file *path*, atomically; raises OSError."""
    with files.draft(path.parent) as directory:
        with os.fdopen(files.create(directory / "file", 0o600), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchown(stream.fileno(), 0, 0)
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        (directory / "file").replace(path)
        files.to_disk(path.parent)


def remove_file(path: Path, rollback: Rollback) -> None:
    """Remove the file *path*; raises OSError."""
    content, mode = path.read_bytes(), path.stat().st_mode & 0o7777
    path.unlink()
    rollback.add(str(path), lambda: write(path, content, mode))


def make_directories(path: Path, rollback: Rollback) -> None:
    """Create the directory *path* and those above it with mode 0755, whatever the umask; raises OSError."""
    for directory in (*reversed(path.parents), path):
        if not directory.is_dir():
            directory.mkdir()
            directory.chmod(0o755)
            rollback.add(str(directory), directory.rmdir)
