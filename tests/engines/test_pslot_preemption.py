"""Random pools of partitionable slots with ALLOW_PSLOT_PREEMPTION: a cycle of the real negotiator and one of fairq.

It runs where FAIRQ_TEST_ENGINES is set, and takes about four seconds for a pool.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from benchmarks.htcondor_cycle import DOMAIN
from tests.engines.ad_pool import Ad, AdPool
from tests.engines.beside import beside
from tests.engines.htcondor_pool import missing

_REASON = "" if os.environ.get("FAIRQ_TEST_ENGINES") else "needs FAIRQ_TEST_ENGINES to be set: it starts an HTCondor"
_REASON = _REASON or missing()
pytestmark = pytest.mark.skipif(bool(_REASON), reason=_REASON or "-")

USERS = ("ann", "bob", "cat", "dan")
FITS = (
    "MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory && TARGET.RequestDisk <= MY.Disk"
)
LISTED = ("Name", "State", "CurrentRank", "RetirementTimeRemaining", "RemoteUser", "Cpus", "Memory", "Disk")


def drawn(seed):
    """A pool of one to five machines, the same for the same *seed*."""
    chance = random.Random(seed)
    macros: dict[str, Any] = {
        "ALLOW_PSLOT_PREEMPTION": True,
        "PREEMPTION_REQUIREMENTS": chance.choice(
            ["True", "False", "RemoteUserPrio > SubmitterUserPrio * 1.2", "MY.Cpus < 3", "RemoteUserResourcesInUse > 3"]
        ),
        "PREEMPTION_RANK": chance.choice(["-Cpus", "Memory", "RemoteUserPrio", "1"]),
        "NEGOTIATOR_PRE_JOB_RANK": chance.choice(["0", "Cpus", "-Memory", "RemoteUser =?= UNDEFINED"]),
        "NEGOTIATOR_MATCHLIST_CACHING": chance.random() < 0.9,
        "NEGOTIATOR_DEPTH_FIRST": chance.random() < 0.1,
    }
    rank = chance.choice([0.0, "/Expr(TARGET.Boost)/", "/Expr(MY.Cpus)/"])
    slots = [ad for number in range(chance.randint(1, 5)) for ad in _machine(chance, f"n{number}", rank)]
    submits = {user: [_submit(chance) for _ in range(chance.randint(1, 3))] for user in USERS}
    priorities = {f"{user}@{DOMAIN}": round(10 ** chance.uniform(0, 1.6), 3) for user in USERS}
    accounts = {name: {"Priority": real, "PriorityFactor": 1.0} for name, real in priorities.items()}
    return AdPool(macros, slots, submits, accounts)


def _machine(chance, machine, rank):
    shared: Ad = {
        "Machine": machine, "MyType": "Machine", "State": "Unclaimed", "Activity": "Idle", "Rank": rank, "SlotID": 1,
        "CurrentRank": 0.0, "Start": True, "Requirements": f"/Expr(Start && {FITS})/", "SlotWeight": "/Expr(Cpus)/",
        "Arch": "X86_64", "OpSys": "LINUX", "FileSystemDomain": DOMAIN, "UidDomain": DOMAIN, "HasFileTransfer": True,
        "KFlops": chance.randint(100, 999),
    }  # fmt: skip
    parts = []
    for number in range(1, 1 + chance.choice([0, 1, 2, 3, 5, 20])):
        cpus, user = chance.choice([1, 1, 2, 4]), chance.choice(USERS)
        own: Ad = {
            "Name": f"slot1_{number}@{machine}", "DynamicSlot": True, "PslotRollupInformation": True, "Cpus": cpus,
            "Memory": cpus * chance.choice([256, 512, 1024]), "Disk": 10000 * cpus, "Activity": "Busy",
            "State": "Claimed" if chance.random() < 0.95 else "Preempting", "RemoteUser": f"{user}@{DOMAIN}",
            "RetirementTimeRemaining": 0 if chance.random() < 0.8 else 600,
            "CurrentRank": chance.choice([0.0, 0.0, 3.0, 7.0]),
        }  # fmt: skip
        parts.append({**shared, **own})
    free = chance.choice([0, 0, 1, 2, 4])
    whole = {"Cpus": free, "Memory": free * 512 + 100, "Disk": 100000, "MachineResources": "Cpus Memory Disk Swap"}
    lists = {f"Child{name}": [ad[name] for ad in parts] for name in LISTED}
    slot = {**shared, **whole, **lists, "Name": f"slot1@{machine}", "PartitionableSlot": True}
    return [{**slot, "NumDynamicSlots": len(parts)}, *parts]


def _submit(chance):
    cpus = chance.choice([1, 2, 3, 4, 6, 8])
    memory = cpus * chance.choice([100, 256, 512])
    words = {"request_cpus": cpus, "request_memory": memory, "request_disk": 1000, "My.Boost": chance.choice([0, 5, 9])}
    return chance.randint(1, 5), {**words, "rank": chance.choice(["0", "Cpus", "-Memory", "KFlops"])}


@pytest.mark.parametrize("seed", range(12))
def test_the_same_slots_are_matched_and_the_same_dynamic_slots_preempted(seed, tmp_path):
    found, real = beside(drawn(seed), tmp_path)
    assert found == real
