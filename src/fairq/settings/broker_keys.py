"""The settings of PanDA's brokerage; its rule points stand in `rule_points.panda`."""

from __future__ import annotations

from fairq.settings.key import PANDA, own
from fairq.settings.rule_points.panda import POINTS

BROKER = (
    own(
        "broker",
        "rules",
        "choice",
        "documented",
        "Rules where the two differ: PanDA's brokerage page, or PanDA's code today.",
        choices=PANDA.choices,
    ),
    own(
        "broker",
        "verdicts_kept",
        "integer",
        10,
        "Number of runs whose decisions are kept in full; older runs keep only the last one on each task.",
        unit="runs",
        minimum=1,
    ),
    *POINTS,
)
