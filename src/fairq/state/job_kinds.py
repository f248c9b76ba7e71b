"""What a cycle found out of shared ads: the kind of the jobs that have nothing beside the ad.

An ad never changes, so a kind holds as long as its ad is stored. Other slots may read more attributes than the kind
knows of; then the cycle reads the ad again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from fairq.columns.idle_jobs import KnownKind
from fairq.common.records import Ad
from fairq.state import job_ads, rows
from fairq.state.connection import State

WORTHWHILE = 1000
"""Fewer ads are read as fast as their kinds are stored."""


def load(state: State) -> dict[int, KnownKind]:
    """Return every known kind by its number; the numbers begin at 1."""
    stored = state.connection.execute("SELECT id, content FROM job_kind").fetchall()
    contents = rows.loads_all(text for _, text in stored)
    return {number: KnownKind(frozenset(names), ad) for (number, _), (names, ad) in zip(stored, contents, strict=True)}


def store(state: State, learned: Mapping[int, KnownKind], read: Mapping[int, Ad] | None) -> None:
    """Store the kinds *learned*, by the number of an ad, if there are many and mostly several ads have one kind.

    *read* has the ads as they were when they were read: another ad may have the number now. None: none has.
    """
    ads_of: dict[KnownKind, list[int]] = defaultdict(list)
    for number, kind in learned.items():
        ads_of[kind].append(number)
    if len(learned) < max(WORTHWHILE, 2 * len(ads_of)):
        return
    same = learned.keys() if read is None else job_ads.unchanged(state, {number: read[number] for number in learned})
    execute = state.connection.execute
    numbers: dict[str, int] = {content: number for number, content in execute("SELECT id, content FROM job_kind")}
    (highest,) = execute("SELECT coalesce(max(id), 0) FROM job_kind").fetchone()
    for kind, ads in ads_of.items():
        content = rows.dumps((sorted(kind.names), kind.ad))
        if content not in numbers:
            numbers[content] = highest = highest + 1
            execute("INSERT INTO job_kind VALUES (?, ?)", (highest, content))
        pairs = ((ad, numbers[content]) for ad in ads if ad in same)
        state.connection.executemany("INSERT OR REPLACE INTO job_ad_kind VALUES (?, ?)", pairs)
    execute("DELETE FROM job_kind WHERE NOT EXISTS (SELECT 1 FROM job_ad_kind WHERE kind = job_kind.id)")
