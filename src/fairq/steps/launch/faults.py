"""Jobs whose own part of a step failed: they are held, and the step goes on for all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct, field

from fairq.errors.base import FairqError
from fairq.records import UNFORESEEN, UNUSABLE
from fairq.state.failures import STORAGE_ERROR
from fairq.state.job_ranges import Procs
from fairq.steps.launch.values import UnusableValueError, one_line

_MOST = 2
"""Jobs with an unforeseen error that one turn holds: more of them are not the jobs' fault."""

NOT_OF_JOBS = (FairqError, OSError, MemoryError, STORAGE_ERROR)
"""Errors of the disk, the memory, a lock or an engine stop the step."""


class Fault(Struct, frozen=True):
    """Why these procs are to be held."""

    procs: Procs
    reason: str
    code: int


class Faults(Struct):
    """The jobs that failed in one turn, and the notes about them for an administrator."""

    found: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unforeseen: set[Procs] = field(default_factory=set)

    @contextmanager
    def apart(self, procs: Procs) -> Iterator[None]:
        """Do the part of a step that concerns these jobs alone; if it fails, note their fault.

        Raises what is not the job's fault: errors of the machine, and an unforeseen error that meets a third job.
        """
        try:
            yield
        except UnusableValueError as error:
            self.found.append(Fault(procs, str(error), UNUSABLE))
        except NOT_OF_JOBS:
            raise
        except Exception as error:
            if procs not in self.unforeseen and len(self.unforeseen) >= _MOST:
                raise
            reason = f"internal error in its part of a cycle: {type(error).__name__}: {one_line(str(error))}"
            if procs not in self.unforeseen:
                self.unforeseen.add(procs)
                self.notes.append(f"job {procs.cluster}.{procs.first_proc} is held: {reason}; please report it")
            self.found.append(Fault(procs, reason, UNFORESEEN))

    def take(self) -> Sequence[Fault]:
        """Return the faults found, and forget them: they are dealt with."""
        found, self.found = self.found, []
        return found
