"""The sample command of the tests, registered beside the real ones; the time zone of a test."""

import time

import pytest

from fairq.cli.command import Listing
from fairq.cli.registry import REGISTRY
from fairq.common.periods import day_start, next_day, parts


@pytest.fixture
def sample(monkeypatch):
    """Make ``fairq sample`` a command."""
    monkeypatch.setitem(REGISTRY, "sample", Listing("tests.cli.sample", "A sample."))


@pytest.fixture
def zone(monkeypatch):
    """A function that sets the time zone for the rest of the test."""

    def use():
        time.tzset()
        for cached in (day_start, next_day, parts):
            cached.cache_clear()

    def set_zone(name):
        monkeypatch.setenv("TZ", name)
        use()

    yield set_zone
    monkeypatch.undo()
    use()
