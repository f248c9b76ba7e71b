"""Explain why an existing program cannot be executed."""

from __future__ import annotations

import errno
import os
import re
import stat

_LONGEST_LINE = 256
"""Most bytes of the first line of a script that the kernel reads."""


def fault_of(path: str, number: int) -> tuple[str, str] | None:
    """Return the failed step and the fault of the file *path*, whose execution failed with errno *number*.

    The step is ``executable`` if the file is at fault, ``program`` if the machine may be. Return None if the error
    itself says enough.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            return "executable", "it is not a file"
    except OSError:
        return None
    if number == errno.ENOEXEC:
        return "executable", "it is neither a program for this machine nor a script that begins with #!, as #!/bin/sh"
    if number == errno.EACCES and not os.access(path, os.X_OK):
        return "executable", "it is not executable; run 'chmod +x' on it"
    return _interpreter_fault(path) if number == errno.ENOENT else None


def _interpreter_fault(path: str) -> tuple[str, str] | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            line = file.readline(_LONGEST_LINE)
    except OSError:
        return None
    shebang = re.match(rb"#![ \t]*([^ \t\n]+)", line)
    if shebang is None:
        return None
    name = shebang[1].decode("utf-8", "backslashreplace")
    if name.endswith("\r"):
        return "executable", "its first line ends with a carriage return; save it with the line ends of Unix"
    return "program", f"there is no interpreter {name}, which its first line names"
