"""Changing single settings, and accounting groups as a whole, in the settings files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from msgspec import Struct

from fairq.errors.base import SettingsGroupError
from fairq.settings import Settings
from fairq.settings.collect import Entry, bad_value, parse_document, read_text
from fairq.settings.edit import remove, set_value
from fairq.settings.keys import GROUP_KEYS
from fairq.settings.model import gather
from fairq.settings.names import resolve, without_quotes
from fairq.settings.values import BadValueError, from_text, to_toml
from fairq.settings.writer import exclusive
from fairq.steps.config import SettingsFiles, as_if, check_value
from fairq.steps.settings_history import Recorder, replace_recorded


def set_setting(
    files: SettingsFiles, name: str, text: str, *, recorder: Recorder | None = None, dry_run: bool = False
) -> tuple[Path, bool]:
    """Set the setting *name* to the value in *text*, in the file for changes; with *dry_run*, only check it.

    Returns that file, and whether its comments and order were kept. Raises the errors of the settings if the name, the
    value or the new settings are invalid; the file is then unchanged.
    """
    key, path = resolve(name, "config set")
    file = files.destination_of(".".join(path))
    try:
        value = from_text(key, text)
        check_value(key, value)
    except BadValueError:
        raise bad_value(".".join(path), key, text, file) from None
    edited = _edit(files, file, lambda former: set_value(former, path, to_toml(key, value)), recorder, dry_run=dry_run)
    assert edited is not None
    return file, edited.kept


class _Edited(Struct, frozen=True):
    """An edited file: whether its comments were *kept*, and the resulting *settings* in force."""

    kept: bool
    settings: Settings


def _edit(
    files: SettingsFiles,
    file: Path,
    edit: Callable[[str], tuple[str, bool] | None],
    recorder: Recorder | None,
    *,
    dry_run: bool,
) -> _Edited | None:
    """Replace the text of *file* by the result of *edit*; return None if that is None."""
    with nullcontext() if dry_run else exclusive(file):
        try:
            former = read_text(file)
        except FileNotFoundError:
            former = ""
        parse_document(former, file)
        if (edited := edit(former)) is None:
            return None
        settings = as_if(files, file, edited[0])
        if not dry_run:
            replace_recorded(file, former, edited[0], recorder)
    return _Edited(edited[1], settings)


class Unset(Struct, frozen=True):
    """A setting removed from *file*: whether its comments were *kept*, and the entry *left* that sets it elsewhere."""

    file: Path
    kept: bool
    left: Entry | None


def unset_setting(
    files: SettingsFiles, name: str, *, recorder: Recorder | None = None, dry_run: bool = False
) -> Unset | None:
    """Remove the setting *name* or the group ``groups.NAME`` from the file for changes; with *dry_run*, only check.

    Returns None if the file does not set it. Raises the errors of the settings, as `set_setting` does.
    """
    path = _group(files, name) or resolve(name, "config unset")[1]
    file = files.destination_of(".".join(path))
    edited = _edit(files, file, lambda former: remove(former, path), recorder, dry_run=dry_run)
    if edited is None:
        return None
    full_name = ".".join(path).lower()
    entries = (entry for entry in edited.settings if entry.name.lower() == full_name and entry.origin.is_given)
    return Unset(file, edited.kept, next(entries, None))


def _group(files: SettingsFiles, name: str) -> tuple[str, ...] | None:
    """Return the path of the group *name*; None if it is not a group.

    Raises SettingsGroupError for a group with subgroups, which would lose their parent.
    """
    table, _, group = without_quotes(name, "config unset").partition(".")
    groups = gather(files.layers, files.variables, lambda _: None).groups if table.lower() == "groups" else {}
    if group.lower() not in (other.lower() for other in groups):
        return None
    subgroups = [other for other in groups if other.lower().startswith(f"{group.lower()}.")]
    if subgroups:
        problem = f"has subgroups; unset groups.{subgroups[-1]} first"
        raise SettingsGroupError(where="config unset", group=group, problem=problem)
    return ("groups", group)


def set_group(
    files: SettingsFiles,
    group: str,
    given: Mapping[str, str | None],
    *,
    recorder: Recorder | None = None,
    dry_run: bool = False,
) -> tuple[Path, bool]:
    """Set these settings of a group by name, as one change; None removes a setting.

    Members with + or - before their names are added and removed. A group that does not exist is created. Returns and
    raises the same as `set_setting`.
    """
    file = files.destination_of(f"groups.{group}.quota")
    values = dict(given)

    def edit(former: str) -> tuple[str, bool]:
        all_kept = True
        if text := values.get("members"):
            values["members"] = _members(files, group, text)
        # Removed settings come last: by then, a new group has its table.
        for name, text in sorted(values.items(), key=lambda pair: pair[1] is None):
            key, path = GROUP_KEYS[name], ("groups", group, name)
            if text is None:
                former, is_kept = remove(former, path) or (former, True)
            else:
                former, is_kept = set_value(former, path, to_toml(key, _value(name, text, group, file)))
            all_kept = all_kept and is_kept
        return former, all_kept

    edited = _edit(files, file, edit, recorder, dry_run=dry_run)
    assert edited is not None
    return file, edited.kept


def _members(files: SettingsFiles, group: str, text: str) -> str:
    """Return the members that *text* lists; with + or - before names, add these to the present members or remove them.

    Raises SettingsGroupError if the list would begin or end by that: an empty one means everybody.
    """
    words = [word.strip() for word in text.split(",")]
    if not any(word.startswith(("+", "-")) for word in words):
        return text
    groups = gather(files.layers, files.variables, lambda _: None).groups
    present = next((known.members for name, known in groups.items() if name.lower() == group.lower()), ())
    removed = {word[1:] for word in words if word.startswith("-")}
    added = (word.lstrip("+") for word in words if not word.startswith("-"))
    members = [name for name in dict.fromkeys((*present, *added)) if name not in removed]
    if not (present and members):
        problem = f"would {'end' if present else 'begin'} its list of members; without one, everybody may submit to it"
        raise SettingsGroupError(where="--members", group=group, problem=f"{problem}; give all names without + and -")
    return ",".join(members)


def _value(name: str, text: str, group: str, file: Path) -> Any:
    key = GROUP_KEYS[name]
    try:
        return from_text(key, text)
    except BadValueError:
        raise bad_value(f"groups.{group}.{name}", key, text, file) from None


def remove_groups(
    files: SettingsFiles, groups: list[str], *, recorder: Recorder | None = None, dry_run: bool = False
) -> tuple[Path, bool]:
    """Remove groups with all their settings from the file for changes, as one change.

    Returns the same as `set_setting`. Raises SettingsGroupError if the file has no such group, or if a subgroup would
    lose its parent.
    """
    file = files.destination_of("groups")
    removed = {group.lower() for group in groups}
    for configured in gather(files.layers, files.variables, lambda _: None).groups:
        parent = next((group for group in groups if configured.lower().startswith(f"{group.lower()}.")), None)
        if parent is not None and configured.lower() not in removed:
            problem = f"has the subgroup {configured}; name it, too, or remove it first"
            raise SettingsGroupError(where="quotas remove", group=parent, problem=problem)

    def edit(former: str) -> tuple[str, bool]:
        all_kept = True
        for group in sorted(groups, key=len, reverse=True):  # a subgroup before its parent
            edited = remove(former, ("groups", group))
            if edited is None:
                raise SettingsGroupError(where=file, group=group, problem="does not exist; 'fairq quotas' lists groups")
            former, is_kept = edited
            all_kept = all_kept and is_kept
        return former, all_kept

    result = _edit(files, file, edit, recorder, dry_run=dry_run)
    assert result is not None
    return file, result.kept
