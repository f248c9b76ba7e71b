"""A real Slurm on this machine: a controller and two nodes on loopback, in a directory of its own.

It needs root and the packages slurmctld, slurmd, slurm-client and munge. Nothing outside the directory changes, and
nothing outlives `Cluster.stop`.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.engines.held import Held

from fairq.launch.processes import descendants, numbers

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "munged")
NODES = ("n1", "n2")
_PATIENCE = 240.0
_PATH = "/usr/sbin:/sbin"


def missing() -> str:
    """Return why no cluster can be made here; empty if one can."""
    if os.getuid() != 0:
        return "a real Slurm needs root"
    path = f"{os.environ['PATH']}:{_PATH}"
    absent = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    return f"a real Slurm needs {', '.join(absent)}" if absent else ""


class Cluster:
    """The daemons, and what a test does to them."""

    NAME = "slurm"
    account = 0
    python = sys.executable

    def __init__(self, place: Path, *, cpus: int = 7, forget: int = 3600, node_timeout: int = 15) -> None:
        """Describe a cluster in *place* whose nodes have *cpus*; it forgets ended jobs after *forget* seconds."""
        self.place = place
        place.mkdir(mode=0o755, parents=True, exist_ok=True)
        for name in ("state", "log", "munge"):
            (place / name).mkdir(mode=0o755)
        (place / "munge" / "key").write_bytes(os.urandom(1024))
        (place / "munge" / "key").chmod(0o400)
        host = socket.gethostname().partition(".")[0]
        ports = _free_ports(3)
        nodes = "\n".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=8000"
            for name, port in zip(NODES, ports[1:], strict=True)
        )
        self.conf = place / "slurm.conf"
        self.conf.write_text(
            f"""ClusterName=fairqtest
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge/socket
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool-%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmctldLogFile={place}/log/slurmctld
SlurmdLogFile={place}/log/slurmd-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MinJobAge={forget}
SlurmdTimeout={node_timeout}
KillWait=10
{nodes}
PartitionName=main Nodes={",".join(NODES)} Default=YES MaxTime=INFINITE State=UP
"""
        )
        self.environment = {**os.environ, "SLURM_CONF": str(self.conf), "SLURM_TIME_FORMAT": "%s"}
        self.environment["PATH"] += f":{_PATH}"

    def start(self) -> None:
        """Start every daemon, and wait until both nodes are idle."""
        munge = self.place / "munge"
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        self._run("munged", "--force", *(f"--{option}={munge / name}" for option, name in files.items()))
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        self.until(lambda: self.states() == dict.fromkeys(NODES, "idle"), "the nodes are not idle")

    def stop(self) -> None:
        """Cancel every job and end every daemon."""
        with suppress(subprocess.CalledProcessError):
            self("scancel", "--user=root")
            self.until(lambda: not self("squeue", "--noheader"), "jobs are left")
        for node in NODES:
            self.kill_node(node)
        self.stop_controller()
        self._kill(self.place / "munge" / "pid")

    def start_controller(self) -> None:
        """Start slurmctld."""
        self._run("slurmctld", "-f", str(self.conf))

    def stop_controller(self) -> None:
        """End slurmctld, which saves its state first; jobs go on."""
        self._kill(self.place / "slurmctld.pid", signal.SIGTERM)

    def start_node(self, node: str) -> None:
        """Start slurmd of a node."""
        name, _, value = self._mark(node).partition("=")
        self._run("slurmd", "-f", str(self.conf), "-N", node, **{name: value})

    def kill_node(self, node: str) -> None:
        """Take a node away, as a power failure does: its slurmd, its batch jobs and all that they started."""
        self._kill(self.place / f"slurmd-{node}.pid")
        while left := self._processes_of(node):
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)

    def until_up(self) -> None:
        """Wait until the controller answers, and no node is down."""
        self.until(lambda: not any("down" in state for state in self.states().values()), "a node does not come back")

    def states(self) -> dict[str, str]:
        """Return the states of the nodes."""
        return dict(line.split() for line in self("sinfo", "--noheader", "--Node", "--format=%N %T").splitlines())

    def records(self) -> dict[str, Held]:
        """Return what Slurm recorded of all jobs, by the id that fairq has of them."""
        found = {}
        for line in self("squeue", "--noheader", "--array", "--states=all", "--format=%F|%K|%T|%S|%e").splitlines():
            whole, index, state, start, end = line.split("|")
            if start.isdecimal() and end.isdecimal():
                name = f"{whole}_{index}" if index.isdecimal() else whole
                found[name] = Held(state, int(start), int(end))
        return found

    def __call__(self, *words: str) -> str:
        """Run a program of Slurm and return its output; raises CalledProcessError."""
        done = subprocess.run(words, env=self.environment, check=True, capture_output=True, text=True)
        return done.stdout

    def until(self, is_so: Callable[[], object], what: str) -> None:
        """Wait until *is_so*; *what* is said if that does not come about."""
        end = time.monotonic() + _PATIENCE
        while True:
            with suppress(subprocess.CalledProcessError):
                if is_so():
                    return
            assert time.monotonic() < end, f"{what}; see {self.place}/log"
            time.sleep(0.2)

    def _run(self, *words: str, **variables: str) -> None:
        null = subprocess.DEVNULL
        subprocess.run(words, env={**self.environment, **variables}, check=True, stdin=null, stdout=null, stderr=null)

    def _kill(self, file: Path, number: int = signal.SIGKILL) -> None:
        with suppress(OSError, ValueError):
            pid = int(file.read_text())
            os.kill(pid, number)
            while Path(f"/proc/{pid}").exists():
                time.sleep(0.05)
            file.unlink(missing_ok=True)

    def _processes_of(self, node: str) -> set[int]:
        """Return what slurmd of a node has started, by the mark that it passes on, and all that came of it."""
        mark = self._mark(node).encode()
        found: set[int] = set()
        for pid in numbers():
            with suppress(OSError):
                if mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found.update((pid, *descendants(pid)))
        return found - {os.getpid()}

    def _mark(self, node: str) -> str:
        return f"TEST_NODE={node}@{self.place}"


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
