"""The table of timeouts, as data: jobs, start of the age, limit and action; and the limits from gdpconfig.

Sources: PanDA's brokerage page, "Timeout Rules"; the periodic cleaner of PanDA (docs/panda.md, Timeouts).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.timeouts.job import (
    ACTIVE,
    CO_JUMBO,
    EVENT_SERVICE,
    EVENT_SERVICE_MERGE,
    IN_DEFINED_TABLE,
    NOT_REASSIGNED,
    JobQueue,
    PandaJob,
)

HOUR = 3600.0
DAY = 24 * HOUR

_HEARTBEAT, _SETS = "watcher.HEARTBEAT_TIMEOUT", "rebroker.ANALY_TIMEOUT"


class TimeoutPolicy(Struct, frozen=True):
    """The limits in use: *rules*, where PanDA's brokerage page and its code differ, and PanDA's settings."""

    rules: Rules
    config: Config

    @classmethod
    def of(cls, config: Mapping[str, Any], rules: Rules) -> TimeoutPolicy:
        """Return the limits in *config* (``component.KEY``: value; docs/panda.md, Queues).

        Values that are not numbers select the default.
        """
        return cls(rules, Config({key: value for key, value in config.items() if isinstance(value, (int, float))}))

    def seconds(self, name: str, *endings: str) -> float:
        """Return a limit that is set in hours; *endings*: see `Config.number`."""
        return self.config.amount(name, *endings) * HOUR

    def heartbeat(self, workflow: str) -> float:
        """Return the seconds within which a job of a queue with *workflow* must send a heartbeat."""
        return self.seconds(_HEARTBEAT, workflow, *(["production"] if workflow != "analysis" else []))

    def sets(self, working_group: str) -> float:
        """Return the seconds that a set of a user's jobs may wait."""
        hours = self.config.given.get(f"{_SETS}_{working_group}") if working_group else None
        return float(hours) * HOUR if hours else self.seconds(_SETS)


class Code(IntEnum):
    """Why a job was ended or moved."""

    EXPIRED = 2
    WAITED_TOO_LONG = 4
    FAST_REBROKERAGE = 10
    REASSIGNED = 51
    NO_HEARTBEAT = 100
    NOT_TAKEN = 102
    NO_OUTPUT = 103


Action = Literal["kill", "fail", "rebroker"]
"""Close the job; fail it, which counts as an attempt; or close it and let the task create another one."""

Since = Literal["created", "modified", "changed", "ended", "started"]
"""The time of a job from which an age counts: creation, last heartbeat, state change, end, start."""


class Situation(NamedTuple):
    """The data that a row decides on: a job, its queue, the limits in use and the time."""

    job: PandaJob
    queue: JobQueue
    policy: TimeoutPolicy
    now: float


class TimeoutRule(Struct, frozen=True):
    """One row of the table.

    Args:
        name: its name in results, which never changes.
        states: the states of the jobs to which it applies.
        since: the times from which the age counts; the longest age is used.
        limit: the maximum age in seconds.
        applies: further conditions.
        action, code: the action, and PanDA's number for it; None if it has none.
        spared: the queues that PanDA's code exempts: ``paused`` ones, or those with ``disableReassign``.
        named: the states that the page names; None: the page has no such row.
        heard: the age counts from the last heartbeat under the rules documented as well, not from the state change.
        extra: the row applies only under the rules panda, since the page has another rule for these jobs.
    """

    name: str
    states: frozenset[str]
    since: tuple[Since, ...]
    limit: Callable[[Situation], float]
    action: Action
    code: Code | None
    applies: Callable[[Situation], bool] = lambda _: True
    spared: Literal["", "paused", "disableReassign"] = ""
    named: frozenset[str] | None = None
    heard: bool = False
    extra: bool = False

    def looks_at(self, job: PandaJob, rules: Rules) -> bool:
        """Return whether the row applies to jobs in this state."""
        if self.extra and not rules.extra_timeouts:
            return False
        return job.status in (self.named if rules.timeouts_of_state and self.named else self.states)


