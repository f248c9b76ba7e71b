"""The submit description of runs: one for a whole transaction, and an item of it for each run.

Source: the manual of ``condor_submit``; what it does with quotes and ``$`` was tried with HTCondor 23.9.
"""

from __future__ import annotations

import re
import shlex
import signal
from pathlib import Path

from fairq.common.arguments import joined, joined_environment
from fairq.launch.interface import GPU_VARIABLES, Assignment

RUN, POOL, COLLECTED = "FairqRun", "FairqPool", "FairqCollected"
"""The job attributes for the run's name, the state that it belongs to, and whether fairq has recorded its end."""

PLACE = "EngineSlot"
"""The attribute of a slot that names it in HTCondor's pool."""

KEPT_DAYS = 10
"""Days that an ended job stays in the schedd's queue if fairq does not collect it."""

_LEAVE_IN_QUEUE = (
    f"(JobStatus == 3 || JobStatus == 4) && {COLLECTED} =!= true && time() - EnteredCurrentStatus < {KEPT_DAYS * 86400}"
)
_NOT_YET_STARTED = "MY.NumShadowStarts =?= undefined"
"""HTCondor must not restart a job that it has evicted: fairq decides what comes next."""

_SET_BY_HTCONDOR = re.compile(
    r"_CONDOR_|CUDA_VISIBLE_DEVICES$|NVIDIA_VISIBLE_DEVICES$|GPU_DEVICE_ORDINAL$|TMPDIR$|TMP$|TEMP$"
)
_UNWRITABLE = re.compile(r"[\0\n\r\x1f]|\$\$|\\$")
"""Text that a submit description cannot express: a line break, two dollars, or a backslash at the end."""

_DECODE = 'eval "exec $(printf %b "$1")"'
"""The shell script that runs the command encoded in its first argument."""

_BLANK_AT_END = re.compile(r"^\s|\s$")


def common(pool: str, accounting_group: str | None, *, spool: bool = False) -> dict[str, str]:
    """Return the commands that all runs of the state *pool* share; the macros in them come from `item`.

    With *spool*, HTCondor transfers the files of the jobs.
    """
    commands = {
        "universe": "vanilla",
        "executable": "$(fairq_program)",
        "initialdir": "/",
        "input": "$(fairq_input)",
        "output": "$(fairq_output)",
        "error": "$(fairq_error)",
        "log": "$(fairq_log)",
        "append_files": "$(fairq_append)",
        "should_transfer_files": "YES" if spool else "NO",
        "request_cpus": "$(fairq_cpus)",
        "request_memory": "$(fairq_memory)",
        "request_gpus": "$(fairq_gpus)",
        "kill_sig": "$(fairq_signal)",
        "remove_kill_sig": "$(fairq_remove_signal)",
        "job_max_vacate_time": "$(fairq_grace)",
        "leave_in_queue": _LEAVE_IN_QUEUE,
        "batch_name": "fairq",
        "My.Iwd": "$(fairq_directory)",
        "My.Arguments": "$(fairq_arguments)",
        "My.Environment": "$(fairq_environment)",
        "My.Requirements": "$(fairq_requirements)",
        "My.AllowedExecuteDuration": "$(fairq_execute_seconds)",
        "My.AllowedJobDuration": "$(fairq_job_seconds)",
        "My.CoreSize": "$(fairq_core_size)",
        "My.StackSize": "$(fairq_stack_size)",
        f"My.{POOL}": _literal(pool),
        f"My.{RUN}": "$(fairq_run)",
        "My.FairqJob": "$(fairq_job)",
        "My.FairqSubmitter": "$(fairq_submitter)",
    }
    if accounting_group:
        commands["accounting_group"] = accounting_group
    if spool:
        commands |= {
            "when_to_transfer_output": "ON_EXIT",
            "transfer_executable": "$(fairq_transfer_program)",
            "transfer_input_files": "$(fairq_transfer_input)",
            "transfer_output_files": "$(fairq_transfer_output)",
        }
    return commands


