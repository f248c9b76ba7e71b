"""What DIRAC's own classes did, against fairq's engine under the rules ``dirac``; one entry is one case.

An entry's input is translated into calls of ``fairq.engine.shares``; no rule is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.engine.shares.plain_needs import needs_of
from tests.golden.cases import Case
from tests.golden.dirac_choice import run_random_choice
from tests.golden.dirac_comparison import DIRAC, refused, unequal
from tests.golden.dirac_corrector import run_corrector
from tests.golden.dirac_queues import run_calculate_priority, run_match, run_task_queues

from fairq.common.records import JobStatus
from fairq.engine.shares.groups import read_group
from fairq.engine.shares.needs import SEGMENTS, JobDefaults, bucket, default_within, read_segments
from fairq.engine.shares.pilot import Credentials, apply_credentials, match_conditions
from fairq.engine.shares.user_priority import read_priority, real_priority
from fairq.errors.base import FairqError
from fairq.errors.shares import DiracStopsError, JobRequirementError, PilotDescriptionError
from fairq.settings.keys import SINGLE
from fairq.steps.taskqueues.pilots import LIMITED_STATUSES, SiteLoad
from fairq.steps.taskqueues.policy import SharePolicy

DATA = Path(__file__).parent / "data" / "dirac.json.xz"

FAIRQ_STATUS = {"Matched": JobStatus.RUNNING, "Running": JobStatus.RUNNING, "Stalled": JobStatus.RUNNING}
"""What a job of DIRAC's status is for fairq, of those statuses that limits may count."""

Record = Mapping[str, Any]


def run_dirac(case: Case) -> list[str]:
    """Run one entry of ``dirac.json`` and return what differs from what DIRAC did."""
    runner = RUNNERS.get(case.record["kind"])
    if runner is None:
        return [f"no cases of kind {case.record['kind']} are known"]
    given, expected = case.record["input"], case.record["output"]
    if refused(expected):
        return _refusal(runner, given, expected)
    try:
        return runner(given, expected)
    except FairqError as failure:
        return [f"refused: {failure}"]
    except (KeyError, TypeError, ValueError) as failure:
        return [f"the entry cannot be read: {failure!r}"]


REFUSALS = (
    ("MySQL Error", JobRequirementError, "blank"),
    ("ZeroDivisionError", DiracStopsError, "0"),
    ("Wrong conditions", PilotDescriptionError, "required, but not offered"),
    ("Priority must be a number", JobRequirementError, "UserPriority"),
    ("CPUTime must be a number", JobRequirementError, "CPUTime"),
)
"""What DIRAC's error says, the error with which fairq refuses the same, and what its message says."""


def _refusal(runner: Callable[[Record, Record], list[str]], given: Record, expected: Record) -> list[str]:
    """Return what differs where DIRAC ended with an error: fairq must refuse, and for the same reason."""
    try:
        runner(given, expected)
    except FairqError as failure:
        return _compared_refusal(failure, expected)
    except KeyError:
        pass  # nothing was recorded that could be compared
    return [f"nothing is refused, but DIRAC failed: {expected}"]


def _compared_refusal(failure: FairqError, expected: Record) -> list[str]:
    error = str(expected.get("exception") or expected.get("error"))
    for words, kind, reason in REFUSALS:
        if words in error:
            return [] if type(failure) is kind and reason in str(failure) else [f"refused: {failure}, DIRAC: {error}"]
    return [f"refused: {failure}; of DIRAC's error it is not known what fairq says: {error}"]


def _cpu_bucket(given: Record, expected: Record) -> list[str]:
    segments = read_segments(given["segments"], DIRAC)
    return unequal("bucket", [bucket(seconds, segments) for seconds in given["cpu_times"]], expected["bucket"])


def _user_priority(given: Record, expected: Record) -> list[str]:
    found = [real_priority(read_priority(one, 1, DIRAC), DIRAC) for one in given["user_priority"]]
    return unequal("real_priority", found, expected["real_priority"])


