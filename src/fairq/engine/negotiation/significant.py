"""The settings of significant attributes, which define autoclusters.

docs/htcondor.md 3.1 and 3.6; matchmaker.cpp, compute_significant_attrs; schedd.cpp, SIGNIFICANT_ATTRIBUTES.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from fairq.engine.classad import EVERY_ATTRIBUTE


class SignificantAttributes(Struct, frozen=True):
    """Attribute names, in lower case.

    Args:
        chosen: the attributes, whatever the slots read; empty: those that slots and negotiator expressions read.
        added: further attributes.
        removed: excluded attributes.
        removed_pattern: attributes whose names contain a match are excluded.
    """

    chosen: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    removed_pattern: re.Pattern[str] | None = None

    def as_clusters(self) -> SignificantAttributes:
        """The same, with the chosen attributes defining clusters, and all attributes read defining autoclusters."""
        return replace(self, chosen=frozenset(), added=self.added | self.chosen)

    def of(self, read: frozenset[str]) -> frozenset[str]:
        """The attributes that define autoclusters if slots and expressions *read* these."""
        if self.chosen:
            return self.chosen | self.added
        pattern = self.removed_pattern
        kept = (
            name
            for name in read
            if name == EVERY_ATTRIBUTE or not (name in self.removed or (pattern is not None and pattern.search(name)))
        )
        return frozenset(kept) | self.added
