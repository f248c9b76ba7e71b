"""A cycle leaves the state as the decision says: claims, running jobs, usage, and the record of it."""

from __future__ import annotations

import pytest
from tests.engine.negotiation.pools import JOB, NOW, SLOT

from fairq.common.records import AccountingRecord, Actor, Ad, Claim, JobRange, JobStatus, Lease, SlotRecord
from fairq.settings import load
from fairq.state import claims, cycles, history, job_ads, job_changes, jobs, meta, runs, slots, submitters
from fairq.state.connection import reading, writing
from fairq.steps.cycle.negotiate import negotiate


def settings(**variables):
    """The documented rules, changed by FAIRQ_... variables."""
    return load(None, None, {"HOME": "/nonexistent", **variables})


def fill(
    path,
    count,
    wants,
    records=None,
    job=JOB,
    **slot,
):
    """A pool of *count* slots alike and a cluster of jobs for each submitter."""
    with writing(path) as state:
        ads: list[Ad] = [{**SLOT, **slot, "Name": f"slot1@m{number}"} for number in range(1, count + 1)]
        slots.add(state, [SlotRecord(0, ad["Name"], ad) for ad in ads])
        ad_id = job_ads.ad_id(state, job)
        for cluster, (name, number) in enumerate(wants.items(), 1):
            owner = name.partition("@")[0]
            jobs.add(state, [JobRange(cluster, 0, number - 1, ad_id, name, owner, JobStatus.IDLE, NOW, NOW)])
        submitters.store(state, records or [])
        meta.set(state, "last_update", str(NOW))


def cycle(path, now=NOW, dry_run=False, **variables):
    """Hold a cycle at *now*."""
    return negotiate(path, settings(**variables), Actor("root", "fairq negotiate", now), dry_run=dry_run)


def test_matched_jobs_run_and_hold_their_slots(state):
    """Three of five jobs run on the three slots; the other two stay idle."""
    fill(state, 3, {"a@x": 5})
    cycle(state)

    with reading(state) as opened:
        assert jobs.counts_by_submitter(opened) == {"a@x": (2, 3, 0)}
        assert [(c.cluster, c.proc, c.submitter, c.start_time) for c in claims.load_all(opened)] == [
            (1, 0, "a@x", NOW),
            (1, 1, "a@x", NOW),
            (1, 2, "a@x", NOW),
        ]


def test_running_jobs_keep_their_slots_in_the_next_cycle(state):
    """What runs is charged once and neither matched nor lost again."""
    fill(state, 3, {"a@x": 5})
    cycle(state)
    later = cycle(state, NOW + 60)

    with reading(state) as opened:
        record = submitters.load(opened, "a@x")

    assert later.decision.matches == []
    assert record is not None
    assert (record.resources_used, record.weighted_resources_used) == (3, 3.0)
    assert record.weighted_accumulated_usage == pytest.approx(180)


def test_usage_worsens_the_priority_as_the_formula_says(state):
    """100 cores for one half-life bring 0.5 to 50.25 (vector 3)."""
    fill(state, 1, {"a@x": 1}, Cpus=100)
    cycle(state)
    cycle(state, NOW + 86400)

    with reading(state) as opened:
        record = submitters.load(opened, "a@x")

    assert record is not None
    assert record.priority == pytest.approx(50.25)


def test_a_dry_run_changes_no_byte(state):
    """It decides the same as the real cycle after it, and the file stays as it was."""
    fill(state, 3, {"a@x": 5, "b@x": 5})
    before = state.read_bytes()
    shown = cycle(state, dry_run=True)

    assert state.read_bytes() == before
    assert [path.name for path in state.parent.iterdir()] == ["state.db"]
    assert cycle(state).decision.matches == shown.decision.matches


def test_a_cycle_on_no_state_at_all_creates_nothing_when_dry(state):
    """Nothing is there, nothing is matched, nothing is made."""
    assert cycle(state, dry_run=True).decision.matches == []
    assert not state.exists()


