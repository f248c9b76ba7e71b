"""Random pools in which everything occurs: groups, preemption, divided slots, limits, ranks, constraints.

What the pool alone does not decide is left out: each place says why. `tests.engines.explore` tries many.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from benchmarks.htcondor_cycle import DOMAIN
from tests.engines.ad_pool import Ad, AdPool

USERS = ("ann", "bob", "cat", "dan", "eve", "fay", "gus")
GROUPS = ("ga", "ga.x", "ga.y", "ga.x.deep", "gb", "gb.z", "gc")
FITS = (
    "MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory && TARGET.RequestDisk <= MY.Disk"
)


def drawn(seed: int) -> AdPool:
    """A pool of some tens of slots, the same for the same *seed*."""
    chance = random.Random(seed)
    groups = _group_names(chance) if chance.random() < 0.65 else []
    macros = {**_rules(chance), **_preemption(chance), **_quotas(chance, groups)}
    limits = chance.random() < 0.3
    if limits:
        macros |= {
            "DISK_LIMIT": chance.randint(1, 6),
            "NET_LIMIT": chance.randint(1, 6),
            "CONCURRENCY_LIMIT_DEFAULT": 4,
        }
    submitters = _submitters(chance, groups)
    slots = _slots(chance, [f"{name}@{DOMAIN}" for name in submitters])
    global_prios = bool(macros.get("USE_GLOBAL_JOB_PRIOS"))
    submits = {name: _submits(chance, limits, global_prios) for name in submitters}
    _leave_out(macros, slots)
    if "NEGOTIATOR_DEPTH_FIRST" in macros:
        # The schedd gives a match to the first job that the slot is large enough for, whatever the jobs before it got.
        submits = {name: found[:1] for name, found in submits.items()}
    return AdPool(macros, slots, submits, _accounts(chance, submitters))


def _leave_out(macros: dict[str, Any], slots: list[Ad]) -> None:
    """Leave out what the schedd decides, or the program's memory."""
    if any("NumClaims" in ad for ad in slots):
        # More jobs may be matched than there are (jobsInSlot): the schedd makes of it what it can.
        macros.pop("NEGOTIATOR_DEPTH_FIRST", None)
        # A slot keeps the rank that was stored with its address.
        macros.pop("NEGOTIATOR_IGNORE_JOB_RANKS", None)
    if macros["NEGOTIATOR_CONSIDER_PREEMPTION"]:
        # The schedd gives a match back if the slot's limits are not those of the job that it would start there.
        for ad in slots:
            ad.pop("ConcurrencyLimits", None)


def _some(chance: random.Random, likely: float, **options: list[Any]) -> dict[str, Any]:
    """A choice for each macro, which is left out unless it is *likely*."""
    return {name: chance.choice(values) for name, values in options.items() if chance.random() < likely}


def _rules(chance: random.Random) -> dict[str, Any]:
    found = {
        "NEGOTIATOR_PRE_JOB_RANK": chance.choice(["0", "Cpus", "-Memory", "RemoteUser =?= UNDEFINED", "Quick", "Weak"]),
        "NEGOTIATOR_POST_JOB_RANK": chance.choice(["0", "KFlops", "-Cpus", "RemoteUser =?= UNDEFINED", "MY.Weak"]),
        **_some(
            chance,
            0.15,
            NEGOTIATOR_USE_SLOT_WEIGHTS=[False],
            NEGOTIATOR_USE_WEIGHTED_DEMAND=[False],
            SLOT_WEIGHT=["Cpus", "Memory / 1000.0", "0.5 * Cpus + 0.25", "1"],
            NEGOTIATOR_MATCHLIST_CACHING=[False],
            USE_GLOBAL_JOB_PRIOS=[True],
        ),
        **_some(
            chance,
            0.08,
            NEGOTIATOR_DEPTH_FIRST=[True],
            NEGOTIATOR_IGNORE_USER_PRIORITIES=[True],
            USE_RESOURCE_REQUEST_COUNTS=[False],
            NEGOTIATE_ALL_JOBS_IN_CLUSTER=[True],
            NEGOTIATOR_JOB_CONSTRAINT=["RequestCpus < 4", "JobPrio >= 0", "RequestMemory < 1000"],
            NEGOTIATOR_SUBMITTER_CONSTRAINT=["IdleJobs > 3", 'regexp("a", Name)'],
            NEGOTIATOR_SLOT_CONSTRAINT=["Quick", "Cpus < 5"],
            NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT=["Quick", "Cpus < 5"],
        ),
    }
    if chance.random() < 0.1:
        # The order of slots that rank equally is that of their addresses in memory then: all differ in KFlops.
        found |= {"NEGOTIATOR_IGNORE_JOB_RANKS": True, "NEGOTIATOR_POST_JOB_RANK": "KFlops"}
    return found


