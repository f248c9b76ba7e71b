"""The data of charts of a simulation, read from what ``fairq simulate --json`` printed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from fairq.errors.pool import InvalidDumpError
from fairq.formats.source import opened
from fairq.steps.reports.series import Line, Series, Share

WHAT = ("usage", "queue", "shares", "wait")
BY = {"submitter": "users_by_policy", "group": "groups_by_policy"}


class Wait(Struct, frozen=True):
    """The mean wait in seconds of the jobs of a user or group under a policy; None if none of its jobs ended."""

    name: str
    policy: str
    seconds: float | None


class Simulated:
    """The result of a simulation; *name* is its file, ``-`` for the standard input.

    Raises:
        UnreadableDumpError: the file cannot be read.
        InvalidDumpError: the file is no result of a simulation.
    """

    def __init__(self, name: str) -> None:
        """Read the file."""
        with opened(name) as source:
            text = source.whole()
            self._name = source.name
        try:
            self._document = json.loads(text)
            self.policies: list[str] = [one["policy"] for one in self._document["policies"]]
            self._weight = float(self._document["weight"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._invalid() from None

    def series(self, what: str) -> Series:
        """Return the slot weight in use or the number of waiting jobs over time, one line for each policy."""
        measure = {"usage": "utilisation", "queue": "waiting"}[what]
        factor = self._weight if what == "usage" else 1.0
        try:
            windows = self._document["windows"]
            step = int(self._document["window"])
            starts = sorted({int(one["start_time"]) for one in windows})
            found = {(one["policy"], int(one["start_time"])): float(one[measure]) for one in windows}
        except (ValueError, KeyError, TypeError):
            raise self._invalid() from None
        # A policy that ended earlier than another one uses nothing in the windows after that.
        lines = [
            Line(policy, [factor * found.get((policy, start), 0.0) for start in starts]) for policy in self.policies
        ]
        edges = [*starts, starts[-1] + step] if starts else [0]
        return Series(edges, step, lines if starts else [])

    def shares(self, by: str, top: int) -> list[Share]:
        """Return the *top* users or groups with most work, each under each policy: its parts of delivery and title."""
        totals = dict.fromkeys(self.policies, (0.0, 0.0))
        records = self._records(by)
        for record in records:
            for one in record["policies"]:
                before = totals[one["policy"]]
                totals[one["policy"]] = before[0] + (one["delivered"] or 0.0), before[1] + (one["entitled"] or 0.0)
        return [
            _share(f"{name}, {one['policy']}", one, *totals[one["policy"]])
            for name, of in self._top(records, by, top)
            for one in of
            if one["entitled"] is not None
        ]

    def waits(self, by: str, top: int) -> list[Wait]:
        """Return the mean waits of the *top* users or groups with most work under each policy."""
        return [
            Wait(name, one["policy"], one["mean_wait"])
            for name, of in self._top(self._records(by), by, top)
            for one in of
        ]

    def _records(self, by: str) -> list[dict[str, Any]]:
        """Return the figures of users or groups, most work first; refuse those that lack a member."""
        try:
            records: list[dict[str, Any]] = self._document[BY[by]]
            for record in records:
                _ = record[_member(by)]
                for one in record["policies"]:
                    numbers = [one["delivered"], one["entitled"], one["mean_wait"]]
                    if one["policy"] not in self.policies or not all(map(_is_number, numbers)):
                        raise self._invalid()
        except (KeyError, TypeError):
            raise self._invalid() from None
        return records

    def _top(self, records: list[dict[str, Any]], by: str, top: int) -> Iterable[tuple[str, list[dict[str, Any]]]]:
        return ((str(record[_member(by)]), record["policies"]) for record in records[:top])

    def _invalid(self) -> InvalidDumpError:
        return InvalidDumpError(
            source=self._name,
            where="as a whole",
            problem="it is no result of a simulation",
            cure="give what 'fairq simulate ... --json' prints",
        )


def _member(by: str) -> str:
    return "user" if by == "submitter" else "group"


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, (int, float))


def _share(name: str, one: dict[str, Any], delivered: float, entitled: float) -> Share:
    own_delivered, own_entitled = one["delivered"] or 0.0, one["entitled"] or 0.0
    return Share(
        name,
        own_delivered / delivered if delivered else 0.0,
        own_entitled / entitled if entitled else 0.0,
        own_delivered / own_entitled if own_entitled else None,
    )
