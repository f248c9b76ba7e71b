"""Python's search for garbage, left out where it finds nothing worth the time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Look for no garbage meanwhile.

    Nothing that is read from the state is garbage, nor what a cycle makes of it; looking for some at every growth
    doubles the time that reading a pool takes, and adds a sixth to that of a cycle.

    Afterwards, all of it counts as old: otherwise the first new object would start a search through everything. What
    is repeated for hours must look for its garbage on purpose, by `gc.collect`.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()
            gc.unfreeze()
            gc.enable()
