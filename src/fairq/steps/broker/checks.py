"""How the records of each kind are checked on import: CRIC's queues, tasks, their input, PanDA's settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from fairq.columns.broker.column import Column, Kind, UnfitError, named_value, shown, value_of
from fairq.columns.broker.places import QUEUES, RELATIONS, SOFTWARE
from fairq.columns.broker.work import CONFIG, INPUTS, TASKS
from fairq.engine.brokerage.pool.connectivity import (
    NO_NETWORK,
    connectivity_rules,
    names_no_network,
    read_task_connectivity,
)
from fairq.engine.brokerage.pool.cric import Complaint, read_queue
from fairq.engine.brokerage.pool.storage import relations_of
from fairq.formats.grid.form import Entries, Form
from fairq.formats.table import NAME, Table
from fairq.state import broker_data
from fairq.state.connection import State
from fairq.steps.broker.config import check_setting
from fairq.steps.broker.reader import Check, Checked, FileRecords, Remark, check_record, read_records

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
    record = unwrapped(record)
    fields = {key.lower(): value for key, value in record.items() if key != NAME}
    for spelling in _OTHER_NAMES & fields.keys():
        fields.setdefault(QUEUES.spellings[spelling].name, fields[spelling])
    cric = {key: value for key, value in record.items() if key != NAME}
    if all(value is None or isinstance(value, str) for value in fields.values()):
        cric = fields = dict(_read_cells(fields))
    names = {**fields, NAME: record.get(NAME)}
    name = next((names[key] for key in _NAMES if names.get(key) not in (None, "")), None)
    if not isinstance(name, str):
        raise UnfitError("name must be given" if name is None else f"name must be text, not {shown(name)}")
    queue, complaints = read_queue(name.strip(), fields, site=_text(fields.get("site")))
    row = tuple(
        named_value(column, cric if column.name == _CRIC else getattr(queue, column.name)) for column in kind.columns
    )
    return row, frozenset(kind.positions), [_remark(complaint) for complaint in complaints]


def check_software(kind: Kind, record: dict[str, Any]) -> Checked:
    """Return the software of a queue as a row, as `check_record` does; raises UnfitError."""
    return check_record(kind, unwrapped(record))


def unwrapped(record: dict[str, Any]) -> dict[str, Any]:
    """Return the object in a row of PanDA's SCHEDCONFIG_JSON or SW_TAGS; any other record unchanged.

    Raises UnfitError for a row without an object.
    """
    lower = {name.lower(): value for name, value in record.items()}
    if "panda_queue" not in lower or lower.get(_DATA) is None:
        return record
    return {"panda_queue": lower["panda_queue"], **named_value(Column(_DATA, "object", ""), lower[_DATA])}


def store_relations(state: State, queues: FileRecords) -> None:
    """Replace the relations of every queue that names its storage."""
    relations: dict[str, list[broker_data.Row]] = {}
    name_at, cric_at = QUEUES.positions["name"], QUEUES.positions[_CRIC]
    for rows in queues.rows.values():
        for row in rows:
            queue_relations = relations_of(row[cric_at] or {})
            if queue_relations:
                relations[row[name_at]] = [
                    (row[name_at], relation.rse, relation.scope, sorted(relation.roles),
                     relation.default_read, relation.default_write, relation.order_read, relation.order_write)
                    for relation in queue_relations
                ]  # fmt: skip
    broker_data.remove(state, RELATIONS, "queue", relations)
    broker_data.store(state, RELATIONS, (row for rows in relations.values() for row in rows))


def _read_cells(fields: dict[str, Any]) -> Iterable[tuple[str, Any]]:
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
    field, value, value_used = complaint
    if value == value_used:
        return Remark(f"{field} is {shown(value)}, which PanDA does not know")
    absent = value_used is None or value_used in ("", (), {})
    return Remark(f"{field} is {shown(value)}; read as {'not set' if absent else shown(value_used)}", value is not None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_CONNECTIVITY = "ipConnectivity"

_RULES: dict[str, tuple[str, Column]] = {
    "t1Weight": ("TW", Column("t1Weight", "integer", "")),
    "onlyTagsForFC": ("OT", Column("onlyTagsForFC", "boolean", "")),
    "avoidVP": ("AV", Column("avoidVP", "boolean", "")),
}
"""Attributes of a task that PanDA keeps as two-letter rules, and their values."""

_PARAMETERS = ("includedSite", "excludedSite")
"""Attributes of a task that PanDA keeps among its parameters."""

_SOFTWARE = ("sw_platform", "sw_project", "sw_version")
"""The documentation page's names for the parts of ``architecture`` and ``transHome``."""

