"""Gather the settings from the layers: every value is checked in its layer, and the last value wins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from fairq.common.depth import deeper_than
from fairq.common.inputs import read_text_once
from fairq.errors.base import (
    FairqError,
    SettingsFileError,
    SettingsGroupError,
    SettingsSyntaxError,
    SettingValueError,
    UnknownSettingError,
)
from fairq.settings import names, share_blocks
from fairq.settings.key import Key
from fairq.settings.keys import GROUP_KEYS, LIMIT_KEY, SECTIONS, SINGLE, TABLES
from fairq.settings.layers import Layer
from fairq.settings.origin import Origin
from fairq.settings.statements import KEY_PATTERN
from fairq.settings.submit_keys import SUBMIT_GROUP_KEY, SUBMIT_GROUPS
from fairq.settings.values import BadValueError, from_text, from_toml, to_text

Report = Callable[[FairqError], None]

LONGEST_SHOWN = 80
DEEPEST = 50
"""Most levels of tables and lists in a settings file."""

_DEEP_KEY = rf"(?m)(?:^|[{{,])[ \t]*\[{{0,2}}[ \t]*(?:{KEY_PATTERN}[ \t]*\.[ \t]*){{{DEEPEST}}}"

_NO_GROUP = "<none>"
"""The engine's name for the group of all submitters without a group."""


class Entry(Struct):
    """One setting with its value and the origin of the value; *path* leads to it in a document."""

    path: names.Path
    key: Key
    value: Any
    origin: Origin

    @property
    def name(self) -> str:
        """The full name, for example ``negotiator.rules`` or ``groups.physics.hep.quota``."""
        return ".".join(self.path)


class Declaration(Struct, frozen=True):
    """A group's table: the *name* in its first spelling, and its origin."""

    name: str
    origin: Origin


def raise_first(error: FairqError) -> None:
    """Raise *error*: a `Report` for those who want only the first one."""
    raise error


class Collection:
    """The settings gathered from the layers read so far.

    Args:
        report: called with each error. If it returns, reading continues without the invalid value.
    """

    def __init__(self, report: Report = raise_first) -> None:
        self.entries: dict[names.Path, Entry] = {}
        self.groups: dict[str, Declaration] = {}
        self._only: frozenset[str] | None = None
        self._report = report

    def add_layer(self, layer: Layer) -> None:
        """Read the file of *layer*; a missing one counts as empty unless it is required."""
        self._only = layer.only
        self._add_file(layer.path, layer.required)
        self._only = None

    def _add_file(self, file: Path, required: bool) -> None:
        try:
            document = read_document(file)
        except FileNotFoundError:
            if required:
                self._report(SettingsFileError(file=file, problem="there is no such file"))
            return
        except (SettingsFileError, SettingsSyntaxError) as error:
            self._report(error)
            return
        self.add_document(document, file)

    def add_document(self, document: Mapping[str, Any], file: Path) -> None:
        """Add a parsed TOML document."""
        for section, table in document.items():
            origin = Origin(file=file, path=(section,))
            if section not in SECTIONS or not isinstance(table, dict):
                self._report(names.unknown_section(section, str(origin)))
            elif section == "groups":
                self._add_groups(table, origin)
            elif section == "limits":
                self._add_limits(table, origin)
            else:
                self._add_table((section,), table, file)

    def _add_table(self, path: names.Path, table: Mapping[str, Any], file: Path) -> None:
        """Add the single settings of a table, and of the tables inside it."""
        for name, value in table.items():
            value_path = (*path, name)
            if path == ("shares",) and share_blocks.is_table(name):
                self._add_block(name, value, file)
                continue
            if value_path == SUBMIT_GROUPS and isinstance(value, dict):
                for group, group_name in value.items():
                    origin = Origin(file=file, path=(*value_path, group))
                    self._set((*value_path, group), SUBMIT_GROUP_KEY, group_name, origin)
                continue
            if value_path in TABLES and isinstance(value, dict):
                self._add_table(value_path, value, file)
                continue
            origin = Origin(file=file, path=value_path)
            key = SINGLE.get(".".join(value_path))
            if key is None or key.path != value_path:
                self._report(names.unknown(".".join(value_path), str(origin)))
            else:
                self._set(value_path, key, value, origin)

    def add_environment(self, environ: Mapping[str, str]) -> None:
        """Add the variables ``FAIRQ_<SECTION>_<KEY>``; an empty one counts as not set."""
        variables = sorted(name for name, value in environ.items() if name.startswith("FAIRQ_") and value)
        if not variables:
            return
        keys = {key.variable: key for key in SINGLE.values()}
        pattern = re.compile(f"FAIRQ_({'|'.join(SECTIONS)})_(.+)", re.IGNORECASE)
        for variable in variables:
            match = pattern.fullmatch(variable)
            if match is None:
                continue
            section, name = (part.lower() for part in match.groups())
            key = keys.get(variable) or (LIMIT_KEY if section == "limits" else None)
            if section == "groups":
                error = UnknownSettingError(where="environment", key=variable, hint="groups are set in files only")
                self._report(error)
            elif key is None:
                self._report(names.unknown(f"{section}.{name}", f"${variable}"))
            else:
                path = (section, name) if key is LIMIT_KEY else key.path
                self._set(path, key, environ[variable], Origin(f"${variable}"), from_text)

    def check_parents(self) -> None:
        """Report groups with an undeclared parent, which HTCondor ignores."""
        for declared in self.groups.values():
            parent = declared.name.rpartition(".")[0]
            if parent and parent.lower() not in self.groups:
                problem = f"has no parent: add [groups.{_toml_key(parent)}] or take the group out"
                self._report(SettingsGroupError(where=declared.origin, group=declared.name, problem=problem))

    def _add_groups(self, table: Mapping[str, Any], origin: Origin) -> None:
        """Add the tables of groups; a table inside a group's table is its child."""
        first_paths: dict[str, tuple[str, names.Path]] = {}
        pending = [(name, name, value, (*origin.path, name)) for name, value in table.items()]
        for name, _, value, path in pending:
            group_origin = Origin(file=origin.file, path=path)
            problem = _group_problem(name)
            if not isinstance(value, dict):
                problem = f"is a table: write [groups.{_toml_key(name)}]"
            else:
                former, former_path = first_paths.setdefault(name.lower(), (name, path))
                if former != name:
                    problem = f"stands here twice, also as {former!r}: case does not matter"
                elif former_path != path:
                    problem = f"stands here twice, also as [{'.'.join(map(_toml_key, former_path))}]: keep one of them"
            if problem:
                self._report(SettingsGroupError(where=group_origin, group=name, problem=problem))
                continue
            self._add_group(name, value, group_origin)
            children = (
                (key, member) for key, member in value.items() if isinstance(member, dict) and key not in GROUP_KEYS
            )
            pending += [(f"{name}.{child}", child, inner, (*path, child)) for child, inner in children]

    def _add_group(self, name: str, table: Mapping[str, Any], origin: Origin) -> None:
        if self._only is None:
            name = self.groups.setdefault(name.lower(), Declaration(name, origin)).name
        for key_name, value in table.items():
            key_origin = Origin(file=origin.file, path=(*origin.path, key_name))
            if key_name in GROUP_KEYS:
                self._set(("groups", name, key_name), GROUP_KEYS[key_name], value, key_origin)
            elif not isinstance(value, dict):
                self._report(names.unknown(f"groups.{name}.{key_name}", str(key_origin)))

    def _add_block(self, name: str, value: Any, file: Path) -> None:
        """Add the table ``shares.NAME``."""
        for leaf in share_blocks.leaves(name, value):
            origin = Origin(file=file, path=leaf.path)
            if leaf.key is None:
                error = UnknownSettingError(where=origin, key=".".join(leaf.path), hint=leaf.hint)
                self._report(error)
            else:
                self._set(leaf.path, leaf.key, leaf.value, origin)

    def _add_limits(self, table: Mapping[str, Any], origin: Origin) -> None:
        for name, value in table.items():
            path = (*origin.path, name)
            key_origin = Origin(file=origin.file, path=path)
            if isinstance(value, dict):  # db.x = 3 without quotes
                self._add_limits(value, key_origin)
            else:
                self._set(("limits", ".".join(path[1:]).lower()), LIMIT_KEY, value, key_origin)

    def _set(
        self,
        path: names.Path,
        key: Key,
        value: Any,
        origin: Origin,
        read: Callable[[Key, Any], Any] = from_toml,
    ) -> None:
        try:
            entry = Entry(path, key, read(key, value), origin)
        except BadValueError:
            self._report(bad_value(".".join(path), key, value, origin))
            return
        if self._only is None or entry.name in self._only:
            self.entries[path] = entry


