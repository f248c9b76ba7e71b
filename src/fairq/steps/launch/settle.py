"""Wait briefly for runs that were ordered to end, so that most commands can report the end."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.common.records import Actor
from fairq.state import launches
from fairq.state.connection import reading
from fairq.steps.launch import events
from fairq.steps.launch.collect import collect
from fairq.steps.launch.inspection import stop
from fairq.steps.launch.launchers import opened

if TYPE_CHECKING:
    from fairq.settings import Settings

PATIENCE = 2.0
"""Seconds to wait; a later turn collects a run that takes longer."""


def settle(
    path: Path, settings: Settings, actor: Actor, names: Collection[str], patience: float = PATIENCE
) -> set[str]:
    """End the runs *names* and collect those that end within *patience* seconds; return the others."""
    unfinished = set(names)
    end = time.monotonic() + patience
    with opened(path, settings) as launchers:
        while True:
            with reading(path) as state:
                live = [launch for launch in launches.live(state) if launch.name in unfinished]
            if not live:
                break
            stop(live, launchers)
            collect(path, settings, launchers, actor)
            if time.monotonic() >= end:
                break
            time.sleep(launchers.nap(live))
    events.flush(path, settings)
    with reading(path) as state:
        return unfinished & {launch.name for launch in launches.live(state)}
