"""Match conditions from the description of a pilot (DIRAC Matcher; docs/dirac.md 5.1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fairq.engine.shares.groups import OwnerGroup, has_job_sharing
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import PilotDescription, PilotDescriptionError

GENERIC_PILOT = "GenericPilot"
TAKEN_OVER = ("Owner", "OwnerGroup", "CPUTime", "GridCE", "Site", "Platform", "JobType", "MaxRAM", "JobID")
"""The keys of a description that are used, besides tags and processors; all Banned keys are dropped."""

REPORTED = (
    *("PilotReference", "PilotBenchmark", "PilotInfoReportedFlag"),
    *("DIRACVersion", "ReleaseVersion", "ReleaseProject", "VirtualOrganization"),
)
"""Keys that a pilot reports for information only."""

HOSTS = "hosts"
"""The group of machines; their VO is in the description."""

MOST_PROCESSORS = 1024
"""Number of processors above which DIRAC adds no tags for numbers."""

TEST = "Test"
"""The only job type for a site that is not in use."""


SETS: Mapping[str, str] = {
    "Site": "sites",
    "GridCE": "grid_ces",
    "Platform": "platforms",
    "JobType": "job_types",
    "Tag": "tags",
}
"""Properties of a pilot, and the fields of `Requirements` compared with them: lists."""

SINGLE: Mapping[str, str] = {"Owner": "owner", "OwnerGroup": "group", "CPUTime": "cpu_time"}
"""The same for fields with a single value."""


class Credentials(Struct, frozen=True):
    """The credentials of a pilot.

    Attributes:
        group: the group of its proxy.
        properties: the properties of that group: GenericPilot, JobSharing, ...
        owner: the user's name; None if unknown.
        dn: the distinguished name; None if unknown.
    """

    group: str
    properties: frozenset[str] = frozenset()
    owner: str | None = None
    dn: str | None = None


def match_conditions(pilot: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
    """Return the match conditions (DIRAC's match dictionary) for the description of a *pilot*.

    Raises PilotDescriptionError if NumberOfProcessors is not a number; DIRAC ignores it.
    """
    conditions = {key: pilot[key] for key in (*TAKEN_OVER, *REPORTED) if key in pilot}
    tags: set[str] = set()
    if "Tag" in pilot:
        tags.update(_tags(pilot["Tag"]))
        if "RequiredTag" in pilot:
            conditions["RequiredTag"] = sorted(set(_tags(pilot["RequiredTag"])))
    tags.update(_processor_tags(pilot.get("NumberOfProcessors"), rules))
    if "WholeNode" in pilot:
        tags.add("WholeNode")
    if tags or "Tag" in pilot:
        conditions["Tag"] = sorted(tags)
    return conditions


def _tags(value: Any) -> list[str]:
    if not isinstance(value, str):
        return [str(tag) for tag in value or ()]
    return [tag.strip("'\" ") for tag in value.strip().strip("[]").split(",")]


def _processor_tags(value: Any, rules: Rules) -> list[str]:
    if not value:
        return []
    try:
        count = int(value)
    except (TypeError, ValueError):
        if not rules.checked_settings:
            return []
        raise PilotDescriptionError(PilotDescription.PROCESSORS, what="NumberOfProcessors", value=value) from None
    numbers = range(1, count + 1) if count <= MOST_PROCESSORS else ()
    return [f"{number}Processors" for number in numbers] + ["MultiProcessor"] * (count > 1)


def apply_credentials(
    conditions: Mapping[str, Any], credentials: Credentials, groups: Mapping[str, OwnerGroup], rules: Rules
) -> dict[str, Any]:
    """Return *conditions* restricted to the groups and owners whose jobs a pilot with these *credentials* may take.

    A generic pilot gets jobs of the groups it names, or of any group of its VO. Any other pilot gets jobs of its own
    group and, without job sharing, only of its own user. To that end DIRAC sets only OwnerDN, which task queues no
    longer have.

    Raises PilotDescriptionError if a generic pilot names no group and there is none in its VO; in DIRAC, also if
    it has no VO.
    """
    narrowed = dict(conditions)
    if GENERIC_PILOT in credentials.properties:
        if "OwnerGroup" not in narrowed:
            is_host = credentials.group == HOSTS
            pilot_group = groups.get(credentials.group, OwnerGroup(credentials.group))
            vo = narrowed.get("VirtualOrganization", "") if is_host else pilot_group.vo
            vo_groups = [name for name, group in groups.items() if group.vo == vo]
            if not vo_groups or not (vo or rules.checked_settings):
                raise PilotDescriptionError(PilotDescription.NO_GROUP_OF_VO, what="VirtualOrganization", vo=vo)
            narrowed["OwnerGroup"] = vo_groups
        return narrowed
    narrowed["OwnerGroup"] = credentials.group
    if not has_job_sharing(credentials.properties, rules):
        if credentials.dn is not None:
            narrowed["OwnerDN"] = credentials.dn
        if rules.private_pilots == "owner" and credentials.owner is not None:
            narrowed["Owner"] = credentials.owner
    return narrowed


def apply_site(conditions: Mapping[str, Any], usable_sites: Sequence[str] | None) -> dict[str, Any]:
    """Return *conditions*, with only test jobs for a site that is not in *usable_sites* (None: all sites).

    Raises PilotDescriptionError if no site is named.
    """
    if "Site" not in conditions:
        raise PilotDescriptionError(PilotDescription.NO_SITE, what="Site")
    narrowed = dict(conditions)
    if usable_sites is not None and conditions["Site"] not in usable_sites:
        narrowed["JobType"] = TEST
    return narrowed


def each(value: Any) -> Collection[Any]:
    """Return the values of a list, or one value as a list."""
    return value if isinstance(value, list | tuple | set | frozenset) else [value]


def values(value_or_list: Any) -> list[str]:
    """Return one value or a list of values as texts."""
    return [str(value).strip() for value in each(value_or_list)]
