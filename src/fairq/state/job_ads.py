"""The ads that many jobs share, each kept once and known by its content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext

from fairq.common.records import Ad
from fairq.state import ad_texts, rows
from fairq.state.connection import State

_AT_ONCE = 500
"""Ads looked up by one statement; SQLite takes at least 999 values."""

_MANY = 5000
"""So many new ads, more than there are, take less time to put into the index at the end than each by itself."""

_DENSE = 2
"""Up to so many stored ads for each one that is wanted, all of them are read by one statement."""


def ad_id(state: State, ad: Ad) -> int:
    """Return the number of a shared ad, storing it if it is new."""
    return ad_ids(state, [ad])[0]


def ad_ids(state: State, ads: Sequence[Ad]) -> list[int]:
    """Return the numbers of many shared ads, in their order, storing the new ones."""
    texts = ad_texts.of_ads(ads)
    digests = _digests(map(str.encode, texts))
    highest = state.value("SELECT coalesce(max(id), 0) FROM job_ad")
    numbers = _numbers(state, list(dict.fromkeys(digests))) if highest else {}
    # To number the new ones here takes less time than to ask for the numbers that SQLite would give them.
    new: list[tuple[int, bytes, str]] = []
    for digest, text in zip(digests, texts, strict=True):
        if digest not in numbers:
            numbers[digest] = number = highest + 1 + len(new)
            new.append((number, digest, text))
    with rows.indexed_at_the_end(state, "job_ad") if len(new) >= max(_MANY, highest) else nullcontext():
        _insert(state, new)
    return list(map(numbers.__getitem__, digests))


def _numbers(state: State, digests: list[bytes]) -> dict[bytes, int]:
    numbers: dict[bytes, int] = {}
    for start in range(0, len(digests), _AT_ONCE):
        wanted = digests[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(wanted))
        cursor = state.connection.execute(f"SELECT digest, id FROM job_ad WHERE digest IN ({marks})", wanted)
        numbers.update(cursor)
    return numbers


def ads(state: State, ids: Iterable[int]) -> dict[int, Ad]:
    """Return shared ads by their numbers."""
    return parsed(texts(state, ids))


def in_turn(state: State, ids: Iterable[int]) -> Iterator[list[Ad]]:
    """Yield shared ads in order of number, some at a time: who needs but a part of each ad keeps no more.

    They are read as one text, which takes a third of the time of `ads`. Raises KeyError for a number that no ad has.
    """
    wanted = sorted(set(ids))
    is_dense = bool(wanted) and wanted[-1] - wanted[0] < _DENSE * len(wanted)
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        if is_dense:
            numbers, ads = _together(state, "id BETWEEN ? AND ?", (some[0], some[-1]))
        else:
            numbers, ads = _together(state, f"id IN ({', '.join('?' * len(some))})", some)
        if numbers == some:
            yield ads
        else:
            of_number = dict(zip(numbers, ads, strict=True))
            yield [of_number[number] for number in some]


def _together(state: State, where: str, values: Sequence[int]) -> tuple[list[int], list[Ad]]:
    """Return the numbers and the ads that one query finds, in order of number."""
    numbers, texts = state.connection.execute(
        "SELECT group_concat(id), CAST(group_concat(ad) AS BLOB) "
        f"FROM (SELECT id, ad FROM job_ad WHERE {where} ORDER BY id)",
        values,
    ).fetchone()
    if numbers is None:
        return [], []
    return list(map(int, numbers.split(","))), rows.loads_array(b"[" + texts + b"]")


def parsed(texts: Mapping[int, str]) -> dict[int, Ad]:
    """Return the ads of *texts*, see `texts`."""
    return dict(zip(texts, rows.loads_all(texts.values()), strict=True))


def texts(state: State, ids: Iterable[int]) -> dict[int, str]:
    """Return shared ads by their numbers as the texts that are stored, a quarter as large as the ads."""
    wanted = sorted(set(ids))
    if len(wanted) > _AT_ONCE and wanted[-1] - wanted[0] < _DENSE * len(wanted):
        every = state.connection.execute("SELECT id, ad FROM job_ad WHERE id BETWEEN ? AND ?", (wanted[0], wanted[-1]))
        chosen = set(wanted)
        return {number: text for number, text in every if number in chosen}
    marks = ", ".join("?" * _AT_ONCE)
    pairs: list[tuple[int, str]] = []
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        # Always the same statement, which SQLite then has at hand; no ad has the number that fills it up.
        some += [-1] * (_AT_ONCE - len(some))
        pairs += state.connection.execute(f"SELECT id, ad FROM job_ad WHERE id IN ({marks})", some)
    return dict(pairs)


def load_all(state: State) -> dict[int, Ad]:
    """Return every shared ad by its number, in order of number."""
    stored = state.connection.execute("SELECT id, ad FROM job_ad ORDER BY id").fetchall()
    return dict(zip((number for number, _ in stored), rows.loads_all(text for _, text in stored), strict=True))


def attribute_names(state: State) -> list[str]:
    """Return the names of attributes that the newest ads have, in order."""
    return rows.attribute_names(state, "job_ad")


def put(state: State, ads: Mapping[int, Ad]) -> None:
    """Store shared ads under the numbers they have; neither they nor the numbers may be there yet."""
    texts = list(map(rows.dumps, ads.values()))
    state.connection.executemany(
        "INSERT INTO job_ad (id, digest, ad) VALUES (?, ?, ?)",
        zip(ads, _digests(map(str.encode, texts)), texts, strict=True),
    )


def damaged(state: State) -> list[int]:
    """Return the numbers of the shared ads that are not those of their digests."""
    cursor = state.connection.execute("SELECT id, digest, CAST(ad AS BLOB) FROM job_ad ORDER BY id")
    return [number for number, stored, text in cursor if digest(text) != stored]


def unchanged(state: State, ads: Mapping[int, Ad]) -> set[int]:
    """Return the numbers under which these *ads* are stored, of those that they had."""
    digests = _digests(map(str.encode, ad_texts.of_ads(list(ads.values()))))
    number_of = _numbers(state, digests)
    return {number for number, digest in zip(ads, digests, strict=True) if number_of.get(digest) == number}


def _insert(state: State, new: Iterable[tuple[int, bytes, str]]) -> None:
    rows.insert(state, "INSERT INTO job_ad (id, digest, ad)", new)


def digest(text: bytes) -> bytes:
    """Return the digest by which an ad is known."""
    return _digests([text])[0]


def _digests(texts: Iterable[bytes]) -> list[bytes]:
    from hashlib import sha256  # loads OpenSSL, and whoever only reads ads needs no digest

    return [sha256(text).digest() for text in texts]


def delete_unused(state: State, ids: Iterable[int]) -> None:
    """Delete those of these shared ads that no job uses any more, queued or ended."""
    state.connection.executemany(
        "DELETE FROM job_ad WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM job WHERE ad_id = ?1) "
        "AND NOT EXISTS (SELECT 1 FROM ended_job WHERE ad_id = ?1)",
        [(number,) for number in set(ids)],
    )


def is_empty(state: State) -> bool:
    """Return whether no shared ad is stored."""
    return not state.value("SELECT EXISTS (SELECT 1 FROM job_ad)")


def delete_all_unused(state: State) -> None:
    """Delete the shared ads that no job uses, queued or ended."""
    used = "SELECT 1 FROM {} WHERE ad_id = job_ad.id"
    conditions = (f"NOT EXISTS ({used.format(table)})" for table in ("job", "ended_job"))
    state.connection.execute(f"DELETE FROM job_ad WHERE {' AND '.join(conditions)}")
