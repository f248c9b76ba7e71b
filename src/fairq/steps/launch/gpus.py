"""The GPUs that a job sees: exactly its own.

Source: the manual, "Environment and services for a running job"; ``Starter::PublishToEnv``; AMD's "GPU isolation".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fairq.launch.interface import GPU_VARIABLES
from fairq.records import Ad
from fairq.steps.launch.values import is_given, read
from fairq.steps.pool.devices import assigned_gpus, attribute, available_gpus, description

_HIDDEN = "10000"
"""A number that no GPU has; HTCondor uses it to hide GPUs that are not assigned to a job."""

_NUMBER = re.compile(r"[A-Za-z]*(\d+)")


def gpus_of(slot: Mapping[str, Any]) -> list[str]:
    """Return the names of the GPUs of a slot for one job."""
    ad = dict(slot)
    names = assigned_gpus(ad)
    # AvailableGPUs of a dynamic slot may be those of its machine.
    return names if names or attribute(slot, "dynamicslot") is True else available_gpus(ad)


def wants_gpus(ad: Ad, slot: Mapping[str, Any], now: int) -> bool:
    """Tell whether the job *ad* has the GPUs of its *slot*: a dynamic slot has as many as the job requests.

    Raises UnusableValueError.
    """
    if attribute(slot, "dynamicslot") is True:
        return True
    wanted = read(ad, "RequestGPUs", now, slot)
    return is_given(ad, "RequestGPUs") if wanted is None else wanted > 0


def gpu_variables(ad: Ad, slot: Mapping[str, Any], now: int) -> dict[str, str]:
    """Return the variables that show the job *ad* the GPUs of its *slot*, or none if it requests none.

    Raises UnusableValueError.
    """
    names = gpus_of(slot) if wants_gpus(ad, slot, now) else []
    hidden = {**dict.fromkeys(GPU_VARIABLES, _HIDDEN), "NVIDIA_VISIBLE_DEVICES": "none"}
    if not names:
        return hidden
    shown = {"_CONDOR_AssignedGPUs": ",".join(names)}
    if all(name.upper().startswith("HIP") for name in names):
        # What ROCR_VISIBLE_DEVICES shows is numbered anew, and the other variables choose among that.
        anew = ",".join(map(str, range(len(names))))
        shown |= {"ROCR_VISIBLE_DEVICES": _numbers(names), "HIP_VISIBLE_DEVICES": anew, "GPU_DEVICE_ORDINAL": anew}
        return {**hidden, **shown}
    whole = ",".join(_identifier(slot, name) for name in names)
    # Newer versions of CUDA take several devices only by their whole identifiers.
    shown["CUDA_VISIBLE_DEVICES"] = whole if len(names) > 1 else _numbers(names)
    shown["NVIDIA_VISIBLE_DEVICES"] = whole
    # In another order, the same number would be another device.
    shown["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    return {**hidden, **shown}


def _numbers(names: Sequence[str]) -> str:
    """Return the numbers of GPUs that are named by number; other names as they are."""
    return ",".join(found[1] if (found := _NUMBER.fullmatch(name)) else name for name in names)


def _identifier(slot: Mapping[str, Any], name: str) -> str:
    told = description(slot, name).get("DeviceUuid")
    if not isinstance(told, str):
        return _numbers([name])
    return told if told.startswith(("GPU-", "MIG-")) else f"GPU-{told}"
