"""One cycle of the real negotiator on slots that are nothing but ads, partitionable and dynamic ones among them.

As `benchmarks.htcondor_cycle`, but any ads, any configuration, and the claims of dynamic slots: the startd that the
schedd calls never answers, and keeps what it is asked for. So the preempted dynamic slots are known.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from benchmarks.htcondor_cycle import DOMAIN, advertise, with_address
from msgspec import Struct
from tests.engines.htcondor_pool import Pool

Ad = dict[str, Any]

PATIENCE = 120.0

_CONFIGURATION = f"""\
UID_DOMAIN = {DOMAIN}
FILESYSTEM_DOMAIN = {DOMAIN}
NEGOTIATOR_INTERVAL = 100000
NEGOTIATOR_MIN_INTERVAL = 100000
NEGOTIATOR_CYCLE_DELAY = 100000
NEGOTIATOR_DEBUG = D_MATCH
DEFAULT_PRIO_FACTOR = 1
PRIORITY_HALFLIFE = 1e30
CLASSAD_LIFETIME = 100000
SCHEDD_ENABLE_PER_USER_MATCH_LIMITS = False
MAX_PENDING_STARTD_CONTACTS = 100
# The ads come without a security session, as those of old startds; the schedd then sends a claim without asking first.
SEC_DEFAULT_NEGOTIATION = OPTIONAL
SEC_DEFAULT_INTEGRITY = OPTIONAL
SEC_DEFAULT_ENCRYPTION = OPTIONAL
SCHEDD.SEC_DEFAULT_NEGOTIATION = NEVER
SCHEDD.SEC_CLIENT_NEGOTIATION = NEVER
"""

_FINISHED = "Finished Negotiation Cycle"
_MATCHED = re.compile(r"Matched (\d+\.\d+) (\S+) <\S+> preempting (.*?) <\S+> (\S+)")
_REJECTED = re.compile(r"Rejected (\d+\.\d+) (\S+) <\S+?>: ([^|\n]*)")
_CLAIM = re.compile(rb"<[\d.:]+>#1#(\d+)#(?:none|own\d+|child(\d+))")


class AdPool(Struct, frozen=True):
    """A pool to be made.

    Args:
        macros: the configuration.
        slots: the slots' ads; a partitionable one lists its dynamic slots in ChildName.
        submits: per owner, submit descriptions without ``executable``, each with its number of jobs.
        accounts: the record of each submitter, as the accountant names its attributes.
    """

    macros: Mapping[str, Any]
    slots: Sequence[Ad]
    submits: Mapping[str, Sequence[tuple[int, Mapping[str, Any]]]]
    accounts: Mapping[str, Mapping[str, float | int]]


class Held(Struct, frozen=True):
    """What was to be seen: the pool's *slots* and *jobs* as the tools print them, the *matches* and the *rejections*.

    *logs* are those of the negotiator and the schedd. Matches are (job, submitter, slot, preempted slots), rejections
    (job, submitter, reason).
    """

    logs: dict[str, str]
    began: int
    slots: str
    jobs: str
    matches: list[tuple[str, str, str, list[str]]]
    rejections: list[tuple[str, str, str]]


class _Startd:
    """Keeps what it is sent, and never answers."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(200)
        self.address = f"<127.0.0.1:{self._socket.getsockname()[1]}>"
        self.told: list[bytearray] = []
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        # This ends the wait for a caller.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._socket.accept()
            except OSError:
                return
            told = bytearray()
            self.told.append(told)
            Thread(target=self._keep, args=(caller, told), daemon=True).start()

    @staticmethod
    def _keep(caller: socket.socket, told: bytearray) -> None:
        with caller, suppress(OSError):
            while some := caller.recv(65536):
                told += some


def hold(made: AdPool, folder: Path) -> Held:
    """Start an HTCondor in *folder*, below /tmp, and let it hold one cycle.

    Raises RuntimeError if HTCondor does not do what it should in time.
    """
    pool = Pool(folder)
    settings = _CONFIGURATION + "".join(f"{macro} = {value}\n" for macro, value in made.macros.items())
    for file in (pool.configuration, pool.of_clients):
        file.write_text(file.read_text() + settings)
    startd = _Startd()
    try:
        return _held(pool, made, startd)
    finally:
        pool.stop()
        startd.close()


