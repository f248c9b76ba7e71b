"""Compare the copies by column, from which large pools are read, with the records that they were made of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest

from fairq.common.records import Ad
from fairq.state import slot_columns
from fairq.state.connection import State

_Slot = tuple[int, str, Ad]


def differences(state: State) -> Iterator[str]:
    """Yield each copy that differs from its records, one line each, with the first record that differs."""
    yield from _slots(state)


def _slots(state: State) -> Iterator[str]:
    copied = _each(slot_columns.load(state))
    first = next(copied, None)
    if first is None:
        return
    stored = _each(slot_columns.of_slots(state))
    for one, other in zip_longest(chain([first], copied), stored):
        # Of equal numbers, such as 1 and 1.0, the texts differ.
        if repr(one) != repr(other):
            number = (one or other or first)[0]
            yield f"copy: slot_columns is not what slot says, from slot {number} on"
            return


def _each(stretches: Iterator[slot_columns.Stretch]) -> Iterator[_Slot]:
    return (slot for stretch in stretches for slot in zip(stretch.ids, stretch.names, stretch.ads, strict=True))
