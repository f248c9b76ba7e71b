"""Import complete queues as CRIC publishes them, with the storage that they name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairq.columns.broker.column import Column, Kind, UnfitError, shown, value_of
from fairq.columns.broker.places import QUEUES, RELATIONS
from fairq.engine.brokerage.pool.cric import Complaint, read_queue
from fairq.engine.brokerage.pool.storage import relations_of
from fairq.formats.table import NAME
from fairq.state import broker_data
from fairq.state.connection import State
from fairq.steps.broker.reader import Checked, Found, Remark, check_record

_CRIC = "cric"
_NAMES = ("nickname", "panda_queue", "panda_resource", "name", NAME)
"""Fields that may contain the name of a queue; the first one present counts."""

_OTHER_NAMES = frozenset({"transferring_limit"})
"""The documentation page's names for fields of CRIC."""

_DATA = "data"
"""The column of PanDA's tables that has the object as JSON (SCHEDCONFIG_JSON, SW_TAGS)."""


def check_queue(kind: Kind, record: dict[str, Any]) -> Checked:
    """Return a queue as a row: CRIC's fields as `read_queue` interprets them, and CRIC's complete object.

    A record with a column *cric* was listed by fairq itself and is taken unchanged.

    Raises UnfitError for a queue without a name, or with a value that cannot be stored.
    """
    if any(name.lower() == _CRIC for name in record):
        return check_record(kind, record)
    record = whole(record)
    fields = {key.lower(): value for key, value in record.items() if key != NAME}
    for other in _OTHER_NAMES & fields.keys():
        fields.setdefault(QUEUES.spellings[other].name, fields[other])
    if all(value is None or isinstance(value, str) for value in fields.values()):
        fields = dict(_of_texts(fields))
    names = {**fields, NAME: record.get(NAME)}
    name = next((names[key] for key in _NAMES if names.get(key) not in (None, "")), None)
    if not isinstance(name, str):
        raise UnfitError("name must be given" if name is None else f"name must be text, not {shown(name)}")
    queue, complaints = read_queue(name.strip(), fields, site=_text(fields.get("site")))
    cric = {key: value for key, value in record.items() if key != NAME}
    row = []
    for column in kind.columns:
        value = cric if column.name == _CRIC else getattr(queue, column.name)
        try:
            row.append(value_of(column, value))
        except UnfitError as error:
            raise UnfitError(f"{column.name} {error}") from None
    return tuple(row), frozenset(kind.positions), [_remark(one) for one in complaints]


def check_software(kind: Kind, record: dict[str, Any]) -> Checked:
    """Return the software of a queue as a row, as `check_record` does; raises UnfitError."""
    return check_record(kind, whole(record))


def whole(record: dict[str, Any]) -> dict[str, Any]:
    """Return the object in a row of PanDA's SCHEDCONFIG_JSON or SW_TAGS; any other record unchanged.

    Raises UnfitError for a row without an object.
    """
    lower = {name.lower(): value for name, value in record.items()}
    if "panda_queue" not in lower or lower.get(_DATA) is None:
        return record
    try:
        found = value_of(Column(_DATA, "object", ""), lower[_DATA])
    except UnfitError as error:
        raise UnfitError(f"{_DATA} {error}") from None
    return {"panda_queue": lower["panda_queue"], **found}


def store_relations(state: State, found: Found) -> None:
    """Replace the relations of every queue that names its storage."""
    relations: dict[str, list[broker_data.Row]] = {}
    name_at, cric_at = QUEUES.positions["name"], QUEUES.positions[_CRIC]
    for rows in found.rows.values():
        for row in rows:
            told = relations_of(row[cric_at] or {})
            if told:
                relations[row[name_at]] = [
                    (row[name_at], one.rse, one.scope, sorted(one.roles), one.default_read, one.default_write,
                     one.order_read, one.order_write)
                    for one in told
                ]  # fmt: skip
    broker_data.remove(state, RELATIONS, "queue", relations)
    broker_data.store(state, RELATIONS, (row for rows in relations.values() for row in rows))


def _of_texts(fields: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """Convert the cells of a CSV file to the values of CRIC's JSON."""
    for name, value in fields.items():
        column = QUEUES.spellings.get(name)
        if column is None or value is None or column.type not in ("boolean", "list"):
            yield name, value
            continue
        try:
            yield name, value_of(column, value)
        except UnfitError:
            yield name, value


def _remark(complaint: Complaint) -> Remark:
    field, value, taken = complaint
    if value == taken:
        return Remark(f"{field} is {shown(value)}, which PanDA does not know")
    absent = taken is None or taken in ("", (), {})
    return Remark(f"{field} is {shown(value)}; read as {'not set' if absent else shown(taken)}", value is not None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
