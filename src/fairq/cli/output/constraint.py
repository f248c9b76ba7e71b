"""``--constraint``: which records satisfy a ClassAd expression."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairq.cli.output.view import Record


def check(constraint: str) -> None:
    """Raise ExpressionError if *constraint* does not parse."""
    from fairq.engine.classad import parse

    parse(constraint)


def matching(records: Iterable[Record], constraint: str) -> Iterator[Record]:
    """Return the records for which *constraint* is true; any number but 0 counts, as in HTCondor's tools.

    Raises ExpressionError at once, before any record is read, if *constraint* does not parse.
    """
    from fairq.engine.classad import evaluate_scalar, parse

    expression = parse(constraint)

    def selected() -> Iterator[Record]:
        for record in records:
            value = evaluate_scalar(expression, record)
            if isinstance(value, (bool, int, float)) and value:
                yield record

    return selected()
