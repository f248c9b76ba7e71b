"""msgspec as commands load it: sooner, and without effect on others."""

from __future__ import annotations

import subprocess
import sys


def test_a_command_loads_msgspec_without_extensions_that_others_can_load() -> None:
    program = (
        "from fairq import lean_msgspec; lean_msgspec.load(); import sys, msgspec; "
        "print('typing_extensions' in sys.modules); import typing_extensions; lean_msgspec.load(); "
        "print(msgspec.json.decode(b'[1]', type=list[int]), sys.modules['typing_extensions'] is typing_extensions)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split("\n") == ["False", "[1] True", ""]
