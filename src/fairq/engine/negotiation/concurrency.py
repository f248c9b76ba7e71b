"""Concurrency limits: how many jobs may use a licence, a database or another shared resource at once."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairq.common.expression_form import is_expression
from fairq.common.records import Ad
from fairq.engine.classad import AdColumns, evaluate_in_ad, evaluate_in_columns, expression_of
from fairq.engine.negotiation.decision import LimitFigures
from fairq.engine.negotiation.evaluation import Evaluation, RequestContext
from fairq.engine.negotiation.match_list import Candidates
from fairq.engine.negotiation.preemption import PreemptState

if TYPE_CHECKING:
    from fairq.engine.negotiation.rooms import Room

_ATTRIBUTE = "concurrencylimits"

_SLOT_ATTRIBUTES = ("ConcurrencyLimits", "PreemptingConcurrencyLimits")

_NAME = r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?"

_NUMBER = r"(?a)\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?"


@lru_cache(maxsize=10_000)
def parse_limits(text: str) -> tuple[tuple[str, float], ...]:
    """Return the limits in *text*, as (lower-case name, amount); the amounts of a repeated name add up."""
    limits: dict[str, float] = {}
    for name, amount in parse_words(text):
        limits[name] = limits.get(name, 0.0) + amount
    return tuple(limits.items())


@lru_cache(maxsize=10_000)
def parse_words(text: str) -> tuple[tuple[str, float], ...]:
    """Return the limits in *text* as written, each as (lower-case name, amount).

    They are ``name`` or ``name:amount``, separated by commas or spaces. An amount that is not a number above 0 counts
    as 1. Invalid names (a name may have one dot) are ignored.
    """
    limits: list[tuple[str, float]] = []
    for word in re.split(r"[,\s]+", text.lower()):
        name, _, amount = word.partition(":")
        if re.fullmatch(_NAME, name):
            limits.append((name, _amount(amount)))
    return tuple(limits)


def _amount(text: str) -> float:
    number = re.match(_NUMBER, text)
    value = float(number.group()) if number else 1.0
    return value if 0 < value < math.inf else 1.0


class ConcurrencyLimits:
    """The use of every limit during one cycle.

    Args:
        maxima: the maximum of each limit, by lower-case name; ``default_<prefix>`` holds for
            limits called ``<prefix>.something`` without an entry, ``default`` for all others.
        slots: the slots' ads; the limits of the jobs on them are counted.
        kinds: an ad of each autocluster.
        counted_slots: the slots to count; None: all.
        as_today: test the amounts of a repeated name one by one, although they count together. Do not report a limit
            that permitted a slot when the list of candidates was built.
    """

    def __init__(
        self,
        maxima: Mapping[str, float],
        slots: AdColumns,
        kinds: Sequence[Ad],
        counted_slots: NDArray[np.bool_] | None = None,
        *,
        as_today: bool = False,
    ) -> None:
        self._maxima = maxima
        self.as_today = as_today
        self._parsed = parse_words if as_today else parse_limits
        self._slots = slots
        self._in_use: dict[str, float] = {}
        self._texts_of_slots: list[str | None] = []
        for attribute in _SLOT_ATTRIBUTES:
            if attribute.lower() in slots.names():
                texts = evaluate_in_columns(attribute, slots, {}).texts()
                for row, text in enumerate(texts):
                    if text is not None and (counted_slots is None or counted_slots[row]):
                        self.use(text)
                self._texts_of_slots = self._texts_of_slots or (list(texts) if attribute == _SLOT_ATTRIBUTES[0] else [])
        self._in_use_before = dict(self._in_use)
        self._by_slot = Evaluation(self._evaluate, kinds, slots, [_ATTRIBUTE], [], None)

    def job_limits(self, context: RequestContext) -> JobLimits | None:
        """Return the limits of the request's autocluster, None if it has none."""
        if _ATTRIBUTE not in context.job:
            return None
        value = context.job[_ATTRIBUTE]
        if is_expression(value):
            from fairq.engine.classad import evaluate_scalar

            ad = context.ad()
            value = evaluate_scalar(expression_of(value), ad, now=self._slots.now, budget=self._slots.budget)
            if not isinstance(value, str):
                return JobLimits(self, by_slot=self._by_slot.get(context.autocluster, lambda _: context), ad=ad)
            if self.as_today:
                return JobLimits(
                    self, text=value, counted=self._by_slot.get(context.autocluster, lambda _: context), ad=ad
                )
        return JobLimits(self, text=value) if isinstance(value, str) else None

    def refusing(self, text: str) -> str | None:
        """Return the first limit in *text* that a further job would exceed, None if there is none."""
        for name, amount in self._parsed(text):
            if self._exceeds(name, amount, self._in_use.setdefault(name, 0.0)):
                return name
        return None

    def refuses(self, text: str) -> bool:
        """Return whether a further job would exceed any limit in *text*, without recording a request."""
        return any(self._exceeds(name, amount, self._in_use.get(name, 0.0)) for name, amount in self._parsed(text))

    def _exceeds(self, name: str, amount: float, in_use: float) -> bool:
        return in_use + amount > self.maximum(name)

    def use(self, text: str) -> None:
        """Count a job with the limits *text* as running."""
        for name, amount in parse_limits(text):
            self._in_use[name] = self._in_use.get(name, 0.0) + amount

    def use_limits_of_slot(self, slot: int) -> None:
        """Count the limits in the slot's ad again, as today's negotiator does for a job without limits."""
        if self._texts_of_slots and (text := self._texts_of_slots[slot]):
            self.use(text)

    def maximum(self, name: str) -> float:
        """Return how much of a limit may be in use at once."""
        maximum = self._maxima.get(name)
        if maximum is None and "." in name:
            maximum = self._maxima.get(f"default_{name.partition('.')[0]}")
        return self._maxima.get("default", math.inf) if maximum is None else maximum

    def figures(self) -> list[LimitFigures]:
        """Return the use of every limit in use or requested, by name."""
        return [
            LimitFigures(name, self._in_use_before.get(name, 0.0), in_use, self.maximum(name))
            for name, in_use in sorted(self._in_use.items())
        ]

    def _evaluate(self, context: RequestContext) -> list[str | None]:
        """Return the limits of a job whose limits depend on the slot, for each slot."""
        ad = context.ad()
        return evaluate_in_ad(expression_of(ad[_ATTRIBUTE]), ad, self._slots).texts()


