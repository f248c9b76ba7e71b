"""PanDA's own settings (gdpconfig): names, defaults, and the lookup of a value (docs/panda.md, Queues)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class ConfigKey(NamedTuple):
    """One setting, or a family of them whose names end in a share, label, group or workflow.

    Args:
        default: the value if nothing is set; None is unset.
        unit: what a number counts.
        zero_is_default: whether 0 (or false) selects the default, as it does for some in PanDA.
        family: what the ending of a family names, such as ``gshare``; empty for a single key.
    """

    default: float | bool | None
    unit: str = ""
    zero_is_default: bool = False
    family: str = ""


KEYS: dict[str, ConfigKey] = {
    "jobbroker.NW_ACTIVE": ConfigKey(False),
    "jobbroker.NW_QUEUE_IMPORTANCE": ConfigKey(0.5),
    "jobbroker.NW_THRESHOLD": ConfigKey(1.7),
    "jobbroker.NW_WEIGHT_MULTIPLIER": ConfigKey(1),
    "jobbroker.NQUEUED_SAT_CAP": ConfigKey(150, "files"),
    "jobbroker.NQUEUED_NUC_CAP_FOR_JOBS": ConfigKey(10000, "files"),
    "jobbroker.IO_INTENSITY_CUTOFF": ConfigKey(200, "kB/s"),
    "jobbroker.SIZE_CUTOFF_TO_MOVE_INPUT": ConfigKey(10, "GiB"),
    "jobbroker.NUM_CUTOFF_TO_MOVE_INPUT": ConfigKey(100, "files"),
    "jobbroker.MAX_DISKIO_DEFAULT": ConfigKey(10**10, "kB/s", zero_is_default=True),
    "jobbroker.STORAGE_MIN_FREE_SIZE": ConfigKey(200, "GB", zero_is_default=True),
    "jobbroker.MAX_PRIO_TO_BOOTSTRAP": ConfigKey(150),
    "jobbroker.NQUEUELIMITSITE": ConfigKey(20, "jobs", zero_is_default=True, family="gshare"),
    "jobbroker.MIN_WEIGHT": ConfigKey(0, family="label, label and gshare"),
    "jobbroker.MAX_MISSING_INPUT_FILES": ConfigKey(10, "files"),
    "jobbroker.MIN_INPUT_COMPLETENESS": ConfigKey(90, "%"),
    "core.WORK_SHORTAGE": ConfigKey(False),
    "anal_jobbroker.MAX_MISSING_INPUT_FILES": ConfigKey(10, "files"),
    "anal_jobbroker.MIN_INPUT_COMPLETENESS": ConfigKey(90, "%"),
    "anal_jobbroker.MAX_DISKIO_DEFAULT": ConfigKey(10**10, "kB/s", zero_is_default=True),
    "anal_jobbroker.STORAGE_MIN_FREE_SIZE": ConfigKey(200, "GB", zero_is_default=True),
    "anal_jobbroker.TW_DONE_JOB_STAT": ConfigKey(6, "hours"),
    "anal_jobbroker.MIN_BAD_JOBS_TO_SKIP_PQ": ConfigKey(5, "jobs"),
    "anal_jobbroker.IO_INTENSITY_CUTOFF_USER": ConfigKey(None, "kB/s"),
    "anal_jobbroker.DATA_CHECK_TIMEOUT_USER": ConfigKey(None, "hours"),
    "anal_jobbroker.STORAGE_MIN_FREE_SIZE_OUTPUT": ConfigKey(200, "GB", zero_is_default=True),
    "anal_jobbroker.OVERLOAD_MIN_QUEUE": ConfigKey(20, "jobs"),
    "anal_jobbroker.OVERLOAD_RATIO_OFFSET": ConfigKey(1.2),
    "anal_jobbroker.BASE_QUEUE_LENGTH_PER_PQ": ConfigKey(100, "jobs"),
    "anal_jobbroker.BASE_EXPECTED_WAIT_HOUR_ON_PQ": ConfigKey(8, "hours"),
    "anal_jobbroker.BASE_DEFAULT_QUEUE_LENGTH_PER_PQ_USER": ConfigKey(5, "jobs"),
    "anal_jobbroker.BASE_QUEUE_RATIO_ON_PQ": ConfigKey(0.05),
    "anal_jobbroker.STATIC_MAX_QUEUE_RUNNING_RATIO": ConfigKey(2.0),
    "anal_jobbroker.MAX_EXPECTED_WAIT_HOUR": ConfigKey(12, "hours"),
    "analy_eval.USER_USAGE_THRESHOLD_A": ConfigKey(1000),
    "analy_eval.USER_USAGE_THRESHOLD_B": ConfigKey(10000),
    "prio_mgr.CAP_RUNNING_USER_JOBS": ConfigKey(None, "jobs"),
    "prio_mgr.CAP_RUNNING_USER_CORES": ConfigKey(None, "cores"),
    "prio_mgr.CAP_RUNNING_GROUP_JOBS": ConfigKey(None, "jobs"),
    "prio_mgr.CAP_RUNNING_GROUP_CORES": ConfigKey(None, "cores"),
    "rebroker.FAST_REBRO_THRESHOLD_NQNR_RATIO": ConfigKey(3, zero_is_default=True),
    "rebroker.FAST_REBRO_THRESHOLD_NQUEUE_FRAC": ConfigKey(0.3, zero_is_default=True),
    "rebroker.FAST_REBRO_THRESHOLD_NQUEUE": ConfigKey(None, "jobs", zero_is_default=True, family="gshare"),
    "rebroker.ANALY_TIMEOUT": ConfigKey(12, "hours", family="working group"),
    "job_timeout.TIMEOUT_defined": ConfigKey(4, "hours", zero_is_default=True),
    "job_timeout.TIMEOUT_holding": ConfigKey(48, "hours", zero_is_default=True),
    "watcher.HEARTBEAT_TIMEOUT": ConfigKey(2, "hours", family="workflow"),
    "watchdog.PENDING_TIMEOUT": ConfigKey(7 * 24, "hours", zero_is_default=True, family="label"),
}
"""Every setting that the brokerage knows, as ``component.KEY``; the names of a family end in ``_`` and the ending."""

ALSO_ALONE = frozenset({"rebroker.ANALY_TIMEOUT"})
"""Families whose name without an ending is also a setting; of other families, PanDA reads only the members."""


class Config:
    """PanDA's settings: set values, otherwise defaults; names are ``component.KEY``."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values = dict(values or {})
        self._amounts: dict[tuple[str | None, ...], float] = {}

    @property
    def given(self) -> Mapping[str, Any]:
        """The set values by full name."""
        return self._values

    def number(self, name: str, *endings: str | None) -> float | None:
        """Return the value of *name*, or of the first member of its family that is set; None if unset.

        Args:
            name: the key, such as ``jobbroker.NQUEUELIMITSITE``.
            endings: the family's endings to try, most specific first; None is skipped.
        """
        key = KEYS[name]
        names = [f"{name}_{ending}" for ending in endings if ending is not None] if endings else [name]
        for candidate in names:
            value = self._values.get(candidate)
            if value is not None and (value or not key.zero_is_default):
                return float(value)
        return None if key.default is None else float(key.default)

    def amount(self, name: str, *endings: str | None) -> float:
        """Return `number`, or 0 if unset; cached, since every task reads the same few."""
        value = self._amounts.get((name, *endings))
        if value is None:
            value = self._amounts[name, *endings] = self.number(name, *endings) or 0.0
        return value

    def flag(self, name: str) -> bool:
        """Return whether *name* is set to a true value, or is true by default."""
        value = self._values.get(name)
        return bool(KEYS[name].default if value is None else value)


def key_of(name: str) -> ConfigKey | None:
    """Return the description of the setting *name*, perhaps a member of a family; None if it does not exist."""
    if name in KEYS:
        return KEYS[name]
    return next((key for base, key in KEYS.items() if key.family and name.startswith(f"{base}_")), None)
