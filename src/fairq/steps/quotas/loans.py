"""Who uses slots above the quota of its group, now and in the past; it follows from claims, runs and quotas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fairq.engine.accounting.identity import assigned_group
from fairq.engine.quotas.loans import Stay, borrowed_charges, borrowed_until
from fairq.state import claims, report_figures
from fairq.state.connection import State
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.quotas.in_use import in_use

if TYPE_CHECKING:
    from fairq.settings import Settings


def borrowed_slots(state: State, settings: Settings, now: int) -> dict[int, Stay]:
    """Return the slots by number that groups use above their quotas at *now*, with that use; none without groups.

    Raises SettingValueError for an invalid expression.
    """
    if not settings.groups:
        return {}
    used, quotas = in_use(state, settings, now)
    groups = accounting_policy(settings).group_names
    group_of = {name: assigned_group(name, groups) for name in {charge.submitter for charge in used.values()}}
    return borrowed_charges(used, group_of.__getitem__, quotas)


def borrowed_jobs(state: State, settings: Settings, now: int) -> frozenset[tuple[str, int, int]]:
    """Return the jobs of the queue on these slots: schedd, cluster and proc of each."""
    borrowing = claims.of_slots(state, borrowed_slots(state, settings, now))
    return frozenset(claim.key for claim in borrowing if claim.cluster is not None)


def borrowed_runs(
    state: State, settings: Settings, since: int, until: int, now: int
) -> Iterator[tuple[str, int, int, float]]:
    """Yield what groups used above their present quotas from *since* to *until*: submitter, start, end, slot weight.

    Runs that have not ended are known up to *now*. Nothing is yielded without groups.
    """
    if not settings.groups:
        return
    groups = accounting_policy(settings).group_names
    runs = list(report_figures.ran(state, since, until, -1, now))
    stays = [Stay(assigned_group(name, groups), weight, start, end) for name, _, start, end, weight in runs]
    for (name, _, start, end, weight), borrowed in zip(
        runs, borrowed_until(stays, in_use(state, settings, now)[1]), strict=True
    ):
        if borrowed is None or borrowed > start:
            yield name, start, end if borrowed is None else borrowed, weight


def borrowed_weights(state: State, settings: Settings, now: int) -> dict[str, float]:
    """Return the slot weight that each group's own users use above its quota at *now*; only those that do."""
    weights: dict[str, float] = defaultdict(float)
    for stay in borrowed_slots(state, settings, now).values():
        weights[stay.group] += stay.weight
    return weights
