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
from fairq.settings.writer import alone
from fairq.steps.config import SettingsFiles, as_if, check_value
from fairq.steps.settings_history import Recorder, replace_recorded


def set_setting(
    chosen: SettingsFiles, name: str, text: str, *, recorder: Recorder | None = None, dry_run: bool = False
) -> tuple[Path, bool]:
    """Give the setting *name* the value that *text* says, in the file for changes; *dry_run* only tries it.

    Returns that file, and whether its comments and order could be kept. Raises the errors of the settings if
    the name, the value, or what the settings would become is wrong; the file is then as before.
    """
    key, path = resolve(name, "config set")
    file = chosen.destination_of(".".join(path))
    try:
        value = from_text(key, text)
        check_value(key, value)
    except BadValueError:
        raise bad_value(".".join(path), key, text, file) from None
    done = _edit(chosen, file, lambda former: set_value(former, path, to_toml(key, value)), recorder, dry_run=dry_run)
    assert done is not None
    return file, done.kept


class _Done(Struct, frozen=True):
    """A file was edited: its comments were *kept* or not; *settings* are those in force with it."""

    kept: bool
    settings: Settings


def _edit(
    chosen: SettingsFiles,
    file: Path,
    edit: Callable[[str], tuple[str, bool] | None],
    recorder: Recorder | None,
    *,
    dry_run: bool,
) -> _Done | None:
    """Replace the text of *file* by what *edit* makes of it; None if that is None."""
    with nullcontext() if dry_run else alone(file):
        try:
            former = read_text(file)
        except FileNotFoundError:
            former = ""
        parse_document(former, file)
        if (edited := edit(former)) is None:
            return None
        settings = as_if(chosen, file, edited[0])
        if not dry_run:
            replace_recorded(file, former, edited[0], recorder)
    return _Done(edited[1], settings)


class Unset(Struct, frozen=True):
    """A setting was taken out of *file*, whose comments were *kept* or not; *left* sets it elsewhere."""

    file: Path
    kept: bool
    left: Entry | None


def unset_setting(
    chosen: SettingsFiles, name: str, *, recorder: Recorder | None = None, dry_run: bool = False
) -> Unset | None:
    """Take the setting *name*, or the group ``groups.NAME``, out of the file for changes; *dry_run* only tries it.

    None if the file does not set it. Raises the errors of the settings, as `set_setting` does.
    """
    path = _group(chosen, name) or resolve(name, "config unset")[1]
    file = chosen.destination_of(".".join(path))
    done = _edit(chosen, file, lambda former: remove(former, path), recorder, dry_run=dry_run)
    if done is None:
        return None
    full_name = ".".join(path).lower()
    left = (entry for entry in done.settings if entry.name.lower() == full_name and entry.origin.is_given)
    return Unset(file, done.kept, next(left, None))


def _group(chosen: SettingsFiles, name: str) -> tuple[str, ...] | None:
    """Return the path of the group that *name* names, None if it names none.

    Raises SettingsGroupError for a group with subgroups, which would lose their parent.
    """
    table, _, group = without_quotes(name, "config unset").partition(".")
    groups = gather(chosen.layers, chosen.variables, lambda _: None).groups if table.lower() == "groups" else {}
    if group.lower() not in (known.lower() for known in groups):
        return None
    below = [known for known in groups if known.lower().startswith(f"{group.lower()}.")]
    if below:
        problem = f"has subgroups; unset groups.{below[-1]} first"
        raise SettingsGroupError(where="config unset", group=group, problem=problem)
    return ("groups", group)


def set_group(
    chosen: SettingsFiles,
    group: str,
    values: Mapping[str, str | None],
    *,
    recorder: Recorder | None = None,
    dry_run: bool = False,
) -> tuple[Path, bool]:
    """Give a group these values by the names of its settings, as one change; None takes a setting out.

    A group that does not exist is created. Returns what `set_setting` does, and raises the same errors.
    """
    file = chosen.destination_of(f"groups.{group}.quota")

    def edit(former: str) -> tuple[str, bool]:
        kept = True
        # Settings that are taken out come last: a new group has its table then.
        for name, text in sorted(values.items(), key=lambda pair: pair[1] is None):
            key, path = GROUP_KEYS[name], ("groups", group, name)
            if text is None:
                former, is_kept = remove(former, path) or (former, True)
            else:
                former, is_kept = set_value(former, path, to_toml(key, _value(name, text, group, file)))
            kept = kept and is_kept
        return former, kept

    done = _edit(chosen, file, edit, recorder, dry_run=dry_run)
    assert done is not None
    return file, done.kept


def _value(name: str, text: str, group: str, file: Path) -> Any:
    key = GROUP_KEYS[name]
    try:
        return from_text(key, text)
    except BadValueError:
        raise bad_value(f"groups.{group}.{name}", key, text, file) from None


def remove_groups(
    chosen: SettingsFiles, groups: list[str], *, recorder: Recorder | None = None, dry_run: bool = False
) -> tuple[Path, bool]:
    """Take groups with all their settings out of the file for changes, as one change.

    Returns what `set_setting` does. Raises SettingsGroupError if the file has no such group, and if a subgroup would
    stay without its parent.
    """
    file = chosen.destination_of("groups")
    named = {group.lower() for group in groups}
    for known in gather(chosen.layers, chosen.variables, lambda _: None).groups:
        above = next((group for group in groups if known.lower().startswith(f"{group.lower()}.")), None)
        if above is not None and known.lower() not in named:
            problem = f"has the subgroup {known}; name it, too, or remove it first"
            raise SettingsGroupError(where="quotas remove", group=above, problem=problem)

    def edit(former: str) -> tuple[str, bool]:
        kept = True
        for group in sorted(groups, key=len, reverse=True):  # a subgroup before its parent
            found = remove(former, ("groups", group))
            if found is None:
                raise SettingsGroupError(where=file, group=group, problem="does not exist; 'fairq quotas' lists groups")
            former, is_kept = found
            kept = kept and is_kept
        return former, kept

    done = _edit(chosen, file, edit, recorder, dry_run=dry_run)
    assert done is not None
    return file, done.kept
