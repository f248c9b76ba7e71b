"""The views of ``userprio``: the accounting as of its last update. This module writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.common.records import Ad
from fairq.settings.key import DOCUMENTED
from fairq.state import claims, meta, slots
from fairq.state.connection import reading
from fairq.steps.cycle.accounting_policy import accounting_policy, is_dominant
from fairq.steps.cycle.accounts import pool_version, records_at
from fairq.steps.quotas.last_cycle import dominant_resources, last_figures
from fairq.steps.userprio.ads import accounting_ads, as_logged, quota_attributes, rolled_up, with_configured_factors
from fairq.steps.userprio.imported_figures import last_reported
from fairq.steps.userprio.names import full_name

if TYPE_CHECKING:
    from fairq.settings import Settings


_ONE_AD_UNTIL = (25, 10)
"""Before this version, condor_userprio got one ad from the negotiator, with every attribute of every record."""

_FLOOR_SINCE = (23, 10)
"""The first version of condor_userprio with a column for the floor."""


class Report(Struct, frozen=True):
    """The accounting ads, in the order of HTCondor's report.

    The table shows *logged*: the ads as condor_userprio of the pool's version gets them, from the collector or (for all
    users) from the negotiator. *zero_is_time*: a time of 0 means 1970. *without*: columns that the version lacks.
    """

    ads: list[Ad]
    logged: list[Ad]
    zero_is_time: bool = False
    without: frozenset[str] = frozenset()


def accounting_report(
    path: Path, settings: Settings, now: int, *, everybody: bool = False, roll_up: bool = False
) -> Report:
    """Return the ads of all accounting records at *now*, in the order of HTCondor's report.

    The groups' quotas are those of the last cycle or of a later import. With *roll_up*, each group's use includes its
    subtree. *everybody*: the ads are those that the negotiator sends. An empty or missing state has no ads.
    """
    with reading(path) as state:
        records = records_at(state, now)
        last_update = meta.number(state, "last_update")
        reported = last_reported(state)
        quotas = reported.quotas or quota_attributes(last_figures(state).groups if settings.groups else ())
        version = pool_version(settings, state)
        dominant = dominant_resources(state) if is_dominant(settings) else {}
    policy = accounting_policy(settings)
    ads = accounting_ads(records, policy, last_update, quotas, reported.names)
    ads = [{**ad, "DominantResource": name} if (name := dominant.get(ad["Name"])) else ad for ad in ads]
    one_ad = settings["negotiator.rules"] != DOCUMENTED and version is not None and version < _ONE_AD_UNTIL
    without = frozenset({"floor"} if one_ad and version is not None and version < _FLOOR_SINCE else ())
    if roll_up:
        # The negotiator answers in one ad, with all attributes.
        ads = rolled_up(ads)
        return Report(ads, ads, zero_is_time=True, without=without)
    if settings["negotiator.rules"] == DOCUMENTED:
        return Report(ads, ads)
    if version is None or not one_ad:
        return Report(ads, [ad if ad["Name"] in reported.used else as_logged(ad) for ad in ads])
    logged = with_configured_factors(ads, policy.group_prio_factors) if everybody else ads
    return Report(ads, logged, zero_is_time=True, without=without)


def resources_of(path: Path, name: str) -> list[Ad]:
    """Return the names of the slots that submitter *name* is charged for, with the match times.

    Raises AmbiguousNameError for a name without a domain that fits several submitters.
    """
    with reading(path) as state:
        name = full_name(state, name)
        charged = [claim for claim in claims.load_all(state) if claim.submitter == name]
        names = slots.names(state) if charged else {}
    return [
        {"Name": names[claim.slot_id], "StartTime": claim.start_time, "SlotWeight": claim.slot_weight}
        for claim in charged
    ]
