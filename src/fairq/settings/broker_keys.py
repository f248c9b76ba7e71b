"""The settings of PanDA's brokerage; its rule points stand in `broker_points`."""

from __future__ import annotations

from fairq.settings.broker_points import POINTS
from fairq.settings.key import PANDA, own

BROKER = (
    own("broker", "rules", "choice", "documented",
        "What holds where they differ: what PanDA's brokerage page says, or what its code does today.",
        choices=PANDA.choices),
    own("broker", "verdicts_kept", "integer", 10,
        "Of how many runs the verdicts on all queues are kept; of older ones only the last on each task.",
        unit="runs", minimum=1),
    *POINTS,
)
