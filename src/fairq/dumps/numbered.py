"""The negotiator's report in one ad, as ``condor_userprio -long -allusers`` prints it: attribute names end in a number.

``Name3``, ``Priority3`` and all others with a 3 belong to the third record; those without a number to all records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fairq.records import Ad

_NUMBERED = re.compile(r"([a-z]+)([1-9][0-9]*)", re.IGNORECASE)
_FOR_ALL = {"lastupdate", "negotiatorname"}


def is_numbered(ad: Ad) -> bool:
    """Return whether *ad* is a report with numbered attributes."""
    names = {name.lower() for name in ad}
    return "name" not in names and ("name1" in names or "numsubmittors" in names)


def split(ad: Ad) -> Iterator[Ad]:
    """Yield the records of the report *ad*, one ad each, in the order of their numbers."""
    shared = {name: value for name, value in ad.items() if name.lower() in _FOR_ALL}
    parts: dict[int, Ad] = {}
    for name, value in ad.items():
        found = _NUMBERED.fullmatch(name)
        if found is not None:
            parts.setdefault(int(found[2]), dict(shared))[found[1]] = value
    for number in sorted(parts):
        yield parts[number]
