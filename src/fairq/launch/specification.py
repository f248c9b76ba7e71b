"""What a supervisor is told of its run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairq.launch.discovery import Options
from fairq.launch.interface import Assignment
from fairq.launch.supervisor import record


def specification(assignment: Assignment, place: Path, options: Options, group: str | None) -> dict[str, Any]:
    """Return the fields of *assignment* and all else that the supervisor of a run in the directory *place* needs.

    *group* is the control group in which it makes that of the run.
    """
    kept = {"output": assignment.output or str(place / "out"), "error": assignment.error or str(place / "err")}
    # The supervisor may trim kept output while the job writes: the job must append.
    appended = (*assignment.append, *(path for path in kept.values() if path.startswith(f"{place}/")))
    limits = {"keep_output": options.keep_output, "cgroup": group, "append": appended}
    scratch = str(place / record.SCRATCH)
    temporary = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), scratch)
    environment = {**temporary, **assignment.environment, "_CONDOR_SCRATCH_DIR": scratch}
    return {**asdict(assignment), **kept, **limits, "run_directory": str(place), "environment": environment}
