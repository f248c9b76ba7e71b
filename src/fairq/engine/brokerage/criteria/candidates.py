"""Which queues are candidates (docs/panda.md, Queues, Production filters and Analysis)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.criteria.selection import included_sites, rows_called, selection_of
from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Left, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.flow.pool import Pool
from fairq.engine.brokerage.pool.activity import ANALYSIS, PRODUCTION
from fairq.engine.brokerage.pool.columns import Booleans
from fairq.engine.brokerage.pool.names import is_named, matches_any
from fairq.engine.brokerage.pool.queue_kinds import runs

CANDIDATES_STAGE = "candidates"
"""The line of the stage table for the first candidates."""

AUTO = "AUTO"
"""In the list of included queues: all other queues, if none of the list is left."""

HOSPITAL_SUFFIX = "_HOSPITAL"

NO_TYPE, WRONG, TEST = Reason("no_resource_type"), Reason("wrong_type"), Reason("test_queue")
GIVEN, HOSPITAL = Reason("nonpreassigned"), Reason("hospital")
EXCLUDED, NOT_INCLUDED, CLOUD = Reason("excluded"), Reason("notincluded"), Reason("cloudmismatch")


@refuses(f"pseudo queues of {PRODUCTION}", CANDIDATES_STAGE, NO_TYPE, reads=lambda ask: ())
def pseudo_queues(pool: Pool) -> Refusals:
    """A unified queue whose slots no resource type fits has no pseudo queue that a task could go to."""
    kinds = [kind.name for kind in pool.world.resource_types]
    # Unified queues themselves are among the rows only if they have no pseudo queue.
    unified = pool.flags("unified", lambda queue: queue.is_unified)
    yield Refusal(NO_TYPE, unified, lambda row: {"corecount": pool.queues[row].corecount, "resource_types": kinds})


analysis_pseudo_queues = pseudo_queues._replace(name=f"pseudo queues of {ANALYSIS}")


def _reads_given(ask: Ask) -> Values | None:
    if ask.given is None:
        return None
    named = ask.chunk.preassigned_site or ask.task.site
    return ask.given, named, () if named else tuple(included_sites(ask.task) or ())


@refuses("given", CANDIDATES_STAGE, GIVEN, reads=_reads_given)
def given(pool: Pool, rows: frozenset[int], named: str | None, included: tuple[str, ...]) -> Refusals:
    """A pre-assigned production task goes only to its given queues."""
    others = np.ones(len(pool), np.bool_)
    others[list(rows)] = False
    yield Refusal(GIVEN, others, lambda row: {"site": named} if named else {"includedSite": list(included)})


@refuses("type", CANDIDATES_STAGE, WRONG, TEST, reads=lambda ask: () if ask.given is None else None)
def queue_type(pool: Pool) -> Refusals:
    """Production queues are candidates; under the rules documented, queues for tests only if they are given."""
    queues = pool.queues
    yield Refusal(
        WRONG,
        ~runs(pool, PRODUCTION, every=pool.rules.every_queue),
        lambda row: {"type": queues[row].type, "cloud": queues[row].cloud},
    )
    if pool.rules.exclude_test_queues:
        test = pool.flags("test name", lambda queue: "test" in queue.unit.lower())
        yield Refusal(TEST, test, lambda row: {"name": queues[row].unit})


@refuses("analysis type", CANDIDATES_STAGE, WRONG, reads=lambda ask: (selection_of(ask).candidates,), kept=False)
def analysis_queue_type(pool: Pool, candidates: Booleans) -> Refusals:
    """Only queues for analysis, and those that the task names, are candidates."""
    yield Refusal(WRONG, ~candidates, lambda row: {"type": pool.queues[row].type})


def _reads_lists(ask: Ask) -> Values:
    chosen = selection_of(ask)
    return chosen.included, chosen.excluded, ask.task.cloud


@refuses("included", "include/exclude check", EXCLUDED, NOT_INCLUDED, CLOUD, reads=_reads_lists, looks_back=True)
def included(
    pool: Pool, left: Left, listed: tuple[str, ...] | None, excluded: tuple[str, ...], cloud: str | None
) -> Refusals:
    """Queues that the user excludes or does not include, and queues of another cloud.

    AUTO in the list keeps the others if none of the list is left.
    """
    refused = pool.unit_rows([matches_any(name, excluded) for name in pool.unit_names])
    yield Refusal(EXCLUDED, refused, lambda row: {"excludedSite": list(excluded)})
    other_cloud = np.zeros(len(pool), np.bool_)
    if pool.rules.task_cloud and cloud and cloud != "any":
        other_cloud = pool.unit_rows([unit.cloud != cloud for unit in pool.units])
    if listed is not None:
        in_list = np.zeros(len(pool.units), np.bool_)
        in_list[pool.unit_of[[is_named(queue, listed) for queue in pool.queues]]] = True
        others = ~in_list[pool.unit_of]
        if AUTO in listed:
            if not (left.rows & ~others & ~refused & ~other_cloud).any():
                others = np.zeros(len(pool), np.bool_)
            else:
                others = others & ~other_cloud
        yield Refusal(NOT_INCLUDED, others, lambda row: {"includedSite": list(listed)})
    yield Refusal(CLOUD, other_cloud, lambda row: {"cloud": pool.queues[row].cloud, "task_cloud": cloud})


def _reads_preassigned(ask: Ask) -> Values | None:
    names = selection_of(ask).given
    return (names, ask.task.site) if names else None


@refuses("preassigned", "preassign check", GIVEN, reads=_reads_preassigned)
def preassigned(pool: Pool, names: tuple[str, ...], site: str) -> Refusals:
    """An analysis task goes only to its given queues."""
    yield Refusal(GIVEN, ~rows_called(pool, names), lambda row: {"site": site})


@refuses(
    "hospital", "hospital check", HOSPITAL, reads=lambda ask: () if ask.rules.hospital_last else None, looks_back=True
)
def hospital(pool: Pool, left: Left) -> Refusals | None:
    """Under the rules panda, hospital queues are used only if no other queue is left."""
    rows = pool.unit_flags("hospital", lambda unit: unit.name.endswith(HOSPITAL_SUFFIX))
    return None if rows[left.rows].all() else [Refusal(HOSPITAL, rows)]
