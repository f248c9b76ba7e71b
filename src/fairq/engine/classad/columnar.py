"""How a part of the evaluator says that its columns do not suffice."""

from __future__ import annotations


class NotColumnar(Exception):  # noqa: N818 - a change of method, not an error
    """Columns cannot tell; HTCondor's library is to evaluate, *whole*: the entire expression at once."""

    def __init__(self, whole: bool = False) -> None:
        super().__init__(whole)
        self.whole = whole
