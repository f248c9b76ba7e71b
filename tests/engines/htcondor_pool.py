"""A real HTCondor pool on this machine: its own directory, loopback only, two machines of 7 cores.

It needs HTCondor, installed or in a directory tree that FAIRQ_TEST_HTCONDOR names (see CONTRIBUTING.md), and root: the
daemons and the jobs run as an unprivileged account in a mount namespace of their own. Nothing outlives the pool.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from tests.engines.held import Held

import fairq

ACCOUNT = "daemon"
"""The account of the daemons and jobs; every Debian has it, under the same number."""

ACCOUNT_ID = 1
CORES = 7
MACHINES = ("n1", "n2")
GPUS = ("GPU-aaaa1111", "GPU-bbbb2222")
"""The made-up GPUs of each machine."""


PYTHON = "/usr/bin/python3"
"""The interpreter that the account can run, wherever that of the tests is."""

_VARIABLE = "FAIRQ_TEST_HTCONDOR"
_ROOT = Path(os.environ.get(_VARIABLE, "/"))
"""The tree that has HTCondor, read at once: the tests take all variables of fairq out of the environment."""

_PATIENCE = 120.0
_READY = 'PartitionableSlot && State == "Unclaimed"'
"""True for a slot that takes jobs; a startd begins in the state Owner."""

_CONFIGURATION = """\
RELEASE_DIR = /usr
LIB = /usr/lib/condor
LIBEXEC = /usr/libexec/condor
LOCAL_DIR = {directory}
LOG = $(LOCAL_DIR)/log
SPOOL = $(LOCAL_DIR)/spool
EXECUTE = $(LOCAL_DIR)/execute
LOCK = $(LOCAL_DIR)/log
RUN = $(LOCAL_DIR)/log
NETWORK_INTERFACE = 127.0.0.1
CONDOR_HOST = 127.0.0.1
COLLECTOR_HOST = 127.0.0.1:{port}
USE_SHARED_PORT = False
SEC_USE_FAMILY_SESSION = False
UID_DOMAIN = fairq.test
FILESYSTEM_DOMAIN = fairq.test
ALLOW_READ = *
ALLOW_WRITE = *
ALLOW_ADMINISTRATOR = *
ALLOW_NEGOTIATOR = *
ALLOW_DAEMON = *
SEC_DEFAULT_AUTHENTICATION = OPTIONAL
SEC_DEFAULT_AUTHENTICATION_METHODS = FS
NEGOTIATOR_INTERVAL = 2
NEGOTIATOR_MIN_INTERVAL = 1
NEGOTIATOR_CYCLE_DELAY = 1
SCHEDD_INTERVAL = 2
SCHEDD_MIN_INTERVAL = 1
SCHEDD_NAME = fairq
JOB_START_COUNT = 100
JOB_DEFAULT_LEASE_DURATION = {lease}
UPDATE_INTERVAL = 5
POLLING_INTERVAL = 1
CLASSAD_LIFETIME = 20
NUM_CPUS = {cores}
MEMORY = 7000
MACHINE_RESOURCE_GPUS = {gpus}
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = True
NUM_SLOTS_TYPE_1 = 1
START = True
RUNBENCHMARKS = False
USE_PROCD = False
"""

_OF_MACHINE = """\
{name}.NETWORK_HOSTNAME = {name}
{name}.STARTD_LOG = $(LOG)/StartLog.{name}
{name}.STARTD_ADDRESS_FILE = $(LOG)/.startd_address.{name}
{name}.EXECUTE = $(LOCAL_DIR)/execute.{name}
{name}.STARTER_LOG = $(LOG)/StarterLog.{name}
"""


def missing() -> str:
    """Return why no pool can be started here; empty if one can be."""
    if os.getuid() != 0:
        return "a pool of HTCondor needs root"
    if not (_ROOT / "usr/sbin/condor_schedd").exists():
        return f"HTCondor is not installed, and {_VARIABLE} does not name a tree that has it"
    return ""


def unusable() -> str:
    """Return why tests cannot run fairq as the account of a pool; empty if they can."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = subprocess.run(
        [PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], check=False, capture_output=True, text=True
    )
    # It uses the libraries of the tests.
    return "" if found.stdout.strip() == version else f"needs {PYTHON} to be of version {version}"


