"""Through the commands' steps: usage is the integral of what everybody held, whenever cycles are and ends are told."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.negotiation.pools import NOW, SLOT

from fairq.common.records import Actor, JobRange, JobStatus, SlotRecord
from fairq.settings import load
from fairq.state import claims, job_ads, jobs, meta, slots, submitters
from fairq.state.connection import reading, writing
from fairq.steps.cycle.negotiate import negotiate
from fairq.steps.jobs.finish import finish
from fairq.steps.jobs.selection import Selection, parse_targets

kinds = st.sampled_from(["cycle", "end"])
events = st.lists(st.tuples(kinds, st.integers(1, 40_000), st.integers(0, 30_000)), max_size=12)


@settings(max_examples=25, deadline=None)
@given(events, st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=3))
def test_usage_is_the_integral_of_what_was_held(events, sizes):
    """Every claim is charged from its match to its end; first use is the first match."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        rules = load(None, path, {"HOME": folder})
        with writing(path) as state:
            ads = [{**SLOT, "Name": f"slot1@m{n}", "Cpus": cpus} for n, cpus in enumerate(sizes)]
            slots.add(state, [SlotRecord(0, ad["Name"], ad) for ad in ads])
            ad = job_ads.ad_id(state, {"Requirements": "/Expr(true)/", "Rank": 0.0})
            idle = JobStatus.IDLE
            for cluster, user in enumerate(("ann", "ben"), 1):
                jobs.add(state, [JobRange(cluster, 0, 19, ad, f"{user}@x", user, idle, NOW, NOW)])
            meta.set(state, "last_update", str(NOW))
        now, seconds, begun = NOW, {"ann@x": 0.0, "ben@x": 0.0}, {}
        for kind, later, back in events:
            now += later
            with reading(path) as state:
                held = claims.load_all(state)
            actor = Actor("root", f"fairq {kind}", now)
            if kind == "cycle":
                for match in negotiate(path, rules, actor).decision.matches:
                    begun.setdefault(match.submitter, now)
            elif held:
                claim = held[back % len(held)]
                end = max(claim.start_time, now - back)
                finish(path, rules, Selection(parse_targets([f"{claim.cluster}.{claim.proc}"])), actor, end=end)
                seconds[claim.submitter] += claim.slot_weight * (end - claim.start_time)
        now += 1
        negotiate(path, rules, Actor("root", "fairq negotiate", now))
        with reading(path) as state:
            records = {record.name: record for record in submitters.load_all(state)}
            for claim in claims.load_all(state):
                seconds[claim.submitter] += claim.slot_weight * (now - claim.start_time)
        for name, weighted in seconds.items():
            used = records[name].weighted_accumulated_usage if name in records else 0.0
            assert used == pytest.approx(weighted, abs=1e-6)
            if name in begun:
                assert records[name].begin_usage_time == begun[name]
