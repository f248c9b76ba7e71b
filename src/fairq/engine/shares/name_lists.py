"""Many lists of names, from texts by column: `job_needs.read_list` reads the same from one job after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np

from fairq.engine.shares.columns import Integers, ListColumn, Mask, coded
from fairq.engine.shares.job_needs import ANYWHERE, JobDefaults, bare_name, split_names


def read_lists(texts: Sequence[str], name: str, defaults: JobDefaults) -> tuple[ListColumn, Mask]:
    """Return the lists *name* of the requirements that *texts* are values of, and which of them are invalid."""
    parts = [split_names(text) for text in texts]
    counts = np.fromiter(map(len, parts), np.int64, len(parts))
    known: dict[str, int] = {}
    items = coded(list(chain.from_iterable(parts)), known)
    # Each different name is put into normal form once; the numbers of names are in their order.
    normal = [bare_name(item).strip() for item in known]
    names = sorted({*normal} - {""})
    places = {one: place for place, one in enumerate(names)} | {"": -1}
    rows = np.repeat(np.arange(len(parts)), counts)
    if name in ANYWHERE:
        is_any = np.array([one.lower() == "any" for one in normal], bool)
        anywhere = np.zeros(len(parts), bool)
        anywhere[rows[is_any[items]]] = True
        counts[anywhere] = 0
    is_kept = counts[rows] > 0
    rows, numbers = rows[is_kept], np.array([places[one] for one in normal], np.int64)[items[is_kept]]
    is_named = numbers >= 0
    # Sorted, and without repetitions.
    span = max(1, len(names))
    keys = np.unique(rows[is_named] * span + numbers[is_named])
    rows, numbers = keys // span, keys % span
    lengths = np.bincount(rows, minlength=len(parts))
    is_blank = (counts > 0) & (lengths == 0)
    return _column(lengths, numbers, names), is_blank & (defaults.rules.blank_lists == "error")


def _column(lengths: Integers, items: Integers, names: list[str]) -> ListColumn:
    """Return the column of lists of *lengths*, with all *items* one after the other."""
    content, size = items.tobytes(), items.itemsize
    ends = np.concatenate(([0], np.cumsum(lengths) * size)).tolist()
    known: dict[bytes, int] = {}
    codes = coded([content[start:end] for start, end in pairwise(ends)], known)
    distinct = np.frombuffer(b"".join(known), items.dtype)
    return ListColumn(codes, np.array([len(one) // size for one in known], np.int64), distinct, names)
