"""The evaluator's vectors: one value per row, in a few NumPy arrays, with strings and lists as codes of a pool.

A vector is *uniform* when all rows are of one kind: `data` is then bool, int64 or float64, or codes of the
pool for strings, lists and others, and None for undefined and error. Otherwise it is *mixed*: `kinds` names
each row's kind, `codes` holds booleans, integers and pool codes, `reals` the reals. An array of length 1
stands for all rows: a value that is equal everywhere, or depends on the single ad only, costs no more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad.kinds import BOOLEAN, ERROR_KIND, KINDS, MISSING, REAL, UNDEFINED_KIND
from fairq.engine.distinct import distinct

Rows = NDArray[np.intp]
Array = NDArray[Any]
MIXED: Final = 255
_WITHOUT_DATA: Final = (UNDEFINED_KIND, ERROR_KIND, MISSING)


class Vector:
    """Values of *n* rows, or of any number of rows if all are equal; see the module's docstring."""

    __slots__ = ("codes", "data", "kind", "kinds", "reals")

    def __init__(
        self,
        kind: int,
        data: Array | None = None,
        kinds: Array | None = None,
        codes: Array | None = None,
        reals: Array | None = None,
    ) -> None:
        self.kind = kind
        self.data = data
        self.kinds = kinds
        self.codes = codes
        self.reals = reals

    def is_constant(self) -> bool:
        """Return whether one value stands for all rows."""
        return self.kind != MIXED and (self.data is None or len(self.data) == 1)

    def take(self, rows: Rows) -> Vector:
        """Return the values of *rows*."""
        if self.is_constant():
            return self
        if self.kind != MIXED:
            assert self.data is not None
            return Vector(self.kind, self.data[rows])
        assert self.kinds is not None and self.codes is not None
        kinds = self.kinds[rows]
        reals = None if self.reals is None else self.reals[rows]
        if len(kinds) and (kinds == kinds[0]).all():
            return _of_kind(int(kinds[0]), self.codes[rows], reals)
        return Vector(MIXED, kinds=kinds, codes=self.codes[rows], reals=reals)

    def kind_array(self, n: int) -> Array:
        """Return each row's kind; a read-only view if all are equal."""
        if self.kind == MIXED:
            assert self.kinds is not None
            return self.kinds
        return np.broadcast_to(np.uint8(self.kind), n)


UNDEFINED_VECTOR: Final = Vector(UNDEFINED_KIND)
ERROR_VECTOR: Final = Vector(ERROR_KIND)
TRUE_VECTOR: Final = Vector(BOOLEAN, np.array([True]))
FALSE_VECTOR: Final = Vector(BOOLEAN, np.array([False]))


def _of_kind(kind: int, codes: Array, reals: Array | None) -> Vector:
    if kind in _WITHOUT_DATA:
        return Vector(kind)
    if kind == REAL:
        assert reals is not None
        return Vector(kind, reals)
    return Vector(kind, codes.astype(bool) if kind == BOOLEAN else codes)


def kinds_in(kinds: Array) -> list[int]:
    """Return the distinct *kinds*, ascending. A search for each possible kind is faster than sorting."""
    text = kinds.astype(np.uint8, copy=False).tobytes()
    return [kind for kind in KINDS if text.find(kind) >= 0]


def pieces(vectors: Sequence[Vector], n: int) -> Iterator[tuple[Rows | None, list[Vector]]]:
    """Split rows so that within each piece all *vectors* are uniform; rows None means all rows."""
    mixed = [vector for vector in vectors if vector.kind == MIXED]
    if not mixed:
        yield None, list(vectors)
        return
    key = mixed[0].kind_array(n)
    if len(mixed) > 1:
        key = key.astype(np.intp)
        for vector in mixed[1:]:
            key *= 16
            key += vector.kind_array(n)
    for value in distinct(key) if len(mixed) > 1 else kinds_in(key):
        rows = np.nonzero(key == value)[0]
        yield rows, [vector.take(rows) for vector in vectors]


