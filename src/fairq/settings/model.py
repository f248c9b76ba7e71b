"""The settings in force."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fairq.common.versions import Version, version_of
from fairq.errors.base import FairqError, SettingValueError
from fairq.settings.collect import Collection, Entry, Report, bad_value, raise_first
from fairq.settings.key import DOCUMENTED, HTCONDOR, Key, Scheme
from fairq.settings.keys import CONCURRENCY_LIMIT_DEFAULT, LIMIT_KEY, SINGLE
from fairq.settings.layers import Layer, layers
from fairq.settings.origin import DEFAULT, Origin
from fairq.settings.share_blocks import nested
from fairq.settings.submit_keys import SUBMIT_GROUPS

CONDOR_VERSION = "negotiator.condor_version"
UPLOADS = "schedd.max_concurrent_uploads"
_BY_RULES = "rules "
"""The beginning of the origin of a value that the rules decide; the name of the rules follows."""


class GroupSettings(Struct, frozen=True):
    """The settings of one accounting group; None means not configured.

    Args:
        name: the name in the spelling of the settings; names of groups ignore case.
        quota: static quota in slot weight; wins over *quota_dynamic*.
        quota_dynamic: fraction of the parent's quota, 0 to 1.
        prio_factor: the initial priority factor of members without one.
        accept_surplus, autoregroup: None means the setting for all groups.
        members: users, and Unix groups as ``%GROUP``, who may submit to it and its subgroups; empty means the members
            of the parent group, or everybody for a group at the top.
        submit_for_others: users who may submit to it in the name of others.
    """

    name: str
    quota: float | None = None
    quota_dynamic: float | None = None
    prio_factor: float | None = None
    accept_surplus: bool | None = None
    autoregroup: bool | None = None
    members: tuple[str, ...] = ()
    submit_for_others: tuple[str, ...] = ()

    @property
    def parent(self) -> str | None:
        """The name of the parent group; None for a group at the top."""
        return self.name.rpartition(".")[0] or None


class Settings:
    """All settings with their values; ``settings["negotiator.rules"]``. A value of None is *unset*."""

    def __init__(
        self,
        entries: Mapping[str, Entry],
        groups: Mapping[str, GroupSettings],
        reload: Callable[[], Settings] | None = None,
    ) -> None:
        self._entries = entries
        self._reload = reload
        self.groups = groups
        """The configured accounting groups by name, sorted ignoring case: parents come first."""

    def __getitem__(self, name: str) -> Any:
        return self._entries[name].value

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over all settings in the order of the key table, then groups and limits."""
        return iter(self._entries.values())

    def origin(self, name: str) -> Origin:
        """Return where the value of *name* came from."""
        return self._entries[name].origin

    def now(self) -> Settings:
        """Read the files again and return the settings; return these if nothing changed or a file is invalid.

        Settings changed in memory, as by `under`, are not read again.
        """
        if self._reload is None:
            return self
        try:
            settings = self._reload()
        except FairqError:
            return self
        return self if settings._values() == self._values() and settings.groups == self.groups else settings

    def _values(self) -> dict[str, Any]:
        return {name: entry.value for name, entry in self._entries.items()}

    def under(self, rules: str, *, scheme: Scheme = HTCONDOR, only: Iterable[str] | None = None) -> Settings:
        """Return these settings under other *rules* of a *scheme*; explicitly set values stay.

        With *only*, just these rule points (full names) change.
        """
        entries = dict(self._entries)
        points = [
            entry for entry in self if entry.key.point and entry.key.scheme is scheme and not _is_set_itself(entry)
        ]
        version = version_of(self[CONDOR_VERSION])
        for entry in points:
            if only is None or entry.name in only:
                value, origin = entry.key.default_under(rules, version), Origin(f"rules {rules}")
                entries[entry.name] = replace(entry, value=value, origin=origin)
        if only is None:
            entries[scheme.rules] = replace(entries[scheme.rules], value=rules)
        return Settings(entries, self.groups)

    def at_version(self, version: Version | None) -> Settings:
        """Return these settings for HTCondor *version* (None: the newest); explicitly set values stay."""
        entries = dict(self._entries)
        for entry in self:
            if entry.key.since and not _is_set_itself(entry):
                rules = entry.origin.words.removeprefix(_BY_RULES)
                entries[entry.name] = replace(entry, value=entry.key.default_under(rules, version))
        return Settings(entries, self.groups)

    def is_set(self, name: str) -> bool:
        """Return whether *name* was set, even to its default value."""
        return self._entries[name].origin is not DEFAULT

    def refusal(self, name: str) -> SettingValueError:
        """Return the error for a value of *name* that turns out to be invalid in use, for example an expression."""
        entry = self._entries[name]
        return bad_value(entry.name, entry.key, entry.value, entry.origin)

    @property
    def limits(self) -> dict[str, float]:
        """Maximum by lower-case limit name; ``default`` always exists, ``default_<prefix>`` may exist."""
        return {entry.path[1]: entry.value for entry in self if entry.path[0] == "limits"}

    @property
    def submit_groups(self) -> dict[str, str]:
        """The accounting groups of Unix groups, in the order of ``[submit.groups]``."""
        entries = (entry for entry in self if entry.path[:2] == SUBMIT_GROUPS and len(entry.path) > 2)
        return {entry.path[2]: entry.value for entry in entries if entry.value is not None}

    def block(self, name: str) -> dict[str, Any]:
        """Return DIRAC's block ``shares.NAME`` (ShareCorrections, RunningLimit, MatchingDelay) as nested options."""
        return nested({entry.path: entry.value for entry in self}, name)

    @property
    def share_groups(self) -> dict[str, dict[str, Any]]:
        """The values in ``[shares.groups]``, by group and key."""
        groups: dict[str, dict[str, Any]] = {}
        for entry in self:
            if entry.path[:2] == ("shares", "groups"):
                groups.setdefault(entry.path[2], {})[entry.path[3].lower()] = entry.value
        return groups


