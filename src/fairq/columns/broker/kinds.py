"""Every kind of record of the brokerage, in the order of the help."""

from __future__ import annotations

from fairq.columns.broker.column import Kind
from fairq.columns.broker.counts import FIGURES
from fairq.columns.broker.places import MACHINES, PLACES
from fairq.columns.broker.work import CONFIG, JOBS, WORK

KINDS: dict[str, Kind] = {kind.name: kind for kind in (*PLACES, *WORK, JOBS, *FIGURES, *MACHINES)}
"""Those that have commands of their own, by name."""

STORED: tuple[Kind, ...] = (*KINDS.values(), CONFIG)
"""All that the state has a table for."""
