"""PanDA's numbers for jobs that a timeout ends or moves."""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    """Why a job was ended or moved."""

    EXPIRED = 2
    WAITED_TOO_LONG = 4
    FAST_REBROKERAGE = 10
    REASSIGNED = 51
    NO_HEARTBEAT = 100
    NOT_TAKEN = 102
    NO_OUTPUT = 103
