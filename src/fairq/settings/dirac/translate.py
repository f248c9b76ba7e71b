"""Translate DIRAC's configuration into the table ``[shares]`` of fairq's settings (docs/dirac.md 3.1, 6 and 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairq.settings.dirac.cfg import Option, Section
from fairq.settings.htcondor.reader import NotTaken
from fairq.settings.htcondor.translate import Imported
from fairq.settings.share_keys import BLOCK_KEYS
from fairq.settings.values import BadValueError, read_integer, read_real

_SCHEDULING = {
    "EnableSharesCorrection": "enable_shares_correction",
    "taskQueueCPUTimeIntervals": "task_queue_cpu_time_intervals",
    "CheckJobLimits": "check_job_limits",
    "CheckMatchingDelay": "check_matching_delay",
}
"""Settings by the options of JobScheduling."""

_DESCRIPTION = {
    f"{which}{option}": f"{which.lower()}_{name}"
    for which in ("Default", "Min", "Max")
    for option, name in (("Priority", "priority"), ("CPUTime", "cpu_time"))
}
_SHARING = frozenset({"JobSharing", "JOB_SHARING"})
"""The property of groups whose task queues share the priority: DIRAC's spelling, and the one in the schema of 2009."""

_YES = ("y", "yes", "true", "1")
_DEFAULTS = "Defaults"


def translate(root: Section) -> Imported:
    """Return the settings for task queues and shares from the configuration *root*, under the rules dirac.

    The settings come from these sections: JobScheduling (with ShareCorrections, RunningLimit and MatchingDelay)
    and JobDescription in /Operations, for any virtual organisation and setup; the groups of /Registry; and a
    ShareCorrections section outside JobScheduling, as in the schema of 2009.
    """
    return _Translation(root).run()


class _Translation:
    def __init__(self, root: Section) -> None:
        self._root = root
        self._shares: dict[str, Any] = {"rules": "dirac"}
        self._result = Imported({"shares": self._shares})
        self._used: set[tuple[str, ...]] = set()
        self._sources: dict[str, str] = {}

    def run(self) -> Imported:
        has_outer_block = False
        # Options of a virtual organisation take precedence over the defaults.
        for path, section in sorted(
            _walk(self._root, ()), key=lambda path_and_section: _DEFAULTS in path_and_section[0]
        ):
            name = path[-1]
            if name == "JobScheduling":
                self._used.add(path)
                self._scheduling(path, section)
            elif name == "JobDescription":
                self._used.add(path)
                self._options(section, _DESCRIPTION)
            elif name == "Groups" and path[:-1] in ((), ("Registry",)):
                self._used.add(path)
                for group, properties in section.sections.items():
                    self._group((*path, group), properties)
            elif name == "ShareCorrections" and "JobScheduling" not in path:
                self._block(path, section)
                has_outer_block = True
        if has_outer_block:
            # A ShareCorrections block outside JobScheduling enables the correction: its enabling option is elsewhere.
            self._shares.setdefault("enable_shares_correction", True)
        self._result.not_taken += self._unread((), self._root)
        return self._result

    def _scheduling(self, path: tuple[str, ...], section: Section) -> None:
        self._options(section, _SCHEDULING)
        for name, inner in section.sections.items():
            if name in BLOCK_KEYS:
                self._block((*path, name), inner)

    def _options(self, section: Section, keys: dict[str, str]) -> None:
        for name, option in section.options.items():
            if name not in keys:
                self._refuse(option, name, "it has no place among the settings")
                continue
            value: Any = option.value
            if name.startswith(("Enable", "Check")):
                value = option.value.strip().lower() in _YES
            elif name in _DESCRIPTION:
                value = _plain(option.value)
                if not isinstance(value, int):
                    self._refuse(option, name, f"{option.value!r} is not a whole number")
                    continue
            self._take(option, keys[name], value)

    def _take(self, option: Option, key: str, value: Any) -> None:
        former = self._sources.get(key)
        if former is not None:
            self._refuse(option, key, f"it is taken from {former}")
            return
        self._sources[key] = option.where
        self._shares[key] = value
        self._result.taken += 1
        self._result.known += 1

    def _block(self, path: tuple[str, ...], section: Section) -> None:
        name = path[-1]
        self._used.add(path)
        if name in self._shares:
            self._result.not_taken.append(
                NotTaken(section.where, "/".join(path), f"{name} is taken from {self._sources[name]}")
            )
            return
        self._sources[name] = section.where
        self._shares[name] = self._nested(path, section)
        self._result.known += 1

    def _nested(self, path: tuple[str, ...], section: Section) -> dict[str, Any]:
        self._used.add(path)
        self._result.taken += len(section.options)
        values: dict[str, Any] = {name: _plain(option.value) for name, option in section.options.items()}
        return values | {name: self._nested((*path, name), inner) for name, inner in section.sections.items()}

    def _group(self, path: tuple[str, ...], section: Section) -> None:
        self._used.add(path)
        name = path[-1]
        group: dict[str, Any] = {}
        for word, option in section.options.items():
            match word:
                case "JobShare":
                    share = _plain(option.value)
                    if isinstance(share, str) or share < 0:
                        self._refuse(option, f"{name}/JobShare", "it is not a number of 0 or more; DIRAC reads 1000")
                        continue
                    group["job_share"] = share
                case "AllowBackgroundTQs":
                    group["allow_background_tqs"] = option.value.strip().lower() in _YES
                case "VO" if option.value:
                    group["vo"] = option.value
                case "Properties":
                    group["job_sharing"] = not _SHARING.isdisjoint(option.items())
                case _:
                    continue
            self._result.taken += 1
        if group:
            self._result.known += 1
            self._shares.setdefault("groups", {})[name] = group

    def _refuse(self, option: Option, name: str, reason: str) -> None:
        self._result.not_taken.append(NotTaken(option.where, name, reason))

    def _unread(self, path: tuple[str, ...], section: Section) -> Iterator[NotTaken]:
        """Yield the outermost sections that were not read at all."""
        for name, inner in section.sections.items():
            inner_path = (*path, name)
            if inner_path in self._used:
                continue
            if any(used_path in self._used for used_path, _ in _walk(inner, inner_path)):
                yield from self._unread(inner_path, inner)
            else:
                yield NotTaken(inner.where, "/" + "/".join(inner_path), "no part of task queues and shares")


def _walk(section: Section, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Section]]:
    for name, inner in section.sections.items():
        yield (*path, name), inner
        yield from _walk(inner, (*path, name))


def _plain(text: str) -> Any:
    """Return *text* as a number if it is one, else *text*."""
    for read in (read_integer, read_real):
        try:
            return read(text.strip())
        except BadValueError:
            continue
    return text
