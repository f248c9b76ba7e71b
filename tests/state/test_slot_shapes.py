"""What many slots have in common is stored once, and nobody who reads them notices."""

from __future__ import annotations

import pytest

from fairq.columns.slots import SlotTable
from fairq.common.records import Ad, SlotRecord
from fairq.errors.base import StateDamagedError
from fairq.state import slots
from fairq.state.check import findings
from fairq.state.connection import reading, writing

COUNT = 500


def _ad(number):
    """The ad of a slot: three shapes, values that are equal but not the same, and some that are lists or ads."""
    ad: Ad = {
        "Name": f"slot{number}@é",
        "Memory": 1024 * number,
        "Arch": "X86_64",
        "LoadAvg": (0.0, -0.0, 0, False)[number % 4],
        "Rank": 0.0,
        "Start": "/Expr(TARGET.Memory < 5)/",
        "Devices": [{"Id": "a", "Free": {}}],
        "Note": '"quoted", [\\',
        "Owner": None,
    }
    if number % 5 == 0:
        ad = {"First": 1, **ad}
    return {**ad, "Site": "x"} if number % 7 == 0 else ad


SLOTS = [SlotRecord(number, f"slot{number}@é", _ad(number), "<1.2.3.4:5>") for number in range(1, COUNT + 1)]


@pytest.fixture
def pool(tmp_path):
    path = tmp_path / "pool.db"
    with writing(path) as state:
        slots.replace_all(state, SLOTS)
    return path


def test_slots_are_read_as_they_were_stored(pool):
    """Also single ones; values of another type that are equal are not mixed up."""
    with reading(pool) as state:
        assert repr(slots.load_all(state)) == repr(SLOTS)
        assert repr(slots.load_ads(state)) == repr([slot.ad for slot in SLOTS])
        assert repr(slots.of_ids(state, [35, 7])) == repr([SLOTS[34], SLOTS[6]])
        assert repr(slots.load(state, "slot400@é")) == repr([SLOTS[399]])
        assert repr(slots.load_first(state, 3, after=69)) == repr(SLOTS[69:72])
        assert repr([ad for stretch in slots.stretches(state) for ad in stretch.ads]) == repr([s.ad for s in SLOTS])
        assert slots.attribute_names(state) == sorted({*_ad(35)})
        assert findings(state) == []


def test_what_they_have_in_common_is_stored_once(pool):
    """The file is far smaller than the ads."""
    with reading(pool) as state:
        (size,) = state.connection.execute("SELECT total(length(ad)) FROM slot").fetchone()
    assert size < len(repr([slot.ad for slot in SLOTS])) / 2


def test_a_slot_that_changes_leaves_the_others_as_they_were(pool):
    """It has an ad of its own then; a later import replaces all."""
    with writing(pool) as state:
        slots.rewrite_ads(state, [6], lambda ad: {**ad, "Arch": "arm"})
        slots.add(state, [SlotRecord(0, "slot7@é", {"Name": "slot7@é"}, "<1.2.3.4:5>")])
    with reading(pool) as state:
        found = slots.load_all(state)
        assert (found[5].ad, found[6].ad) == ({**_ad(6), "Arch": "arm"}, {"Name": "slot7@é"})
        assert repr(found[:5] + found[7:]) == repr(SLOTS[:5] + SLOTS[7:])
        assert findings(state) == []
    with writing(pool) as state:
        slots.replace_all(state, SlotTable.of(SLOTS[:3]))
    with reading(pool) as state:
        assert slots.load_all(state) == SLOTS[:3]
        assert state.connection.execute("SELECT count(*) FROM slot_shape").fetchone() == (0,)


@pytest.mark.parametrize("launch", ["local", "/Expr(Other)/"])
def test_launchers_are_found_among_slots_that_are_alike(pool, launch):
    """Whether all slots have one or a few."""
    with reading(pool) as state:
        assert not slots.has_launcher(state)
    for some in (SLOTS, SLOTS[:200]):
        with writing(pool) as state:
            with_launcher = {slot.id for slot in some}
            slots.replace_all(
                state,
                [
                    SlotRecord(slot.id, slot.name, {**slot.ad, "Launch": launch}, slot.address)
                    if slot.id in with_launcher
                    else slot
                    for slot in SLOTS
                ],
            )
        with reading(pool) as state:
            assert slots.has_launcher(state)


def test_slots_without_their_shape_are_found(pool):
    """The check of a state says how many of them there are."""
    with writing(pool) as state:
        state.connection.execute("DELETE FROM slot_shape WHERE id = 1")
    with reading(pool) as state:
        (finding,) = [one for one in findings(state) if "slot_shape" in one]
    assert finding.startswith("reference: ") and finding.endswith(
        "of the records in slot refer to a missing slot_shape"
    )
    with pytest.raises(StateDamagedError, match="slot_shape 1, which is missing"), reading(pool) as state:
        slots.load_all(state)
