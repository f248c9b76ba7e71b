"""Query a running HTCondor pool for all input of a cycle, through HTCondor's own library.

This needs no HTCondor tools and no HTCondor configuration.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fairq.errors.pool import UnreachablePoolError
from fairq.formats.source import Held
from fairq.settings.keys import BY_MACRO
from fairq.steps.pool.bundle import Bundle

_TRIES = 3
"""Maximum number of repeated queries if the negotiator runs a cycle meanwhile."""

_GROUPS_AND_LIMITS = re.compile(r"(NEGOTIATOR\.)?(GROUP_.*|.*_LIMIT|CONCURRENCY_LIMIT_DEFAULT.*)", re.IGNORECASE)
_LAST_UPDATE = "LastUpdate"
_UNSET = "Not defined"
"""Answer of a daemon for a macro without a value."""


def ask_pool(pool: str | None) -> Bundle:
    """Return the dumps of the pool whose collector is at *pool* (None: that of this machine's configuration).

    Slots are in the order of the collector. If the negotiator runs a cycle meanwhile, the pool is queried again, so
    that slots, jobs and accounting are from the same moment. The bundle lists missing data.

    Raises UnreachablePoolError if the collector does not answer.
    """
    import htcondor2

    library: Any = htcondor2
    where = pool or library.param.get("COLLECTOR_HOST") or ""
    if not where:
        raise UnreachablePoolError(
            pool="this machine", reason="no COLLECTOR_HOST is configured", cure="name the collector with --pool"
        )
    try:
        collector = library.Collector(where)
        for _ in range(_TRIES):
            bundle = _Asked(library, collector).bundle()
            if bundle is not None:
                return bundle
    except (library.HTCondorException, RuntimeError, ValueError, OSError) as failure:
        raise UnreachablePoolError(
            pool=where, reason=_words(failure), cure="name the host of the collector with --pool, perhaps with its port"
        ) from None
    raise UnreachablePoolError(pool=where, reason="its negotiator runs one cycle after the other", cure="try again")


class _Asked:
    """One round of questions."""

    def __init__(self, library: Any, collector: Any) -> None:
        self._library = library
        self._collector = collector
        self._missing: list[str] = []

    def bundle(self) -> Bundle | None:
        """Return the pool's data; None if the negotiator ran a cycle meanwhile."""
        kinds = self._library.AdType
        schedds = self._collector.query(kinds.Schedd)
        negotiator = self._try("the negotiator", self._find_negotiator)
        accounting, updated = self._accounting(negotiator)
        slots = self._collector.query(kinds.Startd)
        self._miss("slots: the collector has no ad of a slot", not slots)
        self._miss("jobs: the collector has no ad of a schedd", not schedds)
        jobs = [ad for schedd in schedds for ad in self._jobs(schedd)]
        now = int(time.time())
        if updated is not None and self._accounting(negotiator)[1] != updated:
            return None
        configuration = None if negotiator is None else self._try("the configuration", lambda: self._macros(negotiator))
        self._miss("configuration: the settings stay as they are", configuration is None)
        return Bundle(
            slots=_dump("slots of the collector", slots),
            jobs=_dump("jobs of the schedds", jobs),
            schedds=_dump("ads of the schedds", schedds),
            accounting=None if accounting is None else _dump("records of the accountant", accounting),
            configuration=None if configuration is None else ("negotiator", configuration),
            missing=list(dict.fromkeys(self._missing)),
            time=now,
        )

    def _find_negotiator(self) -> Any:
        negotiator = self._collector.locate(self._library.DaemonType.Negotiator)
        self._miss("negotiator: the collector has no ad of it", negotiator is None)
        return negotiator

    def _miss(self, what: str, is_missing: bool = True) -> None:
        """Note what cannot be had."""
        if is_missing:
            self._missing.append(what)

    def _try(self, what: str, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except (self._library.HTCondorException, RuntimeError, ValueError, OSError, KeyError) as failure:
            self._miss(f"{what} cannot be queried: {_words(failure)}")
            return None

    def _accounting(self, negotiator: Any) -> tuple[list[Any] | None, int | None]:
        """Return the accountant's report and the time of its last update; without an answer, the collector's copy."""
        report = None if negotiator is None else self._try("the accountant", lambda: _report(self._library, negotiator))
        if report is not None:
            return [report], report.get(_LAST_UPDATE)
        kind = self._library.AdType.Accounting
        ads = self._try("the collector for accounting ads", lambda: self._collector.query(kind))
        self._miss(
            "accounting: the collector's ads stand in for the accountant's, and may lack users"
            if ads
            else "accounting: no records; every submitter starts with the best priority"
        )
        return ads or None, None

    def _jobs(self, schedd: Any) -> list[Any]:
        name = schedd.get("Name", "without a name")
        ads: list[Any] | None = self._try(f"schedd {name}", lambda: self._library.Schedd(schedd).query())
        return ads or []

    def _macros(self, negotiator: Any) -> str:
        """Return the negotiator's configuration of negotiation, as a configuration file."""
        remote = self._library.RemoteParam(negotiator)
        lines = ["# Configuration of the negotiator"]
        for name in remote.keys():  # noqa: SIM118 - it is no dictionary
            if name.upper() in BY_MACRO or name.upper() == "GROUP_NAMES" or _GROUPS_AND_LIMITS.fullmatch(name):
                value = " ".join(str(remote[name]).split("\n"))
                if value != _UNSET:
                    lines.append(f"{name} = {value}")
        return "\n".join(lines) + "\n"


def _report(library: Any, negotiator: Any) -> Any:
    """Return the accountant's report as one ad; getPriorities would lose the time of the last update."""
    from htcondor2.htcondor2_impl import _negotiator_command_return

    asked = library.Negotiator(negotiator)
    return _negotiator_command_return(asked._addr, asked._GET_PRIORITY)


def _dump(name: str, ads: Iterable[Any]) -> Held:
    """Return *ads* as -json prints them."""
    return Held(name, b"".join(_json(ads)))


def _json(ads: Iterable[Any]) -> Iterator[bytes]:
    before = "[\n"
    for ad in ads:
        yield (before + ad.printJson()).encode("utf-8", "surrogateescape")
        before = ",\n"
    yield b"[]" if before == "[\n" else b"\n]\n"


def _words(failure: BaseException) -> str:
    text = " ".join(str(failure).split()).rstrip(".") or type(failure).__name__
    return text[0].lower() + text[1:]
