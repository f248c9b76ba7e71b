"""The files of a directory or an archive, in order of their names."""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from fairq.common.inputs import LARGEST, STANDARD_INPUT, standard_input, too_large
from fairq.errors.pool import UnreadableDumpError
from fairq.formats.source import Held, unreadable

try:
    from lzma import LZMAError
except ImportError:  # a Python without this compression opens no such archive
    LZMAError = zlib.error  # type: ignore[assignment,misc]

DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    LZMAError,
    EOFError,
    RuntimeError,
    NotImplementedError,
)
"""Exceptions of tarfile and zipfile for a damaged archive, besides OSError and ValueError."""

_CHUNK = 1 << 20


def files_of(name: str) -> list[Held]:
    """Return the files of *name*: a directory, a tar or zip archive (``-``: the standard input), or one file.

    Hidden files and directories are left out. Raises UnreadableDumpError.
    """
    try:
        if name != STANDARD_INPUT and Path(name).is_dir():
            files = list(_directory_files(Path(name)))
        else:
            files = list(
                _file_files(name, _read_stream(standard_input()) if name == STANDARD_INPUT else _read_path(Path(name)))
            )
    except (OSError, ValueError) as failure:
        raise unreadable(name, failure, "name a readable directory, archive or file") from None
    except DAMAGED as failure:
        raise UnreadableDumpError(
            source=name, reason=f"it is a damaged archive ({failure})", cure="write the archive again"
        ) from None
    if not files:
        raise UnreadableDumpError(source=name, reason="it has no files", cure="name a directory or archive with files")
    return sorted(files, key=lambda file: file.name)


def left_out(directory: Path) -> list[str]:
    """Return the names that `files_of` leaves out of a *directory*: hidden files, and files that are not regular."""
    relative = ((path, path.relative_to(directory)) for path in directory.rglob("*"))
    return sorted(
        name.as_posix()
        for path, name in relative
        if not path.is_dir() and (_is_hidden(name.parts) or not path.is_file())
    )


def is_tar(path: Path) -> bool:
    """Return whether *path* is a tar archive; False if it is cut off or damaged at its beginning."""
    try:
        return path.is_file() and tarfile.is_tarfile(path)
    except (OSError, ValueError, *DAMAGED):
        return False


def check_end(archive: tarfile.TarFile) -> None:
    """Read *archive* after its last member: only there, decompression reports damaged content."""
    while archive.fileobj is not None and archive.fileobj.read(_CHUNK):
        pass


def _read_path(path: Path) -> bytes:
    with path.open("rb") as stream:
        return _read_stream(stream)


def _read_stream(stream: BinaryIO) -> bytes:
    """Return the content of a file; raises OSError if it is endless or too large."""
    content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise too_large()
    return content


def _directory_files(directory: Path) -> Iterator[Held]:
    for path in directory.rglob("*"):
        relative = path.relative_to(directory)
        if path.is_file() and not _is_hidden(relative.parts):
            yield Held(relative.as_posix(), _read_path(path), path.stat().st_mtime)


def _file_files(name: str, content: bytes) -> Iterator[Held]:
    stream = io.BytesIO(content)
    if zipfile.is_zipfile(stream):
        yield from _zip_files(stream)
        return
    stream.seek(0)
    try:
        archive = tarfile.open(fileobj=stream)  # noqa: SIM115 - closed below
    except tarfile.ReadError:
        yield Held(name, content)
        return
    with archive:
        yield from _tar_files(archive)


def _zip_files(stream: io.BytesIO) -> Iterator[Held]:
    with zipfile.ZipFile(stream) as archive:
        for member in archive.infolist():
            path = PurePosixPath(member.filename)
            if member.is_dir() or _is_hidden(path.parts):
                continue
            if member.file_size > LARGEST:
                raise too_large()
            yield Held(str(path), archive.read(member), _modification_time(member))


def _modification_time(member: zipfile.ZipInfo) -> float | None:
    """Return when a member of an archive was written (seconds since 1970); the archive has local time."""
    try:
        return datetime(*member.date_time).timestamp()
    except ValueError:  # some programs write no time, which reads as month 0
        return None


def _tar_files(archive: tarfile.TarFile) -> Iterator[Held]:
    for member in archive:
        path = PurePosixPath(member.name)
        if not member.isfile() or _is_hidden(path.parts):
            continue
        if member.size > LARGEST:
            raise too_large()
        stream = archive.extractfile(member)
        if stream is not None:
            yield Held(str(path), stream.read(), float(member.mtime) or None)
    check_end(archive)


def _is_hidden(parts: tuple[str, ...]) -> bool:
    return any(part.startswith(".") and part not in (".", "..") for part in parts)
