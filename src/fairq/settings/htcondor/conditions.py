"""The conditions of ``if`` and ``elif`` lines."""

from __future__ import annotations

import re

from fairq.settings.htcondor.macros import Macros

VERSION = (25, 14, 1)
"""The version of HTCondor that fairq assumes in ``if version >= ...``."""

_WORDS = {"true": True, "yes": True, "t": True, "false": False, "no": False, "f": False}
_COMPARISONS = {"<": (-1,), "<=": (-1, 0), "=": (0,), "==": (0,), ">=": (0, 1), ">": (1,), "!=": (-1, 1)}


def holds(condition: str, macros: Macros, where: str) -> bool | None:
    """Return whether *condition* is true; None if it is not one of HTCondor's simple conditions.

    The simple conditions are a number, a boolean word, ``defined NAME`` and ``version OP NUMBER``, each optionally
    after ``!``. Macros are expanded first. Source: the manual's "Conditionals in Configuration".
    """
    text = macros.expand(condition, where).text.strip()
    negated = text.startswith("!")
    text = text.removeprefix("!").strip()
    if not text and "$" in condition:  # an undefined macro counts as false
        return negated
    value = _holds(text, macros, where)
    return None if value is None else value != negated


def _holds(text: str, macros: Macros, where: str) -> bool | None:
    if re.fullmatch(r"-?(\d+\.?\d*|\.\d+)", text, re.ASCII):
        return float(text) != 0
    word, _, argument = text.partition(" ")
    if word.lower() == "defined":
        return _defined(argument.strip(), macros, where)
    if version := re.fullmatch(r"version\s*([<>=!]+)\s*[vV]?(\d+)\.(\d+)(?:\.(\d+))?", text, re.I | re.ASCII):
        operator, *numbers = version.groups()
        required = tuple(int(number) for number in numbers if number is not None)
        assumed = VERSION[: len(required)]
        accepted = _COMPARISONS.get(operator)
        return None if accepted is None else ((assumed > required) - (assumed < required)) in accepted
    return _WORDS.get(text.lower())


def _defined(name: str, macros: Macros, where: str) -> bool | None:
    if re.fullmatch(r"\d+(\.\d+)?", name, re.ASCII) or name.lower() in _WORDS:
        return True
    if name and not re.fullmatch(r"[A-Za-z0-9_./]+", name):
        return None
    return bool(name) and bool(macros.expand(f"$({name})", where).text)
