"""``--af``: HTCondor's autoformat, for scripts that know it from condor_q and condor_status."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from fairq.cli.output.selection import Output
from fairq.cli.output.view import Record


def write(records: Iterable[Record], output: Output, stream: TextIO) -> None:
    """Write the values of the attributes asked for, a line per record."""
    for record in records:
        lowered = {name.lower(): value for name, value in record.items()}
        stream.write(" ".join(str(lowered.get(name.lower(), "undefined")) for name in output.attributes) + "\n")
