"""Putting a settings file in place of its former self, wholly or not at all."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fairq.errors import SettingsFileError


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Hold back others who would change *file* meanwhile: read it, change it and `replace` it inside.

    The lock is on the file's folder, because `replace` puts another file in the place of this one; where a
    folder cannot be locked, nobody is held back.
    """
    try:
        target = Path(os.path.realpath(file))
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield  # `replace` tells what is wrong with the place
        return
    try:
        with suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def replace(file: Path, text: str, keep_former: bool = False) -> Path | None:
    """Write *text* to *file*, making its folder if need be.

    A symbolic link stays one; the permissions stay. Returns where the former file was kept, None if it was
    not. Raises SettingsFileError; the file is then as before.
    """
    target = Path(os.path.realpath(file))
    if target.exists() and not target.is_file():
        raise SettingsFileError(file=file, problem="is no ordinary file; nothing was changed")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o7777 if target.exists() else None
        kept = None
        if keep_former and target.exists():
            kept = target.with_name(target.name + ".bak")
            _put(kept, target.read_bytes(), mode)
        _put(target, text.encode(), mode)
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}; nothing was changed"
        raise SettingsFileError(file=file, problem=problem) from None
    return kept


def _put(target: Path, content: bytes, mode: int | None) -> None:
    import tempfile

    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is None:
            umask = os.umask(0)
            os.umask(umask)
            mode = 0o666 & ~umask
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
