"""The shared ads of the idle jobs: read at once if the kinds of jobs are not known, else at first use.

Ads that are read at once are parsed at the first use of any of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from fairq.columns.idle_jobs import Numbers
from fairq.common.records import Ad
from fairq.engine.distinct import distinct
from fairq.state import job_ads
from fairq.state.connection import reading

_ONE_BY_ONE, _STRETCH = 10, 2048
"""Ads read one by one at first, then at once. The jobs of one submitter mostly have neighbouring ads."""


class SharedAds(Mapping[int, Ad]):
    """The shared ads of the idle jobs by number.

    Args:
        path: of the state.
        numbers: of the ads, with repetitions.
        texts: ads that were read already, by number.
    """

    def __init__(self, path: Path, numbers: Numbers, texts: dict[int, str]) -> None:
        self._path = path
        self._every = numbers
        self._texts = texts
        self._asked = 0

    def __getitem__(self, number: int) -> Ad:
        if number not in self._found:
            self._asked += 1
            self._read([number] if self._asked < _ONE_BY_ONE else self._stretch(number))
            # A missing ad belonged to jobs removed meanwhile. With an empty ad, they get no match.
            self._found.setdefault(number, {})
        return self._found[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    @cached_property
    def _found(self) -> dict[int, Ad]:
        texts, self._texts = self._texts, {}
        return job_ads.parsed(texts)

    @cached_property
    def _numbers(self) -> list[int]:
        numbers: list[int] = distinct(self._every).tolist()
        return numbers

    def _stretch(self, number: int) -> Sequence[int]:
        index = bisect_left(self._numbers, number)
        return self._numbers[index : index + _STRETCH] or [number]

    def _read(self, numbers: Sequence[int]) -> None:
        missing = [number for number in numbers if number not in self._found]
        with reading(self._path) as state:
            self._found.update(job_ads.ads(state, missing))
