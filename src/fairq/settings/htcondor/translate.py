"""Translate HTCondor's macros into a document of fairq's settings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from fairq.errors.base import SettingValueError
from fairq.settings.collect import bad_value
from fairq.settings.htcondor.macros import Assignment, Macros
from fairq.settings.htcondor.reader import NotTaken, Reader
from fairq.settings.htcondor.reasons import local_negotiator, reason
from fairq.settings.key import Key
from fairq.settings.keys import GROUP_KEYS, LIMIT_KEY, SINGLE
from fairq.settings.values import BadValueError, from_toml, may_be_unset, read_integer, read_real, to_toml


class Expressions(Struct, frozen=True):
    """The functions of the ClassAd language that the import needs; both raise BadValueError for an invalid expression.

    Args:
        check: takes the text of an expression.
        evaluate: returns the value of an expression that needs no ad.
    """

    check: Callable[[str], None]
    evaluate: Callable[[str], Any]


_PREFIXES = {
    "accounting": ("NEGOTIATOR", "SCHEDD"),
    "negotiator": ("NEGOTIATOR",),
    "schedd": ("SCHEDD",),
    "launch": ("STARTD",),
}
"""The daemons whose own macros (``NEGOTIATOR.NAME``) count for the settings of a section."""

_RANKS = ("negotiator_pre_job_rank", "negotiator_post_job_rank", "preemption_rank")

GROUP_MACRO = re.compile(
    r"(?:NEGOTIATOR\.)?GROUP_(?:QUOTA_DYNAMIC|QUOTA|PRIO_FACTOR|ACCEPT_SURPLUS|AUTOREGROUP)_(.+)", re.IGNORECASE
)
"""The macros of one group; the group's name is at their end."""

_LIMIT_MACRO = re.compile(
    r"(?:NEGOTIATOR\.)?(?:(?P<name>.+)_LIMIT|CONCURRENCY_LIMIT_(?P<default>DEFAULT(?:_.+)?))", re.IGNORECASE
)


class Imported(Struct):
    """The result of an import.

    Args:
        document: the settings as a TOML document.
        taken: number of macros imported.
        known: number of macros that HTCondor knows, imported or not.
        not_taken: the lines that are not imported, with the reasons.
        without_effect: imported lines that change nothing, with the reasons.
    """

    document: dict[str, Any]
    taken: int = 0
    known: int = 0
    not_taken: list[NotTaken] = field(default_factory=list)
    without_effect: list[NotTaken] = field(default_factory=list)


def translate(reader: Reader, expressions: Expressions) -> Imported:
    """Return the settings for the macros that *reader* has read.

    Raises SettingValueError for a value that HTCondor would refuse: an unreadable one, or a number out of range.
    """
    return _Translation(reader, expressions).run()