def _preemption(chance: random.Random) -> dict[str, Any]:
    requirements = [
        "True", "True", "False", "RemoteUserPrio > SubmitterUserPrio * 1.2", "MY.Cpus < 3",
        "RemoteUserResourcesInUse > 3", "SubmitterUserResourcesInUse < 5", "SubmitterGroup =!= RemoteGroup",
        "RemoteGroupResourcesInUse > RemoteGroupQuota", "SubmitterGroupResourcesInUse < SubmitterGroupQuota",
        "SubmitterNegotiatingGroup =?= SubmitterGroup",
    ]  # fmt: skip
    return {
        "NEGOTIATOR_CONSIDER_PREEMPTION": chance.random() < 0.7,
        "PREEMPTION_REQUIREMENTS": chance.choice(requirements),
        "PREEMPTION_RANK": chance.choice(["-Cpus", "Memory", "RemoteUserPrio", "1", "-RemoteUserResourcesInUse"]),
        **_some(
            chance,
            0.15,
            PREEMPTION_REQUIREMENTS_STABLE=[False],
            PREEMPTION_RANK_STABLE=[False],
            NEGOTIATOR_CONSIDER_EARLY_PREEMPTION=[True],
        ),
    }


def _group_names(chance: random.Random) -> list[str]:
    names = chance.sample(GROUPS, chance.randint(1, len(GROUPS)))
    return [name for name in GROUPS if any(f"{one}.".startswith(f"{name}.") for one in names)]


def _quotas(chance: random.Random, groups: list[str]) -> dict[str, Any]:
    if not groups:
        return {}
    found: dict[str, Any] = {"GROUP_NAMES": ", ".join(groups)}
    for name in groups:
        kind = chance.random()
        if kind < 0.5:
            found[f"GROUP_QUOTA_{name}"] = chance.choice([0, 1, 2, 3.5, 5, 8, 12, 20, 7.25])
        elif kind < 0.95:
            found[f"GROUP_QUOTA_DYNAMIC_{name}"] = chance.choice([0, 0.1, 0.25, 0.333, 0.5, 0.7, 1])
        found |= _some(
            chance, 0.35, **{f"GROUP_ACCEPT_SURPLUS_{name}": [True, False], f"GROUP_AUTOREGROUP_{name}": [True, False]}
        )
    order = [
        "GroupResourcesInUse", "-GroupQuota", 'ifThenElse(AccountingGroup =?= "<none>", 1, 2)',
        "GroupResourcesAllocated", "GroupQuota > 0 ? GroupResourcesInUse / GroupQuota : 5", "-size(AccountingGroup)",
    ]  # fmt: skip
    return found | _some(
        chance,
        0.3,
        GROUP_ACCEPT_SURPLUS=[True, True, False],
        GROUP_AUTOREGROUP=[True, False],
        GROUP_SORT_EXPR=order,
        GROUP_QUOTA_MAX_ALLOCATION_ROUNDS=[1, 2, 5],
        GROUP_QUOTA_ROUND_ROBIN_RATE=[1, 2.5, 6],
        NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION=[False],
        NEGOTIATOR_STRICT_ENFORCE_QUOTA=[False],
    )


