"""A real HTCondor pool on this machine: its own directory, loopback only, two machines of 7 cores.

It needs HTCondor, installed or in a directory tree that FAIRQ_TEST_HTCONDOR names (see CONTRIBUTING.md), and root: the
daemons and the jobs run as an unprivileged account in a mount namespace of their own. Nothing outlives the pool.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

ACCOUNT = "daemon"
"""The account of the daemons and jobs; every Debian has it, under the same number."""

ACCOUNT_ID = 1
CORES = 7
MACHINES = ("n1", "n2")

_ROOT = "FAIRQ_TEST_HTCONDOR"
_PATIENCE = 120.0

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
    if not _program("condor_schedd").exists():
        return f"HTCondor is not installed, and {_ROOT} does not name a tree that has it"
    return ""


def _root() -> Path:
    return Path(os.environ.get(_ROOT, "/"))


def _program(name: str) -> Path:
    return _root() / "usr/sbin" / name


class Pool:
    """A pool in *directory*, which must be below /tmp; a job's lease lasts *lease* seconds."""

    def __init__(self, directory: Path, lease: int = 20) -> None:
        self.directory = directory
        self.configuration = directory / "condor_config"
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        names = ["log", "spool", "execute", *(f"execute.{name}" for name in MACHINES)]
        for place in (directory, *(directory / name for name in names)):
            place.mkdir(exist_ok=True)
            os.chown(place, ACCOUNT_ID, ACCOUNT_ID)
        text = _CONFIGURATION.format(directory=directory, port=self._port, lease=lease, cores=CORES)
        self.configuration.write_text(text + "".join(_OF_MACHINE.format(name=name) for name in MACHINES))
        self.configuration.chmod(0o644)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of a client of this pool."""
        return {"CONDOR_CONFIG": str(self.configuration), "_CONDOR_SEC_FS_ENFORCE_CHANNEL_BINDING": "False"}

    def start(self) -> None:
        """Start all daemons; return when both machines are in the collector and the schedd answers."""
        self.start_daemon("collector", "-p", str(self._port))
        for name in ("negotiator", "schedd", *MACHINES):
            self.start_daemon(name)
        self.until_ready()

    def until_ready(self, machines: int = len(MACHINES)) -> None:
        """Wait until the schedd and so many *machines* are in the collector."""
        end = time.monotonic() + _PATIENCE
        while not (
            len(self.tool("condor_status", "-af", "Name").split()) >= machines
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

    def kill(self, name: str) -> None:
        """Kill a daemon and everything that it has started, as when a machine fails."""
        daemon = self._daemons.pop(name)
        daemon.kill()
        daemon.wait()

    def tool(self, name: str, *words: str) -> str:
        """Return what a command of HTCondor prints; empty if it fails."""
        ended = subprocess.run(
            self._inside(f"/usr/bin/{name}", *words), check=False, capture_output=True, text=True,
            env=self._environment(),
        )  # fmt: skip
        return ended.stdout

    def end(self) -> None:
        """Kill every process of the pool."""
        for name in list(self._daemons):
            self.kill(name)

    def _environment(self) -> dict[str, str]:
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", **self.environment}

    def _inside(self, *words: str) -> list[str]:
        """Return the command that runs *words* as the account, in the tree that has HTCondor.

        Its processes have a namespace of their own: they all end with it, and it ends with this process.
        """
        root = _root()
        alone = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c"]
        mounts = f"mount -t proc proc {root}/proc"
        if root != Path("/"):
            mounts += f" && mount --bind /tmp {root}/tmp && mount --rbind /dev {root}/dev"
        return [*alone, f'{mounts} && chroot --userspec={ACCOUNT_ID}:{ACCOUNT_ID} {root} "$@"; exit', "sh", *words]
