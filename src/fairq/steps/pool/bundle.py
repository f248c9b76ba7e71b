"""All dumps of a pool together, from its daemons or from the archive that ``fairq-dump.sh`` writes."""

from __future__ import annotations

import shlex
import tarfile
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from fairq.common.past import EndedJob
from fairq.common.records import Actor, Ad
from fairq.errors.pool import EmptyInputError, UnreadableDumpError
from fairq.formats.slurm.site import SCRIPT as SLURM_SCRIPT
from fairq.formats.source import Advance, Held
from fairq.steps.pool.import_ import Dumps, Imported, import_dumps

if TYPE_CHECKING:
    from fairq.settings import Settings
    from fairq.steps.config import ImportedConfig, SettingsFiles

SCRIPT = "fairq-dump.sh"

_LARGEST = 1 << 32
"""Maximum bytes read of an archive member: many times the dump of the largest pool."""


class SiteSettings(Struct, frozen=True):
    """The settings of a site as a TOML *document*, and their *origin* in words."""

    origin: str
    document: Mapping[str, Any]


class Bundle(Struct):
    """The dumps of one pool.

    Args:
        slots, jobs, accounting, schedds: the dumps; None if unavailable.
        configuration: HTCondor's configuration, with the name for messages.
        settings: the settings of a site that has no HTCondor.
        ended: the jobs of its past.
        missing: the unavailable data, with reasons.
        time: the time of the dumps, in seconds since 1970; None if unknown.
    """

    slots: Held | None = None
    jobs: Held | None = None
    accounting: Held | None = None
    schedds: Held | None = None
    configuration: tuple[str, str] | None = None
    settings: SiteSettings | None = None
    ended: Sequence[tuple[EndedJob, Ad]] = ()
    missing: list[str] = field(default_factory=list)
    time: int | None = None


def script(archive: str | None = None) -> str:
    """Return the shell script that writes an archive of dumps: of HTCondor, or of Slurm into the file *archive*."""
    folder = resources.files("fairq.formats")
    if archive is None:
        return folder.joinpath(SCRIPT).read_text(encoding="utf-8")
    return folder.joinpath(SLURM_SCRIPT).read_text(encoding="utf-8").replace("@ARCHIVE@", shlex.quote(archive))


def is_archive(name: str) -> bool:
    """Return whether the file *name* is an archive of dumps."""
    from fairq.formats.bundle import is_tar

    return is_tar(Path(name))


def read_archive(name: str) -> Bundle:
    """Return the dumps in the archive *name*, identified by the names of its members.

    Raises UnreadableDumpError if the archive is damaged or contains no dump.
    """
    from fairq.formats.bundle import DAMAGED

    try:
        members = _members(name)
    except (OSError, ValueError, *DAMAGED) as failure:
        raise UnreadableDumpError(source=name, reason=f"it is damaged ({failure})", cure="write it again") from None
    bundle = Bundle()
    for kind in ("slots", "jobs", "accounting"):
        content = members.get(kind)
        if content is None:
            bundle.missing.append(f"{name} has no {kind}")
        elif not content.strip():
            # What a command that failed leaves is no order to delete them.
            bundle.missing.append(f"{name} has nothing in its {kind}, which stay as they are")
        else:
            setattr(bundle, kind, Held(f"{name}: {kind}", content))
    if "schedds" in members:
        bundle.schedds = Held(f"{name}: schedds", members["schedds"])
    if len(bundle.missing) == 3:
        if not any(content.strip() for content in members.values()):
            raise EmptyInputError(source=name, cure=f"write it again with {SCRIPT}")
        raise UnreadableDumpError(source=name, reason="it contains no dump", cure=f"write it with {SCRIPT}")
    if members.get("configuration", b"").strip():
        bundle.configuration = (f"{Path(name).name}:pool.conf", members["configuration"].decode("utf-8", "replace"))
    else:
        bundle.missing.append(f"{name} has no configuration")
    bundle.time = read_time(members.get("time", b"").decode("ascii", "replace"))
    bundle.missing += read_problems(members.get("problems", b"").decode("utf-8", "replace"))
    return bundle


def read_time(text: str) -> int | None:
    """Return the time of an archive, in seconds since 1970, as its script wrote it; None if it did not."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None


def read_problems(text: str) -> list[str]:
    """Return what the script of an archive could not get."""
    return [line.strip() for line in text.splitlines() if line.strip()]


_KINDS: Mapping[str, str] = {
    "pool.conf": "configuration",
    "slots.json": "slots",
    "jobs.json": "jobs",
    "accounting.long": "accounting",
    "schedds.json": "schedds",
    "time": "time",
    "problems": "problems",
}


def _members(name: str) -> dict[str, bytes]:
    from fairq.formats.bundle import check_end

    members: dict[str, bytes] = {}
    with tarfile.open(name) as archive:
        for member in archive:
            kind = _KINDS.get(Path(member.name).name)
            content = archive.extractfile(member) if kind is not None and member.size < _LARGEST else None
            if kind is not None and content is not None:
                members[kind] = content.read()
        check_end(archive)
    return members


class TakenOver(Struct):
    """The result of importing a bundle: the settings (None if unchanged) and the state."""

    config: ImportedConfig | None
    imported: Imported


def import_bundle(
    chosen: SettingsFiles,
    path: Path,
    bundle: Bundle,
    settings: Settings,
    actor: Actor,
    *,
    host: str,
    dry_run: bool = False,
    advance: Advance | None = None,
) -> TakenOver:
    """Import *bundle*: first the state at *path*, under the settings of the pool, then the settings file.

    If the pool's configuration is unknown, *settings* apply. With any error, neither is changed.

    Raises the errors of `import_dumps` and of `fairq.steps.config.import_config`.
    """
    config = _configure(chosen, bundle, dry_run=True)
    dumps = Dumps(bundle.slots, bundle.jobs, bundle.accounting, bundle.schedds, bundle.ended)
    used = settings if config is None else config.settings
    imported = import_dumps(path, dumps, used, actor, host=host, dry_run=dry_run, advance=advance)
    return TakenOver(config if dry_run else _configure(chosen, bundle, dry_run=False), imported)


def _configure(chosen: SettingsFiles, bundle: Bundle, *, dry_run: bool) -> ImportedConfig | None:
    """Replace the settings file by the settings in *bundle*; None if it has none."""
    from fairq.steps.config import import_document, import_texts

    if bundle.settings is not None:
        return import_document(chosen, bundle.settings.document, bundle.settings.origin, dry_run=dry_run)
    return None if bundle.configuration is None else import_texts(chosen, [bundle.configuration], dry_run=dry_run)
