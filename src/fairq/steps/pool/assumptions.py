"""The assumptions of an import: where the dumps lack data, and how their data is interpreted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairq.common.versions import Version, newest, words
from fairq.settings.key import DOCUMENTED
from fairq.state import cycles, meta, submitters
from fairq.state.connection import State, reading
from fairq.steps.launch.launchers import is_launching

if TYPE_CHECKING:
    from fairq.formats.accounting import AccountingDump
    from fairq.formats.slots import SlotDump
    from fairq.settings import Settings

_WITHOUT_ACCOUNTING = "without_accounting"
"""Metadata key; its value is the next cycle's number at the import of a pool without accounting records."""

_NO_ACCOUNTING = (
    "no accounting records: every submitter starts with the best priority; "
    "import what 'condor_userprio -long -allusers' prints with --accounting"
)

_WHOLE_SLOTS = (
    "the rules htcondor match a partitionable slot as a whole: one job per machine at a time; "
    'negotiator.partitionable_slots = "carve" gives each job what it requests'
)


def assumptions(
    state: State,
    settings: Settings,
    slots: SlotDump | None,
    accounting: AccountingDump | None,
) -> list[str]:
    """Return a sentence for each assumption of an import of these dumps into *state*, which is still unchanged."""
    notes = []
    if accounting is not None:
        notes += _priorities(accounting)
    elif not submitters.load_all(state) or missing_accounting(state) is not None:
        notes.append(_NO_ACCOUNTING)
    if slots is not None:
        notes += [*_rules_of_version(settings, slots.version), *whole_slots(state, settings)]
    return notes


def whole_slots(state: State, *settings: Settings) -> list[str]:
    """Return what whole slots cost, if the first of the *settings* match them and the pool starts jobs by any of them.

    An import of settings replaces the launcher, too.
    """
    is_whole = settings[0]["negotiator.partitionable_slots"] == "whole"
    return [_WHOLE_SLOTS] if is_whole and any(is_launching(state, setting) for setting in settings) else []


def whole_slots_at(path: Path, *settings: Settings) -> list[str]:
    """Return the same for the state at *path*."""
    with reading(path) as state:
        return whole_slots(state, *settings)


def note_accounting(state: State, accounting: AccountingDump | None) -> None:
    """Store whether the pool to be imported into *state* has accounting records."""
    if accounting is not None:
        meta.set(state, _WITHOUT_ACCOUNTING, "")
    elif not submitters.load_all(state):
        meta.set(state, _WITHOUT_ACCOUNTING, str(cycles.next_number(state)))


def missing_accounting(state: State) -> str | None:
    """Return a warning if a pool was imported without accounting records and has had no cycle since, else None."""
    since = meta.get(state, _WITHOUT_ACCOUNTING)
    return _NO_ACCOUNTING if since and since == str(cycles.next_number(state)) else None


def _priorities(dump: AccountingDump) -> list[str]:
    effective = f"Priority of {dump.effective} accounting ads is the effective priority, divided by PriorityFactor"
    real = f"Priority of {dump.real} accounting ads is the real priority"
    return [text for text, count in ((effective, dump.effective), (real, dump.real)) if count]


def _rules_of_version(settings: Settings, of_slots: Version | None) -> list[str]:
    """Name the HTCondor version whose rules apply, and the newer rules that do not apply."""
    if settings["negotiator.rules"] == DOCUMENTED:
        return []
    of_slots_text = None if of_slots is None else words(of_slots)
    version = newest(settings["negotiator.condor_version"], of_slots_text)
    if version is None:
        return ["no CondorVersion in the dumps: the rules of the newest HTCondor hold; set condor_version for another"]
    source = "CondorVersion of the slots" if version == of_slots else "condor_version of the settings"
    older = [
        entry.name
        for entry in settings.at_version(version)
        if entry.key.since and version < entry.key.since and entry.value != entry.key.real
    ]
    without = f", without {', '.join(older)}" if older else ""
    return [f"the rules of HTCondor {words(version)} hold{without} ({source})"]
