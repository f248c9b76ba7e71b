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
    """Write the archive into *directory* unless it is there, and return its path; raises OSError.

    Its name tells its content: jobs that wait in Slurm's queue keep the one that they were submitted with.
    """
    content = _content()
    place = directory / f".supervisor-{zlib.crc32(content):08x}.zip"
    if not place.exists():
        write(place, content)
    return place


@cache
def _content() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for package in _PACKAGES:
            archive.writestr(_entry(f"{package}/__init__.py"), b"")
        for module in (_LAUNCH / "processes.py", *sorted(_LAUNCH.glob("supervisor/[!_]*.py"))):
            archive.writestr(_entry(f"fairq/launch/{module.relative_to(_LAUNCH)}"), module.read_bytes())
        archive.writestr(_entry("__main__.py"), Path(__file__).with_name("on_node.py").read_bytes())
    return packed.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    """Return an entry without a date of its own, so that the same modules make the same archive."""
    return zipfile.ZipInfo(name)
