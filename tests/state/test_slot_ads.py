"""Slots that come together have their ads by column, one that comes or changes by itself has a text."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager

import pytest

from fairq.columns.slots import STRETCH, SlotTable
from fairq.common.records import Ad, SlotRecord
from fairq.engine.classad import AdColumns
from fairq.errors.base import StateDamagedError
from fairq.state import document, schema, slots
from fairq.state.check import findings
from fairq.state.connection import State, reading, writing

COUNT = STRETCH + 7


def _ad(number):
    """The ad of a slot: some shapes, values that are equal but not the same, and some that are lists or ads."""
    ad: Ad = {
        "Name": f"slot{number}@é",
        "Memory": 1024 * number if number % 3 else f"/Expr({number} * 2)/",
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
    if number % 500 == 0:
        ad = {"Name": f"slot{number}@é"}
    return {**ad, "Site": "x"} if number % 7 == 0 else ad


def _slot(number):
    return SlotRecord(number, f"slot{number}@é", _ad(number), f"<{number}>", number % 11 == 0)


SLOTS = list(map(_slot, range(1, COUNT + 1)))


@contextmanager
def _pool(path):
    with writing(path) as state:
        slots.replace_all(state, SLOTS)
        yield state


@pytest.fixture
def pool(tmp_path):
    with _pool(tmp_path / "pool.db"):
        pass
    return tmp_path / "pool.db"


def _texts(state):
    return dict(state.connection.execute("SELECT id, ad FROM slot WHERE ad <> ''"))


def test_slots_are_read_as_they_were_stored(pool):
    """All of them, some, and single ones; values of another type that are equal are not mixed up."""
    with reading(pool) as state:
        assert repr(slots.load_all(state)) == repr(SLOTS)
        assert repr(slots.load_ads(state)) == repr([slot.ad for slot in SLOTS])
        assert repr(slots.of_ids(state, [35, 7, COUNT])) == repr([SLOTS[34], SLOTS[6], SLOTS[-1]])
        assert repr(slots.load(state, "slot400@é")) == repr([SLOTS[399]])
        assert repr(slots.load_first(state, 3, after=STRETCH - 1)) == repr(SLOTS[STRETCH - 1 : STRETCH + 2])
        assert slots.attribute_names(state) == sorted(
            {name for number in range(COUNT - 19, COUNT + 1) for name in _ad(number)}
        )
        assert _texts(state) == {}
        assert findings(state) == []


def test_what_they_have_in_common_is_stored_once(pool):
    """What is stored is far smaller than the ads."""
    with reading(pool) as state:
        (size,) = state.connection.execute("SELECT total(length(content)) FROM slot_columns").fetchone()
    assert size < len(repr([slot.ad for slot in SLOTS])) / 2


@pytest.mark.parametrize("apart", [(), {1}, {3, 4, 500, COUNT}, set(range(1, COUNT, 2)), set(range(1, COUNT + 1))])
def test_some_ads_are_left_out_of_the_table(pool, apart):
    """A cycle changes these and puts them in again."""
    with writing(pool) as state:
        slots.rewrite_ads(state, [4, 5], lambda ad: ad)
        found = slots.load_table(state, apart)
    assert found.apart == {number - 1: _ad(number) for number in sorted(apart)}
    found.ads.put(list(found.apart), list(found.apart.values()))
    assert repr(list(found.ads)) == repr([slot.ad for slot in SLOTS])
    assert list(found.ads) == [found.ads[row] for row in range(COUNT)]


def test_values_that_are_equal_but_not_the_same_stay_as_they_are(tmp_path):
    same = [None, 5, 1.5, False, "text", [1], 0.0, -0.0]
    mixed = [[1, True, 1.0], [0.0, -0.0, 0], [False, 0, None]]
    ads: list[Ad] = [
        {f"S{at}": value for at, value in enumerate(same)} | {f"M{at}": some[row % 3] for at, some in enumerate(mixed)}
        for row in range(COUNT)
    ]
    with writing(tmp_path / "s.db") as state:
        slots.add(state, [SlotRecord(0, f"slot{row}", ad) for row, ad in enumerate(ads)])
        slots.gather(state)
        found = slots.load_table(state)
    assert repr(list(found.ads)) == repr(ads)
    columns = AdColumns(found.ads)
    for name in ads[0].keys() - {"S0", "M2"}:  # an evaluation has UNDEFINED for None
        assert repr([columns.json_value(row, name.lower()) for row in range(9)]) == repr([ad[name] for ad in ads[:9]])


def _replaced(number, ad):
    return [slot if slot.id != number else SlotRecord(number, slot.name, ad, slot.address) for slot in SLOTS]


CHANGES: dict[str, tuple[Callable[[State], object], list[SlotRecord]]] = {
    "a new slot": (lambda state: slots.add(state, [_slot(COUNT + 1)]), [*SLOTS, _slot(COUNT + 1)]),
    "a new ad": (
        lambda state: slots.add(state, [SlotRecord(0, "slot5@é", {"Memory": 1}, "<5>")]),
        _replaced(5, {"Memory": 1}),
    ),
    "an ad rewritten": (
        lambda state: slots.rewrite_ads(state, [5], lambda ad: {**ad, "Memory": 0}),
        _replaced(5, {**_ad(5), "Memory": 0}),
    ),
    "a slot less": (lambda state: slots.remove(state, [5]), SLOTS[:4] + SLOTS[5:]),
    "a slot again": (
        lambda state: (slots.remove(state, [COUNT]), slots.add(state, [SlotRecord(0, "new", {"Memory": 2})])),
        [*SLOTS[:-1], SlotRecord(COUNT, "new", {"Memory": 2})],
    ),
    "a slot put back": (
        lambda state: (slots.remove(state, [5]), slots.put(state, [SlotRecord(5, "five", {"Memory": 3})])),
        [*SLOTS[:4], SlotRecord(5, "five", {"Memory": 3}), *SLOTS[5:]],
    ),
    "another pool": (lambda state: slots.replace_all(state, SlotTable.of([_slot(1)])), SLOTS[:1]),
    "none": (lambda state: slots.remove(state, range(1, COUNT + 1)), []),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_text_of_a_slot_that_changes_wins(tmp_path, change):
    """Whatever changes a slot, nothing old is read, and the others stay as they were; also when all are gathered."""
    changed, expected = CHANGES[change]
    with _pool(tmp_path / "s.db") as state:
        changed(state)
        assert repr(slots.load_all(state)) == repr(expected)
        assert repr(slots.of_ids(state, [5, COUNT, 6])) == repr(
            [slot for number in (5, COUNT, 6) for slot in expected if slot.id == number]
        )
        slots.rewrite_ads(state, [slot.id for slot in expected], lambda ad: ad)
        slots.gather(state)
        assert len(_texts(state)) == (0 if len(expected) > 1 else len(expected))
        assert repr(slots.load_all(state)) == repr(expected)
        assert findings(state) == []


def test_the_ads_of_no_slots_are_deleted(tmp_path):
    """The file of a pool whose slots were all removed does not grow with the next ones."""
    with _pool(tmp_path / "s.db") as state:
        slots.remove(state, range(1, COUNT + 1))
        assert state.connection.execute("SELECT count(*) FROM slot_columns").fetchone() == (0,)


def test_few_slots_that_were_added_keep_their_texts(tmp_path):
    """They are read at once as they are."""
    with writing(tmp_path / "s.db") as state:
        slots.add(state, SLOTS[:5])
        slots.gather(state)
        assert len(_texts(state)) == 5


@pytest.mark.parametrize("launch", ["local", "/Expr(Other)/"])
@pytest.mark.parametrize("having", [SLOTS, SLOTS[:200], SLOTS[-1:]])
def test_launchers_are_found_among_all_ads(pool, launch, having):
    """Whether all slots have one or a few, by column or as texts."""
    with reading(pool) as state:
        assert not slots.has_launcher(state)
    changed = [SlotRecord(slot.id, slot.name, {**slot.ad, "Launch": launch}, slot.address) for slot in having]
    with writing(pool) as state:
        slots.add(state, changed)
        assert slots.has_launcher(state)
        slots.replace_all(state, [*changed, *(slot for slot in SLOTS if slot not in having)])
        assert slots.has_launcher(state)


def test_slots_without_an_ad_are_found(pool):
    """The check of a state names them, and no command reads them as slots without attributes."""
    with writing(pool) as state:
        state.connection.execute("DELETE FROM slot_columns WHERE first > 1")
    with reading(pool) as state:
        assert f"reference: 7 slots without an ad, the first one is slot {STRETCH + 1}" in findings(state)
    for read in (slots.load_all, lambda state: slots.of_ids(state, [COUNT])):
        with pytest.raises(StateDamagedError, match="the ad of slot"), reading(pool) as state:
            read(state)


def test_a_document_has_the_ads_and_not_the_columns(tmp_path):
    with _pool(tmp_path / "a.db") as state:
        exported = document.export(state)
    assert "slot_columns" not in exported
    with writing(tmp_path / "b.db") as state:
        slots.replace_all(state, [_slot(COUNT + 1)])
        document.restore(state, exported)
        assert _texts(state) == {}
    with reading(tmp_path / "b.db") as state:
        assert document.export(state) == exported


@pytest.mark.parametrize("copied", [True, False])
def test_slots_of_an_older_schema_are_read_as_they_were(tmp_path, monkeypatch, copied):
    """It stored in a shape what ads had in common, and perhaps a copy of them by column."""
    path = tmp_path / "old.db"
    with monkeypatch.context() as older:
        older.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:4])
        with writing(path) as state:
            execute = state.connection.execute
            execute("""INSERT INTO slot_shape VALUES (3, '[["B"],{"A":1.50,"B":null,"C":Infinity}]')""")
            for number, text in enumerate(('[3,"\\ud800"]', "[3,2]", '{"A":true}'), 1):
                execute("INSERT INTO slot VALUES (?, ?, '', ?, 0)", (number, f"slot{number}", text))
            if copied:
                parts = '[[["A","B","C"],[0,1],[[1.50],["\\ud800",2],[Infinity]]],[["A"],[2],[[true]]]]'
                execute("INSERT INTO slot_columns VALUES (1, ?)", (f'[[1,2,3],["slot1","slot2","slot3"],{parts}]',))
    inf = float("inf")
    ads = [{"A": 1.5, "B": "\ud800", "C": inf}, {"A": 1.5, "B": 2, "C": inf}, {"A": True}]
    with reading(path) as state:
        assert repr(slots.load_ads(state)) == repr(ads)
    with writing(path) as state:
        assert repr(slots.load_ads(state)) == repr(ads)
        assert len(_texts(state)) == (0 if copied else 3)
        assert findings(state) == []


def test_slots_of_an_older_schema_without_their_shape_are_refused(tmp_path, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:4])
        with writing(tmp_path / "old.db") as state:
            state.connection.execute("INSERT INTO slot VALUES (1, 'slot1', '', '[3,1]', 0)")
    before = (tmp_path / "old.db").read_bytes()
    with pytest.raises(StateDamagedError, match="the ads of slots cannot be read"), writing(tmp_path / "old.db"):
        pass
    assert (tmp_path / "old.db").read_bytes() == before
