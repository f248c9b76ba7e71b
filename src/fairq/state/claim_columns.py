"""Reads all claims by column."""

from __future__ import annotations

import numpy as np

from fairq.columns.claims import ClaimTable
from fairq.common.records import Claim
from fairq.state.claims import TERMS, split_terms
from fairq.state.connection import State
from fairq.state.rows import loads_array


def load(state: State) -> ClaimTable:
    """Return every claim by column, in pool order of the slots: in a third of the time of single ones."""
    execute = state.connection.execute
    numbers: list[int] = []
    alike: list[Claim] = []
    for number, *columns in execute(f"SELECT id, {TERMS} FROM claim_terms ORDER BY id"):
        charge, told = split_terms(columns)
        numbers.append(number)
        alike.append(Claim(*(0, *charge, None, None, None, *told)))
    # One text for each column: a row of SQLite's costs several times as much as a number in a text.
    # A scan of the table itself, not of an index, goes by slot; to ask for that order takes three times as long.
    arrays = ", ".join(f"json_group_array({column})" for column in ("slot_id", "terms", "schedd", "cluster", "proc"))
    texts = execute(f"SELECT {arrays} FROM claim NOT INDEXED").fetchone()
    slots, terms = (np.fromstring(text[1:-1], np.int64, sep=",") for text in texts[:2])
    schedds, clusters, procs = map(loads_array, texts[2:])
    places = np.searchsorted(np.array(numbers, np.int64), terms)
    return ClaimTable(slots, places, alike, schedds, clusters, procs)
