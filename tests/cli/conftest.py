"""The sample command of the tests, registered beside the real ones."""

from __future__ import annotations

import pytest

from fairq.cli import tree


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make ``fairq sample`` a command."""
    monkeypatch.setitem(tree.REGISTRY, "sample", tree.Entry("tests.cli.sample", "A sample."))
