"""Lists from the state: records of a kind, pseudo queues, nuclei, and likely misconfigurations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairq.columns.broker.column import Kind, UnfitError, value_of
from fairq.columns.broker.places import QUEUES
from fairq.engine.brokerage.criteria.nucleus import ROLE, nucleus_of
from fairq.engine.brokerage.lint.finding import Finding
from fairq.engine.brokerage.lint.queues import lint
from fairq.engine.brokerage.pool.columns import Pool, candidates_of
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.pool.world import World
from fairq.errors.broker import NoSuchRecordError
from fairq.state import broker_data
from fairq.state.connection import State, reading
from fairq.steps.broker.world import load_queues, load_relations, load_storages, load_types, load_world


def list_records(path: Path, kind: Kind, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return all records, or those whose first column is one of *keys*, in order.

    Raises NoSuchRecordError for a key without a record.
    """
    with reading(path) as state:
        rows = _rows(state, kind, keys) if keys else broker_data.load(state, kind)
    return [dict(zip(kind.positions, row, strict=True)) for row in rows]


def _rows(state: State, kind: Kind, keys: Sequence[str]) -> list[broker_data.Row]:
    first = kind.columns[0]
    rows = []
    for key in dict.fromkeys(keys):
        try:
            matching = broker_data.select(state, kind, first.name, [value_of(first, key)])
        except UnfitError:
            matching = []
        if not matching:
            raise NoSuchRecordError(kind=kind.name, column=first.name, key=key)
        rows += matching
    return rows


Record = dict[str, Any]


def pseudo_queues(path: Path) -> list[Record]:
    """Return the pseudo queues that the brokerage derives from every unified queue."""
    with reading(path) as state:
        queues = candidates_of(load_queues(state).values(), load_types(state))
    return [
        {
            "queue": queue.name,
            "unified": queue.unit,
            "resource_type": queue.resource_type,
            "status": queue.status,
            "corecount": queue.corecount,
            "minrss": queue.minrss,
            "maxrss": queue.maxrss,
            "maxwdir": queue.maxwdir,
            "maxtime": queue.maxtime,
        }
        for queue in sorted(queues, key=lambda queue: (queue.unit, queue.name))
        if queue.resource_type
    ]


def nuclei(path: Path, rules: Rules) -> list[Record]:
    """Return the nuclei under *rules*: sites with that role, with their queues and output endpoints."""
    with reading(path) as state:
        world = World(
            queues=load_queues(state),
            resource_types=load_types(state),
            storages=load_storages(state),
            relations=load_relations(state),
        )
    pool = Pool(world, rules)
    sites = sorted({queue.site for queue in pool.queues if queue.role == ROLE})
    records = []
    for site in sites:
        site_nucleus = nucleus_of(pool, site)
        members = [queue.unit for queue, is_member in zip(pool.queues, site_nucleus.members, strict=True) if is_member]
        sharing = [queue.unit for queue, shares in zip(pool.queues, site_nucleus.sharing, strict=True) if shares]
        output = site_nucleus.output
        records.append(
            {
                "nucleus": site,
                "queues": list(dict.fromkeys(members)),
                "output": None if output is None else output.rse,
                "write_wan": None if output is None else output.activities.get("write_wan"),
                "bareNucleus": site_nucleus.bare,
                "sharing": list(dict.fromkeys(name for name in sharing if name not in members)),
            }
        )
    return records


def find_misconfigurations(path: Path, rules: Rules, names: Sequence[str], now: int) -> tuple[list[Finding], int]:
    """Return the findings about the queues under *rules*, by queue, and how many queues were checked.

    All queues are checked, or those named.

    Raises NoSuchRecordError for an unknown queue.
    """
    with reading(path) as state:
        world = load_world(state, now, [])
        published = {name: _fields(cric) for name, cric in broker_data.load(state, QUEUES, ["name", "cric"])}
    for name in names:
        if name not in world.queues:
            raise NoSuchRecordError(kind=QUEUES.name, column="name", key=name)
    chosen = set(names)
    findings = [finding for finding in lint(world, rules, published) if not chosen or finding.queue in chosen]
    return findings, len(chosen) or len(world.queues)


def _fields(cric: Any) -> dict[str, Any]:
    return {str(name).lower(): value for name, value in cric.items()} if isinstance(cric, dict) else {}
