"""One negotiation cycle of the real negotiator against fairq's, through the command line."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.golden.cases import Case
from tests.golden.command_line import CommandFailedError, scratch

TOLERANCE = 1e-6

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
            ads = fairq.json("userprio", "--all", "--allusers")
    except CommandFailedError as failure:
        return [str(failure)]
    return [
        *_decisions(cycle, expected),
        *_counts(cycle, expected),
        *_groups(cycle, expected),
        *_ads(ads, expected),
    ]


def _decisions(cycle: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Compare matches, preempted jobs and rejections, in order and one by one.

    The inputs do not decide which of two submitters of equal priority goes first. Where a case has such submitters,
    each of them is called by the names of all: everything else must still be the same.
    """
    differences = _first_differences(cycle, expected, {})
    tied = _tied(expected)
    return _first_differences(cycle, expected, tied) if differences and tied else differences


def _tied(expected: dict[str, Any]) -> dict[str, str]:
    """Return the submitters that another one of the same group ties with, and the names of all that do."""
    equals = defaultdict(list)
    asking = {one["submitter"] for one in (*expected["matches"], *expected["rejections"])}
    for name, ad in sorted(expected["submitters_after"].items()):
        if name in asking:
            equals[ad["AccountingGroup"], ad["Priority"]].append(name)
    return {name: " or ".join(names) for names in equals.values() if len(names) > 1 for name in names}


def _first_differences(cycle: dict[str, Any], expected: dict[str, Any], tied: Mapping[str, str]) -> list[str]:
    return [
        *_first_difference(
            "match",
            [(*_request(match, tied), match["slot"]) for match in cycle["matches"]],
            [(*_request(match, tied), match["slot"]) for match in expected["matches"]],
        ),
        *_first_difference(
            "preempted", list(map(_preempted, cycle["matches"])), list(map(_charged, expected["preempting"] or []))
        ),
        *_first_difference(
            "rejection",
            [(*_request(one, tied), one["reason"]) for one in cycle["rejections"]],
            [(*_request(one, tied), one["reason"]) for one in expected["rejections"]],
        ),
    ]


def _counts(cycle: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Compare the matches that fairq counts for each submitter, over all of the submitter's turns."""
    counts: Counter[str] = Counter()
    for turn in cycle["submitters"]:
        counts[turn["submitter"]] += turn["matched"]
    return _unequal("matches per submitter", dict(+counts), expected["matched_per_submitter"])


def _request(entry: dict[str, Any], tied: Mapping[str, str]) -> tuple[str, str]:
    # The real negotiator names the first proc of the request, so that procs do not compare.
    submitter = entry["submitter"]
    return ("", tied[submitter]) if submitter in tied else (str(entry["job"]).partition(".")[0], submitter)


def _preempted(match: dict[str, Any]) -> str:
    return match["preempted"]["submitter"] if match["preempted"] else "none"


def _charged(logged: str) -> str:
    """Return who is charged for the preempted job; the log has ``user (AccountingGroup=charged)`` or ``none``."""
    return logged.partition("(AccountingGroup=")[2].rstrip(")") or logged


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


def _ads(found: list[dict[str, Any]], expected: dict[str, Any]) -> list[str]:
    """Compare the accounting ads of groups and submitters: none more, none fewer, every attribute recorded."""
    ads = {ad["Name"]: ad for ad in found}
    wanted = {**expected["groups_after"], **expected["submitters_after"]}
    differences = _unequal("accounting ads", sorted(ads), sorted(wanted))
    for name, ad in sorted(wanted.items()):
        for attribute, value in ad.items():
            differences += _unequal(f"{attribute} of {name}", ads.get(name, {}).get(attribute), value)
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
