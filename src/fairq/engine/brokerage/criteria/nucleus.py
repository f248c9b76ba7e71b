"""The nucleus that receives a task's output, and its relation to each queue (docs/panda.md, Queues and Production)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Details, Figures, Reason, Refusal, Refusals, Values, refuses, weighs
from fairq.engine.brokerage.pool.columns import Booleans, Floats, Pool
from fairq.engine.brokerage.pool.flags import flags_of, runs, runs_all_of
from fairq.engine.brokerage.pool.storage import DEFAULT, Endpoints, endpoints_of
from fairq.engine.brokerage.pool.world import PRODUCTION, Storage, World

METRICS_VALID = 3600.0
"""Seconds after which a link metric is ignored."""

WINDOWS = {"dashb_mbps_1d": 24 * 3600.0, "dashb_mbps_1w": 7 * 24 * 3600.0}
"""The same for throughput averaged over more than an hour (rules documented, ``network_age``): the averaging time."""

ROLE, SATELLITE = "nucleus", "satellite"

INTENSIVE = 500
"""I/O intensity in kB/s above which queues of the nucleus get weight 4, unless the task sets it."""

NEAR_WEIGHT = 4
URGENT_NEAR_WEIGHT = 100

AWAY = Reason("t1weight")
NOT_HERE, CHAINS_ONLY = Reason("full_chain"), Reason("not_full_chain")


class Nucleus(NamedTuple):
    """One nucleus and its relation to the queues; arrays have one value per row.

    Args:
        name: its site.
        members: queues of the nucleus.
        sharing: online queues whose default output storage the nucleus can read, and that accept all the work that its
            first queue accepts.
        at_nucleus: queues whose satellite is the nucleus itself: their output needs no transfer.
        output: the default output endpoint of its first queue; None if it has none.
        bare: ``only`` or ``allow`` for a bare nucleus, by what its first queue says.
        metrics: by satellite the fresh metrics of its link to the nucleus.
        totals: by metric the sum over all satellites.
        is_known: whether it has queues.
    """

    name: str
    members: Booleans
    sharing: Booleans
    at_nucleus: Booleans
    output: Storage | None
    bare: str | None
    metrics: Mapping[str, Mapping[str, float]]
    totals: Mapping[str, float]
    is_known: bool

    @property
    def near(self) -> Booleans:
        """Queues of the nucleus and those that share its storage."""
        return self.members | self.sharing


def nucleus_of(pool: Pool, name: str | None) -> Nucleus:
    """Return the nucleus called *name*; a nucleus without queues has no storage and no queues near it."""
    return pool.under(("nucleus", name), lambda: _nucleus(pool, name or ""))


class Satellites(NamedTuple):
    """The sites of the default output endpoints, and the number of the site of each row; an empty name is none."""

    sites: tuple[str, ...]
    of_rows: NDArray[np.intp]

    def spread(self, values: Sequence[float]) -> Floats:
        """Return a number that is given by site as one value per row."""
        return np.array(values, dtype=np.float64)[self.of_rows]

    def are(self, name: str) -> Booleans:
        """Return for each row whether its satellite is the site *name*."""
        return np.array([site == name for site in self.sites], dtype=np.bool_)[self.of_rows]


def satellites(pool: Pool) -> Satellites:
    """Return the site of each row's default output endpoint."""

    def make() -> Satellites:
        site_by_unit = [_output_site(pool.world, name) for name in pool.unit_names]
        sites = tuple(sorted(set(site_by_unit)))
        numbers = {site: number for number, site in enumerate(sites)}
        return Satellites(sites, np.array([numbers[site] for site in site_by_unit], dtype=np.intp)[pool.unit_of])

    return pool.kept("satellites", make)


def _output_site(world: World, name: str) -> str:
    # The roles of the endpoint (LAN access) are ignored, as in PanDA's map of output storage.
    writers = sorted(world.relations.get(name, ()), key=lambda relation: relation.order_write)
    used = (
        relation.rse
        for relation in writers
        if relation.default_write and relation.scope == DEFAULT and relation.rse in world.storages
    )
    rse = next(used, None)
    return "" if rse is None else world.storages[rse].site


def satellite_of(pool: Pool, row: int) -> str:
    """Return the site of the default output endpoint of one row."""
    output_sites = satellites(pool)
    return output_sites.sites[int(output_sites.of_rows[row])]


def link_numbers(pool: Pool, destination: Nucleus, key: str) -> Floats:
    """Return a metric of the link from each row's satellite to the nucleus; NaN where it is not known."""

    def make() -> Floats:
        output_sites = satellites(pool)
        return output_sites.spread([destination.metrics.get(site, {}).get(key, np.nan) for site in output_sites.sites])

    return pool.under(("link", destination.name, key), make)


def down_nuclei(pool: Pool) -> frozenset[str]:
    """Return the nuclei whose default output endpoint other sites cannot write to."""

    def make() -> frozenset[str]:
        names = {queue.site for queue in pool.queues if queue.role == ROLE}
        outputs = {name: nucleus_of(pool, name).output for name in names}
        return frozenset(name for name, output in outputs.items() if output and not output.is_up("write_wan"))

    return pool.under("down nuclei", make)


