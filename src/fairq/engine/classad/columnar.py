"""The exception with which the evaluator hands an expression to HTCondor's library."""

from __future__ import annotations


class NotColumnar(Exception):  # noqa: N818 - a change of method, not an error
    """Columns cannot give the value; HTCondor's library must evaluate. *whole*: it must see the entire expression."""

    def __init__(self, whole: bool = False) -> None:
        super().__init__(whole)
        self.whole = whole
