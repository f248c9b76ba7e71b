"""The schedd that gets the jobs, and the collector that knows the machines: the only module that talks to HTCondor."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any, TypeVar

from fairq.errors.launch import EngineAccessError, EngineError
from fairq.launch.htcondor.ads import PROJECTION, Ad, id_of
from fairq.launch.htcondor.description import COLLECTED, POOL, RUN, common

Answer = TypeVar("Answer")

_ENGINE = "HTCondor"
_NUMBERED = re.compile(r"^\w+:-?\d+:")
"""The number of an error, before its text."""

_SLOW, _PAUSE = 1.0, 5.0
"""After a call that failed in more than `_SLOW` seconds, none is made for `_PAUSE` seconds: it would take as long."""

_DOWN = "fairq tries again in the next turn; 'condor_status -schedd' shows whether the schedd is up"
_AUTHENTICATE = (
    "give this user a token of the pool (condor_token_create); or, on the machine of a schedd older than 25, set"
    " SEC_FS_ENFORCE_CHANNEL_BINDING = False in the file that CONDOR_CONFIG names"
)
_LOCATE = "start the schedd of this machine, set CONDOR_CONFIG, or set launch.htcondor.pool and launch.htcondor.schedd"


class NotMadeError(Exception):
    """HTCondor cannot create the requested job; nothing was submitted."""


class Schedd:
    """The schedd *name* of the pool with the collector *collector*; without them, those of this machine."""

    def __init__(self, collector: str | None, name: str | None, accounting_group: str | None, spool: bool) -> None:
        self._collector_name = collector
        self._name = name
        self._accounting_group = accounting_group
        self._spool = spool
        self._failed: tuple[float, Exception] | None = None

    def submit(self, pool: str, items: Sequence[Mapping[str, str]]) -> list[str]:
        """Submit a job for each of these items in one transaction; return their ids in the same order."""
        library = self._library

        def send() -> list[str]:
            description = library.Submit(common(pool, self._accounting_group, spool=self._spool))
            result = self._schedd.submit(description, itemdata=iter(dict(item) for item in items), spool=self._spool)
            if self._spool:
                self._schedd.spool(result)
            return [f"{result.cluster()}.{proc}" for proc in range(result.num_procs())]

        return self._call(send)

    def jobs(self, pool: str, runs: Iterable[str]) -> list[Ad]:
        """Return the ads of the jobs in the queue of the state *pool*, and of these runs of any state."""
        constraint = f"{POOL} == {self._quoted(pool)} || {self._runs_constraint(runs)}"
        return self._call(lambda: list(self._schedd.query(constraint, projection=list(PROJECTION))))

    def former_jobs(self, runs: Collection[str]) -> list[Ad]:
        """Return the ads of the jobs of these runs that have left the queue; this reads the schedd's whole history."""
        constraint = self._runs_constraint(runs)
        return self._call(lambda: list(self._schedd.history(constraint, list(PROJECTION), match=len(runs))))

    def remove(self, runs: Collection[str], reason: str) -> None:
        """Remove the jobs of these runs from the queue; those that run get their grace."""
        self._act("Remove", runs, reason)

    def kill(self, runs: Collection[str], reason: str) -> None:
        """End the jobs of these runs at once, without grace."""
        self._act("VacateFast", runs, reason)

    def fetch_output(self, ended: Ad) -> None:
        """Fetch the output of a job, if its files were spooled to the schedd; raises EngineError."""
        if self._spool and ended.get("StageOutFinish") is None:
            self._call(lambda: self._schedd.retrieve([id_of(ended)]))

    def let_go(self, ended: Iterable[Ad]) -> None:
        """Release these ended jobs from the queue."""
        if ids := [id_of(ad) for ad in ended]:
            self._call(lambda: self._schedd.edit(ids, COLLECTED, "true"))

    def machines(self, projection: Iterable[str]) -> list[Ad]:
        """Return the ads of the slots in the collector, without the dynamic ones."""
        library = self._library
        constraint, attributes = 'SlotType =!= "Dynamic"', list(projection)
        return self._call(lambda: list(self._collector.query(library.AdType.Startd, constraint, projection=attributes)))

    def check(self) -> None:
        """Raise EngineError if this user may not submit jobs; queries need no authentication."""
        self._call(lambda: self._schedd.query("false", projection=["ClusterId"]))
        try:
            self.remove((), "none")
        except EngineError as error:
            reason = "the schedd answers, but cannot authenticate this user"
            raise EngineAccessError(engine=_ENGINE, reason=reason, cure=_AUTHENTICATE) from error

    def _act(self, action: str, runs: Collection[str], reason: str) -> None:
        constraint = f"JobStatus != 4 && {self._runs_constraint(runs)}"
        # A reason that is not a pair is dropped by the bindings of 25.14.
        self._call(lambda: self._schedd.act(self._library.JobAction[action], constraint, reason=(reason, 0)))

    def _runs_constraint(self, runs: Iterable[str]) -> str:
        return f"member({RUN}, {{{', '.join(map(self._quoted, sorted(runs)))}}})"

    def _quoted(self, text: str) -> str:
        import classad2

        quoted: str = classad2.quote(text)
        return quoted

    @cached_property
    def _library(self) -> ModuleType:
        # It reads HTCondor's configuration when it is imported.
        import htcondor2

        library: ModuleType = htcondor2
        return library

    @cached_property
    def _collector(self) -> Any:
        return self._library.Collector(self._collector_name) if self._collector_name else self._library.Collector()

    @property
    def _location(self) -> Any:
        kind = self._library.DaemonType.Schedd
        location = self._collector.locate(kind, self._name) if self._name else self._collector.locate(kind)
        if location is None:
            reason = f"the collector knows no schedd {self._name!r}"
            raise EngineError(engine=_ENGINE, reason=reason, cure="see 'condor_status -schedd' for the names")
        return location

    @cached_property
    def _schedd(self) -> Any:
        return self._library.Schedd(self._location)

    def _call(self, request: Callable[[], Answer]) -> Answer:
        """Return the answer of a call; raises EngineError, NotMadeError."""
        if self._failed is not None and time.monotonic() - self._failed[0] < _PAUSE:
            raise self._failed[1]
        began = time.monotonic()
        try:
            return request()
        except Exception as error:
            failure = error if isinstance(error, EngineError) else _translated(error)
        # A restarted schedd has another address.
        vars(self).pop("_schedd", None)
        if time.monotonic() - began > _SLOW:
            self._failed = time.monotonic(), failure
        raise failure


def _translated(error: Exception) -> Exception:
    """Return the error of the bindings with its cure."""
    text = " ".join(str(error).split()).removesuffix(".")
    # The bindings give the cause last: "Failed to connect to schedd, errmsg=AUTHENTICATE:1003:...|FS:1004:...".
    reason = _NUMBERED.sub("", re.split(r"\||errmsg=", text)[-1]) or "it gives no reason"
    if text.startswith("Failed to create"):
        return NotMadeError(reason)
    if "AUTHENTICATE" in text:
        return EngineAccessError(engine=_ENGINE, reason=reason, cure=_AUTHENTICATE)
    cure = _LOCATE if "Unable to locate local daemon" in text else _DOWN
    return EngineError(engine=_ENGINE, reason=reason, cure=cure)
