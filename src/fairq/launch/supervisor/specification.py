"""The description of one run for its supervisor, completed from an assignment."""

from __future__ import annotations

from typing import Any

from fairq.launch.supervisor import record


def complete(assignment: dict[str, Any], run_directory: str, keep_output: int, cgroup: str | None) -> dict[str, Any]:
    """Return the fields of an `Assignment`, completed with those of the launcher.

    Output without a file goes to *run_directory*, up to *keep_output* bytes. *cgroup* is the control group that
    holds the groups of runs. The job's own ``TMPDIR`` overrides the scratch directory.
    """
    outputs = {
        "output": assignment["output"] or f"{run_directory}/out",
        "error": assignment["error"] or f"{run_directory}/err",
    }
    # The supervisor may trim kept output while the job writes: the job must append.
    append = [*assignment["append"], *(path for path in outputs.values() if path.startswith(f"{run_directory}/"))]
    scratch = f"{run_directory}/{record.SCRATCH}"
    environment = {
        **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), scratch),
        **assignment["environment"],
        "_CONDOR_SCRATCH_DIR": scratch,
    }
    return {
        "owner": None,
        **assignment,
        **outputs,
        "append": append,
        "environment": environment,
        "run_directory": run_directory,
        "keep_output": keep_output,
        "cgroup": cgroup,
    }
