"""The kind of the records in a file and their published form, recognised by the file's name or its content."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from fairq.columns.broker.column import Kind
from fairq.columns.broker.kinds import STORED
from fairq.columns.broker.places import QUEUES, SOFTWARE
from fairq.formats.grid.form import Form, entries_of, first_of, is_named
from fairq.formats.grid.network import CRIC_MATRIX, METRICS_1, METRICS_2
from fairq.formats.grid.places import CRIC_ENDPOINTS, CRIC_QUEUES, CRIC_SITES, CRIC_STATES, RUCIO_USAGE
from fairq.formats.table import NAME, SeparatedRows, Table

_BY_NAME = {kind.name: kind for kind in STORED}
_STATES = "ddmendpointstatus"
"""The name of the states of endpoints in CRIC's API."""

_STORED_OBJECTS = {"panda_queue", "data"}
"""Columns of PanDA's tables SCHEDCONFIG_JSON and SW_TAGS, which hold a queue or its software as JSON."""


def recognise(name: str, table: Table) -> tuple[Kind, Form | None] | None:
    """Return the kind of the records in the file *name* and their published form; None if the kind is unknown.

    A published form decides first; an empty document has the form of CRIC's states if the file has the API's name.
    Otherwise the first word of the name decides: ``queues.json``, ``links-2026-11-22.csv.gz``. Otherwise the columns
    decide, if they match one kind only.
    """
    kind = _BY_NAME.get(re.split(r"[-_. ]", PurePosixPath(name).name.lower(), maxsplit=1)[0])
    form = None if table.csv is not None else form_of(table.document, kind) or form_of(table.document)
    if form is None and table.csv is None and not table.document and _STATES in PurePosixPath(name).name.lower():
        form = CRIC_STATES  # empty: no endpoint is blacklisted
    if form is not None:
        return form.kind, form
    if kind is not None:
        return kind, None
    first = _first_record(table)
    kind = _kind_of_object(first) or _kind_of_columns(first)
    return None if kind is None else (kind, None)


def _first_record(table: Table) -> dict[str, Any]:
    """Return the first record, with its names in lower case."""
    if table.csv is not None:
        rows = iter(SeparatedRows(table.csv.lstrip()))
        headings = [cell.strip().lower() for cell in next(rows, [])]
        return dict(zip(headings, [*next(rows, []), *[""] * len(headings)], strict=False))
    document = table.document
    if isinstance(document, dict):
        members = [record for record in document.values() if isinstance(record, dict)]
        document = [{NAME: "", **members[0]} if members and len(members) == len(document) else document]
    first = next((record for record in document if isinstance(record, dict)), {})
    return {name.lower(): value for name, value in first.items()}


def _kind_of_object(first: dict[str, Any]) -> Kind | None:
    """Return the kind of a row from PanDA's tables that hold an object as JSON."""
    if not first.keys() >= _STORED_OBJECTS:
        return None
    return SOFTWARE if re.search(r"[\"']cmtconfigs[\"']", str(first["data"])) else QUEUES


def _kind_of_columns(first: dict[str, Any]) -> Kind | None:
    """Return the kind with the most of these columns, None if there is a tie.

    All its key columns must be there, and over half of the columns must be its own.
    """
    names = first.keys() - {NAME}
    counts = {kind.name: _known_columns(kind, names, NAME in first) for kind in STORED}
    most = max(counts.values(), default=0)
    best = [name for name, number in counts.items() if number == most and number * 2 > len(names)]
    return _BY_NAME[best[0]] if len(best) == 1 else None


def _known_columns(kind: Kind, names: Iterable[str], is_named: bool) -> int:
    columns = {kind.spellings[name].name for name in names if name in kind.spellings}
    required = {column.name for column in kind.keys if column.default is None}
    if is_named:
        required.discard(kind.columns[0].name)
    return len(columns) if required <= columns else 0


def _is_software(document: Any) -> bool:
    return is_named(document) and len({"cmtconfigs", "containers", "cvmfs", "tags"} & first_of(document).keys()) > 1


CRIC_SOFTWARE = Form("software of CRIC", SOFTWARE, _is_software, entries_of)

FORMS = (
    CRIC_QUEUES, CRIC_SITES, CRIC_ENDPOINTS, CRIC_STATES, RUCIO_USAGE, CRIC_MATRIX, METRICS_1, METRICS_2, CRIC_SOFTWARE
)  # fmt: skip


def form_of(document: Any, kind: Kind | None = None) -> Form | None:
    """Return the published form of a JSON document, among the forms with records of *kind* (None: any kind)."""
    return next((form for form in FORMS if kind in (None, form.kind) and form.fits(document)), None)
