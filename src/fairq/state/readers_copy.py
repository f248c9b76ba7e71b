"""Copies of the state for people who may not open it, so that no reader can hold a lock on it.

The copy for everybody lies beside the state and is replaced atomically. Its modification time is that of the state
when it was copied: a copy with the same time as the state is up to date. A copy for one person is made in memory.

With pool.private_jobs, an ad keeps of others' jobs numbers, truth values, and what matchmaking and accounting need.
Texts such as the command, its arguments, directories, environment and files are removed, also from ended jobs, changes,
undo and events.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from fairq.common import files
from fairq.common.lock_wait import WAIT, Patience, take
from fairq.errors.base import StateLockedError
from fairq.state.connection import reading
from fairq.state.failures import mapped
from fairq.state.job_ads import digest
from fairq.state.schema import guards

_FOLDER = "public"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_TICK = 0.02
"""Seconds after which a later change certainly has a later modification time."""

_OUTDATED = 1
"""A modification time that no state has: the copy counts for who asked for it, but is outdated for the next one."""

_SPARE = 4
"""Multiple of the size of the state that must be free on the disk for a copy: readers may keep old ones open."""


def public_copy(state: Path) -> Path:
    """Return the path of the copy for everybody; it changes with each boot, because the copy is not synced to disk."""
    boot = _BOOT.read_text().strip() if _BOOT.exists() else ""
    return state.parent / _FOLDER / f"{boot[:8]}-{state.name}"


def time_of(file: Path) -> int | None:
    """Return the modification time of *file* in nanoseconds, or None if it is not there or cannot be seen."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None


def publish(state: Path) -> Path | None:
    """Bring the copy for everybody up to date and return its path, or None if the disk has no room for it.

    Many processes may do this at once: one copies, the others wait for it.
    """
    target = public_copy(state)
    with mapped(state, WAIT), _one_at_a_time(state.parent / "copying.lock"):
        if time_of(state) == time_of(target):
            return target
        about = os.statvfs(state.parent)
        if about.f_bavail * about.f_frsize < _SPARE * state.stat().st_size:
            return None
        target.parent.mkdir(mode=0o755, exist_ok=True)
        target.parent.chmod(0o755)
        with files.draft(state.parent) as folder:
            draft = folder / "copy.db"
            copied_at = _settled_time(state)
            with reading(state) as opened, closing(sqlite3.connect(draft.as_uri(), uri=True)) as copy:
                opened.connection.backup(copy)
            draft.chmod(0o644)
            os.utime(draft, ns=(copied_at, copied_at))
            draft.replace(target)
        for other in target.parent.iterdir():
            if other != target:
                other.unlink(missing_ok=True)
    return target


def withdraw(state: Path) -> None:
    """Remove the copies for everybody."""
    with suppress(FileNotFoundError):
        for copy in (state.parent / _FOLDER).iterdir():
            copy.unlink(missing_ok=True)


def copy_for(state: Path, user: str | None) -> tuple[bytes, int]:
    """Return a copy of the state without the secrets of others than *user* (None: complete), and its time.

    A copy with the time `_OUTDATED` is outdated when it is next needed.
    """
    if not state.exists():
        return b"", _OUTDATED
    copied_at = _settled_time(state)
    with mapped(state, WAIT), closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        guards.register(copy)
        with reading(state) as opened:
            opened.connection.backup(copy)
        if user is not None:
            hide(copy, user)
        return copy.serialize(), copied_at


def _settled_time(state: Path) -> int:
    """Return the modification time of the state, which every later change will change."""
    if time.time() - state.stat().st_mtime < _TICK:
        time.sleep(_TICK)
    status = state.stat()
    return status.st_mtime_ns if abs(time.time() - status.st_mtime) >= _TICK else _OUTDATED


@contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if not take(descriptor, Patience(WAIT, lock)):
            raise StateLockedError(what=lock, wait=WAIT, place=lock)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def one_copy_each(state: Path, uid: int) -> Iterator[None]:
    """Allow one copy at a time for the user *uid*, who could otherwise fill the memory."""
    folder = state.parent / "readers"
    folder.mkdir(mode=0o700, exist_ok=True)
    with _one_at_a_time(folder / str(uid)):
        yield


_KEPT = frozenset(
    {
        "mytype", "targettype", "requirements", "rank", "concurrencylimits", "accountinggroup", "acctgroup",
        "acctgroupuser",
    }
)  # fmt: skip
"""Attributes of jobs that stay, in lower case, besides numbers, truth values and all that begin with Request."""

_KEPT_IN_CHANGES = frozenset({"JobStatus", "JobPrio", "Jobs", "Submitters"})

_OTHERS = "(owner <> ?1 OR schedd <> '')"


