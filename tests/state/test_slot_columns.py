"""The copy of the slots by column says what the slots say, or is not there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager

import pytest

from fairq.common.records import Ad, SlotRecord
from fairq.engine.classad import AdColumns
from fairq.state import check, document, slot_columns, slots
from fairq.state.connection import State, reading, writing

COUNT = slot_columns.WORTHWHILE + 7


def slot(number):
    ad: Ad = {"Name": f"slot{number}", "Memory": number, "Arch": "X86_64", "LoadAvg": number / 7}
    if number % 3 == 0:
        ad |= {"Memory": f"/Expr({number} * 2)/", "Offline": number % 2 == 0, "List": [number, None, {"a": "b"}]}
    if number % 500 == 0:
        ad = {"Name": f"slot{number}"}
    return SlotRecord(number, f"slot{number}", ad, address=f"<{number}>", draining=number % 11 == 0)


@contextmanager
def pool(path):
    """A pool that is large enough, with its copy."""
    with writing(path) as state:
        slots.add(state, map(slot, range(1, COUNT + 1)))
        slot_columns.keep(state)
        yield state


def has_copy(state):
    return any(True for _ in slot_columns.load(state))


@pytest.mark.parametrize("apart", [(), {1}, {3, 4, 500, COUNT}, set(range(1, COUNT, 2)), set(range(1, COUNT + 1))])
def test_the_copy_reads_as_the_slots_do(tmp_path, apart):
    """Ads, numbers, names and what is drained are the same with the copy and without, whichever ads are apart."""
    with pool(tmp_path / "s.db") as state:
        copied = slots.load_table(state, apart)
        state.connection.execute("DELETE FROM slot_columns")
        plain = slots.load_table(state, apart)

    assert copied[:3] == plain[:3]
    assert copied.apart == plain.apart == {number - 1: slot(number).ad for number in sorted(apart)}
    # As a cycle does.
    copied.ads.put(list(copied.apart), list(copied.apart.values()))
    assert list(copied.ads) == [copied.ads[row] for row in range(COUNT)]
    assert list(copied.ads) == [slot(number).ad for number in range(1, COUNT + 1)]
    assert list(map(list, copied.ads)) == [list(slot(number).ad) for number in range(1, COUNT + 1)]


def test_values_that_are_equal_but_not_the_same_stay_as_they_are(tmp_path):
    same = [None, 5, 1.5, False, "text", [1], 0.0, -0.0]
    mixed = [[1, True, 1.0], [0.0, -0.0, 0], [False, 0, None]]
    ads: list[Ad] = [
        {f"S{at}": value for at, value in enumerate(same)} | {f"M{at}": some[row % 3] for at, some in enumerate(mixed)}
        for row in range(COUNT)
    ]
    with writing(tmp_path / "s.db") as state:
        slots.add(state, [SlotRecord(0, f"slot{row}", ad) for row, ad in enumerate(ads)])
        slot_columns.keep(state)
        found = slots.load_table(state)
    assert repr(list(found.ads)) == repr(ads)
    columns = AdColumns(found.ads)
    for name in ads[0].keys() - {"S0", "M2"}:  # an evaluation has UNDEFINED for None
        assert repr([columns.json_value(row, name.lower()) for row in range(9)]) == repr([ad[name] for ad in ads[:9]])


CHANGES: dict[str, Callable[[State], object]] = {
    "a new slot": lambda state: slots.add(state, [slot(COUNT + 1)]),
    "a new ad": lambda state: slots.add(state, [SlotRecord(0, "slot5", {"Memory": 1}, "<5>")]),
    "an ad rewritten": lambda state: slots.rewrite_ads(state, [5], lambda ad: {**ad, "Memory": 0}),
    "a slot less": lambda state: slots.remove(state, [5]),
    "another pool": lambda state: slots.replace_all(state, [slot(1)]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_slot_ends_the_copy(tmp_path, change):
    """Whatever changes a slot, the copy is gone with it, so that nothing old is ever read."""
    with pool(tmp_path / "s.db") as state:
        CHANGES[change](state)
        assert not has_copy(state)
        expected = slots.load_all(state)
        found = slots.load_table(state)
    assert list(found.ads) == [record.ad for record in expected]
    assert found.draining == [record.draining for record in expected]


def test_draining_leaves_the_copy_alone(tmp_path):
    """Which slots are being drained is not in the copy, and so is right at once."""
    with pool(tmp_path / "s.db") as state:
        slots.set_draining(state, ["slot2"], True)
        assert has_copy(state)
        assert slots.load_table(state).draining[1]


def test_the_check_finds_a_copy_that_is_not_what_the_slots_say(tmp_path):
    with pool(tmp_path / "s.db") as state:
        assert check.findings(state) == []
        state.connection.execute("UPDATE slot_columns SET content = replace(content, '\"slot777\"', '\"slot7\"')")
        assert check.findings(state) == ["copy: slot_columns is not what slot says, from slot 777 on"]


def test_small_pools_have_no_copy(tmp_path):
    """Few slots are read at once without."""
    with writing(tmp_path / "s.db") as state:
        slots.add(state, [slot(1)])
        slot_columns.keep(state)
        assert not has_copy(state)


def test_a_state_brought_in_has_its_copy(tmp_path):
    """The copy is no part of the exported document, and made anew from it."""
    with pool(tmp_path / "a.db") as state:
        exported = document.export(state)
    assert "slot_columns" not in exported
    with writing(tmp_path / "b.db") as state:
        document.restore(state, exported)
        assert has_copy(state)
    with reading(tmp_path / "b.db") as state:
        assert document.export(state) == exported


def test_a_restored_document_is_read_without_the_copy_of_the_former_slots(tmp_path):
    """The document of a small pool, which has no copy of its own."""
    with writing(tmp_path / "small.db") as state:
        slots.add(state, [slot(1)])
        small = document.export(state)
    with pool(tmp_path / "s.db") as state:
        document.restore(state, small)
        assert slots.load_table(state).names == ["slot1"]
        assert not has_copy(state)
