"""Patterns for names of queues, and names of users."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fairq.engine.brokerage.pool.model import Queue

_DROPPED = (
    r"/(?:DC|O|OU|C|L)=[^/]+",
    r"/CN=[0-9]+",
    r" [0-9]+",
    r"_[0-9]+",
    r"/CN=(?:limited )?proxy",
    r"limited proxy",
    r"/CN=(?:Robot|nickname):[^/]+",
)
"""Parts of a certificate's name that do not identify the user."""

_PAIR = re.compile(r".*/CN=[^/]+/CN=([^/]+)")
"""Of two consecutive common names, the second is the user's."""


def is_named(queue: Queue, patterns: tuple[str, ...]) -> bool:
    """Return whether a user's list of patterns names a queue, by its own name or that of its unified queue."""
    return matches_any(queue.unit, patterns) or matches_any(queue.name, patterns)


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Return whether *name* equals a pattern, or contains a match of a pattern with ``*`` (PanDA isMatched)."""
    return any(_matches(name, pattern) for pattern in patterns if pattern)


def _matches(name: str, pattern: str) -> bool:
    if "*" not in pattern:
        return pattern == name
    try:
        return re.search(pattern.replace("*", ".*"), name) is not None
    except re.error:
        return False


def user_of(distinguished_name: str) -> str:
    """Return the user of a certificate; any other text is the name itself (PanDA clean_user_id)."""
    name = distinguished_name
    for part in _DROPPED:
        name = re.sub(part, "", name)
    pair = _PAIR.match(name)
    name = pair[1] if pair else name.replace("/CN=", "")
    mail = name.lower().find("/email")
    if mail > 0:
        name = name[:mail]
    name = re.sub("[()']", "", name)
    without_mail = re.sub(r" [a-z][\w.-]+@[\w-]+(?:\.[\w-]+)+", "", name).strip()
    return without_mail if " " in without_mail else name
