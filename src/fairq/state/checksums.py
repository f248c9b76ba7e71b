"""The checksum of values that are in no other index: an SQL function of the guard indexes.

Every table has an index named ``guard_TABLE`` (`fairq.state.schema.m0010_guards`). SQLite updates it with each write,
and ``PRAGMA integrity_check`` compares every record with it. So a record that was changed without an SQL statement is
found, whichever column it is. The index has short columns unchanged, and the CRC-32 of long texts. What the brokerage
decides of a task is in an index of its own, so that a run need not write the other.
"""

from __future__ import annotations

import sqlite3
import zlib


def register(connection: sqlite3.Connection) -> None:
    """Register on *connection* the function of the guard indexes; without it, no write is possible."""
    # The library's own function: one written in Python would cost three times as much for every record.
    connection.create_function("fairq_crc32", 1, zlib.crc32, deterministic=True)
