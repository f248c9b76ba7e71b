"""Strings, lists and other values as small numbers, so that integers are compared in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        """Return, by code, numbers that are equal where the strings differ in case of ASCII letters only."""
        known = len(self._folded)
        if known < len(self.texts):
            new = [self._folded_codes.setdefault(_fold(text), len(self._folded_codes)) for text in self.texts[known:]]
            self._folded = np.concatenate([self._folded, np.array(new, np.int64)])
        return self._folded

    def ranks(self) -> Codes:
        """Return, by code, numbers that order the strings as C's strcasecmp does."""
        if len(self._ranks) < len(self.texts):
            folded = self.folded()
            order = sorted(self._folded_codes)
            rank = np.empty(len(order), np.int64)
            for place, key in enumerate(order):
                rank[self._folded_codes[key]] = place
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