def _is_set_itself(entry: Entry) -> bool:
    """Return whether a rule point itself was set."""
    return not str(entry.origin.words).startswith(_BY_RULES) or entry.origin.file is not None


def load(config: Path | None, state: Path | None, environ: Mapping[str, str]) -> Settings:
    """Return the settings in force.

    The sources in order, later ones win: the default, the rules' default, the site's file, the user's, the state's,
    the variables ``FAIRQ_<SECTION>_<KEY>``. *config* (else ``FAIRQ_CONFIG``) replaces the three files. Expressions
    are not parsed here.

    Args:
        config: the file of ``--config``.
        state: the state file, if the user chose it.
        environ: the environment.

    Raises:
        SettingsFileError, SettingsSyntaxError, UnknownSettingError, SettingValueError, SettingsGroupError:
            for the first error.
    """

    def reload() -> Settings:
        settings = gather(layers(config, state, environ), environ)
        return Settings(settings._entries, settings.groups, reload)

    return reload()


def gather(files: Iterable[Layer], environ: Mapping[str, str], report: Report = raise_first) -> Settings:
    """Read *files* and the variables in *environ*; errors go to *report* (see `Collection`)."""
    collection = Collection(report)
    for layer in files:
        collection.add_layer(layer)
    collection.add_environment(environ)
    collection.check_parents()
    return settle(collection)


def settle(collection: Collection) -> Settings:
    """Add the defaults under the chosen rules, and build the groups."""
    explicit = collection.entries
    entries: dict[str, Entry] = {}
    path: tuple[str, ...]
    for name, key in SINGLE.items():
        path, default, origin = key.path, key.default, DEFAULT
        if key.point:
            rules = _rules(explicit, key)
            default, origin = key.default_under(rules), Origin(f"rules {rules}")
        entries[name] = explicit.get(path) or Entry(path, key, default, origin)
    per_user = entries[UPLOADS + "_per_user"]
    if per_user.value is None:
        per_user.value = entries[UPLOADS].value // 5
    for path in sorted(explicit, key=_by_name):
        if path[0] in ("groups", "limits"):
            entries[explicit[path].name] = explicit[path]
    default = ("limits", "default")
    for path, entry in explicit.items():
        if len(path) > 2 and path[0] in ("shares", "submit"):
            entries[entry.name] = entry
    entries.setdefault("limits.default", Entry(default, LIMIT_KEY, CONCURRENCY_LIMIT_DEFAULT, DEFAULT))
    settings = Settings(entries, _groups(collection))
    return settings.at_version(version_of(settings[CONDOR_VERSION]))


def _rules(explicit: Mapping[tuple[str, ...], Entry], key: Key) -> str:
    section, _, name = key.scheme.rules.partition(".")
    chosen = explicit.get((section, name))
    return str(chosen.value) if chosen else DOCUMENTED


def _groups(collection: Collection) -> dict[str, GroupSettings]:
    values: dict[str, dict[str, Any]] = {}
    for path, entry in collection.entries.items():
        if path[0] == "groups":
            values.setdefault(path[1].lower(), {})[entry.key.name] = entry.value
    return {
        declared.name: GroupSettings(declared.name, **values.get(lower, {}))
        for lower, declared in sorted(collection.groups.items())
    }


def _by_name(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.lower() for part in path)
