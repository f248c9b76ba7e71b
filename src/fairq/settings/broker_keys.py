"""The settings of PanDA's brokerage; its rule points stand in `broker_points`."""

from __future__ import annotations

from fairq.settings.broker_points import POINTS
from fairq.settings.key import PANDA, own

BROKER = (
    own(
        "broker",
        "rules",
        "choice",
        "documented",
        "Which rules apply where page and program differ: documented, PanDA's brokerage page; panda, today's PanDA.",
        choices=PANDA.choices,
    ),
    own(
        "broker",
        "verdicts_kept",
        "integer",
        10,
        "Number of runs whose decisions are kept in full. From older runs, the last decision on each task is kept.",
        unit="runs",
        minimum=1,
    ),
    *POINTS,
)
