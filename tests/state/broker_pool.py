"""Records of the brokerage for the tests of the state: something of every kind."""

from __future__ import annotations

from typing import Any

from fairq.columns.broker.column import Kind, value_of
from fairq.columns.broker.kinds import STORED
from fairq.state import broker_cycles, broker_data
from fairq.state.broker_cycles import BrokerCycle, TaskVerdict
from fairq.state.connection import State


def sample(kind: Kind, number: int) -> tuple[Any, ...]:
    """A record: the first has a value in every column, the second what stands for none."""
    values: dict[str, Any] = {
        "text": f"some {number}",
        "integer": number,
        "real": number + 0.5,
        "boolean": True,
        "time": 100 + number,
        "list": ["a", "b"],
        "object": {"a": [1, None]},
        "objects": [{"a": 2.5}],
    }
    return tuple(
        value_of(one, (one.words[0] if one.words else values[one.type]) if number == 1 or one.key else None)
        for one in kind.columns
    )


def fill_broker(state: State) -> None:
    """Two records of every kind, and a run that brokered two tasks."""
    for kind in STORED:
        broker_data.store(state, kind, [sample(kind, number) for number in (1, 2)])
    broker_cycles.add(state, BrokerCycle(1, 200, "panda", {"queues": ["A"]}))
    broker_cycles.add_verdicts(state, [TaskVerdict(1, 1, "pending", b"\0\xff"), TaskVerdict(2, 1, "assigned", b"")])
