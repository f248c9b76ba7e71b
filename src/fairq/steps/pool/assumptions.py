"""What an import takes for granted where the dumps do not say, and what they mean by what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairq.dumps.accounting import AccountingDump
from fairq.dumps.jobs import JobDump
from fairq.dumps.slots import SlotDump
from fairq.settings.key import DOCUMENTED
from fairq.state import meta, submitters
from fairq.state.connection import State
from fairq.versions import Version, newest, words

if TYPE_CHECKING:
    from fairq.settings import Settings

IMPORTED = "imported_pool"
"""Where the state keeps that its slots or jobs are those of an HTCondor pool."""

NO_ACCOUNTING = (
    "no accounting records: every submitter starts with the best priority; "
    "import what 'condor_userprio -long -allusers' prints with --accounting"
)


def assumptions(
    state: State,
    settings: Settings,
    slots: SlotDump | None,
    jobs: JobDump | None,
    accounting: AccountingDump | None,
) -> list[str]:
    """Return a sentence for each assumption of an import of these dumps; *state* is as it is after the import."""
    notes = []
    if accounting is not None:
        notes += _priorities(accounting)
    elif (slots is not None or jobs is not None) and not submitters.load_all(state):
        notes.append(NO_ACCOUNTING)
    if slots is not None:
        notes += _rules_of_version(settings, slots.version)
    return notes


def missing_accounting(state: State) -> str | None:
    """Return what to say where a pool was imported and nobody has an accounting record; None otherwise."""
    if meta.get(state, IMPORTED) != "1" or submitters.load_all(state):
        return None
    return NO_ACCOUNTING


def _priorities(dump: AccountingDump) -> list[str]:
    effective = f"Priority of {dump.effective} accounting ads is the effective priority, divided by PriorityFactor"
    real = f"Priority of {dump.real} accounting ads is the real priority"
    return [text for text, count in ((effective, dump.effective), (real, dump.real)) if count]


def _rules_of_version(settings: Settings, of_slots: Version | None) -> list[str]:
    """Say whose rules hold, and which of them are those of an older version."""
    if settings["negotiator.rules"] == DOCUMENTED:
        return []
    of_slots_text = None if of_slots is None else words(of_slots)
    version = newest(settings["negotiator.condor_version"], of_slots_text)
    if version is None:
        return ["the dumps name no CondorVersion: the rules of the newest HTCondor hold; set condor_version to change it"]
    source = "CondorVersion of the slots" if version == of_slots else "condor_version of the settings"
    older = [
        entry.name
        for entry in settings.at_version(version)
        if entry.key.since and version < entry.key.since and entry.value != entry.key.real
    ]
    without = f", without {', '.join(older)}" if older else ""
    return [f"the rules of HTCondor {words(version)} hold{without} ({source})"]
