"""One cycle of a real HTCondor on a synthetic pool.

The slots are ads sent to the collector as a startd would, each with the claim id that the negotiator asks for; there
are no machines. The jobs are really submitted. The negotiator starts last, so that its first cycle is measured: its CPU
time and memory are those of a process with a single cycle.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import pools
from tests.engines.htcondor_pool import Pool

DOMAIN = pools.SLOT["UidDomain"]

PATIENCE = 120.0
LONGEST_CYCLE = 1800.0

_CONFIGURATION = f"""\
UID_DOMAIN = {DOMAIN}
FILESYSTEM_DOMAIN = {DOMAIN}
NEGOTIATOR_INTERVAL = 100000
NEGOTIATOR_MIN_INTERVAL = 100000
NEGOTIATOR_CYCLE_DELAY = 100000
NEGOTIATOR_MAX_TIME_PER_CYCLE = 100000
NEGOTIATOR_MAX_TIME_PER_SUBMITTER = 100000
NEGOTIATOR_MAX_TIME_PER_SCHEDD = 100000
NEGOTIATOR_MAX_TIME_PER_PIESPIN = 100000
NEGOTIATOR_DEBUG = D_MATCH D_SUB_SECOND
MAX_NEGOTIATOR_LOG = 0
DEFAULT_PRIO_FACTOR = 1
CLASSAD_LIFETIME = 100000
MAX_JOBS_PER_OWNER = 100000000
MAX_JOBS_PER_SUBMISSION = 100000000
SCHEDD_ENABLE_PER_USER_MATCH_LIMITS = False
# The first claim waits for an answer that never comes, the others wait for the first: no job starts meanwhile.
MAX_PENDING_STARTD_CONTACTS = 1
# The ads come without a security session, as those of old startds.
SEC_DEFAULT_NEGOTIATION = OPTIONAL
SEC_DEFAULT_INTEGRITY = OPTIONAL
SEC_DEFAULT_ENCRYPTION = OPTIONAL
"""

_UPDATE_STARTD_AD = 0
_TIME = r"(\d\d/\d\d/\d\d \d\d:\d\d:\d\d\.\d+)"
_STARTED = re.compile(rf"^{_TIME} -+ Started Negotiation Cycle", re.MULTILINE)
_FINISHED = re.compile(rf"^{_TIME} -+ Finished Negotiation Cycle", re.MULTILINE)
_MATCHED = re.compile(r"^\S+ \S+\s+Matched (\d+\.\d+) (\S+) <\S+> preempting none <\S+> (\S+)", re.MULTILINE)

Ad = dict[str, Any]


@dataclass(frozen=True)
class Match:
    """A match of a cycle. *job* stands for all jobs that its submitter has in its autocluster."""

    submitter: str
    job: str
    slot: str


@dataclass(frozen=True)
class Cycle:
    """A cycle of the real negotiator: its begin, its cost, its matches.

    *wall* is that of the cycle, in seconds; *cpu* and *memory* (MB, at its peak) are those of the negotiator's process
    from its start, *others* the CPU seconds of schedd and collector during the cycle.
    """

    version: str
    began: float
    wall: float
    cpu: float
    memory: float
    others: float
    matches: list[Match]


def hold_cycle(drawn: pools.Pool, folder: Path, before: Callable[[str], object]) -> Cycle:
    """Start an HTCondor in *folder*, below /tmp, with the pool *drawn*, and let it hold one cycle.

    *before* is called just before the cycle, with the address of the collector. CONDOR_CONFIG is set by then.
    Raises RuntimeError if HTCondor does not do its part in time.
    """
    pool = Pool(folder / "htcondor")
    settings = _CONFIGURATION + "".join(f"{macro} = {value}\n" for macro, value in drawn.config.items())
    for file in (pool.configuration, pool.of_clients):
        file.write_text(file.read_text() + settings)
    os.environ["CONDOR_CONFIG"] = str(pool.of_clients)
    try:
        return _hold(pool, drawn, before)
    finally:
        pool.stop()
        shutil.rmtree(pool.directory, ignore_errors=True)


def _hold(pool: Pool, drawn: pools.Pool, before: Callable[[str], object]) -> Cycle:
    pool.start_daemon("collector", "-p", str(pool.port))
    for name in ("schedd", "negotiator"):
        pool.start_daemon(name)
        _until(lambda name=name: pool.tool("condor_status", f"-{name}", "-af", "Name"), f"the {name} does not start")
    version = pool.tool("condor_version").partition("\n")[0]
    with _silent_listener() as address:
        advertise(with_address(drawn.slot_ads(), address, version), pool.port)
        _until(lambda: pool.tool("condor_status", "-af", "Name").count("\n") == len(drawn.slots), "slots are missing")
        _submit(pool, drawn)
        before(f"127.0.0.1:{pool.port}")
        pool.kill("negotiator")
        # A negotiator holds its first cycle when it starts; the former one had none with slots.
        log = pool.directory / "log" / "NegotiatorLog"
        log.unlink()
        cpu_before = _cpu(pool.pid("schedd")) + _cpu(pool.pid("collector"))
        began = time.time()
        pool.start_daemon("negotiator")
        _until(lambda: _FINISHED.search(_end_of(log)), "the cycle does not end", LONGEST_CYCLE)
        pid = pool.pid("negotiator")
        others = _cpu(pool.pid("schedd")) + _cpu(pool.pid("collector")) - cpu_before
        text = log.read_text()
        number = version.split()[1]
        return Cycle(number, began, seconds(text), _cpu(pid), _peak(pid), others, matches(text))


def _end_of(log: Path) -> str:
    """Return the end of a file that may become long."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 2000))
        return file.read().decode(errors="replace")