def _held(pool: Pool, made: AdPool, startd: _Startd) -> Held:
    pool.start_daemon("collector", "-p", str(pool.port))
    pool.start_daemon("schedd")
    _until(lambda: pool.tool("condor_status", "-schedd", "-af", "Name"), "the schedd does not start")
    version = pool.tool("condor_version").partition("\n")[0]
    advertise(with_address(made.slots, startd.address, version), pool.port)
    _submit(pool, made)
    _until(lambda: pool.tool("condor_status", "-af", "Name").count("\n") == len(made.slots), "slots are missing")
    slots, jobs = pool.tool("condor_status", "-sort", "no", "-json"), pool.tool("condor_q", "-allusers", "-json")
    _write_accounts(pool, made.accounts)
    log = pool.directory / "log" / "NegotiatorLog"
    began = int(time.time())
    pool.start_daemon("negotiator")
    _until(lambda: log.exists() and _FINISHED in log.read_text(), "the cycle does not end")
    text = log.read_text()
    making_room = [found for found in _MATCHED.findall(text) if found[2].endswith("dslots")]
    _until(lambda: len(_asked_for(made.slots, startd)) >= len(making_room), "the schedd does not ask for its claims")
    asked = _asked_for(made.slots, startd)
    matches = [
        (job, submitter, slot, [] if preempted == "none" else asked.get(slot, [slot]))
        for job, submitter, preempted, slot in _MATCHED.findall(text)
    ]
    rejections = [(job, submitter, reason.strip()) for job, submitter, reason in _REJECTED.findall(text)]
    logs = {"negotiator": text, "schedd": log.with_name("SchedLog").read_text(errors="replace")}
    return Held(logs, began, slots, jobs, matches, rejections)


def _until(is_so: Callable[[], object], otherwise: str) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError(f"HTCondor: {otherwise}")
        time.sleep(0.2)


def _submit(pool: Pool, made: AdPool) -> None:
    # A command holds for all that is queued after it: those that a submit does not have are taken back.
    none = {command: "" for submits in made.submits.values() for _, words in submits for command in words}
    lines = []
    for owner, submits in made.submits.items():
        for count, words in submits:
            lines += ["executable = /bin/true", f"accounting_group_user = {owner}"]
            lines += [f"{command} = {value}" for command, value in {**none, **words}.items()]
            lines.append(f"queue {count}")
    description = pool.directory / "description"
    description.write_text("\n".join((*lines, "")))
    count = sum(count for submits in made.submits.values() for count, _ in submits)
    if f"{count} job(s) submitted" not in pool.tool("condor_submit", str(description)):
        raise RuntimeError("HTCondor: condor_submit does not take the jobs")
    shown = ("condor_status", "-submitters", "-af", "IdleJobs")
    _until(lambda: sum(map(int, pool.tool(*shown).split())) == count, "the collector does not know all idle jobs")


def _write_accounts(pool: Pool, accounts: Mapping[str, Mapping[str, float | int]]) -> None:
    """Write the log of the accountant, which the negotiator reads when it starts."""
    lines = ["107 1 CreationTimestamp 1700000000", "101 Accountant. * *"]
    lines.append(f"103 Accountant. LastUpdateTime {int(time.time())}")
    for name, record in accounts.items():
        lines.append(f"101 Customer.{name} * *")
        lines += [f"103 Customer.{name} {attribute} {value}" for attribute, value in record.items()]
    log = pool.directory / "spool" / "Accountantnew.log"
    log.write_text("\n".join((*lines, "")))
    os.chown(log, pool.account, pool.account)


def _asked_for(slots: Sequence[Ad], startd: _Startd) -> dict[str, list[str]]:
    """The dynamic slots whose claims the schedd gives back with each partitionable slot, by its name."""
    found: dict[str, list[str]] = {}
    for told in startd.told:
        claims = _CLAIM.findall(bytes(told))
        children = sorted({int(child) for _, child in claims if child})
        if children:
            slot = slots[int(claims[0][0])]
            found[slot["Name"]] = sorted(slot["ChildName"][child] for child in children)
    return found
