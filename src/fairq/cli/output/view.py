"""The content that a command shows: plain data, independent of how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

Record = Mapping[str, Any]
"""One row as an ad: attribute name to value (str, int, float, bool, None, list, ``/Expr(...)/``)."""


class Form(Struct, frozen=True):
    """How a column shows its values: in *full*, and in *brief* on a terminal that is too narrow for all columns."""

    full: Callable[[Any], str]
    brief: Callable[[Any], str]

    def __call__(self, value: Any) -> str:
        """Return *value* in full."""
        return self.full(value)


class Column(Struct, frozen=True):
    """One column of a table.

    *attribute* is the record's attribute, in any case; *heading* is the column's title. *shown* converts the value to
    text for people (rounded, with a unit); machine formats always have the value itself. Numbers are right-aligned and
    text left-aligned, unless *align* is set. *colour* returns the colour of a record's cell on a colour terminal, empty
    for none.

    On a terminal that is too narrow, `fit` shortens the columns. Then it leaves out those of the highest *level* first.
    Level 0 stays; the subject of a table has it. *narrow* says how a cell of text shortens: its words go to further
    lines and a single word loses its middle (wrap), it loses its middle in any case (cut), or it does not (keep).
    """

    heading: str
    attribute: str
    shown: Callable[[Any], str] | None = None
    align: Literal["left", "right"] | None = None
    colour: Callable[[Record], str] | None = None
    level: int = 0
    narrow: Literal["wrap", "cut", "keep"] = "wrap"


class Table(Struct):
    """Records and the columns that people see of them.

    *key* names the records in the view's JSON document. *footer* is an additional row for totals, which only the table
    shows. *plain* draws the table as exact text if there is no terminal, and also on a terminal if there are no
    *columns*. Its argument is the records left after ``--constraint``. *empty* is the message on stderr for a table
    without records. *constrained* means that the step has already applied ``--constraint``.

    With *widest*, a long table is printed page by page while its records are still being read. The columns then are as
    wide as those records and the first page; a page with wider values widens them. *release* reads the remaining
    records and releases their source (the lock of the state); it is called before printing may take long.
    """

    columns: Sequence[Column]
    records: Iterable[Record]
    title: str | None = None
    key: str | None = None
    footer: Record | None = None
    plain: Callable[[Sequence[Record]], str] | None = None
    empty: str | None = None
    constrained: bool = False
    widest: Sequence[Record] | None = None
    release: Callable[[], None] | None = None


class View(Struct):
    """Everything that one command shows.

    People see *text*, then the tables. On a terminal, the lines of a whole *text* are wrapped; pieces of complete lines
    are not. ``--csv``, ``--tsv``, ``--ndjson`` and
    ``--af`` show the table number *main*. For a view without tables, they show *document* as one record. The JSON
    document is the list of the main table's records. If *document* is given, it is *document* followed by the records
    of every table that has a key. *fields* are the attributes in CSV and TSV, by default those of the main table's
    columns.
    """

    tables: Sequence[Table] = field(default_factory=list)
    document: Mapping[str, Any] | None = None
    text: str | Iterable[str] | None = None
    main: int = 0
    fields: Sequence[str] | None = None
