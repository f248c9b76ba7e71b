"""The ads that many jobs share, each kept once and known by its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from fairq.records import Ad
from fairq.state import rows
from fairq.state.connection import State


def ad_id(state: State, ad: Ad) -> int:
    """Return the number of a shared ad, storing it if it is new."""
    return ad_ids(state, [ad])[0]


def ad_ids(state: State, ads: Sequence[Ad]) -> list[int]:
    """Return the numbers of many shared ads, in their order, storing the new ones."""
    texts = [rows.dumps(ad) for ad in ads]
    numbers: dict[str, int] = {}
    for text in dict.fromkeys(texts):
        digest = _digest(text)
        row = state.connection.execute("SELECT id FROM job_ad WHERE digest = ?", (digest,)).fetchone()
        if row is None:
            row = state.connection.execute(
                "INSERT INTO job_ad (digest, ad) VALUES (?, ?) RETURNING id", (digest, text)
            ).fetchone()
        numbers[text] = int(row[0])
    return [numbers[text] for text in texts]


def ads(state: State, ids: Iterable[int]) -> dict[int, Ad]:
    """Return shared ads by their numbers."""
    found = [
        (number, text)
        for wanted in set(ids)
        for number, text in state.connection.execute("SELECT id, ad FROM job_ad WHERE id = ?", (wanted,))
    ]
    return dict(zip((number for number, _ in found), rows.loads_all(text for _, text in found), strict=True))


def load_all(state: State) -> dict[int, Ad]:
    """Return every shared ad by its number, in order of number."""
    found = state.connection.execute("SELECT id, ad FROM job_ad ORDER BY id").fetchall()
    return dict(zip((number for number, _ in found), rows.loads_all(text for _, text in found), strict=True))


def put(state: State, ads: Mapping[int, Ad]) -> None:
    """Store shared ads under the numbers they have; neither they nor the numbers may be there yet."""
    texts = ((number, rows.dumps(ad)) for number, ad in ads.items())
    state.connection.executemany(
        "INSERT INTO job_ad (id, digest, ad) VALUES (?, ?, ?)",
        ((number, _digest(text), text) for number, text in texts),
    )


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def delete_unused(state: State, ids: Iterable[int]) -> None:
    """Delete those of these shared ads that no job uses any more."""
    state.connection.executemany(
        "DELETE FROM job_ad WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM job WHERE ad_id = ?1)",
        [(number,) for number in set(ids)],
    )
