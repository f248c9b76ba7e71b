"""The settings of PanDA's brokerage; its rule points are in `rule_points.panda`."""

from __future__ import annotations

from fairq.settings.key import PANDA, Key
from fairq.settings.rule_points.panda import POINTS

BROKER = (
    Key(
        "broker",
        "rules",
        "choice",
        "documented",
        "Which rules apply where page and program differ: documented, PanDA's brokerage page; panda, today's PanDA.",
        choices=PANDA.choices,
    ),
    Key(
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
