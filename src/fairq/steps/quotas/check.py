"""``quotas check``: problems of the groups of a configuration; writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.errors.base import FairqError
from fairq.settings.htcondor.translate import GROUP_MACRO
from fairq.settings.model import gather
from fairq.state.connection import State, reading
from fairq.steps.quotas.problems import NEVER_STARTS, Configured, Oddity, quota_oddities
from fairq.steps.quotas.source import Source, read_source
from fairq.steps.quotas.users import user_oddities, users_in

if TYPE_CHECKING:
    from fairq.settings import Settings
    from fairq.settings.htcondor.reader import NotTaken
    from fairq.steps.config import SettingsFiles


class Checked(Struct, frozen=True):
    """The result of a check: *errors* of the settings, *oddities* of the groups, and the number of *groups*."""

    errors: Sequence[FairqError]
    oddities: Sequence[Oddity]
    groups: int


def check_quotas(path: Path, chosen: SettingsFiles, file: str | None, now: int) -> Checked:
    """Check the groups of the settings in use, or of the configuration in *file*, for the pool at *path*.

    Sums are compared with the pool if it has slots, and users are checked if there are any. Raises the errors of
    settings for a file that cannot be read.
    """
    errors: list[FairqError] = []
    if file is None:
        source = Source(gather(chosen.layers, chosen.variables, errors.append))
    else:
        source = read_source(file, chosen.environ, errors.append)
    settings = source.settings
    with reading(path) as state:
        if settings.groups and not errors:
            configured = _in_pool(state, settings, now, is_htcondor=source.is_htcondor)
        else:
            configured = Configured.of(settings, None, 1.0, is_htcondor=source.is_htcondor)
        users = users_in(state)
    oddities = [
        *_not_taken(source.not_taken),
        *quota_oddities(configured),
        *user_oddities(users, tuple(settings.groups)),
    ]
    return Checked(errors, oddities, len(settings.groups))


def never_starting(path: Path, chosen: SettingsFiles, file: str | None, now: int) -> list[Oddity]:
    """Return the groups, as in `check_quotas`, whose quota is too small for any slot."""
    return [oddity for oddity in check_quotas(path, chosen, file, now).oddities if oddity.kind == NEVER_STARTS]


def never_starting_in(path: Path, settings: Settings, now: int) -> list[Oddity]:
    """Return the groups of valid *settings* whose quota is too small for any slot of the pool at *path*."""
    if not settings.groups:
        return []
    with reading(path) as state:
        oddities = quota_oddities(_in_pool(state, settings, now, is_htcondor=False))
        return [oddity for oddity in oddities if oddity.kind == NEVER_STARTS]


def _in_pool(state: State, settings: Settings, now: int, *, is_htcondor: bool) -> Configured:
    """Return the groups of *settings* in the pool of *state*."""
    from fairq.steps.quotas.forecast import Forecaster

    forecaster = Forecaster(state, settings, now)
    total, least = forecaster.size(settings) or None, forecaster.least_weight(settings)
    return Configured.of(settings, total, least, is_htcondor=is_htcondor)


def _not_taken(entries: Iterable[NotTaken]) -> Iterator[Oddity]:
    """Yield problems in the lines of HTCondor's configuration about groups that were not imported."""
    reported = set()
    for entry in entries:
        name = entry.name.removeprefix("group ")
        if name == entry.name:
            continue
        reported.add(name.lower())
        is_orphan = "parent" in entry.why
        cure = f"add {name.rpartition('.')[0]} there, or remove it" if is_orphan else "correct GROUP_NAMES"
        problem = f"GROUP_NAMES ({entry.where}): {entry.why}"
        yield Oddity(name, "orphan" if is_orphan else "name", problem, cure)
    for entry in entries:
        macro = GROUP_MACRO.fullmatch(entry.name)
        if macro and "GROUP_NAMES" in entry.why and macro.group(1).lower() not in reported:
            problem = f"{entry.name} is set ({entry.where}), but GROUP_NAMES does not list the group"
            yield Oddity(macro.group(1), "not named", problem, "add it to GROUP_NAMES, or remove the line")
