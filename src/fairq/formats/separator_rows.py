"""Rows of values that commas separate (CSV), or tabs as ``mysql --batch`` prints them (TSV)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator


class SeparatedRows:
    """The rows of a text, including blank ones; tabs separate values if the headings have more tabs than commas.

    MySQL prints a missing value of TSV as NULL: it is empty here. Iteration raises csv.Error.
    """

    def __init__(self, text: str) -> None:
        headings = text.lstrip().partition("\n")[0]
        self._tabs = headings.count("\t") > headings.count(",")
        self._reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if self._tabs else ",", strict=True)

    @property
    def line(self) -> int:
        """The number of the last line of the row read last."""
        return self._reader.line_num

    def __iter__(self) -> Iterator[list[str]]:
        for row in self._reader:
            yield ["" if cell == "NULL" else cell for cell in row] if self._tabs else row