def bad_value(name: str, key: Key, value: Any, where: object) -> SettingValueError:
    """Return the error for *value*, which is invalid for *key*."""
    default = to_text(key, key.default) or "unset"
    text = _short(repr(list(value) if isinstance(value, tuple) else value))
    return SettingValueError(where=where, key=name, value=text, expected=key.expected, default=_short(default))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


def read_document(file: Path) -> dict[str, Any]:
    """Parse the TOML file *file*.

    Raises FileNotFoundError, SettingsFileError if it cannot be read, SettingsSyntaxError if it is not TOML.
    """
    return parse_document(read_text(file), file)


def read_text(file: Path) -> str:
    """Return the text of *file*; raises FileNotFoundError, SettingsFileError if it cannot be read."""
    try:
        return read_text_once(file)
    except FileNotFoundError:
        raise
    except UnicodeDecodeError:
        raise SettingsFileError(file=file, problem="not a text file in UTF-8") from None
    except (OSError, ValueError) as error:
        raise SettingsFileError(file=file, problem=getattr(error, "strerror", None) or str(error)) from None


def parse_document(text: str, file: Path) -> dict[str, Any]:
    """Parse the text of a TOML file.

    Raises SettingsSyntaxError, which names *file*, line and column, or SettingsFileError.
    """
    import tomllib

    def too_deep() -> SettingsFileError:
        problem = f"its tables are nested too deeply; use at most {DEEPEST} levels"
        return SettingsFileError(file=file, problem=problem)

    # The parser would take hours for a key of many parts; few files have that many dots.
    if text.count(".") >= DEEPEST and re.search(_DEEP_KEY, text):
        raise too_deep()
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        pattern = r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)"
        match = re.fullmatch(pattern, str(error), re.DOTALL)
        problem, line, column = match.groups() if match else (str(error), None, None)
        lines = text.splitlines() or [""]
        raise SettingsSyntaxError(
            file=file, line=line or len(lines), column=column or len(lines[-1]) + 1, problem=problem
        ) from None
    except RecursionError:
        raise too_deep() from None
    except ValueError:
        raise SettingsFileError(file=file, problem="a number has thousands of digits; shorten it") from None
    if deeper_than(document, DEEPEST):
        raise too_deep()
    return document


def _group_problem(name: str) -> str:
    if name.lower() == _NO_GROUP:
        return "is everybody who is in no other, and has what the other quotas leave; take it out"
    if not all(name.split(".")) or re.search(r"[\s,@<>]", name) or not name.isprintable():
        return "cannot be called so; use words joined by dots, as physics.hep"
    return ""


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'