class Pool:
    """The daemons, and what a test does to them."""

    NAME = "htcondor"
    account = ACCOUNT_ID
    python = PYTHON

    def __init__(self, directory: Path, lease: int = 120) -> None:
        """Describe a pool in *directory*, below /tmp; a machine that is away keeps its jobs for *lease* seconds."""
        self.directory = directory
        self.configuration = directory / "condor_config"
        self.of_clients = directory / "client_config"
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        names = ["log", "spool", "execute", *(f"execute.{name}" for name in MACHINES), "bytecode"]
        for place in (directory, *(directory / name for name in names)):
            place.mkdir(exist_ok=True)
            os.chown(place, ACCOUNT_ID, ACCOUNT_ID)
        text = _CONFIGURATION.format(
            directory=directory, port=self.port, lease=lease, cores=CORES, gpus=", ".join(GPUS)
        )
        self.configuration.write_text(text + "".join(_OF_MACHINE.format(name=name) for name in MACHINES))
        # Bindings of 2026 refuse FS to a schedd older than 25 without this.
        exception = "SEC_FS_ENFORCE_CHANNEL_BINDING = False\n"
        self.of_clients.write_text(self.configuration.read_text() + exception)
        libraries = [str(Path(fairq.__file__).parent.parent), sysconfig.get_path("purelib")]
        self.environment = {
            "PATH": os.defpath,
            "PYTHONPATH": os.pathsep.join(libraries),
            "PYTHONPYCACHEPREFIX": str(directory / "bytecode"),
            "TZ": "UTC",
            "CONDOR_CONFIG": str(self.of_clients),
        }

    def start(self) -> None:
        """Start all daemons; return when both machines are in the collector and the schedd answers."""
        self.start_daemon("collector", "-p", str(self.port))
        for name in ("negotiator", "schedd", *MACHINES):
            self.start_daemon(name)
        self.until_up()

    def until_up(self) -> None:
        """Wait until the schedd answers, and both machines are in the collector."""
        end = time.monotonic() + _PATIENCE
        while not (
            len(self.tool("condor_status", "-constraint", _READY, "-af", "Name").split()) >= len(MACHINES)
            and self.tool("condor_status", "-schedd", "-af", "Name").split()
            and self.tool("condor_q", "-allusers", "-totals")
        ):
            assert time.monotonic() < end, f"the pool in {self.directory} did not come up; see its log directory"
            time.sleep(0.5)

    def start_daemon(self, name: str, *words: str) -> None:
        """Start the daemon *name*: collector, negotiator, schedd, or the startd of a machine."""
        program = f"/usr/sbin/condor_{'startd' if name in MACHINES else name}"
        local = ["-local-name", name] if name in MACHINES else []
        log = (self.directory / "log" / f"{name}.out").open("ab")
        with log:
            self._daemons[name] = subprocess.Popen(
                self._inside(program, "-f", *local, *words),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=self._environment(),
            )

    def start_controller(self) -> None:
        """Start the schedd."""
        self.start_daemon("schedd")

    def stop_controller(self) -> None:
        """Kill the schedd and its shadows; jobs go on."""
        self.kill("schedd")

    def start_node(self, node: str) -> None:
        """Start the startd of a machine."""
        self.start_daemon(node)

    def kill_node(self, node: str) -> None:
        """Take a machine away, as a power failure does: its startd and its jobs."""
        self.kill(node)

    def pid(self, name: str) -> int:
        """Return the process id of a daemon, not of what keeps it apart."""
        pid = self._daemons[name].pid
        while not Path(f"/proc/{pid}/comm").read_text().startswith("condor_"):
            pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        return pid

    def kill(self, name: str) -> None:
        """Kill a daemon and everything that it has started."""
        daemon = self._daemons.pop(name)
        daemon.kill()
        daemon.wait()

    def records(self) -> dict[str, Held]:
        """Return what HTCondor recorded of all jobs that have ended, by the id that fairq has of them."""
        wanted = ("ClusterId", "ProcId", "JobStatus", "JobStartDate", "RemoteWallClockTime", "EnteredCurrentStatus")
        found = {}
        for line in (self.tool("condor_history", "-json", "-attributes", ",".join(wanted)),
                     self.tool("condor_q", "-allusers", "-json", "-attributes", ",".join(wanted))):  # fmt: skip
            for ad in json.loads(line or "[]"):
                start = ad.get("JobStartDate", ad["EnteredCurrentStatus"])
                seconds = round(ad.get("RemoteWallClockTime", 0))
                found[f"{ad['ClusterId']}.{ad['ProcId']}"] = Held(str(ad["JobStatus"]), start, start + seconds)
        return found

    def tool(self, name: str, *words: str) -> str:
        """Return what a command of HTCondor prints; empty if it fails."""
        ended = subprocess.run(
            self._inside(f"/usr/bin/{name}", *words), check=False, capture_output=True, text=True,
            env=self._environment(),
        )  # fmt: skip
        return ended.stdout

    def stop(self) -> None:
        """Kill every process of the pool."""
        for name in list(self._daemons):
            self.kill(name)

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "CONDOR_CONFIG": str(self.configuration),
        }

    def _inside(self, *words: str) -> list[str]:
        """Return the command that runs *words* as the account, in the tree that has HTCondor.

        Its processes have a namespace of their own: they all end with it, and it ends with this process.
        """
        alone = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c"]
        mounts = f"mount -t proc proc {_ROOT}/proc"
        if str(_ROOT) != "/":
            mounts += f" && mount --bind /tmp {_ROOT}/tmp && mount --rbind /dev {_ROOT}/dev"
        return [*alone, f'{mounts} && chroot --userspec={ACCOUNT_ID}:{ACCOUNT_ID} {_ROOT} "$@"; exit', "sh", *words]
