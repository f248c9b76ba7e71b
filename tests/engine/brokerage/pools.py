"""Small pools for PanDA's brokerage: a nucleus, and satellites that each have a storage of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace
from tests.broker_rules import DOCUMENTED, PANDA

from fairq.engine.brokerage.flow.outcome import Outcome, Verdict
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.jobs.tasks import Case, Chunk, Dataset, File, Task
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.pool.world import Pilots, Queue, Relation, Storage, World
from fairq.engine.brokerage.production import broker_production, production_plan

NOW = 1_800_000_000.0
PLAN = production_plan()

QUEUE = Queue(
    "",
    cloud="WORLD",
    type="unified",
    status="online",
    capability="score",
    workflow="push",
    corecount=1,
    maxrss=4000,
    maxtime=345600,
    corepower=10,
    releases=("AUTO",),
)

TASK = Task(
    task_id=1,
    gshare="MC",
    current_priority=500,
    processing_type="simul",
    resource_type="SCORE",
    nucleus="NUC",
    core_count=1,
    cpu_efficiency=100,
    walltime=1,
    rules={"NF": "1"},
)


def pool(*queues: Queue, **known: Any) -> World:
    """Return a pool of the nucleus NUC with the queue NUC_Q, and *queues* at sites of their own; a queue's site is
    its name unless it says otherwise, and so is the endpoint that it uses."""
    placed = [replace(QUEUE, name="NUC_Q", site="NUC", role="nucleus")]
    placed += [queue if queue.site else replace(queue, site=queue.name) for queue in queues]
    storages = {queue.site: Storage(queue.site, queue.site, space_free=100000) for queue in placed}
    defaults: dict[str, Any] = {
        "now": NOW,
        "queues": {queue.name: queue for queue in placed},
        "relations": {queue.name: (Relation(queue.site),) for queue in placed},
        "pilots": {queue.name: Pilots(5, 5) for queue in placed},
    }
    return World(**{**defaults, **known, "storages": storages | known.get("storages", {})})


def queue(name: str, **fields: Any) -> Queue:
    """Return an ordinary queue, but for *fields*."""
    return replace(QUEUE, name=name, **fields)


def task(**fields: Any) -> Task:
    """Return an ordinary task, but for *fields*; its *rules* are added to those it has."""
    rules = {**TASK.rules, **fields.pop("rules", {})}
    return replace(TASK, **fields, rules=rules)


def chunk(files: int = 0, size: float = 2**30, **fields: Any) -> Chunk:
    """Return a chunk of so many files of the dataset ``ds``, called f0, f1, ..."""
    entries = tuple(File(f"f{number}", size, 100) for number in range(files))
    return Chunk((Dataset("ds", entries),) if files else (), **fields)


def at(**counts: int) -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Return where the dataset ``ds`` is: by endpoint, how many of its first files."""
    return {"ds": {rse: frozenset(f"f{number}" for number in range(count)) for rse, count in counts.items()}}


def ask(
    world: World, asked: Task = TASK, data: Chunk | None = None, rules: Rules = DOCUMENTED, plan: Plan = PLAN
) -> Outcome:
    """Return what the production brokerage says."""
    (outcome,) = broker_production([Case(asked, data or chunk())], Pool(world, rules), plan)
    return outcome


def ask_code(
    world: World, asked: Task = TASK, data: Chunk | None = None, rules: Rules = PANDA, plan: Plan = PLAN
) -> Outcome:
    """Return what the production brokerage says under the rules of PanDA's code."""
    return ask(world, asked, data, rules, plan)


def verdict(outcome: Outcome, name: str) -> Verdict:
    """Return what became of a queue."""
    return outcome.verdict(outcome.ask.pool.rows[name])


def reason(outcome: Outcome, name: str) -> str:
    """Return why a queue is no candidate; empty if it is."""
    return verdict(outcome, name).reason


def names(outcome: Outcome) -> list[str]:
    """Return the candidates in their order."""
    return [candidate.queue for candidate in outcome.candidates]
