"""Open the state file: one consistent read, or one write that happens whole or not at all.

The journal is SQLite's rollback journal: at rest the state is one file, and it can be read on a file
system that cannot be written.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from fairq.common import commit
from fairq.common.files import sweep
from fairq.common.lock_wait import WAIT, Patience
from fairq.errors.base import BackupError, StateError
from fairq.state.failures import BUSY_CODES, mapped, primary_code
from fairq.state.idle_connections import Lease, take
from fairq.state.location import check_journal, exists, prepare_for_writing, readable, resolve, resolve_for_writing
from fairq.state.schema import guards, identify, migrate, newest

_NAP = 0.5
"""Seconds SQLite sleeps for a lock at a stretch; between two of them Ctrl-C is heard."""

_READ_KIB, _MOST_KIB = 2048, 65536
"""SQLite's memory for pages in KiB: where few of them are kept, and at most. Beyond it, changes are written early."""

_CACHE = f"PRAGMA cache_size = -{_MOST_KIB}"

_BEHAVIOUR = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    _CACHE,
)


class State(Struct, frozen=True):
    """An open state inside its transaction; *path* is the file with symbolic links followed."""

    connection: sqlite3.Connection
    path: Path

    def value(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Return the first value in the first row of a *query*."""
        return self.connection.execute(query, values).fetchone()[0]

    def column(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the first value in each row of a *query*."""
        return [row[0] for row in self.connection.execute(query, values)]


@contextmanager
def reading(path: Path, wait: float = WAIT) -> Iterator[State]:
    """Read one consistent snapshot; a file that does not exist reads as an empty state and is not created.

    Nothing in the body can change the file. Read what you need and leave: a writer waits for readers.

    Raises:
        StateError and its kin (exit codes 3 to 12): the file cannot be used; it is untouched.
    """
    known_as, path = resolve(path), readable(path)
    patience = Patience(wait, path)
    with mapped(path, wait), ExitStack() as open_files:
        connection = _opened(path, patience, open_files) or open_files.enter_context(closing(_memory()))
        version = _begin_reading(connection, path, patience)
        if version < newest():
            connection = open_files.enter_context(_upgraded_copy(connection, version))
        connection.execute("PRAGMA query_only = ON")
        yield State(connection, known_as)


def is_written(path: Path) -> bool:
    """Return whether the file at *path* holds a state: an empty file, which reads as an empty state, does not.

    Raises the errors of `reading`.
    """
    path = readable(path)
    patience = Patience(WAIT, path)
    with mapped(path, WAIT), ExitStack() as open_files:
        connection = _opened(path, patience, open_files)
        return connection is not None and _begin_reading(connection, path, patience) > 0


@contextmanager
def putting_together(path: Path) -> Iterator[None]:
    """Use what was read of the state earlier; damaged records raise StateDamagedError, as in `reading`."""
    with mapped(resolve(path), WAIT):
        yield


@contextmanager
def writing(path: Path, wait: float = WAIT) -> Iterator[State]:
    """Change the state in one transaction: all of the body's writes are kept, or none if it raises.

    The write lock is taken at once, waiting at most *wait* seconds. The file and its directories are
    created on first use, and the file is gone again if the body raises or writes nothing; an older file is brought
    to today's schema, a copy of it left beside it.

    Raises:
        StateLockedError: another process kept the lock all the while.
        StateError and its kin (exit codes 3 to 12): the file cannot be used; it is as it was.
    """
    path = resolve_for_writing(path)
    with mapped(path, wait), ExitStack() as open_files:
        connection, opened = _begin_writing(path, Patience(wait, path), open_files)
        version = identify(connection, path)
        if not version:
            # The one that made the file may have been killed before it had cleared up.
            sweep(path.parent)
        kept = False
        try:
            if 0 < version < newest():
                _keep_copy(path, version, wait)
            migrate(connection, version)
            before = connection.total_changes
            # A step whose changes outgrow SQLite's cache locks readers out before its end: wait for them.
            connection.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
            yield State(connection, path)
            connection.execute(f"PRAGMA busy_timeout = {int(_NAP * 1000)}")
            if version or connection.total_changes > before:
                _commit(connection, Patience(wait, path), before)
                kept = True
        finally:
            # SQLite has rolled back by itself after some errors, as a full disk.
            if connection.in_transaction:
                connection.rollback()
            if not (version or kept):
                from fairq.state.copy import remove_unborn

                remove_unborn(connection, path, opened)


def opened_for(path: Path, *, dry_run: bool, create: bool = True) -> AbstractContextManager[State]:
    """Open the state for a change; for reading in a dry run, or if there is none and it is not to *create*."""
    return reading(path) if dry_run or not (create or exists(path)) else writing(path)


@contextmanager
def keeping_few_pages(state: State, *, changed: int = 0) -> Iterator[None]:
    """Keep in memory about *changed* bytes of changes, and few pages that are only read.

    Keeping all pages of a large table that is read once costs more than reading a few of them again. With more
    changes, the body takes longer, but they are written no sooner.
    """
    execute = state.connection.execute
    execute(f"PRAGMA cache_size = -{min(_READ_KIB + changed // 1024, _MOST_KIB)}")
    execute(f"PRAGMA cache_spill = -{_MOST_KIB}")
    try:
        yield
    finally:
        execute("PRAGMA cache_spill = 1")
        execute(_CACHE)


@contextmanager
def trying(path: Path) -> Iterator[State]:
    """Change a copy of the state in memory, for a preview where the state itself may not be changed."""
    with closing(_memory()) as copy, reading(path) as state:
        state.connection.backup(copy)
        copy.execute("BEGIN")
        yield State(copy, state.path)


@contextmanager
def watching(path: Path) -> Iterator[Callable[[], bool]]:
    """Provide a function that returns whether anybody has changed the state since the beginning.

    Call it before changing anything, also in a transaction of your own. It returns true where it cannot know.
    """
    path = readable(path)
    with ExitStack() as open_files:
        connection = _opened(path, Patience(0, path), open_files, is_watching=True) if exists(path) else None

        def version() -> object:
            try:
                # Which file is there, and its own count of changes, as this connection finds it.
                file = path.stat()
                changes = None if connection is None else connection.execute("PRAGMA data_version").fetchone()[0]
            except (OSError, sqlite3.Error):
                return None
            return None if changes is None else (file.st_dev, file.st_ino, changes)

        before = version()
        yield lambda: before is None or version() != before


@contextmanager
def in_memory() -> Iterator[State]:
    """Write to an empty state in memory, for a preview."""
    with mapped(Path(":memory:"), 0), closing(_memory()) as connection:
        connection.execute("BEGIN")
        migrate(connection, 0)
        yield State(connection, Path(":memory:"))


def _commit(connection: sqlite3.Connection, patience: Patience, before: int) -> None:
    """Commit, and note whether anything was stored that was not there *before* the step."""
    try:
        _patiently(connection, "COMMIT", patience)
    except KeyboardInterrupt:
        # Python hears Ctrl-C only when SQLite has returned, perhaps with everything stored.
        if not connection.in_transaction and connection.total_changes > before:
            commit.mark()
        raise
    if connection.total_changes > before:
        commit.mark()


def migrated() -> sqlite3.Connection:
    """Return an empty state of today's schema, in memory."""
    connection = _memory()
    migrate(connection, 0)
    return connection


def backup(path: Path, target: Path, wait: float = WAIT) -> None:
    """Copy the state as it is now to *target*, a new file, while others may go on working with it.

    The copy has the schema of the file, its mode and its owner. It appears whole, or not at all.

    Raises:
        BackupError: there is no state file, *target* exists already or cannot be written.
        StateError and its kin (exit codes 3 to 12): the state file cannot be used.
    """
    from fairq.state.copy import write_copy

    path = readable(path)
    patience = Patience(wait, path)
    with mapped(path, wait), ExitStack() as open_files:
        connection = _opened(path, patience, open_files)
        if connection is None:
            raise BackupError(target=target, reason=f"the state file {path} does not exist")
        _begin_reading(connection, path, patience)
        write_copy(connection, target, path)
    commit.mark()


def compact(path: Path, wait: float = WAIT) -> None:
    """Give the space that deleted records have left in the state file back to the file system.

    The file is rewritten in place, whole or not at all; that needs free space of its size.

    Raises:
        StateError and its kin (exit codes 3 to 12): the file does not exist or cannot be used; it is as it was.
    """
    path = resolve_for_writing(path)
    patience = Patience(wait, path)
    if not exists(path):
        raise StateError(state=path, reason="it does not exist; name the file with --state")
    with mapped(path, wait), ExitStack() as open_files:
        connection = _opened(path, patience, open_files)
        if connection is not None:
            identify(connection, path)
            _patiently(connection, "VACUUM", patience)
    commit.mark()


def unused_share(state: State) -> float:
    """Return the share of the state file that deleted records have left, 0 to 1."""
    free, pages = (int(state.value(f"PRAGMA {name}")) for name in _PAGES)
    return free / max(1, pages)


_PAGES = ("freelist_count", "page_count")


def _patiently(connection: sqlite3.Connection, statement: str, patience: Patience) -> None:
    """Execute a *statement* that others' locks may hold up."""
    while True:
        try:
            connection.execute(statement).fetchone()
            return
        except UnicodeDecodeError as error:
            # SQLite says what is damaged by a name that is damaged itself.
            damage = sqlite3.DatabaseError("a name in its schema is not UTF-8")
            damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise damage from error
        except sqlite3.Error as error:
            if primary_code(error) not in BUSY_CODES or not patience.lasts():
                raise


def _opened(
    path: Path, patience: Patience, open_files: ExitStack, *, is_watching: bool = False
) -> sqlite3.Connection | None:
    """Open the file at *path*, which *open_files* closes; None if there is none.

    With *is_watching*, the connection serves for nothing else: SQLite need not read the schema.
    """
    while exists(path):
        check_journal(path)
        # Mode rw even for reading: what a killed writer left half-done must be undone before it is read.
        # SQLite opens a file that may not be written for reading by itself.
        uri = f"{path.as_uri()}?mode=rw"
        try:
            before = path.stat()
            if not is_watching and (kept := take(path)):
                return open_files.enter_context(Lease(kept, path, before))
            connection = sqlite3.connect(uri, uri=True, timeout=_NAP, isolation_level=None)
        except FileNotFoundError:
            continue  # it was that of a first write that failed a moment ago
        except sqlite3.OperationalError:
            if path.exists():
                raise
            continue
        if is_watching:
            return open_files.enter_context(closing(connection))
        open_files.enter_context(Lease(connection, path, before))
        guards.register(connection)
        for pragma in _BEHAVIOUR:
            _patiently(connection, pragma, patience)
        return connection
    return None


def _begin_writing(path: Path, patience: Patience, open_files: ExitStack) -> tuple[sqlite3.Connection, os.stat_result]:
    """Return a connection that holds the write lock of the file at *path*, and what file that is."""
    while True:
        prepare_for_writing(path)
        if not exists(path):
            from fairq.state.copy import create_unborn

            create_unborn(path)
        with ExitStack() as attempt:
            try:
                before = path.stat()
                connection = _opened(path, patience, attempt)
                # The same file before and after it was opened: that one was opened.
                if connection is None or not os.path.samestat(before, path.stat()):
                    continue
                _patiently(connection, "BEGIN IMMEDIATE", patience)
                # While this process waited, a first write may have failed and its file be gone.
                if not os.path.samestat(before, path.stat()):
                    continue
            except FileNotFoundError:
                continue
            open_files.push(attempt.pop_all())
            return connection, before


def _memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    guards.register(connection)
    return connection


def _begin_reading(connection: sqlite3.Connection, path: Path, patience: Patience) -> int:
    """Take a snapshot and return its schema number."""
    connection.execute("BEGIN")
    # The transaction's snapshot is that of its first read.
    _patiently(connection, "SELECT 1 FROM sqlite_master LIMIT 1", patience)
    return identify(connection, path)


@contextmanager
def _upgraded_copy(connection: sqlite3.Connection, version: int) -> Iterator[sqlite3.Connection]:
    """Open a copy in memory at today's schema, so that an older file is read without being changed."""
    with closing(_memory()) as copy:
        if version:
            connection.backup(copy)
        connection.rollback()
        copy.execute("BEGIN")
        migrate(copy, version)
        yield copy


def _keep_copy(path: Path, version: int, wait: float) -> None:
    from fairq.state.copy import keep_copy

    with ExitStack() as open_files:
        source = _opened(path, Patience(wait, path), open_files)
        if source is not None:
            keep_copy(source, path, version)
