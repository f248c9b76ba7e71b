"""The golden cases that come with fairq, compressed."""

from __future__ import annotations

import tarfile
from pathlib import Path

DATA = Path(__file__).parent / "data"
ARCHIVE = DATA / "htcondor.tar.xz"
LIVE_ARCHIVE = DATA / "live.tar.xz"


def names(path: Path = ARCHIVE) -> list[str]:
    """Return the names of the cases, in order."""
    with tarfile.open(path) as archive:
        return sorted({Path(member.name).parent.name for member in archive if member.isfile()})


def unpack(folder: Path, path: Path = ARCHIVE) -> Path:
    """Unpack all cases below *folder*; return the folder that holds them."""
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                file = folder / member.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read())
    return folder / "htcondor" if path == ARCHIVE else folder
