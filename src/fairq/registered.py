"""What installed distributions register under the names of groups of entry points.

`importlib.metadata` says so as well, but it loads the library for e-mail first, which takes as long as a small command.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from pathlib import Path

_ENDINGS = (".dist-info", ".egg-info")


def may_register_others(own: Collection[tuple[str, str]], groups: Collection[str]) -> bool:
    """Return whether anything but *own*, groups with values, may be registered under *groups*.

    If so, ask `importlib.metadata`: it is also true where distributions are not found as directories.
    """
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder.__module__ != _DIRECTORIES):
        return True
    places = [Path(place) for place in sys.path]
    if any(place.suffix == ".egg" or place.is_file() for place in places):
        return True
    return any(group in groups and (group, value) not in own for place in places for group, value in _registered(place))


_DIRECTORIES = "_frozen_importlib_external"
"""The module of the finder that looks into the directories of `sys.path`."""


def _registered(place: Path) -> Iterator[tuple[str, str]]:
    """Yield group and value of each entry point of the distributions in a directory."""
    try:
        found = [one for one in place.iterdir() if one.name.lower().endswith(_ENDINGS)]
    except OSError:
        return
    for distribution in found:
        try:
            text = (distribution / "entry_points.txt").read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue
        group = ""
        for line in map(str.strip, text.splitlines()):
            if line.startswith("["):
                group = line.strip("[]")
            elif "=" in line and not line.startswith("#"):
                yield group, line.partition("=")[2].strip()
