"""Ads of a JSON array that are parsed together, and put into columns by their shapes.

Ads with the same names in the same order have the same shape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import NoneType
from typing import Any, NamedTuple, NoReturn

import msgspec

from fairq.dumps.repetition import AdRuns, RepeatedAds
from fairq.errors.base import FairqError
from fairq.records import Ad

_BETWEEN = re.compile(r"[ \t\r\n]*,[ \t\r\n]*(?=\{)")

_SMALL = 4
"""So few ads of a shape stay single: looking at each column takes longer."""

_ALWAYS_ONE = {int, bool, NoneType}


class Part(NamedTuple):
    """Ads of one shape, and their places among all (ascending)."""

    alike: RepeatedAds
    places: Sequence[int]


class AdsByShape:
    """Ads in succession, which can be had by their shapes."""

    def __init__(self, ads: list[Ad]) -> None:
        self._ads: list[Ad] | None = ads
        self._parts: Sequence[Part] = ()
        self.size = len(ads)
        """How many there are."""

    @classmethod
    def of_parts(cls, parts: Sequence[Part], size: int) -> AdsByShape:
        """Return *size* ads that were put into columns before."""
        found = cls([])
        found._ads, found._parts, found.size = None, parts, size
        return found

    @property
    def is_divided(self) -> bool:
        """Whether they are in columns already."""
        return self._ads is None

    @property
    def ads(self) -> list[Ad]:
        """All of them in succession."""
        if self._ads is None:
            found: list[Ad] = [{}] * self.size
            for part, places in self._parts:
                for place, ad in zip(places, part.ads(), strict=True):
                    found[place] = ad
            self._ads = found
        return self._ads

    def parts(self) -> Iterable[Part]:
        """Return them by shape, in order of the first ad of each."""
        return self._parts or parts_of(self.ads, range(self.size))


Together = RepeatedAds | AdRuns | AdsByShape
"""Ads in succession that are read together."""


def parts_of(ads: Sequence[Ad], places: Sequence[int]) -> list[Part]:
    """Return *ads*, which have these *places* (ascending) among others, by shape, in order of the first of each."""
    shapes: dict[tuple[str, ...], list[int]] = {}
    for at, ad in enumerate(ads):
        shapes.setdefault(tuple(ad), []).append(at)
    parts: list[Part] = []
    for names, members in shapes.items():
        if len(members) <= _SMALL:
            parts += (Part(RepeatedAds(ads[at], {}, 1), [places[at]]) for at in members)
            continue
        columns = zip(*[ads[at].values() for at in members], strict=True)
        varying = {name: column for name, column in zip(names, columns, strict=True) if not is_one(column)}
        parts.append(Part(RepeatedAds(ads[members[0]], varying, len(members)), [places[at] for at in members]))
    return parts


def gathered(found: Iterable[Ad | Together], most: Callable[[], int]) -> Iterator[Ad | Together]:
    """Yield the same ads, but as many by shape at a time as *most* says: looking at few in a column takes longer.

    Ads that come singly between those that were parsed together are among them.
    """
    waiting: list[Ad] = []
    try:
        for one in found:
            if isinstance(one, AdsByShape) and not one.is_divided:
                waiting += one.ads
            elif waiting and isinstance(one, dict):
                waiting.append(one)
            else:
                if waiting:
                    yield AdsByShape(waiting)
                    waiting = []
                yield one
            while len(waiting) >= (size := most()):
                some = waiting[:size]
                del waiting[:size]
                yield AdsByShape(some)
                # Whoever received these ads still refers to them: they go before others come.
                some.clear()
    except FairqError as failure:
        # The ads before it come first: one of them may be damaged, too.
        if waiting:
            yield AdsByShape(waiting)
        raise failure
    if waiting:
        yield AdsByShape(waiting)


def hand_out(
    found: Iterable[Ad | Together],
    take: Callable[[Ad, int], None],
    take_together: Callable[[Together, int], bool],
) -> None:
    """Pass on the ads of a dump: single ones to *take*, with their numbers; many to *take_together*.

    The latter gets the number of ads before them. If it returns False, they are passed one by one.
    """
    number = 0
    for some in found:
        if isinstance(some, dict):
            number += 1
            take(some, number)
            continue
        if not take_together(some, number):
            ads = some.ads() if isinstance(some, RepeatedAds | AdRuns) else some.ads
            for place, ad in enumerate(ads, number + 1):
                take(ad, place)
        number += some.size


class FoundByShape(NamedTuple):
    """*ads* in a text, where the last of them ends, and how many line breaks there are up to it."""

    ads: AdsByShape
    end: int
    breaks: int


def ads_after(text: str, at: int) -> FoundByShape | None:
    """Return the ads in *text* after the one that ends *at*, as far as the text has whole ones.

    None if there is none. What follows must be read otherwise: it may be a damaged ad, or the end of the text.
    """
    between = _BETWEEN.match(text, at)
    if between is None:
        return None
    # This may also stand inside an ad: then the text up to there is not sound.
    end = text.rfind(f"}}{between[0]}{{", between.end()) + 1
    if not end:
        return None
    ads = _decoded(f"[{text[between.end() : end]}]")
    return None if ads is None else FoundByShape(AdsByShape(ads), end, text.count("\n", at, end))


def _decoded(text: str) -> list[Ad] | None:
    """Return the ads of a whole array; None if it is not sound."""
    try:
        # It reads whatever it accepts as Python's parser does, at twice the speed.
        return _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        # Half characters, and numbers beyond a float's, are no errors here: what they mean is decided for each ad.
        ads = _PYTHON_DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return ads if all(type(ad) is dict for ad in ads) else None


def is_one(column: Sequence[Any]) -> bool:
    """Return whether all rows of a column (not empty) are written in the same way."""
    first = column[0]
    try:
        if first != column[-1] or column.count(first) < len(column):
            return False
        if type(first) is str:
            return True
        kinds = set(map(type, column))
        # 1, 1.0 and true are equal, and so are 0.0 and -0.0, and lists with these.
        return len(kinds) == 1 and (kinds <= _ALWAYS_ONE or len(set(map(repr, column))) == 1)
    except RecursionError:  # lists in lists in lists: such an ad is refused later
        return False


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


_DECODER = msgspec.json.Decoder(list[dict[str, Any]])
_PYTHON_DECODER = json.JSONDecoder(parse_constant=_refuse)
