"""The assignment of a job to a launcher: program, files, environment and limits, from the ads of job and slot."""

from __future__ import annotations

import os
import pwd
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.arguments import split_arguments, split_environment, split_quoted
from fairq.launch.interface import Assignment
from fairq.launch.strays import MARKER
from fairq.records import Ad, Launch
from fairq.steps.launch.gpus import gpu_variables, wants_gpus
from fairq.steps.launch.values import number, raw

if TYPE_CHECKING:
    from fairq.settings import Settings

_NULL = os.devnull
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_THREADS = (
    "OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "JULIA_NUM_THREADS", "ROOT_MAX_THREADS", "TF_NUM_THREADS", "GOMAXPROCS", "PYTHON_CPU_COUNT", "CUBACORES",
)  # fmt: skip
"""The environment variables that HTCondor sets to the number of cores of a job."""

_DEFAULT_REQUEST = 128
"""Default memory request of a job in MB."""

PLACE = "Engine"
"""The beginning of the names of the slot's attributes that lead an engine to its machine."""


def files(ad: Ad) -> tuple[str | None, str | None, str | None]:
    """Return the paths of a job's input, output and error; None where it names none."""
    directory = str(raw(ad, "Iwd") or "/")

    def path(name: str, base: str) -> str | None:
        text = raw(ad, name)
        if not isinstance(text, str) or text in ("", _NULL):
            return None
        return str(Path(base, text))

    place = output_directory(ad) or directory
    return path("In", directory), path("Out", place), path("Err", place)


def output_directory(ad: Ad) -> str | None:
    """Return the directory for output and error, as a whole path; None if that is the job's own (``DoDownload``)."""
    text = raw(ad, "OutputDirectory")
    return str(Path(str(raw(ad, "Iwd") or "/"), text)) if isinstance(text, str) and text else None


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

    It runs as the user *owner*, None for the user of this process.
    """
    given, output, error = files(ad)
    cpus = max(1, int(number(ad, "RequestCpus", now, slot) or 1))
    place, appended = output_directory(ad), raw(ad, "AppendFiles")
    return Assignment(
        run=launch.name,
        program=[str(raw(ad, "Cmd") or ""), *_arguments(ad)],
        directory=str(raw(ad, "Iwd") or "/"),
        environment=_environment(launch, ad, slot, cpus, owner),
        input=given,
        output=output,
        error=error,
        output_directory=place,
        output_files=_names(raw(ad, "TransferOutput")) if place else (),
        append=_appended(str(appended), place or str(raw(ad, "Iwd") or "/")) if appended else (),
        log=str(raw(ad, "UserLog") or "") or None,
        cpus=cpus,
        memory=_memory(ad, slot, settings, now),
        execute_seconds=_positive(number(ad, "AllowedExecuteDuration", now, slot)),
        job_seconds=_positive(number(ad, "AllowedJobDuration", now, slot)),
        kill_signal=_signal(raw(ad, "KillSig")),
        grace=_grace(ad, slot, settings, now),
        umask=int(settings["launch.umask"], 8),
        limits=_limits(ad, now),
        cores=cores,
        job=launch.job,
        submitter=submitter,
        held_memory=int(number(slot, "Memory", now) or 0) or None,
        gpus=int(number(slot, "GPUs", now) or 0) if wants_gpus(ad, slot) else 0,
        place={name: value for name, value in slot.items() if name.startswith(PLACE)},
        transfer={name: value for name, value in ad.items() if name.startswith("Transfer")},
    )


def _arguments(ad: Ad) -> list[str]:
    new, old = raw(ad, "Arguments"), raw(ad, "Args")
    if isinstance(new, str):
        return split_quoted(_in_quotes(new))
    return split_arguments(old)[0] if isinstance(old, str) else []


def _in_quotes(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _environment(launch: Launch, ad: Ad, slot: Mapping[str, Any], cpus: int, owner: str | None) -> dict[str, str]:
    me = _account(owner)
    home, user, shell = (me.pw_dir, me.pw_name, me.pw_shell) if me else ("/", owner or str(os.getuid()), "/bin/sh")
    base = {
        "PATH": _PATH, "HOME": home, "USER": user, "LOGNAME": user, "SHELL": shell or "/bin/sh",
        **dict.fromkeys(_THREADS, str(cpus)),
    }  # fmt: skip
    new, old = raw(ad, "Environment"), raw(ad, "Env")
    text = _in_quotes(new) if isinstance(new, str) else old
    own = split_environment(text) if isinstance(text, str) else {}
    return {
        **base,
        **own,
        **gpu_variables(ad, slot),
        "_CONDOR_SLOT": launch.slot,
        "_CONDOR_JOB_IWD": str(raw(ad, "Iwd") or "/"),
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


def _memory(ad: Ad, slot: Mapping[str, Any], settings: Settings, now: int) -> int | None:
    policy = settings["launch.memory"]
    if policy == "none":
        return None
    whole = number(slot, "Memory", now)
    request = number(ad, "RequestMemory", now, slot)
    if policy == "slot" or request is None or request == _DEFAULT_REQUEST:
        request = max(whole or 0, request or 0)
    return int(request) if request > 0 else None


def _grace(ad: Ad, slot: Mapping[str, Any], settings: Settings, now: int) -> float:
    for name in ("JobMaxVacateTime", "KillSigTimeout"):
        seconds = number(ad, name, now, slot)
        if seconds is not None:
            return max(0.0, float(seconds))
    return float(settings["launch.grace"])


def _signal(given: Any) -> int:
    """Return the number of a signal given by name or number; an unknown one is SIGTERM."""
    text = str(given or "SIGTERM").strip().upper()
    if text.isdecimal() and 0 < int(text) < signal.NSIG:
        return int(text)
    name = text if text.startswith("SIG") else f"SIG{text}"
    return int(getattr(signal, name, signal.SIGTERM))


def _limits(ad: Ad, now: int) -> dict[str, int]:
    limits = {"RLIMIT_CORE": number(ad, "CoreSize", now), "RLIMIT_STACK": number(ad, "StackSize", now)}
    return {name: int(value) for name, value in limits.items() if value is not None and value >= 0}


def _positive(value: float | None) -> float | None:
    return None if value is None else max(0.0, value)


def _names(text: Any) -> tuple[str, ...]:
    return tuple(name for name in map(str.strip, text.split(",")) if name) if isinstance(text, str) else ()


def _appended(text: str, directory: str) -> tuple[str, ...]:
    return tuple(str(Path(directory, name)) for name in text.replace(",", " ").split())