FAST, SETS = "fast_rebrokerage", "user_rebrokerage"
"""The two rows that compare many jobs; each has a file of its own."""

INACTIVE_AFTER = 2 * HOUR
"""Seconds without a job start after which a queue is inactive."""

_HEARD = frozenset({"running", "starting", "stagein", "stageout"})


def _after(seconds: float) -> Callable[[Situation], float]:
    return lambda _: seconds


def _setting(name: str) -> Callable[[Situation], float]:
    return lambda case: case.policy.seconds(name)


_defined, _holding = _setting("job_timeout.TIMEOUT_defined"), _setting("job_timeout.TIMEOUT_holding")


def _heartbeat(case: Situation) -> float:
    return case.policy.heartbeat(case.queue.workflow)


def _transferring_heartbeat(case: Situation) -> float:
    return _heartbeat(case) if case.policy.rules.transferring_heartbeat_of_all else case.policy.heartbeat("analysis")


def _is_watched_transfer(case: Situation) -> bool:
    return bool(case.job.sub_status) if case.policy.rules.transferring_heartbeat_of_all else case.job.of_user


def _is_high_and_holding(case: Situation) -> bool:
    lowest = 800 if case.policy.rules.holding_from_800 else 801
    return case.job.priority >= lowest


def _is_users_without_report(case: Situation) -> bool:
    return case.job.of_user and not case.job.has_report and case.job.changed != case.job.modified


def _is_managed(case: Situation) -> bool:
    return case.policy.rules.timeouts_of_all or case.job.label == "managed"


def _may_move(case: Situation) -> bool:
    return case.policy.rules.timeouts_of_all or (_is_managed(case) and case.job.relocation_flag != NOT_REASSIGNED)


def _is_urgent_at_inactive(case: Situation) -> bool:
    last = case.queue.last_start
    is_inactive = last is not None and case.now - last > INACTIVE_AFTER
    if case.policy.rules.timeouts_of_all:
        return case.job.priority >= 800 and is_inactive
    is_inactive = is_inactive or case.queue.status in ("offline", "test")
    return _may_move(case) and case.job.priority >= 800 and case.job.processing_type != "pmerge" and is_inactive


def _can_be_made_anew(case: Situation) -> bool:
    if case.policy.rules.timeouts_of_all:
        return not _cannot_be_made_anew(case)
    return case.job.label in ("managed", "test") and case.job.from_jedi


def _cannot_be_made_anew(case: Situation) -> bool:
    return not case.job.from_jedi or (case.job.label == "panda" and case.job.build)


def _is_long_event_service(case: Situation) -> bool:
    kind = case.job.event_service
    return kind == EVENT_SERVICE_MERGE or (kind in EVENT_SERVICE and case.job.priority >= 900)


def _transfer_limit(case: Situation) -> float:
    is_high = case.job.priority >= 800 and (case.policy.rules.timeouts_of_all or not case.job.of_user)
    days = case.queue.transfer_days_high if is_high else case.queue.transfer_days_low
    if days is not None and days > 0 and case.policy.rules.transfer_days_of_queue:
        return days * DAY
    return (2 if is_high else 6) * DAY


def _rows(*rows: TimeoutRule) -> dict[str, TimeoutRule]:
    return {row.name: row for row in rows}


def _states(*states: str) -> frozenset[str]:
    return frozenset(states)