def merge(n: int, parts: Iterable[tuple[Rows | None, Vector]]) -> Vector:
    """Merge the values of disjoint sets of rows, which together are all rows, into one vector."""
    parts = list(parts)
    if len(parts) == 1:
        rows, only = parts[0]
        if rows is None or only.is_constant():
            return only
    kinds = {vector.kind for _, vector in parts}
    if len(kinds) == 1 and MIXED not in kinds:
        return _merge_uniform(n, kinds.pop(), parts)
    result = Vector(MIXED, kinds=np.zeros(n, np.uint8), codes=np.zeros(n, np.int64))
    assert result.kinds is not None and result.codes is not None
    for rows, vector in parts:
        target: Any = slice(None) if rows is None else rows
        result.kinds[target] = vector.kinds if vector.kind == MIXED else vector.kind
        if vector.kind == MIXED:
            result.codes[target] = vector.codes
        elif vector.data is not None and vector.kind != REAL:
            result.codes[target] = vector.data
        reals = vector.reals if vector.kind == MIXED else vector.data if vector.kind == REAL else None
        if reals is not None:
            if result.reals is None:
                result.reals = np.zeros(n, np.float64)
            result.reals[target] = reals
    return result


def _merge_uniform(n: int, kind: int, parts: list[tuple[Rows | None, Vector]]) -> Vector:
    if kind in _WITHOUT_DATA:
        return Vector(kind)
    first = parts[0][1].data
    assert first is not None
    data = np.empty(n, first.dtype)
    for rows, vector in parts:
        data[slice(None) if rows is None else rows] = vector.data
    return Vector(kind, data)


def by_kinds(kernel: Callable[..., Vector], vectors: Sequence[Vector], n: int) -> Vector:
    """Apply *kernel*, which takes uniform vectors, to rows of every combination of kinds.

    The kernel gets the vectors; its result must hold one value or as many as its longest argument.
    """
    return merge(n, ((rows, kernel(*parts)) for rows, parts in pieces(vectors, n)))


Codes = NDArray[np.int64]


class Strings(dict[str, int]):
    """Every string seen, with its code; the lookup of a new string assigns the next code."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._folded_codes: dict[bytes, int] = {}
        self._folded: Codes = np.empty(0, np.int64)
        self._ranks: Codes = np.empty(0, np.int64)

    def __missing__(self, text: str) -> int:
        code = len(self.texts)
        self[text] = code
        self.texts.append(text)
        return code

    def folded(self) -> Codes:
        """Return a number for each code; strings that differ only in the case of ASCII letters share it."""
        folded_count = len(self._folded)
        if folded_count < len(self.texts):
            new_codes = [
                self._folded_codes.setdefault(_fold(text), len(self._folded_codes))
                for text in self.texts[folded_count:]
            ]
            self._folded = np.concatenate([self._folded, np.array(new_codes, np.int64)])
        return self._folded

    def ranks(self) -> Codes:
        """Return each code's rank in the order of C's strcasecmp."""
        if len(self._ranks) < len(self.texts):
            folded = self.folded()
            order = sorted(self._folded_codes)
            rank = np.empty(len(order), np.int64)
            for position, key in enumerate(order):
                rank[self._folded_codes[key]] = position
            self._ranks = rank[folded]
        return self._ranks


def _fold(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").lower()


class Objects:
    """Values other than strings and numbers; with *key*, values with equal keys are stored once."""

    def __init__(self, key: Callable[[Any], Any] | None = None) -> None:
        self.items: list[Any] = []
        self._codes: dict[Any, int] = {}
        self._key = key

    def code(self, item: Any) -> int:
        """Return the number that stands for *item*."""
        if self._key is None:
            self.items.append(item)
            return len(self.items) - 1
        key = self._key(item)
        if key not in self._codes:
            self._codes[key] = len(self.items)
            self.items.append(item)
        return self._codes[key]


def typed_key(item: Any) -> Any:
    """Return a key that distinguishes 1, 1.0 and true, and 0.0 from -0.0."""
    if isinstance(item, list | tuple):
        return tuple(typed_key(part) for part in item)
    return type(item), repr(item) if isinstance(item, float) else item


class ValuePool:
    """The strings, literal lists and other values of one set of columns and of all values computed from it."""

    def __init__(self) -> None:
        self.strings = Strings()
        self.lists = Objects(typed_key)
        self.others = Objects()


class NotColumnar(Exception):  # noqa: N818 - a change of method, not an error
    """Columns cannot give the value; HTCondor's library must evaluate. *whole*: it must see the entire expression."""

    def __init__(self, whole: bool = False) -> None:
        super().__init__(whole)
        self.whole = whole
