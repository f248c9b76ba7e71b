"""Jobs whose own part of a step failed: they are held, and the step goes on for all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct, field

from fairq.common.procs import Procs
from fairq.common.records import UNFORESEEN, UNUSABLE
from fairq.errors.base import FairqError
from fairq.errors.launch import ThirdFaultError
from fairq.state.failures import STORAGE_ERROR
from fairq.steps.launch.values import UnusableValueError, one_line

_MAX_JOBS = 2
"""Jobs with an unforeseen error that one turn holds: more of them are not the jobs' fault."""

NOT_OF_JOBS = (FairqError, OSError, MemoryError, STORAGE_ERROR)
"""Errors of the disk, the memory, a lock or an engine stop the step."""


class Fault(Struct, frozen=True):
    """Why these procs are to be held."""

    procs: Procs
    reason: str
    code: int


class Faults(Struct):
    """The jobs that failed in one turn: *found* are to be held; *fresh* are unforeseen errors to be reported."""

    found: list[Fault] = field(default_factory=list)
    fresh: list[Fault] = field(default_factory=list)
    unforeseen: set[Procs] = field(default_factory=set)

    @contextmanager
    def apart(self, procs: Procs, *, again: bool = False) -> Iterator[None]:
        """Run the body, the part of a step that concerns these jobs alone; if it fails, record their fault.

        With *again*, the jobs are already held for an unforeseen error, or ordered to be; another one is not counted.
        Raises errors of the machine, which are no job's fault; ThirdFaultError for an unforeseen error at a third job.
        """
        try:
            yield
        except UnusableValueError as error:
            self.found.append(Fault(procs, str(error), UNUSABLE))
        except NOT_OF_JOBS:
            raise
        except Exception as error:
            problem = f"{type(error).__name__}: {one_line(str(error))}"
            fault = Fault(procs, f"internal error in its part of a cycle: {problem}", UNFORESEEN)
            if not again and procs not in self.unforeseen:
                if len(self.unforeseen) >= _MAX_JOBS:
                    raise ThirdFaultError(job=procs.name, reason=problem) from error
                self.unforeseen.add(procs)
                self.fresh.append(fault)
            self.found.append(fault)

    def take(self, procs: Procs | None = None) -> Sequence[Fault]:
        """Remove and return the faults found, or only those of *procs*."""
        removed = [fault for fault in self.found if procs is None or fault.procs == procs]
        self.found = [fault for fault in self.found if procs is not None and fault.procs != procs]
        return removed

    def take_fresh(self) -> Sequence[Fault]:
        """Remove and return the unforeseen errors that are not reported yet."""
        fresh, self.fresh = self.fresh, []
        return fresh