def item(assignment: Assignment, run_directory: Path) -> dict[str, str]:
    """Return the values of the macros of `common` for one run, whose event log and output are in *run_directory*.

    Raises ValueError, in words, if HTCondor cannot take a file name.
    """
    # Without GPUs, keep the variables that hide them: HTCondor does not set them.
    dropped = GPU_VARIABLES if assignment.gpus else ()
    environment = {
        name: value
        for name, value in assignment.environment.items()
        if not _SET_BY_HTCONDOR.match(name) and name not in dropped
    }
    program, arguments, environment = _encoded(list(assignment.program), environment)
    transferred = program == assignment.program[0] and assignment.transfer.get("TransferExecutable", True)
    return {
        "fairq_program": _file(program),
        "fairq_input": _file(assignment.input or "/dev/null"),
        "fairq_output": _file(assignment.output or str(run_directory / "out")),
        "fairq_error": _file(assignment.error or str(run_directory / "err")),
        "fairq_log": _file(str(run_directory / "log")),
        "fairq_append": ",".join(map(_file, assignment.append)),
        "fairq_transfer_program": str(transferred),
        "fairq_transfer_input": _files(assignment, "TransferInput"),
        "fairq_transfer_output": str(assignment.transfer.get("TransferOutput", "")),
        "fairq_cpus": str(assignment.cpus),
        "fairq_memory": str(assignment.held_memory or "undefined"),
        # A startd gives a job that leaves it undefined a GPU.
        "fairq_gpus": str(assignment.gpus),
        "fairq_signal": signal.Signals(assignment.kill_signal).name,
        # Every end that fairq orders is a removal for HTCondor, whose starter then ignores kill_sig.
        "fairq_remove_signal": signal.Signals(assignment.signals.get("remove", assignment.kill_signal)).name,
        "fairq_grace": str(int(assignment.grace)),
        "fairq_directory": _literal(assignment.directory),
        "fairq_arguments": _literal(joined(arguments)),
        "fairq_environment": _literal(joined_environment(environment)),
        "fairq_requirements": f"{on_slot(str(assignment.place[PLACE]))} && {_NOT_YET_STARTED}",
        "fairq_execute_seconds": _seconds(assignment.execute_seconds),
        "fairq_job_seconds": _seconds(assignment.job_seconds),
        "fairq_core_size": str(assignment.limits.get("RLIMIT_CORE", "undefined")),
        "fairq_stack_size": str(assignment.limits.get("RLIMIT_STACK", "undefined")),
        "fairq_run": _literal(assignment.run),
        "fairq_job": _literal(assignment.job),
        "fairq_submitter": _literal(assignment.submitter),
    }


def on_slot(name: str) -> str:
    """Return the expression that is true for the slot *name* and its dynamic slots."""
    stem, separator, machine = re.sub(r"[^\w@-]", lambda character: f"[{character[0]}]", name).partition("@")
    return f'regexp("^{stem}(_[0-9]+)?{separator}{machine}$", TARGET.Name)'


def _encoded(program: list[str], environment: dict[str, str]) -> tuple[str, list[str], dict[str, str]]:
    """Return program, arguments and environment; a shell decodes those that a submit description cannot express."""
    unwritable = {name for name, value in environment.items() if _UNWRITABLE.search(f"{name}={value}")}
    if not unwritable and not any(map(_UNWRITABLE.search, program)):
        return program[0], program[1:], environment
    words = [*(f"{name}={environment[name]}" for name in sorted(unwritable)), *program]
    encoded = "".join(f"\\0{byte:03o}" for byte in shlex.join(["env", *words]).encode())
    writable = {name: value for name, value in environment.items() if name not in unwritable}
    return "/bin/sh", ["-c", _DECODE, "fairq", encoded], writable


def _file(path: str) -> str:
    if _UNWRITABLE.search(path) or _BLANK_AT_END.search(path) or "," in path:
        raise ValueError(f"HTCondor cannot take the file name {path!r}; rename the file")
    return path.replace("$", "$(DOLLAR)")


def _files(assignment: Assignment, name: str) -> str:
    """Return a list of files of the job's ad with absolute paths; URLs stay as they are."""
    files = re.split(r"[,\s]+", str(assignment.transfer.get(name, "")).strip())
    return ",".join(
        _file(str(Path(assignment.directory, path)) if "://" not in path else path) for path in files if path
    )


def _literal(text: str) -> str:
    """Return *text* as a string in a submit description, where a backslash is literal unless before a quote."""
    return '"' + text.replace('"', '\\"').replace("$", "$(DOLLAR)") + '"'


def _seconds(seconds: float | None) -> str:
    return "undefined" if seconds is None else str(int(seconds))