class JobLimits:
    """The limits of one autocluster: *text* for all slots, or one text *by_slot*.

    With *text*, the *counted* limits may be another text for each slot: today's negotiator tests the value of an
    expression without a slot, if it is a text, and counts its value with the slot. For a slot with a room, the
    expression in the job's *ad* is evaluated.
    """

    def __init__(
        self,
        limits: ConcurrencyLimits,
        text: str = "",
        by_slot: Sequence[str | None] | None = None,
        counted: Sequence[str | None] | None = None,
        ad: Ad | None = None,
    ) -> None:
        self._ad = ad
        self._limits = limits
        self._text = text
        self._by_slot = by_slot
        self._counted = by_slot if counted is None else counted

    def refusing(self) -> str | None:
        """Return the limit that excludes every slot for the job, None if there is none."""
        return self._limits.refusing(self._text) if self._text else None

    def narrow(self, matches: Candidates, rooms: Mapping[int, Room] | None = None) -> Candidates:
        """Return the list of candidates without slots on which the job would exceed a limit; *rooms* are by slot."""
        by_slot = self._by_slot
        if by_slot is None:
            return matches
        if rooms:
            by_slot = list(by_slot)
            for slot, room in rooms.items():
                by_slot[slot] = self._text_in_room(room)
        return LimitedList(matches, self._limits, by_slot)

    def take(self, slot: int, room: Room | None = None) -> str | None:
        """Count the job as running on *slot*, with its *room* if it has one; return its limits there."""
        text: str | None = self._text
        if self._counted is not None:
            text = self._counted[slot] if room is None else self._text_in_room(room)
        if text:
            self._limits.use(text)
        return text or None

    def _text_in_room(self, room: Room) -> str | None:
        """Return the job's limits on a slot with the resources that its dynamic slots return."""
        assert self._ad is not None
        row = np.array([room.ad], np.intp)
        return evaluate_in_ad(expression_of(self._ad[_ATTRIBUTE]), self._ad, room.ads, row).texts()[0]


class LimitedList:
    """A list of candidates without slots on which a job would exceed a limit.

    *used_up* are the limits to report, which have excluded a slot. Today's negotiator reports those of the search that
    built the list: limits that refuse a slot only when it is popped are not among them.
    """

    def __init__(self, matches: Candidates, limits: ConcurrencyLimits, by_slot: Sequence[str | None]) -> None:
        self._matches = matches
        self._limits = limits
        self._by_slot = by_slot
        self.used_up: set[str] = set()
        self._reported_texts = (
            {text for text in set(by_slot) if text and limits.refuses(text)} if limits.as_today else None
        )

    @property
    def refused_by_limit(self) -> bool:
        """Whether the submitter's limits have refused any slot."""
        return self._matches.refused_by_limit

    @property
    def refused_at_first(self) -> bool:
        """Whether the submitter's limits refused a slot when the list was built."""
        return self._matches.refused_at_first

    @property
    def refused_free(self) -> bool:
        """Whether the submitter's limits have refused a slot that needs no preemption."""
        return self._matches.refused_free

    def pop(self) -> tuple[int, PreemptState] | None:
        """Take the best candidate that the limits permit."""
        while (best := self._matches.pop()) is not None:
            text = self._by_slot[best[0]]
            name = self._limits.refusing(text) if text else None
            if name is None:
                return best
            if self._reported_texts is None or text in self._reported_texts:
                self.used_up.add(name)
            self._matches.pass_over(best[0])
        return None

    def pass_over(self, slot: int) -> None:
        """Skip a slot that was popped and not taken."""
        self._matches.pass_over(slot)

    def next(self) -> tuple[int, PreemptState] | None:
        """Return the best candidate on the list, even if the limits now refuse it; it remains there."""
        return self._matches.next()
