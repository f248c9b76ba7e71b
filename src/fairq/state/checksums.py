"""The checksum that the database keeps of what is in no other index: an SQL function, used by the guard indexes.

Every table has an index named ``guard_TABLE`` (`fairq.state.schema.m0010_guards`). SQLite keeps it up with each write,
and ``PRAGMA integrity_check`` holds every record against it: a record that was changed by anything but a statement
is found, whichever column it is. Short columns stand in the index as they are; of long texts it has their CRC-32.
"""

from __future__ import annotations

import sqlite3
import zlib


def register(connection: sqlite3.Connection) -> None:
    """Give *connection* the function that the guard indexes call; without it nothing can be written."""
    # The library's own function: one written in Python would cost three times as much for every record.
    connection.create_function("fairq_crc32", 1, zlib.crc32, deterministic=True)