OWN_NAMES = (_CONNECTIVITY, *_RULES, *_PARAMETERS, *_SOFTWARE)
"""Names that a task may use in addition to its columns."""

_SPELLINGS = {name.lower(): name for name in OWN_NAMES}

_SIZE = "(kB|MB|GB)(PerEvents?)?(Fixed)?"
_UNITS = {
    "ramUnit": ("(MB|MBPerCore|MBPerCoreFixed)", "MB, MBPerCore or MBPerCoreFixed"),
    "cpuTimeUnit": ("m?HS06sPerEvent(Fixed)?", "HS06sPerEvent or mHS06sPerEvent, with or without Fixed"),
    "outDiskUnit": (_SIZE, "kB, MB or GB, with or without PerEvent and Fixed"),
    "workDiskUnit": (_SIZE, "kB, MB or GB"),
}
"""For each column with a unit: the pattern of the units that PanDA knows, and their names for messages."""

_RULE = re.compile(r"\s*[A-Z]{2}\s*=.*")


def check_task(kind: Kind, record: dict[str, Any]) -> Checked:
    """Return a task as a row, as `check_record` does; attributes with special names are stored where PanDA keeps them.

    ipConnectivity, t1Weight, onlyTagsForFC and avoidVP become rules of ``splitRule``, both from fields of the record
    and from the task's parameters. includedSite and excludedSite become parameters. Raises UnfitError.
    """
    special = {_SPELLINGS[name.lower()]: value for name, value in record.items() if name.lower() in _SPELLINGS}
    columns = {name: value for name, value in record.items() if name.lower() not in _SPELLINGS}
    row, given_columns, remarks = check_record(kind, columns)
    values, given_names = list(row), set(given_columns)
    remarks += _unknown_words(kind, row)

    def put(column: str, value: Any) -> None:
        values[kind.positions[column]] = value
        given_names.add(column)

    parameters = dict(values[kind.positions["parameters"]])
    rules, complaints = _rules(
        {**{name: parameters.get(name) for name in (_CONNECTIVITY, *_RULES)}, **_without_empty(special)}
    )
    remarks += complaints
    if rules:
        former_rules = str(values[kind.positions["splitRule"]]).split(",")
        kept_rules = [rule for rule in former_rules if rule and rule.partition("=")[0].strip() not in rules]
        put("splitRule", ",".join([*kept_rules, *(f"{name}={value}" for name, value in rules.items())]))
    if sites := {name: special[name] for name in _PARAMETERS if special.get(name) not in (None, "")}:
        put("parameters", parameters | sites)
    if special.get("sw_platform") and not values[kind.positions["architecture"]]:
        put("architecture", str(special["sw_platform"]))
    if special.get("sw_project") and special.get("sw_version") and not values[kind.positions["transHome"]]:
        put("transHome", f"{special['sw_project']}-{special['sw_version']}")
    return tuple(values), frozenset(given_names), remarks


def _without_empty(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value not in (None, "")}


