"""The ads of the slots: by column, or a text of its own.

Slots that were imported or added together have their ads in `slot_columns`: stretches of the pool, each with the
numbers of its slots and their ads by column. The text of such a slot is empty. A slot that was added or changed by
itself has its ad as its text, which wins: its ad in the stretch is no longer read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fairq.columns.ads import AdTable, Part, repeated
from fairq.common.records import Ad
from fairq.errors.base import StateDamagedError
from fairq.state import ad_texts, rows
from fairq.state.ad_texts import PartTexts
from fairq.state.connection import State


class _Stretch(NamedTuple):
    ids: list[int]
    ads: AdTable


def put(state: State, ids: Sequence[int], ads: AdTable) -> None:
    """Store by column the ads of consecutive slots, whose texts are empty."""
    parts = ",".join(map(_text, ad_texts.of_table(ads)))
    content = f"[{rows.dumps(list(ids))},[{parts}]]"
    state.connection.execute("INSERT INTO slot_columns VALUES (?, ?)", (ids[0], content))


def ads(state: State, slots: Sequence[tuple[int, str]]) -> list[Ad]:
    """Return the ads of slots that are given by number and text. Raises StateDamagedError where one is missing."""
    ads: list[Any] = rows.loads_all(text or "null" for _, text in slots)
    without_text = sorted((number, place) for place, (number, text) in enumerate(slots) if not text)
    row_of: dict[int, int] = {}
    stretch = _Stretch([], AdTable())
    for number, place in without_text:
        if number not in row_of:
            stretch = _stretch_of(state, number)
            row_of = {slot_id: row for row, slot_id in enumerate(stretch.ids)}
        if number not in row_of:
            raise _missing(state, number)
        ads[place] = stretch.ads[row_of[number]]
    return ads


def parts(state: State, row_of: Mapping[int, int]) -> Iterator[Part]:
    """Yield by column the ads of all slots without a text, which *row_of* gives their rows by number."""
    left = len(row_of)
    for ids, ads in _stretches(state) if row_of else ():
        for part in ads.parts:
            numbers = [ids[row] for row in part.rows]
            places = [place for place, number in enumerate(numbers) if number in row_of]
            if places:
                columns = [part.column_at(column, places) for column in range(len(part.names))]
                yield Part(part.names, [row_of[numbers[place]] for place in places], columns)
            left -= len(places)
    if left:
        raise _missing(state, next(missing(state)))


def missing(state: State) -> Iterator[int]:
    """Yield the numbers of the slots that have neither a text nor an ad in the stretches."""
    stored = {number for stretch in _stretches(state) for number in stretch.ids}
    for (number,) in state.connection.execute("SELECT id FROM slot WHERE ad = '' ORDER BY id"):
        if number not in stored:
            yield number


def forget_unused(state: State) -> None:
    """Delete the stretches if no slot has its ad there."""
    state.connection.execute("DELETE FROM slot_columns WHERE NOT EXISTS (SELECT 1 FROM slot WHERE ad = '')")


def _missing(state: State, number: int) -> StateDamagedError:
    return StateDamagedError(state=state.path, reason=f"the ad of slot {number} is missing")


def _text(ads: PartTexts) -> str:
    names, places, _ = ads.part
    return f"[{rows.dumps(names)},{'null' if isinstance(places, range) else rows.dumps(places)},{ads.arrays()}]"


def _stretches(state: State) -> Iterator[_Stretch]:
    for (content,) in state.connection.execute("SELECT content FROM slot_columns ORDER BY first"):
        yield _read(content)


def _stretch_of(state: State, number: int) -> _Stretch:
    query = "SELECT content FROM slot_columns WHERE first <= ? ORDER BY first DESC LIMIT 1"
    row = state.connection.execute(query, (number,)).fetchone()
    if row is None:
        raise _missing(state, number)
    return _read(row[0])


def _read(content: str) -> _Stretch:
    ids, parts = rows.loads_array(content)
    ads = AdTable()
    for names, places, columns in parts:
        size = len(ids) if places is None else len(places)
        ads.put_columns(
            tuple(names), range(size) if places is None else places, [_unpacked(column, size) for column in columns]
        )
    return _Stretch(ids, ads)


def _unpacked(column: list[Any], size: int) -> Sequence[Any]:
    return repeated(column[0], size) if len(column) == 1 else tuple(column)
