"""One negotiation cycle of the real negotiator against fairq's, through the command line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tests.golden.cases import Case
from tests.golden.command_line import CommandFailedError, scratch

TOLERANCE = 1e-6

COUNTS_ONLY = ("rank_ties_", "group_none_users", "pie_default_prio")
"""Real ties, and users whose order is not in the inputs: only what each got can be compared."""

ACCOUNTED = (
    "Priority",
    "PriorityFactor",
    "ResourcesUsed",
    "WeightedResourcesUsed",
    "SubmitterShare",
    "SubmitterLimit",
)

GROUP_FIGURES = {
    "ConfigQuota": "config_quota",
    "EffectiveQuota": "quota",
    "SubtreeQuota": "subtree_quota",
    "SurplusPolicy": "surplus_policy",
    "Requested": "requested",
    "GroupSortKey": "sort_key",
    "WeightedResourcesUsed": "used_after",
    "HierWeightedResourcesUsed": "subtree_used",
}
"""What the negotiator reports of a group, and what `negotiate --json` calls it."""


def run_htcondor(case: Case) -> list[str]:
    """Run *case* and return what differs from its ``expected.json``."""
    expected = json.loads((case.path / "expected.json").read_text(encoding="utf-8"))
    now = expected["now"]
    try:
        with scratch() as fairq:
            fairq.run("config", "import", case.path / "pool.conf")
            fairq.run(
                "import",
                *("--slots", case.path / "slots.json"),
                *("--jobs", case.path / "jobs.json"),
                *("--accounting", case.path / "accounting.json"),
                *("--now", now),
            )
            cycle = fairq.json("negotiate", "--now", now)
            users = fairq.json("userprio", "--all", "--allusers")
    except CommandFailedError as failure:
        return [str(failure)]
    differences = _matches(cycle, expected, counts_only=case.name.startswith(COUNTS_ONLY))
    differences += _groups(cycle, expected)
    differences += _users(users, expected)
    return differences


def _matches(cycle: dict[str, Any], expected: dict[str, Any], *, counts_only: bool) -> list[str]:
    if counts_only:
        counts = Counter(match["submitter"] for match in cycle["matches"])
        return _unequal("matches per submitter", dict(counts), expected["matched_per_submitter"])
    differences = _first_difference(
        "match",
        [(_cluster(match), match["submitter"], match["slot"]) for match in cycle["matches"]],
        [(_cluster(match), match["submitter"], match["slot"]) for match in expected["matches"]],
    )
    differences += _first_difference(
        "preempted",
        [_holder(match) for match in cycle["matches"]],
        [name.partition(" ")[0] for name in expected["preempting"] or []],
    )
    differences += _first_difference(
        "rejection",
        [(one["submitter"], _cluster(one), one["reason"]) for one in cycle["rejections"]],
        [(one["submitter"], _cluster(one), one["reason"]) for one in expected["rejections"]],
    )
    return differences


def _cluster(entry: dict[str, Any]) -> str:
    # The real negotiator names the first proc of the request, so that procs do not compare.
    return str(entry["job"]).partition(".")[0]


def _holder(match: dict[str, Any]) -> str:
    return match["preempted"]["submitter"] if match["preempted"] else "none"


def _groups(cycle: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Compare the groups' turns: the limit that each got, or why it was passed over."""
    # A limit that is no number (0/0 in the negotiator's log) has no number in JSON either.
    turns = [(name, None if limit != limit else limit) for name, limit in expected["group_limits_in_order"]]
    if not turns:
        return []
    differences = _group_figures(cycle["quotas"], expected["groups_after"])
    found = [(group.get("group"), group.get("skipped") or _logged(group["limit"])) for group in cycle["groups"]]
    return _first_difference("group", found, turns) + differences


def _group_figures(groups: list[dict[str, Any]], expected: dict[str, Any]) -> list[str]:
    found = {group["group"]: group for group in groups}
    differences = []
    for name, ad in sorted(expected.items()):
        # What is below <none> in the accountant's count is only its own submitters' use.
        for attribute, field in GROUP_FIGURES.items():
            if attribute in ad and not (found[name]["parent"] is None and field == "subtree_used"):
                differences += _unequal(f"{attribute} of {name}", found[name][field], ad[attribute])
    return differences


def _logged(limit: float | None) -> float | None:
    """The number as the negotiator's log shows it, with six digits."""
    return None if limit is None else float(f"{limit:g}")


def _users(users: list[dict[str, Any]], expected: dict[str, Any]) -> list[str]:
    found = {user["Name"]: user for user in users}
    differences = []
    for name, ad in sorted(expected["submitters_after"].items()):
        for attribute in ACCOUNTED:
            if attribute in ad:
                value = found.get(name, {}).get(attribute)
                differences += _unequal(f"{attribute} of {name}", value, ad[attribute])
    return differences


def _unequal(what: str, found: Any, expected: Any) -> list[str]:
    return [] if _same(found, expected) else [f"{what} is {found}, expected {expected}"]


def _first_difference(what: str, found: Sequence[Any], expected: Sequence[Any]) -> list[str]:
    for number, (one, other) in enumerate(zip(found, expected, strict=False), 1):
        if not _same(one, other):
            return [f"{what} {number} is {_words(one)}, expected {_words(other)}"]
    if len(found) != len(expected):
        return [f"{len(found)} of {what}, expected {len(expected)}"]
    return []


def _same(found: Any, expected: Any) -> bool:
    if isinstance(expected, float | int) and not isinstance(expected, bool):
        is_number = isinstance(found, float | int) and not isinstance(found, bool)
        return is_number and abs(found - expected) <= TOLERANCE * max(1.0, abs(expected))
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(_same, found, expected))
    return bool(found == expected)


def _words(values: str | Iterable[Any]) -> str:
    return values if isinstance(values, str) else " ".join(map(str, values))
