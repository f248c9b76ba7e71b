"""Dumps of a real pool, taken over as the README tells it: the next cycle of its negotiator against fairq's.

Nothing is set by hand. The order among submitters of exactly equal priority follows from when the collector heard of
them, which no dump tells. Where they got different slots, the slots that they got together are compared. The order of a
submitter's schedds is as unknown: what a submitter got is compared without its order.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.golden.cases import Case
from tests.golden.command_line import CommandFailedError, scratch

NEWCOMER = ("500.0", "0.0", "1000.0")
"""Priority, use and factor of a submitter without a record."""

Entry = Mapping[str, Any]


def run_live(case: Case, accounting: str = "acct.long") -> list[str]:
    """Run *case* and return what differs from its ``expected.json``."""
    expected = json.loads((case.path / "expected.json").read_text(encoding="utf-8"))
    now = expected["time"]
    try:
        with scratch() as fairq:
            fairq.run("config", "import", case.path / "pool.conf")
            fairq.run(
                "import",
                *("--slots", case.path / "slots.json"),
                *("--jobs", case.path / "jobs.json"),
                *("--accounting", case.path / accounting),
                *("--now", now),
            )
            cycle = fairq.json("negotiate", "--dry-run", "--now", now)
    except CommandFailedError as failure:
        return [str(failure)]
    holders = _Holders(json.loads((case.path / "slots.json").read_text(encoding="utf-8")))
    found = [(one["submitter"], (one["slot"], holders.of(one))) for one in cycle["matches"]]
    real = [(one["submitter"], (one["slot"], one["preempted"])) for one in expected["matches"]]
    tied = _undecided(_by_submitter(found), _by_submitter(real), _standing(case.path / "acct.long"))
    differences = _compare("matches", found, real, tied)
    for members in tied:
        differences += _together(members, found, real)
    return differences + _compare("rejections", _rejections(cycle), _rejections(expected), tied)


class _Holders:
    """Who holds the slots: the negotiator's log has the user, fairq the submitter."""

    def __init__(self, slots: Iterable[Entry]) -> None:
        self._slots = {slot["Name"]: slot for slot in slots}

    def of(self, match: Entry) -> str | None:
        """Return the user who is preempted; a submitter who does not hold the slot is told as it is."""
        if match["preempted"] is None:
            return None
        slot, submitter = self._slots[match["slot"]], match["preempted"]["submitter"]
        holder = slot.get("AccountingGroup") or slot["RemoteUser"]
        return str(slot["RemoteUser"] if submitter == holder else submitter)


def _rejections(cycle: Entry) -> list[tuple[str, Any]]:
    return [(one["submitter"], (one["job"], one["reason"])) for one in cycle["rejections"]]


def _by_submitter(entries: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    found = defaultdict(list)
    for submitter, what in entries:
        found[submitter].append(what)
    return {name: sorted(got, key=repr) for name, got in found.items()}


def _standing(accounting: Path) -> dict[str, tuple[str, str, str]]:
    """Return the priority, the use and the factor of every submitter, as the dump writes them."""
    values: dict[str, dict[str, str]] = defaultdict(dict)
    for line in accounting.read_text(encoding="utf-8").splitlines():
        found = re.fullmatch(r"([A-Za-z]+)(\d+) = (.*)", line)
        if found is not None:
            values[found[2]][found[1]] = found[3].strip('"')
    return {
        of["Name"]: (of["Priority"], of["WeightedResourcesUsed"], of["PriorityFactor"])
        for of in values.values()
        if of["IsAccountingGroup"] == "false"
    }


def _undecided(
    found: Mapping[str, Any], real: Mapping[str, Any], standing: Mapping[str, tuple[str, str, str]]
) -> list[set[str]]:
    """Return the sets of submitters of equal standing among whom the matches are divided differently."""
    classes: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for name in {*found, *real, *standing}:
        classes[standing.get(name, NEWCOMER)].add(name)
    return [
        members
        for members in classes.values()
        if len(members) > 1 and any(found.get(name, []) != real.get(name, []) for name in members)
    ]


def _compare(
    what: str, found: Iterable[tuple[str, Any]], real: Iterable[tuple[str, Any]], tied: Iterable[set[str]]
) -> list[str]:
    """Compare what each submitter got, except those that a tie decides."""
    ours, theirs = _by_submitter(found), _by_submitter(real)
    names = {*ours, *theirs} - set().union(*tied)
    return [
        f"{what} of {name} are {ours.get(name, [])}, expected {theirs.get(name, [])}"
        for name in sorted(names)
        if ours.get(name, []) != theirs.get(name, [])
    ]


def _together(members: set[str], found: Iterable[tuple[str, Any]], real: Iterable[tuple[str, Any]]) -> list[str]:
    ours = Counter(what for name, what in found if name in members)
    theirs = Counter(what for name, what in real if name in members)
    if ours == theirs:
        return []
    return [f"{', '.join(sorted(members))} get {sorted(ours - theirs)} and not {sorted(theirs - ours)}"]
