"""Forecast the starts of all idle jobs of a state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairq.state.connection import reading
from fairq.steps.simulate.forecast import Forecast, Forecaster

if TYPE_CHECKING:
    from fairq.settings import Settings


def starts(path: Path, settings: Settings, now: int) -> Forecast:
    """Return the starts of all idle jobs, forecast at *now*."""
    with reading(path) as state:
        return Forecaster.of_state(state, settings, now).forecast()
