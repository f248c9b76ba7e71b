"""What a supervisor is told of its run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairq.launch.discovery import Options
from fairq.launch.interface import Assignment
from fairq.launch.supervisor.specification import complete


def specification(assignment: Assignment, place: Path, options: Options, group: str | None) -> dict[str, Any]:
    """Return the fields of *assignment* and all else that the supervisor of a run in the directory *place* needs.

    *group* is the control group in which it makes that of the run.
    """
    return complete(asdict(assignment), str(place), options.keep_output, group)