def test_claims_of_an_imported_pool_are_charged_to_their_users(state):
    """A slot that says it is claimed counts for its user from the cycle on, and stays charged."""
    fill(state, 2, {}, State="Claimed", Activity="Busy", RemoteUser="b@x")
    cycle(state)
    cycle(state, NOW + 100)

    with reading(state) as opened:
        record = submitters.load(opened, "b@x")
        held = claims.load_all(opened)

    assert record is not None
    assert (record.resources_used, record.weighted_accumulated_usage) == (2, 200.0)
    assert [(claim.cluster, claim.start_time) for claim in held] == [(None, NOW), (None, NOW)]


def test_a_preempted_job_is_idle_again_with_its_run_kept(state):
    """The machine prefers a's jobs: b's job leaves, is charged, and waits again."""
    fill(state, 1, {"b@x": 1}, Rank='/Expr(TARGET.Owner == "a")/')
    cycle(state)
    with writing(state) as opened:
        jobs.add(opened, [JobRange(7, 0, 0, job_ads.ad_id(opened, JOB), "a@x", "a", JobStatus.IDLE, NOW, NOW)])
    later = cycle(state, NOW + 60)

    with reading(state) as opened:
        assert jobs.counts_by_submitter(opened) == {"a@x": (0, 1, 0), "b@x": (1, 0, 0)}
        assert [(c.cluster, c.submitter, c.current_rank) for c in claims.load_all(opened)] == [(7, "a@x", 1.0)]
        assert [(r.cluster, r.start_time, r.end_time, r.how) for r in runs.load(opened)] == [
            (1, NOW, NOW + 60, "preempted")
        ]
    assert [(m.submitter, m.preempted) for m in later.decision.matches] == [("a@x", "b@x")]


def test_a_lease_that_is_over_ends_before_the_cycle(state):
    """A ceiling of 1 for a minute does not bind a cycle an hour later, and the history says it ended."""
    lease = AccountingRecord("a@x", ceiling=1, ceiling_lease=Lease(NOW + 60, -1))
    fill(state, 5, {"a@x": 5}, [lease])
    first = cycle(state, NOW + 59)
    second = cycle(state, NOW + 3600)

    with reading(state) as opened:
        entries = history.load(opened)

    assert (len(first.decision.matches), len(second.decision.matches)) == (1, 4)
    assert [e for e in entries if "ceiling lease of a@x" in e.subject]


def test_records_that_matter_no_more_go_by_themselves_under_the_documented_rules(state):
    """One who never ran anything is forgotten; today's negotiator keeps everybody."""
    fill(state, 1, {}, [AccountingRecord("idle@x", priority_factor=1000.0)])
    cycle(state, FAIRQ_NEGOTIATOR_RULES="htcondor")
    with reading(state) as opened:
        assert submitters.load(opened, "idle@x") is not None
    cycle(state, NOW + 60)

    with reading(state) as opened:
        assert submitters.load(opened, "idle@x") is None


def test_a_clock_that_goes_backwards_charges_no_second_twice(state):
    """A cycle ten seconds in the past gives ten seconds back; the next one counts from there."""
    fill(state, 1, {"a@x": 1})
    cycle(state)
    cycle(state, NOW + 100)
    cycle(state, NOW + 90)
    with reading(state) as opened:
        before = submitters.load(opened, "a@x")
    cycle(state, NOW + 100)
    with reading(state) as opened:
        after = submitters.load(opened, "a@x")

    assert before is not None
    assert after is not None
    assert (before.weighted_accumulated_usage, after.weighted_accumulated_usage) == (90.0, 100.0)


def test_the_cycle_and_its_matches_are_kept(state):
    """What was decided can be read again later, in the order made."""
    fill(state, 2, {"a@x": 1, "b@x": 1})
    cycle(state)

    with reading(state) as opened:
        latest = cycles.latest(opened)

    assert latest is not None
    assert (latest.number, latest.time, latest.rules) == (1, NOW, "documented")
    assert [(m.sequence, m.submitter, m.slot) for m in latest.matches] == [
        (0, "a@x", "slot1@m1"),
        (1, "b@x", "slot1@m2"),
    ]
    assert latest.decision["submitters"][0]["share"] == 0.5


