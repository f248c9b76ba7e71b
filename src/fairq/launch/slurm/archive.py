"""The supervisor as one file for the nodes, which may have no fairq."""

from __future__ import annotations

import io
import zipfile
import zlib
from functools import cache
from pathlib import Path

from fairq.common.files import write

_LAUNCH = Path(__file__).parent.parent
_PACKAGES = ("fairq", "fairq/launch", "fairq/launch/supervisor")


def put(directory: Path) -> Path:
    """Write the archive into *directory* unless it exists, and return its path; raises OSError.

    Its name contains a checksum: jobs in Slurm's queue keep the archive that they were submitted with.
    """
    content = _packed()
    path = directory / f".supervisor-{zlib.crc32(content):08x}.zip"
    if not path.exists():
        write(path, content)
    return path


@cache
def _packed() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for package in _PACKAGES:
            archive.writestr(_entry(f"{package}/__init__.py"), b"")
        for module in (_LAUNCH / "processes.py", *sorted(_LAUNCH.glob("supervisor/[!_]*.py"))):
            archive.writestr(_entry(f"fairq/launch/{module.relative_to(_LAUNCH)}"), module.read_bytes())
        archive.writestr(_entry("__main__.py"), Path(__file__).with_name("on_node.py").read_bytes())
    return buffer.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    """Return an entry with a fixed date, so that equal modules make equal archives."""
    return zipfile.ZipInfo(name)
