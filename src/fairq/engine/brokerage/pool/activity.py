"""The two kinds of work that PanDA brokers."""

from __future__ import annotations

from typing import Literal

Activity = Literal["production", "analysis"]
PRODUCTION: Activity = "production"
ANALYSIS: Activity = "analysis"
