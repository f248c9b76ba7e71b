"""Where golden cases are and of which kind they are."""

from __future__ import annotations

import json
import lzma
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.golden.archive import unpack

HTCONDOR = "htcondor"
"""A folder: one negotiation cycle of the real negotiator."""

LIVE = "live"
"""A folder: the dumps of a real pool, and what the next cycle of its negotiator did."""

PANDA = "panda"
"""An entry of ``panda.json``: what PanDA's broker or cleaner made of one input."""

DIRAC = "dirac"
"""An entry of ``dirac.json``: what DIRAC's classes made of one input."""

UNKNOWN = "unknown"

_ARCHIVE = ".tar.xz"


@dataclass(frozen=True)
class Case:
    """One case: its *name* in the report, the *kind* of system that it was recorded from, and where it is.

    *record* is its entry, if the file at *path* holds many.
    """

    name: str
    kind: str
    path: Path
    record: Mapping[str, Any] = field(default_factory=dict, compare=False)


def cases_in(path: Path) -> Iterator[Case]:
    """Yield the cases at *path*: a case's own folder, a folder of cases at any depth, or a file or archive of cases.

    What is in an archive is there until the next case is asked for.
    """
    if path.name.endswith(_ARCHIVE):
        with tempfile.TemporaryDirectory(prefix="fairq-golden-") as folder:
            unpack(Path(folder), path)
            yield from cases_in(Path(folder))
    elif path.is_file():
        yield from _cases_of_file(path)
    elif (path / "expected.json").is_file():
        kind = LIVE if (path / "acct.long").is_file() else HTCONDOR
        yield Case(path.resolve().name, kind, path)
    else:
        found = False
        for inner in sorted(path.iterdir()):
            if inner.is_dir() or _holds_cases(inner):
                found = True
                yield from cases_in(inner)
        if not found:
            yield Case(str(path), UNKNOWN, path)


def _holds_cases(path: Path) -> bool:
    return path.name.endswith(_ARCHIVE) or (path.suffix == ".json" and not path.stem.endswith("_defaults"))


def _cases_of_file(path: Path) -> Iterator[Case]:
    entries = entries_of(path)
    if not entries or any("output" not in entry for entry in entries):
        yield Case(path.name, UNKNOWN, path)
        return
    for entry in entries:
        # DIRAC's entries say of which kind they are, PanDA's by their names.
        yield Case(entry["name"], DIRAC if "kind" in entry else PANDA, path, entry)


def entries_of(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a file of cases, compressed or not; none if it is no such file."""
    content = path.read_bytes()
    try:
        found = json.loads(lzma.decompress(content) if path.suffix == ".xz" else content)
    except (ValueError, lzma.LZMAError):
        return []
    is_list = isinstance(found, list) and all(isinstance(entry, dict) and "name" in entry for entry in found)
    return found if is_list else []
