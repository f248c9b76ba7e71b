"""One run of the program: its files, its user, its verbosity."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.errors.base import UsageError
from fairq.errors.people import MissingStateError
from fairq.files import user_name

if TYPE_CHECKING:
    from fairq.records import Actor
    from fairq.settings import Settings
    from fairq.steps.config import SettingsFiles
    from fairq.waiting import Holder

_LONGEST_COMMAND = 120
"""Maximum number of characters quoted from another process's command line."""


def operating_system_user() -> str:
    """Return the name of the user who runs this process, or the number if it has no name."""
    return user_name(os.getuid())


@dataclass
class Invocation:
    """The global options and the environment; available to every command (see ``fairq.cli.app``)."""

    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    state: str | None = None
    config: str | None = None
    quiet: bool = False
    verbose: int = 0
    watching: bool = False
    """Whether ``--watch`` repeats the command."""

    @property
    def state_named_by(self) -> str | None:
        """The name of what sets the state file, ``--state`` or ``FAIRQ_STATE``; None: the user's own state is used."""
        if self.state is not None:
            return "--state"
        return "FAIRQ_STATE" if self.environment.get("FAIRQ_STATE") else None

    @property
    def state_is_explicit(self) -> bool:
        """Whether the user chose the state file, by ``--state`` or ``FAIRQ_STATE``."""
        return self.state_named_by is not None

    @cached_property
    def state_path(self) -> Path:
        """The state file: ``--state``, else ``FAIRQ_STATE``, else the user's own (XDG) state directory."""
        if self.state is not None:
            if not self.state:
                raise UsageError(message="--state is empty; give the path of a state file")
            return Path(self.state)
        if chosen := self.environment.get("FAIRQ_STATE"):
            return Path(chosen)
        from fairq.files import own_state

        return own_state()

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
        from fairq.settings import load

        state = self.state_path if self.state_is_explicit else None
        return load(self.config_path, state, self.environment)

    @property
    def settings_files(self) -> SettingsFiles:
        """The options and variables that select the settings files."""
        from fairq.steps.config import SettingsFiles

        state = self.state_path if self.state_is_explicit else None
        return SettingsFiles(self.config_path, state, self.environment)

    @property
    def command_line(self) -> str:
        """The command as typed, quoted for a shell, in a form that the history can store."""
        import shlex

        text = shlex.join(["fairq", *self.arguments])
        # Bytes that are not UTF-8 appear here as lone surrogates, which SQLite cannot store.
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    def now(self, given: int | None = None) -> int:
        """Return the time of this run, in seconds since 1970: ``--now`` if given, else the clock's time."""
        if given is not None:
            return given
        import time

        return int(time.time())

    def actor(self, now: int, reason: str | None = None) -> Actor:
        """Return who acts, by which command, when and for what *reason*, for the history, with the user's rights.

        Under sudo, this is the person who called sudo.
        """
        from fairq.people import behind
        from fairq.records import Actor
        from fairq.steps.rights import is_administrator

        person = behind(self.environment)
        return Actor(
            user=person.name,
            command=self.command_line,
            time=now,
            reason=reason,
            administrator=os.getuid() == 0 or is_administrator(self.settings, self.state_path, person),
            unix_groups=person.groups,
        )

    def note(self, text: str) -> None:
        """Print a note beside the data: a line on stderr, unless ``--quiet``."""
        if not self.quiet:
            self._tell(text)

    def note_wait(self, place: Path, holders: Sequence[Holder]) -> None:
        """Print that this run waits for the lock on *place*, with the processes known to hold it."""
        from fairq.cli.output.text import escape

        known = [
            f"process {one.process}" + f" ({one.command[:_LONGEST_COMMAND]})" * bool(one.command) for one in holders
        ]
        self.note(escape(f"waiting for {place}, which is locked by {', '.join(known) or 'another process'}"))

    def detail(self, text: str) -> None:
        """Print a detail on stderr, only with ``--verbose``."""
        if self.verbose:
            self._tell(text)

    @staticmethod
    def _tell(text: str) -> None:
        from fairq.cli.output.messages import tell

        tell(text)
