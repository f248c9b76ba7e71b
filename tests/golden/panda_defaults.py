"""What a field that a recorded case leaves out stands for (``panda_defaults.json`` beside the recordings)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DEFAULTS: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "panda_defaults.json").read_text())

QUEUE: dict[str, Any] = DEFAULTS["queue"]
TASK: dict[str, Any] = DEFAULTS["task"]
ANALYSIS_TASK: dict[str, Any] = {**TASK, **DEFAULTS["task_analysis_overrides"]}
STORAGE: dict[str, Any] = DEFAULTS["storage"]
RELATION: dict[str, Any] = DEFAULTS["queue_storage"]
CHUNK: dict[str, Any] = DEFAULTS["chunk"]
RESOURCE_TYPES: list[list[Any]] = DEFAULTS["resource_types"]
PILOTS: dict[str, Any] = DEFAULTS["pilots"]
USER_TOTALS: dict[str, Any] = DEFAULTS["user_totals"]
QUOTA: dict[str, Any] = DEFAULTS["quota"]
