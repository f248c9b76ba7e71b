"""The queues that the software check was recorded with.

A file of recordings may hold them as an entry ``sw_check_world``. Where it does not, they are put together here from
the entry of AGLT2 on PanDA's brokerage page, what the queues' names say, and what was recorded of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.golden.cases import entries_of

ENTRY = "sw_check_world"

IMAGE = "docker://atlas/athanalysis:21.2.4"
UNPACKED = "/cvmfs/unpacked.cern.ch/registry/atlas/athanalysis:21.2.4"
SOURCES = ["docker.io/atlas/athanalysis:21.2.4", UNPACKED]


def _tag(project: str, release: str, container: str = "", sources: list[str] | None = None) -> dict[str, Any]:
    config = "x86_64-slc6-gcc62-opt"
    return {
        "cmtconfig": config,
        "container_name": container,
        "project": project,
        "release": release,
        "sources": sources or [],
        "tag": f"VO-atlas-{project}-{release}-{config}",
    }


AGLT2: dict[str, Any] = {
    "cmtconfigs": [
        "x86_64-centos7-gcc62-opt",
        "x86_64-centos7-gcc8-opt",
        "x86_64-slc6-gcc49-opt",
        "x86_64-slc6-gcc62-opt",
        "x86_64-slc6-gcc8-opt",
    ],
    "containers": ["any", "/cvmfs"],
    "cvmfs": ["atlas", "nightlies"],
    "architectures": [
        {"arch": ["x86_64"], "instr": ["avx2"], "type": "cpu", "vendor": ["intel", "excl"]},
        {"type": "gpu", "vendor": ["nvidia", "excl"], "model": ["kt100"]},
    ],
    "tags": [_tag("AthDerivation", "21.2.2.0"), _tag("Athena", "21.0.38")],
}
"""The example of the page."""


class SoftwareWorld(NamedTuple):
    """What queues publish, the GPUs that their worker nodes report, and their CPU levels."""

    sw_map: Mapping[str, Any]
    gpus: Mapping[str, Any]
    levels: Mapping[str, Any]


def _queue(**changes: Any) -> dict[str, Any]:
    return {**deepcopy(AGLT2), "architectures": [], **changes}


def _cpu(**lists: list[str]) -> dict[str, Any]:
    return _queue(architectures=[{"type": "cpu", **lists}])


def _gpu(*vendors: str, cpu: bool = True) -> dict[str, Any]:
    cpus = [{"type": "cpu", "arch": ["x86_64"]}] if cpu else []
    return _queue(architectures=[*cpus, {"type": "gpu", "vendor": list(vendors), "model": ["kt100"]}])


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in _queue().items() if key != name}


X86 = ["x86_64"]

PUT_TOGETHER = SoftwareWorld(
    sw_map={
        "AGLT2": AGLT2,
        "plain": _queue(),
        "no_arch_key": _without("architectures"),
        "arch_no_type": _queue(architectures=[{"arch": X86}]),
        "cpu_x86": _cpu(arch=X86),
        "cpu_x86_excl": _cpu(arch=[*X86, "excl"]),
        "cpu_intel": _cpu(arch=X86, vendor=["intel"]),
        "cpu_intel_excl": _cpu(arch=X86, vendor=["intel", "excl"]),
        "cpu_vendor_any": _cpu(arch=X86, vendor=["any"]),
        "cpu_avx2": _cpu(arch=X86, instr=["avx2"]),
        "cpu_avx2_excl": _cpu(arch=X86, instr=["avx2", "excl"]),
        "cpu_instr_any": _cpu(arch=X86, vendor=["any"], instr=["any"]),
        "cpu_any": _cpu(arch=["any"]),
        "cpu_arm": _cpu(arch=["arm64"]),
        "cpu_multi": _cpu(arch=["x86_64", "aarch64"]),
        "cpu_empty_str": _cpu(arch=[""]),
        "cpu_noarch_key": _cpu(vendor=["intel"]),
        "gpu_nv": _gpu("nvidia"),
        "gpu_nv_excl": _gpu("nvidia", "excl"),
        "gpu_only": _gpu("nvidia", cpu=False),
        "no_any_container": _queue(containers=["/cvmfs"]),
        "container_any_only": _queue(containers=["any"]),
        "container_prefix": _queue(containers=["docker://atlas"]),
        "no_container": _queue(containers=[]),
        "no_cvmfs": _queue(cvmfs=[]),
        "no_cvmfs_no_container": _queue(cvmfs=[], containers=[]),
        "cvmfs_any": _queue(cvmfs=["any"], containers=[]),
        "cvmfs_atlas_only": _queue(cvmfs=["atlas"], containers=[]),
        "fc_tags": _queue(
            containers=[],
            tags=[*AGLT2["tags"], _tag("AthAnalysis", "21.2.4", IMAGE, ["docker.io/atlas/athanalysis:21.2.4"])],
        ),
        "fc_prefix_of_source": _queue(containers=["/cvmfs/unpacked.cern.ch"]),
        "ALL": {"tags": [_tag("AthAnalysis", "21.2.4", IMAGE, SOURCES)]},
    },
    gpus={
        "gpu_nv": [
            {
                "vendor": "NVIDIA",
                "model": "Tesla V100",
                "vram": 32510,
                "architecture": "Volta",
                "framework_version": "12.2",
                "driver_version": "535.104",
            },
            {
                "vendor": "NVIDIA",
                "model": "NVIDIA A100-SXM4-40GB",
                "vram": 40960,
                "architecture": "Ampere",
                "framework_version": "12.2",
                "driver_version": "535.104",
            },
        ],
        "gpu_nv_excl": [
            {
                "vendor": "NVIDIA",
                "model": "NVIDIA A100-SXM4-80GB",
                "vram": 81920,
                "architecture": "Ampere",
                "framework_version": "12.9",
                "driver_version": "575.57.08",
            }
        ],
    },
    levels={
        "plain": {"x86_64-v3": {"pct_within_queue": 40}},
        "cpu_x86": {"x86_64-v3": {"pct_within_queue": 100}},
    },
)


@cache
def software_world(path: Path) -> SoftwareWorld:
    """Return the queues that the recordings at *path* were made with."""
    entry = next((each for each in entries_of(path) if each["name"] == ENTRY), None)
    if entry is None:
        return PUT_TOGETHER
    given = {**_mapping(entry.get("output")), **_mapping(entry.get("input"))}
    return SoftwareWorld(
        _first(given, "sw_map", "software", "queues") or given,
        _first(given, "gpus", "wn_gpu_map", "wn_gpus", "gpu_map"),
        _first(given, "levels", "arch_levels", "architecture_level_map", "cpu_levels"),
    )


def _first(given: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((_mapping(given[name]) for name in names if name in given), {})


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