class _Translation:
    def __init__(self, reader: Reader, expressions: Expressions) -> None:
        self._macros: Macros = reader.macros
        self._expressions = expressions
        self._not_taken = list(reader.not_taken)
        self._taken: set[str] = set()
        self._without_effect: list[NotTaken] = []
        self._document: dict[str, Any] = {"negotiator": {"rules": "htcondor"}}

    def run(self) -> Imported:
        for key in SINGLE.values():
            if key.macros and (definition := self._definition(key)) is not None:
                assignment, prefix = definition
                value = self._read(key, assignment, prefix)
                if value is not None:
                    self._document.setdefault(key.section, {})[key.name] = value[0]
                    if key.without_effect:
                        self._without_effect.append(NotTaken(assignment.where, assignment.name, key.without_effect))
        groups = self._groups()
        limits = self._limits()
        for name, table in (("groups", groups), ("limits", limits)):
            if table:
                self._document[name] = table
        self._report_unused(groups)
        recognised = len(self._taken) + sum("unknown" not in entry.why for entry in self._not_taken)
        return Imported(
            self._document,
            len(self._taken),
            recognised,
            sorted(self._not_taken, key=_file_and_line),
            sorted(self._without_effect, key=_file_and_line),
        )

    def _definition(self, key: Key) -> tuple[Assignment, str] | None:
        """Return the definition in force for *key*; report the other definitions for it."""
        first: tuple[Assignment, str] | None = None
        for macro in key.macros:
            for prefix in (*_PREFIXES[key.section], ""):
                assignment = self._macros.assigned.get(f"{prefix}.{macro}" if prefix else macro)
                if assignment is None:
                    continue
                if first is None:
                    first = (assignment, prefix)
                elif not assignment.used:
                    self._skip(assignment, f"{first[0].name} wins")
        return first

    def _read(self, key: Key, assignment: Assignment, prefix: str = "NEGOTIATOR") -> tuple[Any] | None:
        """Return the value of *assignment* for *key* as TOML, in a tuple; None if it is not imported."""
        expansion = self._macros.value(assignment, prefix)
        if expansion.blanks:
            references = ", ".join(dict.fromkeys(expansion.blanks))
            self._skip(assignment, f"it needs {references}, which is not known here")
            return None
        text = expansion.text.strip()
        if not text and key.name in _RANKS:
            text = "0"
        if not text and not may_be_unset(key) and key.type != "list":
            self._skip(assignment, "it is empty; the default applies")
            return None
        try:
            value = from_toml(key, self._typed(key, text))
        except BadValueError:
            raise self._refusal(assignment, key, text) from None
        self._taken.add(assignment.where)
        return (to_toml(key, value),)

    def _typed(self, key: Key, text: str) -> Any:
        """Return *text* as HTCondor reads it for a setting of this type; raises BadValueError."""
        match key.type:
            case "boolean":
                return self._boolean(text)
            case "integer":
                return int(self._number(text))
            case "real":
                return self._number(text)
            case "expression" if text:
                self._expressions.check(text)
                return text
            case _:
                return text

    def _boolean(self, text: str) -> bool:
        """Source: ``string_is_boolean_param``: true, false, 1, 0, or an expression of such a value."""
        if text.lower() in ("true", "false", "1", "0"):
            return text.lower() in ("true", "1")
        return bool(self._number(text))

    def _number(self, text: str) -> float | int:
        """Source: ``param_double``: a number, or an expression whose value is one."""
        try:
            return read_integer(text)
        except BadValueError:
            pass
        try:
            return read_real(text)
        except BadValueError:
            value = self._expressions.evaluate(text)
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            raise BadValueError
        return value

    def _is_number(self, assignment: Assignment) -> bool:
        try:
            self._number(self._macros.value(assignment, "NEGOTIATOR").text.strip())
        except BadValueError:
            return False
        return True

    def _groups(self) -> dict[str, dict[str, Any]]:
        """Return the tables of the groups in GROUP_NAMES (source: ``hgq_construct_tree``)."""
        declared = self._macros.find("GROUP_NAMES", "NEGOTIATOR")
        if declared is None:
            return {}
        expansion = self._macros.value(declared, "NEGOTIATOR")
        if expansion.blanks:
            self._skip(declared, f"it needs {', '.join(expansion.blanks)}, which is not known here")
        self._taken.add(declared.where)
        groups: dict[str, dict[str, Any]] = {}
        lower_names: set[str] = set()
        for name in sorted(re.split(r"[,\s]+", expansion.text.strip()), key=str.lower):
            parent = name.rpartition(".")[0].lower()
            if not name:
                continue
            if name.lower() in lower_names:
                self._not_taken.append(NotTaken(declared.where, f"group {name}", "listed twice"))
            elif not all(name.split(".")) or re.search(r"[@<>]", name):
                self._not_taken.append(NotTaken(declared.where, f"group {name}", "not a valid name for a group"))
            elif parent and parent not in lower_names:
                self._not_taken.append(NotTaken(declared.where, f"group {name}", f"its parent {parent} is missing"))
            else:
                lower_names.add(name.lower())
                groups[name] = self._group(name)
        return groups

    def _group(self, name: str) -> dict[str, Any]:
        table = {}
        for key in GROUP_KEYS.values():
            if not key.macros:
                continue
            assignment = self._macros.find(key.macros[0].replace("<NAME>", name), "NEGOTIATOR")
            if assignment is not None and (value := self._read(key, assignment)) is not None:
                table[key.name] = value[0]
        return table

    def _limits(self) -> dict[str, Any]:
        table: dict[str, Any] = {}
        for assignment in list(self._macros.assigned.values()):
            match = _LIMIT_MACRO.fullmatch(assignment.name)
            if match is None or local_negotiator(assignment.name) or reason(assignment.name) == "no daemon":
                continue
            name = (match["name"] or match["default"]).lower()
            if match["name"] and name.split("_")[0] == "default":
                continue
            if match["name"] and not self._is_number(assignment):
                self._skip(assignment, "its value is not a number, so it is not a concurrency limit")
                continue
            value = self._read(LIMIT_KEY, assignment)
            if value is not None:
                table[name] = value[0]
        return table

    def _report_unused(self, groups: Mapping[str, Any]) -> None:
        """Report every unused definition."""
        lower_names = {name.lower() for name in groups}
        for assignment in self._macros.assigned.values():
            if assignment.used:
                continue
            group = GROUP_MACRO.fullmatch(assignment.name)
            if group and group.group(1).lower() not in lower_names:
                self._skip(assignment, f"{group.group(1)} is not in GROUP_NAMES")
            else:
                self._skip(assignment, reason(assignment.name))

    def _skip(self, assignment: Assignment, explanation: str) -> None:
        assignment.used = True
        self._not_taken.append(NotTaken(assignment.where, assignment.name, explanation))

    def _refusal(self, assignment: Assignment, key: Key, text: str) -> SettingValueError:
        return bad_value(assignment.name, replace(key, unit=""), text, assignment.where)


def _file_and_line(entry: NotTaken) -> tuple[str, int]:
    file, _, line = entry.where.rpartition(":")
    return file, int(line)
