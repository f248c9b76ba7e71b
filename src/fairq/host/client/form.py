"""The limits and version of the documents with requests to a host's pool, for both sides."""

from __future__ import annotations

LARGEST = 16 << 20
"""Bytes of the largest document."""

VERSION = 1
"""The version of the documents and answers."""

MOST_NAMES = 10_000
"""Most jobs, slots or edits that one document names: the program changes them under one lock."""

READ = "read"
"""The verb that changes nothing and sends, or names, a copy of the state."""