def test_a_matched_slot_that_was_claimed_for_a_foreign_job_becomes_ours(state):
    """Preempting a claim of an imported pool takes it off the slot's ad, too."""
    fill(state, 1, {"a@x": 1}, State="Claimed", Activity="Busy", RemoteUser="b@x", Rank=5.0, CurrentRank=1.0)
    cycle(state)

    with reading(state) as opened:
        (slot,) = slots.load_all(opened)
        (claim,) = claims.load_all(opened)

    assert isinstance(claim, Claim)
    assert (claim.submitter, claim.cluster) == ("a@x", 1)
    assert "RemoteUser" not in slot.ad


def test_running_jobs_use_their_concurrency_limits_until_they_end(state):
    """Two of three licences go to the first cycle's jobs; they count later, and are free once a job is done."""
    fill(state, 5, {"a@x": 5}, job={**JOB, "ConcurrencyLimits": "license:1.5"})
    first = cycle(state, FAIRQ_LIMITS_LICENSE="3")
    second = cycle(state, NOW + 60, FAIRQ_LIMITS_LICENSE="3")
    with writing(state) as opened:
        assert {claim.concurrency_limits for claim in claims.load_all(opened)} == {"license:1.5"}
        claims.release(opened, [1])
        job_changes.remove(opened, "", 1, 0, 0)
    third = cycle(state, NOW + 120, FAIRQ_LIMITS_LICENSE="3")

    assert [len(cycle.decision.matches) for cycle in (first, second, third)] == [2, 0, 1]
    assert second.document["limits"] == [{"name": "license", "in_use_before": 3.0, "in_use": 3.0, "maximum": 3.0}]
    assert second.document["rejections"][0]["reason"] == "concurrency limit license reached"


def test_what_runs_outside_the_slot_constraint_goes_on(state):
    """Keeping slots out ends no job on them: it runs on and is charged."""
    fill(state, 3, {"a@x": 5})
    cycle(state)
    later = cycle(state, NOW + 60, FAIRQ_NEGOTIATOR_NEGOTIATOR_SLOT_CONSTRAINT='Name != "slot1@m2"')

    with reading(state) as opened:
        assert len(claims.load_all(opened)) == 3
    assert later.decision.submitters[0].used_before == 3
    assert later.document["slots"] == 2


def test_what_runs_out_of_sight_is_not_lost(state):
    """Nobody is charged for slots that are kept out of sight; the jobs run on, and are charged again after."""
    fill(state, 3, {"a@x": 5})
    cycle(state)
    outside = {
        "FAIRQ_NEGOTIATOR_NEGOTIATOR_SLOT_CONSTRAINT": 'Name != "slot1@m2"',
        "FAIRQ_NEGOTIATOR_COUNT_SLOTS_OUTSIDE": "false",
    }
    hidden = cycle(state, NOW + 60, **outside)
    with reading(state) as opened:
        held = {claim.slot_id: claim.charged for claim in claims.load_all(opened)}
        assert jobs.running_counts(opened) == {("a@x", ""): 3}
    again = cycle(state, NOW + 120)

    assert sorted(held.values()) == [False, True, True]
    assert [cycle.decision.submitters[0].used_before for cycle in (hidden, again)] == [2, 3]
    with reading(state) as opened:
        assert all(claim.charged for claim in claims.load_all(opened))


def test_schedds_have_queues_of_their_own(state):
    """Jobs of one submitter at two schedds may have the same numbers; both run, the first schedd's first."""
    fill(state, 3, {})
    with writing(state) as opened:
        ad_id = job_ads.ad_id(opened, JOB)
        for schedd in ("s2", "s1"):
            jobs.add(opened, [JobRange(1, 0, 1, ad_id, "a@x", "a", JobStatus.IDLE, NOW, NOW, schedd=schedd)])
    made = cycle(state)

    assert [match.schedd for match in made.decision.matches] == ["s1", "s1", "s2"]
    with reading(state) as opened:
        assert sorted((claim.schedd, claim.proc) for claim in claims.load_all(opened)) == [
            ("s1", 0), ("s1", 1), ("s2", 0),
        ]  # fmt: skip
