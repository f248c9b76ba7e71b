"""The texts of slots' ads: an ad by itself, or the values that it does not share with ads like it.

Ads of a pool mostly have the same attributes, and most values are the same in all of them. Such ads refer to a shape
with what they share. A text is a JSON object, the ad, or a JSON array: the number of its shape, then its own values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fairq.common.records import Ad
from fairq.errors.base import StateDamagedError
from fairq.state import rows
from fairq.state.ad_texts import PartTexts
from fairq.state.connection import State

LAUNCH = '"Launch":'
"""What names a launcher in the text of an ad."""

_WORTHWHILE = 8
"""Number of ads below which they have no shape of their own."""


def texts(state: State, found: PartTexts) -> Iterator[str]:
    """Return the texts of ads that are alike, in their order, and store their shape if it is worth it."""
    shape = found.shape()
    # Slots with a launcher are found by the texts of their ads.
    if len(found.part.rows) < _WORTHWHILE or LAUNCH in shape:
        return found.objects()
    (number,) = state.connection.execute(
        "INSERT INTO slot_shape (content) VALUES (?) RETURNING id", (shape,)
    ).fetchone()
    return found.own_values(number)


def ads(state: State, texts: Iterable[str]) -> list[Ad]:
    """Return the ads of these *texts*; raises StateDamagedError if the shape of any is missing."""
    found: list[Any] = rows.loads_all(texts)
    shapes: dict[int, tuple[Sequence[str], Ad]] = {}
    for place, one in enumerate(found):
        if isinstance(one, list):
            shape = shapes.get(one[0])
            if shape is None:
                shape = shapes[one[0]] = _load(state, one[0])
            names, common = shape
            found[place] = {**common, **dict(zip(names, one[1:], strict=True))}
    return found


def forget_all(state: State) -> None:
    """Delete all shapes; there must be no slots."""
    state.connection.execute("DELETE FROM slot_shape")


def missing(state: State) -> int:
    """Return how many slots refer to a shape that is not there."""
    # A number in a text ends where digits do.
    refers = "ad GLOB '[[]*' AND CAST(substr(ad, 2) AS INTEGER) NOT IN (SELECT id FROM slot_shape)"
    return int(state.connection.execute(f"SELECT count(*) FROM slot WHERE {refers}").fetchone()[0])


def _load(state: State, number: int) -> tuple[Sequence[str], Ad]:
    found = state.connection.execute("SELECT content FROM slot_shape WHERE id = ?", (number,)).fetchone()
    if found is None:
        raise StateDamagedError(state=state.path, reason=f"slots refer to slot_shape {number}, which is missing")
    names, common = rows.loads_all(found)[0]
    return names, common
