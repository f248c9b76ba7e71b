"""The check of a queue's hardware, and the comparison of versions of GPUs' software.

A queue publishes lists of CPU and GPU attributes. ``any`` in a list accepts every task, ``excl`` accepts only tasks
that request something in the list (docs/panda.md, Software; PanDA JsonSoftwareCheck).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.software.architecture import ANYTHING, CpuSpec, GpuSpec

Version = tuple[tuple[int, ...], int, int]
"""Release numbers without trailing zeros, the stage (0: released), the number of the stage."""

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)(?:[._-]?(a|b|rc|dev|post)[._-]?(\d*))?", re.IGNORECASE)
_CONSTRAINT = re.compile(r"\s*([=!<>]+)\s*(.+)")
_STAGES = {"dev": -4, "a": -3, "b": -2, "rc": -1, "": 0, "post": 1}
_OPERATORS: dict[str, Callable[[Version, Version], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def read_version(text: str) -> Version | None:
    """Return a comparable version; ``12.9`` equals ``12.9.0``. None: *text* is not a version."""
    match = _VERSION.fullmatch(text.strip())
    if not match:
        return None
    numbers = [int(number) for number in match[1].split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers), _STAGES[(match[2] or "").lower()], int(match[3] or 0)


def satisfies(version: str, constraint: str) -> bool | None:
    """Return whether *version* meets a constraint such as ``>=12.0``; None if either cannot be read.

    Operators are ``= == != >= <= > <`` (PanDA compare_version_string).
    """
    match = _CONSTRAINT.fullmatch(constraint)
    compare = _OPERATORS.get(match[1]) if match else None
    if match is None or compare is None:
        return None
    published, required = read_version(version), read_version(match[2])
    if published is None or required is None:
        return None
    return compare(published, required)


ANY = "any"
EXCLUSIVE = "excl"

Gpus = Sequence[Mapping[str, Any]]
"""What worker nodes report of their GPUs: vendor, model, vram, architecture, framework_version, driver_version."""


class Lack(StrEnum):
    """Software or hardware that a task needs and a queue lacks."""

    CPU_IS_EXCLUSIVE = "cpu_is_exclusive"
    GPU_IS_EXCLUSIVE = "gpu_is_exclusive"
    NO_HARDWARE_PUBLISHED = "no_hardware_published"
    NO_SUCH_CPU = "no_such_cpu"
    NO_GPU = "no_gpu"
    NO_GPU_REPORT = "no_gpu_report"
    NO_GPU_OF_VENDOR = "no_gpu_of_vendor"
    NO_GPU_OF_MODEL = "no_gpu_of_model"
    UNWANTED_GPU_MODEL = "unwanted_gpu_model"
    NO_GPU_OF_MICROARCHITECTURE = "no_gpu_of_microarchitecture"
    GPU_VRAM = "gpu_vram"
    GPU_VERSION = "gpu_version"
    GPU_DRIVER_VERSION = "gpu_driver_version"
    NOT_PUBLISHED = "not_published"
    NOT_PUBLISHED_FOR_HARDWARE = "not_published_for_hardware"
    NO_RELEASE_NAMED = "no_release_named"
    NO_CONTAINER = "no_container"
    NO_CONTAINERS_NOR_PLATFORM = "no_containers_nor_platform"
    NO_CVMFS = "no_cvmfs"
    NO_CVMFS_NOR_CONTAINERS = "no_cvmfs_nor_containers"
    NO_CVMFS_NOR_TAG = "no_cvmfs_nor_tag"


_VERSIONS = {
    "vram": ("vram", Lack.GPU_VRAM),
    "version": ("framework_version", Lack.GPU_VERSION),
    "driver_version": ("driver_version", Lack.GPU_DRIVER_VERSION),
}
"""Requirements that all GPUs of a queue must meet, their names in the reports of worker nodes, and the refusal."""


def hardware_refusal(
    cpus: tuple[CpuSpec, ...] | None,
    gpu: GpuSpec | None,
    architectures: Iterable[Mapping[str, Any]] | None,
    gpus: Gpus,
    rules: Rules,
) -> Lack | None:
    """Return what the hardware of a queue lacks; None if it is sufficient.

    Args:
        cpus: alternatives, of which one must match; None is no requirement.
        gpu: the GPU; None is no requirement.
        architectures: what the queue publishes.
        gpus: the GPUs that its worker nodes reported.
        rules: with *gpu_lists*, GPU vendor and model are compared with the queue's lists if no worker node has reported
            its GPUs; otherwise this queue accepts no task that requests a vendor or model. With *empty_attribute*, an
            empty text in a list accepts everything, as ``any`` does.
    """
    by_type = {
        entry["type"]: _with_any(entry) if rules.empty_attribute else entry
        for entry in architectures or ()
        if isinstance(entry, Mapping) and "type" in entry
    }
    cpu_lists, gpu_lists = by_type.get("cpu"), by_type.get("gpu")
    if cpus is None and _is_exclusive(cpu_lists):
        return Lack.CPU_IS_EXCLUSIVE
    if gpu is None and _is_exclusive(gpu_lists):
        return Lack.GPU_IS_EXCLUSIVE
    if (cpus or gpu) and not by_type:
        return Lack.NO_HARDWARE_PUBLISHED
    refusal: Lack | None = None
    if cpus and (cpu_lists is None or not any(_cpu_fits(cpu, cpu_lists) for cpu in cpus)):
        refusal = Lack.NO_SUCH_CPU
    elif gpu is not None and gpu_lists is None:
        refusal = Lack.NO_GPU
    elif gpu is not None and gpu_lists is not None:
        refusal = _lists_refusal(gpu, gpu_lists) if rules.gpu_lists and not gpus else _gpu_refusal(gpu, gpus)
    return refusal


def cpu_architectures(architectures: Iterable[Mapping[str, Any]] | None) -> tuple[str, ...]:
    """Return the CPU architectures that a queue lists."""
    entries = [entry for entry in architectures or () if isinstance(entry, Mapping) and entry.get("type") == "cpu"]
    return _list(entries[-1], "arch") or () if entries else ()


def _with_any(entry: Mapping[str, Any]) -> dict[str, Any]:
    # Replace empty texts in lists by ``any``.
    def read(value: Any) -> Any:
        return [ANY if text == "" else text for text in value] if isinstance(value, list) else value

    return {name: read(value) for name, value in entry.items()}


def _is_exclusive(lists: Mapping[str, Any] | None) -> bool:
    return lists is not None and any(isinstance(values, list) and EXCLUSIVE in values for values in lists.values())


def _list(lists: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    value = lists.get(name)
    if value is None:
        return None
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def _cpu_fits(cpu: CpuSpec, lists: Mapping[str, Any]) -> bool:
    arches = _list(lists, "arch")
    if arches is None or cpu.arch is None:
        return False
    if cpu.arch == ANYTHING:
        if EXCLUSIVE in arches:
            return False
    elif ANY not in arches and cpu.arch not in arches and not any(_matches(f"^{cpu.arch}$", arch) for arch in arches):
        return False
    return _is_listed(cpu.vendor, _list(lists, "vendor")) and _is_listed(cpu.instr, _list(lists, "instr"))


def _is_listed(requested: str, listed: tuple[str, ...] | None) -> bool:
    if requested == ANYTHING:
        return listed is None or EXCLUSIVE not in listed
    return listed is not None and (ANY in listed or requested in listed)


def _gpu_refusal(gpu: GpuSpec, gpus: Gpus) -> Lack | None:
    asks_only_for_any = gpu.vendor == ANYTHING and gpu.model == ANYTHING and not gpu.others
    if not gpus:
        return None if asks_only_for_any else Lack.NO_GPU_REPORT
    if gpu.vendor != ANYTHING and not any(_begins(gpu.vendor, report.get("vendor")) for report in gpus):
        return Lack.NO_GPU_OF_VENDOR
    if gpu.model != ANYTHING and any(_begins(gpu.model, report.get("model")) for report in gpus) == gpu.model_excluded:
        return Lack.UNWANTED_GPU_MODEL if gpu.model_excluded else Lack.NO_GPU_OF_MODEL
    for name, requirement in gpu.others:
        if name == "microarchitecture":
            names = requirement if isinstance(requirement, tuple) else (requirement,)
            if not any(report.get("architecture") in names for report in gpus):
                return Lack.NO_GPU_OF_MICROARCHITECTURE
        elif name in _VERSIONS and not all(_meets(report.get(_VERSIONS[name][0]), str(requirement)) for report in gpus):
            return _VERSIONS[name][1]
    return None


def _lists_refusal(gpu: GpuSpec, lists: Mapping[str, Any]) -> Lack | None:
    vendors, models = _list(lists, "vendor"), _list(lists, "model")
    if gpu.others:
        return Lack.NO_GPU_REPORT
    if not _is_listed_pattern(gpu.vendor, vendors):
        return Lack.NO_GPU_OF_VENDOR
    if gpu.model_excluded:
        return Lack.UNWANTED_GPU_MODEL if any(_begins(gpu.model, model) for model in models or ()) else None
    return None if _is_listed_pattern(gpu.model, models) else Lack.NO_GPU_OF_MODEL


def _is_listed_pattern(requested: str, listed: tuple[str, ...] | None) -> bool:
    if requested == ANYTHING:
        return listed is None or EXCLUSIVE not in listed
    return listed is not None and (ANY in listed or any(_begins(requested, entry) for entry in listed))


def _meets(value: object, constraint: str) -> bool:
    return bool(value) and satisfies(str(value), constraint) is True


def _begins(pattern: str, text: object) -> bool:
    return bool(text) and _matches(f"^(?:{pattern})", str(text), re.IGNORECASE)


def _matches(pattern: str, text: str, flags: int = 0) -> bool:
    try:
        return re.search(pattern, text, flags) is not None
    except re.error:
        return False
