"""The table of situations in which a rule point of HTCondor's scheme decides otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.documents.condor_pool import Pool


class Point(NamedTuple):
    """What a user sees in one situation: with the text's value of the point, and with the program's."""

    situation: Callable[[Pool], Any]
    documented: Any
    program: Any


POINTS: dict[str, Point] = {}


def point(name: str, *, documented: Any, program: Any) -> Callable[[Callable[[Pool], Any]], None]:
    """Add the situation that follows to the table, as that of the rule point *name*."""

    def add(situation: Callable[[Pool], Any]) -> None:
        POINTS[name] = Point(situation, documented, program)

    return add
