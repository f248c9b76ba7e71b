"""The golden cases that come with fairq, compressed."""

from __future__ import annotations

import tarfile
from pathlib import Path

ARCHIVE = Path(__file__).parent / "data" / "htcondor.tar.xz"


def names() -> list[str]:
    """Return the names of the cases, in order."""
    with tarfile.open(ARCHIVE) as archive:
        return sorted({Path(name).parts[1] for name in archive.getnames() if len(Path(name).parts) > 1})


def unpack(folder: Path) -> Path:
    """Unpack all cases below *folder*; return the folder that holds them."""
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                file = folder / member.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read())
    return folder / "htcondor"
