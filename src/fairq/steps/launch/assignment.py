"""The assignment of a job to a launcher: program, files, environment and limits, from the ads of job and slot."""

from __future__ import annotations

import math
import os
import pwd
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.common.cron import FIELDS
from fairq.common.expression_form import is_expression
from fairq.common.interactive import TERMINAL
from fairq.common.records import Ad, Launch
from fairq.formats.submitfile.standings import refused_attributes
from fairq.launch.interface import Assignment
from fairq.launch.strays import MARKER
from fairq.steps.launch.gpus import gpu_variables, gpus_of, wants_gpus
from fairq.steps.launch.values import (
    UnusableValueError,
    is_given,
    program_of,
    read,
    read_literal,
    transfers_of,
    variables_of,
)  # fmt: skip

if TYPE_CHECKING:
    from fairq.settings import Settings

_NULL = os.devnull
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LANG = "C.UTF-8"
_THREADS = (
    "OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "JULIA_NUM_THREADS", "ROOT_MAX_THREADS", "TF_NUM_THREADS", "GOMAXPROCS", "PYTHON_CPU_COUNT", "CUBACORES",
)  # fmt: skip
"""The environment variables that HTCondor sets to the number of cores of a job."""

_SIGNALS = {"remove": "RemoveKillSig", "hold": "HoldKillSig"}
"""The attributes with the signals that begin the end of a run, by its order, if they differ from KillSig."""

PLACE = "Engine"
"""The prefix of the slot's attributes that name its machine to an engine."""


def files(ad: Ad, now: int) -> tuple[str | None, str | None, str | None]:
    """Return the paths of a job's input, output and error; None where it names none.

    Raises UnusableValueError.
    """
    directory = _directory(ad, now)

    def path(name: str, base: str) -> str | None:
        text = read(ad, name, now)
        return None if text in (None, "", _NULL) else str(Path(base, text))

    target = output_directory(ad, now) or directory
    return path("In", directory), path("Out", target), path("Err", target)


def output_directory(ad: Ad, now: int) -> str | None:
    """Return the absolute directory for output and error; None for the job's own directory (``DoDownload``).

    Raises UnusableValueError.
    """
    text = read(ad, "OutputDirectory", now)
    return str(Path(_directory(ad, now), text)) if text else None


def assignment(
    launch: Launch,
    ad: Ad,
    slot: Mapping[str, Any],
    settings: Settings,
    now: int,
    cores: tuple[int, ...] = (),
    submitter: str = "",
    owner: str | None = None,
) -> Assignment:
    """Return the launcher's assignment for the job with this *ad* on the slot with the ad *slot*, at *now*.

    It runs as the user *owner*, None for the user of this process. Raises UnusableValueError.
    """
    _check_kind(ad, slot, now)
    input_file, output, error = files(ad, now)
    directory, cpus = _directory(ad, now), cores_of(ad, slot, now)
    target, appended = output_directory(ad, now), read(ad, "AppendFiles", now)
    for name in ("JobNotification", "NotifyUser"):
        read(ad, name, now)  # check them now: once the job has ended, it cannot be held for them
    return Assignment(
        run=launch.name,
        program=program_of(ad, now),
        directory=directory,
        environment=_environment(launch, ad, slot, cpus, owner, now),
        input=input_file,
        output=output,
        error=error,
        output_directory=target,
        output_files=_names(read(ad, "TransferOutput", now)) if target else (),
        append=_appended(appended or "", target or directory),
        log=read(ad, "UserLog", now) or None,
        cpus=cpus,
        memory=_memory(slot, settings, now),
        execute_seconds=_positive(read(ad, "AllowedExecuteDuration", now, slot)),
        job_seconds=_positive(read(ad, "AllowedJobDuration", now, slot)),
        kill_signal=read(ad, "KillSig", now) or signal.SIGTERM.value,
        signals={order: number for order, name in _SIGNALS.items() if (number := read(ad, name, now))},
        grace=_grace(ad, slot, settings, now),
        umask=int(settings["launch.umask"], 8),
        limits=_limits(ad, now),
        cores=cores,
        job=launch.job,
        submitter=submitter,
        held_memory=int(resource_of(slot, "Memory", now) or 0) or None,
        gpus=int(resource_of(slot, "GPUs", now) or 0) if wants_gpus(ad, slot, now) else 0,
        place={name: value for name, value in slot.items() if name.startswith(PLACE)},
        transfer=transfers_of(ad, now),
        start_time=read(ad, "DeferralTime", now),
        start_window=_positive(read(ad, "DeferralWindow", now)) or 0.0,
        terminal=read(ad, TERMINAL, now),
    )


