"""Mail an administrator once about each fault, and once when it is over."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairq import files
from fairq.state.location import resolve
from fairq.steps.mail import send
from fairq.steps.pool.finding import FAULT, Finding

if TYPE_CHECKING:
    from fairq.settings import Settings


def tell_trouble(path: Path, settings: Settings, found: Sequence[Finding]) -> list[str]:
    """Mail new faults among *found* and faults that are over; return error messages.

    The file ``STATE.troubles`` beside the state lists the reported faults, because the state itself may be faulty. It
    is updated only after the mail was sent, so that the next check tries again.
    """
    place = Path(f"{resolve(path)}.troubles")
    told = _told(place)
    faults = {one.name: one for one in found if one.status == FAULT}
    new = [one for one in faults.values() if one.name not in told]
    # A missing check, e.g. because of a damaged state, does not end a fault.
    over = [one for one in found if one.name in told and one.status != FAULT]
    if not new and not over:
        return []
    host = platform.node()
    lines = [f"{one.name}: {one.detail}\n  cure: {one.cure}" for one in new]
    lines += [f"{one.name}: over; {one.detail}" for one in over]
    words = [f"{len(new)} new" if new else "", f"{len(over)} over" if over else ""]
    subject = f"fairq on {host}: trouble, {', '.join(filter(None, words))}"
    problem = send(
        settings, settings["mail.administrator"], subject, f"Pool {resolve(path)}\n\n" + "\n".join(lines) + "\n"
    )
    if problem is not None:
        return [problem]
    left = {name: detail for name, detail in told.items() if name not in {one.name for one in over}}
    left |= {one.name: one.detail for one in new}
    try:
        files.write(place, json.dumps(left).encode())
    except OSError as error:
        return [f"{place} cannot be written, so this message will come again: {error.strerror}"]
    return []


def _told(place: Path) -> dict[str, str]:
    try:
        found = json.loads(place.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
