"""The ledger of usage: whatever happens, its rows add up to what was accumulated, and each hour has its own."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.negotiation.pools import NOW, SLOT

from fairq.common.records import Actor, JobRange, JobStatus, SlotRecord
from fairq.settings import load
from fairq.state import check, claims, job_ads, jobs, meta, slots, submitters, usage
from fairq.state.connection import reading, writing
from fairq.steps.cycle.negotiate import negotiate
from fairq.steps.jobs.finish import finish
from fairq.steps.jobs.selection import Selection, parse_targets
from fairq.steps.userprio.edit import Editor

USERS = ("ann@x", "group_a.ben@x")
kinds = st.sampled_from(["cycle", "cycle", "end", "end", "reset", "set", "delete", "reset all"])
events = st.lists(st.tuples(kinds, st.integers(0, 40_000), st.integers(0, 30_000)), max_size=14)


@settings(max_examples=12, deadline=None)
@given(events, st.sampled_from(["documented", "htcondor"]))
def test_the_ledger_adds_up_to_what_was_accumulated(events, rules):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        Path(f"{path}.toml").write_text(f'[negotiator]\nrules = "{rules}"\n[groups.group_a]\nquota = 3\n')
        ruled = load(None, path, {"HOME": folder})
        fill(path)
        now = NOW
        held: dict[tuple[str, int], float] = defaultdict(float)
        for kind, later, back in events:
            now += later
            act(path, ruled, Actor("root", f"fairq {kind}", now), kind, back, held)
            with reading(path) as state:
                assert check.findings(state) == []
        # What is given back after a reset is cut at zero: then the hours have more than was held.
        if rules == "documented" and {kind for kind, *_ in events} <= {"cycle", "end"}:
            now += 1
            negotiate(path, ruled, Actor("root", "fairq negotiate", now))
            with reading(path) as state:
                for claim in claims.load_all(state):
                    spread(held, claim.submitter, claim.start_time, now, claim.slot_weight)
                booked = {(row.name, row.start): row.weighted for row in usage.load_all(state) if row.name in USERS}
            for key in held.keys() | booked.keys():
                assert booked.get(key, 0.0) == pytest.approx(held[key], abs=1e-3), key


def fill(path):
    with writing(path) as state:
        ads = [{**SLOT, "Name": f"slot1@m{n}", "Cpus": cpus} for n, cpus in enumerate((1, 2, 3))]
        slots.add(state, [SlotRecord(0, ad["Name"], ad) for ad in ads])
        ad = job_ads.ad_id(state, {"Requirements": "/Expr(true)/", "Rank": 0.0})
        for cluster, user in enumerate(USERS, 1):
            jobs.add(state, [JobRange(cluster, 0, 19, ad, user, "u", JobStatus.IDLE, NOW, NOW)])
        meta.set(state, "last_update", str(NOW))


def act(path, rules, actor, kind, back, held):
    """Do what *kind* says; add to *held* what an ended claim used in each hour."""
    editor = Editor(path, rules, actor)  # type: ignore[arg-type]
    with reading(path) as state:
        running, known = claims.load_all(state), {record.name for record in submitters.load_all(state)}
    name = USERS[back % 2]
    if kind == "cycle":
        negotiate(path, rules, actor)  # type: ignore[arg-type]
    elif kind == "end" and running:
        claim = running[back % len(running)]
        end = max(claim.start_time, actor.time - back)
        finish(path, rules, Selection(parse_targets([f"{claim.cluster}.{claim.proc}"])), actor, end=end)  # type: ignore[arg-type]
        spread(held, claim.submitter, claim.start_time, end, claim.slot_weight)
    elif kind == "reset" and name in known:
        editor.reset_usage(name)
    elif kind == "reset all":
        editor.reset_all()
    elif kind == "set":
        editor.set_usage(name, float(back))
    elif kind == "delete" and name in known:
        editor.delete(name, force=True)


def spread(held, name, start, end, weight):
    while start < end:
        stop = min(end, start - start % 3600 + 3600)
        held[name, start - start % 3600] += weight * (stop - start)
        start = stop