def _check_kind(ad: Ad, slot: Mapping[str, Any], now: int) -> None:
    """Raise UnusableValueError for a job that fairq cannot run as it was submitted, for example in a container.

    `submit` refuses most of them; imported jobs may have any attribute.
    """
    for name in ("WantContainer", "WantDocker"):
        if read(ad, name, now, slot):
            raise UnusableValueError(name, "fairq starts no containers; submit a job whose program runs its container")
    if not is_given(ad, "DeferralTime") and (schedule := next((name for name in FIELDS if is_given(ad, name)), None)):
        raise UnusableValueError(schedule, "the job was imported without its next time; submit it again")
    for name, why in refused_attributes():
        if (value := read(ad, name, now, slot)) is not None and value is not False:
            raise UnusableValueError(name, f"fairq refuses it, because {why}")


def resource_of(slot: Mapping[str, Any], name: str, now: int) -> float | None:
    """Return the amount of a resource that a slot has; None if its ad has no number."""
    value = slot.get(name)
    if is_expression(value):
        from fairq.engine.classad import evaluate_scalar, expression_of

        value = evaluate_scalar(expression_of(value), slot, None, now)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None


def cores_of(ad: Ad, slot: Mapping[str, Any], now: int) -> int:
    """Return the cores of a job: those of its dynamic slot, else the number that it requests, rounded up.

    A request that is an expression was evaluated for the match: its job may use all cores of the slot.
    """
    available, requested = resource_of(slot, "Cpus", now), read_literal(ad, "RequestCpus")
    if _is_dynamic(slot) or (requested is None and is_given(ad, "RequestCpus")):
        requested = available
    return max(1, math.ceil(min(requested or 1, available or math.inf)))


def _is_dynamic(slot: Mapping[str, Any]) -> bool:
    return slot.get("DynamicSlot") is True


def _directory(ad: Ad, now: int) -> str:
    return read(ad, "Iwd", now) or "/"


def _environment(
    launch: Launch, ad: Ad, slot: Mapping[str, Any], cpus: int, owner: str | None, now: int
) -> dict[str, str]:
    account = _account(owner)
    home, user, shell = (
        (account.pw_dir, account.pw_name, account.pw_shell) if account else ("/", owner or str(os.getuid()), "/bin/sh")
    )
    base = {
        "PATH": _PATH, "HOME": home, "USER": user, "LOGNAME": user, "SHELL": shell or "/bin/sh",
        "LANG": _LANG,
        **dict.fromkeys(_THREADS, str(cpus)),
    }  # fmt: skip
    return {
        **base,
        **variables_of(ad, now),
        **({"X509_USER_PROXY": proxy} if (proxy := read(ad, "x509userproxy", now)) else {}),
        **gpu_variables(launch.cores.get("gpus") or gpus_of(ad, slot, now), slot),
        "_CONDOR_SLOT": launch.slot,
        "_CONDOR_JOB_IWD": _directory(ad, now),
        "FAIRQ_JOB": launch.job,
        "FAIRQ_CLUSTER": str(launch.cluster),
        "FAIRQ_PROCESS": str(launch.proc),
        "FAIRQ_SLOT": launch.slot,
        MARKER: launch.name,
    }


def _account(owner: str | None) -> pwd.struct_passwd | None:
    with suppress(KeyError, ValueError):
        return pwd.getpwuid(os.getuid()) if owner is None else pwd.getpwnam(owner)
    return None


def _memory(slot: Mapping[str, Any], settings: Settings, now: int) -> int | None:
    """Return the memory limit of a job in MB: what its slot holds; None for no limit."""
    megabytes = resource_of(slot, "Memory", now)
    return None if megabytes is None or settings["launch.memory"] == "none" else max(1, int(megabytes))


def _grace(ad: Ad, slot: Mapping[str, Any], settings: Settings, now: int) -> float:
    """Return the time between signal and kill in seconds; the machine bounds what a job asks for."""
    maximum = resource_of(slot, "MachineMaxVacateTime", now)
    for name in ("JobMaxVacateTime", "KillSigTimeout"):
        seconds = read(ad, name, now, slot)
        if seconds is not None:
            return max(
                0.0, float(min(seconds, settings["launch.machine_max_vacate_time"] if maximum is None else maximum))
            )
    return float(settings["launch.grace"])


def _limits(ad: Ad, now: int) -> dict[str, int]:
    limits = {"RLIMIT_CORE": read(ad, "CoreSize", now), "RLIMIT_STACK": read(ad, "StackSize", now)}
    return {name: int(value) for name, value in limits.items() if value is not None and value >= 0}


def _positive(value: float | None) -> float | None:
    return None if value is None else max(0.0, value)


def _names(text: Any) -> tuple[str, ...]:
    return tuple(name for name in map(str.strip, text.split(",")) if name) if isinstance(text, str) else ()


def _appended(text: str, directory: str) -> tuple[str, ...]:
    return tuple(str(Path(directory, name)) for name in text.replace(",", " ").split())
