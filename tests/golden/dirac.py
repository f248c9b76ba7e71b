"""What DIRAC's own classes did, against fairq's engine under the rules ``dirac``; one entry is one case.

An entry's input is translated into calls of ``fairq.engine.shares``; no rule is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.golden.cases import Case
from tests.golden.dirac_choice import run_random_choice
from tests.golden.dirac_comparison import DIRAC, refused, unequal
from tests.golden.dirac_corrector import run_corrector
from tests.golden.dirac_queues import run_calculate_priority, run_match, run_task_queues

from fairq.engine.shares.cpu_time import bucket, read_segments
from fairq.engine.shares.groups import read_group
from fairq.engine.shares.identity import whole_number
from fairq.engine.shares.limits import running_limits
from fairq.engine.shares.model import Credentials
from fairq.engine.shares.resource import apply_credentials, match_conditions
from fairq.engine.shares.user_priority import read_priority, real_priority
from fairq.errors.base import FairqError
from fairq.settings.keys import SINGLE

DATA = Path(__file__).parent / "data" / "dirac.json.xz"

RUNNING = ["Matched", "Running", "Stalled"]
"""The statuses of DIRAC's jobs that are those of a running job for fairq."""

Record = Mapping[str, Any]


def run_dirac(case: Case) -> list[str]:
    """Run one entry of ``dirac.json`` and return what differs from what DIRAC did."""
    runner = RUNNERS.get(case.record["kind"])
    if runner is None:
        return [f"no cases of kind {case.record['kind']} are known"]
    given, expected = case.record["input"], case.record["output"]
    try:
        differences = runner(given, expected)
    except FairqError as failure:
        return [] if refused(expected) else [f"refused: {failure}"]
    except (KeyError, TypeError, ValueError) as failure:
        # Where DIRAC failed there is nothing to compare with; otherwise the entry is not of the known shape.
        if not refused(expected):
            return [f"the entry cannot be read: {failure!r}"]
        differences = []
    return [f"nothing is refused, but DIRAC failed: {expected}"] if refused(expected) else differences


def _cpu_bucket(given: Record, expected: Record) -> list[str]:
    segments = read_segments(given["segments"], DIRAC)
    return unequal("bucket", [bucket(seconds, segments) for seconds in given["cpu_times"]], expected["bucket"])


def _user_priority(given: Record, expected: Record) -> list[str]:
    found = [real_priority(read_priority(one, 1, DIRAC), DIRAC) for one in given["user_priority"]]
    return unequal("real_priority", found, expected["real_priority"])


def _job_manifest(given: Record, expected: Record) -> list[str]:
    options = given["job_description"]
    default_priority = int(options.get("DefaultPriority", SINGLE["shares.default_priority"].default))
    default_cpu_time = int(options.get("DefaultCPUTime", SINGLE["shares.default_cpu_time"].default))
    differences = []
    for values, result in zip(given["given"], expected["result"], strict=True):
        try:
            found = {
                "Priority": read_priority(values.get("Priority"), default_priority, DIRAC),
                "CPUTime": whole_number("CPUTime", values.get("CPUTime"), default_cpu_time),
            }
        except FairqError as failure:
            differences += [] if refused(result) else [f"{values} is refused: {failure}"]
            continue
        # DIRAC keeps the text; what it stands for is compared.
        wanted = {name: int(text) for name, text in result.items() if name != "given"}
        differences += unequal(f"of {values}", found, wanted)
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


def _limits(given: Record, expected: Record) -> list[str]:
    counted = []

    def count(attribute: str, ce: str | None) -> Mapping[str, int]:
        counted.append(attribute)
        counts: Mapping[str, int] = given["running"].get(attribute, {})
        return counts

    found = running_limits(given["job_scheduling"], given["site"], given["ce"], count, DIRAC)
    statuses = RUNNING if counted else []
    return [
        *unequal("negative_condition", found.negative, expected["negative_condition"]),
        *unequal("counted_statuses", statuses, sorted(expected["counted_statuses"])),
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
