"""Waiting in the queue of an engine is not charged, whatever was charged meanwhile."""

import pytest

from fairq.common.records import Claim, Launch, LaunchPhase, SlotRecord
from fairq.settings.model import load
from fairq.state import claims, launches, meta, slots, submitters
from fairq.state.connection import writing
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.accounts import LAST_UPDATE, load_accountant
from fairq.steps.launch.engines import Move, charge_from, overdue, withdrawal

SETTINGS = load(None, None, {"HOME": "/nonexistent", "FAIRQ_ACCOUNTING_UID_DOMAIN": "x"})
ALICE, BOB = "alice@x", "bob@x"


def a_pool(state):
    """A run of each of two users since the second 100: alice's waits in an engine, bob's runs here."""
    slots.add(state, [SlotRecord(0, name, {"Name": name, "Cpus": 2}) for name in ("a", "b")])
    held = [Claim(1, ALICE, 100, 2.0, "", 1, 0, matched=True), Claim(2, BOB, 100, 2.0, "", 2, 0, matched=True)]
    claims.store(state, held)
    runs = [
        Launch(0, "1.0-a", "slurm", "", 1, 0, "a", LaunchPhase.QUEUED, 100, "b", 0.0, reason="Resources"),
        Launch(0, "2.0-b", "local", "", 2, 0, "b", LaunchPhase.STARTED, 100, "b", 0.0),
    ]
    launches.add(state, runs)
    meta.set(state, LAST_UPDATE, "100")
    accountant = load_accountant(state, accounting_policy(SETTINGS))
    accountant.recount()
    submitters.store(state, accountant.records.values(), accountant.booked)
    return list(zip(runs, held, strict=True))


def usage(state, now):
    """What each user is charged for, in slot seconds, if all are charged until *now*."""
    accountant = load_accountant(state, accounting_policy(SETTINGS))
    accountant.update(now)
    return {name: accountant.record(name).accumulated_usage for name in (ALICE, BOB)}


@pytest.mark.parametrize("cycles", [[], [110], [110, 160]])
def test_a_run_is_charged_from_its_start_in_the_engine(state, cycles):
    """However many cycles saw it wait, and even if one of them was later than its start."""
    with writing(state) as opened:
        (launch, claim), _ = a_pool(opened)
        for now in cycles:
            charge_from(opened, SETTINGS, [Move(launch, claim, now)])
            assert usage(opened, now)[ALICE] == 0
        charge_from(opened, SETTINGS, [Move(launch, claim, 130)])
        assert usage(opened, 200) == {ALICE: 70, BOB: 100}
        assert [claim.start_time for claim in claims.load_all(opened)] == [130, 100]
        assert launches.live(opened)[0].claimed == 130


def test_use_is_the_same_while_a_run_waits(state):
    """The slot counts as in use: nobody gets a further one for it."""
    with writing(state) as opened:
        (launch, claim), _ = a_pool(opened)
        charge_from(opened, SETTINGS, [Move(launch, claim, 150)])
        records = [record for record in submitters.load_all(opened) if not record.is_group]
        assert {record.name: record.weighted_resources_used for record in records} == {ALICE: 2.0, BOB: 2.0}


def test_a_run_that_an_engine_does_not_start_is_withdrawn(state):
    with writing(state) as opened:
        (launch, _), (other, _) = a_pool(opened)
    live = [launch, other]
    assert overdue(live, {"slurm"}, SETTINGS, 3700) == []
    assert overdue(live, {"slurm"}, SETTINGS, 3701) == [launch]
    assert withdrawal(launch, 3701) == {"how": "withdraw", "reason": "withdrawn from slurm after 3601 s: Resources"}
    patient = load(None, None, {"HOME": "/nonexistent", "FAIRQ_LAUNCH_SLURM_PATIENCE": "0"})
    assert overdue(live, {"slurm"}, patient, 10**6) == []