def _nucleus(pool: Pool, name: str) -> Nucleus:
    used = runs(pool, PRODUCTION) & bool(name)
    roles = [queue.role if queue.site == name else None for queue in pool.queues]
    members = np.array([role == ROLE for role in roles], dtype=np.bool_) & used
    if not members.any():
        # A satellite can be the destination as well (PanDA SiteMapper.getNucleus).
        members = np.array([role == SATELLITE for role in roles], dtype=np.bool_) & used
    row = _first_queue(pool, members)
    first = Endpoints() if row is None else endpoints_of(pool)[pool.unit_of[row]]
    inputs = {storage.rse for storage in first.read}
    links = pool.under("links", lambda: _links_by_nucleus(pool)).get(name, _Links({}, {}))
    outputs = [endpoints.default_write.rse if endpoints.default_write else None for endpoints in endpoints_of(pool)]
    return Nucleus(
        name=name,
        members=members,
        sharing=pool.unit_flags(("writes", name), lambda unit: outputs[pool.unit_numbers[unit.name]] in inputs)
        & pool.flags("online", lambda queue: queue.status == "online")
        & (False if row is None else runs_all_of(pool, row)),
        at_nucleus=satellites(pool).are(name) & bool(name),
        output=first.default_write,
        bare=None if row is None else flags_of(pool)[row].bare_nucleus,
        metrics=links.metrics,
        totals=links.totals,
        is_known=bool(members.any()),
    )


def _first_queue(pool: Pool, members: Booleans) -> int | None:
    # The first queue in the order of the pool's list, not by name.
    rows = {pool.queues[row].unit: int(row) for row in np.flatnonzero(members)[::-1]}
    return next((rows[name] for name in pool.world.queues if name in rows), None)


class _Links(NamedTuple):
    metrics: dict[str, dict[str, float]]
    totals: dict[str, float]


def _links_by_nucleus(pool: Pool) -> dict[str, _Links]:
    links_by_nucleus: dict[str, _Links] = {}
    windows = WINDOWS if pool.rules.network_age == "window" else {}
    for link in pool.world.links:
        if link.measured is None or pool.world.now - link.measured <= windows.get(link.key, METRICS_VALID):
            metrics, totals = links_by_nucleus.setdefault(link.nucleus, _Links({}, {}))
            metrics.setdefault(link.source, {})[link.key] = link.value
            totals[link.key] = totals.get(link.key, 0.0) + link.value
    return links_by_nucleus


def stop_for_nucleus(ask: Ask) -> tuple[str, Details] | None:
    """Return the reason to stop a task whose nucleus is unknown, or None."""
    name = ask.task.nucleus
    return None if not name or nucleus_of(ask.pool, name).is_known else ("unknown_nucleus", {"nucleus": name})


@refuses(
    "t1weight",
    "T1 weight check",
    AWAY,
    reads=lambda ask: (ask.task.nucleus if ask.stays_near else None, ask.stays_near),
)
def t1weight(pool: Pool, name: str | None, stays: bool) -> Refusals:
    """Refuse queues that neither belong to the nucleus nor share its storage if ``t1Weight`` is negative."""
    if stays:
        yield Refusal(AWAY, ~nucleus_of(pool, name).near, lambda row: {"nucleus": name, "site": pool.queues[row].site})


def _reads_chain(ask: Ask) -> Values | None:
    return (ask.task.nucleus, ask.task.has_rule("FU")) if ask.task.nucleus and ask.rules.full_chain else None


@refuses("full_chain", "full chain check", NOT_HERE, CHAINS_ONLY, reads=_reads_chain)
def full_chain(pool: Pool, name: str, is_chain: bool) -> Refusals:
    """Refuse queues of a bare nucleus for other tasks than full chains, and other queues for full chains."""
    destination = nucleus_of(pool, name)
    if is_chain and destination.bare is not None:
        yield Refusal(NOT_HERE, ~destination.members, lambda row: {"nucleus": name, "bareNucleus": destination.bare})
    else:
        only = np.array([flags.bare_nucleus == "only" for flags in flags_of(pool)], np.bool_)
        yield Refusal(CHAINS_ONLY, only, lambda row: {"bareNucleus": "only"})


def near_weight(ask: Ask) -> float:
    """Return the factor for queues near the nucleus: rule *TW*, otherwise 1.

    Under the rules panda, it is 4 times for much I/O, and 100 times for urgent tasks.
    """
    task = ask.task
    weight = float(task.rule("TW") or 0)
    if weight == 0:
        is_intensive = ask.rules.near_weight_of_io and (task.io_intensity or 0) > INTENSIVE
        weight = NEAR_WEIGHT if is_intensive else 1
    urgent = ask.is_high_priority and ask.preassigned is None and not task.event_service
    if urgent and not ask.rules.urgent_needs_nucleus:
        return max(weight, URGENT_NEAR_WEIGHT)
    return max(weight, 1)


@weighs("nucleus", reads=lambda ask: (ask.task.nucleus, near_weight(ask)))
def near_nucleus(pool: Pool, name: str | None, factor: float) -> tuple[Floats | None, Figures]:
    """Weigh queues of the nucleus, and queues that share its storage, by *factor*."""
    near = nucleus_of(pool, name).near
    weight = None if factor == 1 else np.where(near, factor, 1.0)
    return weight, lambda row: {"t1W": factor} if near[row] else {}
