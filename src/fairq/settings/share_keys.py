"""The settings of DIRAC's task queues and shares."""

from __future__ import annotations

from fairq.settings.key import DIRAC, own

SHARES = (
    own("shares", "rules", "choice", "documented",
        "What holds where they differ: what the schema of 2009 intends, or what DIRAC computes today.",
        choices=DIRAC.choices),
)
