"""``--constraint``: select the records that satisfy a ClassAd expression."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import tee
from typing import TypeVar

from fairq.cli.output.messages import NOTE
from fairq.cli.output.view import Record

Matched = TypeVar("Matched", bound=Record)


def check(constraint: str) -> None:
    """Raise ExpressionError if *constraint* does not parse."""
    from fairq.engine.classad import parse

    parse(constraint)


def matching(records: Iterable[Matched], constraint: str | None) -> Iterable[Matched]:
    """Return the records for which *constraint*, if any, is true; any number but 0 counts, as in HTCondor's tools.

    An attribute that no record has is noted on stderr at the end.

    Raises ExpressionError at once, before any record is read, if *constraint* does not parse, and
    EvaluationBudgetError if evaluating it takes too long.
    """
    if constraint is None:
        return records
    from fairq.engine.classad import parse
    from fairq.steps.evaluation.budget import evaluated, is_true, listing_budget
    from fairq.steps.evaluation.member_names import UnknownNames

    expression = parse(constraint)

    def selected() -> Iterator[Matched]:
        unknown = UnknownNames(expression)
        shown, tested = tee(records)
        for record, value in zip(shown, evaluated(expression, tested, listing_budget()), strict=True):
            unknown.see(record)
            if is_true(value):
                yield record
        for note in unknown.notes("record"):
            NOTE.get()(note)

    return selected()
