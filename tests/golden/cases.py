"""Where golden cases are and of which kind they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HTCONDOR = "htcondor"
"""A folder: one negotiation cycle of the real negotiator."""

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Case:
    """One case: its *name* in the report, the *kind* of system that it was recorded from, and where it is."""

    name: str
    kind: str
    path: Path


def cases_in(path: Path) -> Iterator[Case]:
    """Yield the cases at *path*: a case's own folder, a folder of cases at any depth, or a file of cases."""
    if path.is_file():
        yield from _cases_of_file(path)
    elif (path / "expected.json").is_file():
        yield Case(path.resolve().name, HTCONDOR, path)
    else:
        found = False
        for inner in sorted(path.iterdir()):
            if inner.is_dir() or _holds_cases(inner):
                found = True
                yield from cases_in(inner)
        if not found:
            yield Case(str(path), UNKNOWN, path)


def _holds_cases(path: Path) -> bool:
    return path.suffix == ".json" and not path.stem.endswith("_defaults")


def _cases_of_file(path: Path) -> Iterator[Case]:
    # dirac.json and panda.json hold many cases each; fairq has neither scheme yet.
    yield Case(path.name, UNKNOWN, path)