def _submitters(chance: random.Random, groups: list[str]) -> list[str]:
    found = []
    for user in USERS[: chance.randint(2, len(USERS))]:
        # Some belong to a group that is not configured.
        group = chance.choice([*groups, *groups, "", "gx"]) if groups else chance.choice(["", "", "ga", "nice-user"])
        found.append(f"{group}.{user}" if group else user)
    return found


def _accounts(chance: random.Random, submitters: list[str]) -> dict[str, dict[str, float | int]]:
    """Records without two equal effective priorities: the order of such submitters is not decided by the pool."""
    found: dict[str, dict[str, float | int]] = {}
    for name in submitters:
        factor = chance.choice([1.0, 1.0, 10.0, 3.5])
        found[f"{name}@{DOMAIN}"] = record = {
            "Priority": round(10 ** chance.uniform(0, 1.6), 3),
            "PriorityFactor": factor,
        }
        if chance.random() < 0.15:
            record["Ceiling"] = chance.choice([0, 1, 3, 6])
        if chance.random() < 0.2:
            record["Floor"] = chance.choice([1, 2, 5, 8])
    if chance.random() < 0.3:
        del found[f"{submitters[0]}@{DOMAIN}"]
    return found


def _slots(chance: random.Random, submitters: list[str]) -> list[Ad]:
    kinds = chance.choice([("static",), ("static", "pslot"), ("static", "pslot", "policy"), ("pslot",), ("policy",)])
    rank = chance.choice([0.0, 0.0, "/Expr(TARGET.Boost)/", "/Expr(MY.Cpus - TARGET.RequestCpus)/"])
    # The schedd tests Start again, without what the negotiator knows of the submitter: it must be true there.
    few = "(SubmitterUserResourcesInUse < 6) =!= false"
    starts = ["true", "true", "true", few, "TARGET.Boost < 9", "RequestCpus < 4 || Quick"]
    start = chance.choice(starts)
    weight = chance.choice(["/Expr(Cpus)/", "/Expr(Cpus)/", None, "/Expr(Cpus * 1.5)/", "/Expr(Memory / 1024.0)/", 1])
    busy = chance.choice([0.0, 0.3, 0.6, 0.9])
    found = []
    for number in range(chance.choice([2, 4, 8, 15, 20, 30])):
        common: Ad = {
            "Machine": f"n{number}", "MyType": "Machine", "Rank": rank, "SlotID": 1, "Start": f"/Expr({start})/",
            "Requirements": f"/Expr(Start && {FITS})/", "Arch": "X86_64", "OpSys": "LINUX", "FileSystemDomain": DOMAIN,
            "UidDomain": DOMAIN, "HasFileTransfer": True, "Quick": chance.random() < 0.7,
            "Weak": chance.choice([0, 1, 2.5]),
        }  # fmt: skip
        if weight is not None:
            common["SlotWeight"] = weight
        if chance.random() < 0.1:
            common["SlotWeight"] = chance.choice([0.5, 2, 3.25, 0])
        kind = chance.choice(kinds)
        if kind == "static":
            found.append(_static(chance, common, submitters, busy))
        else:
            found += _divided(chance, common, submitters, busy, with_policy=kind == "policy")
    return found


def _resources(cpus: int, chance: random.Random) -> Ad:
    memory = cpus * chance.choice([256, 512, 1024])
    return {"Cpus": cpus, "Memory": memory, "Disk": 10000 * cpus, "KFlops": chance.randint(100, 900000)}