def hide(copy: sqlite3.Connection, user: str) -> None:
    """Remove the private parts of all jobs but those of *user* from the database *copy*."""
    execute = copy.execute
    execute("BEGIN")
    triggers = execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        execute(f'DROP TRIGGER "{name}"')
    execute("CREATE TEMP TABLE mine AS SELECT DISTINCT cluster FROM job WHERE owner = ?1 AND schedd = ''", (user,))
    execute("INSERT INTO mine SELECT DISTINCT cluster FROM ended_job WHERE owner = ?1 AND schedd = ''", (user,))
    _hide_ads(copy, user)
    execute(f"UPDATE job SET reason = NULL WHERE {_OTHERS}", (user,))
    execute(f"UPDATE ended_job SET reason = NULL, hold_reason = NULL WHERE {_OTHERS}", (user,))
    of_others = "cluster NOT IN (SELECT cluster FROM mine)"
    execute(f"DELETE FROM job_event WHERE {of_others}")
    execute(f"UPDATE launch SET ordered = NULL, output = NULL, error = NULL, reason = NULL WHERE {of_others}")
    _rewrite(copy, "launch", ("ended",), of_others, (), _numbers)
    _hide_changes(copy, user)
    execute("UPDATE undo SET data = '{}' WHERE user <> ?1", (user,))
    for of_ads in ("job_ad_kind", "job_kind", "job_need"):
        execute(f"DELETE FROM {of_ads}")
    execute("DELETE FROM request WHERE user <> ?1", (user,))
    for _, statement in triggers:
        execute(statement)
    execute("DROP TABLE mine")
    execute("COMMIT")
    execute("VACUUM")  # removed texts are still in unused parts of the file until now


def _hide_ads(copy: sqlite3.Connection, user: str) -> None:
    used_by_others = f"SELECT ad_id FROM job WHERE {_OTHERS} UNION SELECT ad_id FROM ended_job WHERE {_OTHERS}"
    renumbered = []
    for number, text in copy.execute(f"SELECT id, ad FROM job_ad WHERE id IN ({used_by_others})", (user,)).fetchall():
        shown = _ad(text)
        copy.execute(
            "INSERT INTO job_ad (digest, ad) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING",
            (digest(shown.encode()), shown),
        )
        (new,) = copy.execute("SELECT id FROM job_ad WHERE digest = ?", (digest(shown.encode()),)).fetchone()
        renumbered.append((user, new, number))
    for table in ("job", "ended_job"):
        copy.executemany(f"UPDATE {table} SET ad_id = ?2 WHERE ad_id = ?3 AND {_OTHERS}", renumbered)
        _rewrite(copy, table, ("own", "template"), _OTHERS, (user,), _ad)
    copy.execute("DELETE FROM job_ad WHERE id NOT IN (SELECT ad_id FROM job UNION SELECT ad_id FROM ended_job)")


def _hide_changes(copy: sqlite3.Connection, user: str) -> None:
    """Hide the changes of jobs that are not the user's, and the arguments of others' commands."""
    mine = {str(cluster) for (cluster,) in copy.execute("SELECT cluster FROM mine")}
    query = "SELECT id, command, subject, before, after, reason FROM history WHERE user <> ?1"
    changed = []
    for number, command, subject, *values in copy.execute(query, (user,)).fetchall():
        kind, _, job = subject.partition(" ")
        if kind != "job" or job.partition(".")[0] not in mine:
            changed.append((_bare(command), *_shown_change(kind, *values), number))
    copy.executemany("UPDATE history SET command = ?, before = ?, after = ?, reason = ? WHERE id = ?", changed)


def _shown_change(kind: str, before: str, after: str, reason: str | None) -> tuple[str, str, str | None]:
    """Return what others see of a change: its values before and after, and its reason."""
    if kind == "job":
        return _only(before, _KEPT_IN_CHANGES), _only(after, _KEPT_IN_CHANGES), None
    if kind == "change":  # it was undone
        undone = json.loads(before)
        return _dumps({**undone, "Command": _bare(undone["Command"])}), after, None
    return before, after, reason


def _bare(command: str) -> str:
    """Return the name of a command without its arguments."""
    return " ".join(command.split()[:2])


def _rewrite(
    copy: sqlite3.Connection,
    table: str,
    columns: tuple[str, ...],
    where: str,
    values: tuple[str, ...],
    shown: Callable[[str], str],
) -> None:
    """Replace the JSON texts in *columns* of the rows *where* by what of them is *shown*."""
    copy.create_function("fairq_shown", 1, lambda text: None if text is None else shown(text), deterministic=True)
    sets = ", ".join(f"{column} = fairq_shown({column})" for column in columns)
    copy.execute(f"UPDATE {table} SET {sets} WHERE {where}", values)


def _ad(text: str) -> str:
    ad: dict[str, Any] = json.loads(text)
    return _dumps({name: value for name, value in ad.items() if _is_shown(name.lower(), value)})


def _is_shown(name: str, value: Any) -> bool:
    return not isinstance(value, str) or name in _KEPT or name.startswith("request")


def _numbers(text: str) -> str:
    values: dict[str, Any] = json.loads(text)
    return _dumps({name: value for name, value in values.items() if isinstance(value, (int, float, bool))})


def _only(text: str, names: frozenset[str]) -> str:
    values = json.loads(text)
    return text if values is None else _dumps({name: value for name, value in values.items() if name in names})


def _dumps(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
