"""Freed memory is used again."""

from __future__ import annotations

import ctypes
import resource
import subprocess
import sys

import pytest

_BLOCKS = 30
_ROUNDS = 20
_PROGRAM = f"""
from resource import RUSAGE_SELF, getrusage
from fairq import memory
memory.keep_freed()
before = getrusage(RUSAGE_SELF).ru_minflt
for _ in range({_ROUNDS}):
    blocks = [b"x" * 2**20 for _ in range({_BLOCKS})]
    del blocks
print(getrusage(RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="needs glibc")
def test_pages_are_asked_of_the_system_once() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    pages = _BLOCKS * 2**20 // resource.getpagesize()
    assert int(done.stdout) < 2 * pages
