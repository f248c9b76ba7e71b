"""Slots by column are the slots, and their ads have the texts that each ad would have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.columns.slots import STRETCH, AlikeSlots, SlotCollector, SlotTable
from fairq.common.records import SlotRecord
from fairq.state import ad_texts, rows

values = st.one_of(
    st.sampled_from(
        [0, 1, True, False, 0.0, -0.0, 1.0, 1e300, 1e-5, 1e16, "", "x", "é\udcff", "\x7f", 'a"\\', [1], {"a": None}]
    ),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
)
ads = st.dictionaries(st.sampled_from(["Name", "Memory", "é", 'a"']), values)


@given(st.lists(ads, max_size=8))
def test_slots_and_texts_are_those_of_the_ads(found):
    """Equal numbers of different types, and ads with other attributes, stay what they are."""
    slots = [SlotRecord(place, f"slot{place}", ad, f"<{place}>", place % 2 == 0) for place, ad in enumerate(found, 1)]

    table = SlotTable.of(slots)

    assert repr(list(table)) == repr(slots)
    texts = [rows.dumps(ad) for ad in found]
    of_tables = ([part.objects() for part in ad_texts.of_table(ads)] for ads in table.ads)
    assert [
        text for ads, of in zip(table.ads, of_tables, strict=True) for text in ad_texts.in_order(ads.parts, of)
    ] == texts
    assert ad_texts.of_ads(found) == texts
    assert list(map(ad_texts.of_ad, found)) == texts


def test_slots_in_several_stretches_are_found_by_row():
    """A group of slots that are alike may begin and end within a stretch."""
    collector = SlotCollector()
    size = STRETCH + 5
    names = [f"slot{number}" for number in range(size)]
    collector.add("first", "<>", {"Other": 1}, False)
    alike = AlikeSlots({"Cpus": 1, "Memory": 0}, {"Memory": list(range(size))}, list(range(size)))
    collector.add_by_shape(names, ["<>"] * size, [True] * size, [alike])

    table = collector.table()

    assert len(table) == size + 1
    assert table[0] == SlotRecord(1, "first", {"Other": 1}, "<>", False)
    assert table[STRETCH] == SlotRecord(STRETCH + 1, names[STRETCH - 1], {"Cpus": 1, "Memory": STRETCH - 1}, "<>", True)
    assert table[-1] == list(table)[-1] == table[size:][0]


@pytest.mark.parametrize("more", [0, 1])
def test_slots_of_parts_with_the_same_names_keep_their_places(more):
    """An ad of a common shape may have been read alone, for the sake of its line breaks."""
    names = [f"slot{number}" for number in range(4)]
    parts = [
        AlikeSlots({"Cpus": 1, "Memory": 0}, {"Memory": [10, 11, 13]}, [0, 1, 3]),
        AlikeSlots({"Cpus": 2, "Memory": 12}, {}, [2]),
    ]
    collector = SlotCollector()
    collector.add_by_shape(names, names, [False] * 4, parts)
    for number in range(more):
        collector.add(f"more{number}", "", {"Other": number}, False)

    table = collector.table()

    memory = [slot.ad.get("Memory") for slot in table]
    assert memory == [10, 11, 12, 13] + [None] * more
    assert [table[row].ad.get("Memory") for row in range(len(table))] == memory
    assert [slot.ad.get("Cpus") for slot in table] == [1, 1, 2, 1] + [None] * more
