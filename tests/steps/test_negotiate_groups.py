"""Cycles with accounting groups on a state, one after the other."""

from __future__ import annotations

import json

import pytest
from tests.engine.negotiation.pools import NOW, SLOT
from tests.steps.cycle.test_negotiate import fill

from fairq.common.records import AccountingRecord, Actor, Ad, SlotRecord
from fairq.settings import load
from fairq.state import claims, cycles, meta, slots, submitters
from fairq.state.connection import reading, writing
from fairq.steps.cycle.negotiate import negotiate

OWNED = "[groups.physics]\nquota = 20\n[groups.chemistry]\nquota = 10\n"
THIRDS = "".join(f"[groups.{name}]\nquota_dynamic = 0.5\naccept_surplus = true\n" for name in "abc")


def settings(path, text):
    """Settings from a file beside the state."""
    file = path.with_suffix(".settings")
    file.write_text(text)
    return load(file, None, {})


def cycle(path, text, now=NOW, dry_run=False):
    """Hold a cycle at *now*."""
    return negotiate(path, settings(path, text), Actor("root", "fairq negotiate", now), dry_run=dry_run)


def used(path):
    """What every record has in use."""
    with reading(path) as state:
        return {record.name: record.weighted_resources_used for record in submitters.load_all(state)}


def test_quotas_hold_from_cycle_to_cycle(state):
    """What runs counts: physics stays at 20 of 30 in the next cycle, whatever it still wants."""
    fill(state, 30, {"physics.einstein@x": 50, "chemistry.curie@x": 4})
    cycle(state, OWNED)
    later = cycle(state, OWNED, NOW + 60)

    assert later.decision.matches == []
    assert {figures.group: (figures.requested, figures.used_before) for figures in later.decision.quotas} == {
        "<none>": (0, 0),
        "chemistry": (4, 4),
        "physics": (50, 20),
    }
    found = used(state)
    assert (found["physics"], found["physics.einstein@x"], found["chemistry"]) == (20, 20, 4)


@pytest.mark.parametrize(("rules", "preempted"), [("htcondor", [0, 2]), ("documented", [2, 0])])
def test_the_holders_group_is_known_from_the_second_cycle_on(state, rules, preempted):
    """With the rules htcondor RemoteGroup is undefined in the first cycle, as after a start of the negotiator."""
    busy = {"State": "Claimed", "Activity": "Busy", "RemoteUser": "physics.v@x", "RemoteOwner": "v@x"}
    fill(state, 4, {"physics.a@x": 2}, [AccountingRecord("physics.v@x", priority=9.0)], **busy)
    text = f'[negotiator]\nrules = "{rules}"\npreemption_requirements = "SubmitterGroup =?= RemoteGroup"\n'
    text += "[groups.physics]\nquota = 4\n"
    planned = cycle(state, text, dry_run=True)
    made = [cycle(state, text, NOW + 60 * number) for number in range(2)]

    assert [len(item.decision.matches) for item in made] == preempted
    assert len(planned.decision.matches) == preempted[0]


def test_running_jobs_are_demand(state):
    """A group whose jobs all run asks for just them, and keeps its allocation."""
    fill(state, 30, {"physics.einstein@x": 12})
    cycle(state, OWNED)
    later = cycle(state, OWNED, NOW + 60)

    physics = next(figures for figures in later.decision.quotas if figures.group == "physics")
    assert (physics.requested, physics.allocated) == (12, 12)


def test_running_jobs_weigh_what_their_slots_weigh(state):
    """Two jobs on slots of four cpus ask for 8."""
    fill(state, 5, {"physics.einstein@x": 2}, Cpus=4)
    cycle(state, OWNED)

    later = cycle(state, OWNED, NOW + 60)
    assert {figures.group: figures.requested for figures in later.decision.quotas}["physics"] == 8


def test_a_group_is_charged_for_what_all_below_it_use(state):
    """The record of a group has its own use and that of its subtree; a user's is its own."""
    groups = '[groups.p]\nquota = 9\n[groups."p.hep"]\nquota = 5\n'
    fill(state, 9, {"p.hep.u@x": 9, "p.v@x": 9})
    cycle(state, groups)

    with reading(state) as opened:
        records = {record.name: record for record in submitters.load_all(opened)}
    assert (records["p"].weighted_resources_used, records["p"].hier_weighted_resources_used) == (4, 9)
    assert (records["p.hep"].weighted_resources_used, records["p.hep"].hier_weighted_resources_used) == (5, 5)
    assert records["p"].is_group


