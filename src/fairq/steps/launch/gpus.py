"""The GPUs that a job sees: exactly its own.

Source: the manual, "Environment and services for a running job"; ``Starter::PublishToEnv``; AMD's "GPU isolation".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairq.common.expression_form import attribute
from fairq.common.records import Ad, Launch, LaunchPhase
from fairq.engine.negotiation.pieces import assigned_gpus, available_gpus, description
from fairq.launch.interface import GPU_VARIABLES
from fairq.steps.launch.values import is_given, read
from fairq.steps.pool.devices import BY_NUMBER, by_number, same_gpu  # fmt: skip

_HIDDEN = "10000"
"""A number that no GPU has; HTCondor uses it to hide GPUs that are not assigned to a job."""


def wants_gpus(ad: Ad, slot: Mapping[str, Any], now: int) -> bool:
    """Return whether the job *ad* gets the GPUs of its *slot*: a dynamic slot has as many as the job requests.

    Raises UnusableValueError.
    """
    if attribute(slot, "dynamicslot") is True:
        return True
    requested = read(ad, "RequestGPUs", now, slot)
    return is_given(ad, "RequestGPUs") if requested is None else requested > 0


def gpus_of(ad: Ad, slot: Mapping[str, Any], now: int) -> list[str]:
    """Return the names of the GPUs that the job *ad* has on its *slot*; raises UnusableValueError."""
    if not wants_gpus(ad, slot, now):
        return []
    names = assigned_gpus(dict(slot))
    # AvailableGPUs of a dynamic slot may be those of its machine.
    return names if names or attribute(slot, "dynamicslot") is True else available_gpus(dict(slot))


def missing_gpus(ad: Ad, slot: Mapping[str, Any], now: int) -> str | None:
    """Return why a job must not run on its *slot*: it would see fewer GPUs than it requests.

    Raises UnusableValueError.
    """
    if len(gpus_of(ad, slot, now)) >= (read(ad, "RequestGPUs", now, slot) or 0):
        return None
    name = attribute(slot, "name")
    return f"it requests GPUs, and slot {name} does not name enough of its own; remove the slot and add it again"


def waits_for_gpus(live: Sequence[Launch]) -> dict[str, str]:
    """Return why runs that have not begun must wait for a GPU, by their names; *live* are the runs of this machine.

    Two slots may have the same GPU, for example under two names of one machine. The runs get it in the order of their
    matches, and each keeps it until it has ended.
    """
    gpus = {launch.name: launch.cores.get("gpus", ()) for launch in live}
    machine = by_number(name for names in gpus.values() for name in names)
    used: list[tuple[str, Launch]] = []
    waits: dict[str, str] = {}
    for launch in sorted(live, key=lambda launch: launch.phase is not LaunchPhase.STARTED):
        for gpu in gpus[launch.name]:
            other = next((run for name, run in used if same_gpu(gpu, name, machine)), None)
            if other is not None and launch.phase is not LaunchPhase.STARTED:
                waits[launch.name] = (
                    f"job {other.job} on slot {other.slot} has {gpu}, the GPU of slot {launch.slot}; "
                    f"remove one of the slots and add it again"
                )
        used += ((name, launch) for name in gpus[launch.name])
    return waits


def gpu_variables(names: Sequence[str], slot: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables that show a job the GPUs *names* of its *slot*, and no others."""
    hidden = {**dict.fromkeys(GPU_VARIABLES, _HIDDEN), "NVIDIA_VISIBLE_DEVICES": "none"}
    if not names:
        return hidden
    shown = {"_CONDOR_AssignedGPUs": ",".join(names)}
    if all(name.upper().startswith("HIP") for name in names):
        # The devices of ROCR_VISIBLE_DEVICES are numbered from 0, and the other variables use these numbers.
        indexes = ",".join(map(str, range(len(names))))
        shown |= {
            "ROCR_VISIBLE_DEVICES": _numbers(names),
            "HIP_VISIBLE_DEVICES": indexes,
            "GPU_DEVICE_ORDINAL": indexes,
        }
        return {**hidden, **shown}
    identifiers = ",".join(_identifier(slot, name) for name in names)
    # Newer versions of CUDA take several devices only by their full identifiers.
    shown["CUDA_VISIBLE_DEVICES"] = identifiers if len(names) > 1 else _numbers(names)
    shown["NVIDIA_VISIBLE_DEVICES"] = identifiers
    # In another order, the same number would be another device.
    shown["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    return {**hidden, **shown}


def _numbers(names: Sequence[str]) -> str:
    """Return the numbers of GPUs that are named by number; other names as they are."""
    return ",".join(number[1] if (number := BY_NUMBER.fullmatch(name)) else name for name in names)


def _identifier(slot: Mapping[str, Any], name: str) -> str:
    uuid = description(slot, name).get("DeviceUuid")
    if not isinstance(uuid, str):
        return _numbers([name])
    return uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
