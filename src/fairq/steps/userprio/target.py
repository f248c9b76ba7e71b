"""Factors that give requested shares: ``userprio --target alice=50%``.

In steady state, a submitter's share of a contended pie is inversely proportional to the square root of its factor:
twice the share needs a fourth of the factor. The slices of the next cycle differ, since they use today's priorities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.common.quantities import counted, percentage
from fairq.common.records import Actor
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.factors import MINIMUM_FACTOR
from fairq.engine.accounting.identity import ROOT_GROUP, is_group_name
from fairq.engine.accounting.priority import MINIMUM_PRIORITY, real_priority
from fairq.engine.negotiation.pool import pie_of
from fairq.engine.simulation.longrun import factors_for, long_run_use
from fairq.engine.simulation.steady import steady_shares
from fairq.errors.base import InvalidNameError, UsageError
from fairq.errors.simulation import InvalidChangeError, UnreachableShareError
from fairq.state.connection import reading
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.load import LoadedPool, load_pool
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.quotas.forecast import Forecaster
from fairq.steps.simulate.whatif import requested_weights

if TYPE_CHECKING:
    from fairq.settings import Settings

_ACTIVE = 2
"""Half-lives after the last use during which a submitter still counts as competing."""

_TOLERANCE = 1e-9
_FEWEST_SLOTS, _MOST_SLOTS = 100, 1000
"""Number of slots of the simulated pool that verifies the shares: enough for precision, few enough to be quick."""

_SLOTS_OF_SMALLEST = 3


class Entry(Struct, frozen=True):
    """One submitter, before and after.

    Each share is the long-run share of the pie if all have endless jobs: before, after, and as simulated. *asks* is the
    slot weight that its jobs would use now. *leased* tells whether its factor is a lease. *ceiling* is -1 if none.
    """

    name: str
    is_target: bool
    factor_before: float
    factor_after: float
    share_before: float
    share_after: float
    share_simulated: float
    asks: float
    leased: bool
    ceiling: int


class Plan(Struct, frozen=True):
    """The factors for the wanted shares. *pie* is the slot weight of the pool, or of *group*.

    *complete*: the wanted shares add up to 100 %.
    """

    entries: Sequence[Entry]
    group: str
    pie: float
    half_life: float
    scaled: bool
    complete: bool = False


def read_targets(texts: Sequence[str]) -> dict[str, float]:
    """Return the shares in *texts* (``alice=50%``, ``bob=0.25``) by name; raises InvalidChangeError."""
    targets: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        share = percentage(value)
        if share is None:
            try:
                share = float(value)
            except ValueError:
                share = math.nan
        if not name or not 0 < share <= 1:
            raise InvalidChangeError(
                option="--target", value=text, problem="not a share", cure="give NAME=SHARE, such as alice=50%"
            )
        if name in targets:
            raise InvalidChangeError(
                option="--target", value=text, problem=f"{name} is given twice", cure="give one share"
            )
        targets[name] = share
    return targets


def plan_targets(
    path: Path,
    settings: Settings,
    targets: Mapping[str, float],
    actor: Actor,
    *,
    all_: bool = False,
) -> Plan:
    """Return the factors that give *targets* in the long run.

    With *all_*, the factors of the other submitters in the pie may change: if the shares need factors below 1, all
    factors are multiplied by the same number.

    Raises:
        UnreachableShareError: no factors of at least 1 give these shares.
        InvalidNameError: a name is not that of a submitter.
        UsageError: the submitters are in different accounting groups.
    """
    with reading(path) as state:
        pool = load_pool(state, settings, actor.time)
        accountant = pool.accountant
        shares_wanted = {_full_name(name, pool): share for name, share in targets.items()}
        group = _common_group(accountant, shares_wanted)
        pie = pie_of(pool.slots.ads, negotiation_policy(settings))
        if group != ROOT_GROUP:
            figures = Forecaster(state, settings, actor.time).groups(settings)
            pie = next((group_figures.allocated for group_figures in figures if group_figures.group == group), pie)
    asks = requested_weights(pool, negotiation_policy(settings))
    others = _others(pool, shares_wanted, group, asks, actor.time)
    before = {name: accountant.priority_factor(name) for name in (*shares_wanted, *others)}
    after, scaled = _factors(shares_wanted, {name: before[name] for name in others}, before, pie, scale=all_)
    shares = {key: _shares(values, pie) for key, values in (("before", before), ("after", after))}
    smallest = min(shares["after"].values())
    slots = min(_MOST_SLOTS, max(_FEWEST_SLOTS, math.ceil(_SLOTS_OF_SMALLEST / max(smallest, 1e-6))))
    priorities = {name: real_priority(accountant.record(name)) * slots / max(pie, 1.0) for name in after}
    simulated = steady_shares(after, priorities, slots, accounting_policy(settings), negotiation_policy(settings))
    entries = [
        Entry(
            name=name,
            is_target=name in shares_wanted,
            factor_before=before[name],
            factor_after=after[name],
            share_before=shares["before"][name],
            share_after=shares["after"][name],
            share_simulated=simulated[name],
            asks=asks.get(name, 0.0),
            leased=accountant.record(name).factor_lease is not None,
            ceiling=accountant.record(name).ceiling,
        )
        for name in after
    ]
    complete = abs(sum(shares_wanted.values()) - 1) <= _TOLERANCE
    return Plan(entries, group, pie, accountant.policy.priority_halflife, scaled, complete)


def _full_name(name: str, pool: LoadedPool) -> str:
    """Return the submitter of a full name, or of a name without its domain if it is unique."""
    known_names = {record for record in pool.accountant.records if not is_group_name(record)}
    known_names |= {queue.name for queue in pool.jobs.queues}
    if name in known_names:
        return name
    matching = sorted(submitter for submitter in known_names if submitter.rpartition("@")[0] == name)
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise InvalidNameError(what="the submitter", value=name, expected=f"give one of {', '.join(matching)}")
    if "@" in name and name.isprintable() and " " not in name:
        return name
    raise InvalidNameError(what="the submitter", value=name, expected="give a submitter with jobs, or user@domain")


def _common_group(accountant: Accountant, names: Mapping[str, float]) -> str:
    groups = {accountant.group_of(name) for name in names}
    if len(groups) > 1:
        raise UsageError(
            message=f"the targets are in different accounting groups ({', '.join(sorted(groups))}); give those of one"
        )
    return groups.pop()


def _others(
    pool: LoadedPool, shares_wanted: Mapping[str, float], group: str, asks: Mapping[str, float], now: int
) -> list[str]:
    """Return the other competitors in the pie: submitters with jobs, or with use within `_ACTIVE` half-lives."""
    accountant = pool.accountant
    since = now - _ACTIVE * accountant.policy.priority_halflife
    recent = {
        record.name
        for record in accountant.records.values()
        if not is_group_name(record.name) and (record.last_usage_time >= since or record.resources_used)
    }
    names = {name for name in recent | asks.keys() if accountant.group_of(name) == group}
    return sorted(names - shares_wanted.keys())


def _factors(
    shares_wanted: Mapping[str, float],
    others: Mapping[str, float],
    before: Mapping[str, float],
    pie: float,
    *,
    scale: bool,
) -> tuple[dict[str, float], bool]:
    """Return the factors of all submitters that give *shares_wanted*, and whether those of the others had to change."""
    total = sum(shares_wanted.values())
    if total > 1 + _TOLERANCE or (others and total > 1 - _TOLERANCE):
        name = max(shares_wanted, key=lambda target: shares_wanted[target])
        reason = "the shares add up to more than 100 %"
        if total <= 1 + _TOLERANCE:
            reason = f"nothing would be left for {counted(len(others), 'other submitter')}"
        raise UnreachableShareError(
            name=name,
            share=_percent(shares_wanted[name]),
            reason=reason,
            reachable=_percent(_most(name, shares_wanted, others, pie)),
        )
    needed = dict(zip(shares_wanted, factors_for(list(shares_wanted.values()), list(others.values())), strict=True))
    if others and pie > 0:
        level = _level(others, (1 - total) * pie)
        needed = {name: _factor_at(level, share * pie) for name, share in shares_wanted.items()}
    if not others:
        largest = max(shares_wanted, key=lambda target: shares_wanted[target])
        needed = {name: factor * before[largest] for name, factor in needed.items()}
    minimum = min(needed.values())
    if minimum >= MINIMUM_FACTOR * (1 - _TOLERANCE):
        return {**{name: max(MINIMUM_FACTOR, factor) for name, factor in needed.items()}, **others}, False
    if scale or not others:
        return {name: factor / minimum for name, factor in {**needed, **others}.items()}, bool(others)
    name = min(needed, key=lambda target: needed[target])
    raise UnreachableShareError(
        name=name,
        share=_percent(shares_wanted[name]),
        reason=f"it needs a factor of {needed[name]:.3g}, and factors begin at 1; with --scale-all the others' rise",
        reachable=_percent(_most(name, shares_wanted, others, pie)),
    )


def _level(others: Mapping[str, float], total: float) -> float:
    """Return the product of use and square root of the factor, equal for all *others* when they share *total*."""
    uses = long_run_use(total, list(others.values()), [math.inf] * len(others))
    use, factor = max(zip(uses.tolist(), others.values(), strict=True))
    return math.sqrt(max(use, MINIMUM_PRIORITY) * use * factor)


def _factor_at(level: float, use: float) -> float:
    """Return the factor that gives this *use*; below half a slot, the priority does not fall with the use."""
    return level**2 / (max(use, MINIMUM_PRIORITY) * use)


def _most(name: str, shares_wanted: Mapping[str, float], others: Mapping[str, float], pie: float) -> float:
    """Return the largest share that *name* can reach: with a factor of 1 and unchanged factors of the others."""
    if not others:
        return 1.0
    factors = {name: MINIMUM_FACTOR, **others}
    return _shares(factors, pie)[name]


def _shares(factors: Mapping[str, float], pie: float) -> dict[str, float]:
    total = pie if pie > 0 else 1e6
    uses = long_run_use(total, list(factors.values()), [math.inf] * len(factors))
    return dict(zip(factors, (uses / total).tolist(), strict=True))


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"
