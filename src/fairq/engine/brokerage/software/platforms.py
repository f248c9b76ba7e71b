"""Platforms given as regular expressions, and the platform that they select at a queue (docs/panda.md, Software)."""

from __future__ import annotations

import re

from fairq.engine.brokerage.software.check import Entry
from fairq.engine.brokerage.software.hardware import ANY, cpu_architectures

_WILD = re.compile(r"[*+?|()\[\]{}\\^$]")
_PLAIN = r"[\w.+-]+"
_ALTERNATION = re.compile(rf"\(({_PLAIN}(?:\|{_PLAIN})*)\)({_PLAIN})", re.ASCII)


def is_pattern(platform: str | None) -> bool:
    """Return whether a platform is a regular expression: one that does not match itself."""
    if not platform:
        return False
    try:
        return re.match(platform, platform) is None
    except re.error:
        return True


def may_resolve(platform: str | None) -> bool:
    """Return whether a platform may select another one: it has a character that is special in expressions."""
    return bool(platform) and _WILD.search(platform or "") is not None


def resolve_platform(platform: str | None, base_platform: str | None, entry: Entry | None) -> str | None:
    """Return the platform that *platform* selects at the queue with *entry*; None: nothing to resolve, or impossible.

    A platform that the queue lists needs no resolving. Otherwise the result is the first listed platform that the whole
    expression matches. For ``(x86_64|aarch64)-...`` with plain words only, it is the first alternative that is a CPU
    architecture of the queue. The base platform is appended (PanDA resolve_cmt_config).
    """
    if entry is None or not platform:
        return None
    listed = list(entry.get("cmtconfigs") or ())
    if platform in listed:
        return None
    found = _first_match(platform, listed) or _first_alternative(platform, entry)
    return f"{found}@{base_platform}" if found and base_platform else found


def _first_match(platform: str, listed: list[str]) -> str | None:
    try:
        expression = re.compile(f"^{platform}$")
    except re.error:
        return None
    return next((each for each in listed if expression.search(each)), None)


def _first_alternative(platform: str, entry: Entry) -> str | None:
    found = _ALTERNATION.fullmatch(platform)
    if not found:
        return None
    arches = cpu_architectures(entry.get("architectures"))
    return next((f"{arch}{found[2]}" for arch in found[1].split("|") if arch in arches or ANY in arches), None)
