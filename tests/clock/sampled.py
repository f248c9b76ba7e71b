"""A plugin of pytest: of the cases of a parametrized test, only the first and the last are run.

The cases of a test differ in what they are given, and meet the clock in the same way. So two of them show whether the
test depends on the day or on the time zone.
"""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    first: dict[str, pytest.Item] = {}
    last: dict[str, pytest.Item] = {}
    for item in items:
        name = item.nodeid.partition("[")[0]
        first.setdefault(name, item)
        last[name] = item
    kept = {id(item) for item in (*first.values(), *last.values())}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]
