"""The views of ``userprio``: what the accountant knew at its last update. Nothing here writes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.records import Ad
from fairq.settings.key import HTCONDOR
from fairq.state import claims, meta, slots, submitters
from fairq.state.connection import reading
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.quotas.figures import last_figures
from fairq.steps.userprio.ads import accounting_ads, as_logged, quota_attributes, rolled_up

if TYPE_CHECKING:
    from fairq.settings import Settings


def accounting_report(path: Path, settings: Settings, *, roll_up: bool = False) -> list[Ad]:
    """Return the ads of all accounting records, in the order of HTCondor's report.

    The groups' quotas are those of the last cycle. With *roll_up* every group's use is that of its whole
    subtree. An empty or missing state has no ads.
    """
    with reading(path) as state:
        records = submitters.load_all(state)
        last_update = int(meta.get(state, "last_update", "0") or 0)
        figures = last_figures(state).groups if settings.groups else ()
    ads = accounting_ads(records, accounting_policy(settings), last_update, quota_attributes(figures))
    return rolled_up(ads) if roll_up else ads


def as_tabled(ads: Iterable[Ad], settings: Settings) -> list[Ad]:
    """Return *ads* as the table shows them: under the rules htcondor what was never used is left blank."""
    return [as_logged(ad) if settings["negotiator.rules"] == HTCONDOR.real else ad for ad in ads]


def resources_of(path: Path, name: str) -> list[Ad]:
    """Return the slots that submitter *name* is charged for: their names and the times of the matches."""
    with reading(path) as state:
        held = [claim for claim in claims.load_all(state) if claim.submitter == name]
        names = dict(zip(slots.load_ids(state), slots.load_names(state), strict=True)) if held else {}
    return [
        {"Name": names[claim.slot_id], "StartTime": claim.start_time, "SlotWeight": claim.slot_weight} for claim in held
    ]