def seconds(log: str) -> float:
    """Return the wall time of the one cycle in a negotiator's log."""
    first, last = (datetime.strptime(match[1], "%m/%d/%y %H:%M:%S.%f").replace(tzinfo=UTC)
                   for match in (_STARTED.search(log), _FINISHED.search(log)) if match)  # fmt: skip
    return (last - first).total_seconds()


def matches(log: str) -> list[Match]:
    """Return the matches in a negotiator's log, in their order."""
    return [Match(submitter, job, slot) for job, submitter, slot in _MATCHED.findall(log)]


def _until(is_met: Callable[[], object], problem: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not is_met():
        if time.monotonic() > deadline:
            raise RuntimeError(f"HTCondor: {problem}")
        time.sleep(0.5)


@contextmanager
def _silent_listener() -> Iterator[str]:
    """Listen and never answer; yield the address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"<127.0.0.1:{listener.getsockname()[1]}>"


def with_address(ads: Iterable[Ad], address: str, version: str) -> Iterator[Ad]:
    """Return slot ads as from a startd at *address*, of a *version* of HTCondor."""
    changes = {"MyAddress": address, "StartdIpAddr": address, "CondorVersion": version}
    return ({**ad, **changes} for ad in ads)


def advertise(ads: Iterable[Ad], port: int) -> None:
    """Send slot ads to the collector, as a startd does: each with a private ad that has its claim ids.

    condor_advertise sends no private ad before version 25, and the negotiator skips a slot without one.
    """
    with socket.create_connection(("127.0.0.1", port)) as collector:
        for number, ad in enumerate(ads):
            claim = f"{ad['MyAddress']}#1#{number}#"
            private: Ad = {"Name": ad["Name"], "MyAddress": ad["MyAddress"], "ClaimId": f"{claim}none"}
            private["Capability"] = private["ClaimId"]
            if "ChildName" in ad:
                children = range(len(ad["ChildName"]))
                private |= {"NumDynamicSlots": len(children), "ChildClaimIds": [f"{claim}child{n}" for n in children]}
            if "NumClaims" in ad:  # a slot with a consumption policy
                private["ClaimIdList"] = ",".join(f"{claim}own{n}" for n in range(ad["NumClaims"]))
            message = struct.pack(">q", _UPDATE_STARTD_AD) + encoded(ad) + encoded(private)
            # The message has a single packet.
            collector.sendall(struct.pack(">BI", 1, len(message)) + message)


def encoded(ad: Ad) -> bytes:
    """Return *ad* as HTCondor's daemons send it: the number of attributes, the attributes, and two types."""
    lines = [f"{name} = {_expression(value)}" for name, value in ad.items()]
    return struct.pack(">q", len(lines)) + b"".join(line.encode() + b"\0" for line in (*lines, "Machine", "Job"))


def _expression(value: Any) -> str:
    if value is None:
        return "undefined"
    if isinstance(value, list):
        return f"{{ {', '.join(map(_expression, value))} }}"
    if isinstance(value, str) and value.startswith("/Expr("):
        return value.removeprefix("/Expr(").removesuffix(")/")
    return json.dumps(value)


def _submit(pool: Pool, drawn: pools.Pool) -> None:
    """Submit the jobs, a cluster for each submitter, and set the priorities."""
    for submitter in drawn.submitters:
        lines = ["executable = /bin/true", f"accounting_group_user = {submitter.owner}"]
        if submitter.group:
            lines.append(f"accounting_group = {submitter.group}")
        lines += ["request_memory = $(memory)", "request_disk = $(disk)", "queue memory, disk from ("]
        lines += [f"{memory} {disk}" for memory, disk in submitter.jobs]
        description = pool.directory / "description"
        description.write_text("\n".join((*lines, ")", "")))
        if f"{len(submitter.jobs)} job(s) submitted" not in pool.tool("condor_submit", str(description)):
            raise RuntimeError("HTCondor: condor_submit does not take the jobs")
        name = f"{submitter.accounting_group}@{DOMAIN}"
        pool.tool("condor_userprio", "-setprio", name, str(submitter.priority))
    count = sum(len(submitter.jobs) for submitter in drawn.submitters)

    def offered() -> bool:
        idle = pool.tool("condor_status", "-submitters", "-af", "IdleJobs").split()
        return sum(map(int, idle)) == count

    _until(offered, "the collector does not know all idle jobs")


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _peak(pid: int) -> float:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024
