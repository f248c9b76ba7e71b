"""A group's share and properties in the registry (docs/dirac.md 3.1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from fairq.engine.shares.options import is_yes, names
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import ShareCorrectionError, ShareSetting

DEFAULT_SHARE = 1000
"""The JobShare of a group without one (docs/dirac.md 3.1)."""

JOB_SHARING = "JobSharing"
SCHEMA_JOB_SHARING = "JOB_SHARING"
"""The property that makes a group's task queues share its priority, in DIRAC's spelling and in the schema's."""


class OwnerGroup(Struct, frozen=True):
    """A group's part in the registry (`read_group` makes it from DIRAC's options).

    Attributes:
        name: its name in OwnerGroup of jobs.
        share: JobShare, an absolute weight.
        job_sharing: property JobSharing: all its task queues are one pool, whatever their owner.
        background: AllowBackgroundTQs: queues whose jobs average at most 0.1 get the minimum priority.
        vo: the virtual organisation; "": none.
    """

    name: str
    share: float = DEFAULT_SHARE
    job_sharing: bool = False
    background: bool = False
    vo: str = ""


def has_job_sharing(properties: Iterable[str], rules: Rules) -> bool:
    """Return whether a group with these *properties* shares its priority among all its task queues."""
    sharing_names = {JOB_SHARING, SCHEMA_JOB_SHARING} if rules.both_sharing_names else {JOB_SHARING}
    return not sharing_names.isdisjoint(properties)


def read_group(name: str, options: Mapping[str, Any], rules: Rules) -> OwnerGroup:
    """Return the group *name* with the *options* JobShare, Properties, AllowBackgroundTQs and VO.

    Raises ShareCorrectionError for a JobShare that is not a number or negative, except under the rules dirac.
    """
    return OwnerGroup(
        name,
        share=_job_share(name, options, rules),
        job_sharing=has_job_sharing(names(options.get("Properties")), rules),
        background=is_yes(options.get("AllowBackgroundTQs", False)),
        vo=str(options.get("VO", "")),
    )


def _job_share(name: str, options: Mapping[str, Any], rules: Rules) -> float:
    if options.get("JobShare") is None:
        return DEFAULT_SHARE
    text = str(options["JobShare"]).strip()
    if rules.whole_numbers:
        try:
            return int(text)
        except ValueError:
            return DEFAULT_SHARE
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not (math.isfinite(share) and share >= 0):
        raise ShareCorrectionError(ShareSetting.SHARE, where=f"group {name}", text=text)
    return share
