"""What imported accounting ads say of the groups' quotas: it counts until a cycle says more."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fairq.records import Ad
from fairq.state import cycles, meta
from fairq.state.connection import State

_REPORTED = "reported_quotas"


def keep_reported(state: State, quotas: Mapping[str, Ad]) -> None:
    """Keep *quotas*, by group, for the views until the next cycle."""
    if quotas:
        meta.set(state, _REPORTED, json.dumps({"cycle": cycles.next_number(state), "quotas": quotas}))


def reported_quotas(state: State) -> dict[str, Ad]:
    """Return what was imported since the last cycle, by group."""
    kept = meta.get(state, _REPORTED)
    if not kept:
        return {}
    found = json.loads(kept)
    quotas: dict[str, Ad] = found["quotas"]
    return quotas if found["cycle"] == cycles.next_number(state) else {}
