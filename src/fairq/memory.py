"""Freed memory is kept for what is allocated next, as far as the C library can be told to."""

from __future__ import annotations

_LARGEST_BLOCK = 32 * 2**20
"""Bytes; larger blocks always go back at once. It is the most that glibc accepts."""

_KEPT = 64 * 2**20
"""Bytes of free memory that stay with the process: ``fairq run`` lives for weeks."""

_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
"""The names of glibc's parameters, as in its ``malloc.h``."""


def keep_freed() -> None:
    """Keep what is freed, such as columns and pieces of a dump, instead of giving it back to the system at once.

    By default, glibc keeps no more than twice the largest block that was freed. The system clears each page that it
    gives again: an import of slots had twice as many pages cleared as it needed. Without glibc, nothing changes.
    """
    try:
        from ctypes import CDLL
    except ImportError:  # Python can be built without it
        return
    mallopt = getattr(CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK)
        mallopt(_TRIM_THRESHOLD, _KEPT)
