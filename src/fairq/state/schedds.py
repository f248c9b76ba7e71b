"""How many jobs each schedd of an imported pool may run at once, as its ad says."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fairq.state import meta
from fairq.state.connection import State

_KEY = "max_jobs_running"


def load(state: State) -> dict[str, int]:
    """Return the most running jobs of each schedd that has a maximum, by the name that its jobs have here."""
    stored = meta.get(state, _KEY)
    found: dict[str, int] = json.loads(stored) if stored else {}
    return found


def store(state: State, maximum: Mapping[str, int]) -> None:
    """Replace them."""
    meta.set(state, _KEY, json.dumps(dict(maximum), sort_keys=True))
