"""Load the input of a cycle: the current slots, the queues, the accounts."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from fairq.columns.claims import ClaimTable
from fairq.columns.idle_jobs import Kinds
from fairq.common.records import AccountingRecord
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.charges import Charges
from fairq.engine.accounting.claim_charges import charges_in
from fairq.engine.accounting.leases import ExpiredLease, expire_leases
from fairq.engine.classad import AdColumns
from fairq.engine.negotiation.pieces import Carved
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import PoolSlots
from fairq.engine.negotiation.preemption import HOUR
from fairq.engine.negotiation.queue import Jobs, SubmitterQueue
from fairq.state import claims, idle_jobs, job_ads, job_kinds, jobs, meta, runs
from fairq.state.connection import State
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.accounts import load_accountant, settings_of_pool
from fairq.steps.cycle.shared_ads import SharedAds
from fairq.steps.evaluation.budget import evaluation_budget
from fairq.steps.pool.current_slots import ClaimedAds, load_current
from fairq.steps.pool.imported_parts import parts_of
from fairq.steps.pool.reservation_clause import reserved_rows

if TYPE_CHECKING:
    from fairq.settings import Settings


ROUND_ROBIN = "round_robin_times"
"""The state's key of the times at which each group last got a remainder; used only without slot weights."""

GROUP_NAMES = "group_names"
"""The state's key of the groups of the last cycle: if the groups have changed, their use is counted again."""


def load_round_robin_times(state: State) -> dict[str, int]:
    """Return the time at which each group last got a remainder, as the last cycle stored it."""
    stored = meta.get(state, ROUND_ROBIN)
    times: dict[str, int] = json.loads(stored) if stored else {}
    return times


def load_group_names(state: State) -> tuple[str, ...]:
    """Return the names of the groups whose use the last cycle charged."""
    return tuple((meta.get(state, GROUP_NAMES) or "").split())


def policy_of_pool(policy: NegotiationPolicy, state: State, settings: Settings, now: int) -> NegotiationPolicy:
    """Return *policy* for the next cycle on *state* at *now*.

    It gets the number of jobs that each schedd runs, the recent preemptions, and the groups that ads may name.

    The current negotiator knows only the groups whose quotas an earlier cycle of the same process has settled.
    """
    policy = replace(policy, max_jobs_running=meta.load(state, meta.MAX_JOBS_RUNNING, dict[str, int]) or {})
    if policy.max_preemptions_per_hour is not None:
        policy = replace(policy, preempted_lately=runs.preempted_since(state, now - HOUR))
    if settings["negotiator.remote_group_at_once"]:
        return policy
    return replace(policy, known_groups=frozenset(name.lower() for name in load_group_names(state)))


class AccountsBefore(Struct, frozen=True):
    """Other input of a decision, as it was before the cycle began to change it.

    Args:
        records: the columns of every accounting record, by name.
        last_update: the time up to which everybody was charged, in seconds since 1970.
        round_robin: the time at which each group last got a remainder.
        groups: the groups whose use the last cycle charged.
    """

    records: dict[str, tuple[Any, ...]]
    last_update: int
    round_robin: dict[str, int]
    groups: tuple[str, ...]

    @property
    def use_times(self) -> dict[str, tuple[int, int]]:
        """The times of the first and the last use of each record, by name."""
        began, seen = (_COLUMNS.index(name) for name in ("begin_usage_time", "last_usage_time"))
        return {name: (columns[began], columns[seen]) for name, columns in self.records.items()}


_COLUMNS = AccountingRecord.__struct_fields__


def _accounts_before(state: State, accountant: Accountant) -> AccountsBefore:
    columns = attrgetter(*_COLUMNS)
    records = {name: columns(record) for name, record in accountant.records.items()}
    return AccountsBefore(records, accountant.last_update, load_round_robin_times(state), load_group_names(state))


class LoadedPool(Struct, frozen=True):
    """The data that a cycle loads from the state.

    *charged* are the charges before the cycle, *imported_parts* dynamic slots that fairq has no record of, by row.
    """

    slots: PoolSlots
    ids: list[int]
    ads: ClaimedAds
    jobs: Jobs
    claims: ClaimTable
    charged: Charges
    accountant: Accountant
    expired: list[ExpiredLease]
    imported_parts: dict[int, Carved]
    accounts_before: AccountsBefore


def load_pool(state: State, settings: Settings, now: int) -> LoadedPool:
    """Load all data that a cycle at *now* needs; expired leases are ended."""
    return read_pool(state, settings, now)()


def read_pool(state: State, settings: Settings, now: int) -> Callable[[], LoadedPool]:
    """Read the same; return a function that puts the jobs into columns, which takes longer and needs no transaction."""
    pool = load_without_jobs(state, settings, now)
    read_jobs = _read_jobs(state, pool.claims)
    return lambda: replace(pool, jobs=read_jobs())


def load_without_jobs(state: State, settings: Settings, now: int) -> LoadedPool:
    """Load the same pool without any jobs."""
    claim_table = claims.load_table(state)
    shows_draining = not settings["negotiator.count_unusable_slots"]
    stored = load_current(state, claim_table, now, shows_draining=shows_draining)
    keys, ads, carved = stored.ids, stored.ads, stored.carved
    draining = frozenset(compress(range(len(keys)), stored.draining))
    charges = charges_in(claim_table)
    charged = charges.copy()
    accountant = load_accountant(state, accounting_policy(settings_of_pool(settings, state)), charges)
    before = _accounts_before(state, accountant)
    expired = expire_leases(accountant.records.values(), now)
    if load_group_names(state) != accountant.policy.group_names:
        accountant.recount()
    columns = AdColumns(ads, now, evaluation_budget(settings))
    undivided: dict[int, Carved] = {}
    if settings["negotiator.allow_pslot_preemption"]:
        others = {number for row, number in enumerate(keys) if row not in carved}
        undivided = parts_of(PoolSlots(stored.names, keys, columns, carved=carved), ads, others)
    reserved = reserved_rows(state, lambda: {number: row for row, number in enumerate(keys)}, now)
    lasting = [reservation for reservation in reserved if reservation.lasts(now)]
    pool = PoolSlots(stored.names, keys, columns, draining, {**carved, **undivided}, lasting)
    return LoadedPool(pool, keys, ads, Jobs((), {}), claim_table, charged, accountant, expired, undivided, before)


def _read_jobs(state: State, claim_table: ClaimTable) -> Callable[[], Jobs]:
    stored = idle_jobs.load(state)
    kinds = Kinds(job_kinds.load(state))
    unknown = stored.columns["kind"] == 0
    texts = job_ads.texts(state, stored.columns["ad_id"][unknown].tolist())
    running = jobs.running_counts(state)
    weight = claim_table.weights_in_use()

    def by_column() -> Jobs:
        idle = stored.by_submitter()
        queues = [
            SubmitterQueue(
                name,
                schedd,
                running.get((name, schedd), 0),
                idle.get((name, schedd), ()),
                weight.get((name, schedd), 0.0),
            )
            for name, schedd in sorted(idle.keys() | running.keys())
        ]
        return Jobs(queues, SharedAds(state.path, stored.columns["ad_id"], texts), kinds)

    return by_column
