"""The values of PanDA's own settings (gdpconfig) that are set in the state."""

from __future__ import annotations

from fairq.columns.broker.column import LARGEST_REAL
from fairq.columns.broker.work import CONFIG
from fairq.engine.brokerage.pool.config import Config
from fairq.state import broker_data
from fairq.state.connection import State

Value = float | bool | str

_TRUTH = {"true": True, "false": False}


def load_config(state: State) -> Config:
    """Return the settings of the state."""
    return Config(
        {f"{component}.{key}": read_value(value) for component, key, value in broker_data.load(state, CONFIG)}
    )


def read_value(text: str) -> Value:
    """Return a stored text as a number or truth value, otherwise unchanged."""
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    try:
        number = float(text)
    except ValueError:
        return text
    if not abs(number) <= LARGEST_REAL or "_" in text:
        return text
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
