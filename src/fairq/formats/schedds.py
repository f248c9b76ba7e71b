"""The limits of schedds, from their ads."""

from __future__ import annotations

from fairq.formats.ads import read_ads
from fairq.formats.kinds import SCHEDD, Sorter
from fairq.formats.source import Source


def read_schedds(source: Source) -> dict[str, int]:
    """Return MaxJobsRunning of each schedd of *source* by name, from Scheduler or Submitter ads.

    Raises UnreadableDumpError, InvalidDumpError or WrongDumpError.
    """
    sorter = Sorter(source, SCHEDD)
    for ad in read_ads(source):
        sorter.wants(ad)
    if not sorter.schedds:
        sorter.check()
    return sorter.schedds
