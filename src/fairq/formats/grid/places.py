"""Queues, sites and storage as CRIC and Rucio publish them (PanDA Configurator)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fairq.columns.broker.places import QUEUES, SITES, STORAGES
from fairq.formats.grid.form import Entries, Form, LeftOut, entries_of, first_of, is_named, reader
from fairq.formats.table import NAME, named

_QUEUE = frozenset({"nickname", "panda_resource", "atlas_site", "astorages"})
"""Fields that only queues have in CRIC; two of them identify a queue."""

_NUCLEUS = "Nucleus"
"""The data policy of a site that makes it a nucleus (PanDA Configurator.get_site_info)."""


def is_queue(fields: Any) -> bool:
    """Return whether an object is a queue of CRIC."""
    return isinstance(fields, dict) and len(_QUEUE & {name.lower() for name in fields}) > 1


def _are_queues(document: Any) -> bool:
    return is_queue(document) or is_queue(first_of(document))


def _queues(document: Any) -> Entries:
    return iter([("record 1", document)]) if is_queue(document) else entries_of(document)


def _are_sites(document: Any) -> bool:
    return is_named(document) and {"datapolicies", "state"} <= first_of(document).keys()


def _site(entry: Mapping[str, Any]) -> Iterator[Any]:
    if entry.get("state", "ACTIVE") != "ACTIVE":
        yield LeftOut(f"the site is {entry['state']}")
    else:
        policies = entry.get("datapolicies")
        is_nucleus = isinstance(policies, (list, str)) and _NUCLEUS in policies
        yield {"name": entry.get(NAME), "role": "nucleus" if is_nucleus else "satellite"}


CRIC_QUEUES = Form("queues of CRIC", QUEUES, _are_queues, _queues)
CRIC_SITES = Form("sites of CRIC", SITES, _are_sites, reader(entries_of, _site))


_GB = 2**30
"""Bytes in a GB as PanDA counts it."""

_SPACE = {
    "space_free": ("storage", "free"),
    "space_expired": ("expired", "used"),
    "space_min_free": ("min_free_space", "used"),
    "space_unavailable": ("unavailable", "used"),
}
"""The entry and field of each figure in Rucio's report."""


def _are_endpoints(document: Any) -> bool:
    return {"site", "type", "state", "is_tape"} <= first_of(document).keys()


def _endpoint(entry: Mapping[str, Any]) -> Iterator[Any]:
    if entry.get("state", "ACTIVE") != "ACTIVE":
        yield LeftOut(f"the endpoint is {entry['state']}")
    else:
        figures = {name: entry.get(name) for name in ("site", "type", "is_tape")}
        yield {"rse": entry.get(NAME, entry.get("name")), **figures}


def _are_states(document: Any) -> bool:
    return is_named(document) and any(
        isinstance(state, dict) and "status" in state for state in first_of(document).values()
    )


def _states(entry: Mapping[str, Any]) -> Iterator[Any]:
    states = {activity: _state(state) for activity, state in entry.items() if activity != NAME}
    blacklisted = states.get("read_wan") == "OFF"
    yield {"rse": entry[NAME], "detailed_status": states, "blacklisted_read": blacklisted}


def _state(state: Any) -> Any:
    """Return the state of an activity from ``{"status": {"value": "OFF"}}`` or a less nested form."""
    for name in ("status", "value"):
        if isinstance(state, Mapping):
            state = state.get(name)
    return state


def _are_usages(document: Any) -> bool:
    storage = first_of(document).get("storage")
    return is_named(document) and isinstance(storage, dict) and bool({"used", "free"} & storage.keys())


def _usage(entry: Mapping[str, Any]) -> Iterator[Any]:
    yield {"rse": entry[NAME], **{column: _figure(entry, *of_report) for column, of_report in _SPACE.items()}}


def _figure(entry: Mapping[str, Any], source: str, name: str) -> Any:
    report = entry.get(source)
    value = report.get(name) if isinstance(report, Mapping) else None
    return value / _GB if isinstance(value, (int, float)) and not isinstance(value, bool) else value


CRIC_ENDPOINTS = Form("storage endpoints of CRIC", STORAGES, _are_endpoints, reader(entries_of, _endpoint))
CRIC_STATES = Form(
    "states of CRIC's storage endpoints", STORAGES, _are_states, reader(named, _states), completes=True,
    absent={"detailed_status": {}, "blacklisted_read": False},
)  # fmt: skip
RUCIO_USAGE = Form(
    "space of Rucio's storage", STORAGES, _are_usages, reader(named, _usage), completes=True,
    absent=dict.fromkeys(_SPACE, 0.0),
)  # fmt: skip
