"""This machine as a startd describes it: platform, cores, memory, disk and GPUs.

Reads only the operating system. Units as in slot ads: memory in MB, disk in KB.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

from msgspec import Struct, field

_MACHINES = {"x86_64": "X86_64", "amd64": "X86_64", "i386": "INTEL", "i586": "INTEL", "i686": "INTEL"}
_NVIDIA_FIELDS = "uuid,name,memory.total,compute_cap,driver_version"
_NVIDIA_WAIT = 20
_KFD = Path("/sys/class/kfd/kfd/topology/nodes")


class Gpu(Struct, frozen=True):
    """One GPU; the properties are HTCondor's (``Capability``, ``GlobalMemoryMb``, …) where known."""

    name: str
    properties: dict[str, Any] = field(default_factory=dict)


class Machine(Struct, frozen=True):
    """The resources of this machine for the calling process: *memory* in MB, *disk* in KB."""

    name: str
    arch: str
    system: str
    cpus: int
    memory: int
    disk: int
    gpus: tuple[Gpu, ...] = ()
    load: float = 0.0
    attributes: dict[str, Any] = field(default_factory=dict)


def architecture() -> str:
    """Return HTCondor's name for this machine's architecture (``Arch``)."""
    machine = platform.machine()
    return _MACHINES.get(machine.lower(), machine)


def operating_system() -> str:
    """Return HTCondor's name for this operating system (``OpSys``)."""
    return platform.system().upper()


def host_name() -> str:
    """Return the name of this host."""
    return socket.gethostname()


def detect(directory: Path) -> Machine:
    """Describe this machine; the disk is the free space at *directory*.

    Cores and memory are those that this process may use by its affinity and control group.
    """
    return Machine(
        name=host_name(),
        arch=architecture(),
        system=operating_system(),
        cpus=_cores(),
        memory=_memory(),
        disk=_free_disk(directory),
        gpus=gpus(),
        load=round(os.getloadavg()[0], 2),
        attributes=_release(),
    )


def _cores() -> int:
    cores = len(os.sched_getaffinity(0))
    quota, _, period = _cgroup_limit("cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit():
        cores = min(cores, max(1, int(quota) // int(period)))
    return cores


def _memory() -> int:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _cgroup_limit("memory.max")
    return (min(total, int(limit)) if limit.isdigit() else total) // 1024**2


def _cgroup_limit(name: str) -> str:
    """Return the limit *name* of this process's control group (version 2), or an empty string without one."""
    try:
        group = Path("/proc/self/cgroup").read_text(encoding="ascii").rpartition("0::")[2].strip()
        return Path(f"/sys/fs/cgroup{group}", name).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _free_disk(directory: Path) -> int:
    while not directory.exists():
        directory = directory.parent
    return shutil.disk_usage(directory).free // 1024


def gpus() -> tuple[Gpu, ...]:
    """Return the GPUs of this machine, by number."""
    tool = shutil.which("nvidia-smi")
    # PATH may contain the current directory: run no program from there.
    if tool is not None and Path(tool).is_absolute():
        try:
            output = subprocess.run(
                [tool, f"--query-gpu={_NVIDIA_FIELDS}", "--format=csv,noheader,nounits"],
                capture_output=True,
                text=True,
                check=True,
                timeout=_NVIDIA_WAIT,
            ).stdout
            return tuple(gpu_of(line) for line in output.splitlines() if line.count(",") >= 4)
        except (OSError, subprocess.SubprocessError):
            pass
    devices = sorted(Path("/dev").glob("nvidia[0-9]*"))
    return tuple(Gpu(f"CUDA{number}") for number in range(len(devices))) or amd_gpus(_KFD)


def amd_gpus(topology: Path) -> tuple[Gpu, ...]:
    """Return AMD's GPUs by number, as the kernel's driver lists them in *topology*."""

    def computes(node: Path) -> bool:
        try:
            simd_count = re.search(
                r"^simd_count (\d+)$", (node / "properties").read_text(encoding="ascii"), re.MULTILINE
            )
        except (OSError, ValueError):
            return False
        return simd_count is not None and int(simd_count[1]) > 0

    nodes = sorted((node for node in topology.glob("[0-9]*") if node.name.isdigit()), key=lambda node: int(node.name))
    return tuple(Gpu(f"HIP{number}") for number, _ in enumerate(filter(computes, nodes)))


def gpu_of(line: str) -> Gpu:
    """Return the GPU that one line of ``nvidia-smi --query-gpu`` describes."""
    uuid, name, memory, capability, driver = (part.strip() for part in line.split(",", 4))
    properties: dict[str, Any] = {"DeviceName": name, "DeviceUuid": uuid.removeprefix("GPU-")}
    if memory.isdigit():
        properties["GlobalMemoryMb"] = int(memory)
    if capability.replace(".", "", 1).isdigit():
        properties["Capability"] = float(capability)
    properties["DriverVersionText"] = driver
    return Gpu(f"GPU-{uuid.removeprefix('GPU-')[:8]}", properties)


def _release() -> dict[str, Any]:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return {}
    name = release.get("NAME", "").split(" ")[0]
    version = release.get("VERSION_ID", "").partition(".")[0]
    attributes: dict[str, Any] = {"OpSysName": name, "OpSysLongName": release.get("PRETTY_NAME", "")}
    attributes |= {"OpSysShortName": name, "OpSysAndVer": name + version}
    if version.isdigit():
        attributes["OpSysMajorVer"] = int(version)
    return {key: value for key, value in attributes.items() if value != ""}
