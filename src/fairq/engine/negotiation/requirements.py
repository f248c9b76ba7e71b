"""The Requirements of both sides: the first test of a match (docs/htcondor.md 3.7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad import AdColumns, evaluate_in_ad, evaluate_in_columns, expression_of
from fairq.records import Ad


def agreed(job: Ad, slots: AdColumns, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return where, among *rows* of *slots*, the Requirements of both sides are true; missing ones are not.

    *job* has its names in lower case.
    """
    agreed = np.zeros(len(rows), np.bool_)
    if "requirements" in job:
        wanted = np.flatnonzero(evaluate_in_ad(expression_of(job["requirements"]), job, slots, rows).is_true())
        agreed[wanted] = evaluate_in_columns("Requirements", slots, job, rows[wanted]).is_true()
    return agreed
