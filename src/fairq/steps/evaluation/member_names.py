"""The names of a report's members in expressions.

ClassAd names ignore case, and a report's names are snake_case: ``OwnerGroup`` and ``owner_group`` differ only by an
underscore. Both find the member.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def spelled(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *record* with its members also under their names without underscores.

    An ad is returned unchanged: a CamelCase name has only one spelling.
    """
    if not all(name.islower() for name in record):
        return record
    return {name.replace("_", ""): value for name, value in record.items()} | dict(record)