def _claim(chance: random.Random, submitters: list[str]) -> Ad:
    """What the ad of a slot says that somebody holds."""
    who = chance.choice(submitters)
    found: Ad = {
        "State": "Claimed" if chance.random() < 0.9 else "Preempting", "Activity": "Busy", "RemoteUser": who,
        "CurrentRank": chance.choice([0.0, 0.0, 3.0, 7.0]), "TotalJobRunTime": chance.randint(0, 5000),
        "RetirementTimeRemaining": 0 if chance.random() < 0.85 else 600,
    }  # fmt: skip
    if chance.random() < 0.5:
        found |= {"AccountingGroup": who, "RemoteUser": f"{who.partition('@')[0].rpartition('.')[2]}@{DOMAIN}"}
    if chance.random() < 0.1:
        found["Activity"] = "Idle"
    if chance.random() < 0.1:
        found["ConcurrencyLimits"] = chance.choice(["disk", "net:2", "tape"])
    return found


_FREE: Ad = {"State": "Unclaimed", "Activity": "Idle", "CurrentRank": 0.0}


def _static(chance: random.Random, common: Ad, submitters: list[str], busy: float) -> Ad:
    own = _claim(chance, submitters) if chance.random() < busy else _FREE
    return {**common, **_resources(chance.choice([1, 1, 1, 2, 4]), chance), **own, "Name": f"slot1@{common['Machine']}"}


def _divided(
    chance: random.Random, common: Ad, submitters: list[str], busy: float, *, with_policy: bool
) -> Iterator[Ad]:
    machine = common["Machine"]
    whole: Ad = {
        **common, **_resources(chance.choice([0, 1, 2, 4, 8]), chance), **_FREE, "Name": f"slot1@{machine}",
        "PartitionableSlot": True, "SlotType": "Partitionable", "MachineResources": "Cpus Memory Disk Swap",
    }  # fmt: skip
    if with_policy:
        whole |= {
            # At least what the job asks for: the schedd gives the slot to a job that it is large enough for.
            "ConsumptionCpus": chance.choice(
                ["/Expr(TARGET.RequestCpus)/", "/Expr(quantize(TARGET.RequestCpus, {2}))/"]
            ),
            "ConsumptionMemory": "/Expr(quantize(TARGET.RequestMemory, {128}))/",
            "ConsumptionDisk": "/Expr(TARGET.RequestDisk)/",
            "NumClaims": chance.choice([0, 1, 2, 3, 8, 20]),
        }
    yield whole
    for number in range(1, 1 + chance.randint(0, 3)):
        if chance.random() < busy:
            part = {"Name": f"slot1_{number}@{machine}", "DynamicSlot": True, "SlotType": "Dynamic"}
            yield {**common, **_resources(chance.choice([1, 1, 2]), chance), **_claim(chance, submitters), **part}


def _submits(chance: random.Random, limits: bool, global_prios: bool) -> list[tuple[int, dict[str, Any]]]:
    return [_submit(chance, limits, global_prios) for _ in range(chance.choice([1, 1, 2, 3, 4]))]


def _submit(chance: random.Random, limits: bool, global_prios: bool) -> tuple[int, dict[str, Any]]:
    cpus = chance.choice([1, 1, 1, 2, 3, 4])
    words: dict[str, Any] = {
        "request_cpus": cpus, "request_memory": cpus * chance.choice([100, 256, 512]), "request_disk": 1000,
        "My.Boost": chance.choice([0, 5, 9]), "rank": chance.choice(["0", "Cpus", "-Memory", "KFlops", "Quick"]),
    }  # fmt: skip
    if chance.random() < 0.3:
        words["requirements"] = chance.choice(["TARGET.Quick", "TARGET.Weak > 0", "TARGET.KFlops > 400000"])
    if chance.random() < (0.8 if global_prios else 0.2):
        words["priority"] = chance.choice([-5, 3, 10])
    if limits and chance.random() < 0.6:
        words["concurrency_limits"] = chance.choice(["disk", "net", "disk, net:2", "tape", "disk:2"])
    return chance.choice([1, 2, 3, 5, 8, 15]), words
