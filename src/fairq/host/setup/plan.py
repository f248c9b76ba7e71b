"""Steps that change the host one after the other; if one fails, those before it are taken back."""

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


class WayBack:
    """What takes back the changes made until now, in reverse order."""

    def __init__(self) -> None:
        self._changes: list[tuple[str, Callable[[], object]]] = []
        self._rest: list[Callable[[], object]] = []

    def add(self, change: str, undo: Callable[[], object]) -> None:
        """Remember that *undo* takes back *change*, for example "the file /etc/x"."""
        self._changes.append((change, undo))

    def at_the_end(self, tidy: Callable[[], object]) -> None:
        """Call *tidy* once all steps are done and nothing will be taken back."""
        self._rest.append(tidy)

    def end(self) -> None:
        """Tidy up: all steps are done."""
        for tidy in self._rest:
            tidy()

    def go(self) -> list[str]:
        """Take back all changes, the last one first; return those that could not be taken back."""
        left = []
        while self._changes:
            change, undo = self._changes.pop()
            try:
                undo()
            except (OSError, subprocess.SubprocessError, FairqError):
                left.append(change)
        return left


class Step(Struct, frozen=True):
    """One change of the host: *what* in words (imperative), whether it *is_done* already, and how to *do* it."""

    what: str
    is_done: bool
    do: Callable[[WayBack], object]


def carry_out(steps: Sequence[Step]) -> None:
    """Do the *steps* that are not done yet.

    Raises HostStepError if one fails or is interrupted; what could not be taken back is in its message.
    """
    as_usual()
    back = WayBack()
    for number, step in enumerate([step for step in steps if not step.is_done], 1):
        try:
            step.do(back)
        except (OSError, subprocess.SubprocessError, FairqError, KeyboardInterrupt) as error:
            left = back.go()
            fate = f"these stay: {', '.join(left)}" if left else "the steps before it were taken back"
            raise HostStepError(number=number, step=step.what, reason=_reason(error), fate=fate) from None
    back.end()
    commit.mark()


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "it was interrupted"
    if isinstance(error, OSError):
        return f"{error.filename or ''}: {error.strerror or error}".removeprefix(": ")
    return str(error)


def run(*words: str | Path) -> str:
    """Run a program of the system without the caller's environment and return its output.

    Raises FairqError with what it printed if it fails.
    """
    ended = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        env=_ENVIRONMENT, cwd="/", errors="replace",
    )  # fmt: skip
    if ended.returncode:
        said = " ".join((ended.stderr or ended.stdout).split()) or f"exit code {ended.returncode}"
        raise FairqError(message=f"{' '.join(map(str, words[:3]))}: {said}")
    return ended.stdout


def is_file(path: Path, content: str, mode: int) -> bool:
    """Say whether *path* is a file of root's with this *content* and *mode*."""
    try:
        about = path.lstat()
        return (about.st_uid, about.st_gid, about.st_mode & 0o170777) == (0, 0, 0o100000 | mode) and (
            path.read_text() == content
        )
    except (OSError, UnicodeDecodeError):
        return False


def put(path: Path, content: str, mode: int, back: WayBack) -> None:
    """Replace the file *path* by one of root's; directories above it are made if there are none. Raises OSError."""
    make_directories(path.parent, back)
    former = (path.read_bytes(), path.stat().st_mode & 0o7777) if path.exists() else None
    write(path, content.encode(), mode)
    if former is None:
        back.add(str(path), lambda: path.unlink(missing_ok=True))
    else:
        back.add(str(path), lambda: write(path, *former))


def write(path: Path, content: bytes, mode: int) -> None:
    """Replace the file *path*, atomically; raises OSError."""
    with files.draft(path.parent) as place:
        with os.fdopen(files.create(place / "file", 0o600), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchown(stream.fileno(), 0, 0)
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        (place / "file").replace(path)
        files.to_disk(path.parent)


def take_away(path: Path, back: WayBack) -> None:
    """Remove the file *path*; raises OSError."""
    content, mode = path.read_bytes(), path.stat().st_mode & 0o7777
    path.unlink()
    back.add(str(path), lambda: write(path, content, mode))


def make_directories(path: Path, back: WayBack) -> None:
    """Make the directory *path* and those above it, of mode 0755 whatever the umask; raises OSError."""
    for one in (*reversed(path.parents), path):
        if not one.is_dir():
            one.mkdir()
            one.chmod(0o755)
            back.add(str(one), one.rmdir)
