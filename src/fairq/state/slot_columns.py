"""The slots' ads by column: a copy that is several times faster to read than the ads.

Commands that add many slots create it. The database drops it as soon as a slot changes, so that an existing copy is
always valid. Without a copy, the ads are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, zip_longest
from typing import Any

from msgspec import Struct

from fairq.columns.ads import AdTable, Part, picked, repeated
from fairq.columns.slots import STRETCH
from fairq.common.records import Ad
from fairq.state import ad_texts, rows, slot_shapes
from fairq.state.ad_texts import PartTexts
from fairq.state.connection import State

WORTHWHILE = 2000
"""Number of slots below which no copy is made."""


class Stretch(Struct, frozen=True):
    """Consecutive slots in pool order: their numbers, their names, and their ads, whose rows count from 0."""

    ids: list[int]
    names: list[str]
    ads: AdTable


def keep(state: State) -> None:
    """Create the copy of the current slots, unless it exists or there are too few slots."""
    find = state.connection.execute
    if find("SELECT EXISTS (SELECT 1 FROM slot_columns)").fetchone()[0]:
        return
    if find("SELECT count(*) FROM slot").fetchone()[0] < WORTHWHILE:
        return
    for stretch in of_slots(state):
        put(state, stretch.ids, stretch.names, map(text, ad_texts.of_table(stretch.ads)))


def text(ads: PartTexts) -> str:
    """Return the text of a part of a stretch."""
    names, places, _ = ads.part
    return f"[{rows.dumps(names)},{'null' if isinstance(places, range) else rows.dumps(places)},{ads.arrays()}]"


def put(state: State, ids: Sequence[int], names: Sequence[str], parts: Iterable[str]) -> None:
    """Add a stretch to the copy: consecutive slots in pool order, their numbers, names and the texts of its parts."""
    content = f"[{rows.dumps(list(ids))},{rows.dumps(names)},[{','.join(parts)}]]"
    state.connection.execute("INSERT INTO slot_columns VALUES (?, ?)", (ids[0], content))


@contextmanager
def dropped(state: State) -> Iterator[None]:
    """Drop the copy, and meanwhile add many slots: without the trigger that would drop it at each, in 2/3 of the time.

    Within the transaction, nobody sees that the trigger is away.
    """
    execute = state.connection.execute
    execute("DELETE FROM slot_columns")
    (trigger,) = execute("SELECT sql FROM sqlite_master WHERE name = 'slot_columns_insert'").fetchone()
    execute("DROP TRIGGER slot_columns_insert")
    yield
    execute(trigger)


def load(state: State) -> Iterator[Stretch]:
    """Yield the copy's stretches in pool order; nothing if there is no copy."""
    for (content,) in state.connection.execute("SELECT content FROM slot_columns ORDER BY first"):
        ids, names, parts = rows.loads_array(content)
        ads = AdTable()
        for of_ads, places, columns in parts:
            size = len(ids) if places is None else len(places)
            unpacked = [_unpacked(column, size) for column in columns]
            ads.put_columns(tuple(of_ads), range(size) if places is None else places, unpacked)
        yield Stretch(ids, names, ads)


def of_slots(state: State) -> Iterator[Stretch]:
    """Yield the slots as they are stored, in pool order."""
    cursor = state.connection.execute("SELECT id, name, ad FROM slot ORDER BY id")
    while some := cursor.fetchmany(STRETCH):
        ids, names, texts = zip(*some, strict=True)
        found = slot_shapes.ads(state, texts)
        ads = AdTable()
        ads.put(range(len(found)), found)
        yield Stretch(list(ids), list(names), ads)


def split(stretch: Stretch, apart: Collection[int], first: int) -> tuple[Sequence[Part], dict[int, Ad]]:
    """Return the stretch's parts without the slots numbered *apart*, and the ads of these; rows count from *first*."""
    taken = {row for row, number in enumerate(stretch.ids) if number in apart} if apart else set()
    ads = {first + row: stretch.ads[row] for row in sorted(taken)}
    parts = []
    for part in stretch.ads.parts:
        if not taken or taken.isdisjoint(part.rows):
            whole = isinstance(part.rows, range)
            placed = range(first, first + len(part.rows)) if whole else [first + row for row in part.rows]
            parts.append(Part(part.names, placed, part.columns))
            continue
        left = [place for place, row in enumerate(part.rows) if row not in taken]
        if left:
            columns = [picked(column, left) for column in part.columns]
            parts.append(Part(part.names, [first + part.rows[place] for place in left], columns))
    return parts, ads


def _unpacked(column: list[Any], size: int) -> Sequence[Any]:
    return repeated(column[0], size) if len(column) == 1 else tuple(column)


def differences(state: State) -> Iterator[str]:
    """Yield whether the copy differs from the slots, in one line with the first slot that differs."""
    copied = _each(load(state))
    first = next(copied, None)
    if first is None:
        return
    for one, other in zip_longest(chain([first], copied), _each(of_slots(state))):
        # Of equal numbers, such as 1 and 1.0, the texts differ.
        if repr(one) != repr(other):
            number = (one or other or first)[0]
            yield f"copy: slot_columns is not what slot says, from slot {number} on"
            return


def _each(stretches: Iterator[Stretch]) -> Iterator[tuple[int, str, Ad]]:
    return (slot for stretch in stretches for slot in zip(stretch.ids, stretch.names, stretch.ads, strict=True))
