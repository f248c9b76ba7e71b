"""Links between sites: CRIC's matrix of closeness, and the two generations of network metrics.

The first generation is a list of links with a member for each activity. The second is an object of links by
``SOURCE:DESTINATION`` with ``files`` and ``mbps`` (PanDA NetworkConfigurator, of 2017 and of today). Only the figures
that the brokerage reads are kept: queued files of production output and express, and the throughput of transfers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fairq.columns.broker.places import LINKS
from fairq.formats.grid.form import Form, LeftOut, first_of, is_named, reader
from fairq.formats.table import NAME, named, numbered

_CLOSENESS = "AGIS_closeness"
_ACTIVITIES = ("Production Output", "Express")
_ALL_ACTIVITIES = frozenset({*_ACTIVITIES, "Production Input"})
_SPANS = ("1h", "1d", "1w")
_THROUGHPUT = ("dashb", "fts")
"""The systems that measure the throughput of transfers; the first is the one that PanDA reads today."""


def _is_matrix(document: Any) -> bool:
    return isinstance(document, list) and {"src", "dst", "closeness"} <= first_of(document).keys()


def _closeness(entry: Mapping[str, Any]) -> Iterator[Any]:
    if not entry.get("src") or not entry.get("dst") or entry.get("closeness") is None:
        yield LeftOut("the link has no source, no destination or no closeness")
    else:
        yield {"src": entry["src"], "dst": entry["dst"], "key": _CLOSENESS, "value": entry["closeness"]}


def _is_first_generation(document: Any) -> bool:
    first = first_of(document)
    return isinstance(document, list) and {"src", "dst"} <= first.keys() and bool(_ALL_ACTIVITIES & first.keys())


def _first_generation(entry: Mapping[str, Any]) -> Iterator[Any]:
    for activity in _ACTIVITIES:
        metrics = _member(entry, activity)
        if metrics.get("queued_for_dst") is not None:
            yield {
                "src": entry.get("src"), "dst": entry.get("dst"), "key": f"{activity}_queued",
                "value": metrics["queued_for_dst"], "time": metrics.get("updated_at"),
            }  # fmt: skip


def _is_second_generation(document: Any) -> bool:
    return (
        is_named(document)
        and all(":" in name for name in document)
        and any({"files", "mbps", "latency", "packetloss"} & entry.keys() for entry in document.values())
    )


def _second_generation(entry: Mapping[str, Any]) -> Iterator[Any]:
    source, _, destination = entry[NAME].partition(":")
    if not source or not destination or ":" in destination:
        yield LeftOut("the link is not called SOURCE:DESTINATION")
        return
    for key, value, time in (*_queued(_member(entry, "files")), *_throughput(_member(entry, "mbps"))):
        yield {"src": source, "dst": destination, "key": key, "value": value, "time": time}


def _queued(files: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    queued = _member(files, "queued")
    queued = _member(queued, "total") or queued  # where it is split by system
    for activity in _ACTIVITIES:
        metrics = _member(queued, activity)
        value = metrics.get("latest", metrics.get("total"))
        if value is not None:
            yield f"{activity}_queued", value, metrics.get("timestamp")


def _throughput(systems: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    metrics = next((_member(systems, system) for system in _THROUGHPUT if _member(systems, system)), {})
    for span in _SPANS:
        if metrics.get(span) is not None:
            yield f"{_THROUGHPUT[0]}_mbps_{span}", metrics[span], metrics.get("timestamp")


def _member(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    member = parent.get(name)
    return member if isinstance(member, Mapping) else {}


CRIC_MATRIX = Form("site matrix of CRIC", LINKS, _is_matrix, reader(numbered, _closeness))
METRICS_1 = Form("network metrics, a list of links", LINKS, _is_first_generation, reader(numbered, _first_generation))
METRICS_2 = Form(
    "network metrics by SOURCE:DESTINATION", LINKS, _is_second_generation, reader(named, _second_generation)
)