TABLE: dict[str, TimeoutRule] = _rows(
    TimeoutRule("heartbeat_user", _HEARD, ("modified",),
        lambda case: case.policy.heartbeat("analysis"), "fail", Code.NO_HEARTBEAT,
        lambda case: case.job.of_user, extra=True),
    TimeoutRule("heartbeat_transferring", _states("transferring"), ("modified",),
        _transferring_heartbeat, "fail", Code.NO_HEARTBEAT, _is_watched_transfer,
        named=_states("transferring"), heard=True),
    TimeoutRule("sent", _states("sent"), ("modified",),
        _after(HOUR / 2), "fail", Code.NOT_TAKEN, named=_states("sent")),
    TimeoutRule("holding_user", _states("holding"), ("modified", "ended"),
        _after(3 * HOUR), "fail", Code.NO_OUTPUT, _is_users_without_report, extra=True),
    TimeoutRule("holding_high", _states("holding"), ("modified", "ended"),
        _after(3 * HOUR), "fail", Code.NO_OUTPUT, _is_high_and_holding, named=_states("holding")),
    TimeoutRule("holding", _states("holding"), ("modified", "ended"),
        _holding, "fail", Code.NO_OUTPUT, named=_states("holding")),
    TimeoutRule("heartbeat", _HEARD, ("modified",),
        _heartbeat, "fail", Code.NO_HEARTBEAT, spared="paused", named=_states("running", "starting"), heard=True),
    TimeoutRule("pending", _states("pending"), ("created",), _after(HOUR), "kill", Code.WAITED_TOO_LONG,
        named=_states("pending")),
    TimeoutRule("waiting", _states("waiting"), ("created",), _after(HOUR), "kill", Code.WAITED_TOO_LONG,
        lambda case: case.job.event_service != CO_JUMBO),
    TimeoutRule("defined_long", IN_DEFINED_TABLE, ("created",),
        _after(7 * DAY), "kill", Code.EXPIRED, extra=True),
    TimeoutRule("activated_long", _states("activated"), ("created",),
        _after(7 * DAY), "kill", Code.EXPIRED, extra=True),
    # Fast rebrokerage comes here in the cleaner's order.
    TimeoutRule("inactive", _states("activated"), ("modified",),
        _after(4 * HOUR), "rebroker", Code.REASSIGNED, _is_urgent_at_inactive, "disableReassign", _states("activated")),
    TimeoutRule("inactive_starting", _states("starting"), ("changed",),
        _after(4 * HOUR), "rebroker", Code.REASSIGNED, _is_urgent_at_inactive, "disableReassign", _states("starting")),
    TimeoutRule("defined", _states("defined"), ("modified",),
        _defined, "rebroker", Code.REASSIGNED, _can_be_made_anew, named=_states("defined")),
    TimeoutRule("defined_alone", _states("defined"), ("created",),
        _defined, "kill", Code.EXPIRED, _cannot_be_made_anew, named=_states("defined")),
    TimeoutRule("assigned", IN_DEFINED_TABLE, ("modified",),
        _after(12 * HOUR), "rebroker", Code.REASSIGNED, _is_managed, named=_states("assigned")),
    TimeoutRule("activated", _states("activated"), ("modified",),
        _after(2 * DAY), "rebroker", Code.REASSIGNED, _may_move, "disableReassign", _states("activated")),
    TimeoutRule("starting", _states("starting"), ("changed",),
        _after(2 * DAY), "rebroker", Code.REASSIGNED, _may_move, "disableReassign", _states("starting")),
    TimeoutRule("user_long", ACTIVE, ("modified",), _after(7 * DAY), "kill",
        Code.EXPIRED, lambda case: case.job.of_user or case.job.label == "test", extra=True),
    TimeoutRule("event_service", _states("running", "starting"), ("changed",),
        _after(DAY), "kill", Code.EXPIRED, _is_long_event_service, extra=True),
    # Rebrokerage of users' job sets comes here in the cleaner's order.
    TimeoutRule("transferring", _states("transferring"), ("ended", "started"),
        _transfer_limit, "fail", None, lambda case: not case.job.output_complete, named=_states("transferring")),
    TimeoutRule("throttled", _states("throttled"), ("created",), _after(7 * DAY), "kill", Code.EXPIRED,
        named=_states("throttled")),
    TimeoutRule("active_long", ACTIVE, ("created",), _after(21 * DAY), "kill", Code.EXPIRED,
        named=_states("running")),
)  # fmt: skip
"""In the order of PanDA's cleaner: the first row whose limit a job exceeds decides."""

ORDER: tuple[str, ...] = tuple(
    name for row in TABLE for name in ({"inactive": (FAST, row), "transferring": (SETS, row)}.get(row, (row,)))
)
"""The names of all rows in order, those of rebrokerage included."""
