"""The settings of PanDA's brokerage."""

from __future__ import annotations

from fairq.settings.key import PANDA, own

BROKER = (
    own("broker", "rules", "choice", "documented",
        "What holds where they differ: what PanDA's brokerage page says, or what its code does today.",
        choices=PANDA.choices),
)
