"""The data of charts of a simulation, read from the output of ``fairq simulate --json``."""

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
            text = source.read_all()
            self._name = source.name
        try:
            self._document = json.loads(text)
            self.policies: list[str] = [policy["policy"] for policy in self._document["policies"]]
            self._weight = float(self._document["weight"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._invalid() from None

    def series(self, measured: str) -> Series:
        """Return the slot weight in use or the number of waiting jobs over time, one line for each policy."""
        measure = {"usage": "utilisation", "queue": "waiting"}[measured]
        factor = self._weight if measured == "usage" else 1.0
        try:
            windows = self._document["windows"]
            step = int(self._document["window"])
            starts = sorted({int(window["start_time"]) for window in windows})
            values = {(window["policy"], int(window["start_time"])): float(window[measure]) for window in windows}
        except (ValueError, KeyError, TypeError):
            raise self._invalid() from None
        # A policy that ended earlier than another one uses nothing in the windows after that.
        lines = [
            Line(policy, [factor * values.get((policy, start), 0.0) for start in starts]) for policy in self.policies
        ]
        edges = [*starts, starts[-1] + step] if starts else [0]
        return Series(edges, step, lines if starts else [])

    def shares(self, by: str, top: int) -> list[Share]:
        """Return the shares of the *top* users or groups with most work, under each policy."""
        totals = dict.fromkeys(self.policies, (0.0, 0.0))
        records = self._records(by)
        for record in records:
            for figures in record["policies"]:
                sums = totals[figures["policy"]]
                totals[figures["policy"]] = (
                    sums[0] + (figures["delivered"] or 0.0),
                    sums[1] + (figures["entitled"] or 0.0),
                )
        return [
            _share(f"{name}, {figures['policy']}", figures, *totals[figures["policy"]])
            for name, by_policy in self._top(records, by, top)
            for figures in by_policy
            if figures["entitled"] is not None
        ]

    def waits(self, by: str, top: int) -> list[Wait]:
        """Return the mean waits of the *top* users or groups with most work under each policy."""
        return [
            Wait(name, figures["policy"], figures["mean_wait"])
            for name, by_policy in self._top(self._records(by), by, top)
            for figures in by_policy
        ]

    def _records(self, by: str) -> list[dict[str, Any]]:
        """Return the figures of users or groups, most work first.

        Raises InvalidDumpError if a record lacks a member.
        """
        try:
            records: list[dict[str, Any]] = self._document[BY[by]]
            for record in records:
                _ = record[_member(by)]
                for figures in record["policies"]:
                    numbers = [figures["delivered"], figures["entitled"], figures["mean_wait"]]
                    if figures["policy"] not in self.policies or not all(map(_is_number, numbers)):
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


def _share(name: str, figures: dict[str, Any], delivered: float, entitled: float) -> Share:
    own_delivered, own_entitled = figures["delivered"] or 0.0, figures["entitled"] or 0.0
    return Share(
        name,
        own_delivered / delivered if delivered else 0.0,
        own_entitled / entitled if entitled else 0.0,
        own_delivered / own_entitled if own_entitled else None,
    )
