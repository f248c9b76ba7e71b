"""Autoclusters: jobs alike in every attribute that matters to matching."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from fairq.engine.classad import (
    EVERY_ATTRIBUTE,
    AdColumns,
    Expression,
    attributes_read,
    expression_of,
    parse,
)
from fairq.engine.negotiation.significant import SignificantAttributes
from fairq.records import Ad, JobRange

_ALWAYS = frozenset({"requirements", "rank", "concurrencylimits"})
"""Significant whatever the slots say (schedd.cpp, MinimalSigAttrs)."""

_COLUMNS = frozenset({"clusterid", "procid", "jobstatus", "jobprio", "qdate", "enteredcurrentstatus", "owner", "user"})
"""Attributes that a range of jobs keeps as columns of its own."""

_EPHEMERAL_PREFIXES = ("submitter", "submittor")
"""Attributes that the negotiator itself puts into a job during the cycle; they tell no jobs apart."""


class Autoclusters:
    """Numbers the kinds of jobs met, over all submitters, and keeps one ad of each kind.

    Two jobs are of one kind when they agree in every attribute that the slots, the negotiator's expressions
    or their own Requirements and Rank read, directly or through other attributes
    (matchmaker.cpp, compute_significant_attrs; autocluster.cpp, getClusterid), unless *significant* says
    otherwise; then the first job stands for its kind. *job_expressions* are read on the job's side.
    """

    def __init__(
        self,
        ads: Mapping[int, Ad],
        slots: AdColumns,
        negotiator_expressions: Iterable[Expression],
        job_expressions: Iterable[Expression] = (),
        significant: SignificantAttributes | None = None,
    ) -> None:
        self.kinds: list[Ad] = []
        self._ads = ads
        self._slots = slots
        read = slots.external_references()
        read |= attributes_read([parse("Requirements"), parse("Rank"), *negotiator_expressions], "target", slots)
        read |= attributes_read(job_expressions, "my", slots)
        apart = read if significant is None else significant.of(read)
        self._read = _without_ephemeral(_ALWAYS | read)
        self._significant = _without_ephemeral(_ALWAYS | apart)
        self._reads_more = not self._read <= self._significant
        self._numbers: dict[tuple[tuple[str, str], ...], int] = {}
        self._shared: dict[int, tuple[Ad, frozenset[str]]] = {}
        self._plain: dict[int, int] = {}
        self._reads: dict[str, frozenset[str]] = {}

    def alike_in(self, attributes: Collection[str]) -> Callable[[int], object]:
        """Tell by autocluster what its jobs have of *attributes* (lower-case names), which tell jobs apart."""
        known: dict[int, object] = {}

        def values(autocluster: int) -> object:
            if autocluster not in known:
                kind = self.kinds[autocluster]
                known[autocluster] = tuple(repr(kind.get(name)) for name in sorted(attributes))
            return known[autocluster]

        return values

    def split(self, jobs: JobRange) -> Iterator[tuple[int, int, int]]:
        """Yield the autoclusters of a range as (number, first proc, last proc); mostly it is just one."""
        shared, names = self._names(jobs.ad_id)
        own = {name.lower(): value for name, value in (jobs.own or {}).items()}
        template = {name.lower() for name in jobs.template or ()}
        everything = EVERY_ATTRIBUTE in names
        if self._reads_more or everything or own.keys() & names or template & names or names & _COLUMNS:
            by_proc = everything or "procid" in names or bool(template & names)
            yield from self._split_apart(jobs, shared, by_proc)
            return
        number = self._plain.get(jobs.ad_id)
        if number is None:
            number = self._plain[jobs.ad_id] = self._number(shared)
        yield number, jobs.first_proc, jobs.last_proc

    def _split_apart(self, jobs: JobRange, shared: Ad, by_proc: bool) -> Iterator[tuple[int, int, int]]:
        if not by_proc:
            first = _lower(jobs.overrides_for(jobs.first_proc)) | {"procid": jobs.first_proc}
            number = self._number(first | _lower(jobs.attributes()), shared)
            yield number, jobs.first_proc, jobs.last_proc
            return
        for proc in range(jobs.first_proc, jobs.last_proc + 1):
            columns = {**_lower(jobs.attributes()), "procid": proc}
            yield self._number(_lower(jobs.overrides_for(proc)) | columns, shared), proc, proc

    def _names(self, ad_id: int) -> tuple[Ad, frozenset[str]]:
        known = self._shared.get(ad_id)
        if known is None:
            shared = _lower(self._ads[ad_id])
            known = self._shared[ad_id] = (shared, self._closure(shared))
        return known

    def _number(self, ad: Ad, shared: Ad | None = None) -> int:
        if shared is not None:
            ad = {**shared, **ad}
        names = self._closure(ad)
        signature = tuple(sorted((name, repr(ad[name])) for name in names if name in ad))
        number = self._numbers.get(signature)
        if number is None:
            number = self._numbers[signature] = len(self.kinds)
            wanted = names | self._closure(ad, self._read) if self._reads_more else names
            everything = EVERY_ATTRIBUTE in wanted
            self.kinds.append({name: value for name, value in ad.items() if everything or name in wanted})
        return number

    def _closure(self, ad: Ad, start: frozenset[str] | None = None) -> frozenset[str]:
        """All names that matter for this job, through the expressions of the job itself."""
        names = set(self._significant if start is None else start)
        todo = list(names)
        while todo:
            value = ad.get(todo.pop())
            if isinstance(value, str) and value.startswith("/Expr("):
                read = self._reads.get(value)
                if read is None:
                    expression = expression_of(value)
                    read = self._reads[value] = attributes_read([expression], "my", self._slots)
                new = read - names
                names |= new
                todo += new
        if EVERY_ATTRIBUTE in names:
            names |= ad.keys()
        return _without_ephemeral(names)


def _without_ephemeral(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if not name.startswith(_EPHEMERAL_PREFIXES))


def _lower(ad: Ad) -> Ad:
    return {name.lower(): value for name, value in ad.items()}
