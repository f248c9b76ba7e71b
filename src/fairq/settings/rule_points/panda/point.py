"""The definition of a rule point of the brokerage."""

from __future__ import annotations

from typing import Any

from fairq.settings.key import Difference, Key, Type, rule_point

_KINDS: dict[type, Type] = {bool: "boolean", float: "real", str: "choice"}


def point(name: str, documented: Any, panda: Any, text: str, difference: Difference, **details: Any) -> Key:
    """Return the rule point ``broker.NAME``; the type of *documented* is the type of its value."""
    return rule_point("broker", name, _KINDS[type(documented)], documented, panda, text, difference, **details)
