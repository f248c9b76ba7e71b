"""The output that a user requested: one format, attributes, and the selection of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

Format = Literal["table", "json", "ndjson", "csv", "tsv", "af"]


class Output(Struct, frozen=True):
    """The output options of one command line (see ``fairq.cli.options``).

    *attributes* and *modifiers* belong to the format ``af``; *constraint* is one ClassAd expression (several
    ``--constraint`` are joined by ``&&``).
    """

    format: Format = "table"
    header: bool = True
    attributes: Sequence[str] = ()
    modifiers: str = ""
    constraint: str | None = None
    quiet: bool = False
