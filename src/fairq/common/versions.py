"""HTCondor versions: they decide the rules of a pool."""

from __future__ import annotations

import re

Version = tuple[int, ...]

_VERSION = re.compile(r"(?<![\d.])(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?![\d.])", re.ASCII)


def version_of(text: str | None) -> Version | None:
    """Return the version in *text*, for example "23.9.6" or "$CondorVersion: 23.9.6 2024-08-08 $"; None if none."""
    match = _VERSION.search(text or "")
    return None if match is None else tuple(int(number) for number in match.groups() if number is not None)


def newest(*texts: str | None) -> Version | None:
    """Return the newest version in *texts*; None if they contain none."""
    return max(filter(None, map(version_of, texts)), default=None)


def words(version: Version) -> str:
    """Return *version* as text for users."""
    return ".".join(map(str, version))
