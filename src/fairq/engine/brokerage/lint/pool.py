"""All likely misconfigurations of a pool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.lint.finding import Finding
from fairq.engine.brokerage.lint.policies import policy_findings
from fairq.engine.brokerage.lint.queues import (
    flag_findings,
    limit_findings,
    storage_findings,
    stray_findings,
    word_findings,
)
from fairq.engine.brokerage.lint.software import release_findings, software_findings
from fairq.engine.brokerage.pool.world import World


def lint(world: World, rules: Rules, further: Mapping[str, Mapping[str, Any]] | None = None) -> list[Finding]:
    """Return the findings about the queues of *world* under *rules*, by queue.

    *further*: other fields of CRIC, by queue.
    """
    return [*_queue_findings(world, rules, further or {}), *_software_findings(world, rules), *stray_findings(world)]


def _queue_findings(world: World, rules: Rules, further: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    for name in sorted(world.queues):
        queue = world.queues[name]
        yield from word_findings(queue, rules, further.get(name, {}))
        yield from limit_findings(queue, rules, world.resource_types)
        yield from release_findings(queue, rules, world.software)
        yield from policy_findings(queue, rules)
        yield from flag_findings(queue)
        yield from storage_findings(queue, world)


def _software_findings(world: World, rules: Rules) -> Iterator[Finding]:
    for name in sorted(world.software):
        yield from software_findings(name, rules, world.software[name])
