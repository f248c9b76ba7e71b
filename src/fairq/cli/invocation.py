"""One run of the program: its files, its user, its verbosity."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from fairq.cli.output.selection import Output
from fairq.common.files import user_name
from fairq.errors.base import FairqError, UsageError
from fairq.errors.people import MissingStateError, NotAllowedError

if TYPE_CHECKING:
    from fairq.cli.pool_in_use import HostPool, PoolInUse
    from fairq.common.lock_wait import Holder
    from fairq.common.records import Actor
    from fairq.host.client.ask import Door
    from fairq.settings import Settings
    from fairq.steps.config import SettingsFiles
    from fairq.steps.settings_history import Recorder

_LONGEST_COMMAND = 120
"""Maximum number of characters quoted from another process's command line."""

_LONGEST_TYPED = 2_000
"""Maximum number of characters of the typed command in the history: each of its changes stores them."""


def operating_system_user() -> str:
    """Return the name of the user who runs this process, or the number if it has no name."""
    return user_name(os.getuid())


class Invocation(Struct, dict=True):
    """The global options and the environment; available to every command (see ``fairq.cli.command``)."""

    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    state: str | None = None
    config: str | None = None
    quiet: bool = False
    verbose: int = 0
    output: Output = Output()
    selecting: Mapping[str, Any] = field(default_factory=dict)
    """The values of the options that select jobs, by name (``fairq.cli.job_options``)."""
    watching: bool = False
    """Whether ``--watch`` repeats the command."""

    @property
    def state_named_by(self) -> str | None:
        """The name of what sets the state file: ``--state`` or ``FAIRQ_STATE``; None: neither."""
        if self.state is not None:
            return "--state"
        return "FAIRQ_STATE" if self.environ_state else None

    @property
    def state_is_explicit(self) -> bool:
        """Whether the user chose the state file, by ``--state`` or ``FAIRQ_STATE``."""
        return self.state_named_by is not None

    @cached_property
    def pool(self) -> PoolInUse:
        """The pool in use: the state of ``--state``, else of ``FAIRQ_STATE``, else of this host, else the user's own.

        A pool of this host that this process may not open is read from a copy from now on, and changes are refused.
        """
        from fairq.cli.pool_in_use import pool_in_use

        if self.state is not None and not self.state:
            raise UsageError(message="--state is empty; give the path of a state file")
        state_named = self.state or self.environ_state
        in_use = pool_in_use(Path(state_named) if state_named else None, self.state_named_by, self.environment)
        host = in_use.host
        if host is not None:
            private = bool(host.settings["pool.private_jobs"])
            if not in_use.is_direct:
                from fairq.host.client.copy import read_a_copy

                read_a_copy(host.state, host.site, self.door(host), self._refusal, private=private)
            elif private:
                from fairq.host.client.copy import withdraw

                withdraw(host.state)
        return in_use

    @property
    def environ_state(self) -> str | None:
        """The state file that ``FAIRQ_STATE`` names."""
        return self.environment.get("FAIRQ_STATE") or None

    @property
    def state_path(self) -> Path:
        """The state file of the pool in use."""
        return self.pool.state

    def door(self, host: HostPool, reason: str | None = None) -> Door:
        """Return the connection to the program of the *host*'s pool; *reason* is the reason for a change."""
        from fairq.host.client.ask import Door

        return Door(host.program, host.account, host.socket, self.command_line, reason)

    def by_program(self, actor: Actor, now: int | None = None) -> Door | None:
        """Return the connection to the program that makes the changes of *actor*; None if this process makes them.

        Raises UsageError if there is such a program and ``--now`` is given: it has its own clock.
        """
        host = self.pool.host
        if host is None or self.pool.is_direct:
            return None
        if now is not None:
            raise UsageError(message="the pool of this host makes changes at the current time; leave out --now")
        return self.door(host, actor.reason)

    def _refusal(self) -> FairqError:
        """Return the error for a change that the program of the host's pool does not make."""
        host = self.pool.host
        account = "root" if host is None else host.account
        return NotAllowedError(
            user=operating_system_user(),
            action="do this in the pool of this host",
            who=f"the user {account} ('sudo -u {account} {self.command_line}')",
        )

    @property
    def existing_state(self) -> Path:
        """The state file, for commands that only read; a file chosen explicitly must exist.

        Raises MissingStateError. If the user's own state does not exist yet, it reads as an empty pool.
        """
        path = self.state_path
        if self.state_named_by is not None and self._is_missing(path):
            raise MissingStateError(state=path, named_by=self.state_named_by)
        return path

    def note_new_state(self) -> AbstractContextManager[None]:
        """Print a note on a terminal if the body creates a state file that the user named: it may be a typing error."""
        path = self.state_path if self.state_named_by is not None and sys.stderr.isatty() else None
        return nullcontext() if path is None or not self._is_missing(path) else self._noting(path)

    @contextmanager
    def _noting(self, path: Path) -> Iterator[None]:
        yield
        if not self._is_missing(path):
            from fairq.cli.output.text import escape

            self.note(escape(f"new state file {path}"))

    @staticmethod
    def _is_missing(path: Path) -> bool:
        try:
            path.stat()
        except FileNotFoundError:
            return True
        except (OSError, ValueError):  # opening the file reports the problem
            return False
        return False

    @property
    def config_path(self) -> Path | None:
        """The settings file of ``--config``; `None`: the layers of settings apply."""
        if self.config == "":
            raise UsageError(message="--config is empty; give the path of a settings file")
        return None if self.config is None else Path(self.config)

    @cached_property
    def settings(self) -> Settings:
        """The settings in use; raises the errors of the settings files."""
        host = self.pool.host
        if host is not None:
            if self.config_path is not None:
                where = f"the settings of the pool of this host are in {host.site}"
                raise UsageError(message=f"{where}; leave out --config, or use another state with --state")
            return host.settings
        from fairq.settings import load

        return load(self.config_path, self.state_path if self.state_is_explicit else None, self.environment)

    def settings_of_cycle(self, now: int) -> Settings:
        """Return the settings for a cycle at *now*; an error of the pool's own settings counts as a failed cycle."""
        try:
            return self.settings
        except FairqError as error:
            if self.config is None:
                from fairq.steps.cycle.failures import count_failure

                count_failure(self.state_path, now, error)
            raise

    @property
    def settings_files(self) -> SettingsFiles:
        """The options and variables that select the settings files."""
        from fairq.steps.config import SettingsFiles

        try:
            pool = self.pool
        except FairqError:  # the command is about to show or correct the settings
            return SettingsFiles(self.config_path, None, self.environment)
        state = pool.state if self.state_is_explicit else None
        return SettingsFiles(self.config_path, state, self.environment, host=pool.host is not None)

    @property
    def command_line(self) -> str:
        """The command as typed, quoted for a shell, in a form that the history can store."""
        import shlex

        text = shlex.join(["fairq", *self.arguments])
        if len(text) > _LONGEST_TYPED:
            text = f"{text[:_LONGEST_TYPED]}... ({len(text)} characters)"
        # Bytes that are not UTF-8 appear here as lone surrogates, which SQLite cannot store.
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    def now(self, given: int | None = None) -> int:
        """Return the time of this run, in seconds since 1970: ``--now`` if given, else the clock's time."""
        if given is not None:
            return given
        import time

        return int(time.time())

    def actor(self, now: int, reason: str | None = None) -> Actor:
        """Return the actor for the history: user, rights, command, time and *reason*.

        Under sudo, the user is the person who called sudo.
        """
        from fairq.common.people import caller_of
        from fairq.common.records import Actor
        from fairq.steps.rights import is_administrator, names

        person = caller_of(self.environment)
        if self.pool.host is None:
            administrator = os.getuid() == 0 or is_administrator(self.settings, self.state_path, person)
        else:
            administrator = self.pool.is_direct or names(self.settings["pool.administrators"], person)
        return Actor(
            user=person.name,
            command=self.command_line,
            time=now,
            reason=reason,
            administrator=administrator,
            unix_groups=person.groups,
        )

    def recorder(self, reason: str | None) -> Recorder | None:
        """Return the recorder of changes of settings for the history of the pool in use, with this *reason*.

        None if this process may not change the state: then the settings are a user's own.
        """
        from fairq.common.records import Actor
        from fairq.steps.settings_history import Recorder

        try:
            if self.pool.host is not None and not self.pool.is_direct:
                return None
            return Recorder(self.state_path, self.actor(self.now(), reason))
        except FairqError:  # the command is about to correct the settings
            actor = Actor(operating_system_user(), self.command_line, self.now(), reason)
            return Recorder(self.state_path, actor) if "pool" in self.__dict__ else None

    def note(self, text: str) -> None:
        """Print a note beside the data: a line on stderr, unless ``--quiet``."""
        if not self.quiet:
            self._tell(text)

    def note_wait(self, path: Path, holders: Sequence[Holder]) -> None:
        """Print that this run waits for the lock on *path*, with the known processes that hold it."""
        from fairq.cli.output.text import escape

        processes = [
            f"process {holder.process}" + f" ({holder.command[:_LONGEST_COMMAND]})" * bool(holder.command)
            for holder in holders
        ]
        self.note(escape(f"waiting for {path}, which is locked by {', '.join(processes) or 'another process'}"))
        if (host := self.pool.host) is not None:
            from fairq.host.client.stuck import end_stuck

            for process in end_stuck(host.program, path, holders):
                self.note(f"killed process {process}, which held the lock for too long")

    def note_pause(self, now: int) -> None:
        """Print a note if the pool is paused at *now*."""
        from fairq.steps.pool.pause import pause_in_effect, pause_sentence

        pause = pause_in_effect(self.state_path, now)
        if pause is not None:
            self.note(f"{pause_sentence(pause)}; no job starts meanwhile")

    def detail(self, text: str) -> None:
        """Print a detail on stderr, only with ``--verbose``."""
        if self.verbose:
            self._tell(text)

    @staticmethod
    def _tell(text: str) -> None:
        from fairq.cli.output.messages import tell

        tell(text)
