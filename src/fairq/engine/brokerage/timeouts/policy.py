"""The limits of timeouts and rebrokerage from gdpconfig."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from fairq.engine.brokerage.flow.rules import Rules

HOUR = 3600.0
DAY = 24 * HOUR

_HEARTBEAT = "watcher.HEARTBEAT_TIMEOUT_"
_OF_GROUP = "rebroker.ANALY_TIMEOUT_"
_OF_SHARE = "rebroker.FAST_REBRO_THRESHOLD_NQUEUE_"
_FRACTION = "rebroker.FAST_REBRO_THRESHOLD_NQUEUE_FRAC"


class TimeoutPolicy(Struct, frozen=True):
    """The limits in use; durations are seconds.

    Args:
        rules: whether PanDA's brokerage page or its code applies where they differ.
        defined, holding: ``job_timeout.TIMEOUT_defined`` and ``TIMEOUT_holding``.
        heartbeat: ``watcher.HEARTBEAT_TIMEOUT_*`` by workflow; always holds production and analysis.
        rebroker_sets, rebroker_sets_of: ``rebroker.ANALY_TIMEOUT``, and by working group.
        fast_ratio, fast_fraction: ``rebroker.FAST_REBRO_THRESHOLD_NQNR_RATIO`` and ``..._NQUEUE_FRAC``.
        fast_queued: ``rebroker.FAST_REBRO_THRESHOLD_NQUEUE_*`` by share; other shares are exempt.
    """

    rules: Rules
    defined: float = 4 * HOUR
    holding: float = 48 * HOUR
    heartbeat: Mapping[str, float] = field(default_factory=lambda: {"production": 2 * HOUR, "analysis": 2 * HOUR})
    rebroker_sets: float = 12 * HOUR
    rebroker_sets_of: Mapping[str, float] = field(default_factory=dict)
    fast_ratio: float = 3.0
    fast_fraction: float = 0.3
    fast_queued: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Mapping[str, Any], rules: Rules) -> TimeoutPolicy:
        """Return the limits in *config* (``component.KEY``: value, in hours; docs/panda.md, Queues).

        0, null and other values that are not numbers select the default. For heartbeats and ``ANALY_TIMEOUT``, 0 is a
        limit of 0.
        """
        heartbeat = {"production": 2 * HOUR, "analysis": 2 * HOUR}
        by_group: dict[str, float] = {}
        by_share: dict[str, float] = {}
        numbers = {key: value for key, value in config.items() if isinstance(value, (int, float))}
        for key, value in numbers.items():
            if key.startswith(_HEARTBEAT):
                heartbeat[key.removeprefix(_HEARTBEAT)] = float(value) * HOUR
            elif key.startswith(_OF_GROUP) and value:
                by_group[key.removeprefix(_OF_GROUP)] = float(value) * HOUR
            elif key.startswith(_OF_SHARE) and key != _FRACTION and value:
                by_share[key.removeprefix(_OF_SHARE)] = float(value)
        sets = numbers.get("rebroker.ANALY_TIMEOUT")
        return cls(
            rules=rules,
            defined=float(numbers.get("job_timeout.TIMEOUT_defined") or 4) * HOUR,
            holding=float(numbers.get("job_timeout.TIMEOUT_holding") or 48) * HOUR,
            heartbeat=heartbeat,
            rebroker_sets=12 * HOUR if sets is None else float(sets) * HOUR,
            rebroker_sets_of=by_group,
            fast_ratio=float(numbers.get("rebroker.FAST_REBRO_THRESHOLD_NQNR_RATIO") or 3),
            fast_fraction=float(numbers.get(_FRACTION) or 0.3),
            fast_queued=by_share,
        )

    def heartbeat_of(self, workflow: str) -> float:
        """Return the seconds within which a job of a queue with *workflow* must send a heartbeat."""
        return self.heartbeat.get(workflow, self.heartbeat["production"])