def _rules(attributes: dict[str, Any]) -> tuple[dict[str, Any], list[Remark]]:
    """Return the two-letter rules for attributes of a task; raises UnfitError, naming the attribute."""
    rules: dict[str, Any] = {}
    remarks = []
    if connectivity := attributes.get(_CONNECTIVITY):
        rules |= connectivity_rules(read_task_connectivity(str(connectivity)))
        if names_no_network(str(connectivity)):
            rules["IP"] = NO_NETWORK
        if not rules:
            remarks.append(Remark(f"{_CONNECTIVITY} is {shown(connectivity)}, which asks for nothing", softens=True))
    for name, (rule, column) in _RULES.items():
        value = named_value(column, attributes.get(name))
        if value is not None and value is not False:
            rules[rule] = int(value)
    return rules, remarks


def _unknown_words(kind: Kind, row: tuple[Any, ...]) -> Iterator[Remark]:
    for name, (pattern, known_units) in _UNITS.items():
        unit = row[kind.positions[name]]
        if unit and re.fullmatch(pattern, unit) is None:
            yield Remark(f"{name} is {unit!r}, which PanDA does not know; it knows {known_units}")
    for rule in str(row[kind.positions["splitRule"]]).split(","):
        if rule.strip() and not _RULE.fullmatch(rule):
            yield Remark(f"splitRule has {rule!r}, which is not a rule such as NF=1", softens=True)


_FILE = (
    Column("lfn", "text", "the file's name", key=True),
    Column("fsize", "integer", "bytes", default=0, minimum=0),
    Column("nEvents", "integer", "events", minimum=0),
    Column("startEvent", "integer", "first event to be read"),
    Column("endEvent", "integer", "last event to be read"),
)
_AT = INPUTS.positions["files"]
_FILE_NAMES = frozenset(column.name.lower() for column in _FILE)


def join_files(entries: Entries) -> Entries:
    """Yield inputs with their files: rows of one file each, as a query returns them, are joined by dataset."""
    datasets: dict[tuple[Any, Any], tuple[str, dict[str, Any]]] = {}
    other_entries = []
    for position, entry in entries:
        names = {name.lower(): name for name in entry} if isinstance(entry, dict) else {}
        if "lfn" not in names:
            other_entries.append((position, entry))
            continue
        file = {name: entry.get(names.get(name.lower(), "")) for name in (column.name for column in _FILE)}
        common = {name: value for name, value in entry.items() if name.lower() not in _FILE_NAMES}
        keys = [next((common[name] for name in common if INPUTS.spellings.get(name.lower()) is key), None)
                       for key in INPUTS.keys]  # fmt: skip
        datasets.setdefault((keys[0], keys[1]), (position, {**common, "files": []}))[1]["files"].append(file)
    yield from other_entries
    yield from datasets.values()


def check_input(kind: Kind, record: dict[str, Any]) -> Checked:
    """Return an input as a row, with only the given values of its files.

    Raises UnfitError, naming the file.
    """
    row, given_columns, remarks = check_record(kind, record)
    files = [_file(number, file) for number, file in enumerate(row[_AT], 1)]
    return (*row[:_AT], files, *row[_AT + 1 :]), given_columns, remarks


def _file(number: int, record: dict[str, Any]) -> dict[str, Any]:
    values = {name.lower(): value for name, value in record.items()}
    file = {}
    for column in _FILE:
        try:
            value = named_value(column, values.get(column.name.lower()))
        except UnfitError as error:
            raise UnfitError(f"files, number {number}: {error}") from None
        if value is not None:
            file[column.name] = value
    return file


_CHECKS: dict[str, Check] = {
    QUEUES.name: check_queue,
    SOFTWARE.name: check_software,
    INPUTS.name: check_input,
    TASKS.name: check_task,
    CONFIG.name: check_setting,
}


def read(kind: Kind, table: Table, form: Form | None = None) -> FileRecords:
    """Return the records of *kind* in *table*, checked; *form* as for `read_records`. Raises InvalidDumpError."""
    join = join_files if kind is INPUTS else None
    return read_records(kind, table, _CHECKS.get(kind.name, check_record), join, form)
