"""Every kind of record of the brokerage, in the order of the help."""

from __future__ import annotations

from fairq.brokerdata.column import Kind
from fairq.brokerdata.counts import FIGURES
from fairq.brokerdata.jobs import JOBS
from fairq.brokerdata.machines import MACHINES
from fairq.brokerdata.places import PLACES
from fairq.brokerdata.work import CONFIG, WORK

KINDS: dict[str, Kind] = {kind.name: kind for kind in (*PLACES, *WORK, JOBS, *FIGURES, *MACHINES)}
"""Those that have commands of their own, by name."""

STORED: tuple[Kind, ...] = (*KINDS.values(), CONFIG)
"""All that the state has a table for."""