def _job_manifest(given: Record, expected: Record) -> list[str]:
    options = given["job_description"]

    def default(option: str, name: str) -> int:
        default, least, most = (
            int(options.get(f"{which}{option}", SINGLE[f"shares.{which.lower()}_{name}"].default))
            for which in ("Default", "Min", "Max")
        )
        return int(default_within(default, least, most, DIRAC))

    defaults = JobDefaults(DIRAC, SEGMENTS, default("CPUTime", "cpu_time"), default("Priority", "priority"))
    differences = []
    for values, result in zip(given["given"], expected["result"], strict=True):
        job = {"userpriority": values.get("Priority"), "cputime": values.get("CPUTime")}
        try:
            # A negative priority passes here, and is refused when the job is put into a queue.
            priority = read_priority(job["userpriority"], defaults.user_priority, DIRAC)
            needs = needs_of(job | {"userpriority": max(priority, 0)}, 0, defaults)
        except FairqError as failure:
            if refused(result):
                differences += _compared_refusal(failure, result)
            else:
                differences.append(f"{values} is refused: {failure}")
            continue
        if refused(result):
            differences.append(f"{values} is not refused, but DIRAC says {result['error']}")
            continue
        # DIRAC keeps the text; what it stands for is compared, CPU time as its queue has it.
        found = {"Priority": priority, "CPUTime": needs.requirements.cpu_time}
        wanted = {name: int(text) for name, text in result.items() if name != "given"}
        if "CPUTime" in wanted:
            wanted["CPUTime"] = bucket(wanted["CPUTime"], SEGMENTS)
        differences += unequal(f"of {values}", {name: found[name] for name in wanted}, wanted)
    return differences


def _resource(given: Record, expected: Record) -> list[str]:
    return _conditions(match_conditions(given, DIRAC), expected)


def _credentials(given: Record, expected: Record) -> list[str]:
    presented = given["credentials"]
    credentials = Credentials(presented["group"], frozenset(presented["properties"]), dn=presented.get("DN"))
    groups = {name: read_group(name, options, DIRAC) for name, options in given["groups"].items()}
    return _conditions(apply_credentials(given["resource"], credentials, groups, DIRAC), expected)


def _conditions(found: Record, expected: Record) -> list[str]:
    # Lists of tags and of groups are sets.
    def plain(conditions: Record) -> dict[str, Any]:
        return {key: sorted(value) if isinstance(value, list) else value for key, value in conditions.items()}

    return unequal("match_dict", plain(found), plain(expected["match_dict"]))


class _WatchedLoad(SiteLoad, frozen=False):
    """What runs at a site; remembers whether anybody counted it."""

    has_counted: bool = False

    def count(self, attribute: str, grid_ce: str | None) -> Mapping[str, int]:
        self.has_counted = True
        return super().count(attribute, grid_ce)


def _limits(given: Record, expected: Record) -> list[str]:
    scheduling = {"RunningLimit": {}, "MatchingDelay": {}, **given["job_scheduling"]}
    defaults = JobDefaults(DIRAC, SEGMENTS, 0, 1)
    load = _WatchedLoad(SharePolicy(DIRAC, {}, defaults, 1, job_scheduling=scheduling), given["site"])
    for attribute, counts in given["running"].items():
        for value, count in counts.items():
            load.running += [(None, {attribute: (value,)})] * count
    negative = load.restrictions(given["ce"], 0).negative
    statuses = set(LIMITED_STATUSES) if load.has_counted else set()
    return [
        *unequal("negative_condition", negative, expected["negative_condition"]),
        *unequal("counted_statuses", statuses, {FAIRQ_STATUS.get(one, one) for one in expected["counted_statuses"]}),
    ]


RUNNERS: dict[str, Callable[[Record, Record], list[str]]] = {
    "cpu_bucket": _cpu_bucket,
    "user_priority": _user_priority,
    "job_manifest": _job_manifest,
    "calculate_priority": run_calculate_priority,
    "task_queues": run_task_queues,
    "corrector": run_corrector,
    "match": run_match,
    "random_choice": run_random_choice,
    "resource": _resource,
    "credentials": _credentials,
    "limits": _limits,
}
"""By kind. A runner takes an entry's input and what DIRAC made of it, and returns what differs."""
