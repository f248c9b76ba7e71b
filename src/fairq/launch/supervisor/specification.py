"""The description of one run for its supervisor, completed from an assignment."""

from __future__ import annotations

from typing import Any

from fairq.launch.supervisor import record


def complete(assignment: dict[str, Any], place: str, keep_output: int, cgroup: str | None) -> dict[str, Any]:
    """Return the fields of an `Assignment` with those of the launcher: the run's directory *place*, and its limits.

    Output without a file goes to the run's directory, up to *keep_output* bytes. *cgroup* is the control group that
    holds the groups of runs. The job's own ``TMPDIR`` overrides that of the scratch directory.
    """
    kept = {"output": assignment["output"] or f"{place}/out", "error": assignment["error"] or f"{place}/err"}
    # The supervisor may trim kept output while the job writes: the job must append.
    appended = [*assignment["append"], *(path for path in kept.values() if path.startswith(f"{place}/"))]
    scratch = f"{place}/{record.SCRATCH}"
    environment = {
        **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), scratch),
        **assignment["environment"],
        "_CONDOR_SCRATCH_DIR": scratch,
    }
    return {
        "owner": None,
        **assignment,
        **kept,
        "append": appended,
        "environment": environment,
        "run_directory": place,
        "keep_output": keep_output,
        "cgroup": cgroup,
    }
