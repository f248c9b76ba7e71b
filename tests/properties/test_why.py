"""The explanation agrees with the decision: what `why` says would let a job run lets it run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.engine.negotiation.pools import JOB, NOW, SLOT, claimed

from fairq.common.records import AccountingRecord, Actor, Ad, JobRange, JobStatus, SlotRecord
from fairq.settings import load
from fairq.state import job_ads, job_changes, jobs, meta, slots, submitters
from fairq.state.connection import reading, writing
from fairq.steps.cycle.negotiate import negotiate
from fairq.steps.jobs.finish import finish
from fairq.steps.jobs.selection import Selection, parse_targets
from fairq.steps.pool.dynamic_slots import load_slots
from fairq.steps.why.answer import why

PEOPLE = ["ann@x", "bob@x", "physics.cy@x", "physics.hep.di@x"]
CLAUSES = [
    'TARGET.Arch == "X86_64"',
    'TARGET.Arch == "ARM64"',
    "TARGET.Memory >= RequestMemory",
    "TARGET.Memory > 1500",
    "Cpus <= 2",
    "HasDocker",
    "(TARGET.Disk ?: 5) > 3 || TARGET.Cpus > 1",
]
STARTS = ["true", "TARGET.RequestMemory < MY.Memory", 'TARGET.Owner != "bob"', "TARGET.WantBig"]

MORE = {
    "negotiator_slot_constraint": "'Memory > 600'",
    "negotiator_submitter_constraint": """'Name != "ann@x"'""",
    "negotiator_job_constraint": "'RequestMemory < 3000'",
    "negotiator_max_time_per_cycle": 0,
    "negotiator_max_time_per_submitter": 0,
    "negotiator_max_time_per_schedd": 0,
    "negotiator_max_time_per_piespin": 0,
    "negotiator_ignore_user_priorities": "true",
    "negotiator_depth_first": "true",
    "negotiator_consider_early_preemption": "true",
}
"""Settings that some of the pools have."""

slot_ads = st.builds(
    lambda memory, cpus, start, arch, user, whole, using, retiring, **more: (
        {
            "Memory": memory,
            "Cpus": cpus,
            "Start": f"/Expr({start})/",
            "Arch": arch,
            **more,
            **({"PartitionableSlot": True, "SlotType": "Partitionable", "Cpus": 4} if whole else {}),
            **({"ConcurrencyLimits": using} if using and user else {}),
            **({"RetirementTimeRemaining": retiring} if user else {}),
        },
        None if whole else user,
    ),
    memory=st.sampled_from([512, 1024, 2048, 4096]),
    cpus=st.sampled_from([1, 1, 2, 4]),
    start=st.sampled_from(STARTS),
    arch=st.sampled_from(["X86_64", "X86_64", "ARM64"]),
    user=st.sampled_from([None, None, "busy@x", "ann@x"]),
    whole=st.sampled_from([False, False, True]),
    using=st.sampled_from([None, None, "db", "db:2,lic"]),
    Rank=st.sampled_from([0.0, 0.0, "/Expr(TARGET.RequestMemory > 300)/"]),
    CurrentRank=st.sampled_from([0.0, 0.5, 2.0]),
    retiring=st.sampled_from([0, 0, 600]),
    HasDocker=st.booleans(),
)
job_ads_drawn = st.builds(
    lambda clauses, memory, cpus, priority, **more: (clauses, memory, cpus, priority, more),
    clauses=st.lists(st.sampled_from(CLAUSES), max_size=3, unique=True),
    memory=st.sampled_from([256, 1024, 3000]),
    cpus=st.sampled_from([1, 1, 1, 2]),
    priority=st.sampled_from([0, 0, 5]),
    limits=st.sampled_from([None, None, "db", "lic:2", "db, other"]),
    schedd=st.sampled_from(["", "", "second"]),
)
records = st.builds(
    lambda priority, factor, ceiling, floor: (priority, factor, ceiling, floor),
    priority=st.sampled_from([0.5, 1.0, 10.0]),
    factor=st.sampled_from([1.0, 10.0, 1000.0]),
    ceiling=st.sampled_from([-1, -1, -1, 0, 1, 3]),
    floor=st.sampled_from([0, 0, 2]),
)
pools = st.fixed_dictionaries(
    {
        "slots": st.lists(slot_ads, min_size=1, max_size=7),
        "jobs": st.lists(st.tuples(st.sampled_from(PEOPLE), job_ads_drawn, st.integers(1, 3)), min_size=1, max_size=6),
        "records": st.lists(records, min_size=4, max_size=4),
        "draining": st.integers(0, 2),
        "preemption": st.booleans(),
        "policy": st.sampled_from(["false", "true", "MY.Cpus > 1", "RemoteUserPrio > 1.2 * SubmitterUserPrio"]),
        "quotas": st.sampled_from([None, (1, 1), (3, 1), (2, 0)]),
        "weights": st.booleans(),
        "rules": st.sampled_from(["documented", "documented", "htcondor"]),
        "surplus": st.booleans(),
        "autoregroup": st.booleans(),
        "limits": st.sampled_from([{}, {}, {"db": 1}, {"db": 0, "lic": 2}, {"default": 1}]),
        "settings": st.dictionaries(st.sampled_from(sorted(MORE)), st.just(True), max_size=2),
    }
)


def fill(path, pool):
    requirements = "/Expr(MY.Start && TARGET.RequestMemory <= MY.Memory && TARGET.RequestCpus <= MY.Cpus)/"
    with writing(path) as state:
        ads: list[Ad] = []
        for number, (drawn, user) in enumerate(pool["slots"]):
            ad = {**SLOT, **drawn, "Name": f"slot1@m{number}", "Requirements": requirements}
            ads.append(ad if user is None else claimed(ad, user))
        slots.add(state, [SlotRecord(0, ad["Name"], ad) for ad in ads])
        slots.set_draining(state, [ad["Name"] for ad in ads[: pool["draining"]]], True)
        for cluster, (name, (clauses, memory, cpus, priority, more), count) in enumerate(pool["jobs"], 1):
            text = " && ".join(f"({clause})" for clause in clauses) or "true"
            ad = {**JOB, "Requirements": f"/Expr({text})/", "RequestMemory": memory, "RequestCpus": cpus}
            if more["limits"]:
                ad["ConcurrencyLimits"] = more["limits"]
            owner = name.partition("@")[0].rpartition(".")[2]
            ad_id = job_ads.ad_id(state, ad)
            idle = JobRange(cluster, 0, count - 1, ad_id, name, owner, JobStatus.IDLE, NOW, NOW, priority)
            jobs.add(state, [replace(idle, schedd=more["schedd"])])
        submitters.store(
            state,
            [
                AccountingRecord(name, priority=priority, priority_factor=factor, ceiling=ceiling, floor=floor)
                for name, (priority, factor, ceiling, floor) in zip(PEOPLE, pool["records"], strict=True)
            ],
        )
        meta.set(state, "last_update", str(NOW))


def rules(path, pool, quotas):
    lines = [
        "[negotiator]",
        f'rules = "{pool["rules"]}"',
        *(f"{key} = {MORE[key] if value is True else value}" for key, value in pool["settings"].items()),
        f"negotiator_consider_preemption = {str(pool['preemption']).lower()}",
        f"preemption_requirements = '{pool['policy']}'",
        f"negotiator_use_slot_weights = {str(pool['weights']).lower()}",
    ]
    lines += ["[limits]", *(f"{name} = {most}" for name, most in pool["limits"].items())]
    for name, members in quotas.items():
        lines.append(f"[groups.{name}]")
        lines += [f"{key} = {str(value).lower()}" for key, value in members.items()]
    config = path.with_suffix(".toml")
    config.write_text("\n".join(lines))
    return load(config, None, {"HOME": "/nonexistent"})


def edited(path, job, **columns):
    """Queue a job anew with other columns, as if it had been submitted so."""
    cluster, proc = map(int, job.split("."))
    with writing(path) as state:
        (former,) = jobs.select(state, cluster=cluster, proc=proc)
        shared = job_ads.ads(state, [former.ad_id])[former.ad_id]
        job_changes.remove(state, former.schedd, cluster, proc, proc)
        jobs.add(state, [replace(former, ad_id=job_ads.ad_id(state, shared), **columns)])


def ad_of(state, job):
    cluster, proc = map(int, job.split("."))
    (found,) = jobs.select(state, cluster=cluster, proc=proc)
    return {**job_ads.ads(state, [found.ad_id])[found.ad_id], **(found.own or {})}


def without_clause(text, clause, to):
    assert clause in text
    return text.replace(clause, to or "true", 1)


def apply(path, configured, change, made):
    """Do to the state, and to the settings *made*, what a change says, by other means than `why` tried it."""
    what, of, to = change["change"], change["of"], change["to"]
    quotas = made["groups"]
    if what == "setting":
        del made["settings"][of]
    elif what == "time budget":
        made["settings"][of] = to
    elif what == "concurrency limit":
        made["limits"][of] = to
    elif what in ("factor", "priority", "ceiling", "floor"):
        with writing(path) as state:
            record = submitters.load(state, of) or AccountingRecord(of)
            setattr(record, {"factor": "priority_factor"}.get(what, what), to)
            submitters.store(state, [record])
    elif what == "quota":
        quotas[of]["quota"] = to
    elif what == "accept surplus":
        quotas[of]["accept_surplus"] = to
    elif what == "undrain slot":
        with writing(path) as state:
            slots.set_draining(state, [of], False)
    elif what == "job priority":
        edited(path, of, priority=to)
    elif what == "slot clause":
        with writing(path) as state:
            (slot,) = slots.load(state, of)
            attribute = next(name for name in slot.ad if name.lower() == change["attribute"])
            slot.ad[attribute] = without_clause(slot.ad[attribute], change["clause"], to)
            slots.add(state, [slot])
    elif what == "requirements clause":
        with reading(path) as state:
            ad = ad_of(state, of)
            (former,) = jobs.select(state, cluster=int(of.split(".")[0]), proc=int(of.split(".")[1]))
        text = without_clause(ad["Requirements"], change["clause"], to)
        edited(path, of, own={**(former.own or {}), "Requirements": text})
    elif what == "add slot":
        with writing(path) as state:
            slot = next(slot for slot in load_slots(state) if slot.name == of)
            slots.add(state, [SlotRecord(0, to, {**_freed(slot.ad), "Name": to})])
    elif what == "free slot":
        with reading(path) as state:
            (slot,) = slots.load(state, of)
            running = [j for j in _running(state) if j[1] == of]
        if running:
            actor = Actor("root", "fairq finish", NOW)
            selection = Selection(parse_targets([running[0][0]]))
            finish(path, configured, selection, actor)
        else:
            with writing(path) as state:
                slots.add(state, [replace(slot, ad=_freed(slot.ad))])
    else:
        with reading(path) as state:
            cluster, proc = map(int, of.split("."))
            (former,) = jobs.select(state, cluster=cluster, proc=proc)
        edited(path, of, own={**(former.own or {}), change["attribute"]: to})


def _freed(ad):
    of_claim = ("RemoteUser", "RemoteOwner", "ConcurrencyLimits", "RetirementTimeRemaining")
    freed = {name: value for name, value in ad.items() if name not in of_claim}
    return {**freed, "State": "Unclaimed", "Activity": "Idle", "CurrentRank": 0.0}


def _running(state):
    from fairq.state import claims

    names = dict(zip(slots.load_ids(state), slots.load_names(state), strict=True))
    return [
        (f"{claim.cluster}.{claim.proc}", names[claim.slot_id])
        for claim in claims.load_all(state)
        if claim.cluster is not None
    ]


@given(pools)
@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # to shrink a whole pool takes minutes
    suppress_health_check=list(HealthCheck),
)
def test_the_change_that_why_names_lets_the_job_run(pool):
    """For every job that a cycle left idle: with the changes made, the next cycle matches it."""
    with tempfile.TemporaryDirectory() as folder:
        original = Path(folder) / "state.db"
        fill(original, pool)
        quotas: dict[str, dict[str, Any]] = {}
        if pool["quotas"] is not None:
            outer, inner = pool["quotas"]
            surplus = {"accept_surplus": pool["surplus"], "autoregroup": pool["autoregroup"]}
            quotas = {"physics": {"quota": outer, **surplus}, '"physics.hep"': {"quota": inner, **surplus}}
        configured = rules(original, pool, quotas)
        actor = Actor("root", "fairq negotiate", NOW)
        negotiate(original, configured, actor)
        with reading(original) as state:
            left = [(job.cluster, job.last_proc) for job in jobs.idle(state)]
        for number, (cluster, proc) in enumerate(left[:4]):
            found = why(original, configured, f"{cluster}.{proc}", NOW)
            if found["reason"] == "would be matched":
                continue
            path = Path(folder) / f"changed{number}.db"
            path.write_bytes(original.read_bytes())
            assert found["verified"], found["summary"]
            groups = {name.strip('"'): dict(members) for name, members in quotas.items()}
            made = {"groups": groups, "settings": dict(pool["settings"]), "limits": dict(pool["limits"])}
            for change in found["changes"]:
                apply(path, configured, change, made)
            changed = rules(path, {**pool, **made}, {f'"{name}"': members for name, members in groups.items()})
            decision = negotiate(path, changed, actor, dry_run=True).decision
            matched = {(match.cluster, match.proc) for match in decision.matches}
            assert (cluster, proc) in matched, found["summary"]
