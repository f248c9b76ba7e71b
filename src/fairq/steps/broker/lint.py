"""Find likely misconfigurations of the queues, without writing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairq.columns.broker.places import QUEUES
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.lint.finding import Finding
from fairq.engine.brokerage.lint.pool import lint
from fairq.errors.broker import NoSuchRecordError
from fairq.state import broker_data
from fairq.state.connection import reading
from fairq.steps.broker.world import load_world


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
    found = [one for one in lint(world, rules, published) if not chosen or one.queue in chosen]
    return found, len(chosen) or len(world.queues)


def _fields(cric: Any) -> dict[str, Any]:
    return {str(name).lower(): value for name, value in cric.items()} if isinstance(cric, dict) else {}
