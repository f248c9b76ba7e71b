"""The tables of condor_userprio 23.9.6, character by character, on the accounting that it printed itself."""

from __future__ import annotations

import json
import time

import pytest
from tests.golden.archive import LIVE_ARCHIVE, names, unpack

VIEWS = (
    "-all -allusers", "-allusers", "-grouporder -allusers", "-grouprollup -allusers", "-quotas -allusers",
    "-usage -allusers",
)  # fmt: skip
"""Those that the tool asks of the negotiator; for others it reads the collector's copies, which differ."""


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("live"), LIVE_ARCHIVE)


def recorded(file):
    """Return what the tool printed, by its options."""
    found: dict[str, str] = {}
    for part in file.read_text(encoding="utf-8").split("### ")[1:]:
        options, _, text = part.partition("\n")
        found[options] = text
    return found


@pytest.mark.parametrize("name", names(LIVE_ARCHIVE))
def test_userprio_prints_what_condor_userprio_prints(live, name, run, state, monkeypatch):
    """The floor has no column in this version, and every record tells all: 0.00, never -0.00."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    folder = live / name
    now = json.loads((folder / "expected.json").read_text())["time"]
    assert run("--state", state, "config", "import", folder / "pool.conf").code == 0
    assert run("--state", state, "import", "--accounting", folder / "acct.long", "--now", now).code == 0

    texts = recorded(folder / "userprio.txt")
    for view in VIEWS:
        assert run("--state", state, "userprio", *view.split(), "--now", now).out == texts[view], view
