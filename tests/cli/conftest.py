"""The sample command of the tests, registered beside the real ones; the time zone of a test."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from fairq.cli.command import Listing
from fairq.cli.registry import REGISTRY
from fairq.common.periods import day_start, next_day, parts


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make ``fairq sample`` a command."""
    monkeypatch.setitem(REGISTRY, "sample", Listing("tests.cli.sample", "A sample."))


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """A function that sets the time zone for the rest of the test."""

    def use() -> None:
        time.tzset()
        for cached in (day_start, next_day, parts):
            cached.cache_clear()

    def set_zone(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        use()

    yield set_zone
    monkeypatch.undo()
    use()
