"""The output a user asked for: one format, attributes, and which records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Format = Literal["table", "json", "ndjson", "csv", "tsv", "af"]


@dataclass(frozen=True, slots=True)
class Output:
    """What the output options of one command line say (see ``fairq.cli.options``).

    *attributes* and *modifiers* belong to the format ``af``; *constraint* is one ClassAd expression, several
    ``--constraint`` being joined by ``&&``.
    """

    format: Format = "table"
    header: bool = True
    attributes: Sequence[str] = ()
    modifiers: str = ""
    constraint: str | None = None
    quiet: bool = False


class Report(Output):
    """The output of a command that reports one thing, so that there is nothing to select by a constraint."""
