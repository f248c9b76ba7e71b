"""Pause the pool: no cycle matches jobs until it is resumed (Slurm: scontrol update State=DOWN of all partitions)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from fairq.common.quantities import shown_time
from fairq.common.records import Actor, Change
from fairq.state import history, undo
from fairq.state import pause as pauses
from fairq.state.connection import State, opened_for, reading
from fairq.state.pause import Pause


def pause(path: Path, actor: Actor, until: int | None, *, dry_run: bool = False) -> Pause:
    """Pause the pool from now on, *until* then (seconds since 1970; None: until it is resumed); return the pause.

    In a paused pool, end and reason are replaced.
    """
    with opened_for(path, dry_run=dry_run, create=False) as state:
        former = pauses.load(state, actor.time)
        new = Pause(actor.time if former is None else former.since, actor.user, actor.reason, until)
        if not dry_run:
            _store(state, actor, former, new)
    return new


def resume(path: Path, actor: Actor, *, dry_run: bool = False) -> Pause | None:
    """Let cycles match jobs again; return the pause that has ended, None if the pool is not paused."""
    with opened_for(path, dry_run=dry_run, create=False) as state:
        former = pauses.load(state, actor.time)
        if former is not None and not dry_run:
            _store(state, actor, former, None)
    return former


def _store(state: State, actor: Actor, former: Pause | None, new: Pause | None) -> None:
    entries = history.record(state, actor, [Change("pool", _shown(former), _shown(new))])
    pauses.store(state, new)
    data = {"before": former and asdict(former), "after": new and asdict(new)}
    undo.record(state, actor, entries, "pool pause", data, None)


def _shown(pause: Pause | None) -> dict[str, Any]:
    return {"Paused": False} if pause is None else {"Paused": True, "Until": pause.until}


def pause_in_effect(path: Path, now: int) -> Pause | None:
    """Return the pause in effect at *now*, None if the pool is not paused."""
    with reading(path) as state:
        return pauses.load(state, now)


def pause_words(pause: Pause) -> str:
    """Return since when, by whom, until when and why the pool is paused."""
    until = "" if pause.until is None else f" until {shown_time(pause.until)}"
    reason = f" ({pause.reason})" if pause.reason else ""
    return f"since {shown_time(pause.since)} by {pause.user}{until}{reason}"


def pause_sentence(pause: Pause) -> str:
    """Return the same as a clause about the pool."""
    return f"the pool is paused {pause_words(pause)}"


def pause_document(pause: Pause) -> dict[str, Any]:
    """Return *pause* as plain data."""
    return {
        "since_time": pause.since,
        "until_time": pause.until,
        "user": pause.user,
        "reason": pause.reason,
    }


def pause_of(document: dict[str, Any]) -> Pause:
    """Return the pause that `pause_document` made *document* of."""
    return Pause(document["since_time"], document["user"], document["reason"], document["until_time"])