def test_the_odd_slot_goes_round(state):
    """Three thirds of ten without slot weights: each cycle the odd slot is another group's, and it is stored."""
    text = f"[negotiator]\nnegotiator_use_slot_weights = false\n{THIRDS}"
    winners = []
    for turn in range(4):
        with writing(state) as opened:
            claims.delete_all(opened)
            opened.connection.execute("DELETE FROM submitter")
            if turn == 0:
                meta.set(opened, "last_update", str(NOW))
                ads: list[Ad] = [{**SLOT, "Name": f"slot1@m{number}"} for number in range(10)]
                slots.add(opened, [SlotRecord(0, ad["Name"], ad) for ad in ads])
        if turn == 0:
            fill_jobs(state)
        held = cycle(state, text, NOW + 60 * turn)
        winners += [figures.group for figures in held.decision.quotas if figures.allocated == 4]

    assert winners == ["a", "b", "c", "a"]


def fill_jobs(state):
    """Plenty of jobs for everybody."""
    fill(state, 0, {f"{name}.u@x": 100 for name in "abc"})


def test_a_dry_run_deals_the_odd_slot_to_the_same_group_again(state):
    """Nothing of whose turn it is is stored."""
    text = f"[negotiator]\nnegotiator_use_slot_weights = false\n{THIRDS}"
    fill(state, 10, {f"{name}.u@x": 10 for name in "abc"})
    first, again = cycle(state, text, dry_run=True), cycle(state, text, dry_run=True)

    assert first.document == again.document
    with reading(state) as opened:
        assert meta.get(opened, "round_robin_times") is None


def test_the_stored_cycle_has_turns_and_figures_of_groups(state):
    """What `quotas` shows later is in the cycle's record: every turn in order, every group once."""
    fill(state, 30, {"physics.einstein@x": 50, "alice@x": 3})
    cycle(state, OWNED)

    with reading(state) as opened:
        stored = cycles.latest(opened)
    assert stored is not None
    document = stored.decision
    assert [(turn["group"], turn["handed_out"], turn["skipped"]) for turn in document["groups"]] == [
        ("physics", 20, None),
        ("chemistry", None, "skipping, zero slots allocated"),
        ("<none>", 3, None),
    ]
    figures = {group["group"]: group for group in document["quotas"]}
    assert figures["physics"]["quota"] == 20
    assert figures["physics"]["surplus_policy"] == "no"
    assert figures["<none>"]["surplus_policy"] == "byquota"
    assert {(r["group"], r["quota_group"]) for r in document["rejections"]} == {("physics", "physics")}
    assert json.loads(json.dumps(document, allow_nan=False)) == document


@pytest.mark.parametrize("rules", ["documented", "htcondor"])
def test_no_number_that_json_does_not_know(state, rules):
    """A limit of 0/0 is null in the document, never NaN."""
    text = f'[negotiator]\nrules = "{rules}"\ngroup_accept_surplus = true\n{OWNED}'
    fill(state, 30, {"physics.einstein@x": 3, "chemistry.curie@x": 2, "alice@x": 1})
    for turn in range(3):
        json.dumps(cycle(state, text, NOW + turn).document, allow_nan=False)


def test_groups_configured_later_are_charged_for_what_runs_already(state):
    """Twelve jobs run before there are groups: of physics' 20 there are 8 left."""
    fill(state, 12, {"physics.einstein@x": 50})
    cycle(state, "")
    with writing(state) as opened:
        slots.add(opened, [SlotRecord(0, f"new{number}", {**SLOT, "Name": f"new{number}"}) for number in range(18)])
    later = cycle(state, OWNED, NOW + 60)

    assert len(later.decision.matches) == 8
    assert used(state)["physics"] == 20


def test_the_users_of_a_group_that_is_gone_are_in_none(state):
    """A group taken out of the configuration: what its users hold is charged to <none>, not to it."""
    fill(state, 30, {"physics.einstein@x": 50})
    cycle(state, OWNED)
    later = cycle(state, "[groups.chemistry]\nquota = 10\n", NOW + 60)

    assert {turn.group for turn in later.decision.groups} == {"<none>", "chemistry"}
    found = used(state)
    assert (found["physics"], found["<none>"]) == (0, found["physics.einstein@x"])
